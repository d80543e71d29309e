package interp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/catena-nfv/catena/internal/p4/backend/p4text"
	"github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/stf"
)

// compileText compiles a program that may include the files of testdata.
func compileText(t testing.TB, text string) *ir.Program {
	t.Helper()
	p, fset, diags := compile.Source("prog.p4", []byte(text), compile.Options{FS: os.DirFS("testdata")})
	if err := diags.Err(fset); err != nil {
		t.Fatal(err)
	}
	return p
}

func member(t testing.TB, a *txtar.Archive, name string) string {
	t.Helper()
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	t.Fatalf("the archive has no %s", name)
	return ""
}

func runScript(t *testing.T, p *ir.Program, script string) {
	t.Helper()
	s, err := stf.Parse("test.stf", script)
	if err != nil {
		t.Fatal(err)
	}
	sw, err := interp.New(p, interp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range stf.Run(s, p, sw).Failures {
		t.Error(f)
	}
}

// TestPrograms runs each archive of testdata: the script on the program, and again on
// what the printer makes of the program.
func TestPrograms(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives", err)
	}
	for _, file := range archives {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			p := compileText(t, member(t, a, "prog.p4"))
			runScript(t, p, member(t, a, "test.stf"))
			text, err := p4text.Print(p)
			if err != nil {
				t.Fatal(err)
			}
			t.Run("printed", func(t *testing.T) {
				again := compileText(t, text)
				runScript(t, again, member(t, a, "test.stf"))
			})
		})
	}
}
