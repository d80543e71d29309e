package dataplane

import (
	"bytes"
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// exprGen makes random expressions over the fields of a header.
type exprGen struct {
	r      *rand.Rand
	fields []ir.Expr
}

func (g *exprGen) pick(n int) int { return g.r.IntN(n) }

var widths = []int{1, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 48, 63, 64, 65, 96, 127, 128, 129, 200}

func (g *exprGen) width() int { return widths[g.pick(len(widths))] }

func (g *exprGen) constant(t *ir.Bits) ir.Expr {
	v := new(big.Int)
	switch g.pick(4) {
	case 0:
	case 1:
		v.SetInt64(int64(g.pick(9)))
	default:
		for range 4 {
			v.Or(v.Lsh(v, 64), new(big.Int).SetUint64(g.r.Uint64()))
		}
	}
	v.And(v, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(t.Width)), big.NewInt(1)))
	if t.Signed && v.Bit(t.Width-1) == 1 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(t.Width)))
	}
	return &ir.Const{T: t, Value: v}
}

// leaf is a field or constant, cast to a type.
func (g *exprGen) leaf(t *ir.Bits) ir.Expr {
	if g.pick(4) == 0 {
		return g.constant(t)
	}
	return g.cast(g.fields[g.pick(len(g.fields))], t)
}

// cast goes the ways that P4 allows: between widths in one signedness, and between
// the two in one width.
func (g *exprGen) cast(e ir.Expr, t *ir.Bits) ir.Expr {
	from := e.Type().(*ir.Bits)
	if from.Width != t.Width {
		e = &ir.Cast{T: &ir.Bits{Width: t.Width, Signed: from.Signed}, X: e}
	}
	if from.Signed != t.Signed {
		e = &ir.Cast{T: t, X: e}
	}
	return e
}

func (g *exprGen) boolean(depth int) ir.Expr {
	b := &ir.Bool{}
	if depth <= 0 {
		t := &ir.Bits{Width: g.width(), Signed: g.pick(3) == 0}
		return &ir.Binary{Op: ir.Eq, X: g.leaf(t), Y: g.leaf(t), T: b}
	}
	switch g.pick(4) {
	case 0:
		return &ir.Unary{Op: ir.Not, X: g.boolean(depth - 1)}
	case 1:
		op := []ir.BinaryOp{ir.AndAnd, ir.OrOr}[g.pick(2)]
		return &ir.Binary{Op: op, X: g.boolean(depth - 1), Y: g.boolean(depth - 1), T: b}
	}
	t := &ir.Bits{Width: g.width(), Signed: g.pick(3) == 0}
	op := []ir.BinaryOp{ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge}[g.pick(6)]
	return &ir.Binary{Op: op, X: g.expr(t, depth-1), Y: g.expr(t, depth-1), T: b}
}

func (g *exprGen) expr(t *ir.Bits, depth int) ir.Expr {
	if depth <= 0 {
		return g.leaf(t)
	}
	sub := func() ir.Expr { return g.expr(t, depth-1) }
	switch g.pick(12) {
	case 0:
		return &ir.Unary{Op: []ir.UnaryOp{ir.Neg, ir.Comp}[g.pick(2)], X: sub()}
	case 1:
		return &ir.Mux{Cond: g.boolean(depth - 1), Then: sub(), Else: sub()}
	case 2:
		amount := ir.Expr(num(8, int64(g.pick(t.Width+8))))
		if g.pick(2) == 0 {
			amount = g.expr(bit([]int{4, 8, 9, 70}[g.pick(4)]), depth-1)
		}
		return &ir.Binary{Op: []ir.BinaryOp{ir.Shl, ir.Shr}[g.pick(2)], X: sub(), Y: amount, T: t}
	case 3:
		if t.Signed || t.Width < 2 {
			return sub()
		}
		w := 1 + g.pick(t.Width-1)
		return &ir.Binary{Op: ir.Concat, X: g.expr(bit(w), depth-1), Y: g.expr(bit(t.Width-w), depth-1), T: t}
	case 4:
		if t.Signed {
			return sub()
		}
		w := t.Width + g.pick(40)
		lo := g.pick(w - t.Width + 1)
		return &ir.Slice{X: g.expr(bit(w), depth-1), Hi: lo + t.Width - 1, Lo: lo}
	case 5:
		return g.cast(g.expr(&ir.Bits{Width: g.width(), Signed: g.pick(3) == 0}, depth-1), t)
	case 6:
		if t.Width == 1 || t.Signed {
			return sub()
		}
		d := []int64{1, 2, 3, 10, 16}[g.pick(5)]
		if t.Width > 64 {
			d = 8
		}
		if d >= 1<<min(t.Width, 40) {
			d = 1
		}
		return &ir.Binary{Op: []ir.BinaryOp{ir.Div, ir.Mod}[g.pick(2)], X: sub(), Y: num(t.Width, d), T: t}
	}
	op := []ir.BinaryOp{ir.Add, ir.Sub, ir.Mul, ir.AddSat, ir.SubSat, ir.And, ir.Or, ir.Xor}[g.pick(8)]
	return &ir.Binary{Op: op, X: sub(), Y: sub(), T: t}
}

// calculator is a program whose ingress assigns random expressions over one header to
// the fields of another.
func calculator(r *rand.Rand, results int) *ir.Program {
	padded := func(name string, fs []*ir.Field) *ir.Header {
		n := 0
		for _, f := range fs {
			n += f.Type.(*ir.Bits).Width
		}
		if n%8 != 0 {
			fs = append(fs, &ir.Field{Name: "pad", Type: bit(8 - n%8)})
		}
		return &ir.Header{Name: name, Fields: fs}
	}
	var in, out []*ir.Field
	for i := range 8 {
		in = append(in, &ir.Field{Name: fmt.Sprintf("x%d", i), Type: &ir.Bits{Width: widths[r.IntN(len(widths))], Signed: r.IntN(4) == 0}})
	}
	for i := range results {
		out = append(out, &ir.Field{Name: fmt.Sprintf("r%d", i), Type: &ir.Bits{Width: widths[r.IntN(len(widths))], Signed: r.IntN(4) == 0}})
	}
	a, b := padded("a_t", in), padded("b_t", out)
	hs := &ir.Struct{Name: "headers", Fields: fields("a", a, "b", b)}
	ms := &ir.Struct{Name: "metadata"}
	std := standard()
	p := &ir.Program{
		Name: "calculator", Headers: []*ir.Header{a, b}, Structs: []*ir.Struct{hs, ms, std},
		Errors: []string{"NoError", "PacketTooShort"},
		Hdr:    &ir.Var{Name: "hdr", Type: hs}, Meta: &ir.Var{Name: "meta", Type: ms}, Std: &ir.Var{Name: "standard_metadata", Type: std},
	}
	hdr := ref(p.Hdr)
	p.Parser = &ir.Parser{Name: "P", States: []*ir.State{{Name: "start", Body: []ir.Stmt{
		&ir.Call{Op: ir.OpExtract, Dst: of(hdr, "a")}, &ir.Call{Op: ir.OpExtract, Dst: of(hdr, "b")}},
		Next: ir.Transition{Cases: []ir.SelectCase{{Next: ir.Accept}}}}}}
	g := &exprGen{r: r}
	for i := range 8 {
		g.fields = append(g.fields, of(hdr, "a", fmt.Sprintf("x%d", i)))
	}
	body := &ir.Block{}
	for i := range results {
		dst := of(hdr, "b", fmt.Sprintf("r%d", i))
		t := dst.Type().(*ir.Bits)
		if t.Width > 3 && !t.Signed && r.IntN(3) == 0 {
			lo := r.IntN(t.Width - 1)
			hi := lo + r.IntN(t.Width-lo)
			dst = &ir.Slice{X: dst, Hi: hi, Lo: lo}
			t = bit(hi - lo + 1)
		}
		body.Body = append(body.Body, &ir.Assign{Dst: dst, Src: g.expr(t, 2+r.IntN(2))})
	}
	p.Ingress = &ir.Control{Name: "I", Body: body}
	for _, c := range []**ir.Control{&p.VerifyChecksum, &p.Egress, &p.ComputeChecksum} {
		*c = &ir.Control{Name: "none", Body: &ir.Block{}}
	}
	p.Deparser = &ir.Control{Name: "D", Body: &ir.Block{Body: []ir.Stmt{
		&ir.Call{Op: ir.OpEmit, Args: []ir.Expr{of(hdr, "a")}},
		&ir.Call{Op: ir.OpEmit, Args: []ir.Expr{of(hdr, "b")}}}}}
	return p
}

// TestRandomExpressions compares the kernel with the reference interpreter.
func TestRandomExpressions(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 7))
		p := calculator(r, 12)
		reference, err := interp.New(p, interp.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, hook := range []ebpf.Target{ebpf.TC, ebpf.XDP} {
			if (seed%2 == 0) == (hook == ebpf.XDP) {
				continue // expressions are the same text on both
			}
			d := open(t, p, hook)
			for range 20 {
				data := make([]byte, 600)
				for i := range data {
					data[i] = byte(r.Uint32() & r.Uint32())
					if r.IntN(2) == 0 {
						data[i] = byte(r.Uint32() | r.Uint32())
					}
				}
				want, err := reference.Inject(target.Packet{Port: 1, Data: data})
				if err != nil {
					t.Fatal(err)
				}
				got, err := d.Inject(target.Packet{Port: 1, Data: data})
				if err != nil {
					t.Fatal(err)
				}
				if len(got) != 1 || len(want) != 1 || got[0].Port != want[0].Port || !bytes.Equal(got[0].Data, want[0].Data) {
					t.Fatalf("seed %d on %s:\nin   %x\ngot  %x\nwant %x\n%s", seed, hook, data, got, want, difference(p, got, want))
				}
			}
		}
	}
}

// difference names the first result that differs.
func difference(p *ir.Program, got, want []target.Packet) string {
	if len(got) != 1 || len(want) != 1 {
		return ""
	}
	at := 0
	for _, h := range p.Headers {
		for _, f := range h.Fields {
			w := f.Type.(*ir.Bits).Width
			for i := at; i < at+w; i++ {
				if (got[0].Data[i/8]^want[0].Data[i/8])>>(7-i%8)&1 != 0 {
					return fmt.Sprintf("%s.%s (%s): got %#x, want %#x", h.Name, f.Name, f.Type, bitsAt(got[0].Data, at, w), bitsAt(want[0].Data, at, w))
				}
			}
			at += w
		}
	}
	return "the payload"
}

func bitsAt(data []byte, at, w int) *big.Int {
	v := new(big.Int).SetBytes(data[:(at+w+7)/8])
	v.Rsh(v, uint((at+w+7)/8*8-at-w))
	return v.And(v, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(w)), big.NewInt(1)))
}
