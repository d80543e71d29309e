package syntax

// typeRef reads a type. Any name is taken for one: the caller is where only a type can stand.
//
//	typeRef: baseType | typeName | specializedType | headerStackType | p4listType | tupleType
func (p *parser) typeRef() Type {
	p.enter()
	defer p.leave()
	t := p.tok()
	switch t.Kind {
	case KwBool:
		return p.baseType(KindBool)
	case KwError:
		return p.baseType(KindError)
	case KwMatchKind:
		return p.baseType(KindMatchKind)
	case KwString:
		return p.baseType(KindString)
	case KwBit:
		return p.bitsType(KindBit)
	case KwVarbit:
		return p.bitsType(KindVarbit)
	case KwInt:
		if p.peek(1).Kind == TokLAngle {
			return p.bitsType(KindSigned)
		}
		return p.baseType(KindInt)
	case KwTuple:
		p.pos++
		return p.stackOf(&TupleType{Elems: p.typeArgs(), Loc: p.since(t.Span)})
	case KwList:
		if p.peek(1).Kind == TokLAngle {
			p.pos++
			args := p.typeArgs()
			if len(args) != 1 {
				p.unexpectedAt(t, "list wants one type argument")
			}
			return p.stackOf(&ListType{Elem: args[0], Loc: p.since(t.Span)})
		}
	}
	if !t.Kind.isName() && t.Kind != TokDot {
		p.unexpected("a type", "")
	}
	return p.stackOf(p.namedType())
}

func (p *parser) baseType(k BaseKind) Type {
	t := p.advance()
	return p.stackOf(&BaseType{Loc{t.Span}, k})
}

// typeOrVoid reads the result type of a function.
//
//	typeOrVoid: typeRef | VOID | IDENTIFIER
func (p *parser) typeOrVoid() Type {
	if t := p.tok(); p.accept(KwVoid) {
		return &BaseType{Loc{t.Span}, KindVoid}
	}
	return p.typeRef()
}

// bitsType reads bit, bit<W>, int<W> or varbit<W>.
func (p *parser) bitsType(kind BitsKind) Type {
	start := p.advance().Span
	t := &BitsType{Kind: kind}
	switch {
	case p.accept(TokLAngle):
		if p.kind() == TokLParen {
			p.pos++
			t.Width = p.expr()
			p.expect(TokRParen, "behind the width")
		} else if p.kind() == TokInt {
			t.Width = p.intLit()
		} else {
			p.unexpected("a number or an expression in parentheses", "as the width")
		}
		p.expect(TokRAngle, "behind the width")
	case kind == KindVarbit:
		p.unexpected(`"<"`, "behind varbit")
	}
	t.Loc = p.since(start)
	return p.stackOf(t)
}

// namedType reads a type name and its arguments.
//
//	namedType: typeName | typeName "<" typeArgumentList ">"
func (p *parser) namedType() *NamedType {
	t := &NamedType{Path: p.path("a type")}
	if p.kind() == TokLAngle {
		t.Args = p.typeArgs()
	}
	t.Loc = p.since(t.Path.Span())
	return t
}

// stackOf reads the sizes behind an element type. The grammar allows one, behind a name; the checker
// says what a stack may be made of.
func (p *parser) stackOf(elem Type) Type {
	for n := 0; p.kind() == TokLBrack; n++ {
		p.chain(n)
		p.pos++
		size := p.expr()
		p.expect(TokRBrack, "behind the size of the stack")
		elem = &StackType{Loc: p.since(elem.Span()), Elem: elem, Size: size}
	}
	return elem
}

// typeArgs reads type arguments in angle brackets; the result is not nil.
//
//	"<" typeArgumentList ">"
func (p *parser) typeArgs() []Type {
	p.expect(TokLAngle, "before type arguments")
	args := []Type{}
	for p.kind() != TokRAngle {
		args = append(args, p.typeArg())
		if !p.accept(TokComma) {
			break
		}
		if p.kind() == TokRAngle {
			p.unexpected("a type", "")
		}
	}
	p.expect(TokRAngle, "behind type arguments")
	return args
}

// typeArg reads one type argument.
//
//	typeArg: typeRef | nonTypeName | VOID | "_"
func (p *parser) typeArg() Type {
	switch t := p.tok(); t.Kind {
	case TokUnderscore:
		p.pos++
		return &DontCareType{Loc{t.Span}}
	case KwVoid:
		return p.typeOrVoid()
	}
	return p.typeRef()
}

// typeParams reads the type parameters of a declaration, if there are any.
//
//	optTypeParameters: [ "<" name { "," name } ">" ]
func (p *parser) typeParams() []Name {
	if !p.accept(TokLAngle) {
		return nil
	}
	var names []Name
	for {
		names = append(names, p.name("a type parameter"))
		if !p.accept(TokComma) {
			break
		}
	}
	p.expect(TokRAngle, "behind type parameters")
	return names
}
