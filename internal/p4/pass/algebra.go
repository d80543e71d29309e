package pass

import (
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// simplify returns an expression of the same type and value that costs less, or e.
// The operands of e are simplified already. A literal operand of a commutative
// operator or a comparison ends up on the right.
func simplify(e ir.Expr) ir.Expr {
	if n := ir.Fold(e); n != e {
		return n
	}
	n := e
	switch e := e.(type) {
	case *ir.Unary:
		n = simplifyUnary(e)
	case *ir.Binary:
		n = simplifyBinary(e)
	case *ir.Cast:
		n = simplifyCast(e)
	case *ir.Slice:
		n = simplifySlice(e)
	case *ir.Mux:
		n = simplifyMux(e)
	}
	if n != e {
		return simplify(n)
	}
	return e
}

func literal(t ir.Type, v *big.Int, at ir.Expr) *ir.Const {
	return &ir.Const{T: t, Value: v, Span: at.Pos()}
}

func truth(v bool, at ir.Expr) *ir.Const {
	n := int64(0)
	if v {
		n = 1
	}
	return literal(&ir.Bool{}, big.NewInt(n), at)
}

// unsignedWidth returns the width of a bit<W>.
func unsignedWidth(e ir.Expr) (int, bool) {
	b, ok := e.Type().(*ir.Bits)
	if !ok || b.Signed {
		return 0, false
	}
	return b.Width, true
}

// ones is the literal value of a type with every bit set, nil for other types.
func ones(t ir.Type) *big.Int {
	b, ok := t.(*ir.Bits)
	if !ok || b.Width == 0 {
		return nil
	}
	if b.Signed {
		return big.NewInt(-1)
	}
	_, hi := ir.Range(b)
	return hi
}

// inverse is the comparison that holds when another does not.
var inverse = map[ir.BinaryOp]ir.BinaryOp{
	ir.Eq: ir.Ne, ir.Ne: ir.Eq, ir.Lt: ir.Ge, ir.Ge: ir.Lt, ir.Gt: ir.Le, ir.Le: ir.Gt,
}

// mirrored is the operator for exchanged operands.
var mirrored = map[ir.BinaryOp]ir.BinaryOp{
	ir.Eq: ir.Eq, ir.Ne: ir.Ne, ir.Lt: ir.Gt, ir.Gt: ir.Lt, ir.Le: ir.Ge, ir.Ge: ir.Le,
	ir.Add: ir.Add, ir.Mul: ir.Mul, ir.And: ir.And, ir.Or: ir.Or, ir.Xor: ir.Xor, ir.AddSat: ir.AddSat,
}

func simplifyUnary(e *ir.Unary) ir.Expr {
	if x, ok := e.X.(*ir.Binary); ok && e.Op == ir.Not {
		if op, ok := inverse[x.Op]; ok {
			return &ir.Binary{Op: op, X: x.X, Y: x.Y, T: x.T, Span: x.Span}
		}
	}
	return e
}

func simplifyBinary(e *ir.Binary) ir.Expr {
	if _, ok := ir.IsConst(e.X); ok {
		if op, ok := mirrored[e.Op]; ok {
			if _, both := ir.IsConst(e.Y); !both {
				return &ir.Binary{Op: op, X: e.Y, Y: e.X, T: e.T, Span: e.Span}
			}
		}
	}
	if ir.SameExpr(e.X, e.Y) {
		switch e.Op {
		case ir.And, ir.Or, ir.AndAnd, ir.OrOr:
			return e.X
		case ir.Xor, ir.Sub, ir.SubSat:
			return literal(e.T, new(big.Int), e)
		case ir.Eq, ir.Le, ir.Ge:
			return truth(true, e)
		case ir.Ne, ir.Lt, ir.Gt:
			return truth(false, e)
		}
	}
	if e.Op == ir.Concat {
		return simplifyConcat(e)
	}
	y, ok := ir.IsConst(e.Y)
	if !ok {
		return e
	}
	switch e.Op {
	case ir.Or:
		if all := ones(e.T); all != nil && all.Cmp(y) == 0 {
			return literal(e.T, all, e)
		}
		return associate(e, y)
	case ir.Add, ir.And, ir.Xor, ir.Mul:
		return associate(e, y)
	case ir.Mod:
		if y.IsInt64() && y.Int64() == 1 {
			return literal(e.T, new(big.Int), e)
		}
	case ir.Shl, ir.Shr:
		if b, ok := e.T.(*ir.Bits); ok && y.Cmp(big.NewInt(int64(b.Width))) >= 0 && (e.Op == ir.Shl || !b.Signed) {
			return literal(e.T, new(big.Int), e)
		}
	case ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge:
		return simplifyCompare(e, y)
	}
	return e
}

// associate makes (x op c) op d, with literals, x op (c op d).
func associate(e *ir.Binary, y *big.Int) ir.Expr {
	in, ok := e.X.(*ir.Binary)
	if !ok || in.Op != e.Op {
		return e
	}
	c, ok := ir.IsConst(in.Y)
	if !ok {
		return e
	}
	v := ir.EvalBinary(e.Op, e.T, e.T, c, y)
	if v == nil {
		return e
	}
	return simplify(&ir.Binary{Op: e.Op, X: in.X, Y: literal(e.T, v, e.Y), T: e.T, Span: e.Span})
}

// simplifyConcat joins neighbouring slices, and makes a concatenation with zeros on
// the left a cast.
func simplifyConcat(e *ir.Binary) ir.Expr {
	a, okA := e.X.(*ir.Slice)
	b, okB := e.Y.(*ir.Slice)
	if okA && okB && a.Lo == b.Hi+1 && ir.SameExpr(a.X, b.X) {
		return &ir.Slice{X: a.X, Hi: a.Hi, Lo: b.Lo, Span: e.Span}
	}
	if x, ok := ir.IsConst(e.X); ok && x.Sign() == 0 {
		if _, unsigned := unsignedWidth(e.Y); unsigned {
			if t, ok := e.T.(*ir.Bits); ok && !t.Signed {
				return &ir.Cast{T: e.T, X: e.Y, Span: e.Span}
			}
		}
	}
	return e
}

// simplifyCompare simplifies a comparison with a literal on the right.
func simplifyCompare(e *ir.Binary, y *big.Int) ir.Expr {
	if t, ok := e.X.Type().(*ir.Bits); ok {
		lo, hi := ir.Range(t)
		atLo, atHi := y.Cmp(lo) == 0, y.Cmp(hi) == 0
		switch {
		case e.Op == ir.Lt && atLo, e.Op == ir.Gt && atHi:
			return truth(false, e)
		case e.Op == ir.Ge && atLo, e.Op == ir.Le && atHi:
			return truth(true, e)
		case e.Op == ir.Le && atLo, e.Op == ir.Ge && atHi:
			return &ir.Binary{Op: ir.Eq, X: e.X, Y: e.Y, T: e.T, Span: e.Span}
		case e.Op == ir.Gt && atLo, e.Op == ir.Lt && atHi:
			return &ir.Binary{Op: ir.Ne, X: e.X, Y: e.Y, T: e.T, Span: e.Span}
		}
	}
	switch x := e.X.(type) {
	case *ir.Cast:
		return compareCast(e, x, y)
	case *ir.Binary:
		// No bit of x & m is set outside of m, every bit of m is set in x | m.
		m, ok := ir.IsConst(x.Y)
		if !ok || e.Op != ir.Eq && e.Op != ir.Ne {
			return e
		}
		if x.Op == ir.And && new(big.Int).AndNot(y, m).Sign() != 0 ||
			x.Op == ir.Or && new(big.Int).AndNot(m, y).Sign() != 0 {
			return truth(e.Op == ir.Ne, e)
		}
	}
	return e
}

// compareCast compares before a widening cast instead of behind it.
func compareCast(e *ir.Binary, c *ir.Cast, y *big.Int) ir.Expr {
	if _, ok := unsignedWidth(c); !ok {
		return e
	}
	if _, ok := c.X.Type().(*ir.Bool); ok && y.BitLen() <= 1 && (e.Op == ir.Eq || e.Op == ir.Ne) {
		return &ir.Binary{Op: e.Op, X: c.X, Y: literal(&ir.Bool{}, y, e.Y), T: e.T, Span: e.Span}
	}
	from, ok := unsignedWidth(c.X)
	if to, _ := unsignedWidth(c); !ok || from >= to {
		return e
	}
	if y.BitLen() > from { // larger than x can be
		switch e.Op {
		case ir.Eq, ir.Gt, ir.Ge:
			return truth(false, e)
		default:
			return truth(true, e)
		}
	}
	return &ir.Binary{Op: e.Op, X: c.X, Y: literal(c.X.Type(), y, e.Y), T: e.T, Span: e.Span}
}

// simplifyCast joins two casts where the inner one loses nothing that the outer one
// would keep.
func simplifyCast(e *ir.Cast) ir.Expr {
	in, ok := e.X.(*ir.Cast)
	if !ok {
		return e
	}
	if _, ok := e.T.(*ir.Bool); ok {
		if _, ok := in.X.Type().(*ir.Bool); ok { // bool → bit<1> → bool
			return in.X
		}
		return e
	}
	to, ok1 := unsignedWidth(e)
	mid, ok2 := unsignedWidth(in)
	from, ok3 := unsignedWidth(in.X)
	if ok1 && ok2 && ok3 && (to <= mid || from <= mid) {
		return &ir.Cast{T: e.T, X: in.X, Span: e.Span}
	}
	return e
}

// simplifySlice takes a slice of the operands instead of the result.
func simplifySlice(e *ir.Slice) ir.Expr {
	slice := func(x ir.Expr, hi, lo int) ir.Expr {
		return simplify(&ir.Slice{X: x, Hi: hi, Lo: lo, Span: e.Span})
	}
	switch x := e.X.(type) {
	case *ir.Cast:
		from, ok := unsignedWidth(x.X)
		if _, ok2 := x.T.(*ir.Bits); !ok || !ok2 {
			return e
		}
		switch {
		case e.Hi < from:
			return slice(x.X, e.Hi, e.Lo)
		case e.Lo >= from:
			return literal(e.Type(), new(big.Int), e)
		}
		return &ir.Cast{T: e.Type(), X: slice(x.X, from-1, e.Lo), Span: e.Span}
	case *ir.Binary:
		return sliceBinary(e, x, slice)
	}
	return e
}

func sliceBinary(e *ir.Slice, x *ir.Binary, slice func(ir.Expr, int, int) ir.Expr) ir.Expr {
	switch x.Op {
	case ir.Concat:
		low, _ := ir.ScalarBits(x.Y.Type())
		switch {
		case e.Hi < low:
			return slice(x.Y, e.Hi, e.Lo)
		case e.Lo >= low:
			return slice(x.X, e.Hi-low, e.Lo-low)
		}
	case ir.And, ir.Or:
		m, ok := ir.IsConst(x.Y)
		if !ok {
			return e
		}
		part := ir.EvalSlice(x.T, m, e.Hi, e.Lo)
		if part.Sign() != 0 && part.Cmp(ones(e.Type())) != 0 {
			return e
		}
		return simplify(&ir.Binary{Op: x.Op, X: slice(x.X, e.Hi, e.Lo), Y: literal(e.Type(), part, x.Y), T: e.Type(), Span: e.Span})
	case ir.Shr:
		k, ok := ir.IsConst(x.Y)
		w, unsigned := unsignedWidth(x.X)
		if !ok || !unsigned || !k.IsInt64() || k.Int64() >= int64(w) {
			return e
		}
		n := int(k.Int64())
		switch {
		case e.Hi+n < w:
			return slice(x.X, e.Hi+n, e.Lo+n)
		case e.Lo+n >= w:
			return literal(e.Type(), new(big.Int), e)
		}
	}
	return e
}

func simplifyMux(e *ir.Mux) ir.Expr {
	switch {
	case ir.SameExpr(e.Then, e.Else):
		return e.Then
	case ir.IsTrue(e.Then) && ir.IsFalse(e.Else) && isBool(e.Then):
		return e.Cond
	case ir.IsFalse(e.Then) && ir.IsTrue(e.Else) && isBool(e.Then):
		return simplify(&ir.Unary{Op: ir.Not, X: e.Cond, Span: e.Span})
	}
	if c, ok := e.Cond.(*ir.Unary); ok && c.Op == ir.Not {
		return &ir.Mux{Cond: c.X, Then: e.Else, Else: e.Then, Span: e.Span}
	}
	return e
}

func isBool(e ir.Expr) bool {
	_, ok := e.Type().(*ir.Bool)
	return ok
}
