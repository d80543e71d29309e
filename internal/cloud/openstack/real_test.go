package openstack

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/cloud/cloudtest"
	"github.com/catena-nfv/catena/internal/keystone"
	"github.com/catena-nfv/catena/internal/service"
)

// realConfig is for the cloud that OS_CLOUD or the other OS_ variables name, if
// CATENA_TEST_OPENSTACK asks for it: "fake" for a host with Nova's fake driver (zone
// "fake"), "guests" for one on which servers run.
func realConfig(t *testing.T) Config {
	t.Helper()
	mode := os.Getenv("CATENA_TEST_OPENSTACK")
	if mode == "" {
		t.Skip("CATENA_TEST_OPENSTACK is not set: no cloud to test with")
	}
	cloud, err := keystone.Credentials("")
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Cloud: cloud, Instance: fmt.Sprintf("catena-test-%d", os.Getpid()),
		Notifications: os.Getenv("CATENA_OPENSTACK_NOTIFICATIONS"), Trace: &Trace{},
	}
	switch mode {
	case "fake":
		cfg.Zone, cfg.Node = "fake", "fake1"
	case "guests":
		cfg.Guests = true
	default:
		t.Fatalf("CATENA_TEST_OPENSTACK=%s: use fake or guests", mode)
	}
	return cfg
}

// openReal logs in to the real cloud, and removes at the end what a test has left.
func openReal(t *testing.T, cfg Config) *Cloud {
	t.Helper()
	c, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Purge(context.Background()); err != nil {
			t.Error(err)
		}
		c.Close()
	})
	return c
}

// TestConformanceReal runs the suite of all clouds against a real OpenStack.
func TestConformanceReal(t *testing.T) {
	cfg := realConfig(t)
	cloudtest.Run(t, func(t *testing.T) cloudtest.Fixture {
		current := openReal(t, cfg)
		before := snapshot(t, current)
		begun := time.Now()
		t.Cleanup(func() {
			var table strings.Builder
			_ = cfg.Trace.Print(&table)
			cfg.Trace.Reset()
			t.Logf("%s, %s", time.Since(begun).Round(time.Millisecond), table.String())
		})
		object := func(o service.Owner, kind service.Kind, name string) service.Object {
			seen, err := current.Observe(context.Background(), o, service.KindSecurityGroup, service.KindKeyPair, service.KindFloatingIP)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(seen.Objects, func(x service.Object) bool { return x.Kind == kind && x.Name == name })
			if i < 0 {
				t.Fatalf("%s %q is not observed", kind, name)
			}
			return seen.Objects[i]
		}
		f := cloudtest.Fixture{
			Cloud: current,
			Restart: func() cloudtest.Cloud {
				if err := current.Close(); err != nil {
					t.Fatal(err)
				}
				current = openReal(t, cfg)
				return current
			},
			External:  os.Getenv("CATENA_TEST_OPENSTACK_EXTERNAL"),
			Leftovers: func() []string { return before.Diff(snapshot(t, current)) },
			Identity: func(o service.Owner, kind service.Kind, name string) string {
				return object(o, kind, name).ID
			},
			Damage: func(o service.Owner, kind service.Kind, name string) {
				ctx := context.Background()
				id := object(o, kind, name).ID
				var err error
				if kind == service.KindPort {
					err = current.session.network.remove(ctx, "ports/"+id)
				} else {
					err = current.removeServer(ctx, id)
				}
				if err != nil {
					t.Fatal(err)
				}
			},
			Traceless: true,
			Patience:  4 * time.Minute,
		}
		if cfg.Guests {
			f.BadCommand, f.BadCommandSays = []string{"/bin/sh", "-c", "echo cannot go on >&2; exit 3"}, "cannot go on"
		}
		return f
	})
}

// snapshot is what the project has of this test's resources.
func snapshot(t *testing.T, c *Cloud) Snapshot {
	t.Helper()
	s, err := c.session.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return s.Only(c.cfg.Instance)
}

// TestEdgeReal makes security groups, a key and, with the external network that
// CATENA_TEST_OPENSTACK_EXTERNAL names, a floating IP; has others change them; and repairs
// and removes them.
func TestEdgeReal(t *testing.T) {
	cfg := realConfig(t)
	c := openReal(t, cfg)
	before := snapshot(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	external := os.Getenv("CATENA_TEST_OPENSTACK_EXTERNAL")
	if external == "" {
		t.Log("no floating IPs: CATENA_TEST_OPENSTACK_EXTERNAL names no external network")
	}
	if err := buildEdgeOf(ctx, c, external); err != nil {
		t.Fatal(err)
	}
	made := observeEdge(t, c)
	for k, o := range made {
		t.Logf("%v %s %s %v", k, o.ID, o.Status, o.Address)
		if o.Status != service.StatusActive {
			t.Errorf("%v is %s: %s", k, o.Status, o.Message)
		}
	}
	api := c.session.network
	inv, err := c.look(ctx, owner)
	if err != nil {
		t.Fatal(err)
	}
	g, _ := inv.group("web")
	if err := api.remove(ctx, "security-group-rules/"+g.Rules[0].ID); err != nil {
		t.Fatal(err)
	}
	port := made[key{service.KindPort, "web.net0"}].ID
	if err := api.put(ctx, "ports/"+port, body("port", map[string]any{"security_groups": []string{}, "allowed_address_pairs": []addressPair{}}), nil); err != nil {
		t.Fatal(err)
	}
	for k, o := range observeEdge(t, c) {
		spoiled := k == (key{service.KindSecurityRules, "web"}) || k == (key{service.KindPort, "web.net0"})
		if spoiled != (o.Status == service.StatusChanged) {
			t.Errorf("%v is %s: %s", k, o.Status, o.Message)
		}
	}
	if err := buildEdgeOf(ctx, c, external); err != nil {
		t.Fatal(err)
	}
	for k, o := range observeEdge(t, c) {
		if o != made[k] {
			t.Errorf("after the repair %v is %+v, it was %+v", k, o, made[k])
		}
	}
	for want, e := range map[string]*APIError{
		"quota security_group: limit ": {Service: "network", Message: "Quota exceeded for resources: ['security_group']."},
		"quota floatingip: limit ":     {Service: "network", Message: "Quota exceeded for resources: ['floatingip']."},
		"quota key_pairs: limit ":      {Service: "compute", Message: "Quota exceeded, too many key pairs."},
	} {
		if text := c.session.quotaUse(ctx, e); !strings.HasPrefix(text, want) {
			t.Errorf("%s: %q", e.Message, text)
		}
	}
	demolishEdge(t, c)
	if left := before.Diff(snapshot(t, c)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestGuestReal boots one server and one function, with what their scripts say on the
// console: ready, failed, and ready again with another configuration.
func TestGuestReal(t *testing.T) {
	cfg := realConfig(t)
	if !cfg.Guests {
		t.Skip("CATENA_TEST_OPENSTACK is not \"guests\": nothing boots")
	}
	c := openReal(t, cfg)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	s := site{networks: 1}
	if err := c.CreateNetwork(ctx, owner, s.network(0)); err != nil {
		t.Fatal(err)
	}
	plug := func(device string, kind service.Kind, host int) []service.Port {
		spec := s.port(device, host)
		spec.DeviceKind, spec.Gateway = kind, netip.Addr{}
		p, err := c.CreatePort(ctx, owner, spec)
		if err != nil {
			t.Fatal(err)
		}
		return []service.Port{p}
	}
	web := service.ServerSpec{Name: "web", Image: "ubuntu", Flavor: "small", Port: 80, Ports: plug("web", service.KindServer, 1)}
	lb := service.FunctionSpec{Name: "lb", Kind: service.LoadBalancerKind, Ports: plug("lb", service.KindFunction, 2),
		LoadBalancer: &service.LoadBalancerSpec{Port: 80, Members: []service.Endpoint{{Name: "web", Addr: netip.MustParseAddrPort("10.7.0.11:80")}}}}
	step := func(what string, do func() error) error {
		begun := time.Now()
		err := do()
		t.Logf("%s: %s, %v", what, time.Since(begun).Round(100*time.Millisecond), err)
		return err
	}
	if err := step("server", func() error { return c.CreateServer(ctx, owner, web) }); err != nil {
		t.Fatal(err)
	}
	if err := step("function", func() error { return c.CreateFunction(ctx, owner, lb) }); err != nil {
		t.Fatal(err)
	}
	lb.LoadBalancer.Port = 8080
	if err := step("function with another configuration", func() error { return c.CreateFunction(ctx, owner, lb) }); err != nil {
		t.Fatal(err)
	}
	web.Command = []string{"sh", "-c", "echo cannot go on >&2; exit 3"}
	err := step("server with a bad command", func() error { return c.CreateServer(ctx, owner, web) })
	if err == nil || !strings.Contains(err.Error(), `server "web"`) || !strings.Contains(err.Error(), "cannot go on") {
		t.Errorf("a bad command: %v", err)
	}
	seen, err := c.Observe(ctx, owner)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range seen.Objects {
		if bad := o.Name == "web"; bad != (o.Status == service.StatusError) {
			t.Errorf("%s %q is %s (%s)", o.Kind, o.Name, o.Status, o.Message)
		}
	}
}
