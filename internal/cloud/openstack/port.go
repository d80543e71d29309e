package openstack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/catena-nfv/catena/internal/service"
)

// portsPerRequest bounds a request for ports, which Neutron makes in one transaction. The
// more go together the better: on two busy cores (Zed) one request for 8 ports took 8.3 s,
// two for 4 at the same time 13.4 s, eight for one 14.1 s.
const portsPerRequest = 64

// portLanes is how many requests for ports run at the same time: one for the instance that
// Nova is to begin with, one for the others meanwhile.
const portLanes = 2

// portRequest asks for one port.
type portRequest struct {
	name   string
	device string // its instance
	ask    map[string]any
}

type portCall = batchCall[portRequest, port]

// nextPorts chooses the ports of the next request and moves them to the front. The ports of
// one instance go first and alone, so that Nova has something to do while the others are
// made.
func nextPorts(waiting []*portCall, idle bool) int {
	n := min(len(waiting), portsPerRequest)
	if !idle {
		return n
	}
	first := waiting[0].in.device
	others := func(c *portCall) bool { return c.in.device != first }
	slices.SortStableFunc(waiting, func(a, b *portCall) int {
		switch {
		case others(a) == others(b):
			return 0
		case others(b):
			return -1
		}
		return 1
	})
	if i := slices.IndexFunc(waiting, others); i >= 0 {
		n = min(n, i)
	}
	return n
}

// CreatePort makes the port, or changes it. Its link appears when its instance starts.
func (c *Cloud) CreatePort(ctx context.Context, o service.Owner, spec service.PortSpec) (service.Port, error) {
	p, err := c.createPort(ctx, o, &spec)
	if err != nil {
		return service.Port{}, named(service.KindPort, spec.Name, err)
	}
	return c.servicePort(spec, p), nil
}

// createPort lowers the specification's MTU to what its network carries.
func (c *Cloud) createPort(ctx context.Context, o service.Owner, want *service.PortSpec) (made port, err error) {
	spec := *want
	err = c.ensure(ctx, o, key{service.KindPort, spec.Name}, func(inv *inventory) error {
		sub, err := c.subnetOf(ctx, o, spec.Network)
		if err != nil {
			return err
		}
		if spec.MTU > 0 && sub.MTU > 0 {
			spec.MTU = min(spec.MTU, sub.MTU)
			want.MTU = spec.MTU
		}
		if inv != nil {
			have, _ := inv.port(spec.Name)
			if have.NetworkID == sub.NetworkID && have.MAC == spec.MAC.String() {
				made, err = c.changePort(ctx, o, spec, have)
				return err
			}
			if err := c.removePort(ctx, have); err != nil {
				return err
			}
		}
		ask, err := c.askPort(ctx, o, spec, sub)
		if err != nil {
			return err
		}
		if made, err = c.ports.call(portRequest{name: spec.Name, device: o.String() + "/" + spec.Device, ask: ask}); err == nil {
			made, err = c.completeSecurity(ctx, spec, made)
		}
		return err
	})
	// One that an earlier controller asked for may have come after we looked.
	if isStatus(err, http.StatusConflict) {
		if inv, lookErr := c.look(ctx, o); lookErr == nil {
			if have, ok := inv.port(spec.Name); ok && have.MAC == spec.MAC.String() {
				return c.changePort(ctx, o, spec, have)
			}
		}
	}
	// What we know is not there any more.
	switch {
	case isStatus(err, http.StatusNotFound) && strings.Contains(err.Error(), "ecurity group"):
		for _, g := range spec.SecurityGroups {
			c.forget(o, key{service.KindSecurityGroup, g})
		}
		err = fmt.Errorf("a security group of %s has vanished: %w", strings.Join(spec.SecurityGroups, ", "), err)
	case isStatus(err, http.StatusNotFound):
		c.forget(o, key{service.KindNetwork, spec.Network})
		err = fmt.Errorf("network %q has vanished: %w", spec.Network, err)
	}
	return made, err
}

// askPort is the request for a port.
func (c *Cloud) askPort(ctx context.Context, o service.Owner, spec service.PortSpec, sub subnet) (map[string]any, error) {
	ask := map[string]any{
		"name": spec.Name, "network_id": sub.NetworkID, "description": c.portText(o, spec),
		"mac_address": spec.MAC.String(), "fixed_ips": fixedIPs(spec),
		"port_security_enabled": false,
	}
	if len(spec.SecurityGroups) > 0 {
		secure, err := c.security(ctx, o, spec)
		if err != nil {
			return nil, err
		}
		if len(spec.AllowedAddresses) == 0 { // a cloud may not know them
			delete(secure, "allowed_address_pairs")
		}
		maps.Copy(ask, secure)
	} else if c.cfg.SecurityGroup != "" && spec.DeviceKind == service.KindServer {
		id, err := c.catalog.securityGroup(ctx, c.cfg.SecurityGroup)
		if err != nil {
			return nil, err
		}
		delete(ask, "port_security_enabled")
		ask["security_groups"] = []string{id}
	}
	if c.session.bulkTags {
		ask["tags"] = c.marks.tags(o)
	}
	return ask, nil
}

func fixedIPs(spec service.PortSpec) []fixedIP { return []fixedIP{{IP: spec.IP.Addr().String()}} }

// portText is the description of an instance's port: its mark, and what Neutron has no
// place for, which is what the guest is told. (It has one for DHCP options of a port, and
// forgets them when ports are made in bulk.)
func (c *Cloud) portText(o service.Owner, spec service.PortSpec) string {
	words := []string{c.marks.port(o, string(spec.DeviceKind))}
	if spec.Gateway.IsValid() {
		words = append(words, "gateway="+spec.Gateway.String())
	}
	if spec.MTU > 0 {
		words = append(words, "mtu="+strconv.Itoa(spec.MTU))
	}
	for _, a := range spec.DNS {
		words = append(words, "dns="+a.String())
	}
	if text := securityText(spec.SecurityGroups, spec.AllowedAddresses); text != "" {
		words = append(words, text)
	}
	return strings.Join(words, " ")
}

// changePort makes a port what is asked for, where it is.
func (c *Cloud) changePort(ctx context.Context, o service.Owner, spec service.PortSpec, have port) (port, error) {
	change := map[string]any{}
	if len(have.FixedIPs) != 1 || have.FixedIPs[0].IP != spec.IP.Addr().String() {
		change["fixed_ips"] = fixedIPs(spec)
	}
	if text := c.portText(o, spec); have.Description != text {
		change["description"] = text
	}
	if err := c.changeSecurity(ctx, o, spec, have, change); err != nil {
		return port{}, err
	}
	if !have.Up {
		change["admin_state_up"] = true
	}
	if len(change) == 0 {
		return have, nil
	}
	var changed struct{ Port port }
	err := c.session.network.put(ctx, "ports/"+have.ID, body("port", change), &changed)
	return changed.Port, err
}

// postPorts makes ports with one request. When that is refused, for all of them, each is
// asked for alone, so that only those fail that are to blame.
func (c *Cloud) postPorts(requests []portRequest) []batchResult[port] {
	ctx, cancel := context.WithTimeout(context.Background(), deleteTimeout)
	defer cancel()
	out := make([]batchResult[port], len(requests))
	var ask []map[string]any
	for _, r := range requests {
		ask = append(ask, r.ask)
	}
	var made struct{ Ports []port }
	err := c.session.network.post(ctx, "ports", map[string]any{"ports": ask}, &made)
	var refused *APIError
	if errors.As(err, &refused) && !isTransient(err) && !refused.quota() && len(requests) > 1 {
		for i := range requests {
			out[i] = c.postPorts(requests[i : i+1])[0]
		}
		return out
	}
	for i, r := range requests {
		if out[i].err = err; err != nil {
			continue
		}
		j := slices.IndexFunc(made.Ports, func(p port) bool {
			return p.Name == r.name && p.NetworkID == r.ask["network_id"] && p.Description == r.ask["description"]
		})
		if j < 0 {
			out[i].err = errors.New("the network service's answer does not have it")
			continue
		}
		out[i].out = made.Ports[j]
	}
	return out
}

// servicePort says how to reach a port.
func (c *Cloud) servicePort(spec service.PortSpec, p port) service.Port {
	node := c.cfg.Node
	if p.Host != "" {
		node = p.Host
	}
	return service.Port{PortSpec: spec, ID: p.ID, Node: node, Link: linkName(p.ID)}
}

// linkName is the tap that libvirt makes for a port.
func linkName(portID string) string { return "tap" + portID[:min(11, len(portID))] }

// specOf reads back what a port was made for. words are those of its description that
// follow the mark: the kind of its device first.
func specOf(p port, words []string, networkName string, sub subnet, inv *inventory) (service.PortSpec, error) {
	spec := service.PortSpec{Name: p.Name, DeviceKind: service.Kind(words[0]), Network: networkName}
	words = words[1:]
	secured := ""
	spec.Device = strings.TrimSuffix(p.Name, "."+networkName)
	if _, err := fmt.Sscanf(p.MAC, "%02x:%02x:%02x:%02x:%02x:%02x", &spec.MAC[0], &spec.MAC[1], &spec.MAC[2], &spec.MAC[3], &spec.MAC[4], &spec.MAC[5]); err != nil {
		return spec, fmt.Errorf("its MAC address %q cannot be read", p.MAC)
	}
	if len(p.FixedIPs) != 1 {
		return spec, fmt.Errorf("it has %d addresses, not one", len(p.FixedIPs))
	}
	ip, err := netip.ParseAddr(p.FixedIPs[0].IP)
	if err != nil {
		return spec, err
	}
	spec.IP = netip.PrefixFrom(ip, sub.CIDR.Bits())
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "gateway":
			spec.Gateway, err = netip.ParseAddr(value)
		case "mtu":
			spec.MTU, err = strconv.Atoi(value)
		case "dns":
			var a netip.Addr
			a, err = netip.ParseAddr(value)
			spec.DNS = append(spec.DNS, a)
		case "secured":
			secured = word
		default:
			err = errors.New("nobody knows what that is")
		}
		if err != nil {
			return spec, fmt.Errorf("its description says %q: %w", word, err)
		}
	}
	if secured != "" && inv.covers(service.KindSecurityGroup) {
		return spec, readSecurity(p, secured, groupNames(inv.groups), &spec)
	}
	return spec, nil
}

// deletePort removes the ports of that name, from under their servers if need be.
func (c *Cloud) deletePort(ctx context.Context, o service.Owner, name string) error {
	return c.dismantle(ctx, o, key{service.KindPort, name}, func(inv *inventory) error {
		for _, p := range inv.ports {
			if p.Name != name {
				continue
			}
			if err := c.removePort(ctx, p); err != nil {
				return err
			}
		}
		return nil
	})
}

// removePort removes a port; a router's has to be unplugged, which removes it.
func (c *Cloud) removePort(ctx context.Context, p port) error {
	api := c.session.network
	if p.DeviceOwner != "" && strings.HasPrefix(p.DeviceOwner, "network:router_") {
		err := api.put(ctx, "routers/"+p.DeviceID+"/remove_router_interface", map[string]string{"port_id": p.ID}, nil)
		if err != nil && !isStatus(err, http.StatusNotFound) {
			return err
		}
	}
	return api.remove(ctx, "ports/"+p.ID)
}
