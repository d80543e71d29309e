package verify

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/catena-nfv/catena/internal/chain"
	"github.com/catena-nfv/catena/internal/compose"
	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// Config says what is compared.
type Config struct {
	// Backbone is the program that Composed was made with. It must let every packet
	// pass, as `wire` does.
	Backbone *ir.Program
	NFs      []compose.NF
	// Graph is the merged order of the requests, with the numbers of its chains.
	Graph    chain.Graph
	Requests []chain.DAG
	Composed *compose.Composed

	// Program, when not nil, takes the place of Composed.Program in what runs: the same
	// program after passes, or printed and compiled again.
	Program *ir.Program
	// Open, when not nil, opens the device that is compared. The merged program in the
	// interpreter is then the other side. Nil compares the interpreter with the NFs.
	Open func(*ir.Program) (target.Device, error)

	// Packets is how many packets each path gets for each set of rules, at least; 0: 100.
	Packets int
	Seed    uint64
	// Progress, when not nil, is called behind each path.
	Progress func(PathReport)
}

// Report is what was shown.
type Report struct {
	Paths          []PathReport    `json:"paths"`
	Packets        int             `json:"packets"`
	Rules          int             `json:"rules"`
	Counterexample *Counterexample `json:"counterexample,omitempty"`
}

// PathReport is what was shown of one path of one chain.
type PathReport struct {
	Chain   string   `json:"chain"`
	ID      int      `json:"id"`
	Path    int      `json:"path"`
	NFs     []string `json:"nfs"`
	Packets int      `json:"packets"`
	Dropped int      `json:"dropped"` // of the packets
	// Actions of tables that some packet took, and branches, each of an if's two ways
	// being one, of all that the NFs of the path have.
	Actions     int      `json:"actions"`
	ActionsAll  int      `json:"actions_all"`
	Branches    int      `json:"branches"`
	BranchesAll int      `json:"branches_all"`
	NotReached  []string `json:"not_reached,omitempty"` // actions, as NF.table.action
}

// incomplete tells whether something was not reached.
func (p PathReport) incomplete() bool { return len(p.NotReached) > 0 || p.Branches < p.BranchesAll }

// run is the state of one comparison.
type run struct {
	cfg      Config
	routes   []route
	programs map[string]*ir.Program
	tables   map[string][]*table
	rng      *rand.Rand
	values   *values
	report   Report

	oracle *alone // measures what is reached, also when it is not compared
	left   machine
	right  machine
	trace  *tracer // of the interpreter that runs the merged program

	observe bool     // lookups are remembered
	seen    []lookup // by the first set of rules
	replay  []lookup // whose packets are to be sent with this set of rules
}

// Run compares. An error means that the comparison could not be made; a difference is
// the report's Counterexample.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	if cfg.Packets == 0 {
		cfg.Packets = 100
	}
	if cfg.Program == nil {
		cfg.Program = cfg.Composed.Program
	}
	r := &run{cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 3)), programs: map[string]*ir.Program{}, tables: map[string][]*table{}}
	if err := r.prepare(); err != nil {
		return nil, err
	}
	if err := r.open(); err != nil {
		return nil, err
	}
	defer func() { _ = errors.Join(r.left.close(), r.right.close()) }()
	paths := make([]PathReport, len(r.routes))
	reached := make([]coverage, len(r.routes))
	for i, x := range r.routes {
		paths[i] = PathReport{Chain: x.name, ID: x.chain, Path: x.path, NFs: x.nfs}
		reached[i] = coverage{}
	}
	// First with rules that let packets pass, so that they reach the NFs at the end;
	// then with all, several times, for what NFs do together; then with rules for what
	// was not reached.
	easy := r.rules(true)
	rules := easy
	for n := 0; n < plainSets || n < maxSets && slices.ContainsFunc(paths, PathReport.incomplete); n++ {
		switch {
		case n == 0:
		case n < plainSets:
			rules = r.rules(false)
		case n%2 == 0 && !r.canAim(paths):
			easy, r.seen = r.rules(true), nil
			rules, r.replay = easy, nil
		default:
			rules = r.aimed(easy, paths)
		}
		r.report.Rules += len(rules)
		if err := errors.Join(r.oracle.load(rules), r.left.load(rules), r.right.load(rules)); err != nil {
			return nil, err
		}
		r.observe = n == 0 || n >= plainSets
		for i, x := range r.routes {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if n >= plainSets && !paths[i].incomplete() {
				continue
			}
			if err := r.path(x, i, rules, reached[i], &paths[i]); err != nil {
				return nil, fmt.Errorf("%s: %w", x, err)
			}
			r.sum(x, reached[i], &paths[i])
			if r.report.Counterexample != nil {
				r.report.Paths = append(r.report.Paths, paths[:i+1]...)
				return &r.report, nil
			}
		}
	}
	if cfg.Progress != nil {
		for _, p := range paths {
			cfg.Progress(p)
		}
	}
	r.report.Paths = paths
	return &r.report, nil
}

// Sets of rules: those that every path gets, and how many a path gets of which not all
// was reached.
const (
	plainSets = 4
	maxSets   = 14
)

// prepare works out routes, programs and tables.
func (r *run) prepare() error {
	for _, n := range r.cfg.NFs {
		for _, c := range r.cfg.Graph.Nodes {
			if c.NF == n.Name {
				r.programs[n.Name] = n.Program
				r.tables[n.Name] = tablesOf(n.Name, n.Program)
			}
		}
	}
	for _, name := range r.names() {
		if usesRandom(r.programs[name]) {
			return fmt.Errorf("NF %s draws random numbers, so that two runs of it cannot be compared", name)
		}
	}
	programs := []*ir.Program{r.cfg.Program}
	for _, name := range r.names() {
		programs = append(programs, r.programs[name])
	}
	r.values = newValues(r.rng, programs)
	for _, d := range r.cfg.Requests {
		c, err := r.chainOf(d)
		if err != nil {
			return err
		}
		for i, p := range d.Paths() {
			x := route{chain: c.ID, path: i + 1, name: d.Name, scope: c.ID, loops: map[int]bool{}, maxLoops: d.MaxLoops}
			for j, n := range p {
				x.nfs = append(x.nfs, d.NFs[n].Name)
				x.loops[j] = d.NFs[n].Loop
			}
			r.routes = append(r.routes, x)
		}
	}
	return nil
}

// names returns the NFs, sorted.
func (r *run) names() []string {
	var out []string
	for n := range r.programs {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}

// chainOf finds a request in the graph: by its number or, without one, its name.
func (r *run) chainOf(d chain.DAG) (chain.Chain, error) {
	for _, c := range r.cfg.Graph.Chains {
		if d.ID == c.ID || d.ID == 0 && d.Name == c.Name {
			return c, nil
		}
	}
	return chain.Chain{}, fmt.Errorf("chain %q is not in the merged graph", d.Name)
}

// open makes the two sides.
func (r *run) open() error {
	var err error
	if r.oracle, err = newAlone(r.cfg.Backbone, r.programs); err != nil {
		return err
	}
	r.trace = &tracer{}
	sw, err := interp.New(r.cfg.Program, interp.Options{Now: noTime, Tracer: r.trace})
	if err != nil {
		return err
	}
	m, err := r.merged(sw)
	if err != nil {
		return err
	}
	if r.cfg.Open == nil {
		r.left, r.right = r.oracle, m
		return nil
	}
	dev, err := r.cfg.Open(r.cfg.Program)
	if err != nil {
		return err
	}
	other, err := r.merged(dev)
	if err != nil {
		return errors.Join(err, dev.Close())
	}
	r.left, r.right = m, other
	return nil
}

// merged makes the machine of the merged program on a device.
func (r *run) merged(dev target.Device) (*merged, error) {
	prefixes := map[string][]string{}
	for i, p := range r.cfg.Composed.Prefixes {
		nf := r.cfg.Graph.Nodes[i].NF
		if p != "" && !slices.Contains(prefixes[nf], p) {
			prefixes[nf] = append(prefixes[nf], p)
		}
	}
	var tables []*table
	for _, name := range r.names() {
		tables = append(tables, r.tables[name]...)
	}
	return newMerged(r.cfg.Program, tables, prefixes, r.cfg.Graph, r.cfg.Composed.NodeBits, dev)
}

// rules makes the rules of all chains.
func (r *run) rules(gentle bool) []rule {
	var out []rule
	done := map[int]bool{}
	for _, x := range r.routes {
		if done[x.scope] {
			continue
		}
		done[x.scope] = true
		for _, nf := range r.names() {
			if slices.ContainsFunc(r.routes, func(y route) bool { return y.scope == x.scope && slices.Contains(y.nfs, nf) }) {
				out = append(out, r.values.rules(x.scope, r.tables[nf], 2, gentle)...)
			}
		}
	}
	return out
}

// path sends packets along one route until nothing new is reached.
func (r *run) path(x route, index int, rules []rule, seen coverage, report *PathReport) error {
	if err := errors.Join(r.oracle.take(x), r.left.take(x), r.right.take(x)); err != nil {
		return err
	}
	var sources []*packets
	aims := map[*packets][]aim{}
	for _, nf := range slices.Compact(slices.Sorted(slices.Values(x.nfs))) {
		g := newPackets(r.values, r.programs[nf])
		for i := range rules {
			if rules[i].scope == x.scope && rules[i].table.nf == nf {
				aims[g] = append(aims[g], aim{g, &rules[i]})
			}
		}
		sources = append(sources, g)
	}
	sources = append(sources, newPackets(r.values, r.cfg.Program))
	var again []target.Packet
	for _, l := range r.replay {
		if l.route == index {
			again = append(again, l.packet)
		}
	}
	idle, n := 0, 0
	for n < r.cfg.Packets || idle < r.cfg.Packets && n < 4*r.cfg.Packets {
		g := sources[n%len(sources)]
		var want []aim
		if w := aims[g]; len(w) > 0 && r.rng.IntN(4) > 0 {
			want = append(want, w[n/len(sources)%len(w)])
		}
		if w := aims[sources[r.rng.IntN(len(sources))]]; len(w) > 0 && r.rng.IntN(2) > 0 {
			want = append(want, w[r.rng.IntN(len(w))])
		}
		p := target.Packet{Port: uint32(1 + r.rng.IntN(2)), Data: g.make(n%8 == 7, want...)}
		if len(again) > 0 {
			p, again = again[0], again[1:]
		}
		p, err := r.withChecksums(p)
		if err != nil {
			return err
		}
		before := len(seen)
		differ, err := r.compare(p, index, seen, report)
		if err != nil {
			return err
		}
		n++
		if differ {
			return r.explain(x, rules, p)
		}
		if idle++; len(seen) > before {
			idle = 0
		}
	}
	return nil
}

// withChecksums lets the backbone alone compute the checksums of a packet.
func (r *run) withChecksums(p target.Packet) (target.Packet, error) {
	out, err := r.oracle.backbone.run(p, nil)
	if err != nil || len(out) != 1 {
		return p, err
	}
	return target.Packet{Port: p.Port, Data: out[0].Data}, nil
}

// compare sends one packet through both sides.
func (r *run) compare(p target.Packet, index int, seen coverage, report *PathReport) (differ bool, err error) {
	r.oracle.watch = func(box string, e interp.Event) {
		seen.note(box, e)
		if r.observe && e.Kind == interp.EventTable {
			r.remember(index, box, e, p)
		}
	}
	a, err := r.left.inject(p)
	if err != nil {
		return false, fmt.Errorf("packet %x on port %d: %w", p.Data, p.Port, err)
	}
	if r.left != machine(r.oracle) {
		if _, err := r.oracle.inject(p); err != nil {
			return false, err
		}
	}
	r.oracle.watch = nil
	b, err := r.right.inject(p)
	if err != nil {
		return false, fmt.Errorf("packet %x on port %d: %w", p.Data, p.Port, err)
	}
	report.Packets++
	r.report.Packets++
	if len(a.packets) == 0 {
		report.Dropped++
	}
	return !same(a, b), nil
}

func usesRandom(p *ir.Program) bool {
	found := false
	look := func(s ir.Stmt) {
		call, ok := s.(*ir.Call)
		found = found || ok && call.Op == ir.OpRandom
	}
	for _, k := range p.Controls() {
		ir.Walk(k.Body.Body, look)
		for _, a := range k.Actions {
			ir.Walk(a.Body, look)
		}
	}
	return found
}
