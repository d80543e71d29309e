package ir

import (
	"math/big"
	"strings"
	"testing"
)

// sample is a small program that uses a bit of everything.
func sample() *Program {
	b8, b9 := &Bits{Width: 8}, &Bits{Width: 9}
	h := &Header{Name: "h_t", Fields: []*Field{{Name: "a", Type: b8}}}
	hdr := &Struct{Name: "hdr_t", Fields: []*Field{{Name: "h", Type: h}, {Name: "s", Type: &Stack{Elem: h, Size: 2}}}}
	meta := &Struct{Name: "meta_t", Fields: []*Field{{Name: "m", Type: b8}}}
	std := &Struct{Name: "standard_metadata_t", Fields: []*Field{{Name: "egress_spec", Type: b9}}}
	p := &Program{
		Name: "sample", Headers: []*Header{h}, Structs: []*Struct{hdr, meta, std}, Errors: []string{"NoError"},
		Hdr: &Var{Name: "hdr", Type: hdr}, Meta: &Var{Name: "meta", Type: meta}, Std: &Var{Name: "std", Type: std},
	}
	a := &Member{X: &Member{X: &VarRef{Var: p.Hdr}, Field: hdr.Fields[0]}, Field: h.Fields[0]}
	m := &Member{X: &VarRef{Var: p.Meta}, Field: meta.Fields[0]}
	start := &State{Name: "start", Body: []Stmt{&Call{Op: OpExtract, Dst: a.X}}}
	start.Next = Transition{Select: []Expr{a}, Cases: []SelectCase{
		{Keys: []Keyset{&KeyExact{Value: big.NewInt(3)}}, Next: start},
		{Keys: []Keyset{&KeyAny{}}, Next: Accept}}}
	p.Parser = &Parser{Name: "prs", States: []*State{start}}
	empty := func(n string) *Control { return &Control{Name: n, Body: &Block{}} }
	p.VerifyChecksum, p.Egress, p.ComputeChecksum, p.Deparser = empty("vc"), empty("eg"), empty("cc"), empty("dp")

	x := &Var{Name: "x", Type: b8}
	param := &Var{Name: "p", Type: b8}
	set := &Action{Name: "set", FullName: "ig.set", Params: []*Var{param}, Body: []Stmt{&Assign{Dst: m, Src: &VarRef{Var: param}}}}
	tab := &Table{Name: "t", FullName: "ig.t",
		Keys:    []*Key{{X: a, Type: b8, Match: MatchExact, Name: "k"}},
		Actions: []*TableAction{{Action: set}},
		Default: &ActionCall{Action: set, Args: []*Const{{T: b8, Value: big.NewInt(1)}}}}
	c := &Instance{Kind: KindCounter, Name: "c", FullName: "ig.c", Size: 4, IndexWidth: 32}
	block := &Block{Name: "b"}
	block.Body = []Stmt{
		&If{Cond: &IsValid{X: a.X}, Then: []Stmt{&Leave{Block: block}}},
		&Assign{Dst: &VarRef{Var: x}, Src: &Binary{Op: Add, X: a, Y: m, T: b8}},
	}
	p.Ingress = &Control{Name: "ig", Locals: []*Var{x}, Instances: []*Instance{c}, Actions: []*Action{set}, Tables: []*Table{tab},
		Body: &Block{Name: "ig", Body: []Stmt{
			block,
			&Apply{Table: tab, Cases: []ApplyCase{{Actions: []*Action{set}}}},
			&Call{Op: OpCount, Inst: c, Args: []Expr{&Cast{T: &Bits{Width: 32}, X: a}}},
		}}}
	return p
}

// TestVerifyFaults breaks the sample in many ways, each of which must be found.
func TestVerifyFaults(t *testing.T) {
	if err := Verify(sample()); err != nil {
		t.Fatalf("the sample itself: %v", err)
	}
	add := func(p *Program, ss ...Stmt) { p.Ingress.Body.Body = append(p.Ingress.Body.Body, ss...) }
	num := func(w int, v int64) *Const { return &Const{T: &Bits{Width: w}, Value: big.NewInt(v)} }
	x := func(p *Program) Expr { return &VarRef{Var: p.Ingress.Locals[0]} }
	tests := []struct {
		name string
		do   func(*Program)
		want string // in the error
	}{
		{"no parser", func(p *Program) { p.Parser = nil }, "program: the parser is missing"},
		{"no control", func(p *Program) { p.Egress = nil }, "program: control 2 is missing"},
		{"type twice", func(p *Program) { p.Headers = append(p.Headers, &Header{Name: "h_t"}) }, `two types are called "h_t"`},
		{"type not declared", func(p *Program) { p.Headers = nil }, "type h_t is not declared"},
		{"variable twice", func(p *Program) { p.Ingress.Locals = append(p.Ingress.Locals, &Var{Name: "x", Type: &Bool{}}) }, `ingress: two variables are called "x"`},
		{"variable of another control", func(p *Program) {
			p.Egress.Body.Body = []Stmt{&Assign{Dst: x(p), Src: num(8, 1)}}
		}, "egress: variable x is not declared here"},
		{"parameter outside of its action", func(p *Program) {
			add(p, &Assign{Dst: x(p), Src: &VarRef{Var: p.Ingress.Actions[0].Params[0]}})
		}, "ingress: variable p is not declared here"},
		{"assignment of another width", func(p *Program) { add(p, &Assign{Dst: x(p), Src: num(9, 1)}) }, "bit<9> is assigned to a place of type bit<8>"},
		{"assignment to no place", func(p *Program) { add(p, &Assign{Dst: num(8, 1), Src: num(8, 1)}) }, "is no place to write to"},
		{"literal out of range", func(p *Program) { add(p, &Assign{Dst: x(p), Src: num(8, 256)}) }, "256 is no value of bit<8>"},
		{"condition", func(p *Program) { add(p, &If{Cond: x(p)}) }, "the condition of an if is a bit<8>, not a bool"},
		{"result type", func(p *Program) {
			add(p, &Assign{Dst: x(p), Src: &Binary{Op: Eq, X: x(p), Y: num(8, 1), T: &Bits{Width: 8}}})
		}, "bit<8> == bit<8> gives a bit<8>"},
		{"operands", func(p *Program) {
			add(p, &If{Cond: &Binary{Op: Lt, X: x(p), Y: num(9, 1), T: &Bool{}}})
		}, "bit<8> < bit<9>"},
		{"slice", func(p *Program) {
			add(p, &If{Cond: &Binary{Op: Eq, X: &Slice{X: x(p), Hi: 8}, Y: num(9, 1), T: &Bool{}}})
		}, "slice [8:0] of a bit<8>"},
		{"field of another type", func(p *Program) {
			add(p, &Assign{Dst: &Member{X: &VarRef{Var: p.Meta}, Field: &Field{Name: "m", Type: &Bits{Width: 8}}}, Src: num(8, 1)})
		}, "meta_t has no field m (or it is another one of that name)"},
		{"jump out of nowhere", func(p *Program) { add(p, &Leave{Block: p.Ingress.Body.Body[0].(*Block)}) }, "a jump to the end of a block that does not enclose it"},
		{"statement twice", func(p *Program) { add(p, p.Ingress.Body.Body[0]) }, "one *ir.Block stands in two places"},
		{"table of another control", func(p *Program) { p.Egress.Body.Body = []Stmt{&Apply{Table: p.Ingress.Tables[0]}} }, "egress: a table is applied that the control does not have"},
		{"apply in an action", func(p *Program) {
			p.Ingress.Actions[0].Body = []Stmt{&Apply{Table: p.Ingress.Tables[0]}}
		}, "ingress: action set: table t is applied in an action or the parser"},
		{"case of another table", func(p *Program) {
			p.Ingress.Body.Body[1].(*Apply).Cases[0].Actions[0] = &Action{Name: "z"}
		}, "a case of table t is not one of its actions"},
		{"hit", func(p *Program) { p.Ingress.Body.Body[1].(*Apply).Hit = x(p) }, "the hit of table t goes to a bit<8>"},
		{"action not listed", func(p *Program) { p.Ingress.Tables[0].Actions[0].Action = &Action{Name: "z"} }, "table t: it lists an action that the control does not have"},
		{"no default", func(p *Program) { p.Ingress.Tables[0].Default = nil }, "table t: the default action is missing"},
		{"default without arguments", func(p *Program) { p.Ingress.Tables[0].Default.Args = nil }, "has 0 arguments for 1 parameters"},
		{"key type", func(p *Program) { p.Ingress.Tables[0].Keys[0].Type = &Bool{} }, "key k: its type is bool, that of its expression bit<8>"},
		{"entry", func(p *Program) {
			p.Ingress.Tables[0].Entries = []*Entry{{Action: p.Ingress.Tables[0].Default}}
		}, "table t: entry 0: it has 0 keysets for 1 keys"},
		{"object of another control", func(p *Program) { p.Ingress.Instances = nil }, "counter.count of c, which the control does not have"},
		{"object of another kind", func(p *Program) { p.Ingress.Instances[0].Kind = KindMeter }, "counter.count of a meter"},
		{"arguments", func(p *Program) { add(p, &Call{Op: OpTruncate}) }, "truncate has 0 arguments"},
		{"no result", func(p *Program) { add(p, &Call{Op: OpRandom, Args: []Expr{num(8, 0), num(8, 1)}}) }, "random: there is a result where there is none"},
		{"unknown operation", func(p *Program) { add(p, &Call{Op: "drop"}) }, `unknown operation "drop"`},
		{"extract in a control", func(p *Program) {
			add(p, &Call{Op: OpExtract, Dst: &Member{X: &VarRef{Var: p.Hdr}, Field: p.Hdr.Type.(*Struct).Fields[0]}})
		}, "extract does not belong here"},
		{"exit in the parser", func(p *Program) { p.Parser.States[0].Body = []Stmt{&Exit{}} }, "parser: state start: an exit in the parser"},
		{"unknown state", func(p *Program) { p.Parser.States[0].Next.Cases[0].Next = &State{Name: "z"} }, "case 0 goes to a state that the parser does not have"},
		{"keysets", func(p *Program) { p.Parser.States[0].Next.Cases[0].Keys = nil }, "case 0 has 0 keysets for 1 expressions"},
		{"keyset value", func(p *Program) { p.Parser.States[0].Next.Cases[0].Keys[0] = &KeyExact{Value: big.NewInt(300)} }, "300 is no value of bit<8>"},
		{"state twice", func(p *Program) { p.Parser.States = append(p.Parser.States, &State{Name: "start"}) }, `two states are called "start"`},
		{"valid of a field", func(p *Program) { add(p, &If{Cond: &IsValid{X: x(p)}}) }, "isValid of a bit<8>"},
		{"index", func(p *Program) { add(p, &If{Cond: &IsValid{X: &Index{X: x(p), I: num(8, 0)}}}) }, "an index on a bit<8>"},
		{"setValid", func(p *Program) { add(p, &Call{Op: OpSetValid, Args: []Expr{x(p)}}) }, "setValid of a bit<8>"},
	}
	for _, tt := range tests {
		p := sample()
		tt.do(p)
		err := Verify(p)
		switch {
		case err == nil:
			t.Errorf("%s: no fault is found", tt.name)
		case !strings.Contains(err.Error(), tt.want):
			t.Errorf("%s: got %q, want one with %q", tt.name, err, tt.want)
		}
	}
}
