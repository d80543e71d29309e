package tables

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sort"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// maxCubes is into how many elements the ranges of one entry may split.
const maxCubes = 1024

// tuples is the engine of tables with ternary, range or optional keys: a tuple space.
// For each different mask there is, in one hash map, an element for each value under
// it. The program tries the masks in the order of the best priority that their
// entries have and stops when no better one can follow.
//
// An entry with ranges becomes one element for each combination of prefixes. Of
// entries that share mask and value, the one with the best priority is in the map.
type tuples struct {
	t       *table
	m       Map // elements
	list    Map // masks, two generations
	filters Map
	putDone func() error

	masks map[string]*tupleMask // by the mask's bytes
	next  uint32                // mask number to try
	stale bool                  // the list in force is not what masks says
}

// tupleMask is a mask and the elements under it.
type tupleMask struct {
	id    uint32
	bytes []byte
	slots map[string][]*stored // by value: the entries, best first
	prios map[int]int          // how many entries have a priority
	best  int                  // the highest of prios
	filter
}

// key is the key in the element map of a value under a mask, and of the mask's own bytes what is in the list.
func (u *tuples) key(m *tupleMask, value []byte) []byte {
	out := slices.Clone(value)
	put(out, u.t.spec.MaskNumber, binary.BigEndian.AppendUint32(nil, m.id))
	return out
}

// free returns a number that no mask has, and of those the one that was in use the longest ago: packets may still
// be under way with an older list.
func (u *tuples) free() uint32 {
	used := map[uint32]bool{}
	for _, m := range u.masks {
		used[m.id] = true
	}
	last := uint32(1)<<u.t.spec.MaskNumber.Width - 1
	for {
		if u.next == 0 || u.next > last {
			u.next = 1
		}
		id := u.next
		u.next++
		if !used[id] {
			return id
		}
	}
}

// rank is what decides between entries: the priority or, where entries have none
// because all keys are prefixes, the length of these.
func (u *tuples) rank(e *stored) int {
	n := 0
	for i, k := range u.t.spec.Keys {
		switch k.Match {
		case "ternary", "range", "optional":
			return e.entry.Priority
		case "lpm":
			n += e.entry.Match[i].PrefixLen
		}
	}
	return n
}

// better tells whether the first of two entries with the same mask and value wins.
func (u *tuples) better(a, b *stored) bool { return u.rank(a) > u.rank(b) }

// count keeps prios and best up to date; n is 1 or -1. It tells whether best changed.
func (m *tupleMask) count(prio, n int) bool {
	m.prios[prio] += n
	if m.prios[prio] == 0 {
		delete(m.prios, prio)
	}
	best := m.best
	if n > 0 {
		m.best = max(m.best, prio)
	} else if prio == m.best && m.prios[prio] == 0 {
		m.best = 0
		for p := range m.prios {
			m.best = max(m.best, p)
		}
	}
	return m.best != best
}

func newTuples(t *table, m, list, filters Map, putDone func() error) *tuples {
	return &tuples{t: t, m: m, list: list, filters: filters, putDone: putDone, masks: map[string]*tupleMask{}, next: 1}
}

func newMask(id uint32, slot int, bytes []byte) *tupleMask {
	return &tupleMask{id: id, bytes: bytes, slots: map[string][]*stored{}, prios: map[int]int{}, filter: newFilter(slot)}
}

// element is an entry's place in the tuple space.
type element struct{ value, mask []byte }

// elements lists the places of an entry.
func (u *tuples) elements(e *stored) ([]element, error) {
	size := u.t.spec.Key.Size
	out := []element{{make([]byte, size), make([]byte, size)}}
	for i, k := range u.t.spec.Keys {
		slot, err := slotOf(u.t.spec.Key, k.Name)
		if err != nil {
			return nil, err
		}
		cs := cubes(k, e.entry.Match[i])
		if len(out)*len(cs) > maxCubes {
			return nil, fmt.Errorf("%w: the ranges of the entry need more than %d elements", target.ErrFull, maxCubes)
		}
		next := make([]element, 0, len(out)*len(cs))
		for _, el := range out {
			for _, c := range cs {
				n := element{append([]byte(nil), el.value...), append([]byte(nil), el.mask...)}
				put(n.value, slot, c.value)
				put(n.mask, slot, c.mask)
				next = append(next, n)
			}
		}
		out = next
	}
	return out, nil
}

func slotOf(l ebpf.Layout, name string) (ebpf.Slot, error) {
	for _, s := range l.Slots {
		if s.Name == name {
			return s, nil
		}
	}
	return ebpf.Slot{}, fmt.Errorf("key %q: %w in the layout", name, target.ErrNotFound)
}

func (u *tuples) insert(e *stored) error {
	els, err := u.elements(e)
	if err != nil {
		return err
	}
	fresh := map[string]bool{}
	for _, el := range els {
		if u.masks[string(el.mask)] == nil {
			fresh[string(el.mask)] = true
		}
	}
	if len(u.masks)+len(fresh) > ebpf.MaxMasks {
		return fmt.Errorf("%w: the entry needs %d new masks, and the table's entries have %d different ones of at most %d",
			target.ErrFull, len(fresh), len(u.masks), ebpf.MaxMasks)
	}
	for i, el := range els {
		if err := u.add(el, e); err != nil {
			for _, done := range els[:i] {
				_ = u.drop(done, e) // the first error is the one to tell
			}
			return err
		}
	}
	if err := u.publish(); err != nil {
		for _, done := range els {
			_ = u.drop(done, e)
		}
		return err
	}
	return nil
}

// add puts an entry at one of its places; unless its mask is new, packets find it.
func (u *tuples) add(el element, e *stored) error {
	m := u.masks[string(el.mask)]
	if m == nil {
		m = newMask(u.free(), u.freeSlot(), el.mask)
		u.masks[string(el.mask)] = m
		u.stale = true
	}
	list := append(append([]*stored(nil), m.slots[string(el.value)]...), e)
	sort.SliceStable(list, func(i, j int) bool { return u.better(list[i], list[j]) })
	key := u.key(m, el.value)
	if len(list) == 1 {
		// Before the element is there, since packets ask the filter first.
		if err := u.note(m, key); err != nil {
			u.forget(m)
			return err
		}
	}
	if list[0] == e {
		if err := full(u.m.Put(key, e.value)); err != nil {
			if len(list) == 1 {
				err = errors.Join(err, u.unnote(m, key))
			}
			u.forget(m)
			return err
		}
	}
	m.slots[string(el.value)] = list
	if m.count(u.rank(e), 1) {
		u.stale = true
	}
	return nil
}

// forget takes a new mask back that has got no entry.
func (u *tuples) forget(m *tupleMask) {
	if len(m.slots) == 0 {
		delete(u.masks, string(m.bytes))
	}
}

// drop takes an entry away from one of its places.
func (u *tuples) drop(el element, e *stored) error {
	m := u.masks[string(el.mask)]
	if m == nil {
		return nil
	}
	old := m.slots[string(el.value)]
	var list []*stored
	for _, s := range old {
		if s.id != e.id {
			list = append(list, s)
		}
	}
	key := u.key(m, el.value)
	switch {
	case len(list) == len(old):
		return nil
	case len(list) == 0:
		if err := u.m.Delete(key); err != nil {
			return err
		}
		if err := u.unnote(m, key); err != nil {
			return err
		}
		delete(m.slots, string(el.value))
	default:
		if list[0] != old[0] {
			if err := u.m.Put(key, list[0].value); err != nil {
				return err
			}
		}
		m.slots[string(el.value)] = list
	}
	if m.count(u.rank(e), -1) {
		u.stale = true
	}
	if len(m.slots) == 0 {
		delete(u.masks, string(m.bytes))
		u.stale = true
	}
	return nil
}

func (u *tuples) modify(old, e *stored) error {
	els, err := u.elements(e)
	if err != nil {
		return err
	}
	for _, el := range els {
		m := u.masks[string(el.mask)]
		list := m.slots[string(el.value)]
		for i, s := range list {
			if s.id != old.id {
				continue
			}
			if i == 0 {
				if err := u.m.Put(u.key(m, el.value), e.value); err != nil {
					return err
				}
			}
			list[i] = e
		}
	}
	return nil
}

func (u *tuples) remove(e *stored) error {
	els, err := u.elements(e)
	if err != nil {
		return err
	}
	for _, el := range els {
		if err := u.drop(el, e); err != nil {
			return err
		}
	}
	return u.publish()
}

// publish writes the list of masks to the generation that is not in force and puts it
// in force, unless nothing that packets see has changed.
func (u *tuples) publish() error {
	if !u.stale {
		return nil
	}
	next := 1 - u.t.state.Masks
	if err := u.list.Put(u32(next), u.encodeMasks()); err != nil {
		return err
	}
	u.t.state.Masks = next
	if err := u.putDone(); err != nil {
		return err
	}
	u.stale = false
	return nil
}

// encodeMasks is a generation of the list: the masks in their order, then zeros.
func (u *tuples) encodeMasks() []byte {
	stride := ebpf.MaskStride(u.t.spec.Key.Size)
	list := make([]byte, ebpf.MaxMasks*stride)
	for i, m := range u.order() {
		copy(list[i*stride:], slices.Concat(u32(uint32(m.best)+1), u32(uint32(m.slot*u.t.spec.FilterWords())), u.key(m, m.bytes)))
	}
	return list
}

// order returns the masks by falling best priority.
func (u *tuples) order() []*tupleMask {
	list := make([]*tupleMask, 0, len(u.masks))
	for _, m := range u.masks {
		list = append(list, m)
	}
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if a.best != b.best {
			return a.best > b.best
		}
		// Of entries with the same priority the one with more bits wins.
		if x, y := bitCount(a.bytes), bitCount(b.bytes); x != y {
			return x > y
		}
		return a.id < b.id
	})
	return list
}

// adopt notes an entry that is in the maps already.
func (u *tuples) adopt(e *stored) error {
	els, err := u.elements(e)
	if err != nil {
		return err
	}
	for _, el := range els {
		m := u.masks[string(el.mask)]
		if m == nil {
			return fmt.Errorf("%w: the predecessor's contents lack a mask of their entries", target.ErrInvalid)
		}
		list := append(m.slots[string(el.value)], e)
		if len(list) == 1 {
			m.set(u.t.spec.FilterBit(u.key(m, el.value)))
		}
		sort.SliceStable(list, func(i, j int) bool { return u.better(list[i], list[j]) })
		m.slots[string(el.value)] = list
		m.count(u.rank(e), 1)
	}
	return nil
}

func bitCount(b []byte) int {
	n := 0
	for _, x := range b {
		n += bits.OnesCount8(x)
	}
	return n
}
