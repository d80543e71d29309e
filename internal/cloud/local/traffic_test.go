package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/catena-nfv/catena/internal/netns"
	"github.com/catena-nfv/catena/internal/service"
)

var one = service.Owner{Project: "p", Service: "one"}

// address of an instance of the one network of these tests: 10.62.0.HOST/24.
func address(host int) netip.Addr { return netip.AddrFrom4([4]byte{10, 62, 0, byte(host)}) }

func endpoint(name string, host, port int) service.Endpoint {
	return service.Endpoint{Name: name, Addr: netip.AddrPortFrom(address(host), uint16(port))}
}

// plug makes the only port of a device.
func plug(ctx context.Context, c *Cloud, device string, kind service.Kind, host int) ([]service.Port, error) {
	name := service.PortName(device, "net")
	p, err := c.CreatePort(ctx, one, service.PortSpec{
		Name: name, Device: device, DeviceKind: kind, Network: "net", MTU: 1500,
		MAC: service.MACFor(one, name), IP: netip.PrefixFrom(address(host), 24),
	})
	return []service.Port{p}, err
}

// lan is a bridge in the place of the switch.
type lan struct {
	t      *testing.T
	cloud  *Cloud
	bridge netlink.Link
}

func newLAN(t *testing.T) lan {
	t.Helper()
	c := open(t, testConfig(t))
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "cttlbr" + c.names.instance[:4]
	bridge := &netlink.Bridge{LinkAttrs: attrs}
	if err := netlink.LinkAdd(bridge); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := netlink.LinkDel(bridge); err != nil {
			t.Error(err)
		}
	})
	if err := netlink.LinkSetUp(bridge); err != nil {
		t.Fatal(err)
	}
	return lan{t: t, cloud: c, bridge: bridge}
}

func (l lan) plug(device string, kind service.Kind, host int) []service.Port {
	l.t.Helper()
	ports, err := plug(context.Background(), l.cloud, device, kind, host)
	if err != nil {
		l.t.Fatal(err)
	}
	link, err := netlink.LinkByName(ports[0].Link)
	if err == nil {
		err = netlink.LinkSetMaster(link, l.bridge)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return ports
}

func (l lan) server(name string, host int, command ...string) {
	l.t.Helper()
	spec := service.ServerSpec{Name: name, Port: 80, Command: command, Ports: l.plug(name, service.KindServer, host)}
	if err := l.cloud.CreateServer(context.Background(), one, spec); err != nil {
		l.t.Fatal(err)
	}
}

func (l lan) function(spec service.FunctionSpec) {
	l.t.Helper()
	if err := l.cloud.CreateFunction(context.Background(), one, spec); err != nil {
		l.t.Fatal(err)
	}
}

// client opens the namespace of a server that only waits.
func (l lan) client(host int) *netns.NS {
	l.t.Helper()
	l.server("client", host, "sleep", "1000")
	ns, err := l.cloud.netns.Open(l.cloud.names.netns(one, "client"))
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { ns.Close() })
	return ns
}

// get returns the name of the server that answered.
func get(ns *netns.NS, host, port int) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	a, err := GetHTTP(ctx, ns, fmt.Sprintf("http://%s:%d/", address(host), port))
	if err == nil && a.Status != 200 {
		err = fmt.Errorf("status %d: %s", a.Status, a.Body)
	}
	return a.Server, err
}

// eventually repeats a check for up to five seconds.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

func TestLoadBalancerTraffic(t *testing.T) {
	for _, protocol := range []string{"tcp", "http"} {
		t.Run(protocol, func(t *testing.T) {
			l := newLAN(t)
			l.server("web-1", 11)
			l.server("web-2", 12)
			client := l.client(100)
			spec := service.FunctionSpec{
				Name: "lb", Kind: service.LoadBalancerKind, Ports: l.plug("lb", service.KindFunction, 20),
				LoadBalancer: &service.LoadBalancerSpec{
					Port: 8000, Protocol: protocol, Algorithm: "roundrobin",
					Members: []service.Endpoint{endpoint("web-1", 11, 80), endpoint("web-2", 12, 80)},
				},
			}
			l.function(spec)
			both := func() error {
				seen := map[string]int{}
				for range 4 {
					name, err := get(client, 20, 8000)
					if err != nil {
						return err
					}
					seen[name]++
				}
				if seen["web-1"] != 2 || seen["web-2"] != 2 {
					return fmt.Errorf("answers %v", seen)
				}
				return nil
			}
			eventually(t, "round robin", both)

			// A changed configuration must not refuse anybody.
			stop := make(chan struct{})
			var wg sync.WaitGroup
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if _, err := get(client, 20, 8000); err != nil {
						t.Errorf("during the change: %v", err)
						return
					}
				}
			})
			changed := *spec.LoadBalancer
			changed.Members = changed.Members[1:]
			spec.LoadBalancer = &changed
			l.function(spec)
			eventually(t, "only web-2", func() error {
				for range 4 {
					if name, err := get(client, 20, 8000); name != "web-2" {
						return fmt.Errorf("%q answered, %v", name, err)
					}
				}
				return nil
			})
			close(stop)
			wg.Wait()

			// A member that dies is left out; one that comes back takes part.
			changed.Members = []service.Endpoint{endpoint("web-1", 11, 80), endpoint("web-2", 12, 80)}
			l.function(spec)
			eventually(t, "round robin again", both)
			destroy(t, l.cloud, one, service.KindServer, "web-1")
			eventually(t, "web-1 left out", func() error {
				for range 4 {
					if name, err := get(client, 20, 8000); name != "web-2" {
						return fmt.Errorf("%q answered, %v", name, err)
					}
				}
				return nil
			})
			l.server("web-1", 11)
			eventually(t, "web-1 back", both)
		})
	}
}

func TestFirewallTraffic(t *testing.T) {
	l := newLAN(t)
	l.server("web-1", 11)
	client := l.client(100)
	spec := service.FunctionSpec{
		Name: "fw", Kind: service.FirewallKind, Ports: l.plug("fw", service.KindFunction, 20),
		Firewall: &service.FirewallSpec{
			Policy:  "drop",
			Publish: []service.PublishSpec{{Port: 8080, Protocol: "tcp", To: endpoint("web-1", 11, 80)}},
		},
	}
	l.function(spec)
	reach := func(port int) error {
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer cancel()
		return DialTCP(ctx, client, netip.AddrPortFrom(address(20), uint16(port)))
	}
	timedOut := func(err error) bool { return errors.Is(err, context.DeadlineExceeded) || isTimeout(err) }

	if name, err := get(client, 20, 8080); name != "web-1" {
		t.Errorf("published port: %q answered, %v", name, err)
	}
	if err := reach(22); !timedOut(err) {
		t.Errorf("policy drop: %v, want silence", err)
	}
	// First match decides, and rules see the port that the client asked for.
	spec.Firewall = &service.FirewallSpec{
		Policy: "accept",
		Rules: []service.FirewallRule{
			{Action: "accept", Protocol: "tcp", Source: netip.PrefixFrom(address(200), 32), Ports: service.PortRange{Lo: 8080, Hi: 8080}},
			{Action: "drop", Protocol: "tcp", Destination: netip.PrefixFrom(address(20), 32), Ports: service.PortRange{Lo: 8080, Hi: 8089}},
		},
		Publish: spec.Firewall.Publish,
	}
	l.function(spec)
	if err := reach(8080); !timedOut(err) {
		t.Errorf("rule drop: %v, want silence", err)
	}
	if err := reach(22); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("policy accept: %v, want a refusal by the instance itself", err)
	}
	spec.Firewall.Rules[0].Source = netip.PrefixFrom(address(100), 32)
	l.function(spec)
	if name, err := get(client, 20, 8080); name != "web-1" {
		t.Errorf("accepted before dropped: %q answered, %v", name, err)
	}
	// Routed through, not addressed to it: a client that uses it as gateway.
	spec.Firewall.Rules = []service.FirewallRule{
		{Action: "drop", Protocol: "tcp", Destination: netip.PrefixFrom(address(11), 32), Ports: service.PortRange{Lo: 80, Hi: 80}},
	}
	l.function(spec)
	web, err := l.cloud.netns.Open(l.cloud.names.netns(one, "web-1"))
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	for _, way := range []struct {
		ns *netns.NS
		to int
	}{{client, 11}, {web, 100}} {
		route := netns.Route{Dst: netip.PrefixFrom(address(way.to), 32), Via: address(20)}
		if err := way.ns.Arrange(nil, []netns.Route{route}); err != nil {
			t.Fatal(err)
		}
	}
	if name, err := get(client, 11, 80); err == nil {
		t.Errorf("forwarded although dropped by a rule: %q answered", name)
	}
	spec.Firewall.Rules[0].Action = "accept"
	l.function(spec)
	if name, err := get(client, 11, 80); name != "web-1" {
		t.Errorf("forwarded: %q answered, %v", name, err)
	}
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

func TestDNSTraffic(t *testing.T) {
	l := newLAN(t)
	client := l.client(100)
	spec := service.FunctionSpec{
		Name: "ns", Kind: service.DNSKind, Ports: l.plug("ns", service.KindFunction, 20),
		DNS: &service.DNSSpec{Zone: "shop.internal", Records: []service.Record{{Name: "web", IP: address(11)}}},
	}
	l.function(spec)
	server := netip.AddrPortFrom(address(20), 53)
	lookup := func(name string) (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		addrs, err := LookupA(ctx, client, server, name)
		return fmt.Sprint(addrs), err
	}
	check := func(name, want string, wantErr error) {
		t.Helper()
		got, err := lookup(name)
		if wantErr == nil && (err != nil || got != want) || wantErr != nil && !errors.Is(err, wantErr) {
			t.Errorf("%s: %s, %v; want %s, %v", name, got, err, want, wantErr)
		}
	}
	check("web.shop.internal", "[10.62.0.11]", nil)
	check("db.shop.internal", "", RcodeError(dns.RcodeNameError))
	check("example.org", "", RcodeError(dns.RcodeRefused))

	before, _, err := l.cloud.records.get(one, service.KindFunction, "ns")
	if err != nil {
		t.Fatal(err)
	}
	spec.DNS = &service.DNSSpec{Zone: "shop.internal", Records: []service.Record{
		{Name: "db", IP: address(13)}, {Name: "web", IP: address(12)},
	}}
	l.function(spec)
	check("web.shop.internal", "[10.62.0.12]", nil)
	check("db.shop.internal", "[10.62.0.13]", nil)
	after, _, err := l.cloud.records.get(one, service.KindFunction, "ns")
	if err != nil {
		t.Fatal(err)
	}
	if *before.Process != *after.Process {
		t.Error("changed records restarted the server")
	}
	spec.DNS = &service.DNSSpec{Zone: "other.internal"}
	l.function(spec)
	check("web.other.internal", "", RcodeError(dns.RcodeNameError))
	check("web.shop.internal", "", RcodeError(dns.RcodeRefused))
}

// A server's command may leave children behind that its own end does not end.
// TestPortChangesUnderInstance changes MTU and gateway of a port while a server runs
// on it: the connection that it has open stays.
func TestPortChangesUnderInstance(t *testing.T) {
	l := newLAN(t)
	ctx := context.Background()
	l.server("web", 11)
	client := l.client(30)
	conn, err := client.DialContext(ctx, "tcp4", netip.AddrPortFrom(address(11), 80).String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	port := service.PortSpec{
		Name: "web.net", Device: "web", DeviceKind: service.KindServer, Network: "net",
		MAC: service.MACFor(one, "web.net"), IP: netip.PrefixFrom(address(11), 24),
	}
	ns, err := OpenInstance(l.cloud.cfg, one, "web")
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	for _, c := range []struct {
		mtu     int
		gateway netip.Addr
		routes  string
	}{
		{1400, address(1), "10.62.0.1"},
		{1300, address(2), "10.62.0.2"},
		{1500, netip.Addr{}, ""},
	} {
		port.MTU, port.Gateway = c.mtu, c.gateway
		if _, err := l.cloud.CreatePort(ctx, one, port); err != nil {
			t.Fatal(err)
		}
		host, err := netlink.LinkByName(l.cloud.names.link(one, port.Name))
		if err != nil || host.Attrs().MTU != c.mtu {
			t.Errorf("MTU %d of the switch's end, %v; want %d", host.Attrs().MTU, err, c.mtu)
		}
		err = ns.Do(func() error {
			peer, err := netlink.LinkByName("eth0")
			if err != nil {
				return err
			}
			if peer.Attrs().MTU != c.mtu {
				t.Errorf("MTU %d inside, want %d", peer.Attrs().MTU, c.mtu)
			}
			routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
			if err != nil {
				return err
			}
			var via []string
			for _, r := range routes {
				if r.Gw != nil {
					via = append(via, r.Gw.String())
				}
			}
			if got := strings.Join(via, " "); got != c.routes {
				t.Errorf("routes via %q, want %q", got, c.routes)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := fmt.Fprintf(conn, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 12)
	if err := conn.SetReadDeadline(time.Now().Add(3 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "HTTP/1.1 200" && string(answer) != "HTTP/1.0 200" {
		t.Errorf("the connection of before the changes: %q, %v", answer, err)
	}
}

func TestCommandWithChildren(t *testing.T) {
	l := newLAN(t)
	l.server("busy", 11, "/bin/sh", "-c", "env -i sleep 1000 & setsid sleep 1000 & wait")
	processes, err := marked(everyInstance(l.cloud.names))
	if err != nil || len(processes) != 3 {
		t.Fatalf("%d processes, want 3, %v", len(processes), err)
	}
	if err := l.cloud.Delete(context.Background(), one, service.KindServer, "busy"); err != nil {
		t.Fatal(err)
	}
	for _, p := range processes {
		if p.alive() {
			t.Errorf("process %d lives on", p.PID)
		}
	}
}

func TestPIDReuse(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	p, err := identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []process{
		{PID: p.PID, Start: p.Start - 1, Boot: p.Boot},
		{PID: p.PID, Start: p.Start, Boot: "another boot"},
	} {
		if other.alive() {
			t.Errorf("%+v counts as alive", other)
		}
		if err := other.stop(); err != nil {
			t.Error(err)
		}
	}
	if !p.alive() {
		t.Error("another's process was stopped")
	}
}

func TestMissingProgram(t *testing.T) {
	for _, tt := range []struct{ program, want string }{
		{"no-such-program", `program "no-such-program" is missing`},
		{"/no/such/program", `program "/no/such/program"`},
	} {
		if _, err := findProgram(tt.program); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.program, err)
		}
	}
	err := CheckMachine("no-such-program")
	if err == nil || !strings.Contains(err.Error(), `the program "no-such-program"`) || strings.Contains(err.Error(), "\n") {
		t.Errorf("CheckMachine: %v", err)
	}
	if got := (&MissingError{Needs: []string{"root is needed"}, Packages: []string{"clang", "haproxy"}}).Error(); got !=
		"cannot run here: root is needed; missing programs (apt-get install clang haproxy)" {
		t.Errorf("text: %s", got)
	}
}
