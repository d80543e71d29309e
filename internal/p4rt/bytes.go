package p4rt

import (
	"bytes"
	"math/bits"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Canonical returns the shortest byte string of the same unsigned value: no
// leading zero bytes, but at least one byte. The result may share memory with v.
func Canonical(v []byte) []byte {
	for len(v) > 1 && v[0] == 0 {
		v = v[1:]
	}
	if len(v) == 0 {
		return []byte{0}
	}
	return v
}

// Uint returns the canonical byte string of an integer.
func Uint(v uint64) []byte {
	b := make([]byte, 0, 8)
	for shift := 56; shift >= 0; shift -= 8 {
		if c := byte(v >> shift); c != 0 || len(b) > 0 || shift == 0 {
			b = append(b, c)
		}
	}
	return b
}

// Uint64 returns the low 64 bits of a value.
func Uint64(v []byte) uint64 {
	var n uint64
	for _, c := range v {
		n = n<<8 | uint64(c)
	}
	return n
}

// BitLen returns the number of bits that an unsigned value needs; 0 needs none.
func BitLen(v []byte) int {
	for len(v) > 0 && v[0] == 0 {
		v = v[1:]
	}
	if len(v) == 0 {
		return 0
	}
	return (len(v)-1)*8 + bits.Len8(v[0])
}

// Fit checks that v is a valid byte string for bit<width> and returns it in
// canonical form. Width 0 is that of a translated string: any bytes pass. The
// error has code OUT_OF_RANGE.
func Fit(v []byte, width int) ([]byte, error) {
	if len(v) == 0 {
		return nil, status.Error(codes.OutOfRange, "empty byte string")
	}
	if width == 0 {
		return v, nil
	}
	if n := BitLen(v); n > width {
		return nil, status.Errorf(codes.OutOfRange, "value 0x%x needs %d bits, the field has %d", v, n, width)
	}
	return Canonical(v), nil
}

// FitSigned checks that v is a valid byte string for int<width> (two's
// complement) and returns the value's width lowest bits, unsigned: the form in
// which package target holds signed values. The error has code OUT_OF_RANGE.
func FitSigned(v []byte, width int) ([]byte, error) {
	if len(v) == 0 {
		return nil, status.Error(codes.OutOfRange, "empty byte string")
	}
	short := CanonicalSigned(v)
	need := signedBits(short)
	if need > width {
		return nil, status.Errorf(codes.OutOfRange, "value 0x%x needs %d bits, the field has %d", v, need, width)
	}
	return Canonical(Truncate(extend(short, (width+7)/8), width)), nil
}

// CanonicalSigned returns the shortest two's complement byte string of v.
func CanonicalSigned(v []byte) []byte {
	if len(v) == 0 {
		return []byte{0}
	}
	for len(v) > 1 && (v[0] == 0 && v[1] < 0x80 || v[0] == 0xff && v[1] >= 0x80) {
		v = v[1:]
	}
	return v
}

// Signed turns the width lowest bits of v, as package target holds an int<width>,
// into the shortest two's complement byte string.
func Signed(v []byte, width int) []byte {
	n := (width + 7) / 8
	full := Truncate(pad(v, n), width)
	if width%8 != 0 && full[0]>>(uint(width-1)%8)&1 == 1 {
		full[0] |= 0xff << (uint(width) % 8)
	}
	return CanonicalSigned(full)
}

// signedBits is the width of a canonical two's complement string's value.
func signedBits(v []byte) int {
	first := v[0]
	if first >= 0x80 {
		first = ^first
	}
	return (len(v)-1)*8 + bits.Len8(first) + 1
}

// extend sign-extends v to at least n bytes.
func extend(v []byte, n int) []byte {
	if len(v) >= n {
		return v
	}
	fill := byte(0)
	if v[0] >= 0x80 {
		fill = 0xff
	}
	return append(bytes.Repeat([]byte{fill}, n-len(v)), v...)
}

// pad returns the n lowest bytes of v in a slice of its own.
func pad(v []byte, n int) []byte {
	out := make([]byte, n)
	if len(v) > n {
		v = v[len(v)-n:]
	}
	copy(out[n-len(v):], v)
	return out
}

// Truncate returns the width lowest bits of v in ceil(width/8) bytes of its own.
func Truncate(v []byte, width int) []byte {
	out := pad(v, (width+7)/8)
	if r := uint(width % 8); r != 0 && len(out) > 0 {
		out[0] &= 1<<r - 1
	}
	return out
}

// ones returns the byte string of 2^width - 1.
func ones(width int) []byte {
	return Truncate(bytes.Repeat([]byte{0xff}, (width+7)/8), width)
}

// prefixMask returns the mask of a prefix of bit<width>.
func prefixMask(length, width int) []byte {
	m := make([]byte, (width+7)/8)
	skip := len(m)*8 - width
	for i := skip; i < skip+length; i++ {
		m[i/8] |= 0x80 >> (i % 8)
	}
	return m
}

// covered reports whether v has no bit outside mask.
func covered(v, mask []byte) bool {
	n := max(len(v), len(mask))
	v, mask = pad(v, n), pad(mask, n)
	for i := range v {
		if v[i]&^mask[i] != 0 {
			return false
		}
	}
	return true
}

// less compares two unsigned values.
func less(a, b []byte) bool {
	a, b = Canonical(a), Canonical(b)
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return bytes.Compare(a, b) < 0
}

// isZero reports whether v is 0.
func isZero(v []byte) bool { return BitLen(v) == 0 }
