package compile

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// FuzzCompile looks for programs on which the type checker or the lowering breaks, and
// for accepted programs whose IR is malformed. The seeds are the conformance programs.
func FuzzCompile(f *testing.F) {
	const dir = "../conformance/testdata/"
	frame, err := os.ReadFile(dir + "frame.p4")
	if err != nil {
		f.Fatal(err)
	}
	for _, pattern := range []string{"run/*.txtar", "reject/*.txtar"} {
		files, err := filepath.Glob(dir + pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			a, err := txtar.ParseFile(file)
			if err != nil {
				f.Fatal(err)
			}
			for _, x := range a.Files {
				if filepath.Ext(x.Name) == ".p4" {
					f.Add(x.Data)
				}
			}
		}
	}
	fsys := fstest.MapFS{"frame.p4": {Data: frame}}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 8192 {
			t.Skip("longer inputs find the same and cost more")
		}
		p, fset, diags := Source("t.p4", src, Options{FS: fsys})
		if diags.Err(fset) != nil { // rendering must not crash either
			return
		}
		if err := ir.Verify(p); err != nil {
			t.Fatalf("accepted, but %v", err)
		}
	})
}
