package ebpf

import (
	"fmt"
	"sort"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// maxStates bounds the states of a parser after its stacks were unrolled.
const maxStates = 1024

// maxRounds is how often a parser state may be entered again without a stack being
// filled: the kernel wants to know that every loop ends. Packets that need more are
// dropped.
const maxRounds = 32

// ParserLoop begins the test in a loop of the parser's states.
const ParserLoop = "if (rounds++"

// maxDepth is how many bytes of headers are made accessible at most.
const maxDepth = 1024

// parserState is a state of the parser with what is known there of the stacks: a
// loop that fills a stack becomes a chain of states.
type parserState struct {
	state   *ir.State
	nexts   map[string]int
	label   string
	body    text
	out     []*parserState
	takes   []*instance // extracted, in order
	skips   bool        // advances past bytes that no header holds
	bytes   int         // most bytes that it consumes
	guarded bool        // a loop comes back here
	dynamic bool        // how many bytes it consumes depends on the packet
}

// nextsKey is a text for a set of known stack positions.
func nextsKey(m map[string]int) string {
	var parts []string
	for k, v := range m {
		parts = append(parts, fmt.Sprintf("%s=%d", k, v))
	}
	sort.Strings(parts)
	return strings.Join(parts, ",")
}

// parserGraph unrolls the parser and writes the body of each state.
func (g *gen) parserGraph() []*parserState {
	g.leaves, g.leaveCount = text{indent: 1}, 0
	nodes := map[string]*parserState{}
	var order []*parserState
	names := newScope()
	get := func(s *ir.State, nexts map[string]int) *parserState {
		key := fmt.Sprintf("%p %s", s, nextsKey(nexts))
		if n := nodes[key]; n != nil {
			return n
		}
		copied := map[string]int{}
		for k, v := range nexts {
			copied[k] = v
		}
		n := &parserState{state: s, nexts: copied, label: names.fresh("state_" + s.Name)}
		nodes[key] = n
		order = append(order, n)
		return n
	}
	start := map[string]int{}
	for _, st := range g.stacks {
		start[st] = 0
	}
	get(g.p.Parser.States[0], start)
	for i := 0; i < len(order); i++ {
		if len(order) > maxStates {
			g.unsupported(g.p.Parser.Span, "a parser of more than %d states after unrolling its stacks", maxStates)
			return order
		}
		n := order[i]
		f := g.newFn()
		f.t = &n.body
		n.body.fs, n.body.indent = g.fs, 1
		f.parser, f.exit = n, "END_PARSER;"
		f.nexts = map[string]int{}
		for k, v := range n.nexts {
			f.nexts[k] = v
		}
		f.stmts(n.state.Body)
		f.transition(n, func(s *ir.State, always bool) string {
			switch s {
			case ir.Accept, ir.Reject:
				if always {
					return "END_PARSER;"
				}
				return f.leaveParser()
			}
			to := get(s, f.nexts)
			n.out = append(n.out, to)
			return "goto " + to.label + ";"
		})
	}
	return order
}

// transition writes the choice of the next state. jump is the statement that goes there: always, or if a condition holds.
func (f *fn) transition(n *parserState, jump func(to *ir.State, always bool) string) {
	tr := n.state.Next
	f.t.at(tr.Span)
	if len(tr.Select) == 0 {
		if len(tr.Cases) == 0 {
			f.t.f("END_PARSER;")
			return
		}
		f.t.f("%s", jump(tr.Cases[0].Next, true))
		return
	}
	var xs []val
	for _, e := range tr.Select {
		xs = append(xs, f.hold(f.expr(e)))
	}
	if f.switchable(tr, xs) {
		f.t.f("switch (%s) {", xs[0].one())
		closed := false
		seen := map[string]bool{}
		for _, c := range tr.Cases {
			label := "default:"
			if k, ok := c.Keys[0].(*ir.KeyExact); ok {
				label = "case " + constant(k.Value, xs[0].w).one() + ":"
			} else {
				closed = true
			}
			if !seen[label] { // the first of equal cases counts
				seen[label] = true
				f.t.f("%s", label)
				f.t.f("%s", jump(c.Next, false))
			}
			if closed {
				break
			}
		}
		if !closed {
			f.t.f("default:")
			f.parserError("NoMatch")
		}
		f.t.f("}")
		return
	}
	for _, c := range tr.Cases {
		var conds []string
		for i := 0; i < len(c.Keys) && i < len(xs); i++ {
			k := c.Keys[i]
			if set, ok := k.(*ir.KeySet); ok {
				if set.Part == 0 {
					conds = append(conds, f.inSet(set.Set, xs[i:], tr.Select[i:]))
				}
				continue
			}
			if cond := f.matches(k, xs[i], isSigned(tr.Select[i].Type())); cond != "" {
				conds = append(conds, cond)
			}
		}
		if len(conds) == 0 {
			f.t.f("%s", jump(c.Next, true))
			return
		}
		f.t.f("if (%s)", strings.Join(conds, " && "))
		f.t.f("\t%s", jump(c.Next, false))
	}
	f.parserError("NoMatch")
}

// switchable tells whether a select can be a C switch.
func (f *fn) switchable(tr ir.Transition, xs []val) bool {
	if len(xs) != 1 || xs[0].w > 64 {
		return false
	}
	for _, c := range tr.Cases {
		if len(c.Keys) != 1 {
			return false
		}
		switch c.Keys[0].(type) {
		case *ir.KeyExact, *ir.KeyAny:
		default:
			return false
		}
	}
	return true
}

// inSet is the condition that values are a member of a value set.
func (f *fn) inSet(set *ir.ValueSet, xs []val, es []ir.Expr) string {
	vs := f.g.valueSets[set]
	key := f.temp(fmt.Sprintf("struct %s_key", vs.c), "{}")
	for i, slot := range vs.inOrder {
		if i >= len(xs) {
			break
		}
		f.set(key+"."+cName(slot.Name), f.resize(xs[i], slot.Width, false))
	}
	return f.temp("u32", fmt.Sprintf("in_%s(&%s)", vs.c, key))
}

func (f *fn) parserCall(s *ir.Call) {
	if f.parser == nil {
		f.g.unsupported(s.Span, "%s outside of a parser", s.Op)
		return
	}
	switch s.Op {
	case ir.OpExtract:
		f.extract(s)
	case ir.OpLookahead:
		f.lookahead(s)
	case ir.OpAdvance:
		f.advance(s)
	case ir.OpLength:
		f.store(s.Dst, f.resize(narrow(32, "(u32)s->length"), width(s.Dst.Type()), false))
	case ir.OpVerify:
		if c, ok := s.Args[1].(*ir.Const); ok {
			name := "NoError"
			if c.Value.IsInt64() && c.Value.Int64() < int64(len(f.g.p.Errors)) {
				name = f.g.p.Errors[c.Value.Int64()]
			}
			f.failIf("!("+f.cond(s.Args[0])+")", name)
			return
		}
		code := f.hold(f.expr(s.Args[1]))
		f.t.f("if (!(%s)) {", f.cond(s.Args[0]))
		f.t.f("error = %s;", code.one())
		f.t.f("END_PARSER;")
		f.t.f("}")
	}
}

// extract is packet_in.extract.
func (f *fn) extract(s *ir.Call) {
	h, ok := s.Dst.Type().(*ir.Header)
	if !ok {
		f.g.unsupported(s.Span, "extract into a %s", s.Dst.Type())
		return
	}
	bits, vb := headerBits(h)
	if bits%8 != 0 {
		f.g.unsupported(s.Span, "extract of header %s, which is %d bits long and so ends within a byte,", h.Name, bits)
		return
	}
	// Into stack.next: the stack must have one, and moves on.
	next := ""
	for e := s.Dst; ; {
		m, ok := e.(*ir.Member)
		if !ok {
			if i, ok := e.(*ir.Index); ok {
				if si, ok := i.I.(*ir.StackIndex); ok && !si.Last {
					next, _ = f.static(si.X)
					size := i.X.Type().(*ir.Stack).Size
					n, known := f.constIndex(i)
					if known && n >= size {
						f.parserError("StackOutOfBounds")
						return
					}
					if !known {
						f.failIf(fmt.Sprintf("%s.next >= %d", next, size), "StackOutOfBounds")
					}
				}
			}
			break
		}
		e = m.X
	}
	f.t.f("{")
	f.t.f("/* extract %s */", placeName(s.Dst))
	f.t.f("u8 *h = data + off;")
	f.parser.bytes += bits / 8
	size := fmt.Sprint(bits / 8)
	tail := ""
	if vb != nil {
		size, tail = f.varbitLength(s, h, vb, bits/8)
	} else {
		f.failIf(fmt.Sprintf("SHORT(h, off, %d)", bits/8), "PacketTooShort")
	}
	f.each(func() {
		p, ok := f.static(s.Dst)
		if !ok {
			return
		}
		inst := f.g.use.byPath[p]
		if inst == nil {
			f.g.unsupported(s.Span, "extract into %s", placeName(s.Dst))
			return
		}
		f.parser.takes = append(f.parser.takes, inst)
		f.loadFields(inst, "h", tail, false)
		if _, known := f.g.places[inst]; !known || !f.g.stays {
			f.t.f("%s.at = off;", p)
		}
		f.setValidity(p, true)
		f.others(p, "1")
	}, s.Dst)
	f.t.f("off += %s;", size)
	if vb != nil {
		f.checkDepth()
	}
	f.t.f("}")
	if next != "" {
		f.t.f("%s.next = %s.next + 1;", next, next)
		if n, ok := f.nexts[next]; ok {
			f.nexts[next] = n + 1
		}
	}
}

// checkDepth drops packets with more bytes of headers than this target looks at.
func (f *fn) checkDepth() {
	f.parser.dynamic = true
	f.t.f("if (TOO_DEEP(off))")
	f.t.f("\t%s", f.leaveParser("s->failed = 1;"))
}

// varbitLength checks the length of a header with a varbit and returns its size and
// the pointer to what follows the varbit, as C.
func (f *fn) varbitLength(s *ir.Call, h *ir.Header, vb *ir.Field, fixed int) (size, tail string) {
	n := val{w: 32, words: []string{"0"}}
	if len(s.Args) > 0 {
		n = f.hold(f.expr(s.Args[0]))
	}
	most := vb.Type.(*ir.Varbit).Max
	bits := f.temp("u32", n.one())
	f.failIf(fmt.Sprintf("(%s & 7) != 0", bits), "ParserInvalidArgument")
	f.failIf(fmt.Sprintf("%d + (u64)%s > (u64)(s->length - off) * 8", fixed*8, bits), "PacketTooShort")
	f.failIf(fmt.Sprintf("%s > %d", bits, most), "HeaderTooShort")
	length := f.temp("u32", bits+" / 8")
	f.t.f("BOUND(%s, %d);", length, (most+7)/8)
	at, _ := fieldOffset(h, vb)
	tail = f.temp("u8 *", fmt.Sprintf("h + %s", length))
	f.failIf(fmt.Sprintf("SHORT(%s, off + %s, %d) || h + %d > end", tail, length, fixed, fixed), "PacketTooShort")
	f.parser.bytes += (most + 7) / 8
	f.each(func() {
		p, ok := f.static(s.Dst)
		if !ok {
			return
		}
		v := p + "." + f.g.field(vb)
		f.t.f("%s_bits = %s;", v, bits)
		if !f.g.use.varbitRead {
			return
		}
		// Left over from an earlier packet or header: cleared.
		for i := range words(most) {
			f.t.f("%s[%d] = 0;", v, i)
		}
		for i := range (most + 7) / 8 {
			f.t.f("if (%d < %s && h + %d <= end)", i, length, at/8+i+1)
			f.t.f("\t((u8 *)%s)[%d] = h[%d];", v, i, at/8+i)
		}
	}, s.Dst)
	return fmt.Sprintf("%d + %s", fixed, length), tail
}

// placeName is an lvalue as P4 writes it.
func placeName(e ir.Expr) string {
	switch e := e.(type) {
	case *ir.VarRef:
		return e.Var.Name
	case *ir.Member:
		return placeName(e.X) + "." + e.Field.Name
	case *ir.Index:
		switch i := e.I.(type) {
		case *ir.Const:
			return fmt.Sprintf("%s[%s]", placeName(e.X), i.Value)
		case *ir.StackIndex:
			if i.Last {
				return placeName(e.X) + ".last"
			}
			return placeName(e.X) + ".next"
		}
		return placeName(e.X) + "[…]"
	}
	return "value"
}

// loadFields reads a header's fields: those that the program uses, or all.
func (f *fn) loadFields(h *instance, ptr, tail string, all bool) {
	for _, x := range h.typ.Fields {
		w, ok := ir.ScalarBits(x.Type)
		if !ok || !all && (!h.read[x] && !h.dirty[x] || f.g.unloaded(h, x)) {
			continue
		}
		bit, after := fieldOffset(h.typ, x)
		from := ptr
		if after {
			from = tail
		}
		f.put(h.path+"."+f.g.field(x), loadBits(from, bit, w))
	}
}

// loadBits reads w bits of big-endian data, bit bits behind a pointer.
func loadBits(ptr string, bit, w int) val {
	if w == 0 {
		return narrow(0, "0")
	}
	if w > 64 {
		out := val{w: w}
		for left := w; left > 0; left -= 64 {
			n := min(left, 64)
			out.words = append(out.words, loadBits(ptr, bit+left-n, n).one())
		}
		return out
	}
	first, last := bit/8, (bit+w-1)/8
	n := last - first + 1
	at := ptr
	if first > 0 {
		at = fmt.Sprintf("%s + %d", ptr, first)
	}
	spare := 8*(last+1) - (bit + w) // bits behind the value in its last byte
	var c string
	switch {
	case n == 1:
		c = fmt.Sprintf("%s[%d]", ptr, first)
	case n <= 8:
		c = fmt.Sprintf("be%d(%s)", 8*n, at)
	default: // nine bytes
		c = fmt.Sprintf("(be64(%s) << %d | %s[%d] >> %d)", at, 8-spare, ptr, last, spare)
		spare = 0
	}
	if spare > 0 {
		c = fmt.Sprintf("(%s >> %d)", c, spare)
	}
	if w < 8*n && w < 64 {
		c = trunc(c, w)
	}
	return narrow(w, c)
}

func (f *fn) lookahead(s *ir.Call) {
	if w, ok := ir.ScalarBits(s.Dst.Type()); ok {
		f.t.f("{")
		f.t.f("u8 *h = data + off;")
		f.failIf(fmt.Sprintf("SHORT(h, off, %d)", (w+7)/8), "PacketTooShort")
		if w > 0 {
			f.store(s.Dst, loadBits("h", 0, w))
		}
		f.t.f("}")
		f.parser.bytes = max(f.parser.bytes, (w+7)/8)
		return
	}
	total := 0
	var count func(t ir.Type)
	count = func(t ir.Type) {
		if w, ok := ir.ScalarBits(t); ok {
			total += w
			return
		}
		for _, x := range ir.FieldsOf(t) {
			count(x.Type)
		}
	}
	count(s.Dst.Type())
	f.t.f("{")
	f.t.f("u8 *h = data + off;")
	f.failIf(fmt.Sprintf("SHORT(h, off, %d)", (total+7)/8), "PacketTooShort")
	f.parser.bytes = max(f.parser.bytes, (total+7)/8)
	f.each(func() {
		p, ok := f.static(s.Dst)
		if !ok {
			return
		}
		bit := 0
		var fill func(t ir.Type, p string)
		fill = func(t ir.Type, p string) {
			if w, ok := ir.ScalarBits(t); ok {
				f.set(p, loadBits("h", bit, w))
				bit += w
				return
			}
			if v, ok := t.(*ir.Varbit); ok {
				f.clear(v, p)
				return
			}
			for _, x := range ir.FieldsOf(t) {
				fill(x.Type, p+"."+f.g.field(x))
			}
		}
		fill(s.Dst.Type(), p)
		if _, ok := s.Dst.Type().(*ir.Header); ok {
			f.setValidity(p, true)
			f.others(p, "1")
		}
	}, s.Dst)
	f.t.f("}")
}

func (f *fn) advance(s *ir.Call) {
	f.parser.skips = true
	if c, ok := s.Args[0].(*ir.Const); ok {
		if !c.Value.IsInt64() || c.Value.Int64()%8 != 0 {
			f.failIf("1", "ParserInvalidArgument")
			return
		}
		n := c.Value.Int64() / 8
		f.parser.bytes += int(min(n, maxDepth))
		f.failIf(fmt.Sprintf("off + %d > s->length", n), "PacketTooShort")
		f.t.f("off += %d;", n)
		return
	}
	n := f.hold(f.resize(f.expr(s.Args[0]), 32, false))
	f.failIf(fmt.Sprintf("(%s & 7) != 0", n.one()), "ParserInvalidArgument")
	f.failIf(fmt.Sprintf("%s > (s->length - off) * 8", n.one()), "PacketTooShort")
	f.t.f("off += %s / 8;", n.one())
	f.checkDepth()
	f.parser.bytes = maxDepth
}

// layOut finds out, by a parser that is not kept, whether headers stay where they are: what the parser loads depends
// on it.
func (g *gen) layOut() {
	diags, labels, last := g.diags, g.labels, g.lastUnsup
	g.states = g.parserGraph()
	g.guardLoops()
	g.findPlaces()
	list, flat := g.emits()
	g.stays = g.keepsLayout(list, flat)
	g.diags, g.labels, g.lastUnsup = diags, labels, last
}

// writeParser writes the parse function.
func (g *gen) writeParser() {
	g.states = g.parserGraph()
	g.guardLoops()
	loops := false
	for _, n := range g.states {
		loops = loops || n.guarded
	}
	t := &g.funcs
	if g.split {
		t.at(g.p.Parser.Span)
	}
	t.f("/* parser %s */", g.p.Parser.Name)
	g.beginBlock("parse")
	t.f("u8 *data = (u8 *)(long)ctx->data;")
	t.f("u8 *end = (u8 *)(long)ctx->data_end;")
	t.f("u32 off = 0;")
	t.f("u32 error = 0;")
	if loops {
		t.f("u32 rounds = 0;")
	}
	t.f("goto %s;", g.states[0].label)
	t.f("")
	for _, n := range g.states {
		t.f("%s:", n.label)
		if n.guarded {
			t.f(ParserLoop+" == %d || TOO_DEEP(off)) { /* too many headers for this target */", maxRounds)
			t.f("s->failed = 1;")
			t.f("END_PARSER;")
			t.f("}")
		}
		t.f("{")
		t.b.WriteString(n.body.b.String())
		t.f("}")
	}
	t.b.WriteString(g.leaves.b.String())
	t.f("done:")
	t.f("s->parsed = off;")
	if p := g.std("parser_error"); p != "" {
		t.f("%s = error;", p)
	}
	g.endBlock()
}

// findPlaces finds the headers that lie at the same place in every packet that has them, and stay there.
func (g *gen) findPlaces() {
	const unknown = -1
	begin := map[*parserState]int{g.states[0]: 0}
	places := map[*instance]int{}
	note := func(h *instance, at int) {
		if old, ok := places[h]; ok && old != at {
			at = unknown
		}
		places[h] = at
	}
	work := []*parserState{g.states[0]}
	for len(work) > 0 {
		n := work[0]
		work = work[1:]
		at, size := begin[n], 0
		for _, h := range n.takes {
			bits, _ := headerBits(h.typ)
			size += bits / 8
		}
		// Else it also skips or looks at something, or a header is one of several.
		plain := !n.skips && !n.dynamic && !n.guarded && size == n.bytes
		for _, h := range n.takes {
			if !plain || at == unknown {
				note(h, unknown)
				at = unknown
				continue
			}
			note(h, at)
			bits, _ := headerBits(h.typ)
			at += bits / 8
		}
		if !plain {
			at = unknown
		}
		for _, o := range n.out {
			old, seen := begin[o]
			if seen && old != at {
				at = unknown
			}
			if !seen || old != at {
				begin[o] = at
				work = append(work, o)
			}
		}
	}
	for h, at := range places {
		if at != unknown && !h.fresh() {
			g.places[h] = at
		}
	}
}

// at is the C expression of where a header lies in the packet as it came.
func (g *gen) at(h *instance) string {
	if at, ok := g.places[h]; ok {
		return fmt.Sprint(at)
	}
	return "AT(" + h.path + ")"
}

// guardLoops finds the states that a loop comes back to.
func (g *gen) guardLoops() {
	state := map[*parserState]int{} // 1: on the way, 2: done
	var visit func(n *parserState)
	visit = func(n *parserState) {
		state[n] = 1
		for _, o := range n.out {
			switch state[o] {
			case 0:
				visit(o)
			case 1:
				o.guarded = true
			}
		}
		state[n] = 2
	}
	visit(g.states[0])
}

// depth is the most bytes that the parser consumes, or maxDepth.
func (g *gen) depth() int {
	memo := map[*parserState]int{}
	var longest func(n *parserState) int
	longest = func(n *parserState) int {
		if n.guarded {
			return maxDepth
		}
		if d, ok := memo[n]; ok {
			return d
		}
		d := 0
		for _, o := range n.out {
			d = max(d, longest(o))
		}
		memo[n] = d + n.bytes
		return memo[n]
	}
	d := longest(g.states[0])
	if d > maxDepth && !g.hasDynamicDepth() {
		g.unsupported(g.p.Parser.Span, "a parser that takes %d bytes of a packet, more than %d,", d, maxDepth)
	}
	return min(d, maxDepth)
}

// hasDynamicDepth tells whether the number of bytes that the parser takes depends on
// their contents; it is then checked at run time.
func (g *gen) hasDynamicDepth() bool {
	for _, n := range g.states {
		if n.guarded || n.dynamic {
			return true
		}
	}
	return false
}
