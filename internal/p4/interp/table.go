package interp

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// entry is a table entry with its state.
type entry struct {
	target.Entry // in normal form; Counter and Meter unused
	action       *ir.Action
	counter      target.Counter
	meter        meter
	prefix       int // sum of the prefix lengths
	seq          int // order of insertion
}

// table holds the entries of a table in the order in which they are tried: larger
// priority first, then longer prefix, then the older one.
type table struct {
	decl    *ir.Table
	keys    []*ir.Key // without the selector's
	exact   bool      // all keys are exact: index is used
	profile *profile
	entries []*entry
	ids     map[string]*entry // by target.Identity
	index   map[string]*entry // by the values' bytes, when exact
	def     *target.Action    // nil: the program's
	defAct  *ir.Action
	seq     int
}

func newTable(t *ir.Table, p *profile) (*table, error) {
	tab := &table{decl: t, keys: target.ControlKeys(t), profile: p, exact: true,
		ids: map[string]*entry{}, index: map[string]*entry{}}
	for _, k := range tab.keys {
		if k.Match != ir.MatchExact {
			tab.exact = false
		}
	}
	if t.Default == nil || t.Default.Action == nil {
		return nil, fmt.Errorf("table %q has no default action", t.FullName)
	}
	es, err := target.ProgramEntries(t)
	if err != nil {
		return nil, err
	}
	for _, e := range es {
		if _, ok := tab.ids[target.Identity(e)]; !ok { // the first one hides a second
			tab.insert(e)
		}
	}
	return tab, nil
}

func (t *table) insert(e target.Entry) {
	n := &entry{Entry: e, seq: t.seq}
	t.seq++
	if e.Action != nil {
		n.action = t.action(e.Action.Name)
	}
	var key []byte
	for _, m := range e.Match {
		n.prefix += m.PrefixLen
		key = append(key, m.Value...)
	}
	t.ids[target.Identity(e)] = n
	if t.exact {
		t.index[string(key)] = n
	}
	at, _ := slices.BinarySearchFunc(t.entries, n, func(a, b *entry) int {
		switch {
		case a.Priority != b.Priority:
			return b.Priority - a.Priority
		case a.prefix != b.prefix:
			return b.prefix - a.prefix
		}
		return a.seq - b.seq
	})
	t.entries = slices.Insert(t.entries, at, n)
}

func (t *table) remove(n *entry) {
	delete(t.ids, target.Identity(n.Entry))
	if t.exact {
		delete(t.index, string(joinValues(n.Match)))
	}
	t.entries = slices.DeleteFunc(t.entries, func(e *entry) bool { return e == n })
}

func joinValues(ms []target.Match) []byte {
	var key []byte
	for _, m := range ms {
		key = append(key, m.Value...)
	}
	return key
}

func (t *table) action(name string) *ir.Action {
	for _, a := range t.decl.Actions {
		if a.Action.FullName == name {
			return a.Action
		}
	}
	return nil
}

// lookup finds the entry for the values of the keys, or nil.
func (t *table) lookup(values [][]byte) *entry {
	if len(t.keys) == 0 {
		return nil
	}
	if t.exact {
		return t.index[string(bytes.Join(values, nil))]
	}
	for _, e := range t.entries {
		if matchAll(t.keys, e.Match, values) {
			return e
		}
	}
	return nil
}

// defaultAction returns the action of a miss with its parameters.
func (t *table) defaultAction() (*ir.Action, target.Action) {
	if t.def != nil {
		return t.defAct, *t.def
	}
	return t.decl.Default.Action, target.ProgramAction(t.decl.Default)
}

// apply is the statement t.apply(): match, run the action, then the arm that is
// chosen by it.
func (r *run) apply(s *ir.Apply) flow {
	tab := r.sw.tables[s.Table]
	if tab == nil {
		r.fail(s.Span, "table %q belongs to no control", s.Table.FullName)
		return exitFlow
	}
	values := make([][]byte, len(tab.keys))
	for i, k := range tab.keys {
		width, _ := bitsOf(k.Type)
		values[i] = target.Encode(r.eval(k.X), width)
	}
	hit := tab.lookup(values)
	act, call := tab.defaultAction()
	if hit != nil {
		r.count(tab, hit)
		act, call = r.chosenAction(tab, hit)
	}
	if r.tracing() {
		r.traceTable(s, tab, values, hit, call)
	}
	if f := r.runAction(act, call.Params); f != nil {
		return f
	}
	if s.Hit != nil {
		r.assign(s.Hit, boolNum(hit != nil))
	}
	for _, c := range s.Cases {
		if c.Default || slices.Contains(c.Actions, act) {
			return r.exec(c.Body)
		}
	}
	return nil
}

// chosenAction returns the action of an entry, through its profile if it has one. A
// group without members, and a member that is gone, do nothing.
func (r *run) chosenAction(tab *table, e *entry) (*ir.Action, target.Action) {
	if e.Action != nil {
		return e.action, *e.Action
	}
	id := e.Member
	if e.Group != 0 {
		members := tab.profile.groups[e.Group].expand()
		if len(members) == 0 {
			return nil, target.Action{}
		}
		id = members[r.selectorHash(tab)%uint64(len(members))]
	}
	m, ok := tab.profile.members[id]
	if !ok {
		return nil, target.Action{}
	}
	return tab.action(m.Action.Name), m.Action
}

// selectorHash hashes the selector keys of a table as its action selector says.
func (r *run) selectorHash(tab *table) uint64 {
	var w writer
	for _, k := range tab.decl.Keys {
		if k.Match == ir.MatchSelector {
			width, _ := bitsOf(k.Type)
			w.write(r.eval(k.X), width)
		}
	}
	impl := tab.decl.Impl
	h := r.hash(impl.Span, impl.Algorithm, w.data)
	if impl.OutWidth > 0 {
		h = raw(h, impl.OutWidth)
	}
	return h.Uint64()
}

func (r *run) runAction(a *ir.Action, params [][]byte) flow {
	if a == nil {
		return nil
	}
	for i, p := range a.Params {
		c := r.variable(p)
		c.reset()
		if i < len(params) {
			c.num = target.Decode(params[i], p.Type)
		}
	}
	return r.exec(a.Body)
}

// count updates the direct counter and meter of an entry.
func (r *run) count(tab *table, e *entry) {
	if tab.decl.Counter != nil {
		e.counter.Packets++
		e.counter.Bytes += uint64(r.it.length)
	}
	if m := tab.decl.Meter; m != nil {
		r.colours[m] = e.meter.mark(r.sw.opts.Now(), r.meterUnits(m))
	}
}

func (r *run) traceTable(s *ir.Apply, tab *table, values [][]byte, hit *entry, call target.Action) {
	var b bytes.Buffer
	for i, k := range tab.keys {
		fmt.Fprintf(&b, "%s=0x%x ", k.Name, values[i])
	}
	if hit == nil {
		b.WriteString("miss")
	} else {
		fmt.Fprintf(&b, "hit %s", describeMatch(tab.keys, hit))
	}
	fmt.Fprintf(&b, " -> %s", describeAction(call))
	r.trace(Event{Kind: EventTable, Span: s.Span, Object: s.Table.FullName, Detail: b.String()})
}

func describeMatch(keys []*ir.Key, e *entry) string {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, m := range e.Match {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch {
		case m.Any:
			b.WriteByte('*')
		case m.Lo != nil:
			fmt.Fprintf(&b, "0x%x..0x%x", m.Lo, m.Hi)
		case m.Mask != nil:
			fmt.Fprintf(&b, "0x%x&&&0x%x", m.Value, m.Mask)
		case keys[i].Match == ir.MatchLPM:
			fmt.Fprintf(&b, "0x%x/%d", m.Value, m.PrefixLen)
		default:
			fmt.Fprintf(&b, "0x%x", m.Value)
		}
	}
	b.WriteByte(']')
	if e.Priority != 0 {
		fmt.Fprintf(&b, " priority %d", e.Priority)
	}
	return b.String()
}
