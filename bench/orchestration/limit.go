package orchestration

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"golang.org/x/sync/errgroup"

	"github.com/catena-nfv/catena/internal/service"
)

// limitPoll is how often the limit lists servers: so often that what it sees late is
// little, so seldom that the cloud has its cores for itself.
const limitPoll = 100 * time.Millisecond

// overlapped makes the cloud's calls for a service, each as soon as what it needs is
// there, and nothing else: no orchestrator, no store, no interface; the token, the ids of
// images and flavors are known. All clients share one list of servers.
type overlapped struct {
	calls           *calls
	images, flavors map[string]string

	mu      sync.Mutex
	waiting map[string]chan error
}

func newOverlapped(ctx context.Context, a Access, all []Workload) (*overlapped, error) {
	c, err := login(ctx, a)
	if err != nil {
		return nil, err
	}
	o := &overlapped{calls: c, images: map[string]string{}, flavors: map[string]string{}, waiting: map[string]chan error{}}
	for _, w := range all {
		for _, in := range a.instances(w.service) {
			if o.images[in.image] == "" {
				if o.images[in.image], err = c.imageID(ctx, in.image); err != nil {
					return nil, err
				}
			}
			if o.flavors[in.flavor] == "" {
				if o.flavors[in.flavor], err = c.flavorID(ctx, in.flavor); err != nil {
					return nil, err
				}
			}
		}
	}
	return o, nil
}

// promise is a value that comes once.
type promise[T any] struct {
	done  chan struct{}
	value T
}

func newPromise[T any]() *promise[T] { return &promise[T]{done: make(chan struct{})} }

func (p *promise[T]) keep(v T) { p.value = v; close(p.done) }

func (p *promise[T]) wait(ctx context.Context) (v T, err error) {
	select {
	case <-p.done:
		return p.value, nil
	case <-ctx.Done():
		return v, context.Cause(ctx)
	}
}

func (o *overlapped) deploy(ctx context.Context, svc *service.Service, record *made) error {
	instances := o.calls.access.instances(svc)
	subs, ports := map[string]*promise[string]{}, map[plug]*promise[string]{}
	for _, n := range svc.Networks {
		subs[n.Name] = newPromise[string]()
	}
	for _, in := range instances {
		for _, n := range in.networks {
			ports[plug{in.name, n}] = newPromise[string]()
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, n := range svc.Networks {
		g.Go(func() error { return o.network(ctx, record, n, instances, subs[n.Name], ports) })
	}
	for _, r := range svc.Routers {
		g.Go(func() error {
			id, err := o.calls.createRouter(ctx, record, r.Name)
			if err != nil {
				return err
			}
			for _, n := range r.Networks {
				g.Go(func() error {
					sub, err := subs[n].wait(ctx)
					if err != nil {
						return err
					}
					return o.calls.plug(ctx, record, id, sub)
				})
			}
			return nil
		})
	}
	for _, in := range instances {
		g.Go(func() error {
			var at []servers.Network
			for _, n := range in.networks {
				id, err := ports[plug{in.name, n}].wait(ctx)
				if err != nil {
					return err
				}
				at = append(at, servers.Network{Port: id})
			}
			id, err := o.calls.createServer(ctx, record, in.name, o.images[in.image], o.flavors[in.flavor], at)
			if err != nil {
				return err
			}
			return o.active(ctx, id)
		})
	}
	return g.Wait()
}

// plug is an instance's place on a network.
type plug struct{ instance, network string }

// network makes a network, its subnet, and the ports of all instances on it: by one
// request for the first instance of the service, so that its server can be asked for, and
// at the same time by one for all others.
func (o *overlapped) network(ctx context.Context, record *made, n service.Network, instances []instance, sub *promise[string], ports map[plug]*promise[string]) error {
	id, err := o.calls.createNetwork(ctx, record, n.Name)
	if err != nil {
		return err
	}
	s, err := o.calls.createSubnet(ctx, id, n)
	if err != nil {
		return err
	}
	sub.keep(s)
	var first, others []string
	for i, in := range instances {
		for _, at := range in.networks {
			switch {
			case at != n.Name:
			case i == 0:
				first = append(first, in.name)
			default:
				others = append(others, in.name)
			}
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, names := range [][]string{first, others} {
		if len(names) == 0 {
			continue
		}
		g.Go(func() error {
			ids, err := o.calls.createPorts(ctx, record, id, names)
			if err != nil {
				return err
			}
			if len(ids) != len(names) {
				return fmt.Errorf("network %q: %d ports of %d were made", n.Name, len(ids), len(names))
			}
			for i, name := range names {
				ports[plug{name, n.Name}].keep(ids[i])
			}
			return nil
		})
	}
	return g.Wait()
}

// active waits until a server is ACTIVE.
func (o *overlapped) active(ctx context.Context, id string) error {
	done := make(chan error, 1)
	o.mu.Lock()
	first := len(o.waiting) == 0
	o.waiting[id] = done
	o.mu.Unlock()
	if first {
		go o.look(context.WithoutCancel(ctx))
	}
	defer func() {
		o.mu.Lock()
		delete(o.waiting, id)
		o.mu.Unlock()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// look lists servers while any is waited for: in brief, and by their status, since for
// each detailed list Nova asks Neutron, and that would keep the cloud from its work.
func (o *overlapped) look(ctx context.Context) {
	for round := 1; ; round++ {
		started := time.Now()
		active, err := o.inStatus(ctx, "ACTIVE")
		var failed []servers.Server
		if err == nil && round%10 == 0 {
			failed, err = o.inStatus(ctx, "ERROR")
		}
		o.mu.Lock()
		for _, s := range active {
			o.tell(s.ID, nil)
		}
		for _, s := range failed {
			if o.waiting[s.ID] != nil {
				s.Status = "ERROR"
				o.tell(s.ID, o.calls.failed(ctx, &s))
			}
		}
		if err != nil {
			for id := range o.waiting {
				o.tell(id, err)
			}
		}
		more := len(o.waiting) > 0
		o.mu.Unlock()
		if !more {
			return
		}
		time.Sleep(max(limitPoll, time.Since(started)))
	}
}

// tell ends the wait for a server, if there is one; the lock is held.
func (o *overlapped) tell(id string, err error) {
	if done := o.waiting[id]; done != nil {
		done <- err
		delete(o.waiting, id)
	}
}

// inStatus lists the servers that have a status; only their ids and names are known.
func (o *overlapped) inStatus(ctx context.Context, status string) ([]servers.Server, error) {
	pages, err := servers.ListSimple(o.calls.compute, servers.ListOpts{Status: status}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	return servers.ExtractServers(pages)
}
