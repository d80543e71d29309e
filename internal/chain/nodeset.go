package chain

import (
	"fmt"
	"math/bits"
)

// NodeSet is a set of node IDs: ID n is bit n%64 of word n/64. Sets without trailing zero words are
// equal word by word.
type NodeSet []uint64

// With returns the set with id added; s itself may be changed.
func (s NodeSet) With(id int) NodeSet {
	for len(s) <= id/64 {
		s = append(s, 0)
	}
	s[id/64] |= 1 << (id % 64)
	return s
}

// Has tells whether id is in the set.
func (s NodeSet) Has(id int) bool {
	return id >= 0 && id/64 < len(s) && s[id/64]>>(id%64)&1 == 1
}

// Len returns how many IDs are in the set.
func (s NodeSet) Len() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// IDs returns the members, rising.
func (s NodeSet) IDs() []int {
	var out []int
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			out = append(out, i*64+bits.TrailingZeros64(w))
		}
	}
	return out
}

// Bytes returns the set as an unsigned number of width bits, most significant byte first, as
// P4Runtime wants a bit<width> value. It fails when a member has no bit there.
func (s NodeSet) Bytes(width int) ([]byte, error) {
	out := make([]byte, (width+7)/8)
	for _, id := range s.IDs() {
		if id >= width {
			return nil, fmt.Errorf("node %d does not fit a bitmap of %d bits", id, width)
		}
		out[len(out)-1-id/8] |= 1 << (id % 8)
	}
	return out, nil
}

// String prints the set as a hexadecimal number.
func (s NodeSet) String() string {
	top := len(s) - 1
	for top > 0 && s[top] == 0 {
		top--
	}
	if top < 0 {
		return "0x0"
	}
	text := fmt.Sprintf("0x%x", s[top])
	for i := top - 1; i >= 0; i-- {
		text += fmt.Sprintf("%016x", s[i])
	}
	return text
}
