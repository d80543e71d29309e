package types

import (
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/syntax"
)

// expr finds the type of an expression and records it. What it returns may be no
// value but something else that a name stands for; see value.
func (c *checker) expr(e syntax.Expr) Type {
	t := c.exprType(e)
	c.info.types[e] = t
	return t
}

// value is expr for where only a value can stand.
func (c *checker) value(e syntax.Expr) Type {
	t := c.expr(e)
	if what := notValue(t); what != "" {
		c.errorf(e.Span(), CodeNotValue, "%s is not a value", what)
		c.info.types[e] = Bad
		return Bad
	}
	return t
}

// notValue names something that is no value, "" for a value.
func notValue(t Type) string {
	switch t := resolved(t).(type) {
	case *FuncRef, *MethodRef, *BuiltinRef, *ActionRef, *TableRef, *TypeRef, *ApplyResult:
		return t.String()
	case *ActionRun:
		return "action_run, outside of a switch,"
	case Basic:
		if t == Void {
			return "what has no result"
		}
		if t == DontCare {
			return "_"
		}
	}
	return ""
}

func (c *checker) exprType(e syntax.Expr) Type {
	switch e := e.(type) {
	case *syntax.IntLit:
		return c.intLit(e)
	case *syntax.BoolLit:
		return Bool
	case *syntax.StringLit:
		return String
	case *syntax.This:
		c.errorf(e.Span(), CodeMisplaced, "this can stand only in the methods of an instance of an extern")
		return Bad
	case *syntax.PathExpr:
		return c.path(e)
	case *syntax.TypeExpr:
		t := c.resolveType(e.Type, true)
		if isBad(t) {
			return Bad
		}
		return &TypeRef{t}
	case *syntax.Member:
		return c.member(e)
	case *syntax.Index:
		return c.index(e)
	case *syntax.Slice:
		return c.slice(e)
	case *syntax.Unary:
		return c.unary(e)
	case *syntax.Binary:
		return c.binary(e)
	case *syntax.Ternary:
		return c.ternary(e)
	case *syntax.Cast:
		return c.cast(e)
	case *syntax.Call:
		return c.call(e)
	case *syntax.ListExpr:
		l := &ListLit{}
		bad := false
		for i, x := range e.Elems {
			if _, ok := x.(*syntax.Dots); ok && i == len(e.Elems)-1 {
				c.info.types[x] = Dots
				l.rest = true
				continue
			} else if ok {
				c.errorf(x.Span(), CodeMisplaced, "... can stand only at the end of a list")
				bad = true
			}
			t := c.value(x)
			bad = bad || isBad(t)
			l.Elems = append(l.Elems, t)
		}
		if bad {
			return Bad
		}
		return l
	case *syntax.RecordExpr:
		r := &RecordLit{rest: e.Default}
		seen := map[string]bool{}
		bad := false
		for _, f := range e.Fields {
			if seen[f.Name.Text] {
				c.errorf(f.Name.Span(), CodeDuplicate, "field %s is given twice", f.Name.Text)
				bad = true
			}
			seen[f.Name.Text] = true
			t := c.value(f.Value)
			bad = bad || isBad(t)
			r.Names = append(r.Names, f.Name.Text)
			r.Types = append(r.Types, t)
		}
		if bad {
			return Bad
		}
		return r
	case *syntax.InvalidHeader:
		return Invalid
	case *syntax.Dots:
		return Dots
	case *syntax.DontCare:
		c.errorf(e.Span(), CodeMisplaced, "_ is not an expression")
		return Bad
	case *syntax.DefaultExpr:
		c.errorf(e.Span(), CodeMisplaced, "default is not an expression")
		return Bad
	case *syntax.MaskExpr, *syntax.RangeExpr, *syntax.TupleKeyset:
		c.errorf(e.Span(), CodeMisplaced, "a keyset can stand only in a select or in a table entry")
		return Bad
	}
	return Bad
}

func (c *checker) intLit(e *syntax.IntLit) Type {
	if !e.Sized {
		return Int
	}
	if e.Width < 0 || e.Width > maxWidth || e.Signed && e.Width < 1 {
		c.errorf(e.Span(), CodeRange, "%s: the width is out of range", e.Text)
		return Bad
	}
	return &Bits{e.Width, e.Signed}
}

func (c *checker) path(e *syntax.PathExpr) Type {
	o := c.lookup(e.Path)
	if o == nil {
		return Bad
	}
	c.info.uses[e] = o
	if o.checking && (o.kind == objFunc || o.kind == objAction || o.kind == objTable) && (o.kind != objFunc || len(o.sigs) == 1) {
		c.errorf(e.Span(), CodeRecursion, "%s uses itself: P4 has no recursion", o.name)
		return Bad
	}
	switch o.kind {
	case objType:
		if isBad(o.typ) {
			return Bad
		}
		return &TypeRef{o.typ}
	case objFunc:
		return &FuncRef{o.name, o.sigs}
	case objAction:
		return &ActionRef{o.sigs[0]}
	case objTable:
		return &TableRef{o}
	}
	return o.typ
}

// sizeMethods are the built-in methods that give the size of a type.
func isSizeMethod(name string) bool {
	switch name {
	case "minSizeInBits", "minSizeInBytes", "maxSizeInBits", "maxSizeInBytes":
		return true
	}
	return false
}

func (c *checker) member(e *syntax.Member) Type {
	xt := resolved(c.expr(e.X))
	name := e.Name.Text
	missing := func(format string, args ...any) Type {
		c.errorf(e.Name.Span(), CodeMember, format, args...)
		return Bad
	}
	switch t := xt.(type) {
	case Basic:
		if t == Bad {
			return Bad
		}
	case *TypeRef:
		return c.typeMember(e, t.T)
	case *Struct:
		if f, _ := t.field(name); f != nil {
			return f.Type
		}
		header, union := isHeader(t), isUnion(t)
		switch {
		case name == "isValid" && (header || union),
			(name == "setValid" || name == "setInvalid") && header:
			return &BuiltinRef{t, name}
		}
		if !isSizeMethod(name) {
			return missing("%s %s has no field %s", t.kind(), t, name)
		}
	case *Stack:
		switch name {
		case "next", "last", "lastIndex":
			if !c.ctx.inParser {
				c.errorf(e.Name.Span(), CodeMisplaced, "%s of a stack can be used only in a parser", name)
			}
			if name == "lastIndex" {
				return &Bits{32, false}
			}
			return t.Elem
		case "size":
			return &Bits{32, false}
		case "push_front", "pop_front":
			return &BuiltinRef{t, name}
		}
		if !isSizeMethod(name) {
			return missing("a stack has no %s", name)
		}
	case *Extern:
		sigs := t.info.methods[name]
		if len(sigs) == 0 {
			return missing("extern %s has no method %s", t, name)
		}
		return &MethodRef{t, name, sigs}
	case *TableRef:
		if name == "apply" {
			return &BuiltinRef{t, name}
		}
		return missing("a table has no %s; it can be applied", name)
	case *Block:
		if name == "apply" && t.info.kind != packageBlock {
			return &BuiltinRef{t, name}
		}
		return missing("%s %s has no %s", t.info.kind, t, name)
	case *ApplyResult:
		switch name {
		case "hit", "miss":
			return Bool
		case "action_run":
			return &ActionRun{t.table}
		}
		return missing("applying a table gives hit, miss and action_run, not %s", name)
	case *TypeParam:
		return missing("nothing is known of type %s, so it has no member %s", t, name)
	}
	if isSizeMethod(name) && notValue(xt) == "" {
		if _, ok := sizeInBits(xt, true); ok || hasTypeParam(xt) {
			return &BuiltinRef{xt, name}
		}
	}
	return missing("%s has no member %s", xt, name)
}

// typeMember is T.name.
func (c *checker) typeMember(e *syntax.Member, t Type) Type {
	name := e.Name.Text
	switch u := resolved(t).(type) {
	case *Enum:
		for _, m := range u.Members {
			if m == name {
				return u
			}
		}
		c.errorf(e.Name.Span(), CodeMember, "enum %s has no member %s", u, name)
		return Bad
	case *SerEnum:
		for _, m := range u.Members {
			if m.Name == name {
				return u
			}
		}
		c.errorf(e.Name.Span(), CodeMember, "enum %s has no member %s", u, name)
		return Bad
	case Basic:
		if u == Error {
			if c.errSet[name] {
				return Error
			}
			c.errorf(e.Name.Span(), CodeMember, "there is no error %s", name)
			return Bad
		}
	case *Block:
		if name == "apply" && u.info.kind != packageBlock {
			return &BuiltinRef{&TypeRef{u}, name}
		}
	}
	if isSizeMethod(name) {
		if _, ok := sizeInBits(t, true); ok || hasTypeParam(t) {
			return &BuiltinRef{t, name}
		}
	}
	c.errorf(e.Name.Span(), CodeMember, "type %s has no member %s", t, name)
	return Bad
}

func (c *checker) index(e *syntax.Index) Type {
	xt := resolved(c.value(e.X))
	it := c.value(e.Index)
	if isBad(xt) {
		return Bad
	}
	_, isBits := base(it).(*Bits)
	if _, newtype := resolved(it).(*Newtype); newtype {
		isBits = false
	}
	if !isBits && resolved(it) != Int && !isBad(it) {
		c.errorf(e.Index.Span(), CodeMismatch, "an index is a number, not %s", it)
		it = Bad
	}
	var size int
	var elem func(int) Type
	switch t := xt.(type) {
	case *Stack:
		size, elem = t.Size, func(int) Type { return t.Elem }
	case *Tuple:
		size, elem = len(t.Elems), func(i int) Type { return t.Elems[i] }
	default:
		c.errorf(e.X.Span(), CodeOperand, "%s cannot be indexed; only stacks and tuples can", xt)
		return Bad
	}
	if isBad(it) {
		return Bad
	}
	v, known := c.eval.value(e.Index).(IntVal)
	if known && (v.V.Sign() < 0 || v.V.Cmp(big.NewInt(int64(size))) >= 0) {
		c.errorf(e.Index.Span(), CodeRange, "index %s is outside of %s", v.V, xt)
		return Bad
	}
	if known {
		return elem(int(v.V.Int64()))
	}
	if _, ok := xt.(*Tuple); ok {
		c.constant(e.Index, "the index of a tuple")
		return Bad
	}
	if resolved(it) == Int {
		c.constant(e.Index, "an index without a width")
	}
	return elem(0)
}

func (c *checker) slice(e *syntax.Slice) Type {
	xt := c.value(e.X)
	hi, ok1 := c.constInt(e.Hi, "the high end of a slice")
	lo, ok2 := c.constInt(e.Lo, "the low end of a slice")
	if isBad(xt) {
		return Bad
	}
	b, ok := base(xt).(*Bits)
	if _, newtype := resolved(xt).(*Newtype); !ok || newtype {
		c.errorf(e.X.Span(), CodeOperand, "a slice is of bit<W> or int<W>, not of %s", xt)
		return Bad
	}
	if !ok1 || !ok2 {
		return Bad
	}
	switch {
	case lo.Sign() < 0 || hi.Sign() < 0:
		c.errorf(e.Span(), CodeRange, "the ends of a slice cannot be negative")
		return Bad
	case hi.Cmp(lo) < 0:
		c.errorf(e.Span(), CodeRange, "the high end %s of the slice is below the low end %s", hi, lo)
		return Bad
	case hi.Cmp(big.NewInt(int64(b.Width))) >= 0:
		c.errorf(e.Span(), CodeRange, "bit %s is outside of %s", hi, xt)
		return Bad
	}
	return &Bits{int(hi.Int64()-lo.Int64()) + 1, false}
}
