package ir

import "math/big"

// IsConst returns the value of a literal.
func IsConst(e Expr) (*big.Int, bool) {
	if c, ok := e.(*Const); ok {
		return c.Value, true
	}
	return nil, false
}

// IsTrue and IsFalse tell about literals of bool.
func IsTrue(e Expr) bool  { v, ok := IsConst(e); return ok && v.Sign() != 0 }
func IsFalse(e Expr) bool { v, ok := IsConst(e); return ok && v.Sign() == 0 }

// Fold simplifies one expression whose operands are simplified already: literals
// are computed, and what does not depend on an operand loses it. The result has the
// type of e; it is e itself where nothing can be done.
func Fold(e Expr) Expr {
	switch e := e.(type) {
	case *Unary:
		if x, ok := IsConst(e.X); ok {
			if v := EvalUnary(e.Op, e.X.Type(), x); v != nil {
				return &Const{T: e.Type(), Value: v, Span: e.Span}
			}
		}
		if in, ok := e.X.(*Unary); ok && in.Op == e.Op {
			return in.X // !!x, ~~x, - -x
		}
	case *Binary:
		return foldBinary(e)
	case *Cast:
		if x, ok := IsConst(e.X); ok {
			if v := EvalCast(e.T, e.X.Type(), x); v != nil {
				return &Const{T: e.T, Value: v, Span: e.Span}
			}
		}
		if Equal(e.T, e.X.Type()) {
			return e.X
		}
	case *Slice:
		return foldSlice(e)
	case *Mux:
		switch {
		case IsTrue(e.Cond):
			return e.Then
		case IsFalse(e.Cond):
			return e.Else
		}
	}
	return e
}

func foldBinary(e *Binary) Expr {
	x, okx := IsConst(e.X)
	y, oky := IsConst(e.Y)
	if okx && oky {
		if v := EvalBinary(e.Op, e.X.Type(), e.Y.Type(), x, y); v != nil {
			return &Const{T: e.T, Value: v, Span: e.Span}
		}
		return e
	}
	switch e.Op {
	case AndAnd, OrOr:
		return foldLogic(e)
	case Add, Or, Xor, AddSat:
		if okx && x.Sign() == 0 {
			return e.Y
		}
		if oky && y.Sign() == 0 {
			return e.X
		}
	case Sub, SubSat, Shl, Shr:
		if oky && y.Sign() == 0 {
			return e.X
		}
	case Mul:
		if okx && isOne(x) {
			return e.Y
		}
		if oky && isOne(y) {
			return e.X
		}
		if okx && x.Sign() == 0 || oky && y.Sign() == 0 {
			return &Const{T: e.T, Value: new(big.Int), Span: e.Span}
		}
	case Div:
		if oky && isOne(y) {
			return e.X
		}
	case And:
		if okx && x.Sign() == 0 || oky && y.Sign() == 0 {
			return &Const{T: e.T, Value: new(big.Int), Span: e.Span}
		}
		if oky && allOnes(e.T, y) {
			return e.X
		}
		if okx && allOnes(e.T, x) {
			return e.Y
		}
	case Concat:
		if w, _ := ScalarBits(e.X.Type()); w == 0 {
			return &Cast{T: e.T, X: e.Y, Span: e.Span}
		}
		if w, _ := ScalarBits(e.Y.Type()); w == 0 {
			return &Cast{T: e.T, X: e.X, Span: e.Span}
		}
	case Eq, Ne:
		return foldEquality(e)
	}
	return e
}

func isOne(v *big.Int) bool { return v.IsInt64() && v.Int64() == 1 }

func allOnes(t Type, v *big.Int) bool {
	w, _ := ScalarBits(t)
	return w > 0 && Raw(w, v).BitLen() == w && Raw(w, new(big.Int).Not(v)).Sign() == 0
}

func foldLogic(e *Binary) Expr {
	neutral := IsTrue // of &&
	absorbing := IsFalse
	if e.Op == OrOr {
		neutral, absorbing = IsFalse, IsTrue
	}
	switch {
	case neutral(e.X), absorbing(e.Y):
		return e.Y
	case neutral(e.Y), absorbing(e.X):
		return e.X
	}
	return e
}

// foldEquality turns a comparison with a bool literal into the bool or its negation.
func foldEquality(e *Binary) Expr {
	if _, ok := e.X.Type().(*Bool); !ok {
		return e
	}
	x, y := e.X, e.Y
	if _, ok := IsConst(x); ok {
		x, y = y, x
	}
	v, ok := IsConst(y)
	switch {
	case !ok:
		return e
	case (v.Sign() != 0) == (e.Op == Eq):
		return x
	}
	return Fold(&Unary{Op: Not, X: x, Span: e.Span})
}

func foldSlice(e *Slice) Expr {
	w, _ := ScalarBits(e.X.Type())
	if x, ok := IsConst(e.X); ok {
		return &Const{T: e.Type(), Value: EvalSlice(e.X.Type(), x, e.Hi, e.Lo), Span: e.Span}
	}
	if b, ok := e.X.Type().(*Bits); ok && !b.Signed && e.Lo == 0 && e.Hi == w-1 {
		return e.X
	}
	if in, ok := e.X.(*Slice); ok {
		return Fold(&Slice{X: in.X, Hi: in.Lo + e.Hi, Lo: in.Lo + e.Lo, Span: e.Span})
	}
	return e
}

// Root returns the variable that an lvalue is a part of, or nil.
func Root(e Expr) *Var {
	for {
		switch x := e.(type) {
		case *VarRef:
			return x.Var
		case *Member:
			e = x.X
		case *Index:
			e = x.X
		case *Slice:
			e = x.X
		default:
			return nil
		}
	}
}
