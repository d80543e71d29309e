package target

import (
	"fmt"
	"sort"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// Schema finds the objects of a program by their control-plane names. It is built
// once and only read afterwards, so it may be shared.
type Schema struct {
	Program   *ir.Program
	tables    map[string]*ir.Table
	instances map[string]*ir.Instance
	valueSets map[string]*ir.ValueSet
	profiles  map[*ir.Instance][]*ir.Table
}

// NewSchema indexes a program. If two objects have one name, the first in the
// order of the blocks counts.
func NewSchema(p *ir.Program) *Schema {
	s := &Schema{
		Program:   p,
		tables:    map[string]*ir.Table{},
		instances: map[string]*ir.Instance{},
		valueSets: map[string]*ir.ValueSet{},
		profiles:  map[*ir.Instance][]*ir.Table{},
	}
	if p.Parser != nil {
		for _, v := range p.Parser.ValueSets {
			put(s.valueSets, v.Name, v)
		}
	}
	for _, c := range p.Controls() {
		if c == nil {
			continue
		}
		for _, i := range c.Instances {
			put(s.instances, i.FullName, i)
		}
		for _, t := range c.Tables {
			put(s.tables, t.FullName, t)
			if t.Impl != nil {
				s.profiles[t.Impl] = append(s.profiles[t.Impl], t)
			}
		}
	}
	return s
}

func put[T any](m map[string]T, name string, v T) {
	if _, ok := m[name]; !ok {
		m[name] = v
	}
}

// Tables returns all tables, by name.
func (s *Schema) Tables() []*ir.Table { return byName(s.tables) }

// Instances returns all extern objects, by name.
func (s *Schema) Instances() []*ir.Instance { return byName(s.instances) }

// ValueSets returns all value sets, by name.
func (s *Schema) ValueSets() []*ir.ValueSet { return byName(s.valueSets) }

func byName[T any](m map[string]T) []T {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names)
	out := make([]T, len(names))
	for i, n := range names {
		out[i] = m[n]
	}
	return out
}

// Table finds a table.
func (s *Schema) Table(name string) (*ir.Table, error) {
	if t, ok := s.tables[name]; ok {
		return t, nil
	}
	return nil, fmt.Errorf("table %q: %w", name, ErrNotFound)
}

// Instance finds an extern object that is of one of the kinds.
func (s *Schema) Instance(name string, kinds ...ir.InstanceKind) (*ir.Instance, error) {
	if i, ok := s.instances[name]; ok {
		for _, k := range kinds {
			if i.Kind == k {
				return i, nil
			}
		}
	}
	return nil, fmt.Errorf("%s %q: %w", kinds[0], name, ErrNotFound)
}

// Cell finds an indexed object (a counter, meter or register) and checks the index.
func (s *Schema) Cell(name string, index int, kind ir.InstanceKind) (*ir.Instance, error) {
	i, err := s.Instance(name, kind)
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= i.Size {
		return nil, fmt.Errorf("%s %q: index %d is not below its size %d: %w", kind, name, index, i.Size, ErrInvalid)
	}
	return i, nil
}

// Profile finds an action profile or selector and the tables that use it.
func (s *Schema) Profile(name string) (*ir.Instance, []*ir.Table, error) {
	i, err := s.Instance(name, ir.KindActionProfile, ir.KindActionSelector)
	if err != nil {
		return nil, nil, err
	}
	return i, s.profiles[i], nil
}

// ValueSet finds a parser value set.
func (s *Schema) ValueSet(name string) (*ir.ValueSet, error) {
	if v, ok := s.valueSets[name]; ok {
		return v, nil
	}
	return nil, fmt.Errorf("value set %q: %w", name, ErrNotFound)
}
