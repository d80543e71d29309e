package stf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

func TestMatchOf(t *testing.T) {
	for _, c := range []struct {
		kind  ir.MatchKind
		in    string
		width int
		want  string // value, mask, prefix length, low, high; or the error
	}{
		{ir.MatchExact, "0x0800", 16, "0800//0//"},
		{ir.MatchExact, "-1", 8, "ff//0//"},
		{ir.MatchExact, "256", 8, "error: 256 does not fit"},
		{ir.MatchExact, "0x8*", 8, "error: \"0x8*\": there must be no *"},
		{ir.MatchExact, "ten", 8, "error: \"ten\" is no number"},
		{ir.MatchTernary, "0x****0101", 32, "00000101/0000ffff/0//"},
		{ir.MatchTernary, "0b1*", 2, "02/02/0//"},
		{ir.MatchTernary, "0o7*", 6, "38/38/0//"},
		{ir.MatchTernary, "5", 8, "05/ff/0//"},
		{ir.MatchTernary, "0x12&&&0xf0", 8, "12/f0/0//"},
		{ir.MatchTernary, "0x12/4", 8, "12/f0/0//"},
		{ir.MatchTernary, "1*", 8, "error: \"1*\": a * needs"},
		{ir.MatchLPM, "0x0a******", 32, "0a000000//8//"},
		{ir.MatchLPM, "0x0a000000/9", 32, "0a000000//9//"},
		{ir.MatchLPM, "10", 32, "0000000a//32//"},
		{ir.MatchLPM, "0x*a******", 32, "error: \"0x*a******\" is no prefix"},
		{ir.MatchRange, "3->9", 8, "//0/03/09"},
		{ir.MatchRange, "0x3..0x9", 8, "//0/03/09"},
		{ir.MatchRange, "4", 8, "//0/04/04"},
		{ir.MatchOptional, "4", 8, "04//0//"},
	} {
		m, err := matchOf(c.kind, c.in, c.width)
		got := fmt.Sprintf("%x/%x/%d/%x/%x", m.Value, m.Mask, m.PrefixLen, m.Lo, m.Hi)
		if err != nil {
			got = "error: " + err.Error()
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %s: %s, want %s", c.kind, c.in, got, c.want)
		}
	}
	if m, err := matchOf(ir.MatchTernary, "*", 8); err != nil || !m.Any {
		t.Errorf("* is %+v, %v", m, err)
	}
}

func TestResolve(t *testing.T) {
	names := []string{"ing.a.t", "ing.b.t", "ing.xt", "egr.u", "s"}
	for in, want := range map[string]string{
		"ing.a.t": "ing.a.t", ".ing.a.t": "ing.a.t", "a.t": "ing.a.t", "xt": "ing.xt", "u": "egr.u", "s": "s",
		"t":    `table "t" is ambiguous: ing.a.t, ing.b.t`,
		"none": `no table "none", there is egr.u, ing.a.t, ing.b.t, ing.xt, s`,
	} {
		i, err := resolve("table", in, names)
		got := names[i]
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestFindKey(t *testing.T) {
	tab := &ir.Table{FullName: "t"}
	keys := []*ir.Key{{Name: "hdr.data.isValid()"}, {Name: "hdr.data.f1"}, {Name: "hdr.stack[1].x"}, {Name: "meta.f2"}}
	for in, want := range map[string]int{
		"data": 0, "hdr.data.isValid()": 0, "data.valid": 0, "data.$valid$": 0, "data.$valid": 0,
		"data.f1": 1, "f1": 1, "stack$1.x": 2, "hdr.stack[1].x": 2, "f2": 3,
	} {
		if got, err := findKey(tab, keys, in); err != nil || got != want {
			t.Errorf("%s: key %d, %v; want %d", in, got, err, want)
		}
	}
}
