package openstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/catena-nfv/catena/internal/service"
)

// Observe reports what the cloud has of a service, and in which state that is.
func (c *Cloud) Observe(ctx context.Context, o service.Owner, also ...service.Kind) (service.Observation, error) {
	c.of(o).also(also...)
	inv, err := c.look(ctx, o)
	if err != nil {
		return service.Observation{}, fmt.Errorf("service %s: %w", o, err)
	}
	return c.observation(o, inv), nil
}

// observation says in the service's words what the cloud has. Pure.
func (c *Cloud) observation(o service.Owner, inv *inventory) service.Observation {
	var seen service.Observation
	add := func(kind service.Kind, name, id string, status service.Status, message string) {
		// Of several that a crash has left, the first stands for all.
		for _, have := range seen.Objects {
			if have.Kind == kind && have.Name == name {
				return
			}
		}
		seen.Objects = append(seen.Objects, service.Object{Kind: kind, Name: name, ID: id, Status: status, Message: message})
	}
	networks := map[string]network{} // by id
	for _, n := range inv.networks {
		networks[n.ID] = n
		status := service.StatusActive
		if _, ok := inv.subnet(n.ID); !ok {
			status = service.StatusBuilding
		}
		add(service.KindNetwork, n.Name, n.ID, status, "")
	}
	for _, r := range inv.routers {
		status, message := r.state(inv.ports)
		add(service.KindRouter, r.Name, r.ID, status, message)
	}
	names := groupNames(inv.groups)
	for _, g := range inv.groups {
		add(service.KindSecurityGroup, g.Name, g.ID, service.StatusActive, "")
		switch {
		case c.rulesAsMade(o, g, names):
			add(service.KindSecurityRules, g.Name, g.ID, service.StatusActive, "")
		case g.made(names):
			add(service.KindSecurityRules, g.Name, g.ID, service.StatusChanged, "they were changed, or not finished; apply the service again")
		}
	}
	for _, k := range inv.keyPairs {
		add(service.KindKeyPair, k.Name, c.marks.keyPair(o, k.Name), service.StatusActive, "")
	}
	for _, f := range inv.floating {
		status, message := f.state(inv)
		add(service.KindFloatingIP, f.Name, f.ID, status, message)
		seen.Objects[len(seen.Objects)-1].Address = f.Address
	}
	for _, p := range inv.ports {
		words := c.marks.wordsOf(o, p.Description)
		if len(words) == 0 || words[0] == roleGateway {
			continue
		}
		n := networks[p.NetworkID]
		sub, _ := inv.subnet(n.ID)
		spec, err := specOf(p, words, n.Name, sub, inv)
		switch {
		case errors.As(err, new(*changedError)):
			add(service.KindPort, p.Name, p.ID, service.StatusChanged, err.Error())
			seen.Ports = append(seen.Ports, c.servicePort(spec, p))
		case err != nil:
			add(service.KindPort, p.Name, p.ID, service.StatusError, err.Error())
		case !p.Up:
			add(service.KindPort, p.Name, p.ID, service.StatusError, "it is down (openstack port set --enable "+p.ID+")")
		default:
			add(service.KindPort, p.Name, p.ID, service.StatusActive, "")
			seen.Ports = append(seen.Ports, c.servicePort(spec, p))
		}
	}
	for _, kind := range []service.Kind{service.KindServer, service.KindFunction} {
		for _, s := range inv.servers {
			if s.Metadata[metaKind] != string(kind) {
				continue
			}
			first := inv.named(key{kind, s.Name})[0]
			status, message := first.state()
			add(kind, s.Name, first.ID, status, message)
		}
	}
	slices.SortFunc(seen.Objects, func(a, b service.Object) int {
		return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Name, b.Name))
	})
	slices.SortFunc(seen.Ports, func(a, b service.Port) int { return strings.Compare(a.Name, b.Name) })
	return seen
}

// state is a server's in the service's words.
func (s server) state() (service.Status, string) {
	guest, words := guestState(s.Metadata[metaGuest])
	switch {
	case s.TaskState == "deleting":
		return service.StatusDeleting, ""
	case s.Status == "ERROR":
		return service.StatusError, cmp.Or(s.Fault.Message, "Nova does not say why")
	case s.Status == "BUILD", s.Status == "REBUILD", s.Status == "REBOOT", s.Status == "HARD_REBOOT":
		return service.StatusBuilding, ""
	case s.Status != "ACTIVE":
		return service.StatusError, "it is " + s.Status
	case guest == guestFailed:
		return service.StatusError, words
	case guest == guestBooting:
		return service.StatusBuilding, ""
	}
	return service.StatusActive, ""
}
