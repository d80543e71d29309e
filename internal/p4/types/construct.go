package types

import (
	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/syntax"
)

// construct checks a constructor call T(args): in an expression, or (declared) as the
// instantiation of a name. It returns the type of the object.
func (c *checker) construct(e syntax.Node, span diag.Span, t Type, args []syntax.Arg, declared bool) Type {
	for _, a := range args {
		c.constructorArg(a.Value)
	}
	var sigs []*Sig
	var params []*TypeParam
	var given []Type
	var name string
	switch u := resolved(t).(type) {
	case *Extern:
		if len(u.info.ctors) == 0 {
			if len(args) == 0 {
				sigs = nil
			}
			c.errorf(span, CodeConstructor, "extern %s has no constructor", u).Note(nodeSpan(u.info.decl), "declared here")
			return Bad
		}
		sigs, params, given, name = u.info.ctors, u.info.tparams, u.Args, u.info.decl.Name.Text
	case *Block:
		if u.info.isType {
			c.errorf(span, CodeConstructor, "%s is the declaration of a %s type and cannot be instantiated", u.info.name, u.info.kind).Note(nodeSpan(u.info.decl), "declared here")
			return Bad
		}
		if u.info == c.ctx.block {
			c.errorf(span, CodeRecursion, "%s contains itself: P4 has no recursion", u.info.name)
			return Bad
		}
		sigs = []*Sig{{kind: callCtor, name: u.info.name, decl: u.info.decl, params: u.info.ctor, ret: selfType(u.info)}}
		params, given, name = u.info.tparams, u.Args, u.info.name
	case Basic:
		if u == Bad {
			return Bad
		}
		c.errorf(span, CodeConstructor, "%s cannot be instantiated; a conversion is written (%s) x", u, u)
		return Bad
	default:
		c.errorf(span, CodeConstructor, "%s cannot be instantiated; a conversion is written (%s) x", u, u)
		return Bad
	}
	c.instancePlace(span, resolved(t))
	sig, placed := c.choose(span, sigs, name, args)
	if sig == nil {
		return Bad
	}
	s := subst{}
	for i, p := range params {
		if i < len(given) && resolved(given[i]) != DontCare {
			if tp, ok := given[i].(*TypeParam); ok && tp == p {
				s[p] = &infer{param: p} // a generic type without arguments
				continue
			}
			s[p] = given[i]
		} else {
			s[p] = &infer{param: p}
		}
	}
	full := *sig
	full.tparams = params
	ci := &callInfo{sig: sig, args: placed, subst: s}
	if !c.arguments(span, &full, s, ci) {
		return Bad
	}
	for _, p := range params {
		if s[p] == Void {
			// Nothing says what it is; only that matters to those who use it.
			s[p] = DontCare
			if isExtern(t) {
				c.errorf(span, CodeTypeArgs, "the type argument %s of %s cannot be inferred; write it: %s<…>(…)", p.Name, name, name)
				return Bad
			}
		}
	}
	ci.result = s.apply(sig.ret)
	c.info.calls[e] = ci
	return ci.result
}

func isExtern(t Type) bool {
	_, ok := resolved(t).(*Extern)
	return ok
}

func selfType(info *blockInfo) Type {
	b := &Block{info: info}
	for _, p := range info.tparams {
		b.Args = append(b.Args, p)
	}
	return b
}

// constructorArg checks an argument of a constructor, where objects may be made.
func (c *checker) constructorArg(e syntax.Expr) {
	c.argument(e)
}

// instancePlace checks where an object of a type may be made.
func (c *checker) instancePlace(span diag.Span, t Type) {
	what := t.String()
	b, _ := t.(*Block)
	switch {
	case c.ctx.fn && (c.ctx.action != nil || c.ctx.function != nil):
		c.errorf(span, CodeConstructor, "%s cannot be instantiated in an action or function; do it in the control or parser", what)
	case c.ctx.fn:
		c.errorf(span, CodeConstructor, "%s cannot be instantiated among statements; do it before the apply block or the states", what)
	case b == nil || c.ctx.block == nil:
	case b.info.kind == packageBlock:
		c.errorf(span, CodeConstructor, "a package can be instantiated at top level only")
	case b.info.kind == parserBlock && c.ctx.block.kind == controlBlock:
		c.errorf(span, CodeConstructor, "a parser cannot be instantiated in a control")
	case b.info.kind == controlBlock && c.ctx.block.kind == parserBlock:
		c.errorf(span, CodeConstructor, "a control cannot be instantiated in a parser")
	}
}

// instantiation checks `T(args) name;`.
func (c *checker) instantiation(d *syntax.Instantiation) {
	c.annotations(d.Annots)
	t := c.resolveType(d.Type, true)
	c.info.written[d.Type] = t
	o := &object{kind: objInstance, name: d.Name.Text, span: d.Name.Span(), decl: d, typ: Bad}
	if isBad(t) {
		for _, a := range d.Args {
			c.argument(a.Value)
		}
	} else {
		o.typ = c.construct(d, d.Name.Span(), t, d.Args, true)
	}
	if x, ok := resolved(o.typ).(*Extern); ok {
		c.implementations(d, x)
	} else if d.Members != nil && !isBad(o.typ) {
		c.errorf(d.Name.Span(), CodeAbstract, "only instances of externs can have methods")
	}
	c.info.objs[d] = o
	if c.ctx.block == nil {
		if b, ok := resolved(o.typ).(*Block); ok && b.info.kind != packageBlock {
			c.errorf(d.Name.Span(), CodeConstructor, "a %s cannot be instantiated at top level; pass %s(…) to the package", b.info.kind, b.info.name)
		}
		c.info.globals = append(c.info.globals, o)
	}
	c.declare(o)
}

// implementations checks the methods that an instance gives to the abstract ones of
// its extern.
func (c *checker) implementations(d *syntax.Instantiation, x *Extern) {
	given := map[string]bool{}
	var methods []*syntax.Function
	outer := c.scope
	c.push()
	for _, m := range d.Members {
		if f, ok := m.(*syntax.Function); ok {
			methods = append(methods, f)
			continue
		}
		c.decl(m)
	}
	// A method sees what is at top level and in the instance, not the block around it.
	c.scope.outer = outer.top()
	for _, f := range methods {
		if given[f.Name.Text] {
			c.errorf(f.Name.Span(), CodeDuplicate, "%s implements method %s twice", d.Name.Text, f.Name.Text)
		}
		given[f.Name.Text] = true
		c.implementation(f, x)
	}
	c.scope = outer
	for _, m := range x.info.decl.Methods {
		if m.Abstract && !given[m.Name.Text] {
			c.errorf(d.Name.Span(), CodeAbstract, "%s does not implement the abstract method %s of %s", d.Name.Text, m.Name.Text, x).Note(m.Name.Span(), "declared here")
		}
	}
}

func (c *checker) implementation(f *syntax.Function, x *Extern) {
	s := &Sig{kind: callFunction, name: f.Name.Text, decl: f}
	c.push()
	c.signature(s, f.Return, f.TypeParams, f.Params, ofFunction)
	inner := c.scope
	c.pop()
	var want *Sig
	for _, m := range x.info.methods[f.Name.Text] {
		if len(m.params) == len(s.params) {
			want = m
		}
	}
	switch {
	case want == nil:
		c.errorf(f.Name.Span(), CodeAbstract, "%s has no abstract method %s with %d parameter(s)", x, f.Name.Text, len(s.params))
	case !want.abstract:
		c.errorf(f.Name.Span(), CodeAbstract, "method %s of %s is not abstract and cannot be implemented", f.Name.Text, x).Note(nodeSpan(want.decl), "declared here")
	default:
		sub := bind(x.info.tparams, x.Args)
		same := identical(sub.apply(want.ret), s.ret) && len(want.tparams) == len(s.tparams)
		for i, p := range want.params {
			same = same && p.Dir == s.params[i].Dir && identical(sub.apply(p.Type), s.params[i].Type)
		}
		if !same && len(want.tparams) == 0 {
			c.errorf(f.Name.Span(), CodeAbstract, "%s differs from the abstract method that it implements", f.Name.Text).Note(nodeSpan(want.decl), "declared here")
		}
	}
	c.functionBody(s, f.Body, inner)
}
