package conformance

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"github.com/catena-nfv/catena/internal/dataplane"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/backend/p4text"
	"github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/pass"
	"github.com/catena-nfv/catena/internal/p4/stf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// archive reads a txtar file; the frame of the test programs is one of its files.
func archive(t *testing.T, file string) fstest.MapFS {
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

// TestRun runs the programs of testdata/run through their scripts, every way there is.
// A program that the kernel back end cannot do names what it says in unsupported.txt.
func TestRun(t *testing.T) {
	files, err := filepath.Glob("testdata/run/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no programs", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			fsys := archive(t, file)
			script := string(fsys["test.stf"].Data)
			p := compileIn(t, fsys, "prog.p4")
			run(t, "as lowered", p, script, openInterpreter(t, p))

			text, err := p4text.Print(p)
			if err != nil {
				t.Fatal(err)
			}
			again := compileIn(t, fstest.MapFS{"again.p4": {Data: []byte(text)}}, "again.p4")
			run(t, "printed and compiled again", again, script, openInterpreter(t, again))

			if diags := pass.Run(p, pass.Options{Verify: true}); diags.HasErrors() {
				t.Fatal(diags[0].Message)
			}
			run(t, "behind the passes", p, script, openInterpreter(t, p))
			if text, err = p4text.Print(p); err != nil {
				t.Fatal(err)
			}
			again = compileIn(t, fstest.MapFS{"again.p4": {Data: []byte(text)}}, "again.p4")
			run(t, "behind the passes, printed and compiled again", again, script, openInterpreter(t, again))

			var unsupported string
			if f := fsys["unsupported.txt"]; f != nil {
				unsupported = strings.TrimSpace(string(f.Data))
			}
			for _, way := range []string{"", "functions"} {
				for _, hook := range []ebpf.Target{ebpf.TC, ebpf.XDP} {
					if d := openKernel(t, p, hook, way, unsupported); d != nil {
						run(t, "on "+string(hook)+" "+way, p, script, d)
					}
				}
			}
		})
	}
}

func run(t *testing.T, what string, p *ir.Program, script string, d target.Device) {
	t.Helper()
	s, err := stf.Parse("test.stf", script)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range stf.Run(s, p, d).Failures {
		t.Errorf("%s: %v", what, f)
	}
}

func openInterpreter(t *testing.T, p *ir.Program) target.Device {
	t.Helper()
	sw, err := interp.New(p, interp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return sw
}

// openKernel loads a program for test runs. It gives nil where that cannot be: without
// the right to load, on a hook that lacks what the program needs, or when the back end
// says as expected that something is unsupported.
func openKernel(t *testing.T, p *ir.Program, hook ebpf.Target, way, unsupported string) target.Device {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	spec, diags := ebpf.Generate(p, nil)
	if diags.HasErrors() {
		if unsupported == "" || !strings.Contains(diags[0].Message, unsupported) {
			t.Errorf("ebpf: %s", diags[0].Message)
		}
		return nil
	}
	if unsupported != "" {
		t.Errorf("ebpf: no complaint that %q", unsupported)
		return nil
	}
	if why := spec.Targets[hook]; why != "" {
		return nil
	}
	obj, err := dataplane.Build(context.Background(), spec, dataplane.BuildOptions{Targets: []ebpf.Target{hook}, Test: true, Way: way})
	if err != nil {
		t.Errorf("%s: %v", hook, err)
		return nil
	}
	loaded, err := dataplane.Load(context.Background(), obj, dataplane.LoadOptions{})
	if err != nil {
		t.Errorf("%s: %v", hook, err)
		return nil
	}
	d, err := dataplane.OpenTestDevice(loaded, hook)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}
