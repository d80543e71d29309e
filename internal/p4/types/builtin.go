package types

import (
	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/syntax"
)

// callBuiltin checks a call of a method that the language itself gives.
func (c *checker) callBuiltin(e *syntax.Call, b *BuiltinRef) Type {
	m, _ := e.Fun.(*syntax.Member)
	for _, a := range e.Args {
		c.argument(a.Value)
	}
	ci := &callInfo{builtin: b.name, recvT: b.recv, recv: m.X}
	done := func(t Type) Type {
		ci.result = t
		c.info.calls[e] = ci
		return t
	}
	noArgs := func() bool {
		if len(e.Args) > 0 {
			c.errorf(e.Args[0].Span(), CodeArguments, "%s takes no arguments", b.name)
			return false
		}
		return true
	}
	switch b.name {
	case "isValid":
		noArgs()
		return done(Bool)
	case "setValid", "setInvalid":
		noArgs()
		c.lvalue(m.X, "the header of "+b.name)
		return done(Void)
	case "push_front", "pop_front":
		c.lvalue(m.X, "the stack of "+b.name)
		if len(e.Args) != 1 || e.Args[0].Name != nil && e.Args[0].Name.Text != "count" {
			c.errorf(e.Span(), CodeArguments, "%s takes one argument, the number of elements", b.name)
			return done(Void)
		}
		a := e.Args[0].Value
		ci.args = []syntax.Expr{a}
		t := c.info.types[a]
		if _, ok := base(t).(*Bits); !ok && resolved(t) != Int && !isBad(t) {
			c.errorf(a.Span(), CodeMismatch, "the argument of %s is a number, not %s", b.name, t)
		} else if v, ok := c.constant(a, "the argument of "+b.name).(IntVal); ok && v.V.Sign() < 0 {
			c.errorf(a.Span(), CodeRange, "the argument of %s cannot be negative", b.name)
		}
		return done(Void)
	case "apply":
		return c.applyCall(e, b, ci, done)
	}
	// minSizeInBits and its like
	noArgs()
	return done(Int)
}

// applyCall checks x.apply(…) of a table, of a parser or control object, or of a type.
func (c *checker) applyCall(e *syntax.Call, b *BuiltinRef, ci *callInfo, done func(Type) Type) Type {
	switch t := b.recv.(type) {
	case *TableRef:
		if len(e.Args) > 0 {
			c.errorf(e.Args[0].Span(), CodeArguments, "applying a table takes no arguments")
		}
		if t.obj.checking {
			c.errorf(e.Span(), CodeRecursion, "table %s applies itself", t.obj.name)
			return Bad
		}
		if !c.ctx.inApply {
			c.errorf(e.Span(), CodeMisplaced, "a table can be applied only in the apply block of a control")
		}
		return done(&ApplyResult{t.obj})
	case *Block:
		return c.applyBlock(e, e, t, e.Args, ci, done)
	case *TypeRef:
		blk, ok := resolved(t.T).(*Block)
		if !ok {
			return Bad
		}
		c.directConstructor(e, blk)
		return c.applyBlock(e, e, blk, e.Args, ci, done)
	}
	return Bad
}

// directConstructor checks that a parser or control can be applied without an instance
// of its own: its constructor needs no arguments.
func (c *checker) directConstructor(n syntax.Node, b *Block) {
	if b.info.isType {
		c.errorf(n.Span(), CodeConstructor, "%s is the declaration of a %s type; only a %s can be applied", b, b.info.kind, b.info.kind)
		return
	}
	for _, p := range b.info.ctor {
		if p.Decl.Default == nil && !p.Optional {
			c.errorf(n.Span(), CodeConstructor, "%s needs constructor arguments; instantiate it", b)
			return
		}
	}
}

// applyBlock checks the arguments of applying a parser or control, and where it stands.
func (c *checker) applyBlock(e syntax.Node, n syntax.Node, t *Block, args []syntax.Arg, ci *callInfo, done func(Type) Type) Type {
	if c.ctx.block != nil && c.ctx.block == t.info {
		c.errorf(n.Span(), CodeRecursion, "%s applies itself: P4 has no recursion", t)
		return Bad
	}
	switch t.info.kind {
	case controlBlock:
		if !c.ctx.inApply {
			c.errorf(n.Span(), CodeMisplaced, "a control can be applied only in the apply block of a control")
		}
	case parserBlock:
		if !c.ctx.inParser {
			c.errorf(n.Span(), CodeMisplaced, "a parser can be applied only in the states of a parser")
		}
	}
	sig := &Sig{kind: callApply, name: t.info.name, decl: t.info.decl, params: t.info.params, ret: Void}
	_, placed := c.choose(n.Span(), []*Sig{sig}, t.info.name+".apply", args)
	if placed == nil && len(sig.params) > 0 {
		return done(Void)
	}
	ci.sig, ci.args = sig, placed
	s := bind(t.info.tparams, t.Args)
	ci.subst = s
	c.arguments(n.Span(), sig, s, ci)
	return done(Void)
}

// callRules checks what depends on where a call stands.
func (c *checker) callRules(e syntax.Node, span diag.Span, sig *Sig, ci *callInfo) {
	if sig.kind == callExtern && sig.name == "static_assert" && len(ci.args) > 0 {
		v := c.constant(ci.args[0], "the condition of static_assert")
		if b, ok := v.(BoolVal); ok && !bool(b) {
			msg := ""
			if len(ci.args) > 1 && ci.args[1] != nil {
				if s, ok := c.eval.value(ci.args[1]).(StrVal); ok {
					msg = ": " + string(s)
				}
			}
			c.errorf(span, CodeAssertion, "static_assert fails%s", msg)
		}
	}
	if sig.kind == callExtern && sig.name == "verify" && c.ctx.block != nil && c.ctx.block.kind == controlBlock {
		c.errorf(span, CodeMisplaced, "verify can be called only in a parser")
	}
	if sig.kind == callMethod && ci.recv != nil {
		c.coreMethod(span, sig, ci)
	}
}

// coreMethod checks what core.p4 cannot say about the methods of packet_in: what they
// read is a header, lookahead has a fixed size.
func (c *checker) coreMethod(span diag.Span, sig *Sig, ci *callInfo) {
	x, ok := resolved(ci.recvT).(*Extern)
	if !ok || len(sig.tparams) != 1 {
		return
	}
	t := resolved(ci.subst[sig.tparams[0]])
	switch x.info.decl.Name.Text + "." + sig.name {
	case "packet_in.extract":
		if t == Void || isBad(t) || isParamType(t) {
			return
		}
		if !isHeader(t) {
			c.errorf(span, CodeMismatch, "extract fills a header, not a %s", t)
			return
		}
		if len(sig.params) == 2 {
			if countVarbits(t) != 1 {
				c.errorf(span, CodeMismatch, "extract with a size is for a header with one varbit field; %s has %d", t, countVarbits(t))
			}
		} else if countVarbits(t) > 0 {
			c.errorf(span, CodeMismatch, "header %s has a varbit field: give extract its size", t)
		}
	case "packet_in.lookahead":
		if countVarbits(t) > 0 {
			c.errorf(span, CodeMismatch, "lookahead needs a type of fixed size; %s has a varbit field", t)
		} else if _, ok := sizeInBits(t, true); !ok && !hasTypeParam(t) && !isBad(t) && t != Void {
			c.errorf(span, CodeMismatch, "lookahead cannot read a %s", t)
		}
	case "packet_out.emit":
		if !emittable(t) {
			c.errorf(span, CodeMismatch, "emit takes a header, a header union, a stack or a struct of these, not %s", t)
		}
	}
}

func emittable(t Type) bool {
	switch u := resolved(t).(type) {
	case *Struct:
		if isHeader(u) || isUnion(u) {
			return true
		}
		for _, f := range u.Fields() {
			if !emittable(f.Type) {
				return false
			}
		}
		return true
	case *Tuple:
		for _, e := range u.Elems {
			if !emittable(e) {
				return false
			}
		}
		return true
	case *Stack, *TypeParam:
		return true
	}
	return isBad(t) || resolved(t) == Void
}

func countVarbits(t Type) int {
	switch u := resolved(t).(type) {
	case *Varbit:
		return 1
	case *Struct:
		n := 0
		for _, f := range u.Fields() {
			n += countVarbits(f.Type)
		}
		return n
	case *Stack:
		return countVarbits(u.Elem)
	}
	return 0
}
