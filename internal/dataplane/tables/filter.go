package tables

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
)

// filter is the filter of a mask: which bits are set for how many elements. See ebpf.Table.
type filter struct {
	slot  int // which of the table's
	uses  map[uint32]int
	words map[uint32]uint64 // that are not zero
}

func newFilter(slot int) filter {
	return filter{slot: slot, uses: map[uint32]int{}, words: map[uint32]uint64{}}
}

// set counts an element with a bit, and tells whether that changes the bit.
func (f *filter) set(bit uint32) bool {
	f.uses[bit]++
	f.words[bit/64] |= 1 << (bit % 64)
	return f.uses[bit] == 1
}

// clear takes the element away.
func (f *filter) clear(bit uint32) bool {
	f.uses[bit]--
	if f.uses[bit] > 0 {
		return false
	}
	delete(f.uses, bit)
	f.words[bit/64] &^= 1 << (bit % 64)
	return true
}

// freeSlot returns a slot that no mask has. Packets that are under way with an older list may still ask the filter for
// the mask that had it: that mask has no elements any more, so that any answer is right.
func (u *tuples) freeSlot() int {
	var used [ebpf.MaxMasks]bool
	for _, m := range u.masks {
		used[m.slot] = true
	}
	return slices.Index(used[:], false)
}

// note tells the filter that there will be an element.
func (u *tuples) note(m *tupleMask, key []byte) error {
	bit := u.t.spec.FilterBit(key)
	if !m.set(bit) {
		return nil
	}
	err := u.putWord(m, bit/64)
	if err != nil {
		m.clear(bit)
	}
	return err
}

// unnote tells the filter that an element is gone.
func (u *tuples) unnote(m *tupleMask, key []byte) error {
	bit := u.t.spec.FilterBit(key)
	if !m.clear(bit) {
		return nil
	}
	err := u.putWord(m, bit/64)
	if m.words[bit/64] == 0 {
		delete(m.words, bit/64)
	}
	return err
}

func (u *tuples) putWord(m *tupleMask, word uint32) error {
	at := u.t.spec.FilterAt + m.slot*u.t.spec.FilterWords()
	if err := u.filters.Put(u32(uint32(at)+word), binary.NativeEndian.AppendUint64(nil, m.words[word])); err != nil {
		return fmt.Errorf("filter: %w", err)
	}
	return nil
}

// putFilters writes all filters: to a program whose map of filters is new.
func (u *tuples) putFilters() error {
	for _, m := range u.order() {
		for _, word := range slices.Sorted(maps.Keys(m.words)) {
			if err := u.putWord(m, word); err != nil {
				return err
			}
		}
	}
	return nil
}
