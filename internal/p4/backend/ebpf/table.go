package ebpf

import (
	"fmt"
	"math/big"
	"sort"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// maxCode is up to how many constant entries become program text.
const maxCode = 16

// tableInfo is what the generator knows of a table.
type tableInfo struct {
	t        *ir.Table
	spec     *Table
	c        string       // C name
	actions  []*ir.Action // those listed, and the default if it is not
	prof     *profileInfo
	stateful bool // has a part in the state of all tables
	outlined bool // is applied by a function that packets' ways share
	exits    bool // some action contains an Exit
}

// describeTable makes the description of a table, without text.
func (g *gen) describeTable(t *ir.Table, c string) *tableInfo {
	s := &Table{Name: t.FullName, Size: t.Size, ConstDefault: t.ConstDefault, ConstEntries: t.ConstEntries}
	ti := &tableInfo{t: t, spec: s, c: c}
	if s.Size <= 0 {
		s.Size = 1024
	}
	s.Size = max(s.Size, len(t.Entries))
	for _, k := range t.Keys {
		if k.Match == ir.MatchSelector {
			continue
		}
		if _, ok := ir.ScalarBits(k.Type); !ok {
			g.unsupported(k.Span, "a table key of type %s", k.Type)
			continue
		}
		s.Keys = append(s.Keys, Key{Name: k.Name, Width: width(k.Type), Signed: isSigned(k.Type), Match: string(k.Match)})
	}
	s.Kind = tableKind(t, s.Keys)
	if t.Impl != nil {
		ti.prof = g.profileOf(t)
		s.Profile = t.Impl.FullName
	}
	s.Key = keyLayout(s)
	if s.Kind == KindTuples {
		s.placeMaskNumber()
	}
	valueAlign := g.describeValue(ti)
	s.DefaultAction = g.callSpec(ti, t.Default)
	for _, e := range t.Entries {
		s.Entries = append(s.Entries, g.entrySpec(ti, e))
	}
	switch s.Kind {
	case KindHash, KindLPM:
		s.Map = c
	case KindTuples:
		s.Map, s.Masks = ".data."+c, ".data."+c+"_masks"
		g.placeElements(s, valueAlign)
	}
	ti.stateful = !s.ConstDefault || s.Kind == KindTuples
	if ti.stateful {
		s.State, s.StateAt = MapTables, g.spec.StateSize
		g.spec.StateSize += s.stateBytes()
	}
	for _, a := range ti.actions {
		ti.exits = ti.exits || hasExit(a.Body)
	}
	return ti
}

func tableKind(t *ir.Table, keys []Key) TableKind {
	lpm, ternary := 0, false
	for _, k := range keys {
		switch k.Match {
		case "lpm":
			lpm++
		case "ternary", "range", "optional":
			ternary = true
		}
	}
	switch {
	case len(keys) == 0:
		return KindNone
	case t.ConstEntries && len(t.Entries) <= maxCode && t.Impl == nil:
		return KindCode
	case ternary || lpm > 1:
		return KindTuples
	case lpm == 1:
		return KindLPM
	}
	return KindHash
}

// keyLayout packs the keys. Of an lpm table the prefix comes last, on a word boundary.
func keyLayout(s *Table) Layout {
	var slots []Slot
	var prefix *Slot
	for _, k := range s.Keys {
		slot := Slot{Name: k.Name, Width: k.Width, Signed: k.Signed, Bytes: cbytes(k.Width)}
		if s.Kind == KindLPM && k.Match == "lpm" {
			slot.Bytes, slot.Big = (k.Width+7)/8, true
			prefix = &slot
			continue
		}
		slots = append(slots, slot)
	}
	l, al := pack(slots, 0)
	if prefix != nil {
		prefix.Offset = align(l.Size, 4)
		l.Slots = append(l.Slots, *prefix)
		l.Size = align(prefix.Offset+prefix.Bytes, 4)
		return l
	}
	l.Size = align(l.Size, max(al, 4))
	return l
}

// placeMaskNumber finds a place for the number of a mask: in the padding if with it the key is whole words of eight
// bytes, which the kernel compares faster, or behind the key.
func (s *Table) placeMaskNumber() {
	end := 0
	for _, slot := range s.Key.Slots {
		end = max(end, slot.Offset+slot.Bytes)
	}
	if end < s.Key.Size && s.Key.Size%8 == 0 {
		s.MaskNumber = Slot{Name: "mask", Width: 8, Offset: s.Key.Size - 1, Bytes: 1}
		return
	}
	s.MaskNumber = Slot{Name: "mask", Width: 32, Offset: s.Key.Size, Bytes: 4}
	s.Key.Size += 4
}

// describeValue lays out the value: some words, then the parameters of the action. It returns the value's alignment.
func (g *gen) describeValue(ti *tableInfo) int {
	s := ti.spec
	at := 0
	word := func(name string) {
		s.Value.Slots = append(s.Value.Slots, Slot{Name: name, Width: 32, Offset: at, Bytes: 4})
		at += 4
	}
	word("action")
	if s.Kind == KindTuples {
		word("priority")
	}
	if ti.t.Counter != nil || ti.t.Meter != nil {
		word("index")
	}
	if ti.prof != nil {
		word("member")
		word("group")
	}
	s.Value.Size = at
	for _, ta := range ti.t.Actions {
		s.Actions = append(s.Actions, &Action{Name: ta.Action.FullName, TableOnly: ta.TableOnly, DefaultOnly: ta.DefaultOnly})
		ti.actions = append(ti.actions, ta.Action)
	}
	if def := ti.t.Default.Action; ti.index(def) < 0 {
		s.Actions = append(s.Actions, &Action{Name: def.FullName, DefaultOnly: true})
		ti.actions = append(ti.actions, def)
	}
	size, al := g.layoutParams(s.Actions, ti.actions, at)
	s.ValueSize = size
	return al
}

// index is the number of an action in the table, or -1.
func (ti *tableInfo) index(a *ir.Action) int {
	for i, x := range ti.actions {
		if x == a {
			return i
		}
	}
	return -1
}

// layoutParams lays the parameters of each action out behind the first words of a
// value, and returns the value's size and alignment.
func (g *gen) layoutParams(specs []*Action, actions []*ir.Action, at int) (size, al int) {
	al = 4
	raw := make([][]Slot, len(actions))
	for i, a := range actions {
		for _, p := range a.Params {
			if _, ok := ir.ScalarBits(p.Type); !ok {
				g.unsupported(p.Span, "an action parameter of type %s", p.Type)
				continue
			}
			slot := slotFor(p.Name, p.Type)
			al = max(al, min(slot.Bytes, 8))
			raw[i] = append(raw[i], slot)
		}
	}
	base := align(at, al)
	size = base
	for i := range actions {
		packed, _ := pack(raw[i], base)
		size = max(size, packed.Size)
		// In the order of the declaration, as the control plane gives them.
		l := Layout{Size: packed.Size}
		for _, r := range raw[i] {
			for _, p := range packed.Slots {
				if p.Name == r.Name {
					l.Slots = append(l.Slots, p)
				}
			}
		}
		specs[i].Params = l
	}
	return align(size, al), al
}

func (g *gen) callSpec(ti *tableInfo, c *ir.ActionCall) Call {
	out := Call{Action: ti.index(c.Action)}
	if out.Action < 0 {
		g.unsupported(c.Span, "an entry with action %q, which the table does not list,", c.Action.FullName)
		out.Action = 0
	}
	for _, a := range c.Args {
		out.Args = append(out.Args, bigBytes(a.Value, width(a.T)))
	}
	return out
}

// bigBytes is a number in two's complement, big-endian, in the least number of bytes
// for its width.
func bigBytes(x *big.Int, w int) []byte {
	m := new(big.Int).Lsh(big.NewInt(1), uint(w))
	m.Sub(m, big.NewInt(1))
	return new(big.Int).And(x, m).FillBytes(make([]byte, (w+7)/8))
}

func (g *gen) entrySpec(ti *tableInfo, e *ir.Entry) Entry {
	out := Entry{Priority: e.Priority, Call: g.callSpec(ti, e.Action), Const: e.Const}
	for i, k := range e.Keys {
		if i >= len(ti.spec.Keys) {
			break
		}
		key := ti.spec.Keys[i]
		b := func(x *big.Int) []byte { return bigBytes(x, key.Width) }
		var m Match
		switch k := k.(type) {
		case *ir.KeyExact:
			m = Match{Value: b(k.Value)}
			all := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(key.Width)), big.NewInt(1))
			switch key.Match {
			case "lpm":
				m.PrefixLen = key.Width
			case "ternary":
				m.Mask = b(all)
			case "range":
				m = Match{Lo: b(k.Value), Hi: b(k.Value)}
			}
		case *ir.KeyMask:
			m = Match{Value: b(k.Value), Mask: b(k.Mask)}
			if key.Match == "lpm" {
				m = Match{Value: b(k.Value)}
				for i := range key.Width {
					m.PrefixLen += int(k.Mask.Bit(i))
				}
			}
		case *ir.KeyRange:
			m = Match{Lo: b(k.Lo), Hi: b(k.Hi)}
		default:
			m = Match{Any: true}
		}
		out.Match = append(out.Match, m)
	}
	return out
}

// hasExit tells whether statements may end the control that they are in.
func hasExit(ss []ir.Stmt) bool {
	found := false
	ir.Walk(ss, func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.Exit, *ir.Loop: // a loop ends the control when it runs too long
			found = true
		case *ir.Call:
			found = found || s.Op == ir.OpAssert || s.Op == ir.OpAssume
		}
	})
	return found
}

// declareTable writes the maps and structs of a table.
func (g *gen) declareTable(ti *tableInfo) {
	s, t := ti.spec, &g.maps
	t.at(ti.t.Span)
	t.f("/* table %s: %s */", s.Name, describeKeys(s.Keys))
	g.declareValue(ti.c, s.Value.Slots, s.Actions, s.ValueSize)
	switch s.Kind {
	case KindHash, KindLPM, KindTuples:
		g.declareKey(ti)
	}
	switch s.Kind {
	case KindHash:
		g.declareMap(ti.c, "HASH", s.Size, "struct "+ti.c+"_key", "struct "+ti.c+"_value", "BPF_F_NO_PREALLOC")
	case KindLPM:
		g.declareMap(ti.c, "LPM_TRIE", s.Size, "struct "+ti.c+"_key", "struct "+ti.c+"_value", "BPF_F_NO_PREALLOC")
	case KindTuples:
		g.declareTuples(ti)
	}
	if ti.stateful {
		g.declareState(ti)
	}
	t.f("")
	for _, m := range []string{s.Map, s.Masks} {
		if m != "" {
			g.spec.MapKeys[m] = g.mapKey("table", s)
		}
	}
}

// declareState adds a table's part to the state of all tables.
func (g *gen) declareState(ti *tableInfo) {
	s, t := ti.spec, &g.tableStates
	t.f("struct {")
	t.f("u32 masks; /* generation in force */")
	t.f("u32 use; /* default action in force */")
	if !s.ConstDefault {
		t.f("struct %s_value def[2];", ti.c)
	}
	t.f("} __attribute__((aligned(8))) %s;", ti.c)
	g.stateOffsets = append(g.stateOffsets, fmt.Sprintf("_Static_assert(__builtin_offsetof(struct tables, %s) == %d, \"layout\");", ti.c, s.StateAt))
	g.spec.MapKeys[s.State] += g.mapKey("state", s) + "\n"
}

// writeStates writes the state of all tables.
func (g *gen) writeStates(b *strings.Builder) {
	if len(g.stateOffsets) == 0 {
		return
	}
	b.WriteString("/* what is in force of each table */\nstruct tables {\n")
	b.WriteString(g.tableStates.b.String())
	b.WriteString("};\n" + strings.Join(g.stateOffsets, "\n") + "\n")
	fmt.Fprintf(b, "struct tables tables SEC(%q);\n\n", MapTables)
}

// rangeFactor is how many elements an entry takes at most, as a rule.
func rangeFactor(keys []Key) int {
	for _, k := range keys {
		if k.Match == "range" {
			return 8
		}
	}
	return 1
}

// mapKey says what the contents of a table's map mean.
func (g *gen) mapKey(what string, s *Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s 4 %s %s %d %v %v %v %v %d %t", what, s.Name, s.Kind, s.Size, s.Keys, s.Key, s.MaskNumber, s.Value, s.ValueSize, s.ConstDefault)
	for _, a := range s.Actions {
		fmt.Fprintf(&b, " %v", *a)
	}
	fmt.Fprintf(&b, " %v %v", s.Entries, s.DefaultAction)
	return b.String()
}

func describeKeys(keys []Key) string {
	if len(keys) == 0 {
		return "no keys"
	}
	var parts []string
	for _, k := range keys {
		parts = append(parts, fmt.Sprintf("%s %s", k.Match, k.Name))
	}
	return strings.Join(parts, ", ")
}

// declareMap writes a map.
func (g *gen) declareMap(name, kind string, size int, key, value, flags string) {
	t := &g.maps
	t.f("struct {")
	t.f("__uint(type, BPF_MAP_TYPE_%s);", kind)
	t.f("__uint(max_entries, %d);", size)
	if flags != "" {
		t.f("__uint(map_flags, %s);", flags)
	}
	t.f("__type(key, %s);", key)
	t.f("__type(value, %s);", value)
	t.f("} %s SEC(\".maps\");", name)
}

// declareValue writes the struct of a value: words, then the parameters.
func (g *gen) declareValue(c string, slots []Slot, actions []*Action, size int) {
	t := &g.maps
	t.f("struct %s_value {", c)
	for _, s := range slots {
		t.f("u32 %s;", s.Name)
	}
	any := false
	for _, a := range actions {
		any = any || len(a.Params.Slots) > 0
	}
	if any {
		t.f("union {")
		for i, a := range actions {
			if len(a.Params.Slots) == 0 {
				continue
			}
			t.f("struct { /* %s */", a.Name)
			for _, s := range byOffset(a.Params.Slots) {
				t.f("%s;", slotDecl(s, cName(s.Name)))
			}
			t.f("} a%d;", i)
		}
		t.f("} u;")
	}
	t.f("};")
	t.f("_Static_assert(sizeof(struct %s_value) == %d, \"layout\");", c, size)
}

func byOffset(slots []Slot) []Slot {
	out := append([]Slot(nil), slots...)
	sort.Slice(out, func(i, j int) bool { return out[i].Offset < out[j].Offset })
	return out
}

// declareKey writes the struct of a table's key, with all padding spelled out.
func (g *gen) declareKey(ti *tableInfo) {
	s, t := ti.spec, &g.maps
	lead := 0
	attr := ""
	t.f("struct %s_key {", ti.c)
	if s.Kind == KindLPM {
		t.f("u32 prefixlen;")
		lead = 4
	}
	if s.Kind == KindLPM || s.Kind == KindTuples {
		// The size need not be a multiple of the largest member's.
		attr = " __attribute__((packed, aligned(4)))"
	}
	at := 0
	names := newScope()
	for i, slot := range s.Key.Slots {
		if slot.Offset > at {
			t.f("u8 pad%d[%d];", i, slot.Offset-at)
		}
		t.f("%s;", slotDecl(slot, keyMember(names, slot)))
		at = slot.Offset + slot.Bytes
	}
	end := s.Key.Size
	if s.Kind == KindTuples {
		end = s.MaskNumber.Offset
	}
	if end > at {
		t.f("u8 pad[%d];", end-at)
	}
	if s.Kind == KindTuples {
		t.f("%s;", slotDecl(s.MaskNumber, "mask_number"))
	}
	t.f("}%s;", attr)
	t.f("_Static_assert(sizeof(struct %s_key) == %d, \"layout\");", ti.c, lead+s.Key.Size)
}

// keyMember is the C name of a key in its struct: hdr.ipv4.dstAddr is ipv4_dstAddr.
func keyMember(names *scope, s Slot) string {
	n := s.Name
	if i := strings.Index(n, "."); i >= 0 && i < len(n)-1 && (strings.HasPrefix(n, "hdr.") || strings.HasPrefix(n, "meta.") || strings.HasPrefix(n, "standard_metadata.")) {
		n = n[i+1:]
	}
	return names.name(s.Offset, n)
}
