package openstack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/catena-nfv/catena/internal/service"
)

// foreignPatience is how long a deletion waits for things of others that are in its way:
// they may be about to be deleted themselves.
const foreignPatience = 1500 * time.Millisecond

// obstacle is something of somebody else that keeps an object from being deleted.
type obstacle struct {
	what string // `server "db" (ID) with port ID`
	way  string // the command that removes it
}

// foreignError says what of others keeps an object from being deleted. It is not to be
// met by patience.
type foreignError struct {
	refusal   error // the cloud's words
	obstacles []obstacle
}

func (e *foreignError) Error() string {
	var whats, ways []string
	for _, o := range e.obstacles {
		whats, ways = append(whats, o.what), append(ways, o.way)
	}
	return fmt.Sprintf("it cannot be deleted, since others use it: %s; remove that (%s), then do this again (%v)",
		strings.Join(whats, ", "), strings.Join(ways, "; "), e.refusal)
}

// obstacles lists what of others is in the way of an object's deletion; nothing when that
// cannot be found out.
func (c *Cloud) obstacles(ctx context.Context, o service.Owner, k key, inv *inventory) []obstacle {
	var out []obstacle
	switch k.kind {
	case service.KindNetwork:
		for _, n := range inv.networks {
			if n.Name == k.name {
				out = append(out, c.foreignPorts(ctx, o, inv, "network_id", n.ID)...)
			}
		}
	case service.KindRouter:
		for _, r := range inv.routers {
			if r.Name == k.name {
				out = append(out, c.foreignPorts(ctx, o, inv, "device_id", r.ID)...)
				out = append(out, c.foreignFloating(ctx, o, r.ID)...)
			}
		}
	case service.KindSecurityGroup:
		for _, g := range inv.groups {
			if g.Name == k.name {
				out = append(out, c.foreignPorts(ctx, o, inv, "security_groups", g.ID)...)
			}
		}
	}
	return out
}

// foreignPorts lists the ports that match and are not the owner's, nor Neutron's own,
// which go by themselves.
func (c *Cloud) foreignPorts(ctx context.Context, o service.Owner, inv *inventory, attribute, value string) []obstacle {
	var answer struct{ Ports []port }
	if c.session.network.call(ctx, "GET", query("ports", attribute, value), nil, &answer) != nil {
		return nil
	}
	slices.SortFunc(answer.Ports, func(a, b port) int { return strings.Compare(a.ID, b.ID) })
	var out []obstacle
	for _, p := range answer.Ports {
		own := strings.HasPrefix(p.DeviceOwner, "network:") && p.DeviceOwner != "network:router_interface"
		if own || inv.routed(p) || len(c.marks.wordsOf(o, p.Description)) > 0 || attribute == "security_groups" && !slices.Contains(p.SecurityGroups, value) {
			continue
		}
		if o, stays := c.portInTheWay(ctx, p, attribute, value); stays {
			out = append(out, o)
		}
	}
	return out
}

// portInTheWay describes a port that was found by an attribute, with whom it belongs to. Of
// one with a security group, only the group is to be taken. One whose server is being
// deleted does not stay.
func (c *Cloud) portInTheWay(ctx context.Context, p port, attribute, value string) (o obstacle, stays bool) {
	of := ""
	if p.ProjectID != "" && p.ProjectID != c.session.project {
		of = " of project " + p.ProjectID
	}
	way := "openstack port delete " + p.ID
	what := "port " + p.ID
	if p.Name != "" {
		what = fmt.Sprintf("port %q (%s)", p.Name, p.ID)
	}
	switch {
	case p.DeviceOwner == "network:router_interface" && attribute == "device_id": // of our router, on their network
		what = fmt.Sprintf("network %s with %s", p.NetworkID, what)
		way = fmt.Sprintf("openstack router remove port %s %s", p.DeviceID, p.ID)
	case p.DeviceOwner == "network:router_interface":
		what = fmt.Sprintf("router %s with %s", p.DeviceID, what)
		way = fmt.Sprintf("openstack router remove port %s %s", p.DeviceID, p.ID)
	case strings.HasPrefix(p.DeviceOwner, "compute:") && p.DeviceID != "":
		var answer struct{ Server server }
		named := p.DeviceID
		if c.session.compute.call(ctx, "GET", "servers/"+p.DeviceID, nil, &answer) == nil {
			named = fmt.Sprintf("%q (%s)", answer.Server.Name, p.DeviceID)
		}
		if answer.Server.TaskState == "deleting" {
			return o, false
		}
		what = fmt.Sprintf("server %s with %s", named, what)
		way = "openstack server delete " + p.DeviceID
	}
	if attribute == "security_groups" {
		way = fmt.Sprintf("openstack port unset --security-group %s %s", value, p.ID)
	}
	return obstacle{what + of, way}, true
}

// foreignFloating lists the floating IPs that lead through a router and are not the owner's.
func (c *Cloud) foreignFloating(ctx context.Context, o service.Owner, routerID string) []obstacle {
	var answer struct{ Floatingips []floatingIP }
	if c.session.network.call(ctx, "GET", query("floatingips", "router_id", routerID), nil, &answer) != nil {
		return nil
	}
	var out []obstacle
	for _, f := range answer.Floatingips {
		if len(c.marks.wordsOf(o, f.Description)) == 0 {
			out = append(out, obstacle{"floating IP " + f.Address.String(), "openstack floating ip unset --port " + f.ID})
		}
	}
	return out
}
