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
		s.Routers = append(s.Routers, service.Router{Name: v.GetName(), Networks: v.GetNetworks()})
	}
	for i, v := range m.GetServers() {
		count := int(v.GetCount())
		if count == 0 {
			count = 1
		}
		s.Servers = append(s.Servers, service.Server{
			Name: v.GetName(), Image: v.GetImage(), Flavor: v.GetFlavor(), Count: count,
			Networks: r.attachments(fmt.Sprintf("servers[%d].networks", i), v.GetNetworks()),
			Port:     int(v.GetPort()), Command: v.GetCommand(),
		})
	}
	for i, f := range m.GetFunctions() {
		s.Functions = append(s.Functions, r.function(fmt.Sprintf("functions[%d]", i), f))
	}
	for i, c := range m.GetChains() {
		s.Chains = append(s.Chains, r.chain(fmt.Sprintf("chains[%d]", i), c))
	}
	return s, r.problems
}

func (r *reader) attachments(path string, list []*catenav1.Attachment) []service.Attachment {
	var out []service.Attachment
	for i, a := range list {
		out = append(out, service.Attachment{Network: a.GetNetwork(), IP: r.addr(fmt.Sprintf("%s[%d].ip", path, i), a.GetIp())})
	}
	return out
}

func (r *reader) function(path string, m *catenav1.Function) service.Function {
	f := service.Function{Name: m.GetName(), Networks: r.attachments(path+".networks", m.GetNetworks())}
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
