package interp

import (
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// newRun makes a run that can evaluate expressions.
func newRun() *run {
	return &run{sw: &Switch{opts: Options{}.withDefaults(), random: rand.New(rand.NewPCG(1, 0))}, store: map[*ir.Var]*cell{}}
}

func num(t ir.Type, v int64) *ir.Const { return &ir.Const{T: t, Value: big.NewInt(v)} }

var (
	u8    = &ir.Bits{Width: 8}
	u16   = &ir.Bits{Width: 16}
	u32   = &ir.Bits{Width: 32}
	i8    = &ir.Bits{Width: 8, Signed: true}
	bool1 = &ir.Bool{}
)

func TestBinary(t *testing.T) {
	for _, c := range []struct {
		t    ir.Type
		x    int64
		op   ir.BinaryOp
		y    int64
		want int64
	}{
		{u8, 250, ir.Add, 10, 4},
		{u8, 3, ir.Sub, 5, 254},
		{u8, 16, ir.Mul, 17, 16},
		{u8, 250, ir.AddSat, 10, 255},
		{u8, 3, ir.SubSat, 5, 0},
		{i8, 100, ir.Add, 100, -56},
		{i8, 100, ir.AddSat, 100, 127},
		{i8, -100, ir.AddSat, -100, -128},
		{i8, -100, ir.SubSat, 100, -128},
		{i8, -1, ir.And, 0x0f, 0x0f},
		{i8, -128, ir.Or, 1, -127},
		{i8, -1, ir.Xor, 0x0f, -16},
		{u8, 200, ir.Div, 7, 28},
		{u8, 200, ir.Mod, 7, 4},
	} {
		got := newRun().eval(&ir.Binary{Op: c.op, X: num(c.t, c.x), Y: num(c.t, c.y), T: c.t})
		if got.Int64() != c.want {
			t.Errorf("%s: %d %s %d = %s, want %d", c.t, c.x, c.op, c.y, got, c.want)
		}
	}
}

func TestShift(t *testing.T) {
	for _, c := range []struct {
		t    ir.Type
		x    int64
		op   ir.BinaryOp
		y    int64
		want int64
	}{
		{u8, 0x81, ir.Shl, 1, 2},
		{u8, 0x81, ir.Shr, 1, 0x40},
		{u8, 0x81, ir.Shl, 8, 0},
		{u8, 0x81, ir.Shr, 200, 0},
		{i8, -2, ir.Shr, 1, -1},
		{i8, -2, ir.Shr, 100, -1},
		{i8, 64, ir.Shl, 1, -128},
	} {
		got := newRun().eval(&ir.Binary{Op: c.op, X: num(c.t, c.x), Y: num(u32, c.y), T: c.t})
		if got.Int64() != c.want {
			t.Errorf("%s: %d %s %d = %s, want %d", c.t, c.x, c.op, c.y, got, c.want)
		}
	}
	huge := &ir.Const{T: &ir.Bits{Width: 200}, Value: new(big.Int).Lsh(big.NewInt(1), 199)}
	if got := newRun().eval(&ir.Binary{Op: ir.Shl, X: num(u8, 1), Y: huge, T: u8}); got.Sign() != 0 {
		t.Errorf("1 << 2^199 = %s", got)
	}
}

func TestUnaryCastSliceConcat(t *testing.T) {
	for _, c := range []struct {
		e    ir.Expr
		want int64
	}{
		{&ir.Unary{Op: ir.Neg, X: num(u8, 1)}, 255},
		{&ir.Unary{Op: ir.Neg, X: num(i8, -128)}, -128},
		{&ir.Unary{Op: ir.Comp, X: num(u8, 0x0f)}, 0xf0},
		{&ir.Unary{Op: ir.Comp, X: num(i8, 0)}, -1},
		{&ir.Unary{Op: ir.Not, X: num(bool1, 0)}, 1},
		{&ir.Cast{T: i8, X: num(u8, 200)}, -56},
		{&ir.Cast{T: u16, X: num(i8, -1)}, 0xffff},
		{&ir.Cast{T: u8, X: num(u16, 0x1234)}, 0x34},
		{&ir.Cast{T: bool1, X: num(&ir.Bits{Width: 1}, 1)}, 1},
		{&ir.Slice{X: num(u16, 0x1234), Hi: 11, Lo: 4}, 0x23},
		{&ir.Slice{X: num(i8, -1), Hi: 7, Lo: 4}, 0xf},
		{&ir.Binary{Op: ir.Concat, X: num(u8, 0x12), Y: num(i8, -1), T: u16}, 0x12ff},
		{&ir.Mux{Cond: num(bool1, 1), Then: num(u8, 3), Else: num(u8, 4)}, 3},
		{&ir.Binary{Op: ir.Lt, X: num(i8, -1), Y: num(i8, 1), T: bool1}, 1},
	} {
		r := newRun()
		if got := r.eval(c.e); got.Int64() != c.want || r.err != nil {
			t.Errorf("%s = %s, want %d (%v)", path(c.e), got, c.want, r.err)
		}
	}
}

// The compiler's constant folding and the interpreter were written apart, so that one
// can be checked by the other.
func TestAgreesWithConstantFolding(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	ops := []ir.BinaryOp{ir.Add, ir.Sub, ir.Mul, ir.AddSat, ir.SubSat, ir.And, ir.Or, ir.Xor, ir.Eq, ir.Ne, ir.Lt, ir.Le,
		ir.Gt, ir.Ge, ir.Shl, ir.Shr, ir.Concat}
	random := func(bt *ir.Bits) *big.Int {
		v := new(big.Int)
		for range bt.Width/64 + 1 {
			v.Or(v.Lsh(v, 64), new(big.Int).SetUint64(rnd.Uint64()))
		}
		return fit(v, bt)
	}
	for range 3000 {
		bt := &ir.Bits{Width: 1 + rnd.IntN(140), Signed: rnd.IntN(2) == 0}
		op := ops[rnd.IntN(len(ops))]
		x, y := random(bt), random(bt)
		var result, ty ir.Type = bt, bt
		switch op {
		case ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge:
			result = bool1
		case ir.Shl, ir.Shr:
			ty, y = u8, random(u8)
		case ir.Concat:
			result = &ir.Bits{Width: 2 * bt.Width, Signed: bt.Signed}
		}
		got := newRun().eval(&ir.Binary{Op: op, X: &ir.Const{T: bt, Value: x}, Y: &ir.Const{T: ty, Value: y}, T: result})
		if want := ir.EvalBinary(op, bt, ty, x, y); want == nil || got.Cmp(want) != 0 {
			t.Fatalf("%s: %s %s %s = %s, folded it is %s", bt, x, op, y, got, want)
		}
		to := &ir.Bits{Width: 1 + rnd.IntN(140), Signed: bt.Signed}
		if got, want := newRun().eval(&ir.Cast{T: to, X: &ir.Const{T: bt, Value: x}}), ir.EvalCast(to, bt, x); got.Cmp(want) != 0 {
			t.Fatalf("(%s)%s = %s, folded it is %s", to, x, got, want)
		}
	}
}

func TestAssignSlice(t *testing.T) {
	r := newRun()
	v := &ir.Var{Name: "x", Type: i8}
	ref := &ir.VarRef{Var: v}
	r.assign(ref, big.NewInt(0x35))
	r.assign(&ir.Slice{X: ref, Hi: 7, Lo: 4}, big.NewInt(0xf))
	if got := r.eval(ref); got.Int64() != -11 {
		t.Errorf("x = %s, want -11 (0xf5)", got)
	}
}

func TestStack(t *testing.T) {
	h := &ir.Header{Name: "h", Fields: []*ir.Field{{Name: "a", Type: u8}}}
	c := newCell(&ir.Stack{Elem: h, Size: 3})
	show := func() (s string) {
		for _, e := range c.sub {
			if e.valid {
				s += e.sub[0].num.String()
			} else {
				s += "-"
			}
		}
		return s
	}
	for i := range 3 {
		c.sub[i].setValid(true)
		c.sub[i].sub[0].num = big.NewInt(int64(i + 1))
		c.next++
	}
	for _, step := range []struct {
		n    int
		want string
		next int
	}{{1, "-12", 3}, {-2, "2--", 1}, {2, "--2", 3}, {-3, "---", 0}} {
		if step.n > 0 {
			c.push(step.n)
		} else {
			c.pop(-step.n)
		}
		if show() != step.want || c.next != step.next {
			t.Errorf("after %+d: %s next %d, want %s next %d", step.n, show(), c.next, step.want, step.next)
		}
	}
}

func TestUnionHasOneValidMember(t *testing.T) {
	h := &ir.Header{Name: "h", Fields: []*ir.Field{{Name: "a", Type: u8}}}
	u := newCell(&ir.Union{Name: "u", Fields: []*ir.Field{{Name: "x", Type: h}, {Name: "y", Type: h}}})
	u.sub[0].setValid(true)
	u.sub[1].setValid(true)
	if u.sub[0].valid || !u.sub[1].valid || !u.isValid() {
		t.Error("setting y valid must make x invalid")
	}
	u.sub[0].setValid(false)
	if !u.isValid() {
		t.Error("making x invalid must not touch y")
	}
	u.setValid(false)
	if u.isValid() {
		t.Error("the union is still valid")
	}
}

func TestBitsInAndOut(t *testing.T) {
	r := reader{data: []byte{0x12, 0x34, 0x56, 0x78}}
	w := writer{}
	for _, n := range []int{3, 9, 1, 8, 11} {
		w.write(r.read(n), n)
	}
	if string(w.data) != string(r.data) {
		t.Errorf("%x became %x", r.data, w.data)
	}
	r.pos = 9
	if got := r.rest(); len(got) != 2 {
		t.Errorf("rest after 9 bits is %x", got)
	}
}

func TestMatchOne(t *testing.T) {
	lpm := &ir.Key{Type: &ir.Bits{Width: 20}, Match: ir.MatchLPM, Name: "p"}
	signed := &ir.Key{Type: i8, Match: ir.MatchRange, Name: "r"}
	for _, c := range []struct {
		k    *ir.Key
		m    target.Match
		v    []byte
		want bool
	}{
		{lpm, target.Match{Value: []byte{0x1, 0x20, 0}, PrefixLen: 7}, []byte{0x1, 0x3f, 0xff}, true},
		{lpm, target.Match{Value: []byte{0x1, 0x20, 0}, PrefixLen: 7}, []byte{0x1, 0x4f, 0xff}, false},
		{lpm, target.Match{Value: []byte{0x1, 0x20, 0}, PrefixLen: 20}, []byte{0x1, 0x20, 0x00}, true},
		{lpm, target.Match{Value: []byte{0x1, 0x20, 0}, PrefixLen: 20}, []byte{0x1, 0x20, 0x01}, false},
		{signed, target.Match{Lo: []byte{0xfe}, Hi: []byte{0x02}}, []byte{0xff}, true},
		{signed, target.Match{Lo: []byte{0xfe}, Hi: []byte{0x02}}, []byte{0x03}, false},
	} {
		m, err := target.CheckMatch(c.k, c.m)
		if err != nil {
			t.Fatal(err)
		}
		if got := matchOne(c.k, m, c.v); got != c.want {
			t.Errorf("%s %+v matches %x: %t", c.k.Name, c.m, c.v, got)
		}
	}
}

func TestMeterColours(t *testing.T) {
	m := meter{}
	m.set(&target.MeterConfig{CIR: 1, CBurst: 1, PIR: 2, PBurst: 2}, 0)
	want := []struct {
		at     int64 // seconds
		colour int
	}{{0, green}, {0, yellow}, {0, red}, {1, green}, {1, yellow}, {1, red}, {100, green}, {100, yellow}, {100, red}}
	for i, w := range want {
		if got := m.mark(durationOf(w.at), 1); got != w.colour {
			t.Errorf("packet %d at %ds: colour %d, want %d", i, w.at, got, w.colour)
		}
	}
}

func durationOf(seconds int64) time.Duration { return time.Duration(seconds) * time.Second }
