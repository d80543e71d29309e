package guest

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
		"lb-tcp.cfg": HAProxy("lb", service.LoadBalancerSpec{Port: 80, Members: members}),
		"lb-http.cfg": HAProxy("lb", service.LoadBalancerSpec{
			Port: 8000, Protocol: "http", Algorithm: "leastconn", Members: members,
		}),
		"fw-closed.nft": Ruleset(service.FirewallSpec{}),
		"fw-full.nft": Ruleset(service.FirewallSpec{
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
		"dns.conf": Dnsmasq(ports, service.DNSSpec{
			Zone: "shop.internal", Upstream: []netip.Addr{netip.MustParseAddr("9.9.9.9")},
		}, "/state/instances/ns/hosts"),
		"dns.hosts": Hosts(service.DNSSpec{Zone: "shop.internal", Records: []service.Record{
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

func address(host byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 62, 0, host}) }

func endpoint(name string, host byte, port uint16) service.Endpoint {
	return service.Endpoint{Name: name, Addr: netip.AddrPortFrom(address(host), port)}
}
