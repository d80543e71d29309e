package local

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/catena-nfv/catena/internal/service"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestConfigurations holds the texts that the functions' programs are given.
func TestConfigurations(t *testing.T) {
	members := []service.Endpoint{endpoint("web-1", 11, 80), endpoint("web-2", 12, 8080)}
	ports := []service.Port{
		{PortSpec: service.PortSpec{IP: netip.MustParsePrefix("10.62.0.20/24")}},
		{PortSpec: service.PortSpec{IP: netip.MustParsePrefix("10.63.0.20/24")}},
	}
	for name, got := range map[string]string{
		"lb-tcp.cfg": haproxyConfig("lb", service.LoadBalancerSpec{Port: 80, Members: members}),
		"lb-http.cfg": haproxyConfig("lb", service.LoadBalancerSpec{
			Port: 8000, Protocol: "http", Algorithm: "leastconn", Members: members,
		}),
		"fw-closed.nft": firewallRuleset(service.FirewallSpec{}),
		"fw-full.nft": firewallRuleset(service.FirewallSpec{
			Policy: "accept",
			Rules: []service.FirewallRule{
				{Action: "accept", Protocol: "tcp", Source: netip.MustParsePrefix("10.62.0.0/25"), Ports: service.PortRange{Lo: 80, Hi: 90}},
				{Action: "drop", Protocol: "udp", Destination: netip.MustParsePrefix("10.62.0.9/32"), Ports: service.PortRange{Lo: 53, Hi: 53}},
				{Action: "drop", Protocol: "icmp"},
				{Action: "accept"},
			},
			Publish: []service.PublishSpec{
				{Port: 443, Protocol: "tcp", To: endpoint("lb", 20, 8000)},
				{Port: 53, Protocol: "udp", To: endpoint("ns", 22, 53)},
			},
		}),
		"dns.conf": dnsmasqConfig(ports, service.DNSSpec{
			Zone: "shop.internal", Upstream: []netip.Addr{netip.MustParseAddr("9.9.9.9")},
		}, "/state/instances/ns"),
		"dns.hosts": dnsHosts(service.DNSSpec{Zone: "shop.internal", Records: []service.Record{
			{Name: "web-1", IP: address(11)}, {Name: "web-1", IP: address(12)}, {Name: "www", IP: address(20)},
		}}),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("differs from %s (-want +got); run with -update when it is meant to:\n%s", file, diff)
			}
		})
	}
}

func TestNames(t *testing.T) {
	n := newNames("ct", "/var/lib/catena")
	o := service.Owner{Project: "p.1", Service: "shop"}
	if got, want := n.netns(o, "web-1"), "ct"+n.instance+".p%2E1.shop.web-1"; got != want {
		t.Errorf("netns %q, want %q", got, want)
	}
	if got := n.link(o, "web-1.front"); len(got) != len("ctp")+8 {
		t.Errorf("link %q", got)
	}
	seen := map[string]bool{}
	for _, other := range []names{n, newNames("ct", "/var/lib/other")} {
		for _, owner := range []service.Owner{{Project: "a", Service: "b"}, {Project: "a.b", Service: "c"}, {Project: "a", Service: "b.c"}} {
			for _, device := range []string{"c", "d"} {
				for _, name := range []string{other.netns(owner, device), other.link(owner, device+".net"), other.alias(owner, device+".net")} {
					if seen[name] {
						t.Errorf("%q names two things", name)
					}
					seen[name] = true
				}
			}
		}
	}
}
