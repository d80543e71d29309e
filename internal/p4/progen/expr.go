package progen

import (
	"fmt"
	"math/big"
	"strings"
)

// leaves are the places of a type, or all scalar ones if t is nil.
func (g *gen) leaves(t *typ, writable bool) []place {
	var out []place
	for _, p := range g.s.places {
		for _, q := range p.parts(nil) {
			if (q.w || !writable) && (t == nil && q.t.number() || t != nil && q.t.same(t)) {
				out = append(out, q)
			}
		}
	}
	return out
}

// read is the expression that reads a place; an element of a stack may be chosen at
// run time.
func (g *gen) read(p place) *Node {
	i := strings.IndexByte(p.text, '[')
	if i > 0 && strings.HasPrefix(p.text, "hdr.") && !g.s.parser && g.one(3) {
		if k := g.runtimeIndex(p.text[:i]); k != nil {
			return text(p.t.class(), p.text[:i+1]+"¤"+p.text[i+2:], k)
		}
	}
	return text(p.t.class(), p.text)
}

// runtimeIndex is an expression for the index of a stack.
func (g *gen) runtimeIndex(stack string) *Node {
	if g.s.control == "dp" {
		return nil
	}
	w := pick(g.Choices, []int{1, 2, 3, 8})
	if !strings.HasSuffix(stack, "hs") {
		w = 1 // of a stack of unions of two
	}
	n := 2
	for _, f := range g.hdr.fields {
		if strings.HasSuffix(stack, "."+f.name) {
			n = f.t.size
		}
	}
	if n == 1 {
		return nil
	}
	return g.leafOf(bitType(w))
}

// leafOf is a leaf that is not known at compile time, since an index that is known has to
// be within the stack.
func (g *gen) leafOf(t *typ) *Node {
	if ps := g.leaves(nil, true); len(ps) > 0 {
		p := pick(g.Choices, ps)
		return g.convert(text(p.t.class(), p.text), p.t, t)
	}
	return nil
}

// literal writes a value of a type of numbers.
func (g *gen) literal(t *typ) *Node {
	v := new(big.Int)
	switch g.n(6) {
	case 0:
	case 1:
		v.SetInt64(int64(g.n(4)))
	case 2:
		v.SetInt64(int64(g.n(256)))
	case 3:
		v.Lsh(big.NewInt(1), uint(t.width-1))
	case 4:
		v.Sub(v.Lsh(big.NewInt(1), uint(t.width)), big.NewInt(1))
	default:
		for i := 0; i < t.width; i += 8 {
			v.Or(v.Lsh(v, 8), big.NewInt(int64(g.n(256))))
		}
	}
	v.And(v, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(t.width)), big.NewInt(1)))
	if t.signed {
		if v.Bit(t.width-1) == 1 {
			return g.zeroed(t, text(t.class(), fmt.Sprintf("((%s) %dw%d)", t.name, t.width, v)))
		}
		return g.zeroed(t, text(t.class(), fmt.Sprintf("%ds%d", t.width, v)))
	}
	format := pick(g.Choices, []string{"%dw%d", "%dw0x%x", "%dw0b%b"})
	return g.zeroed(t, text(t.class(), fmt.Sprintf(format, t.width, v)))
}

func (g *gen) zeroed(t *typ, n *Node) *Node {
	n.Zero = t.zero()
	return n
}

// convert goes the ways that casts allow between numbers.
func (g *gen) convert(n *Node, from, to *typ) *Node {
	if from.newtype != nil {
		n, from = text(from.newtype.class(), "(("+from.newtype.name+") ¤)", n), from.newtype
	}
	if from.width != to.width {
		t := bitType(to.width)
		if from.signed {
			t = intType(to.width)
		}
		n, from = text(t.class(), "(("+t.name+") ¤)", n), t
	}
	if from.signed != to.signed {
		n = text(to.class(), "(("+to.name+") ¤)", n)
	}
	return g.zeroed(to, n)
}

// leaf is an expression without operators but casts.
func (g *gen) leaf(t *typ) *Node {
	ps := g.leaves(t, false)
	if len(ps) > 0 && !g.one(4) {
		return g.zeroed(t, g.read(pick(g.Choices, ps)))
	}
	switch t.kind {
	case bits:
		if t.newtype != nil {
			return g.zeroed(t, text(t.class(), "(("+t.name+") ¤)", g.leaf(t.newtype)))
		}
		if ps := g.leaves(nil, false); len(ps) > 0 && !g.one(4) {
			p := pick(g.Choices, ps)
			return g.convert(g.read(p), p.t, t)
		}
		return g.literal(t)
	case boolean:
		return g.zeroed(t, text(t.class(), pick(g.Choices, []string{"false", "true"})))
	case enum, serEnum:
		if t.kind == serEnum && g.one(3) {
			return g.zeroed(t, text(t.class(), "(("+t.name+") ¤)", g.leaf(t.under)))
		}
		return g.zeroed(t, text(t.class(), t.name+"."+pick(g.Choices, t.members)))
	case errors:
		return g.zeroed(t, text(t.class(), "error."+pick(g.Choices, t.members)))
	}
	return g.composed(t, 0)
}

// composed is a value of a struct, tuple or header, nil if there is none.
func (g *gen) composed(t *typ, d int) *Node {
	if ps := g.leaves(t, false); len(ps) > 0 && !g.one(3) {
		return g.read(pick(g.Choices, ps))
	}
	switch t.kind {
	case structure, tuple, header:
		if t.hasVarbit() {
			break
		}
		var kids []*Node
		var parts []string
		named := t.kind != tuple && g.one(2)
		for _, f := range t.fields {
			kids = append(kids, g.expr(f.t, d-1))
			if named {
				parts = append(parts, f.name+" = ¤")
			} else {
				parts = append(parts, "¤")
			}
		}
		if named && len(parts) > 1 && g.one(3) {
			parts[0], parts[len(parts)-1] = parts[len(parts)-1], parts[0]
			kids[0], kids[len(kids)-1] = kids[len(kids)-1], kids[0]
		}
		body := strings.Join(parts, ", ")
		if t.kind == tuple {
			return text("list:"+t.name, "{ "+body+" }", kids...)
		}
		return g.zeroed(t, text(t.class(), "(("+t.name+") { "+body+" })", kids...))
	}
	if ps := g.leaves(t, false); len(ps) > 0 {
		return g.read(pick(g.Choices, ps))
	}
	return nil
}

// expr makes an expression of a type, no deeper than d.
func (g *gen) expr(t *typ, d int) *Node {
	if d <= 0 {
		return g.leaf(t)
	}
	if g.one(12) {
		if n := g.functionCall(t); n != nil {
			return n
		}
	}
	if t.scalar() && g.one(10) {
		return g.zeroed(t, text(t.class(), "(¤ ? ¤ : ¤)", g.expr(boolType, d-1), g.expr(t, d-1), g.expr(t, d-1)))
	}
	switch t.kind {
	case bits:
		if t.newtype != nil {
			return g.zeroed(t, text(t.class(), "(("+t.name+") ¤)", g.expr(t.newtype, d-1)))
		}
		return g.zeroed(t, g.arithmetic(t, d))
	case boolean:
		return g.zeroed(t, g.condition(d))
	case serEnum:
		if g.one(2) {
			return g.zeroed(t, text(t.class(), "(("+t.name+") ¤)", g.expr(t.under, d-1)))
		}
	case structure, tuple, header:
		return g.composed(t, d)
	}
	return g.leaf(t)
}

func (g *gen) arithmetic(t *typ, d int) *Node {
	class := t.class()
	sub := func() *Node { return g.expr(t, d-1) }
	switch g.n(14) {
	case 1:
		return text(class, "(- ¤)", sub())
	case 2:
		return text(class, "(~ ¤)", sub())
	case 3:
		op := pick(g.Choices, []string{"<<", ">>"})
		if g.one(2) {
			return text(class, fmt.Sprintf("(¤ %s %d)", op, g.n(t.width+3)), sub())
		}
		return text(class, "(¤ "+op+" ¤)", sub(), g.expr(bitType(pick(g.Choices, []int{3, 8, 4, 16, 70})), d-1))
	case 4:
		if t.width < 2 {
			return sub()
		}
		w := g.between(1, t.width-1)
		left, right := bitType(w), bitType(t.width-w)
		if t.signed {
			left = intType(w)
		}
		return text(class, "(¤ ++ ¤)", g.expr(left, d-1), g.expr(right, d-1))
	case 5:
		if t.signed {
			return text(class, "(("+t.name+") ¤)", g.expr(bitType(t.width), d-1))
		}
		w := t.width + g.n(20)
		from := bitType(w)
		if g.one(4) {
			from = intType(w)
		}
		lo := g.n(w - t.width + 1)
		return text(class, fmt.Sprintf("(¤)[%d:%d]", lo+t.width-1, lo), g.expr(from, d-1))
	case 6:
		from := g.number()
		return g.convert(g.expr(from, d-1), from, t)
	case 7:
		if t.signed || t.width < 3 {
			return sub()
		}
		by := pick(g.Choices, []int{1, 2, 3, 7, 5, 4})
		if t.width > 64 {
			by = pick(g.Choices, []int{1, 2, 4}) // the kernel back end divides wide ones by powers of two
		}
		return text(class, fmt.Sprintf("(¤ %s %dw%d)", pick(g.Choices, []string{"/", "%"}), t.width, by), sub())
	case 8:
		if t.width == 1 && !t.signed {
			return text(class, "((bit<1>) ¤)", g.expr(boolType, d-1))
		}
		if len(g.serEnums) > 0 {
			e := pick(g.Choices, g.serEnums)
			return g.convert(text(e.under.class(), "(("+e.under.name+") ¤)", g.expr(e, d-1)), e.under, t)
		}
	case 9:
		return g.leaf(t)
	}
	op := pick(g.Choices, []string{"+", "-", "*", "|+|", "|-|", "&", "|", "^"})
	if g.one(8) && t.width > 3 { // a number without a width takes the other side's
		k := g.n(1 << min(t.width-1, 12))
		if g.one(2) {
			return text(class, fmt.Sprintf("(¤ %s %d)", op, k), sub())
		}
		return text(class, fmt.Sprintf("(%d %s ¤)", k, op), sub())
	}
	if op == "*" && t.width > 64 {
		op = "+"
		if g.one(4) {
			op = "*"
		}
	}
	return text(class, "(¤ "+op+" ¤)", sub(), sub())
}

func (g *gen) condition(d int) *Node {
	class := boolType.class()
	switch g.n(9) {
	case 0:
		if g.one(3) {
			return g.leaf(boolType)
		}
	case 1:
		return text(class, "(! ¤)", g.expr(boolType, d-1))
	case 2:
		return text(class, "(¤ "+pick(g.Choices, []string{"&&", "||"})+" ¤)", g.expr(boolType, d-1), g.expr(boolType, d-1))
	case 3, 4:
		if n := g.valid(); n != nil {
			return n
		}
	case 5:
		t := pick(g.Choices, append(append([]*typ{boolType, g.errs}, g.enums...), g.serEnums...))
		return text(class, "(¤ "+pick(g.Choices, []string{"==", "!="})+" ¤)", g.expr(t, d-1), g.expr(t, d-1))
	case 6:
		var ts []*typ
		ts = append(append(append(ts, g.headers...), g.structs...), g.unions...)
		for _, f := range g.hdr.fields {
			if f.t.kind == stack {
				ts = append(ts, f.t)
			}
		}
		for _, f := range g.meta.fields {
			if f.t.kind == tuple {
				ts = append(ts, f.t)
			}
		}
		t := pick(g.Choices, ts)
		if ps := g.leaves(t, false); len(ps) > 1 {
			a, b := pick(g.Choices, ps), pick(g.Choices, ps)
			return text(class, "(¤ "+pick(g.Choices, []string{"==", "!="})+" ¤)", text("", a.text), text("", b.text))
		}
	case 7:
		if n := g.hit(); n != nil {
			return n
		}
	}
	t := g.number()
	return text(class, "(¤ "+pick(g.Choices, []string{"==", "<", "!=", "<=", ">", ">="})+" ¤)", g.expr(t, d-1), g.expr(t, d-1))
}

// valid asks a header or union whether it is valid.
func (g *gen) valid() *Node {
	var ps []place
	for _, p := range g.s.places {
		for _, q := range p.parts(nil) {
			if q.t.kind == header || q.t.kind == union {
				ps = append(ps, q)
			}
		}
	}
	if len(ps) == 0 {
		return nil
	}
	p := pick(g.Choices, ps)
	return text(boolType.class(), "¤.isValid()", g.read(place{p.text, p.t, p.w}))
}

// hit applies a table in a condition.
func (g *gen) hit() *Node {
	if len(g.s.tables) == 0 || g.s.action || g.s.pure > 0 {
		return nil
	}
	t := pick(g.Choices, g.s.tables)
	return g.zeroed(boolType, text(boolType.class(), t.name+".apply()."+pick(g.Choices, []string{"hit", "miss"})))
}
