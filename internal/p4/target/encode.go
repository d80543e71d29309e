package target

import (
	"bytes"
	"fmt"
	"math/big"
	"math/bits"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// Bytes returns the number of bytes that hold so many bits.
func Bytes(width int) int { return (width + 7) / 8 }

// Encode writes a value of width bits as Bytes(width) big-endian bytes. Negative
// values are written in two's complement; bits beyond the width are lost.
func Encode(v *big.Int, width int) []byte {
	out := make([]byte, Bytes(width))
	if v.Sign() < 0 || v.BitLen() > width {
		m := new(big.Int).Lsh(big.NewInt(1), uint(width))
		v = new(big.Int).And(v, m.Sub(m, big.NewInt(1)))
	}
	return v.FillBytes(out)
}

// Decode reads big-endian bytes as a value of type t: the signed integer they mean
// if t is signed. Bits beyond the type's width are ignored.
func Decode(b []byte, t ir.Type) *big.Int {
	v := new(big.Int).SetBytes(b)
	width, _ := ir.ScalarBits(t)
	if v.BitLen() > width {
		m := new(big.Int).Lsh(big.NewInt(1), uint(width))
		v.And(v, m.Sub(m, big.NewInt(1)))
	}
	if bt := under(t); bt != nil && bt.Signed && width > 0 && v.Bit(width-1) == 1 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(width)))
	}
	return v
}

func under(t ir.Type) *ir.Bits {
	switch t := t.(type) {
	case *ir.Bits:
		return t
	case *ir.SerEnum:
		return t.Under
	}
	return nil
}

// pad returns b in Bytes(width) bytes, or an error that b does not fit.
func pad(b []byte, width int) ([]byte, error) {
	n := len(b)
	b = bytes.TrimLeft(b, "\x00")
	have := 0
	if len(b) > 0 {
		have = len(b)*8 - bits.LeadingZeros8(b[0])
	}
	if n == 0 {
		return nil, fmt.Errorf("value is missing: %w", ErrInvalid)
	}
	if have > width {
		return nil, fmt.Errorf("value 0x%x needs %d bits, the field has %d: %w", b, have, width, ErrInvalid)
	}
	out := make([]byte, Bytes(width))
	copy(out[len(out)-len(b):], b)
	return out, nil
}

// PrefixMask returns the mask of a prefix: n ones, then zeros, width bits in all.
func PrefixMask(n, width int) []byte {
	m := new(big.Int).Lsh(big.NewInt(1), uint(n))
	m.Sub(m, big.NewInt(1))
	return m.Lsh(m, uint(width-n)).FillBytes(make([]byte, Bytes(width)))
}

// prefixLen returns how many leading ones a mask has, and false if a one follows a zero.
func prefixLen(mask *big.Int, width int) (int, bool) {
	n := 0
	for n < width && mask.Bit(width-1-n) == 1 {
		n++
	}
	for i := n; i < width; i++ {
		if mask.Bit(width-1-i) == 1 {
			return 0, false
		}
	}
	return n, true
}

// Scalars returns the types of the scalars of a register's or digest's type, in order.
func Scalars(t ir.Type) []ir.Type {
	if fs := ir.FieldsOf(t); fs != nil {
		var out []ir.Type
		for _, f := range fs {
			out = append(out, Scalars(f.Type)...)
		}
		return out
	}
	return []ir.Type{t}
}
