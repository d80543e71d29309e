package service

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"

	"github.com/catena-nfv/catena/internal/p4/diag"
)

// Default fills in what the operator may leave out. It is idempotent.
func (s *Service) Default() {
	setDefault(&s.Project, DefaultProject)
	for i := range s.Networks {
		n := &s.Networks[i]
		setDefault(&n.MTU, 1500)
		if !n.Gateway.IsValid() && n.Subnet.IsValid() {
			n.Gateway = n.Subnet.Addr().Next()
		}
	}
	for i := range s.Servers {
		v := &s.Servers[i]
		setDefault(&v.Image, "ubuntu")
		setDefault(&v.Flavor, "small")
		setDefault(&v.Port, 80)
	}
	for i := range s.Functions {
		s.Functions[i].setDefaults(s)
	}
	for i := range s.SecurityGroups {
		s.SecurityGroups[i].setDefaults()
	}
	for i := range s.Servers {
		s.setExternal(s.Servers[i].Networks)
	}
	for i := range s.Functions {
		s.setExternal(s.Functions[i].Networks)
	}
	for i := range s.Chains {
		setDefault(&s.Chains[i].Path, 1)
	}
}

func (f *Function) setDefaults(s *Service) {
	if c := f.LoadBalancer; c != nil {
		setDefault(&c.Port, 80)
		setDefault(&c.Protocol, "tcp")
		setDefault(&c.Algorithm, "roundrobin")
	}
	if c := f.Firewall; c != nil {
		setDefault(&c.Policy, "drop")
		for i := range c.Publish {
			setDefault(&c.Publish[i].Protocol, "tcp")
			setDefault(&c.Publish[i].ToPort, c.Publish[i].Port)
		}
	}
	if c := f.DNS; c != nil {
		setDefault(&c.Zone, s.Name+".internal")
	}
}

func setDefault[T comparable](dst *T, v T) {
	var zero T
	if *dst == zero {
		*dst = v
	}
}

// Validate returns everything that is wrong with a service whose defaults are
// filled in: each name resolves, each address fits, nothing overlaps. What the
// fabric alone can know (NFs, their tables, cycles in chains) is not checked.
func (s *Service) Validate() []Problem {
	v := &validator{svc: s, networks: map[string]*Network{}, instances: map[string]string{}}
	v.names()
	v.networksOK()
	v.routersOK()
	v.serversOK()
	v.functionsOK()
	v.addressesOK()
	v.groupsOK()
	v.keyPairsOK()
	v.externalOK()
	v.chainsOK()
	return v.problems
}

// IsName reports whether s may name an object: lower case letters, digits and
// inner hyphens, at most 40, so that it is a DNS label and fits every driver.
func IsName(s string) bool { return nameRx.MatchString(s) }

var nameRx = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

type validator struct {
	svc       *Service
	problems  []Problem
	networks  map[string]*Network
	instances map[string]string // instance name → "server" or "function"
	overflow  bool              // too many instances to go on
}

func (v *validator) add(path string, code diag.Code, format string, args ...any) {
	v.problems = append(v.problems, Problem{Path: path, Code: code, Message: fmt.Sprintf(format, args...)})
}

// name checks one name and that it is not taken in its group.
func (v *validator) name(path, kind, name string, taken map[string]bool) {
	switch {
	case name == "":
		v.add(path, CodeMissing, "%s has no name", kind)
	case !IsName(name):
		v.add(path+".name", CodeValue, "%s %q: a name has lower case letters, digits and inner hyphens, at most 40", kind, name)
	case taken[name]:
		v.add(path+".name", CodeDuplicate, "%s %q is there already; names are unique", kind, name)
	}
	taken[name] = true
}

func (v *validator) names() {
	s := v.svc
	switch {
	case s.Name == "":
		v.add("", CodeMissing, "the service has no name; add \"name: …\"")
	case !IsName(s.Name):
		v.add("name", CodeValue, "service %q: a name has lower case letters, digits and inner hyphens, at most 40", s.Name)
	}
	if !IsName(s.Project) {
		v.add("project", CodeValue, "project %q: a name has lower case letters, digits and inner hyphens, at most 40", s.Project)
	}
	taken := map[string]bool{}
	for i := range s.Networks {
		n := &s.Networks[i]
		v.name(at("networks", i), "network", n.Name, taken)
		if v.networks[n.Name] == nil {
			v.networks[n.Name] = n
		}
	}
	taken = map[string]bool{}
	for i, r := range s.Routers {
		v.name(at("routers", i), "router", r.Name, taken)
	}
	taken = map[string]bool{}
	for i, r := range s.Servers {
		v.name(at("servers", i), "server", r.Name, taken)
	}
	for i, r := range s.Functions {
		v.name(at("functions", i), "function", r.Name, taken) // one name space with servers
	}
	taken = map[string]bool{}
	for i, g := range s.SecurityGroups {
		v.name(at("security_groups", i), "security group", g.Name, taken)
	}
	taken = map[string]bool{}
	for i, k := range s.KeyPairs {
		v.name(at("keypairs", i), "keypair", k.Name, taken)
	}
	taken = map[string]bool{}
	for i, r := range s.Chains {
		v.name(at("chains", i), "chain", r.Name, taken)
	}
	v.countInstances()
}

// countInstances fills v.instances, refusing absurd numbers before any loop
// over them.
func (v *validator) countInstances() {
	s := v.svc
	total := len(s.Functions)
	for i, r := range s.Servers {
		if r.Count < 1 || r.Count > MaxInstances {
			v.add(at("servers", i)+".count", CodeLimit, "server %q: count is %d; it can be 1 to %d", r.Name, r.Count, MaxInstances)
			v.overflow = true
			continue
		}
		total += r.Count
	}
	if total > MaxInstances {
		v.add("", CodeLimit, "service %q has %d instances, the limit is %d", s.Name, total, MaxInstances)
		v.overflow = true
	}
	if v.overflow {
		return
	}
	for i := range s.Functions {
		v.instances[s.Functions[i].Name] = "function"
	}
	for i := range s.Servers {
		for _, name := range s.Servers[i].Instances() {
			if kind, ok := v.instances[name]; ok && name != s.Servers[i].Name {
				v.add(at("servers", i)+".name", CodeDuplicate, "server %q: its instance %q has the name of a %s", s.Servers[i].Name, name, kind)
			}
			v.instances[name] = "server"
		}
	}
}

func at(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

func (v *validator) networksOK() {
	s := v.svc
	if len(s.Networks) == 0 {
		v.add("", CodeMissing, "service %q has no network; add one under \"networks:\"", s.Name)
	}
	for i, n := range s.Networks {
		p := at("networks", i)
		if !n.Subnet.IsValid() {
			v.add(p, CodeMissing, "network %q has no subnet; add one like \"subnet: 10.0.1.0/24\"", n.Name)
			continue
		}
		if b := n.Subnet.Bits(); b < 8 || b > 30 {
			v.add(p+".subnet", CodeValue, "network %q: subnet %s: the prefix length can be 8 to 30", n.Name, n.Subnet)
			continue
		}
		if a := n.Subnet.Addr(); a.IsMulticast() || a.IsLoopback() || a.IsUnspecified() || a.As4()[0] >= 240 || a.As4()[0] == 0 {
			v.add(p+".subnet", CodeValue, "network %q: subnet %s is not for hosts; use one like 10.0.1.0/24", n.Name, n.Subnet)
		}
		v.hostAddress(p+".gateway", fmt.Sprintf("network %q: gateway", n.Name), n.Gateway, n.Subnet)
		if n.MTU < 576 || n.MTU > 9216 {
			v.add(p+".mtu", CodeValue, "network %q: mtu is %d; it can be 576 to 9216", n.Name, n.MTU)
		}
		for j := range i {
			o := s.Networks[j]
			if o.Subnet.IsValid() && o.Subnet.Overlaps(n.Subnet) {
				v.add(p+".subnet", CodeOverlap, "network %q: subnet %s overlaps %s of network %q", n.Name, n.Subnet, o.Subnet, o.Name)
			}
		}
	}
}

// hostAddress checks that a is one that a host of the subnet can have.
func (v *validator) hostAddress(path, what string, a netip.Addr, subnet netip.Prefix) bool {
	switch {
	case !subnet.Contains(a):
		v.add(path, CodeValue, "%s %s is outside the subnet %s", what, a, subnet)
	case a == subnet.Addr() || a == broadcast(subnet):
		v.add(path, CodeValue, "%s %s is the first or last address of %s, which no host can have", what, a, subnet)
	default:
		return true
	}
	return false
}

// broadcast is the last address of an IPv4 prefix.
func broadcast(p netip.Prefix) netip.Addr {
	b := p.Addr().As4()
	for i := p.Bits(); i < 32; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	return netip.AddrFrom4(b)
}

func (v *validator) routersOK() {
	served := map[string]string{}
	for i, r := range v.svc.Routers {
		p := at("routers", i)
		if len(r.Networks) == 0 {
			v.add(p, CodeMissing, "router %q has no networks", r.Name)
		}
		for j, name := range r.Networks {
			np := at(p+".networks", j)
			if !v.network(np, fmt.Sprintf("router %q", r.Name), name) {
				continue
			}
			if other, ok := served[name]; ok {
				v.add(np, CodeDuplicate, "router %q: network %q has its gateway on router %q already", r.Name, name, other)
			}
			served[name] = r.Name
		}
	}
}

// network checks a reference to a network.
func (v *validator) network(path, what, name string) bool {
	if v.networks[name] != nil {
		return true
	}
	known := make([]string, 0, len(v.networks))
	for _, n := range v.svc.Networks {
		known = append(known, n.Name)
	}
	v.add(path, CodeReference, "%s: there is no network %q%s", what, name, suggest(name, known))
	return false
}

func (v *validator) attachments(path, what string, list []Attachment) {
	if len(list) == 0 {
		v.add(path, CodeMissing, "%s is on no network; add \"networks: […]\"", what)
	}
	seen := map[string]bool{}
	for i, a := range list {
		ap := at(path+".networks", i)
		if !v.network(ap, what, a.Network) {
			continue
		}
		if seen[a.Network] {
			v.add(ap, CodeDuplicate, "%s is on network %q twice", what, a.Network)
		}
		seen[a.Network] = true
	}
}

func (v *validator) serversOK() {
	for i, r := range v.svc.Servers {
		p, what := at("servers", i), fmt.Sprintf("server %q", r.Name)
		v.attachments(p, what, r.Networks)
		v.port(p+".port", what+": port", r.Port)
		for j, a := range r.Networks {
			if r.Count > 1 && a.IP.IsValid() {
				v.add(at(p+".networks", j), CodeValue, "%s: a fixed address needs count 1, but count is %d", what, r.Count)
			}
		}
	}
}

func (v *validator) port(path, what string, n int) {
	if n < 1 || n > 65535 {
		v.add(path, CodeValue, "%s is %d; it can be 1 to 65535", what, n)
	}
}

func (v *validator) oneOf(path, what, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		v.add(path, CodeValue, "%s %q is unknown%s", what, value, suggest(value, allowed))
	}
}

func (v *validator) functionsOK() {
	for i := range v.svc.Functions {
		f := &v.svc.Functions[i]
		p, what := at("functions", i), fmt.Sprintf("function %q", f.Name)
		if !slices.Contains(FunctionKinds, f.Kind) {
			known := make([]string, len(FunctionKinds))
			for i, k := range FunctionKinds {
				known[i] = string(k)
			}
			if f.Kind == "" {
				v.add(p, CodeMissing, "%s has no kind%s", what, suggest("", known))
			} else {
				v.add(p+".kind", CodeReference, "%s: unknown kind %q%s", what, f.Kind, suggest(string(f.Kind), known))
			}
		}
		v.attachments(p, what, f.Networks)
		if c := f.LoadBalancer; c != nil {
			v.loadBalancer(p+".config", what, c)
		}
		if c := f.Firewall; c != nil {
			v.firewall(p+".config", what, f.Name, c)
		}
		if c := f.DNS; c != nil {
			v.dns(p+".config", what, c)
		}
	}
}

func (v *validator) loadBalancer(p, what string, c *LoadBalancer) {
	v.port(p+".port", what+": port", c.Port)
	v.oneOf(p+".protocol", what+": protocol", c.Protocol, "tcp", "http")
	v.oneOf(p+".algorithm", what+": algorithm", c.Algorithm, "roundrobin", "leastconn", "source")
	if c.MemberPort != 0 {
		v.port(p+".member_port", what+": member_port", c.MemberPort)
	}
	if len(c.Members) == 0 {
		v.add(p, CodeMissing, "%s has no members; add \"members: [SERVER…]\"", what)
	}
	for j, m := range c.Members {
		if slices.Contains(c.Members[:j], m) {
			v.add(at(p+".members", j), CodeDuplicate, "%s: member %q is there already", what, m)
		}
		if v.svc.Server(m) == nil {
			known := make([]string, len(v.svc.Servers))
			for i, s := range v.svc.Servers {
				known[i] = s.Name
			}
			v.add(at(p+".members", j), CodeReference, "%s: there is no server %q%s", what, m, suggest(m, known))
		}
	}
}

func (v *validator) firewall(p, what, self string, c *Firewall) {
	v.oneOf(p+".policy", what+": policy", c.Policy, "accept", "drop")
	for j, r := range c.Rules {
		rp := at(p+".rules", j)
		v.oneOf(rp+".action", what+": action", r.Action, "accept", "drop")
		v.oneOf(rp+".protocol", what+": protocol", r.Protocol, "", "tcp", "udp", "icmp")
		if !r.Ports.IsZero() && r.Protocol != "tcp" && r.Protocol != "udp" {
			v.add(rp+".ports", CodeValue, "%s: ports need protocol tcp or udp", what)
		}
	}
	for j, r := range c.Publish {
		rp := at(p+".publish", j)
		v.port(rp+".port", what+": published port", r.Port)
		v.port(rp+".to_port", what+": to_port", r.ToPort)
		v.oneOf(rp+".protocol", what+": protocol", r.Protocol, "tcp", "udp")
		if r.To == self {
			v.add(rp+".to", CodeReference, "%s publishes itself", what)
		}
		v.instance(rp+".to", what, r.To)
		for k := range j {
			if o := c.Publish[k]; o.Port == r.Port && o.Protocol == r.Protocol {
				v.add(rp+".port", CodeDuplicate, "%s: %s port %d is published already", what, r.Protocol, r.Port)
			}
		}
	}
}

// instance checks a reference to a function or a server's instance.
func (v *validator) instance(path, what, name string) {
	if v.overflow || v.instances[name] != "" {
		return
	}
	if s := v.svc.Server(name); s != nil && s.Count > 1 {
		v.add(path, CodeReference, "%s: server %q has %d instances; name one, like %q", what, name, s.Count, s.Instances()[0])
		return
	}
	known := make([]string, 0, len(v.instances))
	for k := range v.instances {
		known = append(known, k)
	}
	slices.Sort(known)
	if len(known) > 20 {
		known = nil
	}
	v.add(path, CodeReference, "%s: there is no server or function %q%s", what, name, suggest(name, known))
}

var zoneRx = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$`)

func (v *validator) dns(p, what string, c *DNS) {
	if !zoneRx.MatchString(c.Zone) || len(c.Zone) > 200 {
		v.add(p+".zone", CodeValue, "%s: zone %q is no domain name like shop.internal", what, c.Zone)
	}
	for j, r := range c.Records {
		rp := at(p+".records", j)
		if !zoneRx.MatchString(r.Name) || len(r.Name) > 200 {
			v.add(rp+".name", CodeValue, "%s: record %q is no host name", what, r.Name)
		}
		if r.IP.IsValid() == (r.Target != "") {
			v.add(rp, CodeValue, "%s: record %q needs either ip or target", what, r.Name)
		}
		if r.Target != "" {
			v.instance(rp+".target", what, r.Target)
		}
	}
}

// addressesOK checks fixed addresses and that each network has room for all.
func (v *validator) addressesOK() {
	if v.overflow {
		return
	}
	holder := map[netip.Addr]string{}
	used := map[string]int{}
	for _, n := range v.svc.Networks {
		holder[n.Gateway] = fmt.Sprintf("the gateway of network %q", n.Name)
	}
	check := func(p, what string, list []Attachment, count int) {
		for j, a := range list {
			n := v.networks[a.Network]
			if n == nil || !n.Subnet.IsValid() {
				continue
			}
			used[a.Network] += count
			if !a.IP.IsValid() {
				continue
			}
			ip := at(p+".networks", j) + ".ip"
			if !v.hostAddress(ip, what+": address", a.IP, n.Subnet) {
				continue
			}
			if h, ok := holder[a.IP]; ok {
				v.add(ip, CodeDuplicate, "%s: address %s is that of %s", what, a.IP, h)
				continue
			}
			holder[a.IP] = what
		}
	}
	for i, r := range v.svc.Servers {
		check(at("servers", i), fmt.Sprintf("server %q", r.Name), r.Networks, r.Count)
	}
	for i, f := range v.svc.Functions {
		check(at("functions", i), fmt.Sprintf("function %q", f.Name), f.Networks, 1)
	}
	for i, n := range v.svc.Networks {
		if !n.Subnet.IsValid() || n.Subnet.Bits() > 30 { // the latter is said elsewhere
			continue
		}
		if room := 1<<(32-n.Subnet.Bits()) - 3; used[n.Name] > room {
			v.add(at("networks", i)+".subnet", CodeLimit, "network %q: subnet %s has room for %d members, but %d are attached", n.Name, n.Subnet, room, used[n.Name])
		}
	}
}

func (v *validator) chainsOK() {
	total := len(v.svc.Rules)
	v.rules("rules", fmt.Sprintf("service %q", v.svc.Name), v.svc.Rules)
	for i, c := range v.svc.Chains {
		p, what := at("chains", i), fmt.Sprintf("chain %q", c.Name)
		if c.Request == "" {
			v.add(p, CodeMissing, "%s has no request; add one like \"request: Firewall before NAT\"", what)
		}
		if c.Path < 1 || c.Path > 65535 {
			v.add(p+".path", CodeValue, "%s: path is %d; paths count from 1", what, c.Path)
		}
		for j, m := range c.Match {
			v.classifier(at(p+".match", j), what, m)
		}
		total += len(c.Rules)
		v.rules(p+".rules", what, c.Rules)
	}
	if total > MaxRules {
		v.add("", CodeLimit, "service %q has %d rules, the limit is %d", v.svc.Name, total, MaxRules)
	}
}

func (v *validator) classifier(p, what string, m Classifier) {
	for _, f := range []struct{ field, network string }{{"from", m.From}, {"to", m.To}} {
		if f.network != "" {
			v.network(p+"."+f.field, what, f.network)
		}
	}
	if _, err := ProtocolNumber(m.Protocol); m.Protocol != "" && err != nil {
		v.add(p+".protocol", CodeValue, "%s: %v", what, err)
	}
	if ported := m.Protocol == "tcp" || m.Protocol == "udp" || m.Protocol == "6" || m.Protocol == "17"; !ported {
		if !m.Ports.IsZero() {
			v.add(p+".ports", CodeValue, "%s: ports need protocol tcp or udp", what)
		}
		if !m.SourcePorts.IsZero() {
			v.add(p+".source_ports", CodeValue, "%s: source_ports need protocol tcp or udp", what)
		}
	}
	if m.Path < 0 || m.Path > 65535 {
		v.add(p+".path", CodeValue, "%s: path is %d; paths count from 1", what, m.Path)
	}
	if m.Priority < 0 || m.Priority > 1<<20 {
		v.add(p+".priority", CodeValue, "%s: priority is %d; it can be 0 to %d", what, m.Priority, 1<<20)
	}
}

// ProtocolNumber gives the IP protocol number of "tcp", "udp", "icmp" or a
// decimal number.
func ProtocolNumber(s string) (uint8, error) {
	switch s {
	case "icmp":
		return 1, nil
	case "tcp":
		return 6, nil
	case "udp":
		return 17, nil
	}
	n, err := strconv.ParseUint(s, 10, 8)
	if err != nil {
		return 0, fmt.Errorf("protocol %q is not tcp, udp, icmp or a number up to 255", s)
	}
	return uint8(n), nil
}

func (v *validator) rules(p, what string, rules []Rule) {
	for j, r := range rules {
		rp := at(p, j)
		if r.NF == "" {
			v.add(rp, CodeMissing, "%s: rule %d names no NF; add \"nf: …\"", what, j+1)
		}
		if r.Action == "" {
			v.add(rp, CodeMissing, "%s: rule %d of NF %q has no action", what, j+1, r.NF)
		}
		if r.Priority < 0 || r.Priority > 1<<20 {
			v.add(rp+".priority", CodeValue, "%s: rule %d of NF %q: priority is %d; it can be 0 to %d", what, j+1, r.NF, r.Priority, 1<<20)
		}
		for _, m := range []struct {
			field  string
			values map[string]string
		}{{"match", r.Match}, {"params", r.Params}} {
			for _, k := range sortedKeys(m.values) {
				if err := v.svc.checkReference(m.values[k]); err != nil {
					v.add(rp+"."+m.field+"."+k, CodeReference, "%s: rule %d of NF %q: %s: %v", what, j+1, r.NF, k, err)
				}
			}
		}
	}
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
