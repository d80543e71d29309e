package progen

import (
	"fmt"
	"strings"
)

type table struct {
	name    string
	full    string
	keys    []key
	actions []*action
	bound   map[*action]bool // has parameters bound in the list of actions
	open    bool             // takes entries of the control plane
	profile *profile
}

type key struct {
	name  string
	t     *typ
	match string
}

// table declares a table over the actions of the control.
func (g *gen) table() *Node {
	t := &table{name: g.fresh("t"), bound: map[*action]bool{}}
	t.full = strings.ToUpper(g.s.control) + "." + t.name
	var parts []*Node
	g.with(func(s *scope) { s.pure++ }, func() {
		lpm := false
		for range g.n(4) {
			k := key{name: g.fresh("k"), match: pick(g.Choices, []string{"exact", "exact", "ternary", "lpm", "range", "optional"})}
			if k.match == "lpm" && lpm {
				k.match = "exact"
			}
			lpm = lpm || k.match == "lpm"
			k.t = bitType(pick(g.Choices, []int{8, 8, 4, 16, 9, 32, 48, 1, 64, 3}))
			switch {
			case k.match == "exact" && g.one(5):
				k.t = boolType
			case k.match == "exact" && g.one(5):
				k.t = g.serEnums[0]
			case k.match != "range" && g.one(12):
				k.t = bitType(128)
			case k.match == "ternary" && g.one(10):
				k.t = bitType(72)
			}
			t.keys = append(t.keys, k)
			parts = append(parts, text("", fmt.Sprintf("            ¤ : %s @name(\"%s\");\n", k.match, k.name), g.expr(k.t, 1)))
		}
	})
	var before []*Node
	if len(parts) > 0 && (g.s.control == "ig" || g.s.control == "eg") && g.one(5) {
		var declaration, keys *Node
		g.with(func(s *scope) { s.pure++ }, func() { declaration, keys = g.declareProfile(t) })
		before, parts = append(before, declaration), append(parts, keys)
	}
	out := []*Node{text("", "    table "+t.name+" {\n        key = {\n¤        }\n", list(parts...))}
	if t.profile != nil {
		out = append(out, text("", "        implementation = "+t.profile.full[3:]+";\n"))
	}

	var list1 []*Node
	list1 = append(list1, text("", "            NoAction;\n"))
	for _, a := range g.s.actions {
		if g.one(3) || a.bound {
			continue // bound twice, it would be two actions of one name
		}
		var dirs []param
		for _, p := range a.params {
			if p.dir != "" {
				dirs = append(dirs, p)
			}
		}
		line := text("", "            "+a.name+";\n")
		if len(dirs) > 0 {
			var args string
			var kids []*Node
			g.with(func(s *scope) { s.pure++ }, func() { args, kids = g.positional(dirs) })
			if kids == nil {
				continue
			}
			t.bound[a] = true
			a.bound = true
			line = text("", "            "+a.name+"("+args+");\n", kids...)
		}
		t.actions = append(t.actions, a)
		list1 = append(list1, drop(line))
	}
	out = append(out, text("", "        actions = {\n¤        }\n", list(list1...)))
	if free := t.free(); len(free) > 0 && !g.one(3) {
		a := pick(g.Choices, free)
		out = append(out, drop(text("", "        "+pick(g.Choices, []string{"const ", ""})+"default_action = "+a.name+"("+g.data(a)+");\n")))
	} else {
		out = append(out, text("", "        default_action = NoAction();\n"))
	}
	t.open = true
	if len(t.keys) > 0 && t.profile == nil && g.one(3) {
		t.open = false
		var entries []*Node
		word := pick(g.Choices, []string{"const ", "const ", ""})
		for range g.between(1, 4) {
			call := "NoAction()"
			if free := t.free(); len(free) > 0 {
				a := pick(g.Choices, free)
				call = a.name + "(" + g.data(a) + ")"
			}
			var ks []string
			for _, k := range t.keys {
				ks = append(ks, g.keyset(k))
			}
			priority := ""
			if t.ordered() && word == "" && g.one(3) {
				priority = fmt.Sprintf("priority = %d: ", g.between(100, 160))
			}
			entries = append(entries, drop(text("", "            "+priority+"("+strings.Join(ks, ", ")+") : "+call+";\n")))
		}
		out = append(out, drop(text("", "        "+word+"entries = {\n¤        }\n", list(entries...))))
		if t.ordered() && word == "" && g.one(2) {
			out = append(out, drop(text("", "        largest_priority_wins = "+pick(g.Choices, []string{"true", "false"})+";\n")))
			if g.one(2) {
				out = append(out, drop(text("", fmt.Sprintf("        priority_delta = %d;\n", g.between(1, 20)))))
			}
		}
	}
	if g.one(6) && (g.s.control == "ig" || g.s.control == "eg") {
		out = append(out, drop(text("", "        counters = direct_counter(CounterType.packets);\n")))
	}
	g.s.tables = append(g.s.tables, t)
	g.tables = append(g.tables, t)
	return drop(text("", "¤¤    }\n", list(before...), list(out...)))
}

// ordered reports whether the table's entries have priorities.
func (t *table) ordered() bool {
	for _, k := range t.keys {
		if k.match == "ternary" || k.match == "range" || k.match == "optional" {
			return true
		}
	}
	return false
}

// positional are arguments without names.
func (g *gen) positional(ps []param) (string, []*Node) {
	var parts []string
	var kids []*Node
	for _, p := range ps {
		k, _ := g.target(p.t)
		if p.dir == "in" {
			k = g.expr(p.t, 1)
		}
		if k == nil {
			return "", nil
		}
		parts = append(parts, "¤")
		kids = append(kids, k)
	}
	return strings.Join(parts, ", "), kids
}

// free are the actions without bound parameters, which a default or entry can name
// without repeating what is bound.
func (t *table) free() []*action {
	var out []*action
	for _, a := range t.actions {
		if !t.bound[a] {
			out = append(out, a)
		}
	}
	return out
}

// data are the action data of an entry in the program.
func (g *gen) data(a *action) string {
	var out []string
	for _, p := range a.params {
		switch p.t.kind {
		case bits:
			out = append(out, g.literal(p.t).String())
		case boolean:
			out = append(out, pick(g.Choices, []string{"false", "true"}))
		default:
			out = append(out, p.t.name+"."+pick(g.Choices, p.t.members))
		}
	}
	return strings.Join(out, ", ")
}

// small gives a value that packets hold often.
func (g *gen) small(w int) uint64 {
	v := uint64(g.n(4))
	switch g.n(6) {
	case 4:
		v = uint64(g.n(256))
	case 5:
		v = ^uint64(0)
	}
	if w < 64 {
		v &= 1<<w - 1
	}
	return v
}

// keyset writes the key of an entry in the program.
func (g *gen) keyset(k key) string {
	switch k.t.kind {
	case boolean:
		return pick(g.Choices, []string{"false", "true"})
	case serEnum:
		return k.t.name + "." + pick(g.Choices, k.t.members)
	}
	w := k.t.width
	switch k.match {
	case "ternary":
		if g.one(2) {
			return fmt.Sprintf("%d &&& %d", g.small(w), g.small(w))
		}
		return pick(g.Choices, []string{"_", fmt.Sprint(g.small(w))})
	case "lpm":
		n := g.n(w + 1)
		return fmt.Sprintf("%dw%d &&& (%dw0 - 1) << %d", w, g.small(w)>>0&shifted(w, n), w, w-n)
	case "range":
		lo, hi := g.small(w), g.small(w)
		return fmt.Sprintf("%d .. %d", min(lo, hi), max(lo, hi))
	case "optional":
		return pick(g.Choices, []string{"_", fmt.Sprint(g.small(w))})
	}
	return fmt.Sprint(g.small(w))
}

// shifted is the mask of the n leading bits of w, as far as 64 bits show it.
func shifted(w, n int) uint64 {
	if w > 64 {
		if w-n >= 64 {
			return 0
		}
		return ^uint64(0) << (w - n)
	}
	if n == 0 {
		return 0
	}
	return (^uint64(0) >> (64 - w)) &^ (1<<(w-n) - 1)
}

// applyTable applies a table.
func (g *gen) applyTable() *Node {
	if len(g.s.tables) == 0 || g.s.action {
		return nil
	}
	return text("stmt", "        "+pick(g.Choices, g.s.tables).name+".apply();\n")
}
