package conformance

import (
	"testing"
	"testing/fstest"

	"github.com/catena-nfv/catena/internal/p4/backend/p4text"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/p4info"
)

// TestNewtypesSurvivePrinting compares the P4Info of a program with that of its print:
// the control plane of a switch that gets the print must find the same types.
func TestNewtypesSurvivePrinting(t *testing.T) {
	p := compileIn(t, archive(t, "testdata/run/newtypes.txtar"), "prog.p4")
	text, err := p4text.Print(p)
	if err != nil {
		t.Fatal(err)
	}
	again := compileIn(t, fstest.MapFS{"again.p4": {Data: []byte(text)}}, "again.p4")
	if want, got := describe(t, p), describe(t, again); got != want {
		t.Errorf("P4Info of the print is\n%s\nwant\n%s\nthe print is\n%s", got, want, text)
	}
}

func describe(t *testing.T, p *ir.Program) string {
	t.Helper()
	info, err := p4info.Build(p)
	if err != nil {
		t.Fatal(err)
	}
	text, err := p4info.Text(info)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
