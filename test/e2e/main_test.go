package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// shared is a folder that lives as long as the tests: the command, and the cache
// of compiled programs, so that each program meets clang once.
var shared = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "catena-e2e-") })

// command builds catena once and returns its path.
var command = sync.OnceValues(func() (string, error) {
	dir, err := shared()
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "catena")
	cmd := exec.Command("go", "build", "-o", bin, "./cmd/catena")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return bin, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := shared(); err == nil {
		err = os.RemoveAll(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
