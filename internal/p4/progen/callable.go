package progen

import (
	"fmt"
	"strings"
)

// param is a parameter; dir is "", "in", "out" or "inout".
type param struct {
	dir  string
	name string
	t    *typ
}

func (p param) String() string { return strings.TrimSpace(p.dir + " " + p.t.name + " " + p.name) }

func paramList(ps []param) string {
	var out []string
	for _, p := range ps {
		out = append(out, p.String())
	}
	return strings.Join(out, ", ")
}

type function struct {
	name   string
	params []param
	ret    *typ // nil: void
}

type subControl struct {
	name   string
	params []param
}

type action struct {
	name   string
	full   string // control-plane name
	params []param
	bound  bool // a table binds its parameters
}

// directed makes parameters with directions. Types that many variables have make
// arguments easy to find.
func (g *gen) directed(n int) []param {
	var out []param
	for range n {
		t := pick(g.Choices, []*typ{bitType(8), bitType(8), bitType(16), boolType, g.structs[0], g.headers[0], bitType(32), intType(8)})
		out = append(out, param{pick(g.Choices, []string{"in", "inout", "out"}), g.fresh("p"), t})
	}
	return out
}

// arguments are the arguments for directed parameters. If there is none for one, the
// result is nil.
func (g *gen) arguments(ps []param) (string, []*Node) {
	var parts []string
	var kids []*Node
	named := g.one(5)
	for _, p := range ps {
		var k *Node
		if p.dir == "in" {
			k = g.expr(p.t, 1)
		} else if k, _ = g.target(p.t); k == nil {
			if p.dir != "out" || named {
				return "", nil
			}
			k = text("", "_")
		}
		if k == nil {
			return "", nil
		}
		part := "¤"
		if named {
			part = p.name + " = ¤"
		}
		parts = append(parts, part)
		kids = append(kids, k)
	}
	return strings.Join(parts, ", "), kids
}

// function declares a function.
func (g *gen) function() *Node {
	f := &function{name: g.fresh("fn"), params: g.directed(g.between(1, 3))}
	if !g.one(4) {
		f.ret = pick(g.Choices, []*typ{bitType(8), bitType(16), boolType, g.structs[0], intType(8)})
	}
	var body *Node
	g.with(func(s *scope) {
		*s = scope{ret: f.ret, depth: 2}
		for _, p := range f.params {
			s.places = append(s.places, place{p.name, p.t, p.dir != "in"})
		}
	}, func() {
		if f.ret == nil {
			body = g.stmts(g.between(1, 3), 2)
			return
		}
		body = list(g.stmts(g.between(1, 3), 2), text("", "        return ¤;\n", g.expr(f.ret, 2)))
	})
	g.funcs = append(g.funcs, f)
	ret := "void"
	if f.ret != nil {
		ret = f.ret.name
	}
	return drop(text("", ret+" "+f.name+"("+paramList(f.params)+") {\n¤}\n", body))
}

// functionCall is a call whose result is of the type, nil if there is none.
func (g *gen) functionCall(t *typ) *Node {
	if g.s.pure > 0 {
		return nil
	}
	for _, f := range g.funcs {
		if f.ret != nil && f.ret.same(t) && !g.one(3) {
			if parts, kids := g.arguments(f.params); kids != nil {
				return g.zeroed(t, text(t.class(), f.name+"("+parts+")", kids...))
			}
		}
	}
	return nil
}

// call is a statement that calls a function or an action.
func (g *gen) call() *Node {
	if len(g.s.actions) > 0 && g.one(2) {
		a := pick(g.Choices, g.s.actions)
		parts, kids := g.arguments(asDirected(a.params))
		if kids != nil || len(a.params) == 0 {
			return text("stmt", "        "+a.name+"("+parts+");\n", kids...)
		}
	}
	if len(g.funcs) == 0 {
		return nil
	}
	f := pick(g.Choices, g.funcs)
	parts, kids := g.arguments(f.params)
	if kids == nil {
		return nil
	}
	return text("stmt", "        "+f.name+"("+parts+");\n", kids...)
}

// asDirected takes parameters without direction for in: so they are in a direct call.
func asDirected(ps []param) []param {
	out := append([]param(nil), ps...)
	for i := range out {
		if out[i].dir == "" {
			out[i].dir = "in"
		}
	}
	return out
}

// subControl declares a control that others apply.
func (g *gen) subControl() *Node {
	c := &subControl{name: g.fresh("Sub"), params: g.directed(g.between(1, 4))}
	var locals []*Node
	var body *Node
	g.with(func(s *scope) {
		budget := 8
		*s = scope{control: "sub", depth: 2, budget: &budget}
		for _, p := range c.params {
			s.places = append(s.places, place{p.name, p.t, p.dir != "in"})
		}
	}, func() {
		if g.one(2) {
			locals = append(locals, g.localDecl())
		}
		for _, inner := range g.subs {
			if g.one(3) {
				inst := g.fresh("inst")
				g.s.subs = append(g.s.subs, inner)
				g.s.names = append(g.s.names, inst)
				locals = append(locals, drop(text("", "    "+inner.name+"() "+inst+";\n")))
			}
		}
		if g.one(2) {
			locals = append(locals, g.action())
			// The table's control-plane name hangs on the instance: it has only the
			// entries that the program gives.
			n := len(g.tables)
			locals = append(locals, g.table())
			g.tables = g.tables[:n]
		}
		body = g.stmts(g.between(1, 4), 2)
	})
	g.subs = append(g.subs, c)
	return drop(text("", "control "+c.name+"("+paramList(c.params)+") {\n¤    apply {\n¤    }\n}\n", list(locals...), body))
}

// applySub applies an instance of a control.
func (g *gen) applySub() *Node {
	if len(g.s.subs) == 0 || g.s.action {
		return nil
	}
	i := g.n(len(g.s.subs))
	parts, kids := g.arguments(g.s.subs[i].params)
	if kids == nil {
		return nil
	}
	return text("stmt", "        "+g.s.names[i]+".apply("+parts+");\n", kids...)
}

// action declares an action of the control.
func (g *gen) action() *Node {
	a := &action{name: g.fresh("a")}
	a.full = strings.ToUpper(g.s.control) + "." + a.name
	for range g.n(3) {
		a.params = append(a.params, param{"", g.fresh("d"), pick(g.Choices, []*typ{bitType(8), bitType(16), bitType(9), bitType(48), boolType, intType(8), g.serEnums[0], bitType(72)})})
	}
	if g.one(5) {
		a.params = append([]param{{pick(g.Choices, []string{"in", "inout"}), g.fresh("p"), pick(g.Choices, []*typ{bitType(8), bitType(16)})}}, a.params...)
	}
	var body *Node
	budget := 6
	g.with(func(s *scope) {
		s.action = true
		s.budget = &budget
		for _, p := range a.params {
			s.places = append(s.places, place{p.name, p.t, p.dir == "inout"})
		}
	}, func() { body = g.stmts(g.between(1, 4), 2) })
	g.s.actions = append(g.s.actions, a)
	return drop(text("", "    action "+a.name+"("+paramList(a.params)+") {\n¤    }\n", body))
}

// objects are the extern objects of a control.
type objects struct {
	counter, register, meter string
	cell                     *typ
}

func (g *gen) declareObjects() *Node {
	o := g.s.objs
	o.counter, o.register, o.meter = g.fresh("ctr"), g.fresh("reg"), g.fresh("met")
	o.cell = pick(g.Choices, []*typ{bitType(8), bitType(16), boolType, bitType(48), intType(8), bitType(64), bitType(100)})
	return list(
		drop(text("", fmt.Sprintf("    counter<bit<8>>(8, CounterType.%s) %s;\n", pick(g.Choices, []string{"packets", "bytes", "packets_and_bytes"}), o.counter))),
		drop(text("", fmt.Sprintf("    register<%s, bit<8>>(8) %s;\n", o.cell.name, o.register))),
		drop(text("", fmt.Sprintf("    meter<bit<8>>(8, MeterType.%s) %s;\n", pick(g.Choices, []string{"packets", "bytes"}), o.meter))))
}
