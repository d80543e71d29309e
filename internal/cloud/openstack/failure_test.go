package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/cloud/openstack/fake"
	"github.com/catena-nfv/catena/internal/service"
)

var owner = service.Owner{Project: "p", Service: "s"}

// site is a service: networks, a router, and servers on the first network.
type site struct {
	networks, servers int
}

func (s site) network(i int) service.Network {
	return service.Network{
		Name: fmt.Sprintf("net%d", i), Subnet: netip.MustParsePrefix(fmt.Sprintf("10.7.%d.0/24", i)),
		Gateway: netip.MustParseAddr(fmt.Sprintf("10.7.%d.1", i)), MTU: 1500, DHCP: true,
	}
}

func (s site) port(device string, host int) service.PortSpec {
	name := service.PortName(device, "net0")
	return service.PortSpec{
		Name: name, Device: device, DeviceKind: service.KindServer, Network: "net0", MAC: service.MACFor(owner, name),
		IP: netip.MustParsePrefix(fmt.Sprintf("10.7.0.%d/24", 10+host)), Gateway: netip.MustParseAddr("10.7.0.1"), MTU: 1500,
	}
}

// build makes it as the orchestrator does: what can be parallel is.
func (s site) build(ctx context.Context, c *Cloud) error {
	var names []string
	for i := range s.networks {
		names = append(names, s.network(i).Name)
		if err := c.CreateNetwork(ctx, owner, s.network(i)); err != nil {
			return err
		}
	}
	errs := make([]error, s.servers+1)
	var wg sync.WaitGroup
	wg.Go(func() { errs[0] = c.CreateRouter(ctx, owner, service.Router{Name: "r", Networks: names}) })
	for i := range s.servers {
		wg.Go(func() {
			name := fmt.Sprintf("web-%d", i)
			port, err := c.CreatePort(ctx, owner, s.port(name, i))
			if err == nil {
				err = c.CreateServer(ctx, owner, service.ServerSpec{Name: name, Image: "ubuntu", Flavor: "small", Port: 80, Ports: []service.Port{port}})
			}
			errs[i+1] = err
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// demolish removes what Observe reports, and nothing else.
func demolish(t *testing.T, c *Cloud) {
	t.Helper()
	seen, err := c.Observe(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, o := range slices.Backward(seen.Objects) {
		wg.Go(func() {
			if err := c.Delete(t.Context(), owner, o.Kind, o.Name); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func empty(t *testing.T, f *fake.Cloud) {
	t.Helper()
	if left := f.Resources(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestRefusals: what the cloud does not do ends in an error that names the object and the
// way out, and leaves what Delete removes.
func TestRefusals(t *testing.T) {
	s := site{networks: 2, servers: 3}
	for _, tt := range []struct {
		name  string
		spoil func(*fake.Cloud)
		want  []string
	}{
		{"servers' quota", func(f *fake.Cloud) { f.SetQuota("instances", 2) },
			[]string{`server "web-`, "Quota exceeded for instances: Requested 1, but already used 2 of 2 instances", "openstack quota set --instances N PROJECT"}},
		{"ports' quota", func(f *fake.Cloud) { f.SetQuota("port", 1) },
			[]string{`port "web-`, "Quota exceeded", "openstack quota set --ports N PROJECT"}},
		{"networks' quota", func(f *fake.Cloud) { f.SetQuota("network", 1) },
			[]string{`network "net1"`, "--networks N"}},
		{"a quota of an old Nova", func(f *fake.Cloud) {
			f.FailWith("POST /compute/v2.1/servers", 413, -1, `{"overLimit": {"code": 413, "message": "Quota exceeded for ram"}}`)
		}, []string{`server "web-`, "--ram N"}},
		{"no host", func(f *fake.Cloud) {
			f.Break("web-1", "No valid host was found. There are not enough hosts available.")
		},
			[]string{`server "web-1"`, "it is in ERROR: No valid host was found", "choose a smaller one or add a host"}},
		{"servers' quota, found while it is built", func(f *fake.Cloud) {
			f.Break("web-1", "Quota exceeded for instances: Requested 1, but already used 2 of 2 instances")
		}, []string{`server "web-1"`, "it is in ERROR: Quota exceeded for instances", "openstack quota set --instances N PROJECT"}},
		{"no role", func(f *fake.Cloud) {
			f.FailWith("POST /network/v2.0/routers", 403, -1, `{"NeutronError": {"type": "PolicyNotAuthorized", "message": "(rule:create_router) is disallowed by policy", "detail": ""}}`)
		}, []string{`router "r"`, "disallowed by policy", "lacks a role"}},
		{"a flavor without a disk", func(f *fake.Cloud) {
			f.FailWith("POST /compute/v2.1/servers", 403, -1, `{"forbidden": {"code": 403, "message": "Only volume-backed servers are allowed for flavors with zero disk."}}`)
		}, []string{`server "web-`, "zero disk", "choose a flavor with a disk"}},
		{"a network service that stays down", func(f *fake.Cloud) { f.Fail("POST /network/v2.0/ports", 503, -1) },
			[]string{`port "web-`, "the network service fails (503", "given up after"}},
		{"HTML from a proxy", func(f *fake.Cloud) {
			f.FailWith("POST /network/v2.0/networks", 400, -1, "<html><head><title>x</title></head><body><h1>Bad</h1> request</body></html>")
		}, []string{`network "net0": the network service refuses it (400): Bad request`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fakeCloud(t, fake.Config{})
			c := open(t, f, func(cfg *Config) { cfg.Outage = 300 * time.Millisecond })
			tt.spoil(f)
			says(t, s.build(t.Context(), c), tt.want)
			f.Heal()
			demolish(t, c)
			empty(t, f)
		})
	}
}

// says fails unless an error has all parts.
func says(t *testing.T, err error, parts []string) {
	t.Helper()
	if err == nil {
		t.Fatal("it was built")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error does not say %q:\n%v", part, err)
		}
	}
}

// TestOutages: services that fail for a while, and answers that are lost, are only a
// delay. Nothing is made twice.
func TestOutages(t *testing.T) {
	s := site{networks: 2, servers: 4}
	for _, call := range []string{
		"POST /network/v2.0/networks", "POST /network/v2.0/subnets", "POST /network/v2.0/ports", "POST /network/v2.0/routers",
		"PUT /network/v2.0/routers/", "POST /compute/v2.1/servers", "GET /compute/v2.1/servers/detail", "GET /network/v2.0/", "DELETE /",
	} {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s lost=%t", call, lost), func(t *testing.T) {
				f := fakeCloud(t, fake.Config{})
				c := open(t, f, nil)
				spoil := func() {
					if lost {
						f.Lose(call, 2)
					} else {
						f.Fail(call, 500, 3)
					}
				}
				spoil()
				if err := s.build(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				seen, err := c.Observe(t.Context(), owner)
				if err != nil {
					t.Fatal(err)
				}
				for _, o := range seen.Objects {
					if o.Status != service.StatusActive {
						t.Errorf("%s %q is %s: %s", o.Kind, o.Name, o.Status, o.Message)
					}
				}
				// 2 networks, 2 subnets, a router, 2 + 4 ports, 4 servers.
				if made := f.Resources(); len(made) != 15 {
					t.Errorf("%d resources were made, not 15: %v", len(made), made)
				}
				f.Heal()
				spoil()
				demolish(t, c)
				f.Heal()
				empty(t, f)
			})
		}
	}
}

// TestKill cuts the driver off after every one of its changes. The next one finds all that
// was made, by turns removes it or completes it, and leaves nothing.
func TestKill(t *testing.T) {
	s := site{networks: 2, servers: 2}
	finished := false
	for n := 0; !finished; n++ {
		if n > 100 {
			t.Fatal("it never gets to the end")
		}
		f := fakeCloud(t, fake.Config{})
		first := open(t, f, func(cfg *Config) { cfg.Outage = time.Millisecond })
		f.Cut(n)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		finished = s.build(ctx, first) == nil
		cancel()
		f.Heal()
		next := open(t, f, nil)
		if n%2 == 1 {
			if err := s.build(t.Context(), next); err != nil {
				t.Fatalf("cut after %d changes, then completed: %v", n, err)
			}
			if made := f.Resources(); len(made) != 11 {
				t.Errorf("cut after %d changes, then completed: %d resources, not 11: %v", n, len(made), made)
			}
		}
		if n%4 == 2 {
			if err := next.Purge(t.Context()); err != nil {
				t.Fatal(err)
			}
		} else {
			demolish(t, next)
		}
		if left := f.Resources(); len(left) > 0 {
			t.Fatalf("cut after %d changes: left behind: %v", n, left)
		}
	}
}

// TestEconomy counts requests: ports go together, and however many servers are waited
// for, they are listed, not asked for one by one.
func TestEconomy(t *testing.T) {
	f := fakeCloud(t, fake.Config{BuildTime: 500 * time.Millisecond})
	c := open(t, f, func(cfg *Config) { cfg.Guests = false })
	s := site{networks: 1, servers: 40}
	if err := s.build(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		call string
		most int
	}{
		{"POST /identity/v3/auth/tokens", 1}, {"POST /network/v2.0/ports", 4}, {"POST /compute/v2.1/servers", 40},
		{"GET /compute/v2.1/servers/detail", 20}, {"GET /compute/v2.1/servers/", 20}, {"GET /image/", 1}, {"GET /compute/v2.1/flavors", 1},
	} {
		if n := f.Calls(tt.call); n > tt.most {
			t.Errorf("%s: %d calls, more than %d", tt.call, n, tt.most)
		}
	}
	lists := f.Calls("GET /network/v2.0/networks")
	demolish(t, c)
	empty(t, f)
	if n := f.Calls("GET /network/v2.0/networks") - lists; n > 4 {
		t.Errorf("the networks were listed %d times to delete a service", n)
	}
}

// TestTokenExpires: a new token is got in the middle.
func TestTokenExpires(t *testing.T) {
	f := fakeCloud(t, fake.Config{})
	c := open(t, f, nil)
	s := site{networks: 1, servers: 3}
	f.ExpireTokens()
	if err := s.build(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	f.ExpireTokens()
	demolish(t, c)
	empty(t, f)
	if n := f.Calls("POST /identity/v3/auth/tokens"); n > 3 {
		t.Errorf("%d tokens were asked for", n)
	}
}

// TestBlame: one bad port of a bulk request does not spoil the others.
func TestBlame(t *testing.T) {
	f := fakeCloud(t, fake.Config{})
	c := open(t, f, nil)
	s := site{networks: 1}
	if err := c.CreateNetwork(t.Context(), owner, s.network(0)); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		wg.Go(func() {
			spec := s.port(fmt.Sprintf("web-%d", i), i)
			if i == 3 {
				spec.IP = netip.MustParsePrefix("10.8.0.1/24")
			}
			_, errs[i] = c.CreatePort(t.Context(), owner, spec)
		})
	}
	wg.Wait()
	for i, err := range errs {
		if (err != nil) != (i == 3) {
			t.Errorf("port %d: %v", i, err)
		}
	}
	if err := errs[3]; err == nil || !strings.Contains(err.Error(), `port "web-3.net0"`) || !strings.Contains(err.Error(), "not a valid IP") {
		t.Errorf("the bad port: %v", err)
	}
	demolish(t, c)
	empty(t, f)
}

// TestLimits: what the cloud has in another size or not at all.
func TestLimits(t *testing.T) {
	f := fakeCloud(t, fake.Config{MaxMTU: 1450})
	c := open(t, f, nil)
	s := site{networks: 1, servers: 1}
	for range 2 { // the second time with what there is
		if err := s.build(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		seen, err := c.Observe(t.Context(), owner)
		if err != nil || len(seen.Ports) != 1 || seen.Ports[0].MTU != 1450 {
			t.Errorf("ports %+v, %v", seen.Ports, err)
		}
	}
	port, err := c.CreatePort(t.Context(), owner, s.port("db", 9))
	if err != nil {
		t.Fatal(err)
	}
	for what, spec := range map[string]service.ServerSpec{
		`no image "windows"; it has catena, ubuntu`: {Name: "db", Image: "windows", Flavor: "small", Ports: []service.Port{port}},
		`no flavor "huge"; it has small`:            {Name: "db", Image: "ubuntu", Flavor: "huge", Ports: []service.Port{port}},
		"does not fit into user data":               {Name: "db", Image: "ubuntu", Flavor: "small", Command: []string{strings.Repeat("x", 50000)}, Ports: []service.Port{port}},
	} {
		if err := c.CreateServer(t.Context(), owner, spec); err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), `server "db"`) {
			t.Errorf("%v, want %s", err, what)
		}
	}
	demolish(t, c)
	empty(t, f)
}

// TestSecurityGroup: ports of servers get the group by its name.
func TestSecurityGroup(t *testing.T) {
	f := fakeCloud(t, fake.Config{})
	c := open(t, f, func(cfg *Config) { cfg.SecurityGroup = "web" })
	if err := c.CreateNetwork(t.Context(), owner, site{}.network(0)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreatePort(t.Context(), owner, site{}.port("a", 1)); err == nil || !strings.Contains(err.Error(), `port "a.net0": the cloud has no security group "web"`) {
		t.Errorf("a group that there is none of: %v", err)
	}
	var made struct {
		Group struct{ ID string } `json:"security_group"`
	}
	if err := c.session.network.post(t.Context(), "security-groups", body("security_group", map[string]any{"name": "web"}), &made); err != nil {
		t.Fatal(err)
	}
	p, err := c.CreatePort(t.Context(), owner, site{}.port("a", 1))
	if err != nil {
		t.Fatal(err)
	}
	var seen struct {
		Port struct {
			Groups  []string `json:"security_groups"`
			Secured bool     `json:"port_security_enabled"`
		}
	}
	if err := c.session.network.get(t.Context(), "ports/"+p.ID, &seen); err != nil || !slices.Equal(seen.Port.Groups, []string{made.Group.ID}) || !seen.Port.Secured {
		t.Errorf("the port has %+v, %v", seen.Port, err)
	}
	fn := site{}.port("f", 2)
	fn.DeviceKind = service.KindFunction
	if p, err = c.CreatePort(t.Context(), owner, fn); err != nil {
		t.Fatal(err)
	}
	if err := c.session.network.get(t.Context(), "ports/"+p.ID, &seen); err != nil || len(seen.Port.Groups) > 0 || seen.Port.Secured {
		t.Errorf("the function's port has %+v, %v", seen.Port, err)
	}
}

// TestStopped: a server that somebody stopped is reported, and started again.
func TestStopped(t *testing.T) {
	f := fakeCloud(t, fake.Config{})
	c := open(t, f, nil)
	s := site{networks: 1, servers: 1}
	if err := s.build(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	state := func() service.Object {
		seen, err := c.Observe(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		return seen.Objects[slices.IndexFunc(seen.Objects, func(o service.Object) bool { return o.Kind == service.KindServer })]
	}
	id := state().ID
	if err := c.session.compute.post(t.Context(), "servers/"+id+"/action", map[string]any{"os-stop": nil}, nil); err != nil {
		t.Fatal(err)
	}
	if o := state(); o.Status != service.StatusError || o.Message != "it is SHUTOFF" {
		t.Errorf("a stopped server is %s: %s", o.Status, o.Message)
	}
	if err := s.build(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if o := state(); o.Status != service.StatusActive || o.ID != id {
		t.Errorf("after the repair it is %s, %s instead of %s", o.Status, o.ID, id)
	}
	demolish(t, c)
	empty(t, f)
}

// TestUnreachable: no cloud, and credentials that it refuses.
func TestUnreachable(t *testing.T) {
	f := fakeCloud(t, fake.Config{})
	cfg := Config{Cloud: credentials(f)}
	cfg.Cloud.Auth.Password = ""
	if _, err := New(t.Context(), cfg); err == nil {
		t.Error("a login without a password")
	}
	cfg = Config{Cloud: credentials(f), Instance: "two words"}
	if _, err := New(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "two words") {
		t.Errorf("a controller's name with a space: %v", err)
	}
	f.Close()
	cfg = Config{Cloud: credentials(f)}
	if _, err := New(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), f.URL) {
		t.Errorf("no cloud: %v", err)
	}
}
