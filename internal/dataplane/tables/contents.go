package tables

import (
	"errors"
	"fmt"
	"maps"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// Contents is what the control plane has written, with where it lies in the maps. It
// can be kept as JSON beside pinned maps.
type Contents struct {
	Tables    map[string]TableContents
	Members   map[string][]target.Member
	Groups    map[string][]target.Group
	ValueSets map[string]SetContents
	Multicast map[uint32][]target.Replica
	Clones    []target.CloneSession
	// Bases is what is counted from, by direct counter and index.
	Bases map[string]map[uint32]target.Counter
}

// TableContents is the entries of a table.
type TableContents struct {
	Entries []EntryContents
	Default *target.Action
	State   ebpf.TableState
	// Of a tuple space, the masks, the level of the index and the first element that was never used.
	Masks []MaskContents
	Level int
	Fresh uint32
}

// EntryContents is an entry with its direct-counter index and, of a tuple space, the slots of its elements.
type EntryContents struct {
	Entry target.Entry
	Index uint32
	Slots []uint32
}

// MaskContents is the number of a mask of a tuple space.
type MaskContents struct {
	Mask []byte
	ID   uint32
}

// SetContents is the members of a value set.
type SetContents struct {
	Members [][]target.Match
	State   uint32
}

// Contents returns a copy of all that the control plane has written.
func (c *Control) Contents() *Contents {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := &Contents{
		Tables:    map[string]TableContents{},
		Members:   map[string][]target.Member{},
		Groups:    map[string][]target.Group{},
		ValueSets: map[string]SetContents{},
		Multicast: map[uint32][]target.Replica{},
		Bases:     map[string]map[uint32]target.Counter{},
	}
	for name, bases := range c.bases {
		out.Bases[name] = maps.Clone(bases)
	}
	for name, t := range c.tables {
		tc := TableContents{Default: t.def, State: t.state}
		u, _ := t.engine.(*tuples)
		for _, s := range t.sorted() {
			e := EntryContents{Entry: s.entry, Index: s.index}
			if u != nil {
				e.Slots, _ = u.places(s) // they had places when they came
			}
			tc.Entries = append(tc.Entries, e)
		}
		if u != nil {
			tc.Level, tc.Fresh = u.els.level, u.els.fresh
			for _, m := range u.order() {
				tc.Masks = append(tc.Masks, MaskContents{m.bytes, m.id})
			}
		}
		out.Tables[name] = tc
	}
	for name, p := range c.profiles {
		for _, id := range sortedKeys(p.members) {
			out.Members[name] = append(out.Members[name], p.members[id])
		}
		for _, id := range sortedKeys(p.groups) {
			out.Groups[name] = append(out.Groups[name], p.groups[id])
		}
	}
	for name, s := range c.valueSets {
		out.ValueSets[name] = SetContents{s.members, s.state}
	}
	for id, rs := range c.multicast {
		out.Multicast[id] = rs
	}
	for _, id := range sortedKeys(c.clones) {
		out.Clones = append(out.Clones, c.clones[id])
	}
	return out
}

// fill gives the maps their first contents: see New.
func (c *Control) fill(prev *Contents, kept func(string) bool) error {
	for name, x := range c.counters {
		if kept(x.Map) {
			maps.Copy(c.bases[name], prev.Bases[name])
		}
	}
	var errs []error
	for _, name := range sortedKeys(c.profiles) {
		errs = append(errs, c.fillProfile(c.profiles[name], prev, kept))
	}
	for _, x := range c.spec.Tables {
		old, known := prev.Tables[x.Name]
		if err := c.fillTable(c.tables[x.Name], old, known, kept); err != nil {
			errs = append(errs, fmt.Errorf("table %q: %w", x.Name, err))
		}
	}
	for _, name := range sortedKeys(c.valueSets) {
		s := c.valueSets[name]
		old := prev.ValueSets[name]
		if kept(s.spec.Map) && kept(s.spec.State) {
			s.members, s.state = old.Members, old.State
		} else if len(old.Members) > 0 {
			if err := c.writeValueSet(s, old.Members); err != nil {
				errs = append(errs, fmt.Errorf("value set %q: its members do not fit the new program: %w", name, err))
			}
		}
	}
	for id, rs := range prev.Multicast {
		if c.spec.Multicast && kept(ebpf.MapMulticast) {
			c.multicast[id] = rs
		} else {
			errs = append(errs, c.writeMulticast(target.Insert, id, rs))
		}
	}
	for _, s := range prev.Clones {
		if c.spec.Clones && kept(ebpf.MapClones) {
			c.clones[s.ID] = s
		} else {
			errs = append(errs, c.writeClone(target.Insert, s))
		}
	}
	return errors.Join(errs...)
}

func (c *Control) fillProfile(p *profile, prev *Contents, kept func(string) bool) error {
	same := kept(p.spec.Map)
	for _, m := range prev.Members[p.spec.Name] {
		if same {
			p.members[m.ID] = m
			continue
		}
		if err := c.writeMember(p, target.Insert, m); err != nil {
			return fmt.Errorf("action profile %q: member %d does not fit the new program: %w", p.spec.Name, m.ID, err)
		}
	}
	if !p.spec.Selector {
		return nil
	}
	same = kept(p.spec.Groups)
	for _, g := range prev.Groups[p.spec.Name] {
		if same {
			p.groups[g.ID] = g
			continue
		}
		if err := c.writeGroup(p, target.Insert, g); err != nil {
			return fmt.Errorf("action selector %q: group %d does not fit the new program: %w", p.spec.Name, g.ID, err)
		}
	}
	return nil
}

// fillTable gives a table its entries: those that the predecessor's table of that name
// had, or the program's own.
func (c *Control) fillTable(t *table, old TableContents, known bool, kept func(string) bool) error {
	if t.spec.Map != "" && kept(t.spec.Map) && (t.spec.Masks == "" || kept(t.spec.Masks)) {
		if err := c.adopt(t, old, kept); err != nil || t.spec.State == "" {
			return err
		}
		return c.putState(t)
	}
	if !t.spec.ConstDefault {
		if old.Default == nil || c.setDefault(t, old.Default) != nil {
			old.Default = nil
			if err := c.setDefault(t, nil); err != nil {
				return err
			}
		}
		t.def = old.Default
	}
	for i, e := range t.spec.Entries {
		if known && !e.Const && !t.spec.ConstEntries {
			continue // the control plane may have changed or deleted it since
		}
		if err := c.ownEntry(t, i, e); err != nil {
			return &OwnEntryError{Table: t.spec, Entry: i, Err: err}
		}
	}
	if t.spec.ConstEntries {
		return nil
	}
	for _, e := range old.Entries {
		if e.Entry.Const {
			continue
		}
		if err := c.writeEntry(t, target.Insert, e.Entry); err != nil {
			return fmt.Errorf("%s does not fit the new program: %w", e.Entry.Describe(), err)
		}
	}
	return nil
}

// OwnEntryError is why an entry of the program text cannot be entered.
type OwnEntryError struct {
	Table *ebpf.Table
	Entry int // from 0, in the order of the text
	Err   error
}

func (e *OwnEntryError) Error() string {
	return fmt.Sprintf("entry %d of the program: %v", e.Entry+1, e.Err)
}

// Unwrap gives the cause.
func (e *OwnEntryError) Unwrap() error { return e.Err }

// ownEntry enters an entry that the program text gives.
func (c *Control) ownEntry(t *table, i int, e ebpf.Entry) error {
	te := target.Entry{
		Table: t.spec.Name, Priority: e.Priority, Const: e.Const || t.spec.ConstEntries,
		Action: &target.Action{Name: t.spec.Actions[e.Call.Action].Name, Params: e.Call.Args},
	}
	for _, m := range e.Match {
		te.Match = append(te.Match, target.Match(m))
	}
	te, err := t.checkMatch(te)
	if err != nil {
		return err
	}
	s := &stored{entry: te, id: entryID(t.spec, te), index: uint32(i) + 1}
	t.next = s.index + 1
	if t.spec.Kind != ebpf.KindCode {
		if t.entries[s.id] != nil {
			return nil // the first of two equal entries is the one that matches
		}
		if err := c.publish(t, s, func() error { return t.engine.insert(s) }); err != nil {
			return err
		}
	}
	if t.entries[s.id] == nil {
		t.entries[s.id] = s
	}
	return nil
}

// adopt takes over entries whose maps are those of the predecessor.
func (c *Control) adopt(t *table, old TableContents, kept func(string) bool) error {
	t.def, t.state = old.Default, old.State
	if !t.spec.ConstDefault {
		v, err := t.encodeDefault(old.Default)
		if err != nil {
			return err
		}
		t.defaults = [2][]byte{v, append([]byte(nil), v...)}
	}
	used := map[uint32]bool{}
	var entries []*stored
	var places [][]uint32
	for _, e := range old.Entries {
		s := &stored{entry: e.Entry, id: entryID(t.spec, e.Entry), index: e.Index}
		if err := c.encode(t, s); err != nil {
			return err
		}
		t.entries[s.id] = s
		used[s.index] = true
		t.next = max(t.next, s.index+1)
		entries, places = append(entries, s), append(places, e.Slots)
	}
	if u, ok := t.engine.(*tuples); ok {
		if err := u.adopt(entries, places, old, !kept(t.spec.Index)); err != nil {
			return err
		}
	}
	for i := uint32(1); i < t.next; i++ {
		if !used[i] {
			t.free = append(t.free, i)
		}
	}
	return nil
}
