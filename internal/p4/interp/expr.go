package interp

import (
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// eval computes a scalar expression.
func (r *run) eval(e ir.Expr) *big.Int {
	switch e := e.(type) {
	case *ir.Const:
		return e.Value
	case *ir.VarRef, *ir.Member, *ir.Index:
		c := r.lvalue(e)
		if c.num == nil {
			r.fail(e.Pos(), "%s is no number", path(e))
			return zero
		}
		return c.num
	case *ir.Slice:
		width, _ := bitsOf(e.X.Type())
		return slice(r.eval(e.X), e.Hi, e.Lo, width)
	case *ir.Unary:
		return r.unary(e)
	case *ir.Binary:
		return r.binary(e)
	case *ir.Cast:
		return fit(r.eval(e.X), e.T)
	case *ir.Mux:
		if r.isTrue(e.Cond) {
			return r.eval(e.Then)
		}
		return r.eval(e.Else)
	case *ir.IsValid:
		return boolNum(r.lvalue(e.X).isValid())
	case *ir.StackIndex:
		n := r.lvalue(e.X).next
		if e.Last {
			n--
		}
		return wrap(big.NewInt(int64(n)), 32, false)
	}
	r.fail(e.Pos(), "a %T has no number", e)
	return zero
}

func (r *run) isTrue(e ir.Expr) bool { return r.eval(e).Sign() != 0 }

func (r *run) unary(e *ir.Unary) *big.Int {
	x := r.eval(e.X)
	width, signed := bitsOf(e.Type())
	switch e.Op {
	case ir.Neg:
		return wrap(new(big.Int).Neg(x), width, signed)
	case ir.Comp:
		return wrap(new(big.Int).Not(x), width, signed)
	case ir.Not:
		return boolNum(x.Sign() == 0)
	}
	r.fail(e.Span, "unknown operator %s", e.Op)
	return zero
}

func (r *run) binary(e *ir.Binary) *big.Int {
	switch e.Op {
	case ir.AndAnd:
		return boolNum(r.isTrue(e.X) && r.isTrue(e.Y))
	case ir.OrOr:
		return boolNum(r.isTrue(e.X) || r.isTrue(e.Y))
	case ir.Eq, ir.Ne:
		return boolNum(r.equal(e.X, e.Y) == (e.Op == ir.Eq))
	}
	x, y := r.eval(e.X), r.eval(e.Y)
	switch e.Op {
	case ir.Lt:
		return boolNum(x.Cmp(y) < 0)
	case ir.Le:
		return boolNum(x.Cmp(y) <= 0)
	case ir.Gt:
		return boolNum(x.Cmp(y) > 0)
	case ir.Ge:
		return boolNum(x.Cmp(y) >= 0)
	}
	width, signed := bitsOf(e.T)
	switch e.Op {
	case ir.Add:
		return wrap(new(big.Int).Add(x, y), width, signed)
	case ir.Sub:
		return wrap(new(big.Int).Sub(x, y), width, signed)
	case ir.Mul:
		return wrap(new(big.Int).Mul(x, y), width, signed)
	case ir.AddSat:
		return saturate(new(big.Int).Add(x, y), width, signed)
	case ir.SubSat:
		return saturate(new(big.Int).Sub(x, y), width, signed)
	case ir.And:
		return new(big.Int).And(x, y)
	case ir.Or:
		return new(big.Int).Or(x, y)
	case ir.Xor:
		return wrap(new(big.Int).Xor(x, y), width, signed)
	case ir.Shl, ir.Shr:
		return shift(x, y, e.Op == ir.Shl, width, signed)
	case ir.Div, ir.Mod:
		if y.Sign() == 0 {
			r.fail(e.Span, "division by zero")
			return zero
		}
		if e.Op == ir.Div {
			return wrap(new(big.Int).Quo(x, y), width, signed)
		}
		return wrap(new(big.Int).Rem(x, y), width, signed)
	case ir.Concat:
		wx, _ := bitsOf(e.X.Type())
		wy, _ := bitsOf(e.Y.Type())
		v := new(big.Int).Lsh(raw(x, wx), uint(wy))
		return wrap(v.Or(v, raw(y, wy)), width, signed)
	}
	r.fail(e.Span, "unknown operator %s", e.Op)
	return zero
}

// equal compares scalars by value, varbits by length and value.
func (r *run) equal(x, y ir.Expr) bool {
	if _, ok := x.Type().(*ir.Varbit); ok {
		return r.lvalue(x).equal(r.lvalue(y))
	}
	return r.eval(x).Cmp(r.eval(y)) == 0
}

// lvalue returns the storage that an expression names. An element beyond a stack's
// end is storage that nothing else names: it reads zero and what is written is lost.
func (r *run) lvalue(e ir.Expr) *cell {
	switch e := e.(type) {
	case *ir.VarRef:
		return r.variable(e.Var)
	case *ir.Member:
		c := r.lvalue(e.X).field(e.Field)
		if c == nil {
			r.fail(e.Span, "%s has no field %s", path(e.X), e.Field.Name)
			return newCell(e.Field.Type)
		}
		return c
	case *ir.Index:
		c := r.lvalue(e.X)
		i := r.eval(e.I)
		if i.IsInt64() && i.Int64() >= 0 && i.Int64() < int64(len(c.sub)) {
			return c.sub[i.Int64()]
		}
		return newCell(e.Type())
	case *ir.Mux:
		if r.isTrue(e.Cond) {
			return r.lvalue(e.Then)
		}
		return r.lvalue(e.Else)
	case *ir.Tuple:
		return r.tuple(e)
	}
	if _, ok := ir.ScalarBits(e.Type()); ok {
		c := newCell(e.Type())
		c.num = r.eval(e)
		return c
	}
	r.fail(e.Pos(), "a %T is no storage", e)
	return &cell{num: zero}
}

// tuple evaluates a list into storage of its own.
func (r *run) tuple(e *ir.Tuple) *cell {
	c := &cell{typ: e.T}
	for _, x := range e.Elems {
		if s, ok := x.(*ir.StringLit); ok {
			r.fail(s.Span, "a string cannot be stored")
			continue
		}
		c.sub = append(c.sub, r.lvalue(x).clone())
	}
	return c
}

// assign writes a scalar to an lvalue, which may be a slice.
func (r *run) assign(dst ir.Expr, v *big.Int) {
	if s, ok := dst.(*ir.Slice); ok {
		width, signed := bitsOf(s.X.Type())
		r.assign(s.X, splice(r.eval(s.X), v, s.Hi, s.Lo, width, signed))
		return
	}
	c := r.lvalue(dst)
	if c.num == nil {
		r.fail(dst.Pos(), "%s does not hold a number", path(dst))
		return
	}
	c.num = fit(v, c.typ)
	if r.tracing() {
		r.trace(Event{Kind: EventAssign, Span: dst.Pos(), Object: path(dst), Detail: describe(c)})
	}
}

// variable returns the storage of a variable, made when it is first used.
func (r *run) variable(v *ir.Var) *cell {
	c := r.store[v]
	if c == nil {
		c = newCell(v.Type)
		r.store[v] = c
	}
	return c
}
