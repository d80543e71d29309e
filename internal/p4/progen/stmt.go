package progen

import (
	"fmt"
	"strings"
)

// stmts makes about n statements, nested no deeper than depth.
func (g *gen) stmts(n, depth int) *Node {
	var out []*Node
	g.with(func(*scope) {}, func() {
		for range n {
			if g.s.budget != nil {
				if *g.s.budget--; *g.s.budget < 0 {
					break
				}
			}
			out = append(out, drop(g.stmt(depth)))
		}
	})
	return list(out...)
}

// stmtKinds is how many kinds of statements stmt chooses from.
const stmtKinds = 16

func (g *gen) stmt(depth int) *Node {
	if depth > 0 && !g.without[15] && g.one(3) {
		if n := g.nested(depth - 1); n != nil {
			return n
		}
	}
	kind := g.n(stmtKinds)
	if g.without[kind] {
		kind = 0
	}
	switch kind {
	case 1, 2:
		if n := g.headerOp(); n != nil {
			return n
		}
	case 3:
		return g.localDecl()
	case 4:
		if n := g.copyWhole(); n != nil {
			return n
		}
	case 5:
		if n := g.call(); n != nil {
			return n
		}
	case 6, 7:
		if n := g.applyTable(); n != nil {
			return n
		}
	case 8:
		if n := g.object(); n != nil {
			return n
		}
	case 9:
		if n := g.leave(depth); n != nil {
			return n
		}
	case 10:
		if n := g.opAssign(); n != nil {
			return n
		}
	case 11:
		if n := g.applySub(); n != nil {
			return n
		}
	case 12:
		if n := g.parserStmt(); n != nil {
			return n
		}
	case 13:
		if n := g.again(); n != nil {
			return n
		}
	}
	return g.assign()
}

// target is a place to assign to, of the type if that is not nil, else of any scalar.
func (g *gen) target(t *typ) (*Node, *typ) {
	var ps []place
	for _, p := range g.s.places {
		for _, q := range p.parts(nil) {
			if q.w && (t != nil && q.t.same(t) || t == nil && q.t.scalar()) {
				ps = append(ps, q)
			}
		}
	}
	if len(ps) == 0 {
		return nil, nil
	}
	p := pick(g.Choices, ps)
	return g.read(p), p.t
}

func (g *gen) assign() *Node {
	dst, t := g.target(nil)
	if dst == nil {
		return text("stmt", "        ;\n")
	}
	if t.number() && !t.signed && t.width > 1 && g.one(6) {
		lo := g.n(t.width)
		hi := lo + g.n(t.width-lo)
		return text("stmt", fmt.Sprintf("        ¤[%d:%d] = ¤;\n", hi, lo), dst, g.expr(bitType(hi-lo+1), 2))
	}
	return text("stmt", "        ¤ = ¤;\n", dst, g.expr(t, 2))
}

func (g *gen) opAssign() *Node {
	dst, t := g.target(nil)
	if dst == nil || !t.number() {
		return nil
	}
	switch op := pick(g.Choices, []string{"+", "-", "|", "&", "^", "|+|", "|-|", "<<", ">>"}); op {
	case "<<", ">>":
		return text("stmt", "        ¤ "+op+"= ¤;\n", dst, g.expr(bitType(5), 1))
	default:
		return text("stmt", "        ¤ "+op+"= ¤;\n", dst, g.expr(t, 1))
	}
}

// localDecl declares a variable or constant, from now on to be used.
func (g *gen) localDecl() *Node {
	t := g.scalarType()
	name := g.fresh("v")
	switch g.n(8) {
	case 5:
		if len(g.structs) > 0 {
			t = pick(g.Choices, g.structs)
		}
	case 6:
		t = pick(g.Choices, g.headers)
		g.add(name, t, true)
		if g.s.control == "" && !g.s.parser { // a function: nothing is in it yet
			return text("", fmt.Sprintf("        %s %s = (%s) {#};\n", t.name, name, t.name))
		}
		return text("", fmt.Sprintf("        %s %s;\n", t.name, name))
	case 7:
		if t.number() {
			n := text("", fmt.Sprintf("        const %s %s = ¤;\n", t.name, name), g.literal(t))
			g.add(name, t, false)
			return n
		}
	}
	var init *Node
	g.with(func(s *scope) {
		// What a block declares cannot begin with side effects in the parser.
		s.pure++
	}, func() { init = g.expr(t, 1) })
	if init == nil {
		g.add(name, t, true)
		return text("", fmt.Sprintf("        %s %s;\n", t.name, name))
	}
	g.add(name, t, true)
	return text("", fmt.Sprintf("        %s %s = ¤;\n", t.name, name), init)
}

// headerOp changes the validity of a header or moves a stack.
func (g *gen) headerOp() *Node {
	var hs, stacks []place
	for _, p := range g.s.places {
		for _, q := range p.parts(nil) {
			if q.w && q.t.kind == header {
				hs = append(hs, q)
			}
			if q.w && q.t.kind == stack {
				stacks = append(stacks, q)
			}
		}
	}
	if len(stacks) > 0 && g.one(3) {
		p := pick(g.Choices, stacks)
		return text("stmt", fmt.Sprintf("        %s.%s(%d);\n", p.text, pick(g.Choices, []string{"push_front", "pop_front"}), g.between(1, p.t.size+1)))
	}
	if len(hs) == 0 {
		return nil
	}
	p := pick(g.Choices, hs)
	return text("stmt", "        ¤."+pick(g.Choices, []string{"setValid", "setInvalid"})+"();\n", g.read(p))
}

// copyWhole assigns a header, struct, tuple, union or stack.
func (g *gen) copyWhole() *Node {
	var ps []place
	for _, p := range g.s.places {
		for _, q := range p.parts(nil) {
			if q.w && !q.t.scalar() && q.t.kind != varbit && q.text != "hdr" && q.text != "meta" {
				ps = append(ps, q)
			}
		}
	}
	if len(ps) == 0 {
		return nil
	}
	p := pick(g.Choices, ps)
	var src *Node
	if p.t.kind == union || p.t.kind == stack {
		if qs := g.leaves(p.t, false); len(qs) > 0 {
			src = g.read(pick(g.Choices, qs))
		}
	} else {
		src = g.composed(p.t, 2)
	}
	if src == nil {
		return nil
	}
	return text("stmt", "        ¤ = ¤;\n", g.read(p), src)
}

func (g *gen) leave(depth int) *Node {
	s := g.s
	switch {
	case depth == 2 || s.parser: // the rest would never run
		return nil
	case s.ret != nil:
		return text("stmt", "        return ¤;\n", g.expr(s.ret, 1))
	case s.loops > 0 && g.one(2):
		return text("stmt", "        "+pick(g.Choices, []string{"break", "continue"})+";\n")
	case s.control != "" && g.one(2):
		return text("stmt", "        exit;\n")
	}
	return text("stmt", "        return;\n")
}

// nested makes a statement with parts, nil if none is possible.
func (g *gen) nested(depth int) *Node {
	body := func() *Node { return g.stmts(g.between(1, 3), depth) }
	switch g.n(8) {
	case 0, 1, 2:
		cond := g.expr(boolType, 2)
		if g.one(2) {
			return text("stmt", "        if (¤) {\n¤        } else {\n¤        }\n", cond, body(), body())
		}
		return text("stmt", "        if (¤) {\n¤        }\n", cond, body())
	case 3:
		if g.s.parser {
			return nil
		}
		return g.switchOn(depth)
	case 4:
		if g.s.parser || len(g.s.tables) == 0 || g.s.action {
			return nil
		}
		return g.switchAction(depth)
	case 5:
		return text("stmt", "        {\n¤        }\n", body())
	}
	if g.s.parser || g.s.loops > 0 {
		return nil
	}
	return g.loop(depth)
}

func (g *gen) switchOn(depth int) *Node {
	t := bitType(pick(g.Choices, []int{8, 2, 4, 16, 64}))
	if g.one(4) {
		t = pick(g.Choices, append(append([]*typ(nil), g.enums...), g.serEnums...))
	}
	x := g.expr(t, 2)
	seen := map[string]bool{}
	var cases []*Node
	for range g.between(1, 4) {
		label := ""
		if t.kind == bits {
			label = fmt.Sprint(g.n(4))
		} else {
			label = t.name + "." + pick(g.Choices, t.members)
		}
		if seen[label] {
			continue
		}
		seen[label] = true
		if g.one(5) {
			cases = append(cases, drop(text("", "        "+label+":\n")))
			continue
		}
		cases = append(cases, drop(text("", "        "+label+": {\n¤        }\n", g.stmts(g.between(1, 2), depth))))
	}
	if g.one(2) {
		cases = append(cases, drop(text("", "        default: {\n¤        }\n", g.stmts(1, depth))))
	}
	return text("stmt", "        switch (¤) {\n¤        }\n", x, list(cases...))
}

func (g *gen) switchAction(depth int) *Node {
	t := pick(g.Choices, g.s.tables)
	var cases []*Node
	for _, a := range t.actions {
		if g.one(3) {
			continue
		}
		if g.one(5) {
			cases = append(cases, drop(text("", "        "+a.name+":\n")))
			continue
		}
		cases = append(cases, drop(text("", "        "+a.name+": {\n¤        }\n", g.stmts(g.between(1, 2), depth))))
	}
	if g.one(2) {
		cases = append(cases, drop(text("", "        default: {\n¤        }\n", g.stmts(1, depth))))
	}
	return text("stmt", "        switch ("+t.name+".apply().action_run) {\n¤        }\n", list(cases...))
}

// loop makes one of the kinds of for; each ends after a few rounds.
func (g *gen) loop(depth int) *Node {
	i := g.fresh("i")
	w := pick(g.Choices, []int{8, 4, 16, 3})
	var body *Node
	in := func(writable bool) {
		g.with(func(s *scope) {
			s.loops++
			s.places = append(s.places, place{i, bitType(w), writable})
		}, func() { body = g.stmts(g.between(1, 3), depth) })
	}
	n := g.between(1, 4)
	switch g.n(4) {
	case 3:
		for _, f := range g.hdr.fields {
			if f.t.kind != stack || f.t.elem.kind != header || g.s.control != "ig" && g.s.control != "eg" {
				continue
			}
			g.with(func(s *scope) {
				s.loops++
				s.places = append(s.places, place{i, f.t.elem, false})
			}, func() { body = g.stmts(g.between(1, 3), depth) })
			return text("stmt", "        for ("+f.t.elem.name+" "+i+" in hdr."+f.name+") {\n¤        }\n", body)
		}
		fallthrough
	case 0:
		in(false)
		return text("stmt", fmt.Sprintf("        for (bit<%d> %s = 0; %s < %d; %s = %s + 1) {\n¤        }\n", w, i, i, n, i, i), body)
	case 1:
		in(false)
		lo := g.n(3)
		return text("stmt", fmt.Sprintf("        for (bit<%d> %s in %dw%d .. %dw%d) {\n¤        }\n", w, i, w, lo, w, lo+n-1), body)
	}
	in(false)
	j := g.fresh("j")
	return text("stmt", fmt.Sprintf("        for (bit<%d> %s = 0, bit<8> %s = 9; %s < %d && %s != 5; %s += 1, %s -= 1) {\n¤        }\n", w, i, j, i, n, j, i, j), body)
}

// object uses a register, counter or the like, if there are any here.
func (g *gen) object() *Node {
	o := g.s.objs
	if o == nil || o.register == "" || g.s.ret != nil || g.s.parser {
		return nil
	}
	index := func() *Node { return g.expr(bitType(8), 1) }
	kind := g.n(7)
	if g.copies.on && g.copies.cut && (kind == 1 || kind == 2 || kind == 5) {
		kind = 0 // what does not depend on the order
	}
	switch kind {
	case 6:
		if dst, _ := g.target(bitType(pick(g.Choices, []int{8, 16, 2, 32}))); dst != nil {
			return text("stmt", "        "+o.meter+".execute_meter(¤, ¤);\n", index(), dst)
		}
		fallthrough
	case 0:
		return text("stmt", "        "+o.counter+".count(¤);\n", index())
	case 1:
		if dst, _ := g.target(o.cell); dst != nil {
			return text("stmt", "        "+o.register+".read(¤, ¤);\n", dst, index())
		}
	case 2:
		return text("stmt", "        "+o.register+".write(¤, ¤);\n", index(), g.expr(o.cell, 1))
	case 3:
		if ps := g.places(func(q place) bool { return q.w && q.t.number() && !q.t.signed }); len(ps) > 0 {
			p := pick(g.Choices, ps)
			return g.hash(p)
		}
	case 4:
		if g.s.control == "ig" && g.one(2) || g.s.control == "eg" && g.one(4) {
			return text("stmt", "        mark_to_drop(sm);\n")
		}
		return text("stmt", "        assert(¤ || true);\n", g.expr(boolType, 1))
	}
	if g.s.control != "ig" {
		return nil
	}
	return text("stmt", "        digest<"+g.structs[0].name+">(1, ¤);\n", g.expr(g.structs[0], 1))
}

func (g *gen) hash(p place) *Node {
	var kids []*Node
	var parts []string
	for range g.between(1, 3) {
		t := bitType(pick(g.Choices, []int{8, 16, 32, 48, 4, 9}))
		kids = append(kids, g.expr(t, 1))
		parts = append(parts, "¤")
	}
	algo := pick(g.Choices, []string{"crc32", "crc16", "csum16", "xor16", "identity", "crc32_custom", "crc16_custom"})
	if algo == "identity" && p.t.width > 64 {
		algo = "crc32"
	}
	w := min(p.t.width, 32)
	return text("stmt", fmt.Sprintf("        hash(%s, HashAlgorithm.%s, %dw%d, { %s }, 32w%d);\n", p.text, algo, w, g.n(2), strings.Join(parts, ", "), g.n(300)), kids...)
}

func (g *gen) places(ok func(place) bool) []place {
	var out []place
	for _, p := range g.s.places {
		for _, q := range p.parts(nil) {
			if ok(q) {
				out = append(out, q)
			}
		}
	}
	return out
}
