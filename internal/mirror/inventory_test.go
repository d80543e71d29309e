package mirror

import (
	"net/netip"
	"reflect"
	"testing"

	"github.com/catena-nfv/catena/internal/service"
)

func ip(s string) netip.Addr         { return netip.MustParseAddr(s) }
func prefixOf(s string) netip.Prefix { return netip.MustParsePrefix(s) }

// cloud has two networks on one router and a third on its own; a server's port on each.
func cloud() Snapshot {
	compute := func(network, subnet, addr string, mac byte) *Port {
		return &Port{
			Project: "p", Network: network, MAC: service.MAC{2, 0, 0, 0, 0, mac}, AdminUp: true, Addresses: []Address{{subnet, ip(addr)}},
			Device: "vm", DeviceOwner: "compute:nova", Host: "node", Secured: true, Groups: []string{"g2", "g1"}, DNSName: "web",
		}
	}
	return Snapshot{
		Networks: map[string]*Network{
			"a": {AdminUp: true, MTU: 1500, DNSDomain: "example.org."}, "b": {AdminUp: true, MTU: 1450}, "c": {AdminUp: true}, "empty": {AdminUp: true}, "off": {},
		},
		Subnets: map[string]*Subnet{
			"sa": {Network: "a", CIDR: prefixOf("10.0.1.0/24"), Gateway: ip("10.0.1.1"), DHCP: true, DNS: []netip.Addr{ip("9.9.9.9"), ip("2620:fe::fe")}},
			"s6": {Network: "a", CIDR: prefixOf("2001:db8::/64")},
			"sb": {Network: "b", CIDR: prefixOf("10.0.2.0/24"), Gateway: ip("10.0.2.1"), DHCP: true},
			"sc": {Network: "c", CIDR: prefixOf("10.0.3.0/24"), Gateway: ip("10.0.3.1"), DHCP: true},
			"so": {Network: "off", CIDR: prefixOf("10.0.4.0/24")},
		},
		Routers: map[string]*Router{"r": {AdminUp: true}},
		Ports: map[string]*Port{
			"11111111-1111-a": compute("a", "sa", "10.0.1.5", 5),
			"22222222-2222-b": compute("b", "sb", "10.0.2.5", 6),
			"33333333-3333-c": compute("c", "sc", "10.0.3.5", 7),
			"ra":              {Network: "a", MAC: service.MAC{2, 0, 0, 0, 1, 1}, AdminUp: true, Addresses: []Address{{"sa", ip("10.0.1.1")}}, Device: "r", DeviceOwner: ownedByRouter},
			"rb":              {Network: "b", MAC: service.MAC{2, 0, 0, 0, 1, 2}, AdminUp: true, Addresses: []Address{{"sb", ip("10.0.2.254")}}, Device: "r", DeviceOwner: ownedByRouter},
		},
		Groups: map[string]*Group{
			"g1": {Rules: []service.SecurityRule{
				{Direction: service.Ingress, Protocol: "tcp", Ports: service.PortRange{Lo: 80, Hi: 80}},
				{Direction: service.Egress},
				{Direction: service.Ingress, RemoteGroup: "g1"}, {Direction: service.Ingress, RemoteGroup: "gone"},
				{Direction: service.Ingress, RemotePrefix: prefixOf("2001:db8::/64")},
			}},
			"g2": {},
		},
	}
}

func TestInventory(t *testing.T) {
	inv := Inventory(cloud(), "node")
	if len(inv.Networks) != 3 || len(inv.Ports) != 3 || len(inv.Groups) != 2 {
		t.Fatalf("%d networks, %d ports, %d groups", len(inv.Networks), len(inv.Ports), len(inv.Groups))
	}
	a, b, c := inv.Networks[0], inv.Networks[1], inv.Networks[2]
	want := service.InventoryNetwork{RouterID: "r", SwitchNetwork: service.SwitchNetwork{
		Owner: service.InventoryOwner, Name: "a", Subnet: prefixOf("10.0.1.0/24"), Gateway: ip("10.0.1.1"), GatewayMAC: service.MAC{2, 0, 0, 0, 1, 1},
		Server: ip("10.0.1.1"), ServerMAC: service.MAC{2, 0, 0, 0, 1, 1}, DNS: []netip.Addr{ip("9.9.9.9")}, Domain: "example.org", MTU: 1500, Metadata: true,
	}}
	if !reflect.DeepEqual(a, want) {
		t.Errorf("network a:\n%+v, want\n%+v", a, want)
	}
	// The interface's address counts, whatever the subnet calls its gateway.
	if b.Gateway != ip("10.0.2.254") || b.RouterID != "r" || b.Server != b.Gateway {
		t.Errorf("network b: %+v", b)
	}
	// Without a router DHCP is answered at the address that Neutron keeps free.
	if c.RouterID != "" || c.Gateway.IsValid() || c.Server != ip("10.0.3.1") || c.ServerMAC == (service.MAC{}) {
		t.Errorf("network c: %+v", c)
	}
	port := service.SwitchPort{
		Owner: service.InventoryOwner, Secured: true, InstanceID: "vm", ProjectID: "p", HostName: "web",
		Port: service.Port{ID: "11111111-1111-a", Node: "node", Link: "tap11111111-11", PortSpec: service.PortSpec{
			Name: "11111111-1111-a", Device: "vm", DeviceKind: service.KindServer, Network: "a", MAC: service.MAC{2, 0, 0, 0, 0, 5}, IP: prefixOf("10.0.1.5/24"), MTU: 1500,
		}},
	}
	if got := inv.Ports[0]; !reflect.DeepEqual(got, service.InventoryPort{SwitchPort: port, NetworkID: "a", GroupIDs: []string{"g1", "g2"}}) {
		t.Errorf("port a: %+v", got)
	}
	rules := inv.Groups[0].Rules
	if len(rules) != 3 || rules[0].Direction != service.Egress || rules[1].RemoteGroup != "g1" || rules[2].Protocol != "tcp" {
		t.Errorf("rules of g1: %+v", rules)
	}
}

func TestInventoryLeavesOut(t *testing.T) {
	for what, change := range map[string]func(Snapshot){
		"a port of another host":   func(s Snapshot) { s.Ports["11111111-1111-a"].Host = "other" },
		"a port that is down":      func(s Snapshot) { s.Ports["11111111-1111-a"].AdminUp = false },
		"a port that nova has not": func(s Snapshot) { s.Ports["11111111-1111-a"].DeviceOwner = "network:dhcp" },
		"a network that is down":   func(s Snapshot) { s.Networks["a"].AdminUp = false },
		"a network without IPv4":   func(s Snapshot) { delete(s.Subnets, "sa") },
		"a network that is gone":   func(s Snapshot) { delete(s.Networks, "a") },
	} {
		s := cloud()
		change(s)
		for _, p := range Inventory(s, "node").Ports {
			if p.Port.ID == "11111111-1111-a" {
				t.Errorf("%s: it is in the inventory", what)
			}
		}
	}
}

func TestInventoryOfTakenGateway(t *testing.T) {
	s := cloud()
	s.Ports["22222222-2222-b"].Network, s.Ports["22222222-2222-b"].Addresses = "c", []Address{{"sc", ip("10.0.3.1")}}
	if n := Inventory(s, "node").Networks[2]; n.Server.IsValid() {
		t.Errorf("the node answers at %s, which is a server's", n.Server)
	}
	s = cloud()
	s.Routers["r"].AdminUp = false
	if n := Inventory(s, "node").Networks[0]; n.RouterID != "" || n.Gateway.IsValid() {
		t.Errorf("a router that is down routes: %+v", n)
	}
}
