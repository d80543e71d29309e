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
// For each different mask there is, in one array, an element for each value under
// it. The program tries the masks in the order of the best priority that their
// entries have and stops when no better one can follow.
//
// An entry with ranges becomes one element for each combination of prefixes. Of
// entries that share mask and value, the one with the best priority is in the map.
type tuples struct {
	t       *table
	els     *elements
	list    Memory // masks, two generations
	putDone func() error

	masks map[string]*tupleMask // by the mask's bytes
	next  uint32                // mask number to try
	stale bool                  // the list in force is not what masks says
}

// tupleMask is a mask and the elements under it.
type tupleMask struct {
	id    uint32
	bytes []byte
	slots map[string]*shared // by value
	prios map[int]int        // how many entries have a priority
	best  int                // the highest of prios
}

// shared is the entries of a mask and value, best first, of which the first is in the element.
type shared struct {
	entries []*stored
	slot    uint32
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

func newTuples(t *table, els *elements, list Memory, putDone func() error) *tuples {
	return &tuples{t: t, els: els, list: list, putDone: putDone, masks: map[string]*tupleMask{}, next: 1}
}

func newMask(id uint32, bytes []byte) *tupleMask {
	return &tupleMask{id: id, bytes: bytes, slots: map[string]*shared{}, prios: map[int]int{}}
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
	for u.els.crowded(len(els)) {
		if err := u.grow(); err != nil {
			return err
		}
	}
	for i, el := range els {
		if err := u.add(el, e); err != nil {
			return errors.Join(err, u.undo(els[:i], e))
		}
	}
	if err := u.publish(); err != nil {
		return errors.Join(err, u.undo(els, e))
	}
	return nil
}

// undo takes an entry back that is at some of its places.
func (u *tuples) undo(els []element, e *stored) error {
	var errs []error
	for _, el := range els {
		errs = append(errs, u.drop(el, e))
	}
	return errors.Join(append(errs, u.publish())...)
}

// grow goes on to the next level of the index.
func (u *tuples) grow() error {
	return u.els.grow(func() error {
		u.stale = true
		return u.publish()
	})
}

// add puts an entry at one of its places; unless its mask is new, packets find it.
func (u *tuples) add(el element, e *stored) error {
	m := u.masks[string(el.mask)]
	if m == nil {
		m = newMask(u.free(), el.mask)
		u.masks[string(el.mask)] = m
		u.stale = true
	}
	if err := u.put(m, el, e); err != nil {
		u.forget(m)
		return err
	}
	if m.count(u.rank(e), 1) {
		u.stale = true
	}
	return nil
}

// put is add for a mask.
func (u *tuples) put(m *tupleMask, el element, e *stored) error {
	key := u.key(m, el.value)
	at := m.slots[string(el.value)]
	if at == nil {
		for u.els.tight(key) {
			if err := u.grow(); err != nil {
				return err
			}
		}
		slot, err := u.els.insert(key, e.value)
		if err == nil {
			m.slots[string(el.value)] = &shared{[]*stored{e}, slot}
		}
		return err
	}
	list := append(slices.Clone(at.entries), e)
	sort.SliceStable(list, func(i, j int) bool { return u.better(list[i], list[j]) })
	if list[0] == e {
		if err := u.replace(at, key, e); err != nil {
			return err
		}
	}
	at.entries = list
	return nil
}

// replace puts an entry in the place of that in an element.
func (u *tuples) replace(at *shared, key []byte, e *stored) error {
	slot, err := u.els.replace(at.slot, key, e.value)
	if err == nil {
		at.slot = slot
	}
	return err
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
	at := m.slots[string(el.value)]
	if at == nil {
		return nil
	}
	i := slices.IndexFunc(at.entries, func(s *stored) bool { return s.id == e.id })
	switch {
	case i < 0:
		return nil
	case len(at.entries) == 1:
		if err := u.els.remove(at.slot); err != nil {
			return err
		}
		delete(m.slots, string(el.value))
	default:
		if i == 0 {
			if err := u.replace(at, u.key(m, el.value), at.entries[1]); err != nil {
				return err
			}
		}
		at.entries = slices.Delete(slices.Clone(at.entries), i, i+1)
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
		at := m.slots[string(el.value)]
		i := slices.IndexFunc(at.entries, func(s *stored) bool { return s.id == old.id })
		if i == 0 {
			if err := u.replace(at, u.key(m, el.value), e); err != nil {
				return err
			}
		}
		at.entries[i] = e
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
	list := u.encodeMasks()
	if err := u.list.Write(int(next)*len(list), list); err != nil {
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
		at := list[i*stride:]
		copy(at, u32(uint32(m.best)+1))
		copy(at[4:], u32(1<<u.els.level))
		copy(at[8:], u32(uint32(ebpf.IndexShift(u.els.level))))
		copy(at[ebpf.MaskKey:], u.key(m, m.bytes))
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

// places are the slots of an entry's elements, ebpf.NoSlot where another entry is in the element.
func (u *tuples) places(e *stored) ([]uint32, error) {
	els, err := u.elements(e)
	if err != nil {
		return nil, err
	}
	out := make([]uint32, len(els))
	for i, el := range els {
		out[i] = ebpf.NoSlot
		if at := u.masks[string(el.mask)].slots[string(el.value)]; at.entries[0] == e {
			out[i] = at.slot
		}
	}
	return out, nil
}

// adopt notes entries that are in the maps already, with their places. Unless they are the predecessor's, too, it writes
// the words of the index.
func (u *tuples) adopt(entries []*stored, places [][]uint32, old TableContents, index bool) error {
	wrong := fmt.Errorf("%w: the predecessor's contents do not say where their entries are", target.ErrInvalid)
	for _, m := range old.Masks {
		u.masks[string(m.Mask)] = newMask(m.ID, m.Mask)
		u.next = max(u.next, m.ID+1)
	}
	sums := map[uint32]uint64{}
	for n, e := range entries {
		els, err := u.elements(e)
		if err != nil {
			return err
		}
		if len(els) != len(places[n]) {
			return wrong
		}
		for i, el := range els {
			m := u.masks[string(el.mask)]
			if m == nil {
				return wrong
			}
			at := m.slots[string(el.value)]
			if at == nil {
				at = &shared{slot: ebpf.NoSlot}
				m.slots[string(el.value)] = at
			}
			if slot := places[n][i]; slot != ebpf.NoSlot {
				at.slot = slot
				sums[slot] = u.t.spec.Sum(u.key(m, el.value))
				at.entries = slices.Insert(at.entries, 0, e) // also of entries that are as good
			} else {
				at.entries = append(at.entries, e)
			}
			sort.SliceStable(at.entries, func(i, j int) bool { return u.better(at.entries[i], at.entries[j]) })
			m.count(u.rank(e), 1)
		}
	}
	for _, m := range u.masks {
		for _, at := range m.slots {
			if at.slot >= old.Fresh {
				return wrong
			}
		}
	}
	return u.els.adopt(old.Level, old.Fresh, sums, index)
}

func bitCount(b []byte) int {
	n := 0
	for _, x := range b {
		n += bits.OnesCount8(x)
	}
	return n
}
