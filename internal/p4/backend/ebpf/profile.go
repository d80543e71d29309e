package ebpf

import (
	"fmt"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// maxGroup is how many members, weights counted, a group of a selector has at most.
const maxGroup = 128

// profileInfo is what the generator knows of an action profile.
type profileInfo struct {
	inst    *ir.Instance
	spec    *Profile
	c       string
	actions []*ir.Action
}

// profileOf returns the profile of a table. Its actions are those of all tables that
// share it.
func (g *gen) profileOf(t *ir.Table) *profileInfo {
	if p, ok := g.profiles[t.Impl]; ok {
		return p
	}
	p := &profileInfo{inst: t.Impl, c: g.globals.fresh(t.Impl.FullName)}
	p.spec = &Profile{Name: t.Impl.FullName, Selector: t.Impl.Kind == ir.KindActionSelector,
		Map: p.c, Size: max(t.Impl.Size, 1)}
	if p.spec.Size == 1 && t.Impl.Size <= 0 {
		p.spec.Size = 1024
	}
	if p.spec.Selector {
		p.spec.Groups, p.spec.MaxGroup = p.c+"_groups", maxGroup
	}
	for _, c := range g.p.Controls() {
		for _, other := range c.Tables {
			if other.Impl != t.Impl {
				continue
			}
			for _, a := range other.Actions {
				if p.index(a.Action) < 0 {
					p.actions = append(p.actions, a.Action)
					p.spec.Actions = append(p.spec.Actions, &Action{Name: a.Action.FullName})
				}
			}
		}
	}
	p.spec.ValueSize, _ = g.layoutParams(p.spec.Actions, p.actions, 4)
	g.profiles[t.Impl] = p
	g.spec.Profiles = append(g.spec.Profiles, p.spec)

	m := &g.maps
	m.at(t.Impl.Span)
	m.f("/* action %s %s */", map[bool]string{true: "selector", false: "profile"}[p.spec.Selector], p.spec.Name)
	g.declareValue(p.c, []Slot{{Name: "action"}}, p.spec.Actions, p.spec.ValueSize)
	g.declareMap(p.c, "HASH", p.spec.Size, "u32", "struct "+p.c+"_value", "BPF_F_NO_PREALLOC")
	key := fmt.Sprintf("profile %s %d %v", p.spec.Name, p.spec.Size, p.spec.ValueSize)
	for _, a := range p.spec.Actions {
		key += fmt.Sprintf(" %v", *a)
	}
	g.spec.MapKeys[p.c] = key
	if p.spec.Selector {
		m.f("struct %s_group {", p.c)
		m.f("u32 n;")
		m.f("u32 members[%d];", maxGroup)
		m.f("};")
		g.declareMap(p.spec.Groups, "HASH", p.spec.Size, "u32", "struct "+p.c+"_group", "BPF_F_NO_PREALLOC")
		g.spec.MapKeys[p.spec.Groups] = key
	}
	m.f("")
	return p
}

func (p *profileInfo) index(a *ir.Action) int {
	for i, x := range p.actions {
		if x == a {
			return i
		}
	}
	return -1
}

// member runs the action of the member that the entry v, or its group, names.
func (f *fn) member(ti *tableInfo) {
	p := ti.prof
	f.t.f("u32 member = v->member;")
	f.t.f("u32 found = 1;")
	if p.spec.Selector {
		f.t.f("u32 group = v->group;")
		f.t.f("if (group) {")
		f.t.f("struct %s_group *c = bpf_map_lookup_elem(&%s, &group);", p.c, p.spec.Groups)
		f.t.f("found = 0;")
		f.t.f("if (c && c->n) {")
		h := f.selectorHash(ti)
		f.t.f("u32 i = %s %% c->n;", h)
		f.t.f("if (IN_ARRAY(i, %d)) {", maxGroup)
		f.t.f("member = c->members[i];")
		f.t.f("found = 1;")
		f.t.f("}")
		f.t.f("}")
		f.t.f("}")
	}
	f.t.f("struct %s_value *m = found ? bpf_map_lookup_elem(&%s, &member) : 0;", p.c, p.c)
	f.t.f("r = APPLY_ACTION | APPLY_HIT; /* none, if the member is gone */")
	f.t.f("if (m) {")
	f.t.f("switch (m->action) {")
	for i, a := range p.actions {
		n := ti.index(a)
		if n < 0 {
			continue
		}
		f.t.f("case %d:", i)
		f.t.f("r = %d | APPLY_HIT;", n)
		if len(a.Body) > 0 {
			var args []string
			for _, slot := range p.spec.Actions[i].Params.Slots {
				args = append(args, fmt.Sprintf("m->u.a%d.%s", i, cName(slot.Name)))
			}
			f.callAction(a, args)
		}
		f.t.f("break;")
	}
	f.t.f("}")
	f.t.f("}")
}

// selectorHash hashes the selector keys of a table.
func (f *fn) selectorHash(ti *tableInfo) string {
	var items []val
	for _, k := range ti.t.Keys {
		if k.Match == ir.MatchSelector {
			items = append(items, f.expr(k.X))
		}
	}
	h := f.digestOf(ti.prof.inst.Span, ti.prof.inst.Algorithm, items)
	if w := ti.prof.inst.OutWidth; w > 0 && w < h.w {
		h = f.hold(f.slice(f.hold(h), w-1, 0))
	}
	return h.one()
}
