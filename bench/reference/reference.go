// Package reference holds the programs that benchmarks compare with: written by hand in C, to win. They are
// compiled by the same clang for the same instruction set, at the same level, as the switch's own programs.
package reference

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	cebpf "github.com/cilium/ebpf"
)

//go:embed *.c *.h
var sources embed.FS

// Compile compiles a program of this folder, such as "redirect.c".
func Compile(ctx context.Context, file string) (*cebpf.CollectionSpec, error) {
	text, err := source(file)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "catena-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	object := filepath.Join(dir, "reference.o")
	args := []string{"-O2", "-g", "-target", "bpf", "-mcpu=v3", "-fno-stack-protector", "-Wall", "-Werror"}
	// The kernel's headers include asm/types.h, which Debian keeps by architecture.
	for _, include := range []string{"/usr/include/x86_64-linux-gnu", "/usr/include/aarch64-linux-gnu"} {
		if _, err := os.Stat(include); err == nil {
			args = append(args, "-I"+include)
		}
	}
	cmd := exec.CommandContext(ctx, "clang", append(args, "-x", "c", "-c", "-", "-o", object)...)
	cmd.Stdin = strings.NewReader(text)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: clang: %w:\n%s", file, err, said.String())
	}
	c, err := cebpf.LoadCollectionSpec(object)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}

// source returns a program's text. It is compiled without a folder, so what it includes of this one is put in.
func source(file string) (string, error) {
	text, err := sources.ReadFile(file)
	if err != nil {
		return "", err
	}
	out := string(text)
	for _, h := range []string{"sfc.h", "lb.h"} {
		common, err := sources.ReadFile(h)
		if err != nil {
			return "", err
		}
		out = strings.Replace(out, fmt.Sprintf("#include %q\n", h), string(common), 1)
	}
	return out, nil
}
