package types

import (
	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/syntax"
)

func (l *lowerer) stmts(ss []syntax.Stmt) {
	for _, s := range ss {
		l.try(func() { l.stmt(s) })
	}
}

func (l *lowerer) stmt(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.Assign:
		l.assignStmt(s)
	case *syntax.CallStmt:
		l.callStmt(s)
	case *syntax.DirectApply:
		ci := l.info.calls[s]
		l.applyBlock(l.anonymous(ci.recvT, s), ci, s.Span())
	case *syntax.Block:
		b := &ir.Block{Annotations: l.annots(s.Annots), Span: s.Span()}
		l.labelled(b, func() { l.stmts(s.Stmts) })
	case *syntax.DeclStmt:
		if d, ok := s.Decl.(*syntax.Var); ok {
			l.varDecl(d)
		}
	case *syntax.If:
		l.ifStmt(s)
	case *syntax.Return:
		l.returnStmt(s)
	case *syntax.Exit:
		l.exit(s.Span())
	case *syntax.Break:
		loops := l.frame.loops
		l.leave(loops[len(loops)-1].brk, s.Span())
	case *syntax.Continue:
		loops := l.frame.loops
		l.leave(loops[len(loops)-1].cont, s.Span())
	case *syntax.Switch:
		l.switchStmt(s)
	case *syntax.For:
		l.forStmt(s)
	case *syntax.ForIn:
		l.forIn(s)
	}
}

func (l *lowerer) assignStmt(s *syntax.Assign) {
	dst := l.lvalue(s.LHS, l.hasEffects(s.RHS) || s.Op != syntax.OpNone)
	if s.Op == syntax.OpNone {
		l.assign(dst, l.expr(s.RHS), s.Span())
		return
	}
	// The operand is read before the right side is evaluated.
	old := &operand{t: dst.t, x: dst.x}
	if l.hasEffects(s.RHS) {
		old = l.save(old, s.Span())
	}
	y := l.expr(s.RHS)
	t := resolved(dst.t)
	if b, ok := base(t).(*Bits); ok && !identical(b, t) {
		old, t = l.convertTo(old, b, s.Span()), b
	}
	if y.num != nil && s.Op != syntax.OpShl && s.Op != syntax.OpShr {
		y = l.convertTo(y, t, s.Span())
	}
	l.assign(dst, l.arith(s.Op, old, y, t, s.Span()), s.Span())
}

func (l *lowerer) callStmt(s *syntax.CallStmt) {
	if r, ok := l.info.types[s.Call].(*ApplyResult); ok {
		l.applyTable(r.table, s.Span(), nil, nil)
		return
	}
	l.call(s.Call)
}

// varDecl declares a local of a body.
func (l *lowerer) varDecl(d *syntax.Var) {
	o := l.info.objs[d]
	t := l.subst(o.typ)
	var init *operand
	if d.Init != nil {
		init = l.expr(d.Init)
	}
	v := l.newVar(d.Name.Text, t, d.Name.Span())
	v.Annotations = l.annots(d.Annots)
	op := &operand{t: t, x: &ir.VarRef{Var: v, Span: d.Name.Span()}, lv: true}
	l.frame.vars[o] = op
	if init != nil {
		l.assign(op, init, d.Span())
	} else if l.repeats() {
		l.invalidate(op, d.Span())
	}
}

// repeats reports whether what is being lowered may be executed more than once for a
// packet, so that a local may still hold what it held before.
func (l *lowerer) repeats() bool {
	for f := l.frame; f != nil; f = f.caller {
		if f.repeats || len(f.loops) > 0 {
			return true
		}
	}
	return false
}

func (l *lowerer) ifStmt(s *syntax.If) {
	cond := l.scalarExpr(s.Cond)
	if v, ok := ir.IsConst(cond); ok {
		switch {
		case v.Sign() != 0:
			l.stmt(s.Then)
		case s.Else != nil:
			l.stmt(s.Else)
		}
		return
	}
	n := &ir.If{Cond: cond, Span: s.Span()}
	n.Then = l.collect(func() { l.try(func() { l.stmt(s.Then) }) })
	if s.Else != nil {
		n.Else = l.collect(func() { l.try(func() { l.stmt(s.Else) }) })
	}
	l.emit(n)
}

func (l *lowerer) returnStmt(s *syntax.Return) {
	if s.Value != nil {
		l.assign(l.frame.result, l.expr(s.Value), s.Span())
	}
	l.leave(l.frame.block, s.Span())
}

// exit ends the control. The out and inout parameters of all that is being executed are
// copied back first (P4_16 1.2.5, section 12.5).
func (l *lowerer) exit(span diag.Span) {
	fr := l.frame
	for f := l.frame; f != nil; f = f.caller {
		if f.copyOut != nil {
			l.frame = f
			f.copyOut()
		}
		if f.action && l.pending(f) {
			l.emit(&ir.Assign{Dst: &ir.VarRef{Var: l.exitedVar(), Span: span}, Src: boolConst(true, span), Span: span})
			l.frame = fr
			l.leave(f.block, span)
			return
		}
	}
	l.frame = fr
	l.emit(&ir.Exit{Span: span})
}

// pending reports whether the control that an action belongs to was inlined with
// parameters that have to be copied back, so that the action cannot exit by itself.
func (l *lowerer) pending(action *frame) bool {
	if action.lexical == nil {
		return false
	}
	for f := action.lexical; f != nil; f = f.caller {
		if f.copyOut != nil {
			return true
		}
	}
	return false
}

func (l *lowerer) exitedVar() *ir.Var {
	if l.blk.exited == nil {
		l.blk.exited = l.newVar("exited", Bool, diag.Span{})
	}
	return l.blk.exited
}

func (l *lowerer) switchStmt(s *syntax.Switch) {
	if run, ok := l.info.types[s.Value].(*ActionRun); ok {
		m, _ := s.Value.(*syntax.Member)
		l.applyTable(run.table, m.X.Span(), nil, s)
		return
	}
	x := l.expr(s.Value)
	n := &ir.Switch{X: l.scalar(x, s.Value.Span()), Span: s.Span()}
	var values []*ir.Const
	isDefault := false
	for _, k := range s.Cases {
		if _, ok := k.Label.(*syntax.DefaultExpr); ok {
			isDefault = true
		} else if v, ok := l.convertTo(l.expr(k.Label), x.t, k.Label.Span()).x.(*ir.Const); ok {
			v = copyOf(v).(*ir.Const)
			values = append(values, v)
		} else {
			l.fail(k.Label.Span(), CodeConst, "a label has to be known at compile time")
		}
		if k.Body == nil {
			continue
		}
		body := l.collect(func() { l.stmt(k.Body) })
		if isDefault {
			n.Default = body
		} else {
			n.Cases = append(n.Cases, ir.SwitchCase{Values: values, Body: body})
		}
		values = nil
	}
	l.emit(n)
}

// switchCases lowers the arms of a switch on action_run. begin, when not nil, emits
// what every arm begins with.
func (l *lowerer) switchCases(t *tableInst, s *syntax.Switch, begin func()) []ir.ApplyCase {
	var out []ir.ApplyCase
	var labels []*ir.Action
	isDefault := false
	for _, k := range s.Cases {
		if _, ok := k.Label.(*syntax.DefaultExpr); ok {
			isDefault = true
		} else if a, ok := l.info.types[k.Label].(*ActionRef); ok {
			if x := t.actions[a.sig]; x != nil {
				labels = append(labels, x)
			}
		}
		if k.Body == nil {
			continue
		}
		body := l.collect(func() {
			if begin != nil {
				begin()
			}
			l.stmt(k.Body)
		})
		out = append(out, ir.ApplyCase{Actions: labels, Default: isDefault, Body: body})
		labels = nil
	}
	return out
}

// inLoop lowers the body of a loop, with blocks that break and continue leave.
func (l *lowerer) inLoop(brk *ir.Block, body syntax.Stmt) {
	cont := &ir.Block{Name: "continue", Span: body.Span()}
	l.frame.loops = append(l.frame.loops, loop{brk, cont})
	l.labelled(cont, func() { l.stmt(body) })
	l.frame.loops = l.frame.loops[:len(l.frame.loops)-1]
}

func (l *lowerer) forStmt(s *syntax.For) {
	l.stmts(s.Init)
	brk := &ir.Block{Name: "for", Annotations: l.annots(s.Annots), Span: s.Span()}
	l.labelled(brk, func() {
		body := l.collect(func() {
			// The condition is evaluated each time, so its side effects are, too.
			l.frame.loops = append(l.frame.loops, loop{brk, brk})
			cond := l.scalarExpr(s.Cond)
			out := l.collect(func() { l.leave(brk, s.Cond.Span()) })
			l.emit(&ir.If{Cond: negate(cond, s.Cond.Span()), Then: out, Span: s.Cond.Span()})
			l.frame.loops = l.frame.loops[:len(l.frame.loops)-1]
			l.inLoop(brk, s.Body)
			l.frame.loops = append(l.frame.loops, loop{brk, brk})
			l.stmts(s.Update)
			l.frame.loops = l.frame.loops[:len(l.frame.loops)-1]
		})
		l.emit(&ir.Loop{Body: body, Span: s.Span()})
	})
}

func (l *lowerer) forIn(s *syntax.ForIn) {
	o := l.info.objs[s.Var]
	t := l.subst(o.typ)
	v := l.newVar(s.Var.Name.Text, t, s.Var.Name.Span())
	op := &operand{t: t, x: &ir.VarRef{Var: v, Span: s.Var.Name.Span()}, lv: true}
	l.frame.vars[o] = op
	brk := &ir.Block{Name: "for", Annotations: l.annots(s.Annots), Span: s.Span()}
	if r, ok := s.Over.(*syntax.RangeExpr); ok {
		l.labelled(brk, func() { l.forRange(s, r, op, brk) })
		return
	}
	over := l.expr(s.Over)
	if over.x != nil {
		over = l.save(&operand{t: over.t, x: over.x}, s.Over.Span())
	}
	n := count(over.t)
	if over.list {
		over = l.saveAll(over, s.Over.Span())
		n = len(over.elems)
	}
	l.labelled(brk, func() {
		for i := range n {
			l.assign(op, l.convertTo(l.part(over, i, s.Over.Span()), t, s.Over.Span()), s.Over.Span())
			l.inLoop(brk, s.Body)
		}
	})
}

// forRange lowers a loop over lo .. hi. It counts up to hi before it leaves, so that hi
// may be the largest value of its type.
func (l *lowerer) forRange(s *syntax.ForIn, r *syntax.RangeExpr, v *operand, brk *ir.Block) {
	span := r.Span()
	lo := l.before(l.expr(r.Lo), r.Lo, r.Hi)
	hi := l.save(l.expr(r.Hi), r.Hi.Span())
	i := l.temp("i", v.t, span)
	l.assign(i, l.convertTo(lo, v.t, span), span)
	hi = l.convertTo(hi, v.t, span)
	cmp := func(op ir.BinaryOp) ir.Expr {
		return ir.Fold(&ir.Binary{Op: op, X: copyOf(i.x), Y: l.scalar(hi, span), T: &ir.Bool{}, Span: span})
	}
	leave := l.collect(func() { l.leave(brk, span) })
	l.emit(&ir.If{Cond: cmp(ir.Gt), Then: leave, Span: span})
	body := l.collect(func() {
		l.assign(v, i, span)
		l.inLoop(brk, s.Body)
		leave := l.collect(func() { l.leave(brk, span) })
		l.emit(&ir.If{Cond: cmp(ir.Ge), Then: leave, Span: span})
		one := l.constant(IntVal{number(1)}, v.t, span)
		l.assign(i, l.arith(syntax.OpAdd, i, one, v.t, span), span)
	})
	l.emit(&ir.Loop{Body: body, Span: span})
}
