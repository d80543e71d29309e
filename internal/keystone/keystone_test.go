package keystone_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/catena-nfv/catena/internal/keystone"
	"github.com/catena-nfv/catena/internal/keystone/keystonetest"
)

func fake(t *testing.T) (*keystonetest.Keystone, string) {
	t.Helper()
	k := keystonetest.New()
	s := httptest.NewServer(k)
	t.Cleanup(s.Close)
	k.AddUser("root", "root-secret", "admin", "admin", "reader")
	k.AddUser("alice", "alice-secret", "shop", "member")
	k.AddService("compute", "http://nova.example/v2.1")
	return k, s.URL
}

// clock is set by hand.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.t }
func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func verifier(t *testing.T, cfg keystone.Config) *keystone.Verifier {
	t.Helper()
	v, err := keystone.NewVerifier(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVerify(t *testing.T) {
	k, url := fake(t)
	v := verifier(t, keystone.Config{URL: url})
	got, err := v.Verify(t.Context(), k.Issue("alice", "shop"))
	if err != nil {
		t.Fatal(err)
	}
	if got.User.Name != "alice" || got.Project.Name != "shop" || got.Project.Domain.ID != "default" || got.Admin() || fmt.Sprint(got.Roles) != "[member]" {
		t.Errorf("token %+v", got)
	}
	if got, err := v.Verify(t.Context(), k.Issue("root", "admin")); err != nil || !got.Admin() {
		t.Errorf("admin: %+v, %v", got, err)
	}
	// What the token is good for: clients of the catalog's services, without a request.
	before := k.Requests()
	compute, err := openstack.NewComputeV2(got.Provider(nil), gophercloud.EndpointOpts{})
	if err != nil || compute.Endpoint != "http://nova.example/v2.1/" || compute.Token() != got.ID || k.Requests() != before {
		t.Errorf("compute at %q with %q, %v", compute.Endpoint, compute.Token(), err)
	}
	if _, err := openstack.NewNetworkV2(got.Provider(nil), gophercloud.EndpointOpts{}); err == nil || !strings.Contains(err.Error(), "no public endpoint for network") {
		t.Errorf("a service that is not in the catalog: %v", err)
	}
	for token, want := range map[string]error{"nonsense": keystone.ErrInvalid, k.Issue("alice", ""): keystone.ErrUnscoped} {
		if _, err := v.Verify(t.Context(), token); !errors.Is(err, want) {
			t.Errorf("token %q: %v, want %v", token, err, want)
		}
	}
}

func TestVerifyRemembers(t *testing.T) {
	k, url := fake(t)
	c := &clock{t: time.Now()}
	v := verifier(t, keystone.Config{URL: url, MaxAge: time.Minute, Now: c.now})
	token := k.Issue("alice", "shop")
	verify := func(want error, asks bool) {
		t.Helper()
		before := k.Requests()
		if _, err := v.Verify(t.Context(), token); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		if asked := k.Requests() > before; asked != asks {
			t.Errorf("asked: %v, want %v", asked, asks)
		}
	}
	verify(nil, true)
	verify(nil, false)
	c.add(61 * time.Second)
	verify(nil, true)
	k.Revoke(token)
	c.add(59 * time.Second)
	verify(nil, false)
	c.add(2 * time.Second)
	verify(keystone.ErrInvalid, true)

	// No answer outlives its token.
	k.SetLife(30 * time.Second)
	c.t = time.Now()
	token = k.Issue("alice", "shop")
	verify(nil, true)
	c.add(31 * time.Second)
	verify(keystone.ErrInvalid, true)

	// Trouble of the identity service is not remembered.
	c.t = time.Now()
	token = k.Issue("alice", "shop")
	k.Break(1)
	if _, err := v.Verify(t.Context(), token); err == nil || errors.Is(err, keystone.ErrInvalid) || !strings.Contains(err.Error(), url) {
		t.Errorf("broken: %v", err)
	}
	verify(nil, true)
}

func TestVerifyIsBounded(t *testing.T) {
	k, url := fake(t)
	v := verifier(t, keystone.Config{URL: url, MaxTokens: 8})
	often := k.Issue("alice", "shop")
	for range 40 {
		for _, token := range []string{k.Issue("alice", "shop"), often} {
			if _, err := v.Verify(t.Context(), token); err != nil {
				t.Fatal(err)
			}
		}
		if n := v.Len(); n > 8 {
			t.Fatalf("%d answers are kept, at most 8 are asked for", n)
		}
	}
	before := k.Requests()
	if _, err := v.Verify(t.Context(), often); err != nil || k.Requests() != before {
		t.Errorf("the token that is used most was forgotten (%v)", err)
	}
}

func TestVerifyAtTheSameTime(t *testing.T) {
	k, url := fake(t)
	v := verifier(t, keystone.Config{URL: url})
	token := k.Issue("alice", "shop")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			ctx := t.Context()
			if i%4 == 0 {
				ctx = gone // whoever goes away takes nobody with him
			}
			if _, err := v.Verify(ctx, token); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := k.Requests(); n > 2 {
		t.Errorf("%d questions for one token", n)
	}
}

func TestAuthenticate(t *testing.T) {
	k, url := fake(t)
	v := verifier(t, keystone.Config{URL: url + "/v3/"})
	auth := tokens.AuthOptions{Username: "alice", Password: "alice-secret", DomainID: "default", Scope: tokens.Scope{ProjectName: "shop", DomainID: "default"}}
	got, err := v.Authenticate(t.Context(), &auth)
	if err != nil || got.Project.Name != "shop" || got.ID == "" {
		t.Fatalf("%+v, %v", got, err)
	}
	before := k.Requests()
	if _, err := v.Verify(t.Context(), got.ID); err != nil || k.Requests() != before {
		t.Errorf("a token that was just given out: %v", err)
	}
	auth.Password = "wrong"
	if _, err := v.Authenticate(t.Context(), &auth); !errors.Is(err, keystone.ErrInvalid) {
		t.Errorf("wrong password: %v", err)
	}
}

// noCloud takes what the tester's environment says away.
func noCloud(t *testing.T) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "OS_") {
			t.Setenv(name, "")
		}
	}
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
}

func TestLogin(t *testing.T) {
	k, url := fake(t)
	id, secret := k.AddCredential("alice", "shop")
	password := map[string]string{"OS_AUTH_URL": url, "OS_USERNAME": "alice", "OS_PASSWORD": "alice-secret", "OS_PROJECT_NAME": "shop"}
	for name, env := range map[string]map[string]string{
		"openrc": {"OS_AUTH_URL": url + "/v3", "OS_USERNAME": "alice", "OS_PASSWORD": "alice-secret", "OS_PROJECT_NAME": "shop",
			"OS_USER_DOMAIN_NAME": "Default", "OS_PROJECT_DOMAIN_NAME": "Default"},
		"no domains":             password,
		"application credential": {"OS_AUTH_URL": url, "OS_APPLICATION_CREDENTIAL_ID": id, "OS_APPLICATION_CREDENTIAL_SECRET": secret},
		"token":                  {"OS_AUTH_URL": url, "OS_TOKEN": k.Issue("alice", "shop")},
		"clouds.yaml":            {"OS_CLOUD": "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			noCloud(t)
			for v, value := range env {
				t.Setenv(v, value)
			}
			text := fmt.Sprintf("clouds:\n  mine:\n    auth: {auth_url: %q, username: alice, password: alice-secret, project_name: shop, user_domain_id: default, project_domain_id: default}\n", url)
			if err := os.WriteFile("clouds.yaml", []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := keystone.Credentials("")
			if err != nil {
				t.Fatal(err)
			}
			p, err := c.Login(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if g, ok := k.Lookup(p.Token()); !ok || g.User != "alice" || g.Project != "shop" {
				t.Errorf("token of %+v", g)
			}
			if sc, err := openstack.NewComputeV2(p, c.Endpoint); err != nil || sc.Endpoint != "http://nova.example/v2.1/" {
				t.Errorf("compute: %v, %v", sc, err)
			}
		})
	}
	t.Run("wrong", func(t *testing.T) {
		for what, change := range map[string][3]string{
			"no cloud is named":                   {"OS_AUTH_URL", ""},
			"check name, password":                {"OS_PASSWORD", "wrong"},
			"does not answer":                     {"OS_AUTH_URL", "http://127.0.0.1:1/v3"},
			"OS_PROJECT_NAME is not set":          {"OS_PROJECT_NAME", ""},
			"there is no OS_USERNAME":             {"OS_USERNAME", ""},
			"OS_CACERT":                           {"OS_CACERT", filepath.Join(t.TempDir(), "none")},
			"OS_APPLICATION_CREDENTIAL_SECRET is": {"OS_APPLICATION_CREDENTIAL_ID", "x"},
			"OS_CLIENT_CONFIG_FILE names":         {"OS_CLOUD", "nowhere"},
		} {
			noCloud(t)
			for v, value := range password {
				t.Setenv(v, value)
			}
			t.Setenv(change[0], change[1])
			c, err := keystone.Credentials("")
			if err == nil {
				_, err = c.Login(t.Context(), nil)
			}
			if err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("%s: %v", what, err)
			}
			t.Setenv(change[0], "")
		}
	})
}

// TestLoginSays: a login in vain names who, for which project, where, and what to look at.
func TestLoginSays(t *testing.T) {
	k, url := fake(t)
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	revoked := k.Issue("alice", "shop")
	k.Revoke(revoked)
	for name, tt := range map[string]struct {
		env  map[string]string
		want []string
	}{
		"another project": {map[string]string{"OS_USERNAME": "alice", "OS_PASSWORD": "alice-secret", "OS_PROJECT_NAME": "nope"},
			[]string{url, "user alice for project nope", "has a role in the project"}},
		"a revoked token": {map[string]string{"OS_TOKEN": revoked}, []string{"refuses the token", "was revoked", "openstack token issue"}},
		"a token for no project": {map[string]string{"OS_TOKEN": k.Issue("alice", "")},
			[]string{"knows the token, but not for which project", "OS_PROJECT_NAME"}},
		"an application credential that there is none of": {map[string]string{"OS_APPLICATION_CREDENTIAL_ID": "gone", "OS_APPLICATION_CREDENTIAL_SECRET": "x"},
			[]string{"has no application credential gone", "openstack application credential list"}},
		"no Keystone": {map[string]string{"OS_AUTH_URL": other.URL, "OS_USERNAME": "alice", "OS_PASSWORD": "alice-secret", "OS_PROJECT_NAME": "shop"},
			[]string{other.URL, "no Keystone of version 3", "check the URL"}},
	} {
		t.Run(name, func(t *testing.T) {
			noCloud(t)
			t.Setenv("OS_AUTH_URL", url)
			for v, value := range tt.env {
				t.Setenv(v, value)
			}
			c, err := keystone.Credentials("")
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Login(t.Context(), nil)
			for _, part := range tt.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %q: %v", part, err)
				}
			}
		})
	}
}

// A client whose token has ended gets another one.
func TestLoginLasts(t *testing.T) {
	k, url := fake(t)
	c := keystone.Cloud{Auth: gophercloud.AuthOptions{IdentityEndpoint: url, Username: "root", Password: "root-secret", DomainID: "default",
		Scope: &gophercloud.AuthScope{ProjectName: "admin", DomainID: "default"}}}
	p, err := c.Login(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	first := p.Token()
	k.Revoke(first)
	if _, err := p.Request(t.Context(), "GET", url+"/v3/projects", &gophercloud.RequestOpts{OkCodes: []int{200}}); err != nil {
		t.Fatal(err)
	}
	if p.Token() == first {
		t.Error("the token is the old one")
	}
}
