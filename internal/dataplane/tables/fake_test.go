package tables

import (
	"encoding/binary"
	"syscall"

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

// fakeProgram does with a table what the generated program does.
type fakeProgram struct {
	spec *ebpf.Table
	maps map[string]*fakeMap
}

func newFakeProgram(t *ebpf.Table) *fakeProgram {
	p := &fakeProgram{spec: t, maps: map[string]*fakeMap{}}
	for _, n := range []string{t.Map, t.Masks, t.State} {
		if n != "" {
			p.maps[n] = newFake(1 << 20)
		}
	}
	p.maps[t.Filters] = newFake(1 << 20)
	if t.State != "" {
		p.maps[t.State].m[string(u32(0))] = make([]byte, stateSize(t))
	}
	return p
}

func (p *fakeProgram) control() (*Control, error) {
	ms := map[string]Map{}
	for n, m := range p.maps {
		ms[n] = m
	}
	return New(&ebpf.Spec{Tables: []*ebpf.Table{p.spec}, StateSize: stateSize(p.spec)}, ms, 2, nil, nil)
}

// stateSize is the size of the states of a program with one table.
func stateSize(t *ebpf.Table) int { return t.StateAt + ebpf.StateValue + 2*t.ValueSize }

// search returns the first parameter byte of the action that a packet with the key
// gets, or -1 for the default.
func (p *fakeProgram) search(key []byte) int {
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
		v = p.searchTuples(key)
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

func (p *fakeProgram) searchTuples(key []byte) []byte {
	var best []byte
	prio := func(v []byte) uint32 { return binary.NativeEndian.Uint32(v[4:]) }
	gen := binary.NativeEndian.Uint32(p.maps[p.spec.State].m[string(u32(0))][p.spec.StateAt:])
	list, stride := p.maps[p.spec.Masks].m[string(u32(gen))], ebpf.MaskStride(len(key))
	for ; len(list) > 0; list = list[stride:] {
		m := list[:stride]
		first := binary.NativeEndian.Uint32(m)
		if first == 0 {
			break
		}
		if best != nil && prio(best) >= first-1 {
			break
		}
		var tuple []byte
		for j, b := range key {
			tuple = append(tuple, b&m[8+j])
		}
		bit := p.spec.FilterBit(tuple)
		word := uint32(p.spec.FilterAt) + binary.NativeEndian.Uint32(m[4:]) + bit/64
		if f := p.maps[p.spec.Filters].m[string(u32(word))]; f == nil || binary.NativeEndian.Uint64(f)>>(bit%64)&1 == 0 {
			continue
		}
		if v := p.maps[p.spec.Map].m[string(tuple)]; v != nil && (best == nil || prio(v) > prio(best)) {
			best = v
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
		t.Masks, t.FilterBits = "t_masks", 6 // so few that elements share bits
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
