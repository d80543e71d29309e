package syntax

import (
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/diag"
)

// expr reads an expression.
func (p *parser) expr() Expr {
	p.enter()
	defer p.leave()
	return p.exprFrom(p.unary())
}

// exprFrom reads the rest of an expression whose first operand has been read.
func (p *parser) exprFrom(x Expr) Expr {
	x = p.binary(x, 1)
	if !p.accept(TokQuestion) {
		return x
	}
	then := p.expr()
	p.expect(TokColon, "in the conditional expression")
	els := p.expr()
	return &Ternary{Loc: p.since(x.Span()), Cond: x, Then: then, Else: els}
}

// operator returns the binary operator at hand, its precedence (higher binds tighter) and its number
// of tokens, which is 0 when there is none. Precedences are those of the grammar's %left lines.
func (p *parser) operator() (op Op, prec, n int) {
	switch p.kind() {
	case TokPipePipe:
		return OpLOr, 1, 1
	case TokAmpAmp:
		return OpLAnd, 2, 1
	case TokEqEq:
		return OpEq, 3, 1
	case TokNotEq:
		return OpNe, 3, 1
	case TokLAngle:
		return OpLt, 4, 1
	case TokLessEq:
		return OpLe, 4, 1
	case TokGreaterEq:
		return OpGe, 4, 1
	case TokRAngle:
		next := p.peek(1)
		switch {
		case next.Glued && next.Kind == TokRAngle:
			return OpShr, 8, 2
		case next.Glued && next.Kind == TokGreaterEq:
			return OpNone, 0, 0 // >>=
		}
		return OpGt, 4, 1
	case TokPipe:
		return OpOr, 5, 1
	case TokCaret:
		return OpXor, 6, 1
	case TokAmp:
		return OpAnd, 7, 1
	case TokShl:
		return OpShl, 8, 1
	case TokPlusPlus:
		return OpConcat, 9, 1
	case TokPlus:
		return OpAdd, 9, 1
	case TokMinus:
		return OpSub, 9, 1
	case TokSatPlus:
		return OpSatAdd, 9, 1
	case TokSatMinus:
		return OpSatSub, 9, 1
	case TokStar:
		return OpMul, 10, 1
	case TokSlash:
		return OpDiv, 10, 1
	case TokPercent:
		return OpMod, 10, 1
	}
	return OpNone, 0, 0
}

// binary reads operators of at least the precedence behind the operand x. All are left-associative.
func (p *parser) binary(x Expr, minPrec int) Expr {
	for row := 0; ; row++ {
		op, prec, n := p.operator()
		if n == 0 || prec < minPrec {
			return x
		}
		p.chain(row)
		p.pos += n
		y := p.binary(p.unary(), prec+1)
		x = &Binary{Loc: Loc{x.Span().Join(y.Span())}, Op: op, X: x, Y: y}
	}
}

// unary reads a prefix operator or a cast with its operand, or a primary expression.
func (p *parser) unary() Expr {
	p.enter()
	defer p.leave()
	t := p.tok()
	op := OpNone
	switch t.Kind {
	case TokBang:
		op = OpNot
	case TokTilde:
		op = OpCompl
	case TokMinus:
		op = OpSub
	case TokPlus:
		op = OpAdd
	case TokLParen:
		if p.isCast() {
			p.pos++
			typ := p.typeRef()
			p.expect(TokRParen, "behind the type of the cast")
			x := p.unary()
			return &Cast{Loc: p.since(t.Span), Type: typ, X: x}
		}
	}
	if op == OpNone {
		return p.postfix(p.primary())
	}
	p.pos++
	x := p.unary()
	return &Unary{Loc: p.since(t.Span), Op: op, X: x}
}

// isCast tells whether the parenthesis at hand holds nothing but a type.
func (p *parser) isCast() bool {
	if !p.isBaseType(1) && !p.isTypePath(1) {
		return false
	}
	if is, ok := p.castAt[p.pos]; ok {
		return is
	}
	pos := p.pos
	is := p.try(func() {
		p.pos++
		p.typeRef()
		p.expect(TokRParen, "")
	})
	p.pos = pos
	p.castAt[pos] = is
	return is
}

// primary reads an expression without operators around it.
func (p *parser) primary() Expr {
	t := p.tok()
	switch t.Kind {
	case TokInt:
		return p.intLit()
	case TokString:
		p.pos++
		return &StringLit{Loc{t.Span}, unquote(t.Text)}
	case KwTrue, KwFalse:
		p.pos++
		return &BoolLit{Loc{t.Span}, t.Kind == KwTrue}
	case KwThis:
		p.pos++
		return &This{Loc{t.Span}}
	case TokEllipsis:
		p.pos++
		return &Dots{Loc{t.Span}}
	case TokInvalid:
		p.pos++
		return &InvalidHeader{Loc{t.Span}}
	case TokLBrace:
		return p.braced()
	case TokLParen:
		p.pos++
		x := p.expr()
		p.expect(TokRParen, "to close the parenthesis")
		return x
	case KwError:
		p.pos++
		if p.kind() != TokDot {
			p.unexpected(`"."`, "behind error")
		}
		return &TypeExpr{Loc{t.Span}, &BaseType{Loc{t.Span}, KindError}}
	}
	if !t.Kind.isName() && t.Kind != TokDot {
		p.unexpected("an expression", "")
	}
	if p.isTypePath(0) {
		typ := p.namedType()
		if p.kind() != TokDot && p.kind() != TokLParen {
			p.fail(typ.Span(), diag.SyntaxUnexpected, "%s is a type, not a value: expected \".\" or \"(\" behind it", typ.Path)
		}
		return &TypeExpr{Loc{typ.Span()}, typ}
	}
	path := p.path("a name")
	return &PathExpr{Loc{path.Span()}, path}
}

// intLit reads an integer literal.
func (p *parser) intLit() *IntLit {
	t := p.advance()
	lit, err := parseInt(t.Text)
	if err != nil {
		p.report(t.Span, diag.SyntaxLiteral, "%v", err)
		lit = &IntLit{Text: "0", Value: new(big.Int)}
	}
	lit.Loc = Loc{t.Span}
	return lit
}

// braced reads a list or a structure-valued expression.
//
//	"{" expressionList optTrailingComma "}" | "{" kvList [ "," DOTS ] optTrailingComma "}"
func (p *parser) braced() Expr {
	start := p.advance().Span
	if p.kind().isName() && p.peek(1).Kind == TokAssignOp {
		return p.record(start)
	}
	elems := p.exprs(TokRBrace)
	p.expect(TokRBrace, "to close the list")
	return &ListExpr{Loc: p.since(start), Elems: elems}
}

func (p *parser) record(start diag.Span) Expr {
	r := &RecordExpr{}
	for p.kind() != TokRBrace {
		if p.accept(TokEllipsis) {
			r.Default = true
			p.accept(TokComma)
			break
		}
		r.Fields = append(r.Fields, p.namedValue())
		if !p.accept(TokComma) {
			break
		}
	}
	p.expect(TokRBrace, "to close the list of fields")
	r.Loc = p.since(start)
	return r
}

func (p *parser) namedValue() NamedValue {
	name := p.name("a field name")
	p.expect(TokAssignOp, "behind the name")
	value := p.expr()
	return NamedValue{p.since(name.Span()), name, value}
}

// exprs reads expressions separated by commas, up to but without the closing token; a trailing comma is
// allowed.
func (p *parser) exprs(closing Kind) []Expr {
	var list []Expr
	for p.kind() != closing {
		list = append(list, p.expr())
		if !p.accept(TokComma) {
			break
		}
	}
	return list
}

// postfix reads members, indices, slices and calls behind x.
func (p *parser) postfix(x Expr) Expr {
	for row := 0; ; row++ {
		p.chain(row)
		switch p.kind() {
		case TokDot:
			p.pos++
			name := p.name("a member name")
			x = &Member{Loc: p.since(x.Span()), X: x, Name: name}
		case TokLBrack:
			p.pos++
			i := p.expr()
			if p.accept(TokColon) {
				lo := p.expr()
				p.expect(TokRBrack, "behind the slice")
				x = &Slice{Loc: p.since(x.Span()), X: x, Hi: i, Lo: lo}
				break
			}
			p.expect(TokRBrack, "behind the index")
			x = &Index{Loc: p.since(x.Span()), X: x, Index: i}
		case TokLParen:
			x = p.call(x, nil)
		case TokLAngle:
			if !p.isGeneric(x) {
				return x
			}
			x = p.call(x, p.typeArgs())
		default:
			return x
		}
	}
}

// isGeneric tells whether the `<` behind x opens type arguments: they begin with a type and are followed
// by a parenthesis. Otherwise it is a comparison.
//
//	realTypeArgumentList: realTypeArg { "," typeArg }
func (p *parser) isGeneric(x Expr) bool {
	switch x.(type) {
	case *PathExpr, *Member:
	default:
		return false
	}
	first := p.peek(1).Kind
	if first != KwVoid && first != TokUnderscore && !p.isBaseType(1) && !p.isTypePath(1) {
		return false
	}
	if is, ok := p.genericAt[p.pos]; ok {
		return is
	}
	pos := p.pos
	is := p.try(func() {
		p.typeArgs()
		p.expect(TokLParen, "")
	})
	p.pos = pos
	p.genericAt[pos] = is
	return is
}

func (p *parser) call(fun Expr, typeArgs []Type) *Call {
	args := p.args()
	return &Call{Loc: p.since(fun.Span()), Fun: fun, TypeArgs: typeArgs, Args: args}
}

// args reads arguments in parentheses.
//
//	"(" argumentList ")"
func (p *parser) args() []Arg {
	p.expect(TokLParen, "before the arguments")
	var args []Arg
	for p.kind() != TokRParen {
		args = append(args, p.arg())
		if !p.accept(TokComma) {
			break
		}
		if p.kind() == TokRParen {
			p.unexpected("an argument", "")
		}
	}
	p.expect(TokRParen, "behind the arguments")
	return args
}

func (p *parser) arg() Arg {
	var a Arg
	start := p.tok().Span
	if p.kind().isName() && p.peek(1).Kind == TokAssignOp {
		name := p.name("")
		p.pos++
		a.Name = &name
	}
	if t := p.tok(); p.accept(TokUnderscore) {
		a.Value = &DontCare{Loc{t.Span}}
	} else {
		a.Value = p.expr()
	}
	a.Loc = p.since(start)
	return a
}

// keyset reads what a select case or a table entry matches.
//
//	keysetExpression: tupleKeysetExpression | simpleKeysetExpression
func (p *parser) keyset() Expr {
	open := p.tok()
	if open.Kind != TokLParen || p.isCast() {
		return p.simpleKeyset()
	}
	p.pos++
	x := p.simpleKeyset()
	if p.kind() == TokComma {
		elems := []Expr{x}
		for p.accept(TokComma) {
			elems = append(elems, p.simpleKeyset())
		}
		p.expect(TokRParen, "behind the keyset")
		return &TupleKeyset{Loc: p.since(open.Span), Elems: elems}
	}
	p.expect(TokRParen, "behind the keyset")
	switch x.(type) {
	case *MaskExpr, *RangeExpr, *DefaultExpr, *DontCare:
		return x
	}
	return p.keysetFrom(p.exprFrom(p.postfix(x)))
}

// simpleKeyset reads one element of a keyset.
//
//	simpleKeysetExpression: expression [ ( "&&&" | ".." ) expression ] | DEFAULT | "_"
func (p *parser) simpleKeyset() Expr {
	switch t := p.tok(); t.Kind {
	case KwDefault:
		p.pos++
		return &DefaultExpr{Loc{t.Span}}
	case TokUnderscore:
		p.pos++
		return &DontCare{Loc{t.Span}}
	}
	return p.keysetFrom(p.expr())
}

// keysetFrom reads the mask or the upper bound behind x, if there is one.
func (p *parser) keysetFrom(x Expr) Expr {
	switch p.kind() {
	case TokMask:
		p.pos++
		mask := p.expr()
		return &MaskExpr{Loc: p.since(x.Span()), Value: x, Mask: mask}
	case TokDotDot:
		p.pos++
		hi := p.expr()
		return &RangeExpr{Loc: p.since(x.Span()), Lo: x, Hi: hi}
	}
	return x
}
