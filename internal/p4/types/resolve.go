package types

import (
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/syntax"
)

// maxWidth bounds the widths of bit strings, in bits.
const maxWidth = 1 << 16

// resolve gives the meaning of a type that is written, complaining when it has none.
func (c *checker) resolve(t syntax.Type) Type {
	r := c.resolveType(t, false)
	c.info.written[t] = r
	return r
}

// resolveArg is resolve for a type argument, which may be `_`.
func (c *checker) resolveArg(t syntax.Type) Type {
	if _, ok := t.(*syntax.DontCareType); ok {
		c.info.written[t] = DontCare
		return DontCare
	}
	r := c.resolveType(t, false)
	if isBad(r) {
		return r
	}
	if resolved(r) == Void {
		c.errorf(t.Span(), CodeIllFormed, "void cannot be a type argument")
		return Bad
	}
	c.info.written[t] = r
	return r
}

func (c *checker) resolveType(t syntax.Type, bare bool) Type {
	switch t := t.(type) {
	case *syntax.BaseType:
		return map[syntax.BaseKind]Type{
			syntax.KindBool: Bool, syntax.KindError: Error, syntax.KindMatchKind: MatchKind,
			syntax.KindString: String, syntax.KindInt: Int, syntax.KindVoid: Void,
		}[t.Kind]
	case *syntax.BitsType:
		return c.bitsType(t)
	case *syntax.NamedType:
		return c.namedType(t, bare)
	case *syntax.StackType:
		return c.stackType(t)
	case *syntax.TupleType:
		tt := &Tuple{}
		for _, e := range t.Elems {
			et := c.resolveArg(e)
			if why := noMember(et); why != "" {
				c.errorf(e.Span(), CodeIllFormed, "a tuple cannot have an element of type %s: %s", et, why)
				et = Bad
			}
			tt.Elems = append(tt.Elems, et)
		}
		return tt
	case *syntax.ListType:
		et := c.resolveArg(t.Elem)
		if why := noElement(et); why != "" {
			c.errorf(t.Elem.Span(), CodeIllFormed, "a list cannot have elements of type %s: %s", et, why)
			et = Bad
		}
		return &List{et}
	case *syntax.DontCareType:
		c.errorf(t.Span(), CodeIllFormed, "_ can stand only for a type argument")
	}
	return Bad
}

// noMember says why a type can be no part of a tuple, or "" (P4_16 1.2.5, section 7.2.8).
func noMember(t Type) string {
	switch u := resolved(t).(type) {
	case Basic:
		switch u {
		case Int:
			return "int has no width"
		case String:
			return "no packet can carry one"
		}
	case *List:
		return "a list is a compile-time value"
	}
	return noElement(t)
}

// noElement says why a type can be no part of a list, or "".
func noElement(t Type) string {
	switch u := resolved(t).(type) {
	case Basic:
		if u == Void || u == MatchKind {
			return "it has no values"
		}
		if u == DontCare {
			return "a type is wanted"
		}
	case *Extern, *Block:
		return "it is an object"
	}
	return ""
}

func (c *checker) bitsType(t *syntax.BitsType) Type {
	width := 1
	if t.Width != nil {
		w, ok := c.constInt(t.Width, "a width")
		if !ok {
			return Bad
		}
		least := int64(0)
		if t.Kind == syntax.KindSigned {
			least = 1
		}
		if w.Sign() < 0 || w.Cmp(big.NewInt(least)) < 0 || w.Cmp(big.NewInt(maxWidth)) > 0 {
			c.errorf(t.Width.Span(), CodeRange, "%s<%s>: a width is from %d to %d", t.Kind, w, least, maxWidth)
			return Bad
		}
		width = int(w.Int64())
	}
	switch t.Kind {
	case syntax.KindVarbit:
		return &Varbit{width}
	case syntax.KindSigned:
		return &Bits{width, true}
	}
	return &Bits{width, false}
}

// namedType looks a type name up. With bare, a generic type may come without arguments.
func (c *checker) namedType(t *syntax.NamedType, bare bool) Type {
	o := c.lookup(t.Path)
	if o == nil {
		for _, a := range t.Args {
			c.resolveArg(a)
		}
		return Bad
	}
	if o.kind != objType {
		c.errorf(t.Path.Span(), CodeNotType, "%s is not a type", t.Path).Note(o.span, "declared here")
		return Bad
	}
	var args []Type
	bad := false
	for _, a := range t.Args {
		at := c.resolveArg(a)
		bad = bad || isBad(at)
		args = append(args, at)
	}
	if bad {
		return Bad
	}
	return c.instance(t.Path.Span(), o, args, bare)
}

// instance puts type arguments into a declared type. With bare, a generic type without
// arguments stands for itself with its parameters to be found.
func (c *checker) instance(at diag.Span, o *object, args []Type, bare bool) Type {
	var tparams []*TypeParam
	var make func([]Type) Type
	switch {
	case o.info != nil:
		tparams, make = o.info.tparams, func(a []Type) Type { return &Struct{o.info, a} }
	case o.ext != nil:
		tparams, make = o.ext.tparams, func(a []Type) Type { return &Extern{o.ext, a} }
	case o.block != nil:
		tparams, make = o.block.tparams, func(a []Type) Type { return &Block{o.block, a} }
	}
	if o.checking {
		c.errorf(at, CodeRecursion, "%s uses itself", o.name)
		return Bad
	}
	if len(args) == 0 && len(tparams) > 0 && bare {
		return make(nil)
	}
	if len(args) != len(tparams) {
		if len(tparams) == 0 {
			c.errorf(at, CodeTypeArgs, "%s takes no type arguments", o.name).Note(o.span, "declared here")
		} else {
			c.errorf(at, CodeTypeArgs, "%s takes %d type argument(s), not %d", o.name, len(tparams), len(args)).Note(o.span, "declared here")
		}
		return Bad
	}
	if make == nil {
		return o.typ
	}
	t := make(args)
	if s, ok := t.(*Struct); ok && len(args) > 0 && !c.checkFields(at, s) {
		return Bad
	}
	return t
}

// checkFields checks the fields of a generic structure with its arguments put in.
func (c *checker) checkFields(at diag.Span, s *Struct) bool {
	for _, f := range s.Fields() {
		if hasTypeParam(f.Type) {
			continue
		}
		if why := fieldProblem(s.kind(), f.Type); why != "" {
			c.errorf(at, CodeIllFormed, "%s: field %s cannot be of type %s: %s", s, f.Name, f.Type, why)
			return false
		}
	}
	return true
}

func (c *checker) stackType(t *syntax.StackType) Type {
	elem := c.resolve(t.Elem)
	n, ok := c.constInt(t.Size, "the size of a stack")
	if !ok || isBad(elem) {
		return Bad
	}
	if !isHeader(elem) && !isUnion(elem) && !isParamType(elem) {
		c.errorf(t.Elem.Span(), CodeIllFormed, "a stack is of headers or header unions, not of %s", elem)
		return Bad
	}
	if n.Sign() <= 0 || n.Cmp(big.NewInt(1<<16)) > 0 {
		c.errorf(t.Size.Span(), CodeRange, "a stack cannot have %s elements", n)
		return Bad
	}
	return &Stack{elem, int(n.Int64())}
}

func isParamType(t Type) bool {
	_, ok := resolved(t).(*TypeParam)
	return ok
}

// constInt evaluates an expression that has to be a compile-time number.
func (c *checker) constInt(e syntax.Expr, what string) (*big.Int, bool) {
	t := c.expr(e)
	if isBad(t) {
		return nil, false
	}
	switch base(t).(type) {
	case *Bits:
	default:
		if resolved(t) != Int {
			c.errorf(e.Span(), CodeMismatch, "%s has to be a number, not %s", what, t)
			return nil, false
		}
	}
	if v, ok := c.constant(e, what).(IntVal); ok {
		return v.V, true
	}
	return nil, false
}

// constant evaluates an expression that has been checked, and complains when it is not
// known at compile time.
func (c *checker) constant(e syntax.Expr, what string) Value {
	if isBad(c.info.types[e]) {
		return nil
	}
	v := c.eval.value(e)
	if v == nil && !c.mayBeKnown(e) {
		c.errorf(e.Span(), CodeConst, "%s has to be known at compile time", what)
	}
	return v
}

// fixed checks that an expression is known when the program is elaborated: at compile
// time, or once the arguments of constructors are.
func (c *checker) fixed(e syntax.Expr, what string) bool {
	if c.elaborated(e) {
		return true
	}
	return c.constant(e, what) != nil
}

// mayBeKnown reports whether an expression without a value contains one that was
// complained about, so that a second complaint is needless.
func (c *checker) mayBeKnown(e syntax.Expr) bool {
	bad := false
	walkExpr(e, func(x syntax.Expr) bool {
		if t, ok := c.info.types[x]; ok && isBad(t) {
			bad = true
		}
		return true
	})
	return bad
}
