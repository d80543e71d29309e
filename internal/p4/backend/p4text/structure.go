package p4text

import (
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// structurer rewrites statements so that no Leave remains but those that a return
// can express. It makes new statements and does not change the old ones.
type structurer struct {
	flags   map[*ir.Block]*ir.Var // blocks that need a flag
	order   []*ir.Var
	returns map[*ir.Block]bool   // blocks whose end is the end of the control or action
	loops   map[*ir.Loop]ir.Expr // the condition to go on
	names   func(hint string) string
}

// ret is how a return is represented until it is printed.
var ret = &ir.Block{Name: "return"}

// restructured is a body that P4 can express.
type restructured struct {
	body  []ir.Stmt
	flags []*ir.Var // bool variables that it needs
	loops map[*ir.Loop]ir.Expr
}

// restructure rewrites a list of statements. canReturn: it is the whole body of a
// control or an action.
func restructure(body []ir.Stmt, canReturn bool, names func(string) string) restructured {
	s := &structurer{
		flags: map[*ir.Block]*ir.Var{}, returns: map[*ir.Block]bool{}, loops: map[*ir.Loop]ir.Expr{}, names: names,
	}
	out := trim(s.seq(body, canReturn))
	return restructured{out, s.order, s.loops}
}

// flag returns the variable that says that a block was left.
func (s *structurer) flag(b *ir.Block) *ir.Var {
	v := s.flags[b]
	if v == nil {
		v = &ir.Var{Name: s.names("left"), Type: &ir.Bool{}}
		s.flags[b] = v
		s.order = append(s.order, v)
	}
	return v
}

// seq rewrites a list. tail: nothing follows it in the control or action.
func (s *structurer) seq(list []ir.Stmt, tail bool) []ir.Stmt {
	var out []ir.Stmt
	for i, st := range list {
		rest := list[i+1:]
		last := len(rest) == 0
		if !last {
			if merged, ok := s.pushRest(st, rest, tail); ok {
				return append(out, merged)
			}
		}
		out = append(out, s.stmt(st, tail && last)...)
		if !completes(st) {
			return out // what follows is never reached
		}
		if last {
			break
		}
		if left := s.escapes(st); len(left) > 0 {
			after := s.seq(rest, tail)
			return append(out, &ir.If{Cond: s.noneOf(left), Then: after})
		}
	}
	return out
}

// pushRest rewrites `if (c) { …; leave } rest` to `if (c) { … } else { rest }`, and
// the same with the branches exchanged.
func (s *structurer) pushRest(st ir.Stmt, rest []ir.Stmt, tail bool) (ir.Stmt, bool) {
	f, ok := st.(*ir.If)
	if !ok || len(s.escapes(f)) == 0 {
		return nil, false
	}
	then, els := completesAll(f.Then), completesAll(f.Else)
	switch {
	case !then && els:
		return &ir.If{Cond: f.Cond, Then: s.seq(f.Then, tail), Else: s.seq(join(f.Else, rest), tail), Span: f.Span}, true
	case then && !els:
		return &ir.If{Cond: f.Cond, Then: s.seq(join(f.Then, rest), tail), Else: s.seq(f.Else, tail), Span: f.Span}, true
	}
	return nil, false
}

func join(a, b []ir.Stmt) []ir.Stmt { return append(append([]ir.Stmt(nil), a...), b...) }

// stmt rewrites one statement.
func (s *structurer) stmt(st ir.Stmt, tail bool) []ir.Stmt {
	switch st := st.(type) {
	case *ir.Block:
		return s.block(st, tail)
	case *ir.Leave:
		if s.returns[st.Block] && tail {
			return nil // it falls off the end by itself
		}
		if s.returns[st.Block] {
			return []ir.Stmt{&ir.Leave{Block: ret, Span: st.Span}}
		}
		return []ir.Stmt{&ir.Leave{Block: st.Block, Span: st.Span}}
	case *ir.If:
		return []ir.Stmt{&ir.If{Cond: st.Cond, Then: s.seq(st.Then, tail), Else: s.seq(st.Else, tail), Span: st.Span}}
	case *ir.Switch:
		n := &ir.Switch{X: st.X, Default: s.seq(st.Default, tail), Span: st.Span}
		for _, c := range st.Cases {
			n.Cases = append(n.Cases, ir.SwitchCase{Values: c.Values, Body: s.seq(c.Body, tail)})
		}
		return []ir.Stmt{n}
	case *ir.Apply:
		n := &ir.Apply{Table: st.Table, Hit: st.Hit, Span: st.Span}
		for _, c := range st.Cases {
			n.Cases = append(n.Cases, ir.ApplyCase{Actions: c.Actions, Default: c.Default, Body: s.seq(c.Body, tail)})
		}
		return []ir.Stmt{n}
	case *ir.Loop:
		n := &ir.Loop{Body: s.seq(st.Body, false), Span: st.Span}
		if s.loops[n] = s.noneOf(s.escapes(st)); s.loops[n] == nil {
			s.loops[n] = boolean(true)
		}
		return []ir.Stmt{n}
	}
	return []ir.Stmt{st}
}

// block dissolves a block, but for one with annotations.
func (s *structurer) block(b *ir.Block, tail bool) []ir.Stmt {
	if tail {
		s.returns[b] = true
	}
	body := s.seq(b.Body, tail)
	delete(s.returns, b)
	v := s.flags[b]
	body = setFlags(body, b, v)
	if v != nil {
		reset := &ir.Assign{Dst: &ir.VarRef{Var: v}, Src: boolean(false)}
		body = append([]ir.Stmt{reset}, body...)
	}
	if len(b.Annotations) == 0 {
		return body
	}
	return []ir.Stmt{&ir.Block{Name: b.Name, Body: body, Annotations: b.Annotations, Span: b.Span}}
}

// setFlags replaces the Leaves of a block by setting its flag; a block without flag
// needs nothing.
func setFlags(list []ir.Stmt, b *ir.Block, v *ir.Var) []ir.Stmt {
	var out []ir.Stmt
	for _, st := range list {
		switch st := st.(type) {
		case *ir.Leave:
			if st.Block != b {
				out = append(out, st)
			} else if v != nil {
				out = append(out, &ir.Assign{Dst: &ir.VarRef{Var: v}, Src: boolean(true), Span: st.Span})
			}
			continue
		case *ir.If:
			st.Then, st.Else = setFlags(st.Then, b, v), setFlags(st.Else, b, v)
		case *ir.Switch:
			st.Default = setFlags(st.Default, b, v)
			for i := range st.Cases {
				st.Cases[i].Body = setFlags(st.Cases[i].Body, b, v)
			}
		case *ir.Apply:
			for i := range st.Cases {
				st.Cases[i].Body = setFlags(st.Cases[i].Body, b, v)
			}
		case *ir.Loop:
			st.Body = setFlags(st.Body, b, v)
		case *ir.Block:
			st.Body = setFlags(st.Body, b, v)
		}
		out = append(out, st)
	}
	return out
}

// noneOf is the condition that none of the blocks was left.
func (s *structurer) noneOf(blocks []*ir.Block) ir.Expr {
	var cond ir.Expr
	for _, b := range blocks {
		var e ir.Expr = &ir.Unary{Op: ir.Not, X: &ir.VarRef{Var: s.flag(b)}}
		if cond != nil {
			e = &ir.Binary{Op: ir.AndAnd, X: cond, Y: e, T: &ir.Bool{}}
		}
		cond = e
	}
	return cond
}

// escapes lists the blocks around a statement that it may leave and that a return
// cannot express, in the order of their first Leave.
func (s *structurer) escapes(st ir.Stmt) []*ir.Block {
	inside := map[*ir.Block]bool{}
	seen := map[*ir.Block]bool{}
	var out []*ir.Block
	ir.Walk([]ir.Stmt{st}, func(st ir.Stmt) {
		switch st := st.(type) {
		case *ir.Block:
			inside[st] = true
		case *ir.Leave:
			if !inside[st.Block] && !seen[st.Block] && !s.returns[st.Block] {
				seen[st.Block] = true
				out = append(out, st.Block)
			}
		}
	})
	return out
}

// completes reports whether a statement may come to its end.
func completes(st ir.Stmt) bool {
	switch st := st.(type) {
	case *ir.Leave, *ir.Exit:
		return false
	case *ir.If:
		return completesAll(st.Then) || completesAll(st.Else)
	case *ir.Block:
		return completesAll(st.Body) || leaves(st.Body, st)
	case *ir.Loop:
		return false // it ends by a Leave
	case *ir.Switch:
		if completesAll(st.Default) {
			return true
		}
		for _, c := range st.Cases {
			if completesAll(c.Body) {
				return true
			}
		}
		return false
	}
	return true
}

func completesAll(list []ir.Stmt) bool {
	for _, st := range list {
		if !completes(st) {
			return false
		}
	}
	return true
}

func leaves(list []ir.Stmt, b *ir.Block) bool {
	found := false
	ir.Walk(list, func(st ir.Stmt) {
		if l, ok := st.(*ir.Leave); ok && l.Block == b {
			found = true
		}
	})
	return found
}

// trim drops ifs that do nothing, and turns one with an empty then around.
func trim(list []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for _, st := range list {
		switch st := st.(type) {
		case *ir.If:
			then, els := trim(st.Then), trim(st.Else)
			switch {
			case len(then) == 0 && len(els) == 0:
				continue
			case len(then) == 0:
				out = append(out, &ir.If{Cond: negate(st.Cond), Then: els, Span: st.Span})
			default:
				out = append(out, &ir.If{Cond: st.Cond, Then: then, Else: els, Span: st.Span})
			}
			continue
		case *ir.Switch:
			st.Default = trim(st.Default)
			for i := range st.Cases {
				st.Cases[i].Body = trim(st.Cases[i].Body)
			}
		case *ir.Apply:
			for i := range st.Cases {
				st.Cases[i].Body = trim(st.Cases[i].Body)
			}
		case *ir.Loop:
			st.Body = trim(st.Body)
		case *ir.Block:
			st.Body = trim(st.Body)
		}
		out = append(out, st)
	}
	return out
}

func boolean(v bool) *ir.Const {
	c := &ir.Const{T: &ir.Bool{}, Value: new(big.Int)}
	if v {
		c.Value.SetInt64(1)
	}
	return c
}

// negate gives the opposite of a condition, in its shortest form.
func negate(e ir.Expr) ir.Expr {
	switch e := e.(type) {
	case *ir.Unary:
		if e.Op == ir.Not {
			return e.X
		}
	case *ir.Binary:
		opposite := map[ir.BinaryOp]ir.BinaryOp{ir.Eq: ir.Ne, ir.Ne: ir.Eq, ir.Lt: ir.Ge, ir.Ge: ir.Lt, ir.Gt: ir.Le, ir.Le: ir.Gt}
		if op, ok := opposite[e.Op]; ok {
			return &ir.Binary{Op: op, X: e.X, Y: e.Y, T: e.T, Span: e.Span}
		}
	}
	return &ir.Unary{Op: ir.Not, X: e}
}
