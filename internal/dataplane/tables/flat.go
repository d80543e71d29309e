package tables

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// flat is the engine of exact and lpm tables: an entry is a map element.
type flat struct {
	t *table
	m Map
}

// key encodes an entry's key.
func (f *flat) key(e *stored) []byte {
	lead := 0
	if f.t.spec.Kind == ebpf.KindLPM {
		lead = 4
	}
	buf := make([]byte, lead+f.t.spec.Key.Size)
	for _, slot := range f.t.spec.Key.Slots {
		m := f.match(e, slot.Name)
		put(buf[lead:], slot, m.Value)
		if slot.Big {
			copy(buf, u32(uint32(8*slot.Offset+m.PrefixLen)))
		}
	}
	return buf
}

// match returns the entry's match of the named key.
func (f *flat) match(e *stored, name string) target.Match {
	for i, k := range f.t.spec.Keys {
		if k.Name == name {
			return e.entry.Match[i]
		}
	}
	return target.Match{}
}

func (f *flat) insert(e *stored) error            { return full(f.m.Put(f.key(e), e.value)) }
func (f *flat) modify(_ *stored, e *stored) error { return full(f.m.Put(f.key(e), e.value)) }
func (f *flat) remove(e *stored) error            { return f.m.Delete(f.key(e)) }

// full tells apart that a map has no room.
func full(err error) error {
	if errors.Is(err, syscall.E2BIG) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.ENOMEM) {
		return fmt.Errorf("%w: %w", target.ErrFull, err)
	}
	return err
}
