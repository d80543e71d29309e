package cloudtest

import (
	"net/netip"
	"slices"

	"github.com/catena-nfv/catena/internal/service"
)

// plan is a service as a driver sees it. Instances name their ports; the ports
// themselves are known once they are made.
type plan struct {
	owner     service.Owner
	networks  []service.Network
	routers   []service.Router
	ports     []service.PortSpec
	servers   []service.ServerSpec
	functions []service.FunctionSpec
	made      map[string]service.Port
}

type object struct {
	kind service.Kind
	name string
}

// shop is two networks behind a router, two servers, one of them on both
// networks, and one function of each kind.
func shop(name string) *plan {
	p := &plan{
		owner: service.Owner{Project: "cloudtest", Service: name},
		networks: []service.Network{
			{Name: "front", Subnet: netip.MustParsePrefix("10.61.1.0/24"), Gateway: netip.MustParseAddr("10.61.1.1"), MTU: 1500},
			{Name: "back", Subnet: netip.MustParsePrefix("10.61.2.0/24"), Gateway: netip.MustParseAddr("10.61.2.1"), MTU: 1400},
		},
		routers: []service.Router{{Name: "r", Networks: []string{"front", "back"}}},
	}
	p.port("web-1", service.KindServer, "back", "10.61.2.11/24")
	p.port("web-2", service.KindServer, "back", "10.61.2.12/24")
	p.port("web-2", service.KindServer, "front", "10.61.1.12/24")
	p.port("lb", service.KindFunction, "front", "10.61.1.20/24")
	p.port("fw", service.KindFunction, "front", "10.61.1.21/24")
	p.port("fw", service.KindFunction, "back", "10.61.2.21/24")
	p.port("ns", service.KindFunction, "back", "10.61.2.22/24")
	p.servers = []service.ServerSpec{
		{Name: "web-1", Image: "ubuntu", Flavor: "small", Port: 80},
		{Name: "web-2", Image: "ubuntu", Flavor: "small", Port: 8080},
	}
	p.functions = []service.FunctionSpec{
		{Name: "lb", Kind: service.LoadBalancerKind, LoadBalancer: &service.LoadBalancerSpec{
			Port: 80, Protocol: "http", Algorithm: "roundrobin",
			Members: []service.Endpoint{
				{Name: "web-1", Addr: netip.MustParseAddrPort("10.61.2.11:80")},
				{Name: "web-2", Addr: netip.MustParseAddrPort("10.61.2.12:8080")},
			},
		}},
		{Name: "fw", Kind: service.FirewallKind, Firewall: &service.FirewallSpec{
			Policy: "drop",
			Rules: []service.FirewallRule{
				{Action: "accept", Protocol: "tcp", Ports: service.PortRange{Lo: 80, Hi: 90}},
				{Action: "drop", Source: netip.MustParsePrefix("10.61.1.128/25")},
				{Action: "accept", Protocol: "icmp", Destination: netip.MustParsePrefix("10.61.2.0/24")},
			},
			Publish: []service.PublishSpec{{Port: 8443, Protocol: "tcp", To: service.Endpoint{
				Name: "web-1", Addr: netip.MustParseAddrPort("10.61.2.11:80"),
			}}},
		}},
		{Name: "ns", Kind: service.DNSKind, DNS: &service.DNSSpec{
			Zone: "shop.internal",
			Records: []service.Record{
				{Name: "web-1", IP: netip.MustParseAddr("10.61.2.11")},
				{Name: "web-2", IP: netip.MustParseAddr("10.61.1.12")},
				{Name: "web-2", IP: netip.MustParseAddr("10.61.2.12")},
			},
		}},
	}
	return p
}

func (p *plan) port(device string, kind service.Kind, network, ip string) {
	var n service.Network
	for _, have := range p.networks {
		if have.Name == network {
			n = have
		}
	}
	name := service.PortName(device, network)
	p.ports = append(p.ports, service.PortSpec{
		Name: name, Device: device, DeviceKind: kind, Network: network,
		MAC: service.MACFor(p.owner, name), IP: netip.MustParsePrefix(ip),
		Gateway: n.Gateway, MTU: n.MTU,
	})
}

// change asks for other configurations, and moves web-1.
func (p *plan) change() {
	p.ports[0].IP = netip.MustParsePrefix("10.61.2.99/24")
	p.servers[0].Port = 81
	p.functions[0].LoadBalancer.Members = p.functions[0].LoadBalancer.Members[1:]
	p.functions[0].LoadBalancer.Algorithm = "leastconn"
	p.functions[1].Firewall.Policy = "accept"
	p.functions[1].Firewall.Publish = nil
	p.functions[2].DNS.Records[0].IP = netip.MustParseAddr("10.61.2.99")
}

// changeInPlace asks for all that can change without replacing anything: other
// name servers and MTUs, networks that leave the router, configurations.
func (p *plan) changeInPlace() {
	for i := range p.networks {
		p.networks[i].MTU -= 100
		p.networks[i].DNS = []netip.Addr{netip.MustParseAddr("10.61.2.22")}
		p.networks[i].DHCP = !p.networks[i].DHCP
	}
	p.routers[0].Networks = p.routers[0].Networks[:1]
	for i := range p.ports {
		p.ports[i].MTU -= 100
		p.ports[i].DNS = []netip.Addr{netip.MustParseAddr("10.61.2.22")}
		if p.ports[i].Network == "back" {
			p.ports[i].Gateway = netip.Addr{}
		} else {
			p.ports[i].Gateway = netip.MustParseAddr("10.61.1.2")
		}
	}
	p.functions[0].LoadBalancer.Members = p.functions[0].LoadBalancer.Members[1:]
	p.functions[1].Firewall.Policy = "accept"
	p.functions[2].DNS.Records[0].IP = netip.MustParseAddr("10.61.2.99")
}

func (p *plan) devicePorts(device string) []service.Port {
	var ports []service.Port
	for _, spec := range p.ports {
		if spec.Device == device {
			ports = append(ports, p.made[spec.Name])
		}
	}
	return ports
}

func (p *plan) server(i int) service.ServerSpec {
	s := p.servers[i]
	s.Ports = p.devicePorts(s.Name)
	return s
}

func (p *plan) function(i int) service.FunctionSpec {
	f := p.functions[i]
	f.Ports = p.devicePorts(f.Name)
	return f
}

// objects lists all in the order of creation.
func (p *plan) objects() []object {
	var all []object
	for _, n := range p.networks {
		all = append(all, object{service.KindNetwork, n.Name})
	}
	for _, r := range p.routers {
		all = append(all, object{service.KindRouter, r.Name})
	}
	for _, spec := range p.ports {
		all = append(all, object{service.KindPort, spec.Name})
	}
	for _, s := range p.servers {
		all = append(all, object{service.KindServer, s.Name})
	}
	for _, f := range p.functions {
		all = append(all, object{service.KindFunction, f.Name})
	}
	return all
}

func (p *plan) backwards() []object {
	all := p.objects()
	slices.Reverse(all)
	return all
}
