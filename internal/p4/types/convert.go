package types

import (
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/syntax"
)

// fits reports whether a value of one type can stand where another is wanted: the
// types are the same, or the language converts it without being asked (P4_16 1.2.5,
// section 8.11.2). Inferred types get bound on the way.
func (c *checker) fits(to, from Type) bool {
	if v := openInfer(to); v != nil {
		return c.fitsInfer(v, resolved(from))
	}
	to, from = resolved(to), resolved(from)
	if to == Bad || from == Bad {
		return true
	}
	if v, ok := from.(*infer); ok {
		if v == to {
			return true
		}
		v.bound = to
		return true
	}
	if to == DontCare || from == DontCare {
		return true
	}
	if identical(to, from) {
		return true
	}
	switch f := from.(type) {
	case Basic:
		return basicFits(to, f)
	case *SerEnum:
		_, ok := to.(*Bits)
		return ok && identical(f.Under, to)
	case *ListLit:
		return c.listFits(to, f)
	case *RecordLit:
		return c.recordFits(to, f)
	case *Struct:
		t, ok := to.(*Struct)
		return ok && t.info == f.info && c.fitsList(t.Args, f.Args)
	case *Stack:
		t, ok := to.(*Stack)
		return ok && t.Size == f.Size && c.fits(t.Elem, f.Elem)
	case *Tuple:
		t, ok := to.(*Tuple)
		return ok && c.fitsList(t.Elems, f.Elems)
	case *List:
		t, ok := to.(*List)
		return ok && c.fits(t.Elem, f.Elem)
	case *Set:
		t, ok := to.(*Set)
		return ok && c.fits(t.Elem, f.Elem)
	case *Extern:
		t, ok := to.(*Extern)
		return ok && t.info == f.info && c.fitsList(t.Args, f.Args)
	case *Block:
		t, ok := to.(*Block)
		return ok && c.blockFits(t, f)
	}
	return false
}

// openInfer returns the inferred type that a binding of t would go to: an unbound one,
// or one that is bound to what is not final, int or a literal.
func openInfer(t Type) *infer {
	var last *infer
	for {
		v, ok := t.(*infer)
		if !ok {
			break
		}
		last = v
		if v.bound == nil {
			return v
		}
		t = v.bound
	}
	if last != nil && (t == Int || isLiteral(t)) {
		return last
	}
	return nil
}

func (c *checker) fitsInfer(v *infer, from Type) bool {
	if from == v || from == Bad || from == DontCare {
		return true
	}
	if notValue(from) != "" {
		return false
	}
	if w, ok := from.(*infer); ok {
		w.bound = v
		return true
	}
	if v.bound == nil {
		if occurs(v, from) {
			return false
		}
		v.bound = from
		return true
	}
	// v is bound to something that is not final: the better of the two stays.
	old := v.bound
	if identical(old, from) {
		return true
	}
	if c.fits(from, old) {
		v.bound = from
		return true
	}
	return c.fits(old, from)
}

func occurs(v *infer, t Type) bool {
	switch t := resolved(t).(type) {
	case *infer:
		return t == v
	case *Struct:
		return occursAny(v, t.Args)
	case *Stack:
		return occurs(v, t.Elem)
	case *Tuple:
		return occursAny(v, t.Elems)
	case *List:
		return occurs(v, t.Elem)
	case *Extern:
		return occursAny(v, t.Args)
	case *ListLit:
		return occursAny(v, t.Elems)
	case *RecordLit:
		return occursAny(v, t.Types)
	}
	return false
}

func occursAny(v *infer, ts []Type) bool {
	for _, t := range ts {
		if occurs(v, t) {
			return true
		}
	}
	return false
}

// basicFits is fits for a basic type that is not the wanted one.
func basicFits(to Type, from Basic) bool {
	switch from {
	case Int:
		_, ok := to.(*Bits)
		return ok
	case Invalid:
		return isHeader(to) || isUnion(to)
	case Dots:
		switch t := to.(type) {
		case *Extern, *Block, *Set:
			return false
		case Basic:
			return t == Bool || t == Error || t == Int
		case *TypeParam:
			return false
		}
		return notValue(to) == ""
	}
	return false
}

func (c *checker) fitsList(to, from []Type) bool {
	if len(to) != len(from) {
		return false
	}
	for i := range to {
		if openInfer(to[i]) == nil && !identicalOrOpen(to[i], from[i]) {
			return false
		}
		if !c.fits(to[i], from[i]) {
			return false
		}
	}
	return true
}

// identicalOrOpen excludes conversions within type arguments: a tuple<bit<8>> is not
// made of a tuple<E>, even if E could be converted.
func identicalOrOpen(to, from Type) bool {
	if identical(to, from) {
		return true
	}
	if _, ok := resolved(from).(*SerEnum); ok {
		return false
	}
	return resolved(from) != Int
}

func (c *checker) listFits(to Type, from *ListLit) bool {
	switch t := to.(type) {
	case *List:
		for _, e := range from.Elems {
			if !c.fits(t.Elem, e) {
				return false
			}
		}
		return !from.rest
	case *Struct:
		if isUnion(t) {
			return false
		}
	case *Stack:
		if len(from.Elems) > t.Size {
			return false
		}
	case *Tuple, *ListLit:
	default:
		return false
	}
	_, elems := elemTypes(to)
	if len(from.Elems) > len(elems) || len(from.Elems) < len(elems) && !from.rest {
		return false
	}
	for i, e := range from.Elems {
		if !c.fits(elems[i], e) {
			return false
		}
	}
	return true
}

func (c *checker) recordFits(to Type, from *RecordLit) bool {
	t, ok := to.(*Struct)
	if !ok || isUnion(t) {
		return false
	}
	given := map[string]bool{}
	for i, n := range from.Names {
		f, _ := t.field(n)
		if f == nil || given[n] || !c.fits(f.Type, from.Types[i]) {
			return false
		}
		given[n] = true
	}
	return from.rest || len(given) == len(t.Fields())
}

// blockFits compares a parser or control with the type that a package or constructor
// wants of it.
func (c *checker) blockFits(to, from *Block) bool {
	if to.info == from.info {
		return c.fitsList(to.Args, from.Args)
	}
	if to.info.kind != from.info.kind || !to.info.isType || to.info.kind == packageBlock {
		return false
	}
	if len(to.info.params) != len(from.info.params) {
		return false
	}
	ts, fs := bind(to.info.tparams, to.Args), bind(from.info.tparams, from.Args)
	for i, p := range to.info.params {
		q := from.info.params[i]
		if p.Dir != q.Dir {
			return false
		}
		want, have := ts.apply(p.Type), fs.apply(q.Type)
		if openInfer(want) == nil && !identicalOrOpen(want, have) || !c.fits(want, have) {
			return false
		}
	}
	return true
}

// convert makes an expression that has been checked a value of a type. It records the
// conversion, or complains and returns false.
func (c *checker) convert(e syntax.Expr, to Type) bool {
	from := c.info.types[e]
	if isBad(from) || isBad(to) {
		return false
	}
	if what := notValue(from); what != "" {
		c.errorf(e.Span(), CodeNotValue, "%s is not a value", what)
		c.info.types[e] = Bad
		return false
	}
	if !c.fits(to, from) {
		d := c.errorf(e.Span(), CodeMismatch, "%s is wanted, not %s", to, from)
		if b, ok := base(to).(*Bits); ok {
			if f, ok := base(from).(*Bits); ok && b.Signed == f.Signed {
				d.Note(e.Span(), "a cast would do it: (%s)", to)
			}
		}
		return false
	}
	if identical(to, from) {
		return true
	}
	c.warnLoss(e, to)
	c.info.conv[e] = to
	return true
}

// warnLoss warns about a number that does not fit the width that it is given.
func (c *checker) warnLoss(e syntax.Expr, to Type) {
	b, ok := base(to).(*Bits)
	if !ok || resolved(c.info.types[e]) != Int {
		return
	}
	v, ok := c.eval.raw(e).(IntVal)
	if !ok {
		return
	}
	lo, hi := ir.Range(irBits(b))
	if v.V.Cmp(lo) < 0 && !(v.V.Sign() < 0 && !b.Signed) || v.V.Cmp(hi) > 0 {
		c.warnf(e.Span(), CodeOverflow, "%s does not fit %s: it becomes %s", v.V, b, ir.Wrap(irBits(b), v.V))
	}
}

func (c *checker) cast(e *syntax.Cast) Type {
	to := c.resolve(e.Type)
	from := c.value(e.X)
	if isBad(to) || isBad(from) {
		return to
	}
	if c.canCast(e, to, from) {
		return to
	}
	if c.fits(to, from) {
		if !identical(to, from) {
			c.info.conv[e.X] = to
		}
		return to
	}
	c.errorf(e.Span(), CodeMismatch, "%s cannot be cast to %s", from, to)
	return Bad
}

// canCast reports whether an explicit cast is defined between scalar types (P4_16
// 1.2.5, section 8.11.1).
func (c *checker) canCast(e *syntax.Cast, to, from Type) bool {
	to, from = resolved(to), resolved(from)
	if f, ok := from.(*Newtype); ok && identical(f.Under, to) {
		return true // to what the newtype is made of, which may be a newtype, too
	}
	if t, ok := to.(*Newtype); ok {
		if from == Int {
			return c.canCast(e, t.Under, Int)
		}
		return identical(t.Under, from) || identical(to, from)
	}
	if _, ok := from.(*Newtype); ok {
		return false
	}
	if t, ok := to.(*SerEnum); ok {
		if from == Int {
			return true
		}
		if f, ok := from.(*SerEnum); ok {
			from = f.Under
		}
		return identical(t.Under, from)
	}
	if f, ok := from.(*SerEnum); ok {
		from = f.Under
	}
	fb, fromBits := from.(*Bits)
	tb, toBits := to.(*Bits)
	switch {
	case toBits && fromBits:
		return tb.Signed == fb.Signed || tb.Width == fb.Width
	case toBits && from == Int:
		return true
	case toBits && from == Bool:
		return tb.Width == 1 && !tb.Signed
	case to == Bool && fromBits:
		return fb.Width == 1 && !fb.Signed
	case to == Bool && from == Int:
		v, ok := c.eval.value(e.X).(IntVal)
		return ok && (v.V.Sign() == 0 || v.V.IsInt64() && v.V.Int64() == 1)
	case to == Int && (fromBits || from == Int):
		return c.eval.value(e.X) != nil || from == Int
	case to == Bool && from == Bool:
		return true
	}
	return false
}
