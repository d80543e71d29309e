package ebpf

import (
	"fmt"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
)

// compute is a checksum over fields and, if withPayload, over what the parser left.
// Only csum16 and xor16 can go over payload: for others it is too much work for one
// packet.
func (f *fn) compute(at diag.Span, fields, algorithm ir.Expr, withPayload bool, body func(val)) {
	name := f.algorithmOf(algorithm)
	f.variants(fields, func(items []val) {
		if !withPayload {
			body(f.digestOf(at, name, items))
			return
		}
		if name != "csum16" {
			f.g.unsupported(at, "a checksum with payload by %s", name)
			return
		}
		bits := 0
		for _, v := range items {
			if v.bytes != "" {
				f.g.unsupported(at, "a checksum with payload over a varbit")
				return
			}
			bits += v.w
		}
		if bits%8 != 0 {
			f.g.unsupported(at, "a checksum over payload behind fields that end within a byte")
			return
		}
		f.g.need["payload"] = true
		sum := f.onesSum(at, items)
		pay := f.temp("u32", "payload_sum(ctx, s->parsed, s->length)")
		if bits%16 == 8 {
			// The payload begins in the middle of a word.
			f.t.f("%s = fold(%s);", pay, pay)
			f.t.f("%s = (%s >> 8 | %s << 8) & 0xffff;", pay, pay, pay)
		}
		body(narrow(16, f.temp("u16", fmt.Sprintf("~fold(%s + fold(%s))", sum, pay))))
	})
}

func (f *fn) verifyChecksum(s *ir.Call) {
	errorPath := f.g.std("checksum_error")
	if errorPath == "" {
		return
	}
	f.t.f("if (%s) {", f.cond(s.Args[0]))
	have := f.expr(s.Args[2])
	f.compute(s.Span, s.Args[1], s.Args[3], s.Op == ir.OpVerifyChecksumPay, func(want val) {
		f.t.f("if (%s)", f.compare(ir.Ne, f.resize(want, have.w, false), have, false).one())
		f.t.f("\t%s = 1;", errorPath)
	})
	f.t.f("}")
}

func (f *fn) updateChecksum(s *ir.Call) {
	if inc := f.g.increments[s]; inc != nil {
		f.increment(inc)
		return
	}
	f.t.f("if (%s) {", f.cond(s.Args[0]))
	f.exact(s)
	f.t.f("}")
}

// exact computes a checksum from all its inputs.
func (f *fn) exact(s *ir.Call) {
	if s.Op == ir.OpUpdateChecksumPay {
		f.g.spec.WholeChecksums = true
	}
	f.compute(s.Span, s.Args[1], s.Args[2], s.Op == ir.OpUpdateChecksumPay, func(v val) {
		f.store(s.Dst, f.resize(v, width(s.Dst.Type()), false))
	})
}

// incremental is a checksum that is updated by what changed.
type incremental struct {
	s      *ir.Call
	h      *instance // the header that holds the checksum
	field  *ir.Field
	inputs []input
	number int
}

// input is a field that the program assigns, among those of a checksum.
type input struct {
	e      ir.Expr
	h      *instance // its header, or nil
	field  *ir.Field
	path   string // of metadata
	bit    int    // where it begins in the list
	pseudo bool   // outside of the checksummed header
}

// analyzeIncremental notes what an incremental checksum control uses and which of its
// checksums can be updated by what changed. Those that cannot are computed exactly.
func (g *gen) analyzeIncremental(c *ir.Control) {
	var calls []*ir.Call
	var rest []ir.Stmt
	var collect func(ss []ir.Stmt)
	collect = func(ss []ir.Stmt) {
		for _, s := range ss {
			if b, ok := s.(*ir.Block); ok {
				collect(b.Body)
				continue
			}
			call, ok := s.(*ir.Call)
			if ok && (call.Op == ir.OpUpdateChecksum || call.Op == ir.OpUpdateChecksumPay) {
				calls = append(calls, call)
				continue
			}
			rest = append(rest, s)
		}
	}
	collect(c.Body.Body)
	g.analyzeStmts(rest, true)
	for _, s := range calls {
		inc := g.incrementOf(s)
		if inc == nil {
			g.analyzeCall(s, true)
			continue
		}
		g.use.ops[s.Op] = true
		g.keep(s.Dst)
		for _, in := range inc.inputs {
			g.keep(in.e)
			if in.h != nil {
				in.h.read[in.field] = true
			}
		}
		inc.number = len(g.increments)
		g.increments[s] = inc
		g.reads(s.Args[0])
		if s.Op == ir.OpUpdateChecksum {
			// Kept in the state like any other field.
			inc.h.read[inc.field] = true
			if len(inc.inputs) > 0 {
				inc.h.dirty[inc.field] = true
			}
		} else if len(inc.inputs) > 0 {
			g.patched[inc.h] = true
		}
		// A header that was never in the packet has no checksum to update.
		if inc.needsExact() {
			g.analyzeCall(s, true)
		}
	}
}

// needsExact tells whether at run time a header may be there that came from no packet.
func (inc *incremental) needsExact() bool {
	if inc.h.fresh() {
		return true
	}
	for _, in := range inc.inputs {
		if in.h != nil && in.h.fresh() {
			return true
		}
	}
	return false
}

// patchedField tells whether a field is a checksum that is patched in the packet
// behind the deparser.
func (g *gen) patchedField(h *instance, x *ir.Field) bool {
	for _, inc := range g.increments {
		if inc.h == h && inc.field == x && inc.s.Op == ir.OpUpdateChecksumPay {
			return true
		}
	}
	return false
}

// incrementOf says how a checksum is updated, or nil if it has to be computed.
func (g *gen) incrementOf(s *ir.Call) *incremental {
	f := g.newFn()
	if f.algorithmOf(s.Args[2]) != "csum16" || width(s.Dst.Type()) != 16 {
		return nil
	}
	m, ok := s.Dst.(*ir.Member)
	if !ok || f.computed(s.Dst) != nil {
		return nil
	}
	p, ok := f.static(m.X)
	if !ok || g.use.byPath[p] == nil {
		return nil
	}
	inc := &incremental{s: s, h: g.use.byPath[p], field: m.Field}
	bit, after := fieldOffset(inc.h.typ, m.Field)
	if inc.h.dirty[m.Field] || bit%16 != 0 || after || !inc.h.extracted {
		return nil
	}
	t, ok := s.Args[1].(*ir.Tuple)
	if !ok {
		return nil
	}
	at := 0
	for _, e := range t.Elems {
		w, ok := ir.ScalarBits(e.Type())
		if !ok {
			return nil
		}
		in, changes, ok := g.inputOf(f, e, inc.h)
		if !ok {
			return nil
		}
		if changes {
			in.bit = at
			inc.inputs = append(inc.inputs, in)
		}
		at += w
	}
	return inc
}

// inputOf tells whether an input of a checksum may change, and fails if its old value
// could not be told.
func (g *gen) inputOf(f *fn, e ir.Expr, own *instance) (in input, changes, ok bool) {
	switch e := e.(type) {
	case *ir.Const:
		return in, false, true
	case *ir.Member, *ir.VarRef:
		if f.computed(e) != nil {
			return in, false, false
		}
		if m, okm := e.(*ir.Member); okm {
			if _, okh := m.X.Type().(*ir.Header); okh {
				p, okp := f.static(m.X)
				h := g.use.byPath[p]
				if !okp || h == nil {
					return in, false, false
				}
				_, after := fieldOffset(h.typ, m.Field)
				in = input{e: e, h: h, field: m.Field, pseudo: h != own}
				return in, h.dirty[m.Field] || h.fresh(), !after && (h.extracted || !h.validity)
			}
		}
		p, okp := f.static(e)
		if !okp {
			return in, false, false
		}
		in = input{e: e, path: p, pseudo: true}
		return in, g.use.dirty[p], true
	}
	return in, false, false
}

// snapshots are the metadata that incremental checksums need as the parser left it.
func (g *gen) snapshots() []input {
	var out []input
	seen := map[string]bool{}
	for _, inc := range g.sortedIncrements() {
		for _, in := range inc.inputs {
			if in.path != "" && !seen[in.path] {
				seen[in.path] = true
				out = append(out, in)
			}
		}
	}
	return out
}

func (g *gen) sortedIncrements() []*incremental {
	out := make([]*incremental, len(g.increments))
	for _, inc := range g.increments {
		out[inc.number] = inc
	}
	return out
}

// snapshot is the C path of the copy of metadata.
func (g *gen) snapshot(path string) string {
	for i, in := range g.snapshots() {
		if in.path == path {
			return fmt.Sprintf("s->old%d", i)
		}
	}
	return path
}

// increment updates a checksum by the difference between its inputs as they came and as they are now (RFC 1624). One
// that is kept in the state is updated there; a checksum over payload in the packet, at once or, if headers may move,
// behind the deparser.
func (f *fn) increment(inc *incremental) {
	if len(inc.inputs) == 0 && !inc.needsExact() {
		f.t.f("/* %s.%s: nothing that it covers is ever changed */", inc.h.name, inc.field.Name)
		return
	}
	f.t.f("if (%s%s) {", f.g.mayDiffer(inc), f.cond(inc.s.Args[0]))
	if inc.needsExact() {
		cond := ""
		seen := map[*instance]bool{}
		for _, h := range append([]*instance{inc.h}, headersOf(inc.inputs)...) {
			if h.fresh() && !seen[h] {
				seen[h] = true
				if cond != "" {
					cond += " || "
				}
				cond += h.path + ".at == NOWHERE"
			}
		}
		f.t.f("if (%s) {", cond)
		if inc.s.Op == ir.OpUpdateChecksumPay {
			f.exactPatch(inc)
		} else {
			f.exact(inc.s)
		}
		f.t.f("} else {")
		f.difference(inc)
		f.t.f("}")
	} else {
		f.difference(inc)
	}
	f.t.f("}")
}

// mayDiffer is the C condition, with an "and" behind it, that the program assigned an input of a checksum.
func (g *gen) mayDiffer(inc *incremental) string {
	for _, in := range inc.inputs {
		if !g.summed(in) {
			return ""
		}
	}
	return fmt.Sprintf("(%s) != 0 && ", join([]string{g.sumOf(inc, false), g.sumOf(inc, true)}, "+"))
}

func headersOf(ins []input) []*instance {
	var out []*instance
	for _, in := range ins {
		if in.h != nil {
			out = append(out, in.h)
		}
	}
	return out
}

// exactPatch computes a checksum over payload whose field is otherwise patched.
func (f *fn) exactPatch(inc *incremental) {
	f.g.spec.WholeChecksums = true
	f.compute(inc.s.Span, inc.s.Args[1], inc.s.Args[2], true, func(v val) {
		f.store(inc.s.Dst, v)
		f.t.f("s->patch%d.whole = 1;", inc.number)
	})
}

// difference adds up new - old of the inputs in ones' complement: the sums of what was assigned, and what else differs
// from the packet, which is still as it came.
func (f *fn) difference(inc *incremental) {
	if len(inc.inputs) == 0 {
		return
	}
	f.t.f("u64 own = %s, pseudo = %s;", f.g.sumOf(inc, false), f.g.sumOf(inc, true))
	first := true
	for _, in := range inc.inputs {
		if f.g.summed(in) {
			continue
		}
		sum := "own"
		if in.pseudo {
			sum = "pseudo"
		}
		w := width(in.e.Type())
		if first && in.h != nil {
			f.t.f("u8 *data = (u8 *)(long)ctx->data;")
			f.t.f("u8 *end = (u8 *)(long)ctx->data_end;")
			first = false
		}
		f.t.f("{")
		now := f.hold(f.expr(in.e))
		var old val
		if in.h != nil {
			bit, _ := fieldOffset(in.h.typ, in.field)
			bits, _ := headerBits(in.h.typ)
			f.t.f("u8 *h = data + %s;", f.g.at(in.h))
			f.t.f("if (h + %d > end)", bits/8)
			f.t.f("\treturn -1;")
			old = f.hold(loadBits("h", bit, w))
		} else {
			old = f.hold(pathValue(f.g.snapshot(in.path), w))
		}
		f.addDifference(sum, now, old, in.bit)
		f.t.f("}")
	}
	if inc.s.Op == ir.OpUpdateChecksumPay && f.g.stays {
		f.g.patchText(f.t, inc, "own", "pseudo")
		return
	}
	if inc.s.Op == ir.OpUpdateChecksumPay {
		f.t.f("s->patch%d.own = own;", inc.number)
		f.t.f("s->patch%d.pseudo = pseudo;", inc.number)
		f.t.f("s->patch%d.changed = 1;", inc.number)
		return
	}
	p := inc.h.path + "." + f.g.field(inc.field)
	f.set(p, narrow(16, fmt.Sprintf("adjust(%s, own + pseudo)", p)))
}

// addDifference adds new - old of an input that begins bit bits into the sequence. A number is, modulo 0xffff, the
// sum of its 16-bit words, if it ends with one of them.
func (f *fn) addDifference(sum string, now, old val, bit int) {
	shift := (16 - (bit+now.w)%16) % 16
	if size := (now.w + shift + 15) / 16 * 16; size <= 48 {
		ones := uint64(1)<<size - 1
		f.t.f("%s += ((u64)(%s) << %d) + (%#x ^ ((u64)(%s) << %d));", sum, now.one(), shift, ones, old.one(), shift)
		return
	}
	var plus, minus [][]string
	if bit%16 != 0 {
		pad := narrow(bit%16, "0")
		plus, minus = f.units([]val{pad, now}, 16), f.units([]val{pad, old}, 16)
	} else {
		plus, minus = f.units([]val{now}, 16), f.units([]val{old}, 16)
	}
	for i := range plus {
		f.t.f("%s += (u16)(%s) + (u16)~(%s);", sum, join(plus[i], "|"), join(minus[i], "|"))
	}
}

// patchesLate tells whether checksums over payload are updated behind the deparser, which may move them.
func (g *gen) patchesLate() bool { return g.need["patch"] && !g.stays }

// patchText writes the update of a checksum over payload in the packet.
func (g *gen) patchText(t *text, inc *incremental, own, pseudo string) {
	at := inc.h.path + ".at"
	if g.stays {
		at = g.at(inc.h)
	}
	bit, _ := fieldOffset(inc.h.typ, inc.field)
	t.f("patch_checksum(ctx, %s + %d, %s, %s, %d);", at, bit/8, own, pseudo, btoi(inc.h.typ.Name == "udp_t"))
}

// writePatches writes the function that updates checksums in the finished packet.
func (g *gen) writePatches() {
	t := &g.funcs
	t.f("/* checksums over payload, in the packet as it leaves */")
	t.f("static __always_inline void patch(ctx_t *ctx, struct state *s)")
	t.f("{")
	for _, inc := range g.sortedIncrements() {
		if inc.s.Op != ir.OpUpdateChecksumPay || len(inc.inputs) == 0 {
			continue
		}
		bit, _ := fieldOffset(inc.h.typ, inc.field)
		at := inc.h.path + ".at"
		t.f("if (s->patch%d.changed) { /* %s.%s */", inc.number, inc.h.name, inc.field.Name)
		g.patchText(t, inc, fmt.Sprintf("s->patch%d.own", inc.number), fmt.Sprintf("s->patch%d.pseudo", inc.number))
		t.f("}")
		if inc.needsExact() {
			t.f("if (s->patch%d.whole) {", inc.number)
			t.f("u16 sum = bpf_htons(%s.%s);", inc.h.path, g.field(inc.field))
			t.f("packet_store(ctx, %s + %d, &sum, sizeof(sum));", at, bit/8)
			t.f("}")
		}
	}
	t.f("}")
	t.f("")
}
