package ir

import (
	"math/big"
	"math/rand"
	"testing"
)

func n(v int64) *big.Int { return big.NewInt(v) }

func TestEvalBinary(t *testing.T) {
	u8, s8, u4 := &Bits{Width: 8}, &Bits{Width: 8, Signed: true}, &Bits{Width: 4}
	tests := []struct {
		op     BinaryOp
		tx, ty Type
		x, y   int64
		want   int64
	}{
		{Add, u8, u8, 255, 1, 0},
		{Sub, u8, u8, 0, 1, 255},
		{Mul, u8, u8, 16, 17, 16},
		{Div, u8, u8, 7, 2, 3},
		{Mod, u8, u8, 7, 4, 3},
		{Add, s8, s8, 127, 1, -128},
		{AddSat, u8, u8, 250, 10, 255},
		{SubSat, u8, u8, 3, 5, 0},
		{AddSat, s8, s8, 100, 100, 127},
		{SubSat, s8, s8, -100, 100, -128},
		{And, s8, s8, -1, 0x7f, 0x7f},
		{Xor, s8, s8, -1, 1, -2},
		{Or, s8, s8, -128, 1, -127},
		{Shl, u8, u4, 0x81, 1, 2},
		{Shl, u8, u8, 1, 8, 0},
		{Shl, s8, u8, 64, 1, -128},
		{Shr, u8, u8, 0x80, 7, 1},
		{Shr, u8, u8, 0x80, 200, 0},
		{Shr, s8, u8, -128, 3, -16},
		{Shr, s8, u8, -1, 200, -1},
		{Concat, u8, u4, 0xab, 0xc, 0xabc},
		{Concat, s8, u8, -1, 0, -256},
		{Lt, s8, s8, -1, 0, 1},
		{Ge, u8, u8, 1, 2, 0},
		{Ne, &Bool{}, &Bool{}, 1, 0, 1},
	}
	for _, tt := range tests {
		if got := EvalBinary(tt.op, tt.tx, tt.ty, n(tt.x), n(tt.y)); got == nil || got.Cmp(n(tt.want)) != 0 {
			t.Errorf("%s %d %s %d = %v, want %d", tt.tx, tt.x, tt.op, tt.y, got, tt.want)
		}
	}
	if EvalBinary(Div, u8, u8, n(1), n(0)) != nil || EvalBinary(Mod, u8, u8, n(1), n(0)) != nil {
		t.Error("a division by zero has a result")
	}
}

func TestEvalCast(t *testing.T) {
	tests := []struct {
		to, from Type
		x, want  int64
	}{
		{&Bits{Width: 4}, &Bits{Width: 8}, 0xab, 0xb},
		{&Bits{Width: 8, Signed: true}, &Bits{Width: 8}, 0xff, -1},
		{&Bits{Width: 8}, &Bits{Width: 8, Signed: true}, -1, 0xff},
		{&Bits{Width: 16, Signed: true}, &Bits{Width: 8, Signed: true}, -5, -5},
		{&Bits{Width: 4, Signed: true}, &Bits{Width: 8, Signed: true}, 0x18, -8},
		{&Bits{Width: 1}, &Bool{}, 1, 1},
		{&Bool{}, &Bits{Width: 1}, 1, 1},
	}
	for _, tt := range tests {
		if got := EvalCast(tt.to, tt.from, n(tt.x)); got.Cmp(n(tt.want)) != 0 {
			t.Errorf("(%s) %s %d = %d, want %d", tt.to, tt.from, tt.x, got, tt.want)
		}
	}
}

// TestResultsFit checks that whatever is computed is a value of its type.
func TestResultsFit(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	ops := []BinaryOp{Add, Sub, Mul, AddSat, SubSat, And, Or, Xor, Shl, Shr}
	for range 20000 {
		b := &Bits{Width: 1 + rng.Intn(70), Signed: rng.Intn(2) == 0}
		u := &Bits{Width: 1 + rng.Intn(9)}
		x, y := randomValue(rng, b), randomValue(rng, b)
		op := ops[rng.Intn(len(ops))]
		ty := Type(b)
		if op == Shl || op == Shr {
			y, ty = randomValue(rng, u), u
		}
		r := EvalBinary(op, b, ty, x, y)
		if lo, hi := Range(b); r == nil || r.Cmp(lo) < 0 || r.Cmp(hi) > 0 {
			t.Fatalf("%s: %v %s %v = %v", b, x, op, y, r)
		}
	}
}

func randomValue(rng *rand.Rand, b *Bits) *big.Int {
	switch lo, hi := Range(b); rng.Intn(5) {
	case 0:
		return lo
	case 1:
		return hi
	}
	return Wrap(b, new(big.Int).Rand(rng, new(big.Int).Lsh(n(1), uint(b.Width))))
}

// randomExpr makes an expression over a few variables.
func randomExpr(rng *rand.Rand, vars []*Var, depth int) Expr {
	b := vars[0].Type.(*Bits)
	if depth == 0 || rng.Intn(6) == 0 {
		if rng.Intn(2) == 0 {
			return &VarRef{Var: vars[rng.Intn(len(vars))]}
		}
		return &Const{T: b, Value: randomValue(rng, b)}
	}
	sub := func() Expr { return Fold(randomExpr(rng, vars, depth-1)) }
	cond := func() Expr {
		op := []BinaryOp{Eq, Ne, Lt, Ge}[rng.Intn(4)]
		c := Fold(&Binary{Op: op, X: sub(), Y: sub(), T: &Bool{}})
		if rng.Intn(2) == 0 {
			c = Fold(&Unary{Op: Not, X: c})
		}
		if rng.Intn(3) == 0 {
			d := Fold(&Binary{Op: Lt, X: sub(), Y: sub(), T: &Bool{}})
			c = Fold(&Binary{Op: []BinaryOp{AndAnd, OrOr, Eq, Ne}[rng.Intn(4)], X: c, Y: d, T: &Bool{}})
		}
		return c
	}
	switch rng.Intn(5) {
	case 0:
		return &Unary{Op: []UnaryOp{Neg, Comp}[rng.Intn(2)], X: sub()}
	case 1:
		return &Mux{Cond: cond(), Then: sub(), Else: sub()}
	case 2:
		hi := rng.Intn(b.Width)
		lo := rng.Intn(hi + 1)
		s := Fold(&Slice{X: sub(), Hi: hi, Lo: lo})
		return &Cast{T: b, X: s}
	}
	op := []BinaryOp{Add, Sub, Mul, AddSat, SubSat, And, Or, Xor, Shl, Shr}[rng.Intn(10)]
	return &Binary{Op: op, X: sub(), Y: sub(), T: b}
}

// evaluate computes an expression, folding nothing.
func evaluate(e Expr, env map[*Var]*big.Int) *big.Int {
	switch e := e.(type) {
	case *Const:
		return e.Value
	case *VarRef:
		return env[e.Var]
	case *Unary:
		return EvalUnary(e.Op, e.X.Type(), evaluate(e.X, env))
	case *Binary:
		return EvalBinary(e.Op, e.X.Type(), e.Y.Type(), evaluate(e.X, env), evaluate(e.Y, env))
	case *Cast:
		return EvalCast(e.T, e.X.Type(), evaluate(e.X, env))
	case *Slice:
		return EvalSlice(e.X.Type(), evaluate(e.X, env), e.Hi, e.Lo)
	case *Mux:
		if evaluate(e.Cond, env).Sign() != 0 {
			return evaluate(e.Then, env)
		}
		return evaluate(e.Else, env)
	}
	panic("unknown expression")
}

// TestFoldKeepsTheValue folds random expressions and compares what they compute.
func TestFoldKeepsTheValue(t *testing.T) {
	rng := rand.New(rand.NewSource(2))
	for range 20000 {
		b := &Bits{Width: 1 + rng.Intn(40)}
		vars := []*Var{{Name: "x", Type: b}, {Name: "y", Type: b}}
		env := map[*Var]*big.Int{vars[0]: randomValue(rng, b), vars[1]: randomValue(rng, b)}
		e := randomExpr(rng, vars, 1+rng.Intn(4))
		want := evaluate(e, env)
		f := Fold(e)
		if got := evaluate(f, env); got.Cmp(want) != 0 {
			t.Fatalf("%T of %s: %v before folding, %v behind", e, b, want, got)
		}
		if !Equal(f.Type(), e.Type()) {
			t.Fatalf("folding changes the type %s to %s", e.Type(), f.Type())
		}
	}
}
