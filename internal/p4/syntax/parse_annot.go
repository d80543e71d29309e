package syntax

// annotations reads the annotations at hand; nil when there are none.
//
//	optAnnotations: { annotation }
func (p *parser) annotations() Annotations {
	var list Annotations
	for p.kind() == TokAt {
		list = append(list, p.annotation())
	}
	return list
}

// annotation reads one annotation or pragma.
func (p *parser) annotation() *Annotation {
	start := p.advance().Span
	if p.kind() == KwPragma && p.tok().Glued {
		return p.pragma()
	}
	a := &Annotation{}
	a.Name = p.annotationName()
	switch p.kind() {
	case TokLParen:
		a.Body = BodyUnstructured
		p.unstructured(a)
	case TokLBrack:
		a.Body = BodyStructured
		p.pos++
		if p.kind().isName() && p.peek(1).Kind == TokAssignOp {
			for p.kind() != TokRBrack {
				a.Fields = append(a.Fields, p.namedValue())
				if !p.accept(TokComma) {
					break
				}
			}
		} else {
			a.Exprs = p.exprs(TokRBrack)
		}
		p.expect(TokRBrack, "to close the annotation")
	}
	a.Loc = p.since(start)
	return a
}

// annotationName reads the name of an annotation; in practice programs use keywords as well.
func (p *parser) annotationName() Name {
	t := p.tok()
	if !t.Kind.isWord() {
		p.unexpected("a name", "behind @")
	}
	p.pos++
	return Name{Loc{t.Span}, t.Text}
}

// unstructured reads a body of any tokens with balanced parentheses. If the tokens are expressions, too,
// they are kept in both forms.
//
//	annotationBody
func (p *parser) unstructured(a *Annotation) {
	open := p.advance()
	begin, nested := p.pos, 0
	for nested >= 0 {
		switch p.kind() {
		case TokEOF:
			p.unexpectedAt(open, "the annotation is not closed: ) is missing")
		case TokLParen:
			nested++
		case TokRParen:
			nested--
		}
		p.pos++
	}
	end := p.pos - 1
	a.Tokens = p.toks[begin:end:end]
	if begin == end {
		return
	}
	var exprs []Expr
	p.pos = begin
	if p.try(func() { exprs = p.exprs(TokRParen) }) && p.pos == end {
		a.Exprs = exprs
	}
	p.pos = end + 1
}

// pragma reads the rest of the line behind @pragma.
func (p *parser) pragma() *Annotation {
	start := p.prev()
	p.pos++
	a := &Annotation{Body: BodyPragma, Name: p.annotationName()}
	begin := p.pos
	for p.kind() != TokLineEnd && p.kind() != TokEOF {
		p.pos++
	}
	a.Tokens = p.toks[begin:p.pos:p.pos]
	a.Loc = p.since(start)
	p.accept(TokLineEnd)
	return a
}
