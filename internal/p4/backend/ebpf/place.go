package ebpf

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
)

// fn is the C function that is being written.
type fn struct {
	g     *gen
	t     *text
	temps int
	// picked are stack elements whose index was computed at run time, in the branch
	// for one value of it.
	picked map[*ir.Index]int
	// nexts are the stacks whose nextIndex is known, in a parser state.
	nexts map[string]int
	// cells are the C variables with elements of counters, in a control's body.
	cells map[*ir.Instance]string
	// blocks are the labels of enclosing blocks that something leaves.
	blocks map[*ir.Block]string
	// exit is the statement for Exit.
	exit string
	// parser is set in parser states, cursor handling differs there.
	parser *parserState
	// part is the part of a body that is a function of its own, in a program that is divided.
	part *part
	// divides: parts may be written as functions of their own before this one.
	divides bool
	// step is what the assignment that is being written adds to its place, modulo 2 to the power of the width; nil if that
	// is not known.
	step *big.Int
	// at is the statement that is being written.
	at diag.Span
}

// constIndex is the value of an index, if it is known.
func (f *fn) constIndex(e *ir.Index) (int, bool) {
	if k, ok := f.picked[e]; ok {
		return k, true
	}
	switch i := e.I.(type) {
	case *ir.Const:
		if i.Value.IsInt64() && i.Value.Int64() >= 0 && i.Value.Int64() < 1<<31 {
			return int(i.Value.Int64()), true
		}
		return 1 << 31, true // beyond any end
	case *ir.StackIndex:
		path, ok := f.static(i.X)
		if !ok {
			return 0, false
		}
		n, known := f.nexts[path]
		if !known {
			return 0, false
		}
		if i.Last {
			if n--; n < 0 {
				n = 1 << 31
			}
		}
		return n, true
	}
	return 0, false
}

// computed returns the innermost index in an lvalue that is only known at run time.
func (f *fn) computed(e ir.Expr) *ir.Index {
	switch e := e.(type) {
	case *ir.Member:
		return f.computed(e.X)
	case *ir.Slice:
		return f.computed(e.X)
	case *ir.Index:
		if in := f.computed(e.X); in != nil {
			return in
		}
		if _, ok := f.constIndex(e); !ok {
			return e
		}
	}
	return nil
}

// static is the C path of an lvalue whose indices are all known. It fails for an
// element beyond a stack's end.
func (f *fn) static(e ir.Expr) (string, bool) {
	switch e := e.(type) {
	case *ir.VarRef:
		return f.g.varPath(e.Var), true
	case *ir.Member:
		x, ok := f.static(e.X)
		if x == "" {
			return f.g.field(e.Field), ok
		}
		return x + "." + f.g.field(e.Field), ok
	case *ir.Index:
		x, ok := f.static(e.X)
		i, known := f.constIndex(e)
		if !ok || !known || i >= e.X.Type().(*ir.Stack).Size {
			return "", false
		}
		return fmt.Sprintf("%s.e[%d]", x, i), true
	}
	f.g.unsupported(e.Pos(), "a %T as a place", e)
	return "", false
}

// choose writes a switch over an index that is computed at run time, with body once
// for each element.
func (f *fn) choose(e *ir.Index, body func()) {
	size := e.X.Type().(*ir.Stack).Size
	i := f.hold(f.expr(e.I))
	for _, h := range i.words[1:] {
		f.t.f("if (%s == 0)", h)
	}
	f.t.f("switch (%s) {", i.one())
	outer := f.picked
	for k := range size {
		f.t.f("case %d: {", k)
		f.picked = map[*ir.Index]int{e: k}
		for x, v := range outer {
			f.picked[x] = v
		}
		body()
		f.t.f("break;")
		f.t.f("}")
	}
	f.picked = outer
	f.t.f("}")
}

// each runs body with every computed index of the lvalues chosen.
func (f *fn) each(body func(), lvalues ...ir.Expr) {
	for _, e := range lvalues {
		if e == nil {
			continue
		}
		if i := f.computed(e); i != nil {
			f.choose(i, func() { f.each(body, lvalues...) })
			return
		}
	}
	body()
}

// load is the value of a scalar lvalue.
func (f *fn) load(e ir.Expr) val {
	w := width(e.Type())
	if i := f.computed(e); i != nil {
		out := val{w: w}
		ct := "u64"
		if w <= 64 {
			ct = ctype(w)
		}
		for range words(w) {
			out.words = append(out.words, f.temp(ct, "0"))
		}
		f.each(func() {
			v := f.load(e)
			for k, c := range v.words {
				f.t.f("%s = %s;", out.words[k], c)
			}
		}, e)
		return out
	}
	p, ok := f.static(e)
	if !ok {
		return zero(w)
	}
	return pathValue(p, w)
}

// pathValue is the value stored at a C path.
func pathValue(p string, w int) val {
	if w <= 64 {
		return narrow(w, p)
	}
	out := val{w: w}
	for i := range words(w) {
		out.words = append(out.words, fmt.Sprintf("%s[%d]", p, i))
	}
	return out
}

// store assigns to a scalar lvalue, which may be a slice.
func (f *fn) store(dst ir.Expr, v val) {
	if f.computed(dst) != nil {
		v = f.hold(v)
	}
	f.each(func() { f.storeStatic(dst, v) }, dst)
}

func (f *fn) storeStatic(dst ir.Expr, v val) {
	if s, ok := dst.(*ir.Slice); ok {
		f.storeStatic(s.X, f.splice(f.expr(s.X), v, s.Hi, s.Lo))
		return
	}
	p, ok := f.static(dst)
	if !ok {
		return // beyond a stack's end: nothing is written
	}
	f.set(p, v)
}

// set assigns a value to a C path, for the program.
func (f *fn) set(p string, v val) {
	v = f.track(p, v)
	f.put(p, v)
	f.wrote(p)
}

// wrote notes that the program assigned a place, if that is a header's field: the deparser writes only what has
// changed. One that moves headers looks at them all.
func (f *fn) wrote(p string) {
	if !f.g.stays {
		return
	}
	if h, x := f.g.headerField(p); h != nil && h.writeSet[x] != nil {
		f.t.f("SET_WRITTEN(%s);", h.writeSet[x].name)
	}
}

// headerField is the header's field that a C path leads to, or nil.
func (g *gen) headerField(p string) (*instance, *ir.Field) {
	i := strings.LastIndexByte(p, '.')
	if i < 0 || g.use.byPath[p[:i]] == nil {
		return nil, nil
	}
	h := g.use.byPath[p[:i]]
	for _, x := range h.typ.Fields {
		if g.field(x) == p[i+1:] {
			return h, x
		}
	}
	return nil, nil
}

// put stores a value at a C path.
func (f *fn) put(p string, v val) {
	if v.w <= 64 {
		c := v.one()
		if len(c) > 2 && c[0] == '(' && matching(c) == len(c)-1 {
			c = c[1 : len(c)-1]
		}
		f.t.f("%s = %s;", p, c)
		return
	}
	// The value may mention the old words.
	v = f.hold(v)
	for i, c := range v.words {
		f.t.f("%s[%d] = %s;", p, i, c)
	}
}

// splice replaces bits hi to lo of x by v.
func (f *fn) splice(x, v val, hi, lo int) val {
	if lo == 0 && hi == x.w-1 {
		return v
	}
	if x.w <= 64 {
		mask := (uint64(1)<<uint(hi-lo+1) - 1) << uint(lo)
		all := ^uint64(0) >> uint(64-x.w)
		return narrow(x.w, fmt.Sprintf("((%s & %s) | (%s << %d))", x.one(), literal(all&^mask), lift2(v, x.w), lo))
	}
	x = f.hold(x)
	out := val{w: x.w}
	shifted := f.shiftLeft(f.hold(f.resize(v, x.w, false)), lo)
	for i := range x.words {
		var keep uint64 = ^uint64(0)
		for b := max(lo, 64*i); b <= min(hi, 64*i+63); b++ {
			keep &^= 1 << uint(b-64*i)
		}
		switch keep {
		case ^uint64(0):
			out.words = append(out.words, x.words[i])
		case 0:
			out.words = append(out.words, shifted.words[i])
		default:
			out.words = append(out.words, fmt.Sprintf("((%s & %s) | %s)", x.words[i], literal(keep), shifted.words[i]))
		}
	}
	return out
}

// lift2 makes an operand unsigned with the C type of w bits.
func lift2(v val, w int) string {
	if w > 32 {
		return "(u64)" + v.one()
	}
	return unsigned(v)
}

// isValid is the condition that a header, or a member of a union, is valid.
func (f *fn) isValid(e ir.Expr) string {
	if i := f.computed(e); i != nil {
		t := f.temp("u8", "0")
		f.each(func() { f.t.f("%s = %s;", t, f.isValid(e)) }, e)
		return t
	}
	p, ok := f.static(e)
	if !ok {
		return "0"
	}
	if u, ok := e.Type().(*ir.Union); ok {
		c := "("
		for i, m := range u.Fields {
			if i > 0 {
				c += " | "
			}
			c += f.g.valid(p + "." + f.g.field(m))
		}
		return c + ")"
	}
	return f.g.valid(p)
}

func (f *fn) stackIndex(e *ir.StackIndex) string {
	p, ok := f.static(e.X)
	if !ok {
		f.g.unsupported(e.Span, "the index of a stack that is itself chosen at run time")
		return "0"
	}
	c := p + ".next"
	if n, known := f.nexts[p]; known {
		c = fmt.Sprint(n)
	}
	if e.Last {
		return "(u32)(" + c + " - 1)"
	}
	return c
}
