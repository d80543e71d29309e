package ebpf

import (
	"fmt"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// maxSet is how many values with masks a parser value set holds at most: they are
// compared one by one.
const maxSet = 32

// valueSetInfo is what the generator knows of a value set.
type valueSetInfo struct {
	set     *ir.ValueSet
	spec    *ValueSet
	c       string
	inOrder []Slot // as declared
}

// declareValueSet writes the map of a value set: two generations of its members.
func (g *gen) declareValueSet(v *ir.ValueSet) {
	s := &ValueSet{Name: v.Name, Size: maxSet}
	vs := &valueSetInfo{set: v, spec: s, c: g.globals.fresh(v.Name)}
	for _, k := range v.Fields {
		if _, ok := ir.ScalarBits(k.Type); !ok {
			g.unsupported(k.Span, "a value set component of type %s", k.Type)
			return
		}
		name := k.Name
		if name == "" {
			name = fmt.Sprintf("f%d", len(s.Keys))
		}
		s.Keys = append(s.Keys, Key{Name: name, Width: width(k.Type), Signed: isSigned(k.Type), Match: string(k.Match)})
		vs.inOrder = append(vs.inOrder, Slot{Name: name, Width: width(k.Type), Signed: isSigned(k.Type), Bytes: cbytes(width(k.Type))})
	}
	var al int
	s.Key, al = pack(vs.inOrder, 0)
	s.Key.Size = align(s.Key.Size, max(al, 4))
	s.Map, s.State = vs.c, ".data."+vs.c
	g.valueSets[v] = vs
	g.spec.ValueSets = append(g.spec.ValueSets, s)

	t := &g.maps
	t.at(v.Span)
	t.f("/* value set %s */", s.Name)
	t.f("struct %s_key {", vs.c)
	at := 0
	for _, slot := range s.Key.Slots {
		t.f("%s;", slotDecl(slot, cName(slot.Name)))
		at = slot.Offset + slot.Bytes
	}
	if at < s.Key.Size {
		t.f("u8 pad[%d];", s.Key.Size-at)
	}
	t.f("};")
	t.f("_Static_assert(sizeof(struct %s_key) == %d, \"layout\");", vs.c, s.Key.Size)
	t.f("struct %s_set {", vs.c)
	t.f("u32 n;")
	t.f("u32 zero;")
	t.f("struct {")
	t.f("struct %s_key value, mask;", vs.c)
	t.f("} members[%d];", maxSet)
	t.f("};")
	g.declareMap(vs.c, "ARRAY", 2, "u32", "struct "+vs.c+"_set", "")
	t.f("u32 %s_state SEC(\".data.%s\"); /* which of the two is in force */", vs.c, vs.c)
	t.f("")
	key := fmt.Sprintf("value set %s %v %v", s.Name, s.Keys, s.Key)
	g.spec.MapKeys[s.Map], g.spec.MapKeys[s.State] = key, key
}

// writeValueSet writes the membership test.
func (g *gen) writeValueSet(vs *valueSetInfo) {
	if vs == nil {
		return
	}
	t := &g.funcs
	t.f("static __always_inline u32 in_%s(const struct %s_key *key)", vs.c, vs.c)
	t.f("{")
	t.f("u32 which = %s_state & 1;", vs.c)
	t.f("struct %s_set *set = bpf_map_lookup_elem(&%s, &which);", vs.c, vs.c)
	t.f("if (!set)")
	t.f("\treturn 0;")
	t.f("#pragma clang loop unroll(disable)")
	t.f("for (u32 i = 0; i < %d; i++) {", maxSet)
	t.f("if (i >= set->n)")
	t.f("\tbreak;")
	t.f("u32 differ = 0;")
	for i := range vs.spec.Key.Size / 4 {
		t.f("differ |= (((const u32 *)key)[%d] & ((const u32 *)&set->members[i].mask)[%d]) ^ ((const u32 *)&set->members[i].value)[%d];", i, i, i)
	}
	t.f("if (!differ)")
	t.f("\treturn 1;")
	t.f("}")
	t.f("return 0;")
	t.f("}")
	t.f("")
}
