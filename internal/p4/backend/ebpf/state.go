package ebpf

import (
	"fmt"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// stateText collects the members of a packet's state, and the C paths of the scalars in them that copies take along.
type stateText struct {
	g *gen
	text
	late    late
	scalars []string
}

// typed declares a member of a P4 type at a path within the state.
func (t *stateText) typed(typ ir.Type, path string) {
	t.f("%s;", t.g.declare(typ, path[strings.LastIndex(path, ".")+1:]))
	t.collect(typ, path)
}

// number declares a member that is a number of a C type.
func (t *stateText) number(ctype, name, comment string) {
	t.f("%s %s; /* %s */", ctype, name, comment)
	t.scalars = append(t.scalars, name)
}

// numbers declares an array of 32-bit numbers, unless it is empty.
func (t *stateText) numbers(n int, name, comment string) {
	if n == 0 {
		return
	}
	t.f("u32 %s[%d]; /* %s */", name, n, comment)
	t.array(name, n)
}

func (t *stateText) array(path string, n int) {
	for i := range n {
		t.scalars = append(t.scalars, fmt.Sprintf("%s[%d]", path, i))
	}
}

// collect notes the scalars in a value of a P4 type.
func (t *stateText) collect(typ ir.Type, path string) {
	switch typ := typ.(type) {
	case *ir.Varbit:
		t.array(path, words(typ.Max))
		t.scalars = append(t.scalars, path+"_bits")
		return
	case *ir.Stack:
		for i := range typ.Size {
			t.collect(typ.Elem, fmt.Sprintf("%s.e[%d]", path, i))
		}
		t.scalars = append(t.scalars, path+".next")
		return
	}
	if w, ok := ir.ScalarBits(typ); ok {
		if w > 64 {
			t.array(path, words(w))
		} else {
			t.scalars = append(t.scalars, path)
		}
		return
	}
	for _, f := range ir.FieldsOf(typ) {
		_, scalar := ir.ScalarBits(f.Type)
		if t.g.declared(f) && (!scalar || t.late == nil || t.late[f]) {
			t.collect(f.Type, path+"."+t.g.field(f))
		}
	}
	if _, ok := typ.(*ir.Header); ok {
		t.scalars = append(t.scalars, path+".at")
	}
}

// locals declares the local variables of a block.
func (t *stateText) locals(name string, vs []*ir.Var) {
	if len(vs) == 0 {
		return
	}
	t.f("struct {")
	for _, v := range vs {
		t.typed(v.Type, strings.TrimPrefix(t.g.vars[v], "s->"))
	}
	t.f("} %s;", name)
}

// stateStruct writes the struct of a packet's state.
func (g *gen) stateStruct() {
	t := &stateText{g: g, late: g.lateFields()}
	t.f("/* the packet at hand */")
	t.f("struct state {")
	t.typed(g.p.Hdr.Type, "hdr")
	t.typed(g.p.Meta.Type, "meta")
	early, all := t.scalars, t.late == nil
	t.locals("parser", g.p.Parser.Locals)
	for i, c := range g.p.Controls() {
		if !all && c == g.p.Egress {
			t.scalars = early // locals of blocks before egress are no copy's
		}
		t.locals(controlNames[i], c.Locals)
	}
	t.late = nil // what follows is the back end's own, or it looks at it
	t.typed(g.p.Std.Type, "std")
	for i, a := range g.keeping {
		t.locals(fmt.Sprintf("args%d", i), a.Params)
	}
	for i := range g.colours {
		t.number("u8", fmt.Sprintf("colour%d", i), g.colours[i].FullName)
	}
	for i, in := range g.snapshots() {
		t.f("/* %s before ingress: */", strings.TrimPrefix(in.path, "s->"))
		t.typed(in.e.Type(), fmt.Sprintf("old%d", i))
	}
	for _, s := range g.sums {
		t.number("u64", fmt.Sprintf("sum%d", s.number), "of differences, for checksums: "+strings.Join(g.summedPaths(s), ", "))
	}
	for _, inc := range g.sortedIncrements() {
		if inc.s.Op == ir.OpUpdateChecksumPay && !g.stays {
			patch := fmt.Sprintf("patch%d", inc.number)
			t.f("struct {")
			t.f("u64 own, pseudo; /* sums of the differences */")
			t.f("u8 changed, whole;")
			t.f("} %s; /* %s.%s */", patch, inc.h.name, inc.field.Name)
			for _, m := range []string{"own", "pseudo", "changed", "whole"} {
				t.scalars = append(t.scalars, patch+"."+m)
			}
		}
	}
	t.numbers(max(1, (len(g.use.list)+31)/32), "valid", "a bit for each header")
	t.numbers(g.writtenWords(), "written", "a bit for header fields: assigned to")
	t.numbers(len(g.emitted), "out", "where each emitted header goes, or NOWHERE")
	t.number("u64", "length", "bytes of the packet as it came")
	t.number("u32", "parsed", "bytes that the parser took")
	if g.repeats() {
		t.number("u32", "resubmit", "asked for: the number of a field list, plus one")
		t.number("u32", "recirculate", "the same")
	}
	if g.spec.Clones {
		t.number("u32", "session", "of the clone asked for")
		t.number("u32", "clone_list", "what the clone keeps: the number of a field list, plus one")
		t.number("u8", "clone", "asked for")
		t.number("u8", "queued", "there are copies to make")
	}
	for _, room := range []struct {
		words int
		name  string
	}{{g.keyRoom, "key_room"}, {g.foundRoom, "found_room"}} {
		if room.words > 0 {
			t.f("u64 %s[%d]; /* of the table that is applied */", room.name, room.words)
		}
	}
	t.number("u32", "truncate", "bytes to leave, plus one; or 0")
	t.number("u8", "failed", "drop it")
	t.f("} __attribute__((aligned(8)));")
	t.f("")
	g.structs.b.WriteString(t.b.String())
	if g.copies() {
		g.copyState(t.scalars)
	}
}

// copyState writes a function that copies a state that is in registers. To copy it as a whole clang would keep the
// bytes between its members, too.
func (g *gen) copyState(scalars []string) {
	t := &g.structs
	t.f("static __always_inline void copy_state(struct state *to, const struct state *from)")
	t.f("{")
	for _, s := range scalars {
		t.f("to->%s = from->%s;", s, s)
	}
	t.f("}")
	t.f("")
}
