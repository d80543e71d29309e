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
