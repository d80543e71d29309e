package ebpf

import (
	"fmt"
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// val is the value of a scalar expression in C: one expression for each 64-bit word,
// the least significant first. All are free of side effects and below 2^w; for w up
// to 32 the C type may be int or u32, above that it is u64.
//
// A varbit among hashed values has no words but bytes: a C array of which the first
// bits/8 count.
type val struct {
	w     int
	words []string

	bytes, bits string
	most        int
}

// one is the C expression of a value of at most 64 bits.
func (v val) one() string { return v.words[0] }

func narrow(w int, c string) val { return val{w: w, words: []string{c}} }

// literal writes a number of up to 64 bits.
func literal(x uint64) string {
	switch {
	case x < 1<<31:
		return fmt.Sprintf("%d", x)
	case x < 1<<32:
		return fmt.Sprintf("0x%xU", x)
	}
	return fmt.Sprintf("0x%xULL", x)
}

// literalOf writes a word of a value of w bits: of type u64 above 32 bits, so that it
// can be shifted.
func literalOf(x uint64, w int) string {
	if w > 32 && x < 1<<31 {
		return fmt.Sprintf("%dULL", x)
	}
	if w > 32 && x < 1<<32 {
		return fmt.Sprintf("0x%xULL", x)
	}
	return literal(x)
}

// constant is the value of a number in two's complement of w bits.
func constant(x *big.Int, w int) val {
	m := new(big.Int).Lsh(big.NewInt(1), uint(w))
	m.Sub(m, big.NewInt(1))
	m.And(m, x)
	v := val{w: w}
	for range words(w) {
		v.words = append(v.words, literalOf(new(big.Int).And(m, new(big.Int).SetUint64(^uint64(0))).Uint64(), w))
		m.Rsh(m, 64)
	}
	return v
}

func zero(w int) val { return constant(new(big.Int), w) }

// trunc makes a C expression a value of w bits, w ≤ 64.
func trunc(c string, w int) string {
	switch w {
	case 8, 16, 32:
		return fmt.Sprintf("(u%d)(%s)", w, c)
	case 64:
		return "(" + c + ")"
	}
	return fmt.Sprintf("((%s) & %s)", c, literal(1<<uint(w)-1))
}

// lift makes an operand's C type unsigned and wide enough for w bits.
func lift(v val, w int) string {
	if w > 32 && v.w <= 32 {
		return "(u64)" + v.one()
	}
	return v.one()
}

// unsigned is a C expression of type u32 or u64, for operators that overflow an int.
func unsigned(v val) string {
	if v.w > 32 {
		return v.one()
	}
	return "(u32)" + v.one()
}

// signedOf is the C expression, of type s64, of a signed value of at most 64 bits.
func signedOf(v val) string {
	if v.w == 64 {
		return "(s64)" + v.one()
	}
	return fmt.Sprintf("SIGNED(%s, %d)", v.one(), v.w)
}

// temp assigns a C expression to a new variable.
func (f *fn) temp(ctype, c string) string {
	n := fmt.Sprintf("t%d", f.temps)
	f.temps++
	f.t.f("%s %s = %s;", ctype, n, c)
	return n
}

// hold puts the words of a wide value into variables, so that it can be used more
// than once; narrow values too if they are not simple.
func (f *fn) hold(v val) val {
	out := val{w: v.w}
	for _, c := range v.words {
		if isSimple(c) {
			out.words = append(out.words, c)
		} else {
			ct := "u64"
			if v.w <= 32 {
				ct = "u32"
			}
			out.words = append(out.words, f.temp(ct, c))
		}
	}
	return out
}

// isSimple tells whether a C expression is a name or number.
func isSimple(c string) bool {
	for _, r := range c {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '.', r == '>', r == '-', r == '[', r == ']':
		default:
			return false
		}
	}
	return true
}

// expr is the value of a scalar expression. Wide values and elements of stacks that
// are chosen at run time need statements, which are written before.
func (f *fn) expr(e ir.Expr) val {
	switch e := e.(type) {
	case *ir.Const:
		return constant(e.Value, width(e.T))
	case *ir.VarRef, *ir.Member, *ir.Index:
		return f.load(e)
	case *ir.Slice:
		return f.slice(f.expr(e.X), e.Hi, e.Lo)
	case *ir.Unary:
		return f.unary(e)
	case *ir.Binary:
		return f.binary(e)
	case *ir.Cast:
		return f.cast(e)
	case *ir.Mux:
		c, a, b := f.expr(e.Cond), f.expr(e.Then), f.expr(e.Else)
		if a.w > 64 {
			c, a, b = f.hold(c), f.hold(a), f.hold(b)
		}
		out := val{w: a.w}
		for i := range a.words {
			out.words = append(out.words, fmt.Sprintf("(%s ? %s : %s)", c.one(), a.words[i], b.words[i]))
		}
		return out
	case *ir.IsValid:
		return narrow(1, f.isValid(e.X))
	case *ir.StackIndex:
		return narrow(32, f.stackIndex(e))
	}
	f.g.unsupported(e.Pos(), "an expression of kind %T", e)
	return zero(width(e.Type()))
}

// cond is a C condition.
func (f *fn) cond(e ir.Expr) string {
	c := f.expr(e).one()
	for len(c) > 2 && c[0] == '(' && matching(c) == len(c)-1 {
		c = c[1 : len(c)-1]
	}
	return c
}

// matching is the position of the bracket that closes the first one.
func matching(c string) int {
	depth := 0
	for i := range c {
		switch c[i] {
		case '(':
			depth++
		case ')':
			depth--
			if depth == 0 {
				return i
			}
		}
	}
	return -1
}

func (f *fn) cast(e *ir.Cast) val {
	x := f.expr(e.X)
	w := width(e.T)
	if _, ok := e.T.(*ir.Bool); ok {
		return narrow(1, f.nonzero(x))
	}
	return f.resize(x, w, isSigned(e.X.Type()))
}

// resize makes a value w bits wide: cut, or extended by zeros or the sign.
func (f *fn) resize(x val, w int, signed bool) val {
	switch {
	case w == x.w:
		return x
	case w < x.w:
		return f.slice(x, w-1, 0)
	case w <= 64:
		if signed {
			return narrow(w, trunc(fmt.Sprintf("(u64)%s", signedOf(x)), w))
		}
		if w > 32 {
			return narrow(w, lift(x, w))
		}
		return narrow(w, x.one())
	}
	x = f.hold(x)
	out := val{w: w}
	fill := "0ULL"
	top := x.w - 1
	if signed {
		fill = f.temp("u64", fmt.Sprintf("-(((u64)%s >> %d) & 1)", x.words[top/64], top%64))
	}
	for i := range words(w) {
		c := fill
		switch {
		case i < len(x.words)-1 || i == len(x.words)-1 && (x.w%64 == 0 || !signed):
			c = x.words[i]
			if x.w <= 32 {
				c = "(u64)" + c
			}
		case i == len(x.words)-1:
			c = fmt.Sprintf("((u64)%s | %s << %d)", x.words[i], fill, x.w%64)
		}
		if i == words(w)-1 && w%64 != 0 && signed {
			c = trunc(c, w%64)
			if w%64 <= 32 {
				c = "(u64)" + c
			}
		}
		out.words = append(out.words, c)
	}
	return out
}

// slice is bits hi to lo.
func (f *fn) slice(x val, hi, lo int) val {
	w := hi - lo + 1
	if x.w <= 64 {
		c := x.one()
		if lo > 0 {
			c = fmt.Sprintf("(%s >> %d)", c, lo)
		}
		if hi < x.w-1 {
			c = trunc(c, w)
		}
		if x.w > 32 && w <= 32 && w != 8 && w != 16 && w != 32 {
			c = "(u32)" + c
		}
		if x.w > 32 && w <= 32 && hi == x.w-1 && (w == 8 || w == 16 || w == 32) {
			c = fmt.Sprintf("(u%d)%s", w, c)
		}
		return narrow(w, c)
	}
	x = f.hold(x)
	if at := lo / 64; at == hi/64 {
		return f.slice(val{w: min(64, x.w-64*at), words: x.words[at : at+1]}, hi%64, lo%64)
	}
	return f.cut(f.shiftRight(x, lo), w)
}

// cut keeps the low w bits.
func (f *fn) cut(x val, w int) val {
	out := val{w: w, words: append([]string(nil), x.words[:words(w)]...)}
	last := len(out.words) - 1
	if w%64 != 0 {
		out.words[last] = trunc(out.words[last], w-64*last)
		if w > 64 && w%64 <= 32 {
			out.words[last] = "(u64)" + out.words[last]
		}
		if w <= 32 && w != 8 && w != 16 && w != 32 {
			out.words[last] = "(u32)" + out.words[last]
		}
	}
	return out
}

// shiftRight shifts a wide value, which is held, by a constant.
func (f *fn) shiftRight(x val, n int) val {
	out := val{w: x.w}
	for i := range x.words {
		j, s := i+n/64, n%64
		c := "0ULL"
		if j < len(x.words) {
			c = x.words[j]
			if s > 0 {
				c = fmt.Sprintf("(%s >> %d)", c, s)
				if j+1 < len(x.words) {
					c = fmt.Sprintf("(%s | %s << %d)", c, x.words[j+1], 64-s)
				}
			}
		}
		out.words = append(out.words, c)
	}
	return out
}

// shiftLeft shifts a wide value, which is held, by a constant.
func (f *fn) shiftLeft(x val, n int) val {
	out := val{w: x.w}
	for i := range x.words {
		j, s := i-n/64, n%64
		c := "0ULL"
		if j >= 0 {
			c = x.words[j]
			if s > 0 {
				c = fmt.Sprintf("(%s << %d)", c, s)
				if j > 0 {
					c = fmt.Sprintf("(%s | %s >> %d)", c, x.words[j-1], 64-s)
				}
			}
		}
		out.words = append(out.words, c)
	}
	return f.cut(out, x.w)
}

// nonzero is a C condition: the value is not zero.
func (f *fn) nonzero(x val) string {
	c := "((" + x.words[0]
	for _, w := range x.words[1:] {
		c += " | " + w
	}
	return c + ") != 0)"
}

func (f *fn) unary(e *ir.Unary) val {
	x := f.expr(e.X)
	switch e.Op {
	case ir.Not:
		return narrow(1, fmt.Sprintf("(!%s)", x.one()))
	case ir.Comp:
		out := val{w: x.w}
		for _, c := range x.words {
			out.words = append(out.words, "~"+c)
		}
		if x.w <= 32 {
			out.words[0] = "~" + unsigned(x)
		}
		return f.cut(out, x.w)
	}
	if x.w <= 64 {
		return narrow(x.w, trunc("-"+unsigned(x), x.w))
	}
	return f.addWide(zero(x.w), x, true)
}

// isZero tells whether a C expression is the number zero.
func isZero(c string) bool { return c == "0" || c == "0ULL" }
