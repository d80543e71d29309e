package p4info

import (
	"testing"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
)

// The ids are those that the public compiler gives in widely published programs (the
// P4 tutorials, ONOS).
func TestKnownIDs(t *testing.T) {
	s := newSymbols()
	want := map[symbol]uint32{
		{configv1.P4Ids_ACTION, "NoAction"}:                       21257015,
		{configv1.P4Ids_TABLE, "MyIngress.ipv4_lpm"}:              37375156,
		{configv1.P4Ids_ACTION, "MyIngress.drop"}:                 25652968,
		{configv1.P4Ids_ACTION, "MyIngress.ipv4_forward"}:         28792405,
		{configv1.P4Ids_CONTROLLER_HEADER, "packet_in_header_t"}:  81826293,
		{configv1.P4Ids_CONTROLLER_HEADER, "packet_out_header_t"}: 76689799,
	}
	for sym := range want {
		s.add(sym.kind, sym.name, nil)
	}
	if s.assign(); s.diags != nil {
		t.Fatal(s.diags[0].Message)
	}
	for sym, id := range want {
		if got := s.id(sym.kind, sym.name); got != id {
			t.Errorf("%s: id %d, want %d", sym.name, got, id)
		}
	}
}

func TestFixedIDsAndCollisions(t *testing.T) {
	s := newSymbols()
	h := nameHash("b") & 0xffffff
	s.add(configv1.P4Ids_TABLE, "a", ir.Annotations{{Name: "id", Body: "x", Args: []string{itoa(h)}}})
	s.add(configv1.P4Ids_TABLE, "b", nil)
	if s.assign(); s.diags != nil {
		t.Fatal(s.diags[0].Message)
	}
	if got, want := s.id(configv1.P4Ids_TABLE, "a"), 2<<24|h; got != want {
		t.Errorf("a: %#x, want %#x", got, want)
	}
	if got, want := s.id(configv1.P4Ids_TABLE, "b"), 2<<24|(h+1)&0xffffff; got != want {
		t.Errorf("b: %#x, want %#x", got, want)
	}
	s.add(configv1.P4Ids_ACTION, "c", ir.Annotations{{Name: "id", Args: []string{"0x02000001"}}})
	if s.assign(); s.diags == nil {
		t.Error("an @id with the prefix of another kind is accepted")
	}
}

func itoa(n uint32) string {
	s := ""
	for ; n > 0; n /= 10 {
		s = string(rune('0'+n%10)) + s
	}
	return s
}

func TestAlias(t *testing.T) {
	s := newSymbols()
	for _, n := range []string{"a.b.c", "e.b.c", "a.d.c", "x.y"} {
		s.add(configv1.P4Ids_TABLE, n, nil)
	}
	for n, want := range map[string]string{"a.b.c": "a.b.c", "e.b.c": "e.b.c", "a.d.c": "d.c", "x.y": "y"} {
		if got := s.alias(n); got != want {
			t.Errorf("alias of %s is %s, want %s", n, got, want)
		}
	}
}

func TestFieldIDs(t *testing.T) {
	id := func(n string) ir.Annotations { return ir.Annotations{{Name: "id", Args: []string{n}}} }
	var diags diag.List
	got := fieldIDs("t", []ir.Annotations{nil, id("1"), nil, id("7"), nil}, &diags)
	if diags != nil {
		t.Fatal(diags[0].Message)
	}
	for i, want := range []uint32{2, 1, 3, 7, 4} {
		if got[i] != want {
			t.Fatalf("ids are %v", got)
		}
	}
	if fieldIDs("t", []ir.Annotations{id("1"), id("1")}, &diags); diags == nil {
		t.Error("an id used twice is accepted")
	}
}
