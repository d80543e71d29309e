package orchestration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/catena-nfv/catena/bench/harness"
	"github.com/catena-nfv/catena/internal/cloud/openstack"
	"github.com/catena-nfv/catena/internal/cloud/openstack/fake"
	"github.com/catena-nfv/catena/internal/keystone"
	"github.com/catena-nfv/catena/internal/orch"
	"github.com/catena-nfv/catena/internal/server"
	"github.com/catena-nfv/catena/internal/service"
	"github.com/catena-nfv/catena/internal/store"
)

// idle is a node and a fabric that have nothing to do.
type idle struct{}

func (idle) Attach(context.Context, service.Owner, uint32, service.Port) error { return nil }
func (idle) Detach(context.Context, service.Owner, string) error               { return nil }
func (idle) Check(context.Context, service.SwitchConfig) error                 { return nil }
func (idle) Prepare(context.Context, service.SwitchConfig, func(service.Stage)) error {
	return nil
}
func (idle) Deploy(context.Context, service.SwitchConfig, func(service.Stage)) (service.SwitchReport, error) {
	return service.SwitchReport{}, nil
}
func (idle) State(context.Context) (service.SwitchState, error) { return service.SwitchState{}, nil }
func (idle) NFs(context.Context) ([]service.NFInfo, error)      { return nil, nil }

// config is the benchmark on a fake cloud, with the product's driver, orchestrator and
// server.
func config(t *testing.T, cloud *fake.Cloud) Config {
	access := Access{
		Cloud: keystone.Cloud{Auth: gophercloud.AuthOptions{
			IdentityEndpoint: cloud.URL + "/identity/v3", Username: "alice", Password: "secret", DomainID: "default",
			Scope: &gophercloud.AuthScope{ProjectName: "demo", DomainID: "default"},
		}},
		FunctionImage: "catena", FunctionFlavor: "small",
	}
	return Config{
		Access: func() (Access, error) { return access, nil },
		Controller: func(ctx context.Context, a Access) (*Endpoint, error) {
			dir := t.TempDir()
			db, err := store.Open(context.WithoutCancel(ctx), store.Config{Dir: filepath.Join(dir, "store")})
			if err != nil {
				return nil, err
			}
			driver, err := openstack.New(ctx, openstack.Config{Cloud: a.Cloud})
			if err != nil {
				return nil, err
			}
			o := orch.New(orch.Config{Cloud: driver, Node: idle{}, Fabric: idle{}, Store: db})
			tokens := filepath.Join(dir, "token")
			const token = "a-token-of-this-test"
			if err := os.WriteFile(tokens, []byte(token), 0o600); err != nil {
				return nil, err
			}
			s, err := server.Start(server.Config{Orchestrator: o, GRPC: "127.0.0.1:0", HTTP: "127.0.0.1:0", TokenFile: tokens})
			if err != nil {
				return nil, err
			}
			return &Endpoint{GRPC: s.GRPCAddress(), HTTP: s.HTTPAddress(), Token: token, Close: func() error {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
				defer cancel()
				s.Stop(ctx)
				_ = o.Close(ctx)
				_ = driver.Close()
				return db.Close()
			}}, nil
		},
	}
}

func options(dir string, cases ...string) Options {
	return Options{Cases: cases, Backend: "ovs", Image: "ubuntu", Flavor: "small", Poll: 200 * time.Millisecond, Out: dir}
}

// The whole benchmark on a fake cloud: on each platform the servers are made, found and
// removed, and the results are there in all forms.
func TestRun(t *testing.T) {
	cloud := fake.New(fake.Config{BuildTime: 200 * time.Millisecond, DeleteTime: 20 * time.Millisecond})
	t.Cleanup(cloud.Close)
	dir := t.TempDir()
	var progress bytes.Buffer
	report, err := Run(t.Context(), config(t, cloud), options(dir, "usecase4", "sfc1-x2", "n1-m1"), harness.Options{Rounds: 2, Progress: &progress})
	if err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	if left := cloud.Resources(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	var text bytes.Buffer
	if err := report.Text(&text); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", &text)
	stored, err := load(filepath.Join(dir, "orchestration-ovs.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(stored.Repeated) > 0 {
		t.Errorf("repeated: %v", stored.Repeated)
	}
	for i, servers := range []int{5, 2, 1} {
		c := stored.Cases[i]
		if c.Servers != servers {
			t.Errorf("%s has %d servers, want %d", c.Name, c.Servers, servers)
		}
		for _, p := range Platforms {
			if len(c.Seconds[p]) != 2 || c.Seconds[p].Median() < 0.2 || c.Seconds[p].Median() > 30 {
				t.Errorf("%s on %s: %v s, and the cloud builds for 0.2 s", c.Name, p, c.Seconds[p])
			}
		}
	}
	for _, name := range []string{"orchestration-ovs.md", "orchestration-ovs-usecases.png", "orchestration-ovs-sfc.png", "orchestration-ovs-grid.png"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, ".png") {
			if !strings.Contains(string(data), "| usecase4 | 1 | 5 |") {
				t.Errorf("%s: %s", name, data)
			}
			continue
		}
		if img, err := png.Decode(bytes.NewReader(data)); err != nil || img.Bounds().Dx() < 200 {
			t.Errorf("%s: %v", name, err)
		}
	}

	// The result of another backend is shown beside it.
	stored.Backend = "p4"
	if err := stored.save(filepath.Join(dir, "p4.json")); err != nil {
		t.Fatal(err)
	}
	joined, err := Run(t.Context(), Config{}, Options{Join: []string{filepath.Join(dir, "orchestration-ovs.json"), filepath.Join(dir, "p4.json")}, Out: dir}, harness.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if columns := joined.Tables[0].Columns; len(columns) != 12 || columns[7].Key != "p4_rest" || len(joined.Tables[0].Rows) != 3 {
		t.Errorf("joined: %+v", joined.Tables[0])
	}
	if _, err := os.Stat(filepath.Join(dir, "orchestration-usecases.png")); err != nil {
		t.Error(err)
	}
}

// A server that goes to ERROR is no time: what was made is removed, the measurement is
// made again and told of; a second failure ends the run.
func TestRunFailures(t *testing.T) {
	cloud := fake.New(fake.Config{BuildTime: 50 * time.Millisecond})
	t.Cleanup(cloud.Close)
	cloud.Break("server-2", "No valid host was found.")
	opt := options("", "usecase1")
	for _, p := range Platforms {
		opt.Only = []string{string(p)}
		_, err := Run(t.Context(), config(t, cloud), opt, harness.Options{Rounds: 1})
		if err == nil || !strings.Contains(err.Error(), "No valid host") {
			t.Errorf("%s: %v", p, err)
		}
		if left := cloud.Resources(); len(left) > 0 {
			t.Errorf("%s left behind: %v", p, left)
		}
	}
	// What was complete before a failure is kept.
	cloud.Heal()
	dir := t.TempDir()
	opt = options(dir, "n1-m1")
	opt.Only = []string{"rest", "limit"}
	rounds := &counter{then: func() { cloud.Break("server", "No valid host was found.") }}
	if _, err := Run(t.Context(), config(t, cloud), opt, harness.Options{Rounds: 5, Progress: rounds}); err == nil {
		t.Error("a failure in the second round was not told")
	}
	if r, err := load(filepath.Join(dir, "orchestration-ovs.json")); err != nil || r.Rounds != 1 || len(r.Cases[0].Seconds[REST]) != 1 {
		t.Errorf("kept: %+v, %v", r, err)
	}
	cloud.Heal()
	for what, change := range map[string]func(*Options){
		`no case "usecase9"`: func(o *Options) { o.Cases = []string{"usecase9"} },
		"there are [rest":    func(o *Options) { o.Only = []string{"soap"} },
		`backend "linux"`:    func(o *Options) { o.Backend = "linux" },
		`no image "windows"`: func(o *Options) { o.Image = "windows" },
		"no result of this":  func(o *Options) { o.Join = []string{empty(t)} },
		"no such file":       func(o *Options) { o.Join = []string{"none"} },
	} {
		opt := options("", "usecase1")
		change(&opt)
		if _, err := Run(t.Context(), config(t, cloud), opt, harness.Options{Rounds: 1}); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	cfg := config(t, cloud)
	cfg.Access = func() (Access, error) { return Access{}, keystone.ErrNoCredentials }
	if _, err := Run(t.Context(), cfg, options("", "usecase1"), harness.Options{Rounds: 1}); err == nil || !strings.Contains(err.Error(), "OS_CLOUD") {
		t.Errorf("without a cloud: %v", err)
	}
}

func empty(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "x.json")
	if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// The sequence makes one call after another, and the limit makes those that it can at the
// same time; both make the same servers.
func TestSequenceAndLimit(t *testing.T) {
	cloud := fake.New(fake.Config{BuildTime: 400 * time.Millisecond})
	t.Cleanup(cloud.Close)
	access, err := config(t, cloud).Access()
	if err != nil {
		t.Fatal(err)
	}
	all, err := Workloads("ubuntu", "small")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := Choose(all, []string{"usecase5"})
	if err != nil {
		t.Fatal(err)
	}
	w := &cases[0]
	for what, calls := range map[string]map[string]int{
		"sequence": {"POST /network/v2.0/networks": 2, "POST /network/v2.0/subnets": 2, "POST /network/v2.0/ports": 0, "PUT /network/v2.0/routers": 2, "POST /compute/v2.1/servers": 3, "POST /identity/v3/auth/tokens": 1},
		"overlap":  {"POST /network/v2.0/ports": 0, "POST /compute/v2.1/servers": 3, "POST /identity/v3/auth/tokens": 1},
		"limit":    {"POST /network/v2.0/networks": 2, "POST /network/v2.0/subnets": 2, "POST /network/v2.0/ports": 3, "PUT /network/v2.0/routers": 2, "POST /compute/v2.1/servers": 3, "POST /identity/v3/auth/tokens": 0},
	} {
		c, err := login(t.Context(), access)
		if err != nil {
			t.Fatal(err)
		}
		o, err := newOverlapped(t.Context(), access, cases)
		if err != nil {
			t.Fatal(err)
		}
		before := map[string]int{}
		for call := range calls {
			before[call] = cloud.Calls(call)
		}
		empty, err := c.look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		record, begun := &made{}, time.Now()
		if what == "limit" {
			err = o.deploy(t.Context(), w.service, record)
		} else {
			err = (&sequence{access: access, poll: 50 * time.Millisecond, overlap: what == "overlap"}).deploy(t.Context(), w.service, record)
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		// Three servers are built for 0.4 s each.
		if took := time.Since(begun); what == "sequence" && took < 1200*time.Millisecond || what != "sequence" && took < 400*time.Millisecond {
			t.Errorf("%s: after only %v", what, took)
		}
		for call, n := range calls {
			if got := cloud.Calls(call) - before[call]; got != n {
				t.Errorf("%s: %d times %s, want %d", what, got, call, n)
			}
		}
		if err := c.allActive(t.Context(), empty, 3); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if err := c.allActive(t.Context(), empty, 4); err == nil {
			t.Errorf("%s: three servers were taken for four", what)
		}
		if err := c.remove(t.Context(), record); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if err := c.nothingLeft(t.Context(), empty); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestFunctionsAnswer(t *testing.T) {
	says := "catena-guest: ready 1"
	cloud := fake.New(fake.Config{Console: func(name, _ string) string { return "boot\n" + says + "\n" }})
	t.Cleanup(cloud.Close)
	access, err := config(t, cloud).Access()
	if err != nil {
		t.Fatal(err)
	}
	c, err := login(t.Context(), access)
	if err != nil {
		t.Fatal(err)
	}
	before, err := c.look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := Workloads("ubuntu", "small")
	if err != nil {
		t.Fatal(err)
	}
	record := &made{}
	if err := (&sequence{access: access, poll: 50 * time.Millisecond}).deploy(t.Context(), all[0].service, record); err != nil {
		t.Fatal(err)
	}
	if err := c.functionsAnswer(t.Context(), before, 5*time.Second); err != nil {
		t.Error(err)
	}
	says = "catena-guest: failed 1: no haproxy"
	if err := c.functionsAnswer(t.Context(), before, 5*time.Second); err == nil || !strings.Contains(err.Error(), "no haproxy") {
		t.Errorf("%v", err)
	}
	says = "still booting"
	if err := c.functionsAnswer(t.Context(), before, 1500*time.Millisecond); err == nil || !strings.Contains(err.Error(), "not ready") {
		t.Errorf("%v", err)
	}
}

// The papers' own figures, through the same arithmetic, give what paper 000 says.
func TestPaperFigures(t *testing.T) {
	all, err := Workloads("ubuntu", "small")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 7+8+17 {
		t.Errorf("%d workloads", len(all))
	}
	for backend, want := range map[string]float64{"ovs": 45.89, "p4": 45.76} {
		r := &Result{Backend: backend, Rounds: 1}
		for _, w := range all {
			c := CaseResult{Name: w.Name, Group: w.Group, Paper: w.Paper, Seconds: map[Platform]harness.Sample{}}
			for _, p := range []Platform{REST, GRPC} {
				c.Seconds[p] = harness.Sample{w.Paper[backend+"/"+string(p)]}
			}
			r.Cases = append(r.Cases, c)
		}
		report := r.report()
		if got := report.Bars[0].Value.Median(); got < want-0.06 || got > want+0.06 {
			t.Errorf("%s: %.2f %% saved, the paper says %.2f", backend, got, want)
		}
		if groups := report.Tables[1]; len(groups.Rows) != 3 {
			t.Errorf("groups: %v", groups.Rows)
		}
	}
	dir := t.TempDir()
	var paths []string
	for _, backend := range []string{"ovs", "p4"} {
		// In two pieces, as long runs are made.
		for i, cases := range [][]Workload{all[:3], all[3:7]} {
			r := &Result{Backend: backend, Rounds: 1}
			for _, w := range cases {
				c := CaseResult{Name: w.Name, Group: w.Group, Clients: w.Clients, Seconds: map[Platform]harness.Sample{}}
				for _, p := range []Platform{REST, GRPC} {
					c.Seconds[p] = harness.Sample{w.Paper[backend+"/"+string(p)]}
				}
				r.Cases = append(r.Cases, c)
			}
			path := filepath.Join(dir, fmt.Sprintf("%s%d.json", backend, i))
			if err := r.save(path); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path)
		}
	}
	joined, err := Run(t.Context(), Config{}, Options{Join: paths}, harness.Options{})
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, row := range joined.Tables[1].Rows {
		if said, ok := row[7].(float64); ok {
			checked++
			if got := row[6].(float64); math.Abs(got-said) > 0.06 {
				t.Errorf("use cases %v: %.2f %% saved, the paper says %.2f", row[0], got, said)
			}
		}
	}
	if checked != 3 || len(joined.Tables[0].Rows) != 7 {
		t.Errorf("%d groups checked; %d rows", checked, len(joined.Tables[0].Rows))
	}
	if len(joined.Bars) != 2 || !joined.Bars[0].Met() {
		t.Errorf("bars: %+v", joined.Bars)
	}
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(&Result{Cases: []CaseResult{{Seconds: map[Platform]harness.Sample{REST: {1, 2}}}}}); err != nil || !strings.Contains(b.String(), `"rest":[1,2]`) {
		t.Errorf("%s, %v", &b, err)
	}
}

// TestJoinPairs has only rounds of the same run compared: the machine was another one in between.
func TestJoinPairs(t *testing.T) {
	run := func(seconds map[Platform]harness.Sample) *Result {
		return &Result{Backend: "p4", Rounds: 1, Cases: []CaseResult{{Name: "usecase1", Group: "1-4", Seconds: seconds}}}
	}
	runs := merge([]*Result{
		run(map[Platform]harness.Sample{GRPC: {1}, Limit: {1}}),
		run(map[Platform]harness.Sample{GRPC: {4}}),
		run(map[Platform]harness.Sample{GRPC: {2}, Limit: {2}}),
	})
	if got := runs[0].find("usecase1").Seconds[GRPC]; !slices.Equal(got, harness.Sample{1, 4, 2}) {
		t.Errorf("gRPC took %v", got)
	}
	same := func(s harness.Sample) harness.Sample { return s }
	if got := runs[0].ratio("usecase1", Limit, same); !slices.Equal(got, harness.Sample{1, 1}) {
		t.Errorf("ratios to the limit: %v", got)
	}
}

// counter does something when the second round begins.
type counter struct{ then func() }

func (c *counter) Write(line []byte) (int, error) {
	if strings.HasPrefix(string(line), "round 2") {
		c.then()
	}
	return len(line), nil
}
