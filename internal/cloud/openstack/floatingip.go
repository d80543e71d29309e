package openstack

import (
	"context"
	"net/http"
	"net/netip"

	"github.com/catena-nfv/catena/internal/service"
)

// floatingIP as Neutron shows it. It has no name: its description is the owner's mark,
// its role and the name of its port.
type floatingIP struct {
	Name        string     `json:"-"`
	ID          string     `json:"id"`
	Description string     `json:"description"`
	Network     string     `json:"floating_network_id"`
	Address     netip.Addr `json:"floating_ip_address"`
	PortID      string     `json:"port_id"`
	RouterID    string     `json:"router_id"`
	Status      string     `json:"status"`
}

// CreateFloatingIP takes an address of the external network for a port. One that there is
// keeps its address and is led to the port.
func (c *Cloud) CreateFloatingIP(ctx context.Context, o service.Owner, spec service.FloatingIPSpec) error {
	return named(service.KindFloatingIP, spec.Name, c.ensure(ctx, o, key{service.KindFloatingIP, spec.Name}, func(inv *inventory) error {
		external, err := c.catalog.external(ctx, spec.External)
		if err != nil {
			return err
		}
		if inv != nil {
			for _, f := range inv.floating {
				switch {
				case f.Name != spec.Name:
				case f.Network != external:
					if err := c.session.network.remove(ctx, "floatingips/"+f.ID); err != nil {
						return err
					}
				case f.PortID == spec.Port.ID:
					return nil
				default:
					return c.lead(ctx, f.ID, spec.Port.ID)
				}
			}
		}
		return c.session.network.post(ctx, "floatingips", body("floatingip", map[string]any{
			"floating_network_id": external, "port_id": spec.Port.ID, "description": c.marks.port(o, roleFloating) + " " + spec.Name,
		}), nil)
	}))
}

// lead makes a floating IP lead to a port, or, with "", nowhere.
func (c *Cloud) lead(ctx context.Context, id, portID string) error {
	change := map[string]any{"port_id": nil}
	if portID != "" {
		change["port_id"] = portID
	}
	return c.session.network.put(ctx, "floatingips/"+id, body("floatingip", change), nil)
}

// releaseFloating has our floating IPs let go of routers that are about to lose a network
// or to go.
func (c *Cloud) releaseFloating(ctx context.Context, inv *inventory, routerID string) error {
	for _, f := range inv.floating {
		if f.RouterID != routerID || f.PortID == "" {
			continue
		}
		if err := c.lead(ctx, f.ID, ""); err != nil && !isStatus(err, http.StatusNotFound) {
			return err
		}
	}
	return nil
}

func (c *Cloud) deleteFloatingIP(ctx context.Context, o service.Owner, name string) error {
	return c.dismantle(ctx, o, key{service.KindFloatingIP, name}, func(inv *inventory) error {
		for _, f := range inv.floating {
			if f.Name != name {
				continue
			}
			if err := c.session.network.remove(ctx, "floatingips/"+f.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// state is a floating IP's in the service's words.
func (f floatingIP) state(inv *inventory) (service.Status, string) {
	p, ok := inv.port(f.Name)
	switch {
	case f.Status == "ERROR":
		return service.StatusError, "the network service has put it into ERROR"
	case f.PortID == "" || !ok || f.PortID != p.ID:
		return service.StatusChanged, "it does not lead to its port (any more); apply the service again"
	}
	return service.StatusActive, ""
}
