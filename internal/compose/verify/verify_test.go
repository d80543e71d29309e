package verify_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/chain"
	"github.com/catena-nfv/catena/internal/compose"
	"github.com/catena-nfv/catena/internal/compose/verify"
	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/p4/ir"
)

func library(t testing.TB) *nf.Library {
	t.Helper()
	l, err := nf.Open("")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// requests parses chain requests; NF tables count as they are.
func requests(t testing.TB, l *nf.Library, text string) []chain.DAG {
	t.Helper()
	tables := map[string]int{}
	for _, n := range l.NFs() {
		tables[n.Name] = len(n.Tables)
	}
	dags, err := chain.Parse(text, chain.Options{Tables: func(nf string) int { return tables[nf] }, MaxLoops: 2})
	if err != nil {
		t.Fatal(err)
	}
	for i := range dags {
		dags[i].ID = i + 1
	}
	return dags
}

// random writes random requests over the NFs of the library.
func random(l *nf.Library, rng *rand.Rand, n, branches int) string {
	all := l.All()
	text := chain.RandomRequests(rng, n, chain.RandomOptions{NFs: len(all), MaxBranches: branches})
	for i := len(all); i > 0; i-- {
		text = strings.ReplaceAll(text, fmt.Sprintf("NF%d", i), all[i-1].Name)
	}
	return text
}

func configOf(t testing.TB, l *nf.Library, dags []chain.DAG, strategy string, opt compose.Options, more ...compose.NF) verify.Config {
	t.Helper()
	g, err := chain.Merge(dags, chain.MergeOptions{Strategy: strategy})
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Backbone("wire")
	if err != nil {
		t.Fatal(err)
	}
	cfg := verify.Config{Backbone: b, Graph: g, Requests: dags}
	for _, n := range l.All() {
		cfg.NFs = append(cfg.NFs, compose.NF{Name: n.Name, Program: n.Program})
	}
	cfg.NFs = append(cfg.NFs, more...)
	c, diags := compose.Compose(b, cfg.NFs, g, opt)
	if err := diags.Err(l.FileSet()); err != nil {
		t.Fatal(err)
	}
	if err := ir.Verify(c.Program); err != nil {
		t.Fatal(err)
	}
	cfg.Composed = c
	return cfg
}

func check(t testing.TB, cfg verify.Config) *verify.Report {
	t.Helper()
	r, err := verify.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Counterexample; c != nil {
		t.Fatalf("chain %s, path %d (%v): port %d: %s\nrules:\n  %s\nwant:\n  %s\ngot:\n  %s\ntrace:\n  %s\ntrace of the NFs:\n  %s",
			c.Chain, c.Path, c.NFs, c.Port, c.Data, strings.Join(c.Rules, "\n  "), strings.Join(c.Want, "\n  "), strings.Join(c.Got, "\n  "),
			strings.Join(c.Trace, "\n  "), strings.Join(c.TraceNFs, "\n  "))
	}
	return r
}

// TestRandomChains compares merged programs of random requests, linear and branched,
// by all strategies, with their NFs one after the other.
func TestRandomChains(t *testing.T) {
	l := library(t)
	for seed := range uint64(9) {
		rng := rand.New(rand.NewPCG(seed, 1))
		branches := 1 + 2*int(seed%2)
		text := random(l, rng, 1+rng.IntN(5), branches)
		strategy := chain.Strategies()[seed%3]
		t.Run(fmt.Sprintf("%d-%s", seed, strategy), func(t *testing.T) {
			cfg := configOf(t, l, requests(t, l, text), strategy, compose.Options{CopyTables: seed%4 == 3})
			cfg.Seed, cfg.Packets = seed, 30
			r := check(t, cfg)
			for _, p := range r.Paths {
				if len(p.NotReached) > 0 || p.Branches != p.BranchesAll {
					t.Errorf("%s, path %d %v: not reached: %v, and %d branches", p.Chain, p.Path, p.NFs, p.NotReached, p.BranchesAll-p.Branches)
				}
			}
		})
	}
}

// TestShapes compares what random requests have little of.
func TestShapes(t *testing.T) {
	var wide []string
	for range 12 {
		wide = append(wide, "Firewall before NAT before IDS before LB before L3fwd before L2fwd")
	}
	l := library(t)
	for _, tt := range []struct {
		name, strategy, text string
		opt                  compose.Options
		nodes                int // at least
	}{
		{name: "twice", text: "Firewall before NAT before Firewall#2 before LB before NAT#2"},
		{name: "twice, copied", text: "Firewall before NAT before Firewall#2 before LB before NAT#2", opt: compose.Options{CopyTables: true}},
		{name: "floods twice", text: "L2fwd before L3fwd before L2fwd#2 before IDS"},
		{name: "loop", text: "Firewall before NAT before L2fwd before LB\nL2fwd loop\nEnd_of_Request\nNAT before LB"},
		{name: "two loops", text: "IDS before LB before L3fwd\nIDS loop\nL3fwd loop"},
		{name: "loop in a branch", text: "IDS then LB or NAT and branch_end=L3fwd\nNAT loop"},
		{name: "more than 64 nodes", strategy: chain.StrategyParallel, text: strings.Join(wide, "\nEnd_of_Request\n"), nodes: 65},
		{name: "room for more nodes", text: "IDS before NAT", opt: compose.Options{MinNodes: 100}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := configOf(t, l, requests(t, l, tt.text), tt.strategy, tt.opt)
			if len(cfg.Graph.Nodes) < tt.nodes {
				t.Fatalf("only %d nodes", len(cfg.Graph.Nodes))
			}
			cfg.Packets = 60
			if tt.nodes > 0 {
				cfg.Packets = 8
			}
			check(t, cfg)
		})
	}
}

// TestFindsFaults breaks merged programs in ways in which a composer could be wrong.
// Each must be found, with a small counterexample.
func TestFindsFaults(t *testing.T) {
	l := library(t)
	const text = "IDS before Firewall before NAT before L2fwd\nEnd_of_Request\nFirewall before LB before L3fwd"
	hook := func(p *ir.Program) *ir.Block {
		var found *ir.Block
		ir.Walk(p.Ingress.Body.Body, func(s ir.Stmt) {
			if b, ok := s.(*ir.Block); ok && b.Annotations.Has(compose.HookAnnotation) {
				found = b
			}
		})
		return found
	}
	for name, spoil := range map[string]func(*ir.Program){
		"a node is missing": func(p *ir.Program) { h := hook(p); h.Body = h.Body[:len(h.Body)-1] },
		"a node is met by all": func(p *ir.Program) {
			h := hook(p)
			for i, s := range h.Body {
				x := s.(*ir.If)
				h.Body[i] = &ir.Block{Body: x.Then}
			}
		},
		"a drop does not end the chain": func(p *ir.Program) {
			for _, s := range hook(p).Body {
				x := s.(*ir.If)
				ir.Walk(x.Then, func(s ir.Stmt) {
					if y, ok := s.(*ir.If); ok && len(y.Then) == 2 {
						if _, leaves := y.Then[1].(*ir.Leave); leaves {
							y.Then = y.Then[:1]
						}
					}
				})
			}
		},
		"the order is wrong":    func(p *ir.Program) { h := hook(p); h.Body[0], h.Body[1] = h.Body[1], h.Body[0] },
		"the egress is missing": func(p *ir.Program) { p.Egress.Body.Body = nil },
		"scopes are mixed": func(p *ir.Program) {
			for _, x := range p.Ingress.Tables {
				if len(x.Keys) > 0 && x.Keys[0].Name == compose.ScopeKey {
					x.Keys[0].X = &ir.Const{T: x.Keys[0].Type, Value: big.NewInt(1)}
				}
			}
		},
		"a checksum is missing": func(p *ir.Program) { p.ComputeChecksum.Body.Body = p.ComputeChecksum.Body.Body[:1] },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := configOf(t, l, requests(t, l, text), "", compose.Options{})
			cfg.Packets = 150
			cfg.Program = ir.Copy(cfg.Composed.Program)
			spoil(cfg.Program)
			r, err := verify.Run(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			c := r.Counterexample
			if c == nil {
				t.Fatal("not found", cfg.Graph.Nodes)
			}
			if len(c.Data) > 2*60 || len(c.Rules) > 4 || len(c.Trace) == 0 || len(c.TraceNFs) == 0 || c.Stateful {
				t.Errorf("not small, or without traces: %+v", c)
			}
			if slices.Equal(c.Want, c.Got) {
				t.Errorf("no difference: %v", c.Want)
			}
		})
	}
}
