package ebpf

import (
	"fmt"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// words is the number of 64-bit words of a width.
func words(width int) int { return max(1, (width+63)/64) }

// ctype is the C type of a scalar of at most 64 bits.
func ctype(width int) string {
	switch {
	case width <= 8:
		return "u8"
	case width <= 16:
		return "u16"
	case width <= 32:
		return "u32"
	}
	return "u64"
}

// cbytes is the size of the C type of a scalar.
func cbytes(width int) int {
	switch {
	case width <= 8:
		return 1
	case width <= 16:
		return 2
	case width <= 32:
		return 4
	}
	return 8 * words(width)
}

// declare is the C declaration of a variable or member of a P4 type.
func (g *gen) declare(t ir.Type, name string) string {
	if w, ok := ir.ScalarBits(t); ok {
		if w > 64 {
			return fmt.Sprintf("u64 %s[%d]", name, words(w))
		}
		return ctype(w) + " " + name
	}
	if v, ok := t.(*ir.Varbit); ok {
		return fmt.Sprintf("u64 %s[%d]; u32 %s_bits", name, words(v.Max), name)
	}
	return fmt.Sprintf("struct %s %s", g.structName(t), name)
}

// structName returns the name of the C struct of a P4 type, writing its definition at
// the first call.
func (g *gen) structName(t ir.Type) string {
	var key any = t
	want := t.String()
	if s, ok := t.(*ir.Stack); ok {
		// Stacks are compared by structure.
		want = fmt.Sprintf("%s_stack_%d", g.structName(s.Elem), s.Size)
		key = want
	}
	if n, ok := g.types.names[key]; ok {
		return n
	}
	n := g.types.name(key, want)
	var body text
	body.indent = 1
	switch t := t.(type) {
	case *ir.Header:
		for _, f := range t.Fields {
			if g.declared(f) {
				body.f("%s;", g.declare(f.Type, g.field(f)))
			}
		}
		body.f("u16 at; /* where it lies in the packet, or NOWHERE */")
	case *ir.Stack:
		body.f("struct %s e[%d];", g.structName(t.Elem), t.Size)
		body.f("u32 next;")
	default:
		empty := true
		for _, f := range ir.FieldsOf(t) {
			if g.declared(f) {
				body.f("%s;", g.declare(f.Type, g.field(f)))
				empty = false
			}
		}
		if empty {
			body.f("u8 empty;")
		}
	}
	g.structs.f("struct %s {", n)
	g.structs.b.WriteString(body.b.String())
	g.structs.f("};")
	g.structs.f("")
	return n
}

// field is the C name of a field.
func (g *gen) field(f *ir.Field) string {
	if n, ok := g.fields[f]; ok {
		return n
	}
	return cName(f.Name)
}

// headerBits is the width of a header without its varbit, and the varbit field.
func headerBits(h *ir.Header) (int, *ir.Field) {
	n := 0
	var vb *ir.Field
	for _, f := range h.Fields {
		if _, ok := f.Type.(*ir.Varbit); ok {
			vb = f
			continue
		}
		w, _ := ir.ScalarBits(f.Type)
		n += w
	}
	return n, vb
}

// fieldOffset is the bit at which a field begins, not counting a varbit before it.
func fieldOffset(h *ir.Header, f *ir.Field) (bit int, afterVarbit bool) {
	for _, x := range h.Fields {
		if x == f {
			return bit, afterVarbit
		}
		if _, ok := x.Type.(*ir.Varbit); ok {
			afterVarbit = true
			continue
		}
		w, _ := ir.ScalarBits(x.Type)
		bit += w
	}
	return bit, afterVarbit
}

// isSigned tells whether a scalar type is signed.
func isSigned(t ir.Type) bool {
	switch t := t.(type) {
	case *ir.Bits:
		return t.Signed
	case *ir.SerEnum:
		return t.Under.Signed
	}
	return false
}

func width(t ir.Type) int {
	w, _ := ir.ScalarBits(t)
	return w
}
