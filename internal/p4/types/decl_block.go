package types

import (
	"github.com/catena-nfv/catena/internal/p4/syntax"
)

// beginBlock declares a parser or control and opens its scopes: the type parameters,
// the constructor's and the block's own parameters share one scope.
func (c *checker) beginBlock(d syntax.Decl, kind blockKind, owner paramOwner, tparams []syntax.Name, params, ctor []*syntax.Param) (*object, *blockInfo) {
	name := d.DeclName()
	info := &blockInfo{kind: kind, name: name.Text, decl: d}
	o := &object{kind: objType, name: name.Text, span: name.Span(), decl: d, block: info}
	o.typ = &Block{info: info}
	c.declare(o)
	c.info.objs[d] = o
	o.checking = true
	if len(tparams) > 0 {
		c.errorf(tparams[0].Span(), CodeIllFormed, "%s %s cannot have type parameters: only the declaration of a %s type can", kind, name.Text, kind)
	}
	c.push()
	c.typeParams(tparams)
	info.params = c.params(params, owner)
	info.ctor = c.params(ctor, ofCtor)
	c.noOptional(info.params, string(owner))
	c.noOptional(info.ctor, string(owner))
	c.ctx = context{block: info}
	return o, info
}

func (c *checker) controlDecl(d *syntax.Control) {
	outer := c.ctx
	o, info := c.beginBlock(d, controlBlock, ofControl, d.TypeParams, d.Params, d.CtorParams)
	params := c.scope
	c.push()
	for _, l := range d.Locals {
		c.localDecl(l)
	}
	// The apply block may hide locals of the control, but not its parameters.
	locals := c.scope
	c.push()
	for n, p := range params.names {
		if l := locals.names[n]; l == nil {
			c.scope.names[n] = p
		}
	}
	c.ctx = context{block: info, inApply: true, fn: true, ret: Void}
	if d.Body != nil {
		c.paramScopeBlock(d.Body)
	}
	c.pop()
	c.pop()
	c.pop()
	o.checking = false
	c.ctx = outer
}

// localDecl checks a declaration of a parser or control.
func (c *checker) localDecl(d syntax.Decl) {
	ctx := c.ctx
	switch d := d.(type) {
	case *syntax.Table:
		c.tableDecl(d)
	case *syntax.ValueSet:
		c.valueSet(d)
	default:
		c.annotations(d.DeclAnnotations())
		c.decl(d)
	}
	c.ctx = ctx
}

func (c *checker) valueSet(d *syntax.ValueSet) {
	c.annotations(d.Annots)
	t := c.resolve(d.Elem)
	if n, ok := c.constInt(d.Size, "the size of a value set"); ok && n.Sign() < 0 {
		c.errorf(d.Size.Span(), CodeRange, "the size of a value set cannot be %s", n)
	}
	if why := valueSetProblem(t); why != "" {
		c.errorf(d.Elem.Span(), CodeIllFormed, "a value set cannot hold %s: %s", t, why)
		t = Bad
	}
	o := &object{kind: objValueSet, name: d.Name.Text, span: d.Name.Span(), typ: &Set{t}, decl: d}
	c.info.objs[d] = o
	c.declare(o)
}

func valueSetProblem(t Type) string {
	switch u := base(t).(type) {
	case *Bits, *Enum, *TypeParam:
		return ""
	case Basic:
		if u == Bool || u == Bad || u == Error {
			return ""
		}
	case *Tuple:
		for _, e := range u.Elems {
			if why := valueSetProblem(e); why != "" {
				return why
			}
		}
		return ""
	case *Struct:
		if isStruct(u) {
			for _, f := range u.Fields() {
				if why := valueSetProblem(f.Type); why != "" {
					return why
				}
			}
			return ""
		}
	}
	return "it holds numbers, bools, enums, and tuples and structs of these"
}

func (c *checker) parserDecl(d *syntax.Parser) {
	outer := c.ctx
	o, info := c.beginBlock(d, parserBlock, ofParser, d.TypeParams, d.Params, d.CtorParams)
	c.push()
	for _, l := range d.Locals {
		c.localDecl(l)
	}
	states := map[string]*syntax.State{}
	for _, s := range d.States {
		name := s.Name.Text
		if name == "accept" || name == "reject" {
			c.errorf(s.Name.Span(), CodeState, "state %s is built in and cannot be declared", name)
			continue
		}
		if old := states[name]; old != nil {
			c.errorf(s.Name.Span(), CodeDuplicate, "state %s is declared twice", name).Note(old.Name.Span(), "first declared here")
			continue
		}
		for _, l := range d.Locals {
			if n := l.DeclName(); n.Text == name {
				c.errorf(s.Name.Span(), CodeDuplicate, "state %s has the name of what is declared in the parser", name).Note(n.Span(), "declared here")
			}
		}
		states[name] = s
	}
	if states["start"] == nil {
		c.errorf(nodeSpan(d), CodeState, "parser %s has no state start", d.Name.Text)
	}
	for _, s := range d.States {
		c.state(s, states, info)
	}
	c.pop()
	c.pop()
	o.checking = false
	c.ctx = outer
}

func (c *checker) state(s *syntax.State, states map[string]*syntax.State, info *blockInfo) {
	c.annotations(s.Annots)
	c.ctx = context{block: info, inParser: true, fn: true}
	c.push()
	c.stmts(s.Stmts)
	switch t := s.Next.(type) {
	case *syntax.Goto:
		c.stateName(t.State, states)
	case *syntax.Select:
		c.selectExpr(t, states)
	case nil:
		c.warnf(s.Name.Span(), CodeState, "state %s has no transition: it rejects the packet", s.Name.Text)
	}
	c.pop()
}

func (c *checker) stateName(n syntax.Name, states map[string]*syntax.State) {
	if n.Text == "accept" || n.Text == "reject" || states[n.Text] != nil {
		return
	}
	c.errorf(n.Span(), CodeState, "there is no state %s", n.Text)
}

func (c *checker) selectExpr(t *syntax.Select, states map[string]*syntax.State) {
	var keys []Type
	for _, e := range t.Exprs {
		kt := c.value(e)
		switch u := resolved(kt).(type) {
		case *ListLit, *RecordLit, *Tuple:
			if len(t.Exprs) != 1 {
				c.errorf(e.Span(), CodeMismatch, "cannot select on %s", kt)
				kt = Bad
			}
		default:
			if !selectable(u) {
				c.errorf(e.Span(), CodeMismatch, "cannot select on a value of type %s", kt)
				kt = Bad
			}
		}
		keys = append(keys, kt)
	}
	defaults := 0
	for i := range t.Cases {
		k := &t.Cases[i]
		if defaults == 1 {
			c.warnf(k.Span(), CodeState, "this case is never reached: the one before matches everything")
		}
		c.keyset(k.Keyset, keys, "select")
		if everything(k.Keyset) {
			defaults++
		}
		c.stateName(k.State, states)
	}
	for i, kt := range keys {
		if resolved(kt) == Int && len(t.Cases) > 0 && c.eval.value(t.Exprs[i]) == nil {
			c.constant(t.Exprs[i], "a number without a width")
		}
	}
}

// everything reports whether a keyset matches all values.
func everything(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.DefaultExpr, *syntax.DontCare:
		return true
	case *syntax.TupleKeyset:
		for _, x := range e.Elems {
			if !everything(x) {
				return false
			}
		}
		return true
	}
	return false
}

func selectable(t Type) bool {
	switch u := base(t).(type) {
	case *Bits, *Enum, *TypeParam, *infer:
		return true
	case Basic:
		return u == Bool || u == Int || u == Error || u == Bad
	case *Struct:
		if !isStruct(u) {
			return false
		}
		for _, f := range u.Fields() {
			if !selectable(f.Type) {
				return false
			}
		}
		return true
	}
	return false
}

// keyset checks the keyset of a select case or table entry against the types of the
// expressions, and records the conversions of its values.
func (c *checker) keyset(e syntax.Expr, keys []Type, what string) bool {
	if t, ok := e.(*syntax.TupleKeyset); ok {
		if len(keys) == 1 {
			if parts, ok := spread(keys[0]); ok {
				keys = parts
			}
		}
		if len(t.Elems) != len(keys) {
			c.errorf(e.Span(), CodeMismatch, "%d keysets for %d value(s)", len(t.Elems), len(keys))
			return false
		}
		ok := true
		for i, x := range t.Elems {
			ok = c.oneKeyset(x, keys[i]) && ok
		}
		return ok
	}
	if l, ok := e.(*syntax.ListExpr); ok && len(keys) > 1 {
		// { a, b } works as (a, b) does.
		return c.keyset(&syntax.TupleKeyset{Loc: syntax.At(l.Span()), Elems: l.Elems}, keys, what)
	}
	if len(keys) == 1 {
		return c.oneKeyset(e, keys[0])
	}
	switch e.(type) {
	case *syntax.DefaultExpr, *syntax.DontCare:
		return true
	}
	t := c.value(e)
	if s, ok := resolved(t).(*Set); ok {
		parts, _ := spread(s.Elem)
		if len(parts) == len(keys) {
			for i := range parts {
				if !c.fits(parts[i], keys[i]) {
					c.errorf(e.Span(), CodeMismatch, "the value set holds %s, the value is %s", parts[i], keys[i])
					return false
				}
			}
			return true
		}
	}
	if tt, ok := resolved(t).(*Tuple); ok && len(tt.Elems) == len(keys) {
		return c.convert(e, &Tuple{keys})
	}
	if !isBad(t) {
		c.errorf(e.Span(), CodeMismatch, "a keyset for %d values is wanted: (…, …)", len(keys))
	}
	return false
}

// spread gives the parts of a tuple-like type.
func spread(t Type) ([]Type, bool) {
	switch u := resolved(t).(type) {
	case *Tuple, *ListLit, *RecordLit:
		_, parts := elemTypes(u)
		return parts, true
	case *Struct:
		if isStruct(u) {
			_, parts := elemTypes(u)
			return parts, true
		}
	}
	return nil, false
}

// oneKeyset checks a keyset of one value.
func (c *checker) oneKeyset(e syntax.Expr, key Type) bool {
	switch e := e.(type) {
	case *syntax.DefaultExpr, *syntax.DontCare:
		return true
	case *syntax.MaskExpr:
		return c.keysetPair(e, e.Value, e.Mask, key, "&&&")
	case *syntax.RangeExpr:
		return c.keysetPair(e, e.Lo, e.Hi, key, "..")
	case *syntax.TupleKeyset:
		return c.keyset(e, []Type{key}, "")
	}
	t := c.value(e)
	if isBad(t) || isBad(key) {
		return false
	}
	if resolved(t) == Dots {
		return c.mismatch(e, t, key)
	}
	if s, ok := resolved(t).(*Set); ok {
		if parts, ok := spread(s.Elem); ok && len(parts) == 1 && !identical(s.Elem, key) {
			return c.fits(parts[0], key) || c.mismatch(e, s.Elem, key)
		}
		return c.fits(s.Elem, key) || c.mismatch(e, s.Elem, key)
	}
	if resolved(key) == Int {
		if _, ok := base(t).(*Bits); ok || resolved(t) == Int {
			return c.fixed(e, "a keyset")
		}
		return c.mismatch(e, t, key)
	}
	if !c.convert(e, key) {
		return false
	}
	return c.fixed(e, "a keyset")
}

func (c *checker) mismatch(e syntax.Expr, t, want Type) bool {
	c.errorf(e.Span(), CodeMismatch, "%s is wanted, not %s", want, t)
	return false
}

func (c *checker) keysetPair(e syntax.Expr, a, b syntax.Expr, key Type, op string) bool {
	ta, tb := c.value(a), c.value(b)
	if isBad(ta) || isBad(tb) || isBad(key) {
		return false
	}
	want := base(key) // a mask is made of bits, also of an enum's or a newtype's
	if _, ok := want.(*Bits); !ok && resolved(key) != Int {
		c.errorf(e.Span(), CodeOperand, "%s is for numbers; the value is %s", op, key)
		return false
	}
	for _, x := range []syntax.Expr{a, b} {
		t := c.info.types[x]
		if _, ok := base(t).(*Bits); !ok && resolved(t) != Int {
			c.errorf(x.Span(), CodeOperand, "%s is for numbers, not for %s", op, t)
			return false
		}
		if identical(t, key) {
			continue
		}
		if !c.convert(x, want) {
			return false
		}
	}
	okA, okB := c.fixed(a, "a keyset"), c.fixed(b, "a keyset")
	return okA && okB
}
