package types

import (
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
)

// operand is an expression that has been lowered. Exactly one of these says what it is:
// x (a scalar, or storage of any type), elems (a list, tuple, struct, header or stack
// made of parts), num (a number without a width), str, obj, invalid, dots.
type operand struct {
	t       Type
	x       ir.Expr
	lv      bool // x names storage, not a result
	elems   []*operand
	list    bool     // elems is set, even if it is empty
	names   []string // of a record literal
	rest    bool     // what is missing takes its default
	num     *big.Int
	str     *string
	obj     *instance
	invalid bool
	dots    bool
}

// value gives an operand as a compile-time value, or nil.
func (o *operand) value() Value {
	switch {
	case o.num != nil:
		return IntVal{o.num}
	case o.str != nil:
		return StrVal(*o.str)
	case o.invalid:
		return &AggVal{Invalid: true}
	case o.dots:
		return DotsVal{}
	case o.list:
		a := &AggVal{Names: o.names, rest: o.rest}
		for _, e := range o.elems {
			v := e.value()
			if v == nil {
				return nil
			}
			a.Elems = append(a.Elems, v)
		}
		return a
	}
	k, ok := o.x.(*ir.Const)
	if !ok {
		return nil
	}
	switch t := base(o.t).(type) {
	case *Enum:
		return EnumVal(int(k.Value.Int64()))
	case Basic:
		if t == Bool {
			return BoolVal(k.Value.Sign() != 0)
		}
		return nil
	}
	return IntVal{k.Value}
}

// constant makes an operand of a compile-time value.
func (l *lowerer) constant(v Value, t Type, span diag.Span) *operand {
	t = resolved(t)
	switch v := v.(type) {
	case IntVal:
		if t == Int {
			return &operand{t: t, num: v.V}
		}
		return &operand{t: t, x: &ir.Const{T: l.types.lower(t), Value: v.V, Span: span}}
	case BoolVal:
		return &operand{t: t, x: boolConst(bool(v), span)}
	case EnumVal:
		return &operand{t: t, x: &ir.Const{T: l.types.lower(t), Value: big.NewInt(int64(v)), Span: span}}
	case ErrVal:
		for i, n := range l.info.errors {
			if n == string(v) {
				return &operand{t: t, x: &ir.Const{T: &ir.ErrorType{}, Value: big.NewInt(int64(i)), Span: span}}
			}
		}
	case StrVal:
		s := string(v)
		return &operand{t: t, str: &s}
	case DotsVal:
		return &operand{t: t, dots: true}
	case *AggVal:
		if v.Invalid {
			return &operand{t: t, invalid: true}
		}
		_, types := elemTypes(t)
		o := &operand{t: t, list: true, names: v.Names, rest: v.rest}
		for i, e := range v.Elems {
			et := Type(Int)
			if i < len(types) {
				et = types[i]
			} else if lt, ok := t.(*List); ok {
				et = lt.Elem
			}
			o.elems = append(o.elems, l.constant(e, et, span))
		}
		return o
	}
	l.fail(span, CodeUnsupported, "a value of type %s cannot be stored", t)
	return nil
}

func boolConst(b bool, span diag.Span) *ir.Const {
	v := new(big.Int)
	if b {
		v.SetInt64(1)
	}
	return &ir.Const{T: &ir.Bool{}, Value: v, Span: span}
}

// copyOf gives the expression of an operand, made anew: no node stands in two places.
func copyOf(e ir.Expr) ir.Expr { return (&ir.Copier{}).CopyExpr(e) }

// scalar gives an operand as an expression. A number without a width gets one.
func (l *lowerer) scalar(o *operand, span diag.Span) ir.Expr {
	switch {
	case o.x != nil:
		return copyOf(o.x)
	case o.num != nil:
		t := &ir.Bits{Width: max(intWidth, o.num.BitLen())}
		if o.num.Sign() < 0 {
			t = &ir.Bits{Width: max(intWidth, o.num.BitLen()+1), Signed: true}
		}
		return &ir.Const{T: t, Value: o.num, Span: span}
	case o.str != nil:
		return &ir.StringLit{Value: *o.str, Span: span}
	case o.dots:
		return l.scalar(l.constant(zeroValue(o.t), o.t, span), span)
	}
	l.fail(span, CodeUnsupported, "a value of type %s cannot stand here", o.t)
	return nil
}

// convertTo converts an operand to a type, as the language does without being asked or
// as a cast that has been checked.
func (l *lowerer) convertTo(o *operand, to Type, span diag.Span) *operand {
	to = resolved(to)
	if o.dots {
		return l.constant(zeroValue(to), to, span)
	}
	if o.obj != nil || identical(o.t, to) {
		return o
	}
	if to == DontCare || to == Void {
		return o
	}
	if o.invalid {
		return &operand{t: to, invalid: true}
	}
	if o.list {
		return l.convertList(o, to, span)
	}
	if o.str != nil {
		return o
	}
	if o.num != nil {
		if to == Int {
			return &operand{t: to, num: o.num}
		}
		v := convertValue(IntVal{o.num}, Int, to)
		if v == nil {
			l.fail(span, CodeUnsupported, "%s cannot be converted to %s", o.num, to)
		}
		return l.constant(v, to, span)
	}
	if to == Int {
		if k, ok := o.x.(*ir.Const); ok {
			return &operand{t: to, num: k.Value}
		}
		return o
	}
	if _, ok := ir.ScalarBits(l.types.lower(to)); !ok {
		return &operand{t: to, x: o.x, lv: o.lv}
	}
	return &operand{t: to, x: ir.Fold(&ir.Cast{T: l.types.lower(to), X: copyOf(o.x), Span: span})}
}

func (l *lowerer) convertList(o *operand, to Type, span diag.Span) *operand {
	if lt, ok := to.(*List); ok {
		out := &operand{t: to, list: true}
		for _, e := range o.elems {
			out.elems = append(out.elems, l.convertTo(e, lt.Elem, span))
		}
		return out
	}
	names, types := elemTypes(to)
	out := &operand{t: to, list: true}
	for i, t := range types {
		j := i
		if o.names != nil {
			j = -1
			for k, n := range o.names {
				if i < len(names) && n == names[i] {
					j = k
				}
			}
		}
		if j < 0 || j >= len(o.elems) {
			out.elems = append(out.elems, l.constant(zeroValue(t), t, span))
			continue
		}
		out.elems = append(out.elems, l.convertTo(o.elems[j], t, span))
	}
	return out
}

// part gives element i of a struct, header, union, stack or tuple.
func (l *lowerer) part(o *operand, i int, span diag.Span) *operand {
	if o.list {
		return o.elems[i] // a list<T> knows its parts only here
	}
	name, t := elemAt(o.t, i)
	switch {
	case o.dots:
		return l.constant(zeroValue(t), t, span)
	case o.invalid:
		return l.constant(zeroValue(t), t, span)
	}
	switch u := o.t.(type) {
	case *Stack:
		return &operand{t: t, lv: o.lv, x: &ir.Index{X: copyOf(o.x), I: &ir.Const{T: &ir.Bits{Width: 32}, Value: big.NewInt(int64(i)), Span: span}, Span: span}}
	case *Struct:
		if isHeader(u) {
			return l.headerPart(o, name, t, span)
		}
	}
	fields := ir.FieldsOf(o.x.Type())
	return &operand{t: t, lv: o.lv, x: &ir.Member{X: copyOf(o.x), Field: fields[i], Span: span}}
}

// elemAt gives the name and type of part i of an aggregate type.
func elemAt(t Type, i int) (string, Type) {
	switch t := resolved(t).(type) {
	case *Struct:
		f := t.Fields()[i]
		return f.Name, resolved(f.Type)
	case *Stack:
		return "", resolved(t.Elem)
	}
	_, types := elemTypes(t)
	return "", resolved(types[i])
}

// headerPart gives a field of a header by its flattened name; a struct within a header
// is an operand made of parts.
func (l *lowerer) headerPart(o *operand, name string, t Type, span diag.Span) *operand {
	if s, ok := t.(*Struct); ok {
		out := &operand{t: t, list: true, lv: o.lv}
		for _, f := range s.Fields() {
			out.elems = append(out.elems, l.headerPart(o, name+"."+f.Name, resolved(f.Type), span))
		}
		return out
	}
	for _, f := range ir.FieldsOf(o.x.Type()) {
		if f.Name == name {
			return &operand{t: t, lv: o.lv, x: &ir.Member{X: copyOf(o.x), Field: f, Span: span}}
		}
	}
	l.fail(span, CodeMember, "no field %s", name)
	return nil
}

// count is the number of parts of an aggregate.
func count(t Type) int {
	if s, ok := resolved(t).(*Struct); ok {
		return len(s.info.fields)
	}
	_, types := elemTypes(t)
	return len(types)
}

// isAggregate reports whether a type has parts.
func isAggregate(t Type) bool {
	switch resolved(t).(type) {
	case *Struct, *Stack, *Tuple, *ListLit, *RecordLit:
		return true
	}
	return false
}

// assign emits dst = src; src is of dst's type.
func (l *lowerer) assign(dst, src *operand, span diag.Span) {
	if src.dots {
		src = l.constant(zeroValue(dst.t), dst.t, span)
	}
	if src.list {
		for _, x := range exprsOf(dst) {
			if mentions(src, ir.Root(x)) {
				src = l.saveAll(src, span)
				break
			}
		}
	}
	l.assignParts(dst, src, span)
}

func (l *lowerer) assignParts(dst, src *operand, span diag.Span) {
	switch {
	case src.invalid:
		l.invalidate(dst, span)
	case dst.list:
		if !src.list && src.x != nil && !identical(src.t, dst.t) {
			src = l.convertTo(src, dst.t, span)
		}
		for i := range dst.elems {
			l.assignParts(dst.elems[i], l.part(src, i, span), span)
		}
	case src.list:
		if isHeader(dst.t) {
			l.emit(&ir.Call{Op: ir.OpSetValid, Args: []ir.Expr{copyOf(dst.x)}, Span: span})
		}
		n := count(dst.t)
		for i := range n {
			if i < len(src.elems) {
				l.assignParts(l.part(dst, i, span), src.elems[i], span)
			}
		}
	default:
		src = l.convertTo(src, dst.t, span)
		l.emit(&ir.Assign{Dst: copyOf(dst.x), Src: l.scalar(src, span), Span: span})
	}
}

// invalidate makes all headers of an operand invalid.
func (l *lowerer) invalidate(o *operand, span diag.Span) {
	if o.list {
		for _, e := range o.elems {
			l.invalidate(e, span)
		}
		return
	}
	switch t := resolved(o.t).(type) {
	case *Struct:
		if isHeader(t) {
			l.emit(&ir.Call{Op: ir.OpSetInvalid, Args: []ir.Expr{copyOf(o.x)}, Span: span})
			return
		}
		for i := range t.Fields() {
			l.invalidate(l.part(o, i, span), span)
		}
	case *Stack:
		for i := range t.Size {
			l.invalidate(l.part(o, i, span), span)
		}
	case *Tuple:
		for i := range t.Elems {
			l.invalidate(l.part(o, i, span), span)
		}
	}
}

// mentions reports whether an operand reads a variable.
func mentions(o *operand, v *ir.Var) bool {
	if o.x != nil {
		return reads(o.x, v)
	}
	for _, e := range o.elems {
		if mentions(e, v) {
			return true
		}
	}
	return false
}

func reads(e ir.Expr, v *ir.Var) bool {
	found := false
	ir.WalkExpr(e, func(x ir.Expr) {
		if r, ok := x.(*ir.VarRef); ok && r.Var == v {
			found = true
		}
	})
	return found
}

// save gives an operand that what follows cannot change: a constant, or a copy in a
// variable of its own.
func (l *lowerer) save(o *operand, span diag.Span) *operand {
	if o.list {
		return l.saveAll(o, span)
	}
	if o.x == nil {
		return o
	}
	if _, ok := o.x.(*ir.Const); ok {
		return o
	}
	if r, ok := o.x.(*ir.VarRef); ok && l.temps[r.Var] && !o.lv {
		return o
	}
	t := l.temp("tmp", o.t, span)
	l.assign(t, o, span)
	t.lv = false
	return t
}

func (l *lowerer) saveAll(o *operand, span diag.Span) *operand {
	n := *o
	n.elems = make([]*operand, len(o.elems))
	for i, e := range o.elems {
		n.elems[i] = l.save(e, span)
	}
	return &n
}

// storage gives an operand as an expression that names storage, copying it into a
// variable when it is made of parts.
func (l *lowerer) storage(o *operand, span diag.Span) ir.Expr {
	if o.x != nil {
		return copyOf(o.x)
	}
	t := l.temp("tmp", o.t, span)
	l.assign(t, o, span)
	return copyOf(t.x)
}
