package interp

import (
	"fmt"
	"slices"
	"sort"

	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

func (s *Switch) table(name string) (*table, error) {
	t, err := s.schema.Table(name)
	if err != nil {
		return nil, err
	}
	return s.tables[t], nil
}

// WriteEntry implements target.Switch.
func (s *Switch) WriteEntry(op target.Op, e target.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.table(e.Table)
	if err != nil {
		return err
	}
	if t.decl.ConstEntries {
		return fmt.Errorf("table %q has constant entries: %w", e.Table, target.ErrInvalid)
	}
	check := target.CheckEntry
	if op == target.Delete {
		check = target.CheckKey
	}
	e, err = check(t.decl, e)
	if err != nil {
		return err
	}
	if op != target.Delete {
		if err := t.checkReference(e); err != nil {
			return err
		}
	}
	e.Const = false
	have := t.ids[target.Identity(e)]
	switch {
	case op == target.Insert && have != nil:
		return fmt.Errorf("table %q: entry: %w", e.Table, target.ErrExists)
	case op != target.Insert && have == nil:
		return fmt.Errorf("table %q: entry: %w", e.Table, target.ErrNotFound)
	case op != target.Insert && have.Const:
		return fmt.Errorf("table %q: the entry is constant: %w", e.Table, target.ErrInvalid)
	case op == target.Insert && t.decl.Size > 0 && len(t.entries) >= t.decl.Size:
		return fmt.Errorf("table %q holds %d entries: %w", e.Table, t.decl.Size, target.ErrFull)
	}
	switch op {
	case target.Insert:
		t.insert(e)
		have = t.ids[target.Identity(e)]
	case target.Delete:
		t.remove(have)
		return nil
	default:
		have.Entry = e
		have.action = nil
		if e.Action != nil {
			have.action = t.action(e.Action.Name)
		}
	}
	s.setDirect(have, e)
	return nil
}

// setDirect sets the direct counter and meter that come with an entry.
func (s *Switch) setDirect(n *entry, e target.Entry) {
	if e.Counter != nil {
		n.counter = *e.Counter
	}
	if e.Meter != nil {
		n.meter.set(e.Meter, s.opts.Now())
	}
	n.Counter, n.Meter = nil, nil
}

// checkReference checks that the member or group of an entry exists.
func (t *table) checkReference(e target.Entry) error {
	if e.Action != nil {
		return nil
	}
	if e.Group != 0 {
		if t.profile.groups[e.Group] == nil {
			return fmt.Errorf("table %q: group %d of %q: %w", e.Table, e.Group, t.profile.decl.FullName, target.ErrNotFound)
		}
		return nil
	}
	if _, ok := t.profile.members[e.Member]; !ok {
		return fmt.Errorf("table %q: member %d of %q: %w", e.Table, e.Member, t.profile.decl.FullName, target.ErrNotFound)
	}
	return nil
}

// SetDefault implements target.Switch.
func (s *Switch) SetDefault(name string, a *target.Action) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.table(name)
	if err != nil {
		return err
	}
	if t.decl.ConstDefault {
		return fmt.Errorf("table %q: the default action is constant: %w", name, target.ErrInvalid)
	}
	if a == nil {
		t.def, t.defAct = nil, nil
		return nil
	}
	checked, err := target.CheckAction(t.decl, *a, true)
	if err != nil {
		return err
	}
	t.def, t.defAct = &checked, t.action(checked.Name)
	return nil
}

// ReadEntries implements target.Switch.
func (s *Switch) ReadEntries(name string) ([]target.Entry, *target.Action, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.table(name)
	if err != nil {
		return nil, nil, err
	}
	var out []target.Entry
	for _, n := range t.entries {
		e := n.Entry
		if t.decl.Counter != nil {
			c := n.counter
			e.Counter = &c
		}
		if t.decl.Meter != nil && n.meter.config != nil {
			m := *n.meter.config
			e.Meter = &m
		}
		out = append(out, e)
	}
	target.Sort(out)
	_, def := t.defaultAction()
	return out, &def, nil
}

func (s *Switch) profile(name string) (*profile, []*ir.Table, error) {
	i, tables, err := s.schema.Profile(name)
	if err != nil {
		return nil, nil, err
	}
	return s.profiles[i], tables, nil
}

// users returns the entries of the tables that a condition holds for.
func (s *Switch) users(tables []*ir.Table, uses func(target.Entry) bool) int {
	n := 0
	for _, t := range tables {
		for _, e := range s.tables[t].entries {
			if e.Action == nil && uses(e.Entry) {
				n++
			}
		}
	}
	return n
}

// write checks that an object exists, or not, as an operation demands.
func write(op target.Op, exists bool, what string) error {
	switch {
	case op == target.Insert && exists:
		return fmt.Errorf("%s: %w", what, target.ErrExists)
	case op != target.Insert && !exists:
		return fmt.Errorf("%s: %w", what, target.ErrNotFound)
	}
	return nil
}

// WriteMember implements target.Switch.
func (s *Switch) WriteMember(op target.Op, name string, m target.Member) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, tables, err := s.profile(name)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("member %d of %q", m.ID, name)
	_, exists := p.members[m.ID]
	if err := write(op, exists, what); err != nil {
		return err
	}
	if op == target.Delete {
		used := s.users(tables, func(e target.Entry) bool { return e.Group == 0 && e.Member == m.ID })
		for _, g := range p.groups {
			if slices.ContainsFunc(g.Members, func(gm target.GroupMember) bool { return gm.ID == m.ID }) {
				used++
			}
		}
		if used > 0 {
			return fmt.Errorf("%s is in use: %w", what, target.ErrInvalid)
		}
		delete(p.members, m.ID)
		return nil
	}
	if op == target.Insert && p.decl.Size > 0 && len(p.members) >= p.decl.Size {
		return fmt.Errorf("%s: it holds %d: %w", what, p.decl.Size, target.ErrFull)
	}
	m, err = target.CheckMember(tables, m)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	p.members[m.ID] = m
	return nil
}

// ReadMembers implements target.Switch.
func (s *Switch) ReadMembers(name string) ([]target.Member, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, _, err := s.profile(name)
	if err != nil {
		return nil, err
	}
	return sorted(p.members), nil
}

// WriteGroup implements target.Switch.
func (s *Switch) WriteGroup(op target.Op, name string, g target.Group) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, tables, err := s.profile(name)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("group %d of %q", g.ID, name)
	if p.decl.Kind != ir.KindActionSelector {
		return fmt.Errorf("%s: an action profile has no groups: %w", what, target.ErrInvalid)
	}
	if g.ID == 0 {
		return fmt.Errorf("%s: 0 is no group: %w", what, target.ErrInvalid)
	}
	if err := write(op, p.groups[g.ID] != nil, what); err != nil {
		return err
	}
	if op == target.Delete {
		if s.users(tables, func(e target.Entry) bool { return e.Group == g.ID }) > 0 {
			return fmt.Errorf("%s is in use: %w", what, target.ErrInvalid)
		}
		delete(p.groups, g.ID)
		return nil
	}
	for _, m := range g.Members {
		if _, ok := p.members[m.ID]; !ok {
			return fmt.Errorf("%s: member %d: %w", what, m.ID, target.ErrNotFound)
		}
		if m.Weight < 1 || m.Weight > 1<<16 {
			return fmt.Errorf("%s: member %d: weight %d is not between 1 and 65536: %w", what, m.ID, m.Weight, target.ErrInvalid)
		}
	}
	g.Members = slices.Clone(g.Members)
	p.groups[g.ID] = &group{g}
	return nil
}

// ReadGroups implements target.Switch.
func (s *Switch) ReadGroups(name string) ([]target.Group, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, _, err := s.profile(name)
	if err != nil {
		return nil, err
	}
	var out []target.Group
	for _, g := range sorted(p.groups) {
		out = append(out, g.Group)
	}
	return out, nil
}

func sorted[V any](m map[uint32]V) []V {
	ids := make([]uint32, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	sort.Slice(ids, func(i, j int) bool { return ids[i] < ids[j] })
	out := make([]V, len(ids))
	for i, id := range ids {
		out[i] = m[id]
	}
	return out
}
