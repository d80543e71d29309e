package types

import (
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/syntax"
)

// typeParams declares type parameters in the current scope.
func (c *checker) typeParams(names []syntax.Name) []*TypeParam {
	var out []*TypeParam
	for _, n := range names {
		p := &TypeParam{Name: n.Text, decl: n}
		out = append(out, p)
		c.declare(&object{kind: objType, name: n.Text, span: n.Span(), typ: p})
	}
	return out
}

func (c *checker) nextOrder() int {
	c.order++
	return c.order
}

func (c *checker) structDecl(d *syntax.Struct) *object {
	info := &structInfo{decl: d, order: c.nextOrder()}
	o := &object{kind: objType, name: d.Name.Text, span: d.Name.Span(), decl: d, info: info, checking: true}
	o.typ = &Struct{info: info}
	c.declare(o)
	c.push()
	info.tparams = c.typeParams(d.TypeParams)
	seen := map[string]*syntax.Field{}
	for _, f := range d.Fields {
		c.annotations(f.Annots)
		t := c.resolve(f.Type)
		if why := fieldProblem(d.Kind, t); why != "" {
			c.errorf(f.Type.Span(), CodeIllFormed, "field %s of %s %s cannot be of type %s: %s", f.Name.Text, d.Kind, d.Name.Text, t, why)
			t = Bad
		}
		if old := seen[f.Name.Text]; old != nil {
			c.errorf(f.Name.Span(), CodeDuplicate, "%s has two fields %s", d.Name.Text, f.Name.Text).Note(old.Name.Span(), "the other one")
			continue
		}
		seen[f.Name.Text] = f
		info.fields = append(info.fields, &Field{Name: f.Name.Text, Type: t, Decl: f})
	}
	c.pop()
	o.checking = false
	c.info.objs[d] = o
	return o
}

// fieldProblem says why a structure cannot have a field of a type, or "".
func fieldProblem(kind syntax.StructKind, t Type) string {
	t = resolved(t)
	switch t := t.(type) {
	case Basic:
		switch t {
		case Bad:
			return ""
		case Int:
			return "int has no width"
		case Void, MatchKind, DontCare:
			return "it has no values"
		case String:
			return "no packet can carry one"
		}
	case *List:
		return "a list is a compile-time value"
	case *Extern, *Block:
		return "it is an object"
	case *TypeParam, *infer:
		return ""
	}
	switch kind {
	case syntax.KindUnion:
		if !isHeader(t) {
			return "the members of a header union are headers"
		}
	case syntax.KindHeader:
		return headerFieldProblem(t)
	}
	return ""
}

func headerFieldProblem(t Type) string {
	switch t := resolved(t).(type) {
	case *Bits, *Varbit, *SerEnum, *TypeParam:
		return ""
	case *Newtype:
		return headerFieldProblem(t.Under)
	case Basic:
		if t == Bool || t == Bad {
			return ""
		}
	case *Struct:
		if isStruct(t) {
			for _, f := range t.Fields() {
				if why := headerFieldProblem(f.Type); why != "" {
					return "its field " + f.Name + " is " + f.Type.String()
				}
				if _, ok := resolved(f.Type).(*Varbit); ok {
					return "its field " + f.Name + " is a varbit"
				}
			}
			return ""
		}
	}
	return "a header has fields of bit, int, bool, varbit, serializable enums and structs of these"
}

func (c *checker) enumDecl(d *syntax.Enum) *object {
	c.wantMembers(d, len(d.Members))
	o := &object{kind: objType, name: d.Name.Text, span: d.Name.Span(), decl: d}
	seen := map[string]syntax.NamedValue{}
	dup := func(m syntax.NamedValue) bool {
		old, ok := seen[m.Name.Text]
		if ok {
			c.errorf(m.Name.Span(), CodeDuplicate, "enum %s has two members %s", d.Name.Text, m.Name.Text).Note(old.Name.Span(), "the other one")
		}
		seen[m.Name.Text] = m
		return ok
	}
	if d.Repr == nil {
		e := &Enum{Decl: d, order: c.nextOrder()}
		for _, m := range d.Members {
			if !dup(m) {
				e.Members = append(e.Members, m.Name.Text)
			}
		}
		o.typ = e
		c.declare(o)
		return o
	}
	rt := c.resolve(d.Repr)
	b, ok := base(rt).(*Bits)
	if !ok {
		if !isBad(rt) {
			c.errorf(d.Repr.Span(), CodeIllFormed, "the representation of an enum is bit<W> or int<W>, not %s", rt)
		}
		b = nil
	}
	if b == nil {
		o.typ = Bad
		c.declare(o)
		return o
	}
	e := &SerEnum{Decl: d, Under: b, order: c.nextOrder()}
	o.typ = e
	o.checking = true
	c.declare(o)
	lo, hi := ir.Range(irBits(b))
	for _, m := range d.Members {
		if m.Value == nil {
			c.errorf(m.Name.Span(), CodeIllFormed, "member %s of a serializable enum needs a value", m.Name.Text)
			continue
		}
		t := c.expr(m.Value)
		var v Value
		if !isBad(t) {
			raw := c.eval.value(m.Value)
			if n, ok := raw.(IntVal); ok && resolved(t) == Int && (n.V.Cmp(lo) < 0 || n.V.Cmp(hi) > 0) {
				c.errorf(m.Value.Span(), CodeRange, "%s does not fit %s", n.V, b)
			} else if c.convert(m.Value, b) {
				v = c.constant(m.Value, "the value of an enum member")
			}
		}
		if dup(m) {
			continue
		}
		sm := SerMember{Name: m.Name.Text}
		if n, ok := v.(IntVal); ok {
			sm.Value = n.V
		}
		e.Members = append(e.Members, sm)
	}
	o.checking = false
	return o
}

func (c *checker) typedefDecl(d *syntax.Typedef) {
	o := &object{kind: objType, name: d.Name.Text, span: d.Name.Span(), decl: d}
	var t Type
	switch def := d.Def.(type) {
	case *syntax.Struct:
		t = c.structDecl(def).typ
	case *syntax.Enum:
		t = c.enumDecl(def).typ
	default:
		t = c.resolve(d.Type)
	}
	if d.New {
		under := resolved(t)
		if why := newtypeProblem(under); why != "" {
			c.errorf(d.Type.Span(), CodeIllFormed, "type %s cannot be made of %s: %s", d.Name.Text, t, why)
			t = Bad
		} else if under != Bad {
			t = &Newtype{Decl: d, Under: under}
		}
	} else if b, ok := resolved(t).(Basic); ok && (b == Void || b == DontCare || b == String || b == MatchKind) {
		c.errorf(d.Name.Span(), CodeIllFormed, "%s cannot be given a name", b)
		t = Bad
	}
	o.typ = t
	c.declare(o)
}

func newtypeProblem(t Type) string {
	switch t := t.(type) {
	case *Bits, *Newtype, *SerEnum, *TypeParam:
		return ""
	case Basic:
		if t == Bool || t == Bad {
			return ""
		}
	}
	return "it is for bit, int, bool and other types of this kind"
}
