package dataplane

import (
	"errors"
	"fmt"
	"sync"

	cebpf "github.com/cilium/ebpf"
)

// gracePeriod waits for the packets that are under way. The kernel does so when a map in a map is replaced, for the sake of
// programs like this one (commit 1ae80cf31938, "bpf: wait for running BPF programs when updating map-in-map"); it takes
// some milliseconds.
type gracePeriod struct {
	mu           sync.Mutex
	inner, outer *cebpf.Map // nil before they are needed
}

func (g *gracePeriod) wait() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.open(); err != nil {
		return fmt.Errorf("wait for packets under way: %w", err)
	}
	if err := g.outer.Put(uint32(0), g.inner); err != nil {
		return fmt.Errorf("wait for packets under way: %w", err)
	}
	return nil
}

func (g *gracePeriod) open() error {
	if g.outer != nil {
		return nil
	}
	spec := &cebpf.MapSpec{Name: "catena_grace", Type: cebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1}
	inner, err := cebpf.NewMap(spec)
	if err != nil {
		return err
	}
	outer, err := cebpf.NewMap(&cebpf.MapSpec{
		Name: "catena_graces", Type: cebpf.ArrayOfMaps, KeySize: 4, ValueSize: 4, MaxEntries: 1, InnerMap: spec,
	})
	if err != nil {
		return errors.Join(err, inner.Close())
	}
	g.inner, g.outer = inner, outer
	return nil
}

func (g *gracePeriod) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	err := errors.Join(g.inner.Close(), g.outer.Close()) // nil ones do nothing
	g.inner, g.outer = nil, nil
	return err
}
