package orch

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	"github.com/catena-nfv/catena/internal/service"
)

// Kinds of objects that only the planner knows: a port being attached to the
// switch, and the service's part of the switch's configuration.
const (
	kindAttachment service.Kind = "attachment"
	kindPart       service.Kind = "switch"
)

// partName is the name of a service's one object of kind switch.
const partName = "switch"

// Key names an object inside of its service.
type Key struct {
	Kind service.Kind
	Name string
}

func (k Key) String() string { return string(k.Kind) + " " + k.Name }

// compareKeys orders by kind, in the order of creation, and then by name.
func compareKeys(a, b Key) int {
	if d := kindRank(a.Kind) - kindRank(b.Kind); d != 0 {
		return d
	}
	switch {
	case a.Name < b.Name:
		return -1
	case a.Name > b.Name:
		return 1
	}
	return 0
}

func kindRank(k service.Kind) int {
	return slices.Index([]service.Kind{
		service.KindNetwork, service.KindSecurityGroup, service.KindSecurityRules, service.KindKeyPair, service.KindRouter, service.KindPort,
		kindAttachment, service.KindFloatingIP, service.KindServer, service.KindFunction, kindPart,
	}, k)
}

// wanted is one object that a service needs. Exactly one of the pointers is set,
// but for attachments, which are all in their key.
type wanted struct {
	Key      Key
	Network  *service.Network      `json:",omitempty"`
	Router   *service.Router       `json:",omitempty"`
	Port     *service.PortSpec     `json:",omitempty"`
	Server   *service.ServerSpec   `json:",omitempty"` // Ports are filled in when they exist
	Function *service.FunctionSpec `json:",omitempty"` // likewise
	Part     *part                 `json:",omitempty"`

	SecurityGroup *service.SecurityGroup  `json:",omitempty"`
	SecurityRules *service.SecurityGroup  `json:",omitempty"` // the group with them
	KeyPair       *service.KeyPair        `json:",omitempty"`
	FloatingIP    *service.FloatingIPSpec `json:",omitempty"` // Port is filled in when it exists

	PortNames []string `json:",omitempty"` // of servers, functions and floating IPs, in order
	Number    uint32   `json:",omitempty"` // of attachments
	After     []Key    `json:"-"`          // what must exist before

	digest string // of everything above
	shape  string // of what cannot be changed while it exists
}

// part is what one service adds to the configuration of the switch.
type part struct {
	Networks []service.SwitchNetwork
	Groups   []service.SwitchGroup `json:",omitempty"`
	Chains   []service.SwitchChain
	Ports    []partPort
}

type partPort struct {
	Name    string
	Number  uint32
	Network uint32
	// Groups secure the port, none leave it open.
	Groups []uint32              `json:",omitempty"`
	Pairs  []service.AddressPair `json:",omitempty"`
}

// attached is the port as the switch has it, when it exists.
func (p partPort) attached(o service.Owner, port service.Port) service.SwitchPort {
	return service.SwitchPort{
		Owner: o, Number: p.Number, Network: p.Network, Port: port,
		Secured: len(p.Groups) > 0, Groups: p.Groups, Pairs: p.Pairs,
		InstanceID: o.String() + "/" + port.Device, ProjectID: o.Project, HostName: port.Device,
	}
}

// desired is a service with all that was decided about it: pure input of Plan.
// A nil Service asks for nothing at all.
type desired struct {
	Service   *service.Service
	Addresses map[string]netip.Addr // by port name
	Numbers   numbers
}

// objects expands a desired service to its objects, sorted by key.
func (d desired) objects() ([]*wanted, error) {
	s := d.Service
	if s == nil {
		return nil, nil
	}
	var out []*wanted
	for i := range s.Networks {
		n := s.Networks[i]
		out = append(out, &wanted{Key: Key{service.KindNetwork, n.Name}, Network: &n, shape: n.Subnet.String()})
	}
	for i := range s.Routers {
		r := s.Routers[i]
		w := &wanted{Key: Key{service.KindRouter, r.Name}, Router: &r, shape: "router"}
		for _, n := range r.Networks {
			w.After = append(w.After, Key{service.KindNetwork, n})
		}
		out = append(out, w)
	}
	out = append(out, d.securityGroups()...)
	out = append(out, d.keyPairs()...)
	var attachments []Key
	addPorts := func(device string, kind service.Kind, groups []string, list []service.Attachment) ([]string, []Key) {
		var names []string
		var keys []Key
		for _, a := range list {
			spec := d.port(device, kind, a.Network)
			spec.SecurityGroups, spec.AllowedAddresses = securityOf(groups, a)
			key, attach := Key{service.KindPort, spec.Name}, Key{kindAttachment, spec.Name}
			out = append(out,
				&wanted{Key: key, Port: &spec, After: portAfter(spec), shape: fmt.Sprint(spec.Network, spec.MAC, spec.IP)},
				&wanted{Key: attach, Number: d.Numbers.get(portNumber, s.Owner(), spec.Name), After: []Key{key}})
			names = append(names, spec.Name)
			keys = append(keys, key)
			attachments = append(attachments, attach)
			if a.FloatingIP != "" {
				out = append(out, d.floatingIP(spec.Name, a))
			}
		}
		return names, keys
	}
	for i := range s.Servers {
		v := &s.Servers[i]
		for _, name := range v.Instances() {
			names, keys := addPorts(name, service.KindServer, v.SecurityGroups, v.Networks)
			spec := &service.ServerSpec{Name: name, Image: v.Image, Flavor: v.Flavor, Port: v.Port, Command: v.Command, Key: v.Key}
			if s.KeyPair(v.Key) != nil {
				spec.Key, spec.KeyPair = "", v.Key
				keys = append(keys, Key{service.KindKeyPair, v.Key})
			}
			out = append(out, &wanted{Key: Key{service.KindServer, name}, Server: spec, PortNames: names, After: keys})
		}
	}
	for i := range s.Functions {
		f := &s.Functions[i]
		names, keys := addPorts(f.Name, service.KindFunction, f.SecurityGroups, f.Networks)
		spec := d.function(f)
		out = append(out, &wanted{
			Key: Key{service.KindFunction, f.Name}, Function: &spec, PortNames: names, After: keys,
			shape: fmt.Sprint(f.Kind, names),
		})
	}
	p, err := d.part()
	if err != nil {
		return nil, err
	}
	out = append(out, &wanted{Key: Key{kindPart, partName}, Part: p, After: attachments, shape: "switch"})

	for _, w := range out {
		slices.SortFunc(w.After, compareKeys)
		if w.digest, err = digest(w); err != nil {
			return nil, err
		}
		if w.shape == "" {
			w.shape = w.digest
		}
	}
	slices.SortFunc(out, func(a, b *wanted) int { return compareKeys(a.Key, b.Key) })
	return out, nil
}

// digest is a hash of a value's JSON, which Go writes in a fixed order.
func digest(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12]), nil
}

// port describes the port of an instance on a network.
func (d desired) port(device string, kind service.Kind, network string) service.PortSpec {
	s, n := d.Service, d.Service.Network(network)
	name := service.PortName(device, network)
	spec := service.PortSpec{
		Name: name, Device: device, DeviceKind: kind, Network: network,
		MAC: service.MACFor(s.Owner(), name),
		IP:  netip.PrefixFrom(d.Addresses[name], n.Subnet.Bits()),
		DNS: n.DNS, MTU: n.MTU,
	}
	if len(spec.DNS) == 0 {
		spec.DNS = d.nameServers(network)
	}
	if s.Router(network) != nil {
		spec.Gateway = n.Gateway
	}
	return spec
}

// securityOf gives the security groups of a port, sorted by name, and the addresses
// that it may send from beside its own; groups are those of its instance.
func securityOf(groups []string, a service.Attachment) ([]string, []netip.Prefix) {
	if len(a.SecurityGroups) > 0 {
		groups = a.SecurityGroups
	}
	groups, allowed := slices.Clone(groups), slices.Clone(a.AllowedAddresses)
	slices.Sort(groups)
	slices.SortFunc(allowed, func(a, b netip.Prefix) int { return cmp.Or(a.Addr().Compare(b.Addr()), a.Bits()-b.Bits()) })
	return groups, slices.Compact(allowed)
}

func portAfter(spec service.PortSpec) []Key {
	after := []Key{{service.KindNetwork, spec.Network}}
	for _, g := range spec.SecurityGroups {
		after = append(after, Key{service.KindSecurityGroup, g})
	}
	return after
}

// nameServers are the DNS functions that members of a network reach: those on
// it first, then those behind its router.
func (d desired) nameServers(network string) []netip.Addr {
	var near, far []netip.Addr
	for _, f := range d.Service.Functions {
		if f.Kind != service.DNSKind {
			continue
		}
		for _, a := range f.Networks {
			addr := d.Addresses[service.PortName(f.Name, a.Network)]
			r := d.Service.Router(a.Network)
			switch {
			case a.Network == network:
				near = append(near, addr)
			case r != nil && r == d.Service.Router(network):
				far = append(far, addr)
			}
		}
	}
	return append(near, far...)
}

// function resolves the names in a function's configuration.
func (d desired) function(f *service.Function) service.FunctionSpec {
	spec := service.FunctionSpec{Name: f.Name, Kind: f.Kind}
	switch {
	case f.LoadBalancer != nil:
		c := f.LoadBalancer
		lb := &service.LoadBalancerSpec{Port: c.Port, Protocol: c.Protocol, Algorithm: c.Algorithm}
		for _, m := range c.Members {
			server := d.Service.Server(m)
			port := c.MemberPort
			if port == 0 {
				port = server.Port
			}
			for _, name := range server.Instances() {
				lb.Members = append(lb.Members, service.Endpoint{Name: name, Addr: netip.AddrPortFrom(d.reach(f.Networks, name, server.Networks), uint16(port))})
			}
		}
		spec.LoadBalancer = lb
	case f.Firewall != nil:
		c := f.Firewall
		fw := &service.FirewallSpec{Policy: c.Policy, Rules: c.Rules}
		for _, p := range c.Publish {
			addr := d.reach(f.Networks, p.To, d.attachments(p.To))
			fw.Publish = append(fw.Publish, service.PublishSpec{
				Port: p.Port, Protocol: p.Protocol,
				To: service.Endpoint{Name: p.To, Addr: netip.AddrPortFrom(addr, uint16(p.ToPort))},
			})
		}
		spec.Firewall = fw
	case f.DNS != nil:
		spec.DNS = d.dns(f)
	}
	return spec
}

// reach picks the address under which an instance on the networks `to` is
// reached from one on `from`: on a common network when there is one.
func (d desired) reach(from []service.Attachment, instance string, to []service.Attachment) netip.Addr {
	for _, t := range to {
		for _, f := range from {
			if f.Network == t.Network {
				return d.Addresses[service.PortName(instance, t.Network)]
			}
		}
	}
	return d.Addresses[service.PortName(instance, to[0].Network)]
}

// attachments of an instance, by its name.
func (d desired) attachments(instance string) []service.Attachment {
	for _, f := range d.Service.Functions {
		if f.Name == instance {
			return f.Networks
		}
	}
	for i := range d.Service.Servers {
		if slices.Contains(d.Service.Servers[i].Instances(), instance) {
			return d.Service.Servers[i].Networks
		}
	}
	return nil
}

// dns gives a name server a record for every instance, and those asked for.
func (d desired) dns(f *service.Function) *service.DNSSpec {
	spec := &service.DNSSpec{Zone: f.DNS.Zone, Upstream: f.DNS.Upstream}
	add := func(name string, networks []service.Attachment) {
		spec.Records = append(spec.Records, service.Record{Name: name, IP: d.reach(f.Networks, name, networks)})
	}
	for _, o := range d.Service.Functions {
		add(o.Name, o.Networks)
	}
	for i := range d.Service.Servers {
		v := &d.Service.Servers[i]
		for _, name := range v.Instances() {
			add(name, v.Networks)
			if v.Count > 1 { // the server's own name gives all instances
				spec.Records = append(spec.Records, service.Record{Name: v.Name, IP: d.reach(f.Networks, name, v.Networks)})
			}
		}
	}
	for _, r := range f.DNS.Records {
		ip := r.IP
		if r.Target != "" {
			ip = d.reach(f.Networks, r.Target, d.attachments(r.Target))
		}
		spec.Records = append(spec.Records, service.Record{Name: r.Name, IP: ip})
	}
	slices.SortStableFunc(spec.Records, func(a, b service.Record) int {
		switch {
		case a.Name < b.Name:
			return -1
		case a.Name > b.Name:
			return 1
		}
		return a.IP.Compare(b.IP)
	})
	return spec
}

// part computes what the service adds to the switch.
func (d desired) part() (*part, error) {
	s, owner := d.Service, d.Service.Owner()
	p := &part{}
	for _, n := range s.Networks {
		sn := service.SwitchNetwork{
			Owner: owner, Number: d.Numbers.get(networkNumber, owner, n.Name), Name: n.Name, Subnet: n.Subnet,
		}
		mac := service.MACFor(owner, "gateway of "+n.Name)
		if r := s.Router(n.Name); r != nil {
			sn.Router = d.Numbers.get(routerNumber, owner, r.Name)
			sn.Gateway, sn.GatewayMAC = n.Gateway, mac
		}
		// The gateway's address is the node's also where no router has it.
		if n.DHCP {
			sn.Server = n.Gateway
		}
		sn.ServerMAC, sn.DNS, sn.MTU, sn.Metadata = mac, n.DNS, n.MTU, true
		if len(sn.DNS) == 0 {
			sn.DNS = d.nameServers(n.Name)
		}
		p.Networks = append(p.Networks, sn)
	}
	shared, err := s.ResolveRules(s.Rules, d.Addresses)
	if err != nil {
		return nil, err
	}
	for _, c := range s.Chains {
		rules, err := s.ResolveRules(c.Rules, d.Addresses)
		if err != nil {
			return nil, fmt.Errorf("chain %q: %w", c.Name, err)
		}
		c.Rules = append(rules, shared...)
		number := d.Numbers.get(chainNumber, owner, c.Name)
		p.Chains = append(p.Chains, service.SwitchChain{Owner: owner, Number: number, Scope: number, Chain: c})
	}
	p.Groups = d.groups()
	addPort := func(device string, groups []string, list []service.Attachment) {
		for _, a := range list {
			name := service.PortName(device, a.Network)
			pp := partPort{Name: name, Number: d.Numbers.get(portNumber, owner, name), Network: d.Numbers.get(networkNumber, owner, a.Network)}
			names, allowed := securityOf(groups, a)
			for _, g := range names {
				pp.Groups = append(pp.Groups, d.Numbers.get(groupNumber, owner, g))
			}
			slices.Sort(pp.Groups)
			for _, ip := range allowed {
				pp.Pairs = append(pp.Pairs, service.AddressPair{IP: ip})
			}
			p.Ports = append(p.Ports, pp)
		}
	}
	for _, f := range s.Functions {
		addPort(f.Name, f.SecurityGroups, f.Networks)
	}
	for i := range s.Servers {
		for _, name := range s.Servers[i].Instances() {
			addPort(name, s.Servers[i].SecurityGroups, s.Servers[i].Networks)
		}
	}
	return p, nil
}

// groups gives the service's security groups their numbers.
func (d desired) groups() []service.SwitchGroup {
	owner := d.Service.Owner()
	var out []service.SwitchGroup
	for _, g := range d.Service.SecurityGroups {
		sg := service.SwitchGroup{Owner: owner, Number: d.Numbers.get(groupNumber, owner, g.Name), Name: g.Name}
		for _, r := range g.Rules {
			sr := service.SwitchGroupRule{SecurityRule: r}
			if r.RemoteGroup != "" {
				sr.Remote = d.Numbers.get(groupNumber, owner, r.RemoteGroup)
			}
			sg.Rules = append(sg.Rules, sr)
		}
		out = append(out, sg)
	}
	return out
}
