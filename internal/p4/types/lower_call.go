package types

import (
	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/syntax"
)

// call lowers a call and gives its result.
func (l *lowerer) call(e *syntax.Call) *operand {
	ci := l.info.calls[e]
	if ci == nil {
		l.fail(e.Span(), CodeUnsupported, "this cannot be called here")
	}
	if ci.sig == nil || ci.builtin == "apply" {
		return l.builtinCall(e, ci)
	}
	switch ci.sig.kind {
	case callCtor:
		return l.construct(e, ci, "", nil, e.Span())
	case callFunction:
		d, _ := ci.sig.decl.(*syntax.Function)
		return l.inline(ci, d.Body, l.global, nil, e.Span())
	case callAction:
		d, _ := ci.sig.decl.(*syntax.Action)
		lexical := l.global
		if !ci.sig.object.top {
			lexical = l.blockFrame()
		}
		return l.inline(ci, d.Body, lexical, l.usedVars(ci.sig.object, lexical), e.Span())
	case callExtern:
		return l.externCall(e, ci)
	}
	return l.methodCall(e, ci)
}

// blockFrame is the frame of the parser or control that is being lowered.
func (l *lowerer) blockFrame() *frame {
	for f := l.frame; f != nil; f = f.lexical {
		if f.inst != nil {
			return f
		}
	}
	return l.global
}

// builtinCall lowers a method that the language gives.
func (l *lowerer) builtinCall(e *syntax.Call, ci *callInfo) *operand {
	span := e.Span()
	switch ci.builtin {
	case "apply":
		if t, ok := ci.recvT.(*TableRef); ok {
			l.applyTable(t.obj, span, nil, nil)
			return &operand{t: Void}
		}
		l.applyBlock(l.applied(e, ci), ci, span)
		return &operand{t: Void}
	case "isValid":
		return &operand{t: Bool, x: l.isValid(l.expr(ci.recv), span)}
	case "setValid", "setInvalid":
		op := ir.OpSetValid
		if ci.builtin == "setInvalid" {
			op = ir.OpSetInvalid
		}
		h := l.lvalue(ci.recv, false)
		l.emit(&ir.Call{Op: op, Args: []ir.Expr{l.storage(h, span)}, Span: span})
		return &operand{t: Void}
	case "push_front", "pop_front":
		op := ir.OpPushFront
		if ci.builtin == "pop_front" {
			op = ir.OpPopFront
		}
		n, ok := l.ev.value(ci.args[0]).(IntVal)
		if !ok {
			l.fail(ci.args[0].Span(), CodeConst, "the argument of %s has to be known at compile time", ci.builtin)
		}
		st := l.lvalue(ci.recv, false)
		k := &ir.Const{T: &ir.Bits{Width: 32}, Value: n.V, Span: span}
		l.emit(&ir.Call{Op: op, Args: []ir.Expr{l.storage(st, span), k}, Span: span})
		return &operand{t: Void}
	}
	if v := l.ev.raw(e); v != nil {
		return l.constant(v, Int, span)
	}
	l.fail(span, CodeUnsupported, "%s cannot be computed", ci.builtin)
	return nil
}

func (l *lowerer) isValid(o *operand, span diag.Span) ir.Expr {
	if isUnion(o.t) && o.x == nil {
		return boolConst(false, span)
	}
	return l.valid(o, span)
}

// applied gives the object that an apply call applies: an instance, or one made for a
// type.
func (l *lowerer) applied(e *syntax.Call, ci *callInfo) *instance {
	if _, ok := ci.recvT.(*TypeRef); ok {
		return l.anonymous(ci.recvT, e)
	}
	o := l.expr(ci.recv)
	if o.obj == nil {
		l.fail(e.Span(), CodeUnsupported, "this object is not known at compile time")
	}
	return o.obj
}

// inline lowers the body of a function or action in place of a call. avoid, when not
// nil, tells which variables the body uses by name.
func (l *lowerer) inline(ci *callInfo, body *syntax.Block, lexical *frame, avoid map[*ir.Var]bool, span diag.Span) *operand {
	sig := ci.sig
	fr := &frame{lexical: lexical, caller: l.frame, vars: map[*object]*operand{}, types: l.compose(ci.subst)}
	fr.copyOut = l.bindArgs(fr, sig.params, ci, binding{avoid: avoid}, span)
	result := &operand{t: Void}
	if t := resolved(fr.types.apply(sig.ret)); t != Void {
		result = l.temp("ret", t, span)
		fr.result = result
	}
	b := &ir.Block{Name: sig.name, Span: span}
	fr.block = b
	caller := l.frame
	l.frame = fr
	l.labelled(b, func() { l.stmts(body.Stmts) })
	l.frame = caller
	if fr.copyOut != nil {
		fr.copyOut()
	}
	if result.x != nil {
		result = &operand{t: result.t, x: result.x}
	}
	return result
}

// compose expresses the type arguments of a call in the caller's terms.
func (l *lowerer) compose(s subst) subst {
	out := subst{}
	for k, v := range s {
		out[k] = l.subst(v)
	}
	return out
}

// binding says how parameters are bound.
type binding struct {
	avoid map[*ir.Var]bool // variables that the callee uses under their own names
	copy  bool             // always copy: the callee is applied in several places
}

// bound is an argument on its way to a parameter.
type bound struct {
	p    *Param
	e    syntax.Expr
	op   *operand
	done bool
	back func() // copies the parameter back
}

// copyBack gives what copies parameters back, from left to right; nil when none is.
func copyBack(args []*bound) func() {
	var backs []func()
	for _, a := range args {
		if a.back != nil {
			backs = append(backs, a.back)
		}
	}
	if backs == nil {
		return nil
	}
	return func() {
		for _, f := range backs {
			f()
		}
	}
}

// bindArgs evaluates the arguments of a call from left to right and binds them to the
// parameters in fr. P4 passes by copying in and out; where nobody can see the
// difference the parameter is another name for the argument. It returns what copies
// the out and inout parameters back, or nil.
func (l *lowerer) bindArgs(fr *frame, params []*Param, ci *callInfo, how binding, span diag.Span) func() {
	args := make([]*bound, len(params))
	for i, p := range params {
		a := &bound{p: p, e: ci.args[i]}
		args[i] = a
		t := resolved(fr.types.apply(p.Type))
		later := false
		for _, x := range ci.args[i+1:] {
			later = later || x != nil && l.hasEffects(x)
		}
		switch {
		case a.e == nil:
			a.done = true
			if p.Decl.Default != nil {
				fr.vars[p.obj] = l.convertTo(l.expr(p.Decl.Default), t, span)
			} else {
				fr.vars[p.obj] = &operand{t: t, dots: true}
			}
		case isObject(t):
			a.done = true
			fr.vars[p.obj] = l.expr(a.e)
		case isDontCare(a.e):
			a.done = true
			fr.vars[p.obj] = l.temp(p.Name, t, span)
		case p.Dir == syntax.DirOut || p.Dir == syntax.DirInOut:
			a.op = l.lvalue(a.e, true)
			if later || how.copy {
				l.copyParam(fr, a, t, how, span)
			}
		default:
			a.op = l.convertTo(l.expr(a.e), t, a.e.Span())
			if a.op.value() != nil && !how.copy {
				a.done = true
				fr.vars[p.obj] = a.op
			} else if later || how.copy || !l.isStorage(a.op) {
				l.copyParam(fr, a, t, how, span)
			}
		}
	}
	for i, a := range args {
		if a.done {
			continue
		}
		t := resolved(fr.types.apply(a.p.Type))
		if l.conflicts(args, i, how.avoid) {
			l.copyParam(fr, a, t, how, span)
			continue
		}
		op := *a.op
		op.t = t
		if a.p.Dir == syntax.DirOut {
			l.invalidate(&op, span)
		}
		fr.vars[a.p.obj] = &op
		a.done = true
	}
	return copyBack(args)
}

func isObject(t Type) bool {
	switch t.(type) {
	case *Extern, *Block:
		return true
	}
	return false
}

func isDontCare(e syntax.Expr) bool {
	_, ok := e.(*syntax.DontCare)
	return ok
}

// isStorage reports whether an operand names storage, whole.
func (l *lowerer) isStorage(o *operand) bool {
	if o.list {
		for _, e := range o.elems {
			if !l.isStorage(e) {
				return false
			}
		}
		return o.lv
	}
	return o.x != nil && (o.lv || l.isTemp(o.x)) && ir.Root(o.x) != nil && !movingIndex(o.x)
}

func (l *lowerer) isTemp(e ir.Expr) bool {
	r, ok := e.(*ir.VarRef)
	return ok && l.temps[r.Var]
}

// movingIndex reports whether an lvalue has an index that may change.
func movingIndex(e ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(x ir.Expr) {
		if i, ok := x.(*ir.Index); ok {
			if _, fixed := i.I.(*ir.Const); !fixed {
				found = true
			}
		}
	})
	return found
}

// copyParam gives a parameter a variable of its own.
func (l *lowerer) copyParam(fr *frame, a *bound, t Type, how binding, span diag.Span) {
	a.done = true
	v := fr.vars[a.p.obj]
	if v == nil || !how.copy {
		v = &operand{t: t, x: &ir.VarRef{Var: l.newVar(a.p.Name, t, a.p.Decl.Name.Span()), Span: span}, lv: true}
		fr.vars[a.p.obj] = v
	}
	if a.p.Dir == syntax.DirOut {
		l.invalidate(v, span)
	} else {
		l.assign(v, a.op, span)
	}
	if a.p.Dir != syntax.DirOut && a.p.Dir != syntax.DirInOut {
		return
	}
	dst := a.op
	a.back = func() { l.assign(dst, &operand{t: t, x: copyOf(v.x)}, span) }
}

// conflicts reports whether an argument cannot be bound as another name for what it
// names: some other argument, or the callee, may use the same storage.
func (l *lowerer) conflicts(args []*bound, i int, avoid map[*ir.Var]bool) bool {
	a := args[i]
	for _, x := range exprsOf(a.op) {
		if avoid[ir.Root(x)] {
			return true
		}
	}
	for j, b := range args {
		if j == i || b.op == nil {
			continue
		}
		// Of an in and an out argument that overlap the in argument gets copied.
		writes := b.p.Dir == syntax.DirOut || b.p.Dir == syntax.DirInOut
		if writes && overlap(a.op, b.op) {
			return true
		}
	}
	return false
}

// exprsOf gives the storage that an operand is made of.
func exprsOf(o *operand) []ir.Expr {
	if o.x != nil {
		return []ir.Expr{o.x}
	}
	var out []ir.Expr
	for _, e := range o.elems {
		out = append(out, exprsOf(e)...)
	}
	return out
}

func overlap(a, b *operand) bool {
	for _, x := range exprsOf(a) {
		for _, y := range exprsOf(b) {
			if overlapping(x, y) {
				return true
			}
		}
	}
	return false
}

// overlapping reports whether two lvalues may share storage.
func overlapping(x, y ir.Expr) bool {
	px, py := steps(x), steps(y)
	if len(px) == 0 || len(py) == 0 || px[0] != py[0] {
		return false
	}
	for i := 1; i < len(px) && i < len(py); i++ {
		switch a := px[i].(type) {
		case *ir.Field:
			if a != py[i] {
				return false
			}
		case int64:
			if b, ok := py[i].(int64); ok && a >= 0 && b >= 0 && a != b {
				return false
			}
		}
	}
	return true
}

// steps lists the variable, fields and indexes (-1: not known) of an lvalue.
func steps(e ir.Expr) []any {
	switch e := e.(type) {
	case *ir.VarRef:
		return []any{e.Var}
	case *ir.Member:
		if s := steps(e.X); s != nil {
			return append(s, e.Field)
		}
	case *ir.Index:
		if s := steps(e.X); s != nil {
			if v, ok := ir.IsConst(e.I); ok && v.IsInt64() {
				return append(s, v.Int64())
			}
			return append(s, int64(-1))
		}
	case *ir.Slice:
		return steps(e.X)
	}
	return nil
}

// objectSet is what a body uses by name.
type objectSet map[*object]bool

// uses collects the objects that the body of an action names, those of the actions that
// it calls included.
func (l *lowerer) uses(o *object) objectSet {
	if s, ok := l.refs[o]; ok {
		return s
	}
	set := objectSet{}
	l.refs[o] = set
	d, _ := o.decl.(*syntax.Action)
	walkStmts(d.Body.Stmts, func(syntax.Stmt) {}, func(e syntax.Expr) bool {
		u := l.info.uses[e]
		if u == nil {
			return true
		}
		set[u] = true
		if u.kind == objAction {
			for k := range l.uses(u) {
				set[k] = true
			}
		}
		return true
	})
	return set
}

// usedVars gives the variables that the body of an action uses by name.
func (l *lowerer) usedVars(o *object, lexical *frame) map[*ir.Var]bool {
	out := map[*ir.Var]bool{}
	for u := range l.uses(o) {
		for f := lexical; f != nil; f = f.lexical {
			if op := f.vars[u]; op != nil {
				for _, x := range exprsOf(op) {
					if v := ir.Root(x); v != nil {
						out[v] = true
					}
				}
				break
			}
		}
	}
	return out
}
