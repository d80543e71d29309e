package openstack

import (
	"encoding/json"
	"flag"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/catena-nfv/catena/internal/cloud/openstack/fake"
	"github.com/catena-nfv/catena/internal/service"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func guestPorts() []service.Port {
	return []service.Port{
		{PortSpec: service.PortSpec{
			Name: "x.back", MAC: service.MAC{2, 0, 0, 0, 0, 1}, IP: netip.MustParsePrefix("10.62.1.20/24"), MTU: 1400,
			DNS: []netip.Addr{netip.MustParseAddr("10.62.1.3"), netip.MustParseAddr("10.62.0.3")},
		}},
		{PortSpec: service.PortSpec{
			Name: "x.front", MAC: service.MAC{2, 0, 0, 0, 0, 2}, IP: netip.MustParsePrefix("10.62.0.20/24"), Gateway: netip.MustParseAddr("10.62.0.1"),
		}},
	}
}

// TestScripts holds the scripts that guests are given, and has the shell read them.
func TestScripts(t *testing.T) {
	endpoint := service.Endpoint{Name: "web", Addr: netip.MustParseAddrPort("10.62.1.11:80")}
	must := func(s script, err error) script {
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	scripts := map[string]script{
		"server.sh":  serverScript(service.ServerSpec{Name: "web-1", Port: 8080, Ports: guestPorts()}),
		"command.sh": serverScript(service.ServerSpec{Name: "web-1", Command: []string{"sh", "-c", "echo 'it''s' \"$HOME\"\nCATENA_END"}, Ports: guestPorts()}),
		"loadbalancer.sh": must(functionScript(service.FunctionSpec{Name: "lb", Kind: service.LoadBalancerKind, Ports: guestPorts(),
			LoadBalancer: &service.LoadBalancerSpec{Port: 80, Protocol: "http", Members: []service.Endpoint{endpoint}}})),
		"firewall.sh": must(functionScript(service.FunctionSpec{Name: "fw", Kind: service.FirewallKind, Ports: guestPorts(),
			Firewall: &service.FirewallSpec{Rules: []service.FirewallRule{{Action: "accept", Protocol: "icmp"}}}})),
		"dns.sh": must(functionScript(service.FunctionSpec{Name: "ns", Kind: service.DNSKind, Ports: guestPorts(),
			DNS: &service.DNSSpec{Zone: "x.internal", Records: []service.Record{{Name: "web", IP: endpoint.Addr.Addr()}}}})),
	}
	for name, s := range scripts {
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, []byte(s.text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), s.text); diff != "" {
			t.Errorf("differs from %s (-want +got); run with -update when it is meant to:\n%s", file, diff)
		}
		if out, err := exec.Command("sh", "-n", file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", file, err, out)
		}
	}
	if _, err := functionScript(service.FunctionSpec{Name: "x", Kind: service.DNSKind, Ports: guestPorts()}); err == nil {
		t.Error("a function without a configuration")
	}
	// What DHCP tells does not make another script of it; an address does.
	ports := guestPorts()
	ports[0].MTU, ports[0].DNS, ports[1].Gateway = 1300, nil, netip.Addr{}
	spec := service.ServerSpec{Name: "web-1", Port: 8080, Ports: ports}
	if got := serverScript(spec); got.digest != scripts["server.sh"].digest || got.text == scripts["server.sh"].text {
		t.Errorf("digest %s after a change of MTU, DNS and gateway, it was %s", got.digest, scripts["server.sh"].digest)
	}
	ports[0].IP = netip.MustParsePrefix("10.62.1.21/24")
	if serverScript(spec).digest == scripts["server.sh"].digest {
		t.Error("the same digest with another address")
	}
}

func TestGuestSaid(t *testing.T) {
	for console, want := range map[string]string{
		"":                            "",
		"catena-guest: ready other\n": "",
		"[ 1.2] noise\r\ncatena-guest: ready d1\r\n":                                   "ready",
		"[ 1.2] catena-guest: failed d1: no such file \r\nlogin:":                      "no such file",
		"catena-guest: failed d1: first boot\ncatena-guest: ready d1\n":                "ready",
		"catena-guest: ready d1\n…reboot…\ncatena-guest: failed d1: it ended with 1\n": "it ended with 1",
		"catena-guest: ready d11\n":                                                    "",
	} {
		ready, got := guestSaid(console, "d1")
		if ready {
			got = "ready"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", console, got, want)
		}
	}
}

func TestPool(t *testing.T) {
	for _, tt := range []struct{ subnet, gateway, first, last string }{
		{"10.0.0.0/24", "10.0.0.1", "10.0.0.247", "10.0.0.254"},
		{"10.0.0.0/24", "10.0.0.254", "10.0.0.247", "10.0.0.253"},
		{"10.0.0.0/24", "10.0.0.250", "", ""},
		{"10.0.0.16/28", "10.0.0.17", "10.0.0.27", "10.0.0.30"},
		{"10.0.0.4/30", "10.0.0.5", "", ""},
		{"10.0.0.0/8", "10.0.0.1", "10.255.255.247", "10.255.255.254"},
	} {
		n := service.Network{Subnet: netip.MustParsePrefix(tt.subnet), Gateway: netip.MustParseAddr(tt.gateway)}
		first, last, ok := poolOf(n)
		if !ok && tt.first == "" {
			continue
		}
		if !ok || first.String() != tt.first || last.String() != tt.last {
			t.Errorf("%s: %s to %s, %t; want %s to %s", tt.subnet, first, last, ok, tt.first, tt.last)
		}
	}
}

// TestNotifications reads messages as oslo.messaging sends them.
func TestNotifications(t *testing.T) {
	message := func(event, state string) []byte {
		inner := `{"message_id": "1", "publisher_id": "nova-compute:h", "event_type": "` + event + `", "priority": "INFO", "payload": {
			"nova_object.name": "InstanceActionPayload", "nova_object.namespace": "nova", "nova_object.version": "1.8",
			"nova_object.data": {"uuid": "u1", "display_name": "web", "state": "` + state + `", "host": "h", "fault": null}}}`
		envelope, err := json.Marshal(map[string]string{"oslo.version": "2.0", "oslo.message": inner})
		if err != nil {
			t.Fatal(err)
		}
		return envelope
	}
	for _, tt := range []struct {
		event, state, status string
		final, failed        bool
	}{
		{"instance.create.end", "active", "ACTIVE", true, false},
		{"instance.rebuild.end", "active", "ACTIVE", true, false},
		{"instance.delete.end", "deleted", "DELETED", true, false},
		{"instance.create.start", "building", "", false, false},
		{"instance.create.error", "building", "", false, true},
	} {
		n, ok := parseNotification(message(tt.event, tt.state))
		s, final := n.server()
		if !ok || s.ID != "u1" || s.Status != tt.status || final != tt.final || n.failed() != tt.failed || s.Gone != (tt.status == "DELETED") {
			t.Errorf("%s: %+v, %t, %+v", tt.event, n, ok, s)
		}
	}
	for _, other := range []string{"", "{}", `{"oslo.message": "{\"event_type\": \"service.update\", \"payload\": {}}"}`, "[1]"} {
		if _, ok := parseNotification([]byte(other)); ok {
			t.Errorf("%q was taken for a notification about an instance", other)
		}
	}
}

func TestTrace(t *testing.T) {
	f := fakeCloud(t, fake.Config{})
	trace := &Trace{}
	c := open(t, f, func(cfg *Config) { cfg.Trace = trace })
	if err := (site{networks: 1, servers: 2}).build(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	f.Fail("DELETE /network/v2.0/routers", 500, 1)
	demolish(t, c)
	count := map[string]int{}
	failed := map[string]int{}
	for _, s := range trace.Summary() {
		count[s.Service+" "+s.Method+" "+s.Path] += s.Count
		failed[s.Path] = s.Failed
		if s.Total < s.Max || s.Max < s.Median || s.Median <= 0 {
			t.Errorf("%+v", s)
		}
	}
	for call, want := range map[string]int{
		"identity POST /auth/tokens": 1, "compute POST /servers": 2, "compute DELETE /servers/*": 2, "network DELETE /routers/*": 2,
		"network POST /networks": 1, "network PUT /routers/*/add_router_interface": 1,
	} {
		if count[call] != want {
			t.Errorf("%s: %d calls, want %d (all: %v)", call, count[call], want, count)
		}
	}
	if failed["/routers/*"] != 1 || failed["/servers"] != 0 {
		t.Errorf("failed calls: %v", failed)
	}
	var table strings.Builder
	if err := trace.Print(&table); err != nil || !strings.Contains(table.String(), "compute POST /servers\n") {
		t.Errorf("%v\n%s", err, table.String())
	}
	trace.Reset()
	if len(trace.Calls()) != 0 {
		t.Error("Reset left calls")
	}
}

// TestSnapshot: what a service makes differs from what was before, and nothing does when
// it is gone.
func TestSnapshot(t *testing.T) {
	f := fakeCloud(t, fake.Config{})
	c := open(t, f, nil)
	take := func() Snapshot {
		s, err := c.session.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	before := take()
	if len(before) == 0 {
		t.Error("not even an image is seen")
	}
	if err := (site{networks: 1, servers: 1}).build(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	built := take()
	diff := before.Diff(built)
	for _, kind := range []string{"networks", "subnets", "routers", "ports", "servers"} {
		if !slices.ContainsFunc(diff, func(d string) bool { return strings.HasPrefix(d, "new: "+kind+" ") }) {
			t.Errorf("new %s are not seen: %v", kind, diff)
		}
	}
	if ours := built.Only("catena"); len(ours) != len(diff) {
		t.Errorf("%d of %d new resources carry the mark", len(ours), len(diff))
	}
	if back := built.Diff(before); len(back) != len(diff) || !strings.HasPrefix(back[0], "missing: ") {
		t.Errorf("the other way: %v", back)
	}
	demolish(t, c)
	if diff := before.Diff(take()); len(diff) > 0 {
		t.Errorf("after the deletion: %v", diff)
	}
}
