package target

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

func bitsOf(w int) ir.Type { return &ir.Bits{Width: w} }

func key(name string, m ir.MatchKind, w int) *ir.Key {
	return &ir.Key{Name: name, Match: m, Type: bitsOf(w)}
}

// testTable has a key of each kind.
func testTable() *ir.Table {
	set := &ir.Action{Name: "set", FullName: "I.set", Params: []*ir.Var{{Name: "port", Type: bitsOf(9)}}}
	drop := &ir.Action{Name: "drop", FullName: "I.drop"}
	only := &ir.Action{Name: "only", FullName: "I.only"}
	return &ir.Table{
		Name: "t", FullName: "I.t",
		Keys: []*ir.Key{key("e", ir.MatchExact, 12), key("l", ir.MatchLPM, 12), key("t", ir.MatchTernary, 12),
			key("r", ir.MatchRange, 12), key("o", ir.MatchOptional, 12), key("s", ir.MatchSelector, 12)},
		Actions: []*ir.TableAction{{Action: set}, {Action: drop, TableOnly: true}, {Action: only, DefaultOnly: true}},
		Default: &ir.ActionCall{Action: only},
	}
}

// entry is a good entry of testTable.
func entry() Entry {
	return Entry{Table: "I.t", Priority: 3, Action: &Action{"I.set", [][]byte{{5}}}, Match: []Match{
		{Value: []byte{1}},
		{Value: []byte{0x0f, 0xff}, PrefixLen: 5},
		{Value: []byte{0xff}, Mask: []byte{0x0f}},
		{Lo: []byte{3}, Hi: []byte{0, 0, 7}},
		{Any: true},
	}}
}

func TestCheckEntryGivesTheNormalForm(t *testing.T) {
	e, err := CheckEntry(testTable(), entry())
	if err != nil {
		t.Fatal(err)
	}
	want := "[{false 0001  0  } {false 0f80  5  } {false 000f 000f 0  } {false   0 0003 0007} {true   0  }]"
	got := "["
	for i, m := range e.Match {
		if i > 0 {
			got += " "
		}
		got += fmt.Sprintf("{%t %x %x %d %x %x}", m.Any, m.Value, m.Mask, m.PrefixLen, m.Lo, m.Hi)
	}
	if got += "]"; got != want {
		t.Errorf("matches are\n%s, want\n%s", got, want)
	}
	if p := fmt.Sprintf("%x", e.Action.Params); p != "[0005]" {
		t.Errorf("parameters are %s", p)
	}
}

func TestWildcardsAreOne(t *testing.T) {
	for _, change := range []func(*Entry){
		func(e *Entry) { e.Match[1].PrefixLen = 0 },
		func(e *Entry) { e.Match[2].Mask = []byte{0} },
		func(e *Entry) { e.Match[3] = Match{Lo: []byte{0}, Hi: []byte{0xf, 0xff}} },
	} {
		a, b := entry(), entry()
		change(&a)
		change(&b)
		for i := range b.Match {
			if i > 0 && fmt.Sprint(a.Match[i]) != fmt.Sprint(entry().Match[i]) {
				b.Match[i] = Match{Any: true}
			}
		}
		ca, err1 := CheckEntry(testTable(), a)
		cb, err2 := CheckEntry(testTable(), b)
		if err1 != nil || err2 != nil || Identity(ca) != Identity(cb) {
			t.Errorf("%+v and %+v differ (%v, %v)", ca.Match, cb.Match, err1, err2)
		}
	}
}

func TestCheckEntryErrors(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Entry)
		want   string
	}{
		"too few":     {func(e *Entry) { e.Match = e.Match[:2] }, "2 matches for 5 keys (e, l, t, r, o)"},
		"any exact":   {func(e *Entry) { e.Match[0] = Match{Any: true} }, `key "e": an exact match needs a value`},
		"no value":    {func(e *Entry) { e.Match[0] = Match{} }, `key "e": value is missing`},
		"too wide":    {func(e *Entry) { e.Match[0].Value = []byte{0x10, 0} }, `key "e": value 0x1000 needs 13 bits, the field has 12`},
		"prefix":      {func(e *Entry) { e.Match[1].PrefixLen = 13 }, "prefix length 13 is not between 0 and 12"},
		"no mask":     {func(e *Entry) { e.Match[2].Mask = nil }, "mask: value is missing"},
		"empty range": {func(e *Entry) { e.Match[3].Lo = []byte{8} }, "range 8..7 is empty"},
		"no action":   {func(e *Entry) { e.Action = nil }, "the entry has no action"},
		"unknown":     {func(e *Entry) { e.Action.Name = "I.x" }, `has no action "I.x", it has I.drop, I.only, I.set`},
		"default":     {func(e *Entry) { e.Action = &Action{Name: "I.only"} }, `action "I.only" is for the default only`},
		"params":      {func(e *Entry) { e.Action.Params = nil }, "takes 1 parameters, not 0"},
		"param":       {func(e *Entry) { e.Action.Params = [][]byte{{2, 0}} }, `parameter "port": value 0x0200 needs 10 bits`},
		"priority":    {func(e *Entry) { e.Priority = -1 }, "priority -1 is negative"},
	} {
		e := entry()
		c.change(&e)
		_, err := CheckEntry(testTable(), e)
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "I.") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := CheckAction(testTable(), Action{Name: "I.drop"}, true); err == nil {
		t.Error("an action for entries only is accepted as default")
	}
	if _, err := CheckEntry(&ir.Table{FullName: "k"}, Entry{}); err == nil {
		t.Error("an entry of a table without keys is accepted")
	}
}

func TestPriorityOfTablesWithoutOne(t *testing.T) {
	tab := testTable()
	tab.Keys = tab.Keys[:2]
	e := entry()
	e.Match = e.Match[:2]
	got, err := CheckEntry(tab, e)
	if err != nil || got.Priority != 0 {
		t.Errorf("priority %d, %v; want 0", got.Priority, err)
	}
}

func TestProgramEntries(t *testing.T) {
	tab := testTable()
	num := func(v int64) *big.Int { return big.NewInt(v) }
	tab.Entries = []*ir.Entry{{
		Keys: []ir.Keyset{&ir.KeyExact{Value: num(1)}, &ir.KeyMask{Value: num(0xfff), Mask: num(0xf80)},
			&ir.KeyMask{Value: num(0xff), Mask: num(0x0f)}, &ir.KeyRange{Lo: num(3), Hi: num(7)}, &ir.KeyAny{}},
		Action:   &ir.ActionCall{Action: tab.Actions[0].Action, Args: []*ir.Const{{T: bitsOf(9), Value: num(5)}}},
		Priority: 3, Const: true,
	}}
	es, err := ProgramEntries(tab)
	if err != nil {
		t.Fatal(err)
	}
	want, err := CheckEntry(tab, entry())
	if err != nil {
		t.Fatal(err)
	}
	if Identity(es[0]) != Identity(want) || !es[0].Const || fmt.Sprint(es[0].Action) != fmt.Sprint(want.Action) {
		t.Errorf("%+v, want %+v", es[0], want)
	}
	tab.Entries[0].Keys[1] = &ir.KeyMask{Value: num(1), Mask: num(0xf0f)}
	if _, err := ProgramEntries(tab); err == nil {
		t.Error("a mask with a hole is accepted for an lpm key")
	}
}

func TestSort(t *testing.T) {
	es := []Entry{
		{Priority: 1, Match: []Match{{Value: []byte{2}}}},
		{Priority: 1, Match: []Match{{Value: []byte{1}}}},
		{Priority: 2, Match: []Match{{Value: []byte{3}}}},
		{Priority: 1, Match: []Match{{Value: []byte{9}, PrefixLen: 4}}},
	}
	Sort(es)
	got := ""
	for _, e := range es {
		got += fmt.Sprint(e.Match[0].Value[0])
	}
	if got != "3912" {
		t.Errorf("order is %s", got)
	}
}

func TestEncodeDecode(t *testing.T) {
	signed := &ir.Bits{Width: 12, Signed: true}
	for _, v := range []int64{0, 1, -1, 2047, -2048} {
		if got := Decode(Encode(big.NewInt(v), 12), signed); got.Int64() != v {
			t.Errorf("%d became %s", v, got)
		}
	}
	if got := PrefixMask(5, 12); fmt.Sprintf("%x", got) != "0f80" {
		t.Errorf("mask of /5 in 12 bits is %x", got)
	}
}
