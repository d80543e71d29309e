package interp

import "math/big"

// reader reads a packet from its most significant bit.
type reader struct {
	data []byte
	pos  int // bits
}

func (r *reader) left() int { return len(r.data)*8 - r.pos }

// peek returns the next n bits, of which the packet must have enough.
func (r *reader) peek(n int) *big.Int {
	if n == 0 {
		return zero
	}
	first, last := r.pos/8, (r.pos+n+7)/8
	v := new(big.Int).SetBytes(r.data[first:last])
	if tail := last*8 - (r.pos + n); tail > 0 {
		v.Rsh(v, uint(tail))
	}
	if r.pos%8 != 0 {
		v = wrap(v, n, false)
	}
	return v
}

func (r *reader) read(n int) *big.Int {
	v := r.peek(n)
	r.pos += n
	return v
}

// rest returns the bytes that follow; part of a byte that was read is gone.
func (r *reader) rest() []byte { return r.data[(r.pos+7)/8:] }

// writer collects bits, most significant first. The last byte is filled with zeros.
type writer struct {
	data []byte
	bits int
}

func (w *writer) write(v *big.Int, n int) {
	v = raw(v, n)
	if w.bits%8 == 0 && n%8 == 0 {
		w.data = append(w.data, v.FillBytes(make([]byte, n/8))...)
		w.bits += n
		return
	}
	for i := n - 1; i >= 0; i-- {
		if w.bits%8 == 0 {
			w.data = append(w.data, 0)
		}
		if v.Bit(i) == 1 {
			w.data[len(w.data)-1] |= 0x80 >> (w.bits % 8)
		}
		w.bits++
	}
}
