package ebpf

import "github.com/catena-nfv/catena/internal/p4/ir"

// Of the state's scalars only those are declared that something uses: a state that is copied would otherwise carry
// all of them, and not fit the stack.

// keep notes a use of a place.
func (g *gen) keep(e ir.Expr) {
	ir.WalkExpr(e, func(e ir.Expr) {
		if m, ok := e.(*ir.Member); ok {
			g.use.kept[m.Field] = true
		}
	})
	g.keepAll(e.Type())
}

// keepAll notes a use of all that is in values of a type.
func (g *gen) keepAll(t ir.Type) {
	if s, ok := t.(*ir.Stack); ok {
		g.keepAll(s.Elem)
		return
	}
	for _, f := range ir.FieldsOf(t) {
		g.use.kept[f] = true
		g.keepAll(f.Type)
	}
}

// keepOthers notes what is used without the program's own statements: by the back end, by lists of fields that packets
// take along, in headers that are written as a whole, and in registers, whose layout is known outside.
func (g *gen) keepOthers() {
	for _, f := range ir.FieldsOf(g.p.Std.Type) {
		if f.Name == "egress_spec" {
			g.use.kept[f] = true
		}
	}
	for _, h := range g.use.list {
		if h.fresh() || !h.extracted {
			g.keepAll(h.typ)
		}
	}
	var listed func(t ir.Type, marked bool)
	listed = func(t ir.Type, marked bool) {
		for _, f := range ir.FieldsOf(t) {
			m := marked || f.Annotations.Has("field_list")
			if m {
				g.use.kept[f] = true
			}
			listed(f.Type, m)
		}
	}
	listed(g.p.Meta.Type, false)
	listed(g.p.Std.Type, false)
	for _, c := range g.p.Controls() {
		for _, i := range c.Instances {
			if i.Elem != nil {
				g.keepAll(i.Elem)
			}
		}
		for _, t := range c.Tables { // of those that are never applied, too
			for _, k := range t.Keys {
				g.keep(k.X)
			}
		}
	}
}

// declared tells whether the state has a field. It always has structs and headers, and of varbits at least the length.
func (g *gen) declared(f *ir.Field) bool {
	_, scalar := ir.ScalarBits(f.Type)
	return !scalar || g.use.kept[f]
}
