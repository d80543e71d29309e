package mirror

import (
	"context"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/catena-nfv/catena/internal/service"
)

// Orchestrator is what a Keeper needs of the controller.
type Orchestrator interface {
	// SetInventory makes the switch carry the inventory and returns the ports to be
	// attached.
	SetInventory(ctx context.Context, inv service.Inventory) ([]service.SwitchPort, error)
}

// Agent is what a Keeper needs of the node.
type Agent interface {
	// SetInventory attaches these ports when their links appear, and detaches those
	// of before.
	SetInventory(ctx context.Context, ports []service.SwitchPort) error
	// Attached tells the ids of attached ports; changed is closed when that changes.
	Attached() (ids map[string]bool, changed <-chan struct{})
	// RemoveBridge removes an empty bridge that a hypervisor made. It succeeds when
	// there is none.
	RemoveBridge(name string) error
}

// Keeper has a node's switch follow the mirror, and tells which ports work.
type Keeper struct {
	*Mirror
	// Node is the host's name in Neutron.
	Node         string
	Orchestrator Orchestrator
	Agent        Agent
	Log          *slog.Logger
}

const (
	// gather is how long changes are gathered before the switch follows.
	gather = 20 * time.Millisecond
	// heartbeat is how often watchers are told everything.
	heartbeat = 15 * time.Second
	// firstRetry and lastRetry bound the pause after a failure.
	firstRetry, lastRetry = 500 * time.Millisecond, 30 * time.Second
)

// Inventory is what the mirror says of the node now.
func (k *Keeper) Inventory() service.Inventory { return Inventory(k.Snapshot(), k.Node) }

// Run follows the mirror until the context ends.
func (k *Keeper) Run(ctx context.Context) {
	var carried *service.Inventory
	timer := time.NewTimer(0) // the first look is at once
	defer timer.Stop()
	pause := firstRetry
	bridgeless := map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.Changed():
			timer.Reset(gather)
			continue
		case <-timer.C:
		}
		k.removeBridges(bridgeless)
		inv := k.Inventory()
		if carried != nil && reflect.DeepEqual(*carried, inv) {
			continue
		}
		var ports []service.SwitchPort
		var err error
		// Where there is no Neutron, nothing is deployed for it.
		if carried != nil || len(inv.Networks)+len(inv.Groups) > 0 {
			ports, err = k.Orchestrator.SetInventory(ctx, inv)
		}
		if err == nil {
			err = k.Agent.SetInventory(ctx, ports)
		}
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			k.Log.Error("the switch does not follow Neutron; trying again", "error", err, "in", pause)
			timer.Reset(pause)
			pause = min(2*pause, lastRetry)
			continue
		}
		carried, pause = &inv, firstRetry
	}
}

// removeBridges removes what nova has left of networks that are deleted; done are those
// that are known to be without. As long as a network exists, its bridge stays: a server
// may be about to start on it.
func (k *Keeper) removeBridges(done map[string]bool) {
	for _, id := range k.Deleted(KindNetwork) {
		if done[id] {
			continue
		}
		if err := k.Agent.RemoveBridge(BridgeName(id)); err != nil {
			k.Log.Warn("the bridge of a deleted network stays", "network", id, "error", err)
			continue // until the next change
		}
		done[id] = true
	}
}

// Report tells which ports of a node work.
type Report struct {
	Complete bool // Up has all of them
	Node     string
	Up       []string // ids, sorted
	Down     []string // that do not work any more; only when not Complete
}

// Watch sends all ports at once, then what changes, and all again now and then, until
// the context ends or send fails.
func (k *Keeper) Watch(ctx context.Context, send func(Report) error) error {
	up, changed := k.Agent.Attached()
	if err := send(Report{Complete: true, Node: k.Node, Up: slices.Sorted(maps.Keys(up))}); err != nil {
		return err
	}
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		r := Report{Node: k.Node}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			r.Complete = true
		case <-changed:
		}
		var now map[string]bool
		now, changed = k.Agent.Attached()
		for _, id := range slices.Sorted(maps.Keys(now)) {
			if r.Complete || !up[id] {
				r.Up = append(r.Up, id)
			}
		}
		for _, id := range slices.Sorted(maps.Keys(up)) {
			if !r.Complete && !now[id] {
				r.Down = append(r.Down, id)
			}
		}
		up = now
		if !r.Complete && len(r.Up)+len(r.Down) == 0 {
			continue
		}
		if err := send(r); err != nil {
			return err
		}
	}
}
