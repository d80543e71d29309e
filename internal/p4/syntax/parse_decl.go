package syntax

import (
	"github.com/catena-nfv/catena/internal/p4/diag"
)

// program reads the whole token list.
func (p *parser) program() (prog *Program) {
	start := p.tok().Span
	prog = &Program{}
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(giveUp); !ok {
				panic(r)
			}
		}
		prog.Loc = p.since(start)
	}()
	for p.kind() != TokEOF {
		before := p.pos
		p.guarded(func() {
			switch t := p.tok(); t.Kind {
			case TokSemi:
				p.pos++
			case TokRBrace:
				p.pos++
				p.report(t.Span, diag.SyntaxUnexpected, "} closes nothing")
			default:
				prog.Decls = append(prog.Decls, p.topDecl())
			}
		})
		if p.pos == before {
			p.pos++
		}
	}
	return prog
}

// topDecl reads a declaration of the top level.
//
//	declaration
func (p *parser) topDecl() Decl {
	start := p.tok().Span
	annots := p.annotations()
	switch p.kind() {
	case KwConst:
		return p.constant(annots, start)
	case KwExtern:
		return p.extern(annots, start)
	case KwAction:
		return p.action(annots, start)
	case KwParser:
		return p.parserDecl(annots, start)
	case KwControl:
		return p.controlDecl(annots, start)
	case KwPackage:
		return p.packageDecl(annots, start)
	case KwStruct, KwHeader, KwHeaderUnion:
		return p.structDecl(annots, start)
	case KwEnum:
		return p.enumDecl(annots, start)
	case KwTypedef, KwType:
		return p.typedef(annots, start)
	case KwError:
		if p.peek(1).Kind == TokLBrace {
			d := &ErrorDecl{}
			d.Annots = annots
			d.Members = p.members("error")
			d.Loc = p.since(start)
			return d
		}
	case KwMatchKind:
		if p.peek(1).Kind == TokLBrace {
			d := &MatchKindDecl{}
			d.Annots = annots
			d.Members = p.members("match_kind")
			d.Loc = p.since(start)
			return d
		}
	case KwTable:
		p.misplaced("a table belongs into a control")
	case KwValueSet:
		p.misplaced("a value_set belongs into a parser")
	case KwState:
		if p.peek(1).Kind.isName() && p.peek(2).Kind == TokLBrace {
			p.misplaced("a state belongs into a parser")
		}
	}
	if k := p.kind(); k != KwVoid && k != TokDot && !k.isName() && !p.isBaseType(0) {
		p.unexpected("a declaration", "")
	}
	typ := p.typeOrVoid()
	if p.kind() == TokLParen {
		return p.instantiation(annots, typ, start)
	}
	name := p.name("a name")
	if k := p.kind(); k == TokSemi || k == TokAssignOp {
		p.fail(name.Span(), diag.SyntaxMisplaced,
			"%s is a variable, which the top level cannot have: make it const or move it into a parser or control", name.Text)
	}
	return p.function(annots, typ, name, start)
}

func (p *parser) misplaced(msg string) {
	p.fail(p.tok().Span, diag.SyntaxMisplaced, "%s", msg)
}

// constant reads a constant.
func (p *parser) constant(annots Annotations, start diag.Span) *Const {
	p.expect(KwConst, "")
	c := &Const{Type: p.typeRef()}
	c.Annots = annots
	c.Name = p.name("a constant name")
	p.expect(TokAssignOp, "behind the constant's name")
	c.Value = p.expr()
	p.declare(c.Name, false)
	p.expect(TokSemi, "behind the constant")
	c.Loc = p.since(start)
	return c
}

// instantiation reads the rest of an instantiation behind its type.
func (p *parser) instantiation(annots Annotations, typ Type, start diag.Span) *Instantiation {
	d := &Instantiation{Type: typ, Args: p.args()}
	d.Annots = annots
	d.Name = p.name("the name of the instance")
	p.declare(d.Name, false)
	if p.accept(TokAssignOp) {
		d.Members = []Decl{}
		p.push()
		p.list("object initializer", func() { d.Members = append(d.Members, p.objDecl()) })
		p.pop()
	}
	p.expect(TokSemi, "behind the instantiation")
	d.Loc = p.since(start)
	return d
}

// objDecl reads a method or an instance in an object initializer.
//
//	objDeclaration: functionDeclaration | instantiation
func (p *parser) objDecl() Decl {
	start := p.tok().Span
	annots := p.annotations()
	typ := p.typeOrVoid()
	if p.kind() == TokLParen {
		return p.instantiation(annots, typ, start)
	}
	return p.function(annots, typ, p.name("a method name"), start)
}

// function reads the rest of a function behind its name.
func (p *parser) function(annots Annotations, ret Type, name Name, start diag.Span) *Function {
	f := &Function{Return: ret}
	f.Annots, f.Name = annots, name
	p.declare(name, false)
	p.push()
	f.TypeParams = p.typeParams()
	p.declareAll(f.TypeParams)
	f.Params = p.params()
	f.Body = p.block(nil)
	p.pop()
	f.Loc = p.since(start)
	return f
}

// action reads an action.
func (p *parser) action(annots Annotations, start diag.Span) *Action {
	p.expect(KwAction, "")
	a := &Action{}
	a.Annots = annots
	a.Name = p.name("an action name")
	p.declare(a.Name, false)
	p.push()
	a.Params = p.params()
	a.Body = p.block(nil)
	p.pop()
	a.Loc = p.since(start)
	return a
}

// params reads parameters in parentheses and declares them. The result is not nil.
//
//	"(" parameterList ")"
func (p *parser) params() []*Param {
	p.expect(TokLParen, "before the parameters")
	params := []*Param{}
	for p.kind() != TokRParen {
		params = append(params, p.param())
		if !p.accept(TokComma) {
			break
		}
		if p.kind() == TokRParen {
			p.unexpected("a parameter", "")
		}
	}
	p.expect(TokRParen, "behind the parameters")
	return params
}

func (p *parser) param() *Param {
	start := p.tok().Span
	d := &Param{Annots: p.annotations()}
	switch p.kind() {
	case KwIn:
		d.Dir = DirIn
	case KwOut:
		d.Dir = DirOut
	case KwInout:
		d.Dir = DirInOut
	}
	if d.Dir != DirNone {
		p.pos++
	}
	d.Type = p.typeRef()
	d.Name = p.name("a parameter name")
	p.declare(d.Name, false)
	if p.accept(TokAssignOp) {
		d.Default = p.expr()
	}
	d.Loc = p.since(start)
	return d
}

// extern reads an extern object or an extern function.
//
//	externDeclaration
func (p *parser) extern(annots Annotations, start diag.Span) Decl {
	p.expect(KwExtern, "")
	if !p.isExternObject() {
		f := p.prototype(annots, start)
		p.declare(f.Name, false)
		p.expect(TokSemi, "behind the extern function")
		f.Loc = p.since(start)
		return f
	}
	x := &ExternObject{}
	x.Annots = annots
	x.Name = p.name("the name of the extern")
	p.declare(x.Name, true)
	p.push()
	x.TypeParams = p.typeParams()
	p.declareAll(x.TypeParams)
	p.list("extern", func() { x.Methods = append(x.Methods, p.method()) })
	p.pop()
	x.Loc = p.since(start)
	return x
}

// isExternObject tells whether a name, perhaps with type parameters, and a brace follow.
func (p *parser) isExternObject() bool {
	pos, is := p.pos, false
	p.try(func() {
		p.name("")
		p.typeParams()
		is = p.kind() == TokLBrace
	})
	p.pos = pos
	return is
}

// method reads a method or constructor of an extern object.
//
//	methodPrototype
func (p *parser) method() *ExternFunction {
	start := p.tok().Span
	annots := p.annotations()
	var f *ExternFunction
	if p.kind().isName() && p.peek(1).Kind == TokLParen {
		f = &ExternFunction{Constructor: true}
		f.Annots = annots
		f.Name = p.name("")
		p.push()
		f.Params = p.params()
		p.pop()
	} else {
		abstract := p.accept(KwAbstract)
		f = p.prototype(annots, start)
		f.Abstract = abstract
	}
	p.expect(TokSemi, "behind the method")
	f.Loc = p.since(start)
	return f
}

// prototype reads a function's head.
//
//	functionPrototype: typeOrVoid name optTypeParameters "(" parameterList ")"
func (p *parser) prototype(annots Annotations, start diag.Span) *ExternFunction {
	f := &ExternFunction{Return: p.typeOrVoid()}
	f.Annots = annots
	f.Name = p.name("a function name")
	p.push()
	f.TypeParams = p.typeParams()
	p.declareAll(f.TypeParams)
	f.Params = p.params()
	p.pop()
	f.Loc = p.since(start)
	return f
}

// packageDecl reads a package type.
func (p *parser) packageDecl(annots Annotations, start diag.Span) *Package {
	p.pos++
	d := &Package{}
	d.Annots = annots
	d.Name = p.name("a package name")
	p.declare(d.Name, true)
	p.push()
	d.TypeParams = p.typeParams()
	p.declareAll(d.TypeParams)
	d.Params = p.params()
	p.pop()
	p.expect(TokSemi, "behind the package")
	d.Loc = p.since(start)
	return d
}

// structDecl reads a struct, header or header union.
func (p *parser) structDecl(annots Annotations, start diag.Span) *Struct {
	d := &Struct{}
	switch p.advance().Kind {
	case KwHeader:
		d.Kind = KindHeader
	case KwHeaderUnion:
		d.Kind = KindUnion
	}
	d.Annots = annots
	d.Name = p.name("a type name")
	p.declare(d.Name, true)
	p.push()
	d.TypeParams = p.typeParams()
	p.declareAll(d.TypeParams)
	p.list(d.Kind.String(), func() {
		f := &Field{}
		at := p.tok().Span
		f.Annots = p.annotations()
		f.Type = p.typeRef()
		f.Name = p.name("a field name")
		p.expect(TokSemi, "behind the field")
		f.Loc = p.since(at)
		d.Fields = append(d.Fields, f)
	})
	p.pop()
	d.Loc = p.since(start)
	return d
}

// enumDecl reads an enumeration.
func (p *parser) enumDecl(annots Annotations, start diag.Span) *Enum {
	p.pos++
	d := &Enum{}
	d.Annots = annots
	if !p.kind().isName() || p.peek(1).Kind != TokLBrace {
		d.Repr = p.typeRef()
	}
	d.Name = p.name("a type name")
	p.declare(d.Name, true)
	p.expect(TokLBrace, "to open the enum")
	for p.kind() != TokRBrace {
		m := NamedValue{Name: p.name("a member name")}
		if d.Repr != nil {
			p.expect(TokAssignOp, "behind the member: each member of an enum with a type has a value")
			m.Value = p.expr()
		}
		m.Loc = p.since(m.Name.Span())
		d.Members = append(d.Members, m)
		if !p.accept(TokComma) {
			break
		}
	}
	p.expect(TokRBrace, "to close the enum")
	d.Loc = p.since(start)
	return d
}

// members reads the names of an error or match_kind declaration.
func (p *parser) members(what string) []Name {
	p.pos++
	p.expect(TokLBrace, "to open "+what)
	var names []Name
	for p.kind() != TokRBrace {
		names = append(names, p.name("a member name"))
		if !p.accept(TokComma) {
			break
		}
	}
	p.expect(TokRBrace, "to close "+what)
	return names
}

// typedef reads typedef and type declarations.
func (p *parser) typedef(annots Annotations, start diag.Span) *Typedef {
	d := &Typedef{New: p.advance().Kind == KwType}
	d.Annots = annots
	at := p.tok().Span
	switch p.kind() {
	case KwStruct, KwHeader, KwHeaderUnion:
		d.Def = p.structDecl(nil, at)
	case KwEnum:
		d.Def = p.enumDecl(nil, at)
	default:
		d.Type = p.typeRef()
	}
	if d.New && d.Def != nil {
		p.report(d.Def.Span(), diag.SyntaxMisplaced, "type wants the name of a type: declare it first")
	}
	d.Name = p.name("a type name")
	p.declare(d.Name, true)
	p.expect(TokSemi, "behind the type declaration")
	d.Loc = p.since(start)
	return d
}
