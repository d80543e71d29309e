package nodeservice

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// resolver answers for the names of the asking port's network and passes everything
// else on to the node's own name servers.
type resolver struct {
	// who finds the port that an address in the namespace stands for, nil: nobody.
	who func(netip.Addr) (*port, *view)
	// upstream lists the node's name servers, "HOST:PORT".
	upstream func() []string
	log      *slog.Logger
	// asked bounds the questions that are passed on at a time.
	asked *quota
}

const (
	maxQuestions    = 32 // of a port
	upstreamTimeout = 3 * time.Second
	hostTTL         = 30 // seconds
)

// hostServers are the name servers in /etc/resolv.conf, which may change.
func hostServers() []string {
	c, err := dns.ClientConfigFromFile("/etc/resolv.conf")
	if err != nil {
		return nil
	}
	var out []string
	for _, s := range c.Servers {
		out = append(out, net.JoinHostPort(s, c.Port))
	}
	return out
}

// ServeDNS implements dns.Handler.
func (r *resolver) ServeDNS(w dns.ResponseWriter, m *dns.Msg) {
	from := remote(w.RemoteAddr())
	p, v := r.who(from)
	if p == nil || len(m.Question) != 1 {
		return
	}
	out := answerHosts(v, p, m)
	switch {
	case out != nil:
	case !r.asked.take(from):
		out = new(dns.Msg).SetRcode(m, dns.RcodeServerFailure)
	default:
		out = r.ask(m, w.LocalAddr().Network())
		r.asked.give(from)
	}
	if w.LocalAddr().Network() == "udp" {
		size := dns.MinMsgSize
		if o := m.IsEdns0(); o != nil {
			size = max(size, min(int(o.UDPSize()), 1232))
		}
		out.Truncate(size)
	}
	if err := w.WriteMsg(out); err != nil {
		r.log.Debug("DNS answer", "port", p.Port.Name, "error", err)
	}
}

// answerHosts answers a question about a port of the network, by name (with the
// network's domain or without) or by address; nil: the question is about something else.
func answerHosts(v *view, p *port, m *dns.Msg) *dns.Msg {
	q := m.Question[0]
	name := strings.ToLower(strings.TrimSuffix(q.Name, "."))
	domain := strings.ToLower(p.network.Domain)
	local := domain != "" && strings.HasSuffix(name, "."+domain)
	host := strings.TrimSuffix(name, "."+domain)
	if domain == "" {
		host = name
	}
	var found []dns.RR
	known := false
	header := func(t uint16) dns.RR_Header {
		return dns.RR_Header{Name: q.Name, Rrtype: t, Class: dns.ClassINET, Ttl: hostTTL}
	}
	for _, o := range v.networks[p.Network] {
		for _, a := range o.addresses() {
			switch reverse, err := dns.ReverseAddr(a.String()); {
			case strings.EqualFold(o.hostName(), host) && host != "":
				known = true
				if q.Qtype == dns.TypeA || q.Qtype == dns.TypeANY {
					found = append(found, &dns.A{Hdr: header(dns.TypeA), A: a.AsSlice()})
				}
			case err == nil && name+"." == reverse:
				known = true
				if full := o.hostName(); q.Qtype == dns.TypePTR && full != "" {
					if domain != "" {
						full += "." + domain
					}
					found = append(found, &dns.PTR{Hdr: header(dns.TypePTR), Ptr: dns.Fqdn(full)})
				}
			}
		}
	}
	if !known && !local {
		return nil
	}
	out := new(dns.Msg).SetReply(m)
	out.Authoritative, out.RecursionAvailable, out.Answer = true, true, found
	if !known {
		out.Rcode = dns.RcodeNameError
	}
	return out
}

// ask passes a question on, to one server after the other.
func (r *resolver) ask(m *dns.Msg, network string) *dns.Msg {
	c := &dns.Client{Net: network, Timeout: upstreamTimeout}
	for _, s := range r.upstream() {
		ctx, cancel := context.WithTimeout(context.Background(), upstreamTimeout)
		out, _, err := c.ExchangeContext(ctx, m, s)
		cancel()
		if err == nil {
			out.Id = m.Id
			return out
		}
		r.log.Debug("DNS question", "name", m.Question[0].Name, "server", s, "error", err)
	}
	return new(dns.Msg).SetRcode(m, dns.RcodeServerFailure)
}
