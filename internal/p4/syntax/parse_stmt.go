package syntax

import (
	"github.com/catena-nfv/catena/internal/p4/diag"
)

// block reads { … } with a scope of its own.
//
//	blockStatement: optAnnotations "{" statOrDeclList "}"
func (p *parser) block(annots Annotations) *Block {
	start := p.tok().Span
	if len(annots) > 0 {
		start = annots[0].Span()
	}
	b := &Block{Annots: annots}
	p.push()
	p.list("block", func() { b.Stmts = append(b.Stmts, p.stmt()) })
	p.pop()
	b.Loc = p.since(start)
	return b
}

// stmt reads a statement or a declaration among statements.
//
//	statementOrDeclaration: variableDeclaration | constantDeclaration | statement
func (p *parser) stmt() Stmt {
	p.enter()
	defer p.leave()
	t := p.tok()
	annots := p.annotations()
	if len(annots) > 0 {
		switch p.kind() {
		case TokLBrace:
			return p.block(annots)
		case KwFor:
			return p.forStmt(annots, t.Span)
		case KwConst:
			return p.declStmt(p.constant(annots, t.Span))
		}
		if !p.atDeclaration() {
			p.unexpected("a block, a for statement or a declaration", "behind the annotation")
		}
		return p.declStmt(p.localDecl(annots, t.Span))
	}
	switch t.Kind {
	case TokSemi:
		p.pos++
		return &EmptyStmt{Loc{t.Span}}
	case TokLBrace:
		return p.block(nil)
	case KwIf:
		return p.ifStmt()
	case KwSwitch:
		return p.switchStmt()
	case KwFor:
		return p.forStmt(nil, t.Span)
	case KwConst:
		return p.declStmt(p.constant(nil, t.Span))
	case KwReturn:
		p.pos++
		r := &Return{}
		if p.kind() != TokSemi {
			r.Value = p.expr()
		}
		p.expect(TokSemi, "behind return")
		r.Loc = p.since(t.Span)
		return r
	case KwExit:
		p.endSimple()
		return &Exit{p.since(t.Span)}
	case KwBreak:
		p.endSimple()
		return &Break{p.since(t.Span)}
	case KwContinue:
		p.endSimple()
		return &Continue{p.since(t.Span)}
	}
	if p.atDeclaration() {
		return p.declStmt(p.localDecl(nil, t.Span))
	}
	s := p.simpleStmt()
	p.expect(TokSemi, "behind the statement")
	return s
}

// endSimple reads a keyword and its semicolon.
func (p *parser) endSimple() {
	word := p.advance().Text
	p.expect(TokSemi, "behind "+word)
}

func (p *parser) declStmt(d Decl) Stmt { return &DeclStmt{Loc{d.Span()}, d} }

// atDeclaration tells whether a variable declaration or an instantiation begins here. Two names in a
// row do, too, when the first is no known type: the checker will say so.
func (p *parser) atDeclaration() bool {
	if p.isBaseType(0) {
		// error.X and list.x are expressions; nothing assigns to them, but that is for later.
		return p.peek(1).Kind != TokDot
	}
	n := 0
	if p.kind() == TokDot {
		n = 1
	}
	if p.isTypePath(0) {
		if p.peek(n+1).Kind != TokLAngle {
			return p.peek(n+1).Kind != TokDot
		}
		// T<…>.apply(…) is a statement, T<…> x a declaration.
		pos, apply := p.pos, false
		p.try(func() {
			p.namedType()
			apply = p.kind() == TokDot
		})
		p.pos = pos
		return !apply
	}
	return p.peek(n).Kind.isName() && p.peek(n+1).Kind.isName()
}

// localDecl reads a variable declaration or an instantiation.
//
//	variableDeclaration: optAnnotations typeRef name optInitializer ";"
func (p *parser) localDecl(annots Annotations, start diag.Span) Decl {
	typ := p.typeRef()
	if p.kind() == TokLParen {
		return p.instantiation(annots, typ, start)
	}
	v := p.variable(annots, typ, start)
	p.expect(TokSemi, "behind the variable declaration")
	v.Loc = p.since(start)
	return v
}

// variable reads the rest of a variable declaration behind its type, without the semicolon.
func (p *parser) variable(annots Annotations, typ Type, start diag.Span) *Var {
	v := &Var{Type: typ}
	v.Annots = annots
	v.Name = p.name("a variable name")
	if p.accept(TokAssignOp) {
		v.Init = p.expr()
	}
	p.declare(v.Name, false)
	v.Loc = p.since(start)
	return v
}

// assignOp returns the operator of an assignment token.
func assignOp(k Kind) (Op, bool) {
	switch k {
	case TokAssignOp:
		return OpNone, true
	case TokAddAssign:
		return OpAdd, true
	case TokSubAssign:
		return OpSub, true
	case TokSatAddAsgn:
		return OpSatAdd, true
	case TokSatSubAsgn:
		return OpSatSub, true
	case TokMulAssign:
		return OpMul, true
	case TokDivAssign:
		return OpDiv, true
	case TokModAssign:
		return OpMod, true
	case TokShlAssign:
		return OpShl, true
	case TokAndAssign:
		return OpAnd, true
	case TokOrAssign:
		return OpOr, true
	case TokXorAssign:
		return OpXor, true
	}
	return OpNone, false
}

// simpleStmt reads an assignment, a call or a direct application, without the semicolon.
//
//	assignmentOrMethodCallStatementWithoutSemicolon, directApplication
func (p *parser) simpleStmt() Stmt {
	start := p.tok()
	if p.isTypePath(0) {
		return p.directApply()
	}
	switch k := start.Kind; {
	case k.isName(), k == TokDot, k == KwThis, k == TokLParen, k == KwError:
	default:
		p.unexpected("a statement", "")
	}
	x := p.postfix(p.primary())
	if op, ok := assignOp(p.kind()); ok {
		p.pos++
		return p.assign(op, x)
	}
	if p.kind() == TokRAngle && p.peek(1).Glued && p.peek(1).Kind == TokGreaterEq {
		p.pos += 2
		return p.assign(OpShr, x)
	}
	c, ok := x.(*Call)
	if !ok {
		p.unexpected("an assignment or a call", "")
	}
	return &CallStmt{Loc{c.Span()}, c}
}

func (p *parser) assign(op Op, lhs Expr) Stmt {
	rhs := p.expr()
	return &Assign{Loc: p.since(lhs.Span()), Op: op, LHS: lhs, RHS: rhs}
}

// directApply reads Type.apply(…).
func (p *parser) directApply() Stmt {
	typ := p.namedType()
	p.expect(TokDot, "behind the type")
	p.expect(KwApply, "behind the type")
	args := p.args()
	return &DirectApply{Loc: p.since(typ.Span()), Type: typ, Args: args}
}

// ifStmt reads a conditional. A row of else-ifs, which generators make long, is read without recursion.
//
//	conditionalStatement: IF "(" expression ")" statement [ ELSE statement ]
func (p *parser) ifStmt() Stmt {
	var row []*If
	for {
		p.chain(len(row))
		s := &If{Loc: Loc{p.expect(KwIf, "").Span}}
		p.expect(TokLParen, "behind if")
		s.Cond = p.expr()
		p.expect(TokRParen, "behind the condition")
		s.Then = p.branch("if")
		row = append(row, s)
		if !p.accept(KwElse) {
			break
		}
		if p.kind() != KwIf {
			s.Else = p.branch("else")
			break
		}
	}
	for i := len(row) - 1; i >= 0; i-- {
		row[i].Loc = p.since(row[i].Span())
		if i > 0 {
			row[i-1].Else = row[i]
		}
	}
	return row[0]
}

// branch reads the statement behind if, else or for, which cannot be a declaration.
func (p *parser) branch(of string) Stmt {
	p.push()
	s := p.stmt()
	p.pop()
	if d, ok := s.(*DeclStmt); ok {
		p.report(d.Span(), diag.SyntaxMisplaced, "a declaration cannot be the only statement of %s: put braces around it", of)
	}
	return s
}

// switchStmt reads a switch.
//
//	switchStatement: SWITCH "(" expression ")" "{" { switchCase } "}"
func (p *parser) switchStmt() Stmt {
	start := p.advance().Span
	s := &Switch{}
	p.expect(TokLParen, "behind switch")
	s.Value = p.expr()
	p.expect(TokRParen, "behind the value")
	p.list("switch", func() { s.Cases = append(s.Cases, p.switchCase()) })
	s.Loc = p.since(start)
	return s
}

func (p *parser) switchCase() SwitchCase {
	var c SwitchCase
	t := p.tok()
	switch {
	case p.accept(KwDefault):
		c.Label = &DefaultExpr{Loc{t.Span}}
	default:
		if t.Kind == TokLBrace {
			p.report(t.Span, diag.SyntaxMisplaced, "a label cannot begin with {: put parentheses around it")
		}
		c.Label = p.expr()
	}
	p.expect(TokColon, "behind the label")
	if p.kind() == TokLBrace || p.kind() == TokAt {
		c.Body = p.block(p.annotations())
	}
	c.Loc = p.since(t.Span)
	return c
}

// forStmt reads a loop in either form.
//
//	forStatement
func (p *parser) forStmt(annots Annotations, start diag.Span) Stmt {
	p.pos++
	p.expect(TokLParen, "behind for")
	p.push()
	defer p.pop()
	if p.isForIn() {
		return p.forIn(annots, start)
	}
	f := &For{Annots: annots}
	if p.kind() != TokSemi {
		f.Init = p.commaStmts(true)
	}
	p.expect(TokSemi, "behind the start of the for statement")
	f.Cond = p.expr()
	p.expect(TokSemi, "behind the condition")
	if p.kind() != TokRParen {
		f.Update = p.commaStmts(false)
	}
	p.expect(TokRParen, "behind the update")
	f.Body = p.branch("for")
	f.Loc = p.since(start)
	return f
}

// isForIn tells whether the loop is of the form for (type name in …).
func (p *parser) isForIn() bool {
	pos, is := p.pos, false
	p.try(func() {
		p.annotations()
		p.typeRef()
		p.name("")
		is = p.kind() == KwIn
	})
	p.pos = pos
	return is
}

func (p *parser) forIn(annots Annotations, start diag.Span) Stmt {
	f := &ForIn{Annots: annots}
	at := p.tok().Span
	varAnnots := p.annotations()
	f.Var = p.variable(varAnnots, p.typeRef(), at)
	p.expect(KwIn, "behind the variable")
	f.Over = p.expr()
	if p.accept(TokDotDot) {
		hi := p.expr()
		f.Over = &RangeExpr{Loc: p.since(f.Over.Span()), Lo: f.Over, Hi: hi}
	}
	p.expect(TokRParen, "to close the head of the for statement")
	f.Body = p.branch("for")
	f.Loc = p.since(start)
	return f
}

// commaStmts reads the statements of a for statement's head, separated by commas.
func (p *parser) commaStmts(decls bool) []Stmt {
	var list []Stmt
	for {
		start := p.tok().Span
		annots := p.annotations()
		if decls && (len(annots) > 0 || p.atDeclaration()) {
			list = append(list, p.declStmt(p.variable(annots, p.typeRef(), start)))
		} else {
			list = append(list, p.simpleStmt())
		}
		if !p.accept(TokComma) {
			return list
		}
	}
}
