package ebpf

import (
	"fmt"
	"sort"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

func align(n, to int) int { return (n + to - 1) / to * to }

// pack lays scalars out one after another, the largest first, so that each is
// aligned by itself. It returns the alignment of the whole.
func pack(slots []Slot, at int) (Layout, int) {
	out := append([]Slot(nil), slots...)
	sort.SliceStable(out, func(i, j int) bool { return min(out[i].Bytes, 8) > min(out[j].Bytes, 8) })
	al := 1
	for i := range out {
		a := min(out[i].Bytes, 8)
		al = max(al, a)
		at = align(at, a)
		out[i].Offset = at
		at += out[i].Bytes
	}
	return Layout{Slots: out, Size: at}, al
}

func slotFor(name string, t ir.Type) Slot {
	w := width(t)
	return Slot{Name: name, Width: w, Signed: isSigned(t), Bytes: cbytes(w)}
}

// slotDecl is the C declaration of a slot.
func slotDecl(s Slot, name string) string {
	switch {
	case s.Big:
		return fmt.Sprintf("u8 %s[%d]", name, s.Bytes)
	case s.Width > 64:
		return fmt.Sprintf("u64 %s[%d]", name, words(s.Width))
	}
	return ctype(s.Width) + " " + name
}

// cLayout computes where C puts the scalars of a P4 type: offsets from at, and the
// size and alignment of the whole.
func (g *gen) cLayout(t ir.Type, name string, at int) (slots []Slot, end, al int) {
	if _, ok := ir.ScalarBits(t); ok {
		s := slotFor(name, t)
		al = min(s.Bytes, 8)
		s.Offset = align(at, al)
		return []Slot{s}, s.Offset + s.Bytes, al
	}
	// The alignment first: it decides where the members begin.
	al = g.alignOf(t)
	at = align(at, al)
	for _, f := range ir.FieldsOf(t) {
		var more []Slot
		n := f.Name
		if name != "" {
			n = name + "." + f.Name
		}
		more, at, _ = g.cLayout(f.Type, n, at)
		slots = append(slots, more...)
	}
	if _, ok := t.(*ir.Header); ok {
		at = align(at, 2) + 2 // where it lies
	}
	if len(ir.FieldsOf(t)) == 0 {
		at++
	}
	return slots, align(at, al), al
}

func (g *gen) alignOf(t ir.Type) int {
	if w, ok := ir.ScalarBits(t); ok {
		return min(cbytes(w), 8)
	}
	al := 1
	if _, ok := t.(*ir.Header); ok {
		al = 2
	}
	for _, f := range ir.FieldsOf(t) {
		al = max(al, g.alignOf(f.Type))
	}
	return al
}
