package ebpf

import (
	_ "embed"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

//go:embed prelude_turns.h
var preludeTurns string

// copiesRepeat tells whether copies of packets can start again. There is one packet at hand, so they wait for their
// turn, and so does the packet itself if it starts again among them: the order in which they came is kept.
func (g *gen) copiesRepeat() bool { return g.copies() && g.use.ops[ir.OpRecirculate] }

// writeTurns writes what holds the packets that wait.
func (g *gen) writeTurns() {
	t := &g.funcs
	if !g.copiesRepeat() {
		t.f("#define turns_wait() 0")
		t.f("#define cut_end(n)")
		t.f("")
		return
	}
	t.b.WriteString(preludeTurns)
	t.f("")
	t.f("/* A packet that the deparser has finished starts again when it is its turn. */")
	t.f("static __always_inline void come_again(ctx_t *ctx, struct state *s, u32 turn, u32 flags)")
	t.f("{")
	t.f("struct turn *t = bpf_map_lookup_elem(&turns, &turn);")
	t.f("if (!t)")
	t.f("\treturn;")
	g.newFn().copyLists("s->recirculate", "t->kept.", true)
	t.f("t->list = s->recirculate;")
	t.f("t->flags = flags;")
	t.f("save_front(ctx, t, turn, s->length + (flags >> PORT_PAD_SHIFT) - s->parsed, s->truncate);")
	t.f("}")
	t.f("")
}

// waitTurn makes a finished packet that starts again wait if others do. turn is the C expression of its turn, which is
// given back otherwise.
func (f *fn) waitTurn(turn string) {
	t := f.t
	t.f("#ifdef TARGET_TC")
	t.f("if (turns_wait()) {")
	t.f("come_again(ctx, s, %s, flags);", turn)
	t.f("return VERDICT_DROP;")
	t.f("}")
	t.f("#endif")
}

// recirculateAmongCopies starts a packet again that egress is done with. The copies that are asked for are made first,
// because they need the packet as it came, but the packet's turn is before theirs.
func (f *fn) recirculateAmongCopies() {
	t := f.t
	t.f("#ifdef TARGET_TC")
	t.f("u32 turn = NO_TURN;")
	t.f("if (s->queued) {")
	t.f("turn = take_turn();")
	t.f("if (run_jobs(ctx, flags, 1) < 0) {")
	t.f("leave_turn(turn);")
	t.f("return VERDICT_DROP;")
	t.f("}")
	t.f("} else if (turns_wait()) {")
	t.f("turn = take_turn();")
	t.f("}")
	t.f("#endif")
	t.f("if (build(ctx, s)) {")
	t.f("#ifdef TARGET_TC")
	t.f("leave_turn(turn);")
	t.f("#endif")
	t.f("return VERDICT_DROP;")
	t.f("}")
	t.f("#ifdef TARGET_TC")
	t.f("if (!alone(turn)) {")
	t.f("come_again(ctx, s, turn, flags);")
	t.f("return VERDICT_DROP;")
	t.f("}")
	t.f("leave_turn(turn);")
	t.f("#endif")
	f.recirculate()
}

// endPass ends the function for one pass: the copies that are left are made, then the next packet that waits is at hand.
func (g *gen) endPass(t *text) {
	t.f("if (p->verdict == AGAIN)")
	t.f("\treturn 0;")
	t.f("#ifdef TARGET_TC")
	if g.copiesLast() {
		t.f("if (RARE(p->verdict == COPIES)) {")
		t.f("run_jobs(p->ctx, p->flags, 1);")
		t.f("p->verdict = VERDICT_DROP;")
		t.f("}")
	}
	t.f("struct turn *t = next_turn(p->ctx);")
	t.f("if (t) {")
	t.f("p->port = 0;")
	t.f("p->type = %d;", recirculated)
	t.f("p->list = t->list;")
	t.f("p->flags = t->flags;")
	t.f("p->kept = t->kept;")
	t.f("return 0;")
	t.f("}")
	t.f("#endif")
	t.f("return 1;")
}
