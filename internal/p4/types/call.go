package types

import (
	"math/big"
	"slices"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/syntax"
)

// call checks a call in an expression or statement.
func (c *checker) call(e *syntax.Call) Type {
	var ft Type
	if te, ok := e.Fun.(*syntax.TypeExpr); ok {
		ft = c.expr(te)
		if r, ok := ft.(*TypeRef); ok {
			return c.construct(e, e.Span(), r.T, e.Args, false)
		}
	} else {
		ft = c.expr(e.Fun)
	}
	ft = resolved(ft)
	var targs []Type
	for _, a := range e.TypeArgs {
		targs = append(targs, c.resolveArg(a))
	}
	switch t := ft.(type) {
	case *TypeRef:
		return c.construct(e, e.Span(), t.T, e.Args, false)
	case *FuncRef:
		return c.callOverload(e, e.Span(), t.sigs, t.name, subst{}, targs, e.Args, nil)
	case *MethodRef:
		m, _ := e.Fun.(*syntax.Member)
		c.methodAllowed(e, t)
		return c.callOverload(e, e.Span(), t.sigs, t.name, bind(t.recv.info.tparams, t.recv.Args), targs, e.Args, m)
	case *ActionRef:
		if len(targs) > 0 {
			c.errorf(e.Span(), CodeTypeArgs, "action %s takes no type arguments", t.sig.name)
		}
		if c.ctx.function != nil || c.ctx.inParser {
			c.errorf(e.Span(), CodeMisplaced, "an action can be called only by a control or another action")
		}
		return c.callOverload(e, e.Span(), []*Sig{t.sig}, t.sig.name, subst{}, nil, e.Args, nil)
	case *BuiltinRef:
		if len(targs) > 0 {
			c.errorf(e.Span(), CodeTypeArgs, "%s takes no type arguments", t.name)
		}
		return c.callBuiltin(e, t)
	case Basic:
		if t == Bad {
			for _, a := range e.Args {
				c.argument(a.Value)
			}
			return Bad
		}
	}
	for _, a := range e.Args {
		c.argument(a.Value)
	}
	c.errorf(e.Span(), CodeOperand, "%s cannot be called", describe(ft))
	return Bad
}

func describe(t Type) string {
	if what := notValue(t); what != "" {
		return what
	}
	return "a value of type " + t.String()
}

// methodAllowed checks where the methods of the core externs can be called.
func (c *checker) methodAllowed(e *syntax.Call, m *MethodRef) {
	switch m.recv.info.decl.Name.Text {
	case "packet_in":
		if c.ctx.block != nil && c.ctx.block.kind == controlBlock && c.ctx.fn && c.ctx.function == nil {
			c.errorf(e.Span(), CodeMisplaced, "a packet can be read only in a parser")
		}
	}
}

// argument checks an argument, which may be `_`.
func (c *checker) argument(e syntax.Expr) Type {
	if _, ok := e.(*syntax.DontCare); ok {
		c.info.types[e] = DontCare
		return DontCare
	}
	t := c.expr(e)
	return t
}

// place puts arguments to parameters. why says what is wrong when it returns nil.
func place(params []*Param, args []syntax.Arg) (placed []syntax.Expr, at diag.Span, why string) {
	placed = make([]syntax.Expr, len(params))
	named := false
	for i, a := range args {
		if i > 0 && named != (a.Name != nil) {
			return nil, a.Span(), "either all arguments have a name or none"
		}
		k := i
		if a.Name != nil {
			named = true
			k = -1
			for j, p := range params {
				if p.Name == a.Name.Text {
					k = j
				}
			}
			if k < 0 {
				return nil, a.Span(), "there is no parameter " + a.Name.Text
			}
		}
		if k >= len(params) {
			return nil, a.Span(), "too many arguments"
		}
		if placed[k] != nil {
			return nil, a.Span(), "parameter " + params[k].Name + " is given twice"
		}
		placed[k] = a.Value
	}
	var missing []string
	for i, p := range params {
		if placed[i] == nil && !p.Optional && p.Decl.Default == nil {
			missing = append(missing, p.Name)
		}
	}
	if missing != nil {
		return nil, diag.Span{}, "no argument for " + strings.Join(missing, ", ")
	}
	return placed, diag.Span{}, ""
}

// callOverload chooses the overload by the number and names of the arguments, infers
// the type arguments and checks the arguments.
func (c *checker) callOverload(e syntax.Node, span diag.Span, sigs []*Sig, name string, outer subst, targs []Type, args []syntax.Arg, recv *syntax.Member) Type {
	for _, a := range args {
		c.argument(a.Value)
	}
	sig, placed := c.choose(span, sigs, name, args)
	if sig == nil {
		return Bad
	}
	if sig.object != nil && sig.object.checking && (sig == c.ctx.function || sig == c.ctx.action) {
		c.errorf(span, CodeRecursion, "%s calls itself: P4 has no recursion", name)
		return Bad
	}
	ci := &callInfo{sig: sig, args: placed}
	if recv != nil {
		ci.recv, ci.recvT = recv.X, c.info.types[recv.X]
	}
	s, ok := c.typeArguments(span, sig, outer, targs)
	if !ok {
		return Bad
	}
	if !c.arguments(span, sig, s, ci) {
		return Bad
	}
	ci.subst = s
	ci.result = s.apply(sig.ret)
	c.info.calls[e] = ci
	c.callRules(e, span, sig, ci)
	return ci.result
}

func (c *checker) choose(span diag.Span, sigs []*Sig, name string, args []syntax.Arg) (*Sig, []syntax.Expr) {
	var found []*Sig
	var placed []syntax.Expr
	for _, s := range sigs {
		if p, _, why := place(s.params, args); why == "" {
			// An overload that takes exactly these arguments is better than one that
			// fills in defaults.
			if len(found) == 1 && len(found[0].params) > len(args) && len(s.params) == len(args) {
				found = nil
			} else if len(found) == 1 && len(found[0].params) == len(args) && len(s.params) > len(args) {
				continue
			}
			found, placed = append(found, s), p
		}
	}
	switch len(found) {
	case 1:
		return found[0], placed
	case 0:
		if len(sigs) == 1 {
			_, at, why := place(sigs[0].params, args)
			if !at.IsValid() {
				at = span
			}
			c.errorf(at, CodeArguments, "%s: %s", name, why).Note(nodeSpan(sigs[0].decl), "declared here")
			return nil, nil
		}
		d := c.errorf(span, CodeArguments, "no %s takes these %d argument(s)", name, len(args))
		for _, s := range sigs {
			d.Note(nodeSpan(s.decl), "this one takes %d", len(s.params))
		}
		return nil, nil
	}
	d := c.errorf(span, CodeAmbiguous, "more than one %s takes these arguments", name)
	for _, s := range found {
		d.Note(nodeSpan(s.decl), "this one does")
	}
	return nil, nil
}

// typeArguments gives the substitution of a call: the type arguments that are written,
// or types to be inferred.
func (c *checker) typeArguments(span diag.Span, sig *Sig, outer subst, targs []Type) (subst, bool) {
	s := subst{}
	for k, v := range outer {
		s[k] = v
	}
	if len(targs) > 0 && len(targs) != len(sig.tparams) {
		c.errorf(span, CodeTypeArgs, "%s takes %d type argument(s), not %d", sig.name, len(sig.tparams), len(targs)).Note(nodeSpan(sig.decl), "declared here")
		return nil, false
	}
	for i, p := range sig.tparams {
		if i < len(targs) && resolved(targs[i]) != DontCare {
			if isBad(targs[i]) {
				return nil, false
			}
			s[p] = targs[i]
			continue
		}
		s[p] = &infer{param: p}
	}
	return s, true
}

// arguments checks the arguments of a call. Inference goes first over all of them, so
// that a number without a width gets its type from another argument.
func (c *checker) arguments(span diag.Span, sig *Sig, s subst, ci *callInfo) bool {
	ok := true
	failed := make([]bool, len(sig.params))
	for i, p := range sig.params {
		a := ci.args[i]
		if a == nil {
			continue
		}
		want, have := s.apply(p.Type), c.info.types[a]
		if what := notValue(have); what != "" && resolved(have) != DontCare {
			c.errorf(a.Span(), CodeNotValue, "%s is not a value", what)
			c.info.types[a] = Bad
			have = Bad
		}
		if isBad(have) || isBad(want) {
			ok, failed[i] = false, true
			continue
		}
		if resolved(have) == DontCare {
			continue
		}
		if !c.fits(want, have) {
			c.errorf(a.Span(), CodeMismatch, "argument for %s of %s: %s is wanted, not %s", p.Name, sig.name, s.apply(want), have).
				Note(p.Decl.Span(), "the parameter")
			ok, failed[i] = false, true
		}
	}
	if !ok {
		return false
	}
	for _, p := range sig.tparams {
		v, inferred := s[p].(*infer)
		if !inferred {
			continue
		}
		t := resolved(v)
		if untyped(t) || c.skipped(ci.args, sig, p, s) {
			c.errorf(span, CodeTypeArgs, cannotInfer, p.Name, sig.name, sig.name)
			return false
		}
		if _, open := t.(*infer); open {
			if dependsOn(sig.ret, p) && sig.kind != callCtor {
				// What the result is used for may still say it.
				c.open = append(c.open, openCall{v, sig.name, span})
				continue
			}
			s[p] = Void
			continue
		}
		if l, lit := t.(*ListLit); lit {
			t = settle(l)
			v.bound = t
		}
		s[p] = t
	}
	for i, p := range sig.params {
		if !c.passed(ci.args[i], p, sig, s) {
			ok = false
		}
	}
	return ok
}

// openCall is a call of which a type argument depends on what its result is used for.
type openCall struct {
	v    *infer
	name string
	span diag.Span
}

// checkOpen complains about the type arguments that nothing has determined.
func (c *checker) checkOpen() {
	for _, o := range c.open {
		if _, open := resolved(o.v).(*infer); open {
			c.errorf(o.span, CodeTypeArgs, cannotInfer, o.v.param.Name, o.name, o.name)
		}
	}
}

const cannotInfer = "the type argument %s of %s cannot be inferred; write it: %s<…>(…)"

// untyped reports whether a literal says nothing of its type: {#}, `...`, and lists
// that hold one of these.
func untyped(t Type) bool {
	switch t := resolved(t).(type) {
	case Basic:
		return t == Invalid || t == Dots
	case *ListLit:
		return t.rest || slices.ContainsFunc(t.Elems, untyped)
	}
	return false
}

// skipped reports whether all that could say what a type parameter is is an argument `_`.
func (c *checker) skipped(args []syntax.Expr, sig *Sig, tp *TypeParam, s subst) bool {
	if _, open := resolved(s[tp]).(*infer); !open {
		return false
	}
	for i, p := range sig.params {
		if a := args[i]; a != nil && p.Type == tp && resolved(c.info.types[a]) == DontCare {
			return true
		}
	}
	return false
}

// settle makes a tuple of a list literal that nothing gave another type.
func settle(l *ListLit) Type {
	t := &Tuple{}
	for _, e := range l.Elems {
		if in, ok := resolved(e).(*ListLit); ok {
			e = settle(in)
		}
		t.Elems = append(t.Elems, e)
	}
	return t
}

func dependsOn(t Type, tp *TypeParam) bool {
	marker := &TypeParam{Name: tp.Name}
	return !identical(subst{tp: marker}.apply(t), t)
}

// passed checks one argument against the direction of its parameter.
func (c *checker) passed(a syntax.Expr, p *Param, sig *Sig, s subst) bool {
	if a == nil {
		return true
	}
	want, have := s.apply(p.Type), c.info.types[a]
	if resolved(have) == DontCare {
		if p.Dir != syntax.DirOut {
			c.errorf(a.Span(), CodeArguments, "_ can stand only for an out argument; %s is not out", p.Name)
			return false
		}
		if resolved(want) == Int {
			c.errorf(a.Span(), CodeTypeArgs, "the type of %s cannot be inferred: a number gives no width", p.Name)
			return false
		}
		return true
	}
	switch p.Dir {
	case syntax.DirOut, syntax.DirInOut:
		if !c.lvalue(a, "an "+p.Dir.String()+" argument") {
			return false
		}
		if !identical(want, have) {
			c.errorf(a.Span(), CodeMismatch, "argument for %s of %s: an %s argument has to be exactly of type %s, not %s", p.Name, sig.name, p.Dir, want, have)
			return false
		}
		return true
	}
	if !c.convert(a, want) {
		return false
	}
	if p.Dir == syntax.DirNone && sig.kind != callAction {
		return c.compileTime(a, p, sig)
	}
	return true
}

// compileTime checks that an argument for a parameter without a direction is known at
// compile time: a constant, a constructor parameter or an object.
func (c *checker) compileTime(a syntax.Expr, p *Param, sig *Sig) bool {
	switch resolved(p.Type).(type) {
	case *Extern, *Block:
		return true
	}
	switch resolved(c.info.types[a]).(type) {
	case *Extern, *Block:
		return true
	}
	if c.elaborated(a) {
		return true
	}
	c.errorf(a.Span(), CodeConst, "the argument for %s of %s has to be known at compile time, since the parameter has no direction", p.Name, sig.name)
	return false
}

// elaborated reports whether an expression is known when the program is elaborated: it
// is made of constants, constructor parameters and the parameters without direction of
// functions.
func (c *checker) elaborated(e syntax.Expr) bool {
	known := &evaluator{info: c.info, lookup: func(o *object) Value {
		if o.kind == objCtor || o.kind == objParam && o.dir == syntax.DirNone && c.ctx.action == nil {
			return sample(o.typ)
		}
		return nil
	}}
	return known.value(e) != nil || c.mayBeKnown(e) || hasTypeParam(c.info.types[e]) && c.onlyCtor(e)
}

// sample is some value of a type, to find out whether an expression depends on nothing
// but known things.
func sample(t Type) Value {
	if _, ok := base(t).(*Bits); ok || resolved(t) == Int {
		return IntVal{big.NewInt(1)}
	}
	return zeroValue(t)
}

func (c *checker) onlyCtor(e syntax.Expr) bool {
	ok := true
	walkExpr(e, func(x syntax.Expr) bool {
		if o := c.info.uses[x]; o != nil && o.kind != objCtor && o.kind != objConst && !(o.kind == objParam && o.dir == syntax.DirNone) {
			ok = false
		}
		return true
	})
	return ok
}

// lvalue checks that an expression can be assigned to.
func (c *checker) lvalue(e syntax.Expr, what string) bool {
	fail := func(why string) bool {
		c.errorf(e.Span(), CodeLvalue, "%s has to be something that can be assigned to: %s", what, why)
		return false
	}
	switch x := e.(type) {
	case *syntax.PathExpr:
		o := c.info.uses[x]
		if o == nil {
			return false
		}
		switch o.kind {
		case objVar:
			return true
		case objParam:
			if o.dir == syntax.DirIn {
				return fail("parameter " + o.name + " is in, and cannot be changed")
			}
			if o.dir == syntax.DirNone {
				return fail("parameter " + o.name + " has no direction, and cannot be changed")
			}
			return true
		case objConst:
			return fail(o.name + " is a constant")
		}
		return fail(o.name + " is no variable")
	case *syntax.Member:
		switch resolved(c.info.types[x.X]).(type) {
		case *Struct:
			return c.lvalue(x.X, what)
		case *Stack:
			if x.Name.Text == "next" || x.Name.Text == "last" {
				return c.lvalue(x.X, what)
			}
			return fail(x.Name.Text + " of a stack cannot be changed")
		}
		return fail("it is no variable")
	case *syntax.Index:
		return c.lvalue(x.X, what)
	case *syntax.Slice:
		return c.lvalue(x.X, what)
	}
	return fail("it is an expression")
}
