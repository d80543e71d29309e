package service

import (
	"fmt"
	"net/netip"
	"strings"
)

// Owner of the service's objects.
func (s *Service) Owner() Owner { return Owner{Project: s.Project, Service: s.Name} }

// Network by name, or nil.
func (s *Service) Network(name string) *Network {
	for i := range s.Networks {
		if s.Networks[i].Name == name {
			return &s.Networks[i]
		}
	}
	return nil
}

// Server by name, or nil.
func (s *Service) Server(name string) *Server {
	for i := range s.Servers {
		if s.Servers[i].Name == name {
			return &s.Servers[i]
		}
	}
	return nil
}

// Chain by name, or nil.
func (s *Service) Chain(name string) *Chain {
	for i := range s.Chains {
		if s.Chains[i].Name == name {
			return &s.Chains[i]
		}
	}
	return nil
}

// Router that serves a network, or nil.
func (s *Service) Router(network string) *Router {
	for i := range s.Routers {
		for _, n := range s.Routers[i].Networks {
			if n == network {
				return &s.Routers[i]
			}
		}
	}
	return nil
}

// Instances are the names of a server's instances: NAME when there is one, else
// NAME-1 … NAME-Count.
func (s *Server) Instances() []string {
	if s.Count == 1 {
		return []string{s.Name}
	}
	names := make([]string, s.Count)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", s.Name, i+1)
	}
	return names
}

// instance is a server's instance or a function, as addresses are given to it.
type instance struct {
	name     string
	networks []Attachment
}

// allInstances lists all in the order written, functions first: so that the
// addresses of functions do not move when servers are added.
func (s *Service) allInstances() []instance {
	var out []instance
	for _, f := range s.Functions {
		out = append(out, instance{f.Name, f.Networks})
	}
	for i := range s.Servers {
		for _, name := range s.Servers[i].Instances() {
			out = append(out, instance{name, s.Servers[i].Networks})
		}
	}
	return out
}

// Addresses gives every port (see PortName) its address. Fixed ones are as
// asked; a port that is in existing keeps its address there when it is still
// free and in the subnet; the others get the lowest free one, from the tenth of
// a subnet that is large enough. Pure and deterministic. The service is valid,
// so there is room for all; an error says that existing addresses take it.
func (s *Service) Addresses(existing map[string]netip.Addr) (map[string]netip.Addr, error) {
	out := map[string]netip.Addr{}
	used := map[netip.Addr]bool{}
	for _, n := range s.Networks {
		used[n.Gateway] = true
	}
	all := s.allInstances()
	for _, in := range all {
		for _, a := range in.networks {
			if a.IP.IsValid() {
				out[PortName(in.name, a.Network)] = a.IP
				used[a.IP] = true
			}
		}
	}
	for _, in := range all {
		for _, a := range in.networks {
			port := PortName(in.name, a.Network)
			n := s.Network(a.Network)
			old, ok := existing[port]
			if _, fixed := out[port]; fixed || !ok || used[old] || !n.Subnet.Contains(old) || old == n.Subnet.Addr() || old == broadcast(n.Subnet) {
				continue
			}
			out[port] = old
			used[old] = true
		}
	}
	next := map[string]netip.Addr{}
	for _, in := range all {
		for _, a := range in.networks {
			port := PortName(in.name, a.Network)
			if _, ok := out[port]; ok {
				continue
			}
			n := s.Network(a.Network)
			addr, ok := next[n.Name], true
			if !addr.IsValid() {
				addr = firstDynamic(n.Subnet)
			}
			if addr, ok = freeFrom(addr, n.Subnet, used); !ok {
				// The low addresses are a last resort.
				if addr, ok = freeFrom(n.Subnet.Addr().Next(), n.Subnet, used); !ok {
					return nil, fmt.Errorf("network %q: no address of %s is free for %q", n.Name, n.Subnet, in.name)
				}
			}
			out[port] = addr
			used[addr] = true
			next[n.Name] = addr
		}
	}
	return out, nil
}

// firstDynamic is where allocation starts: .10 where the subnet has at least 32
// addresses, which leaves low addresses to be fixed by people.
func firstDynamic(p netip.Prefix) netip.Addr {
	a := p.Addr().Next()
	if p.Bits() > 27 {
		return a
	}
	for range 9 {
		a = a.Next()
	}
	return a
}

func freeFrom(a netip.Addr, p netip.Prefix, used map[netip.Addr]bool) (netip.Addr, bool) {
	for last := broadcast(p); p.Contains(a) && a != last; a = a.Next() {
		if !used[a] {
			return a, true
		}
	}
	return a, false
}

// checkReference checks a rule value that begins with "@".
func (s *Service) checkReference(value string) error {
	if !strings.HasPrefix(value, "@") {
		return nil
	}
	_, _, err := s.lookup(value)
	return err
}

// lookup resolves a reference to the name of a port, or to a network.
func (s *Service) lookup(value string) (port string, n *Network, err error) {
	name, network, _ := strings.Cut(value[1:], "/")
	if network == "" {
		if n := s.Network(name); n != nil {
			return "", n, nil
		}
	}
	for _, in := range s.allInstances() {
		if in.name != name {
			continue
		}
		for _, a := range in.networks {
			if network == "" || a.Network == network {
				return PortName(name, a.Network), nil, nil
			}
		}
		return "", nil, fmt.Errorf("%q: %q is not on network %q", value, name, network)
	}
	return "", nil, fmt.Errorf("%q names no instance, function or network of the service", value)
}

// ResolveRules returns the rules with references replaced by addresses, as
// Addresses gave them.
func (s *Service) ResolveRules(rules []Rule, addrs map[string]netip.Addr) ([]Rule, error) {
	out := make([]Rule, len(rules))
	for i, r := range rules {
		out[i] = r
		for _, m := range []*map[string]string{&out[i].Match, &out[i].Params} {
			resolved := make(map[string]string, len(*m))
			for k, v := range *m {
				if strings.HasPrefix(v, "@") {
					port, network, err := s.lookup(v)
					switch {
					case err != nil:
						return nil, fmt.Errorf("rule %d of NF %q: %s: %w", i+1, r.NF, k, err)
					case network != nil:
						v = network.Subnet.String()
					default:
						v = addrs[port].String()
					}
				}
				resolved[k] = v
			}
			*m = resolved
		}
	}
	return out, nil
}
