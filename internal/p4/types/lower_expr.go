package types

import (
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/syntax"
)

// expr lowers an expression, its conversion included. Side effects become statements.
func (l *lowerer) expr(e syntax.Expr) *operand {
	o := l.rawExpr(e)
	if to, ok := l.info.conv[e]; ok {
		return l.convertTo(o, l.subst(to), e.Span())
	}
	return o
}

// scalarExpr lowers an expression of a scalar type.
func (l *lowerer) scalarExpr(e syntax.Expr) ir.Expr { return l.scalar(l.expr(e), e.Span()) }

func (l *lowerer) rawExpr(e syntax.Expr) *operand {
	t := l.typ(e)
	if t == Int || t == String {
		if v := l.ev.raw(e); v != nil {
			return l.constant(v, t, e.Span())
		}
	}
	switch e := e.(type) {
	case *syntax.IntLit, *syntax.BoolLit, *syntax.StringLit, *syntax.InvalidHeader, *syntax.Dots:
		return l.constant(l.ev.raw(e), t, e.Span())
	case *syntax.PathExpr:
		return l.path(e)
	case *syntax.Member:
		return l.member(e, false)
	case *syntax.Index:
		return l.index(e, false)
	case *syntax.Slice:
		return l.sliceOf(l.expr(e.X), e)
	case *syntax.Unary:
		return l.unary(e, t)
	case *syntax.Binary:
		return l.binary(e, t)
	case *syntax.Ternary:
		return l.ternary(e, t)
	case *syntax.Cast:
		o := l.expr(e.X)
		return l.convertTo(o, t, e.Span())
	case *syntax.Call:
		return l.call(e)
	case *syntax.ListExpr:
		out := &operand{t: t, list: true}
		for i, x := range e.Elems {
			if _, ok := x.(*syntax.Dots); ok {
				out.rest = true
				continue
			}
			out.elems = append(out.elems, l.before(l.expr(x), x, e.Elems[i+1:]...))
		}
		return out
	case *syntax.RecordExpr:
		out := &operand{t: t, list: true, rest: e.Default, names: []string{}}
		for i, f := range e.Fields {
			var later []syntax.Expr
			for _, g := range e.Fields[i+1:] {
				later = append(later, g.Value)
			}
			out.names = append(out.names, f.Name.Text)
			out.elems = append(out.elems, l.before(l.expr(f.Value), f.Value, later...))
		}
		return out
	}
	l.fail(e.Span(), CodeUnsupported, "this expression cannot be compiled")
	return nil
}

// before gives an operand that keeps its value while later expressions are evaluated.
func (l *lowerer) before(o *operand, e syntax.Expr, later ...syntax.Expr) *operand {
	for _, x := range later {
		if l.hasEffects(x) {
			return l.save(o, e.Span())
		}
	}
	return o
}

// hasEffects reports whether evaluating an expression may change a variable.
func (l *lowerer) hasEffects(e syntax.Expr) bool {
	found := false
	walkExpr(e, func(x syntax.Expr) bool {
		call, ok := x.(*syntax.Call)
		if !ok {
			return true
		}
		ci := l.info.calls[call]
		if ci == nil || ci.sig != nil && ci.sig.kind == callCtor {
			return true
		}
		if ci.sig == nil {
			if ci.builtin == "apply" {
				found = true
			}
			return true
		}
		switch {
		case ci.sig.kind == callExtern && ci.sig.name == "static_assert":
		case ci.sig.kind == callMethod && (ci.sig.name == "lookahead" || ci.sig.name == "length"):
		default:
			found = true
		}
		return true
	})
	return found
}

func (l *lowerer) path(e *syntax.PathExpr) *operand {
	o := l.info.uses[e]
	if o.kind == objConst {
		v := l.ev.raw(e)
		if v == nil {
			l.fail(e.Span(), CodeConst, "the value of %s is not known", o.name)
		}
		return l.constant(v, o.typ, e.Span())
	}
	if op := l.find(o); op != nil {
		n := *op
		if n.x != nil {
			n.x = copyOf(n.x)
		}
		return &n
	}
	l.fail(e.Span(), CodeUnsupported, "%s cannot be used here", o.name)
	return nil
}

// lvalue lowers an expression that is assigned to. Indexes that may change while the
// rest of the statement is evaluated are computed now.
func (l *lowerer) lvalue(e syntax.Expr, freeze bool) *operand {
	switch e := e.(type) {
	case *syntax.Member:
		return l.member(e, freeze)
	case *syntax.Index:
		return l.index(e, freeze)
	case *syntax.Slice:
		return l.sliceOf(l.lvalue(e.X, freeze), e)
	}
	return l.rawExpr(e)
}

func (l *lowerer) inner(e syntax.Expr, freeze bool) *operand {
	switch e.(type) {
	case *syntax.Member, *syntax.Index, *syntax.Slice:
		if _, conv := l.info.conv[e]; !conv {
			return l.lvalue(e, freeze)
		}
	}
	return l.expr(e)
}

func (l *lowerer) member(e *syntax.Member, freeze bool) *operand {
	t := l.typ(e)
	if v := l.ev.raw(e); v != nil {
		return l.constant(v, t, e.Span())
	}
	if call, ok := e.X.(*syntax.Call); ok {
		if r, ok := l.info.types[e.X].(*ApplyResult); ok {
			hit := l.temp("hit", Bool, e.Span())
			l.applyTable(r.table, call.Span(), copyOf(hit.x), nil)
			if e.Name.Text == "miss" {
				return &operand{t: Bool, x: &ir.Unary{Op: ir.Not, X: hit.x, Span: e.Span()}}
			}
			return hit
		}
	}
	x := l.inner(e.X, freeze)
	switch xt := resolved(x.t).(type) {
	case *Stack:
		return l.stackMember(x, xt, e, freeze)
	case *Struct:
		if _, i := xt.field(e.Name.Text); i >= 0 {
			return l.part(x, i, e.Span())
		}
	}
	l.fail(e.Span(), CodeUnsupported, "%s cannot be used here", e.Name.Text)
	return nil
}

func (l *lowerer) stackMember(x *operand, t *Stack, e *syntax.Member, freeze bool) *operand {
	st := l.storage(x, e.Span())
	switch e.Name.Text {
	case "size":
		return l.constant(IntVal{big.NewInt(int64(t.Size))}, &Bits{Width: 32}, e.Span())
	case "lastIndex":
		return &operand{t: &Bits{Width: 32}, x: &ir.StackIndex{X: st, Last: true, Span: e.Span()}}
	}
	var i ir.Expr = &ir.StackIndex{X: copyOf(st), Last: e.Name.Text == "last", Span: e.Span()}
	if freeze {
		v := l.save(&operand{t: &Bits{Width: 32}, x: i}, e.Span())
		i = v.x
	}
	return &operand{t: resolved(t.Elem), lv: x.lv, x: &ir.Index{X: st, I: i, Span: e.Span()}}
}

func (l *lowerer) index(e *syntax.Index, freeze bool) *operand {
	x := l.inner(e.X, freeze || l.hasEffects(e.Index))
	i := l.expr(e.Index)
	n := int64(-1)
	if v, ok := i.value().(IntVal); ok && v.V.IsInt64() {
		n = v.V.Int64()
		if n < 0 || n >= int64(count(x.t)) {
			l.fail(e.Index.Span(), CodeRange, "index %d is outside of %s", n, x.t)
		}
		return l.part(x, int(n), e.Span())
	}
	st, ok := resolved(x.t).(*Stack)
	if !ok {
		l.fail(e.Span(), CodeUnsupported, "%s cannot be indexed by a variable", x.t)
	}
	if freeze {
		i = l.save(i, e.Index.Span())
	}
	return &operand{t: resolved(st.Elem), lv: x.lv, x: &ir.Index{X: l.storage(x, e.Span()), I: l.scalar(i, e.Index.Span()), Span: e.Span()}}
}

func (l *lowerer) sliceOf(x *operand, e *syntax.Slice) *operand {
	hi, _ := l.ev.value(e.Hi).(IntVal)
	lo, _ := l.ev.value(e.Lo).(IntVal)
	if hi.V == nil || lo.V == nil {
		l.fail(e.Span(), CodeConst, "the ends of a slice have to be known at compile time")
	}
	h, w := int(hi.V.Int64()), int(lo.V.Int64())
	s := &ir.Slice{X: l.scalar(x, e.Span()), Hi: h, Lo: w, Span: e.Span()}
	out := &operand{t: &Bits{Width: h - w + 1}, lv: x.lv, x: s}
	if in, ok := s.X.(*ir.Slice); ok {
		out.x = &ir.Slice{X: in.X, Hi: in.Lo + h, Lo: in.Lo + w, Span: e.Span()}
	} else if !x.lv {
		out.x = ir.Fold(s)
	}
	return out
}

func (l *lowerer) unary(e *syntax.Unary, t Type) *operand {
	o := l.expr(e.X)
	if e.Op == syntax.OpAdd {
		return &operand{t: t, x: o.x, num: o.num}
	}
	op := map[syntax.Op]ir.UnaryOp{syntax.OpNot: ir.Not, syntax.OpCompl: ir.Comp, syntax.OpSub: ir.Neg}[e.Op]
	return &operand{t: t, x: ir.Fold(&ir.Unary{Op: op, X: l.scalar(o, e.X.Span()), Span: e.Span()})}
}

func (l *lowerer) binary(e *syntax.Binary, t Type) *operand {
	switch e.Op {
	case syntax.OpLAnd, syntax.OpLOr:
		return l.logic(e)
	}
	x := l.before(l.expr(e.X), e.X, e.Y)
	y := l.expr(e.Y)
	switch e.Op {
	case syntax.OpEq, syntax.OpNe:
		r := l.equal(x, y, e.Span())
		if e.Op == syntax.OpNe {
			r = negate(r, e.Span())
		}
		return &operand{t: Bool, x: r}
	}
	return l.arith(e.Op, x, y, t, e.Span())
}

// arith applies an arithmetic operator to operands that have been converted.
func (l *lowerer) arith(op syntax.Op, x, y *operand, t Type, span diag.Span) *operand {
	if t == Int {
		a, ok1 := x.value().(IntVal)
		b, ok2 := y.value().(IntVal)
		if ok1 && ok2 {
			if v := infinite(op, a.V, b.V); v != nil {
				return l.constant(v, t, span)
			}
		}
		l.fail(span, CodeConst, "a number without a width has to be known at compile time")
	}
	b := &ir.Binary{Op: ir.BinaryOp(op.String()), X: l.scalar(x, span), Y: l.scalar(y, span), T: l.types.lower(t), Span: span}
	if b.Op == ir.Div || b.Op == ir.Mod {
		switch v, ok := ir.IsConst(b.Y); {
		case !ok:
			l.fail(span, CodeConst, "a divisor has to be known at compile time")
		case v.Sign() == 0:
			l.fail(span, CodeRange, "division by zero")
		}
	}
	return &operand{t: t, x: ir.Fold(b)}
}

func negate(e ir.Expr, span diag.Span) ir.Expr {
	if b, ok := e.(*ir.Binary); ok {
		switch b.Op {
		case ir.Eq:
			return &ir.Binary{Op: ir.Ne, X: b.X, Y: b.Y, T: b.T, Span: b.Span}
		case ir.Ne:
			return &ir.Binary{Op: ir.Eq, X: b.X, Y: b.Y, T: b.T, Span: b.Span}
		}
	}
	return ir.Fold(&ir.Unary{Op: ir.Not, X: e, Span: span})
}

func (l *lowerer) logic(e *syntax.Binary) *operand {
	op := ir.AndAnd
	if e.Op == syntax.OpLOr {
		op = ir.OrOr
	}
	x := l.scalarExpr(e.X)
	if op == ir.AndAnd && ir.IsFalse(x) || op == ir.OrOr && ir.IsTrue(x) {
		return &operand{t: Bool, x: x} // the right side is never evaluated
	}
	if _, known := ir.IsConst(x); !known && l.hasEffects(e.Y) {
		r := l.temp("tmp", Bool, e.Span())
		l.emit(&ir.Assign{Dst: copyOf(r.x), Src: x, Span: e.Span()})
		cond := copyOf(r.x)
		if op == ir.OrOr {
			cond = &ir.Unary{Op: ir.Not, X: cond, Span: e.Span()}
		}
		then := l.collect(func() {
			l.emit(&ir.Assign{Dst: copyOf(r.x), Src: l.scalarExpr(e.Y), Span: e.Span()})
		})
		l.emit(&ir.If{Cond: cond, Then: then, Span: e.Span()})
		r.lv = false
		return r
	}
	y := l.scalarExpr(e.Y)
	return &operand{t: Bool, x: ir.Fold(&ir.Binary{Op: op, X: x, Y: y, T: &ir.Bool{}, Span: e.Span()})}
}

func (l *lowerer) ternary(e *syntax.Ternary, t Type) *operand {
	cond := l.scalarExpr(e.Cond)
	if v, ok := ir.IsConst(cond); ok {
		if v.Sign() != 0 {
			return l.expr(e.Then)
		}
		return l.expr(e.Else)
	}
	simple := !isAggregate(t) && !l.hasEffects(e.Then) && !l.hasEffects(e.Else)
	if _, ok := resolved(t).(*Varbit); simple && !ok {
		a, b := l.expr(e.Then), l.expr(e.Else)
		return &operand{t: t, x: ir.Fold(&ir.Mux{Cond: cond, Then: l.scalar(a, e.Then.Span()), Else: l.scalar(b, e.Else.Span()), Span: e.Span()})}
	}
	r := l.temp("tmp", t, e.Span())
	then := l.collect(func() { l.assign(r, l.expr(e.Then), e.Span()) })
	els := l.collect(func() { l.assign(r, l.expr(e.Else), e.Span()) })
	l.emit(&ir.If{Cond: cond, Then: then, Else: els, Span: e.Span()})
	r.lv = false
	return r
}

// equal compares operands of one type, taking structures apart (P4_16 1.2.5, section
// 8.17: headers are equal when both are invalid, or both valid with equal fields).
func (l *lowerer) equal(x, y *operand, span diag.Span) ir.Expr {
	if v, w := x.value(), y.value(); v != nil && w != nil {
		return boolConst(equalValues(v, w), span)
	}
	t := resolved(x.t)
	if isLiteral(t) {
		t = resolved(y.t)
	}
	switch u := t.(type) {
	case *Struct:
		if isHeader(u) {
			return l.equalHeaders(x, y, u, span)
		}
		return l.equalParts(x, y, len(u.Fields()), span)
	case *Stack:
		return l.equalParts(x, y, u.Size, span)
	case *Tuple:
		return l.equalParts(x, y, len(u.Elems), span)
	case *ListLit:
		return l.equalParts(x, y, len(u.Elems), span)
	}
	a, b := l.scalar(x, span), l.scalar(y, span)
	return ir.Fold(&ir.Binary{Op: ir.Eq, X: a, Y: b, T: &ir.Bool{}, Span: span})
}

func (l *lowerer) equalParts(x, y *operand, n int, span diag.Span) ir.Expr {
	var all ir.Expr = boolConst(true, span)
	for i := range n {
		one := l.equal(l.part(x, i, span), l.part(y, i, span), span)
		all = ir.Fold(&ir.Binary{Op: ir.AndAnd, X: all, Y: one, T: &ir.Bool{}, Span: span})
	}
	return all
}

func (l *lowerer) equalHeaders(x, y *operand, t *Struct, span diag.Span) ir.Expr {
	vx, vy := l.valid(x, span), l.valid(y, span)
	logic := func(op ir.BinaryOp, a, b ir.Expr) ir.Expr {
		return ir.Fold(&ir.Binary{Op: op, X: a, Y: b, T: &ir.Bool{}, Span: span})
	}
	not := func(a ir.Expr) ir.Expr { return ir.Fold(&ir.Unary{Op: ir.Not, X: a, Span: span}) }
	neither := logic(ir.AndAnd, not(copyOf(vx)), not(copyOf(vy)))
	if x.invalid || y.invalid {
		return neither
	}
	both := logic(ir.AndAnd, vx, vy)
	fields := l.equalParts(x, y, len(t.Fields()), span)
	return logic(ir.OrOr, neither, logic(ir.AndAnd, both, fields))
}

// valid is the validity of a header operand.
func (l *lowerer) valid(o *operand, span diag.Span) ir.Expr {
	switch {
	case o.list:
		return boolConst(true, span)
	case o.invalid:
		return boolConst(false, span)
	}
	return &ir.IsValid{X: copyOf(o.x), Span: span}
}
