package syntax

import (
	"github.com/catena-nfv/catena/internal/p4/diag"
)

// table reads a table.
func (p *parser) table(annots Annotations, start diag.Span) *Table {
	p.pos++
	t := &Table{}
	t.Annots = annots
	t.Name = p.name("a table name")
	p.declare(t.Name, false)
	p.list("table", func() { t.Properties = append(t.Properties, p.tableProperty()) })
	t.Loc = p.since(start)
	return t
}

// tableProperty reads one property.
//
//	tableProperty
func (p *parser) tableProperty() TableProperty {
	start := p.tok().Span
	annots := p.annotations()
	isConst := p.accept(KwConst)
	switch k := p.kind(); {
	case isConst && (k == KwKey || k == KwActions):
		p.misplaced(k.String() + " cannot be const")
	case k == KwKey:
		p.property("key")
		x := &KeyProperty{Annots: annots}
		p.list("key", func() { x.Elems = append(x.Elems, p.keyElem()) })
		x.Loc = p.since(start)
		return x
	case k == KwActions:
		p.property("actions")
		x := &ActionsProperty{Annots: annots}
		p.list("actions", func() {
			at := p.tok().Span
			annots := p.annotations()
			ref := p.actionRef()
			ref.Annots = annots
			p.expect(TokSemi, "behind the action")
			ref.Loc = p.since(at)
			x.Refs = append(x.Refs, ref)
		})
		x.Loc = p.since(start)
		return x
	case k == KwEntries:
		p.property("entries")
		x := &EntriesProperty{Annots: annots, Const: isConst}
		p.list("entries", func() { x.Entries = append(x.Entries, p.entry()) })
		x.Loc = p.since(start)
		return x
	}
	x := &Property{Annots: annots, Const: isConst}
	x.Name = p.name("a table property")
	p.expect(TokAssignOp, "behind the name of the property")
	x.Value = p.expr()
	p.expect(TokSemi, "behind the property")
	x.Loc = p.since(start)
	return x
}

func (p *parser) property(name string) {
	p.pos++
	p.expect(TokAssignOp, "behind "+name)
}

// keyElem reads one element of a key.
func (p *parser) keyElem() *KeyElem {
	start := p.tok().Span
	k := &KeyElem{Expr: p.expr()}
	p.expect(TokColon, "behind the expression of the key")
	k.Match = p.name("a match kind")
	k.Annots = p.annotations()
	p.expect(TokSemi, "behind the match kind")
	k.Loc = p.since(start)
	return k
}

// actionRef reads the name of an action and its arguments.
func (p *parser) actionRef() *ActionRef {
	a := &ActionRef{Path: p.path("an action")}
	if p.kind() == TokLParen {
		a.HasArgs = true
		a.Args = p.args()
	}
	a.Loc = p.since(a.Path.Span())
	return a
}

// entry reads one table entry.
func (p *parser) entry() *Entry {
	start := p.tok().Span
	e := &Entry{Const: p.accept(KwConst)}
	if p.kind() == KwPriority && p.peek(1).Kind == TokAssignOp {
		p.pos += 2
		switch p.kind() {
		case TokInt:
			e.Priority = p.intLit()
		case TokLParen:
			p.pos++
			e.Priority = p.expr()
			p.expect(TokRParen, "behind the priority")
		default:
			p.unexpected("a number or an expression in parentheses", "as the priority")
		}
		p.expect(TokColon, "behind the priority")
	}
	if p.kind() == TokAt {
		p.fail(p.tok().Span, diag.SyntaxMisplaced, "annotations of an entry stand behind its action")
	}
	e.Keyset = p.keyset()
	p.expect(TokColon, "behind the keyset")
	e.Action = p.actionRef()
	e.Annots = p.annotations()
	p.expect(TokSemi, "behind the entry")
	e.Loc = p.since(start)
	return e
}
