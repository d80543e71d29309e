package tool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/backend/p4text"
	"github.com/catena-nfv/catena/internal/p4/p4info"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// Kernel is the kernel back end, as far as the tools need it. A program that it cannot
// compile gives a *Rejected.
type Kernel interface {
	// Build compiles a program and writes what comes out into dir, names beginning
	// with name. It returns the paths of the files.
	Build(c *Compiled, dir, name string) ([]string, error)
	// Device loads a program for test runs at one of Hooks; "": the first that it can
	// run at. A program that cannot run at the hook gives an *Unsupported.
	Device(c *Compiled, hook string) (target.Device, error)
}

// Hooks are the places in the kernel at which programs can run.
var Hooks = []string{"tc", "xdp"}

// Unsupported is the error for a program that a hook cannot run.
type Unsupported struct{ Hook, Why string }

func (e *Unsupported) Error() string { return "not at " + e.Hook + ": " + e.Why }

// BaseName is a file's name without folder and ending.
func BaseName(path string) string {
	return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
}

// Build writes into dir, which it makes, what describes a program: NAME.p4info.txtpb,
// NAME.p4info.bin and the portable text NAME.p4; and with a kernel, its files. It
// returns their paths.
func Build(c *Compiled, dir, name string, k Kernel) ([]string, error) {
	info, err := p4info.Build(c.Program)
	if err != nil {
		return nil, err
	}
	text, err := p4info.Text(info)
	if err != nil {
		return nil, err
	}
	binary, err := p4info.Binary(info)
	if err != nil {
		return nil, err
	}
	portable, err := p4text.Print(c.Program)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var paths []string
	for _, f := range []struct {
		suffix string
		data   []byte
	}{{".p4info.txtpb", []byte(text)}, {".p4info.bin", binary}, {".p4", []byte(portable)}} {
		path := filepath.Join(dir, name+f.suffix)
		if err := os.WriteFile(path, f.data, 0o644); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	if k == nil {
		return paths, nil
	}
	more, err := k.Build(c, dir, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return append(paths, more...), nil
}
