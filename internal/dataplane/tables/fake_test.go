package tables

import (
	"encoding/binary"
	"slices"
	"syscall"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
)

// fakeMap is a map in memory. after is called behind each change.
type fakeMap struct {
	m     map[string][]byte
	max   int
	after func()
}

func newFake(max int) *fakeMap { return &fakeMap{m: map[string][]byte{}, max: max, after: func() {}} }

func (f *fakeMap) Put(key, value any) error {
	k := string(key.([]byte))
	if _, ok := f.m[k]; !ok && len(f.m) >= f.max {
		return syscall.E2BIG
	}
	switch v := value.(type) {
	case []byte:
		f.m[k] = append([]byte(nil), v...)
	case [][]byte: // one for each CPU
		var all []byte
		for _, c := range v {
			all = append(all, c...)
		}
		f.m[k] = all
	}
	f.after()
	return nil
}

func (f *fakeMap) Delete(key any) error {
	k := string(key.([]byte))
	if _, ok := f.m[k]; !ok {
		return syscall.ENOENT
	}
	delete(f.m, k)
	f.after()
	return nil
}

func (f *fakeMap) Lookup(key, out any) error {
	v, ok := f.m[string(key.([]byte))]
	if !ok {
		return syscall.ENOENT
	}
	switch o := out.(type) {
	case *[]byte:
		*o = append([]byte(nil), v...)
	case *[][]byte:
		n := len(v) / len(*o)
		for i := range *o {
			(*o)[i] = append([]byte(nil), v[i*n:(i+1)*n]...)
		}
	}
	return nil
}

// fakeMemory is the memory of a map. after is called behind each change.
type fakeMemory struct {
	b     []byte
	after func()
}

func (f *fakeMemory) Write(at int, data []byte) error {
	copy(f.b[at:at+len(data)], data)
	f.after()
	return nil
}

func (f *fakeMemory) Read(at, bytes int) ([]byte, error) {
	return slices.Clone(f.b[at : at+bytes]), nil
}

func (f *fakeMemory) u32(at int) uint32 { return binary.NativeEndian.Uint32(f.b[at:]) }

// fakeProgram does with a table what the generated program does.
type fakeProgram struct {
	spec   *ebpf.Table
	maps   map[string]*fakeMap
	memory map[string]*fakeMemory
	wait   func()
}

func newFakeProgram(t *ebpf.Table) *fakeProgram {
	p := &fakeProgram{spec: t, maps: map[string]*fakeMap{}, memory: map[string]*fakeMemory{}, wait: func() {}}
	memory := func(name string, bytes int) {
		p.memory[name] = &fakeMemory{make([]byte, bytes), func() {}}
	}
	if t.Kind == ebpf.KindTuples {
		memory(t.Map, t.Slots*t.ElementSize)
		memory(t.Index, t.FirstAt+4*2<<t.IndexBits)
		memory(t.Masks, 2*ebpf.MaxMasks*ebpf.MaskStride(t.Key.Size))
	} else {
		p.maps[t.Map] = newFake(1 << 20)
	}
	if t.State != "" {
		p.maps[t.State] = newFake(1 << 20)
		p.maps[t.State].m[string(u32(0))] = make([]byte, stateSize(t))
	}
	return p
}

// onChange is called behind each change of what the program reads.
func (p *fakeProgram) onChange(f func()) {
	for _, m := range p.maps {
		m.after = f
	}
	for _, m := range p.memory {
		m.after = f
	}
}

func (p *fakeProgram) kernel() Kernel {
	k := Kernel{Maps: map[string]Map{}, Memory: map[string]Memory{}, CPUs: 2, Wait: func() error { p.wait(); return nil }}
	for n, m := range p.maps {
		k.Maps[n] = m
	}
	for n, m := range p.memory {
		k.Memory[n] = m
	}
	return k
}

func (p *fakeProgram) control() (*Control, error) {
	return New(&ebpf.Spec{Tables: []*ebpf.Table{p.spec}, StateSize: stateSize(p.spec)}, p.kernel(), nil, nil)
}

// word is a word of the index, and the slot that its chain begins with.
func (p *fakeProgram) word(at int) (filter uint64, first uint32) {
	index := p.memory[p.spec.Index]
	return binary.NativeEndian.Uint64(index.b[8*(p.spec.IndexAt+at):]), index.u32(p.spec.FirstAt + 4*at)
}

// elements is how many elements packets can find.
func (p *fakeProgram) elements(t *testing.T, c *Control) int {
	if p.spec.Kind != ebpf.KindTuples {
		return len(p.maps[p.spec.Map].m)
	}
	x := c.tables["t"].engine.(*tuples).els
	n := 0
	for word := 1 << x.level; word < 2<<x.level; word++ {
		if filter, slot := p.word(word); filter != 0 {
			for ; slot != ebpf.NoSlot; n++ {
				slot = p.memory[p.spec.Map].u32(int(slot)*p.spec.ElementSize + p.spec.NextAt)
			}
		}
	}
	if n != x.count {
		t.Errorf("%d elements are linked, of %d", n, x.count)
	}
	return n
}

// stateSize is the size of the states of a program with one table.
func stateSize(t *ebpf.Table) int { return t.StateAt + ebpf.StateValue + 2*t.ValueSize }

// search returns the first parameter byte of the action that a packet with the key
// gets, or -1 for the default.
func (p *fakeProgram) search(key []byte) int { return p.searchSlowly(key, func() {}) }

// searchSlowly is search with a pause before each look at what the control plane writes.
func (p *fakeProgram) searchSlowly(key []byte, pause func()) int {
	var v []byte
	switch p.spec.Kind {
	case ebpf.KindHash:
		v = p.maps[p.spec.Map].m[string(key)]
	case ebpf.KindLPM:
		best := -1
		for k, x := range p.maps[p.spec.Map].m {
			n := int(binary.NativeEndian.Uint32([]byte(k)))
			if n > best && prefixEqual([]byte(k)[4:], key, n) {
				best, v = n, x
			}
		}
	case ebpf.KindTuples:
		v = p.searchTuples(key, pause)
	}
	if v == nil {
		return -1
	}
	return int(v[p.spec.Actions[0].Params.Slots[0].Offset])
}

func prefixEqual(a, b []byte, n int) bool {
	for i := range n {
		if (a[i/8]^b[i/8])>>(7-i%8)&1 != 0 {
			return false
		}
	}
	return true
}

func (p *fakeProgram) searchTuples(key []byte, pause func()) []byte {
	var best []byte
	prio := func(v []byte) uint32 { return binary.NativeEndian.Uint32(v[4:]) }
	gen := binary.NativeEndian.Uint32(p.maps[p.spec.State].m[string(u32(0))][p.spec.StateAt:])
	stride := ebpf.MaskStride(len(key))
	elements, masks := p.memory[p.spec.Map], p.memory[p.spec.Masks]
	for i := range ebpf.MaxMasks {
		pause()
		m := masks.b[(int(gen)*ebpf.MaxMasks+i)*stride:][:stride]
		first := binary.NativeEndian.Uint32(m)
		if first == 0 || best != nil && prio(best) >= first-1 {
			break
		}
		var tuple []byte
		for j, b := range key {
			tuple = append(tuple, b&m[ebpf.MaskKey+j])
		}
		at, filter := ebpf.IndexWord(p.spec.Sum(tuple), int(binary.NativeEndian.Uint32(m[8:])))
		at += int(binary.NativeEndian.Uint32(m[4:]))
		pause()
		if f, _ := p.word(at); f&filter != filter {
			continue
		}
		pause()
		_, slot := p.word(at)
		for range ebpf.MaxChain {
			if slot == ebpf.NoSlot {
				break
			}
			pause()
			e := elements.b[int(slot)*p.spec.ElementSize:][:p.spec.ElementSize]
			if string(e[:len(tuple)]) == string(tuple) {
				pause()
				if v := e[p.spec.ValueAt:][:p.spec.ValueSize]; best == nil || prio(v) > prio(best) {
					best = slices.Clone(v)
				}
				break
			}
			slot = binary.NativeEndian.Uint32(e[p.spec.NextAt:])
		}
	}
	return best
}

// testTable describes a table with the given keys and one action with a parameter.
func testTable(kind ebpf.TableKind, keys ...ebpf.Key) *ebpf.Table {
	t := &ebpf.Table{
		Name: "t", Kind: kind, Map: "t", Keys: keys, ValueSize: 16, Size: 4096,
		Actions: []*ebpf.Action{{Name: "act", Params: ebpf.Layout{Slots: []ebpf.Slot{{Name: "x", Width: 8, Offset: 12, Bytes: 1}}, Size: 13}}},
		Value:   ebpf.Layout{Slots: []ebpf.Slot{{Name: "action", Width: 32, Bytes: 4}}, Size: 4}, State: ebpf.MapTables,
		DefaultAction: ebpf.Call{Args: [][]byte{{0}}},
	}
	if kind == ebpf.KindTuples {
		t.Masks, t.Index, t.IndexBits, t.FirstAt, t.Slots = "t_masks", "tuples", 8, 8*512, 700
		t.Value.Slots = append(t.Value.Slots, ebpf.Slot{Name: "priority", Width: 32, Offset: 4, Bytes: 4})
	}
	at := 0
	for _, k := range keys {
		s := ebpf.Slot{Name: k.Name, Width: k.Width, Offset: at, Bytes: 1}
		for 8*s.Bytes < k.Width {
			s.Bytes *= 2
		}
		if kind == ebpf.KindLPM && k.Match == "lpm" {
			s.Big, s.Bytes = true, (k.Width+7)/8
		}
		t.Key.Slots = append(t.Key.Slots, s)
		at += s.Bytes
	}
	t.Key.Size = (at + 3) / 4 * 4
	if kind == ebpf.KindTuples {
		t.MaskNumber = ebpf.Slot{Width: 8, Bytes: 1, Offset: t.Key.Size}
		t.Key.Size += 4
		t.NextAt, t.ValueAt = t.Key.Size, t.Key.Size+4
		t.ElementSize = (t.ValueAt + t.ValueSize + 7) / 8 * 8
	}
	return t
}

// keyBytes lays values out as the program does.
func keyBytes(t *ebpf.Table, values ...uint64) []byte {
	buf := make([]byte, t.Key.Size)
	for i, v := range values {
		put(buf, t.Key.Slots[i], binary.BigEndian.AppendUint64(nil, v))
	}
	if t.Kind == ebpf.KindTuples {
		buf[t.MaskNumber.Offset] = 0xff
	}
	return buf
}
