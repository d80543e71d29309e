package progen

import (
	"fmt"
	"strings"
)

type valueSet struct {
	name  string
	width []int
}

// parser makes the parser: states that go forward, some of which repeat as long as
// there is packet.
func (g *gen) parser() *Node {
	old := g.s
	g.s = g.blockScope("", true)
	defer func() { g.s = old }()
	var locals, states []*Node
	for range g.n(3) {
		locals = append(locals, g.localDecl())
	}
	if g.one(3) {
		vs := &valueSet{name: g.fresh("vs"), width: []int{pick(g.Choices, []int{8, 16, 4})}}
		t := fmt.Sprintf("bit<%d>", vs.width[0])
		if g.one(2) {
			vs.width = append(vs.width, 8)
			t = fmt.Sprintf("tuple<bit<%d>, bit<8>>", vs.width[0])
		}
		g.sets = append(g.sets, vs)
		locals = append(locals, drop(text("", fmt.Sprintf("    value_set<%s>(4) %s;\n", t, vs.name))))
	}
	var sub *Node
	if g.one(3) {
		sub = g.subParser()
		locals = append(locals, drop(text("", "    SubP() subp;\n")))
	}
	n := g.between(1, 6)
	for i := range n {
		name := fmt.Sprintf("s%d", i)
		if i == 0 {
			name = "start"
		}
		var body []*Node
		eats := i == 0 || !g.one(4)
		if i == 0 {
			body = append(body, text("", "        packet.extract(hdr.h0);\n"))
		} else if eats {
			body = append(body, g.extract())
		}
		g.with(func(*scope) {}, func() {
			for range g.n(3) {
				body = append(body, drop(g.stmt(1)))
			}
		})
		if sub != nil && g.one(3) {
			if dst, _ := g.target(bitType(8)); dst != nil {
				body = append(body, drop(text("", "        subp.apply(packet, hdr, ¤);\n", dst)))
			}
		}
		states = append(states, drop(text("", "    state "+name+" {\n¤        transition ¤\n    }\n", list(body...), g.transition(i, n, eats))))
	}
	p := text("", "parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {\n¤¤}\n", list(locals...), list(states...))
	if sub != nil {
		return list(sub, p)
	}
	return p
}

// subParser declares a parser that the main one applies.
func (g *gen) subParser() *Node {
	var body []*Node
	g.with(func(s *scope) {
		s.places = []place{{"hdr", g.hdr, true}, {"seen", bitType(8), true}}
	}, func() {
		body = append(body, g.extract())
		for range g.n(2) {
			body = append(body, drop(g.stmt(1)))
		}
	})
	last := pick(g.Choices, []string{"accept", "select(seen) {\n            0: accept;\n            1: again;\n            default: accept;\n        }", "again"})
	if strings.HasSuffix(last, "}") {
		last = strings.TrimSuffix(last, "")
	} else {
		last += ";"
	}
	return drop(text("", "parser SubP(packet_in packet, inout headers hdr, inout bit<8> seen) {\n    state start {\n¤        transition "+last+"\n    }\n    state again {\n        seen = seen + 1;\n        transition accept;\n    }\n}\n", list(body...)))
}

// extract takes a header from the packet.
func (g *gen) extract() *Node {
	var options []string
	for _, p := range g.s.places {
		if !p.w {
			continue
		}
		for _, q := range p.parts(nil) {
			switch {
			case q.t.kind == stack && q.t.elem.kind == header:
				options = append(options, fmt.Sprintf("packet.extract(%s.next)", q.text))
			case q.t.kind == stack:
				options = append(options, fmt.Sprintf("packet.extract(%s.next.u%d)", q.text, g.n(2)))
			case q.t.kind == header && q.t.fields[len(q.t.fields)-1].name == "vb":
				options = append(options, fmt.Sprintf("packet.extract(%s, (bit<32>) %d * (bit<32>) packet.lookahead<bit<%d>>())", q.text, pick(g.Choices, []int{8, 16, 1}), pick(g.Choices, []int{2, 3, 1})))
			case q.t.kind == header:
				options = append(options, fmt.Sprintf("packet.extract(%s)", q.text))
			}
		}
	}
	return drop(text("stmt", "        "+pick(g.Choices, options)+";\n"))
}

// parserStmt is a statement that only parsers have.
func (g *gen) parserStmt() *Node {
	if !g.s.parser {
		return nil
	}
	switch g.n(7) {
	case 5, 6:
		for _, f := range g.hdr.fields {
			if f.t.kind != stack || f.t.elem.kind != header {
				continue
			}
			last := place{"hdr." + f.name + ".last", f.t.elem, false}
			parts := append(last.parts(nil)[1:], place{"hdr." + f.name + ".lastIndex", bitType(32), false})
			p := pick(g.Choices, parts)
			if dst, _ := g.target(p.t); dst != nil {
				return text("stmt", "        ¤ = ¤;\n", dst, text(p.t.class(), p.text))
			} else if dst, t := g.target(nil); p.t.number() && t.number() {
				return text("stmt", "        ¤ = ¤;\n", dst, g.convert(text(p.t.class(), p.text), p.t, t))
			}
		}
	case 0:
		t := bitType(pick(g.Choices, []int{8, 16, 3, 32, 9}))
		if dst, _ := g.target(t); dst != nil {
			return text("stmt", "        ¤ = packet.lookahead<"+t.name+">();\n", dst)
		}
	case 1:
		if dst, _ := g.target(g.headers[0]); dst != nil {
			return text("stmt", "        ¤ = packet.lookahead<"+g.headers[0].name+">();\n", dst)
		}
	case 2:
		return text("stmt", "        verify(¤, error."+pick(g.Choices, []string{"Own1", "Own2"})+");\n", g.expr(boolType, 2))
	case 3:
		if g.one(3) {
			return text("stmt", "        packet.advance((bit<32>) ¤);\n", g.expr(bitType(4), 1))
		}
		return text("stmt", fmt.Sprintf("        packet.advance(%d);\n", 8*g.n(4)))
	}
	return g.extract()
}

// transition chooses where state i of n goes.
func (g *gen) transition(i, n int, eats bool) *Node {
	next := func() string {
		k := i + 1 + g.n(3)
		switch {
		case g.one(15):
			return "reject"
		case eats && g.one(6) && i > 0:
			return fmt.Sprintf("s%d", i)
		case k >= n:
			return "accept"
		}
		return fmt.Sprintf("s%d", k)
	}
	if g.one(4) {
		return text("", next()+";")
	}
	var ts []*typ
	var kids []*Node
	for range g.between(1, 3) {
		t := bitType(pick(g.Choices, []int{8, 8, 4, 16, 2, 48}))
		if g.one(5) {
			t = boolType
		} else if g.one(6) {
			t = g.serEnums[0]
		}
		x := g.expr(t, 1)
		if i == 0 && len(ts) == 0 {
			t = bitType(8)
			x = text("", "hdr.h0.kind")
			if g.one(4) {
				x = text("", "packet.lookahead<bit<8>>()")
			}
		}
		ts = append(ts, t)
		kids = append(kids, x)
	}
	var cases []*Node
	for range g.between(1, 4) {
		if len(g.sets) > 0 && g.one(3) {
			vs := g.sets[0]
			fits := len(vs.width) == len(ts)
			for j := range vs.width {
				fits = fits && ts[j].number() && ts[j].width == vs.width[j]
			}
			if fits {
				cases = append(cases, drop(text("", "            "+vs.name+" : "+next()+";\n")))
				continue
			}
		}
		var ks []string
		for _, t := range ts {
			ks = append(ks, g.selectKey(t))
		}
		row := strings.Join(ks, ", ")
		if len(ks) > 1 {
			row = "(" + row + ")"
		}
		cases = append(cases, drop(text("", "            "+row+" : "+next()+";\n")))
	}
	if !g.one(4) {
		cases = append(cases, drop(text("", "            default : "+next()+";\n")))
	}
	return text("", "select("+strings.TrimSuffix(strings.Repeat("¤, ", len(kids)), ", ")+") {\n¤        }", append(kids, list(cases...))...)
}

func (g *gen) selectKey(t *typ) string {
	switch t.kind {
	case boolean:
		return pick(g.Choices, []string{"false", "true", "_"})
	case serEnum:
		return pick(g.Choices, []string{"_", t.name + "." + t.members[0]})
	}
	switch g.n(5) {
	case 0:
		return "_"
	case 1:
		return fmt.Sprintf("%d &&& %d", g.small(t.width), g.small(t.width))
	case 2:
		lo, hi := g.small(t.width), g.small(t.width)
		return fmt.Sprintf("%d .. %d", min(lo, hi), max(lo, hi))
	}
	return fmt.Sprint(g.small(t.width))
}
