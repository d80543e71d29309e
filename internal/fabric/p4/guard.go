package p4

import (
	"fmt"
	"net/netip"

	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt/client"
	"github.com/catena-nfv/catena/internal/service"
)

// The tables of the backbone with GUARD, and those of what the node answers.
const (
	tableServices = "VrouterIngress.services"
	tablePairs    = "VrouterIngress.pairs"
	tableSecured  = "VrouterEgress.secured"
	// A packet from a port meets the rules in the ingress of the switch.
	controlFromPort = "VrouterIngress.guard"
	controlToPort   = "VrouterEgress.guard"

	actionToNode     = "VrouterIngress.to_node"
	actionSetSecured = "VrouterIngress.set_secured"
	actionProtect    = "VrouterEgress.protect"
)

// needsGuard tells whether a configuration needs the backbone with GUARD. Ports may be
// missing yet; groups are not.
func needsGuard(cfg service.SwitchConfig) bool {
	for _, p := range cfg.Ports {
		if p.Secured {
			return true
		}
	}
	return len(cfg.Groups) > 0
}

// within adds a key of longest prefixes to a match; one that holds everything is left
// out.
func within(match map[string]target.Match, key string, p prefix) map[string]target.Match {
	if p.length > 0 {
		match[key] = target.Match{Value: number(uint64(p.value)), PrefixLen: p.length}
	}
	return match
}

// guards adds the policies, and which ports they protect.
func (b *builder) guards(all []policy, of map[uint32]uint32) {
	for _, p := range all {
		for _, x := range []struct {
			control string
			side    side
		}{{controlFromPort, p.egress}, {controlToPort, p.ingress}} {
			policy := exactly(number(uint64(p.number)))
			for _, r := range x.side.remotes {
				b.entry(client.Entry{
					Table: x.control + ".remotes", Match: within(map[string]target.Match{"policy": policy}, "address", r.prefix),
					Action: x.control + ".is_of", Params: map[string][]byte{"remotes": bytesOf(r.set)},
				})
			}
			for _, r := range x.side.rules {
				b.entry(client.Entry{
					Table: x.control + ".rules", Match: within(map[string]target.Match{"policy": policy}, "service", r.prefix),
					Action: x.control + ".allow", Params: map[string][]byte{"remotes": bytesOf(r.set)},
				})
			}
		}
	}
	for _, p := range b.cfg.Ports {
		if !p.Secured {
			continue
		}
		b.pairs(p)
		b.entry(client.Entry{
			Table: tableSecured, Match: map[string]target.Match{"port": exactly(number(uint64(p.Number)))},
			Action: actionProtect, Params: map[string][]byte{"by": number(uint64(of[p.Number]))},
		})
	}
}

// pairs adds what a port may send as beside its first address.
func (b *builder) pairs(p service.SwitchPort) {
	type pair struct {
		mac service.MAC
		ip  prefix
	}
	var list []pair
	for i, a := range addressesOf(p) {
		if i > 0 {
			list = append(list, pair{p.Port.MAC, prefixOf(netip.PrefixFrom(a, 32))})
		}
	}
	for _, x := range p.Pairs {
		if !x.IP.Addr().Is4() {
			continue
		}
		mac := x.MAC
		if mac == (service.MAC{}) {
			mac = p.Port.MAC
		}
		list = append(list, pair{mac, prefixOf(x.IP)})
	}
	seen := map[pair]bool{}
	for _, x := range list {
		if seen[x] {
			continue
		}
		seen[x] = true
		b.entry(client.Entry{
			Table: tablePairs,
			Match: within(map[string]target.Match{
				"port": exactly(number(uint64(p.Number))), "mac": exactly(x.mac[:]),
			}, "address", x.ip),
			Action: "NoAction",
		})
	}
}

// port says which network a port belongs to, and whether it is secured.
func (b *builder) port(p service.SwitchPort, of map[uint32]uint32) {
	e := client.Entry{
		Table: tablePorts, Match: map[string]target.Match{"port": exactly(number(uint64(p.Number)))},
		Action: actionSetNetwork, Params: map[string][]byte{"network": number(uint64(p.Network))},
	}
	if p.Secured {
		var ip [4]byte // a port without address sends as its pairs alone
		if own := addressesOf(p); len(own) > 0 {
			ip = own[0].As4()
		}
		e.Action = actionSetSecured
		e.Params["policy"] = number(uint64(of[p.Number]))
		e.Params["mac"] = p.Port.MAC[:]
		e.Params["address"] = ip[:]
	}
	b.entry(e)
}

// metadata is where virtual machines ask for it.
var metadata = netip.AddrFrom4([4]byte{169, 254, 169, 254})

// services adds what the node answers on each network, and the ARP for it.
func (b *builder) services() error {
	everyone := netip.AddrFrom4([4]byte{255, 255, 255, 255})
	for _, n := range b.cfg.Networks {
		answers := func(a netip.Addr, protocol string, port uint16) {
			ip := a.As4()
			b.entry(client.Entry{
				Table: tableServices,
				Match: map[string]target.Match{
					"network": b.network(n.Number), "dst_addr": exactly(ip[:]),
					"protocol": exactly(number(uint64(protocols[protocol]))), "dst_port": exactly(number(uint64(port))),
				},
				Action: actionToNode,
			})
		}
		if n.Server.IsValid() {
			if !n.Server.Is4() {
				return fmt.Errorf("network %q: its server's address %s is not IPv4", n.Name, n.Server)
			}
			answers(everyone, "udp", 67)
			answers(n.Server, "udp", 67)
			answers(n.Server, "udp", 53)
			answers(n.Server, "tcp", 53)
			if n.Router == 0 || n.Server != n.Gateway {
				b.resolves(n.Number, n.Server, n.ServerMAC)
			}
		}
		if n.Metadata {
			answers(metadata, "tcp", 80)
			mac := n.GatewayMAC
			if n.Router == 0 {
				mac = n.ServerMAC
			}
			b.resolves(n.Number, metadata, mac)
		}
	}
	return nil
}

// resolves answers ARP for an address.
func (b *builder) resolves(network uint32, a netip.Addr, mac service.MAC) {
	ip := a.As4()
	b.entry(client.Entry{
		Table: tableARP, Match: map[string]target.Match{"network": b.network(network), "address": exactly(ip[:])},
		Action: actionARPReply, Params: map[string][]byte{"mac": mac[:]},
	})
}
