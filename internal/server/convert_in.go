package server

import (
	"fmt"
	"net/netip"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
	"github.com/catena-nfv/catena/internal/service"
)

// reader converts messages to domain types and collects what does not fit.
type reader struct{ problems []service.Problem }

// parsed converts a text unless it is empty.
func parsed[T any](r *reader, path, text string, parse func(string) (T, error)) T {
	var zero T
	if text == "" {
		return zero
	}
	v, err := parse(text)
	if err != nil {
		r.problems = append(r.problems, service.Problem{Path: path, Code: service.CodeValue, Message: err.Error()})
		return zero
	}
	return v
}

func (r *reader) prefix(path, s string) netip.Prefix {
	return parsed(r, path, s, service.ParsePrefix)
}

func (r *reader) addr(path, s string) netip.Addr { return parsed(r, path, s, service.ParseAddr) }

func (r *reader) addrs(path string, list []string) []netip.Addr {
	var out []netip.Addr
	for i, s := range list {
		p := fmt.Sprintf("%s[%d]", path, i)
		if s == "" {
			r.problems = append(r.problems, service.Problem{Path: p, Code: service.CodeMissing, Message: "empty address"})
		}
		out = append(out, r.addr(p, s))
	}
	return out
}

func (r *reader) ports(path, s string) service.PortRange {
	return parsed(r, path, s, service.ParsePortRange)
}

// toService converts a service. Its defaults are not filled in yet, but for
// those whose zero value means something else. Sizes are checked first.
func toService(m *catenav1.Service) (*service.Service, []service.Problem) {
	r := &reader{}
	for _, l := range []struct {
		what     string
		n, limit int
	}{
		{"networks", len(m.GetNetworks()), service.MaxNetworks}, {"routers", len(m.GetRouters()), service.MaxNetworks},
		{"servers", len(m.GetServers()), service.MaxInstances}, {"functions", len(m.GetFunctions()), service.MaxInstances},
		{"security groups", len(m.GetSecurityGroups()), service.MaxGroups},
		{"keypairs", len(m.GetKeypairs()), service.MaxKeyPairs},
		{"chains", len(m.GetChains()), service.MaxChains}, {"rules", len(m.GetRules()), service.MaxRules},
	} {
		if l.n > l.limit {
			r.problems = append(r.problems, service.Problem{Path: l.what, Code: service.CodeLimit, Message: fmt.Sprintf("%d %s; the limit is %d", l.n, l.what, l.limit)})
		}
	}
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	s := &service.Service{Name: m.GetName(), Project: m.GetProject(), Rules: toRules(m.GetRules())}
	for i, n := range m.GetNetworks() {
		p := fmt.Sprintf("networks[%d]", i)
		s.Networks = append(s.Networks, service.Network{
			Name: n.GetName(), Subnet: parsed(r, p+".subnet", n.GetSubnet(), service.ParseSubnet), Gateway: r.addr(p+".gateway", n.GetGateway()),
			DHCP: n.Dhcp == nil || n.GetDhcp(), DNS: r.addrs(p+".dns", n.GetDns()), MTU: int(n.GetMtu()),
		})
	}
	for _, v := range m.GetRouters() {
		s.Routers = append(s.Routers, service.Router{Name: v.GetName(), Networks: v.GetNetworks(), External: v.GetExternal()})
	}
	for i, v := range m.GetServers() {
		count := int(v.GetCount())
		if count == 0 {
			count = 1
		}
		s.Servers = append(s.Servers, service.Server{
			Name: v.GetName(), Image: v.GetImage(), Flavor: v.GetFlavor(), Count: count,
			Networks: r.attachments(fmt.Sprintf("servers[%d].networks", i), v.GetNetworks()),
			Port:     int(v.GetPort()), Command: v.GetCommand(), SecurityGroups: v.GetSecurityGroups(), Key: v.GetKey(),
		})
	}
	for i, f := range m.GetFunctions() {
		s.Functions = append(s.Functions, r.function(fmt.Sprintf("functions[%d]", i), f))
	}
	for i, g := range m.GetSecurityGroups() {
		s.SecurityGroups = append(s.SecurityGroups, r.securityGroup(fmt.Sprintf("security_groups[%d]", i), g))
	}
	for _, k := range m.GetKeypairs() {
		s.KeyPairs = append(s.KeyPairs, service.KeyPair{Name: k.GetName(), PublicKey: k.GetPublicKey()})
	}
	for i, c := range m.GetChains() {
		s.Chains = append(s.Chains, r.chain(fmt.Sprintf("chains[%d]", i), c))
	}
	return s, r.problems
}

func (r *reader) attachments(path string, list []*catenav1.Attachment) []service.Attachment {
	var out []service.Attachment
	for i, a := range list {
		p := fmt.Sprintf("%s[%d]", path, i)
		x := service.Attachment{Network: a.GetNetwork(), IP: r.addr(p+".ip", a.GetIp()), SecurityGroups: a.GetSecurityGroups(), FloatingIP: a.GetFloatingIp()}
		for j, s := range a.GetAllowedAddresses() {
			x.AllowedAddresses = append(x.AllowedAddresses, r.prefix(fmt.Sprintf("%s.allowed_addresses[%d]", p, j), s))
		}
		out = append(out, x)
	}
	return out
}

func (r *reader) securityGroup(path string, m *catenav1.SecurityGroup) service.SecurityGroup {
	g := service.SecurityGroup{Name: m.GetName()}
	for i, v := range m.GetRules() {
		p := fmt.Sprintf("%s.rules[%d]", path, i)
		x := service.SecurityRule{
			Direction: service.Direction(v.GetDirection()), Protocol: v.GetProtocol(), Ports: r.ports(p+".ports", v.GetPorts()),
			RemotePrefix: r.prefix(p+".remote_ip_prefix", v.GetRemoteIpPrefix()), RemoteGroup: v.GetRemoteGroup(),
		}
		kind, code := v.GetIcmpType(), v.GetIcmpCode()
		if v.IcmpCode == nil {
			code = -1
		}
		switch {
		case v.IcmpType == nil && v.IcmpCode != nil, kind < 0, kind > 255, code < -1, code > 255:
			r.problems = append(r.problems, service.Problem{Path: p, Code: service.CodeValue, Message: "icmp_type and icmp_code can be 0 to 255, and a code needs a type"})
		case v.IcmpType != nil:
			x.ICMP = &service.ICMPMatch{Type: uint8(kind), Code: int16(code)}
		}
		g.Rules = append(g.Rules, x)
	}
	return g
}

func (r *reader) function(path string, m *catenav1.Function) service.Function {
	f := service.Function{Name: m.GetName(), Networks: r.attachments(path+".networks", m.GetNetworks()), SecurityGroups: m.GetSecurityGroups()}
	switch c := m.GetConfig().(type) {
	case *catenav1.Function_LoadBalancer:
		f.Kind = service.LoadBalancerKind
		v := c.LoadBalancer
		f.LoadBalancer = &service.LoadBalancer{
			Port: int(v.GetPort()), Protocol: v.GetProtocol(), Algorithm: v.GetAlgorithm(),
			Members: v.GetMembers(), MemberPort: int(v.GetMemberPort()),
		}
	case *catenav1.Function_Firewall:
		f.Kind = service.FirewallKind
		f.Firewall = &service.Firewall{Policy: c.Firewall.GetPolicy()}
		for i, v := range c.Firewall.GetRules() {
			p := fmt.Sprintf("%s.firewall.rules[%d]", path, i)
			f.Firewall.Rules = append(f.Firewall.Rules, service.FirewallRule{
				Action: v.GetAction(), Protocol: v.GetProtocol(), Source: r.prefix(p+".source", v.GetSource()),
				Destination: r.prefix(p+".destination", v.GetDestination()), Ports: r.ports(p+".ports", v.GetPorts()),
			})
		}
		for _, v := range c.Firewall.GetPublish() {
			f.Firewall.Publish = append(f.Firewall.Publish, service.Publish{
				Port: int(v.GetPort()), Protocol: v.GetProtocol(), To: v.GetTo(), ToPort: int(v.GetToPort()),
			})
		}
	case *catenav1.Function_Dns:
		f.Kind = service.DNSKind
		f.DNS = &service.DNS{Zone: c.Dns.GetZone(), Upstream: r.addrs(path+".dns.upstream", c.Dns.GetUpstream())}
		for i, v := range c.Dns.GetRecords() {
			f.DNS.Records = append(f.DNS.Records, service.DNSRecord{
				Name: v.GetName(), IP: r.addr(fmt.Sprintf("%s.dns.records[%d].ip", path, i), v.GetIp()), Target: v.GetTarget(),
			})
		}
	}
	return f
}

func (r *reader) chain(path string, m *catenav1.Chain) service.Chain {
	c := service.Chain{Name: m.GetName(), Request: m.GetRequest(), Rules: toRules(m.GetRules()), Path: int(m.GetPath())}
	for i, v := range m.GetMatch() {
		p := fmt.Sprintf("%s.match[%d]", path, i)
		c.Match = append(c.Match, service.Classifier{
			From: v.GetFrom(), To: v.GetTo(), Protocol: v.GetProtocol(),
			Source: r.prefix(p+".source", v.GetSource()), Destination: r.prefix(p+".destination", v.GetDestination()),
			SourcePorts: r.ports(p+".source_ports", v.GetSourcePorts()), Ports: r.ports(p+".ports", v.GetPorts()),
			Priority: int(v.GetPriority()), Path: int(v.GetPath()),
		})
	}
	return c
}

func toRules(list []*catenav1.Rule) []service.Rule {
	var out []service.Rule
	for _, m := range list {
		out = append(out, toRule(m))
	}
	return out
}

func toRule(m *catenav1.Rule) service.Rule {
	return service.Rule{
		NF: m.GetNf(), Table: m.GetTable(), Match: m.GetMatch(), Action: m.GetAction(), Params: m.GetParams(), Priority: int(m.GetPriority()),
	}
}
