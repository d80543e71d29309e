package syntax

import (
	"github.com/catena-nfv/catena/internal/p4/diag"
)

// parserDecl reads a parser type or a parser.
//
//	parserTypeDeclaration ";" | parserDeclaration
func (p *parser) parserDecl(annots Annotations, start diag.Span) Decl {
	p.pos++
	head := DeclHead{Annots: annots, Name: p.name("a parser name")}
	p.declare(head.Name, true)
	p.push()
	defer p.pop()
	typeParams := p.typeParams()
	p.declareAll(typeParams)
	params := p.params()
	if p.accept(TokSemi) {
		head.Loc = p.since(start)
		return &ParserType{head, typeParams, params}
	}
	d := &Parser{DeclHead: head, TypeParams: typeParams, Params: params}
	if p.kind() == TokLParen {
		d.CtorParams = p.params()
	}
	p.list("parser", func() { p.parserElement(d) })
	if len(d.States) == 0 && p.trying == 0 {
		p.report(d.Name.Span(), diag.SyntaxUnexpected, "parser %s has no states", d.Name.Text)
	}
	d.Loc = p.since(start)
	return d
}

// parserElement reads a local declaration or a state.
//
//	parserLocalElement: constantDeclaration | instantiation | variableDeclaration | valueSetDeclaration
func (p *parser) parserElement(d *Parser) {
	start := p.tok().Span
	annots := p.annotations()
	if p.kind() == KwState && p.peek(1).Kind.isName() && p.peek(2).Kind == TokLBrace {
		d.States = append(d.States, p.state(annots, start))
		return
	}
	var local Decl
	switch p.kind() {
	case KwConst:
		local = p.constant(annots, start)
	case KwValueSet:
		local = p.valueSet(annots, start)
	case KwAction, KwTable:
		p.misplaced("a parser has no actions and no tables")
	case KwApply:
		p.misplaced("a parser has states instead of apply")
	default:
		if !p.atTypeStart() {
			p.unexpected("a state or a local declaration", "")
		}
		local = p.localDecl(annots, start)
	}
	if len(d.States) > 0 {
		p.report(local.Span(), diag.SyntaxMisplaced, "the parser's local declarations stand before its states")
	}
	d.Locals = append(d.Locals, local)
}

// atTypeStart tells whether the current token can begin a type.
func (p *parser) atTypeStart() bool {
	return p.isBaseType(0) || p.kind().isName() || p.kind() == TokDot
}

// valueSet reads a parser value set.
func (p *parser) valueSet(annots Annotations, start diag.Span) *ValueSet {
	p.pos++
	d := &ValueSet{}
	d.Annots = annots
	p.expect(TokLAngle, "behind value_set")
	d.Elem = p.typeRef()
	p.expect(TokRAngle, "behind the type of the value_set")
	p.expect(TokLParen, "before the size of the value_set")
	d.Size = p.expr()
	p.expect(TokRParen, "behind the size of the value_set")
	d.Name = p.name("the name of the value_set")
	p.declare(d.Name, false)
	p.expect(TokSemi, "behind the value_set")
	d.Loc = p.since(start)
	return d
}

// state reads a state of a parser.
func (p *parser) state(annots Annotations, start diag.Span) *State {
	p.pos++
	s := &State{}
	s.Annots = annots
	s.Name = p.name("a state name")
	p.push()
	defer p.pop()
	p.list("state", func() {
		if s.Next != nil {
			p.report(p.tok().Span, diag.SyntaxMisplaced, "transition must be the last statement of a state")
			panic(bailout{})
		}
		if p.kind() == KwTransition {
			p.pos++
			s.Next = p.transition()
			return
		}
		st := p.stmt()
		p.checkStateStmt(st)
		s.Stmts = append(s.Stmts, st)
	})
	s.Loc = p.since(start)
	return s
}

// checkStateStmt reports statements that parsers do not have. (parserStatement in the grammar)
func (p *parser) checkStateStmt(s Stmt) {
	what := ""
	switch s := s.(type) {
	case *Switch:
		what = "switch"
	case *For, *ForIn:
		what = "for"
	case *Return:
		what = "return"
	case *Exit:
		what = "exit"
	case *Break:
		what = "break"
	case *Continue:
		what = "continue"
	case *Block:
		for _, inner := range s.Stmts {
			p.checkStateStmt(inner)
		}
	case *If:
		for s != nil {
			p.checkStateStmt(s.Then)
			next, ok := s.Else.(*If)
			if !ok && s.Else != nil {
				p.checkStateStmt(s.Else)
			}
			s = next
		}
	}
	if what != "" {
		p.report(s.Span(), diag.SyntaxMisplaced, "a parser state cannot have the statement %s", what)
	}
}

// transition reads what follows the word transition.
//
//	stateExpression: name ";" | selectExpression
func (p *parser) transition() Transition {
	start := p.tok().Span
	if p.kind() != KwSelect {
		g := &Goto{State: p.name("a state name or select")}
		p.expect(TokSemi, "behind the transition")
		g.Loc = p.since(start)
		return g
	}
	p.pos++
	s := &Select{}
	p.expect(TokLParen, "behind select")
	for p.kind() != TokRParen {
		s.Exprs = append(s.Exprs, p.expr())
		if !p.accept(TokComma) {
			break
		}
	}
	p.expect(TokRParen, "behind the selected values")
	p.list("select", func() {
		c := SelectCase{Keyset: p.keyset()}
		p.expect(TokColon, "behind the keyset")
		c.State = p.name("a state name")
		p.expect(TokSemi, "behind the state name")
		c.Loc = p.since(c.Keyset.Span())
		s.Cases = append(s.Cases, c)
	})
	s.Loc = p.since(start)
	return s
}

// controlDecl reads a control type or a control.
//
//	controlTypeDeclaration ";" | controlDeclaration
func (p *parser) controlDecl(annots Annotations, start diag.Span) Decl {
	p.pos++
	head := DeclHead{Annots: annots, Name: p.name("a control name")}
	p.declare(head.Name, true)
	p.push()
	defer p.pop()
	typeParams := p.typeParams()
	p.declareAll(typeParams)
	params := p.params()
	if p.accept(TokSemi) {
		head.Loc = p.since(start)
		return &ControlType{head, typeParams, params}
	}
	d := &Control{DeclHead: head, TypeParams: typeParams, Params: params}
	if p.kind() == TokLParen {
		d.CtorParams = p.params()
	}
	errs := p.errs
	p.list("control", func() { p.controlElement(d) })
	if d.Body == nil {
		if p.errs == errs {
			p.report(d.Name.Span(), diag.SyntaxUnexpected, "control %s has no apply block", d.Name.Text)
		}
		d.Body = &Block{Loc: Loc{p.prev()}}
	}
	d.Loc = p.since(start)
	return d
}

// controlElement reads a local declaration or the apply block.
//
//	controlLocalDeclaration: constantDeclaration | actionDeclaration | tableDeclaration | instantiation | variableDeclaration
func (p *parser) controlElement(d *Control) {
	start := p.tok().Span
	if d.Body != nil {
		p.fail(start, diag.SyntaxMisplaced, "the apply block must be the last element of a control")
	}
	annots := p.annotations()
	switch k := p.kind(); {
	case k == KwApply && (p.peek(1).Kind == TokLBrace || p.peek(1).Kind == TokAt):
		if len(annots) > 0 {
			p.report(start, diag.SyntaxMisplaced, "annotations of the apply block stand behind apply")
		}
		p.pos++
		d.Body = p.block(p.annotations())
	case k == KwConst:
		d.Locals = append(d.Locals, p.constant(annots, start))
	case k == KwAction:
		d.Locals = append(d.Locals, p.action(annots, start))
	case k == KwTable:
		d.Locals = append(d.Locals, p.table(annots, start))
	case k == KwValueSet:
		p.misplaced("a value_set belongs into a parser")
	case k == KwState && p.peek(1).Kind.isName() && p.peek(2).Kind == TokLBrace:
		p.misplaced("a state belongs into a parser")
	case !p.atTypeStart():
		p.unexpected("apply or a local declaration", "")
	default:
		d.Locals = append(d.Locals, p.localDecl(annots, start))
	}
}
