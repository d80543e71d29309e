package orchestration

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/catena-nfv/catena/bench/harness"
)

// Result is a run on one cloud, as it is stored.
type Result struct {
	Backend  string          `json:"backend"`
	Zone     string          `json:"zone,omitempty"`
	Guests   bool            `json:"guests"`
	Poll     float64         `json:"poll_seconds"`
	Rounds   int             `json:"rounds"`
	Machine  harness.Machine `json:"machine"`
	Measured time.Time       `json:"measured"`
	Cases    []CaseResult    `json:"cases"`
	Repeated []string        `json:"repeated,omitempty"`

	pieces []*Result // that it was joined from
}

// CaseResult is one workload on all platforms.
type CaseResult struct {
	Name    string                      `json:"name"`
	Source  string                      `json:"source"`
	Group   string                      `json:"group,omitempty"`
	Clients int                         `json:"clients"`
	Servers int                         `json:"servers"`
	Seconds map[Platform]harness.Sample `json:"seconds"`
	Paper   map[string]float64          `json:"paper,omitempty"`
}

// rounds is how often the case was measured.
func (c *CaseResult) rounds() int {
	for _, s := range c.Seconds {
		return len(s)
	}
	return 0
}

var scenario = harness.Scenario{
	Name: "orchestration", Title: "seconds until a service runs on OpenStack, by interface and engine",
	Source: "paper 000, Tables V and VI; 001, Tables II and III", Root: true,
	Defaults: harness.Options{Rounds: 3, Seed: 1},
}

// Scenario is the benchmark with its flags.
func Scenario(cfg Config) harness.Scenario {
	s := scenario
	var opt Options
	s.Example = `  OS_CLOUD=bench CATENA_OPENSTACK_ZONE=fake catena bench orchestration --rounds 5 --out results
  catena bench orchestration --cases grid --platforms rest,grpc --json
  catena bench orchestration --join results/orchestration-ovs.json,results/orchestration-p4.json --out results`
	s.Flags = func(f *pflag.FlagSet) {
		f.StringSliceVar(&opt.Cases, "cases", []string{"usecases"}, "usecases (paper 000), sfc and grid (paper 001), all, or names of cases")
		f.StringSliceVar(&opt.Only, "platforms", nil, "of rest, grpc, rest+overlap, rest+engine, grpc+sequence, limit (default all)")
		f.StringVar(&opt.Backend, "backend", "ovs", "what the cloud's network is made of, for the report: ovs or p4")
		f.StringVar(&opt.Image, "image", "ubuntu", "image of the servers")
		f.StringVar(&opt.Flavor, "flavor", "small", "flavor of the servers")
		f.DurationVar(&opt.Poll, "poll", time.Second, "how often the papers' sequence asks for a server's status")
		f.BoolVar(&opt.Guests, "guests", false, "something runs in the servers: functions must answer")
		f.StringVar(&opt.Out, "out", "", "folder for JSON, Markdown and plots")
		f.StringSliceVar(&opt.Join, "join", nil, "show these JSON files of earlier runs together, and measure nothing")
	}
	s.Run = func(ctx context.Context, common harness.Options) (*harness.Report, error) {
		return Run(ctx, cfg, opt, common)
	}
	return s
}

func newResult(opt Options, common harness.Options, a Access) *Result {
	return &Result{
		Backend: opt.Backend, Zone: a.Zone, Guests: opt.Guests, Poll: opt.Poll.Seconds(), Rounds: common.Rounds,
		Machine: harness.NewReport(scenario, common).Machine, Measured: time.Now().UTC().Truncate(time.Second),
	}
}

// load reads a stored result.
func load(path string) (*Result, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r Result
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(r.Cases) == 0 || r.Backend == "" {
		return nil, fmt.Errorf("%s is no result of this benchmark", path)
	}
	return &r, nil
}

func (r *Result) save(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// saved is how many per cent less time one sample takes than another, round by round.
func saved(less, than harness.Sample) harness.Sample {
	out := less.Ratio(than)
	for i := range out {
		out[i] = 100 * (1 - out[i])
	}
	return out
}

// allowed is what the product may take: 5 % more than the limit, or 100 ms.
func allowed(limit harness.Sample) harness.Sample {
	out := make(harness.Sample, len(limit))
	for i, v := range limit {
		out[i] = max(1.05*v, v+0.1)
	}
	return out
}

// sum adds samples round by round, as many rounds as all of them have.
func sum(samples ...harness.Sample) harness.Sample {
	if len(samples) == 0 {
		return nil
	}
	out := slices.Clone(samples[0])
	for _, s := range samples[1:] {
		out = out[:min(len(out), len(s))]
		for i := range out {
			out[i] += s[i]
		}
	}
	return out
}

// total adds a platform's seconds over the cases of a group; "" is all of paper 000.
func (r *Result) total(group string, p Platform) (seconds harness.Sample, cases int) {
	var parts []harness.Sample
	for _, c := range r.Cases {
		if c.Group != "" && (group == "" || c.Group == group) && len(c.Seconds[p]) > 0 {
			parts = append(parts, c.Seconds[p])
		}
	}
	return sum(parts...), len(parts)
}

// cell is a sample in a table, nothing where nothing was measured.
func cell(s harness.Sample) any {
	if len(s) == 0 {
		return nil
	}
	return s
}

func paper(c CaseResult, backend string, p Platform) any {
	if v := c.Paper[backend+"/"+string(p)]; v > 0 {
		return v
	}
	return nil
}

// report shows one run.
func (r *Result) report() *harness.Report {
	out := harness.NewReport(scenario, harness.Options{Rounds: r.Rounds})
	out.Machine = r.Machine
	t := harness.Table{Title: "seconds until all is ACTIVE, backend " + r.Backend, Columns: []harness.Column{
		{Key: "case", Head: "case"}, {Key: "clients", Head: "clients"}, {Key: "servers", Head: "servers"},
		{Key: "rest", Head: "REST", Unit: "s"}, {Key: "grpc", Head: "gRPC", Unit: "s"},
		{Key: "rest_overlap", Head: "REST, overlap", Unit: "s"},
		{Key: "rest_engine", Head: "REST + engine", Unit: "s"}, {Key: "grpc_sequence", Head: "gRPC + sequence", Unit: "s"},
		{Key: "limit", Head: "limit", Unit: "s"}, {Key: "saved", Head: "gRPC saves", Unit: "%"}, {Key: "above", Head: "above limit", Unit: "s"},
		{Key: "paper_rest", Head: "paper REST", Unit: "s"}, {Key: "paper_grpc", Head: "paper gRPC", Unit: "s"},
	}}
	for _, c := range r.Cases {
		s := c.Seconds
		t.Row(c.Name, c.Clients, c.Servers, cell(s[REST]), cell(s[GRPC]), cell(s[RESTOverlap]), cell(s[RESTEngine]), cell(s[GRPCSequence]), cell(s[Limit]),
			cell(saved(s[GRPC], s[REST])), cell(s[GRPC].Sub(s[Limit])), paper(c, r.Backend, REST), paper(c, r.Backend, GRPC))
	}
	out.Tables = append(out.Tables, t)
	r.addGroups(out)
	r.addBars(out)
	out.Notes = r.notes()
	return out
}

// addGroups adds paper 000's Table VI: means over use cases without networks to be made
// between (1–4), with them (5–7), and all.
func (r *Result) addGroups(out *harness.Report) {
	t := harness.Table{Title: "mean over the use cases of paper 000 (Table VI)", Columns: []harness.Column{
		{Key: "cases", Head: "use cases"}, {Key: "measured", Head: "measured"}, {Key: "rest", Head: "REST", Unit: "s"}, {Key: "grpc", Head: "gRPC", Unit: "s"},
		{Key: "limit", Head: "limit", Unit: "s"}, {Key: "saved", Head: "gRPC saves", Unit: "%"},
	}}
	for _, g := range []string{"", "1-4", "5-7"} {
		rest, n := r.total(g, REST)
		grpc, m := r.total(g, GRPC)
		limit, l := r.total(g, Limit)
		if n == 0 || m != n {
			continue
		}
		if l != n {
			limit = nil
		}
		f := 1 / float64(n)
		t.Row(cmp.Or(g, "1-7"), n, rest.Scale(f), grpc.Scale(f), cell(limit.Scale(f)), saved(grpc, rest))
	}
	if len(t.Rows) > 0 {
		out.Tables = append(out.Tables, t)
	}
}

func (r *Result) addBars(out *harness.Report) {
	rest, n := r.total("", REST)
	grpc, m := r.total("", GRPC)
	if n > 0 && n == m {
		out.Bars = append(out.Bars, harness.Bar{Name: "time saved over the use cases of paper 000 on the same cloud, in %", Value: saved(grpc, rest), AtLeast: 45.8})
	}
	r.addCaseBars(out)
}

// addCaseBars compares one client that wants one server with REST, and all cases with what
// the cloud itself takes.
func (r *Result) addCaseBars(out *harness.Report) {
	if v := r.ratio("n1-m1", REST, func(s harness.Sample) harness.Sample { return s }); len(v) > 0 {
		out.Bars = append(out.Bars, harness.Bar{Name: "gRPC / REST on " + r.Backend + " with one client and one server", Value: v, AtMost: 1})
	}
	var worst harness.Sample
	name := ""
	for _, c := range r.Cases {
		if v := r.ratio(c.Name, Limit, allowed); len(v) > 0 && (name == "" || v.Median() > worst.Median()) {
			worst, name = v, c.Name
		}
	}
	if name != "" {
		out.Bars = append(out.Bars, harness.Bar{Name: "gRPC on " + r.Backend + " / (the limit and 5 % or 100 ms), worst case " + name, Value: worst, AtMost: 1})
	}
}

// ratio compares gRPC with another platform in one case, round by round. Rounds of runs
// that were joined are compared with those of the same run only: a run may lack a platform.
func (r *Result) ratio(name string, other Platform, change func(harness.Sample) harness.Sample) harness.Sample {
	pieces := r.pieces
	if pieces == nil {
		pieces = []*Result{r}
	}
	var out harness.Sample
	for _, piece := range pieces {
		if c := piece.find(name); c != nil {
			out = append(out, c.Seconds[GRPC].Ratio(change(c.Seconds[other]))...)
		}
	}
	return out
}

func (r *Result) notes() []string {
	what := "real guests"
	if !r.Guests {
		what = "servers in which nothing runs are counted as well: ACTIVE is what the cloud says"
	}
	notes := []string{
		fmt.Sprintf("REST authenticates, makes OpenStack's calls one after another, and asks a server for its status every %g s until it is ACTIVE before it asks for the next, as the papers did; "+
			"REST, overlap asks for all of them first. gRPC is Catena. REST + engine and gRPC + sequence have the interfaces exchanged. The limit makes the cloud's calls without an orchestrator, each as soon as what it needs is there.", r.Poll),
		"Zone " + cmp.Or(r.Zone, "of the cloud's choice") + "; " + what + ". After each measurement every server was found ACTIVE by the cloud's own list, and after its removal the project as before.",
		"The papers' figures are of other machines: compare the shares, not the seconds.",
	}
	for _, text := range r.Repeated {
		notes = append(notes, "Measured once more: "+text)
	}
	return notes
}
