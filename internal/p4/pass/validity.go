package pass

import "github.com/catena-nfv/catena/internal/p4/ir"

// validity replaces isValid() by true or false where that is known.
//
// Each network function asks for the headers that it needs; in a chain they all ask
// again what the backbone asked before them:
//
//	if (hdr.ipv4.isValid() && hdr.ipv4.ihl == 5) {      … {
//	    if (hdr.ipv4.isValid()) {                            fw.apply();
//	        fw.apply();                             →        nat.apply();
//	    }
//	    if (hdr.ipv4.isValid()) {
//	        nat.apply();
//	    }
//	}                                                   }
//
// What is known comes from the paths through the parser, from setValid and
// setInvalid, from assignments of headers and from the conditions around a
// statement. It is followed through the controls in the order in which packets meet
// them. A clone that egress works on has the headers that the parser gave (made in
// ingress) or those at the end of egress. setValid and setInvalid of what is so
// already, and emits of what is never valid, are removed.
//
// Headers in the user metadata are not followed: what of the metadata survives to
// egress depends on how the packet gets there.
func validity(p *ir.Program) {
	v := newValidity(p)
	end := v.parser(p)
	v.rewrite = true
	parsed := end.clone()
	end = v.control(p.VerifyChecksum, end)
	end = v.control(p.Ingress, end)
	if uses(p.Ingress, ir.OpClone, ir.OpClonePreserving) {
		end = meet(end, parsed)
	}
	if end != nil && uses(p.Egress, ir.OpClone, ir.OpClonePreserving) {
		w := newForward(v, v.x)
		sum := &summary{}
		w.summarise(p.Egress.Body.Body, sum)
		w.forget(sum, end)
	}
	end = v.control(p.Egress, end)
	end = v.control(p.ComputeChecksum, end)
	v.control(p.Deparser, end)
	bodies(p, v.idle.sweep)
}

// uses reports whether a control or one of its actions has one of the operations.
func uses(c *ir.Control, ops ...ir.Op) bool {
	found := false
	look := func(s ir.Stmt) {
		k, ok := s.(*ir.Call)
		for _, op := range ops {
			found = found || ok && k.Op == op
		}
	}
	ir.Walk(c.Body.Body, look)
	for _, a := range c.Actions {
		ir.Walk(a.Body, look)
	}
	return found
}

// What is known of a header.
const (
	isValid   = 1
	isInvalid = 2
)

// headers is the analysis; its facts are isValid and isInvalid, one for each header.
type headers struct {
	x       *effects
	st      *storage
	ord     []int32 // of a cell: its place in the facts, -1 if it is not followed
	count   int
	rewrite bool
	idle    removed // statements that change nothing
}

func newValidity(p *ir.Program) *headers {
	st := newStorage(p)
	v := &headers{x: newEffects(p, st), st: st, ord: make([]int32, st.size), idle: removed{}}
	for i := range v.ord {
		v.ord[i] = -1
	}
	for _, x := range st.vars {
		if x == p.Meta || x == p.Std {
			continue
		}
		st.validity(x.Type, st.base[x], func(c int) {
			v.ord[c] = int32(v.count)
			v.count++
		})
	}
	return v
}

// begin gives the headers of local variables the value that they begin with.
func (v *headers) begin(locals []*ir.Var, f facts) {
	for _, x := range locals {
		v.st.validity(x.Type, v.st.base[x], func(c int) { v.set(c, isInvalid, f) })
	}
}

func (v *headers) control(c *ir.Control, f facts) facts {
	if f == nil {
		return nil
	}
	v.begin(c.Locals, f)
	return newForward(v, v.x).control(c, f)
}

// parser returns what holds behind the parser, whether it accepts or rejects.
func (v *headers) parser(p *ir.Program) facts {
	start := make(facts, v.count)
	for i := range start {
		start[i] = isInvalid
	}
	in := map[*ir.State]facts{p.Parser.States[0]: start}
	var end facts
	todo := []*ir.State{p.Parser.States[0]}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		w := newForward(v, v.x)
		out := w.body(s.Body, in[s].clone())
		end = meet(end, w.rejects)
		if out == nil {
			continue
		}
		if !catchesAll(s.Next) {
			end = meet(end, out)
		}
		for _, c := range s.Next.Cases {
			if c.Next == ir.Accept || c.Next == ir.Reject {
				end = meet(end, out)
				continue
			}
			if old := in[c.Next]; weaker(old, out) {
				in[c.Next] = meet(old, out)
				todo = append(todo, c.Next)
			}
		}
	}
	return end
}

// weaker reports whether meeting out would change what is known.
func weaker(old, out facts) bool {
	if old == nil {
		return true
	}
	for i, x := range old {
		if x != 0 && x != out[i] {
			return true
		}
	}
	return false
}

// catchesAll reports whether some case of a transition always matches.
func catchesAll(t ir.Transition) bool {
	for _, c := range t.Cases {
		if matchesAll(c.Keys) {
			return true
		}
	}
	return false
}

func matchesAll(ks []ir.Keyset) bool {
	for _, k := range ks {
		if _, ok := k.(*ir.KeyAny); !ok {
			return false
		}
	}
	return true
}

func (v *headers) get(cell int, f facts) int32 {
	if i := v.ord[cell]; i >= 0 {
		return f[i]
	}
	return 0
}

func (v *headers) set(cell int, x int32, f facts) {
	if i := v.ord[cell]; i >= 0 {
		f[i] = x
	}
}

// cells returns the validity cells of a header, union or stack; ok is false if it is
// not known which one it is.
func (v *headers) cells(e ir.Expr) (out []int, ok bool) {
	s, ok := v.st.of(e)
	if !ok || !s.exact || s.lo == s.hi {
		return nil, false
	}
	v.st.validity(e.Type(), s.lo, func(c int) { out = append(out, c) })
	return out, true
}

// known returns what is known of a header or a union.
func (v *headers) known(e ir.Expr, f facts) int32 {
	cells, ok := v.cells(e)
	if !ok || len(cells) == 0 {
		return 0
	}
	all := int32(isInvalid)
	for _, c := range cells {
		switch v.get(c, f) {
		case isValid:
			return isValid
		case 0:
			all = 0
		}
	}
	return all
}

// others calls g for the other members of the union that a header is in.
func (v *headers) others(e ir.Expr, g func(cell int)) {
	own, ok := v.cells(e)
	if !ok {
		return
	}
	v.x.siblings(e, func(s span) {
		for c := s.lo; c < s.hi; c++ {
			if c != own[0] {
				g(c)
			}
		}
	})
}

func (v *headers) step(s ir.Stmt, f facts) {
	rewriteOwn(s, func(e ir.Expr) ir.Expr { return v.value(e, f) })
	switch s := s.(type) {
	case *ir.Assign:
		if !isScalar(s.Dst) {
			v.copied(s, f)
		}
	case *ir.Call:
		v.call(s, f)
	}
}

// copied takes the facts over the assignment of a header or of what has headers.
func (v *headers) copied(s *ir.Assign, f facts) {
	dst, ok1 := v.cells(s.Dst)
	src, ok2 := v.cells(s.Src)
	if !ok1 || !ok2 || len(dst) != len(src) {
		v.x.of(s, func(span) {}, func(c span) { v.kill(c, f) })
		return
	}
	for i, c := range dst {
		v.set(c, v.get(src[i], f), f)
	}
	if len(dst) != 1 {
		return
	}
	switch v.get(dst[0], f) {
	case isValid:
		v.others(s.Dst, func(c int) { v.set(c, isInvalid, f) })
	case 0:
		v.others(s.Dst, func(c int) { v.set(c, 0, f) })
	}
}

func (v *headers) call(s *ir.Call, f facts) {
	switch s.Op {
	case ir.OpSetValid:
		if _, ok := s.Args[0].Type().(*ir.Header); ok {
			v.becomesValid(s, s.Args[0], f)
		}
	case ir.OpSetInvalid:
		cells, ok := v.cells(s.Args[0])
		if !ok {
			break
		}
		idle := true
		for _, c := range cells {
			idle = idle && v.get(c, f) == isInvalid
			v.set(c, isInvalid, f)
		}
		v.note(s, idle)
		return
	case ir.OpEmit:
		if _, ok := s.Args[0].Type().(*ir.Header); ok {
			v.note(s, v.known(s.Args[0], f) == isInvalid)
		}
		return
	case ir.OpExtract, ir.OpLookahead:
		if _, ok := s.Dst.Type().(*ir.Header); ok {
			v.x.advances(s.Dst, func(c span) { v.kill(c, f) })
			v.becomesValid(s, s.Dst, f)
			return
		}
	}
	if s.Op != ir.OpSetValid {
		v.x.of(s, func(span) {}, func(c span) { v.kill(c, f) })
	}
}

// becomesValid takes the facts over a header becoming valid.
func (v *headers) becomesValid(s *ir.Call, h ir.Expr, f facts) {
	cells, ok := v.cells(h)
	if !ok {
		v.x.of(s, func(span) {}, func(c span) { v.kill(c, f) })
		return
	}
	v.note(s, s.Op == ir.OpSetValid && v.get(cells[0], f) == isValid)
	v.set(cells[0], isValid, f)
	v.others(h, func(c int) { v.set(c, isInvalid, f) })
}

func (v *headers) note(s ir.Stmt, idle bool) {
	if v.rewrite && idle {
		v.idle[s] = true
	}
}

func (v *headers) value(e ir.Expr, f facts) ir.Expr {
	if !v.rewrite {
		return e
	}
	if q, ok := e.(*ir.IsValid); ok {
		switch v.known(q.X, f) {
		case isValid:
			return truth(true, e)
		case isInvalid:
			return truth(false, e)
		}
		return e
	}
	n := operands(e, func(x ir.Expr) ir.Expr { return v.value(x, f) })
	if n != e {
		return simplify(n)
	}
	return e
}

func (v *headers) assume(cond ir.Expr, holds bool, f facts) {
	switch e := cond.(type) {
	case *ir.Unary:
		if e.Op == ir.Not {
			v.assume(e.X, !holds, f)
		}
	case *ir.Binary:
		if e.Op == ir.AndAnd && holds || e.Op == ir.OrOr && !holds {
			v.assume(e.X, holds, f)
			v.assume(e.Y, holds, f)
		}
	case *ir.IsValid:
		cells, ok := v.cells(e.X)
		switch {
		case !ok:
		case !holds:
			for _, c := range cells {
				v.set(c, isInvalid, f)
			}
		case len(cells) == 1:
			v.set(cells[0], isValid, f)
			v.others(e.X, func(c int) { v.set(c, isInvalid, f) })
		}
	}
}

func (v *headers) kill(s span, f facts) {
	for c := s.lo; c < s.hi; c++ {
		v.set(c, 0, f)
	}
}
