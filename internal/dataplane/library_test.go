package dataplane

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/pass"
	"github.com/catena-nfv/catena/internal/p4/stf"
)

// TestLibrary runs the scripts of the NF library and the backbones in the kernel, on
// every hook that a program supports, before and after the passes.
func TestLibrary(t *testing.T) {
	lib, err := nf.Open("")
	must(t, err)
	programs := map[string]*ir.Program{} // by the name of the script
	for _, n := range lib.All() {
		programs[path.Join(n.Folder, n.Manifest.Tests)] = n.Program
	}
	for _, b := range nf.Backbones() {
		p, err := lib.Backbone(b)
		must(t, err)
		programs["backbone/"+b+".stf"] = p
	}
	for _, file := range slices.Sorted(maps.Keys(programs)) {
		script, err := nf.File(file)
		must(t, err)
		parsed, err := stf.Parse(file, string(script))
		must(t, err)
		for _, hook := range []ebpf.Target{ebpf.TC, ebpf.XDP} {
			for _, optimized := range []bool{false, true} {
				p := ir.Copy(programs[file])
				if spec, _ := ebpf.Generate(p, nil); spec.Targets[hook] != "" {
					continue
				}
				what := strings.TrimSuffix(path.Base(file), ".stf") + "/" + string(hook)
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
