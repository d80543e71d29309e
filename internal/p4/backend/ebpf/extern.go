package ebpf

import (
	"fmt"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// call writes an extern or built-in operation.
func (f *fn) call(s *ir.Call) {
	g := f.g
	switch s.Op {
	case ir.OpSetValid, ir.OpSetInvalid:
		f.setValid(s.Args[0], s.Op == ir.OpSetValid)
	case ir.OpPushFront, ir.OpPopFront:
		f.shiftStack(s)
	case ir.OpExtract, ir.OpLookahead, ir.OpAdvance, ir.OpLength, ir.OpVerify:
		f.parserCall(s)
	case ir.OpEmit:
		f.emit(s)
	case ir.OpMarkToDrop:
		f.setStd("egress_spec", "DROP_PORT")
		f.setStd("mcast_grp", "0")
	case ir.OpHash:
		f.hash(s)
	case ir.OpRandom:
		f.random(s)
	case ir.OpDigest:
		f.digest(s)
	case ir.OpClone, ir.OpClonePreserving:
		f.clone(s)
	case ir.OpResubmit, ir.OpRecirculate:
		f.again(s)
	case ir.OpTruncate:
		v := f.expr(s.Args[0])
		f.t.f("s->truncate = %s + 1;", v.one())
	case ir.OpVerifyChecksum, ir.OpVerifyChecksumPay:
		f.verifyChecksum(s)
	case ir.OpUpdateChecksum, ir.OpUpdateChecksumPay:
		f.updateChecksum(s)
	case ir.OpAssert, ir.OpAssume:
		f.t.f("if (!(%s)) { /* %s fails: the packet is dropped */", f.cond(s.Args[0]), s.Op)
		f.t.f("s->failed = 1;")
		f.t.f("%s", f.exit)
		f.t.f("}")
	case ir.OpLogMsg: // for the reference interpreter; a packet is none the wiser
	case ir.OpCount:
		f.count(s.Inst, s.Args[0], f.index(s))
	case ir.OpDirectCount: // counted when the table matched
	case ir.OpMeter:
		f.store(s.Dst, f.resize(narrow(8, fmt.Sprintf("run_meter(&%s, %s, %s)", g.instances[s.Inst], f.index(s), meterUnits(s.Inst))), width(s.Dst.Type()), false))
	case ir.OpDirectMeter:
		f.store(s.Dst, f.resize(narrow(8, "s->"+g.colour(s.Inst)), width(s.Dst.Type()), false))
	case ir.OpRegRead:
		f.registerRead(s)
	case ir.OpRegWrite:
		f.registerWrite(s)
	case ir.OpFlowRead:
		f.flowRead(s)
	case ir.OpFlowWrite:
		f.flowWrite(s)
	default:
		g.unsupported(s.Span, "%s", s.Op)
	}
}

// setStd assigns to a field of the standard metadata, if the program has it.
func (f *fn) setStd(name, c string) {
	if p := f.g.std(name); p != "" {
		f.t.f("%s = %s;", p, c)
	}
}

// index is the C expression, of type u32, of an index argument; one that is too
// large for 32 bits is beyond every array.
func (f *fn) index(s *ir.Call) string {
	v := f.expr(s.Args[0])
	if v.w <= 32 {
		return v.one()
	}
	v = f.hold(v)
	c := fmt.Sprintf("%s < %d", v.words[0], max(s.Inst.Size, 1))
	for _, h := range v.words[1:] {
		c += " && !" + h
	}
	return fmt.Sprintf("(%s ? (u32)%s : ~0U)", c, v.words[0])
}

// random draws a number from lo to hi, both included.
func (f *fn) random(s *ir.Call) {
	lo, hi := f.temp("u64", f.low(s.Args[0])), f.temp("u64", f.low(s.Args[1]))
	w := width(s.Dst.Type())
	draw := "bpf_get_prandom_u32()"
	if w > 32 {
		draw = "((u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32())"
	}
	r := f.temp("u64", draw)
	// A span of 2^64 has no number to divide by.
	c := fmt.Sprintf("(%s <= %s ? %s : %s - %s + 1 ? %s + %s %% (%s - %s + 1) : %s)", hi, lo, lo, hi, lo, lo, r, hi, lo, r)
	f.store(s.Dst, f.resize(f.hold(narrow(64, c)), w, false))
}

// digest sends the scalars of a value to the control plane.
func (f *fn) digest(s *ir.Call) {
	if s.Inst == nil {
		f.g.unsupported(s.Span, "a digest without a name")
		return
	}
	d := f.g.digests[s.Inst]
	items := f.flatten(s.Args[1])
	size := 0
	for i := range items {
		if items[i].bytes != "" {
			f.g.unsupported(s.Span, "a digest of a varbit")
			return
		}
		items[i] = f.hold(items[i])
		size += (items[i].w + 7) / 8
	}
	f.t.f("struct {")
	f.t.f("struct event h;")
	f.t.f("u8 data[%d];", max(size, 1))
	f.t.f("} *e%d = bpf_ringbuf_reserve(&events, sizeof(*e%d), 0);", f.temps, f.temps)
	e := fmt.Sprintf("e%d", f.temps)
	f.temps++
	f.t.f("if (%s) { /* else the reader is slow, and this digest is lost */", e)
	f.t.f("%s->h.kind = EVENT_DIGEST;", e)
	f.t.f("%s->h.id = %d;", e, d)
	f.t.f("%s->h.len = %d;", e, size)
	f.t.f("%s->h.orig = %d;", e, size)
	at := 0
	for _, v := range items {
		n := (v.w + 7) / 8
		v = f.hold(f.resize(v, 8*n, false))
		for i := range n {
			f.t.f("%s->data[%d] = %s;", e, at+i, f.slice(v, 8*(n-i)-1, 8*(n-i-1)).one())
		}
		at += n
	}
	f.t.f("bpf_ringbuf_submit(%s, 0);", e)
	f.t.f("}")
}

// cell writes the lookup of a register's cell and returns the variable.
func (f *fn) cell(s *ir.Call) string {
	i := f.temp("u32", f.index(s))
	r := f.g.instances[s.Inst]
	c := fmt.Sprintf("c%d", f.temps)
	f.temps++
	f.t.f("struct %s_cell *%s = bpf_map_lookup_elem(&%s, &%s);", r, c, r, i)
	return c
}

func (f *fn) registerRead(s *ir.Call) {
	c := f.cell(s)
	if w, ok := ir.ScalarBits(s.Inst.Elem); ok {
		v := pathValue(c+"->v", w)
		out := val{w: w}
		for _, x := range v.words {
			ct := "u64"
			if w <= 64 {
				ct = ctype(w)
			}
			out.words = append(out.words, f.temp(ct, fmt.Sprintf("%s ? %s : 0", c, x)))
		}
		f.store(s.Dst, out)
		return
	}
	f.each(func() {
		p, ok := f.static(s.Dst)
		if !ok {
			return
		}
		f.t.f("if (%s) {", c)
		f.copy(s.Inst.Elem, p, c+"->v")
		f.t.f("} else {")
		f.clear(s.Inst.Elem, p)
		f.t.f("}")
	}, s.Dst)
}

func (f *fn) registerWrite(s *ir.Call) {
	if w, ok := ir.ScalarBits(s.Inst.Elem); ok {
		v := f.hold(f.resize(f.expr(s.Args[1]), w, false))
		c := f.cell(s)
		f.t.f("if (%s) {", c)
		f.set(c+"->v", v)
		f.t.f("}")
		return
	}
	c := f.cell(s)
	f.each(func() {
		if t, ok := s.Args[1].(*ir.Tuple); ok {
			items := f.flatten(t)
			f.t.f("if (%s) {", c)
			i := 0
			f.fillFrom(s.Inst.Elem, c+"->v", items, &i)
			f.t.f("}")
			return
		}
		p, ok := f.static(s.Args[1])
		if !ok {
			return
		}
		f.t.f("if (%s) {", c)
		f.copy(s.Inst.Elem, c+"->v", p)
		f.t.f("}")
	}, s.Args[1])
}

// fillFrom assigns a list of scalars to the scalars of a struct.
func (f *fn) fillFrom(t ir.Type, path string, items []val, i *int) {
	if _, ok := ir.ScalarBits(t); ok {
		if *i < len(items) {
			f.set(path, items[*i])
			*i++
		}
		return
	}
	for _, x := range ir.FieldsOf(t) {
		f.fillFrom(x.Type, path+"."+f.g.field(x), items, i)
	}
}

// declareInstances writes the maps of counters, meters and registers.
func (g *gen) declareInstances() {
	direct := map[*ir.Instance]*ir.Table{}
	for _, c := range g.p.Controls() {
		for _, t := range c.Tables {
			if t.Counter != nil {
				direct[t.Counter] = t
			}
			if t.Meter != nil {
				direct[t.Meter] = t
			}
		}
	}
	for _, c := range g.p.Controls() {
		for _, i := range c.Instances {
			g.declareInstance(i, direct[i])
		}
	}
}

func (g *gen) declareInstance(i *ir.Instance, owner *ir.Table) {
	size := max(i.Size, 1)
	direct := ""
	if owner != nil {
		direct = owner.FullName
		size = max(owner.Size, len(owner.Entries), 1)
		if owner.Size <= 0 {
			size = max(1024, len(owner.Entries))
		}
		size++ // index 0 is no entry's
	}
	t := &g.maps
	t.at(i.Span)
	switch i.Kind {
	case ir.KindCounter, ir.KindDirectCounter:
		if i.Kind == ir.KindDirectCounter && owner == nil {
			return
		}
		c := g.globals.fresh(i.FullName)
		g.instances[i] = c
		t.f("/* %s %s */", i.Kind, i.FullName)
		if inOneElement(i) {
			g.declareCells(i, c)
			return
		}
		if owner != nil {
			g.declareMap(c, "PERCPU_ARRAY", (size+CounterGroup-1)/CounterGroup, "u32", "struct counter_group", "")
		} else {
			g.declareMap(c, "PERCPU_ARRAY", size, "u32", "struct counter", "")
		}
		t.f("")
		g.spec.Counters = append(g.spec.Counters, &Counter{Name: i.FullName, Map: c, Size: size, Direct: direct})
		g.spec.MapKeys[c] = g.instanceKey(i, size, owner)
	case ir.KindMeter, ir.KindDirectMeter:
		if i.Kind == ir.KindDirectMeter && owner == nil {
			return
		}
		c := g.globals.fresh(i.FullName)
		g.instances[i] = c
		g.need["meter"] = true
		t.f("/* %s %s */", i.Kind, i.FullName)
		g.declareMap(c, "ARRAY", size, "u32", "struct meter", "")
		t.f("")
		g.spec.Meters = append(g.spec.Meters, &Meter{Name: i.FullName, Map: c, Size: size, Bytes: i.Unit == "bytes", Direct: direct})
		g.spec.MapKeys[c] = g.instanceKey(i, size, owner)
	case ir.KindRegister:
		c := g.globals.fresh(i.FullName)
		g.instances[i] = c
		slots, end, _ := g.cLayout(i.Elem, "", 0)
		t.f("/* register %s */", i.FullName)
		t.f("struct %s_cell {", c)
		t.f("%s;", g.declare(i.Elem, "v"))
		t.f("};")
		t.f("_Static_assert(sizeof(struct %s_cell) == %d, \"layout\");", c, end)
		g.declareMap(c, "ARRAY", size, "u32", "struct "+c+"_cell", "")
		t.f("")
		g.spec.Registers = append(g.spec.Registers, &Register{Name: i.FullName, Map: c, Size: size, Layout: Layout{Slots: slots, Size: end}})
		g.spec.MapKeys[c] = fmt.Sprintf("%s %v", g.instanceKey(i, size, nil), slots)
	case ir.KindFlowState:
		if g.instances[i] == "" { // one may belong to both controls
			g.declareFlows(i)
		}
	case ir.KindDigest:
		g.digests[i] = len(g.spec.Digests)
		d := &Digest{Name: i.FullName}
		slots, _, _ := g.cLayout(i.Elem, "", 0)
		for _, s := range slots {
			d.Fields = append(d.Fields, Field{Name: s.Name, Width: s.Width})
		}
		g.spec.Digests = append(g.spec.Digests, d)
	}
}

// instanceKey says what the cells of a map mean. Those of a direct counter belong to
// entries, so they are only good together with the table's map.
func (g *gen) instanceKey(i *ir.Instance, size int, owner *ir.Table) string {
	k := fmt.Sprintf("%s %s %d %s", i.Kind, i.FullName, size, i.Unit)
	if owner != nil {
		k += " " + g.mapKey("table", g.tables[owner].spec)
	}
	return k
}
