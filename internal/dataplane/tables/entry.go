package tables

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// stored is an entry as the control plane gave it, normalised, and what the maps need.
type stored struct {
	entry target.Entry
	id    string // of match and priority: tells entries apart
	index uint32 // of the direct counter and meter
	value []byte // the map's value
}

// table is a table's contents.
type table struct {
	spec    *ebpf.Table
	entries map[string]*stored
	free    []uint32 // indices of direct counters given back
	next    uint32   // the smallest index never used
	def     *target.Action
	state   ebpf.TableState
	// defaults are the two default actions in the State map.
	defaults [2][]byte
	engine   engine
}

// engine puts entries where packets look for them.
type engine interface {
	insert(e *stored) error
	modify(old, e *stored) error
	remove(e *stored) error
}

func (c *Control) newTable(x *ebpf.Table) (*table, error) {
	t := &table{spec: x, entries: map[string]*stored{}, next: 1}
	t.defaults = [2][]byte{make([]byte, x.ValueSize), make([]byte, x.ValueSize)}
	switch x.Kind {
	case ebpf.KindNone, ebpf.KindCode:
		t.engine = fixed{}
		return t, nil
	}
	if x.Kind != ebpf.KindTuples {
		m, err := c.mapOf(x.Map)
		if err != nil {
			return nil, fmt.Errorf("table %q: %w", x.Name, err)
		}
		t.engine = &flat{t: t, m: m}
		return t, nil
	}
	var memory [3]Memory
	for i, name := range []string{x.Map, x.Index, x.Masks} {
		m := c.kernel.Memory[name]
		if m == nil {
			return nil, fmt.Errorf("table %q: memory of map %q: %w in the loaded program", x.Name, name, target.ErrNotFound)
		}
		memory[i] = m
	}
	els := newElements(x, memory[0], memory[1], c.kernel.Wait)
	t.engine = newTuples(t, els, memory[2], func() error { return c.putState(t) })
	return t, nil
}

// putState writes the generations in force and the default actions of a table. The states of all tables are one
// element, of which the rest is written as it is.
func (c *Control) putState(t *table) error {
	m, err := c.mapOf(t.spec.State)
	if err != nil {
		return err
	}
	at := c.states[t.spec.StateAt:]
	copy(at, u32(t.state.Masks))
	if !t.spec.ConstDefault {
		action := binary.NativeEndian.Uint32(t.defaults[t.state.Default]) // the first word of a value
		copy(at[4:], u32(t.state.Default|action<<1))
		copy(at[ebpf.StateValue:], t.defaults[0])
		copy(at[ebpf.StateValue+t.spec.ValueSize:], t.defaults[1])
	}
	return m.Put(u32(0), c.states)
}

// entryID tells the entries of a table apart.
func entryID(t *ebpf.Table, e target.Entry) string {
	var b strings.Builder
	for _, m := range e.Match {
		fmt.Fprintf(&b, "%t %x %x %d %x %x;", m.Any, m.Value, m.Mask, m.PrefixLen, m.Lo, m.Hi)
	}
	if t.Kind == ebpf.KindTuples || t.Kind == ebpf.KindCode {
		fmt.Fprintf(&b, "%d", e.Priority)
	}
	return b.String()
}

// checkMatch normalises the match part of an entry.
func (t *table) checkMatch(e target.Entry) (target.Entry, error) {
	if len(e.Match) != len(t.spec.Keys) {
		return e, fmt.Errorf("%w: %d match fields for %d keys", target.ErrInvalid, len(e.Match), len(t.spec.Keys))
	}
	ms := make([]target.Match, len(e.Match))
	for i, m := range e.Match {
		n, err := normalize(t.spec.Keys[i], m)
		if err != nil {
			return e, err
		}
		ms[i] = n
	}
	e.Match = ms
	return e, nil
}

// encodeAction writes the number and the parameters of an action into a value.
func encodeAction(actions []*ebpf.Action, a target.Action, value []byte, def bool) error {
	for i, x := range actions {
		if x.Name != a.Name {
			continue
		}
		switch {
		case def && x.TableOnly:
			return fmt.Errorf("action %q: %w: not allowed as default action", a.Name, target.ErrInvalid)
		case !def && x.DefaultOnly:
			return fmt.Errorf("action %q: %w: only allowed as default action", a.Name, target.ErrInvalid)
		case len(a.Params) != len(x.Params.Slots):
			return fmt.Errorf("action %q: %w: %d parameters, not %d", a.Name, target.ErrInvalid, len(x.Params.Slots), len(a.Params))
		}
		copy(value, u32(uint32(i)))
		for j, s := range x.Params.Slots {
			if err := checkWidth(a.Params[j], s.Width); err != nil {
				return fmt.Errorf("action %q, parameter %q: %w", a.Name, s.Name, err)
			}
			put(value, s, a.Params[j])
		}
		return nil
	}
	names := make([]string, len(actions))
	for i, x := range actions {
		names[i] = x.Name
	}
	return fmt.Errorf("action %q: %w among %s", a.Name, target.ErrNotFound, strings.Join(names, ", "))
}

// encode makes the map value of an entry.
func (c *Control) encode(t *table, s *stored) error {
	v := make([]byte, t.spec.ValueSize)
	e := &s.entry
	if t.spec.Profile != "" && e.Action == nil {
		p := c.profiles[t.spec.Profile]
		if e.Group != 0 {
			if _, ok := p.groups[e.Group]; !ok {
				return fmt.Errorf("group %d of %q: %w", e.Group, t.spec.Profile, target.ErrNotFound)
			}
		} else if _, ok := p.members[e.Member]; !ok {
			return fmt.Errorf("member %d of %q: %w", e.Member, t.spec.Profile, target.ErrNotFound)
		}
	} else {
		switch {
		case e.Action == nil:
			return fmt.Errorf("%w: the entry has no action", target.ErrInvalid)
		case t.spec.Profile != "":
			return fmt.Errorf("%w: the table takes members or groups of %q, not actions", target.ErrInvalid, t.spec.Profile)
		}
		if err := encodeAction(t.spec.Actions, *e.Action, v, false); err != nil {
			return err
		}
	}
	for _, slot := range t.spec.Value.Slots {
		var x uint32
		switch slot.Name {
		case "priority":
			x = uint32(e.Priority)
			if u, ok := t.engine.(*tuples); ok {
				x = uint32(u.rank(s))
			}
		case "index":
			x = s.index
		case "member":
			x = e.Member
		case "group":
			x = e.Group
		default: // the action
			continue
		}
		copy(v[slot.Offset:], u32(x))
	}
	s.value = v
	return nil
}

// WriteEntry implements target.Switch.
func (c *Control) WriteEntry(op target.Op, e target.Entry) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, err := lookup(c.tables, "table", e.Table)
	if err != nil {
		return err
	}
	if t.spec.ConstEntries {
		return fmt.Errorf("table %q: %w: its entries are constant", t.spec.Name, target.ErrInvalid)
	}
	if t.spec.Kind == ebpf.KindNone {
		return fmt.Errorf("table %q: %w: it has no keys, only a default action", t.spec.Name, target.ErrInvalid)
	}
	if err := c.writeEntry(t, op, e); err != nil {
		return fmt.Errorf("table %q: %w", t.spec.Name, err)
	}
	return nil
}

func (c *Control) writeEntry(t *table, op target.Op, e target.Entry) error {
	e, err := t.checkMatch(e)
	if err != nil {
		return err
	}
	e.Table = t.spec.Name
	id := entryID(t.spec, e)
	old := t.entries[id]
	switch op {
	case target.Insert:
		if old != nil {
			return fmt.Errorf("entry: %w", target.ErrExists)
		}
		if len(t.entries) >= t.spec.Size {
			return fmt.Errorf("%w: it holds %d entries", target.ErrFull, t.spec.Size)
		}
		s := &stored{entry: e, id: id, index: t.takeIndex()}
		if err := c.publish(t, s, func() error { return t.engine.insert(s) }); err != nil {
			t.free = append(t.free, s.index)
			return err
		}
		t.entries[id] = s
		return nil
	case target.Modify, target.Delete:
		if old == nil {
			return fmt.Errorf("entry: %w", target.ErrNotFound)
		}
		if old.entry.Const {
			return fmt.Errorf("entry: %w: it is constant", target.ErrInvalid)
		}
		if op == target.Modify {
			s := &stored{entry: e, id: id, index: old.index}
			if err := c.publishModified(t, s, old); err != nil {
				return err
			}
			t.entries[id] = s
			return nil
		}
		if err := t.engine.remove(old); err != nil {
			return err
		}
		delete(t.entries, id)
		t.free = append(t.free, old.index)
		return nil
	}
	return fmt.Errorf("%w: operation %d", target.ErrInvalid, op)
}

// publish makes an entry's direct counter and meter ready, and then the entry.
func (c *Control) publish(t *table, s *stored, insert func() error) error {
	if err := c.encode(t, s); err != nil {
		return err
	}
	if t.spec.Counter != "" {
		v := target.Counter{}
		if s.entry.Counter != nil {
			v = *s.entry.Counter
		}
		if err := c.writeCounter(c.counters[t.spec.Counter], int(s.index), v); err != nil {
			return err
		}
	}
	if t.spec.Meter != "" {
		if err := c.writeMeter(c.meters[t.spec.Meter], int(s.index), s.entry.Meter); err != nil {
			return err
		}
	}
	s.entry.Counter = nil
	return insert()
}

// publishModified replaces an entry; what the write does not mention of counter and
// meter stays.
func (c *Control) publishModified(t *table, s, old *stored) error {
	if err := c.encode(t, s); err != nil {
		return err
	}
	if err := t.engine.modify(old, s); err != nil {
		return err
	}
	if t.spec.Counter != "" && s.entry.Counter != nil {
		if err := c.writeCounter(c.counters[t.spec.Counter], int(s.index), *s.entry.Counter); err != nil {
			return err
		}
	}
	s.entry.Counter = nil
	if t.spec.Meter != "" {
		return c.writeMeter(c.meters[t.spec.Meter], int(s.index), s.entry.Meter)
	}
	return nil
}

// takeIndex returns a direct-counter index that no entry has.
func (t *table) takeIndex() uint32 {
	if n := len(t.free); n > 0 {
		i := t.free[n-1]
		t.free = t.free[:n-1]
		return i
	}
	t.next++
	return t.next - 1
}

// SetDefault implements target.Switch.
func (c *Control) SetDefault(name string, a *target.Action) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, err := lookup(c.tables, "table", name)
	if err != nil {
		return err
	}
	if t.spec.ConstDefault {
		return fmt.Errorf("table %q: %w: its default action is constant", t.spec.Name, target.ErrInvalid)
	}
	if err := c.setDefault(t, a); err != nil {
		return fmt.Errorf("table %q: default action: %w", t.spec.Name, err)
	}
	t.def = a
	return nil
}

// setDefault writes the default action that is not in force, then puts it in force.
func (c *Control) setDefault(t *table, a *target.Action) error {
	value, err := t.encodeDefault(a)
	if err != nil {
		return err
	}
	if t.spec.ConstDefault {
		return nil // this is what the text says already
	}
	next := 1 - t.state.Default
	t.defaults[next] = value
	if err := c.putState(t); err != nil {
		return err
	}
	t.state.Default = next
	return c.putState(t)
}

// encodeDefault makes the value of a default action; nil is the program's.
func (t *table) encodeDefault(a *target.Action) ([]byte, error) {
	if a == nil {
		own := t.ownDefault()
		a = &own
	}
	value := make([]byte, t.spec.ValueSize)
	return value, encodeAction(t.spec.Actions, *a, value, true)
}

// ownDefault is the default action that the program gives.
func (t *table) ownDefault() target.Action {
	d := t.spec.DefaultAction
	return target.Action{Name: t.spec.Actions[d.Action].Name, Params: d.Args}
}

// ReadEntries implements target.Switch.
func (c *Control) ReadEntries(name string) ([]target.Entry, *target.Action, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, err := lookup(c.tables, "table", name)
	if err != nil {
		return nil, nil, err
	}
	out := make([]target.Entry, 0, len(t.entries))
	for _, s := range t.sorted() {
		e := s.entry
		if t.spec.Counter != "" {
			v, err := c.readCounter(c.counters[t.spec.Counter], int(s.index))
			if err != nil {
				return nil, nil, fmt.Errorf("table %q: %w", t.spec.Name, err)
			}
			e.Counter = &v
		}
		if t.spec.Meter != "" {
			m, err := c.readMeter(c.meters[t.spec.Meter], int(s.index))
			if err != nil {
				return nil, nil, fmt.Errorf("table %q: %w", t.spec.Name, err)
			}
			e.Meter = m
		}
		out = append(out, e)
	}
	target.Sort(out)
	def := t.def
	if def == nil {
		own := t.ownDefault()
		def = &own
	}
	return out, def, nil
}

// sorted returns the entries by falling priority, then by match.
func (t *table) sorted() []*stored {
	out := make([]*stored, 0, len(t.entries))
	for _, s := range t.entries {
		out = append(out, s)
	}
	sort.Slice(out, func(i, j int) bool {
		if a, b := out[i].entry.Priority, out[j].entry.Priority; a != b {
			return a > b
		}
		return out[i].id < out[j].id
	})
	return out
}

// fixed is the engine of tables without a map.
type fixed struct{}

var errFixed = errors.New("entries are part of the program")

func (fixed) insert(*stored) error          { return errFixed }
func (fixed) modify(*stored, *stored) error { return errFixed }
func (fixed) remove(*stored) error          { return errFixed }
