package orch

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/catena-nfv/catena/internal/service"
)

// inventory is what the switch carries beside the services, with all that was
// decided about it.
type inventory struct {
	service.Inventory
	numbers numbers
	// networks are the numbers of networks that services made, by their ids in the
	// cloud: those on which a service has a port.
	networks map[string]uint32
	// groups are the numbers of security groups that services made, by their ids.
	groups map[string]uint32
	// services are ids of ports that belong to services.
	services map[string]bool
}

// SetInventory makes the switch carry an inventory beside the services, in place of
// the one before, and returns the inventory's ports that no service owns, with their
// numbers: those that are to be attached. What does not fit on the switch is left
// out. When it fails, the switch carries the inventory of before.
func (o *Orchestrator) SetInventory(ctx context.Context, inv service.Inventory) ([]service.SwitchPort, error) {
	if err := o.beginInventory(); err != nil {
		return nil, err
	}
	defer o.running.Done()
	next, err := o.numberInventory(ctx, inv)
	if err != nil {
		return nil, fmt.Errorf("inventory: %w", err)
	}
	o.sw.deploy.Lock()
	defer o.sw.deploy.Unlock()
	previous := o.sw.setInventory(next)
	cfg := o.sw.with(service.Owner{}, livePart{})
	report, err := o.fabric.Deploy(ctx, cfg, func(service.Stage) {})
	if err != nil {
		o.sw.setInventory(previous)
		return nil, fmt.Errorf("inventory: %w", err)
	}
	if report.Recompiled || report.EntriesAdded+report.EntriesChanged+report.EntriesDeleted > 0 {
		o.log.Info("inventory", "networks", len(inv.Networks), "ports", len(inv.Ports), "groups", len(inv.Groups),
			"added", report.EntriesAdded, "changed", report.EntriesChanged, "deleted", report.EntriesDeleted, "recompiled", report.Recompiled)
	}
	if _, err := o.changeNumbers(ctx, func(n numbers) (numbers, error) { return n.releaseInventory(inv), nil }); err != nil {
		o.log.Warn("numbers were not released", "of", service.InventoryOwner, "error", err)
	}
	return slices.DeleteFunc(slices.Clone(cfg.Ports), func(p service.SwitchPort) bool { return p.Owner != service.InventoryOwner }), nil
}

// RememberInventory takes an inventory into the switch's configuration without
// deploying it: before Recover, so that the switch keeps it then.
func (o *Orchestrator) RememberInventory(ctx context.Context, inv service.Inventory) error {
	next, err := o.numberInventory(ctx, inv)
	if err != nil {
		return fmt.Errorf("inventory: %w", err)
	}
	o.sw.setInventory(next)
	return nil
}

func (o *Orchestrator) beginInventory() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return ErrClosed
	}
	o.running.Add(1)
	return nil
}

// numberInventory gives numbers to what has none.
func (o *Orchestrator) numberInventory(ctx context.Context, inv service.Inventory) (*inventory, error) {
	next := &inventory{Inventory: inv, networks: map[string]uint32{}, groups: map[string]uint32{}, services: map[string]bool{}}
	owned, groups, err := o.owned(ctx)
	if err != nil {
		return nil, err
	}
	var full []string
	next.numbers, err = o.changeNumbers(ctx, func(n numbers) (numbers, error) {
		n, full = n.clone(), nil
		for _, p := range inv.Ports {
			if own, ok := owned[p.Port.ID]; ok {
				next.services[p.Port.ID] = true
				next.networks[p.NetworkID] = n.get(networkNumber, own.owner, own.port.Network)
			}
		}
		for _, g := range inv.Groups {
			if own, ok := groups[g.Name]; ok {
				next.groups[g.Name] = n.get(groupNumber, own.owner, own.name)
			}
		}
		for _, w := range inventoryNames(inv) {
			switch {
			case w.class == portNumber && next.services[w.name]:
				continue
			case w.class == networkNumber && next.networks[w.name] != 0, w.class == groupNumber && next.groups[w.name] != 0:
				continue
			}
			if !n.give(w.class, service.InventoryOwner, w.name) {
				full = append(full, w.class.name+" "+w.name)
			}
		}
		return n, nil
	})
	if len(full) > 0 {
		o.log.Error("the switch is full; these are left out", "objects", full)
	}
	return next, err
}

// ownedPort is a port that a service made.
type ownedPort struct {
	owner service.Owner
	port  service.Port
}

// ownedGroup is a security group that a service made.
type ownedGroup struct {
	owner service.Owner
	name  string
}

// owned finds all ports and security groups of services, also of those that are being
// made, by their ids in the cloud.
func (o *Orchestrator) owned(ctx context.Context) (map[string]ownedPort, map[string]ownedGroup, error) {
	kvs, err := o.store.List(ctx, objectsPrefix)
	if err != nil {
		return nil, nil, err
	}
	ports, groups := map[string]ownedPort{}, map[string]ownedGroup{}
	for _, kv := range kvs {
		f := strings.SplitN(strings.TrimPrefix(kv.Key, objectsPrefix), "/", 4)
		if len(f) != 4 {
			continue
		}
		kind := service.Kind(f[2])
		if kind != service.KindPort && kind != service.KindSecurityGroup {
			continue
		}
		rec, err := decodeRecord(kv)
		if err != nil {
			return nil, nil, err
		}
		owner := service.Owner{Project: f[0], Service: f[1]}
		if rec.Port != nil && rec.Port.ID != "" {
			ports[rec.Port.ID] = ownedPort{owner, *rec.Port}
		}
		if rec.ID != "" {
			groups[rec.ID] = ownedGroup{owner, rec.Key.Name}
		}
	}
	return ports, groups, nil
}

// inventoryNames lists what has a number of its own, in order.
func inventoryNames(inv service.Inventory) []numberedName {
	var out []numberedName
	routers := map[string]bool{}
	for _, n := range inv.Networks {
		out = append(out, numberedName{networkNumber, n.Name})
		if n.RouterID != "" && !routers[n.RouterID] {
			routers[n.RouterID] = true
			out = append(out, numberedName{routerNumber, n.RouterID})
		}
	}
	for _, g := range inv.Groups {
		out = append(out, numberedName{groupNumber, g.Name})
	}
	for _, p := range inv.Ports {
		out = append(out, numberedName{portNumber, p.Port.Name})
	}
	return out
}

// releaseInventory takes back the numbers of what the inventory does not have.
func (n numbers) releaseInventory(inv service.Inventory) numbers {
	needed := map[string]bool{}
	for _, w := range inventoryNames(inv) {
		needed[numberKey(w.class, service.InventoryOwner, w.name)] = true
	}
	out := numbers{}
	for k, v := range n {
		_, rest, _ := strings.Cut(k, "/")
		if !strings.HasPrefix(rest, service.InventoryOwner.String()+"/") || needed[k] {
			out[k] = v
		}
	}
	return out
}

// extend adds the inventory to the services' configuration. A port or network that is
// a service's is not added again: it takes over what the cloud knows better.
func (v *inventory) extend(cfg *service.SwitchConfig) {
	byNumber := map[uint32]int{} // index of the service's network
	for i, n := range cfg.Networks {
		byNumber[n.Number] = i
	}
	number := func(c class, id string) uint32 { return v.numbers.get(c, service.InventoryOwner, id) }
	// A router on one of whose networks a service has ports is that of the service.
	routers := map[string]uint32{}
	for _, n := range v.Networks {
		if i, ok := byNumber[v.networks[n.Name]]; ok && n.RouterID != "" && cfg.Networks[i].Router != 0 {
			routers[n.RouterID] = cfg.Networks[i].Router
		}
	}
	networks := map[string]uint32{}
	for _, n := range v.Networks {
		nr := v.networks[n.Name]
		if nr == 0 {
			nr = number(networkNumber, n.Name)
		}
		networks[n.Name] = nr
		if i, ok := byNumber[nr]; ok {
			serveNetwork(&cfg.Networks[i], n.SwitchNetwork)
			continue
		}
		if nr == 0 {
			continue
		}
		out := n.SwitchNetwork
		out.Number = nr
		if n.RouterID != "" {
			if out.Router = routers[n.RouterID]; out.Router == 0 {
				out.Router = number(routerNumber, n.RouterID)
			}
			if out.Router == 0 {
				out.Gateway = netip.Addr{}
			}
		}
		cfg.Networks = append(cfg.Networks, out)
	}
	// A service's group is that of the service, also in the rules of others and on
	// their ports, as long as the switch carries the service.
	there := map[uint32]bool{}
	for _, g := range cfg.Groups {
		there[g.Number] = true
	}
	group := func(id string) uint32 {
		if n := v.groups[id]; n == 0 || there[n] {
			return cmp.Or(n, number(groupNumber, id))
		}
		return 0
	}
	for _, g := range v.Groups {
		if g.Number = group(g.Name); g.Number == 0 || v.groups[g.Name] != 0 {
			continue
		}
		g.Rules = slices.Clone(g.Rules)
		for i := range g.Rules {
			if id := g.Rules[i].RemoteGroup; id != "" {
				g.Rules[i].Remote = group(id)
			}
		}
		g.Rules = slices.DeleteFunc(g.Rules, func(r service.SwitchGroupRule) bool { return r.RemoteGroup != "" && r.Remote == 0 })
		cfg.Groups = append(cfg.Groups, g)
	}
	of := map[string]int{} // index of the service's port
	for i, p := range cfg.Ports {
		if p.Port.ID != "" {
			of[p.Port.ID] = i
		}
	}
	for _, p := range v.Ports {
		out := p.SwitchPort
		out.Number, out.Network, out.Groups = number(portNumber, p.Port.Name), networks[p.NetworkID], nil
		for _, id := range p.GroupIDs {
			if n := group(id); n != 0 {
				out.Groups = append(out.Groups, n)
			}
		}
		slices.Sort(out.Groups)
		if i, ok := of[p.Port.ID]; ok {
			securePort(&cfg.Ports[i], out)
		} else if out.Number != 0 && out.Network != 0 && !v.services[p.Port.ID] {
			cfg.Ports = append(cfg.Ports, out)
		}
	}
}

// serveNetwork gives a service's network what the node is to tell its members.
func serveNetwork(n *service.SwitchNetwork, cloud service.SwitchNetwork) {
	if n.Server.IsValid() || !cloud.Server.IsValid() {
		return
	}
	n.Server, n.ServerMAC = cloud.Server, cloud.ServerMAC
	if n.Server == n.Gateway {
		n.ServerMAC = n.GatewayMAC
	}
	n.DNS, n.Domain, n.MTU, n.Routes, n.Metadata = cloud.DNS, cloud.Domain, cloud.MTU, cloud.Routes, cloud.Metadata
}

// securePort gives a service's port the security that the cloud has for it, unless
// the service has its own.
func securePort(p *service.SwitchPort, cloud service.SwitchPort) {
	p.InstanceID, p.ProjectID, p.HostName = cloud.InstanceID, cloud.ProjectID, cloud.HostName
	if p.Secured || len(p.Groups) > 0 {
		return
	}
	p.Secured, p.Groups, p.Pairs, p.IPs = cloud.Secured, cloud.Groups, cloud.Pairs, cloud.IPs
}
