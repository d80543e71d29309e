package stf

import (
	"fmt"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	s, err := Parse("x.stf", `
# a comment
packet 1 00 11	22   # behind
  3344
PACKET 2 ff
expect 3 aB*C $
expect 4
no_packet
wait
add ing.t 10 hdr.h.a:0x0a****** m.b : 5 act(x:1, y: 0b11) = H
add t k:1 act ( )
add e act()
setdefault t act(7)
remove all
remove t k:1
check_counter c(3)
check_counter cnt($A) packets >= 0x10
register_write r 3 4
mirroring_add 5 6
mc_node_create 1 2 3
member_add ap 4 act(x:1)
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"3 &{Port:1 Data:[0 17 34 51 68]}",
		"5 &{Port:2 Data:[255]}",
		"6 &{Port:3 Pattern:ab*c Any:false Exact:true}",
		"7 &{Port:4 Pattern: Any:true Exact:false}",
		"8 &{}",
		"9 &{}",
		"10 &{Table:ing.t Priority:10 Keys:[{Name:hdr.h.a Value:0x0a******} {Name:m.b Value:5}] Action:{Name:act Args:[{Name:x Value:1} {Name:y Value:0b11}]} Handle:H}",
		"11 &{Table:t Priority:0 Keys:[{Name:k Value:1}] Action:{Name:act Args:[]} Handle:}",
		"12 &{Table:e Priority:0 Keys:[] Action:{Name:act Args:[]} Handle:}",
		"13 &{Table:t Action:{Name:act Args:[{Name: Value:7}]}}",
		"14 &{Table: Priority:0 Keys:[]}",
		"15 &{Table:t Priority:0 Keys:[{Name:k Value:1}]}",
		"16 &{Name:c Index:3 Unit: Compare: Value:0}",
		"17 &{Name:cnt Index:$A Unit:packets Compare:>= Value:16}",
		"18 &{Verb:register_write Name:r Args:[3 4]}",
		"19 &{Verb:mirroring_add Args:[5 6]}",
		"20 &{Verb:mc_node_create Args:[1 2 3]}",
		"21 &{Profile:ap ID:4 Action:{Name:act Args:[{Name:x Value:1}]}}",
	}
	for i, st := range s.Stmts {
		if got := fmt.Sprintf("%d %+v", st.Line, st.Cmd); i >= len(want) || got != want[i] {
			t.Errorf("statement %d is %s", i, got)
		}
	}
	if len(s.Stmts) != len(want) {
		t.Errorf("%d statements, want %d", len(s.Stmts), len(want))
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"frobnicate 1", "unknown command"},
		{"packet x 00", "no port number"},
		{"packet 1 0", "packet data"},
		{"packet 1 0g", "packet data"},
		{"expect 1 0g", "neither a hexadecimal digit"},
		{"add t k:1", "no action"},
		{"add t k act()", "no KEY:VALUE"},
		{"add t k:1 act(", ") of the action's arguments"},
		{"add t k:1 act() x", "unexpected"},
		{"setdefault t", "setdefault needs"},
		{"setdefault t act", "arguments (…) are missing"},
		{"remove t k:1 act()", "remove takes no action"},
		{"check_counter c", "check_counter is written"},
		{"register_write r 1", "at least 2 arguments"},
		{"mirroring_add 1", "at least 2 arguments"},
		{"mirroring_add a b", "no number"},
		{"member_add p x act()", "member_add needs"},
	} {
		_, err := Parse("f", "\n"+c.in)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "f:2: ") {
			t.Errorf("%s: error %v, want %q at f:2", c.in, err, c.want)
		}
	}
}

func TestDifference(t *testing.T) {
	for _, c := range []struct {
		e    Expect
		got  []byte
		want string
	}{
		{Expect{Pattern: "0102"}, []byte{1, 2, 3}, ""},
		{Expect{Pattern: "0102", Exact: true}, []byte{1, 2, 3}, "too long: 3 bytes, 2 expected"},
		{Expect{Pattern: "01**03"}, []byte{1, 2, 3}, ""},
		{Expect{Pattern: "01**03"}, []byte{1, 2}, "too short: 2 bytes, 3 expected"},
		{Expect{Pattern: "010203"}, []byte{1, 7, 3}, "differs at byte 1"},
		{Expect{Any: true}, nil, ""},
		{Expect{Exact: true}, nil, ""},
		{Expect{Exact: true}, []byte{1}, "too long"},
	} {
		got := difference(&c.e, c.got)
		if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v and %x: %q, want %q", c.e, c.got, got, c.want)
		}
	}
}
