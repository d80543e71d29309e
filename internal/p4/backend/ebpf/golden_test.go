package ebpf

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// generate compiles a P4 text.
func generate(t *testing.T, name string, src []byte) (*ir.Program, *Spec, diag.List, *diag.FileSet) {
	t.Helper()
	p, fset, diags := compile.Source(name, src, compile.Options{})
	if diags.HasErrors() {
		t.Fatal(diags.Err(fset))
	}
	p.Name = strings.TrimSuffix(name, ".p4")
	spec, diags := Generate(p, fset)
	return p, spec, diags, fset
}

// TestGolden compares the C text with that in testdata/*.txtar: the part that depends
// on the program, from the packet's state on.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p, spec, diags, fset := generate(t, a.Files[0].Name, a.Files[0].Data)
			if diags.HasErrors() {
				t.Fatal(diags.Err(fset))
			}
			_, text, _ := strings.Cut(spec.Source, preludeVLAN)
			text = strings.Replace(text, stateMap, "", 1)
			again, _ := Generate(p, fset)
			if again.Source != spec.Source {
				t.Error("a second run gives another text")
			}
			if *update {
				a.Files = []txtar.File{a.Files[0], {Name: "program.c", Data: []byte(text)}}
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(a.Files) < 2 || !bytes.Equal(a.Files[1].Data, []byte(text)) {
				t.Errorf("the text has changed: run with -update and look at the difference")
			}
		})
	}
}
