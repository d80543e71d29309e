package ebpf

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

func (f *fn) binary(e *ir.Binary) val {
	if _, ok := e.X.Type().(*ir.Varbit); ok {
		return f.compareVarbit(e)
	}
	x, y := f.expr(e.X), f.expr(e.Y)
	signed := isSigned(e.X.Type())
	switch e.Op {
	case ir.AndAnd, ir.OrOr:
		return narrow(1, fmt.Sprintf("(%s %s %s)", x.one(), e.Op, y.one()))
	case ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge:
		return f.compare(e.Op, x, y, signed)
	case ir.Shl, ir.Shr:
		return f.shift(e, x, y, signed)
	case ir.Concat:
		return f.concat(x, y)
	case ir.AddSat, ir.SubSat:
		return f.saturating(e.Op, x, y, signed)
	case ir.Div, ir.Mod:
		return f.divide(e, x, y, signed)
	}
	if x.w > 64 {
		return f.wide(e.Op, x, y)
	}
	switch e.Op {
	case ir.And, ir.Or, ir.Xor:
		return narrow(x.w, fmt.Sprintf("(%s %s %s)", x.one(), e.Op, y.one()))
	case ir.Mul:
		return narrow(x.w, trunc(fmt.Sprintf("%s * %s", unsigned(x), unsigned(y)), x.w))
	}
	return narrow(x.w, trunc(fmt.Sprintf("%s %s %s", x.one(), e.Op, y.one()), x.w))
}

func (f *fn) compare(op ir.BinaryOp, x, y val, signed bool) val {
	if x.w <= 64 {
		a, b := x.one(), y.one()
		if signed && op != ir.Eq && op != ir.Ne {
			a, b = signedOf(x), signedOf(y)
		}
		return narrow(1, fmt.Sprintf("(%s %s %s)", a, op, b))
	}
	x, y = f.hold(x), f.hold(y)
	if op == ir.Eq || op == ir.Ne {
		var parts []string
		for i := range x.words {
			parts = append(parts, fmt.Sprintf("(%s ^ %s)", x.words[i], y.words[i]))
		}
		return narrow(1, fmt.Sprintf("((%s) %s 0)", strings.Join(parts, " | "), op))
	}
	if op == ir.Gt || op == ir.Le {
		x, y = y, x // x > y is y < x; x <= y is !(y < x)
	}
	less := ""
	for i := range x.words { // from the least significant word up
		a, b := x.words[i], y.words[i]
		if i == len(x.words)-1 && signed {
			top := narrow(x.w-64*i, a)
			a, b = signedOf(top), signedOf(narrow(x.w-64*i, b))
		}
		if less == "" {
			less = fmt.Sprintf("%s < %s", a, b)
			continue
		}
		less = fmt.Sprintf("%s == %s ? %s : %s < %s", a, b, f.temp("u32", less), a, b)
	}
	if op == ir.Le || op == ir.Ge {
		return narrow(1, "(!("+less+"))")
	}
	return narrow(1, "("+less+")")
}

// wide is the bitwise and additive operators of more than 64 bits.
func (f *fn) wide(op ir.BinaryOp, x, y val) val {
	switch op {
	case ir.Add:
		return f.addWide(x, y, false)
	case ir.Sub:
		return f.addWide(x, y, true)
	case ir.Mul:
		return f.mulWide(x, y)
	}
	out := val{w: x.w}
	for i := range x.words {
		out.words = append(out.words, fmt.Sprintf("(%s %s %s)", x.words[i], op, y.words[i]))
	}
	return out
}

// addWide adds or subtracts word by word with a carry or borrow.
func (f *fn) addWide(x, y val, sub bool) val {
	x, y = f.hold(x), f.hold(y)
	out := val{w: x.w}
	carry := ""
	for i := range x.words {
		a, b := x.words[i], y.words[i]
		op, cmp := "+", "<"
		if sub {
			op, cmp = "-", ">"
		}
		first := f.temp("u64", fmt.Sprintf("(u64)%s %s %s", a, op, b))
		over := fmt.Sprintf("%s %s %s", first, cmp, a)
		sum := first
		if carry != "" {
			sum = f.temp("u64", fmt.Sprintf("%s %s %s", first, op, carry))
			over = fmt.Sprintf("(%s) | (%s %s %s)", over, sum, cmp, first)
		}
		out.words = append(out.words, sum)
		if i < len(x.words)-1 {
			carry = f.temp("u64", over)
		}
	}
	return f.cut(out, x.w)
}

// mulWide multiplies by the school method, with digits of 32 bits.
func (f *fn) mulWide(x, y val) val {
	x, y = f.hold(x), f.hold(y)
	n := 2 * len(x.words)
	digit := func(v val, i int) string {
		if i%2 == 1 {
			return fmt.Sprintf("(%s >> 32)", v.words[i/2])
		}
		return fmt.Sprintf("(u64)(u32)%s", v.words[i/2])
	}
	sum := make([]string, n)
	for i := range sum {
		sum[i] = f.temp("u64", "0")
	}
	for i := range n {
		carry := f.temp("u64", "0")
		for j := 0; i+j < n; j++ {
			p := f.temp("u64", fmt.Sprintf("%s * %s + %s + %s", digit(x, i), digit(y, j), sum[i+j], carry))
			f.t.f("%s = (u32)%s;", sum[i+j], p)
			f.t.f("%s = %s >> 32;", carry, p)
		}
	}
	out := val{w: x.w}
	for i := 0; i < n; i += 2 {
		out.words = append(out.words, fmt.Sprintf("(%s | %s << 32)", sum[i], sum[i+1]))
	}
	return f.cut(out, x.w)
}

func (f *fn) concat(x, y val) val {
	w := x.w + y.w
	if w <= 64 {
		hi, lo := x, y
		a := unsigned(hi)
		if w > 32 {
			a = lift(hi, w)
		}
		if y.w == 0 {
			return narrow(w, a)
		}
		return narrow(w, fmt.Sprintf("(%s << %d | %s)", a, y.w, lo.one()))
	}
	hi := f.shiftLeft(f.hold(f.resize(x, w, false)), y.w)
	return f.wideOr(hi, f.resize(y, w, false))
}

func (f *fn) wideOr(x, y val) val {
	out := val{w: x.w}
	for i := range x.words {
		switch {
		case isZero(x.words[i]):
			out.words = append(out.words, y.words[i])
		case isZero(y.words[i]):
			out.words = append(out.words, x.words[i])
		default:
			out.words = append(out.words, fmt.Sprintf("(%s | %s)", x.words[i], y.words[i]))
		}
	}
	return out
}

// shift shifts by a constant or by a value; the width or more gives zero or the sign.
func (f *fn) shift(e *ir.Binary, x, y val, signed bool) val {
	left := e.Op == ir.Shl
	if c, ok := e.Y.(*ir.Const); ok {
		n := x.w
		if c.Value.IsInt64() && c.Value.Int64() < int64(n) {
			n = int(c.Value.Int64())
		}
		return f.shiftConst(x, n, left, signed)
	}
	if x.w <= 64 {
		amount := f.hold(y)
		low := amount.one()
		over := fmt.Sprintf("%s >= %d", low, x.w)
		for _, h := range amount.words[1:] {
			over += " || " + h
		}
		switch {
		case left:
			return narrow(x.w, fmt.Sprintf("(%s ? 0 : %s)", over, trunc(fmt.Sprintf("%s << %s", unsigned(x), low), x.w)))
		case signed:
			s := fmt.Sprintf("(u64)(%s >> (%s ? 63 : %s))", signedOf(x), over, low)
			return narrow(x.w, trunc(s, x.w))
		}
		return narrow(x.w, fmt.Sprintf("(%s ? 0 : %s >> %s)", over, unsigned(x), low))
	}
	// One stage for each bit of the amount; the bits above all shift everything out.
	x, y = f.hold(x), f.hold(y)
	stages := 0
	for 1<<stages < x.w {
		stages++
	}
	for k := range min(stages, y.w) {
		s := f.hold(f.shiftConst(x, min(1<<k, x.w), left, signed))
		next := val{w: x.w}
		for i := range x.words {
			next.words = append(next.words, f.temp("u64", fmt.Sprintf("%s & %s ? %s : %s", y.one(), literal(1<<k), s.words[i], x.words[i])))
		}
		x = next
	}
	if y.w <= stages {
		return x
	}
	over := f.nonzero(f.slice(y, y.w-1, stages))
	over = f.temp("u32", over)
	out := f.hold(f.shiftConst(x, x.w, left, signed))
	for i := range x.words {
		out.words[i] = fmt.Sprintf("(%s ? %s : %s)", over, out.words[i], x.words[i])
	}
	return out
}

func (f *fn) shiftConst(x val, n int, left, signed bool) val {
	if n == 0 {
		return x
	}
	if n >= x.w && (left || !signed) {
		return zero(x.w)
	}
	if x.w <= 64 {
		switch {
		case left:
			return narrow(x.w, trunc(fmt.Sprintf("%s << %d", unsigned(x), n), x.w))
		case signed:
			return narrow(x.w, trunc(fmt.Sprintf("(u64)(%s >> %d)", signedOf(x), min(n, 63)), x.w))
		}
		return narrow(x.w, fmt.Sprintf("(%s >> %d)", x.one(), n))
	}
	x = f.hold(x)
	if left {
		return f.shiftLeft(x, n)
	}
	if !signed {
		return f.shiftRight(x, n)
	}
	// Extended far enough that what is shifted in is the sign.
	long := f.hold(f.resize(x, 2*64*words(x.w), true))
	return f.cut(f.shiftRight(long, min(n, x.w)), x.w)
}

// saturating adds or subtracts in one bit more (two if signed differences) and clamps.
func (f *fn) saturating(op ir.BinaryOp, x, y val, signed bool) val {
	w := x.w
	one := big.NewInt(1)
	hi := new(big.Int).Sub(new(big.Int).Lsh(one, uint(w)), one)
	lo := new(big.Int)
	if signed {
		hi = new(big.Int).Sub(new(big.Int).Lsh(one, uint(w-1)), one)
		lo = new(big.Int).Neg(new(big.Int).Lsh(one, uint(w-1)))
	}
	// As signed numbers of two bits more nothing overflows.
	a, b := f.resize(x, w+2, signed), f.resize(y, w+2, signed)
	var sum val
	switch {
	case w+2 > 64:
		sum = f.addWide(a, b, op == ir.SubSat)
	case op == ir.SubSat:
		sum = narrow(w+2, trunc(fmt.Sprintf("%s - %s", lift(a, w+2), lift(b, w+2)), w+2))
	default:
		sum = narrow(w+2, trunc(fmt.Sprintf("%s + %s", lift(a, w+2), lift(b, w+2)), w+2))
	}
	sum = f.hold(sum)
	h, l := constant(hi, w+2), constant(lo, w+2)
	over := f.temp("u32", f.compare(ir.Gt, sum, h, true).one())
	under := f.temp("u32", f.compare(ir.Lt, sum, l, true).one())
	r, hc, lc := f.cut(sum, w), constant(hi, w), constant(lo, w)
	out := val{w: w}
	for i := range r.words {
		out.words = append(out.words, fmt.Sprintf("(%s ? %s : %s ? %s : %s)", over, hc.words[i], under, lc.words[i], r.words[i]))
	}
	return out
}

// divide divides by a constant.
func (f *fn) divide(e *ir.Binary, x, y val, signed bool) val {
	c, ok := e.Y.(*ir.Const)
	switch {
	case !ok || c.Value.Sign() <= 0:
		f.g.unsupported(e.Span, "division by what is not a positive constant")
	case !signed && c.Value.TrailingZeroBits() == uint(c.Value.BitLen()-1):
		n := c.Value.BitLen() - 1
		if e.Op == ir.Div {
			return f.shiftConst(x, n, false, false)
		}
		if n == 0 {
			return zero(x.w)
		}
		if n >= x.w {
			return x
		}
		return f.resize(f.slice(x, n-1, 0), x.w, false)
	case x.w > 64 && c.Value.BitLen() > 32:
		f.g.unsupported(e.Span, "division of more than 64 bits by more than 32 that are no power of two")
	case x.w > 64:
		return f.divideWide(e.Op, x, c.Value.Uint64())
	case signed:
		// Toward zero: by magnitude.
		s := f.hold(narrow(64, "(u64)"+signedOf(x)))
		mag := f.temp("u64", fmt.Sprintf("(s64)%s < 0 ? -%s : %s", s.one(), s.one(), s.one()))
		q := f.temp("u64", fmt.Sprintf("%s %s %s", mag, e.Op, y.one()))
		return narrow(x.w, trunc(fmt.Sprintf("(s64)%s < 0 ? -%s : %s", s.one(), q, q), x.w))
	default:
		return narrow(x.w, fmt.Sprintf("(%s %s %s)", unsigned(x), e.Op, y.one()))
	}
	return zero(x.w)
}

// divideWide divides by a number of at most 32 bits, in long division over halves of words.
func (f *fn) divideWide(op ir.BinaryOp, x val, d uint64) val {
	x = f.hold(x)
	rest := "0ull"
	quotient := make([]string, len(x.words))
	for i := len(x.words) - 1; i >= 0; i-- {
		high := f.temp("u64", fmt.Sprintf("(u64)%s << 32 | %s >> 32", rest, x.words[i]))
		low := f.temp("u64", fmt.Sprintf("%s %% %d << 32 | (u32)%s", high, d, x.words[i]))
		rest = f.temp("u64", fmt.Sprintf("%s %% %d", low, d))
		quotient[i] = f.temp("u64", fmt.Sprintf("%s / %d << 32 | %s / %d", high, d, low, d))
	}
	if op == ir.Div {
		return val{w: x.w, words: quotient}
	}
	return f.resize(narrow(64, rest), x.w, false)
}

// compareVarbit compares length and bits.
func (f *fn) compareVarbit(e *ir.Binary) val {
	x, okx := f.static(e.X)
	y, oky := f.static(e.Y)
	if !okx || !oky {
		f.g.unsupported(e.Span, "a comparison of varbits in stacks by a computed index")
		return zero(1)
	}
	t := e.X.Type().(*ir.Varbit)
	parts := []string{fmt.Sprintf("%s_bits == %s_bits", x, y)}
	for i := range words(t.Max) {
		parts = append(parts, fmt.Sprintf("%s[%d] == %s[%d]", x, i, y, i))
	}
	c := "(" + strings.Join(parts, " && ") + ")"
	if e.Op == ir.Ne {
		c = "(!" + c + ")"
	}
	return narrow(1, c)
}
