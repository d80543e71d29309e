package orchestration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
)

// inventory is what a project has: "kind id" → status and name.
type inventory map[string]string

// look lists what the project has, by the cloud's own word.
func (c *calls) look(ctx context.Context) (inventory, error) {
	out := inventory{}
	pages, err := servers.List(c.compute, servers.ListOpts{}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	list, err := servers.ExtractServers(pages)
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		out["server "+s.ID] = s.Status + " " + s.Name
	}
	pages, err = networks.List(c.network, networks.ListOpts{}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	nets, err := networks.ExtractNetworks(pages)
	if err != nil {
		return nil, err
	}
	for _, n := range nets {
		out["network "+n.ID] = n.Status + " " + n.Name
	}
	pages, err = routers.List(c.network, routers.ListOpts{}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	rs, err := routers.ExtractRouters(pages)
	if err != nil {
		return nil, err
	}
	for _, r := range rs {
		out["router "+r.ID] = r.Status + " " + r.Name
	}
	pages, err = ports.List(c.network, ports.ListOpts{}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	ps, err := ports.ExtractPorts(pages)
	for _, p := range ps {
		out["port "+p.ID] = p.Status + " " + p.Name
	}
	return out, err
}

// since lists what is there that was not before, sorted.
func (i inventory) since(before inventory) []string {
	var out []string
	for key, what := range i {
		if _, ok := before[key]; !ok {
			kind, _, _ := strings.Cut(key, " ")
			out = append(out, kind+" "+what)
		}
	}
	slices.Sort(out)
	return out
}

// newServers are the ids of servers that were not there before.
func (i inventory) newServers(before inventory) []string {
	var out []string
	for key := range i {
		if id, ok := strings.CutPrefix(key, "server "); ok && before[key] == "" {
			out = append(out, id)
		}
	}
	return out
}

// allActive checks that exactly n servers are new, and that all of them are ACTIVE.
func (c *calls) allActive(ctx context.Context, before inventory, n int) error {
	now, err := c.look(ctx)
	if err != nil {
		return err
	}
	var wrong []string
	found := 0
	for _, what := range now.since(before) {
		if rest, ok := strings.CutPrefix(what, "server "); ok {
			found++
			if !strings.HasPrefix(rest, "ACTIVE ") {
				wrong = append(wrong, rest)
			}
		}
	}
	if found != n || len(wrong) > 0 {
		return fmt.Errorf("the cloud has %d new servers of %d, and of these not ACTIVE: %v; nobody else may use the project meanwhile", found, n, wrong)
	}
	return nil
}

// functionsAnswer waits until the functions among the new servers say that their own test
// of the running function succeeded; those that have no function say nothing.
func (c *calls) functionsAnswer(ctx context.Context, before inventory, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	now, err := c.look(ctx)
	if err != nil {
		return err
	}
	for _, id := range now.newServers(before) {
		for {
			text, err := servers.ShowConsoleOutput(ctx, c.compute, id, servers.ShowConsoleOutputOpts{}).Extract()
			if err == nil && strings.Contains(text, "catena-guest: failed") {
				return fmt.Errorf("server %s: %s", now["server "+id], text[strings.Index(text, "catena-guest: failed"):])
			}
			if err == nil && strings.Contains(text, "catena-guest: ready") {
				break
			}
			if err := sleep(ctx, time.Second); err != nil {
				return fmt.Errorf("server %s is ACTIVE, and its guest is not ready after %v", now["server "+id], patience)
			}
		}
	}
	return nil
}

// nothingLeft waits until the project is as before. What Neutron's agents make for
// themselves goes a little later than the network that it is for.
func (c *calls) nothingLeft(ctx context.Context, before inventory) error {
	var left []string
	for range 30 {
		now, err := c.look(ctx)
		if err != nil {
			return err
		}
		if left = now.since(before); len(left) == 0 {
			return nil
		}
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	return fmt.Errorf("left behind: %s", strings.Join(left, ", "))
}
