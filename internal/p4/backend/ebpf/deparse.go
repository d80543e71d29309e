package ebpf

import (
	"fmt"
	"slices"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// emitted is an emit statement: the headers that it may stand for is one.
type emitted struct {
	h   *instance
	out string // C path: where it goes, or NOWHERE
}

// emits lists the emits of the deparser, and tells whether it has nothing else.
func (g *gen) emits() (list []*instance, flat bool) {
	f := g.newFn()
	flat = true
	var visit func(ss []ir.Stmt)
	visit = func(ss []ir.Stmt) {
		for _, s := range ss {
			switch s := s.(type) {
			case *ir.Block:
				visit(s.Body)
			case *ir.Call:
				if s.Op != ir.OpEmit {
					flat = false
					continue
				}
				if _, ok := s.Args[0].Type().(*ir.Header); !ok || f.computed(s.Args[0]) != nil {
					flat = false
					continue
				}
				if bits, _ := headerBits(s.Args[0].Type().(*ir.Header)); bits%8 != 0 {
					flat = false // and refused where it is written
				}
				if p, ok := f.static(s.Args[0]); ok {
					list = append(list, g.use.byPath[p])
				}
			default:
				flat = false
			}
		}
	}
	visit(g.p.Deparser.Body.Body)
	return list, flat
}

// keepsLayout tells whether the deparser puts every header where it was, whatever the
// packet: no header comes or goes, and on every way through the parser the headers
// are extracted in the order in which they are emitted, each once.
func (g *gen) keepsLayout(list []*instance, flat bool) bool {
	if !flat || g.use.validity {
		return false
	}
	position := map[*instance]int{}
	for i, h := range list {
		if _, twice := position[h]; twice || h == nil {
			return false
		}
		position[h] = i
	}
	// The last position that may have been extracted when a state begins.
	last := map[*parserState]int{}
	work := []*parserState{g.states[0]}
	last[g.states[0]] = -1
	for len(work) > 0 {
		n := work[0]
		work = work[1:]
		if n.skips || n.guarded {
			return false
		}
		at := last[n]
		for _, h := range n.takes {
			i, ok := position[h]
			if !ok || i <= at {
				return false
			}
			at = i
		}
		for _, o := range n.out {
			if old, seen := last[o]; !seen || at > old {
				last[o] = at
				work = append(work, o)
			}
		}
	}
	return true
}

// writeDeparser writes the deparse function: 0, or -1 if the packet has to be dropped.
func (g *gen) writeDeparser() {
	list, _ := g.emits()
	t := &g.funcs
	f := g.newFn()
	t.f("/* deparser %s */", g.p.Deparser.Name)
	if g.split {
		t.at(g.p.Deparser.Span)
		f.beginGlobal("int", "deparse", "")
	} else {
		t.f("static __always_inline int deparse(ctx_t *ctx, struct state *s)")
		t.f("{")
	}
	if g.stays {
		f.writeInPlace(list)
	} else {
		f.writeMoving()
	}
	t.f("return 0;")
	t.f("}")
	t.f("")
}

// writeInPlace writes what the program assigns to headers that stay where they are.
func (f *fn) writeInPlace(list []*instance) {
	first := true
	for _, h := range list {
		if len(h.assigned(f.g)) == 0 {
			continue
		}
		if first {
			f.t.f("u8 *data = (u8 *)(long)ctx->data;")
			f.t.f("u8 *end = (u8 *)(long)ctx->data_end;")
			first = false
		}
		f.t.f("if (%s && %s) {", f.g.anyWritten(h, h.assigned(f.g)), f.g.valid(h.path))
		f.t.f("u8 *h = data + %s;", f.g.at(h))
		f.storeHeader(h, false)
		f.t.f("}")
	}
	if first {
		f.t.f("/* nothing that is emitted is ever changed */")
	}
}

// assigned are the fields of the header that the program assigns and the deparser writes.
func (h *instance) assigned(g *gen) []*ir.Field {
	var out []*ir.Field
	for _, x := range h.typ.Fields {
		if h.dirty[x] && !g.patchedField(h, x) {
			out = append(out, x)
		}
	}
	return out
}

// writes tells whether the program assigns a field of the header.
func (h *instance) writes() bool {
	for _, x := range h.typ.Fields {
		if h.dirty[x] {
			return true
		}
	}
	return false
}

// size is the C expression of the header's length in bytes.
func (g *gen) size(h *instance) string {
	bits, vb := headerBits(h.typ)
	if vb == nil {
		return fmt.Sprint(bits / 8)
	}
	return fmt.Sprintf("(%d + %s.%s_bits / 8)", bits/8, h.path, g.field(vb))
}

// emit notes where a header goes: the first part of the deparser.
func (f *fn) emit(s *ir.Call) {
	h, ok := s.Args[0].Type().(*ir.Header)
	if !ok {
		f.g.unsupported(s.Span, "emit of a %s", s.Args[0].Type())
		return
	}
	if bits, _ := headerBits(h); bits%8 != 0 {
		f.g.unsupported(s.Span, "emit of header %s, which is %d bits long and so ends within a byte,", h.Name, bits)
		return
	}
	f.each(func() {
		p, ok := f.static(s.Args[0])
		if !ok {
			return
		}
		inst := f.g.use.byPath[p]
		out := fmt.Sprintf("s->out[%d]", len(f.g.emitted))
		f.g.emitted = append(f.g.emitted, emitted{inst, out})
		f.t.f("if (%s) { /* emit %s */", f.g.valid(p), inst.name)
		f.t.f("%s = out;", out)
		f.t.f("moved |= %s.at ^ out;", p)
		if _, vb := headerBits(inst.typ); vb != nil {
			bits, _ := headerBits(inst.typ)
			n := f.temp("u32", fmt.Sprintf("%s.%s_bits / 8", p, f.g.field(vb)))
			f.t.f("BOUND(%s, %d);", n, (vb.Type.(*ir.Varbit).Max+7)/8)
			f.t.f("out += %d + %s;", bits/8, n)
		} else {
			f.t.f("out += %s;", f.g.size(inst))
		}
		f.t.f("}")
		f.t.f("FORGET(out);")
		f.t.f("FORGET(%s);", out)
	}, s.Args[0])
}

// writeMoving writes a deparser that may find headers at other places than they were.
func (f *fn) writeMoving() {
	g := f.g
	t := f.t
	// The layout, in a text of its own: the variables come first.
	var body text
	body.fs, body.indent = g.fs, 1
	f.t = &body
	f.exit = "goto laid_out;"
	f.block(g.p.Deparser.Body)
	f.t = t

	t.f("u32 out = 0;")
	t.f("u32 moved = 0;")
	for _, e := range g.emitted {
		t.f("%s = NOWHERE;", e.out)
	}
	t.b.WriteString(body.b.String())
	if hasExit(g.p.Deparser.Body.Body) {
		t.f("laid_out:")
		t.f(";")
	}
	t.f("moved |= out ^ s->parsed;")
	t.f("if (moved) {")
	f.moveHeaders()
	t.f("}")
	t.f("u8 *data = (u8 *)(long)ctx->data;")
	t.f("u8 *end = (u8 *)(long)ctx->data_end;")
	for _, e := range g.emitted {
		if !e.h.writes() && !e.h.fresh() && e.h.extracted {
			continue
		}
		t.f("if (%s != NOWHERE) { /* %s */", e.out, e.h.name)
		t.f("u8 *h = data + PLACE(%s);", e.out)
		switch {
		case !e.h.extracted:
			f.storeHeader(e.h, true)
		case !e.h.fresh():
			f.storeHeader(e.h, false)
		default:
			t.f("if (%s.at == NOWHERE) {", e.h.path)
			f.storeHeader(e.h, true)
			if e.h.writes() {
				t.f("} else {")
				f.storeHeader(e.h, false)
			}
			t.f("}")
		}
		if g.patched[e.h] {
			t.f("%s.at = %s;", e.h.path, e.out)
		}
		t.f("}")
	}
}

// moveHeaders saves the bytes of the parsed headers, makes the packet's front as long
// as the new headers, and puts the old bytes to their new places.
func (f *fn) moveHeaders() {
	t, g := f.t, f.g
	g.need["scratch"] = true
	t.f("u32 zero = 0;")
	t.f("struct scratch *x = bpf_map_lookup_elem(&scratch, &zero);")
	t.f("if (!x)")
	t.f("\treturn -1;")
	t.f("u32 parsed = s->parsed;")
	t.f("if (parsed) {")
	t.f("if (parsed > MAX_DEPTH)")
	t.f("\treturn -1;")
	t.f("BOUND(parsed, MAX_DEPTH);")
	t.f("if (packet_load(ctx, 0, x->head, parsed))")
	t.f("\treturn -1;")
	t.f("}")
	t.f("if (packet_resize(ctx, x, s->parsed, out))")
	t.f("\treturn -1;")
	for _, e := range g.emitted {
		if _, vb := headerBits(e.h.typ); vb == nil || !e.h.extracted {
			continue
		}
		// Of a length only known now.
		t.f("if (%s != NOWHERE && %s.at != NOWHERE) {", e.out, e.h.path)
		t.f("u32 at = %s.at;", e.h.path)
		t.f("u32 n = %s;", g.size(e.h))
		t.f("BOUND(at, MAX_DEPTH);")
		t.f("BOUND(n, MAX_DEPTH);")
		t.f("if (n && packet_store(ctx, %s, x->head + at, n))", e.out)
		t.f("\treturn -1;")
		t.f("}")
	}
	t.f("u8 *data = (u8 *)(long)ctx->data;")
	t.f("u8 *end = (u8 *)(long)ctx->data_end;")
	for _, e := range g.emitted {
		bits, vb := headerBits(e.h.typ)
		if vb != nil || !e.h.extracted || bits == 0 {
			continue
		}
		cond := e.out + " != NOWHERE"
		if e.h.fresh() {
			cond += fmt.Sprintf(" && %s.at != NOWHERE", e.h.path)
		}
		t.f("if (%s) { /* %s */", cond, e.h.name)
		t.f("u32 at = %s.at;", e.h.path)
		t.f("BOUND(at, MAX_DEPTH);")
		t.f("u8 *from = x->head + at;")
		t.f("u8 *h = data + PLACE(%s);", e.out)
		t.f("if (h + %d > end)", bits/8)
		t.f("\treturn -1;")
		for at := 0; at < bits/8; {
			n := 8
			for n > bits/8-at {
				n /= 2
			}
			t.f("*(u%d *)(h + %d) = *(u%d *)(from + %d);", 8*n, at, 8*n, at)
			at += n
		}
		t.f("}")
	}
}

// storeHeader writes the fields of a header at h: those that the program assigns, or
// all.
func (f *fn) storeHeader(h *instance, all bool) {
	bits, vb := headerBits(h.typ)
	t := f.t
	tail := "h"
	if vb != nil {
		v := h.path + "." + f.g.field(vb)
		most := (vb.Type.(*ir.Varbit).Max + 7) / 8
		n := f.temp("u32", v+"_bits / 8")
		t.f("BOUND(%s, %d);", n, most)
		at, _ := fieldOffset(h.typ, vb)
		t.f("if (h + %d > end)", bits/8)
		t.f("\treturn -1;")
		tail = f.temp("u8 *", "h + "+n)
		t.f("if (%s + %d > end)", tail, bits/8)
		t.f("\treturn -1;")
		if all || h.dirty[vb] {
			for i := range most {
				t.f("if (%d < %s && h + %d <= end)", i, n, at/8+i+1)
				t.f("\th[%d] = ((u8 *)%s)[%d];", at/8+i, v, i)
			}
		}
	} else {
		t.f("if (h + %d > end)", bits/8)
		t.f("\treturn -1;")
	}
	f.storeFields(h, tail, all)
}

// storeFields writes groups of fields that together are whole bytes.
func (f *fn) storeFields(h *instance, tail string, all bool) {
	var group []*ir.Field
	begin, bit := 0, 0
	ptr := "h"
	for _, x := range h.typ.Fields {
		if _, ok := x.Type.(*ir.Varbit); ok {
			ptr = tail
			continue
		}
		group = append(group, x)
		bit += width(x.Type)
		if bit%8 == 0 {
			f.storeGroup(h, ptr, group, begin, all)
			group, begin = nil, bit
		}
	}
}

func (f *fn) storeGroup(h *instance, ptr string, group []*ir.Field, begin int, all bool) {
	var assigned, unloaded []*ir.Field
	for _, x := range group {
		if !h.dirty[x] || f.g.patchedField(h, x) {
			continue
		}
		assigned = append(assigned, x)
		if f.g.unloaded(h, x) {
			unloaded = append(unloaded, x)
		}
	}
	if !all && len(assigned) == 0 {
		return
	}
	// A field that was not loaded has a value only if it was assigned. Mostly all of the header was.
	if !all && len(unloaded) > 0 {
		if only := f.g.anyWritten(h, assigned); only != f.g.anyWritten(h, h.assigned(f.g)) {
			f.t.f("if (%s) {", only)
			defer f.t.f("}")
		}
	}
	bit := begin
	var v val
	for i, x := range group {
		w := width(x.Type)
		part := loadBits(ptr, bit, w)
		if all || slices.Contains(assigned, x) {
			part = pathValue(h.path+"."+f.g.field(x), w)
		}
		if i == 0 {
			v = part
		} else {
			v = f.concat(v, part)
		}
		bit += w
	}
	f.storeBytes(ptr, begin/8, v)
}

// storeBytes writes a value of whole bytes, big-endian.
func (f *fn) storeBytes(ptr string, begin int, v val) {
	if v.w > 64 {
		v = f.hold(v)
	}
	if v.w == 0 {
		return
	}
	at := begin
	if v.w == 48 {
		at := ptr
		if begin > 0 {
			at = fmt.Sprintf("%s + %d", ptr, begin)
		}
		f.t.f("store48(%s, %s);", at, v.one())
		return
	}
	for left := v.w / 8; left > 0; {
		n := 8
		for n > left {
			n /= 2
		}
		part := v
		if 8*n < v.w {
			v = f.hold(v)
			part = f.slice(v, 8*left-1, 8*(left-n))
		}
		switch n {
		case 1:
			f.t.f("%s[%d] = %s;", ptr, at, part.one())
		case 2:
			f.t.f("*(u16 *)(%s + %d) = bpf_htons(%s);", ptr, at, part.one())
		case 4:
			f.t.f("*(u32 *)(%s + %d) = bpf_htonl(%s);", ptr, at, part.one())
		case 8:
			f.t.f("*(u64 *)(%s + %d) = bpf_cpu_to_be64(%s);", ptr, at, part.one())
		}
		at += n
		left -= n
	}
}
