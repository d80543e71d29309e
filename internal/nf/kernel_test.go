package nf_test

import (
	"errors"
	"os"
	"testing"

	"github.com/catena-nfv/catena/internal/dataplane"
	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/pass"
)

// copies says which programs copy packets, which XDP cannot.
var copies = map[string]bool{"L2fwd": true, "l2": true, "vrouter": true, "vrouter-guard": true, "vrouter-guard-open": true}

// TestKernel runs every NF's and backbone's own script in the kernel, on both hooks.
func TestKernel(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("loading programs into the kernel needs root")
	}
	l := open(t)
	run := func(name, file string, p *ir.Program) {
		q := ir.Copy(p)
		if diags := pass.Run(q, pass.Options{}); diags.HasErrors() {
			t.Fatal(diags.Err(l.FileSet()))
		}
		spec, diags := ebpf.Generate(q, l.FileSet())
		if diags.HasErrors() {
			t.Fatal(diags.Err(l.FileSet()))
		}
		for _, hook := range []ebpf.Target{ebpf.TC, ebpf.XDP} {
			t.Run(name+"-"+string(hook), func(t *testing.T) {
				if why := spec.Targets[hook]; why != "" {
					if hook != ebpf.XDP || !copies[name] {
						t.Fatalf("no place on %s: %s", hook, why)
					}
					t.Skip(why)
				}
				prog := load(t, spec, hook)
				d, err := dataplane.OpenTestDevice(prog, hook)
				if err != nil {
					t.Fatal(errors.Join(err, prog.Close()))
				}
				defer d.Close()
				script(t, file, p, d)
			})
		}
	}
	for _, n := range l.All() {
		run(n.Name, n.Folder+"/"+n.Tests, n.Program)
	}
	for _, b := range nf.Backbones() {
		p, err := l.Backbone(b)
		if err != nil {
			t.Fatal(err)
		}
		run(b, "backbone/"+b+".stf", p)
		if b == "vrouter-guard" { // which is the same for ports that are not secured
			run(b+"-open", "backbone/vrouter.stf", p)
		}
	}
}

// load loads a program for test runs.
func load(t *testing.T, spec *ebpf.Spec, hook ebpf.Target) *dataplane.Program {
	t.Helper()
	o, err := dataplane.Build(t.Context(), spec, dataplane.BuildOptions{Targets: []ebpf.Target{hook}, Test: true})
	if err != nil {
		t.Fatal(err)
	}
	p, err := dataplane.Load(t.Context(), o, dataplane.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
