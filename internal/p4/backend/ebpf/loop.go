package ebpf

import "github.com/catena-nfv/catena/internal/p4/ir"

// loop writes a loop with a bound, which the verifier asks for. A packet that needs
// more rounds is dropped.
func (f *fn) loop(s *ir.Loop) {
	if f.divides && len(f.picked) == 0 {
		f.loopCall(s)
		return
	}
	f.nexts = map[string]int{} // what is known before holds in the first round only
	f.t.f("#pragma clang loop unroll(disable)")
	f.t.f("for (u32 round = 0;; round++) {")
	f.t.f("asm volatile(\"\" : \"+r\"(round)); /* clang leaves a bound out that it holds for needless */")
	f.t.f("if (round == %d) {", maxLoop)
	f.t.f("s->failed = 1;")
	f.t.f("%s", f.exit)
	f.t.f("}")
	f.branch(s.Body)
	f.t.f("}")
}

// maxLoop is how many rounds a loop makes at most.
const maxLoop = 256

// forgetLoops has the verifier forget, at a place that loops are left to, what they
// assigned: else it follows the rest of the program once for each round that may be
// the last.
func (f *fn) forgetLoops(ss []ir.Stmt) {
	seen := map[*ir.Var]bool{}
	ir.Walk(ss, func(s ir.Stmt) {
		loop, ok := s.(*ir.Loop)
		if !ok {
			return
		}
		ir.Walk(loop.Body, func(s ir.Stmt) {
			a, ok := s.(*ir.Assign)
			if !ok {
				return
			}
			v, ok := a.Dst.(*ir.VarRef)
			if !ok || seen[v.Var] {
				return
			}
			seen[v.Var] = true
			if bits, scalar := ir.ScalarBits(v.Type()); scalar && bits <= 64 {
				f.t.f("FORGET(%s);", f.g.varPath(v.Var))
			}
		})
	})
}
