package ebpf

import (
	"fmt"
	"math/big"
	"slices"
	"sort"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// apply is the statement t.apply().
func (f *fn) apply(s *ir.Apply) {
	ti := f.g.tables[s.Table]
	if ti == nil {
		f.g.unsupported(s.Span, "table %q, which belongs to no control,", s.Table.FullName)
		return
	}
	if s.Hit == nil && len(s.Cases) == 0 && !ti.exits {
		f.t.f("apply_%s(ctx, s);", ti.c)
		return
	}
	r := f.temp("u32", fmt.Sprintf("apply_%s(ctx, s)", ti.c))
	if ti.exits {
		f.t.f("if (%s & APPLY_EXIT)", r)
		f.t.f("\t%s", f.exit)
	}
	if s.Hit != nil {
		f.store(s.Hit, narrow(1, fmt.Sprintf("((%s & APPLY_HIT) != 0)", r)))
	}
	if len(s.Cases) == 0 {
		return
	}
	f.t.f("switch (%s & APPLY_ACTION) {", r)
	for _, c := range s.Cases {
		var labels []string
		for _, a := range c.Actions {
			if i := ti.index(a); i >= 0 {
				labels = append(labels, fmt.Sprintf("case %d: /* %s */", i, a.Name))
			}
		}
		if c.Default {
			labels = append(labels, "default:")
		}
		if len(labels) == 0 {
			continue
		}
		for _, l := range labels[:len(labels)-1] {
			f.t.f("%s", l)
		}
		f.t.f("%s {", labels[len(labels)-1])
		f.branch(c.Body)
		f.t.f("break;")
		f.t.f("}")
	}
	f.t.f("}")
}

// writeApply writes the function that applies a table.
func (g *gen) writeApply(ti *tableInfo) {
	s := ti.spec
	f := g.newFn()
	if s.Kind == KindTuples {
		g.writeTupleSearch(ti)
	}
	f.t.at(ti.t.Span)
	if ti.outlined {
		f.beginGlobal("u32", "apply_"+ti.c, "")
	} else {
		f.t.f("static __always_inline u32 apply_%s(ctx_t *ctx, struct state *s)", ti.c)
		f.t.f("{")
	}
	f.exit = "return APPLY_EXIT;"
	switch s.Kind {
	case KindCode:
		f.searchCode(ti)
	case KindNone:
		f.t.f("u32 r = %d;", s.DefaultAction.Action)
		f.runDefault(ti)
	default:
		f.search(ti)
		if ti.outlined && !s.ConstDefault && ti.prof == nil {
			f.runEither(ti)
			break
		}
		f.t.f("u32 r = %d;", s.DefaultAction.Action)
		f.t.f("if (v) {")
		f.hit(ti)
		f.t.f("} else {")
		f.runDefault(ti)
		f.t.f("}")
	}
	f.t.f("return r;")
	f.t.f("}")
	f.t.f("")
}

// runEither runs the action of the entry v or else the default, in one text.
func (f *fn) runEither(ti *tableInfo) {
	f.t.f("u32 hit = APPLY_HIT;")
	f.t.f("if (v) {")
	f.direct(ti, "v->index")
	f.t.f("} else {")
	f.t.f("v = &tables.%s.def[tables.%s.use & 1];", ti.c, ti.c)
	f.t.f("hit = 0;")
	f.t.f("}")
	f.t.f("u32 r = v->action | hit;")
	f.dispatch(ti, "v->action", "v", ti.spec.Actions, ti.actions)
}

// piece is a part of a key: bytes at an offset that they do not cross an eight-byte word from.
type piece struct {
	at, bytes int
	c         string
}

// search writes the lookup: afterwards v is the entry's value or null. The key is put together in registers and
// stored by whole words. What reads it reads words, and would wait long for one that several stores wrote.
func (f *fn) search(ti *tableInfo) {
	s := ti.spec
	var pieces []piece
	i := 0
	for _, k := range ti.t.Keys {
		if k.Match == ir.MatchSelector {
			continue
		}
		v := f.expr(k.X)
		for _, slot := range s.Key.Slots {
			switch {
			case slot.Name != s.Keys[i].Name:
			case slot.Big:
				pieces = append(pieces, f.bigEndian(slot, v)...)
			case v.w > 64:
				for n, w := range v.words {
					pieces = append(pieces, piece{slot.Offset + 8*n, 8, w})
				}
			default:
				pieces = append(pieces, piece{slot.Offset, slot.Bytes, v.one()})
			}
		}
		i++
	}
	if s.Kind == KindTuples {
		pieces = append(pieces, piece{s.MaskNumber.Offset, s.MaskNumber.Bytes, "~0U"})
	}
	sort.SliceStable(pieces, func(i, j int) bool { return pieces[i].at < pieces[j].at })
	lead := 0
	key := fmt.Sprintf("(struct %s_key *)key", ti.c)
	if s.Kind == KindLPM {
		// The prefix length stands in front of the words.
		lead = 1
		key = fmt.Sprintf("(struct %s_key *)((u32 *)key + 1)", ti.c)
	}
	words := lead + (s.Key.Size+7)/8
	f.t.f("%s;", f.g.room(&f.g.keyRoom, words, "key", "key_room"))
	if lead > 0 {
		last := s.Key.Slots[len(s.Key.Slots)-1]
		f.t.f("((u32 *)key)[1] = %d; /* prefixlen */", 8*last.Offset+last.Width)
	}
	for at := 0; at < s.Key.Size; at += 8 {
		var parts []string
		for _, p := range pieces {
			if p.at/8*8 == at {
				parts = append(parts, fmt.Sprintf("LANE(u%d, %s, %d)", 8*p.bytes, p.c, p.at-at))
			}
		}
		if s.Key.Size-at < 8 {
			f.t.f("*(u32 *)&key[%d] = LOW_LANES(%s);", lead+at/8, join(parts, "|"))
		} else {
			f.t.f("key[%d] = %s;", lead+at/8, join(parts, "|"))
		}
	}
	switch {
	case s.Kind != KindTuples:
		f.t.f("struct %s_value *v = bpf_map_lookup_elem(&%s, %s);", ti.c, ti.c, key)
	case f.g.shared:
		f.t.f("%s;", f.g.room(&f.g.foundRoom, (s.ValueSize+7)/8, "found", "found_room"))
		f.t.f("struct %s_value *v = (struct %s_value *)found;", ti.c, ti.c)
		f.t.f("if (!search_%s(%s, v))", ti.c, key)
		f.t.f("\tv = 0;")
	default:
		f.t.f("struct %s_search c;", ti.c)
		f.t.f("struct %s_value *v = search_%s(&c, key);", ti.c, ti.c)
	}
}

// bigEndian returns the pieces of a value that is aligned to the left of its slot.
func (f *fn) bigEndian(s Slot, v val) []piece {
	v = f.hold(v)
	if pad := 8*s.Bytes - v.w; pad > 0 {
		v = f.hold(f.shiftConst(f.resize(v, 8*s.Bytes, false), pad, true, false))
	}
	var out []piece
	for at := 0; at < s.Bytes; {
		size := 4
		for size > s.Bytes-at {
			size /= 2
		}
		c := f.slice(v, 8*(s.Bytes-at)-1, 8*(s.Bytes-at-size)).one()
		switch size {
		case 4:
			c = fmt.Sprintf("bpf_htonl(%s)", c)
		case 2:
			c = fmt.Sprintf("bpf_htons(%s)", c)
		}
		out = append(out, piece{s.Offset + at, size, c})
		at += size
	}
	return out
}

// hit writes what happens with the entry v.
func (f *fn) hit(ti *tableInfo) {
	f.direct(ti, "v->index")
	if ti.prof != nil {
		f.member(ti)
		return
	}
	f.t.f("r = v->action | APPLY_HIT;")
	f.dispatch(ti, "v->action", "v", ti.spec.Actions, ti.actions)
}

// direct counts an entry's packet and runs its meter.
func (f *fn) direct(ti *tableInfo, index string) {
	if c := ti.t.Counter; c != nil {
		f.t.f("count_in_group(&%s, %s, s->length);", f.g.instances[c], index)
	}
	if m := ti.t.Meter; m != nil {
		f.t.f("s->%s = run_meter(&%s, %s, %s);", f.g.colour(m), f.g.instances[m], index, meterUnits(m))
	}
}

func meterUnits(m *ir.Instance) string {
	if m.Unit == "bytes" {
		return "s->length"
	}
	return "1"
}

// dispatch writes the switch over the action in a value.
func (f *fn) dispatch(ti *tableInfo, number, value string, specs []*Action, actions []*ir.Action) {
	idle := true
	for _, a := range actions {
		idle = idle && len(a.Body) == 0
	}
	if idle {
		return
	}
	f.t.f("switch (%s) {", number)
	for i, a := range actions {
		if len(a.Body) == 0 {
			continue // nothing to do, like NoAction
		}
		f.t.f("case %d:", i)
		var args []string
		for _, slot := range specs[i].Params.Slots {
			args = append(args, fmt.Sprintf("%s->u.a%d.%s", value, i, cName(slot.Name)))
		}
		f.callAction(a, args)
		f.t.f("break;")
	}
	f.t.f("default:")
	f.t.f("OWN_BLOCK;")
	f.t.f("}")
}

// callAction writes the call of an action's function.
func (f *fn) callAction(a *ir.Action, args []string) {
	if slices.Contains(f.g.keeping, a) {
		f.keepArguments(a, args)
		args = nil
	}
	c := fmt.Sprintf("%s(%s)", f.g.actions[a], strings.Join(append([]string{"ctx", "s"}, args...), ", "))
	if hasExit(a.Body) {
		f.t.f("if (%s)", c)
		f.t.f("\treturn APPLY_EXIT;")
		return
	}
	f.t.f("%s;", c)
}

// runDefault runs the default action.
func (f *fn) runDefault(ti *tableInfo) {
	s := ti.spec
	if !s.ConstDefault {
		f.t.f("u32 use = tables.%s.use;", ti.c)
		f.t.f("struct %s_value *d = &tables.%s.def[use & 1];", ti.c, ti.c)
		f.t.f("r = use >> 1;")
		f.dispatch(ti, "r", "d", s.Actions, ti.actions)
		return
	}
	f.constCall(ti.t.Default)
}

// constCall runs an action with constant arguments.
func (f *fn) constCall(c *ir.ActionCall) {
	if len(c.Action.Body) == 0 {
		return
	}
	var args []string
	for _, a := range c.Args {
		v := constant(a.Value, width(a.T))
		if v.w <= 64 {
			args = append(args, v.one())
		} else {
			args = append(args, fmt.Sprintf("(const u64[]){%s}", strings.Join(v.words, ", ")))
		}
	}
	f.callAction(c.Action, args)
}

// searchCode writes a table with constant entries as comparisons, best entry first.
func (f *fn) searchCode(ti *tableInfo) {
	s := ti.spec
	var keys []val
	for _, k := range ti.t.Keys {
		v := f.expr(k.X)
		for i, c := range v.words {
			ct := "u64"
			if v.w <= 64 {
				ct = ctype(v.w)
			}
			if !isSimple(c) {
				v.words[i] = f.temp(ct, c)
			}
		}
		keys = append(keys, v)
	}
	order := make([]int, len(ti.t.Entries))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool {
		a, b := s.Entries[order[i]], s.Entries[order[j]]
		if hasPriority(s.Keys) && a.Priority != b.Priority {
			return a.Priority > b.Priority
		}
		return prefixSum(a) > prefixSum(b)
	})
	f.t.f("u32 r = %d;", s.DefaultAction.Action)
	for n, i := range order {
		e := ti.t.Entries[i]
		f.t.at(e.Span)
		var conds []string
		for k, ks := range e.Keys {
			if c := f.matches(ks, keys[k], isSigned(ti.t.Keys[k].Type)); c != "" {
				conds = append(conds, c)
			}
		}
		if len(conds) == 0 {
			conds = []string{"1"}
		}
		head := "if"
		if n > 0 {
			head = "} else if"
		}
		f.t.f("%s (%s) {", head, strings.Join(conds, " && "))
		f.direct(ti, fmt.Sprint(i+1))
		f.t.f("r = %d | APPLY_HIT;", s.Entries[i].Call.Action)
		f.constCall(e.Action)
	}
	if len(order) > 0 {
		f.t.f("} else {")
		f.runDefault(ti)
		f.t.f("}")
	} else {
		f.runDefault(ti)
	}
}

func hasPriority(keys []Key) bool {
	for _, k := range keys {
		if k.Match == "ternary" || k.Match == "range" || k.Match == "optional" {
			return true
		}
	}
	return false
}

func prefixSum(e Entry) int {
	n := 0
	for _, m := range e.Match {
		n += m.PrefixLen
	}
	return n
}

// matches is the C condition that a value is in a keyset, "" if every value is.
func (f *fn) matches(k ir.Keyset, v val, signed bool) string {
	switch k := k.(type) {
	case *ir.KeyExact:
		return f.compare(ir.Eq, v, constant(k.Value, v.w), false).one()
	case *ir.KeyMask:
		m, want := constant(k.Mask, v.w), constant(new(big.Int).And(k.Value, k.Mask), v.w)
		var parts []string
		for i := range v.words {
			if !isZero(m.words[i]) {
				parts = append(parts, fmt.Sprintf("(%s & %s) == %s", v.words[i], m.words[i], want.words[i]))
			}
		}
		return strings.Join(parts, " && ")
	case *ir.KeyRange:
		lo, hi := constant(k.Lo, v.w), constant(k.Hi, v.w)
		return fmt.Sprintf("%s && %s", f.compare(ir.Ge, v, lo, signed).one(), f.compare(ir.Le, v, hi, signed).one())
	}
	return ""
}

// writeAction writes the function of an action.
func (g *gen) writeAction(a *ir.Action) {
	f := g.newFn()
	if g.divided(a.Body) {
		f.apart()
		f.t.indent = 0
		defer func() { g.funcs.take(f.t) }()
	}
	params := []string{"ctx_t *ctx", "struct state *s"}
	for _, p := range a.Params {
		if slices.Contains(g.keeping, a) {
			break // in the state
		}
		n, w := g.vars[p], width(p.Type)
		if w > 64 {
			params = append(params, "const u64 *"+n)
		} else {
			params = append(params, ctype(w)+" "+n)
		}
	}
	f.t.at(a.Span)
	f.t.f("/* action %s */", a.FullName)
	ret := "void"
	if hasExit(a.Body) {
		ret, f.exit = "int", "return 1;"
	}
	f.t.f("static __always_inline %s %s(%s)", ret, g.actions[a], strings.Join(params, ", "))
	f.t.f("{")
	f.stmts(a.Body)
	if ret == "int" {
		f.t.f("return 0;")
	}
	f.t.f("}")
	f.t.f("")
}
