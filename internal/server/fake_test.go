package server

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/catena-nfv/catena/internal/service"
)

// backend is a cloud, node and fabric that only remember names. A server whose
// image is "broken" cannot be made; one with image "slow" takes until released.
type backend struct {
	mu      sync.Mutex
	objects map[service.Owner][]service.Object
	sw      service.SwitchConfig
	release chan struct{}
}

func newBackend() *backend {
	return &backend{objects: map[service.Owner][]service.Object{}, release: make(chan struct{})}
}

func (b *backend) add(o service.Owner, kind service.Kind, name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	obj := service.Object{Kind: kind, Name: name, Status: service.StatusActive}
	if kind == service.KindFloatingIP {
		obj.Address = netip.MustParseAddr("203.0.113.7")
	}
	if !slices.Contains(b.objects[o], obj) {
		b.objects[o] = append(b.objects[o], obj)
	}
	return nil
}

func (b *backend) Lacks(*service.Service) []service.Problem { return nil }

func (b *backend) CreateSecurityGroup(_ context.Context, o service.Owner, g service.SecurityGroup) (string, error) {
	return "id", b.add(o, service.KindSecurityGroup, g.Name)
}

func (b *backend) CreateSecurityRules(_ context.Context, o service.Owner, g service.SecurityGroup) error {
	return b.add(o, service.KindSecurityRules, g.Name)
}

func (b *backend) CreateKeyPair(_ context.Context, o service.Owner, k service.KeyPair) error {
	return b.add(o, service.KindKeyPair, k.Name)
}

func (b *backend) CreateFloatingIP(_ context.Context, o service.Owner, f service.FloatingIPSpec) error {
	return b.add(o, service.KindFloatingIP, f.Name)
}

func (b *backend) CreateNetwork(_ context.Context, o service.Owner, n service.Network) error {
	return b.add(o, service.KindNetwork, n.Name)
}

func (b *backend) CreateRouter(_ context.Context, o service.Owner, r service.Router) error {
	return b.add(o, service.KindRouter, r.Name)
}

func (b *backend) CreatePort(_ context.Context, o service.Owner, p service.PortSpec) (service.Port, error) {
	return service.Port{PortSpec: p, Link: "v"}, b.add(o, service.KindPort, p.Name)
}

func (b *backend) CreateServer(ctx context.Context, o service.Owner, s service.ServerSpec) error {
	switch s.Image {
	case "broken":
		return errors.New("no such image")
	case "panic":
		panic("in the cloud")
	case "slow":
		select {
		case <-b.release:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return b.add(o, service.KindServer, s.Name)
}

func (b *backend) CreateFunction(_ context.Context, o service.Owner, f service.FunctionSpec) error {
	return b.add(o, service.KindFunction, f.Name)
}

func (b *backend) Delete(_ context.Context, o service.Owner, kind service.Kind, name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.objects[o] = slices.DeleteFunc(b.objects[o], func(x service.Object) bool { return x.Kind == kind && x.Name == name })
	return nil
}

func (b *backend) Observe(_ context.Context, o service.Owner, _ ...service.Kind) (service.Observation, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return service.Observation{Objects: slices.Clone(b.objects[o])}, nil
}

func (b *backend) Attach(context.Context, service.Owner, uint32, service.Port) error { return nil }
func (b *backend) Detach(context.Context, service.Owner, string) error               { return nil }

func (b *backend) Check(context.Context, service.SwitchConfig) error {
	return nil
}

func (b *backend) Prepare(context.Context, service.SwitchConfig, func(service.Stage)) error {
	return nil
}

func (b *backend) Deploy(_ context.Context, cfg service.SwitchConfig, progress func(service.Stage)) (service.SwitchReport, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	progress(service.Stage{Name: "entries", Duration: time.Millisecond})
	b.sw = cfg
	return service.SwitchReport{EntriesAdded: 3, Stages: []service.Stage{{Name: "entries", Duration: time.Millisecond}}}, nil
}

func (b *backend) State(context.Context) (service.SwitchState, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	st := service.SwitchState{
		Pipeline: service.Pipeline{Name: "test", Tables: 4},
		NFs:      []service.NFState{{Node: 0, NF: "Firewall", Packets: 5}, {Node: 1, NF: "NAT"}, {Node: 2, NF: "LB"}},
	}
	for _, p := range b.sw.Ports {
		st.Ports = append(st.Ports, service.PortState{Number: p.Number, Name: p.Owner.String() + "/" + p.Port.Name, RxPackets: 1})
	}
	for _, c := range b.sw.Chains {
		st.Chains = append(st.Chains, service.ChainState{Owner: c.Owner, Name: c.Chain.Name, Number: c.Number, Paths: [][]int{{0, 1}, {0, 2}}, Packets: 9})
	}
	return st, nil
}

func (b *backend) NFs(context.Context) ([]service.NFInfo, error) {
	tables := []service.NFTable{{
		Name: "rules", Keys: []service.NFKey{{Name: "src", Match: "ternary", Bits: 32}},
		Actions: []service.NFAction{{Name: "drop"}, {Name: "set"}, {Name: "snat", Params: []service.NFParam{{Name: "addr", Bits: 32}}}},
	}}
	return []service.NFInfo{{Name: "Firewall", Tables: tables}, {Name: "LB", Tables: tables}, {Name: "NAT", Tables: tables}}, nil
}
