package local

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"path/filepath"
	"time"

	"github.com/miekg/dns"

	"github.com/catena-nfv/catena/internal/cloud/guest"
	"github.com/catena-nfv/catena/internal/netns"
	"github.com/catena-nfv/catena/internal/service"
)

// HTTPAnswer is what a server said.
type HTTPAnswer struct {
	Status  int
	Server  string // name of the `server` instance that answered, "" when another program did
	Body    string // at most 64 KiB
	Elapsed time.Duration
}

// GetHTTP does one GET from inside a namespace, on a new connection. The URL's
// host must be an IPv4 address; see LookupA for names.
func GetHTTP(ctx context.Context, ns *netns.NS, url string) (HTTPAnswer, error) {
	start := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return HTTPAnswer{}, err
	}
	transport := &http.Transport{DialContext: ns.DialContext, DisableKeepAlives: true}
	// Following a redirect could lead to a host that only has a name.
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	resp, err := client.Do(req)
	if err != nil {
		return HTTPAnswer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return HTTPAnswer{}, fmt.Errorf("GET %s: %w", url, err)
	}
	return HTTPAnswer{
		Status:  resp.StatusCode,
		Server:  resp.Header.Get(guest.ServerHeader),
		Body:    string(body),
		Elapsed: time.Since(start),
	}, nil
}

// DialTCP opens and closes a TCP connection from inside a namespace: nil means
// that something accepts connections there.
func DialTCP(ctx context.Context, ns *netns.NS, addr netip.AddrPort) error {
	conn, err := ns.DialContext(ctx, "tcp4", addr.String())
	if err != nil {
		return err
	}
	return conn.Close()
}

// LookupA asks a DNS server (UDP) from inside a namespace for the addresses of a
// name. The error for an answer other than success names its code.
func LookupA(ctx context.Context, ns *netns.NS, server netip.AddrPort, name string) ([]netip.Addr, error) {
	conn, err := ns.DialContext(ctx, "udp4", server.String())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	question := new(dns.Msg).SetQuestion(dns.Fqdn(name), dns.TypeA)
	answer, _, err := (&dns.Client{Timeout: time.Second}).ExchangeWithConnContext(ctx, question, &dns.Conn{Conn: conn})
	if err != nil {
		return nil, fmt.Errorf("name %q at %s: %w", name, server, err)
	}
	if answer.Rcode != dns.RcodeSuccess {
		return nil, fmt.Errorf("name %q at %s: %w", name, server, RcodeError(answer.Rcode))
	}
	var addrs []netip.Addr
	for _, rr := range answer.Answer {
		if a, ok := rr.(*dns.A); ok {
			if ip, ok := netip.AddrFromSlice(a.A.To4()); ok {
				addrs = append(addrs, ip)
			}
		}
	}
	return addrs, nil
}

// RcodeError is a DNS server's refusal, a response code of RFC 1035, 4.1.1.
type RcodeError int

func (e RcodeError) Error() string {
	if name, ok := dns.RcodeToString[int(e)]; ok {
		return name
	}
	return fmt.Sprintf("response code %d", int(e))
}

// OpenInstance opens the namespace of an instance, to look at it or to send traffic
// from it. It works beside the driver that has the state directory.
func OpenInstance(cfg Config, o service.Owner, instance string) (*netns.NS, error) {
	dir, err := filepath.Abs(cfg.StateDir)
	if err != nil {
		return nil, err
	}
	if cfg.Prefix == "" {
		cfg.Prefix = defaultPrefix
	}
	if cfg.NetnsDir == "" {
		cfg.NetnsDir = netns.DefaultDir
	}
	ns, err := netns.Dir{Path: cfg.NetnsDir}.Open(newNames(cfg.Prefix, dir).netns(o, instance))
	if err != nil {
		return nil, fmt.Errorf("instance %q of %s: %w", instance, o, err)
	}
	return ns, nil
}
