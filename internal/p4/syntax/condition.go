package syntax

import (
	"strconv"

	"github.com/catena-nfv/catena/internal/p4/diag"
)

// condExpr evaluates the expression of an #if: C's integer expressions without assignment. Numbers
// have 64 bits; names that are not macros count 0.
type condExpr struct {
	toks  []Token
	depth int
	err   string // the first complaint, "" while there is none
	at    diag.Span
}

// evalCondition evaluates the tokens behind #if or #elif. A malformed condition is reported at its place
// and counts as false.
func (p *preprocessor) evalCondition(toks []Token, dir diag.Span) bool {
	c := &condExpr{at: dir}
	toks = p.replaceDefined(c, toks)
	c.toks = p.expandAll(toks)
	if len(c.toks) == 0 && c.err == "" {
		c.err = "#if wants an expression"
	}
	v := c.ternary(true)
	if len(c.toks) > 0 {
		c.failAt(c.toks[0].Span, "unexpected "+strconv.Quote(shorten(c.toks[0].Text))+" in #if")
	}
	if c.err != "" {
		p.diags.Errorf(c.at, diag.PreCondition, "%s", c.err)
		return false
	}
	return v != 0
}

// replaceDefined replaces `defined X` and `defined(X)` by 1 or 0, before macros are expanded.
func (p *preprocessor) replaceDefined(c *condExpr, toks []Token) []Token {
	var out []Token
	for i := 0; i < len(toks); i++ {
		t := toks[i]
		if t.Text != "defined" {
			out = append(out, t)
			continue
		}
		rest := toks[i+1:]
		name := 0
		if len(rest) >= 3 && rest[0].Kind == TokLParen && rest[2].Kind == TokRParen {
			name, i = 1, i+2
		}
		if name >= len(rest) || !rest[name].Kind.isWord() {
			c.failAt(t.Span, "defined wants a name")
			return nil
		}
		i++
		value := "0"
		if p.isDefined(rest[name].Text) {
			value = "1"
		}
		out = append(out, Token{Kind: TokInt, Text: value, Span: t.Span})
	}
	return out
}

func (c *condExpr) failAt(s diag.Span, msg string) {
	if c.err == "" {
		c.err, c.at = msg, s
	}
	c.toks = nil
}

func (c *condExpr) peek() Kind {
	if len(c.toks) == 0 {
		return TokEOF
	}
	return c.toks[0].Kind
}

func (c *condExpr) accept(k Kind) bool {
	if c.peek() != k {
		return false
	}
	c.toks = c.toks[1:]
	return true
}

// ternary evaluates cond ? a : b. With live false the value is not used, so that the branch not taken
// may divide by zero.
func (c *condExpr) ternary(live bool) int64 {
	if c.depth++; c.depth > maxDepth {
		c.failAt(c.at, "#if is nested too deep")
		return 0
	}
	defer func() { c.depth-- }()
	v := c.binary(1, live)
	if !c.accept(TokQuestion) {
		return v
	}
	a := c.ternary(live && v != 0)
	if !c.accept(TokColon) {
		c.failAt(c.at, "#if has ? without :")
		return 0
	}
	b := c.ternary(live && v == 0)
	if v != 0 {
		return a
	}
	return b
}

// operator returns the binary operator at hand, its precedence and its number of tokens; 0 for none.
func (c *condExpr) operator() (op Op, prec, n int) {
	if len(c.toks) > 1 && c.toks[0].Kind == TokRAngle && c.toks[1].Kind == TokRAngle && c.toks[1].Glued {
		return OpShr, 8, 2
	}
	switch c.peek() {
	case TokPipePipe:
		return OpLOr, 1, 1
	case TokAmpAmp:
		return OpLAnd, 2, 1
	case TokPipe:
		return OpOr, 3, 1
	case TokCaret:
		return OpXor, 4, 1
	case TokAmp:
		return OpAnd, 5, 1
	case TokEqEq:
		return OpEq, 6, 1
	case TokNotEq:
		return OpNe, 6, 1
	case TokLAngle:
		return OpLt, 7, 1
	case TokLessEq:
		return OpLe, 7, 1
	case TokRAngle:
		return OpGt, 7, 1
	case TokGreaterEq:
		return OpGe, 7, 1
	case TokShl:
		return OpShl, 8, 1
	case TokPlus:
		return OpAdd, 9, 1
	case TokMinus:
		return OpSub, 9, 1
	case TokStar:
		return OpMul, 10, 1
	case TokSlash:
		return OpDiv, 10, 1
	case TokPercent:
		return OpMod, 10, 1
	}
	return OpNone, 0, 0
}

func (c *condExpr) binary(minPrec int, live bool) int64 {
	x := c.unary(live)
	for {
		op, prec, n := c.operator()
		if prec < minPrec || n == 0 {
			return x
		}
		at := c.toks[0].Span
		c.toks = c.toks[n:]
		liveY := live && !(op == OpLOr && x != 0) && !(op == OpLAnd && x == 0)
		y := c.binary(prec+1, liveY)
		if (op == OpDiv || op == OpMod) && y == 0 {
			if liveY {
				c.failAt(at, "division by zero in #if")
			}
			y = 1
		}
		x = condApply(op, x, y)
	}
}

func condApply(op Op, x, y int64) int64 {
	truth := func(b bool) int64 {
		if b {
			return 1
		}
		return 0
	}
	switch op {
	case OpLOr:
		return truth(x != 0 || y != 0)
	case OpLAnd:
		return truth(x != 0 && y != 0)
	case OpOr:
		return x | y
	case OpXor:
		return x ^ y
	case OpAnd:
		return x & y
	case OpEq:
		return truth(x == y)
	case OpNe:
		return truth(x != y)
	case OpLt:
		return truth(x < y)
	case OpLe:
		return truth(x <= y)
	case OpGt:
		return truth(x > y)
	case OpGe:
		return truth(x >= y)
	case OpShl:
		return x << (uint64(y) & 63)
	case OpShr:
		return x >> (uint64(y) & 63)
	case OpAdd:
		return x + y
	case OpSub:
		return x - y
	case OpMul:
		return x * y
	case OpDiv:
		return x / y
	}
	return x % y
}

func (c *condExpr) unary(live bool) int64 {
	if c.depth++; c.depth > maxDepth {
		c.failAt(c.at, "#if is nested too deep")
		return 0
	}
	defer func() { c.depth-- }()
	if len(c.toks) == 0 {
		c.failAt(c.at, "#if ends too early")
		return 0
	}
	t := c.toks[0]
	c.toks = c.toks[1:]
	switch {
	case t.Kind == TokBang:
		if c.unary(live) == 0 {
			return 1
		}
		return 0
	case t.Kind == TokTilde:
		return ^c.unary(live)
	case t.Kind == TokMinus:
		return -c.unary(live)
	case t.Kind == TokPlus:
		return c.unary(live)
	case t.Kind == TokLParen:
		v := c.ternary(live)
		if !c.accept(TokRParen) {
			c.failAt(t.Span, "( is not closed in #if")
		}
		return v
	case t.Kind == TokInt:
		lit, err := parseInt(t.Text)
		if err != nil || lit.Sized || !lit.Value.IsInt64() {
			c.failAt(t.Span, strconv.Quote(shorten(t.Text))+" is not a number for #if")
			return 0
		}
		return lit.Value.Int64()
	case t.Kind == KwTrue:
		return 1
	case t.Kind.isWord():
		return 0
	}
	c.failAt(t.Span, "unexpected "+strconv.Quote(shorten(t.Text))+" in #if")
	return 0
}
