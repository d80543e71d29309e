package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/catena-nfv/catena/bench/harness"
	"github.com/catena-nfv/catena/bench/netlab"
	"github.com/catena-nfv/catena/bench/workload"
	"github.com/catena-nfv/catena/internal/nf"
)

// The bars, in milliseconds. That of the front end is for a program of frontLines lines at least.
const (
	frontBar   = 50
	frontLines = 2000
	firstBar   = 1000
	againBar   = 50
)

// backbone is the product's.
const backbone = "vrouter"

// Scenario returns the benchmark of the way from P4 text to a program that packets meet.
func Scenario() harness.Scenario {
	s := harness.Scenario{
		Name: "build", Title: "time from P4 text to a program that packets meet", Root: true,
		Defaults: harness.Options{Rounds: 5, Seed: 1},
	}
	s.Run = func(ctx context.Context, opt harness.Options) (*harness.Report, error) {
		return run(ctx, s, opt, []int{1, 16, 128})
	}
	return s
}

// program is a text that is built.
type program struct {
	chains, nodes, lines int
	text                 []byte
	stages               map[string]harness.Sample // ms, by stage, of the first load
	first, again         harness.Sample            // ms, whole
	firstCPU, againCPU   harness.Sample            // ms of processor time
}

func run(ctx context.Context, s harness.Scenario, opt harness.Options, chains []int) (report *harness.Report, err error) {
	dir, err := os.MkdirTemp("", "catena-bench-build-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	programs, err := write(dir, opt, chains)
	if err != nil {
		return nil, err
	}
	lab, err := netlab.Open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lab.Close()) }()
	pair, err := lab.Pair()
	if err != nil {
		return nil, err
	}
	for round := range opt.Rounds {
		opt.Tell("round %d of %d", round+1, opt.Rounds)
		for i := range programs {
			p := programs[(i+round)%len(programs)]
			if err := p.measure(ctx, filepath.Join(dir, fmt.Sprintf("run-%d-%d", p.chains, round)), pair); err != nil {
				return nil, fmt.Errorf("%d chains: %w", p.chains, err)
			}
		}
	}
	return tell(s, opt, programs), nil
}

// write composes the programs of so many chains over 15 NFs each.
func write(dir string, opt harness.Options, chains []int) ([]*program, error) {
	library := filepath.Join(dir, "nf")
	if err := os.Mkdir(library, 0o755); err != nil {
		return nil, err
	}
	lib, err := workload.Library(library)
	if err != nil {
		return nil, err
	}
	var out []*program
	for _, n := range chains {
		r, err := Text(lib, backbone, workload.Many(opt.Seed, n))
		if err != nil {
			return nil, fmt.Errorf("%d chains: %w", n, err)
		}
		out = append(out, &program{
			chains: n, nodes: len(r.Graph.Nodes), lines: strings.Count(r.Text, "\n"), text: []byte(r.Text),
			stages: map[string]harness.Sample{},
		})
	}
	return out, nil
}

// measure loads the program twice onto switches that know nothing of each other but the cache of compiled programs,
// which is empty at first.
func (p *program) measure(ctx context.Context, dir string, pair *netlab.Pair) error {
	lib, err := nf.Open("")
	if err != nil {
		return err
	}
	cache := filepath.Join(dir, "cache")
	first, err := start(ctx, lib, p.text, filepath.Join(dir, "first"), cache, pair)
	if err != nil {
		return fmt.Errorf("first load: %w", err)
	}
	again, err := start(ctx, lib, p.text, filepath.Join(dir, "again"), cache, pair)
	if err != nil {
		return fmt.Errorf("second load: %w", err)
	}
	if len(again.stages) != 2 {
		return fmt.Errorf("the second load compiled again: %v", again.stages)
	}
	for stage, took := range first.stages {
		p.stages[stage] = append(p.stages[stage], ms(took))
	}
	p.first = append(p.first, ms(first.total))
	p.again = append(p.again, ms(again.total))
	p.firstCPU, p.againCPU = append(p.firstCPU, ms(first.cpu)), append(p.againCPU, ms(again.cpu))
	return nil
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

// front adds the stages of the front end and the passes.
func (p *program) front() harness.Sample {
	sum := make(harness.Sample, len(p.stages[ParseP4]))
	for _, stage := range []string{ParseP4, Check, Lower, Optimize} {
		for i, v := range p.stages[stage] {
			sum[i] += v
		}
	}
	return sum
}

func tell(s harness.Scenario, opt harness.Options, programs []*program) *harness.Report {
	r := harness.NewReport(s, opt)
	stages := harness.Table{Title: "the first load, milliseconds by stage", Columns: []harness.Column{
		{Key: "chains", Head: "chains"}, {Key: "nodes", Head: "nodes"}, {Key: "p4_lines", Head: "P4 lines"},
	}}
	order := []string{ParseP4, Check, Lower, Optimize, Generate, Clang, Load, Attach}
	for _, stage := range order {
		stages.Columns = append(stages.Columns, harness.Column{Key: stage + "_ms", Head: stage})
	}
	whole := harness.Table{Title: "milliseconds in all", Columns: []harness.Column{
		{Key: "chains", Head: "chains"}, {Key: "front_ms", Head: "front end and passes"}, {Key: "first_ms", Head: "first load"},
		{Key: "first_cpu_ms", Head: "its CPU time"}, {Key: "again_ms", Head: "again"}, {Key: "again_cpu_ms", Head: "its CPU time"},
	}}
	for _, p := range programs {
		row := []any{p.chains, p.nodes, p.lines}
		for _, stage := range order {
			row = append(row, p.stages[stage])
		}
		stages.Row(row...)
		whole.Row(p.chains, p.front(), p.first, p.firstCPU, p.again, p.againCPU)
	}
	r.Tables = []harness.Table{stages, whole}
	last := programs[len(programs)-1]
	name := fmt.Sprintf("%d chains over %d NFs, %d lines: ", last.chains, workload.ManyNFs, last.lines)
	if last.lines >= frontLines {
		r.Bars = append(r.Bars, harness.Bar{Name: name + "front end and passes, ms", Value: last.front(), AtMost: frontBar})
	} else {
		r.Notes = append(r.Notes, fmt.Sprintf("No bar for the front end: it is for %d lines at least; another --seed makes other chains.", frontLines))
	}
	r.Bars = append(r.Bars,
		harness.Bar{Name: name + "first load, ms", Value: last.first, AtMost: firstBar},
		harness.Bar{Name: name + "again, ms", Value: last.again, AtMost: againBar})
	r.Notes = append(r.Notes,
		"A load ends when the program is attached to two ports and has run on a packet. The second one has the compiled program "+
			"from the cache and makes maps, program and attachment anew. Where the CPU time is well below the other, the machine was busy.")
	return r
}
