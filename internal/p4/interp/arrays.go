package interp

import (
	"fmt"
	"maps"
	"slices"

	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// ReadCounter implements target.Switch.
func (s *Switch) ReadCounter(name string, index int) (target.Counter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.schema.Cell(name, index, ir.KindCounter)
	if err != nil {
		return target.Counter{}, err
	}
	return s.counters[i].get(index), nil
}

// WriteCounter implements target.Switch.
func (s *Switch) WriteCounter(name string, index int, c target.Counter) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.schema.Cell(name, index, ir.KindCounter)
	if err != nil {
		return err
	}
	*s.counters[i].at(index) = c
	return nil
}

// ReadMeter implements target.Switch.
func (s *Switch) ReadMeter(name string, index int) (*target.MeterConfig, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.schema.Cell(name, index, ir.KindMeter)
	if err != nil {
		return nil, err
	}
	m := s.meters[i].get(index)
	if m.config == nil {
		return nil, nil
	}
	c := *m.config
	return &c, nil
}

// WriteMeter implements target.Switch.
func (s *Switch) WriteMeter(name string, index int, c *target.MeterConfig) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.schema.Cell(name, index, ir.KindMeter)
	if err != nil {
		return err
	}
	s.meters[i].at(index).set(c, s.opts.Now())
	return nil
}

// ReadRegister implements target.Switch.
func (s *Switch) ReadRegister(name string, index int) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.schema.Cell(name, index, ir.KindRegister)
	if err != nil {
		return nil, err
	}
	c := s.registers[i].get(index)
	if c == nil {
		c = newCell(i.Elem)
	}
	var out [][]byte
	for _, f := range c.scalars(false, nil) {
		out = append(out, target.Encode(f.num, f.width()))
	}
	return out, nil
}

// WriteRegister implements target.Switch.
func (s *Switch) WriteRegister(name string, index int, v [][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.schema.Cell(name, index, ir.KindRegister)
	if err != nil {
		return err
	}
	c := newCell(i.Elem)
	fields := c.scalars(false, nil)
	if len(fields) != len(v) {
		return fmt.Errorf("register %q: %d values for %d fields: %w", name, len(v), len(fields), target.ErrInvalid)
	}
	for n, f := range fields {
		if f.num = target.Decode(v[n], f.typ); !target.Fits(v[n], f.width()) {
			return fmt.Errorf("register %q: value 0x%x does not fit %s: %w", name, v[n], f.typ, target.ErrInvalid)
		}
	}
	*s.registers[i].at(index) = c
	return nil
}

// ReadValueSet implements target.Switch.
func (s *Switch) ReadValueSet(name string) ([][]target.Match, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.schema.ValueSet(name)
	if err != nil {
		return nil, err
	}
	return slices.Clone(s.valueSets[v]), nil
}

// WriteValueSet implements target.Switch.
func (s *Switch) WriteValueSet(name string, members [][]target.Match) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.schema.ValueSet(name)
	if err != nil {
		return err
	}
	checked, err := target.CheckValueSet(v, members)
	if err != nil {
		return err
	}
	s.valueSets[v] = checked
	return nil
}

// WriteMulticast implements target.Switch.
func (s *Switch) WriteMulticast(op target.Op, id uint32, rs []target.Replica) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	what := fmt.Sprintf("multicast group %d", id)
	if id == 0 || id > 0xffff {
		return fmt.Errorf("%s: the number is not between 1 and 65535: %w", what, target.ErrInvalid)
	}
	_, exists := s.groups[id]
	if err := write(op, exists, what); err != nil {
		return err
	}
	if op == target.Delete {
		delete(s.groups, id)
		return nil
	}
	s.groups[id] = slices.Clone(rs)
	return nil
}

// ReadMulticast implements target.Switch.
func (s *Switch) ReadMulticast() (map[uint32][]target.Replica, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.groups), nil
}

// WriteClone implements target.Switch.
func (s *Switch) WriteClone(op target.Op, c target.CloneSession) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, exists := s.clones[c.ID]
	if err := write(op, exists, fmt.Sprintf("clone session %d", c.ID)); err != nil {
		return err
	}
	if op == target.Delete {
		delete(s.clones, c.ID)
		return nil
	}
	c.Replicas = slices.Clone(c.Replicas)
	s.clones[c.ID] = c
	return nil
}

// ReadClones implements target.Switch.
func (s *Switch) ReadClones() ([]target.CloneSession, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sorted(s.clones), nil
}
