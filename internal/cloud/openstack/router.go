package openstack

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/catena-nfv/catena/internal/service"
)

// CreateRouter makes a router with a port on each of its networks, and takes away those
// on others.
func (c *Cloud) CreateRouter(ctx context.Context, o service.Owner, r service.Router) error {
	return named(service.KindRouter, r.Name, c.createRouter(ctx, o, r))
}

func (c *Cloud) createRouter(ctx context.Context, o service.Owner, r service.Router) error {
	return c.ensure(ctx, o, key{service.KindRouter, r.Name}, func(inv *inventory) error {
		var have router
		external := ""
		if r.External != "" {
			var err error
			if external, err = c.catalog.external(ctx, r.External); err != nil {
				return err
			}
		}
		if inv != nil {
			have = inv.routers[slices.IndexFunc(inv.routers, func(x router) bool { return x.Name == r.Name })]
		}
		missing, err := c.unplugOthers(ctx, o, r, have, inv)
		if err != nil {
			return err
		}
		if have.ID != "" {
			err = c.changeGateway(ctx, have, external, inv)
		} else {
			ask := map[string]any{"name": r.Name, "description": c.marks.text(o)}
			if external != "" {
				ask["external_gateway_info"] = gatewayInfo(external)
			}
			var made struct{ Router router }
			err = c.session.network.post(ctx, "routers", body("router", ask), &made)
			have = made.Router
		}
		if err == nil {
			err = c.noteGateway(ctx, have, external)
		}
		if err != nil {
			return err
		}
		for _, sub := range missing { // two at a time would be in each other's way
			if err := c.plug(ctx, have.ID, sub); err != nil {
				return err
			}
		}
		return nil
	})
}

func gatewayInfo(networkID string) map[string]any { return map[string]any{"network_id": networkID} }

// changeGateway leads a router to an external network, or, with "", nowhere.
func (c *Cloud) changeGateway(ctx context.Context, have router, external string, inv *inventory) error {
	if have.external() == external {
		return nil
	}
	if err := c.releaseFloating(ctx, inv, have.ID); err != nil {
		return err
	}
	info := map[string]any{}
	if external != "" {
		info = gatewayInfo(external)
	}
	return c.session.network.put(ctx, "routers/"+have.ID, body("router", map[string]any{"external_gateway_info": info}), nil)
}

// gatewayTag begins the tag of a router that says to which external network it was made to
// lead: a router without one was made to lead nowhere.
const gatewayTag = "gateway-"

// noteGateway writes to the router where it is to lead, so that it is seen when somebody
// has changed that. Routers that lead nowhere cost no request.
func (c *Cloud) noteGateway(ctx context.Context, have router, external string) error {
	tags := slices.DeleteFunc(slices.Clone(have.Tags), func(t string) bool { return strings.HasPrefix(t, gatewayTag) })
	if external != "" {
		tags = append(tags, gatewayTag+external)
	}
	if len(tags) == len(have.Tags) && !slices.ContainsFunc(tags, func(t string) bool { return !slices.Contains(have.Tags, t) }) {
		return nil
	}
	return c.session.network.put(ctx, "routers/"+have.ID+"/tags", map[string]any{"tags": append([]string{}, tags...)}, nil)
}

// external is the id of the network to which the router leads, "" for none.
func (r router) external() string {
	if r.Gateway == nil {
		return ""
	}
	return r.Gateway.Network
}

// state is a router's in the service's words; ports are those of its service.
func (r router) state(ports []port) (service.Status, string) {
	if !slices.ContainsFunc(ports, func(p port) bool { return p.DeviceID == r.ID }) {
		return service.StatusBuilding, ""
	}
	meant := ""
	for _, t := range r.Tags {
		if id, ok := strings.CutPrefix(t, gatewayTag); ok {
			meant = id
		}
	}
	switch now := r.external(); {
	case now == meant:
		return service.StatusActive, ""
	case meant == "":
		return service.StatusChanged, "somebody has led it to external network " + now + "; apply the service again"
	case now == "":
		return service.StatusChanged, "it does not lead to external network " + meant + " any more; apply the service again"
	default:
		return service.StatusChanged, "it leads to external network " + now + " and not to " + meant + "; apply the service again"
	}
}

// unplugOthers takes the router from networks that it is not to be on, and returns the
// subnets of those that it is yet to be on.
func (c *Cloud) unplugOthers(ctx context.Context, o service.Owner, r service.Router, have router, inv *inventory) (missing []subnet, err error) {
	on := map[string]bool{} // ids of networks
	for _, name := range r.Networks {
		sub, err := c.subnetOf(ctx, o, name)
		if err != nil {
			return nil, err
		}
		plugged := inv != nil && slices.ContainsFunc(inv.ports, func(p port) bool { return p.DeviceID == have.ID && p.NetworkID == sub.NetworkID })
		if !plugged {
			missing = append(missing, sub)
		}
		on[sub.NetworkID] = true
	}
	if inv == nil {
		return missing, nil
	}
	for _, p := range inv.ports {
		if p.DeviceID == have.ID && !on[p.NetworkID] {
			if err := c.removePort(ctx, p); err != nil {
				return nil, err
			}
		}
	}
	return missing, nil
}

// plug gives a router a port with the subnet's gateway address. Neutron makes that port
// itself: half the work of making one and then handing it over.
func (c *Cloud) plug(ctx context.Context, routerID string, sub subnet) error {
	err := c.session.network.put(ctx, "routers/"+routerID+"/add_router_interface", map[string]string{"subnet_id": sub.ID}, nil)
	if isStatus(err, http.StatusBadRequest, http.StatusConflict) && c.plugged(ctx, routerID, sub) {
		return nil // by a request that was repeated
	}
	if err != nil {
		return fmt.Errorf("subnet %s: %w", sub.CIDR, err)
	}
	return nil
}

func (c *Cloud) plugged(ctx context.Context, routerID string, sub subnet) bool {
	var answer struct{ Ports []port }
	err := c.session.network.get(ctx, query("ports", "device_id", routerID, "network_id", sub.NetworkID), &answer)
	return err == nil && len(answer.Ports) > 0
}

// deleteRouter removes the routers of that name with their ports.
func (c *Cloud) deleteRouter(ctx context.Context, o service.Owner, name string) error {
	return c.dismantle(ctx, o, key{service.KindRouter, name}, func(inv *inventory) error {
		for _, r := range inv.routers {
			if r.Name != name {
				continue
			}
			if err := c.releaseFloating(ctx, inv, r.ID); err != nil {
				return err
			}
			for _, p := range inv.ports {
				if p.DeviceID == r.ID {
					if err := c.removePort(ctx, p); err != nil {
						return err
					}
				}
			}
			if err := c.session.network.remove(ctx, "routers/"+r.ID); err != nil {
				return err
			}
		}
		return nil
	})
}
