package compose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// The parsers of the composed program and of an NF read the same packet side by
// side: the merged parser is their product. Each of its states is a pair of places,
// one in either parser, at the same byte of the packet. Where both extract the same
// header they go on together; where one has finished the other goes on alone. Any
// other pair is a conflict: the two would take the same bytes for different headers,
// or one would find a header valid that it has not parsed itself.

// step is a piece of a parser state: at most one statement that consumes bytes of the
// packet, first, and what stands behind it.
type step struct {
	state *ir.State // that it is a piece of, for names and positions
	first bool      // the first piece of the state
	order int       // among the parser's steps
	take  ir.Stmt   // the statement that consumes, nil for none
	body  []ir.Stmt // behind take
	next  branches
}

// branches is a transition between steps.
type branches struct {
	exprs    []ir.Expr
	rows     []row
	implicit bool // the last row was added: no value is without a row
}

type row struct {
	keys []ir.Keyset
	next *step
	from ir.SelectCase
}

// The ends of a parser.
var (
	accepted = &step{state: ir.Accept}
	rejected = &step{state: ir.Reject}
)

func (s *step) final() bool { return s == accepted || s == rejected }

// stepsOf cuts the states of a parser into steps; the first one is the start.
func stepsOf(p *ir.Parser) []*step {
	var all []*step
	first := map[*ir.State]*step{ir.Accept: accepted, ir.Reject: rejected}
	last := map[*ir.State]*step{}
	add := func(s *ir.State) *step {
		x := &step{state: s, order: len(all), first: first[s] == nil}
		all = append(all, x)
		if x.first {
			first[s] = x
		} else {
			last[s].next = branches{rows: []row{{next: x}}}
		}
		last[s] = x
		return x
	}
	for _, s := range p.States {
		x := add(s)
		for _, st := range s.Body {
			if !consumes(st) {
				x.body = append(x.body, st)
				continue
			}
			if x.take != nil || len(x.body) > 0 {
				x = add(s)
			}
			x.take = st
		}
	}
	for _, s := range p.States {
		last[s].next = branchesOf(s.Next, first)
	}
	return all
}

func branchesOf(t ir.Transition, first map[*ir.State]*step) branches {
	b := branches{exprs: t.Select}
	any := false
	for _, k := range t.Cases {
		keys := make([]ir.Keyset, len(k.Keys))
		for i, x := range k.Keys {
			width, _ := ir.ScalarBits(t.Select[i].Type())
			keys[i] = simplest(x, width)
		}
		b.rows = append(b.rows, row{keys: keys, next: first[k.Next], from: k})
		any = any || isAny(keys)
	}
	if !any {
		b.implicit = true
		b.rows = append(b.rows, row{keys: anyKeys(len(t.Select)), next: rejected, from: ir.SelectCase{Span: t.Span}})
	}
	return b
}

// consumes reports whether a statement moves on in the packet.
func consumes(s ir.Stmt) bool {
	found := false
	ir.Walk([]ir.Stmt{s}, func(s ir.Stmt) {
		call, ok := s.(*ir.Call)
		found = found || ok && (call.Op == ir.OpExtract || call.Op == ir.OpAdvance)
	})
	return found
}

// headers returns the members of the headers struct that a step extracts.
func (s *step) headers() []*ir.Field {
	var out []*ir.Field
	if s.take == nil {
		return nil
	}
	ir.Walk([]ir.Stmt{s.take}, func(s ir.Stmt) {
		if call, ok := s.(*ir.Call); ok && call.Op == ir.OpExtract {
			if f := headerField(call.Dst); f != nil {
				out = append(out, f)
			}
		}
	})
	return out
}

// headerField returns the member of the headers struct that an lvalue is (part
// of), nil for a header in another variable.
func headerField(e ir.Expr) *ir.Field {
	switch e := e.(type) {
	case *ir.Member:
		if _, ok := e.X.(*ir.VarRef); ok {
			return e.Field
		}
		return headerField(e.X)
	case *ir.Index:
		return headerField(e.X)
	}
	return nil
}

// parserMerge is the product of the composed program's parser (base) and an NF's.
type parserMerge struct {
	c     *composer
	name  string // of the NF
	m     *mapping
	front map[*step]bool       // steps of the NF before which it has consumed nothing
	made  map[string]*ir.State // by key
	pairs []pair               // in the order made
	exprs []ir.Expr            // that facts are about
	names map[string]bool
}

type pair struct {
	base, nf *step
	state    *ir.State
}

// mergeParser replaces the composed program's parser by its product with the NF's.
func (c *composer) mergeParser(name string, p *ir.Program, cp *ir.Copier, m *mapping) {
	base, nf := c.out.Parser, cp.CopyParser(p.Parser)
	for _, v := range nf.Locals {
		v.Name = fresh(name+"_"+v.Name, func(n string) bool {
			return slices.ContainsFunc(base.Locals, func(v *ir.Var) bool { return v.Name == n })
		})
		base.Locals = append(base.Locals, v)
	}
	for _, v := range nf.ValueSets {
		v.Name = FullName(name, p.Parser.Name, v.Name)
		c.claim("value set", v.Name, v.Span)
		base.ValueSets = append(base.ValueSets, v)
	}
	bs, ns := stepsOf(base), stepsOf(nf)
	pm := &parserMerge{c: c, name: name, m: m, front: frontOf(ns[0]), made: map[string]*ir.State{}, names: map[string]bool{}}
	for _, s := range base.States {
		pm.names[s.Name] = true
	}
	pm.state(bs[0], ns[0], facts{})
	// The states of the base keep their order, what the NF adds stands behind.
	slices.SortStableFunc(pm.pairs, func(a, b pair) int { return cmp.Compare(rank(a, len(bs)), rank(b, len(bs))) })
	base.States = nil
	for _, k := range pm.pairs {
		base.States = append(base.States, k.state)
	}
	joinStates(base)
}

func rank(k pair, most int) int {
	if k.base.final() {
		return most
	}
	return k.base.order
}

// frontOf returns the steps that are reached from start without consuming anything.
func frontOf(start *step) map[*step]bool {
	front := map[*step]bool{}
	var look func(*step)
	look = func(s *step) {
		if front[s] || s.final() {
			return
		}
		front[s] = true
		if s.take == nil {
			for _, r := range s.next.rows {
				look(r.next)
			}
		}
	}
	look(start)
	return front
}

// state returns the state of the product for two places. What is known of the packet
// matters only as long as one of them still has to look at it.
func (pm *parserMerge) state(b, s *step, known facts) *ir.State {
	if b.final() && s.final() {
		// What one of them rejects the other may still use: the packet goes to the
		// control either way.
		if b == rejected || s == rejected {
			return ir.Reject
		}
		return ir.Accept
	}
	switch {
	case s == rejected:
		s = accepted // as long as the other goes on
	case b == rejected:
		b = accepted
	}
	if !b.looks() && !s.looks() {
		known = facts{}
	}
	key := fmt.Sprintf("%p %p %s", b, s, pm.keyOf(known))
	if st := pm.made[key]; st != nil {
		return st
	}
	st := pm.newState(b, s)
	pm.made[key] = st
	pm.pairs = append(pm.pairs, pair{b, s, st})
	stayB, stayS := branches{rows: []row{{next: b}}}, branches{rows: []row{{next: s}}}
	advance := func(x, y *step) { // the other one stays

		nextB, nextS := stayB, stayS
		if x != nil {
			nextB = x.next
		}
		if y != nil {
			nextS = y.next
		}
		pm.fill(st, x, y)
		st.Next = pm.cross(nextB, nextS, known.behind(st.Body))
	}
	switch {
	case s.final():
		if f := extractedOf(b, pm.m.headers); f != nil {
			pm.c.errorf(b.take.Pos(), "header %s is extracted where %s has stopped parsing, and %s knows this header", f.Name, pm.name, pm.name).
				Note(pm.m.declared[f], "%s declares it here", pm.name)
			return st
		}
		advance(b, nil)
	case b.final():
		if f := extractedOf(s, pm.m.before); f != nil {
			pm.c.errorf(s.take.Pos(), "%s extracts header %s where the composed program has stopped parsing, and other programs know this header", pm.name, f.Name).
				Note(f.Span, "it is declared here, too")
			return st
		}
		advance(nil, s)
	case b.take == nil && s.take == nil:
		advance(b, s)
	case b.take == nil:
		advance(b, nil)
	case s.take == nil:
		advance(nil, s)
	case ir.SameStmt(b.take, s.take):
		advance(b, s)
	case pm.front[s] && pm.foreign(b):
		// What stands in front of all that the NF knows is not the NF's business.
		advance(b, nil)
	default:
		pm.c.errorf(s.take.Pos(), "parser state %s of %s reads other headers than the composed program at this point", s.state.Name, pm.name).
			Note(b.take.Pos(), "there the state is %s", b.state.Name)
	}
	return st
}

// looks reports whether a step chooses its way without having consumed anything: what is
// known of the packet may tell which.
func (s *step) looks() bool { return !s.final() && s.take == nil }

// extractedOf returns the first header that a step extracts and that is known.
func extractedOf(x *step, known map[*ir.Field]bool) *ir.Field {
	for _, f := range x.headers() {
		if known[f] {
			return f
		}
	}
	return nil
}

// foreign reports whether a step extracts headers only that the NF does not know.
func (pm *parserMerge) foreign(b *step) bool {
	hs := b.headers()
	return len(hs) > 0 && !slices.ContainsFunc(hs, func(f *ir.Field) bool { return pm.m.headers[f] })
}

// newState makes an empty state with a name that tells where it comes from.
func (pm *parserMerge) newState(b, s *step) *ir.State {
	from := b.state
	name := from.Name
	if b.final() {
		from = s.state
		name = from.Name
	}
	whole := b.first && !b.final() && !slices.ContainsFunc(pm.pairs, func(k pair) bool { return k.base == b })
	if !whole {
		if b.final() && pm.names[name] {
			name = pm.name + "_" + name
		}
		name = fresh(name, func(n string) bool { return pm.names[n] })
	}
	pm.names[name] = true
	return &ir.State{Name: name, Annotations: from.Annotations, Span: from.Span}
}

// fill gives a state the statements of two steps, either of which may be nil.
func (pm *parserMerge) fill(st *ir.State, b, s *step) {
	if b != nil {
		// A step of the base may become part of several states.
		cp := &ir.Copier{}
		if b.take != nil {
			st.Body = append(st.Body, cp.CopyStmts([]ir.Stmt{b.take})...)
		}
		st.Body = append(st.Body, cp.CopyStmts(b.body)...)
	}
	if s == nil {
		return
	}
	cp := &ir.Copier{}
	if s.take != nil && (b == nil || b.take == nil) {
		st.Body = append(st.Body, cp.CopyStmts([]ir.Stmt{s.take})...)
	}
	for _, x := range s.body {
		if b != nil && slices.ContainsFunc(b.body, func(have ir.Stmt) bool { return ir.SameStmt(have, x) }) {
			continue
		}
		if call, ok := x.(*ir.Call); ok && call.Op == ir.OpVerify {
			pm.c.errorf(x.Pos(), "verify in the parser of %s would end the parsing of the other programs, too; test the condition in the control", pm.name)
		}
		if b != nil {
			pm.assignedTwice(b, x)
		}
		st.Body = append(st.Body, cp.CopyStmts([]ir.Stmt{x})...)
	}
}

// assignedTwice refuses two parsers that give one place different values.
func (pm *parserMerge) assignedTwice(b *step, x ir.Stmt) {
	as, ok := x.(*ir.Assign)
	if !ok {
		return
	}
	for _, have := range b.body {
		other, ok := have.(*ir.Assign)
		if ok && ir.SameExpr(as.Dst, other.Dst) {
			pm.c.errorf(as.Span, "the parser of %s sets this to another value than the composed program", pm.name).Note(other.Span, "the other value is set here")
		}
	}
}

// cross is the product of two transitions. Rows of values that cannot occur are left
// out.
func (pm *parserMerge) cross(b, s branches, known facts) ir.Transition {
	cols := columnsOf(b, s)
	out := ir.Transition{Select: append([]ir.Expr(nil), b.exprs...)}
	for _, j := range cols.own {
		out.Select = append(out.Select, s.exprs[j])
	}
	out.Select = (&ir.Copier{}).CopyExprs(out.Select)
	type rowOf struct {
		ir.SelectCase
		row int // of the base
	}
	var single []rowOf // the rows of the base, if each leads to one state
	alone := true
	for i, x := range b.rows {
		for j, y := range s.rows {
			now := known.with(b, i).with(s, j)
			keys, ok := cols.combine(x.keys, y.keys)
			if !ok || !now.possible() || slices.ContainsFunc(out.Cases, func(have ir.SelectCase) bool { return covers(have.Keys, keys) }) {
				continue
			}
			from := x.from
			if isAny(x.keys) && !isAny(y.keys) {
				from = y.from
			}
			next := pm.state(x.next, y.next, now)
			out.Cases = append(out.Cases, ir.SelectCase{Keys: keys, Next: next, Span: from.Span})
			out.Span = from.Span
			if alone && len(single) > 0 && single[len(single)-1].row == i {
				alone = single[len(single)-1].Next == next
			} else {
				single = append(single, rowOf{ir.SelectCase{Keys: x.keys, Next: next, Span: x.from.Span}, i})
			}
		}
	}
	if alone && len(s.exprs) > 0 {
		// What the NF selects by makes no difference.
		out.Select, out.Cases = out.Select[:len(b.exprs)], nil
		for _, r := range single {
			out.Cases = append(out.Cases, r.SelectCase)
		}
	}
	if n := len(out.Cases) - 1; n > 0 && out.Cases[n].Next == ir.Reject && b.implicit {
		out.Cases = out.Cases[:n] // no row at all raises NoMatch
	}
	if len(out.Cases) == 1 && (isAny(out.Cases[0].Keys) || known.imply(out.Select, out.Cases[0].Keys)) {
		out.Select, out.Cases[0].Keys = nil, nil
	}
	return out
}

// columns says where the keysets of an NF's select go in the product: to the column of
// the base with the same expression, or to one of their own.
type columns struct {
	base int   // columns of the base
	to   []int // by the NF's column: that of the base, or -1
	own  []int // the NF's columns that are added, in order
}

func columnsOf(b, s branches) columns {
	c := columns{base: len(b.exprs)}
	for j, e := range s.exprs {
		i := slices.IndexFunc(b.exprs, func(have ir.Expr) bool { return ir.SameExpr(have, e) })
		c.to = append(c.to, i)
		whole := i >= 0
		for _, x := range b.rows {
			for _, y := range s.rows {
				if whole {
					_, how := intersect(x.keys[i], y.keys[j])
					whole = how != unknown
				}
			}
		}
		if !whole {
			c.own = append(c.own, j)
		}
	}
	return c
}

// combine returns the keysets of a row of the product, and false if no value is in
// both rows.
func (c columns) combine(b, s []ir.Keyset) ([]ir.Keyset, bool) {
	keys := slices.Clone(b)
	for j, i := range c.to {
		if i < 0 {
			continue
		}
		k, how := intersect(keys[i], s[j])
		if how == disjoint {
			return nil, false
		}
		if !slices.Contains(c.own, j) {
			keys[i] = k
		}
	}
	for _, j := range c.own {
		keys = append(keys, s[j])
	}
	return keys, true
}

// joinStates makes one state of two that always follow each other, and leaves out
// those that do nothing.
func joinStates(p *ir.Parser) {
	for joinOnce(p) {
	}
}

func joinOnce(p *ir.Parser) bool {
	into := map[*ir.State]int{p.States[0]: 1}
	for _, s := range p.States {
		for _, k := range s.Next.Cases {
			into[k.Next]++
		}
	}
	for _, s := range p.States {
		if len(s.Next.Select) > 0 || len(s.Next.Cases) != 1 {
			continue
		}
		next := s.Next.Cases[0].Next
		switch {
		case next == s:
		case len(s.Body) == 0 && s != p.States[0]:
			for _, o := range p.States {
				for i := range o.Next.Cases {
					if o.Next.Cases[i].Next == s {
						o.Next.Cases[i].Next = next
					}
				}
			}
			p.States = slices.DeleteFunc(p.States, func(x *ir.State) bool { return x == s })
			return true
		case next != ir.Accept && next != ir.Reject && into[next] == 1:
			s.Body, s.Next = append(s.Body, next.Body...), next.Next
			p.States = slices.DeleteFunc(p.States, func(x *ir.State) bool { return x == next })
			return true
		}
	}
	return false
}

// fresh returns a name like the wanted one that is not taken.
func fresh(want string, taken func(string) bool) string {
	name := want
	base, from := numbered(want)
	for n := from; taken(name); n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	return name
}

// numbered splits NAME_N; the next number is the one to try.
func numbered(name string) (base string, next int) {
	if i := strings.LastIndexByte(name, '_'); i > 0 {
		if n, err := strconv.Atoi(name[i+1:]); err == nil && n > 1 && name[i+1] != '0' {
			return name[:i], n + 1
		}
	}
	return name, 2
}
