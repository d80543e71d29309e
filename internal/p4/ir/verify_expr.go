package ir

// expr checks an expression and returns its type, nil if it has none that makes
// sense (which was complained about).
func (v *verifier) expr(e Expr) Type {
	switch e := e.(type) {
	case nil:
		v.errorf("an expression is missing")
	case *Const:
		v.value(e.T, e.Value)
		return e.T
	case *StringLit:
		v.errorf("a string where none can be")
	case *VarRef:
		if e.Var == nil || !v.vars[e.Var] {
			name := "?"
			if e.Var != nil {
				name = e.Var.Name
			}
			v.errorf("variable %s is not declared here", name)
			return nil
		}
		return e.Var.Type
	case *Member:
		return v.member(e)
	case *Index:
		t := v.expr(e.X)
		if i := v.expr(e.I); i != nil {
			if _, ok := ScalarBits(i); !ok {
				v.errorf("an index is a %s", i)
			}
		}
		if s, ok := t.(*Stack); ok {
			return s.Elem
		} else if t != nil {
			v.errorf("an index on a %s", t)
		}
	case *Slice:
		t := v.expr(e.X)
		if t == nil {
			return nil
		}
		w, ok := ScalarBits(t)
		if !ok || e.Lo < 0 || e.Hi < e.Lo || e.Hi >= w {
			v.errorf("slice [%d:%d] of a %s", e.Hi, e.Lo, t)
			return nil
		}
		return e.Type()
	case *Unary:
		return v.unary(e)
	case *Binary:
		return v.binary(e)
	case *Cast:
		if t := v.expr(e.X); t != nil && (!scalar(t) || !scalar(e.T)) {
			v.errorf("a cast from %s to %s", t, e.T)
		}
		return e.T
	case *Mux:
		v.boolean("the condition of ?:", e.Cond)
		a, b := v.expr(e.Then), v.expr(e.Else)
		if a != nil && b != nil && !Equal(a, b) {
			v.errorf("the sides of ?: are %s and %s", a, b)
		}
		return a
	case *IsValid:
		switch t := v.expr(e.X).(type) {
		case nil, *Header, *Union:
		default:
			v.errorf("isValid of a %s", t)
		}
		return &Bool{}
	case *StackIndex:
		t := v.expr(e.X)
		if _, ok := t.(*Stack); t != nil && !ok {
			v.errorf("nextIndex or lastIndex of a %s", t)
		}
		return e.Type()
	case *Tuple:
		return v.tuple(e)
	default:
		v.errorf("unknown expression %T", e)
	}
	return nil
}

func scalar(t Type) bool {
	_, ok := ScalarBits(t)
	return ok
}

func (v *verifier) member(e *Member) Type {
	t := v.expr(e.X)
	if t == nil {
		return nil
	}
	if e.Field == nil {
		v.errorf("a member of %s is missing", t)
		return nil
	}
	for _, f := range FieldsOf(t) {
		if f == e.Field {
			return f.Type
		}
	}
	v.errorf("%s has no field %s (or it is another one of that name)", t, e.Field.Name)
	return nil
}

func (v *verifier) tuple(e *Tuple) Type {
	for _, x := range e.Elems {
		v.expr(x)
	}
	if e.T == nil {
		v.errorf("a list has no type")
		return nil
	}
	if len(e.T.Fields) != len(e.Elems) {
		v.errorf("a list of %d elements has a type with %d fields", len(e.Elems), len(e.T.Fields))
	}
	return e.T
}

func (v *verifier) unary(e *Unary) Type {
	t := v.expr(e.X)
	if t == nil {
		return nil
	}
	switch e.Op {
	case Not:
		v.isBool("the operand of !", t)
	case Neg, Comp:
		if _, ok := t.(*Bits); !ok {
			v.errorf("%s of a %s", e.Op, t)
		}
	default:
		v.errorf("unknown operator %q", e.Op)
	}
	return t
}

func (v *verifier) binary(e *Binary) Type {
	x, y := v.expr(e.X), v.expr(e.Y)
	if x == nil || y == nil {
		return e.T
	}
	want := x // the type of the result
	switch e.Op {
	case AndAnd, OrOr:
		v.isBool("the left of "+string(e.Op), x)
		v.isBool("the right of "+string(e.Op), y)
	case Eq, Ne:
		_, varbit := x.(*Varbit)
		if !Equal(x, y) || !varbit && !scalar(x) {
			v.errorf("%s %s %s", x, e.Op, y)
		}
		want = &Bool{}
	case Lt, Le, Gt, Ge:
		v.sameBits(e.Op, x, y)
		want = &Bool{}
	case Shl, Shr:
		if _, ok := x.(*Bits); !ok {
			v.errorf("%s %s %s", x, e.Op, y)
		}
		if b, ok := y.(*Bits); !ok || b.Signed {
			v.errorf("a shift by a %s", y)
		}
	case Concat:
		a, okA := x.(*Bits)
		b, okB := y.(*Bits)
		if !okA || !okB {
			v.errorf("%s ++ %s", x, y)
			return e.T
		}
		want = &Bits{Width: a.Width + b.Width, Signed: a.Signed}
	case Add, Sub, Mul, Div, Mod, AddSat, SubSat, And, Or, Xor:
		v.sameBits(e.Op, x, y)
	default:
		v.errorf("unknown operator %q", e.Op)
	}
	if e.T == nil || !Equal(e.T, want) {
		v.errorf("%s %s %s gives a %v", x, e.Op, y, e.T)
	}
	return e.T
}

func (v *verifier) sameBits(op BinaryOp, x, y Type) {
	if _, ok := x.(*Bits); !ok || !Equal(x, y) {
		v.errorf("%s %s %s", x, op, y)
	}
}
