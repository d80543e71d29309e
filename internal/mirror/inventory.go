package mirror

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/catena-nfv/catena/internal/service"
)

// Device owners of ports, as Neutron writes them.
const (
	ownedByRouter = "network:router_interface"
	ownedByNova   = "compute:"
)

// LinkName is the tap that libvirt makes for a port: its name has room for 11
// characters of the id.
func LinkName(port string) string { return "tap" + port[:min(len(port), 11)] }

// BridgeName is the bridge that nova makes on a node for a network.
func BridgeName(network string) string { return "brq" + network[:min(len(network), 11)] }

// Inventory is what the switch of a node carries of Neutron's objects. A port is on
// it when it is bound to the node and up; networks and groups are all there are.
// IPv6 is left out: the switch does not know it.
func Inventory(s Snapshot, node string) service.Inventory {
	v := view{Snapshot: s, subnets: map[string][]string{}, interfaces: map[string]string{}, taken: map[string]map[netip.Addr]bool{}}
	for _, id := range sorted(s.Subnets) {
		n := s.Subnets[id]
		if n.CIDR.Addr().Is4() {
			v.subnets[n.Network] = append(v.subnets[n.Network], id)
		}
	}
	for _, id := range sorted(s.Ports) {
		p := s.Ports[id]
		for _, a := range p.Addresses {
			if v.taken[p.Network] == nil {
				v.taken[p.Network] = map[netip.Addr]bool{}
			}
			v.taken[p.Network][a.IP] = true
		}
		if r := s.Routers[p.Device]; p.DeviceOwner == ownedByRouter && r != nil && r.AdminUp && v.interfaces[p.Network] == "" {
			v.interfaces[p.Network] = id
		}
	}
	var out service.Inventory
	for _, id := range sorted(s.Networks) {
		if n, ok := v.network(id); ok {
			out.Networks = append(out.Networks, n)
		}
	}
	for _, id := range sorted(s.Groups) {
		out.Groups = append(out.Groups, v.group(id))
	}
	for _, id := range sorted(s.Ports) {
		if p, ok := v.port(id, node); ok {
			out.Ports = append(out.Ports, p)
		}
	}
	return out
}

func sorted[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// view is a snapshot with what is looked up often. interfaces are ids of ports, by
// network: of several interfaces of a network's, that with the smallest id counts.
type view struct {
	Snapshot
	subnets    map[string][]string // IPv4 only, by network; ids
	interfaces map[string]string
	taken      map[string]map[netip.Addr]bool // addresses of ports, by network
}

// network is ok when it has an IPv4 subnet. The switch knows one subnet of a network:
// that of the router's interface, else the one with the smallest id.
func (v view) network(id string) (service.InventoryNetwork, bool) {
	n := v.Networks[id]
	if !n.AdminUp || len(v.subnets[id]) == 0 {
		return service.InventoryNetwork{}, false
	}
	sub := v.Subnets[v.subnets[id][0]]
	out := service.InventoryNetwork{}
	if p := v.Ports[v.interfaces[id]]; p != nil {
		for _, a := range p.Addresses {
			if s := v.Subnets[a.Subnet]; s != nil && a.IP.Is4() {
				sub, out.RouterID = s, p.Device
				out.Gateway, out.GatewayMAC = a.IP, p.MAC
				break
			}
		}
	}
	out.SwitchNetwork.Owner, out.Name, out.Subnet = service.InventoryOwner, id, sub.CIDR
	out.MTU, out.Domain, out.Metadata = n.MTU, strings.TrimSuffix(n.DNSDomain, "."), true
	if !sub.DHCP {
		return out, true
	}
	out.DNS, out.Routes = onlyIPv4(sub.DNS), sub.Routes
	switch {
	case out.Gateway.IsValid():
		out.Server, out.ServerMAC = out.Gateway, out.GatewayMAC
	case sub.Gateway.Is4() && !v.taken[id][sub.Gateway]:
		// Neutron keeps this address free, and no router has it.
		out.Server, out.ServerMAC = sub.Gateway, service.MACFor(service.InventoryOwner, "server of "+id)
	}
	return out, true
}

func onlyIPv4(in []netip.Addr) []netip.Addr {
	var out []netip.Addr
	for _, a := range in {
		if a.Is4() {
			out = append(out, a)
		}
	}
	return out
}

func (v view) port(id, node string) (service.InventoryPort, bool) {
	p := v.Ports[id]
	if p.Host != node || !p.AdminUp || !strings.HasPrefix(p.DeviceOwner, ownedByNova) {
		return service.InventoryPort{}, false
	}
	net, ok := v.Networks[p.Network]
	if !ok || !net.AdminUp || len(v.subnets[p.Network]) == 0 {
		return service.InventoryPort{}, false
	}
	out := service.InventoryPort{NetworkID: p.Network, GroupIDs: slices.Sorted(slices.Values(p.Groups))}
	out.Owner, out.Secured = service.InventoryOwner, p.Secured
	out.InstanceID, out.ProjectID, out.HostName = p.Device, p.Project, p.DNSName
	out.Port = service.Port{
		PortSpec: service.PortSpec{Name: id, Device: p.Device, DeviceKind: service.KindServer, Network: p.Network, MAC: p.MAC, MTU: net.MTU},
		ID:       id, Node: node, Link: LinkName(id),
	}
	for _, a := range p.Addresses {
		s := v.Subnets[a.Subnet]
		if s == nil || !a.IP.Is4() {
			continue
		}
		ip := netip.PrefixFrom(a.IP, s.CIDR.Bits())
		if !out.Port.IP.IsValid() {
			out.Port.IP = ip
			continue
		}
		out.IPs = append(out.IPs, ip)
	}
	for _, pair := range p.Pairs {
		if pair.IP.Addr().Is4() {
			out.Pairs = append(out.Pairs, pair)
		}
	}
	return out, true
}

func (v view) group(id string) service.SwitchGroup {
	out := service.SwitchGroup{Owner: service.InventoryOwner, Name: id}
	for _, r := range v.Groups[id].Rules {
		if r.RemotePrefix.IsValid() && !r.RemotePrefix.Addr().Is4() {
			continue
		}
		if r.RemoteGroup != "" && v.Groups[r.RemoteGroup] == nil {
			continue // its group comes later, or is gone: nobody is in it
		}
		out.Rules = append(out.Rules, service.SwitchGroupRule{SecurityRule: r})
	}
	slices.SortFunc(out.Rules, func(a, b service.SwitchGroupRule) int { return compareRules(a.SecurityRule, b.SecurityRule) })
	return out
}

// compareRules gives rules an order of their own: Neutron's has none.
func compareRules(a, b service.SecurityRule) int {
	icmp := func(m *service.ICMPMatch) int {
		if m == nil {
			return -1
		}
		return int(m.Type)<<16 + int(m.Code)
	}
	return cmp.Or(
		strings.Compare(string(a.Direction), string(b.Direction)), strings.Compare(a.Protocol, b.Protocol),
		cmp.Compare(a.Ports.Lo, b.Ports.Lo), cmp.Compare(a.Ports.Hi, b.Ports.Hi), cmp.Compare(icmp(a.ICMP), icmp(b.ICMP)),
		a.RemotePrefix.Addr().Compare(b.RemotePrefix.Addr()), cmp.Compare(a.RemotePrefix.Bits(), b.RemotePrefix.Bits()),
		strings.Compare(a.RemoteGroup, b.RemoteGroup),
	)
}
