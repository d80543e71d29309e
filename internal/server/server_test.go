package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
	"github.com/catena-nfv/catena/internal/orch"
	"github.com/catena-nfv/catena/internal/store"
)

const shop = `name: shop
networks:
  - {name: front, subnet: 10.0.1.0/24}
servers:
  - {name: web, count: 2, networks: [front]}
functions:
  - {name: lb, kind: loadbalancer, networks: [front], config: {members: [web]}}
chains:
  - name: dc
    request: Firewall then NAT or LB
    match: {from: front, protocol: tcp, ports: 80}
    rules:
      - {nf: Firewall, action: drop, match: {src: "@web-1"}}
      - {nf: LB, action: set}
`

const (
	adminToken = "admin-token-0123456789"
	alphaToken = "alpha-token-0123456789"
)

type rig struct {
	t       *testing.T
	server  *Server
	backend *backend
	conn    *grpc.ClientConn // on the unix socket
}

func start(t *testing.T) *rig {
	t.Helper()
	dir := t.TempDir()
	st, err := store.Open(context.Background(), store.Config{Dir: filepath.Join(dir, "store")})
	if err != nil {
		t.Fatal(err)
	}
	tokens := filepath.Join(dir, "token")
	if err := os.WriteFile(tokens, []byte(adminToken+"\n"+alphaToken+" alpha # a tenant\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBackend()
	o := orch.New(orch.Config{Cloud: b, Node: b, Fabric: b, Store: st})
	// Socket paths have to be short.
	run, err := os.MkdirTemp("", "ct-server-")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(Config{
		Orchestrator: o, Socket: filepath.Join(run, "s"), GRPC: "127.0.0.1:0", HTTP: "127.0.0.1:0",
		TokenFile: tokens, Version: "test", Cloud: "fake",
	})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient("unix://"+filepath.Join(run, "s"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		s.Stop(ctx)
		_ = o.Close(ctx)
		_ = st.Close()
		_ = os.RemoveAll(run)
	})
	return &rig{t, s, b, conn}
}

func manifest(text string) *catenav1.ApplyRequest {
	return &catenav1.ApplyRequest{Desired: &catenav1.ApplyRequest_Manifest{Manifest: &catenav1.Manifest{Filename: "shop.yaml", Yaml: text}}}
}

// apply runs an apply to its end.
func apply(ctx context.Context, conn grpc.ClientConnInterface, req *catenav1.ApplyRequest) ([]*catenav1.Event, error) {
	stream, err := catenav1.NewOrchestratorClient(conn).Apply(ctx, req)
	if err != nil {
		return nil, err
	}
	var events []*catenav1.Event
	for {
		e, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
}

func (r *rig) rest(method, path, token, body string) (int, string) {
	r.t.Helper()
	req, err := http.NewRequest(method, "http://"+r.server.HTTPAddress()+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestApplyByGRPC(t *testing.T) {
	r := start(t)
	ctx := context.Background()
	events, err := apply(ctx, r.conn, manifest(shop))
	if err != nil {
		t.Fatal(err)
	}
	last := events[len(events)-1]
	if last.GetKind() != "service" || last.GetStatus() != catenav1.Object_ACTIVE || last.GetElapsed().AsDuration() <= 0 {
		t.Errorf("last event: %v", last)
	}

	oc := catenav1.NewOrchestratorClient(r.conn)
	st, err := oc.GetService(ctx, &catenav1.GetServiceRequest{Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if st.GetStatus() != catenav1.Object_ACTIVE || st.GetService().GetNetworks()[0].GetGateway() != "10.0.1.1" || len(st.GetObjects()) != 8 {
		t.Errorf("state: %v", st)
	}
	var web string
	for _, o := range st.GetObjects() {
		if o.GetName() == "web-1" {
			web = strings.Join(o.GetAddresses(), ",")
		}
	}
	if web != "10.0.1.11/24" {
		t.Errorf("web-1 has %q", web)
	}

	// What comes out can be applied again, and changes nothing.
	plan, err := oc.Plan(ctx, &catenav1.PlanRequest{Desired: &catenav1.PlanRequest_Service{Service: st.GetService()}})
	if err != nil || len(plan.GetSteps()) != 0 {
		t.Errorf("plan of the same: %v %v", plan, err)
	}

	cc := catenav1.NewChainsClient(r.conn)
	paths, err := cc.ListPaths(ctx, &catenav1.ListPathsRequest{Chain: "dc"})
	if err != nil || len(paths.GetPaths()) != 2 || fmt.Sprint(paths.GetPaths()[1].GetNfs()) != "[Firewall LB]" || !paths.GetPaths()[0].GetSelected() {
		t.Errorf("paths: %v %v", paths, err)
	}
	rep, err := cc.SelectChain(ctx, &catenav1.SelectChainRequest{Chain: "1", Path: 2})
	if err != nil || rep.GetRecompiled() || rep.GetEntriesAdded() != 3 || rep.GetTook() == nil || rep.GetStages()[0].GetName() != "entries" {
		t.Errorf("select: %v %v", rep, err)
	}
	cfg, err := cc.GetChainConfig(ctx, &catenav1.GetChainConfigRequest{Chain: "default/shop/dc", Path: 1})
	if err != nil || len(cfg.GetPaths()) != 1 || len(cfg.GetMatch()) != 0 || len(cfg.GetRules()) != 1 || cfg.GetChain().GetPath() != 2 {
		t.Errorf("config of path 1: %v %v", cfg, err)
	}
	t.Logf("a change of a chain takes %v", rep.GetTook().AsDuration())
	_, err = cc.SelectChain(ctx, &catenav1.SelectChainRequest{Chain: "1", Path: 3})
	wantCode(t, err, codes.FailedPrecondition)

	rc := catenav1.NewRulesClient(r.conn)
	rule := &catenav1.Rule{Nf: "NAT", Action: "snat", Params: map[string]string{"addr": "@lb"}}
	if _, err := rc.AddRule(ctx, &catenav1.AddRuleRequest{Chain: "dc", Rule: rule}); err != nil {
		t.Fatal(err)
	}
	_, err = rc.AddRule(ctx, &catenav1.AddRuleRequest{Chain: "dc", Rule: rule})
	wantCode(t, err, codes.AlreadyExists)
	rules, err := rc.ListRules(ctx, &catenav1.ListRulesRequest{Nf: "NAT"})
	if err != nil || len(rules.GetRules()) != 1 {
		t.Fatalf("rules: %v %v", rules, err)
	}
	if _, err := rc.DeleteRule(ctx, &catenav1.DeleteRuleRequest{Chain: "dc", Id: rules.GetRules()[0].GetId()}); err != nil {
		t.Error(err)
	}
	sw, err := catenav1.NewSwitchClient(r.conn).GetSwitch(ctx, &catenav1.GetSwitchRequest{})
	if err != nil || len(sw.GetPorts()) != 3 || sw.GetNfs()[0].GetPackets() != 5 || len(sw.GetChains()) != 1 {
		t.Errorf("switch: %v %v", sw, err)
	}
	_, err = cc.DeleteChain(ctx, &catenav1.DeleteChainRequest{Chain: "nope"})
	wantCode(t, err, codes.NotFound)
	if _, err := cc.DeleteChain(ctx, &catenav1.DeleteChainRequest{Chain: "dc"}); err != nil {
		t.Error(err)
	}
	stream, err := oc.DeleteService(ctx, &catenav1.DeleteServiceRequest{Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = stream.Recv()
	}
	if !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	_, err = oc.GetService(ctx, &catenav1.GetServiceRequest{Name: "shop"})
	wantCode(t, err, codes.NotFound)
}

func wantCode(t *testing.T, err error, code codes.Code) {
	t.Helper()
	if status.Code(err) != code {
		t.Errorf("%v: got code %v, want %v", err, status.Code(err), code)
	}
}

func TestApplyByREST(t *testing.T) {
	r := start(t)
	body, err := json.Marshal(map[string]any{"manifest": map[string]string{"filename": "shop.yaml", "yaml": shop}})
	if err != nil {
		t.Fatal(err)
	}
	code, text := r.rest("POST", "/v1/services:apply", adminToken, string(body))
	if code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	var last struct {
		Result struct{ Kind, Status, Elapsed string }
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Result.Status != "ACTIVE" || last.Result.Kind != "service" {
		t.Errorf("last of %d lines: %s %v", len(lines), lines[len(lines)-1], err)
	}
	for path, want := range map[string]string{
		"/v1/services":                             `"status":"ACTIVE"`,
		"/v1/projects/default/services/shop":       `"subnet":"10.0.1.0/24"`,
		"/v1/chains":                               `"request":"Firewall then NAT or LB"`,
		"/v1/chains/dc/paths":                      `"Firewall"`,
		"/v1/chains/default%2Fshop%2Fdc/config":    `"nf":"Firewall"`,
		"/v1/chains/dc/rules":                      `"@web-1"`,
		"/v1/rules?nf=LB":                          `"action":"set"`,
		"/v1/nfs":                                  `"match":"ternary"`,
		"/v1/switch":                               `"rx_packets":"1"`,
		"/v1/version":                              `"cloud":"fake"`,
		"/v1/projects/default/services/shop?x=y&z": `"ACTIVE"`,
	} {
		code, text := r.rest("GET", path, adminToken, "")
		if code != 200 || !strings.Contains(strings.ReplaceAll(text, " ", ""), strings.ReplaceAll(want, " ", "")) {
			t.Errorf("GET %s: %d %s", path, code, text)
		}
	}
	code, text = r.rest("POST", "/v1/chains/dc:select", adminToken, `{"path": 2}`)
	if code != 200 || !strings.Contains(text, "took") {
		t.Errorf("select: %d %s", code, text)
	}
	if code, text = r.rest("DELETE", "/v1/projects/default/services/shop", adminToken, ""); code != 200 || !strings.Contains(text, "DELETED") {
		t.Errorf("delete: %d %s", code, text)
	}
	if code, _ = r.rest("GET", "/v1/projects/default/services/shop", adminToken, ""); code != 404 {
		t.Errorf("after delete: %d", code)
	}
}

// Pages and the OpenAPI document need no token; everything else does.
func TestOpenAndClosed(t *testing.T) {
	r := start(t)
	code, text := r.rest("GET", "/openapi.json", "", "")
	var doc struct {
		Swagger string
		Paths   map[string]any
	}
	if err := json.Unmarshal([]byte(text), &doc); code != 200 || err != nil || doc.Swagger != "2.0" || doc.Paths["/v1/services:apply"] == nil {
		t.Errorf("openapi: %d %v", code, err)
	}
	if code, text := r.rest("GET", "/", "", ""); code != 200 || !strings.Contains(text, "/openapi.json") || strings.Contains(text, "http://") || strings.Contains(text, "https://") {
		t.Errorf("page: %d", code)
	}
	if code, _ := r.rest("GET", "/healthz", "", ""); code != 200 {
		t.Errorf("healthz: %d", code)
	}
	if code, _ := r.rest("GET", "/nothing", adminToken, ""); code != 404 {
		t.Errorf("unknown page: %d", code)
	}
	for _, token := range []string{"", "wrong-token-0123456789"} {
		if code, _ := r.rest("GET", "/v1/services", token, ""); code != 401 {
			t.Errorf("token %q: %d", token, code)
		}
	}
	conn, err := grpc.NewClient(r.server.GRPCAddress(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx := context.Background()
	_, err = catenav1.NewOrchestratorClient(conn).ListServices(ctx, &catenav1.ListServicesRequest{})
	wantCode(t, err, codes.Unauthenticated)
	_, err = apply(ctx, conn, manifest(shop))
	wantCode(t, err, codes.Unauthenticated)
	if h, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}); err != nil || h.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("health: %v %v", h, err)
	}
	_, err = catenav1.NewOrchestratorClient(conn).ListServices(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+adminToken), &catenav1.ListServicesRequest{})
	wantCode(t, err, codes.OK)
}

// A tenant's token reaches its own project and no other.
func TestProjects(t *testing.T) {
	r := start(t)
	ctx := context.Background()
	if _, err := apply(ctx, r.conn, manifest(shop)); err != nil {
		t.Fatal(err)
	}
	body := func(text string) string {
		b, _ := json.Marshal(map[string]any{"manifest": map[string]string{"yaml": text}})
		return string(b)
	}
	// A file that names no project goes to the tenant's.
	if code, text := r.rest("POST", "/v1/services:apply", alphaToken, body(strings.Replace(shop, "dc", "own", 1))); code != 200 || !strings.Contains(text, `"project":"alpha"`) {
		t.Errorf("own project: %d %s", code, text)
	}
	for _, p := range []string{"default", "beta"} {
		if code, text := r.rest("POST", "/v1/services:apply", alphaToken, body("project: "+p+"\n"+shop)); code != 403 {
			t.Errorf("project %s: %d %s", p, code, text)
		}
	}
	// The request may name it instead.
	for _, tt := range []struct {
		project, file string
		code          int
		says          string
	}{
		{"alpha", shop, 200, `"project":"alpha"`}, {"alpha", "project: alpha\n" + shop, 200, `"project":"alpha"`},
		{"beta", shop, 403, "but for project"}, {"beta", "project: alpha\n" + shop, 400, "name it in one place"},
	} {
		b, _ := json.Marshal(map[string]any{"manifest": map[string]string{"yaml": strings.Replace(tt.file, "dc", "own", 1), "project": tt.project}})
		if code, text := r.rest("POST", "/v1/services:apply", alphaToken, string(b)); code != tt.code || !strings.Contains(text, tt.says) {
			t.Errorf("project %s asked for: %d %s", tt.project, code, text)
		}
	}
	for path, want := range map[string]int{
		"/v1/projects/default/services/shop": 403,
		"/v1/projects/default/services":      403,
		"/v1/services":                       200,
		"/v1/chains/1/paths":                 404, // of the other project
		"/v1/chains/dc/paths":                404,
		"/v1/chains/own/paths":               200,
		"/v1/switch":                         403,
		"/v1/rules?project=default":          403,
	} {
		code, text := r.rest("GET", path, alphaToken, "")
		if code != want || strings.Contains(text, `"default"`) {
			t.Errorf("GET %s: %d %s", path, code, text)
		}
	}
	if code, _ := r.rest("DELETE", "/v1/projects/default/services/shop", alphaToken, ""); code != 403 {
		t.Errorf("delete of another's service: %d", code)
	}
	if code, text := r.rest("POST", "/v1/rules", alphaToken, `{"nf":"Firewall","action":"deny"}`); code != 403 {
		t.Errorf("a rule of the operator from a tenant: %d %s", code, text)
	}
	if code, text := r.rest("DELETE", "/v1/rules/x", alphaToken, ""); code != 403 {
		t.Errorf("delete of the operator's rule: %d %s", code, text)
	}
	if code, _ := r.rest("DELETE", "/v1/chains/1", alphaToken, ""); code != 404 {
		t.Errorf("delete of another's chain: %d", code)
	}
}

func TestBadRequests(t *testing.T) {
	r := start(t)
	ctx := context.Background()
	bad := func(req *catenav1.ApplyRequest) *errdetails.BadRequest {
		t.Helper()
		_, err := apply(ctx, r.conn, req)
		wantCode(t, err, codes.InvalidArgument)
		for _, d := range status.Convert(err).Details() {
			if b, ok := d.(*errdetails.BadRequest); ok {
				return b
			}
		}
		t.Errorf("no details in %v", err)
		return &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{}}}
	}
	v := bad(manifest(strings.Replace(shop, "[front]}\nfunctions", "[frnt]}\nfunctions", 1))).GetFieldViolations()
	if len(v) != 1 || v[0].GetField() != "servers[0].networks[0]" || !strings.HasPrefix(v[0].GetDescription(), "shop.yaml:5:") || v[0].GetReason() != "service/reference" {
		t.Errorf("manifest: %v", v)
	}
	v = bad(manifest(strings.Replace(shop, "NAT or LB", "NAT or Nonsense", 1))).GetFieldViolations()
	if v[0].GetField() != "chains[0].request" || !strings.HasPrefix(v[0].GetDescription(), "shop.yaml:10:35:") {
		t.Errorf("chain: %v", v)
	}
	v = bad(&catenav1.ApplyRequest{Desired: &catenav1.ApplyRequest_Service{Service: &catenav1.Service{
		Name: "x", Networks: []*catenav1.Network{{Name: "n", Subnet: "10.0.0.0/99"}},
	}}}).GetFieldViolations()
	if v[0].GetField() != "networks[0].subnet" {
		t.Errorf("structured: %v", v)
	}
	_, err := apply(ctx, r.conn, &catenav1.ApplyRequest{})
	wantCode(t, err, codes.InvalidArgument)
	if code, text := r.rest("POST", "/v1/services:apply", adminToken, `{"manifest": {"yaml": "name: [x"}}`); code != 400 || !strings.Contains(text, "service/syntax") {
		t.Errorf("REST: %d %s", code, text)
	}
	if code, _ := r.rest("POST", "/v1/services:apply", adminToken, `{"unknown": 1}`); code != 400 {
		t.Errorf("unknown field: %d", code)
	}
	if code, _ := r.rest("POST", "/v1/services:apply", adminToken, `{"manifest": {"yaml": "`+strings.Repeat("a", maxRequest)+`"}}`); code != 400 && code != 413 {
		t.Errorf("huge body: %d", code)
	}
	// Very many problems still make an answer that fits.
	var b strings.Builder
	b.WriteString("name: a\nnetworks: [{name: n, subnet: 10.0.0.0/16}]\nservers:\n")
	for i := range 900 {
		fmt.Fprintf(&b, "  - {name: s%d, networks: [missing]}\n", i)
	}
	if n := len(bad(manifest(b.String())).GetFieldViolations()); n != maxViolations {
		t.Errorf("%d violations", n)
	}
}

// A failed apply says so, and that it was rolled back.
func TestRolledBack(t *testing.T) {
	r := start(t)
	ctx := context.Background()
	_, err := apply(ctx, r.conn, manifest(strings.Replace(shop, "count: 2", "count: 2, image: broken", 1)))
	wantCode(t, err, codes.Internal)
	var reason string
	for _, d := range status.Convert(err).Details() {
		if i, ok := d.(*errdetails.ErrorInfo); ok {
			reason = i.GetReason()
		}
	}
	if reason != "ROLLED_BACK" || !strings.Contains(err.Error(), "no such image") {
		t.Errorf("%v, reason %q", err, reason)
	}
	_, err = catenav1.NewOrchestratorClient(r.conn).GetService(ctx, &catenav1.GetServiceRequest{Name: "shop"})
	wantCode(t, err, codes.NotFound)
}

// A client that goes away does not stop its apply; others can watch it, and a
// second apply of the same service is refused meanwhile.
func TestClientGoesAway(t *testing.T) {
	r := start(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	oc := catenav1.NewOrchestratorClient(r.conn)
	watch, err := oc.Watch(ctx, &catenav1.WatchRequest{Service: "shop", Project: "default"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Header(); err != nil { // it watches
		t.Fatal(err)
	}
	actx, acancel := context.WithCancel(ctx)
	slow := manifest(strings.Replace(shop, "count: 2", "count: 2, image: slow", 1))
	stream, err := oc.Apply(actx, slow)
	if err != nil {
		t.Fatal(err)
	}
	for {
		e, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if e.GetKind() == "server" && e.GetStatus() == catenav1.Object_BUILDING {
			break
		}
	}
	_, err = apply(ctx, r.conn, slow)
	wantCode(t, err, codes.Aborted)
	st, err := oc.GetService(ctx, &catenav1.GetServiceRequest{Name: "shop"})
	if err != nil || st.GetStatus() != catenav1.Object_BUILDING {
		t.Errorf("meanwhile: %v %v", st.GetStatus(), err)
	}
	acancel()
	close(r.backend.release)
	for {
		e, err := watch.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if e.GetKind() == "service" && e.GetStatus() == catenav1.Object_ACTIVE {
			break
		}
	}
	cancel()
	for err == nil {
		_, err = watch.Recv()
	}
	wantCode(t, err, codes.Canceled)
}

// Stopping ends watches at once.
func TestStopEndsWatches(t *testing.T) {
	r := start(t)
	watch, err := catenav1.NewOrchestratorClient(r.conn).Watch(context.Background(), &catenav1.WatchRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Header(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	begun := time.Now()
	r.server.Stop(ctx)
	if d := time.Since(begun); d > 3*time.Second {
		t.Errorf("stop took %v", d)
	}
	_, err = watch.Recv()
	wantCode(t, err, codes.Unavailable)
}

func TestListen(t *testing.T) {
	dir, err := os.MkdirTemp("", "ct-server-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	tokens := filepath.Join(dir, "token")
	for name, cfg := range map[string]Config{
		"not loopback":  {GRPC: "0.0.0.0:0", TokenFile: tokens},
		"no port":       {HTTP: "127.0.0.1", TokenFile: tokens},
		"no token file": {HTTP: "127.0.0.1:0"},
	} {
		if s, err := Start(cfg); err == nil {
			s.Stop(context.Background())
			t.Errorf("%s: started", name)
		}
	}
	s, err := Start(Config{Socket: filepath.Join(dir, "s")})
	if err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(filepath.Join(dir, "s")); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("socket: %v %v", fi.Mode(), err)
	}
	if _, err := Start(Config{Socket: filepath.Join(dir, "s")}); err == nil || !strings.Contains(err.Error(), "another controller") {
		t.Errorf("second server: %v", err)
	}
	s.Stop(context.Background())
	s, err = Start(Config{Socket: filepath.Join(dir, "s")})
	if err != nil {
		t.Fatal(err)
	}
	s.Stop(context.Background())
}

func TestTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run", "token")
	tokens, err := ReadTokens(path)
	if err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("mode: %v %v", fi.Mode(), err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if id, ok := tokens.identify(string(bytes.TrimSpace(text))); !ok || !id.Admin {
		t.Errorf("generated token: %v %v", id, ok)
	}
	if _, ok := tokens.identify(""); ok {
		t.Error("the empty token is known")
	}
	again, err := ReadTokens(path)
	if err != nil || !reflect.DeepEqual(tokens, again) {
		t.Errorf("read again: %v", err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadTokens(path); err == nil || !strings.Contains(err.Error(), "chmod") {
		t.Errorf("readable by all: %v", err)
	}
	for _, text := range []string{"", "short", "a-token-0123456789abc Bad_Project"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_ = os.Chmod(path, 0o600)
		if _, err := ReadTokens(path); err == nil {
			t.Errorf("%q: accepted", text)
		}
	}
}

// The events of an apply arrive while it runs, also by REST.
func TestRESTStreams(t *testing.T) {
	r := start(t)
	b, err := json.Marshal(map[string]any{"manifest": map[string]string{"yaml": strings.Replace(shop, "count: 2", "count: 2, image: slow", 1)}})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest("POST", "http://"+r.server.HTTPAddress()+"/v1/services:apply", bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	if !lines.Scan() || !strings.Contains(lines.Text(), "BUILDING") { // it waits for the servers now
		t.Errorf("first line %q", lines.Text())
	}
	close(r.backend.release)
	var last string
	for lines.Scan() {
		last = lines.Text()
	}
	if !strings.Contains(last, "ACTIVE") {
		t.Errorf("last line %q", last)
	}
}
