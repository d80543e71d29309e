package interp

import (
	"slices"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// fieldList is what @field_list(n) marks: ways from the user or the standard
// metadata to a field.
type fieldList struct{ meta, std [][]int }

// fieldLists collects the field lists of a program by their number. A mark on a
// struct holds for all that is in it.
func fieldLists(p *ir.Program) map[string]fieldList {
	lists := map[string]fieldList{}
	collect(p.Meta.Type, nil, func(n string, way []int) {
		l := lists[n]
		l.meta = append(l.meta, way)
		lists[n] = l
	})
	collect(p.Std.Type, nil, func(n string, way []int) {
		l := lists[n]
		l.std = append(l.std, way)
		lists[n] = l
	})
	return lists
}

func collect(t ir.Type, way []int, found func(n string, way []int)) {
	for i, f := range ir.FieldsOf(t) {
		at := append(slices.Clone(way), i)
		for _, a := range f.Annotations {
			if a.Name != "field_list" {
				continue
			}
			for _, n := range a.Args {
				found(n, at)
			}
		}
		collect(f.Type, at, found)
	}
}

// keep copies the fields of list n from one packet's metadata to another's.
func (r *run) keep(n string, from, to *item) {
	l := r.sw.fieldLists[n]
	for _, way := range l.meta {
		walk(to.meta, way).set(walk(from.meta, way))
	}
	for _, way := range l.std {
		walk(to.std, way).set(walk(from.std, way))
	}
}

func walk(c *cell, way []int) *cell {
	for _, i := range way {
		c = c.sub[i]
	}
	return c
}
