package tables

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// trim removes leading zero bytes.
func trim(v []byte) []byte { return bytes.TrimLeft(v, "\x00") }

// checkWidth fails unless the value fits width bits.
func checkWidth(v []byte, width int) error {
	v = trim(v)
	if len(v) == 0 {
		return nil
	}
	if n := 8*(len(v)-1) + bits.Len8(v[0]); n > width {
		return fmt.Errorf("value 0x%x: %w: needs %d bits of %d", v, target.ErrInvalid, n, width)
	}
	return nil
}

// put writes a big-endian value, which fits, into its slot.
func put(buf []byte, s ebpf.Slot, v []byte) {
	v = trim(v)
	dst := buf[s.Offset : s.Offset+s.Bytes]
	clear(dst)
	if s.Big {
		copy(dst[s.Bytes-len(v):], v)
		shiftLeft(dst, 8*s.Bytes-s.Width)
		return
	}
	if s.Bytes > 8 {
		for i := 0; i < s.Bytes; i += 8 {
			binary.NativeEndian.PutUint64(dst[i:], word(v, i/8))
		}
		return
	}
	x := word(v, 0)
	switch s.Bytes {
	case 1:
		dst[0] = byte(x)
	case 2:
		binary.NativeEndian.PutUint16(dst, uint16(x))
	case 4:
		binary.NativeEndian.PutUint32(dst, uint32(x))
	case 8:
		binary.NativeEndian.PutUint64(dst, x)
	}
}

// word returns the i-th 64-bit word, counted from the least significant, of a
// big-endian value.
func word(v []byte, i int) uint64 {
	var b [8]byte
	end := len(v) - 8*i
	if end <= 0 {
		return 0
	}
	begin := max(end-8, 0)
	copy(b[8-(end-begin):], v[begin:end])
	return binary.BigEndian.Uint64(b[:])
}

// get reads a slot as a big-endian value in the smallest number of bytes for its width.
func get(buf []byte, s ebpf.Slot) []byte {
	src := buf[s.Offset : s.Offset+s.Bytes]
	out := make([]byte, (s.Width+7)/8)
	for i := range out { // i counts from the least significant byte
		var b byte
		switch {
		case s.Bytes > 8:
			b = byte(binary.NativeEndian.Uint64(src[i/8*8:]) >> (8 * (i % 8)))
		case s.Bytes == 8:
			b = byte(binary.NativeEndian.Uint64(src) >> (8 * i))
		case s.Bytes == 4:
			b = byte(binary.NativeEndian.Uint32(src) >> (8 * i))
		case s.Bytes == 2:
			b = byte(binary.NativeEndian.Uint16(src) >> (8 * i))
		default:
			b = src[0]
		}
		out[len(out)-1-i] = b
	}
	return out
}

func shiftLeft(b []byte, n int) {
	for ; n >= 8; n -= 8 {
		copy(b, b[1:])
		b[len(b)-1] = 0
	}
	if n == 0 {
		return
	}
	for i := range b {
		b[i] <<= n
		if i+1 < len(b) {
			b[i] |= b[i+1] >> (8 - n)
		}
	}
}

// ones is the mask of the n highest of width bits, big-endian.
func ones(n, width int) []byte {
	b := make([]byte, (width+7)/8)
	lead := 8*len(b) - width
	for i := range n {
		b[(lead+i)/8] |= 0x80 >> ((lead + i) % 8)
	}
	return b
}

// and masks a big-endian value.
func and(v, mask []byte) []byte {
	v, mask = trim(v), trim(mask)
	n := min(len(v), len(mask))
	out := make([]byte, n)
	for i := range n {
		out[n-1-i] = v[len(v)-1-i] & mask[len(mask)-1-i]
	}
	return trim(out)
}

func u32(v uint32) []byte { return binary.NativeEndian.AppendUint32(nil, v) }
