package interp

import (
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// Numbers are *big.Int and never changed once they are stored or handed on, so that
// they can be shared. Those two are shared most.
var (
	zero = new(big.Int)
	one  = big.NewInt(1)
)

func boolNum(b bool) *big.Int {
	if b {
		return one
	}
	return zero
}

// bitsOf returns width and signedness of a scalar type.
func bitsOf(t ir.Type) (width int, signed bool) {
	switch t := t.(type) {
	case *ir.Bits:
		return t.Width, t.Signed
	case *ir.SerEnum:
		return t.Under.Width, t.Under.Signed
	}
	width, _ = ir.ScalarBits(t)
	return width, false
}

// wrap brings x into the range of a width: the value modulo 2^width.
func wrap(x *big.Int, width int, signed bool) *big.Int {
	if !signed {
		if x.Sign() >= 0 && x.BitLen() <= width {
			return x
		}
		return new(big.Int).And(x, mask(width))
	}
	if width == 0 {
		return zero
	}
	if x.BitLen() < width {
		return x
	}
	r := new(big.Int).And(x, mask(width))
	if r.Bit(width-1) == 1 {
		r.Sub(r, new(big.Int).Lsh(one, uint(width)))
	}
	return r
}

// fit converts x to a scalar type as a cast does.
func fit(x *big.Int, t ir.Type) *big.Int {
	if _, ok := t.(*ir.Bool); ok {
		return boolNum(x.Sign() != 0)
	}
	width, signed := bitsOf(t)
	return wrap(x, width, signed)
}

// raw returns the bits of x as an unsigned number.
func raw(x *big.Int, width int) *big.Int { return wrap(x, width, false) }

// mask returns 2^width - 1.
func mask(width int) *big.Int {
	m := new(big.Int).Lsh(one, uint(width))
	return m.Sub(m, one)
}

// saturate clamps x to the range of a width.
func saturate(x *big.Int, width int, signed bool) *big.Int {
	lo, hi := zero, mask(width)
	if signed {
		hi = mask(width - 1)
		lo = new(big.Int).Not(hi)
	}
	if x.Cmp(lo) < 0 {
		return lo
	}
	if x.Cmp(hi) > 0 {
		return hi
	}
	return x
}

// shift shifts x, of the given width, by n: left when n is positive. All the bits may
// fall off.
func shift(x *big.Int, n *big.Int, left bool, width int, signed bool) *big.Int {
	if !n.IsUint64() || n.Uint64() >= uint64(width) {
		if !left && x.Sign() < 0 {
			return big.NewInt(-1)
		}
		return zero
	}
	if left {
		return wrap(new(big.Int).Lsh(x, uint(n.Uint64())), width, signed)
	}
	return new(big.Int).Rsh(x, uint(n.Uint64()))
}

// slice returns bits hi to lo of x, of the given width.
func slice(x *big.Int, hi, lo, width int) *big.Int {
	r := new(big.Int).Rsh(raw(x, width), uint(lo))
	return r.And(r, mask(hi-lo+1))
}

// splice returns x, of the given width, with bits hi to lo replaced by v.
func splice(x, v *big.Int, hi, lo, width int, signed bool) *big.Int {
	hole := new(big.Int).Lsh(mask(hi-lo+1), uint(lo))
	r := new(big.Int).AndNot(raw(x, width), hole)
	r.Or(r, new(big.Int).Lsh(raw(v, hi-lo+1), uint(lo)))
	return wrap(r, width, signed)
}
