package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"sort"
	"strings"
	"time"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
)

// Prober sends traffic from inside an instance of a service.
type Prober interface {
	// HTTP does one GET on a new connection and tells which instance answered.
	HTTP(ctx context.Context, from, url string) (answered string, status int, err error)
	// TCP opens and closes a connection.
	TCP(ctx context.Context, from string, to netip.AddrPort) error
	// DNS asks a name server for the address of a name.
	DNS(ctx context.Context, from string, server netip.AddrPort, name string) ([]netip.Addr, error)
}

// probe is one thing to try. Exactly one of URL, Name and Refused is set.
type probe struct {
	From, To string // instances
	URL      string
	Times    int
	Server   netip.AddrPort // of Name
	Name     string
	Refused  netip.AddrPort // a connection that the chain's firewall must not let through
}

// host is an instance with an address on one network.
type host struct {
	name, network, kind string
	addr                netip.Addr
}

// hostsOf lists the instances of a service with their addresses.
func hostsOf(s *catenav1.ServiceState) []host {
	subnets := map[string]netip.Prefix{}
	for _, n := range s.GetService().GetNetworks() {
		if p, err := netip.ParsePrefix(n.GetSubnet()); err == nil {
			subnets[n.GetName()] = p
		}
	}
	var out []host
	for _, o := range s.GetObjects() {
		if o.GetKind() != "server" && o.GetKind() != "function" {
			continue
		}
		for _, a := range o.GetAddresses() {
			p, err := netip.ParsePrefix(a)
			if err != nil {
				continue
			}
			for name, subnet := range subnets {
				if subnet.Contains(p.Addr()) {
					out = append(out, host{name: o.GetName(), network: name, kind: o.GetKind(), addr: p.Addr()})
				}
			}
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name+out[i].network < out[j].name+out[j].network })
	return out
}

// probes plans traffic that shows a service at work: HTTP to the servers and
// through the functions, a name of its zone, and what the chains' firewalls refuse.
func probes(s *catenav1.ServiceState) []probe {
	v, hosts := s.GetService(), hostsOf(s)
	find := func(name string) (host, bool) {
		i := slices.IndexFunc(hosts, func(h host) bool { return h.name == name })
		if i < 0 {
			return host{}, false
		}
		return hosts[i], true
	}
	// another returns an instance other than the named one, from another network if
	// there is any.
	another := func(than host) (host, bool) {
		best := -1
		for i, h := range hosts {
			if h.name == than.name {
				continue
			}
			if best < 0 || hosts[best].network == than.network && h.network != than.network {
				best = i
			}
		}
		if best < 0 {
			return host{}, false
		}
		return hosts[best], true
	}
	var out []probe
	for _, srv := range v.GetServers() {
		if len(srv.GetCommand()) > 0 {
			continue
		}
		port := max(srv.GetPort(), 0)
		if port == 0 {
			port = 80
		}
		for _, h := range hosts {
			if h.kind != "server" || h.name != srv.GetName() && !strings.HasPrefix(h.name, srv.GetName()+"-") {
				continue
			}
			if from, ok := another(h); ok {
				out = append(out, probe{From: from.name, To: h.name, URL: fmt.Sprintf("http://%s:%d/", h.addr, port), Times: 2})
			}
		}
	}
	for _, f := range v.GetFunctions() {
		h, ok := find(f.GetName())
		if !ok {
			continue
		}
		// From its own network, if somebody else is there: what a function in front of
		// a chain answers may be translated on the way to the others.
		from, ok := another(h)
		if i := slices.IndexFunc(hosts, func(x host) bool { return x.network == h.network && x.name != h.name }); i >= 0 {
			from = hosts[i]
		}
		if !ok {
			continue
		}
		switch {
		case f.GetLoadBalancer() != nil:
			port := f.GetLoadBalancer().GetPort()
			if port == 0 {
				port = 80
			}
			out = append(out, probe{From: from.name, To: h.name, URL: fmt.Sprintf("http://%s:%d/", h.addr, port), Times: 4})
		case f.GetFirewall() != nil:
			for _, p := range f.GetFirewall().GetPublish() {
				// Not from what stands behind it.
				if i := slices.IndexFunc(hosts, func(x host) bool { return x.network == h.network && x.name != h.name && x.name != p.GetTo() }); i >= 0 {
					from = hosts[i]
				}
				out = append(out, probe{From: from.name, To: h.name, URL: fmt.Sprintf("http://%s:%d/", h.addr, p.GetPort()), Times: 4})
			}
		case f.GetDns() != nil && len(hosts) > 0:
			zone := f.GetDns().GetZone()
			if zone == "" {
				zone = v.GetName() + ".internal"
			}
			out = append(out, probe{From: from.name, To: h.name, Server: netip.AddrPortFrom(h.addr, 53), Name: hosts[len(hosts)-1].name + "." + zone})
		}
	}
	for _, c := range v.GetChains() {
		out = append(out, refusals(c, v, hosts)...)
	}
	return out
}

// refusals plans one connection for each TCP port that a Firewall of the chain
// denies.
func refusals(c *catenav1.Chain, v *catenav1.Service, hosts []host) []probe {
	var out []probe
	for _, m := range c.GetMatch() {
		from := slices.IndexFunc(hosts, func(h host) bool { return m.GetFrom() == "" || h.network == m.GetFrom() })
		if from < 0 {
			continue
		}
		to := slices.IndexFunc(hosts, func(h host) bool {
			return h.name != hosts[from].name && h.network != hosts[from].network && (m.GetTo() == "" || h.network == m.GetTo())
		})
		if to < 0 {
			continue
		}
		for _, r := range append(slices.Clone(c.GetRules()), v.GetRules()...) {
			proto, port := r.GetMatch()["protocol"], r.GetMatch()["dst_port"]
			if r.GetNf() != "Firewall" || r.GetAction() != "deny" || len(r.GetMatch()) != 2 || proto != "6" && proto != "tcp" {
				continue
			}
			if a, err := netip.ParseAddrPort(hosts[to].addr.String() + ":" + port); err == nil {
				out = append(out, probe{From: hosts[from].name, To: hosts[to].name, Refused: a})
			}
		}
		break
	}
	return out
}

// outcome counts what became of the probes.
type outcome struct {
	HTTPAnswers int `json:"http_answers"`
	DNSAnswers  int `json:"dns_answers"`
	Refused     int `json:"refused"`
	Failed      int `json:"failed"`
}

// send carries out the probes, one line each.
func send(ctx context.Context, w io.Writer, p Prober, list []probe) outcome {
	var sum outcome
	for _, x := range list {
		way := fmt.Sprintf("%-8s -> %-8s", x.From, x.To)
		switch {
		case x.URL != "":
			answers, took, err := get(ctx, p, x)
			sum.HTTPAnswers += len(answers)
			if err != nil {
				sum.Failed++
				fmt.Fprintf(w, "  %s GET %s failed: %v\n", way, x.URL, err)
				continue
			}
			fmt.Fprintf(w, "  %s GET %s  %d answers, from %s, %s each\n", way, x.URL, len(answers), names(answers), duration(took/time.Duration(len(answers))))
		case x.Name != "":
			c, cancel := context.WithTimeout(ctx, 2*time.Second)
			addrs, err := p.DNS(c, x.From, x.Server, x.Name)
			cancel()
			if err != nil {
				sum.Failed++
				fmt.Fprintf(w, "  %s DNS %s failed: %v\n", way, x.Name, err)
				continue
			}
			sum.DNSAnswers++
			fmt.Fprintf(w, "  %s DNS %s is %v\n", way, x.Name, addrs)
		default:
			// The packets are dropped on the way: nothing comes back.
			c, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
			err := p.TCP(c, x.From, x.Refused)
			cancel()
			if err == nil {
				sum.Failed++
				fmt.Fprintf(w, "  %s TCP %s was let through, which a rule of the chain forbids\n", way, x.Refused)
				continue
			}
			sum.Refused++
			fmt.Fprintf(w, "  %s TCP %s refused by the chain's firewall\n", way, x.Refused)
		}
	}
	return sum
}

// settle is how long a load balancer may take to see its members, which it could
// not reach before the switch had its program.
const settle = 2 * time.Second

func get(ctx context.Context, p Prober, x probe) (answers []string, took time.Duration, err error) {
	started := time.Now()
	for len(answers) < x.Times {
		one := time.Now()
		c, cancel := context.WithTimeout(ctx, 3*time.Second)
		who, status, err := p.HTTP(c, x.From, x.URL)
		cancel()
		if err != nil {
			return answers, 0, err
		}
		if status == http.StatusServiceUnavailable && len(answers) == 0 && time.Since(started) < settle {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		if status != http.StatusOK {
			return answers, 0, fmt.Errorf("status %d", status)
		}
		answers = append(answers, who)
		took += time.Since(one)
	}
	return answers, took, nil
}

// names lists each name once, in order.
func names(list []string) string {
	s := slices.Clone(list)
	slices.Sort(s)
	return strings.Join(slices.Compact(s), " and ")
}
