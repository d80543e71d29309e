package syntax

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/diag"
)

// corpusDir returns the directory of public test programs: $CATENA_CORPUS, or shared/corpus beside the
// repository.
func corpusDir(t testing.TB) string {
	dir := os.Getenv("CATENA_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "corpus")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no corpus of public P4 programs: set CATENA_CORPUS to its directory (%v)", err)
	}
	return dir
}

// parseFiles parses every .p4 file below dir and hands each to check.
func parseFiles(t *testing.T, dir string, opts Options, check func(t *testing.T, path, printed, diags string)) int {
	n := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".p4" {
			return err
		}
		n++
		fset := diag.NewFileSet()
		prog, list := ParseFile(fset, path, opts)
		var b strings.Builder
		if list.HasErrors() {
			if err := diag.Render(&b, fset, list); err != nil {
				return err
			}
		}
		check(t, path, Print(prog), b.String())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestCorpus parses every program of the corpus. What is valid must parse, print, and parse and print the
// same again; what is not (reject/) must not crash, and what parses of it must round-trip, too.
func TestCorpus(t *testing.T) {
	n := parseFiles(t, corpusDir(t), Options{}, func(t *testing.T, path, printed, diags string) {
		if diags != "" {
			if filepath.Base(filepath.Dir(path)) != "reject" {
				t.Errorf("%s", diags)
			}
			return
		}
		checkRoundTrip(t, path, printed)
	})
	if n == 0 {
		t.Errorf("the corpus holds no programs")
	}
}

// checkRoundTrip parses printed text and compares what it prints as.
func checkRoundTrip(t *testing.T, path, printed string) {
	t.Helper()
	again, diags := parseText(t, printed)
	if diags != "" {
		t.Errorf("%s: printed text does not parse: %s", path, diags)
	}
	if again != printed {
		t.Errorf("%s: printed text changes when printed again: %s", path, firstDifference(printed, again))
	}
}

func firstDifference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return as[i] + "\n" + bs[i]
		}
	}
	return "one is longer"
}

// TestOwnPrograms parses the P4 programs of this repository.
func TestOwnPrograms(t *testing.T) {
	opts := Options{IncludeDirs: []string{filepath.Join("..", "..", "nf", "include")}}
	parseFiles(t, filepath.Join("..", ".."), opts, func(t *testing.T, path, printed, diags string) {
		if strings.Contains(path, "testdata") {
			return
		}
		if diags != "" {
			t.Errorf("%s", diags)
		}
		checkRoundTrip(t, path, printed)
	})
}

// TestOwnHeaders parses the compiler's headers in both versions of v1model, and twice in one program.
func TestOwnHeaders(t *testing.T) {
	for version, want := range map[string]string{
		"#define V1MODEL_VERSION 20200408\n": "extern register<T, I> {",
		"":                                   "extern register<T> {",
	} {
		fset := diag.NewFileSet()
		src := version + "#include <core.p4>\n#include <v1model.p4>\n#include \"v1model.p4\"\n"
		prog, list := ParseBytes(fset, "t.p4", []byte(src), Options{})
		if len(list) > 0 {
			t.Errorf("%q: %v", version, list.Err(fset))
		}
		printed := Print(prog)
		if strings.Count(printed, want) != 1 || strings.Count(printed, "extern packet_in") != 1 {
			t.Errorf("%q: want %q once in:\n%s", version, want, printed)
		}
		checkRoundTrip(t, "v1model.p4", printed)
	}
}
