package ebpf

import (
	"fmt"
	"slices"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// maxCells is up to how many cells a counter has them all in one element of its map: a packet that counts in several
// of them looks the element up once.
const maxCells = 256

// inOneElement tells whether a counter has all cells in one element. It depends on the counter alone, so that programs
// can share its map.
func inOneElement(i *ir.Instance) bool { return i.Kind == ir.KindCounter && max(i.Size, 1) <= maxCells }

// declareCells writes the maps of a counter with its cells in one element.
func (g *gen) declareCells(i *ir.Instance, c string) {
	t, size := &g.maps, max(i.Size, 1)
	t.f("struct %s_cells {", c)
	t.f("struct counter c[%d];", size)
	t.f("};")
	g.declareMap(c, "PERCPU_ARRAY", 1, "u32", "struct "+c+"_cells", "")
	base := g.globals.fresh(c + "_base")
	g.declareMap(base, "ARRAY", size, "u32", "struct counter", "")
	t.f("")
	g.spec.Counters = append(g.spec.Counters, &Counter{Name: i.FullName, Map: c, Size: size, Base: base})
	g.spec.MapKeys[c] = g.instanceKey(i, size, nil) + " cells"
	g.spec.MapKeys[base] = g.instanceKey(i, size, nil) + " base"
}

// holdCells declares variables for the elements that a control's own statements count in.
func (f *fn) holdCells(c *ir.Control) {
	f.cells = map[*ir.Instance]string{}
	ir.Walk(c.Body.Body, func(s ir.Stmt) {
		call, ok := s.(*ir.Call)
		if !ok || call.Op != ir.OpCount || !inOneElement(call.Inst) || f.cells[call.Inst] != "" {
			return
		}
		name := f.g.instances[call.Inst]
		if name == "" || f.g.countShared[call.Inst] {
			return
		}
		f.cells[call.Inst] = "at_" + name
		f.t.f("struct %s_cells *at_%s = 0; /* looked up when needed */", name, name)
	})
}

// count counts the packet in a cell of a counter.
func (f *fn) count(i *ir.Instance, index ir.Expr, c string) {
	g := f.g
	name := g.instances[i]
	switch {
	case g.countShared[i]:
		f.t.f("count_%s(%s, s->length);", name, c)
		return
	case !inOneElement(i):
		f.t.f("count_packet(&%s, %s, s->length);", name, c)
		return
	}
	f.t.f("{")
	at := f.cells[i]
	if at == "" {
		at = "at"
		f.t.f("struct %s_cells *at = first_element(&%s);", name, name)
	} else {
		// There always is one, so what happens without is of no account; but no test of it is needed behind this.
		f.t.f("if (!%s) {", at)
		f.t.f("%s = first_element(&%s);", at, name)
		f.t.f("if (!%s) {", at)
		f.t.f("s->failed = 1;")
		f.t.f("%s", f.exit)
		f.t.f("}")
		f.t.f("}")
	}
	k, constant := index.(*ir.Const)
	if constant && k.Value.IsInt64() && k.Value.Int64() < int64(g.cellsOf(name)) {
		c = k.Value.String()
	} else {
		f.t.f("u32 i = %s;", c)
		f.t.f("if (IN_ARRAY(i, %d))", g.cellsOf(name))
		c = "i"
	}
	if f.cells[i] == "" {
		f.t.f("if (at)")
	}
	f.t.f("add_packet(&%s->c[%s], s->length);", at, c)
	f.t.f("}")
}

// cellsOf is the number of cells of the counter with a C name.
func (g *gen) cellsOf(name string) int {
	i := slices.IndexFunc(g.spec.Counters, func(c *Counter) bool { return c.Map == name })
	if i < 0 {
		panic(fmt.Sprintf("no counter %s", name))
	}
	return g.spec.Counters[i].Size
}
