package pass

import (
	"math/big"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// parser makes the parser's graph smaller.
//
//   - A transition whose outcome is known becomes direct; cases that can never
//     match, that repeat one before them or come behind one which always matches,
//     are removed.
//   - A state that does nothing but go on is skipped.
//   - A state that one other leads to, and leads to directly, is joined with it.
//   - States that cannot be reached are removed.
//
// For example
//
//	state start { transition select(8w1) { 1: a; default: b; } }
//	state a { packet.extract(hdr.ethernet); transition c; }
//	state b { transition reject; }
//	state c { transition accept; }
//
// becomes
//
//	state start { packet.extract(hdr.ethernet); transition accept; }
//
// States that have annotations keep their names. A select that no case of can match
// stays: its error (NoMatch) is seen by the controls.
func parser(p *ir.Program) {
	g := &graph{p: p.Parser}
	for _, s := range g.p.States {
		decide(&s.Next)
	}
	g.skip()
	g.reachable()
	g.join()
	g.reachable()
}

// graph is the parser at hand.
type graph struct{ p *ir.Parser }

// direct returns where a transition goes if it does not depend on anything.
func direct(t ir.Transition) (*ir.State, bool) {
	if len(t.Select) == 0 && len(t.Cases) == 1 {
		return t.Cases[0].Next, true
	}
	return nil, false
}

// decide removes the cases of a transition that are never taken.
func decide(t *ir.Transition) {
	if len(t.Select) == 0 {
		return
	}
	cases := t.Cases[:0:0]
	seen := map[string]bool{}
	for _, c := range t.Cases {
		if k, ok := exactly(c.Keys); ok {
			if seen[k] {
				continue
			}
			seen[k] = true
		}
		always, never := true, false
		for i, k := range c.Keys {
			switch matches(t.Select[i], k) {
			case -1:
				never = true
			case 0:
				always = false
			}
		}
		if never {
			continue
		}
		cases = append(cases, c)
		if always {
			break
		}
	}
	if len(cases) == 0 {
		return
	}
	t.Cases = cases
	// The last cases that go where the one behind them goes anyway say nothing.
	if n := len(cases); matchesAlways(t, cases[n-1]) {
		for n > 1 && cases[n-2].Next == cases[n-1].Next {
			cases[n-2] = cases[n-1]
			n--
		}
		t.Cases = cases[:n]
		if n == 1 {
			t.Select, t.Cases[0].Keys = nil, nil
		}
	}
}

// exactly describes keysets that are single values.
func exactly(ks []ir.Keyset) (string, bool) {
	var b strings.Builder
	for _, k := range ks {
		x, ok := k.(*ir.KeyExact)
		if !ok {
			return "", false
		}
		b.WriteString(x.Value.String())
		b.WriteByte(' ')
	}
	return b.String(), true
}

func matchesAlways(t *ir.Transition, c ir.SelectCase) bool {
	for i, k := range c.Keys {
		if matches(t.Select[i], k) != 1 {
			return false
		}
	}
	return true
}

// matches tells whether a value is in a keyset: 1 always, -1 never, 0 not known.
func matches(x ir.Expr, k ir.Keyset) int {
	v, known := ir.IsConst(x)
	yes := func(b bool) int {
		if b {
			return 1
		}
		return -1
	}
	switch k := k.(type) {
	case *ir.KeyAny:
		return 1
	case *ir.KeyExact:
		if known {
			return yes(v.Cmp(k.Value) == 0)
		}
	case *ir.KeyMask:
		if known {
			return yes(new(big.Int).And(v, k.Mask).Cmp(new(big.Int).And(k.Value, k.Mask)) == 0)
		}
		if k.Mask.Sign() == 0 {
			return 1
		}
	case *ir.KeyRange:
		if known {
			return yes(v.Cmp(k.Lo) >= 0 && v.Cmp(k.Hi) <= 0)
		}
	}
	return 0
}

// skip makes transitions to states that only go on lead to where these go.
func (g *graph) skip() {
	for _, s := range g.p.States {
		for i := range s.Next.Cases {
			s.Next.Cases[i].Next = g.behind(s.Next.Cases[i].Next)
		}
		decide(&s.Next)
	}
}

// behind follows states that do nothing, but not around a circle of them.
func (g *graph) behind(s *ir.State) *ir.State {
	for range len(g.p.States) {
		next, ok := direct(s.Next)
		if !ok || len(s.Body) > 0 || len(s.Annotations) > 0 {
			return s
		}
		s = next
	}
	return s
}

// reachable removes the states that the start state does not lead to.
func (g *graph) reachable() {
	seen := map[*ir.State]bool{}
	todo := []*ir.State{g.p.States[0]}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[s] {
			continue
		}
		seen[s] = true
		for _, c := range s.Next.Cases {
			todo = append(todo, c.Next)
		}
	}
	states := g.p.States[:0:0]
	for _, s := range g.p.States {
		if seen[s] {
			states = append(states, s)
		}
	}
	g.p.States = states
}

// join appends a state to the only one that leads to it, if that does so directly.
func (g *graph) join() {
	ways := map[*ir.State]int{g.p.States[0]: 1} // the parser begins there
	for _, s := range g.p.States {
		for _, c := range s.Next.Cases {
			ways[c.Next]++
		}
	}
	for _, s := range g.p.States {
		for {
			next, ok := direct(s.Next)
			if !ok || final(next) || next == s || ways[next] != 1 || len(next.Annotations) > 0 {
				break
			}
			s.Body = append(s.Body[:len(s.Body):len(s.Body)], next.Body...)
			s.Next = next.Next
			// Nothing leads to it now; reachable removes it.
			next.Body, next.Next = nil, ir.Transition{}
		}
	}
}

func final(s *ir.State) bool { return s == ir.Accept || s == ir.Reject }
