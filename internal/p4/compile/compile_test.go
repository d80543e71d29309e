package compile_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"github.com/catena-nfv/catena/internal/p4/backend/p4text"
	"github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/pass"
	"github.com/catena-nfv/catena/internal/p4/stf"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

// archive reads a txtar file; the frame of the test programs is one of its files.
func archive(t *testing.T, file string) fs.FS {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{}
	frame, err := os.ReadFile("testdata/frame.p4")
	if err != nil {
		t.Fatal(err)
	}
	fsys["frame.p4"] = &fstest.MapFile{Data: frame}
	for _, f := range a.Files {
		fsys[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	return fsys
}

func compileIn(t *testing.T, fsys fs.FS, name string) *ir.Program {
	t.Helper()
	p, fset, diags := compile.File(name, compile.Options{FS: fsys})
	if err := diags.Err(fset); err != nil {
		t.Fatal(err)
	}
	if err := ir.Verify(p); err != nil {
		t.Fatalf("the lowered program is malformed: %v", err)
	}
	return p
}

// TestRun runs the programs of testdata/run through their scripts: as they are
// lowered, and again behind the passes.
func TestRun(t *testing.T) {
	files, err := filepath.Glob("testdata/run/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no programs", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			fsys := archive(t, file)
			script, err := fs.ReadFile(fsys, "test.stf")
			if err != nil {
				t.Fatal(err)
			}
			p := compileIn(t, fsys, "prog.p4")
			run(t, "lowered", p, string(script))
			if diags := pass.Run(p, pass.Options{Verify: true}); diags.HasErrors() {
				t.Fatal(diags[0].Message)
			}
			run(t, "behind the passes", p, string(script))
		})
	}
}

func run(t *testing.T, what string, p *ir.Program, script string) {
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
		t.Errorf("%s: %v", what, f)
	}
}

// TestLower holds what lowering makes of the programs of testdata/lower, printed as P4.
func TestLower(t *testing.T) {
	files, err := filepath.Glob("testdata/lower/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no programs", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			text, err := p4text.Print(compileIn(t, archive(t, file), "prog.p4"))
			if err != nil {
				t.Fatal(err)
			}
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				a.Files = append(a.Files[:1:1], txtar.File{Name: "lowered.p4", Data: []byte(text)})
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(a.Files) != 2 || string(a.Files[1].Data) != text {
				t.Errorf("%s differs; with -update it becomes\n%s", file, text)
			}
		})
	}
}

// TestSource compiles a text at hand that includes a file of its own.
func TestSource(t *testing.T) {
	fsys := archive(t, "testdata/run/loops.txtar")
	src, err := fs.ReadFile(fsys, "prog.p4")
	if err != nil {
		t.Fatal(err)
	}
	p, fset, diags := compile.Source("dir/prog.p4", src, compile.Options{FS: fsys, IncludeDirs: []string{"."}})
	if err := diags.Err(fset); err != nil || p == nil || p.Ingress.Name != "I" {
		t.Fatalf("got %v, %v", p, err)
	}
	p, fset, diags = compile.Source("prog.p4", []byte("#include \"missing.p4\"\n"), compile.Options{FS: fsys})
	if err := diags.Err(fset); p != nil || err == nil || !strings.Contains(err.Error(), "prog.p4:1:1") {
		t.Errorf("got %v, %v", p, err)
	}
}

// TestCheck checks a program that is for no architecture that we compile for.
func TestCheck(t *testing.T) {
	fsys := fstest.MapFS{"own.p4": {Data: []byte("control c(inout bit<8> x);\npackage top(c c1);\ncontrol my(inout bit<8> x) { apply { x = 1; } }\ntop(my()) main;\n")}}
	fset, diags := compile.Check("own.p4", compile.Options{FS: fsys})
	if err := diags.Err(fset); err != nil {
		t.Error(err)
	}
	_, fset, diags = compile.File("own.p4", compile.Options{FS: fsys})
	if err := diags.Err(fset); err == nil || !strings.Contains(err.Error(), "only the v1model architecture") {
		t.Errorf("got %v", err)
	}
}

// FuzzSource compiles any text: the compiler never panics, refuses with a position, and
// what it accepts is a well-formed program.
func FuzzSource(f *testing.F) {
	files, err := filepath.Glob("testdata/run/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	frame, err := os.ReadFile("testdata/frame.p4")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(a.Files[0].Data))
	}
	f.Fuzz(func(t *testing.T, src string) {
		fsys := fstest.MapFS{"frame.p4": {Data: frame}}
		p, _, diags := compile.Source("prog.p4", []byte(src), compile.Options{FS: fsys})
		if diags.HasErrors() {
			for _, d := range diags {
				if !d.Span.IsValid() {
					t.Errorf("%q has no position", d.Message)
				}
			}
			return
		}
		if err := ir.Verify(p); err != nil {
			t.Error(err)
		}
	})
}
