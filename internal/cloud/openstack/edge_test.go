package openstack

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/cloud/openstack/fake"
	"github.com/catena-nfv/catena/internal/service"
)

var optionalKinds = []service.Kind{service.KindSecurityGroup, service.KindKeyPair, service.KindFloatingIP}

const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"

// edgeGroups name each other.
var edgeGroups = []service.SecurityGroup{
	{Name: "web", Rules: []service.SecurityRule{
		{Direction: service.Ingress, Protocol: "tcp", Ports: service.PortRange{Lo: 80, Hi: 80}}, {Direction: service.Ingress, RemoteGroup: "db"}, {Direction: service.Egress},
	}},
	{Name: "db", Rules: []service.SecurityRule{{Direction: service.Ingress, RemoteGroup: "web"}, {Direction: service.Egress, Protocol: "udp"}}},
}

// buildEdge makes one server with a key, a secured port with a floating IP, and all that
// this takes.
func buildEdge(ctx context.Context, c *Cloud) error { return buildEdgeOf(ctx, c, "public") }

// buildEdgeOf is buildEdge with another external network, or, with "", without one.
func buildEdgeOf(ctx context.Context, c *Cloud, external string) error {
	s := site{}
	if err := c.CreateNetwork(ctx, owner, s.network(0)); err != nil {
		return err
	}
	for _, g := range edgeGroups {
		if _, err := c.CreateSecurityGroup(ctx, owner, g); err != nil {
			return err
		}
	}
	for _, g := range edgeGroups {
		if err := c.CreateSecurityRules(ctx, owner, g); err != nil {
			return err
		}
	}
	if err := c.CreateKeyPair(ctx, owner, service.KeyPair{Name: "ops", PublicKey: publicKey}); err != nil {
		return err
	}
	if err := c.CreateRouter(ctx, owner, service.Router{Name: "r", Networks: []string{"net0"}, External: external}); err != nil {
		return err
	}
	spec := s.port("web", 0)
	spec.SecurityGroups, spec.AllowedAddresses = []string{"web"}, []netip.Prefix{netip.MustParsePrefix("10.7.0.99/32")}
	port, err := c.CreatePort(ctx, owner, spec)
	if err != nil {
		return err
	}
	if external != "" {
		if err := c.CreateFloatingIP(ctx, owner, service.FloatingIPSpec{Name: spec.Name, External: external, Router: "r", Port: port}); err != nil {
			return err
		}
	}
	return c.CreateServer(ctx, owner, service.ServerSpec{Name: "web", Image: "ubuntu", Flavor: "small", Port: 80, KeyPair: "ops", Ports: []service.Port{port}})
}

// edgeResources: a network and its subnet, two groups, a key, a router with its port, a
// port, a floating IP, a server.
const edgeResources = 10

func observeEdge(t *testing.T, c *Cloud) map[key]service.Object {
	t.Helper()
	seen, err := c.Observe(t.Context(), owner, optionalKinds...)
	if err != nil {
		t.Fatal(err)
	}
	out := map[key]service.Object{}
	for _, o := range seen.Objects {
		out[key{o.Kind, o.Name}] = o
	}
	return out
}

func demolishEdge(t *testing.T, c *Cloud) {
	t.Helper()
	var wg sync.WaitGroup
	for k := range observeEdge(t, c) {
		wg.Go(func() {
			if err := c.Delete(t.Context(), owner, k.kind, k.name); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func edgeCloud(t *testing.T) *fake.Cloud {
	return fakeCloud(t, fake.Config{External: []string{"public", "other"}})
}

// TestEdgeRefusals: each error names the object, and of quotas the limit and the use.
func TestEdgeRefusals(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(*fake.Cloud)
		want  []string
	}{
		{"groups' quota", func(f *fake.Cloud) { f.SetQuota("security_group", 2) },
			[]string{`security_group "db"`, "quota security_group: limit 2, 2 in use", "openstack quota set --secgroups N PROJECT"}},
		{"rules' quota", func(f *fake.Cloud) { f.SetQuota("security_group_rule", 9) },
			[]string{`security_rules "web"`, "quota security_group_rule: limit 9, 8 in use", "--secgroup-rules N"}},
		{"keypairs' quota", func(f *fake.Cloud) { f.SetQuota("key_pairs", 0) },
			[]string{`keypair "ops"`, "quota key_pairs: limit 0, 0 in use", "--key-pairs N"}},
		{"floating IPs' quota", func(f *fake.Cloud) { f.SetQuota("floatingip", 0) },
			[]string{`floating_ip "web.net0"`, "quota floatingip: limit 0, 0 in use", "--floating-ips N"}},
		{"ports' quota", func(f *fake.Cloud) { f.SetQuota("port", 1) },
			[]string{`port "web.net0"`, "quota port: limit 1, 1 in use", "--ports N"}},
		{"a quota that is not told", func(f *fake.Cloud) {
			f.SetQuota("floatingip", 0)
			f.Fail("GET /network/v2.0/quotas", 403, -1)
		}, []string{`floating_ip "web.net0"`, "--floating-ips N"}},
		{"routers that lead nowhere", func(f *fake.Cloud) {
			f.FailWith("POST /network/v2.0/routers", 400, -1,
				`{"NeutronError": {"type": "BadRequest", "message": "Bad router request: Catena's routers have no external gateway; leave external_gateway_info out.", "detail": ""}}`)
		}, []string{`router "r"`, "no external gateway", `leave "external" and "floating_ip" out of the service file`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := edgeCloud(t)
			c := open(t, f, func(cfg *Config) { cfg.Outage = 300 * time.Millisecond })
			tt.spoil(f)
			says(t, buildEdge(t.Context(), c), tt.want)
			f.Heal()
			demolishEdge(t, c)
			empty(t, f)
		})
	}
}

// TestEdgeNames: names that the cloud does not have.
func TestEdgeNames(t *testing.T) {
	f := edgeCloud(t)
	c := open(t, f, nil)
	if err := c.CreateNetwork(t.Context(), owner, site{}.network(0)); err != nil {
		t.Fatal(err)
	}
	err := c.CreateRouter(t.Context(), owner, service.Router{Name: "r", Networks: []string{"net0"}, External: "elsewhere"})
	if want := `router "r": the cloud has no external network "elsewhere"; it has other, public`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	port, err := c.CreatePort(t.Context(), owner, site{}.port("web", 0))
	if err != nil {
		t.Fatal(err)
	}
	err = c.CreateServer(t.Context(), owner, service.ServerSpec{Name: "web", Image: "ubuntu", Flavor: "small", Key: "mine", Ports: []service.Port{port}})
	if err == nil || !strings.Contains(err.Error(), `server "web": keypair "mine"`) || !strings.Contains(err.Error(), "openstack keypair list") {
		t.Errorf("a keypair that there is none of: %v", err)
	}
	demolishEdge(t, c)
	empty(t, f)
	problems := c.Lacks(&service.Service{SecurityGroups: []service.SecurityGroup{{Name: "web"}, {Name: "default"}}})
	if len(problems) != 1 || problems[0].Path != "security_groups[1].name" {
		t.Errorf("problems: %+v", problems)
	}
}

// TestEdgeKill cuts the driver off after every one of its changes. The next one finds all
// that was made, by turns removes it or completes it, and leaves nothing.
func TestEdgeKill(t *testing.T) {
	finished := false
	for n := 0; !finished; n++ {
		if n > 60 {
			t.Fatal("it never gets to the end")
		}
		f := edgeCloud(t)
		first := open(t, f, func(cfg *Config) { cfg.Outage = time.Millisecond })
		f.Cut(n)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		finished = buildEdge(ctx, first) == nil
		cancel()
		f.Heal()
		next := open(t, f, nil)
		if n%2 == 1 {
			if err := buildEdge(t.Context(), next); err != nil {
				t.Fatalf("cut after %d changes, then completed: %v", n, err)
			}
			if made := f.Resources(); len(made) != edgeResources {
				t.Errorf("cut after %d changes, then completed: %d resources, not %d: %v", n, len(made), edgeResources, made)
			}
			for k, o := range observeEdge(t, next) {
				if o.Status != service.StatusActive {
					t.Errorf("cut after %d changes, then completed: %v is %s: %s", n, k, o.Status, o.Message)
				}
			}
		}
		if n%4 == 2 {
			if err := next.Purge(t.Context()); err != nil {
				t.Fatal(err)
			}
		} else {
			demolishEdge(t, next)
		}
		if left := f.Resources(); len(left) > 0 {
			t.Fatalf("cut after %d changes: left behind: %v", n, left)
		}
	}
}

// TestEdgeOutages: answers that are lost make nothing twice.
func TestEdgeOutages(t *testing.T) {
	for _, call := range []string{
		"POST /network/v2.0/security-groups", "POST /network/v2.0/security-group-rules", "POST /compute/v2.1/os-keypairs", "POST /network/v2.0/floatingips",
		"PUT /network/v2.0/ports", "GET /network/v2.0/security-groups", "DELETE /",
	} {
		for _, lost := range []bool{false, true} {
			f := edgeCloud(t)
			c := open(t, f, nil)
			spoil := func() {
				if lost {
					f.Lose(call, 2)
				} else {
					f.Fail(call, 500, 3)
				}
			}
			spoil()
			if err := buildEdge(t.Context(), c); err != nil {
				t.Fatalf("%s lost=%t: %v", call, lost, err)
			}
			if made := f.Resources(); len(made) != edgeResources {
				t.Errorf("%s lost=%t: %d resources, not %d: %v", call, lost, len(made), edgeResources, made)
			}
			f.Heal()
			spoil()
			demolishEdge(t, c)
			f.Heal()
			empty(t, f)
		}
	}
}

// TestEdgeDrift: what somebody else has changed is seen, and made right where it is.
func TestEdgeDrift(t *testing.T) {
	f := edgeCloud(t)
	c := open(t, f, nil)
	if err := buildEdge(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	made := observeEdge(t, c)
	group, port, ip := made[key{service.KindSecurityGroup, "web"}], made[key{service.KindPort, "web.net0"}], made[key{service.KindFloatingIP, "web.net0"}]
	api := c.session.network
	lead := func(external string) error {
		info := map[string]any{}
		if external != "" {
			id, err := c.catalog.external(t.Context(), external)
			if err != nil {
				return err
			}
			info = gatewayInfo(id)
		}
		// Neutron lets nobody do it while a floating IP needs the way.
		if err := c.lead(t.Context(), ip.ID, ""); err != nil {
			return err
		}
		return api.put(t.Context(), "routers/"+made[key{service.KindRouter, "r"}].ID, body("router", map[string]any{"external_gateway_info": info}), nil)
	}
	if !ip.Address.IsValid() {
		t.Errorf("the floating IP has no address: %+v", ip)
	}
	for _, tt := range []struct {
		name   string
		kind   service.Kind
		object string
		spoil  func() error
	}{
		{"a rule more", service.KindSecurityRules, "web", func() error {
			k := ruleKey{Direction: "ingress", EtherType: "IPv4", Protocol: 17, Min: 53, Max: 53}
			return api.post(t.Context(), "security-group-rules", body("security_group_rule", map[string]any{
				"security_group_id": group.ID, "direction": k.Direction, "protocol": "udp", "port_range_min": k.Min, "port_range_max": k.Max,
			}), nil)
		}},
		{"a rule less", service.KindSecurityRules, "web", func() error {
			inv, err := c.look(t.Context(), owner)
			if err != nil {
				return err
			}
			g, _ := inv.group("web")
			i := slices.IndexFunc(g.Rules, func(r securityRule) bool { return r.Remote != nil })
			return api.remove(t.Context(), "security-group-rules/"+g.Rules[i].ID)
		}},
		{"no groups", service.KindPort, "web.net0", func() error {
			return api.put(t.Context(), "ports/"+port.ID, body("port", map[string]any{"security_groups": []string{}}), nil)
		}},
		{"another address pair", service.KindPort, "web.net0", func() error {
			return api.put(t.Context(), "ports/"+port.ID, body("port", map[string]any{"allowed_address_pairs": []addressPair{{"10.7.0.0/24"}}}), nil)
		}},
		{"no port", service.KindFloatingIP, "web.net0", func() error { return c.lead(t.Context(), ip.ID, "") }},
		{"no gateway", service.KindRouter, "r", func() error { return lead("") }},
		{"another gateway", service.KindRouter, "r", func() error { return lead("other") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.spoil(); err != nil {
				t.Fatal(err)
			}
			for k, o := range observeEdge(t, c) {
				want := service.StatusActive
				if k == (key{tt.kind, tt.object}) || tt.kind == service.KindRouter && k.kind == service.KindFloatingIP {
					want = service.StatusChanged
				}
				if o.Status != want || want == service.StatusChanged && o.Message == "" {
					t.Errorf("%v is %s (%s), want %s", k, o.Status, o.Message, want)
				}
			}
			if err := buildEdge(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			for k, o := range observeEdge(t, c) {
				if o != made[k] {
					t.Errorf("after the repair %v is %+v, it was %+v", k, o, made[k])
				}
			}
		})
	}
	demolishEdge(t, c)
	empty(t, f)
}

// TestEdgeCostsNothing: services without any of it ask nothing about it.
func TestEdgeCostsNothing(t *testing.T) {
	f := edgeCloud(t)
	c := open(t, f, nil)
	s := site{networks: 2, servers: 2}
	if err := s.build(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	demolish(t, c)
	empty(t, f)
	for _, call := range []string{
		"GET /network/v2.0/security-groups", "GET /network/v2.0/floatingips", "GET /compute/v2.1/os-keypairs", "GET /network/v2.0/quotas", "PUT /network/v2.0/ports/",
	} {
		if n := f.Calls(call); n > 0 {
			t.Errorf("%s: %d calls", call, n)
		}
	}
}

// TestEdgeDeletedFirst: a driver that knows nothing is told to delete what floating IPs
// and ports hold.
func TestEdgeDeletedFirst(t *testing.T) {
	f := edgeCloud(t)
	if err := buildEdge(t.Context(), open(t, f, nil)); err != nil {
		t.Fatal(err)
	}
	c := open(t, f, nil)
	for _, k := range []key{
		{service.KindRouter, "r"}, {service.KindSecurityGroup, "web"}, {service.KindSecurityGroup, "db"}, {service.KindNetwork, "net0"},
		{service.KindFloatingIP, "web.net0"}, {service.KindKeyPair, "ops"}, {service.KindServer, "web"},
	} {
		if err := c.Delete(t.Context(), owner, k.kind, k.name); err != nil {
			t.Errorf("%v: %v", k, err)
		}
	}
	empty(t, f)
}

// TestKeyPairNames: marks that cannot be told from others' are nobody's.
func TestKeyPairNames(t *testing.T) {
	m := marks{"catena"}
	o := service.Owner{Project: "a-b", Service: "c"}
	if got, name, ours := m.ownerOfKeyPair(m.keyPair(o, "ops-1")); got != o || name != "ops-1" || !ours {
		t.Errorf("%v %q %t", got, name, ours)
	}
	for _, name := range []string{"mine", "catena", "catena_a", "catena_a_b", "catena_a_b_c_d", "other_a_b_c", "xcatena_a_b_c"} {
		if got, _, ours := m.ownerOfKeyPair(name); ours {
			t.Errorf("%q is taken to be %v's", name, got)
		}
	}
}

// TestNoExternal: a cloud without an external network.
func TestNoExternal(t *testing.T) {
	f := fakeCloud(t, fake.Config{})
	c := open(t, f, nil)
	says(t, buildEdge(t.Context(), c), []string{`router "r": the cloud has no external network "public", nor any other`, `leave "external" and "floating_ip" out`})
	demolishEdge(t, c)
	empty(t, f)
}

// TestFunctionsNames: what functions run on is named by the controller's environment, not
// by the service.
func TestFunctionsNames(t *testing.T) {
	f := fakeCloud(t, fake.Config{})
	for _, tt := range []struct {
		change func(*Config)
		want   []string
	}{
		{func(cfg *Config) { cfg.FunctionImage = "nope" }, []string{`function "dns": the cloud has no image "nope"; it has`, "CATENA_OPENSTACK_IMAGE names"}},
		{func(cfg *Config) { cfg.FunctionFlavor = "nope" }, []string{`function "dns": the cloud has no flavor "nope"; it has`, "CATENA_OPENSTACK_FLAVOR names"}},
	} {
		c := open(t, f, tt.change)
		says(t, c.CreateFunction(t.Context(), owner, service.FunctionSpec{Name: "dns", Kind: service.DNSKind, DNS: &service.DNSSpec{}, Ports: []service.Port{{PortSpec: site{}.port("dns", 1)}}}), tt.want)
	}
	empty(t, f)
}
