package mirror

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catena-nfv/catena/internal/service"
)

// follower is the orchestrator and the agent of a keeper.
type follower struct {
	mu       sync.Mutex
	fail     error
	calls    int
	carried  service.Inventory
	attached map[string]bool
	changed  chan struct{}
	busy     bool     // a link is in the bridge that is to be removed
	removed  []string // bridges
}

type followerAgent struct{ *follower }

func (f *follower) SetInventory(_ context.Context, inv service.Inventory) ([]service.SwitchPort, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if f.fail != nil {
		return nil, f.fail
	}
	f.carried = inv
	var out []service.SwitchPort
	for _, p := range inv.Ports {
		out = append(out, p.SwitchPort)
	}
	return out, nil
}

func (f followerAgent) SetInventory(_ context.Context, ports []service.SwitchPort) error {
	ids := map[string]bool{}
	for _, p := range ports {
		ids[p.Port.ID] = true
	}
	f.set(ids)
	return nil
}

func (f followerAgent) RemoveBridge(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy {
		return errors.New("a link is in it")
	}
	f.removed = append(f.removed, name)
	return nil
}

func (f *follower) set(ids map[string]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.attached = ids
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *follower) Attached() (map[string]bool, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.attached, f.changed
}

// pushCloud pushes all of a snapshot.
func pushCloud(t *testing.T, m *Mirror, s Snapshot) {
	t.Helper()
	var all []Change
	add := func(k Kind, id string, o Object) { all = append(all, Change{Ref: Ref{k, id, 1}, Object: o}) }
	for id, o := range s.Networks {
		add(KindNetwork, id, o)
	}
	for id, o := range s.Subnets {
		add(KindSubnet, id, o)
	}
	for id, o := range s.Routers {
		add(KindRouter, id, o)
	}
	for id, o := range s.Ports {
		add(KindPort, id, o)
	}
	for id, o := range s.Groups {
		add(KindGroup, id, o)
	}
	push(t, m, all...)
}

func TestKeeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		f := &follower{changed: make(chan struct{}), fail: errors.New("no switch")}
		m := open(t, &memory{kv: map[string][]byte{}})
		k := &Keeper{Mirror: m, Node: "node", Orchestrator: f, Agent: followerAgent{f}, Log: slog.New(slog.DiscardHandler)}
		go k.Run(ctx)
		synctest.Wait()
		if f.calls != 0 {
			t.Error("an empty mirror was deployed")
		}
		var reports []Report
		go func() { _ = k.Watch(ctx, func(r Report) error { reports = append(reports, r); return nil }) }()

		pushCloud(t, m, cloud())
		time.Sleep(time.Second)
		if f.calls < 2 {
			t.Errorf("%d tries in a second", f.calls)
		}
		f.mu.Lock()
		f.fail = nil
		f.mu.Unlock()
		time.Sleep(3 * time.Second)
		if !reflect.DeepEqual(f.carried, Inventory(cloud(), "node")) {
			t.Errorf("the switch carries %+v", f.carried)
		}
		calls := f.calls
		push(t, m, Change{Ref: Ref{KindPort, "unbound", 1}, Object: &Port{Network: "a"}}) // changes nothing here
		time.Sleep(time.Second)
		if f.calls != calls {
			t.Error("the same inventory was deployed again")
		}
		push(t, m, Change{Ref: Ref{KindPort, "11111111-1111-a", 2}})
		time.Sleep(time.Second)
		time.Sleep(heartbeat)
		cancel()
		synctest.Wait()
		all := []string{"11111111-1111-a", "22222222-2222-b", "33333333-3333-c"}
		want := []Report{
			{Complete: true, Node: "node"},
			{Node: "node", Up: all},
			{Node: "node", Down: all[:1]},
			{Complete: true, Node: "node", Up: all[1:]},
		}
		if !reflect.DeepEqual(reports, want) {
			t.Errorf("reports:\n%+v, want\n%+v", reports, want)
		}
	})
}

// TestRemoveBridges deletes a network: its bridge goes once nothing is in it, and is not
// asked for again; the bridges of other networks stay.
func TestRemoveBridges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		f := &follower{changed: make(chan struct{}), busy: true}
		m := open(t, &memory{kv: map[string][]byte{}})
		k := &Keeper{Mirror: m, Node: "node", Orchestrator: f, Agent: followerAgent{f}, Log: slog.New(slog.DiscardHandler)}
		go k.Run(ctx)
		const gone, stays = "0f74f843-1e5b-458c-bd34-b08482ef530f", "2a15e1b7-d76c-4ecd-a33d-49b7b8b466cb"
		for _, id := range []string{gone, stays} {
			push(t, m, Change{Ref: Ref{KindNetwork, id, 1}, Object: &Network{}})
		}
		push(t, m, Change{Ref: Ref{KindNetwork, gone, 2}})
		time.Sleep(time.Second)
		f.mu.Lock()
		f.busy = false
		f.mu.Unlock()
		for i := range 3 {
			push(t, m, Change{Ref: Ref{KindNetwork, stays, int64(2 + i)}, Object: &Network{}})
			time.Sleep(time.Second)
		}
		cancel()
		synctest.Wait()
		if want := []string{"brq0f74f843-1e"}; !reflect.DeepEqual(f.removed, want) {
			t.Errorf("removed %v, want %v", f.removed, want)
		}
	})
}
