package orch

import (
	"context"
	"slices"
	"sync"

	"github.com/catena-nfv/catena/internal/service"
)

// livePart is a service's part of the switch with the ports that exist.
type livePart struct {
	part  *part
	ports map[string]service.Port
}

// switchState is what the switch was last told, by service. The fabric always
// gets the whole of it.
type switchState struct {
	mu        sync.Mutex // guards parts, inventory and rules
	parts     map[service.Owner]livePart
	inventory *inventory     // nil: none
	rules     []service.Rule // of the operator
	deploy    sync.Mutex     // held during a call of Fabric.Deploy
}

// with gives the configuration in which one service has another part. A nil
// part leaves the service out.
func (s *switchState) with(owner service.Owner, p livePart) service.SwitchConfig {
	s.mu.Lock()
	defer s.mu.Unlock()
	cfg := service.SwitchConfig{Rules: switchRules(s.rules)}
	add := func(o service.Owner, p livePart) {
		if p.part == nil {
			return
		}
		cfg.Networks = append(cfg.Networks, p.part.Networks...)
		cfg.Groups = append(cfg.Groups, p.part.Groups...)
		cfg.Chains = append(cfg.Chains, p.part.Chains...)
		for _, pp := range p.part.Ports {
			if port, ok := p.ports[pp.Name]; ok {
				cfg.Ports = append(cfg.Ports, pp.attached(o, port))
			}
		}
	}
	for o, other := range s.parts {
		if o != owner {
			add(o, other)
		}
	}
	add(owner, p)
	if s.inventory != nil {
		s.inventory.extend(&cfg)
	}
	slices.SortFunc(cfg.Networks, func(a, b service.SwitchNetwork) int { return int(a.Number) - int(b.Number) })
	slices.SortFunc(cfg.Chains, func(a, b service.SwitchChain) int { return int(a.Number) - int(b.Number) })
	slices.SortFunc(cfg.Ports, func(a, b service.SwitchPort) int { return int(a.Number) - int(b.Number) })
	slices.SortFunc(cfg.Groups, func(a, b service.SwitchGroup) int { return int(a.Number) - int(b.Number) })
	return cfg
}

// setInventory returns the one before.
func (s *switchState) setInventory(v *inventory) *inventory {
	s.mu.Lock()
	defer s.mu.Unlock()
	previous := s.inventory
	s.inventory = v
	return previous
}

func (s *switchState) set(owner service.Owner, p livePart) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.part == nil {
		delete(s.parts, owner)
	} else {
		s.parts[owner] = p
	}
}

func (s *switchState) setRules(rules []service.Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = rules
}

// deployPart has the fabric carry a service's new part (nil: none). One call at
// a time; what is remembered changes only when it succeeds.
func (o *Orchestrator) deployPart(ctx context.Context, owner service.Owner, p livePart, progress func(service.Stage)) (service.SwitchReport, error) {
	o.sw.deploy.Lock()
	defer o.sw.deploy.Unlock()
	if err := ctx.Err(); err != nil {
		return service.SwitchReport{}, err
	}
	report, err := o.fabric.Deploy(ctx, o.sw.with(owner, p), progress)
	if err != nil {
		return report, err
	}
	o.sw.set(owner, p)
	return report, nil
}

// remember takes a deployed service into the switch's configuration without
// deploying, at start-up.
func (o *Orchestrator) remember(ctx context.Context, rec *ServiceRecord) error {
	n := numbers{}
	if _, _, err := getJSON(ctx, o.store, numbersKey, &n); err != nil {
		return err
	}
	p, err := desired{Service: rec.Service, Addresses: rec.Addresses, Numbers: n}.part()
	if err != nil {
		return err
	}
	records, err := o.records(ctx, rec.Service.Owner())
	if err != nil {
		return err
	}
	o.sw.set(rec.Service.Owner(), livePart{part: p, ports: portsOf(records)})
	return nil
}

// portsOf gives the ports that records know of.
func portsOf(records map[Key]Record) map[string]service.Port {
	ports := map[string]service.Port{}
	for k, r := range records {
		if k.Kind == service.KindPort && r.Port != nil && r.State == StateMade {
			ports[k.Name] = *r.Port
		}
	}
	return ports
}
