package ebpf

import (
	"fmt"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// A program may be too large for the verifier, which follows every way through a function, or need more stack than
// one function has. Spec.Split is its text in many global functions, each of which the verifier looks at once, for any
// packet and state, and each with a stack of its own: the blocks, the tables, and parts of controls and actions
// that are large. What they share is in the state, which is then in a map; so are the parameters of some actions.

// partWeight is about how many statements become a function of their own.
const partWeight = 40

// smallRoom is how many words a search has on the stack.
const smallRoom = 8

// maxArguments is how many arguments an action gets. More are in the state: clang would have them all at once.
const maxArguments = 8

// maxParts is about how many parts a program is divided into: the kernel knows 256 functions in a program.
const maxParts = 96

// part is what a function that writes a part of a body knows of the body.
type part struct {
	inside map[*ir.Block]bool // blocks that begin in the part
	exits  bool               // something ends the control
	leaves []*ir.Block        // blocks around the part that something leaves
	exit   string             // the statement that ends the control; %d: a number for the way out
}

// The numbers that a part returns; further ones are for the blocks that it leaves.
const (
	partEnds  = 0 // at its end
	partExits = 1 // by ending the control
)

// weight is about how much code statements become.
func weight(ss []ir.Stmt) int {
	n := 0
	ir.Walk(ss, func(s ir.Stmt) {
		nodes := 0
		ir.WalkExprs(s, func(e ir.Expr) {
			if w, ok := ir.ScalarBits(e.Type()); ok {
				nodes += words(w)
			} else {
				nodes++
			}
		})
		n += 1 + nodes/4
		switch s := s.(type) {
		case *ir.Assign:
			n += scalars(s.Dst.Type()) - 1
		case *ir.Apply:
			n += 4
		}
	})
	return n
}

// scalars is how many scalars there are in a value.
func scalars(t ir.Type) int {
	if s, ok := t.(*ir.Stack); ok {
		return s.Size * scalars(s.Elem)
	}
	n := 0
	for _, f := range ir.FieldsOf(t) {
		n += scalars(f.Type)
	}
	return max(n, 1)
}

// divideProgram says how the program is divided.
func (g *gen) divideProgram() {
	g.shared = true
	total := 0
	for _, c := range g.p.Controls() {
		total += weight(c.Body.Body)
		for _, a := range c.Actions {
			total += weight(a.Body)
		}
	}
	g.most = max(partWeight, total/maxParts)
	for t, ti := range g.tables {
		n := 0
		for _, a := range t.Actions {
			n += weight(a.Action.Body)
		}
		ti.outlined = ti.outlined || n > g.most/2 || len(t.Actions) > 8
	}
	for _, c := range g.p.Controls() {
		for _, a := range c.Actions {
			if len(a.Params) > maxArguments || len(a.Params) > 0 && g.divided(a.Body) {
				g.keepParams(a)
			}
		}
	}
}

// divided tells whether statements become parts or have some.
func (g *gen) divided(ss []ir.Stmt) bool {
	if !g.split {
		return false
	}
	loops := false
	ir.Walk(ss, func(s ir.Stmt) {
		_, loop := s.(*ir.Loop)
		loops = loops || loop
	})
	return loops || weight(ss) > g.most
}

// keepParams gives the parameters of an action a place in the state.
func (g *gen) keepParams(a *ir.Action) {
	member := fmt.Sprintf("s->args%d.", len(g.keeping))
	g.keeping = append(g.keeping, a)
	for _, v := range a.Params {
		g.vars[v] = member + g.vars[v]
	}
}

// keepArguments puts the arguments of an action where it finds them.
func (f *fn) keepArguments(a *ir.Action, args []string) {
	for i, v := range a.Params {
		to, w := f.g.vars[v], width(v.Type)
		if w <= 64 {
			f.t.f("%s = %s;", to, args[i])
			continue
		}
		for k := range words(w) {
			f.t.f("%s[%d] = (%s)[%d];", to, k, args[i], k)
		}
	}
}

// writeDivided writes the function of a control.
func (g *gen) writeDivided(c *ir.Control, name string) {
	f := g.newFn()
	f.apart()
	f.exit = "return 0;"
	f.block(c.Body)
	t := &g.funcs
	t.at(c.Span)
	t.f("/* control %s */", c.Name)
	if c == g.p.Egress { // a packet's copies come to it at the end of many calls
		t.f("static __always_inline int %s(ctx_t *ctx, struct state *s)", name)
		t.f("{")
	} else {
		(&fn{g: g, t: t}).beginGlobal("int", name, "")
	}
	t.take(f.t)
	t.f("return 0;")
	t.f("}")
	t.f("")
}

// apart has the function's body written apart, so that its parts can stand in front of it.
func (f *fn) apart() {
	f.divides = true
	f.t = &text{fs: f.g.fs, indent: 1}
}

// room declares words that a table's search needs; in a divided program many of them are in the state.
func (g *gen) room(most *int, words int, name, member string) string {
	if !g.split || words <= smallRoom {
		return fmt.Sprintf("u64 %s[%d]", name, words)
	}
	*most = max(*most, words)
	return fmt.Sprintf("u64 *%s = s->%s", name, member)
}

// parts writes statements as calls of parts. What is large by itself is written here, with its parts as parts.
func (f *fn) parts(ss []ir.Stmt) {
	for i := 0; i < len(ss); {
		if large(ss[i], f.g.most) {
			f.one(ss[i])
			i++
			continue
		}
		n := 1
		for i+n < len(ss) && !large(ss[i+n], f.g.most) && weight(ss[i:i+n+1]) <= f.g.most {
			n++
		}
		f.writePart(ss[i : i+n])
		i += n
	}
}

// large tells whether a statement has parts that shall be parts.
func large(s ir.Stmt, limit int) bool {
	switch s.(type) {
	case *ir.If, *ir.Switch, *ir.Apply, *ir.Block:
		return weight([]ir.Stmt{s}) > limit
	}
	return false
}

// writePart writes statements as a function, and its call.
func (f *fn) writePart(ss []ir.Stmt) {
	if weight(ss) < f.g.most/4 && !hasLoop(ss) {
		f.plain(ss)
		return
	}
	g := f.g
	sub := g.newFn()
	sub.apart()
	sub.part = g.newPart(ss, "return %d;")
	sub.exit = fmt.Sprintf("return %d;", partExits)
	sub.plain(ss)
	g.parts++
	name := g.globals.fresh(fmt.Sprintf("part_%d", g.parts))
	g.funcs.at(ss[0].Pos())
	(&fn{g: g, t: &g.funcs}).beginGlobal("int", name, "")
	g.funcs.take(sub.t)
	g.funcs.f("return %d;", partEnds)
	g.funcs.f("}")
	g.funcs.f("")
	f.afterPart(sub, fmt.Sprintf("%s(ctx, s)", name))
}

// newPart begins a part or the body of a loop; exit is the statement that leaves it.
func (g *gen) newPart(ss []ir.Stmt, exit string) *part {
	p := &part{inside: map[*ir.Block]bool{}, exit: exit, exits: hasExit(ss)}
	ir.Walk(ss, func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.Block:
			p.inside[s] = true
		case *ir.Apply:
			p.exits = p.exits || g.tables[s.Table] != nil && g.tables[s.Table].exits
		}
	})
	return p
}

// afterPart writes what follows from what a part returns.
func (f *fn) afterPart(sub *fn, call string) {
	p := sub.part
	if !p.exits && len(p.leaves) == 0 {
		f.t.f("%s;", call)
		return
	}
	r := f.temp("int", call)
	if p.exits {
		f.t.f("if (%s == %d)", r, partExits)
		f.t.f("\t%s", f.exit)
	}
	for i, b := range p.leaves {
		f.t.f("if (%s == %d)", r, partExits+1+i)
		f.t.f("\t%s", f.leave(b))
	}
}

// leave is the statement that goes to the end of a block.
func (f *fn) leave(b *ir.Block) string {
	p := f.part
	if p == nil || p.inside[b] {
		return fmt.Sprintf("goto %s;", f.label(b))
	}
	for i, x := range p.leaves {
		if x == b {
			return fmt.Sprintf(p.exit, partExits+1+i)
		}
	}
	p.leaves = append(p.leaves, b)
	return fmt.Sprintf(p.exit, partExits+len(p.leaves))
}

func hasLoop(ss []ir.Stmt) bool {
	found := false
	ir.Walk(ss, func(s ir.Stmt) {
		_, loop := s.(*ir.Loop)
		found = found || loop
	})
	return found
}

// loopCall writes a loop as a function that the kernel calls in turn: the verifier looks at its body once.
func (f *fn) loopCall(s *ir.Loop) {
	g := f.g
	sub := g.newFn()
	sub.apart()
	sub.part = g.newPart(s.Body, "{ l->left = %d; return 1; }")
	sub.part.exits = true
	sub.exit = fmt.Sprintf(sub.part.exit, partExits)
	sub.plain(s.Body)
	if g.parts++; !g.loops {
		g.loops = true
		g.funcs.f("struct loop {")
		g.funcs.f("ctx_t *ctx;")
		g.funcs.f("struct state *s;")
		g.funcs.f("int left; /* how */")
		g.funcs.f("};")
		g.funcs.f("")
	}
	name := g.globals.fresh(fmt.Sprintf("loop_%d", g.parts))
	g.funcs.at(s.Pos())
	g.funcs.f("static long %s(u32 round, struct loop *l)", name)
	g.funcs.f("{")
	g.funcs.f("ctx_t *ctx = l->ctx;")
	g.funcs.f("struct state *s = l->s;")
	g.funcs.take(sub.t)
	g.funcs.f("return 0;")
	g.funcs.f("}")
	g.funcs.f("")
	l := fmt.Sprintf("l%d", g.parts)
	f.t.f("struct loop %s = { .ctx = ctx, .s = s };", l)
	f.t.f("bpf_loop(%d, %s, &%s, 0);", maxLoop, name, l)
	f.t.f("if (!%s.left) { /* too many rounds */", l)
	f.t.f("s->failed = 1;")
	f.t.f("%s", f.exit)
	f.t.f("}")
	f.afterPart(sub, l+".left")
}
