package service

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// service reads the top level of a file.
func (d *decoder) service(s *Service, n ast.Node) {
	n = d.resolve(n)
	d.src.mark("", n)
	d.object(n, "", "a service", []field{
		{"name", d.text(&s.Name)},
		{"project", d.text(&s.Project)},
		{"networks", func(n ast.Node, p string) {
			d.list(n, p, MaxNetworks, func(n ast.Node, p string, _ int) {
				s.Networks = append(s.Networks, d.network(n, p))
			})
		}},
		{"routers", func(n ast.Node, p string) {
			d.list(n, p, MaxNetworks, func(n ast.Node, p string, _ int) {
				var r Router
				d.object(n, p, "a router", []field{
					{"name", d.text(&r.Name)},
					{"networks", d.texts(&r.Networks, MaxNetworks)},
					{"external", d.text(&r.External)},
				})
				s.Routers = append(s.Routers, r)
			})
		}},
		{"servers", func(n ast.Node, p string) {
			d.list(n, p, MaxInstances, func(n ast.Node, p string, _ int) {
				s.Servers = append(s.Servers, d.server(n, p))
			})
		}},
		{"functions", func(n ast.Node, p string) {
			d.list(n, p, MaxInstances, func(n ast.Node, p string, _ int) {
				s.Functions = append(s.Functions, d.function(n, p))
			})
		}},
		{"chains", func(n ast.Node, p string) {
			d.list(n, p, MaxChains, func(n ast.Node, p string, _ int) {
				s.Chains = append(s.Chains, d.chain(n, p))
			})
		}},
		{"security_groups", func(n ast.Node, p string) {
			d.list(n, p, MaxGroups, func(n ast.Node, p string, _ int) {
				s.SecurityGroups = append(s.SecurityGroups, d.securityGroup(n, p))
			})
		}},
		{"keypairs", func(n ast.Node, p string) {
			d.list(n, p, MaxKeyPairs, func(n ast.Node, p string, _ int) {
				var k KeyPair
				d.object(n, p, "a keypair", []field{{"name", d.text(&k.Name)}, {"public_key", d.text(&k.PublicKey)}})
				s.KeyPairs = append(s.KeyPairs, k)
			})
		}},
		{"rules", d.rules(&s.Rules)},
	})
}

func (d *decoder) securityGroup(n ast.Node, p string) SecurityGroup {
	var v SecurityGroup
	d.object(n, p, "a security group", []field{
		{"name", d.text(&v.Name)},
		{"rules", func(n ast.Node, p string) {
			d.list(n, p, MaxRules, func(n ast.Node, p string, _ int) {
				var r SecurityRule
				var direction string
				kind, code := -1, -1
				d.object(n, p, "a security group's rule", []field{
					{"direction", d.text(&direction)},
					{"protocol", d.text(&r.Protocol)},
					{"ports", parsed(d, &r.Ports, ParsePortRange)},
					{"icmp_type", d.octet(&kind)},
					{"icmp_code", d.octet(&code)},
					{"remote_ip_prefix", parsed(d, &r.RemotePrefix, ParsePrefix)},
					{"remote_group", d.text(&r.RemoteGroup)},
				})
				r.Direction = Direction(direction)
				if kind >= 0 {
					r.ICMP = &ICMPMatch{Type: uint8(kind), Code: int16(code)}
				} else if code >= 0 {
					d.at(n, p, CodeMissing, "a security group's rule with icmp_code needs icmp_type, too")
				}
				v.Rules = append(v.Rules, r)
			})
		}},
	})
	return v
}

// octet reads a number from 0 to 255.
func (d *decoder) octet(dst *int) func(ast.Node, string) {
	return func(n ast.Node, p string) {
		d.number(dst)(n, p)
		if *dst > 255 || *dst < -1 {
			d.at(n, p, CodeValue, "%s is %d; it can be 0 to 255", p, *dst)
		}
	}
}

func (d *decoder) network(n ast.Node, p string) Network {
	v := Network{DHCP: true}
	d.object(n, p, "a network", []field{
		{"name", d.text(&v.Name)},
		{"subnet", parsed(d, &v.Subnet, ParseSubnet)},
		{"gateway", parsed(d, &v.Gateway, ParseAddr)},
		{"dhcp", d.boolean(&v.DHCP)},
		{"dns", d.addrs(&v.DNS)},
		{"mtu", d.number(&v.MTU)},
	})
	return v
}

func (d *decoder) addrs(dst *[]netip.Addr) func(ast.Node, string) {
	return func(n ast.Node, p string) {
		d.list(n, p, 16, func(n ast.Node, p string, _ int) {
			var a netip.Addr
			parsed(d, &a, ParseAddr)(n, p)
			*dst = append(*dst, a)
		})
	}
}

// attachments reads a list of network names, or of {network, ip}.
func (d *decoder) attachments(dst *[]Attachment) func(ast.Node, string) {
	return func(n ast.Node, p string) {
		d.list(n, p, MaxNetworks, func(n ast.Node, p string, _ int) {
			var a Attachment
			switch n.(type) {
			case *ast.MappingNode, *ast.MappingValueNode:
				d.object(n, p, "an attachment", []field{
					{"network", d.text(&a.Network)},
					{"ip", parsed(d, &a.IP, ParseAddr)},
					{"security_groups", d.texts(&a.SecurityGroups, MaxGroups)},
					{"floating_ip", d.floatingIP(&a.FloatingIP)},
					{"allowed_addresses", func(n ast.Node, p string) {
						d.list(n, p, MaxGroups, func(n ast.Node, p string, _ int) {
							var x netip.Prefix
							parsed(d, &x, ParsePrefix)(n, p)
							a.AllowedAddresses = append(a.AllowedAddresses, x)
						})
					}},
				})
			default:
				d.text(&a.Network)(n, p)
			}
			*dst = append(*dst, a)
		})
	}
}

// floatingIP reads true, false, or the name of an external network.
func (d *decoder) floatingIP(dst *string) func(ast.Node, string) {
	return func(n ast.Node, p string) {
		if v, ok := n.(*ast.BoolNode); ok {
			if v.Value {
				*dst = RouterExternal
			}
			return
		}
		d.text(dst)(n, p)
	}
}

func (d *decoder) server(n ast.Node, p string) Server {
	v := Server{Count: 1}
	d.object(n, p, "a server", []field{
		{"name", d.text(&v.Name)},
		{"image", d.text(&v.Image)},
		{"flavor", d.text(&v.Flavor)},
		{"count", d.number(&v.Count)},
		{"networks", d.attachments(&v.Networks)},
		{"port", d.number(&v.Port)},
		{"command", d.texts(&v.Command, 64)},
		{"key", d.text(&v.Key)},
		{"security_groups", d.texts(&v.SecurityGroups, MaxGroups)},
	})
	return v
}

func (d *decoder) function(n ast.Node, p string) Function {
	var v Function
	var kind string
	var config ast.Node
	var configPath string
	d.object(n, p, "a function", []field{
		{"name", d.text(&v.Name)},
		{"kind", d.text(&kind)},
		{"networks", d.attachments(&v.Networks)},
		{"security_groups", d.texts(&v.SecurityGroups, MaxGroups)},
		{"config", func(n ast.Node, p string) { config, configPath = n, p }},
	})
	v.Kind = FunctionKind(kind)
	read := func(what string, fields []field) {
		if config != nil {
			d.object(config, configPath, what, fields)
		}
	}
	switch v.Kind {
	case LoadBalancerKind:
		c := &LoadBalancer{}
		v.LoadBalancer = c
		read("a load balancer's config", []field{
			{"port", d.number(&c.Port)},
			{"protocol", d.text(&c.Protocol)},
			{"algorithm", d.text(&c.Algorithm)},
			{"members", d.texts(&c.Members, MaxInstances)},
			{"member_port", d.number(&c.MemberPort)},
		})
	case FirewallKind:
		c := &Firewall{}
		v.Firewall = c
		read("a firewall's config", []field{
			{"policy", d.text(&c.Policy)},
			{"rules", func(n ast.Node, p string) {
				d.list(n, p, MaxRules, func(n ast.Node, p string, _ int) {
					var r FirewallRule
					d.object(n, p, "a firewall rule", []field{
						{"action", d.text(&r.Action)},
						{"protocol", d.text(&r.Protocol)},
						{"source", parsed(d, &r.Source, ParsePrefix)},
						{"destination", parsed(d, &r.Destination, ParsePrefix)},
						{"ports", parsed(d, &r.Ports, ParsePortRange)},
					})
					c.Rules = append(c.Rules, r)
				})
			}},
			{"publish", func(n ast.Node, p string) {
				d.list(n, p, 1000, func(n ast.Node, p string, _ int) {
					var r Publish
					d.object(n, p, "a published port", []field{
						{"port", d.number(&r.Port)},
						{"protocol", d.text(&r.Protocol)},
						{"to", d.text(&r.To)},
						{"to_port", d.number(&r.ToPort)},
					})
					c.Publish = append(c.Publish, r)
				})
			}},
		})
	case DNSKind:
		c := &DNS{}
		v.DNS = c
		read("a DNS server's config", []field{
			{"zone", d.text(&c.Zone)},
			{"records", func(n ast.Node, p string) {
				d.list(n, p, MaxInstances, func(n ast.Node, p string, _ int) {
					var r DNSRecord
					d.object(n, p, "a DNS record", []field{
						{"name", d.text(&r.Name)},
						{"ip", parsed(d, &r.IP, ParseAddr)},
						{"target", d.text(&r.Target)},
					})
					c.Records = append(c.Records, r)
				})
			}},
			{"upstream", d.addrs(&c.Upstream)},
		})
	}
	return v
}

func (d *decoder) chain(n ast.Node, p string) Chain {
	var v Chain
	d.object(n, p, "a chain", []field{
		{"name", d.text(&v.Name)},
		{"request", d.text(&v.Request)},
		{"match", func(n ast.Node, p string) {
			if _, ok := n.(*ast.SequenceNode); !ok { // one classifier needs no list
				d.src.spans[p+"[0]"] = d.src.spans[p]
				v.Match = append(v.Match, d.classifier(n, p+"[0]"))
				return
			}
			d.list(n, p, 1000, func(n ast.Node, p string, _ int) {
				v.Match = append(v.Match, d.classifier(n, p))
			})
		}},
		{"rules", d.rules(&v.Rules)},
		{"path", d.number(&v.Path)},
	})
	return v
}

func (d *decoder) classifier(n ast.Node, p string) Classifier {
	var v Classifier
	d.object(n, p, "a chain's match", []field{
		{"from", d.text(&v.From)},
		{"to", d.text(&v.To)},
		{"protocol", d.text(&v.Protocol)},
		{"source", parsed(d, &v.Source, ParsePrefix)},
		{"destination", parsed(d, &v.Destination, ParsePrefix)},
		{"source_ports", parsed(d, &v.SourcePorts, ParsePortRange)},
		{"ports", parsed(d, &v.Ports, ParsePortRange)},
		{"priority", d.number(&v.Priority)},
		{"path", d.number(&v.Path)},
	})
	return v
}

func (d *decoder) rules(dst *[]Rule) func(ast.Node, string) {
	return func(n ast.Node, p string) {
		d.list(n, p, MaxRules, func(n ast.Node, p string, _ int) {
			var r Rule
			d.object(n, p, "a rule", []field{
				{"nf", d.text(&r.NF)},
				{"table", d.text(&r.Table)},
				{"match", d.textMap(&r.Match)},
				{"action", d.text(&r.Action)},
				{"params", d.textMap(&r.Params)},
				{"priority", d.number(&r.Priority)},
			})
			*dst = append(*dst, r)
		})
	}
}

// ParseSubnet reads an IPv4 subnet in CIDR form without host bits.
func ParseSubnet(s string) (netip.Prefix, error) {
	p, err := ParsePrefix(s)
	if err != nil {
		return p, err
	}
	if !strings.Contains(s, "/") {
		return p, fmt.Errorf("%q has no prefix length; write a subnet like 10.0.1.0/24", s)
	}
	return p, nil
}

// ParsePrefix reads an IPv4 prefix without host bits, or an address (a /32).
func ParsePrefix(s string) (netip.Prefix, error) {
	if !strings.Contains(s, "/") {
		a, err := ParseAddr(s)
		if err != nil {
			return netip.Prefix{}, err
		}
		return netip.PrefixFrom(a, 32), nil
	}
	p, err := netip.ParsePrefix(s)
	switch {
	case err != nil:
		return netip.Prefix{}, fmt.Errorf("%q is no IPv4 prefix like 10.0.1.0/24", s)
	case !p.Addr().Is4():
		return netip.Prefix{}, fmt.Errorf("%q: only IPv4 is supported", s)
	case p.Masked() != p:
		return netip.Prefix{}, fmt.Errorf("%q has bits set behind the prefix; did you mean %s?", s, p.Masked())
	}
	return p, nil
}

// ParseAddr reads an IPv4 address.
func ParseAddr(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	if err != nil || !a.Is4() {
		return netip.Addr{}, fmt.Errorf("%q is no IPv4 address", s)
	}
	return a, nil
}

// ParsePortRange reads "80" or "8000-8999".
func ParsePortRange(s string) (PortRange, error) {
	lo, hi, ranged := strings.Cut(s, "-")
	if !ranged {
		hi = lo
	}
	l, err1 := strconv.ParseUint(strings.TrimSpace(lo), 10, 16)
	h, err2 := strconv.ParseUint(strings.TrimSpace(hi), 10, 16)
	if err1 != nil || err2 != nil || l > h || h == 0 {
		return PortRange{}, fmt.Errorf("%q is no port or port range like 80 or 8000-8999", s)
	}
	return PortRange{Lo: uint16(l), Hi: uint16(h)}, nil
}
