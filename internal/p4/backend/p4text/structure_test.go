package p4text

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// tiny is a program with a header { bit<8> in; bit<32> out } and an ingress body that
// is made of random statements.
type tiny struct {
	rnd      *rand.Rand
	prog     *ir.Program
	in, out  ir.Expr
	open     []*ir.Block
	counters []*ir.Var
}

func newTiny(seed uint64) *tiny {
	u8, u32 := &ir.Bits{Width: 8}, &ir.Bits{Width: 32}
	fIn, fOut := &ir.Field{Name: "in_", Type: u8}, &ir.Field{Name: "out_", Type: u32}
	h := &ir.Header{Name: "h_t", Fields: []*ir.Field{fIn, fOut}}
	fh := &ir.Field{Name: "h", Type: h}
	hdr := &ir.Var{Name: "hdr", Type: &ir.Struct{Name: "headers", Fields: []*ir.Field{fh}}}
	meta := &ir.Var{Name: "meta", Type: &ir.Struct{Name: "metadata"}}
	std := &ir.Var{Name: "sm", Type: &ir.Struct{Name: "standard_metadata_t", Fields: []*ir.Field{
		{Name: "egress_spec", Type: &ir.Bits{Width: 9}}}}}
	href := &ir.Member{X: &ir.VarRef{Var: hdr}, Field: fh}
	empty := func(name string) *ir.Control { return &ir.Control{Name: name, Body: &ir.Block{}} }
	p := &ir.Program{
		Name: "tiny", Errors: []string{"NoError", "PacketTooShort"}, Hdr: hdr, Meta: meta, Std: std,
		Parser: &ir.Parser{Name: "P", States: []*ir.State{{
			Name: "start", Body: []ir.Stmt{&ir.Call{Op: ir.OpExtract, Dst: href}},
			Next: ir.Transition{Cases: []ir.SelectCase{{Next: ir.Accept}}},
		}}},
		VerifyChecksum: empty("V"), Ingress: empty("I"), Egress: empty("E"), ComputeChecksum: empty("C"), Deparser: empty("D"),
	}
	p.Deparser.Body.Body = []ir.Stmt{&ir.Call{Op: ir.OpEmit, Args: []ir.Expr{href}}}
	return &tiny{rnd: rand.New(rand.NewPCG(seed, 1)), prog: p,
		in: &ir.Member{X: href, Field: fIn}, out: &ir.Member{X: href, Field: fOut}}
}

func (g *tiny) cond() ir.Expr {
	bit := g.rnd.IntN(8)
	one := &ir.Const{T: &ir.Bits{Width: 1}, Value: big.NewInt(1)}
	return &ir.Binary{Op: ir.Eq, X: &ir.Slice{X: g.in, Hi: bit, Lo: bit}, Y: one, T: &ir.Bool{}}
}

// mark is out = out * 31 + k: the value tells which marks were met in which order.
func (g *tiny) mark() ir.Stmt {
	u32 := &ir.Bits{Width: 32}
	num := func(v int) ir.Expr { return &ir.Const{T: u32, Value: big.NewInt(int64(v))} }
	mul := &ir.Binary{Op: ir.Mul, X: g.out, Y: num(31), T: u32}
	return &ir.Assign{Dst: g.out, Src: &ir.Binary{Op: ir.Add, X: mul, Y: num(1 + g.rnd.IntN(1000)), T: u32}}
}

func (g *tiny) list(depth int) []ir.Stmt {
	var out []ir.Stmt
	for range 1 + g.rnd.IntN(3) {
		out = append(out, g.stmt(depth))
	}
	return out
}

func (g *tiny) stmt(depth int) ir.Stmt {
	kind := g.rnd.IntN(10)
	if depth == 0 && kind > 3 {
		kind = 0
	}
	switch kind {
	case 1, 2:
		if len(g.open) > 0 {
			return &ir.Leave{Block: g.open[g.rnd.IntN(len(g.open))]}
		}
	case 3:
		if g.rnd.IntN(6) == 0 {
			return &ir.Exit{}
		}
	case 4, 5, 6:
		s := &ir.If{Cond: g.cond(), Then: g.list(depth - 1)}
		if g.rnd.IntN(2) == 0 {
			s.Else = g.list(depth - 1)
		}
		return s
	case 7, 8:
		b := &ir.Block{Name: "b"}
		g.open = append(g.open, b)
		b.Body = g.list(depth - 1)
		g.open = g.open[:len(g.open)-1]
		return b
	case 9:
		if g.rnd.IntN(2) == 0 {
			bits := &ir.Slice{X: g.in, Hi: 1, Lo: 0}
			val := func(v int64) []*ir.Const {
				return []*ir.Const{{T: &ir.Bits{Width: 2}, Value: big.NewInt(v)}}
			}
			return &ir.Switch{X: bits, Default: g.list(depth - 1), Cases: []ir.SwitchCase{
				{Values: val(0), Body: g.list(depth - 1)}, {Values: val(2), Body: g.list(depth - 1)}}}
		}
		return g.loop(depth)
	}
	return g.mark()
}

// loop makes a block with a loop that runs three times at most.
func (g *tiny) loop(depth int) ir.Stmt {
	u8 := &ir.Bits{Width: 8}
	v := &ir.Var{Name: "i", Type: u8}
	g.counters = append(g.counters, v)
	ref := &ir.VarRef{Var: v}
	num := func(n int64) ir.Expr { return &ir.Const{T: u8, Value: big.NewInt(n)} }
	b := &ir.Block{Name: "loop"}
	body := []ir.Stmt{
		&ir.If{Cond: &ir.Binary{Op: ir.Ge, X: ref, Y: num(3), T: &ir.Bool{}}, Then: []ir.Stmt{&ir.Leave{Block: b}}},
		&ir.Assign{Dst: ref, Src: &ir.Binary{Op: ir.Add, X: ref, Y: num(1), T: u8}},
	}
	g.open = append(g.open, b)
	body = append(body, g.list(depth-1)...)
	g.open = g.open[:len(g.open)-1]
	b.Body = []ir.Stmt{&ir.Assign{Dst: ref, Src: num(0)}, &ir.Loop{Body: body}}
	return b
}

// run sends a packet for each input and returns what the marks say.
func (g *tiny) run(t *testing.T) [256]string {
	t.Helper()
	sw, err := interp.New(g.prog, interp.Options{MaxSteps: 10000})
	if err != nil {
		t.Fatal(err)
	}
	var out [256]string
	for i := range out {
		ps, err := sw.Inject(target.Packet{Data: []byte{byte(i), 0, 0, 0, 0}})
		if err != nil {
			t.Fatal(err)
		}
		out[i] = string(ps[0].Data)
	}
	return out
}

// unreturn gives the restructured statements the form that the interpreter takes.
func unreturn(list []ir.Stmt, whole *ir.Block, loops map[*ir.Loop]ir.Expr) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Leave:
			if s.Block != ret {
				panic("a Leave is left")
			}
			out = append(out, &ir.Leave{Block: whole})
			continue
		case *ir.If:
			out = append(out, &ir.If{Cond: s.Cond, Then: unreturn(s.Then, whole, loops), Else: unreturn(s.Else, whole, loops)})
			continue
		case *ir.Switch:
			n := &ir.Switch{X: s.X, Default: unreturn(s.Default, whole, loops)}
			for _, c := range s.Cases {
				n.Cases = append(n.Cases, ir.SwitchCase{Values: c.Values, Body: unreturn(c.Body, whole, loops)})
			}
			out = append(out, n)
			continue
		case *ir.Loop:
			b := &ir.Block{}
			stop := &ir.If{Cond: negate(loops[s]), Then: []ir.Stmt{&ir.Leave{Block: b}}}
			b.Body = []ir.Stmt{&ir.Loop{Body: append([]ir.Stmt{stop}, unreturn(s.Body, whole, loops)...)}}
			out = append(out, b)
			continue
		}
		out = append(out, s)
	}
	return out
}

func TestRestructuredProgramsDoTheSame(t *testing.T) {
	rewritten := 0
	for seed := range uint64(400) {
		g := newTiny(seed)
		body := g.prog.Ingress.Body
		g.open = []*ir.Block{body}
		body.Body = g.list(4)
		g.prog.Ingress.Locals = g.counters
		want := g.run(t)
		r := restructure([]ir.Stmt{body}, true, newScope(nil).take)
		whole := &ir.Block{}
		whole.Body = unreturn(r.body, whole, r.loops)
		g.prog.Ingress.Locals = append(g.counters, r.flags...)
		g.prog.Ingress.Body = &ir.Block{Body: []ir.Stmt{whole}}
		if got := g.run(t); got != want {
			t.Fatalf("seed %d: the restructured program does something else", seed)
		}
		rewritten += len(r.flags)
	}
	if rewritten == 0 {
		t.Error("no program needed a flag: the test shows little")
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"short", "    short"},
		{"hash(dst, HashAlgorithm.crc16, { a, b, c }, 32w10);",
			"    hash(dst, HashAlgorithm.crc16,\n            { a, b, c }, 32w10);"},
		{`log_msg("a, b, c, d, e, f, g, h, i, j, k, l");`, `    log_msg("a, b, c, d, e, f, g, h, i, j, k, l");`},
	} {
		if got := wrap(c.in, 4, 34); got != c.want {
			t.Errorf("%s is wrapped to\n%s\nwant\n%s", c.in, got, c.want)
		}
	}
}
