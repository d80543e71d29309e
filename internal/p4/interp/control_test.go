package interp_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// archived makes a switch of an archive's program.
func archived(t *testing.T, name string, o interp.Options) *interp.Switch {
	t.Helper()
	a, err := txtar.ParseFile("testdata/" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	sw, err := interp.New(compileText(t, member(t, a, "prog.p4")), o)
	if err != nil {
		t.Fatal(err)
	}
	return sw
}

func TestControlPlaneErrors(t *testing.T) {
	sw := archived(t, "tables", interp.Options{})
	answer := func(n byte) *target.Action { return &target.Action{Name: "I.answer", Params: [][]byte{{n}}} }
	exact := func(a byte) target.Entry {
		return target.Entry{Table: "I.by_exact", Action: answer(1), Match: []target.Match{{Value: []byte{a}}, {Value: []byte{0}}}}
	}
	member := func(id uint32) target.Member { return target.Member{ID: id, Action: *answer(1)} }
	byMember := target.Entry{Table: "I.by_member", Member: 1, Match: []target.Match{{Value: []byte{1}}}}
	byGroup := target.Entry{Table: "I.by_group", Group: 1, Match: []target.Match{{Value: []byte{1}}}}
	group := target.Group{ID: 1, Members: []target.GroupMember{{ID: 2, Weight: 1}}}
	for _, c := range []struct {
		what string
		do   func() error
		want error // nil: no error
	}{
		{"insert", func() error { return sw.WriteEntry(target.Insert, exact(1)) }, nil},
		{"insert twice", func() error { return sw.WriteEntry(target.Insert, exact(1)) }, target.ErrExists},
		{"modify nothing", func() error { return sw.WriteEntry(target.Modify, exact(2)) }, target.ErrNotFound},
		{"delete nothing", func() error { return sw.WriteEntry(target.Delete, exact(2)) }, target.ErrNotFound},
		{"second", func() error { return sw.WriteEntry(target.Insert, exact(2)) }, nil},
		{"beyond the size", func() error { return sw.WriteEntry(target.Insert, exact(3)) }, target.ErrFull},
		{"modify", func() error { return sw.WriteEntry(target.Modify, exact(2)) }, nil},
		{"delete", func() error { return sw.WriteEntry(target.Delete, exact(2)) }, nil},
		{"no such table", func() error { return sw.WriteEntry(target.Insert, target.Entry{Table: "x"}) }, target.ErrNotFound},
		{"constant entries", func() error {
			return sw.WriteEntry(target.Insert, target.Entry{Table: "I.by_program", Action: answer(1), Match: []target.Match{{Value: []byte{1}}, {Any: true}}})
		}, target.ErrInvalid},
		{"constant default", func() error { return sw.SetDefault("I.by_program", answer(1)) }, target.ErrInvalid},
		{"default with wrong parameters", func() error { return sw.SetDefault("I.no_key", &target.Action{Name: "I.answer"}) }, target.ErrInvalid},
		{"member not there", func() error { return sw.WriteEntry(target.Insert, byMember) }, target.ErrNotFound},
		{"member", func() error { return sw.WriteMember(target.Insert, "I.ap", member(1)) }, nil},
		{"member twice", func() error { return sw.WriteMember(target.Insert, "I.ap", member(1)) }, target.ErrExists},
		{"entry with member", func() error { return sw.WriteEntry(target.Insert, byMember) }, nil},
		{"member in use", func() error { return sw.WriteMember(target.Delete, "I.ap", member(1)) }, target.ErrInvalid},
		{"group of a profile", func() error { return sw.WriteGroup(target.Insert, "I.ap", group) }, target.ErrInvalid},
		{"group without member", func() error { return sw.WriteGroup(target.Insert, "I.as", group) }, target.ErrNotFound},
		{"selector member", func() error { return sw.WriteMember(target.Insert, "I.as", member(2)) }, nil},
		{"group", func() error { return sw.WriteGroup(target.Insert, "I.as", group) }, nil},
		{"entry with group", func() error { return sw.WriteEntry(target.Insert, byGroup) }, nil},
		{"group in use", func() error { return sw.WriteGroup(target.Delete, "I.as", group) }, target.ErrInvalid},
		{"member in a group", func() error { return sw.WriteMember(target.Delete, "I.as", member(2)) }, target.ErrInvalid},
		{"delete the entry", func() error { return sw.WriteEntry(target.Delete, byGroup) }, nil},
		{"then the group", func() error { return sw.WriteGroup(target.Delete, "I.as", group) }, nil},
		{"then the member", func() error { return sw.WriteMember(target.Delete, "I.as", member(2)) }, nil},
		{"multicast group 0", func() error { return sw.WriteMulticast(target.Insert, 0, nil) }, target.ErrInvalid},
		{"clone session not there", func() error { return sw.WriteClone(target.Delete, target.CloneSession{ID: 3}) }, target.ErrNotFound},
	} {
		if err := c.do(); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", c.what, err, c.want)
		}
	}
	es, def, err := sw.ReadEntries("I.by_exact")
	if err != nil || len(es) != 1 || es[0].Counter == nil || def.Name != "I.none" {
		t.Errorf("read %+v, default %+v, %v", es, def, err)
	}
	if es, _, err := sw.ReadEntries("I.by_program"); err != nil || len(es) != 3 || !es[0].Const {
		t.Errorf("the program's entries read as %+v, %v", es, err)
	}
}

func TestRegistersOverTheControlPlane(t *testing.T) {
	sw := archived(t, "externs", interp.Options{})
	if err := sw.WriteRegister("I.reg", 1, [][]byte{{0x12, 0x34}}); err != nil {
		t.Fatal(err)
	}
	if v, err := sw.ReadRegister("I.reg", 1); err != nil || len(v) != 1 || string(v[0]) != "\x12\x34" {
		t.Errorf("read %x, %v", v, err)
	}
	if err := sw.WriteRegister("I.reg", 4, [][]byte{{1}}); !errors.Is(err, target.ErrInvalid) {
		t.Errorf("an index beyond the size: %v", err)
	}
	if err := sw.WriteRegister("I.reg", 1, [][]byte{{1, 2, 3}}); !errors.Is(err, target.ErrInvalid) {
		t.Errorf("a value too wide: %v", err)
	}
	if _, err := sw.ReadCounter("I.reg", 0); !errors.Is(err, target.ErrNotFound) {
		t.Errorf("a register read as a counter: %v", err)
	}
}

func TestDigest(t *testing.T) {
	sw := archived(t, "externs", interp.Options{})
	if _, err := sw.Inject(target.Packet{Port: 1, Data: []byte{9, 0x11, 0x22, 0x33}}); err != nil {
		t.Fatal(err)
	}
	ds := sw.Digests()
	if len(ds) != 1 || len(ds[0].Values) != 2 || string(ds[0].Values[0]) != "\x11" || string(ds[0].Values[1]) != "\x22\x33" {
		t.Errorf("digests are %+v", ds)
	}
	if ds := sw.Digests(); len(ds) != 0 {
		t.Errorf("digests are given twice: %+v", ds)
	}
}

func TestEndlessPacketsEnd(t *testing.T) {
	sw := archived(t, "replication", interp.Options{})
	if _, err := sw.Inject(target.Packet{Port: 1, Data: []byte{7, 0, 0, 0}}); !errors.Is(err, interp.ErrLimit) {
		t.Errorf("a packet that is resubmitted for ever: %v", err)
	}
	// The switch goes on.
	if ps, err := sw.Inject(target.Packet{Port: 1, Data: []byte{0, 0, 0, 0}}); err != nil || len(ps) != 1 {
		t.Errorf("afterwards: %v, %v", ps, err)
	}
}

// variant compiles the tables program with another start state or apply block.
func variant(t *testing.T, old, new string, o interp.Options) *interp.Switch {
	t.Helper()
	text, err := os.ReadFile("testdata/plain.p4")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		t.Fatalf("plain.p4 has no %q", old)
	}
	sw, err := interp.New(compileText(t, strings.Replace(string(text), old, new, 1)), o)
	if err != nil {
		t.Fatal(err)
	}
	return sw
}

func TestParserLoopEnds(t *testing.T) {
	sw := variant(t, "transition accept;", "transition start2; } state start2 { transition start2;", interp.Options{})
	if _, err := sw.Inject(target.Packet{Data: []byte{0, 0, 0, 0}}); !errors.Is(err, interp.ErrLimit) {
		t.Errorf("a parser that goes round without reading: %v", err)
	}
}

func TestAssert(t *testing.T) {
	sw := variant(t, "// here", "assert(hdr.h.a == 1);", interp.Options{})
	if _, err := sw.Inject(target.Packet{Data: []byte{0, 1, 0, 0}}); err != nil {
		t.Errorf("a true assert: %v", err)
	}
	if _, err := sw.Inject(target.Packet{Data: []byte{0, 2, 0, 0}}); !errors.Is(err, interp.ErrAssert) || !strings.Contains(err.Error(), "hdr.h.a == 1") {
		t.Errorf("a false assert: %v", err)
	}
}

func TestLogMessage(t *testing.T) {
	var got []string
	o := interp.Options{Log: func(m string) { got = append(got, m) }}
	sw := variant(t, "// here", `log_msg("a={} b={}", { hdr.h.a, hdr.h.b }); log_msg("plain");`, o)
	if _, err := sw.Inject(target.Packet{Data: []byte{0, 2, 1, 0}}); err != nil {
		t.Fatal(err)
	}
	if strings.Join(got, "|") != "a=2 b=256|plain" {
		t.Errorf("logged %q", got)
	}
}

func TestRandomIsSeededAndInRange(t *testing.T) {
	draw := func(seed uint64) (out []byte) {
		sw := variant(t, "// here", "random(hdr.h.a, 8w10, 8w13);", interp.Options{Seed: seed})
		for range 40 {
			ps, err := sw.Inject(target.Packet{Data: []byte{0, 0, 0, 0}})
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, ps[0].Data[1])
		}
		return out
	}
	a, b, c := draw(1), draw(1), draw(2)
	if string(a) != string(b) || string(a) == string(c) {
		t.Error("the seed does not decide the numbers")
	}
	seen := map[byte]bool{}
	for _, v := range a {
		seen[v] = true
	}
	if len(seen) != 4 || !seen[10] || !seen[13] {
		t.Errorf("numbers drawn are %v", a)
	}
}

// recorder keeps the events of a trace.
type recorder struct{ lines []string }

func (r *recorder) Trace(e interp.Event) { r.lines = append(r.lines, e.String()) }

func TestTrace(t *testing.T) {
	rec := &recorder{}
	sw := archived(t, "tables", interp.Options{Tracer: rec})
	if _, err := sw.Inject(target.Packet{Port: 1, Data: []byte{8, 1, 0x12, 0x34}}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"receive port 1 4 bytes 08011234",
		"state start",
		"extract hdr.h: {op=0x8 a=1 b=0x1234}",
		"control I",
		"assign standard_metadata.egress_spec: 2",
		"branch hdr.h.op: 0x8",
		"table I.by_program: hdr.h.a=0x01 hdr.h.b=0x1234 hit [0x01 0x1000&&&0xf000] priority 3 -> I.answer(0x01)",
		"assign hdr.h.a: 1",
		"control D",
		"emit hdr.h",
		"transmit port 2 4 bytes 08011234",
	}
	if got := strings.Join(rec.lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("trace is\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}
