package dataplane

import (
	"fmt"
	"sync/atomic"

	cebpf "github.com/cilium/ebpf"

	"github.com/catena-nfv/catena/internal/dataplane/tables"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
)

// memory maps the maps of the program's tuple spaces into this process.
func (p *Program) memory() (map[string]tables.Memory, error) {
	out := map[string]tables.Memory{}
	for _, t := range p.Spec.Tables {
		if t.Kind != ebpf.KindTuples {
			continue
		}
		for _, name := range []string{t.Map, t.Index, t.Masks} {
			m := p.Maps[name]
			if m == nil || out[name] != nil { // no packet looks the table up; tables share an index
				continue
			}
			memory, err := m.Memory()
			if err != nil {
				return nil, fmt.Errorf("program %q: memory of map %s: %w", p.Spec.Name, name, err)
			}
			out[name] = &mapMemory{memory: memory}
		}
	}
	return out, nil
}

// mapMemory is the memory of an array as tables.Memory.
type mapMemory struct {
	memory *cebpf.Memory
	order  atomic.Uint32
}

// Write implements tables.Memory.
func (m *mapMemory) Write(at int, data []byte) error {
	m.order.Add(1) // processors that reorder stores keep what was written before in front of this
	_, err := m.memory.WriteAt(data, int64(at))
	return err
}

// Read implements tables.Memory.
func (m *mapMemory) Read(at, bytes int) ([]byte, error) {
	out := make([]byte, bytes)
	_, err := m.memory.ReadAt(out, int64(at))
	return out, err
}
