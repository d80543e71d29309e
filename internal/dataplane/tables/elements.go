package tables

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// elements is the array of a tuple space's elements and its index: see ebpf.Table. A change is written such that packets
// meet the elements before or after it: by one word, the last of its writes that matters to them.
type elements struct {
	spec   *ebpf.Table
	memory Memory // the elements
	index  Memory
	wait   func() error

	level  int                 // in force: the logarithm of its words
	chains map[uint32][]uint32 // by word: the slots, by rising sum
	sums   []uint64            // by slot
	count  int

	fresh   uint32   // the first slot that was never used
	free    []uint32 // slots that no packet sees
	retired []uint32 // slots that packets under way may still see
}

func newElements(spec *ebpf.Table, memory, index Memory, wait func() error) *elements {
	return &elements{spec: spec, memory: memory, index: index, wait: wait, level: spec.FirstIndexBits(), chains: map[uint32][]uint32{}}
}

// word is the word that leads to an element, on the level in force.
func (x *elements) word(sum uint64) uint32 {
	at, _ := ebpf.IndexWord(sum, ebpf.IndexShift(x.level))
	return uint32(at)
}

// filter writes the word of a chain, by which packets know what may be in it.
func (x *elements) filter(at uint32, chain []uint32) error {
	var word uint64
	for _, slot := range chain {
		_, f := ebpf.IndexWord(x.sums[slot], ebpf.IndexShift(x.level))
		word |= f
	}
	return x.index.Write(8*(x.spec.IndexAt+1<<x.level+int(at)), binary.NativeEndian.AppendUint64(nil, word))
}

// first writes with which element a chain begins.
func (x *elements) first(at, slot uint32) error {
	return x.index.Write(x.spec.FirstAt+4*(1<<x.level+int(at)), u32(slot))
}

// lead makes what stands before place i of a chain lead to it.
func (x *elements) lead(at uint32, chain []uint32, i int) error {
	next := uint32(ebpf.NoSlot)
	if i < len(chain) {
		next = chain[i]
	}
	if i == 0 {
		return x.first(at, next)
	}
	return x.link(chain[i-1], next)
}

// link writes what follows an element.
func (x *elements) link(slot, next uint32) error {
	return x.memory.Write(int(slot)*x.spec.ElementSize+x.spec.NextAt, u32(next))
}

// write fills a slot that no packet sees.
func (x *elements) write(slot uint32, key []byte, next uint32, value []byte) error {
	e := make([]byte, x.spec.ElementSize)
	copy(e, key)
	copy(e[x.spec.NextAt:], u32(next))
	copy(e[x.spec.ValueAt:], value)
	return x.memory.Write(int(slot)*x.spec.ElementSize, e)
}

// take returns a slot that no packet sees.
func (x *elements) take() (uint32, error) {
	if len(x.free) == 0 && int(x.fresh) >= x.spec.Slots && len(x.retired) > 0 {
		if err := x.wait(); err != nil {
			return 0, err
		}
		x.free, x.retired = x.retired, nil
	}
	if n := len(x.free); n > 0 {
		slot := x.free[n-1]
		x.free = x.free[:n-1]
		return slot, nil
	}
	if int(x.fresh) >= x.spec.Slots {
		return 0, fmt.Errorf("%w: the entries take %d elements", target.ErrFull, x.spec.Slots)
	}
	x.fresh++
	x.sums = append(x.sums, 0)
	return x.fresh - 1, nil
}

// insert adds an element and returns its slot.
func (x *elements) insert(key, value []byte) (uint32, error) {
	sum := x.spec.Sum(key)
	at := x.word(sum)
	chain := x.chains[at]
	if len(chain) >= ebpf.MaxChain {
		return 0, fmt.Errorf("%w: %d elements have hash values alike", target.ErrFull, len(chain)+1)
	}
	slot, err := x.take()
	if err != nil {
		return 0, err
	}
	x.sums[slot] = sum
	i := sort.Search(len(chain), func(i int) bool { return x.sums[chain[i]] >= sum })
	longer := slices.Insert(slices.Clone(chain), i, slot)
	if err := x.write(slot, key, after(longer, i), value); err != nil {
		return 0, err
	}
	// Packets find it by the last of these. An empty chain is known by its filter, and still begins with what it had.
	steps := []func() error{func() error { return x.filter(at, longer) }, func() error { return x.lead(at, longer, i) }}
	if len(chain) == 0 {
		slices.Reverse(steps)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return 0, err
		}
	}
	x.chains[at] = longer
	x.count++
	return slot, nil
}

// after is what follows the element at place i of a chain.
func after(chain []uint32, i int) uint32 {
	if i+1 < len(chain) {
		return chain[i+1]
	}
	return ebpf.NoSlot
}

// replace gives an element another value, and with it another slot.
func (x *elements) replace(old uint32, key, value []byte) (uint32, error) {
	slot, err := x.take()
	if err != nil {
		return 0, err
	}
	x.sums[slot] = x.sums[old]
	at := x.word(x.sums[old])
	chain := slices.Clone(x.chains[at])
	i := slices.Index(chain, old)
	chain[i] = slot
	if err := x.write(slot, key, after(chain, i), value); err != nil {
		return 0, err
	}
	if err := x.lead(at, chain, i); err != nil {
		return 0, err
	}
	x.chains[at] = chain
	x.retired = append(x.retired, old)
	return slot, nil
}

// remove takes an element away.
func (x *elements) remove(slot uint32) error {
	at := x.word(x.sums[slot])
	i := slices.Index(x.chains[at], slot)
	chain := slices.Delete(slices.Clone(x.chains[at]), i, i+1)
	if len(chain) > 0 {
		if err := x.lead(at, chain, i); err != nil {
			return err
		}
	}
	if err := x.filter(at, chain); err != nil {
		return err
	}
	if x.chains[at] = chain; len(chain) == 0 {
		delete(x.chains, at)
	}
	x.retired = append(x.retired, slot)
	x.count--
	return nil
}

// roomy is up to which level, that the nearest cache holds, a word for each element is not enough.
const roomy = 10

// crowded tells whether so many elements more want a larger level of the index, and there is one.
func (x *elements) crowded(more int) bool {
	most := 1 << x.level * 3 / 4
	if x.level < roomy {
		most /= 3
	}
	return x.level < x.spec.IndexBits && x.count+more > most
}

// tight tells whether there is no room for an element where its key belongs, but may be on a larger level.
func (x *elements) tight(key []byte) bool {
	return x.level < x.spec.IndexBits && len(x.chains[x.word(x.spec.Sum(key))]) >= ebpf.MaxChain
}

// grow goes on to the next level of the index. publish makes packets use it. The chains stand by rising sum, and the level's
// words are the sums' high bits: each chain falls into two pieces, of which the first runs on into the second
// until no packet is left that needs it to.
func (x *elements) grow(publish func() error) error {
	old := x.chains
	x.level++
	x.chains = make(map[uint32][]uint32, 2*len(old))
	var last []uint32
	for _, at := range sortedKeys(old) {
		chain := old[at]
		half := sort.Search(len(chain), func(i int) bool { return x.word(x.sums[chain[i]]) != x.word(x.sums[chain[0]]) })
		for _, piece := range [][]uint32{chain[:half:half], chain[half:]} {
			if len(piece) == 0 {
				continue
			}
			word := x.word(x.sums[piece[0]])
			x.chains[word] = piece
			if err := errors.Join(x.first(word, piece[0]), x.filter(word, piece)); err != nil {
				return err
			}
		}
		if half < len(chain) {
			last = append(last, chain[half-1])
		}
	}
	if err := publish(); err != nil {
		return err
	}
	if len(last) == 0 {
		return nil
	}
	if err := x.wait(); err != nil {
		return err
	}
	for _, slot := range last {
		if err := x.link(slot, ebpf.NoSlot); err != nil {
			return err
		}
	}
	return nil
}

// adopt takes over an array that a predecessor has filled, whose elements have these sums by slot. Of the index
// only the words are written, and these only if they are not there.
func (x *elements) adopt(level int, fresh uint32, sums map[uint32]uint64, index bool) error {
	x.level, x.fresh, x.count = level, fresh, len(sums)
	x.sums = make([]uint64, fresh)
	for slot := range fresh {
		sum, used := sums[slot]
		if !used {
			x.retired = append(x.retired, slot)
			continue
		}
		x.sums[slot] = sum
		x.chains[x.word(sum)] = append(x.chains[x.word(sum)], slot)
	}
	for _, at := range sortedKeys(x.chains) {
		if err := x.order(x.chains[at]); err != nil {
			return err
		}
		if !index {
			continue
		}
		if err := errors.Join(x.first(at, x.chains[at][0]), x.filter(at, x.chains[at])); err != nil {
			return err
		}
	}
	return nil
}

// order brings a chain into the order in which its elements are linked.
func (x *elements) order(chain []uint32) error {
	before := map[uint32]uint32{} // by slot
	for _, slot := range chain {
		b, err := x.memory.Read(int(slot)*x.spec.ElementSize+x.spec.NextAt, 4)
		if err != nil {
			return err
		}
		before[binary.NativeEndian.Uint32(b)] = slot
	}
	at := uint32(ebpf.NoSlot)
	for i := len(chain) - 1; i >= 0; i-- {
		slot, ok := before[at]
		if !ok {
			return fmt.Errorf("%w: the predecessor's elements are not linked as its entries are", target.ErrInvalid)
		}
		chain[i], at = slot, slot
	}
	return nil
}
