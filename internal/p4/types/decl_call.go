package types

import (
	"fmt"

	"github.com/catena-nfv/catena/internal/p4/syntax"
)

// paramOwner says whose parameters are declared, for the rules about them.
type paramOwner string

const (
	ofParser   paramOwner = "parser"
	ofControl  paramOwner = "control"
	ofAction   paramOwner = "action"
	ofFunction paramOwner = "function"
	ofExtern   paramOwner = "extern"
	ofCtor     paramOwner = "constructor"
	ofPackage  paramOwner = "package"
)

// params checks and declares a list of parameters in the current scope.
func (c *checker) params(list []*syntax.Param, owner paramOwner) []*Param {
	var out []*Param
	directionless := false
	for _, d := range list {
		c.annotations(d.Annots)
		t := c.resolve(d.Type)
		p := &Param{Name: d.Name.Text, Dir: d.Dir, Type: t, Decl: d, Optional: d.Annots.Get("optional") != nil}
		if why := c.paramProblem(p, owner); why != "" {
			c.errorf(d.Span(), CodeParameter, "parameter %s: %s", p.Name, why)
			p.Type = Bad
		}
		if owner == ofAction {
			if d.Dir == syntax.DirNone {
				directionless = true
			} else if directionless {
				c.errorf(d.Span(), CodeParameter, "parameter %s: the parameters with a direction come before those of the control plane", p.Name)
			}
		}
		if d.Default != nil {
			c.paramDefault(d, p, owner)
		}
		kind := objParam
		if owner == ofCtor || owner == ofPackage {
			kind = objCtor
		}
		p.obj = &object{kind: kind, name: p.Name, span: d.Name.Span(), typ: p.Type, decl: d, dir: d.Dir}
		c.info.objs[d] = p.obj
		c.declare(p.obj)
		out = append(out, p)
	}
	return out
}

// noOptional complains about @optional parameters of what the program itself implements
// (P4_16 1.2.5, section 6.8.2).
func (c *checker) noOptional(params []*Param, what string) {
	for _, p := range params {
		if p.Optional {
			c.errorf(p.Decl.Span(), CodeParameter, "parameter %s: a %s has no @optional parameters; only packages, externs, and the types of parsers and controls have", p.Name, what)
		}
	}
}

func (c *checker) paramDefault(d *syntax.Param, p *Param, owner paramOwner) {
	if d.Dir == syntax.DirOut || d.Dir == syntax.DirInOut {
		c.errorf(d.Default.Span(), CodeParameter, "parameter %s: an %s parameter has no default", p.Name, d.Dir)
	}
	if p.Optional {
		c.errorf(d.Default.Span(), CodeParameter, "parameter %s: an @optional parameter has no default", p.Name)
	}
	c.expr(d.Default)
	if c.convert(d.Default, p.Type) && !hasTypeParam(p.Type) {
		if _, object := resolved(p.Type).(*Block); !object {
			c.constant(d.Default, "the default of a parameter")
		}
	}
}

// paramProblem says why a parameter cannot be, or "".
func (c *checker) paramProblem(p *Param, owner paramOwner) string {
	t := resolved(p.Type)
	switch u := t.(type) {
	case *Extern:
		if p.Dir != syntax.DirNone {
			return "an object is passed without a direction"
		}
		if owner == ofAction {
			return "the control plane cannot supply an object"
		}
	case *Block:
		if p.Dir != syntax.DirNone {
			return "an object is passed without a direction"
		}
		if owner != ofPackage && owner != ofCtor {
			return fmt.Sprintf("a %s can be an argument of a constructor only", u.info.kind)
		}
	case Basic:
		switch u {
		case Void, DontCare:
			return "void has no values"
		case Int:
			if p.Dir != syntax.DirNone {
				return "int has no width and can be passed without a direction only"
			}
			if owner == ofAction {
				return "int has no width; the control plane needs one"
			}
		case String, MatchKind:
			if p.Dir != syntax.DirNone {
				return u.String() + " is a compile-time value and is passed without a direction"
			}
			if owner == ofAction {
				return "the control plane cannot supply a " + u.String()
			}
		}
	case *List:
		if p.Dir != syntax.DirNone {
			return "a list is a compile-time value and is passed without a direction"
		}
		if owner == ofAction {
			return "the control plane cannot supply a list"
		}
	}
	if (owner == ofCtor || owner == ofPackage) && p.Dir != syntax.DirNone {
		return "the parameters of a constructor have no direction"
	}
	return ""
}

func (c *checker) externFunction(d *syntax.ExternFunction) {
	s := &Sig{kind: callExtern, name: d.Name.Text, decl: d}
	c.push()
	c.signature(s, d.Return, d.TypeParams, d.Params, ofExtern)
	c.pop()
	c.declare(&object{kind: objFunc, name: d.Name.Text, span: d.Name.Span(), decl: d, sigs: []*Sig{s}, typ: Void})
}

// signature fills a Sig in the current scope.
func (c *checker) signature(s *Sig, ret syntax.Type, tparams []syntax.Name, params []*syntax.Param, owner paramOwner) {
	s.tparams = c.typeParams(tparams)
	s.ret = Void
	if ret != nil {
		s.ret = c.resolve(ret)
		switch t := resolved(s.ret).(type) {
		case *Extern, *Block:
			c.errorf(ret.Span(), CodeIllFormed, "%s cannot return an object of type %s", s.name, t)
			s.ret = Bad
		case Basic:
			if t == MatchKind || t == DontCare {
				c.errorf(ret.Span(), CodeIllFormed, "%s cannot return a %s", s.name, t)
				s.ret = Bad
			}
			if t == Int && owner == ofFunction {
				c.errorf(ret.Span(), CodeIllFormed, "%s cannot return int: it has no width", s.name)
				s.ret = Bad
			}
		}
	}
	s.params = c.params(params, owner)
}

func (c *checker) externObject(d *syntax.ExternObject) {
	info := &externInfo{decl: d, methods: map[string][]*Sig{}}
	o := &object{kind: objType, name: d.Name.Text, span: d.Name.Span(), decl: d, ext: info}
	self := &Extern{info: info}
	o.typ = self
	c.declare(o)
	c.push()
	info.tparams = c.typeParams(d.TypeParams)
	for _, p := range info.tparams {
		self.Args = append(self.Args, p)
	}
	for _, m := range d.Methods {
		c.annotations(m.Annots)
		c.push()
		s := &Sig{kind: callMethod, name: m.Name.Text, decl: m, abstract: m.Abstract}
		if m.Constructor {
			if m.Name.Text != d.Name.Text {
				c.errorf(m.Name.Span(), CodeIllFormed, "a method needs a result type; the constructor would be called %s", d.Name.Text)
			}
			s.kind = callCtor
			c.signature(s, nil, nil, m.Params, ofCtor)
			s.ret = self
			c.overload(&info.ctors, s)
		} else {
			if m.Name.Text == d.Name.Text {
				c.errorf(m.Name.Span(), CodeIllFormed, "method %s has the name of its type, which is for the constructor", m.Name.Text)
			}
			c.signature(s, m.Return, m.TypeParams, m.Params, ofExtern)
			sigs := info.methods[m.Name.Text]
			for _, old := range sigs {
				if old.abstract || m.Abstract {
					c.errorf(m.Name.Span(), CodeAbstract, "abstract method %s cannot be overloaded", m.Name.Text).Note(nodeSpan(old.decl), "the other one")
					break
				}
			}
			c.overload(&sigs, s)
			info.methods[m.Name.Text] = sigs
		}
		c.pop()
	}
	c.pop()
}

// overload adds a method or constructor to those of the same name.
func (c *checker) overload(to *[]*Sig, s *Sig) {
	for _, old := range *to {
		if sameNames(old.params, s.params) {
			c.errorf(nodeSpan(s.decl), CodeDuplicate, "%s is declared twice with the same parameters", s.name).Note(nodeSpan(old.decl), "the other declaration")
			return
		}
	}
	*to = append(*to, s)
}

func (c *checker) functionDecl(d *syntax.Function) {
	s := &Sig{kind: callFunction, name: d.Name.Text, decl: d}
	o := &object{kind: objFunc, name: d.Name.Text, span: d.Name.Span(), decl: d, sigs: []*Sig{s}, typ: Void}
	s.object = o
	c.push()
	c.signature(s, d.Return, d.TypeParams, d.Params, ofFunction)
	c.noOptional(s.params, "function")
	inner := c.scope
	c.pop()
	c.declare(o)
	c.functionBody(s, d.Body, inner)
}

// functionBody checks the body of a function in the scope of its parameters.
func (c *checker) functionBody(s *Sig, body *syntax.Block, inner *scope) {
	outerScope, outerCtx := c.scope, c.ctx
	c.scope = inner
	c.ctx = context{function: s, fn: true, ret: s.ret, block: outerCtx.block}
	if s.object != nil {
		s.object.checking = true
	}
	c.paramScopeBlock(body)
	if resolved(s.ret) != Void && !isBad(s.ret) && !c.ends(body) {
		c.errorf(nodeSpan(s.decl), CodeReturn, "function %s can end without a return", s.name)
	}
	if s.object != nil {
		s.object.checking = false
	}
	c.scope, c.ctx = outerScope, outerCtx
}

// paramScopeBlock checks the outermost block of a body. It shares the scope of the
// parameters: a local with the name of a parameter is a second declaration.
func (c *checker) paramScopeBlock(b *syntax.Block) {
	c.annotations(b.Annots)
	c.stmts(b.Stmts)
}

func (c *checker) actionDecl(d *syntax.Action) {
	s := &Sig{kind: callAction, name: d.Name.Text, decl: d, ret: Void}
	o := &object{kind: objAction, name: d.Name.Text, span: d.Name.Span(), decl: d, sigs: []*Sig{s}, typ: &ActionRef{s}}
	s.object = o
	c.push()
	s.params = c.params(d.Params, ofAction)
	c.noOptional(s.params, "action")
	inner := c.scope
	c.pop()
	c.declare(o)
	c.info.objs[d] = o
	outerScope, outerCtx := c.scope, c.ctx
	c.scope = inner
	c.ctx = context{action: s, fn: true, ret: Void, block: outerCtx.block}
	o.checking = true
	c.paramScopeBlock(d.Body)
	o.checking = false
	c.scope, c.ctx = outerScope, outerCtx
}

func (c *checker) blockType(d syntax.Decl, kind blockKind, tparams []syntax.Name, params []*syntax.Param) {
	name := d.DeclName()
	info := &blockInfo{kind: kind, name: name.Text, decl: d, isType: true}
	o := &object{kind: objType, name: name.Text, span: name.Span(), decl: d, block: info}
	self := &Block{info: info}
	o.typ = self
	c.push()
	info.tparams = c.typeParams(tparams)
	for _, p := range info.tparams {
		self.Args = append(self.Args, p)
	}
	owner := ofControl
	if kind == parserBlock {
		owner = ofParser
	}
	info.params = c.params(params, owner)
	c.pop()
	c.declare(o)
}

func (c *checker) packageDecl(d *syntax.Package) {
	info := &blockInfo{kind: packageBlock, name: d.Name.Text, decl: d}
	o := &object{kind: objType, name: d.Name.Text, span: d.Name.Span(), decl: d, block: info}
	self := &Block{info: info}
	o.typ = self
	c.push()
	info.tparams = c.typeParams(d.TypeParams)
	for _, p := range info.tparams {
		self.Args = append(self.Args, p)
	}
	info.ctor = c.params(d.Params, ofPackage)
	c.pop()
	c.declare(o)
}
