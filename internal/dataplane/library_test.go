package dataplane

import (
	"path"
	"testing"

	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/pass"
	"github.com/catena-nfv/catena/internal/p4/stf"
)

// TestLibrary runs the scripts of the NF library and the backbones in the kernel, on
// every hook that a program supports, before and after the passes.
func TestLibrary(t *testing.T) {
	lib, err := nf.Open("")
	must(t, err)
	var files []string
	for _, n := range lib.All() {
		files = append(files, path.Join(n.Folder, n.Manifest.Program))
	}
	for _, b := range nf.Backbones() {
		files = append(files, "backbone/"+b+".p4")
	}
	for _, file := range files {
		name := file[:len(file)-len(".p4")]
		script, err := nf.File(name + ".stf")
		must(t, err)
		parsed, err := stf.Parse(name+".stf", string(script))
		must(t, err)
		for _, hook := range []ebpf.Target{ebpf.TC, ebpf.XDP} {
			for _, optimized := range []bool{false, true} {
				p := library(t, file)
				if spec, _ := ebpf.Generate(p, nil); spec.Targets[hook] != "" {
					continue
				}
				what := path.Base(name) + "/" + string(hook)
				if optimized {
					what += "/passes"
					if diags := pass.Run(p, pass.Options{}); diags.HasErrors() {
						t.Fatal(diags.Err(nil))
					}
				}
				t.Run(what, func(t *testing.T) {
					for _, f := range stf.Run(parsed, p, open(t, p, hook)).Failures {
						t.Error(f)
					}
				})
			}
		}
	}
}
