package pass

import "github.com/catena-nfv/catena/internal/p4/ir"

// storage numbers the smallest pieces of what a program holds for a packet, its
// cells: the scalars and varbits, a validity cell for each header and a position
// cell (nextIndex) for each stack. The cells of a larger piece follow one another:
//
//	header  validity, then its fields
//	stack   position, then its elements
//	union   its members
//	struct  its fields
//
// Analyses hold a fact for each cell.
type storage struct {
	vars    []*ir.Var
	base    map[*ir.Var]int
	size    int
	global  int // the cells before it are those of the program, not of a block
	layouts map[ir.Type]*layout
}

// layout says where the fields of a named type are within it.
type layout struct {
	size   int
	fields map[*ir.Field]int
	names  map[string]int
}

// span is the cells lo to hi-1. It is exact if a use of it means all of them: an
// element of a stack chosen at run time is some of the cells of a span.
type span struct {
	lo, hi int
	exact  bool
}

// newStorage numbers the cells of all variables of a program.
func newStorage(p *ir.Program) *storage {
	st := &storage{base: map[*ir.Var]int{}, layouts: map[ir.Type]*layout{}}
	st.add(p.Hdr, p.Meta, p.Std)
	st.global = st.size
	st.add(p.Parser.Locals...)
	for _, c := range p.Controls() {
		st.add(c.Locals...)
		for _, a := range c.Actions {
			st.add(a.Params...)
		}
	}
	return st
}

func (st *storage) add(vs ...*ir.Var) {
	for _, v := range vs {
		st.vars = append(st.vars, v)
		st.base[v] = st.size
		st.size += st.sizeOf(v.Type)
	}
}

// sizeOf returns how many cells a type has.
func (st *storage) sizeOf(t ir.Type) int {
	switch t := t.(type) {
	case *ir.Stack:
		return 1 + t.Size*st.sizeOf(t.Elem)
	case *ir.Header, *ir.Union, *ir.Struct:
		return st.layout(t).size
	}
	return 1
}

func (st *storage) layout(t ir.Type) *layout {
	if l := st.layouts[t]; l != nil {
		return l
	}
	fs := ir.FieldsOf(t)
	l := &layout{fields: make(map[*ir.Field]int, len(fs)), names: make(map[string]int, len(fs))}
	if _, ok := t.(*ir.Header); ok {
		l.size = 1
	}
	for _, f := range fs {
		l.fields[f], l.names[f.Name] = l.size, l.size
		l.size += st.sizeOf(f.Type)
	}
	st.layouts[t] = l
	return l
}

// variable returns the cells of a variable.
func (st *storage) variable(v *ir.Var) span {
	lo := st.base[v]
	return span{lo, lo + st.sizeOf(v.Type), true}
}

// field returns the cells of a field within those of its header, union or struct.
func (st *storage) field(t ir.Type, f *ir.Field, in span) span {
	l := st.layout(t)
	at, ok := l.fields[f]
	if !ok {
		at = l.names[f.Name]
	}
	lo := in.lo + at
	return span{lo, lo + st.sizeOf(f.Type), in.exact}
}

// of returns the cells of an lvalue; those of a slice are the ones that it is a
// slice of. ok is false for other expressions.
func (st *storage) of(e ir.Expr) (s span, ok bool) {
	switch e := e.(type) {
	case *ir.VarRef:
		return st.variable(e.Var), true
	case *ir.Member:
		in, ok := st.of(e.X)
		if !ok {
			return span{}, false
		}
		if !in.exact || in.lo == in.hi {
			return in, true
		}
		return st.field(e.X.Type(), e.Field, in), true
	case *ir.Index:
		in, ok := st.of(e.X)
		if !ok || !in.exact || in.lo == in.hi {
			return in, ok
		}
		t, _ := e.X.Type().(*ir.Stack)
		if i, ok := ir.IsConst(e.I); ok {
			n := st.sizeOf(t.Elem)
			if !i.IsInt64() || i.Int64() < 0 || i.Int64() >= int64(t.Size) {
				return span{in.lo, in.lo, true}, true // beyond the end: nothing
			}
			lo := in.lo + 1 + int(i.Int64())*n
			return span{lo, lo + n, true}, true
		}
		return span{in.lo + 1, in.hi, false}, true
	case *ir.Slice:
		return st.of(e.X)
	}
	return span{}, false
}

// validity calls f with the validity cells of the headers in a type at lo.
func (st *storage) validity(t ir.Type, lo int, f func(cell int)) {
	switch t := t.(type) {
	case *ir.Header:
		f(lo)
	case *ir.Union, *ir.Struct:
		for _, x := range ir.FieldsOf(t) {
			st.validity(x.Type, lo+st.layout(t).fields[x], f)
		}
	case *ir.Stack:
		n := st.sizeOf(t.Elem)
		for i := range t.Size {
			st.validity(t.Elem, lo+1+i*n, f)
		}
	}
}

// bits is a set of cells.
type bits []uint64

func newBits(n int) bits { return make(bits, (n+63)/64) }

func (b bits) has(i int) bool { return b[i/64]>>(i%64)&1 != 0 }
func (b bits) add(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bits) remove(i int)   { b[i/64] &^= 1 << (i % 64) }

func (b bits) addSpan(s span) {
	for i := s.lo; i < s.hi; i++ {
		b.add(i)
	}
}

func (b bits) removeSpan(s span) {
	for i := s.lo; i < s.hi; i++ {
		b.remove(i)
	}
}

func (b bits) anyOf(s span) bool {
	for i := s.lo; i < s.hi; i++ {
		if b.has(i) {
			return true
		}
	}
	return false
}

func (b bits) union(c bits) {
	for i := range c {
		b[i] |= c[i]
	}
}

func (b bits) clone() bits { return append(bits(nil), b...) }
