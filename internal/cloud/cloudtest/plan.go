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
	groups    []service.SecurityGroup
	keyPairs  []service.KeyPair
	routers   []service.Router
	floating  []service.FloatingIPSpec
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
// networks, and one function of each kind; security groups that name each other, on
// one port each, and a key. Where there is an external network, the router leads there
// and a port has a floating IP.
func (b *bench) shop(name string) *plan {
	p := &plan{
		owner: service.Owner{Project: "cloudtest", Service: name},
		networks: []service.Network{
			{Name: "front", Subnet: netip.MustParsePrefix("10.61.1.0/24"), Gateway: netip.MustParseAddr("10.61.1.1"), MTU: 1500},
			{Name: "back", Subnet: netip.MustParsePrefix("10.61.2.0/24"), Gateway: netip.MustParseAddr("10.61.2.1"), MTU: 1400},
		},
		routers: []service.Router{{Name: "r", Networks: []string{"front", "back"}, External: b.External}},
		groups: []service.SecurityGroup{
			{Name: "web", Rules: []service.SecurityRule{
				{Direction: service.Ingress, Protocol: "tcp", Ports: service.PortRange{Lo: 80, Hi: 88}, RemotePrefix: netip.MustParsePrefix("10.61.0.0/16")},
				{Direction: service.Ingress, Protocol: "icmp", ICMP: &service.ICMPMatch{Type: 8, Code: -1}},
				{Direction: service.Ingress, RemoteGroup: "db"},
				{Direction: service.Egress},
			}},
			{Name: "db", Rules: []service.SecurityRule{
				{Direction: service.Ingress, Protocol: "tcp", RemoteGroup: "web"},
				{Direction: service.Ingress, Protocol: "47", RemotePrefix: netip.MustParsePrefix("0.0.0.0/0")},
				{Direction: service.Egress, Protocol: "udp", Ports: service.PortRange{Lo: 53, Hi: 53}},
			}},
		},
		keyPairs: []service.KeyPair{{Name: "ops", PublicKey: publicKeys[0]}},
	}
	p.port("web-1", service.KindServer, "back", "10.61.2.11/24")
	p.port("web-2", service.KindServer, "back", "10.61.2.12/24")
	p.port("web-2", service.KindServer, "front", "10.61.1.12/24")
	p.port("lb", service.KindFunction, "front", "10.61.1.20/24")
	p.port("fw", service.KindFunction, "front", "10.61.1.21/24")
	p.port("fw", service.KindFunction, "back", "10.61.2.21/24")
	p.port("ns", service.KindFunction, "back", "10.61.2.22/24")
	p.ports[0].SecurityGroups = []string{"db", "web"}
	p.ports[2].SecurityGroups = []string{"web"}
	p.ports[2].AllowedAddresses = []netip.Prefix{netip.MustParsePrefix("10.61.1.100/32"), netip.MustParsePrefix("10.61.3.0/24")}
	if b.External != "" {
		p.floating = []service.FloatingIPSpec{{Name: "web-2.front", External: b.External, Router: "r"}}
	}
	p.servers = []service.ServerSpec{
		{Name: "web-1", Image: "ubuntu", Flavor: "small", Port: 80, KeyPair: "ops"},
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

// publicKeys are two that belong to nobody.
var publicKeys = []string{
	"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f cloudtest",
	"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB8eHRwbGhkYFxYVFBMSERAPDg0MCwoJCAcGBQQDAgEA cloudtest",
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
	p.keyPairs[0].PublicKey = publicKeys[1]
}

// changeInPlace asks for all that can change without replacing anything: other
// name servers and MTUs, networks that leave the router, rules, ports that join a group
// and leave one, a port that is secured and one that no longer is, configurations.
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
	p.groups[0].Rules[0].Ports = service.PortRange{Lo: 8080, Hi: 8080}
	p.groups[0].Rules = p.groups[0].Rules[:3:3]
	p.groups[0].Rules = append(p.groups[0].Rules, service.SecurityRule{Direction: service.Egress, RemoteGroup: "web"})
	p.groups[1].Rules[2] = service.SecurityRule{Direction: service.Egress}
	p.ports[0].SecurityGroups = []string{"web"}
	p.ports[1].SecurityGroups = []string{"db"}
	p.ports[1].AllowedAddresses = []netip.Prefix{netip.MustParsePrefix("10.61.2.100/32")}
	p.ports[2].SecurityGroups, p.ports[2].AllowedAddresses = nil, nil
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

func (p *plan) floatingIP(i int) service.FloatingIPSpec {
	f := p.floating[i]
	f.Port = p.made[f.Name]
	return f
}

// objects lists all in the order of creation.
func (p *plan) objects() []object {
	var all []object
	for _, n := range p.networks {
		all = append(all, object{service.KindNetwork, n.Name})
	}
	for _, g := range p.groups {
		all = append(all, object{service.KindSecurityGroup, g.Name})
	}
	for _, g := range p.groups {
		all = append(all, object{service.KindSecurityRules, g.Name})
	}
	for _, k := range p.keyPairs {
		all = append(all, object{service.KindKeyPair, k.Name})
	}
	for _, r := range p.routers {
		all = append(all, object{service.KindRouter, r.Name})
	}
	for _, spec := range p.ports {
		all = append(all, object{service.KindPort, spec.Name})
	}
	for _, f := range p.floating {
		all = append(all, object{service.KindFloatingIP, f.Name})
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
