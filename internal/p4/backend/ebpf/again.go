package ebpf

import (
	"sort"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// maxPasses is how often a packet goes through the program at most: resubmitted and
// recirculated packets start again. One that wants more is dropped.
const maxPasses = 512

// repeats tells whether packets can start again.
func (g *gen) repeats() bool {
	return g.use.ops[ir.OpResubmit] || g.use.ops[ir.OpRecirculate]
}

// kept is a scalar of the metadata that a field list keeps.
type kept struct {
	path string
	typ  ir.Type
}

// fieldList returns the metadata that @field_list(n) marks. A mark on a struct holds
// for all that is in it.
func (g *gen) fieldList(n string) []kept {
	var out []kept
	var visit func(t ir.Type, path string, marked bool)
	visit = func(t ir.Type, path string, marked bool) {
		if _, ok := ir.ScalarBits(t); ok {
			if marked {
				out = append(out, kept{path, t})
			}
			return
		}
		for _, f := range ir.FieldsOf(t) {
			m := marked
			for _, a := range f.Annotations {
				m = m || a.Name == "field_list" && contains(a.Args, n)
			}
			visit(f.Type, path+"."+g.field(f), m)
		}
	}
	visit(g.p.Meta.Type, g.vars[g.p.Meta], false)
	visit(g.p.Std.Type, g.vars[g.p.Std], false)
	return out
}

// listIndex is the constant index of a field list in a call.
func (g *gen) listIndex(s *ir.Call, e ir.Expr) string {
	c, ok := e.(*ir.Const)
	if !ok {
		g.unsupported(s.Span, "%s with a field list that is not constant", s.Op)
		return "0"
	}
	n := c.Value.String()
	g.lists[n] = true
	return n
}

// sortedLists are the field lists in use.
func (g *gen) sortedLists() []string {
	var out []string
	for n := range g.lists {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}

// again notes that the packet has to start again: the number of the list, plus one.
func (f *fn) again(s *ir.Call) {
	member := "resubmit"
	if s.Op == ir.OpRecirculate {
		member = "recirculate"
	}
	f.t.f("s->%s = %s + 1;", member, f.g.listIndex(s, s.Args[0]))
}

// recirculate starts a packet again that egress and deparser are done with.
func (f *fn) recirculate() {
	t := f.t
	if f.g.use.ops[ir.OpTruncate] {
		t.f("if (s->truncate && s->truncate - 1 < wire_length(ctx) - (p->flags >> PORT_PAD_SHIFT)) {")
		t.f("#ifdef TEST_BUILD")
		t.f("/* a test's packet may be shorter than the kernel allows: the rest is padding */")
		t.f("p->flags = p->flags & ((1 << PORT_PAD_SHIFT) - 1) | wire_length(ctx) - (s->truncate - 1) << PORT_PAD_SHIFT;")
		t.f("#elif defined(TARGET_XDP)")
		t.f("if (bpf_xdp_adjust_tail(ctx, (int)(s->truncate - 1) - (int)wire_length(ctx)))")
		t.f("\treturn VERDICT_DROP;")
		t.f("#else")
		t.f("if (bpf_skb_change_tail(ctx, s->truncate - 1, 0))")
		t.f("\treturn VERDICT_DROP;")
		t.f("#endif")
		t.f("}")
	}
	t.f("return again(s, p, s->recirculate, %d);", recirculated)
}

// writePasses writes what a packet takes along when it starts again.
func (g *gen) writePasses() {
	t := &g.funcs
	t.f("#define AGAIN (-100) /* no verdict: the packet starts again */")
	t.f("#define MAX_PASSES %d", maxPasses)
	t.f("")
	t.f("struct passes {")
	t.f("ctx_t *ctx;")
	t.f("u32 port;")
	t.f("u32 flags;")
	t.f("u32 type; /* instance_type of a packet that comes again */")
	t.f("u32 list; /* what it keeps: the number of a field list, plus one */")
	t.f("int verdict;")
	t.f("struct kept kept;")
	t.f("};")
	t.f("")
	t.f("static __always_inline int again(struct state *s, struct passes *p, u32 list, u32 type)")
	t.f("{")
	f := g.newFn()
	t.f("p->port = 0;")
	t.f("p->type = type;")
	t.f("p->list = list;")
	f.copyLists("list", "p->kept.", true)
	t.f("return AGAIN;")
	t.f("}")
	t.f("")
}

// restoreLists gives a packet that comes again what it took along.
func (f *fn) restoreLists() {
	f.copyLists("p->list", "p->kept.", false)
	f.setStd("instance_type", "p->type")
}
