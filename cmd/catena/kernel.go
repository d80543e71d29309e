package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/catena-nfv/catena/internal/cli"
	"github.com/catena-nfv/catena/internal/dataplane"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4/tool"
)

// kernel is the kernel back end as the p4 commands need it.
type kernel struct{}

func generate(c *tool.Compiled) (*ebpf.Spec, error) {
	p, err := optimize(c.Program)
	if err != nil {
		return nil, err
	}
	spec, diags := ebpf.Generate(p, c.Files)
	if diags.HasErrors() {
		return nil, &tool.Rejected{Files: c.Files, Diags: diags}
	}
	return spec, nil
}

// hooks returns the hooks that a program can run at, in a fixed order.
func hooks(spec *ebpf.Spec) []ebpf.Target {
	var out []ebpf.Target
	for _, t := range []ebpf.Target{ebpf.TC, ebpf.XDP} {
		if why, known := spec.Targets[t]; known && why == "" {
			out = append(out, t)
		}
	}
	return out
}

func cacheDir() string {
	if os.Geteuid() == 0 {
		return filepath.Join(cli.DefaultPaths().State, "cache")
	}
	return ""
}

// Build writes the C text and an object for each hook.
func (kernel) Build(c *tool.Compiled, dir, name string) ([]string, error) {
	spec, err := generate(c)
	if err != nil {
		return nil, err
	}
	source := filepath.Join(dir, name+".c")
	if err := os.WriteFile(source, []byte(spec.Source), 0o644); err != nil {
		return nil, err
	}
	obj, err := dataplane.Build(context.Background(), spec, dataplane.BuildOptions{CacheDir: cacheDir(), Targets: hooks(spec)})
	if err != nil {
		return nil, rejected(c, err)
	}
	if os.Geteuid() == 0 { // what the kernel says of it is known before a switch is asked to run it
		p, err := dataplane.Load(context.Background(), obj, dataplane.LoadOptions{})
		if err != nil {
			return nil, rejected(c, err)
		}
		if err := p.Close(); err != nil {
			return nil, err
		}
	}
	files := []string{source}
	for t, elf := range obj.ELF {
		file := filepath.Join(dir, fmt.Sprintf("%s.%s.o", name, t))
		if err := os.WriteFile(file, elf, 0o644); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	slices.Sort(files)
	return files, nil
}

// Device loads a program for test runs at a hook; "": at TC if it can run there.
func (kernel) Device(c *tool.Compiled, hook string) (target.Device, error) {
	spec, err := generate(c)
	if err != nil {
		return nil, err
	}
	hs := hooks(spec)
	if hook != "" {
		if why := spec.Targets[ebpf.Target(hook)]; why != "" {
			return nil, &tool.Unsupported{Hook: hook, Why: why}
		}
		hs = []ebpf.Target{ebpf.Target(hook)}
	}
	if len(hs) == 0 {
		return nil, fmt.Errorf("the program can run on neither hook: %v", spec.Targets)
	}
	obj, err := dataplane.Build(context.Background(), spec, dataplane.BuildOptions{CacheDir: cacheDir(), Targets: hs[:1], Test: true})
	if err != nil {
		return nil, rejected(c, err)
	}
	prog, err := dataplane.Load(context.Background(), obj, dataplane.LoadOptions{Targets: hs[:1]})
	if err != nil {
		return nil, rejected(c, err)
	}
	d, err := dataplane.OpenTestDevice(prog, hs[0])
	if err != nil {
		prog.Close()
		return nil, err
	}
	return d, nil
}

// rejected makes what the kernel refuses what the compiler rejects.
func rejected(c *tool.Compiled, err error) error {
	var r *dataplane.Refusal
	if errors.As(err, &r) {
		return &tool.Rejected{Files: c.Files, Diags: diag.List{r.Diagnostic(c.Files)}}
	}
	return err
}
