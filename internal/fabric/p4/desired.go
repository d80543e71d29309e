package p4

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt/client"
	"github.com/catena-nfv/catena/internal/service"
)

// The vrouter backbone's tables and actions, see internal/nf/backbone/vrouter.p4.
const (
	tablePorts      = "VrouterIngress.ports"
	tableARP        = "VrouterIngress.arp"
	tableClassifier = "VrouterIngress.classifier"
	tableGateways   = "VrouterIngress.gateways"
	tableRoutes     = "VrouterIngress.routes"
	tableHosts      = "VrouterIngress.hosts"

	actionSetNetwork = "VrouterIngress.set_network"
	actionARPReply   = "VrouterIngress.arp_reply"
	actionSetChain   = "VrouterIngress.set_chain"
	actionToRouter   = "VrouterIngress.to_router"
	actionToGateway  = "VrouterIngress.to_gateway"
	actionRoute      = "VrouterIngress.route"
	actionForward    = "VrouterIngress.forward"

	chainCounter = "VrouterIngress.chains"
	maxChain     = 4095 // the last cell of chainCounter

	scopeKey = "scope"
)

// backboneTables are the backbone's tables in the order in which they are written.
var backboneTables = []string{
	controlFromPort + ".remotes", controlFromPort + ".rules", controlToPort + ".remotes", controlToPort + ".rules", tablePairs, tableSecured,
	tableServices, tableGateways, tableARP, tableRoutes, tableHosts, tableClassifier, tablePorts,
}

// desired returns the entities that make the switch do what the configuration
// says, in an order in which they may be written: what sends packets somewhere
// comes after what waits for them there.
func desired(cfg service.SwitchConfig, d deployment, lib library) ([]client.Entity, error) {
	b := newBuilder(cfg)
	for _, n := range cfg.Networks {
		if n.Number == 0 || n.Number > 0xffff {
			return nil, fmt.Errorf("network %q: number %d is not between 1 and 65535", n.Name, n.Number)
		}
	}
	visited := map[string]bool{} // "CHAIN NF"
	for _, n := range d.Graph.Nodes {
		for _, c := range n.Chains {
			visited[fmt.Sprint(c, " ", n.NF)] = true
		}
	}
	visits := func(c service.SwitchChain, nf string) bool { return visited[fmt.Sprint(c.Number, " ", nf)] }
	if err := b.rules(lib, visits); err != nil {
		return nil, err
	}
	b.floods()
	all, of, _, err := policies(cfg)
	if err != nil {
		return nil, err
	}
	b.guards(all, of)
	if err := b.services(); err != nil {
		return nil, err
	}
	b.gateways()
	if err := b.hosts(); err != nil {
		return nil, err
	}
	if err := b.classifiers(d); err != nil {
		return nil, err
	}
	for _, p := range cfg.Ports {
		b.port(p, of)
	}
	return b.out, nil
}

type builder struct {
	cfg      service.SwitchConfig
	networks map[uint32]service.SwitchNetwork
	out      []client.Entity
}

func newBuilder(cfg service.SwitchConfig) *builder {
	b := &builder{cfg: cfg, networks: map[uint32]service.SwitchNetwork{}}
	for _, n := range cfg.Networks {
		b.networks[n.Number] = n
	}
	return b
}

func (b *builder) entry(e client.Entry) { b.out = append(b.out, e) }

// rules adds the rules of chains. Those of the operator are for every chain, but for
// what a chain's own rules say of the same match and priority. All rules are checked;
// entries are for the NFs that the chain visits: the program may lack others.
func (b *builder) rules(lib library, visits func(service.SwitchChain, string) bool) error {
	taken := map[string]bool{}
	add := func(scope uint32, r service.Rule, used, optional bool) error {
		es, err := lib.entries(scope, r)
		if err != nil {
			return err
		}
		for _, e := range es {
			switch k := keyOf(e); {
			case !taken[k]:
				taken[k] = true
				if used {
					b.entry(e)
				}
			case !optional:
				return fmt.Errorf("NF %s: two rules with the same match %s in table %s", r.NF, describe(r.Match), e.Table)
			}
		}
		return nil
	}
	var errs []error
	for _, c := range b.cfg.Chains {
		for i, r := range c.Chain.Rules {
			if err := add(c.Scope, r, visits(c, r.NF), false); err != nil {
				errs = append(errs, &service.ChainError{Owner: c.Owner, Chain: c.Chain.Name, Field: fmt.Sprintf("rules[%d]", i), Err: err})
			}
		}
	}
	for i, r := range b.cfg.Rules {
		_, err := lib.entries(r.Scope, r.Rule) // also if no chain needs it
		for _, c := range b.cfg.Chains {
			if err == nil && (r.Scope == 0 || r.Scope == c.Scope) {
				err = add(c.Scope, r.Rule, visits(c, r.Rule.NF), r.Scope == 0)
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("rule %d of the operator: %w", i+1, err))
		}
	}
	return errors.Join(errs...)
}

func describe(match map[string]string) string {
	if len(match) == 0 {
		return "(everything)"
	}
	var out []string
	for _, k := range sortedKeys(match) {
		out = append(out, k+"="+match[k])
	}
	return strings.Join(out, " ")
}

// floods adds a multicast group for each network: all its ports.
func (b *builder) floods() {
	for _, n := range b.cfg.Networks {
		var rs []target.Replica
		for _, p := range b.cfg.Ports {
			if p.Network == n.Number {
				rs = append(rs, target.Replica{Port: p.Number, Instance: 1})
			}
		}
		if len(rs) > 0 {
			b.out = append(b.out, client.Multicast{ID: n.Number, Replicas: rs})
		}
	}
}

func (b *builder) network(n uint32) target.Match { return exactly(number(uint64(n))) }

// gateways adds the routers' addresses: they answer ARP and pings, and what is
// sent to their MAC addresses is routed.
func (b *builder) gateways() {
	for _, n := range b.cfg.Networks {
		if n.Router == 0 || !n.Gateway.Is4() {
			continue
		}
		ip, mac := n.Gateway.As4(), n.GatewayMAC
		b.resolves(n.Number, n.Gateway, mac)
		b.entry(client.Entry{
			Table:  tableRoutes,
			Match:  map[string]target.Match{"router": exactly(number(uint64(n.Router))), "dst_addr": {Value: ip[:], PrefixLen: 32}},
			Action: actionToGateway,
		})
		b.entry(client.Entry{
			Table: tableGateways, Match: map[string]target.Match{"network": b.network(n.Number), "mac": exactly(mac[:])},
			Action: actionToRouter, Params: map[string][]byte{"router": number(uint64(n.Router))},
		})
	}
}

// hosts adds what is known of each port: its MAC address, its address in ARP, and
// the way to it from the other networks of its router.
func (b *builder) hosts() error {
	for _, p := range b.cfg.Ports {
		n, ok := b.networks[p.Network]
		if !ok {
			return fmt.Errorf("port %q: network %d is not configured", p.Port.Name, p.Network)
		}
		if p.Number == 0 || p.Number > 509 {
			return fmt.Errorf("port %q: number %d is not between 1 and 509", p.Port.Name, p.Number)
		}
		mac, port := p.Port.MAC, number(uint64(p.Number))
		b.entry(client.Entry{
			Table: tableHosts, Match: map[string]target.Match{"network": b.network(n.Number), "mac": exactly(mac[:])},
			Action: actionForward, Params: map[string][]byte{"port": port},
		})
		for _, a := range addressesOf(p) {
			b.resolves(n.Number, a, p.Port.MAC)
			if n.Router == 0 {
				continue
			}
			ip, gw := a.As4(), n.GatewayMAC
			b.entry(client.Entry{
				Table:  tableRoutes,
				Match:  map[string]target.Match{"router": exactly(number(uint64(n.Router))), "dst_addr": {Value: ip[:], PrefixLen: 32}},
				Action: actionRoute, Params: map[string][]byte{"port": port, "src_mac": gw[:], "dst_mac": mac[:]},
			})
		}
	}
	return nil
}

// maxPriority is that of a classifier.
const maxPriority = 1 << 20

// ranks is how many classifiers of one priority are told apart.
const ranks = 1 << 10

// classifierPriority is the priority on the switch. Where two classifiers of one
// priority overlap, that of the smaller chain number counts, then the first of the
// chain; a classifier keeps its priority when others come and go.
func classifierPriority(priority int, chain uint32, index int) int {
	rank := min((int(chain)-1)*4+min(index, 3), ranks-1)
	return priority*ranks + ranks - rank
}

// matched is a classifier that was turned into matches.
type matched struct {
	chain   service.SwitchChain
	index   int // of the classifier
	path    int
	matches []map[string]target.Match
}

// matches checks all classifiers and turns them into matches.
func (b *builder) matches() ([]matched, error) {
	type place struct {
		chain       string
		index, path int
	}
	taken := map[string]place{}
	var out []matched
	var errs []error
	for _, c := range b.cfg.Chains {
		if c.Number == 0 || c.Number > maxChain || c.Scope == 0 || c.Scope > 0xffff {
			errs = append(errs, fmt.Errorf("chain %q: number %d is not between 1 and %d, or scope %d not between 1 and 65535", c.Chain.Name, c.Number, maxChain, c.Scope))
			continue
		}
		for i, m := range c.Chain.Match {
			wrong := func(err error) {
				errs = append(errs, &service.ChainError{Owner: c.Owner, Chain: c.Chain.Name, Field: fmt.Sprintf("match[%d]", i), Err: err})
			}
			all, err := b.classifier(c, m)
			if err != nil {
				wrong(err)
				continue
			}
			x := matched{chain: c, index: i, path: m.Path}
			if x.path == 0 {
				x.path = max(c.Chain.Path, 1)
			}
			for _, match := range all {
				k := keyOf(client.Entry{Match: match, Priority: m.Priority})
				other, found := taken[k]
				switch {
				case !found:
					taken[k] = place{c.Chain.Name, i, x.path}
					x.matches = append(x.matches, match)
				case other.chain != c.Chain.Name || other.path != x.path:
					err = fmt.Errorf("it matches the same packets with the same priority as classifier %d of chain %q; give one of them another priority", other.index+1, other.chain)
				}
			}
			if err != nil {
				wrong(err)
				continue
			}
			out = append(out, x)
		}
	}
	return out, errors.Join(errs...)
}

// classifiers adds what leads packets into chains.
func (b *builder) classifiers(d deployment) error {
	all, err := b.matches()
	if err != nil {
		return err
	}
	for _, x := range all {
		nodes, err := d.Graph.Visits(int(x.chain.Number), x.path)
		if err != nil {
			return fmt.Errorf("chain %q: classifier %d: %w", x.chain.Chain.Name, x.index+1, err)
		}
		bitmap, err := nodes.Bytes(d.NodeBits)
		if err != nil {
			return fmt.Errorf("chain %q: %w", x.chain.Chain.Name, err)
		}
		for _, match := range x.matches {
			b.entry(client.Entry{
				Table: tableClassifier, Match: match, Action: actionSetChain,
				Priority: classifierPriority(x.chain.Chain.Match[x.index].Priority, x.chain.Number, x.index),
				Params: map[string][]byte{
					"scope": number(uint64(x.chain.Scope)), "chain": number(uint64(x.chain.Number)),
					"path": number(uint64(x.path)), "nodes": bitmap,
				},
			})
		}
	}
	return nil
}

// classifier returns the matches of one classifier: one for each network of the
// service and each piece of the port ranges.
func (b *builder) classifier(c service.SwitchChain, m service.Classifier) ([]map[string]target.Match, error) {
	if m.Priority < 0 || m.Priority > maxPriority {
		return nil, fmt.Errorf("priority %d is not between 0 and %d", m.Priority, maxPriority)
	}
	source, destination := m.Source, m.Destination
	if m.To != "" {
		to, err := b.named(c.Owner, m.To)
		if err != nil {
			return nil, err
		}
		if destination, err = intersect(to.Subnet, destination); err != nil {
			return nil, fmt.Errorf("to network %q: %w", m.To, err)
		}
	}
	base := map[string]target.Match{}
	if t := ternaryPrefix(source); !t.Any {
		base["src_addr"] = t
	}
	if t := ternaryPrefix(destination); !t.Any {
		base["dst_addr"] = t
	}
	if m.Protocol != "" {
		v, ok := protocols[m.Protocol]
		if !ok {
			n, err := strconv.ParseUint(m.Protocol, 10, 8)
			if err != nil {
				return nil, fmt.Errorf("protocol %q is neither tcp, udp, icmp nor a number up to 255", m.Protocol)
			}
			v = int64(n)
		}
		base["protocol"] = ternaryExactly(uint64(v), 8)
	}
	sources := b.networksOf(c.Owner, m.From)
	if len(sources) == 0 {
		return nil, fmt.Errorf("from network %q: there is no such network", m.From)
	}
	var out []map[string]target.Match
	for _, n := range sources {
		for _, sp := range portPieces(m.SourcePorts) {
			for _, dp := range portPieces(m.Ports) {
				one := map[string]target.Match{"network": ternaryExactly(uint64(n.Number), 16)}
				for k, v := range base {
					one[k] = v
				}
				if !sp.Any {
					one["src_port"] = sp
				}
				if !dp.Any {
					one["dst_port"] = dp
				}
				out = append(out, one)
			}
		}
	}
	return out, nil
}

func portPieces(r service.PortRange) []target.Match {
	if r.IsZero() {
		return []target.Match{{Any: true}}
	}
	return coverRange(uint64(r.Lo), uint64(r.Hi), 16)
}

func (b *builder) named(o service.Owner, name string) (service.SwitchNetwork, error) {
	for _, n := range b.cfg.Networks {
		if n.Owner == o && n.Name == name {
			return n, nil
		}
	}
	return service.SwitchNetwork{}, fmt.Errorf("to network %q: there is no such network", name)
}

// networksOf returns the network of that name, or all of the service for "".
func (b *builder) networksOf(o service.Owner, name string) []service.SwitchNetwork {
	var out []service.SwitchNetwork
	for _, n := range b.cfg.Networks {
		if n.Owner == o && (name == "" || n.Name == name) {
			out = append(out, n)
		}
	}
	return out
}

// intersect returns the addresses that are in both prefixes; an invalid one holds
// all.
func intersect(a, b netip.Prefix) (netip.Prefix, error) {
	switch {
	case !b.IsValid():
		return a, nil
	case !a.Overlaps(b):
		return netip.Prefix{}, fmt.Errorf("destination %s is not in its subnet %s", b, a)
	case a.Bits() >= b.Bits():
		return a, nil
	}
	return b, nil
}
