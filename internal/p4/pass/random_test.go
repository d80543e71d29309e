package pass

import (
	"fmt"
	"math/big"
	"math/rand/v2"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// generator makes programs at random: every kind of statement and expression that
// the passes treat in its own way, over little state, so that things meet often.
type generator struct {
	r *rand.Rand
	p *ir.Program

	h, g   *ir.Header
	union  *ir.Union
	hash   *ir.Enum
	locals []*ir.Var
	params []*ir.Var // in an action

	blocks  []*ir.Block
	tables  []*ir.Table // that may be applied here
	objects struct{ counter, register, digest *ir.Instance }
	control *ir.Control
	parser  bool
	loops   int
	budget  int
}

func bitType(w int) *ir.Bits { return &ir.Bits{Width: w} }

func num(w int, v int64) *ir.Const {
	return &ir.Const{T: bitType(w), Value: ir.Wrap(bitType(w), big.NewInt(v))}
}

func fieldsOf(specs ...any) []*ir.Field {
	var out []*ir.Field
	for i := 0; i < len(specs); i += 2 {
		t, ok := specs[i+1].(ir.Type)
		if !ok {
			t = bitType(specs[i+1].(int))
		}
		out = append(out, &ir.Field{Name: specs[i].(string), Type: t})
	}
	return out
}

// stdType is what the tests need of v1model's standard metadata.
func stdType() *ir.Struct {
	return &ir.Struct{Name: "standard_metadata_t", Fields: fieldsOf(
		"ingress_port", 9, "egress_spec", 9, "egress_port", 9, "instance_type", 32, "packet_length", 32,
		"mcast_grp", 16, "egress_rid", 16, "checksum_error", 1, "parser_error", &ir.ErrorType{})}
}

func emptyControl(name string) *ir.Control {
	return &ir.Control{Name: name, Body: &ir.Block{Name: name}}
}

// program makes a whole program.
func (g *generator) program() *ir.Program {
	g.h = &ir.Header{Name: "h_t", Fields: fieldsOf("a", 8, "b", 8, "c", 16)}
	g.g = &ir.Header{Name: "g_t", Fields: fieldsOf("k", 8, "x", 8)}
	g.union = &ir.Union{Name: "u_t", Fields: fieldsOf("uh", g.h, "ug", g.g)}
	g.hash = &ir.Enum{Name: "HashAlgorithm", Members: []string{"crc32", "crc16", "csum16", "identity"}}
	inner := &ir.Struct{Name: "inner_t", Fields: fieldsOf("i", 8, "j", 16)}
	meta := &ir.Struct{Name: "meta_t", Fields: fieldsOf("m0", 8, "m1", 8, "m2", 16, "f", &ir.Bool{}, "in", inner, "kept", 8, "mh", g.g)}
	meta.Fields[5].Annotations = ir.Annotations{{Name: "field_list", Args: []string{"1"}}}
	hdr := &ir.Struct{Name: "hdr_t", Fields: fieldsOf("h", g.h, "g", g.g, "s", &ir.Stack{Elem: g.g, Size: 2}, "u", g.union)}
	dig := &ir.Struct{Name: "dig_t", Fields: fieldsOf("x", 8, "y", 16)}
	std := stdType()
	p := &ir.Program{
		Name: "random", Enums: []*ir.Enum{g.hash}, Headers: []*ir.Header{g.h, g.g}, Unions: []*ir.Union{g.union},
		Structs: []*ir.Struct{inner, meta, hdr, dig, std},
		Errors:  []string{"NoError", "PacketTooShort", "NoMatch", "StackOutOfBounds", "HeaderTooShort", "ParserTimeout", "ParserInvalidArgument", "Odd"},
		Hdr:     &ir.Var{Name: "hdr", Type: hdr}, Meta: &ir.Var{Name: "meta", Type: meta}, Std: &ir.Var{Name: "std", Type: std},
	}
	g.p = p
	g.makeParser()
	p.VerifyChecksum = g.makeControl("vc", 0)
	p.Ingress = g.makeControl("ig", 4)
	p.Egress = g.makeControl("eg", 2)
	p.ComputeChecksum = g.makeControl("cc", 0)
	p.Deparser = emptyControl("dp")
	for _, e := range []ir.Expr{g.hdr("h"), g.hdr("g"), index(g.hdr("s"), 0), index(g.hdr("s"), 1), member(g.hdr("u"), "uh"), member(g.hdr("u"), "ug")} {
		if g.r.IntN(8) > 0 {
			p.Deparser.Body.Body = append(p.Deparser.Body.Body, &ir.Call{Op: ir.OpEmit, Args: []ir.Expr{e}})
		}
	}
	return p
}

func member(x ir.Expr, name string) ir.Expr {
	for _, f := range ir.FieldsOf(x.Type()) {
		if f.Name == name {
			return &ir.Member{X: x, Field: f}
		}
	}
	panic("no field " + name)
}

func index(x ir.Expr, i int64) ir.Expr { return &ir.Index{X: x, I: num(32, i)} }

func (g *generator) hdr(name string) ir.Expr  { return member(&ir.VarRef{Var: g.p.Hdr}, name) }
func (g *generator) meta(name string) ir.Expr { return member(&ir.VarRef{Var: g.p.Meta}, name) }
func (g *generator) std(name string) ir.Expr  { return member(&ir.VarRef{Var: g.p.Std}, name) }

func (g *generator) newLocals(prefix string) []*ir.Var {
	g.locals = nil
	add := func(t ir.Type) {
		g.locals = append(g.locals, &ir.Var{Name: fmt.Sprintf("%s_l%d", prefix, len(g.locals)), Type: t})
	}
	for range 3 {
		add(bitType(8))
	}
	add(bitType(16))
	add(&ir.Bool{})
	add(&ir.Bool{})
	add(g.h)
	add(g.p.Meta.Type.(*ir.Struct).Fields[4].Type)
	return g.locals
}

func (g *generator) makeParser() {
	p := &ir.Parser{Name: "prs", Locals: g.newLocals("prs")}
	g.p.Parser = p
	g.parser, g.params, g.tables = true, nil, nil
	n := 2 + g.r.IntN(5)
	for i := range n {
		p.States = append(p.States, &ir.State{Name: fmt.Sprintf("s%d", i)})
	}
	p.States[0].Name = "start"
	for i, s := range p.States {
		g.budget = 6
		eats := i == 0 || g.r.IntN(4) > 0
		if eats {
			s.Body = append(s.Body, g.extract())
		}
		s.Body = append(s.Body, g.stmts(1, g.r.IntN(3))...)
		// Forward only, but for a circle that eats the packet.
		next := func() *ir.State {
			k := i + 1 + g.r.IntN(3)
			switch {
			case g.r.IntN(12) == 0:
				return ir.Reject
			case g.r.IntN(12) == 0 && eats:
				return s
			case k >= n:
				return ir.Accept
			}
			return p.States[k]
		}
		if len(s.Body) == 0 || g.r.IntN(3) == 0 {
			s.Next = ir.Transition{Cases: []ir.SelectCase{{Next: p.States[min(i+1, n-1)]}}}
			if i+1 >= n {
				s.Next.Cases[0].Next = ir.Accept
			}
			continue
		}
		s.Next.Select = []ir.Expr{g.expr(bitType(8), 1)}
		for range 1 + g.r.IntN(3) {
			var k ir.Keyset = &ir.KeyExact{Value: big.NewInt(g.r.Int64N(4))}
			switch g.r.IntN(4) {
			case 0:
				k = &ir.KeyMask{Value: big.NewInt(g.r.Int64N(4)), Mask: big.NewInt(g.r.Int64N(4))}
			case 1:
				k = &ir.KeyRange{Lo: big.NewInt(g.r.Int64N(3)), Hi: big.NewInt(g.r.Int64N(6))}
			}
			s.Next.Cases = append(s.Next.Cases, ir.SelectCase{Keys: []ir.Keyset{k}, Next: next()})
		}
		if g.r.IntN(4) > 0 {
			s.Next.Cases = append(s.Next.Cases, ir.SelectCase{Keys: []ir.Keyset{&ir.KeyAny{}}, Next: next()})
		}
	}
	g.parser = false
}

func (g *generator) extract() ir.Stmt {
	dst := []ir.Expr{
		g.hdr("h"), g.hdr("g"), member(g.hdr("u"), "uh"), member(g.hdr("u"), "ug"),
		&ir.Index{X: g.hdr("s"), I: &ir.StackIndex{X: g.hdr("s")}},
		&ir.VarRef{Var: g.locals[6]}, g.meta("mh"),
	}[g.r.IntN(7)]
	return &ir.Call{Op: ir.OpExtract, Dst: dst}
}

func (g *generator) makeControl(name string, tables int) *ir.Control {
	c := &ir.Control{Name: name, Locals: g.newLocals(name), Body: &ir.Block{Name: name}}
	g.control, g.params, g.tables = c, nil, nil
	if name == "ig" || name == "eg" {
		g.objects.counter = &ir.Instance{Kind: ir.KindCounter, Name: "c", FullName: name + ".c", Size: 8, IndexWidth: 32, Unit: "packets_and_bytes"}
		g.objects.register = &ir.Instance{Kind: ir.KindRegister, Name: "r", FullName: name + ".r", Size: 8, IndexWidth: 32, Elem: bitType(8)}
		g.objects.digest = &ir.Instance{Kind: ir.KindDigest, Name: "dig_t", FullName: "dig_t", Elem: g.p.Structs[3]}
		c.Instances = []*ir.Instance{g.objects.counter, g.objects.register, g.objects.digest}
	} else {
		g.objects.counter, g.objects.register, g.objects.digest = nil, nil, nil
	}
	var ts []*ir.Table
	for i := range tables {
		ts = append(ts, g.table(c, i))
	}
	g.params, g.tables = nil, ts
	g.budget = 40
	if tables == 0 {
		g.budget = g.r.IntN(6)
	}
	g.blocks = []*ir.Block{c.Body}
	c.Body.Body = g.stmts(3, 3+g.r.IntN(8))
	return c
}

func (g *generator) table(c *ir.Control, i int) *ir.Table {
	g.params, g.blocks = nil, nil
	t := &ir.Table{Name: fmt.Sprintf("t%d", i), FullName: fmt.Sprintf("%s.t%d", c.Name, i), Size: 64}
	t.Keys = []*ir.Key{{X: g.expr(bitType(8), 1), Type: bitType(8), Match: ir.MatchExact, Name: "k"}}
	for len(t.Actions) < 2 {
		var a *ir.Action
		if len(c.Actions) > 0 && g.r.IntN(3) == 0 {
			a = c.Actions[g.r.IntN(len(c.Actions))] // of another table, too
			if len(t.Actions) > 0 && t.Actions[0].Action == a {
				continue
			}
		} else {
			a = g.action(c)
		}
		t.Actions = append(t.Actions, &ir.TableAction{Action: a})
	}
	call := func() *ir.ActionCall {
		a := t.Actions[g.r.IntN(len(t.Actions))].Action
		k := &ir.ActionCall{Action: a}
		for range a.Params {
			k.Args = append(k.Args, num(8, g.r.Int64N(4)))
		}
		return k
	}
	t.Default = call()
	for v := range int64(4) {
		if g.r.IntN(2) == 0 {
			t.Entries = append(t.Entries, &ir.Entry{Keys: []ir.Keyset{&ir.KeyExact{Value: big.NewInt(v)}}, Action: call(), Const: true})
		}
	}
	t.ConstEntries = true
	c.Tables = append(c.Tables, t)
	return t
}

func (g *generator) action(c *ir.Control) *ir.Action {
	n := len(c.Actions)
	a := &ir.Action{Name: fmt.Sprintf("a%d", n), FullName: fmt.Sprintf("%s.a%d", c.Name, n)}
	for i := range g.r.IntN(3) {
		a.Params = append(a.Params, &ir.Var{Name: fmt.Sprintf("%s_p%d", a.Name, i), Type: bitType(8)})
	}
	c.Actions = append(c.Actions, a)
	g.params, g.tables = a.Params, nil
	g.budget = 8
	g.blocks = nil
	a.Body = g.stmts(2, 1+g.r.IntN(4))
	if g.r.IntN(3) == 0 {
		b := &ir.Block{Name: a.Name}
		g.blocks = []*ir.Block{b}
		b.Body = g.stmts(2, 2)
		a.Body = append(a.Body, b)
	}
	return a
}

// stmts makes about n statements, nested no deeper than depth.
func (g *generator) stmts(depth, n int) []ir.Stmt {
	var out []ir.Stmt
	for range n {
		if g.budget--; g.budget < 0 {
			break
		}
		out = append(out, g.stmt(depth)...)
	}
	return out
}

func one(s ir.Stmt) []ir.Stmt { return []ir.Stmt{s} }

func (g *generator) stmt(depth int) []ir.Stmt {
	if depth > 0 && g.r.IntN(2) == 0 {
		if s := g.nested(depth - 1); s != nil {
			return s
		}
	}
	switch g.r.IntN(12) {
	case 0:
		return one(&ir.Call{Op: []ir.Op{ir.OpSetValid, ir.OpSetInvalid}[g.r.IntN(2)], Args: []ir.Expr{g.header()}})
	case 1:
		dst, src := g.header(), g.header()
		if ir.Equal(dst.Type(), src.Type()) {
			return one(&ir.Assign{Dst: dst, Src: src})
		}
	case 2:
		op := []ir.Op{ir.OpPushFront, ir.OpPopFront}[g.r.IntN(2)]
		return one(&ir.Call{Op: op, Args: []ir.Expr{g.hdr("s"), num(32, 1)}})
	case 3:
		return one(&ir.Call{Op: ir.OpHash, Dst: g.lvalue(bitType(16)), Args: []ir.Expr{
			&ir.Const{T: g.hash, Value: big.NewInt(g.r.Int64N(4))}, num(16, 0), g.tuple(), num(32, 1000)}})
	case 4:
		if s := g.object(); s != nil {
			return one(s)
		}
	case 5:
		if !g.parser && g.control.Name != "vc" && g.control.Name != "cc" && g.r.IntN(3) == 0 {
			return one(&ir.Call{Op: ir.OpMarkToDrop})
		}
	case 6:
		if depth == 3 {
			break // the rest would never run
		}
		if len(g.blocks) > 0 && g.r.IntN(3) > 0 {
			return one(&ir.Leave{Block: g.blocks[g.r.IntN(len(g.blocks))]})
		} else if !g.parser && g.r.IntN(4) == 0 {
			return one(&ir.Exit{})
		}
	case 7:
		if g.parser {
			switch g.r.IntN(4) {
			case 0:
				return one(&ir.Call{Op: ir.OpLookahead, Dst: g.lvalue(bitType(8))})
			case 1:
				return one(&ir.Call{Op: ir.OpAdvance, Args: []ir.Expr{num(32, 8)}})
			case 2:
				return one(&ir.Call{Op: ir.OpVerify, Args: []ir.Expr{g.expr(&ir.Bool{}, 2), &ir.Const{T: &ir.ErrorType{}, Value: big.NewInt(7)}}})
			}
			return one(g.extract())
		}
		return one(g.extern())
	case 8:
		s := g.locals[7]
		return one(&ir.Assign{Dst: &ir.VarRef{Var: s}, Src: g.meta("in")})
	}
	t := []ir.Type{bitType(8), bitType(8), bitType(8), bitType(16), &ir.Bool{}}[g.r.IntN(5)]
	dst := g.lvalue(t)
	if b, ok := t.(*ir.Bits); ok && g.r.IntN(8) == 0 {
		lo := g.r.IntN(b.Width)
		hi := lo + g.r.IntN(b.Width-lo)
		dst = &ir.Slice{X: dst, Hi: hi, Lo: lo}
	}
	return one(&ir.Assign{Dst: dst, Src: g.expr(dst.Type(), 2)})
}

// nested makes a statement with parts, nil if none is possible.
func (g *generator) nested(depth int) []ir.Stmt {
	switch g.r.IntN(6) {
	case 0, 1:
		return one(&ir.If{Cond: g.expr(&ir.Bool{}, 2), Then: g.stmts(depth, 1+g.r.IntN(3)), Else: g.stmts(depth, g.r.IntN(3))})
	case 2:
		b := &ir.Block{Name: "b"}
		if g.r.IntN(6) == 0 {
			b.Annotations = ir.Annotations{{Name: "hook"}}
		}
		g.blocks = append(g.blocks, b)
		b.Body = g.stmts(depth, 1+g.r.IntN(4))
		g.blocks = g.blocks[:len(g.blocks)-1]
		return one(b)
	case 3:
		s := &ir.Switch{X: g.expr(bitType(8), 1), Default: g.stmts(depth, g.r.IntN(2))}
		for i := range 1 + g.r.IntN(3) {
			s.Cases = append(s.Cases, ir.SwitchCase{Values: []*ir.Const{num(8, int64(i))}, Body: g.stmts(depth, g.r.IntN(3))})
		}
		return one(s)
	case 4:
		if len(g.tables) == 0 {
			return nil
		}
		s := &ir.Apply{Table: g.tables[g.r.IntN(len(g.tables))]}
		if g.r.IntN(2) == 0 {
			s.Hit = g.lvalue(&ir.Bool{})
		}
		if g.r.IntN(3) == 0 {
			s.Cases = append(s.Cases, ir.ApplyCase{Actions: []*ir.Action{s.Table.Actions[0].Action}, Body: g.stmts(depth, g.r.IntN(3))})
			if g.r.IntN(2) == 0 {
				s.Cases = append(s.Cases, ir.ApplyCase{Default: true, Body: g.stmts(depth, g.r.IntN(3))})
			}
		}
		return one(s)
	}
	if g.loops > 0 || g.parser || g.params != nil || g.tables == nil {
		return nil
	}
	g.loops++
	defer func() { g.loops-- }()
	n := &ir.Var{Name: fmt.Sprintf("%s_n%d", g.control.Name, len(g.control.Locals)), Type: bitType(8)}
	g.control.Locals = append(g.control.Locals, n)
	ref := &ir.VarRef{Var: n}
	b := &ir.Block{Name: "loop"}
	body := []ir.Stmt{
		&ir.If{Cond: &ir.Binary{Op: ir.Ge, X: ref, Y: num(8, 1+g.r.Int64N(3)), T: &ir.Bool{}}, Then: one(&ir.Leave{Block: b})},
		&ir.Assign{Dst: ref, Src: &ir.Binary{Op: ir.Add, X: ref, Y: num(8, 1), T: bitType(8)}},
	}
	g.blocks = append(g.blocks, b)
	body = append(body, g.stmts(depth, 3)...)
	g.blocks = g.blocks[:len(g.blocks)-1]
	b.Body = one(&ir.Loop{Body: body})
	return []ir.Stmt{&ir.Assign{Dst: ref, Src: num(8, 0)}, b}
}

func (g *generator) object() ir.Stmt {
	o := g.objects
	if g.parser || o.counter == nil {
		return nil
	}
	at := &ir.Cast{T: bitType(32), X: g.expr(bitType(8), 1)}
	switch g.r.IntN(4) {
	case 0:
		return &ir.Call{Op: ir.OpCount, Inst: o.counter, Args: []ir.Expr{at}}
	case 1:
		return &ir.Call{Op: ir.OpRegRead, Inst: o.register, Args: []ir.Expr{at}, Dst: g.lvalue(bitType(8))}
	case 2:
		return &ir.Call{Op: ir.OpRegWrite, Inst: o.register, Args: []ir.Expr{at, g.expr(bitType(8), 1)}}
	}
	return &ir.Call{Op: ir.OpDigest, Inst: o.digest, Args: []ir.Expr{num(32, 1), &ir.Tuple{T: g.p.Structs[3],
		Elems: []ir.Expr{g.expr(bitType(8), 1), g.expr(bitType(16), 1)}}}}
}

// extern makes a call of a function of v1model that belongs into the control.
func (g *generator) extern() ir.Stmt {
	csum := &ir.Const{T: g.hash, Value: big.NewInt(2)}
	clone := &ir.Enum{Name: "CloneType", Members: []string{"I2E", "E2E"}}
	if g.p.Enums[len(g.p.Enums)-1].Name != "CloneType" {
		g.p.Enums = append(g.p.Enums, clone)
	} else {
		clone = g.p.Enums[len(g.p.Enums)-1]
	}
	switch g.control.Name {
	case "vc":
		return &ir.Call{Op: ir.OpVerifyChecksum, Args: []ir.Expr{g.expr(&ir.Bool{}, 1), g.tuple(), g.expr(bitType(16), 0), csum}}
	case "cc":
		return &ir.Call{Op: ir.OpUpdateChecksum, Args: []ir.Expr{g.expr(&ir.Bool{}, 1), g.tuple(), csum}, Dst: g.lvalue(bitType(16))}
	case "ig":
		switch g.r.IntN(6) {
		case 0:
			return &ir.If{Cond: &ir.Binary{Op: ir.Eq, X: g.std("instance_type"), Y: num(32, 0), T: &ir.Bool{}},
				Then: one(&ir.Call{Op: ir.OpResubmit, Args: []ir.Expr{num(8, 1)}})}
		case 1:
			return &ir.Call{Op: ir.OpClonePreserving, Args: []ir.Expr{&ir.Const{T: clone, Value: new(big.Int)}, num(32, 1), num(8, 1)}}
		case 2:
			return &ir.Call{Op: ir.OpClone, Args: []ir.Expr{&ir.Const{T: clone, Value: new(big.Int)}, num(32, 1)}}
		}
	case "eg":
		if g.r.IntN(3) == 0 {
			return &ir.If{Cond: &ir.Binary{Op: ir.Eq, X: g.std("instance_type"), Y: num(32, 0), T: &ir.Bool{}},
				Then: one(&ir.Call{Op: ir.OpClonePreserving, Args: []ir.Expr{&ir.Const{T: clone, Value: big.NewInt(1)}, num(32, 1), num(8, 1)}})}
		}
	}
	return &ir.Assign{Dst: g.std("egress_spec"), Src: &ir.Cast{T: bitType(9), X: g.expr(bitType(8), 1)}}
}

func (g *generator) tuple() *ir.Tuple {
	es := []ir.Expr{g.expr(bitType(8), 1), g.header(), g.expr(bitType(16), 1)}
	t := &ir.Struct{Name: "tuple", Tuple: true}
	for i, e := range es {
		t.Fields = append(t.Fields, &ir.Field{Name: fmt.Sprintf("f%d", i), Type: e.Type()})
	}
	return &ir.Tuple{T: t, Elems: es}
}

func (g *generator) header() ir.Expr {
	switch g.r.IntN(8) {
	case 0, 1:
		return g.hdr("h")
	case 2:
		return g.hdr("g")
	case 3:
		return index(g.hdr("s"), g.r.Int64N(2))
	case 4:
		return &ir.Index{X: g.hdr("s"), I: g.expr(bitType(8), 0)}
	case 5:
		return member(g.hdr("u"), []string{"uh", "ug"}[g.r.IntN(2)])
	case 6:
		return g.meta("mh")
	}
	return &ir.VarRef{Var: g.locals[6]}
}

// lvalue makes a place of a type.
func (g *generator) lvalue(t ir.Type) ir.Expr {
	pick := func(es ...ir.Expr) ir.Expr { return es[g.r.IntN(len(es))] }
	ref := func(i int) ir.Expr { return &ir.VarRef{Var: g.locals[i]} }
	if _, ok := t.(*ir.Bool); ok {
		return pick(ref(4), ref(5), g.meta("f"))
	}
	if t.(*ir.Bits).Width == 16 {
		return pick(ref(3), g.meta("m2"), member(g.hdr("h"), "c"), member(ref(7), "j"), member(g.meta("in"), "j"))
	}
	x := g.header()
	f := "a"
	if x.Type() == ir.Type(g.g) {
		f = "k"
	}
	return pick(ref(0), ref(1), ref(2), g.meta("m0"), g.meta("m1"), g.meta("kept"), member(x, f), member(ref(7), "i"), member(g.meta("in"), "i"))
}

// expr makes an expression of type bool, bit<8> or bit<16>.
func (g *generator) expr(t ir.Type, depth int) ir.Expr {
	if _, ok := t.(*ir.Bool); ok {
		return g.boolean(depth)
	}
	w := t.(*ir.Bits).Width
	if w != 8 && w != 16 {
		x := g.expr(bitType(16), depth)
		if w > 16 {
			return &ir.Cast{T: t, X: x}
		}
		lo := g.r.IntN(17 - w)
		return &ir.Slice{X: x, Hi: lo + w - 1, Lo: lo}
	}
	if depth == 0 || g.r.IntN(3) == 0 {
		switch {
		case g.r.IntN(3) == 0:
			return num(w, []int64{0, 1, 2, 3, 255, 0xffff}[g.r.IntN(6)])
		case w == 8 && len(g.params) > 0 && g.r.IntN(2) == 0:
			return &ir.VarRef{Var: g.params[g.r.IntN(len(g.params))]}
		}
		return g.lvalue(t)
	}
	x, y := g.expr(t, depth-1), g.expr(t, depth-1)
	switch g.r.IntN(8) {
	case 0:
		return &ir.Unary{Op: []ir.UnaryOp{ir.Comp, ir.Neg}[g.r.IntN(2)], X: x}
	case 1:
		return &ir.Mux{Cond: g.boolean(depth - 1), Then: x, Else: y}
	case 2:
		if w == 16 {
			return &ir.Binary{Op: ir.Concat, X: g.expr(bitType(8), depth-1), Y: g.expr(bitType(8), depth-1), T: t}
		}
		return &ir.Cast{T: t, X: g.expr(bitType(16), depth-1)}
	case 3:
		if w == 16 {
			return &ir.Cast{T: t, X: g.expr(bitType(8), depth-1)}
		}
		lo := g.r.IntN(9)
		return &ir.Slice{X: g.expr(bitType(16), depth-1), Hi: lo + 7, Lo: lo}
	case 4:
		return &ir.Binary{Op: []ir.BinaryOp{ir.Shl, ir.Shr}[g.r.IntN(2)], X: x, Y: num(8, g.r.Int64N(20)), T: t}
	}
	ops := []ir.BinaryOp{ir.Add, ir.Sub, ir.And, ir.Or, ir.Xor, ir.AddSat, ir.SubSat, ir.Mul}
	return &ir.Binary{Op: ops[g.r.IntN(len(ops))], X: x, Y: y, T: t}
}

func (g *generator) boolean(depth int) ir.Expr {
	if depth <= 0 {
		switch g.r.IntN(4) {
		case 0:
			return &ir.IsValid{X: g.header()}
		case 1:
			return &ir.IsValid{X: g.hdr("u")}
		case 2:
			return &ir.Const{T: &ir.Bool{}, Value: big.NewInt(g.r.Int64N(2))}
		}
		return g.lvalue(&ir.Bool{})
	}
	switch g.r.IntN(6) {
	case 0:
		return &ir.Unary{Op: ir.Not, X: g.boolean(depth - 1)}
	case 1:
		ops := []ir.BinaryOp{ir.AndAnd, ir.OrOr, ir.Eq, ir.Ne}
		return &ir.Binary{Op: ops[g.r.IntN(4)], X: g.boolean(depth - 1), Y: g.boolean(depth - 1), T: &ir.Bool{}}
	case 2:
		return &ir.IsValid{X: g.header()}
	}
	t := bitType(8 << g.r.IntN(2))
	ops := []ir.BinaryOp{ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge}
	return &ir.Binary{Op: ops[g.r.IntN(6)], X: g.expr(t, depth-1), Y: g.expr(t, depth-1), T: &ir.Bool{}}
}
