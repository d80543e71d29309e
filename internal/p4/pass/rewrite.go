package pass

import "github.com/catena-nfv/catena/internal/p4/ir"

// operands returns e with f applied to each direct operand; e itself if f changed
// none. e is not changed: parts that stay as they are are shared.
func operands(e ir.Expr, f func(ir.Expr) ir.Expr) ir.Expr {
	switch e := e.(type) {
	case *ir.Member:
		if x := f(e.X); x != e.X {
			return &ir.Member{X: x, Field: e.Field, Span: e.Span}
		}
	case *ir.Index:
		if x, i := f(e.X), f(e.I); x != e.X || i != e.I {
			return &ir.Index{X: x, I: i, Span: e.Span}
		}
	case *ir.Slice:
		if x := f(e.X); x != e.X {
			return &ir.Slice{X: x, Hi: e.Hi, Lo: e.Lo, Span: e.Span}
		}
	case *ir.Unary:
		if x := f(e.X); x != e.X {
			return &ir.Unary{Op: e.Op, X: x, Span: e.Span}
		}
	case *ir.Binary:
		if x, y := f(e.X), f(e.Y); x != e.X || y != e.Y {
			return &ir.Binary{Op: e.Op, X: x, Y: y, T: e.T, Span: e.Span}
		}
	case *ir.Cast:
		if x := f(e.X); x != e.X {
			return &ir.Cast{T: e.T, X: x, Span: e.Span}
		}
	case *ir.Mux:
		if c, t, el := f(e.Cond), f(e.Then), f(e.Else); c != e.Cond || t != e.Then || el != e.Else {
			return &ir.Mux{Cond: c, Then: t, Else: el, Span: e.Span}
		}
	case *ir.IsValid:
		if x := f(e.X); x != e.X {
			return &ir.IsValid{X: x, Span: e.Span}
		}
	case *ir.StackIndex:
		if x := f(e.X); x != e.X {
			return &ir.StackIndex{X: x, Last: e.Last, Span: e.Span}
		}
	case *ir.Tuple:
		for i, x := range e.Elems {
			y := f(x)
			if y == x {
				continue
			}
			n := &ir.Tuple{T: e.T, Elems: append([]ir.Expr(nil), e.Elems...), Span: e.Span}
			n.Elems[i] = y
			for j := i + 1; j < len(n.Elems); j++ {
				n.Elems[j] = f(n.Elems[j])
			}
			return n
		}
	}
	return e
}

// place returns an lvalue with f applied to what is read in order to find it: the
// indices of stacks.
func place(e ir.Expr, f func(ir.Expr) ir.Expr) ir.Expr {
	switch e := e.(type) {
	case *ir.Member:
		if x := place(e.X, f); x != e.X {
			return &ir.Member{X: x, Field: e.Field, Span: e.Span}
		}
	case *ir.Slice:
		if x := place(e.X, f); x != e.X {
			return &ir.Slice{X: x, Hi: e.Hi, Lo: e.Lo, Span: e.Span}
		}
	case *ir.Index:
		x, i := place(e.X, f), f(e.I)
		if x != e.X || i != e.I {
			return &ir.Index{X: x, I: i, Span: e.Span}
		}
	}
	return e
}

// placeArg reports whether argument i of an operation is a place that is worked on,
// rather than a value.
func placeArg(op ir.Op, i int) bool {
	switch op {
	case ir.OpSetValid, ir.OpSetInvalid, ir.OpPushFront, ir.OpPopFront, ir.OpEmit:
		return i == 0
	}
	return false
}

// rewriteOwn replaces the expressions of a statement, not those of its parts: values
// by f of them, places as place does.
func rewriteOwn(s ir.Stmt, f func(ir.Expr) ir.Expr) {
	at := func(e ir.Expr) ir.Expr {
		if e == nil {
			return nil
		}
		return place(e, f)
	}
	switch s := s.(type) {
	case *ir.Assign:
		s.Src = f(s.Src)
		s.Dst = at(s.Dst)
	case *ir.If:
		s.Cond = f(s.Cond)
	case *ir.Switch:
		s.X = f(s.X)
	case *ir.Apply:
		s.Hit = at(s.Hit)
	case *ir.Call:
		for i, a := range s.Args {
			if placeArg(s.Op, i) {
				s.Args[i] = at(a)
			} else {
				s.Args[i] = f(a)
			}
		}
		s.Dst = at(s.Dst)
	}
}

// bodies calls f for the body of every control and action and of every parser state,
// and puts what it returns in its place.
func bodies(p *ir.Program, f func([]ir.Stmt) []ir.Stmt) {
	for _, s := range p.Parser.States {
		s.Body = f(s.Body)
	}
	for _, c := range p.Controls() {
		for _, a := range c.Actions {
			a.Body = f(a.Body)
		}
		c.Body.Body = f(c.Body.Body)
	}
}

// parts calls f for each list of statements that s is made of, and puts what it
// returns in its place.
func parts(s ir.Stmt, f func([]ir.Stmt) []ir.Stmt) {
	switch s := s.(type) {
	case *ir.If:
		s.Then, s.Else = f(s.Then), f(s.Else)
	case *ir.Switch:
		for i := range s.Cases {
			s.Cases[i].Body = f(s.Cases[i].Body)
		}
		s.Default = f(s.Default)
	case *ir.Apply:
		for i := range s.Cases {
			s.Cases[i].Body = f(s.Cases[i].Body)
		}
	case *ir.Block:
		s.Body = f(s.Body)
	case *ir.Loop:
		s.Body = f(s.Body)
	}
}

// removed is a set of statements that are to go.
type removed map[ir.Stmt]bool

// sweep returns a list of statements without those, at any depth.
func (r removed) sweep(ss []ir.Stmt) []ir.Stmt {
	out := ss[:0:0]
	for _, s := range ss {
		if r[s] {
			continue
		}
		parts(s, r.sweep)
		out = append(out, s)
	}
	return out
}
