// Package efficiency measures how long it takes to turn a chain request into a program, by the length of the
// chain: paper 003, section IV-D and Fig. 7a. And how long a change of rules takes until packets see it: Fig. 7b.
package efficiency

import (
	"context"
	"fmt"
	"strings"

	"github.com/catena-nfv/catena/bench/build"
	"github.com/catena-nfv/catena/bench/harness"
	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
)

// longest is the paper's longest chain.
const longest = 10

// backbone is the product's.
const backbone = "vrouter"

// Scenario returns the benchmark of the execution time.
func Scenario() harness.Scenario {
	s := harness.Scenario{
		Name: "efficiency", Title: "time from a chain request to a program", Source: "paper 003, Fig. 7a",
		Defaults: harness.Options{Rounds: 3, Seed: 1},
	}
	s.Run = func(ctx context.Context, opt harness.Options) (*harness.Report, error) {
		return run(ctx, s, opt, longest)
	}
	return s
}

// request is a linear chain of n NFs of the library; from the seventh on, NFs are visited again.
func request(n int) string {
	six := []string{"IDS", "Firewall", "NAT", "LB", "L2fwd", "L3fwd"}
	if n == 1 {
		return six[0] + " first"
	}
	var nfs []string
	for i := range n {
		name := six[i%len(six)]
		if again := i / len(six); again > 0 {
			name = fmt.Sprintf("%s#%d", name, again+1)
		}
		nfs = append(nfs, name)
	}
	return strings.Join(nfs, " before ")
}

// generator are the stages that paper 003 times: from the request to a P4 program.
func generator() []string { return []string{build.Parse, build.Merge, build.Compose, build.Print} }

// compiler are the stages from there to an object for the kernel.
func compiler() []string {
	return []string{build.Compile, build.Optimize, build.Generate, build.Clang}
}

func run(ctx context.Context, s harness.Scenario, opt harness.Options, longest int) (*harness.Report, error) {
	lib, err := nf.Open("")
	if err != nil {
		return nil, err
	}
	took := make([]map[string]harness.Sample, longest+1) // by length, stage
	lines := make([]int, longest+1)
	for round := range opt.Rounds {
		opt.Tell("round %d of %d", round+1, opt.Rounds)
		for n := 1; n <= longest; n++ {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			r, err := build.Kernel(ctx, lib, backbone, request(n), ebpf.TC)
			if err != nil {
				return nil, fmt.Errorf("chain of %d NFs: %w", n, err)
			}
			if took[n] == nil {
				took[n] = map[string]harness.Sample{}
			}
			for stage, d := range r.Took {
				took[n][stage] = append(took[n][stage], d.Seconds()*1e3)
			}
			lines[n] = strings.Count(r.Text, "\n")
		}
	}
	r := harness.NewReport(s, opt)
	t := harness.Table{Title: "milliseconds by length of the chain", Columns: []harness.Column{
		{Key: "nfs", Head: "NFs"}, {Key: "p4_lines", Head: "P4 lines"}, {Key: "request_to_p4_ms", Head: "request to P4"},
	}}
	for _, stage := range compiler() {
		t.Columns = append(t.Columns, harness.Column{Key: stage + "_ms", Head: stage})
	}
	t.Columns = append(t.Columns, harness.Column{Key: "total_ms", Head: "total"})
	for n := 1; n <= longest; n++ {
		total := sum(took[n], generator())
		row := []any{n, lines[n], total}
		for _, stage := range compiler() {
			row = append(row, took[n][stage])
		}
		t.Row(append(row, sum(took[n], append(generator(), compiler()...)))...)
	}
	r.Tables = []harness.Table{t}
	r.Notes = []string{
		"request to P4 is what the paper times: its converter and generator. The other columns lead on to an object for the kernel; " +
			"clang runs each time, while the product keeps objects by their content.",
		"The paper: the time grows slowly with the length (Fig. 7a).",
	}
	return r, nil
}

// sum adds the stages round by round.
func sum(took map[string]harness.Sample, stages []string) harness.Sample {
	var out harness.Sample
	for _, stage := range stages {
		for i, v := range took[stage] {
			if i == len(out) {
				out = append(out, 0)
			}
			out[i] += v
		}
	}
	return out
}
