package pass

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"github.com/catena-nfv/catena/internal/p4/backend/p4text"
	"github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/ir"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

// TestGolden shows what single passes do, as P4. The comment of each file in testdata
// begins with the line `passes: NAME…`; those are run on the program in.p4, which
// includes frame.p4. out.p4 has the parser and the controls that they changed.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no programs", err)
	}
	shown := map[string]bool{}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(a.Comment), "\n")
		names, ok := strings.CutPrefix(first, "passes: ")
		if !ok {
			t.Fatalf("%s: its first line is not `passes: NAME…`", file)
		}
		got := changed(t, a, strings.Fields(names))
		for _, n := range strings.Fields(names) {
			shown[n] = true
		}
		want := &a.Files[len(a.Files)-1]
		if want.Name != "out.p4" {
			a.Files = append(a.Files, txtar.File{Name: "out.p4"})
			want = &a.Files[len(a.Files)-1]
		}
		if string(want.Data) == got {
			continue
		}
		if *update {
			want.Data = []byte(got)
			if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		t.Errorf("%s: got\n%s\nwant\n%s", file, got, want.Data)
	}
	for _, p := range passes() {
		if again := strings.HasPrefix(p.name, "re") || strings.HasSuffix(p.name, "2"); !again && !shown[p.name] {
			t.Errorf("no file in testdata shows pass %s", p.name)
		}
	}
}

// changed compiles in.p4, runs passes and prints the blocks that they changed.
func changed(t *testing.T, a *txtar.Archive, names []string) string {
	t.Helper()
	frame, err := os.ReadFile("testdata/frame.p4")
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{"frame.p4": {Data: frame}}
	for _, f := range a.Files {
		fsys[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	p, fset, diags := compile.File("in.p4", compile.Options{FS: fsys})
	if err := diags.Err(fset); err != nil {
		t.Fatal(err)
	}
	before := printed(t, p)
	for _, n := range names {
		known := false
		for _, q := range passes() {
			if q.name == n {
				q.run(p)
				known = true
			}
		}
		if !known {
			t.Fatalf("there is no pass %q", n)
		}
	}
	if err := ir.Verify(p); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	old := map[string]bool{}
	for _, b := range before {
		old[b] = true
	}
	for _, b := range printed(t, p) {
		if !old[b] {
			out.WriteString(b)
		}
	}
	return out.String()
}

// printed prints a program and returns its parser and its controls.
func printed(t *testing.T, p *ir.Program) []string {
	t.Helper()
	text, err := p4text.Print(p)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	in := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "parser ") || strings.HasPrefix(line, "control ") {
			in = true
			out = append(out, "")
		}
		if in {
			out[len(out)-1] += line
		}
		in = in && line != "}\n"
	}
	return out
}
