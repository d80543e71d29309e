package pass

import (
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// deadstores removes assignments of what is never read.
//
// The pass copies leaves assignments to variables that nothing reads any more;
// programs set metadata for functions that are not in the chain; headers are parsed
// that the deparser drops.
//
//	port = std.ingress_port;             if (std.ingress_port == 1) { … }
//	meta.unused = hdr.ipv4.ttl;
//	if (std.ingress_port == 1) { … }
//
// Operations go, too, that only have a result: hash, register.read, setValid of a
// header that is neither tested nor emitted. An extract of a header that nothing
// looks at becomes an advance over it, so that packets that are too short are still
// rejected:
//
//	packet.extract(hdr.tunnel);    →     packet.advance(64);
//
// What is read behind a block counts where the block ends: by the later blocks, by
// the traffic manager (all of the standard metadata, at the end of ingress and of
// egress), and the field lists that clone, resubmit and recirculate keep.
func deadstores(p *ir.Program) {
	st := newStorage(p)
	d := &stores{p: p, x: newEffects(p, st), gone: removed{}}
	live := newBits(st.size) // at the end of the block at hand
	if uses(p.Egress, ir.OpRecirculate) {
		d.addFieldLists(live) // kept once the packet has been put together again
	}
	d.control(p.Deparser, live)
	live.union(d.readsOf(p.Deparser))
	d.control(p.ComputeChecksum, live)
	live.union(d.readsOf(p.ComputeChecksum))

	live.addSpan(st.variable(p.Std))
	d.addFieldLists(live)
	if uses(p.Egress, ir.OpClone, ir.OpClonePreserving) {
		live.union(d.readsOf(p.Egress)) // the clone has the headers of the packet
	}
	d.control(p.Egress, live)
	live.union(d.readsOf(p.Egress))
	d.control(p.Ingress, live)
	live.union(d.readsOf(p.Ingress))
	d.control(p.VerifyChecksum, live)
	live.union(d.readsOf(p.VerifyChecksum))
	d.parser(live)
	bodies(p, d.gone.sweep)
}

// stores is the state of the pass.
type stores struct {
	p    *ir.Program
	x    *effects
	gone removed
}

func (d *stores) dead(s ir.Stmt) {
	if a, ok := s.(*ir.Apply); ok {
		a.Hit = nil
		return
	}
	d.gone[s] = true
}

func (d *stores) control(c *ir.Control, ends bits) {
	d.repeat(func() { newLiveness(d.x, ends.clone(), d.gone, d.dead).control(c) })
}

// repeat looks again as long as something was found, whose operands may have been all
// that something else was needed for.
func (d *stores) repeat(look func()) {
	for n := -1; n < len(d.gone); {
		n = len(d.gone)
		look()
	}
}

// readsOf returns what a control and its actions read of what a packet brings with
// it, without what was found to be removed.
func (d *stores) readsOf(c *ir.Control) bits {
	r := newBits(d.x.st.size)
	d.addReads(c.Body.Body, r)
	for _, a := range c.Actions {
		d.addReads(a.Body, r)
	}
	r.removeSpan(span{d.x.st.global, d.x.st.size, true})
	return r
}

func (d *stores) addReads(ss []ir.Stmt, r bits) {
	ir.Walk(ss, func(s ir.Stmt) {
		if !d.gone[s] {
			d.x.of(s, func(c span) { r.addSpan(c) }, func(span) {})
		}
	})
}

// addFieldLists adds the metadata that some operation of the program keeps.
func (d *stores) addFieldLists(live bits) {
	for _, c := range []*ir.Control{d.p.Ingress, d.p.Egress} {
		if uses(c, ir.OpClonePreserving, ir.OpResubmit, ir.OpRecirculate) {
			s := d.x.st.variable(d.p.Meta)
			d.addMarked(d.p.Meta.Type, s.lo, live)
			return
		}
	}
}

func (d *stores) addMarked(t ir.Type, lo int, live bits) {
	for _, f := range ir.FieldsOf(t) {
		at := d.x.st.field(t, f, span{lo, lo, true})
		if f.Annotations.Has("field_list") {
			live.addSpan(at)
		} else {
			d.addMarked(f.Type, at.lo, live)
		}
	}
}

// parser does not follow the order of the states: what any of them reads is live at
// the end of each.
func (d *stores) parser(ends bits) {
	states := d.p.Parser.States
	d.repeat(func() {
		live := d.parserReads(ends)
		for _, s := range states {
			l := newLiveness(d.x, live, d.gone, d.dead)
			l.rejects = live
			l.list(s.Body, live.clone())
		}
	})
	live := d.parserReads(ends)
	for _, s := range states {
		d.skip(s.Body, live)
	}
}

// parserReads adds what the parser reads, without what was found to be removed.
func (d *stores) parserReads(live bits) bits {
	live = live.clone()
	for _, s := range d.p.Parser.States {
		d.addReads(s.Body, live)
		for _, x := range s.Next.Select {
			d.x.reads(x, func(c span) { live.addSpan(c) })
		}
	}
	return live
}

// skip advances over headers that nothing looks at.
func (d *stores) skip(ss []ir.Stmt, live bits) {
	for i, s := range ss {
		parts(s, func(ss []ir.Stmt) []ir.Stmt {
			d.skip(ss, live)
			return ss
		})
		k, ok := s.(*ir.Call)
		if !ok || k.Op != ir.OpExtract || len(k.Args) > 0 {
			continue
		}
		h, ok := k.Dst.Type().(*ir.Header)
		if !ok {
			continue
		}
		needed := false
		d.x.call(k, func(span) {}, func(w span) { needed = needed || live.anyOf(w) })
		width, fixed := headerBits(h)
		// An advance of part of a byte is an error, an extract of it is not.
		if needed || !fixed || width%8 != 0 || movesStack(k.Dst) {
			continue
		}
		n := &ir.Const{T: &ir.Bits{Width: 32}, Value: big.NewInt(int64(width)), Span: k.Span}
		ss[i] = &ir.Call{Op: ir.OpAdvance, Args: []ir.Expr{n}, Span: k.Span}
	}
}

// movesStack reports whether an extract goes to the next element of a stack, which
// can fail in another way.
func movesStack(e ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(e ir.Expr) {
		if _, ok := e.(*ir.StackIndex); ok {
			found = true
		}
	})
	return found
}

// headerBits returns the width of a header without varbit fields.
func headerBits(h *ir.Header) (width int, ok bool) {
	for _, f := range h.Fields {
		w, ok := ir.ScalarBits(f.Type)
		if !ok {
			return 0, false
		}
		width += w
	}
	return width, true
}
