package ebpf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// writeSet is header fields that the program assigns in the same places, always all of them: one bit in state.written
// tells whether it did.
type writeSet struct {
	name string // of the bit
	also []string
}

// site is a sequence of assignments that are all made if the first one is.
type site int

// noteSite notes that a field is assigned in the sequence at hand. Of the elements of a stack that an index chooses
// from only one is, or none.
func (g *gen) noteSite(h *instance, m *ir.Member) {
	chosen := false
	ir.WalkExpr(m.X, func(e ir.Expr) {
		if i, ok := e.(*ir.Index); ok {
			_, known := i.I.(*ir.Const)
			chosen = chosen || !known
		}
	})
	if chosen {
		g.site++
		defer func() { g.site++ }()
	}
	if at := h.sites[m.Field]; len(at) == 0 || at[len(at)-1] != g.site {
		h.sites[m.Field] = append(at, g.site)
	}
}

// findWriteSets gives each header field that the program assigns its bit.
func (g *gen) findWriteSets() {
	byPlaces := map[string]*writeSet{}
	names := newScope()
	for _, h := range g.use.list {
		for _, x := range h.typ.Fields {
			if !h.dirty[x] {
				continue
			}
			key := fmt.Sprint(h.sites[x])
			if len(h.sites[x]) == 0 { // by the compiler: a checksum
				key = h.path + "." + x.Name
			}
			w := byPlaces[key]
			if w == nil {
				w = &writeSet{name: names.fresh(h.bit + "_" + g.field(x))}
				byPlaces[key] = w
				g.writeSets = append(g.writeSets, w)
			} else {
				w.also = append(w.also, h.name+"."+x.Name)
			}
			h.writeSet[x] = w
		}
	}
}

// writeBits writes the numbers of the write sets' bits.
func (g *gen) writeBits() {
	if !g.stays || len(g.writeSets) == 0 {
		return
	}
	t := &g.structs
	t.f("/* the bit of header fields in state.written */")
	t.f("enum {")
	for _, w := range g.writeSets {
		if len(w.also) > 0 {
			t.f("W_%s, /* and %s */", w.name, strings.Join(w.also, ", "))
		} else {
			t.f("W_%s,", w.name)
		}
	}
	t.f("};")
	t.f("")
}

// writtenWords is how many words of 32 bits the write sets take.
func (g *gen) writtenWords() int {
	if !g.stays {
		return 0
	}
	return (len(g.writeSets) + 31) / 32
}

// unloaded tells whether the parser leaves a field where it is: the program only assigns it. The deparser looks
// whether it did before it writes the field, with those that it shares bytes with.
func (g *gen) unloaded(h *instance, x *ir.Field) bool {
	if !g.stays || !h.dirty[x] || h.read[x] {
		return false
	}
	for _, o := range besides(h.typ, x) {
		if h.dirty[o] && h.writeSet[o] != h.writeSet[x] {
			return false
		}
	}
	return true
}

// besides are the fields that are written with one because they share bytes, itself among them.
func besides(t *ir.Header, x *ir.Field) []*ir.Field {
	var group []*ir.Field
	bit := 0
	for _, o := range t.Fields {
		group = append(group, o)
		bit += width(o.Type)
		if bit%8 == 0 {
			if slices.Contains(group, x) {
				return group
			}
			group = nil
		}
	}
	return group
}

// anyWritten is the C condition that one of several fields was assigned.
func (g *gen) anyWritten(h *instance, fields []*ir.Field) string {
	masks := make([][]string, g.writtenWords())
	for _, x := range fields {
		w := h.writeSet[x]
		i := slices.Index(g.writeSets, w) / 32
		if c := fmt.Sprintf("WRITTEN_BIT(%s)", w.name); !slices.Contains(masks[i], c) {
			masks[i] = append(masks[i], c)
		}
	}
	var parts []string
	for i, m := range masks {
		if len(m) > 0 {
			parts = append(parts, fmt.Sprintf("(s->written[%d] & (%s)) != 0", i, join(m, "|")))
		}
	}
	if len(parts) == 0 {
		return "0"
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return "(" + strings.Join(parts, " || ") + ")"
}
