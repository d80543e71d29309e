package dataplane

import (
	"encoding/binary"
	"fmt"

	cebpf "github.com/cilium/ebpf"

	"github.com/catena-nfv/catena/internal/dataplane/tables"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
)

// inMemory replaces the maps that are data of the program, addressed by it without a look-up: they have one element for
// the kernel, and several, of which one at a time is written, for the control plane.
func (p *Program) inMemory(maps map[string]tables.Map) error {
	sizes := map[string]int{ebpf.MapFiltersData: 8}
	for _, t := range p.Spec.Tables {
		if t.Kind == ebpf.KindTuples {
			sizes[t.Masks] = ebpf.MaxMasks * ebpf.MaskStride(t.Key.Size)
		}
	}
	for name, size := range sizes {
		m := p.Maps[name]
		if m == nil {
			continue
		}
		memory, err := m.Memory()
		if err != nil {
			return fmt.Errorf("program %q: memory of map %s: %w", p.Spec.Name, name, err)
		}
		maps[name] = memoryMap{memory, size}
	}
	return nil
}

// memoryMap is an array in the memory of a map with one element, as tables.Map. Packets read it meanwhile: words (u64)
// are written at once, larger elements are such that no packet looks at.
type memoryMap struct {
	memory *cebpf.Memory
	size   int // of an element
}

func (m memoryMap) at(key any) (int64, error) {
	k, ok := key.([]byte)
	if !ok || len(k) != 4 {
		return 0, fmt.Errorf("an index is 4 bytes, not %v", key)
	}
	return int64(m.size) * int64(binary.NativeEndian.Uint32(k)), nil
}

// Put writes an element.
func (m memoryMap) Put(key, value any) error {
	v, ok := value.([]byte)
	if !ok || len(v) != m.size {
		return fmt.Errorf("an element is %d bytes, not %v", m.size, value)
	}
	at, err := m.at(key)
	if err == nil {
		_, err = m.memory.WriteAt(v, at)
	}
	return err
}

// Delete makes an element zero.
func (m memoryMap) Delete(key any) error { return m.Put(key, make([]byte, m.size)) }

// Lookup reads an element to a *[]byte.
func (m memoryMap) Lookup(key, valueOut any) error {
	out, ok := valueOut.(*[]byte)
	if !ok {
		return fmt.Errorf("an element cannot be read to %T", valueOut)
	}
	at, err := m.at(key)
	if err != nil {
		return err
	}
	*out = make([]byte, m.size)
	_, err = m.memory.ReadAt(*out, at)
	return err
}
