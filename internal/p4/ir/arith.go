package ir

import "math/big"

// Wrap reduces a value to what the bit string type t can hold: modulo 2^W, and as
// a two's complement number when t is signed.
func Wrap(t *Bits, v *big.Int) *big.Int {
	if t.Width == 0 {
		return new(big.Int)
	}
	mod := new(big.Int).Lsh(big.NewInt(1), uint(t.Width))
	r := new(big.Int).And(v, new(big.Int).Sub(mod, big.NewInt(1)))
	if t.Signed && r.Bit(t.Width-1) == 1 {
		r.Sub(r, mod)
	}
	return r
}

// Raw gives the bits of a value of width w as a non-negative number.
func Raw(w int, v *big.Int) *big.Int { return Wrap(&Bits{Width: w}, v) }

// Range returns the smallest and the largest value of a bit string type.
func Range(t *Bits) (lo, hi *big.Int) {
	one := big.NewInt(1)
	switch {
	case t.Width == 0:
		return new(big.Int), new(big.Int)
	case t.Signed:
		hi = new(big.Int).Lsh(one, uint(t.Width-1))
		return new(big.Int).Neg(hi), new(big.Int).Sub(hi, one)
	}
	return new(big.Int), new(big.Int).Sub(new(big.Int).Lsh(one, uint(t.Width)), one)
}

// clamp is the saturated value of v in t.
func clamp(t *Bits, v *big.Int) *big.Int {
	lo, hi := Range(t)
	switch {
	case v.Cmp(lo) < 0:
		return lo
	case v.Cmp(hi) > 0:
		return hi
	}
	return v
}

func boolInt(b bool) *big.Int {
	if b {
		return big.NewInt(1)
	}
	return new(big.Int)
}

// EvalUnary computes op x for operands of type t. It returns nil where the
// operation is not defined.
func EvalUnary(op UnaryOp, t Type, x *big.Int) *big.Int {
	if op == Not {
		return boolInt(x.Sign() == 0)
	}
	b, ok := t.(*Bits)
	if !ok {
		return nil
	}
	switch op {
	case Neg:
		return Wrap(b, new(big.Int).Neg(x))
	case Comp:
		return Wrap(b, new(big.Int).Not(x))
	}
	return nil
}

// EvalBinary computes x op y; tx and ty are the types of the operands. It returns
// nil where the operation is not defined: a division by zero, or a type that the
// operator does not take.
func EvalBinary(op BinaryOp, tx, ty Type, x, y *big.Int) *big.Int {
	switch op {
	case AndAnd:
		return boolInt(x.Sign() != 0 && y.Sign() != 0)
	case OrOr:
		return boolInt(x.Sign() != 0 || y.Sign() != 0)
	case Eq:
		return boolInt(x.Cmp(y) == 0)
	case Ne:
		return boolInt(x.Cmp(y) != 0)
	case Lt:
		return boolInt(x.Cmp(y) < 0)
	case Le:
		return boolInt(x.Cmp(y) <= 0)
	case Gt:
		return boolInt(x.Cmp(y) > 0)
	case Ge:
		return boolInt(x.Cmp(y) >= 0)
	}
	t, ok := tx.(*Bits)
	if !ok {
		return nil
	}
	r := new(big.Int)
	switch op {
	case Add:
		return Wrap(t, r.Add(x, y))
	case Sub:
		return Wrap(t, r.Sub(x, y))
	case Mul:
		return Wrap(t, r.Mul(x, y))
	case Div, Mod:
		if y.Sign() == 0 {
			return nil
		}
		if op == Div {
			return Wrap(t, r.Quo(x, y))
		}
		return Wrap(t, r.Rem(x, y))
	case AddSat:
		return clamp(t, r.Add(x, y))
	case SubSat:
		return clamp(t, r.Sub(x, y))
	case And:
		return Wrap(t, r.And(x, y))
	case Or:
		return Wrap(t, r.Or(x, y))
	case Xor:
		return Wrap(t, r.Xor(x, y))
	case Shl, Shr:
		return evalShift(op, t, x, y)
	case Concat:
		u, ok := ty.(*Bits)
		if !ok {
			return nil
		}
		r.Lsh(Raw(t.Width, x), uint(u.Width))
		r.Or(r, Raw(u.Width, y))
		return Wrap(&Bits{Width: t.Width + u.Width, Signed: t.Signed}, r)
	}
	return nil
}

func evalShift(op BinaryOp, t *Bits, x, y *big.Int) *big.Int {
	if y.Sign() < 0 {
		return nil
	}
	n := uint(t.Width)
	if y.IsUint64() && y.Uint64() < uint64(t.Width) {
		n = uint(y.Uint64())
	}
	if op == Shl {
		if n == uint(t.Width) {
			return new(big.Int)
		}
		return Wrap(t, new(big.Int).Lsh(x, n))
	}
	return new(big.Int).Rsh(x, n) // arithmetic for negative numbers
}

// EvalCast computes (to)x for x of type from. It returns nil for types that are not
// scalar.
func EvalCast(to, from Type, x *big.Int) *big.Int {
	switch to := to.(type) {
	case *Bits:
		if w, ok := ScalarBits(from); ok && to.Signed {
			if b, isBits := from.(*Bits); !isBits || !b.Signed {
				return Wrap(to, Raw(w, x))
			}
		}
		return Wrap(to, x)
	case *SerEnum:
		return Wrap(to.Under, x)
	case *Bool:
		return boolInt(x.Sign() != 0)
	case *Enum, *ErrorType:
		return x
	}
	return nil
}

// EvalSlice computes x[hi:lo] for x of type t.
func EvalSlice(t Type, x *big.Int, hi, lo int) *big.Int {
	w, _ := ScalarBits(t)
	return Raw(hi-lo+1, new(big.Int).Rsh(Raw(w, x), uint(lo)))
}
