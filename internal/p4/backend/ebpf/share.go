package ebpf

import (
	"fmt"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// maxInline is up to how many places of a program apply tables inline. Where there are more, such as in a program with
// many chains, tables that are applied in several places become functions: clang and the verifier take their time for
// each copy of the text.
const maxInline = 32

// share finds what packets' ways through the program have in common, and makes it functions. They are global: the
// verifier looks at each of them once. The state of a packet is then in memory anyway, and in a map the verifier
// does not follow what it holds.
func (g *gen) share() {
	applied, counted := map[*ir.Table]int{}, map[*ir.Instance]int{}
	sites := 0
	look := func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.Apply:
			applied[s.Table]++
			sites++
		case *ir.Call:
			if s.Op == ir.OpCount {
				counted[s.Inst]++
			}
		}
	}
	for _, c := range g.p.Controls() {
		ir.Walk(c.Body.Body, look)
		for _, a := range c.Actions {
			ir.Walk(a.Body, look)
		}
	}
	if sites <= maxInline {
		return
	}
	g.shared = true
	for t, n := range applied {
		if ti := g.tables[t]; ti != nil {
			ti.outlined = n > 1
		}
	}
	for i, n := range counted {
		if n > 1 && g.instances[i] != "" {
			g.countShared[i] = true
		}
	}
}

// beginGlobal begins a global function of the packet. clang must not find out which of its arguments it does not use:
// the verifier wants all of them to be good.
func (f *fn) beginGlobal(result, name, params string) {
	f.t.f("__noinline %s %s(ctx_t *ctx, struct state *s%s)", result, name, params)
	f.t.f("{")
	f.t.f(`asm volatile("" : "+r"(ctx), "+r"(s));`)
	f.t.f("if (!s)")
	f.t.f("\treturn 0;")
}

// writeSharedCounters writes a function for each counter that many places count in.
func (g *gen) writeSharedCounters() {
	for _, c := range g.p.Controls() {
		for _, i := range c.Instances {
			if !g.countShared[i] {
				continue
			}
			g.funcs.f("__noinline int count_%s(u32 index, u32 length)", g.instances[i])
			g.funcs.f("{")
			g.funcs.f("count_packet(&%s, index, length);", g.instances[i])
			g.funcs.f("return 0;")
			g.funcs.f("}")
			g.funcs.f("")
		}
	}
}

// count is the text that counts the packet in a counter.
func (g *gen) count(i *ir.Instance, index string) string {
	if g.countShared[i] {
		return fmt.Sprintf("count_%s(%s, s->length);", g.instances[i], index)
	}
	return fmt.Sprintf("count_packet(&%s, %s, s->length);", g.instances[i], index)
}
