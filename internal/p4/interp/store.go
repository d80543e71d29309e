package interp

import (
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// cell is storage of one type. Which fields count depends on the type:
//
//	scalar          num
//	varbit          num and bits, the present length
//	header          valid and sub, a cell for each field
//	union, struct   sub
//	stack           sub, a cell for each element, and next (nextIndex)
type cell struct {
	typ   ir.Type
	num   *big.Int
	bits  int
	valid bool
	sub   []*cell
	next  int
	union *cell // of a header that is a member of a union: the union
}

// newCell makes storage that holds zeros and invalid headers.
func newCell(t ir.Type) *cell {
	c := &cell{}
	c.init(t)
	return c
}

func (c *cell) init(t ir.Type) {
	c.typ = t
	switch t := t.(type) {
	case *ir.Header, *ir.Struct, *ir.Union:
		fs := ir.FieldsOf(t)
		c.grow(len(fs))
		for i, f := range fs {
			c.sub[i].init(f.Type)
			if _, ok := t.(*ir.Union); ok {
				c.sub[i].union = c
			}
		}
	case *ir.Stack:
		c.grow(t.Size)
		for i := range c.sub {
			c.sub[i].init(t.Elem)
		}
	default:
		c.num = zero
	}
}

// grow makes room for n cells within c.
func (c *cell) grow(n int) {
	cells := make([]cell, n)
	c.sub = make([]*cell, n)
	for i := range cells {
		c.sub[i] = &cells[i]
	}
}

// reset brings a cell back to what newCell made.
func (c *cell) reset() {
	c.bits, c.valid, c.next = 0, false, 0
	if c.num != nil {
		c.num = zero
	}
	for _, s := range c.sub {
		s.reset()
	}
}

// set copies a cell of the same type, validity and stack position included.
func (c *cell) set(from *cell) {
	if c == from {
		return
	}
	c.num, c.bits, c.next = from.num, from.bits, from.next
	c.valid = from.valid
	for i := range min(len(c.sub), len(from.sub)) {
		c.sub[i].set(from.sub[i])
	}
}

// clone returns a copy.
func (c *cell) clone() *cell {
	d := newCell(c.typ)
	d.set(c)
	return d
}

// field returns the cell of a field, nil if the type has no such field.
func (c *cell) field(f *ir.Field) *cell {
	fs := ir.FieldsOf(c.typ)
	for i, g := range fs {
		if g == f {
			return c.sub[i]
		}
	}
	return c.named(f.Name)
}

// named returns the cell of a field by its name, or nil.
func (c *cell) named(name string) *cell {
	for i, g := range ir.FieldsOf(c.typ) {
		if g.Name == name {
			return c.sub[i]
		}
	}
	return nil
}

// setValid makes a header valid or not. Making a member of a union valid makes the
// others invalid; making a union or a stack invalid does it to all below.
func (c *cell) setValid(v bool) {
	switch c.typ.(type) {
	case *ir.Header:
		if v && c.union != nil {
			for _, s := range c.union.sub {
				s.valid = false
			}
		}
		c.valid = v
	case *ir.Union, *ir.Stack:
		if !v {
			for _, s := range c.sub {
				s.setValid(false)
			}
		}
	}
}

// isValid tells whether a header, or any member of a union, is valid.
func (c *cell) isValid() bool {
	if _, ok := c.typ.(*ir.Union); ok {
		for _, s := range c.sub {
			if s.valid {
				return true
			}
		}
	}
	return c.valid
}

// push moves the elements of a stack n places up; the first n become invalid.
func (c *cell) push(n int) {
	size := len(c.sub)
	for i := size - 1; i >= 0; i-- {
		if i >= n {
			c.sub[i].set(c.sub[i-n])
		} else {
			c.sub[i].reset()
		}
	}
	c.next = min(c.next+n, size)
}

// pop moves the elements of a stack n places down; the last n become invalid.
func (c *cell) pop(n int) {
	size := len(c.sub)
	for i := range size {
		if i+n < size {
			c.sub[i].set(c.sub[i+n])
		} else {
			c.sub[i].reset()
		}
	}
	c.next = max(c.next-n, 0)
}

// equal compares two cells: numbers, and for varbits the length too.
func (c *cell) equal(d *cell) bool { return c.bits == d.bits && c.num.Cmp(d.num) == 0 }

// scalars appends the scalar and varbit cells within c, in order; those of headers
// only if onlyValid is false or the header is valid.
func (c *cell) scalars(onlyValid bool, out []*cell) []*cell {
	if c.num != nil {
		return append(out, c)
	}
	if _, ok := c.typ.(*ir.Header); ok && onlyValid && !c.valid {
		return out
	}
	for _, s := range c.sub {
		out = s.scalars(onlyValid, out)
	}
	return out
}

// width returns how many bits a scalar or varbit cell now takes in a packet.
func (c *cell) width() int {
	if _, ok := c.typ.(*ir.Varbit); ok {
		return c.bits
	}
	w, _ := ir.ScalarBits(c.typ)
	return w
}
