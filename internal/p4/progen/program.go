package progen

import (
	"fmt"
	"strings"
)

// Options bound what is generated.
type Options struct {
	// Plain leaves out what the kernel back end tells that it cannot do.
	Plain bool
	// Statements is about how many there are in each control; 0 means 4 to 12.
	Statements int
}

// Make makes a program and a script for it.
func Make(c *Choices, o Options) Case {
	if o.Statements == 0 {
		o.Statements = pick(c, []int{12, 4, 6, 8})
	}
	g := &gen{Choices: c, opt: o}
	for i := range g.without { // programs about few things have more of them
		g.without[i] = c.one(3)
	}
	p := g.program()
	return Case{Program: p, Script: g.script()}
}

// gen holds what has been declared so far.
type gen struct {
	*Choices
	opt     Options
	serial  int
	without [stmtKinds]bool // kinds of statements that the program does not have

	enums    []*typ
	serEnums []*typ
	newtypes []*typ
	headers  []*typ
	unions   []*typ
	structs  []*typ
	hdr      *typ
	meta     *typ
	errs     *typ
	funcs    []*function
	subs     []*subControl
	tables   []*table // of all controls, for the script
	sets     []*valueSet
	profiles []*profile
	copies   copying

	s *scope
}

// scope is what can be named at a place of the program, and what may stand there.
type scope struct {
	places  []place
	parser  bool
	control string // "" in a function; "ig", "eg", "vc", "cc", "sub"
	action  bool
	tables  []*table
	actions []*action
	subs    []*subControl // instances, by name
	names   []string
	ret     *typ // of a function
	pure    int  // > 0: no calls in expressions
	loops   int
	depth   int
	budget  *int
	objs    *objects
}

// with runs f in a scope of its own.
func (g *gen) with(change func(s *scope), f func()) {
	old := g.s
	s := *old
	s.places = s.places[:len(s.places):len(s.places)]
	change(&s)
	g.s = &s
	f()
	g.s = old
}

func (g *gen) fresh(prefix string) string {
	g.serial++
	return fmt.Sprintf("%s%d", prefix, g.serial)
}

func (g *gen) add(name string, t *typ, w bool) {
	g.s.places = append(g.s.places, place{name, t, w})
}

var commonWidths = []int{8, 16, 8, 4, 1, 32, 9, 3, 7, 12, 24, 48, 64, 2, 5, 13, 31, 33, 63, 65, 128, 15, 17, 40, 96, 127, 129, 200, 255, 256}

func (g *gen) width() int {
	if g.one(12) {
		return g.between(1, 256)
	}
	// Narrow ones are more often met.
	return commonWidths[min(g.n(len(commonWidths)), g.n(len(commonWidths)))]
}

func (g *gen) number() *typ {
	if g.one(4) {
		return intType(g.width())
	}
	return bitType(g.width())
}

// scalarType chooses a type for a field of a struct.
func (g *gen) scalarType() *typ {
	switch g.n(10) {
	case 8:
		return boolType
	case 9:
		return pick(g.Choices, append(append(append([]*typ{g.errs}, g.enums...), g.serEnums...), g.newtypes...))
	}
	return g.number()
}

func (g *gen) declareTypes() *Node {
	var out []*Node
	raw := func(format string, args ...any) {
		out = append(out, drop(&Node{Parts: []string{fmt.Sprintf(format, args...)}}))
	}
	g.errs = &typ{kind: errors, name: "error", members: []string{"NoError", "PacketTooShort", "NoMatch", "StackOutOfBounds", "HeaderTooShort", "ParserInvalidArgument", "Own1", "Own2"}}
	raw("error { Own1, Own2 }\n")
	for range g.between(1, 2) {
		t := &typ{kind: enum, name: g.fresh("E")}
		for range g.between(1, 4) {
			t.members = append(t.members, g.fresh("m"))
		}
		g.enums = append(g.enums, t)
		out = append(out, t.declaration())
	}
	for range g.between(1, 2) {
		t := &typ{kind: serEnum, name: g.fresh("S"), under: pick(g.Choices, []*typ{bitType(8), bitType(4), bitType(16), intType(8), bitType(1)})}
		var ms []string
		for i := range g.between(1, 2) {
			m := g.fresh("m")
			t.members = append(t.members, m)
			ms = append(ms, fmt.Sprintf("%s = %d", m, i&(1<<(t.under.width-1)-1|1)))
		}
		g.serEnums = append(g.serEnums, t)
		raw("enum %s %s { %s }\n", t.under.name, t.name, strings.Join(ms, ", "))
	}
	if g.one(2) {
		u := pick(g.Choices, []*typ{bitType(8), bitType(16), bitType(33)})
		t := &typ{kind: bits, name: g.fresh("N"), newtype: u, width: u.width}
		g.newtypes = append(g.newtypes, t)
		raw("type %s %s;\n", u.name, t.name)
	}
	for range g.between(2, 4) {
		t := g.headerType()
		g.headers = append(g.headers, t)
		out = append(out, t.declaration())
	}
	g.unions = append(g.unions, &typ{kind: union, name: g.fresh("U"), fields: []field{{"u0", g.headers[0]}, {"u1", g.headers[1]}}})
	out = append(out, g.unions[0].declaration())
	for range g.between(1, 2) {
		t := &typ{kind: structure, name: g.fresh("T")}
		for range g.between(1, 4) {
			t.fields = append(t.fields, field{g.fresh("f"), g.fieldType()})
		}
		g.structs = append(g.structs, t)
		out = append(out, t.declaration())
	}

	g.hdr = &typ{kind: structure, name: "headers", fields: []field{{"h0", g.headers[0]}}}
	add := func(name string, t *typ) { g.hdr.fields = append(g.hdr.fields, field{name, t}) }
	for i := range g.between(1, 3) {
		add(fmt.Sprintf("h%d", i+1), pick(g.Choices, g.headers))
	}
	if g.one(2) {
		e := pick(g.Choices, g.headers)
		for e.hasVarbit() {
			e = g.headers[0]
		}
		n := g.between(1, 4)
		add("hs", &typ{kind: stack, name: fmt.Sprintf("%s[%d]", e.name, n), elem: e, size: n})
	}
	if g.one(3) {
		add("hu", g.unions[0])
	}
	if g.one(5) {
		add("us", &typ{kind: stack, name: g.unions[0].name + "[2]", elem: g.unions[0], size: 2})
	}
	g.meta = &typ{kind: structure, name: "metadata"}
	for i := range g.between(2, 5) {
		g.meta.fields = append(g.meta.fields, field{fmt.Sprintf("m%d", i), g.scalarType()})
	}
	g.meta.fields = append(g.meta.fields, field{"st", g.structs[0]})
	if g.one(3) {
		g.meta.fields = append(g.meta.fields, field{"mh", g.headers[len(g.headers)-1]})
	}
	if g.one(3) {
		t := g.tupleType()
		g.meta.fields = append(g.meta.fields, field{"tp", t})
	}
	out = append(out, g.hdr.declaration(), g.metaDeclaration())
	return list(out...)
}

// metaDeclaration writes the metadata with some fields that survive recirculation.
func (g *gen) metaDeclaration() *Node {
	var b strings.Builder
	b.WriteString("struct metadata {\n")
	for _, f := range g.meta.fields {
		if f.t.scalar() || f.t.kind == structure {
			b.WriteString(pick(g.Choices, []string{"", "    @field_list(1)\n", "    @field_list(1, 2)\n", "    @field_list(2)\n"}))
		}
		fmt.Fprintf(&b, "    %s %s;\n", f.t.name, f.name)
	}
	b.WriteString("    @field_list(1, 2)\n    bit<8> rounds;\n}\n")
	return &Node{Parts: []string{b.String()}}
}

func (g *gen) tupleType() *typ {
	t := &typ{kind: tuple}
	var names []string
	for range g.between(1, 3) {
		e := g.scalarType()
		t.fields = append(t.fields, field{t: e})
		names = append(names, e.name)
	}
	t.name = "tuple<" + strings.Join(names, ", ") + ">"
	return t
}

// fieldType is the type of a field of a struct.
func (g *gen) fieldType() *typ {
	if len(g.structs) > 0 && g.one(8) {
		return g.structs[0]
	}
	if g.one(12) {
		return g.tupleType()
	}
	return g.scalarType()
}

// headerType makes a header that ends with a byte. The first field of the first is a
// byte, for the parser to choose by.
func (g *gen) headerType() *typ {
	t := &typ{kind: header, name: g.fresh("H")}
	first := len(g.headers) == 0
	if first {
		t.fields = append(t.fields, field{"kind", bitType(8)})
	}
	for range g.between(1, 4) {
		f := g.number()
		if g.one(10) {
			f = boolType
		} else if g.one(10) {
			f = pick(g.Choices, g.serEnums)
		}
		if f.width > 64 && g.one(2) {
			f = bitType(8)
		}
		t.fields = append(t.fields, field{g.fresh("f"), f})
	}
	if n := t.bitSize() % 8; n != 0 {
		t.fields = append(t.fields, field{g.fresh("f"), bitType(8 - n)})
	}
	if len(g.headers) > 1 && g.one(5) {
		t.fields = append(t.fields, field{"vb", &typ{kind: varbit, name: "varbit<64>", width: 64}})
	}
	return t
}

const start = `#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
`

func (g *gen) program() *Node {
	g.s = &scope{}
	g.decideCopies()
	out := []*Node{text("", start), g.declareTypes()}
	for range g.n(4) {
		out = append(out, g.function())
	}
	for range g.n(3) {
		out = append(out, g.subControl())
	}
	out = append(out, g.parser())
	for _, name := range []string{"vc", "ig", "eg", "cc"} {
		out = append(out, g.control(name))
	}
	out = append(out, g.deparser(), text("", "V1Switch(P(), VC(), IG(), EG(), CC(), D()) main;\n"))
	return list(out...)
}

// blockScope is the scope of a parser or control, with its parameters.
func (g *gen) blockScope(name string, standard bool) *scope {
	s := &scope{control: name, parser: name == "", depth: 3}
	s.places = append(s.places, place{"hdr", g.hdr, true}, place{"meta", g.meta, true})
	if standard {
		for _, f := range []field{{"ingress_port", bitType(9)}, {"packet_length", bitType(32)}, {"instance_type", bitType(32)}} {
			s.places = append(s.places, place{"sm." + f.name, f.t, false})
		}
		if name != "" {
			s.places = append(s.places, place{"sm.parser_error", g.errs, false}, place{"sm.checksum_error", bitType(1), false})
		}
		if name == "eg" {
			s.places = append(s.places, place{"sm.egress_port", bitType(9), false}, place{"sm.egress_rid", bitType(16), false})
		}
		if name == "ig" {
			s.places = append(s.places, place{"sm.egress_spec", bitType(9), true})
		}
		if name != "" {
			s.places = append(s.places, place{"sm.mcast_grp", bitType(16), false}, place{"sm.priority", bitType(3), true})
		}
	}
	return s
}

func (g *gen) control(name string) *Node {
	standard := name == "ig" || name == "eg"
	old := g.s
	g.s = g.blockScope(name, standard)
	defer func() { g.s = old }()
	params := "inout headers hdr, inout metadata meta"
	if standard {
		params += ", inout standard_metadata_t sm"
	}
	var locals []*Node
	g.s.objs = &objects{}
	if standard {
		locals = append(locals, g.declareObjects())
	}
	for range g.n(4) {
		locals = append(locals, g.localDecl())
	}
	if standard {
		for range g.between(1, 4) {
			locals = append(locals, g.action())
		}
		for range g.n(4) {
			locals = append(locals, g.table())
		}
		for _, sub := range g.subs {
			if g.one(2) {
				inst := g.fresh("inst")
				g.s.subs = append(g.s.subs, sub)
				g.s.names = append(g.s.names, inst)
				locals = append(locals, drop(text("", "    "+sub.name+"() "+inst+";\n")))
			}
		}
	}
	n := g.opt.Statements
	var body []*Node
	switch name {
	case "ig":
		body = append(body, drop(text("stmt", "        sm.egress_spec = ¤;\n", g.leaf(bitType(9)))))
	case "vc", "cc":
		n = 0 // v1model allows nothing else there
		body = append(body, g.checksums(name)...)
	}
	budget := n * 2
	g.s.budget = &budget
	body = append(body, g.stmts(n, 2))
	if n := g.again(); n != nil {
		body = append(body, drop(n))
	}
	return text("", "control "+strings.ToUpper(name)+"("+params+") {\n¤    apply {\n¤    }\n}\n", list(locals...), list(body...))
}

// deparser emits the headers in an order of its own.
func (g *gen) deparser() *Node {
	old := g.s
	g.s = &scope{places: []place{{"hdr", g.hdr, false}}, control: "dp", pure: 1}
	defer func() { g.s = old }()
	var out []*Node
	if g.one(6) {
		out = append(out, text("stmt", "        packet.emit(hdr);\n"))
	} else {
		for _, f := range g.hdr.fields {
			e := text("stmt", "        packet.emit(hdr."+f.name+");\n")
			if g.one(10) {
				e = text("stmt", "        packet.emit({ hdr."+pick(g.Choices, g.hdr.fields).name+", hdr."+f.name+" });\n")
			}
			if f.t.kind == stack && g.one(4) {
				e = text("stmt", fmt.Sprintf("        packet.emit(hdr.%s[%d]);\n", f.name, g.n(f.t.size)))
			}
			out = append(out, drop(e))
		}
		for i := len(out) - 1; i > 0; i-- {
			if g.one(6) {
				j := g.n(i + 1)
				out[i], out[j] = out[j], out[i]
			}
		}
	}
	return text("", "control D(packet_out packet, in headers hdr) {\n    apply {\n¤    }\n}\n", list(out...))
}
