package main

import (
	"context"
	"sync"

	"github.com/catena-nfv/catena/internal/agent"
	"github.com/catena-nfv/catena/internal/mirror"
	"github.com/catena-nfv/catena/internal/orch"
	"github.com/catena-nfv/catena/internal/store"
)

// openMirror reads the copy of Neutron's objects, and has the orchestrator know it
// before it sets anything on the switch.
func openMirror(ctx context.Context, o *options, db *store.Store, orchestrator *orch.Orchestrator, taps *agent.Taps) (*mirror.Keeper, error) {
	m, err := mirror.Open(ctx, db)
	if err != nil {
		return nil, err
	}
	k := &mirror.Keeper{Mirror: m, Node: o.node, Orchestrator: orchestrator, Agent: taps, Log: o.log.With("part", "mirror")}
	return k, orchestrator.RememberInventory(ctx, k.Inventory())
}

// runTaps takes over the taps of the cloud's ports as they appear.
func runTaps(ctx context.Context, o *options, taps *agent.Taps, st *stack) {
	run(ctx, st, func(ctx context.Context) {
		if err := taps.Run(ctx); err != nil && ctx.Err() == nil {
			o.log.Error("taps are not followed any more", "error", err)
		}
	})
}

// run runs f until the stack is closed.
func run(ctx context.Context, st *stack, f func(context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { f(ctx) })
	st.push(func() error { cancel(); running.Wait(); return nil })
}
