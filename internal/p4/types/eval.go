package types

import (
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/syntax"
)

// evaluator computes expressions at compile time. An expression has to be checked
// before it is evaluated.
type evaluator struct {
	info *Info
	// lookup gives the value of a constructor parameter, nil when it is not known yet.
	lookup func(*object) Value
	// types puts type arguments in, within a generic body; nil does nothing.
	types func(Type) Type
}

func (v *evaluator) put(t Type) Type {
	if v.types == nil || t == nil {
		return t
	}
	return v.types(t)
}

// value gives the value of an expression after its implicit conversion, nil when it is
// not known at compile time.
func (v *evaluator) value(e syntax.Expr) Value {
	r := v.raw(e)
	if to, ok := v.info.conv[e]; ok && r != nil {
		return convertValue(r, v.typ(e), v.put(to))
	}
	return r
}

func (v *evaluator) typ(e syntax.Expr) Type { return v.put(v.info.types[e]) }

// final is the type of an expression after its conversion.
func (v *evaluator) final(e syntax.Expr) Type {
	if to, ok := v.info.conv[e]; ok {
		return resolved(v.put(to))
	}
	return resolved(v.typ(e))
}

func (v *evaluator) raw(e syntax.Expr) Value {
	switch e := e.(type) {
	case *syntax.IntLit:
		if e.Sized {
			return IntVal{ir.Wrap(&ir.Bits{Width: e.Width, Signed: e.Signed}, e.Value)}
		}
		return IntVal{e.Value}
	case *syntax.BoolLit:
		return BoolVal(e.Value)
	case *syntax.StringLit:
		return StrVal(e.Value)
	case *syntax.PathExpr:
		o := v.info.uses[e]
		switch {
		case o == nil:
		case o.kind == objConst && o.value == nil && v.lookup != nil:
			if d, ok := o.decl.(*syntax.Const); ok {
				return v.value(d.Value) // it depends on a constructor parameter
			}
		case o.kind == objConst || o.kind == objMatchKind:
			return o.value
		case v.lookup != nil:
			return v.lookup(o)
		}
	case *syntax.Member:
		return v.member(e)
	case *syntax.Index:
		a, ok1 := v.value(e.X).(*AggVal)
		i, ok2 := v.value(e.Index).(IntVal)
		if ok1 && ok2 && i.V.IsInt64() && i.V.Int64() >= 0 && i.V.Int64() < int64(len(a.Elems)) {
			return a.Elems[i.V.Int64()]
		}
	case *syntax.Slice:
		return v.slice(e)
	case *syntax.Unary:
		return v.unary(e)
	case *syntax.Binary:
		return v.binary(e)
	case *syntax.Ternary:
		if b, ok := v.value(e.Cond).(BoolVal); ok {
			if b {
				return v.value(e.Then)
			}
			return v.value(e.Else)
		}
	case *syntax.Cast:
		if x := v.value(e.X); x != nil {
			return convertValue(x, v.final(e.X), v.typ(e))
		}
	case *syntax.Call:
		return v.call(e)
	case *syntax.ListExpr:
		a := &AggVal{}
		for _, x := range e.Elems {
			if _, ok := x.(*syntax.Dots); ok {
				a.rest = true
				continue
			}
			xv := v.value(x)
			if xv == nil {
				return nil
			}
			a.Elems = append(a.Elems, xv)
		}
		return a
	case *syntax.RecordExpr:
		a := &AggVal{rest: e.Default, Names: []string{}}
		for _, f := range e.Fields {
			xv := v.value(f.Value)
			if xv == nil {
				return nil
			}
			a.Names = append(a.Names, f.Name.Text)
			a.Elems = append(a.Elems, xv)
		}
		return a
	case *syntax.InvalidHeader:
		return &AggVal{Invalid: true}
	case *syntax.Dots:
		return DotsVal{}
	}
	return nil
}

func (v *evaluator) member(e *syntax.Member) Value {
	if r, ok := v.info.types[e.X].(*TypeRef); ok {
		switch t := r.T.(type) {
		case *Enum:
			for i, m := range t.Members {
				if m == e.Name.Text {
					return EnumVal(i)
				}
			}
		case *SerEnum:
			for _, m := range t.Members {
				if m.Name == e.Name.Text && m.Value != nil {
					return IntVal{m.Value}
				}
			}
		case Basic:
			return ErrVal(e.Name.Text)
		}
		return nil
	}
	xt := resolved(v.typ(e.X))
	if s, ok := xt.(*Stack); ok && e.Name.Text == "size" {
		return IntVal{big.NewInt(int64(s.Size))}
	}
	s, ok := xt.(*Struct)
	if !ok {
		return nil
	}
	a, ok := v.value(e.X).(*AggVal)
	if !ok {
		return nil
	}
	if _, i := s.field(e.Name.Text); i >= 0 && i < len(a.Elems) {
		return a.Elems[i]
	}
	return nil
}

func (v *evaluator) slice(e *syntax.Slice) Value {
	x, ok1 := v.value(e.X).(IntVal)
	hi, ok2 := v.value(e.Hi).(IntVal)
	lo, ok3 := v.value(e.Lo).(IntVal)
	t, ok4 := base(v.typ(e.X)).(*Bits)
	if !ok1 || !ok2 || !ok3 || !ok4 || !hi.V.IsInt64() || !lo.V.IsInt64() {
		return nil
	}
	h, l := int(hi.V.Int64()), int(lo.V.Int64())
	if l < 0 || h < l || h >= t.Width {
		return nil
	}
	return IntVal{ir.EvalSlice(irBits(t), x.V, h, l)}
}

func irBits(t *Bits) *ir.Bits { return &ir.Bits{Width: t.Width, Signed: t.Signed} }

func (v *evaluator) unary(e *syntax.Unary) Value {
	x := v.value(e.X)
	switch x := x.(type) {
	case BoolVal:
		if e.Op == syntax.OpNot {
			return !x
		}
	case IntVal:
		t, sized := base(v.final(e.X)).(*Bits)
		switch e.Op {
		case syntax.OpAdd:
			return x
		case syntax.OpSub:
			if !sized {
				return IntVal{new(big.Int).Neg(x.V)}
			}
			return IntVal{ir.EvalUnary(ir.Neg, irBits(t), x.V)}
		case syntax.OpCompl:
			if sized {
				return IntVal{ir.EvalUnary(ir.Comp, irBits(t), x.V)}
			}
		}
	}
	return nil
}

func (v *evaluator) binary(e *syntax.Binary) Value {
	x := v.value(e.X)
	if b, ok := x.(BoolVal); ok {
		if e.Op == syntax.OpLAnd && !b || e.Op == syntax.OpLOr && b {
			return b
		}
	}
	y := v.value(e.Y)
	if x == nil || y == nil {
		return nil
	}
	switch e.Op {
	case syntax.OpEq:
		return BoolVal(equalValues(x, y))
	case syntax.OpNe:
		return BoolVal(!equalValues(x, y))
	case syntax.OpLAnd, syntax.OpLOr:
		return y
	}
	if a, ok := x.(StrVal); ok {
		if b, ok := y.(StrVal); ok && e.Op == syntax.OpConcat {
			return a + b
		}
		return nil
	}
	a, ok1 := x.(IntVal)
	b, ok2 := y.(IntVal)
	if !ok1 || !ok2 {
		return nil
	}
	tx, sized := base(v.final(e.X)).(*Bits)
	if !sized {
		return infinite(e.Op, a.V, b.V)
	}
	ty, _ := base(v.final(e.Y)).(*Bits)
	var yt ir.Type
	if ty != nil {
		yt = irBits(ty)
	}
	r := ir.EvalBinary(ir.BinaryOp(e.Op.String()), irBits(tx), yt, a.V, b.V)
	if r == nil {
		return nil
	}
	switch e.Op {
	case syntax.OpLt, syntax.OpLe, syntax.OpGt, syntax.OpGe:
		return BoolVal(r.Sign() != 0)
	}
	return IntVal{r}
}

// maxShift bounds left shifts of numbers without a width, in bits.
const maxShift = 1 << 16

// infinite computes with numbers of unlimited size.
func infinite(op syntax.Op, x, y *big.Int) Value {
	r := new(big.Int)
	switch op {
	case syntax.OpAdd:
		return IntVal{r.Add(x, y)}
	case syntax.OpSub:
		return IntVal{r.Sub(x, y)}
	case syntax.OpMul:
		return IntVal{r.Mul(x, y)}
	case syntax.OpAnd:
		return IntVal{r.And(x, y)}
	case syntax.OpOr:
		return IntVal{r.Or(x, y)}
	case syntax.OpXor:
		return IntVal{r.Xor(x, y)}
	case syntax.OpDiv, syntax.OpMod:
		if y.Sign() <= 0 || x.Sign() < 0 {
			return nil
		}
		if op == syntax.OpDiv {
			return IntVal{r.Quo(x, y)}
		}
		return IntVal{r.Rem(x, y)}
	case syntax.OpShl, syntax.OpShr:
		if y.Sign() < 0 || !y.IsUint64() || op == syntax.OpShl && y.Uint64() > maxShift {
			return nil
		}
		if op == syntax.OpShl {
			return IntVal{r.Lsh(x, uint(y.Uint64()))}
		}
		return IntVal{r.Rsh(x, uint(min(y.Uint64(), uint64(x.BitLen())+1)))}
	case syntax.OpLt:
		return BoolVal(x.Cmp(y) < 0)
	case syntax.OpLe:
		return BoolVal(x.Cmp(y) <= 0)
	case syntax.OpGt:
		return BoolVal(x.Cmp(y) > 0)
	case syntax.OpGe:
		return BoolVal(x.Cmp(y) >= 0)
	}
	return nil
}

func (v *evaluator) call(e *syntax.Call) Value {
	ci := v.info.calls[e]
	if ci == nil {
		return nil
	}
	if ci.sig != nil {
		if ci.sig.kind == callExtern && ci.sig.name == "static_assert" {
			return v.value(ci.args[0])
		}
		return nil
	}
	smallest, inBits := true, false
	switch ci.builtin {
	case "minSizeInBits":
		inBits = true
	case "minSizeInBytes":
	case "maxSizeInBits":
		smallest, inBits = false, true
	case "maxSizeInBytes":
		smallest = false
	case "isValid":
		if a, ok := v.value(ci.recv).(*AggVal); ok {
			return BoolVal(!a.Invalid)
		}
		return nil
	default:
		return nil
	}
	n, ok := sizeInBits(v.put(ci.recvT), smallest)
	if !ok {
		return nil
	}
	if !inBits {
		n = (n + 7) / 8
	}
	return IntVal{big.NewInt(int64(n))}
}

// sizeInBits computes what minSizeInBits (smallest) and maxSizeInBits give
// (P4_16 1.2.5, section 8.18).
func sizeInBits(t Type, smallest bool) (int, bool) {
	switch t := base(t).(type) {
	case Basic:
		if t == Bool {
			return 1, true
		}
	case *Bits:
		return t.Width, true
	case *Varbit:
		if smallest {
			return 0, true
		}
		return t.Max, true
	case *Stack:
		n, ok := sizeInBits(t.Elem, smallest)
		return n * t.Size, ok
	case *Tuple:
		sum := 0
		for _, e := range t.Elems {
			n, ok := sizeInBits(e, smallest)
			if !ok {
				return 0, false
			}
			sum += n
		}
		return sum, true
	case *Struct:
		sum, least, most := 0, -1, 0
		for _, f := range t.Fields() {
			n, ok := sizeInBits(f.Type, smallest)
			if !ok {
				return 0, false
			}
			sum += n
			most = max(most, n)
			if least < 0 || n < least {
				least = n
			}
		}
		if !isUnion(t) {
			return sum, true
		}
		if smallest {
			return max(least, 0), true
		}
		return most, true
	}
	return 0, false
}

// convertValue converts a value from one type to another, implicitly or by a cast that
// has been checked. It returns nil where the value does not allow it.
func convertValue(x Value, from, to Type) Value {
	from, to = resolved(from), resolved(to)
	if _, ok := x.(DotsVal); ok {
		return zeroValue(to)
	}
	switch t := base(to).(type) {
	case *Bits:
		switch x := x.(type) {
		case IntVal:
			if f, ok := base(from).(*Bits); ok {
				return IntVal{ir.EvalCast(irBits(t), irBits(f), x.V)}
			}
			return IntVal{ir.Wrap(irBits(t), x.V)}
		case BoolVal:
			if x {
				return IntVal{big.NewInt(1)}
			}
			return IntVal{new(big.Int)}
		}
		return nil
	case Basic:
		if i, ok := x.(IntVal); ok && t == Bool {
			return BoolVal(i.V.Sign() != 0)
		}
		return x
	}
	a, ok := x.(*AggVal)
	if !ok || a.Invalid {
		return x
	}
	return convertAggregate(a, from, to)
}

// elemTypes gives the names and types of the parts of an aggregate type.
func elemTypes(t Type) (names []string, types []Type) {
	switch t := resolved(t).(type) {
	case *Struct:
		for _, f := range t.Fields() {
			names = append(names, f.Name)
			types = append(types, f.Type)
		}
	case *Tuple:
		return nil, t.Elems
	case *ListLit:
		return nil, t.Elems
	case *RecordLit:
		return t.Names, t.Types
	case *Stack:
		for range t.Size {
			types = append(types, t.Elem)
		}
	}
	return names, types
}

func convertAggregate(a *AggVal, from, to Type) Value {
	names, types := elemTypes(to)
	_, fromTypes := elemTypes(from)
	typeAt := func(i int) Type {
		if i < len(fromTypes) {
			return fromTypes[i]
		}
		return Bad
	}
	out := &AggVal{}
	if l, ok := to.(*List); ok {
		for i, x := range a.Elems {
			out.Elems = append(out.Elems, convertValue(x, typeAt(i), l.Elem))
		}
		return out
	}
	for i, t := range types {
		j := i
		if a.Names != nil {
			j = -1
			for k, n := range a.Names {
				if i < len(names) && n == names[i] {
					j = k
				}
			}
		}
		if j < 0 || j >= len(a.Elems) {
			out.Elems = append(out.Elems, zeroValue(t))
			continue
		}
		x := convertValue(a.Elems[j], typeAt(j), t)
		if x == nil {
			return nil
		}
		out.Elems = append(out.Elems, x)
	}
	return out
}
