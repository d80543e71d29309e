package pass

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// expressions makes expressions over variables, of widths that no byte fits.
type expressions struct {
	r    *rand.Rand
	vars map[int]*ir.Var // by width, negative for int<W>
	bool *ir.Var
}

func (x *expressions) typ() *ir.Bits {
	return &ir.Bits{Width: []int{1, 2, 3, 5, 8, 9, 33, 70}[x.r.IntN(8)], Signed: x.r.IntN(3) == 0}
}

func (x *expressions) literal(t *ir.Bits) *ir.Const {
	lo, hi := ir.Range(t)
	v := []*big.Int{lo, hi, big.NewInt(0), big.NewInt(1), big.NewInt(2), big.NewInt(x.r.Int64N(300))}[x.r.IntN(6)]
	return &ir.Const{T: t, Value: ir.Wrap(t, v)}
}

func (x *expressions) variable(t *ir.Bits) ir.Expr {
	k := t.Width
	if t.Signed {
		k = -k
	}
	if x.vars[k] == nil {
		x.vars[k] = &ir.Var{Name: t.String(), Type: t}
	}
	return &ir.VarRef{Var: x.vars[k]}
}

func (x *expressions) bits(t *ir.Bits, depth int) ir.Expr {
	if depth == 0 || x.r.IntN(6) == 0 {
		if x.r.IntN(2) == 0 {
			return x.literal(t)
		}
		return x.variable(t)
	}
	depth--
	switch x.r.IntN(9) {
	case 0:
		return &ir.Unary{Op: []ir.UnaryOp{ir.Neg, ir.Comp}[x.r.IntN(2)], X: x.bits(t, depth)}
	case 1:
		return &ir.Mux{Cond: x.boolean(depth), Then: x.bits(t, depth), Else: x.bits(t, depth)}
	case 2: // a cast from another width
		return &ir.Cast{T: t, X: x.bits(&ir.Bits{Width: x.typ().Width, Signed: t.Signed}, depth)}
	case 3: // from the other sign
		return &ir.Cast{T: t, X: x.bits(&ir.Bits{Width: t.Width, Signed: !t.Signed}, depth)}
	case 4:
		if t.Width == 1 && !t.Signed {
			return &ir.Cast{T: t, X: x.boolean(depth)}
		}
		if t.Width > 1 {
			n := 1 + x.r.IntN(t.Width-1)
			return &ir.Binary{Op: ir.Concat, T: t, X: x.bits(&ir.Bits{Width: n, Signed: t.Signed}, depth), Y: x.bits(&ir.Bits{Width: t.Width - n, Signed: t.Signed}, depth)}
		}
	case 5:
		if !t.Signed {
			from := &ir.Bits{Width: t.Width + x.r.IntN(9), Signed: x.r.IntN(2) == 0}
			lo := x.r.IntN(from.Width - t.Width + 1)
			return &ir.Slice{X: x.bits(from, depth), Hi: lo + t.Width - 1, Lo: lo}
		}
	case 6:
		by := x.bits(&ir.Bits{Width: 8}, 0)
		return &ir.Binary{Op: []ir.BinaryOp{ir.Shl, ir.Shr}[x.r.IntN(2)], X: x.bits(t, depth), Y: by, T: t}
	}
	ops := []ir.BinaryOp{ir.Add, ir.Sub, ir.Mul, ir.AddSat, ir.SubSat, ir.And, ir.Or, ir.Xor}
	e := &ir.Binary{Op: ops[x.r.IntN(len(ops))], X: x.bits(t, depth), T: t}
	e.Y = x.bits(t, depth)
	if x.r.IntN(5) == 0 {
		e.Y = e.X
	}
	return e
}

func (x *expressions) boolean(depth int) ir.Expr {
	if depth == 0 {
		if x.r.IntN(3) == 0 {
			return truth(x.r.IntN(2) == 0, &ir.StringLit{})
		}
		return &ir.VarRef{Var: x.bool}
	}
	depth--
	switch x.r.IntN(6) {
	case 0:
		return &ir.Unary{Op: ir.Not, X: x.boolean(depth)}
	case 1:
		ops := []ir.BinaryOp{ir.AndAnd, ir.OrOr, ir.Eq, ir.Ne}
		return &ir.Binary{Op: ops[x.r.IntN(4)], X: x.boolean(depth), Y: x.boolean(depth), T: &ir.Bool{}}
	case 2:
		return &ir.Cast{T: &ir.Bool{}, X: x.bits(&ir.Bits{Width: 1}, depth)}
	}
	ops := []ir.BinaryOp{ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge}
	t := x.typ()
	return &ir.Binary{Op: ops[x.r.IntN(6)], X: x.bits(t, depth), Y: x.bits(t, depth), T: &ir.Bool{}}
}

// evaluate computes an expression as the package ir defines it.
func evaluate(e ir.Expr, env func(*ir.Var) *big.Int) *big.Int {
	switch e := e.(type) {
	case *ir.Const:
		return e.Value
	case *ir.VarRef:
		return env(e.Var)
	case *ir.Unary:
		return ir.EvalUnary(e.Op, e.X.Type(), evaluate(e.X, env))
	case *ir.Binary:
		return ir.EvalBinary(e.Op, e.X.Type(), e.Y.Type(), evaluate(e.X, env), evaluate(e.Y, env))
	case *ir.Cast:
		return ir.EvalCast(e.T, e.X.Type(), evaluate(e.X, env))
	case *ir.Slice:
		return ir.EvalSlice(e.X.Type(), evaluate(e.X, env), e.Hi, e.Lo)
	case *ir.Mux:
		if evaluate(e.Cond, env).Sign() != 0 {
			return evaluate(e.Then, env)
		}
		return evaluate(e.Else, env)
	}
	panic("what is this?")
}

// TestSimplify compares expressions with what they are simplified to.
func TestSimplify(t *testing.T) {
	x := &expressions{r: newRand(5), vars: map[int]*ir.Var{}, bool: &ir.Var{Name: "b", Type: &ir.Bool{}}}
	simpler := 0
	for range 8000 {
		var e ir.Expr
		if x.r.IntN(3) == 0 {
			e = x.boolean(3)
		} else {
			e = x.bits(x.typ(), 3)
		}
		f := (&folder{seen: map[ir.Expr]ir.Expr{}}).expr(e)
		if !ir.Equal(e.Type(), f.Type()) {
			t.Fatalf("%s of type %s became %s of type %s", describe(e), e.Type(), describe(f), f.Type())
		}
		if f != e {
			simpler++
		}
		for range 4 {
			values := map[*ir.Var]*big.Int{x.bool: big.NewInt(x.r.Int64N(2))}
			env := func(v *ir.Var) *big.Int {
				if values[v] == nil {
					values[v] = x.literal(v.Type.(*ir.Bits)).Value
				}
				return values[v]
			}
			if a, b := evaluate(e, env), evaluate(f, env); a.Cmp(b) != 0 {
				t.Fatalf("%s is %v, but %s is %v", describe(e), a, describe(f), b)
			}
		}
	}
	if simpler < 3000 {
		t.Errorf("only %d expressions were simplified", simpler)
	}
}

// describe prints an expression with its types.
func describe(e ir.Expr) string {
	switch e := e.(type) {
	case *ir.Const:
		return e.T.String() + ":" + e.Value.String()
	case *ir.VarRef:
		return e.Var.Name
	case *ir.Unary:
		return string(e.Op) + "(" + describe(e.X) + ")"
	case *ir.Binary:
		return "(" + describe(e.X) + " " + string(e.Op) + " " + describe(e.Y) + ")"
	case *ir.Cast:
		return "(" + e.T.String() + ")" + describe(e.X)
	case *ir.Slice:
		return describe(e.X) + "[" + big.NewInt(int64(e.Hi)).String() + ":" + big.NewInt(int64(e.Lo)).String() + "]"
	case *ir.Mux:
		return "(" + describe(e.Cond) + " ? " + describe(e.Then) + " : " + describe(e.Else) + ")"
	}
	return "?"
}
