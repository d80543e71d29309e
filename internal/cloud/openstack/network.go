package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/catena-nfv/catena/internal/service"
)

// CreateNetwork makes a network with its subnet, or changes its MTU, name servers and DHCP.
func (c *Cloud) CreateNetwork(ctx context.Context, o service.Owner, n service.Network) error {
	c.running.Go(func() { c.catalog.warm(ctx) }) // servers come next
	return named(service.KindNetwork, n.Name, c.createNetwork(ctx, o, n))
}

func (c *Cloud) createNetwork(ctx context.Context, o service.Owner, n service.Network) error {
	api := c.session.network
	return c.ensure(ctx, o, key{service.KindNetwork, n.Name}, func(inv *inventory) error {
		var have network
		var sub subnet
		if inv != nil {
			have, _ = inv.network(n.Name)
			sub, _ = inv.subnet(have.ID)
		}
		var made struct{ Network network }
		err := c.withMTU(n.MTU, func(mtu int) error {
			switch {
			case have.ID == "":
				return api.post(ctx, "networks", body("network", map[string]any{
					"name": n.Name, "description": c.marks.text(o), "mtu": mtu,
				}), &made)
			case have.MTU != mtu:
				return api.put(ctx, "networks/"+have.ID, body("network", map[string]any{"mtu": mtu}), &made)
			}
			made.Network = have
			return nil
		})
		if err != nil {
			return err
		}
		have = made.Network
		sub, err = c.createSubnet(ctx, o, n, have.ID, sub)
		if err != nil {
			return err
		}
		sub.MTU = have.MTU
		k := c.of(o)
		k.mu.Lock()
		defer k.mu.Unlock()
		k.subnets[n.Name] = sub
		return nil
	})
}

var mtuLimit = regexp.MustCompile(`MTU is too big, maximum is (\d+)`)

// withMTU asks for a network with an MTU, or with the largest that the cloud's own
// encapsulation leaves room for.
func (c *Cloud) withMTU(mtu int, ask func(mtu int) error) error {
	if limit := int(c.maxMTU.Load()); limit > 0 {
		mtu = min(mtu, limit)
	}
	err := ask(mtu)
	var refused *APIError
	if !errors.As(err, &refused) {
		return err
	}
	m := mtuLimit.FindStringSubmatch(refused.Message)
	if m == nil {
		return err
	}
	limit, convErr := strconv.Atoi(m[1])
	if convErr != nil || limit >= mtu {
		return err
	}
	if c.maxMTU.Swap(int64(limit)) == 0 {
		c.cfg.Log.Info("the cloud's networks carry smaller packets than asked for", "asked", mtu, "mtu", limit)
	}
	return ask(limit)
}

// createSubnet makes the network's subnet, or changes the one that there is.
func (c *Cloud) createSubnet(ctx context.Context, o service.Owner, n service.Network, networkID string, have subnet) (subnet, error) {
	api := c.session.network
	servers := []string{}
	for _, a := range n.DNS {
		servers = append(servers, a.String())
	}
	if have.ID == "" {
		ask := map[string]any{
			"network_id": networkID, "name": n.Name, "description": c.marks.text(o), "ip_version": 4, "cidr": n.Subnet,
			"gateway_ip": nil, "enable_dhcp": n.DHCP, "dns_nameservers": servers,
		}
		if n.Gateway.IsValid() {
			ask["gateway_ip"] = n.Gateway
		}
		if first, last, ok := poolOf(n); ok {
			ask["allocation_pools"] = []map[string]any{{"start": first, "end": last}}
		}
		var made struct{ Subnet subnet }
		err := api.post(ctx, "subnets", body("subnet", ask), &made)
		return made.Subnet, err
	}
	if have.DHCP == n.DHCP && slices.Equal(have.DNS, servers) {
		return have, nil
	}
	have.DHCP, have.DNS = n.DHCP, servers
	return have, api.put(ctx, "subnets/"+have.ID, body("subnet", map[string]any{"enable_dhcp": n.DHCP, "dns_nameservers": servers}), nil)
}

// poolOf is the range from which Neutron gives addresses to its own ports, such as that
// of a DHCP agent: the end of the subnet. All others are given by the planner, from the
// beginning.
func poolOf(n service.Network) (first, last netip.Addr, ok bool) {
	bits := 32 - n.Subnet.Bits()
	if bits < 4 {
		return first, last, false
	}
	base := n.Subnet.Masked().Addr().As4()
	end := uint32(base[0])<<24 | uint32(base[1])<<16 | uint32(base[2])<<8 | uint32(base[3]) | (uint32(1)<<bits - 1)
	at := func(v uint32) netip.Addr {
		return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
	}
	first, last = at(end-min(8, uint32(1)<<(bits-2))), at(end-1)
	if n.Gateway == last {
		last = last.Prev()
	}
	inside := first.Compare(n.Gateway) <= 0 && n.Gateway.Compare(last) <= 0
	return first, last, !inside
}

// deleteNetwork removes the networks of that name, with what of ours is on them.
func (c *Cloud) deleteNetwork(ctx context.Context, o service.Owner, name string) error {
	return c.dismantle(ctx, o, key{service.KindNetwork, name}, func(inv *inventory) error {
		for _, n := range inv.networks {
			if n.Name != name {
				continue
			}
			for _, p := range inv.ports {
				if p.NetworkID == n.ID {
					if err := c.releaseFloating(ctx, inv, p.DeviceID); err != nil {
						return err
					}
					if err := c.removePort(ctx, p); err != nil {
						return err
					}
				}
			}
			if err := c.session.network.remove(ctx, "networks/"+n.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// subnetOf finds the subnet of a network by the network's name.
func (c *Cloud) subnetOf(ctx context.Context, o service.Owner, name string) (subnet, error) {
	k := c.of(o)
	k.mu.Lock()
	sub, ok := k.subnets[name]
	k.mu.Unlock()
	if ok {
		return sub, nil
	}
	inv, err := c.look(ctx, o)
	if err != nil {
		return subnet{}, err
	}
	n, ok := inv.network(name)
	if !ok {
		return subnet{}, fmt.Errorf("network %q does not exist", name)
	}
	if sub, ok = inv.subnet(n.ID); !ok {
		return subnet{}, fmt.Errorf("network %q has no subnet", name)
	}
	return sub, nil
}

// ensure makes an object. make gets what there is, nil when that is nothing of it. When
// the cloud fails, what it has done all the same is looked up and make is called again.
func (c *Cloud) ensure(ctx context.Context, o service.Owner, k key, make func(*inventory) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return persist(ctx, c.cfg.Outage, func() error {
		inv, release, err := c.touch(ctx, o, k)
		defer release()
		if err != nil {
			return err
		}
		return make(inv)
	}, isTransient)
}

// dismantle deletes an object, again and again as long as something else that goes on
// forbids it. remove gets what there is; after a first attempt in vain that is looked up.
// Things of others, which nobody here deletes, are waited for only briefly.
func (c *Cloud) dismantle(ctx context.Context, o service.Owner, k key, remove func(*inventory) error) error {
	find := c.recall
	var refused time.Time // for the first time
	return persist(ctx, busyPatience, func() error {
		inv, err := find(ctx, o, k)
		if err != nil {
			return err
		}
		find = func(ctx context.Context, o service.Owner, _ key) (*inventory, error) { return c.look(ctx, o) }
		err = remove(inv)
		c.widen(o, err)
		if !isBusy(err) {
			return err
		}
		if refused.IsZero() {
			refused = time.Now()
		}
		if time.Since(refused) >= foreignPatience {
			if others := c.obstacles(ctx, o, k, inv); len(others) > 0 {
				return &foreignError{err, others}
			}
		}
		return err
	}, isBusy)
}

func body(key string, attributes map[string]any) map[string]any {
	return map[string]any{key: attributes}
}
