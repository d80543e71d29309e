package openstack

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/catena-nfv/catena/internal/service"
)

// The resources as the APIs show them, as far as they matter here.
type (
	network struct {
		ID          string   `json:"id"`
		Name        string   `json:"name"`
		Description string   `json:"description"`
		MTU         int      `json:"mtu"`
		Subnets     []string `json:"subnets"`
	}
	subnet struct {
		ID        string       `json:"id"`
		NetworkID string       `json:"network_id"`
		CIDR      netip.Prefix `json:"cidr"`
		DHCP      bool         `json:"enable_dhcp"`
		DNS       []string     `json:"dns_nameservers"`
		Gateway   string       `json:"gateway_ip"`
		MTU       int          `json:"-"` // its network's
	}
	router struct {
		ID      string `json:"id"`
		Name    string `json:"name"`
		Status  string `json:"status"`
		Gateway *struct {
			Network string `json:"network_id"`
		} `json:"external_gateway_info"`
		Tags []string `json:"tags"` // what it was made for, see gatewayTag
	}
	port struct {
		ID          string    `json:"id"`
		Name        string    `json:"name"`
		Description string    `json:"description"`
		ProjectID   string    `json:"project_id"`
		NetworkID   string    `json:"network_id"`
		MAC         string    `json:"mac_address"`
		FixedIPs    []fixedIP `json:"fixed_ips"`
		Tags        []string  `json:"tags"`
		DeviceID    string    `json:"device_id"`
		DeviceOwner string    `json:"device_owner"`
		Up          bool      `json:"admin_state_up"`
		Host        string    `json:"binding:host_id"` // only administrators see it

		Secured        bool          `json:"port_security_enabled"`
		SecurityGroups []string      `json:"security_groups"`
		Pairs          []addressPair `json:"allowed_address_pairs"`
	}
	fixedIP struct {
		IP     string `json:"ip_address"`
		Subnet string `json:"subnet_id,omitempty"`
	}
	server struct {
		ID        string            `json:"id"`
		Name      string            `json:"name"`
		Status    string            `json:"status"`
		TaskState string            `json:"OS-EXT-STS:task_state"`
		Host      string            `json:"OS-EXT-SRV-ATTR:host"` // only administrators see it
		Metadata  map[string]string `json:"metadata"`
		Created   string            `json:"created"`
		Fault     struct {
			Message string `json:"message"`
		} `json:"fault"`
	}
)

// inventory is what the cloud has of one service.
type inventory struct {
	networks []network
	subnets  []subnet
	routers  []router
	ports    []port // also those of routers
	servers  []server

	// listed are the optional kinds that the cloud was asked for; see optional.go.
	listed   []service.Kind
	groups   []securityGroup
	keyPairs []keyPair
	floating []floatingIP
}

// key names an object of one owner.
type key struct {
	kind service.Kind
	name string
}

// has tells whether there is an object of that name.
func (inv *inventory) has(k key) bool {
	switch k.kind {
	case service.KindNetwork:
		return slices.ContainsFunc(inv.networks, func(n network) bool { return n.Name == k.name })
	case service.KindRouter:
		return slices.ContainsFunc(inv.routers, func(r router) bool { return r.Name == k.name })
	case service.KindPort:
		return slices.ContainsFunc(inv.ports, func(p port) bool { return p.Name == k.name })
	case service.KindSecurityGroup:
		_, ok := inv.group(k.name)
		return ok
	case service.KindSecurityRules:
		g, ok := inv.group(k.name)
		return ok && g.made(groupNames(inv.groups))
	case service.KindKeyPair:
		return slices.ContainsFunc(inv.keyPairs, func(p keyPair) bool { return p.Name == k.name })
	case service.KindFloatingIP:
		return slices.ContainsFunc(inv.floating, func(f floatingIP) bool { return f.Name == k.name })
	}
	return len(inv.named(k)) > 0
}

// without returns an inventory that does not have an object; a network takes its ports
// along, a router those that it had.
func (inv *inventory) without(k key) *inventory {
	out := &inventory{
		networks: slices.Clone(inv.networks), subnets: inv.subnets, routers: slices.Clone(inv.routers),
		ports: slices.Clone(inv.ports), servers: slices.Clone(inv.servers),
		listed: inv.listed, groups: slices.Clone(inv.groups), keyPairs: slices.Clone(inv.keyPairs), floating: slices.Clone(inv.floating),
	}
	switch k.kind {
	case service.KindNetwork:
		n, _ := inv.network(k.name)
		out.networks = slices.DeleteFunc(out.networks, func(n network) bool { return n.Name == k.name })
		out.ports = slices.DeleteFunc(out.ports, func(p port) bool { return p.NetworkID == n.ID })
	case service.KindRouter:
		for _, r := range inv.routers {
			if r.Name == k.name {
				out.ports = slices.DeleteFunc(out.ports, func(p port) bool { return p.DeviceID == r.ID })
			}
		}
		out.routers = slices.DeleteFunc(out.routers, func(r router) bool { return r.Name == k.name })
	case service.KindPort:
		out.ports = slices.DeleteFunc(out.ports, func(p port) bool { return p.Name == k.name })
	case service.KindSecurityGroup:
		out.groups = slices.DeleteFunc(out.groups, func(g securityGroup) bool { return g.Name == k.name })
	case service.KindSecurityRules: // they go with the group
	case service.KindKeyPair:
		out.keyPairs = slices.DeleteFunc(out.keyPairs, func(p keyPair) bool { return p.Name == k.name })
	case service.KindFloatingIP:
		out.floating = slices.DeleteFunc(out.floating, func(f floatingIP) bool { return f.Name == k.name })
	default:
		out.servers = slices.DeleteFunc(out.servers, func(s server) bool {
			return s.Name == k.name && s.Metadata[metaKind] == string(k.kind)
		})
	}
	return out
}

// named lists the servers of a kind and name, the oldest first. There is more than one
// only when a controller was killed over making one and another did not see it.
func (inv *inventory) named(k key) []server {
	var out []server
	for _, s := range inv.servers {
		if s.Name == k.name && s.Metadata[metaKind] == string(k.kind) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b server) int { return strings.Compare(a.Created+a.ID, b.Created+b.ID) })
	return out
}

func (inv *inventory) network(name string) (network, bool) {
	i := slices.IndexFunc(inv.networks, func(n network) bool { return n.Name == name })
	if i < 0 {
		return network{}, false
	}
	return inv.networks[i], true
}

func (inv *inventory) subnet(networkID string) (subnet, bool) {
	i := slices.IndexFunc(inv.subnets, func(s subnet) bool { return s.NetworkID == networkID })
	if i < 0 {
		return subnet{}, false
	}
	return inv.subnets[i], true
}

func (inv *inventory) group(name string) (securityGroup, bool) {
	i := slices.IndexFunc(inv.groups, func(g securityGroup) bool { return g.Name == name })
	if i < 0 {
		return securityGroup{}, false
	}
	return inv.groups[i], true
}

// routed tells whether a port joins one of the owner's routers to one of its networks.
// Neutron makes such ports, and nothing else marks them.
func (inv *inventory) routed(p port) bool {
	return slices.ContainsFunc(inv.routers, func(r router) bool { return r.ID == p.DeviceID }) &&
		slices.ContainsFunc(inv.networks, func(n network) bool { return n.ID == p.NetworkID })
}

// port finds an instance's port.
func (inv *inventory) port(name string) (port, bool) {
	i := slices.IndexFunc(inv.ports, func(p port) bool { return p.Name == name })
	if i < 0 {
		return port{}, false
	}
	return inv.ports[i], true
}

// known is what the driver knows of one owner without asking.
type known struct {
	mu sync.Mutex
	// seen is what there was when the cloud was asked last, less what was deleted since;
	// nil: it never was asked. Nobody else makes things in this owner's name, so it is
	// right about all that is not in touched.
	seen *inventory
	// touched are the objects that this driver has begun to make since.
	touched map[key]touch
	// subnets are those of networks that this driver has made or met.
	subnets map[string]subnet // by the network's name
	// groups are security groups that it has made or met, by name; without rules where
	// these may have changed.
	groups map[string]securityGroup
	// listed are the optional kinds that are looked for.
	listed []service.Kind

	running, next *load
}

// touch counts the calls that make an object: all, and those that have not returned.
type touch struct{ begun, running int }

// load is one look at the cloud, shared by all who asked before it began.
type load struct {
	done chan struct{}
	inv  *inventory
	err  error
}

func (c *Cloud) of(o service.Owner) *known {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.known[o]
	if k == nil {
		k = &known{touched: map[key]touch{}, subnets: map[string]subnet{}, groups: map[string]securityGroup{}}
		c.known[o] = k
	}
	return k
}

// forget says that an object is gone.
func (c *Cloud) forget(o service.Owner, id key) {
	k := c.of(o)
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.touched, id)
	if id.kind == service.KindNetwork {
		delete(k.subnets, id.name)
	}
	if id.kind == service.KindSecurityGroup {
		delete(k.groups, id.name)
	}
	if k.seen != nil {
		k.seen = k.seen.without(id)
	}
}

// touch says that an object is about to be made, and returns what there is already: nil
// when that is nothing of it. release is to be called when the making has ended.
func (c *Cloud) touch(ctx context.Context, o service.Owner, id key) (inv *inventory, release func(), err error) {
	k := c.of(o)
	k.mu.Lock()
	_, again := k.touched[id]
	k.include(id.kind)
	clear := k.seen != nil && k.seen.covers(id.kind) && !again && !k.seen.has(id)
	t := k.touched[id]
	k.touched[id] = touch{t.begun + 1, t.running + 1}
	k.mu.Unlock()
	release = func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if t, ok := k.touched[id]; ok {
			k.touched[id] = touch{t.begun, t.running - 1}
		}
	}
	if clear {
		return nil, release, nil
	}
	if inv, err = c.look(ctx, o); err != nil || !inv.has(id) {
		inv = nil
	}
	return inv, release, err
}

// recall returns what there is of an object that is to be deleted, without asking where
// that is known.
func (c *Cloud) recall(ctx context.Context, o service.Owner, id key) (*inventory, error) {
	k := c.of(o)
	k.mu.Lock()
	_, touched := k.touched[id]
	seen := k.seen
	k.include(id.kind)
	k.mu.Unlock()
	if seen != nil && seen.covers(id.kind) && !touched {
		return seen, nil
	}
	return c.look(ctx, o)
}

// look asks the cloud what it has of an owner, now. Calls that come while one look is
// going on share the next one.
func (c *Cloud) look(ctx context.Context, o service.Owner) (*inventory, error) {
	k := c.of(o)
	k.mu.Lock()
	mine := &load{done: make(chan struct{})}
	switch {
	case k.running == nil:
		c.begin(ctx, o, k, mine)
	case k.next == nil:
		k.next = mine
	default:
		mine = k.next
	}
	k.mu.Unlock()
	select {
	case <-mine.done:
		return mine.inv, mine.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// begin starts a look; the lock is held.
func (c *Cloud) begin(ctx context.Context, o service.Owner, k *known, l *load) {
	k.running = l
	settled := map[key]touch{} // made before the look: it tells of them
	for id, t := range k.touched {
		if t.running == 0 {
			settled[id] = t
		}
	}
	listed := k.listed
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteTimeout)
		defer cancel()
		l.inv, l.err = c.list(ctx, o, listed)
		k.mu.Lock()
		defer k.mu.Unlock()
		if l.err == nil {
			k.seen = l.inv
			for id, t := range settled {
				if k.touched[id] == t {
					delete(k.touched, id)
				}
			}
			for _, n := range l.inv.networks {
				if s, ok := l.inv.subnet(n.ID); ok {
					k.subnets[n.Name] = s
				}
			}
			for _, g := range l.inv.groups {
				k.groups[g.Name] = g
			}
		}
		k.running = nil
		if next := k.next; next != nil {
			k.next = nil
			c.begin(ctx, o, k, next)
		}
		close(l.done)
	}()
}

// list reads all that an owner has, of optional kinds those that are given.
func (c *Cloud) list(ctx context.Context, o service.Owner, also []service.Kind) (*inventory, error) {
	inv := &inventory{listed: also}
	mark := c.marks.text(o)
	var networks struct{ Networks []network }
	var routers struct{ Routers []router }
	first, inner := errgroup.WithContext(ctx)
	first.Go(func() error {
		return c.session.network.get(inner, query("networks", "description", mark), &networks)
	})
	first.Go(func() error {
		return c.session.network.get(inner, query("routers", "description", mark), &routers)
	})
	first.Go(func() (err error) {
		inv.servers, err = c.session.servers(inner, "tags", c.marks.tag(o))
		return err
	})
	c.listOptional(inner, first, o, inv)
	if err := first.Wait(); err != nil {
		return nil, err
	}
	inv.networks, inv.routers = networks.Networks, routers.Routers
	// Nova lists a server for a moment after it has become DELETED.
	inv.servers = slices.DeleteFunc(inv.servers, func(s server) bool { return s.Status == "DELETED" || s.Metadata[metaOwner] != o.String() })
	if len(inv.networks) == 0 { // no ports either
		return inv, nil
	}
	var subnets struct{ Subnets []subnet }
	var ports struct{ Ports []port }
	second, inner := errgroup.WithContext(ctx)
	second.Go(func() error {
		return c.session.network.get(inner, query("subnets", "description", mark), &subnets)
	})
	second.Go(func() error {
		var on []string
		for _, n := range inv.networks {
			on = append(on, "network_id", n.ID)
		}
		return c.session.network.get(inner, query("ports", on...), &ports)
	})
	if err := second.Wait(); err != nil {
		return nil, err
	}
	inv.subnets = subnets.Subnets
	for _, p := range ports.Ports {
		if inv.routed(p) || len(c.marks.wordsOf(o, p.Description)) > 0 {
			inv.ports = append(inv.ports, p)
		}
	}
	for i := range inv.subnets {
		for _, n := range inv.networks {
			if n.ID == inv.subnets[i].NetworkID {
				inv.subnets[i].MTU = n.MTU
			}
		}
	}
	return inv, nil
}

// servers lists all servers that match, however many answers that takes.
func (s *Session) servers(ctx context.Context, filter ...string) (all []server, err error) {
	err = persist(ctx, s.cfg.Outage, func() error {
		all, err = s.pages(ctx, filter)
		return err
	}, isCut)
	return all, err
}

func (s *Session) pages(ctx context.Context, filter []string) (all []server, err error) {
	for path := query("servers/detail", filter...); path != ""; {
		var answer struct {
			Servers []server `json:"servers"`
			Links   []struct {
				Rel  string `json:"rel"`
				Href string `json:"href"`
			} `json:"servers_links"`
		}
		if err := s.compute.get(ctx, path, &answer); err != nil {
			return nil, err
		}
		all = append(all, answer.Servers...)
		path = ""
		for _, l := range answer.Links {
			if l.Rel == "next" {
				path = s.compute.sameEndpoint(l.Href)
			}
		}
	}
	return all, nil
}

// sameEndpoint leads a link back to the endpoint that was asked: behind a proxy, links
// often name an address that only the service itself knows.
func (a *api) sameEndpoint(link string) string {
	if i := strings.Index(link, "/servers"); i >= 0 {
		return link[i+1:]
	}
	return link
}
