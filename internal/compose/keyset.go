package compose

import (
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// overlap says how two keysets meet.
type overlap int

const (
	disjoint overlap = iota // no value is in both
	common                  // the values in both are a keyset
	unknown                 // there may be such values, but they are no keyset
)

// intersect returns the keyset of the values that are in both.
func intersect(a, b ir.Keyset) (ir.Keyset, overlap) {
	if _, ok := a.(*ir.KeyAny); ok {
		return b, common
	}
	if _, ok := b.(*ir.KeyAny); ok {
		return a, common
	}
	if ir.SameKeyset(a, b) {
		return a, common
	}
	if x, ok := a.(*ir.KeyExact); ok {
		return intersectExact(x, b)
	}
	if y, ok := b.(*ir.KeyExact); ok {
		return intersectExact(y, a)
	}
	switch a := a.(type) {
	case *ir.KeyMask:
		if b, ok := b.(*ir.KeyMask); ok {
			both := new(big.Int).And(a.Mask, b.Mask)
			if both.And(both, new(big.Int).Xor(a.Value, b.Value)).Sign() != 0 {
				return nil, disjoint
			}
			return &ir.KeyMask{
				Value: new(big.Int).Or(new(big.Int).And(a.Value, a.Mask), new(big.Int).And(b.Value, b.Mask)),
				Mask:  new(big.Int).Or(a.Mask, b.Mask),
			}, common
		}
	case *ir.KeyRange:
		if b, ok := b.(*ir.KeyRange); ok {
			lo, hi := a.Lo, a.Hi
			if b.Lo.Cmp(lo) > 0 {
				lo = b.Lo
			}
			if b.Hi.Cmp(hi) < 0 {
				hi = b.Hi
			}
			if lo.Cmp(hi) > 0 {
				return nil, disjoint
			}
			return &ir.KeyRange{Lo: lo, Hi: hi}, common
		}
	}
	return nil, unknown
}

func intersectExact(x *ir.KeyExact, k ir.Keyset) (ir.Keyset, overlap) {
	in := false
	switch k := k.(type) {
	case *ir.KeyExact:
		in = x.Value.Cmp(k.Value) == 0
	case *ir.KeyMask:
		in = new(big.Int).And(x.Value, k.Mask).Cmp(new(big.Int).And(k.Value, k.Mask)) == 0
	case *ir.KeyRange:
		in = x.Value.Cmp(k.Lo) >= 0 && x.Value.Cmp(k.Hi) <= 0
	default:
		return nil, unknown // a value set may hold it
	}
	if in {
		return x, common
	}
	return nil, disjoint
}

// covers reports whether every value of row b is in row a, as far as that can be told:
// a row behind another that covers it is never chosen.
func covers(a, b []ir.Keyset) bool {
	for i := range a {
		k, how := intersect(a[i], b[i])
		if how != common || !ir.SameKeyset(k, b[i]) {
			return false
		}
	}
	return true
}

func isAny(ks []ir.Keyset) bool {
	for _, k := range ks {
		if _, ok := k.(*ir.KeyAny); !ok {
			return false
		}
	}
	return true
}

func anyKeys(n int) []ir.Keyset {
	out := make([]ir.Keyset, n)
	for i := range out {
		out[i] = &ir.KeyAny{}
	}
	return out
}

// simplest returns a keyset of values of a width in its simplest form.
func simplest(k ir.Keyset, width int) ir.Keyset {
	all := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(width)), big.NewInt(1))
	switch k := k.(type) {
	case *ir.KeyMask:
		mask := new(big.Int).And(k.Mask, all)
		switch {
		case mask.Sign() == 0:
			return &ir.KeyAny{}
		case mask.Cmp(all) == 0 && k.Value.Sign() >= 0:
			return &ir.KeyExact{Value: k.Value}
		}
	case *ir.KeyRange:
		if k.Lo.Cmp(k.Hi) == 0 {
			return &ir.KeyExact{Value: k.Lo}
		}
	}
	return k
}
