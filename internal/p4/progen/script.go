package progen

import (
	"fmt"
	"strings"
)

// checksums are the calls of a checksum control.
func (g *gen) checksums(control string) []*Node {
	g.s.pure++
	defer func() { g.s.pure-- }()
	var out []*Node
	for range g.n(3) {
		ps := g.places(func(q place) bool { return q.w && q.t.number() && !q.t.signed && q.t.width == 16 })
		if len(ps) == 0 {
			return out
		}
		p := pick(g.Choices, ps)
		var kids []*Node
		total := 0
		var parts []string
		for range g.between(1, 4) {
			w := pick(g.Choices, []int{8, 16, 32, 4, 48})
			total += w
			kids = append(kids, g.leaf(bitType(w)))
			parts = append(parts, "¤")
		}
		if total%16 != 0 {
			kids = append(kids, text("", fmt.Sprintf("%dw0", 16-total%16)))
			parts = append(parts, "¤")
		}
		algo := pick(g.Choices, []string{"csum16", "csum16", "crc16", "xor16"})
		call, target := "verify_checksum", g.leaf(bitType(16))
		if control == "cc" {
			call, target = "update_checksum", text("", p.text)
		}
		if algo == "csum16" && g.one(3) {
			call += "_with_payload"
		}
		kids = append(append([]*Node{g.expr(boolType, 1)}, kids...), target)
		out = append(out, drop(text("stmt", "        "+call+"(¤, { "+strings.Join(parts, ", ")+" }, ¤, HashAlgorithm."+algo+");\n", kids...)))
	}
	return out
}

// script makes replication, entries and packets. Some of the entries come and go between the packets.
func (g *gen) script() []string {
	out := g.replication()
	for _, vs := range g.sets {
		for range g.n(3) {
			line := "value_set_add P." + vs.name
			for _, w := range vs.width {
				line += fmt.Sprintf(" %d", g.small(w))
			}
			out = append(out, line)
		}
	}
	for _, p := range g.profiles {
		out = append(out, g.members(p)...)
	}
	var later []string
	for _, t := range g.tables {
		if !t.open {
			continue
		}
		for _, line := range g.entries(t) {
			if g.one(4) {
				later = append(later, line)
			} else {
				out = append(out, line)
			}
		}
	}
	for range g.between(8, 24) {
		if len(later) > 0 && g.one(2) {
			out = append(out, later[0])
			later = later[1:]
		}
		if i := g.n(len(out)); g.one(5) && strings.HasPrefix(out[i], "add ") {
			line, _, _ := strings.Cut(out[i], " :: ")
			out = append(out, "remove "+strings.TrimPrefix(line, "add "))
			out[i] = strings.Replace(out[i], "add ", "gone ", 1)
		}
		out = append(out, fmt.Sprintf("packet %d %s", g.n(8), g.packet()))
	}
	for i := range out {
		if rest, ok := strings.CutPrefix(out[i], "gone "); ok {
			out[i] = "add " + rest
		}
		out[i] = strings.Replace(out[i], " :: ", " ", 1)
	}
	return out
}

// entries are what the control plane adds to a table.
func (g *gen) entries(t *table) []string {
	var out []string
	seen := map[string]bool{}
	if len(t.actions) > 0 && t.profile == nil && g.one(4) {
		a := pick(g.Choices, t.actions)
		out = append(out, "setdefault "+t.full+" "+g.call1(a))
	}
	if len(t.keys) == 0 || len(t.actions) == 0 {
		return out
	}
	n := g.n(7)
	if g.one(6) {
		n = g.n(40)
	}
	for i := range n {
		line := ""
		for _, k := range t.keys {
			line += " " + k.name + ":" + g.match(k)
		}
		if seen[line] {
			continue
		}
		seen[line] = true
		if t.ordered() {
			line = fmt.Sprintf(" %d", i+1) + line
		}
		what := g.call1(pick(g.Choices, t.actions))
		if t.profile != nil {
			what = t.profile.choice(g)
		}
		out = append(out, "add "+t.full+line+" :: "+what)
	}
	return out
}

// call1 is an action with its data, as STF writes it.
func (g *gen) call1(a *action) string {
	var out []string
	for _, p := range a.params {
		if p.dir == "" {
			w := p.t.width
			if p.t.kind == boolean {
				w = 1
			} else if p.t.kind == serEnum {
				w = 1
			}
			out = append(out, fmt.Sprintf("%s:%d", p.name, g.small(w)))
		}
	}
	return a.full + "(" + strings.Join(out, ", ") + ")"
}

func (g *gen) match(k key) string {
	w := k.t.width
	switch k.t.kind {
	case boolean:
		w = 1
	case serEnum:
		w = 1
	}
	v := g.small(w)
	switch k.match {
	case "ternary":
		return fmt.Sprintf("%d&&&%d", v, g.small(w))
	case "lpm":
		n := g.n(w + 1)
		return fmt.Sprintf("%d/%d", v&shifted(w, n), n)
	case "range":
		hi := g.small(w)
		return fmt.Sprintf("%d->%d", min(v, hi), max(v, hi))
	}
	return fmt.Sprint(v)
}

// parserRounds is how often the kernel back end takes a loop of the parser.
const parserRounds = 32

// packet is the data of a packet: often small values, as entries and selects have. It
// ends before a loop over the shortest header would be left unfinished in the kernel.
func (g *gen) packet() string {
	n := g.between(1, 40)
	if g.one(4) {
		n = g.between(40, 160)
	} else if g.one(30) {
		n = g.between(160, 1200)
	}
	for _, h := range g.headers {
		n = min(n, (parserRounds-2)*max(h.bitSize()/8, 1))
	}
	var b strings.Builder
	for range n {
		v := g.n(4)
		switch g.n(8) {
		case 5:
			v = 0xff
		case 6, 7:
			v = g.n(256)
		}
		fmt.Fprintf(&b, "%02x", v)
	}
	return b.String()
}
