package p4text_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/catena-nfv/catena/internal/p4/backend/p4text"
	"github.com/catena-nfv/catena/internal/p4/compile"
)

var update = flag.Bool("update", false, "write what is printed into the archives")

// print compiles a program and prints it.
func print(t *testing.T, src []byte) string {
	t.Helper()
	p, fset, diags := compile.Source("prog.p4", src, compile.Options{})
	if err := diags.Err(fset); err != nil {
		t.Fatal(err)
	}
	text, err := p4text.Print(p)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestGolden compares the print of each archive's in.p4 with its out.p4, and demands
// that printing is stable: out.p4 is printed as itself.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no archives", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil || len(a.Files) != 2 || a.Files[0].Name != "in.p4" || a.Files[1].Name != "out.p4" {
				t.Fatal("the archive must have in.p4 and out.p4", err)
			}
			got := print(t, a.Files[0].Data)
			if again := print(t, []byte(got)); again != got {
				t.Errorf("printed twice it differs:\n%s", again)
			}
			if *update {
				a.Files[1].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := string(a.Files[1].Data); got != want {
				t.Errorf("printed:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}
