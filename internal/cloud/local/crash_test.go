package local

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/service"
)

// victim creates a service over and over until it is killed.
func victim(stateDir, netnsDir string) {
	c, err := New(Config{StateDir: stateDir, NetnsDir: netnsDir, Prefix: "cttl"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for {
		if err := buildAll(c); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := removeAll(c); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// buildAll makes one of everything at once.
func buildAll(c *Cloud) error {
	ctx := context.Background()
	steps := []func() error{
		func() error {
			return c.CreateNetwork(ctx, one, service.Network{Name: "net", Subnet: netip.MustParsePrefix("10.62.0.0/24")})
		},
		func() error {
			ports, err := plug(ctx, c, "web", service.KindServer, 11)
			if err != nil {
				return err
			}
			return c.CreateServer(ctx, one, service.ServerSpec{Name: "web", Port: 80, Ports: ports})
		},
		func() error {
			ports, err := plug(ctx, c, "lb", service.KindFunction, 20)
			if err != nil {
				return err
			}
			return c.CreateFunction(ctx, one, service.FunctionSpec{Name: "lb", Kind: service.LoadBalancerKind, Ports: ports,
				LoadBalancer: &service.LoadBalancerSpec{Port: 80, Members: []service.Endpoint{endpoint("web", 11, 80)}}})
		},
		func() error {
			ports, err := plug(ctx, c, "fw", service.KindFunction, 21)
			if err != nil {
				return err
			}
			return c.CreateFunction(ctx, one, service.FunctionSpec{Name: "fw", Kind: service.FirewallKind, Ports: ports,
				Firewall: &service.FirewallSpec{Policy: "drop"}})
		},
		func() error {
			ports, err := plug(ctx, c, "ns", service.KindFunction, 22)
			if err != nil {
				return err
			}
			return c.CreateFunction(ctx, one, service.FunctionSpec{Name: "ns", Kind: service.DNSKind, Ports: ports,
				DNS: &service.DNSSpec{Zone: "x.internal", Records: []service.Record{{Name: "web", IP: address(11)}}}})
		},
	}
	errs := make([]error, len(steps))
	var wg sync.WaitGroup
	for i, step := range steps {
		wg.Go(func() { errs[i] = step() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// removeAll deletes what Observe reports, and nothing else.
func removeAll(c *Cloud) error {
	ctx := context.Background()
	seen, err := c.Observe(ctx, one)
	if err != nil {
		return err
	}
	errs := make([]error, len(seen.Objects))
	var wg sync.WaitGroup
	for i, o := range seen.Objects {
		wg.Go(func() { errs[i] = c.Delete(ctx, one, o.Kind, o.Name) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// TestKill kills a driver at many points of its work with SIGKILL. The next one
// must find what is there: by turns it removes it all, completes it, or purges it.
func TestKill(t *testing.T) {
	cfg := testConfig(t)
	c := open(t, cfg)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for round := range 12 {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self, "__victim", cfg.StateDir, cfg.NetnsDir)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// From before the first object to after the first deletion.
		time.Sleep(time.Duration(20+round*31) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		next, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		*c = Cloud{cfg: next.cfg, names: next.names, netns: next.netns, records: next.records, lock: next.lock}
		seen, err := c.Observe(context.Background(), one)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("round %d: killed with %d objects", round, len(seen.Objects))
		switch round % 3 {
		case 0:
			err = removeAll(c)
		case 1:
			if err = buildAll(c); err == nil {
				if seen, err = c.Observe(context.Background(), one); len(seen.Objects) != 1+4+4 {
					t.Errorf("round %d: %d objects after completion", round, len(seen.Objects))
				}
				for _, o := range seen.Objects {
					if o.Status != service.StatusActive {
						t.Errorf("round %d: %s %q is %s: %s", round, o.Kind, o.Name, o.Status, o.Message)
					}
				}
				err = errors.Join(err, removeAll(c))
			}
		case 2:
			err = c.Purge(context.Background())
		}
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if left := leftovers(t, c); len(left) > 0 {
			t.Fatalf("round %d: left behind: %v", round, left)
		}
	}
}

// TestUnreadableRecord breaks the records of objects: they are reported as broken,
// and can be made again and deleted.
func TestUnreadableRecord(t *testing.T) {
	c := open(t, testConfig(t))
	ctx := context.Background()
	for _, o := range []struct {
		kind service.Kind
		name string
	}{
		{service.KindServer, "web"}, {service.KindFunction, "lb"}, {service.KindPort, "web.net"}, {service.KindNetwork, "net"},
	} {
		for _, again := range []bool{true, false} {
			if err := buildAll(c); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(c.records.file(one, o.kind, o.name), []byte("{\"Owner"), 0o600); err != nil {
				t.Fatal(err)
			}
			if owners, err := c.Owners(ctx); err != nil || len(owners) != 1 || owners[0] != one {
				t.Errorf("owners %v, %v", owners, err)
			}
			seen, err := c.Observe(ctx, one)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range seen.Objects {
				broken := s.Kind == o.kind && s.Name == o.name
				if broken != (s.Status == service.StatusError) {
					t.Errorf("%s %q is broken; %s %q is %s: %s", o.kind, o.name, s.Kind, s.Name, s.Status, s.Message)
				}
			}
			if again {
				if err := buildAll(c); err != nil {
					t.Fatal(err)
				}
				if seen, err = c.Observe(ctx, one); err != nil {
					t.Fatal(err)
				}
				for _, s := range seen.Objects {
					if s.Status != service.StatusActive {
						t.Errorf("made again, %s %q is %s: %s", s.Kind, s.Name, s.Status, s.Message)
					}
				}
			}
			if err := removeAll(c); err != nil {
				t.Fatal(err)
			}
			if left := leftovers(t, c); len(left) > 0 {
				t.Fatalf("%s %q was broken; left behind: %v", o.kind, o.name, left)
			}
		}
	}
}

func TestStateDirectoryIsExclusive(t *testing.T) {
	cfg := testConfig(t)
	open(t, cfg)
	if _, err := New(cfg); !errors.Is(err, ErrBusy) {
		t.Errorf("second driver: %v, want ErrBusy", err)
	}
}
