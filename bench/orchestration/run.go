package orchestration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/catena-nfv/catena/bench/harness"
)

// Config is what only the command can name.
type Config struct {
	// Access reads how the cloud is reached, and fails where no cloud is named.
	Access func() (Access, error)
	// Controller starts the product on that cloud, with a state of its own.
	Controller func(ctx context.Context, a Access) (*Endpoint, error)
}

// Options of a run beyond those of all benchmarks.
type Options struct {
	Cases   []string
	Only    []string // platforms; empty: all
	Backend string   // what the cloud's network is made of: "ovs" or "p4"
	Image   string
	Flavor  string
	Poll    time.Duration // of the papers' sequence
	Guests  bool          // servers run something: their functions must answer
	Out     string        // folder for JSON, Markdown and PNG; "": none
	Join    []string      // JSON files of other runs, to be shown together; no run is made
}

// runner measures.
type runner struct {
	opt        Options
	product    *Endpoint
	sequence   *Endpoint
	overlap    *Endpoint // the sequence that asks for all servers first
	overlapped *overlapped
	calls      *calls
	tell       func(string, ...any)
	repeated   []string
	seconds    map[string]harness.Sample // by case and platform, so far
}

// timeLimit bounds one deployment of all clients.
const timeLimit = 10 * time.Minute

// measure deploys a workload once on a platform, checks it, removes it, and returns the
// seconds from the first request to the last client's answer that all is ACTIVE.
func (r *runner) measure(ctx context.Context, w *Workload, p Platform) (seconds float64, err error) {
	before, err := r.calls.look(ctx)
	if err != nil {
		return 0, err
	}
	records := make([]*made, w.Clients)
	within, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	started := time.Now()
	g, within := errgroup.WithContext(within)
	for i := range w.Clients {
		records[i] = &made{}
		g.Go(func() error { return r.deploy(within, w, p, i, records[i]) })
	}
	err = g.Wait()
	took := time.Since(started)
	if err == nil {
		err = r.calls.allActive(ctx, before, w.Instances())
	}
	if err == nil && r.opt.Guests && (p == GRPC || p == RESTEngine) {
		err = r.calls.functionsAnswer(ctx, before, 5*time.Minute)
	}
	// What was made goes in any case, also when the run is interrupted.
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeLimit)
	defer cancel()
	var all errgroup.Group
	for i := range w.Clients {
		all.Go(func() error { return r.remove(after, w, p, i, records[i], err != nil) })
	}
	err = errors.Join(err, all.Wait(), r.calls.nothingLeft(after, before))
	return took.Seconds(), err
}

func (r *runner) deploy(ctx context.Context, w *Workload, p Platform, client int, record *made) error {
	name, text := w.of(client)
	switch p {
	case REST:
		return applyREST(ctx, r.sequence, name, text)
	case RESTOverlap:
		return applyREST(ctx, r.overlap, name, text)
	case GRPC:
		return applyGRPC(ctx, r.product, name, text)
	case RESTEngine:
		return applyREST(ctx, r.product, name, text)
	case GRPCSequence:
		return applyGRPC(ctx, r.sequence, name, text)
	}
	return r.overlapped.deploy(ctx, w.service, record)
}

// remove removes one client's service. After a failure it may be gone already.
func (r *runner) remove(ctx context.Context, w *Workload, p Platform, client int, record *made, failed bool) error {
	name, _ := w.of(client)
	var err error
	switch p {
	case REST, GRPCSequence:
		err = deleteGRPC(ctx, r.sequence, name)
	case RESTOverlap:
		err = deleteGRPC(ctx, r.overlap, name)
	case GRPC, RESTEngine:
		err = deleteGRPC(ctx, r.product, name)
	default:
		err = r.overlapped.calls.remove(ctx, record)
	}
	if err != nil && failed && strings.Contains(err.Error(), "NotFound") {
		return nil
	}
	return err
}

// turn is one measurement in the rounds. One that fails is made once more, and told of.
func (r *runner) turn(w *Workload, p Platform) harness.Case {
	return harness.Case{Name: w.Name + " " + string(p), Measure: func(ctx context.Context) (float64, error) {
		seconds, err := r.measure(ctx, w, p)
		if err != nil && ctx.Err() == nil {
			r.tell("%s, %s: %v; once more", w.Name, p, err)
			r.repeated = append(r.repeated, fmt.Sprintf("%s, %s: %v", w.Name, p, err))
			seconds, err = r.measure(ctx, w, p)
		}
		if err == nil {
			r.tell("%s, %s: %.2f s", w.Name, p, seconds)
			key := w.Name + " " + string(p)
			r.seconds[key] = append(r.seconds[key], seconds)
		}
		return seconds, err
	}}
}

// Run measures and reports.
func Run(ctx context.Context, cfg Config, opt Options, common harness.Options) (*harness.Report, error) {
	if len(opt.Join) > 0 {
		return join(opt, common)
	}
	if opt.Backend != "ovs" && opt.Backend != "p4" {
		return nil, fmt.Errorf("backend %q: say what the cloud's network is made of, ovs or p4", opt.Backend)
	}
	all, err := Workloads(opt.Image, opt.Flavor)
	if err != nil {
		return nil, err
	}
	cases, err := Choose(all, opt.Cases)
	if err != nil {
		return nil, err
	}
	platforms, err := choosePlatforms(opt.Only)
	if err != nil {
		return nil, err
	}
	access, err := cfg.Access()
	if err != nil {
		return nil, err
	}
	r := &runner{opt: opt, tell: common.Tell, seconds: map[string]harness.Sample{}}
	if r.calls, err = login(ctx, access); err != nil {
		return nil, err
	}
	if r.overlapped, err = newOverlapped(ctx, access, cases); err != nil {
		return nil, err
	}
	if r.sequence, err = serveSequence(&sequence{access: access, poll: opt.Poll}); err != nil {
		return nil, err
	}
	defer func() { _ = r.sequence.Close() }()
	if r.overlap, err = serveSequence(&sequence{access: access, poll: opt.Poll, overlap: true}); err != nil {
		return nil, err
	}
	defer func() { _ = r.overlap.Close() }()
	if r.product, err = cfg.Controller(ctx, access); err != nil {
		return nil, fmt.Errorf("controller: %w", err)
	}
	defer func() { _ = r.product.Close() }()
	var list []harness.Case
	for i := range cases {
		for _, p := range platforms {
			list = append(list, r.turn(&cases[i], p))
		}
	}
	for _, p := range platforms {
		seconds, err := r.measure(ctx, &cases[0], p)
		if err != nil {
			return nil, fmt.Errorf("warm-up: %s, %s: %w", cases[0].Name, p, err)
		}
		common.Tell("warm-up: %s, %s: %.2f s", cases[0].Name, p, seconds)
	}
	_, failure := harness.Rounds(ctx, common, list)
	// What was measured is worth to be kept, whatever ended the run.
	common.Rounds = 0
	var measured []CaseResult
	for _, w := range cases {
		c := CaseResult{Name: w.Name, Source: w.Source, Group: w.Group, Clients: w.Clients, Servers: w.Servers, Paper: w.Paper, Seconds: r.complete(w.Name, platforms)}
		if len(c.Seconds) > 0 {
			measured = append(measured, c)
			common.Rounds = max(common.Rounds, c.rounds())
		}
	}
	if failure != nil && (len(measured) == 0 || opt.Out == "") {
		return nil, failure
	}
	result := newResult(opt, common, access)
	result.Repeated, result.Cases = r.repeated, measured
	report := result.report()
	if opt.Out != "" {
		if err := result.write(opt.Out, report); err != nil {
			return nil, errors.Join(failure, err)
		}
		common.Tell("%d cases are written to %s", len(measured), opt.Out)
	}
	return report, failure
}

// complete returns what was measured of a case, in rounds in which all of its platforms
// were that were measured at all.
func (r *runner) complete(name string, platforms []Platform) map[Platform]harness.Sample {
	out, rounds := map[Platform]harness.Sample{}, 0
	for _, p := range platforms {
		s := r.seconds[name+" "+string(p)]
		if len(s) == 0 {
			continue
		}
		if out[p] = s; rounds == 0 || len(s) < rounds {
			rounds = len(s)
		}
	}
	for p, s := range out {
		out[p] = s[:rounds]
	}
	return out
}

func choosePlatforms(names []string) ([]Platform, error) {
	if len(names) == 0 {
		return Platforms, nil
	}
	var out []Platform
	for _, p := range Platforms {
		for _, n := range names {
			if string(p) == n {
				out = append(out, p)
			}
		}
	}
	if len(out) != len(names) {
		return nil, fmt.Errorf("platforms %v: there are %v", names, Platforms)
	}
	return out, nil
}

// write stores a result in all its forms.
func (r *Result) write(dir string, report *harness.Report) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	base := filepath.Join(dir, "orchestration-"+r.Backend)
	if err := r.save(base + ".json"); err != nil {
		return err
	}
	if err := writeMarkdown(base+".md", report); err != nil {
		return err
	}
	return plotAll(base, []*Result{r})
}
