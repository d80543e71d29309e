package tables

import (
	"encoding/binary"
	"fmt"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// checkIndex fails unless an array has the index.
func checkIndex(index, size int) error {
	if index < 0 || index >= size {
		return fmt.Errorf("index %d: %w: it has %d cells", index, target.ErrInvalid, size)
	}
	return nil
}

// ReadCounter implements target.Switch.
func (c *Control) ReadCounter(name string, index int) (target.Counter, error) {
	x, err := lookup(c.counters, "counter", name)
	if err != nil {
		return target.Counter{}, err
	}
	if err := checkIndex(index, x.Size); err != nil {
		return target.Counter{}, fmt.Errorf("counter %q: %w", x.Name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	v, err := c.readCounter(x, index)
	if err != nil {
		return v, fmt.Errorf("counter %q: %w", x.Name, err)
	}
	return v, nil
}

// readCounter returns what a counter has counted since it was written.
func (c *Control) readCounter(x *ebpf.Counter, index int) (target.Counter, error) {
	sum, err := c.sumCounter(x, index)
	if err != nil {
		return sum, err
	}
	base := c.bases[x.Name][uint32(index)]
	sum.Packets -= base.Packets
	sum.Bytes -= base.Bytes
	if x.Base == "" {
		return sum, nil
	}
	m, err := c.mapOf(x.Base)
	if err != nil {
		return target.Counter{}, err
	}
	var more []byte
	if err := m.Lookup(u32(uint32(index)), &more); err != nil {
		return target.Counter{}, err
	}
	sum.Packets += binary.NativeEndian.Uint64(more)
	sum.Bytes += binary.NativeEndian.Uint64(more[8:])
	return sum, nil
}

// sumCounter sums a cell over the CPUs.
func (c *Control) sumCounter(x *ebpf.Counter, index int) (target.Counter, error) {
	m, err := c.mapOf(x.Map)
	if err != nil {
		return target.Counter{}, err
	}
	element, at := index, 0
	switch {
	case x.Direct != "":
		element, at = index/ebpf.CounterGroup, index%ebpf.CounterGroup*counterBytes
	case x.Base != "":
		element, at = 0, index*counterBytes
	}
	cells := make([][]byte, c.kernel.CPUs)
	if err := m.Lookup(u32(uint32(element)), &cells); err != nil {
		return target.Counter{}, err
	}
	var sum target.Counter
	for _, v := range cells {
		sum.Packets += binary.NativeEndian.Uint64(v[at:])
		sum.Bytes += binary.NativeEndian.Uint64(v[at+8:])
	}
	return sum, nil
}

// counterBytes is the size of a counter.
const counterBytes = 16

// WriteCounter implements target.Switch.
func (c *Control) WriteCounter(name string, index int, v target.Counter) error {
	x, err := lookup(c.counters, "counter", name)
	if err != nil {
		return err
	}
	if err := checkIndex(index, x.Size); err != nil {
		return fmt.Errorf("counter %q: %w", x.Name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.writeCounter(x, index, v); err != nil {
		return fmt.Errorf("counter %q: %w", x.Name, err)
	}
	return nil
}

// writeCounter sets a counter. A direct one shares an element with others that packets count in meanwhile: what it is
// counted from changes.
func (c *Control) writeCounter(x *ebpf.Counter, index int, v target.Counter) error {
	if x.Base != "" {
		return c.writeBase(x, index, v)
	}
	if x.Direct != "" {
		sum, err := c.sumCounter(x, index)
		if err != nil {
			return err
		}
		c.bases[x.Name][uint32(index)] = target.Counter{Packets: sum.Packets - v.Packets, Bytes: sum.Bytes - v.Bytes}
		return nil
	}
	m, err := c.mapOf(x.Map)
	if err != nil {
		return err
	}
	cells := make([][]byte, c.kernel.CPUs)
	for i := range cells {
		cells[i] = make([]byte, counterBytes)
	}
	binary.NativeEndian.PutUint64(cells[0], v.Packets)
	binary.NativeEndian.PutUint64(cells[0][8:], v.Bytes)
	return m.Put(u32(uint32(index)), cells)
}

// writeBase makes a cell count on from v.
func (c *Control) writeBase(x *ebpf.Counter, index int, v target.Counter) error {
	m, err := c.mapOf(x.Base)
	if err != nil {
		return err
	}
	sum, err := c.sumCounter(x, index)
	if err != nil {
		return err
	}
	base := binary.NativeEndian.AppendUint64(nil, v.Packets-sum.Packets)
	return m.Put(u32(uint32(index)), binary.NativeEndian.AppendUint64(base, v.Bytes-sum.Bytes))
}

// Offsets in ebpf.MeterCell.
const (
	meterOn        = 4
	meterCIR       = 8
	meterCBS       = 16
	meterPIR       = 24
	meterPBS       = 32
	meterCommitted = 48
	meterPeak      = 56
	meterBytes     = 64
)

// ReadMeter implements target.Switch.
func (c *Control) ReadMeter(name string, index int) (*target.MeterConfig, error) {
	x, err := lookup(c.meters, "meter", name)
	if err != nil {
		return nil, err
	}
	if err := checkIndex(index, x.Size); err != nil {
		return nil, fmt.Errorf("meter %q: %w", x.Name, err)
	}
	cfg, err := c.readMeter(x, index)
	if err != nil {
		return nil, fmt.Errorf("meter %q: %w", x.Name, err)
	}
	return cfg, nil
}

func (c *Control) readMeter(x *ebpf.Meter, index int) (*target.MeterConfig, error) {
	m, err := c.mapOf(x.Map)
	if err != nil {
		return nil, err
	}
	var v []byte
	if err := m.Lookup(u32(uint32(index)), &v); err != nil {
		return nil, err
	}
	if binary.NativeEndian.Uint32(v[meterOn:]) == 0 {
		return nil, nil
	}
	at := func(i int) uint64 { return binary.NativeEndian.Uint64(v[i:]) }
	return &target.MeterConfig{CIR: at(meterCIR), CBurst: at(meterCBS), PIR: at(meterPIR), PBurst: at(meterPBS)}, nil
}

// WriteMeter implements target.Switch.
func (c *Control) WriteMeter(name string, index int, cfg *target.MeterConfig) error {
	x, err := lookup(c.meters, "meter", name)
	if err != nil {
		return err
	}
	if err := checkIndex(index, x.Size); err != nil {
		return fmt.Errorf("meter %q: %w", x.Name, err)
	}
	if err := c.writeMeter(x, index, cfg); err != nil {
		return fmt.Errorf("meter %q: %w", x.Name, err)
	}
	return nil
}

// writeMeter sets a cell with full buckets.
func (c *Control) writeMeter(x *ebpf.Meter, index int, cfg *target.MeterConfig) error {
	m, err := c.mapOf(x.Map)
	if err != nil {
		return err
	}
	v := make([]byte, meterBytes)
	if cfg != nil {
		const most = 1<<63/ebpf.MeterScale - 1
		for _, n := range []uint64{cfg.CBurst, cfg.PBurst} {
			if n > most {
				return fmt.Errorf("%w: a burst of %d is more than %d", target.ErrInvalid, n, uint64(most))
			}
		}
		set := func(i int, x uint64) { binary.NativeEndian.PutUint64(v[i:], x) }
		binary.NativeEndian.PutUint32(v[meterOn:], 1)
		set(meterCIR, cfg.CIR)
		set(meterCBS, cfg.CBurst)
		set(meterPIR, cfg.PIR)
		set(meterPBS, cfg.PBurst)
		set(meterCommitted, cfg.CBurst*ebpf.MeterScale)
		set(meterPeak, cfg.PBurst*ebpf.MeterScale)
	}
	return m.Put(u32(uint32(index)), v)
}

// ReadRegister implements target.Switch.
func (c *Control) ReadRegister(name string, index int) ([][]byte, error) {
	x, err := lookup(c.registers, "register", name)
	if err != nil {
		return nil, err
	}
	if err := checkIndex(index, x.Size); err != nil {
		return nil, fmt.Errorf("register %q: %w", x.Name, err)
	}
	m, err := c.mapOf(x.Map)
	if err != nil {
		return nil, fmt.Errorf("register %q: %w", x.Name, err)
	}
	var v []byte
	if err := m.Lookup(u32(uint32(index)), &v); err != nil {
		return nil, fmt.Errorf("register %q: %w", x.Name, err)
	}
	out := make([][]byte, len(x.Layout.Slots))
	for i, s := range x.Layout.Slots {
		out[i] = get(v, s)
	}
	return out, nil
}

// WriteRegister implements target.Switch.
func (c *Control) WriteRegister(name string, index int, v [][]byte) error {
	x, err := lookup(c.registers, "register", name)
	if err != nil {
		return err
	}
	if err := checkIndex(index, x.Size); err != nil {
		return fmt.Errorf("register %q: %w", x.Name, err)
	}
	if len(v) != len(x.Layout.Slots) {
		return fmt.Errorf("register %q: %w: %d values for %d fields", x.Name, target.ErrInvalid, len(v), len(x.Layout.Slots))
	}
	m, err := c.mapOf(x.Map)
	if err != nil {
		return fmt.Errorf("register %q: %w", x.Name, err)
	}
	buf := make([]byte, x.Layout.Size)
	for i, s := range x.Layout.Slots {
		if err := checkWidth(v[i], s.Width); err != nil {
			return fmt.Errorf("register %q: %w", x.Name, err)
		}
		put(buf, s, v[i])
	}
	if err := m.Put(u32(uint32(index)), buf); err != nil {
		return fmt.Errorf("register %q: %w", x.Name, err)
	}
	return nil
}

// valueSet is the contents of a parser value set.
type valueSet struct {
	spec    *ebpf.ValueSet
	members [][]target.Match
	state   uint32
}

// ReadValueSet implements target.Switch.
func (c *Control) ReadValueSet(name string) ([][]target.Match, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := lookup(c.valueSets, "value set", name)
	if err != nil {
		return nil, err
	}
	return append([][]target.Match(nil), s.members...), nil
}

// WriteValueSet implements target.Switch.
func (c *Control) WriteValueSet(name string, members [][]target.Match) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := lookup(c.valueSets, "value set", name)
	if err != nil {
		return err
	}
	if err := c.writeValueSet(s, members); err != nil {
		return fmt.Errorf("value set %q: %w", s.spec.Name, err)
	}
	return nil
}

func (c *Control) writeValueSet(s *valueSet, members [][]target.Match) error {
	// The same expansion as a ternary table's.
	t := &table{spec: &ebpf.Table{Keys: s.spec.Keys, Key: s.spec.Key, Kind: ebpf.KindTuples}}
	u := &tuples{t: t}
	var els []element
	for i, ms := range members {
		e, err := t.checkMatch(target.Entry{Match: ms})
		if err != nil {
			return fmt.Errorf("member %d: %w", i, err)
		}
		more, err := u.elements(&stored{entry: e})
		if err != nil {
			return fmt.Errorf("member %d: %w", i, err)
		}
		els = append(els, more...)
	}
	if len(els) > s.spec.Size {
		return fmt.Errorf("%w: it needs %d values with masks of at most %d", target.ErrFull, len(els), s.spec.Size)
	}
	m, err := c.mapOf(s.spec.Map)
	if err != nil {
		return err
	}
	state, err := c.mapOf(s.spec.State)
	if err != nil {
		return err
	}
	size := s.spec.Key.Size
	buf := make([]byte, 8+2*size*s.spec.Size)
	copy(buf, u32(uint32(len(els))))
	for i, el := range els {
		copy(buf[8+2*size*i:], el.value)
		copy(buf[8+2*size*i+size:], el.mask)
	}
	next := 1 - s.state
	if err := m.Put(u32(next), buf); err != nil {
		return err
	}
	if err := state.Put(u32(0), u32(next)); err != nil {
		return err
	}
	s.state, s.members = next, append([][]target.Match(nil), members...)
	return nil
}
