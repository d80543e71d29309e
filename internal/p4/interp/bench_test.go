package interp_test

import (
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// BenchmarkInject tells packets per second of a small program with one table.
func BenchmarkInject(b *testing.B) {
	a, err := txtar.ParseFile("testdata/tables.txtar")
	if err != nil {
		b.Fatal(err)
	}
	p := compileText(b, member(b, a, "prog.p4"))
	sw, err := interp.New(p, interp.Options{})
	if err != nil {
		b.Fatal(err)
	}
	data := append([]byte{8, 1, 0x12, 0x34}, make([]byte, 60)...)
	for b.Loop() {
		if _, err := sw.Inject(target.Packet{Port: 1, Data: data}); err != nil {
			b.Fatal(err)
		}
	}
}
