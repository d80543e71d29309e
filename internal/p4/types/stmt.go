package types

import "github.com/catena-nfv/catena/internal/p4/syntax"

func (c *checker) stmts(ss []syntax.Stmt) {
	for _, s := range ss {
		c.stmt(s)
	}
}

func (c *checker) stmt(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.EmptyStmt:
	case *syntax.Assign:
		c.assign(s)
	case *syntax.CallStmt:
		c.info.types[s.Call] = c.call(s.Call)
	case *syntax.DirectApply:
		c.directApply(s)
	case *syntax.Block:
		c.annotations(s.Annots)
		c.push()
		c.stmts(s.Stmts)
		c.pop()
	case *syntax.DeclStmt:
		c.declStmt(s)
	case *syntax.If:
		c.condition(s.Cond)
		c.nested(s.Then)
		if s.Else != nil {
			c.nested(s.Else)
		}
	case *syntax.Return:
		c.returnStmt(s)
	case *syntax.Exit:
		if c.ctx.inParser || c.ctx.function != nil {
			c.errorf(s.Span(), CodeMisplaced, "exit can stand only in a control or an action")
		}
	case *syntax.Break:
		if c.ctx.loops == 0 {
			c.errorf(s.Span(), CodeMisplaced, "break can stand only in a loop")
		}
	case *syntax.Continue:
		if c.ctx.loops == 0 {
			c.errorf(s.Span(), CodeMisplaced, "continue can stand only in a loop")
		}
	case *syntax.Switch:
		c.switchStmt(s)
	case *syntax.For:
		c.forStmt(s)
	case *syntax.ForIn:
		c.forIn(s)
	}
}

// nested checks a statement that is a scope of its own.
func (c *checker) nested(s syntax.Stmt) {
	c.push()
	c.stmt(s)
	c.pop()
}

func (c *checker) condition(e syntax.Expr) {
	t := c.value(e)
	if isBad(t) {
		return
	}
	if resolved(t) != Bool {
		c.errorf(e.Span(), CodeMismatch, "a condition is a bool, not %s", t)
	}
}

func (c *checker) assign(s *syntax.Assign) {
	tl := c.value(s.LHS)
	tr := c.value(s.RHS)
	if isBad(tl) {
		return
	}
	if !c.lvalue(s.LHS, "the left side") {
		return
	}
	switch resolved(tl).(type) {
	case *Extern, *Block, *Set:
		c.errorf(s.LHS.Span(), CodeLvalue, "an object of type %s cannot be assigned", tl)
		return
	}
	if isBad(tr) {
		return
	}
	if s.Op == syntax.OpNone {
		c.convert(s.RHS, tl)
		return
	}
	// a op= b is a = a op b, the parts of a being computed once.
	b := &syntax.Binary{Loc: syntax.At(s.Span()), Op: s.Op, X: s.LHS, Y: s.RHS}
	t := c.expr(b)
	if isBad(t) {
		return
	}
	delete(c.info.conv, s.LHS)
	if !c.fits(tl, t) {
		c.errorf(s.Span(), CodeMismatch, "the result is %s, not %s", t, tl)
	}
}

func (c *checker) directApply(s *syntax.DirectApply) {
	t := c.resolveType(s.Type, true)
	c.info.written[s.Type] = t
	for _, a := range s.Args {
		c.argument(a.Value)
	}
	if isBad(t) {
		return
	}
	b, ok := resolved(t).(*Block)
	if !ok || b.info.kind == packageBlock {
		c.errorf(s.Type.Span(), CodeOperand, "%s cannot be applied; a control or parser can", t)
		return
	}
	c.directConstructor(s, b)
	ci := &callInfo{builtin: "apply", recvT: &TypeRef{b}}
	c.applyBlock(s, s, b, s.Args, ci, func(t Type) Type {
		c.info.calls[s] = ci
		return t
	})
}

func (c *checker) declStmt(s *syntax.DeclStmt) {
	switch d := s.Decl.(type) {
	case *syntax.Var:
		c.varDecl(d)
	case *syntax.Const:
		c.annotations(d.Annots)
		c.constDecl(d)
	case *syntax.Instantiation:
		c.instantiation(d)
	default:
		c.errorf(d.Span(), CodeMisplaced, "%s cannot be declared among statements", d.DeclName().Text)
	}
}

func (c *checker) returnStmt(s *syntax.Return) {
	var t Type = Void
	if s.Value != nil {
		t = c.value(s.Value)
	}
	switch {
	case c.ctx.ret == nil:
		c.errorf(s.Span(), CodeReturn, "return cannot stand in a parser")
	case resolved(c.ctx.ret) == Void:
		if s.Value != nil {
			c.errorf(s.Value.Span(), CodeReturn, "there is nothing to return here")
		}
	case s.Value == nil:
		if !isBad(c.ctx.ret) {
			c.errorf(s.Span(), CodeReturn, "a value of type %s is to be returned", c.ctx.ret)
		}
	case isBad(t):
	default:
		c.convert(s.Value, c.ctx.ret)
	}
}

// ends reports whether every way through a statement ends in a return or exit.
func (c *checker) ends(s syntax.Stmt) bool {
	switch s := s.(type) {
	case *syntax.Return, *syntax.Exit:
		return true
	case *syntax.Block:
		for _, x := range s.Stmts {
			if c.ends(x) {
				return true
			}
		}
	case *syntax.If:
		if s.Else != nil {
			if c.ends(s.Then) && c.ends(s.Else) {
				return true
			}
		}
		if v, ok := c.eval.value(s.Cond).(BoolVal); ok {
			return bool(v) && c.ends(s.Then) || !bool(v) && s.Else != nil && c.ends(s.Else)
		}
	case *syntax.Switch:
		covered := false
		for i, k := range s.Cases {
			if _, ok := k.Label.(*syntax.DefaultExpr); ok {
				covered = true
			}
			if k.Body == nil {
				if i == len(s.Cases)-1 {
					return false
				}
				continue
			}
			if !c.ends(k.Body) {
				return false
			}
		}
		return covered
	}
	return false
}

func (c *checker) switchStmt(s *syntax.Switch) {
	t := c.expr(s.Value)
	if run, ok := resolved(t).(*ActionRun); ok {
		c.switchAction(s, run)
	} else {
		t = c.value(s.Value)
		c.switchValue(s, t)
	}
	for i := range s.Cases {
		k := &s.Cases[i]
		if _, ok := k.Label.(*syntax.DefaultExpr); ok && i != len(s.Cases)-1 {
			c.errorf(k.Label.Span(), CodeSwitch, "default has to be the last label")
		}
		if k.Body != nil {
			c.nested(k.Body)
		}
	}
}

// switchAction checks the labels of a switch on action_run: actions of the table.
func (c *checker) switchAction(s *syntax.Switch, run *ActionRun) {
	if c.ctx.action != nil || c.ctx.function != nil {
		c.errorf(s.Span(), CodeMisplaced, "a table can be applied only in the apply block of a control")
	}
	seen := map[*Sig]syntax.Expr{}
	for i := range s.Cases {
		label := s.Cases[i].Label
		if _, ok := label.(*syntax.DefaultExpr); ok {
			continue
		}
		p, ok := label.(*syntax.PathExpr)
		if !ok {
			c.errorf(label.Span(), CodeSwitch, "a label of this switch is an action of table %s", run.table.name)
			continue
		}
		a, ok := resolved(c.expr(p)).(*ActionRef)
		if !ok {
			if !isBad(c.info.types[p]) {
				c.errorf(label.Span(), CodeSwitch, "%s is not an action", p.Path)
			}
			continue
		}
		if !run.table.table.has(a.sig) {
			c.errorf(label.Span(), CodeSwitch, "%s is not an action of table %s", p.Path, run.table.name).Note(run.table.span, "the table")
			continue
		}
		if old := seen[a.sig]; old != nil {
			c.errorf(label.Span(), CodeSwitch, "label %s stands twice", p.Path).Note(old.Span(), "the other one")
		}
		seen[a.sig] = label
	}
}

func (c *checker) switchValue(s *syntax.Switch, t Type) {
	if !isBad(t) && (!selectable(t) || resolved(t) == Int && c.eval.value(s.Value) == nil || isStruct(t)) {
		c.errorf(s.Value.Span(), CodeSwitch, "cannot switch on a value of type %s", t)
		t = Bad
	}
	type label struct {
		v Value
		e syntax.Expr
	}
	var seen []label
	for i := range s.Cases {
		e := s.Cases[i].Label
		if _, ok := e.(*syntax.DefaultExpr); ok {
			continue
		}
		c.value(e)
		if isBad(t) || !c.convert(e, t) {
			continue
		}
		v := c.constant(e, "a label")
		for _, old := range seen {
			if v != nil && equalValues(old.v, v) {
				c.errorf(e.Span(), CodeSwitch, "this label stands twice").Note(old.e.Span(), "the other one")
			}
		}
		if v != nil {
			seen = append(seen, label{v, e})
		}
	}
}

func (c *checker) forStmt(s *syntax.For) {
	c.annotations(s.Annots)
	c.push()
	c.stmts(s.Init)
	c.condition(s.Cond)
	c.stmts(s.Update)
	c.ctx.loops++
	c.nested(s.Body)
	c.ctx.loops--
	c.pop()
}

func (c *checker) forIn(s *syntax.ForIn) {
	c.annotations(s.Annots)
	t := c.resolve(s.Var.Type)
	if why := c.noStorage(t); why != "" {
		c.errorf(s.Var.Type.Span(), CodeIllFormed, "variable %s cannot be of type %s: %s", s.Var.Name.Text, t, why)
		t = Bad
	}
	c.overType(s.Over, t)
	c.push()
	o := &object{kind: objVar, name: s.Var.Name.Text, span: s.Var.Name.Span(), typ: t, decl: s.Var}
	c.info.objs[s.Var] = o
	c.declare(o)
	c.ctx.loops++
	c.nested(s.Body)
	c.ctx.loops--
	c.pop()
}

// overType checks what a for statement walks over: its elements are of the type of the
// variable.
func (c *checker) overType(e syntax.Expr, t Type) {
	if r, ok := e.(*syntax.RangeExpr); ok {
		c.value(r.Lo)
		c.value(r.Hi)
		if _, ok := base(t).(*Bits); !ok && !isBad(t) {
			c.errorf(r.Span(), CodeMismatch, "a range walks over numbers, the variable is %s", t)
			return
		}
		c.convert(r.Lo, t)
		c.convert(r.Hi, t)
		lo, ok1 := c.eval.value(r.Lo).(IntVal)
		hi, ok2 := c.eval.value(r.Hi).(IntVal)
		if ok1 && ok2 && lo.V.Cmp(hi.V) > 0 {
			c.warnf(r.Span(), CodeRange, "the range is empty")
		}
		return
	}
	et := c.value(e)
	switch u := resolved(et).(type) {
	case *ListLit:
		if isBad(t) {
			return
		}
		want := &Tuple{}
		for range u.Elems {
			want.Elems = append(want.Elems, t)
		}
		c.convert(e, want)
		return
	case *Stack:
		if c.fits(t, u.Elem) {
			return
		}
	case *List:
		if c.fits(t, u.Elem) {
			return
		}
	case *Tuple:
		all := true
		for _, x := range u.Elems {
			all = all && c.fits(t, x)
		}
		if all {
			return
		}
	}
	if !isBad(et) && !isBad(t) {
		c.errorf(e.Span(), CodeMismatch, "cannot walk over %s with a variable of type %s", et, t)
	}
}
