// Package merge measures what the merge of many chains costs and saves: paper 003, section IV-E
// and Fig. 8. Random requests of the paper's kind are merged by every strategy; the tables of the result
// are told as a part of what the parallelism method takes.
package merge

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/catena-nfv/catena/bench/harness"
	"github.com/catena-nfv/catena/internal/chain"
)

// embedded is the row of chains that arrive one after another: each is embedded into the order that is
// deployed (chain.Embed), as at run time.
const embedded = "embed"

// Scenario returns the benchmark.
func Scenario() harness.Scenario {
	s := harness.Scenario{
		Name: "merge", Title: "tables and time of merging chains", Source: "paper 003, Fig. 8",
		Defaults: harness.Options{Rounds: 3, Seed: 1},
	}
	s.Run = func(ctx context.Context, opt harness.Options) (*harness.Report, error) {
		return run(ctx, s, opt, []int{1, 2, 4, 8, 16, 32, 64, 128, 256})
	}
	return s
}

func run(ctx context.Context, s harness.Scenario, opt harness.Options, sizes []int) (*harness.Report, error) {
	r := harness.NewReport(s, opt)
	kinds := []struct {
		title    string
		branches int
	}{
		{"requests with up to 3 branches, fewer than 15 of 15 NFs (the paper's criteria)", 3},
		{"linear requests, fewer than 15 of 15 NFs", 1},
	}
	for _, k := range kinds {
		opt.Tell("%s", k.title)
		t := harness.Table{Title: k.title, Columns: columns()}
		for _, n := range sizes {
			opt.Tell("%d chains", n)
			m, err := measure(ctx, opt, k.branches, n)
			if err != nil {
				return nil, err
			}
			t.Row(n, m.parallel.Median(), m.percent[0], m.percent[1], m.percent[2], m.ms[0], m.ms[1], m.ms[2])
			if n == barAt {
				name := fmt.Sprintf("%d chains, up to %d branches: ", n, k.branches)
				r.Bars = append(r.Bars,
					harness.Bar{Name: name + "tables of beam / Algorithm 1", Value: m.percent[1].Ratio(m.percent[0]), AtMost: 0.99},
					harness.Bar{Name: name + "time of beam, ms", Value: m.ms[1], AtMost: 1000})
			}
		}
		r.Tables = append(r.Tables, t)
	}
	r.Notes = []string{
		"Tables are told in per cent of the parallelism method's: fewer is better; each NF counts one. Every round draws " +
			"other requests. lcs is Algorithm 1 of the paper. embed: the chains arrive one by one and the deployed order is kept.",
		"The paper: 13.15 % for 128 chains, in less than a second (Fig. 8).",
	}
	return r, nil
}

// barAt is the number of chains at which the paper gives its figures.
const barAt = 128

// strategies are compared with the parallelism method.
func strategies() []string { return []string{chain.StrategyLCS, chain.StrategyBeam, embedded} }

func columns() []harness.Column {
	c := []harness.Column{{Key: "chains", Head: "chains"}, {Key: "parallel_tables", Head: "parallel", Unit: "tables"}}
	for _, s := range strategies() {
		c = append(c, harness.Column{Key: s + "_percent", Head: s, Unit: "%"})
	}
	for _, s := range strategies() {
		c = append(c, harness.Column{Key: s + "_ms", Head: s, Unit: "ms"})
	}
	return c
}

// measured is what the rounds gave for one number of chains.
type measured struct {
	parallel    harness.Sample   // tables of the parallelism method
	percent, ms []harness.Sample // by strategy: tables, in per cent of parallel; time of the merge
}

// measure merges n requests of one kind by every strategy, other requests in each round.
func measure(ctx context.Context, opt harness.Options, branches, n int) (measured, error) {
	m := measured{percent: make([]harness.Sample, len(strategies())), ms: make([]harness.Sample, len(strategies()))}
	for round := range opt.Rounds {
		rng := rand.New(rand.NewPCG(opt.Seed, uint64(round)<<32|uint64(n)))
		text := chain.RandomRequests(rng, n, chain.RandomOptions{MaxBranches: branches})
		reqs, err := chain.Parse(text, chain.Options{File: fmt.Sprintf("random-%d", round)})
		if err != nil {
			return m, err
		}
		base, err := chain.Merge(reqs, chain.MergeOptions{Strategy: chain.StrategyParallel})
		if err != nil {
			return m, err
		}
		m.parallel = append(m.parallel, float64(base.Tables))
		for i, strategy := range strategies() {
			if err := ctx.Err(); err != nil {
				return m, err
			}
			start := time.Now()
			g, err := merged(reqs, strategy)
			took := time.Since(start)
			if err != nil {
				return m, fmt.Errorf("%d chains, %s: %w", n, strategy, err)
			}
			if err := g.Check(reqs); err != nil {
				return m, fmt.Errorf("%d chains, %s: the merge is wrong: %w", n, strategy, err)
			}
			m.percent[i] = append(m.percent[i], 100*float64(g.Tables)/float64(base.Tables))
			m.ms[i] = append(m.ms[i], took.Seconds()*1e3)
		}
	}
	return m, nil
}

func merged(reqs []chain.DAG, strategy string) (chain.Graph, error) {
	if strategy != embedded {
		return chain.Merge(reqs, chain.MergeOptions{Strategy: strategy})
	}
	var g chain.Graph
	for _, d := range reqs {
		var err error
		if g, _, err = chain.Embed(g, d); err != nil {
			return g, err
		}
	}
	return g, nil
}
