package openstack

import (
	"context"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"golang.org/x/time/rate"

	"github.com/catena-nfv/catena/internal/cloud/cloudtest"
	"github.com/catena-nfv/catena/internal/cloud/openstack/fake"
	"github.com/catena-nfv/catena/internal/keystone"
	"github.com/catena-nfv/catena/internal/orch"
	"github.com/catena-nfv/catena/internal/service"
)

var _ orch.Cloud = (*Cloud)(nil)

// fakeCloud starts an OpenStack in which guests do what their scripts say, as far as a
// look at the text tells.
func fakeCloud(t *testing.T, cfg fake.Config) *fake.Cloud {
	t.Helper()
	if cfg.BuildTime == 0 {
		cfg.BuildTime, cfg.DeleteTime = 30*time.Millisecond, 20*time.Millisecond
	}
	if cfg.Console == nil {
		cfg.Console = guestOf
	}
	f := fake.New(cfg)
	t.Cleanup(f.Close)
	return f
}

var scriptDigest = regexp.MustCompile(`(?m)^# catena-guest 1 ([0-9a-f]+)$`)

// guestOf is a guest that says that it is ready, unless its command is false.
func guestOf(_, userData string) string {
	m := scriptDigest.FindStringSubmatch(userData)
	if m == nil {
		return ""
	}
	if strings.Contains(userData, "\nonce '/bin/false'\n") {
		return "booting\r\n" + guestWord + "failed " + m[1] + ": it ended with 1\r\n"
	}
	return "booting\r\n" + guestWord + "ready " + m[1] + "\r\n"
}

func credentials(f *fake.Cloud) keystone.Cloud {
	return keystone.Cloud{
		Auth: gophercloud.AuthOptions{
			IdentityEndpoint: f.URL + "/identity/v3", Username: "demo", Password: "secret", DomainID: "default",
			Scope: &gophercloud.AuthScope{ProjectName: "demo", DomainID: "default"},
		},
		Endpoint: gophercloud.EndpointOpts{Region: "RegionOne"},
	}
}

func open(t *testing.T, f *fake.Cloud, change func(*Config)) *Cloud {
	t.Helper()
	cfg := Config{
		Cloud: credentials(f), Node: "host1", Guests: true, Outage: 2 * time.Second,
		Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&cfg)
	}
	c, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.console = console{session: c.session, first: time.Millisecond, limit: rate.NewLimiter(rate.Inf, 1)}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestConformance(t *testing.T) {
	cloudtest.Run(t, func(t *testing.T) cloudtest.Fixture {
		f := fakeCloud(t, fake.Config{PageSize: 2, External: []string{"public"}})
		current := open(t, f, nil)
		find := func(o service.Owner, kind service.Kind, name string) service.Object {
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
		return cloudtest.Fixture{
			Cloud: current,
			Restart: func() cloudtest.Cloud {
				if err := current.Close(); err != nil {
					t.Fatal(err)
				}
				current = open(t, f, nil)
				return current
			},
			Leftovers:      f.Resources,
			External:       "public",
			BadCommand:     []string{"/bin/false"},
			BadCommandSays: "it ended with 1",
			Identity: func(o service.Owner, kind service.Kind, name string) string {
				return f.Made(find(o, kind, name).ID)
			},
			Damage: func(o service.Owner, kind service.Kind, name string) { f.Destroy(find(o, kind, name).ID) },
			// What is destroyed in OpenStack is in no list any more.
			Traceless: true,
		}
	})
}
