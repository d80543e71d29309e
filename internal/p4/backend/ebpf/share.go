package ebpf

import (
	"github.com/catena-nfv/catena/internal/p4/ir"
)

// maxInline is up to how many places of a program apply tables inline. Where there are more, such as in a program with
// many chains, tables that are applied in several places become functions: clang and the verifier take their time for
// each copy of the text.
const maxInline = 24

// share finds what packets' ways through the program have in common, and makes it functions. They are global: the
// verifier looks at each of them once. The state of a packet is then in memory anyway, and in a map the verifier
// does not follow what it holds.
func (g *gen) share() {
	applied, counted := map[*ir.Table]int{}, map[*ir.Instance]int{}
	sites := 0
	look := func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.Apply:
			applied[s.Table]++
			sites++
		case *ir.Call:
			if s.Op == ir.OpCount {
				counted[s.Inst]++
			}
		}
	}
	for _, c := range g.p.Controls() {
		ir.Walk(c.Body.Body, look)
		for _, a := range c.Actions {
			ir.Walk(a.Body, look)
		}
	}
	if sites <= maxInline && !g.split {
		return
	}
	g.shared = true
	for t, n := range applied {
		if ti := g.tables[t]; ti != nil {
			ti.outlined = n > 1
		}
	}
	for i, n := range counted {
		if n > 1 && g.instances[i] != "" {
			g.countShared[i] = true
		}
	}
	if g.split {
		g.divideProgram()
	}
}

// beginGlobal begins a global function of the packet. clang must not find out which of its arguments it does not use:
// the verifier wants all of them to be good.
func (f *fn) beginGlobal(result, name, params string) {
	f.t.f("__noinline %s %s(ctx_t *ctx, struct state *s%s)", result, name, params)
	f.t.f("{")
	f.t.f(`asm volatile("" : "+r"(ctx), "+r"(s));`)
	f.t.f("if (!s)")
	f.t.f("\treturn 0;")
}

// beginBlock begins the function of the parser or the ingress. Called once, it is inlined; but where it is large, clang
// would go over it once for itself and again for each function that it is inlined into.
func (g *gen) beginBlock(name string) {
	if g.shared {
		(&fn{g: g, t: &g.funcs}).beginGlobal("int", name, "")
		return
	}
	g.funcs.f("static __always_inline void %s(ctx_t *ctx, struct state *s)", name)
	g.funcs.f("{")
}

// leaveBlock is the text that leaves it.
func (g *gen) leaveBlock() string {
	if g.shared {
		return "return 0;"
	}
	return "return;"
}

func (g *gen) endBlock() {
	if g.shared {
		g.funcs.f("return 0;")
	}
	g.funcs.f("}")
	g.funcs.f("")
}

// largeState is from how many bytes on the state of a packet that is cloned does not fit the stack with all else: clang
// need not find out. Where copies come last, it may be twice as much.
const largeState = 256

// stateInMap is the preprocessor's condition on which the state of a packet is in a map from the start; "" if clang
// shall try the stack first.
func (g *gen) stateInMap() string {
	size := g.sizeOf(g.p.Hdr.Type) + g.sizeOf(g.p.Meta.Type) + g.sizeOf(g.p.Std.Type)
	for _, c := range g.p.Controls() {
		for _, v := range c.Locals {
			size += g.sizeOf(v.Type)
		}
	}
	switch {
	case g.shared:
		return "1"
	case g.spec.Clones && size >= largeState, g.copies() && size >= 2*largeState:
		return "defined(TARGET_TC)"
	}
	return ""
}

// sizeOf is about how many bytes a value takes in C.
func (g *gen) sizeOf(t ir.Type) int {
	switch t := t.(type) {
	case *ir.Stack:
		return 4 + t.Size*g.sizeOf(t.Elem)
	case *ir.Varbit:
		return 4 + 8*words(t.Max)
	case *ir.Header, *ir.Union, *ir.Struct:
		n := 0
		for _, f := range ir.FieldsOf(t) {
			if g.declared(f) {
				n += g.sizeOf(f.Type)
			}
		}
		return n
	}
	return cbytes(width(t))
}

// writeSharedCounters writes a function for each counter that many places count in.
func (g *gen) writeSharedCounters() {
	for _, c := range g.p.Controls() {
		for _, i := range c.Instances {
			if !g.countShared[i] {
				continue
			}
			name := g.instances[i]
			g.funcs.f("__noinline int count_%s(u32 index, u64 length)", name)
			g.funcs.f("{")
			if inOneElement(i) {
				g.funcs.f("struct %s_cells *at = first_element(&%s);", name, name)
				g.funcs.f("if (at && IN_ARRAY(index, %d))", g.cellsOf(name))
				g.funcs.f("\tadd_packet(&at->c[index], length);")
			} else {
				g.funcs.f("count_packet(&%s, index, length);", name)
			}
			g.funcs.f("return 0;")
			g.funcs.f("}")
			g.funcs.f("")
		}
	}
}
