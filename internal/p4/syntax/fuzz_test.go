package syntax

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/diag"
)

// FuzzParse looks for inputs that crash the front end, and for programs that parse but change when they
// are printed and parsed again.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"const bit<8> x = (bit<8>)1 + f<bit<8>>(a < b, c > (d));",
		"#define F(a, ...) a ## __VA_ARGS__ #a\nF(x, 1)\n#if defined(F) && 1\n#include <core.p4>\n#endif",
		"control C(inout H h) { table t { key = { h.x: exact; } actions = { a; } entries = { 1 &&& 2: a; } } apply { t.apply(); } }",
		"parser P() { state start { transition select(x) { (1, _): accept; 2 .. 3: a; default: reject; } } }",
		"@pragma a b\n@x[k = 1] @y(z $ ()) enum bit<8> E { A = 8w1 }",
		"extern E<T> { E(); abstract T f(in T x); } E<bit>() e = { bit f(in bit x) { return this.g(); } };",
		"void f() { for (bit<8> i in 0 .. 7) { if (a) b(); else c[1:0] >>= 2; } switch (x) { ({1}): default: {} } }",
	} {
		f.Add([]byte(seed))
	}
	files, err := filepath.Glob("testdata/errors/*.p4")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 4096 {
			t.Skip("longer inputs find the same and cost more")
		}
		opts := Options{Open: func(string) ([]byte, error) { return nil, os.ErrNotExist }}
		fset := diag.NewFileSet()
		prog, list := ParseBytes(fset, "t.p4", src, opts)
		_ = list.Err(fset) // rendering must not crash either
		printed := Print(prog)
		if list.HasErrors() {
			return
		}
		fset = diag.NewFileSet()
		prog, list = ParseBytes(fset, "printed.p4", []byte(printed), opts)
		if err := list.Err(fset); err != nil {
			t.Fatalf("printed text does not parse: %v\n%s", err, printed)
		}
		if again := Print(prog); again != printed {
			t.Fatalf("printed text changes when printed again:\n%s\n%s", printed, again)
		}
	})
}
