package lint

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/catena-nfv/catena/"

// maxLines is the length from which a file wants a reason.
const maxLines = 700

// longFiles are the files that have one.
var longFiles = map[string]string{}

// source is a Go file of the repository.
type source struct {
	path      string // from the repository's root, with slashes
	dir       string
	test      bool
	generated bool
	lines     int
	file      *ast.File
}

func load(t *testing.T) []source {
	t.Helper()
	root := filepath.Join("..", "..")
	var out []source
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && p != root && (strings.HasPrefix(name, ".") || name == "build" || name == "bin" || name == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, text, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		out = append(out, source{
			path: rel, dir: path.Dir(rel), test: strings.HasSuffix(name, "_test.go"),
			generated: ast.IsGenerated(f), lines: bytes.Count(text, []byte("\n")), file: f,
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// imports returns the repository's own packages that a file imports, without the
// module's name in front.
func imports(s source) []string {
	var out []string
	for _, i := range s.file.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err == nil && strings.HasPrefix(p, module) {
			out = append(out, strings.TrimPrefix(p, module))
		}
	}
	return out
}

// within reports whether package p is dir or below it.
func within(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

// only maps a room to all that its code may import of the repository.
var only = map[string][]string{
	"internal/chain":     {"internal/p4/diag"},
	"internal/service":   {"internal/p4/diag"},
	"internal/p4/diag":   {},
	"internal/p4/ir":     {"internal/p4/diag"},
	"internal/p4/syntax": {"internal/p4/diag", "internal/p4/include"},
	"internal/p4/target": {"internal/p4/ir", "internal/p4/diag"},
}

// never maps a room to what its code must not import.
var never = map[string][]string{
	"internal/p4/backend": {"internal/p4/syntax", "internal/p4/types", "internal/dataplane"},
	"internal/p4":         {"internal/chain", "internal/service", "internal/dataplane", "internal/orch", "internal/server"},
	"internal/cloud":      {"internal/orch", "internal/server"},
	"internal/fabric":     {"internal/orch", "internal/server"},
	"internal/dataplane":  {"internal/chain", "internal/service", "internal/orch", "internal/server"},
	"internal/orch":       {"internal/server", "internal/cloud", "internal/fabric", "internal/dataplane"},
	"internal/server":     {"internal/cloud", "internal/fabric", "internal/dataplane"},
}

// TestImports checks the direction of imports between rooms. Test files may
// import what they compare with.
func TestImports(t *testing.T) {
	both := map[string]map[string]bool{}
	for _, s := range load(t) {
		if s.test {
			continue
		}
		for _, i := range imports(s) {
			for room, allowed := range only {
				if !within(s.dir, room) || within(i, room) {
					continue
				}
				ok := false
				for _, a := range allowed {
					ok = ok || within(i, a)
				}
				if !ok {
					t.Errorf("%s: %s must not import %s", s.path, room, i)
				}
			}
			for room, banned := range never {
				for _, b := range banned {
					if within(s.dir, room) && within(i, b) {
						t.Errorf("%s: %s must not import %s", s.path, room, b)
					}
				}
			}
			driver := within(i, "internal/cloud/local") || within(i, "internal/cloud/openstack") || strings.HasPrefix(i, "internal/fabric/")
			if driver && !within(s.dir, "cmd") && !within(s.dir, "internal/cloud") && !within(s.dir, "internal/fabric") {
				t.Errorf("%s: only cmd names the concrete driver %s", s.path, i)
			}
			if !within(s.dir, "cmd") && (i == "internal/chain" || i == "internal/p4/ir") {
				if both[s.dir] == nil {
					both[s.dir] = map[string]bool{}
				}
				both[s.dir][i] = true
			}
		}
	}
	for dir, is := range both {
		if len(is) == 2 && !within(dir, "internal/compose") {
			t.Errorf("%s imports internal/chain and internal/p4/ir; only internal/compose does both", dir)
		}
	}
}

// TestFiles checks the length of files, their functions called init, and names of
// packages that say nothing.
func TestFiles(t *testing.T) {
	for _, s := range load(t) {
		if s.generated {
			continue
		}
		if s.lines > maxLines && !s.test && longFiles[s.path] == "" {
			t.Errorf("%s has %d lines; split it (at most %d), or give the reason in longFiles", s.path, s.lines, maxLines)
		}
		switch path.Base(s.dir) {
		case "util", "utils", "common", "helpers", "misc":
			t.Errorf("%s: the package's name does not say what is in it", s.path)
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: func init; register explicitly instead", s.path)
			}
		}
	}
}

// TestPackageComments checks that every package says what it is.
func TestPackageComments(t *testing.T) {
	documented := map[string]bool{}
	var dirs []string
	for _, s := range load(t) {
		if s.test || s.generated {
			continue
		}
		if _, ok := documented[s.dir]; !ok {
			dirs = append(dirs, s.dir)
		}
		documented[s.dir] = documented[s.dir] || s.file.Doc != nil
	}
	sort.Strings(dirs)
	for _, d := range dirs {
		if !documented[d] {
			t.Errorf("%s: no package comment", d)
		}
	}
}
