package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	cloudv1 "github.com/catena-nfv/catena/api/catena/cloud/v1"
	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
	"github.com/catena-nfv/catena/internal/cloud/openstack/fake"
	"github.com/catena-nfv/catena/internal/cloud/proxy"
	"github.com/catena-nfv/catena/internal/keystone"
	"github.com/catena-nfv/catena/internal/keystone/keystonetest"
	"github.com/catena-nfv/catena/internal/orch"
	"github.com/catena-nfv/catena/internal/store"
)

// openServer starts a server with what a test wants to be different; tokens of the file are
// those of start.
func openServer(t *testing.T, change func(*Config)) *Server {
	t.Helper()
	dir := t.TempDir()
	st, err := store.Open(context.Background(), store.Config{Dir: filepath.Join(dir, "store")})
	if err != nil {
		t.Fatal(err)
	}
	tokens := filepath.Join(dir, "token")
	if err := os.WriteFile(tokens, []byte(adminToken+"\n"+alphaToken+" alpha\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBackend()
	o := orch.New(orch.Config{Cloud: b, Node: b, Fabric: b, Store: st})
	cfg := Config{Orchestrator: o, GRPC: "127.0.0.1:0", HTTP: "127.0.0.1:0", TokenFile: tokens, Version: "test"}
	change(&cfg)
	s, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		s.Stop(ctx)
		_ = o.Close(ctx)
		_ = st.Close()
	})
	return s
}

func dial(t *testing.T, address string, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func with(t *testing.T, pairs ...string) context.Context {
	return metadata.AppendToOutgoingContext(t.Context(), pairs...)
}

// Every service asks Keystone whose token it is, and keeps projects apart.
func TestKeystone(t *testing.T) {
	k := keystonetest.New()
	ks := httptest.NewServer(k)
	t.Cleanup(ks.Close)
	k.AddUser("root", "x", "admin", "admin")
	alpha := k.AddUser("alice", "x", "alpha", "member")
	odd := k.AddUser("bob", "x", "Büro 2", "member")
	v, err := keystone.NewVerifier(keystone.Config{URL: ks.URL})
	if err != nil {
		t.Fatal(err)
	}
	s := openServer(t, func(c *Config) { c.Keystone = v })
	conn := dial(t, s.GRPCAddress(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	alice, bob, root := k.Issue("alice", "alpha"), k.Issue("bob", "Büro 2"), k.Issue("root", "admin")
	oc := catenav1.NewOrchestratorClient(conn)

	// A service that names no project is for the token's.
	if _, err := apply(with(t, "x-auth-token", alice), conn, manifest(shop)); err != nil {
		t.Fatal(err)
	}
	if _, err := apply(with(t, "authorization", "Bearer "+bob), conn, manifest(shop)); err != nil {
		t.Fatal(err)
	}
	if _, err := apply(with(t, "x-auth-token", root), conn, manifest(shop)); err != nil {
		t.Fatal(err)
	}
	list := func(ctx context.Context) string {
		t.Helper()
		l, err := oc.ListServices(ctx, &catenav1.ListServicesRequest{})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, st := range l.GetServices() {
			out = append(out, st.GetService().GetProject())
		}
		return strings.Join(out, " ")
	}
	if got := list(with(t, "x-auth-token", alice)); got != "alpha" {
		t.Errorf("alice sees services of %q", got)
	}
	// A project's name that cannot be one here is told by its id.
	if got := list(with(t, "x-auth-token", bob)); got != odd {
		t.Errorf("bob sees services of %q, want %q", got, odd)
	}
	for _, token := range []string{"x-auth-token " + root, "authorization Bearer " + adminToken} {
		key, value, _ := strings.Cut(token, " ")
		if got := list(with(t, key, value)); len(strings.Fields(got)) != 3 || !strings.Contains(got, "admin") {
			t.Errorf("an admin sees services of %q", got)
		}
	}
	// The local token of project alpha is for the same project.
	if got := list(with(t, "authorization", "Bearer "+alphaToken)); got != "alpha" {
		t.Errorf("the local token sees services of %q", got)
	}

	// Each service of the API refuses what belongs to others, and who has no token.
	calls := map[string]func(context.Context) error{
		"GetService": func(ctx context.Context) error {
			_, err := oc.GetService(ctx, &catenav1.GetServiceRequest{Project: "alpha", Name: "shop"})
			return err
		},
		"DeleteService": func(ctx context.Context) error {
			stream, err := oc.DeleteService(ctx, &catenav1.DeleteServiceRequest{Project: "alpha", Name: "shop"})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		},
		"Watch": func(ctx context.Context) error {
			stream, err := oc.Watch(ctx, &catenav1.WatchRequest{Project: "alpha"})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		},
		"ListChains": func(ctx context.Context) error {
			_, err := catenav1.NewChainsClient(conn).ListChains(ctx, &catenav1.ListChainsRequest{Project: "alpha"})
			return err
		},
		"ListRules": func(ctx context.Context) error {
			_, err := catenav1.NewRulesClient(conn).ListRules(ctx, &catenav1.ListRulesRequest{Project: "alpha"})
			return err
		},
		"GetSwitch": func(ctx context.Context) error {
			_, err := catenav1.NewSwitchClient(conn).GetSwitch(ctx, &catenav1.GetSwitchRequest{})
			return err
		},
	}
	for name, call := range calls {
		if err := call(with(t, "x-auth-token", bob)); status.Code(err) != codes.PermissionDenied {
			t.Errorf("%s by a stranger: %v", name, err)
		}
		for what, ctx := range map[string]context.Context{
			"no token": t.Context(), "nonsense": with(t, "x-auth-token", "nonsense"), "bearer nonsense": with(t, "authorization", "Bearer nonsense"),
			"no project": with(t, "x-auth-token", k.Issue("alice", "")),
		} {
			if err := call(ctx); status.Code(err) != codes.Unauthenticated {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
	if _, err := catenav1.NewPlatformClient(conn).GetVersion(t.Context(), &catenav1.GetVersionRequest{}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("GetVersion: %v", err)
	}
	if _, err := oc.GetService(with(t, "x-auth-token", root), &catenav1.GetServiceRequest{Project: "alpha", Name: "shop"}); err != nil {
		t.Errorf("an admin in another project: %v", err)
	}
	if _, err := oc.GetService(with(t, "x-auth-token", alice), &catenav1.GetServiceRequest{Project: alpha, Name: "shop"}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a project has one name: %v", err)
	}

	// REST takes the same tokens, in both headers.
	for header, value := range map[string]string{"X-Auth-Token": alice, "Authorization": "Bearer " + alice} {
		if code, body := get(t, http.DefaultClient, "http://"+s.HTTPAddress()+"/v1/services", header, value); code != 200 || !strings.Contains(body, `"project":"alpha"`) {
			t.Errorf("REST with %s: %d %s", header, code, body)
		}
	}

	// A Keystone that does not answer is no reason to refuse those who are known.
	k.Break(1)
	if _, err := oc.ListServices(with(t, "x-auth-token", k.Issue("alice", "alpha")), &catenav1.ListServicesRequest{}); status.Code(err) != codes.Unavailable ||
		!strings.Contains(err.Error(), "fails (503 Service Unavailable)") || len(status.Convert(err).Details()) == 0 {
		t.Errorf("Keystone is down: %v", err)
	}
	if got := list(with(t, "x-auth-token", alice)); got != "alpha" {
		t.Errorf("alice sees services of %q", got)
	}
}

// get asks with a header and gives status and body.
func get(t *testing.T, c *http.Client, url, header, value string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if header != "" {
		req.Header.Set(header, value)
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	return resp.StatusCode, readAll(resp)
}

func TestWithoutKeystone(t *testing.T) {
	s := openServer(t, func(*Config) {})
	conn := dial(t, s.GRPCAddress(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	_, err := catenav1.NewOrchestratorClient(conn).ListServices(with(t, "x-auth-token", "gAAAA"), &catenav1.ListServicesRequest{})
	if status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), "--keystone") {
		t.Errorf("%v", err)
	}
	if code, _ := get(t, http.DefaultClient, "http://"+s.HTTPAddress()+"/v1/cloud/networks", "X-Auth-Token", "gAAAA"); code != http.StatusNotFound {
		t.Errorf("cloud services without a cloud: %d", code)
	}
}

// The cloud's own services are behind the same door, by gRPC and REST.
func TestCloudServices(t *testing.T) {
	cloud := fake.New(fake.Config{BuildTime: 50 * time.Millisecond})
	t.Cleanup(cloud.Close)
	v, err := keystone.NewVerifier(keystone.Config{URL: cloud.URL + "/identity"})
	if err != nil {
		t.Fatal(err)
	}
	s := openServer(t, func(c *Config) { c.Keystone, c.CloudServices = v, proxy.New(proxy.Config{Keystone: v}) })
	conn := dial(t, s.GRPCAddress(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	token, err := cloudv1.NewIdentityClient(conn).Authenticate(t.Context(), &cloudv1.AuthenticateRequest{
		Credentials: &cloudv1.AuthenticateRequest_Password{Password: &cloudv1.Password{User: "alice", Password: "secret", Project: "demo"}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := with(t, "x-auth-token", token.GetId())
	if _, err := cloudv1.NewNetworkClient(conn).CreateNetwork(ctx, &cloudv1.CreateNetworkRequest{Name: "front"}); err != nil {
		t.Fatal(err)
	}
	rest := func(method, path, body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.HTTPAddress()+"/v1/cloud/"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Auth-Token", token.GetId())
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode, readAll(resp)
	}
	for _, c := range []struct {
		method, path, body string
		code               int
		says               string
	}{
		{"GET", "token", "", 200, `"project":"demo"`},
		{"GET", "networks/front", "", 200, `"name":"front"`},
		{"POST", "subnets", `{"name": "s", "network": "front", "cidr": "10.0.0.0/24"}`, 200, `"gateway":"10.0.0.1"`},
		{"POST", "routers", `{"name": "r", "subnets": ["s"]}`, 200, `"name":"r"`},
		{"DELETE", "routers/r/interfaces/s", "", 200, `"port_id"`},
		{"POST", "ports", `{"ports": [{"name": "p", "network": "front"}]}`, 200, `"mac"`},
		{"GET", "ports?network=front", "", 200, `"name":"p"`},
		{"POST", "servers:launch", `{"name": "web", "image": "ubuntu", "flavor": "small", "ports": [{"ports": ["p"]}]}`, 200, `"status":"ACTIVE"`},
		{"GET", "servers/web", "", 200, `"ip":"10.0.0.2"`},
		{"GET", "servers:watch?servers=web", "", 200, `"status":"ACTIVE"`},
		{"GET", "usages", "", 200, `"VCPU":"1"`},
		{"GET", "providers", "", 403, `Access was denied`},
		{"DELETE", "networks/front", "", 400, `network \"front\"`},
		{"DELETE", "servers/web", "", 200, `{}`},
		{"GET", "servers/web", "", 404, `server \"web\"`},
		{"GET", "images", "", 200, `"name":"ubuntu"`},
	} {
		if code, body := rest(c.method, c.path, c.body); code != c.code || !strings.Contains(body, c.says) {
			t.Errorf("%s %s: %d %s; want %d with %s", c.method, c.path, code, body, c.code, c.says)
		}
	}
	// A local token opens the orchestrator's door, not the cloud's.
	_, err = cloudv1.NewNetworkClient(conn).ListNetworks(with(t, "authorization", "Bearer "+adminToken), &cloudv1.ListNetworksRequest{})
	if status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), "x-auth-token") {
		t.Errorf("a local token: %v", err)
	}
}
