package types

import (
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/syntax"
)

func (c *checker) unary(e *syntax.Unary) Type {
	t := c.value(e.X)
	if isBad(t) {
		return Bad
	}
	switch e.Op {
	case syntax.OpNot:
		if resolved(t) == Bool {
			return Bool
		}
	case syntax.OpCompl:
		if b := c.toBits(e.X, t); b != nil {
			return b
		}
	default:
		if resolved(t) == Int {
			return Int
		}
		if b := c.toBits(e.X, t); b != nil {
			return b
		}
	}
	c.errorf(e.Span(), CodeOperand, "operator %s does not take %s", e.Op, t)
	return Bad
}

// toBits gives the bit string type of an operand, converting a serializable enum to
// its representation; nil for any other type.
func (c *checker) toBits(e syntax.Expr, t Type) *Bits {
	switch u := resolved(t).(type) {
	case *Bits:
		return u
	case *SerEnum:
		c.convert(e, u.Under)
		b, _ := u.Under.(*Bits)
		return b
	}
	return nil
}

func (c *checker) binary(e *syntax.Binary) Type {
	tx, ty := c.value(e.X), c.value(e.Y)
	if isBad(tx) || isBad(ty) {
		if isComparison(e.Op) {
			return Bool
		}
		return Bad
	}
	fail := func() Type {
		c.errorf(e.Span(), CodeOperand, "operator %s does not take %s and %s", e.Op, tx, ty)
		for _, t := range []Type{tx, ty} {
			if v, ok := resolved(t).(*infer); ok {
				v.bound = Bad // so that nothing else is said about it
			}
		}
		return Bad
	}
	switch e.Op {
	case syntax.OpLAnd, syntax.OpLOr:
		if resolved(tx) == Bool && resolved(ty) == Bool {
			return Bool
		}
		return fail()
	case syntax.OpEq, syntax.OpNe:
		if !c.comparable(e, tx, ty) {
			fail()
		}
		return Bool
	case syntax.OpConcat:
		if resolved(tx) == String && resolved(ty) == String {
			return String
		}
		bx, by := c.toBits(e.X, tx), c.toBits(e.Y, ty)
		if bx == nil || by == nil {
			return fail()
		}
		if bx.Width+by.Width > maxWidth {
			c.errorf(e.Span(), CodeRange, "the result has more than %d bits", maxWidth)
			return Bad
		}
		return &Bits{bx.Width + by.Width, bx.Signed}
	case syntax.OpShl, syntax.OpShr:
		return c.shift(e, tx, ty, fail)
	}
	t := c.sameBits(e, tx, ty)
	if t == nil {
		fail()
		if isComparison(e.Op) {
			return Bool
		}
		return Bad
	}
	switch e.Op {
	case syntax.OpSatAdd, syntax.OpSatSub:
		if t == Int {
			return fail()
		}
	case syntax.OpDiv, syntax.OpMod:
		return c.division(e, t)
	}
	if isComparison(e.Op) {
		return Bool
	}
	return t
}

func isComparison(op syntax.Op) bool {
	switch op {
	case syntax.OpEq, syntax.OpNe, syntax.OpLt, syntax.OpLe, syntax.OpGt, syntax.OpGe, syntax.OpLAnd, syntax.OpLOr:
		return true
	}
	return false
}

func isBits(t Type) bool {
	_, ok := t.(*Bits)
	return ok
}

// sameBits brings two operands to one bit string type, or to int; nil if it cannot be.
func (c *checker) sameBits(e *syntax.Binary, tx, ty Type) Type {
	x, y := resolved(tx), resolved(ty)
	if v, ok := x.(*infer); ok && isBits(y) {
		v.bound, x = y, y
	} else if v, ok := y.(*infer); ok && isBits(x) {
		v.bound, y = x, x
	}
	if x == Int && y == Int {
		return Int
	}
	if x == Int {
		b := c.toBits(e.Y, ty)
		if b == nil || !c.convert(e.X, b) {
			return nil
		}
		return b
	}
	bx := c.toBits(e.X, tx)
	if bx == nil {
		return nil
	}
	if y == Int {
		if !c.convert(e.Y, bx) {
			return nil
		}
		return bx
	}
	if by := c.toBits(e.Y, ty); by == nil || *bx != *by {
		return nil
	}
	return bx
}

func (c *checker) shift(e *syntax.Binary, tx, ty Type, fail func() Type) Type {
	y := resolved(ty)
	if y == Int {
		v, ok := c.eval.value(e.Y).(IntVal)
		if ok && v.V.Sign() < 0 {
			c.errorf(e.Y.Span(), CodeRange, "cannot shift by %s bits", v.V)
			return Bad
		}
		if !ok {
			c.constant(e.Y, "a number without a width")
		}
	} else if b := c.toBits(e.Y, ty); b == nil {
		return fail()
	} else if b.Signed {
		v, ok := c.eval.value(e.Y).(IntVal)
		if !ok || v.V.Sign() < 0 {
			c.errorf(e.Y.Span(), CodeOperand, "the number of bits to shift by cannot be signed")
			return Bad
		}
	}
	if resolved(tx) == Int {
		if c.eval.value(e.Y) == nil && !c.mayBeKnown(e.Y) && c.eval.value(e.X) != nil {
			c.errorf(e.X.Span(), CodeConst, "the left side of a shift needs a width, since the right side is not known at compile time")
			return Bad
		}
		return Int
	}
	b := c.toBits(e.X, tx)
	if b == nil {
		return fail()
	}
	if v, ok := c.eval.value(e.Y).(IntVal); ok && v.V.Cmp(big.NewInt(int64(b.Width))) >= 0 {
		c.warnf(e.Span(), CodeOverflow, "a shift by %s bits leaves nothing of %s", v.V, b)
	}
	return b
}

// division checks / and %, which are for numbers without a sign.
func (c *checker) division(e *syntax.Binary, t Type) Type {
	if b, ok := t.(*Bits); ok && b.Signed {
		c.errorf(e.Span(), CodeOperand, "operator %s is not for signed numbers", e.Op)
		return Bad
	}
	y, known := c.eval.value(e.Y).(IntVal)
	x, xKnown := c.eval.value(e.X).(IntVal)
	switch {
	case known && y.V.Sign() == 0:
		c.errorf(e.Y.Span(), CodeRange, "division by zero")
		return Bad
	case known && y.V.Sign() < 0, xKnown && x.V.Sign() < 0:
		c.errorf(e.Span(), CodeRange, "operator %s is not for negative numbers", e.Op)
		return Bad
	case !known && !c.fixed(e.Y, "a divisor"):
		return Bad
	}
	return t
}

// comparable brings the operands of == to one type, and reports whether it can.
func (c *checker) comparable(e *syntax.Binary, tx, ty Type) bool {
	if t := c.sameBits(e, tx, ty); t != nil {
		return true
	}
	if resolved(tx) == Dots || resolved(ty) == Dots {
		return false
	}
	if isLiteral(tx) && isLiteral(ty) {
		if untyped(tx) && untyped(ty) {
			return false
		}
		return resolved(tx) == resolved(ty) || c.sameLiterals(tx, ty)
	}
	switch {
	case isLiteral(ty):
		if !c.fits(tx, ty) {
			return false
		}
		c.convert(e.Y, tx)
	case isLiteral(tx):
		if !c.fits(ty, tx) {
			return false
		}
		c.convert(e.X, ty)
	default:
		if !identical(tx, ty) {
			return false
		}
	}
	t := tx
	if isLiteral(tx) {
		t = ty
	}
	return canCompare(t)
}

func (c *checker) sameLiterals(a, b Type) bool {
	la, ok1 := resolved(a).(*ListLit)
	lb, ok2 := resolved(b).(*ListLit)
	if !ok1 || !ok2 || len(la.Elems) != len(lb.Elems) {
		return false
	}
	for i := range la.Elems {
		if !c.fits(la.Elems[i], lb.Elems[i]) && !c.fits(lb.Elems[i], la.Elems[i]) {
			return false
		}
	}
	return true
}

// isLiteral reports whether a type is one that awaits its final form.
func isLiteral(t Type) bool {
	switch t := resolved(t).(type) {
	case *ListLit, *RecordLit:
		return true
	case Basic:
		return t == Invalid || t == Dots
	}
	return false
}

func canCompare(t Type) bool {
	switch t := base(t).(type) {
	case *Bits, *Varbit, *Enum, *TypeParam:
		return true
	case Basic:
		return t == Bool || t == Int || t == Error || t == String || t == MatchKind
	case *Stack:
		return canCompare(t.Elem)
	case *Tuple:
		for _, e := range t.Elems {
			if !canCompare(e) {
				return false
			}
		}
		return true
	case *Struct:
		for _, f := range t.Fields() {
			if !canCompare(f.Type) {
				return false
			}
		}
		return true
	}
	return false
}

func (c *checker) ternary(e *syntax.Ternary) Type {
	tc := c.value(e.Cond)
	if !isBad(tc) && resolved(tc) != Bool {
		c.errorf(e.Cond.Span(), CodeMismatch, "a condition is a bool, not %s", tc)
	}
	ta, tb := c.value(e.Then), c.value(e.Else)
	if isBad(ta) || isBad(tb) {
		return Bad
	}
	a, b := resolved(ta), resolved(tb)
	switch {
	case a == Dots || b == Dots || a == Invalid && b == Invalid:
		c.errorf(e.Span(), CodeMismatch, "the type of ?: is not known: its values are %s and %s", ta, tb)
		return Bad
	case isExtern(a) || isExtern(b):
		c.errorf(e.Span(), CodeOperand, "?: is for values, not for objects of type %s", ta)
		return Bad
	case identical(a, b):
		if a == Int && c.eval.value(e.Cond) == nil && !c.mayBeKnown(e.Cond) {
			c.errorf(e.Then.Span(), CodeConst, "one of the values needs a width, since the condition is not known at compile time")
			return Bad
		}
		return a
	case a == Int || isLiteral(a):
		if c.fits(b, a) {
			c.convert(e.Then, b)
			return b
		}
		if s, ok := b.(*SerEnum); ok && a == Int {
			c.convert(e.Else, s.Under)
			c.convert(e.Then, s.Under)
			return s.Under
		}
	case b == Int || isLiteral(b):
		if c.fits(a, b) {
			c.convert(e.Else, a)
			return a
		}
		if s, ok := a.(*SerEnum); ok && b == Int {
			c.convert(e.Else, s.Under)
			c.convert(e.Then, s.Under)
			return s.Under
		}
	case c.fits(a, b):
		c.convert(e.Else, a)
		return a
	case c.fits(b, a):
		c.convert(e.Then, b)
		return b
	}
	c.errorf(e.Span(), CodeMismatch, "the two values of ?: are of different types, %s and %s", ta, tb)
	return Bad
}
