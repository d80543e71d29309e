package codegen

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/catena-nfv/catena/bench/harness"
	"github.com/catena-nfv/catena/bench/workload"
)

// The bars: packets a second of the generated program against the hand-written one, what a packet that no chain
// claims pays more than on the backbone alone, and how well a line describes what chains of growing length cost.
const (
	barOfReference = 0.90
	barUnclaimed   = 30 // ns
	barLine        = 0.98
)

// loads is how often the programs of a run are loaded.
const loads = 3

// Scenario returns the benchmark.
func Scenario() harness.Scenario {
	s := harness.Scenario{
		Name: "codegen", Title: "generated code against hand-written", Source: "paper 003, Table III",
		Root: true, Defaults: harness.Options{Rounds: 9, Span: 100 * time.Millisecond, Seed: 1},
	}
	s.Run = func(ctx context.Context, opt harness.Options) (*harness.Report, error) { return run(ctx, s, opt) }
	return s
}

// measurement is of programs, in turns, on one kind of packets.
type measurement struct {
	subjects []*subject
	packets  traffic
	size     int
	ns       []harness.Sample // of each subject
}

// pair is a chain by hand and generated, in the mix of its packets.
type pair struct {
	chain             chain
	byHand, generated *subject
	cases             []*measurement
	untimed           []traffic // only compared
}

// bench is what a run measures.
type bench struct {
	opt      harness.Options
	subjects []*subject
	pairs    []pair
	// growing is of generated programs: an empty one, the backbone alone, then with the first chain's classifiers, then
	// with its NFs one by one; unclaimed of some of them, on packets in no chain; chains of the same NF again and again.
	growing, unclaimed, repeated *measurement
}

func (b *bench) measurements() []*measurement {
	var out []*measurement
	for _, p := range b.pairs {
		out = append(out, p.cases...)
	}
	return append(out, b.growing, b.unclaimed, b.repeated)
}

func run(ctx context.Context, sc harness.Scenario, opt harness.Options) (*harness.Report, error) {
	b, err := prepare(ctx, opt)
	if err != nil {
		return nil, err
	}
	for l := range loads {
		// Where code and buckets of hashes lie differs with each load, and with it the time by some per cent.
		rounds := opt.Rounds*(l+1)/loads - opt.Rounds*l/loads
		if rounds == 0 {
			continue
		}
		opt.Tell("load %d of %d", l+1, loads)
		if err := b.measure(ctx, rounds); err != nil {
			return nil, err
		}
	}
	return b.report(sc), nil
}

// measure loads the programs, compares those that ought to do the same, and measures for some rounds.
func (b *bench) measure(ctx context.Context, rounds int) (err error) {
	at, err := load(b.subjects)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, at.close()) }()
	for _, p := range b.pairs {
		if err := p.compare(); err != nil {
			return fmt.Errorf("%s: %w", p.chain.name, err)
		}
	}
	for r := range rounds {
		b.opt.Tell("round %d of %d", r+1, rounds)
		for _, m := range b.measurements() {
			if err := m.once(ctx, b.opt.Span); err != nil {
				return fmt.Errorf("%s, %d B: %w", m.packets.name, m.size, err)
			}
		}
	}
	return nil
}

func (m *measurement) once(ctx context.Context, span time.Duration) error {
	ns, err := timed(ctx, m.subjects, m.packets.packet.frame(m.size), span)
	if err != nil {
		return err
	}
	for i, v := range ns {
		m.ns[i] = append(m.ns[i], v)
	}
	return nil
}

// compare checks that the two programs do the same to every kind of packets.
func (p pair) compare() error {
	for _, m := range p.cases {
		if err := same(p.byHand, p.generated, m.packets, m.size); err != nil {
			return err
		}
	}
	for _, t := range p.untimed {
		if err := same(p.byHand, p.generated, t, 64); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) report(sc harness.Scenario) *harness.Report {
	r := harness.NewReport(sc, b.opt)
	for _, p := range b.pairs {
		p.report(r)
	}
	b.reportNFs(r)
	b.reportLengths(r)
	r.Notes = []string{
		fmt.Sprintf("The chains of paper 003's Table III with %d rules an NF, on the backbone `wire`: SFC1 and SFC2 by XDP, SFC3 by TC, since "+
			"its L2fwd may flood. Nanoseconds a packet by BPF_PROG_TEST_RUN: no device, and the same packet again and again, so branches "+
			"are well predicted for both. The part of hand-written is that of packets a second.", workload.Rules),
		"The hand-written programs (bench/reference) have the same counters, rules and kinds of maps, but the kernel's hash map for ternary tables; verdicts and packets are compared " +
			"before anything is measured.",
	}
	return r
}

// report tells how the generated chain compares with the hand-written one.
func (p pair) report(r *harness.Report) {
	t := harness.Table{Title: fmt.Sprintf("%s, %s: %s", p.chain.name, p.chain.hook, p.chain.request), Columns: []harness.Column{
		{Key: "packets", Head: "packets"}, {Key: "bytes", Head: "bytes"},
		{Key: "hand_ns", Head: "by hand", Unit: "ns"}, {Key: "generated_ns", Head: "generated", Unit: "ns"},
		{Key: "of_hand", Head: "of hand-written"},
	}}
	for _, size := range sizes {
		var mixHand, mixGenerated harness.Sample
		for _, m := range p.cases {
			if m.size != size {
				continue
			}
			hand, gen := m.ns[0], m.ns[1]
			mixHand, mixGenerated = plus(mixHand, hand.Scale(m.packets.part)), plus(mixGenerated, gen.Scale(m.packets.part))
			t.Row(m.packets.name, size, hand, gen, hand.Ratio(gen))
		}
		ratio := mixHand.Ratio(mixGenerated)
		t.Row("mix", size, mixHand, mixGenerated, ratio)
		r.Bars = append(r.Bars, harness.Bar{
			Name:  fmt.Sprintf("%s, mix, %d B: packets a second, generated / by hand", p.chain.name, size),
			Value: ratio, AtLeast: barOfReference,
		})
	}
	r.Tables = append(r.Tables, t)
}

// reportNFs tells what each NF adds, and what a packet pays that no chain claims.
func (b *bench) reportNFs(r *harness.Report) {
	t := harness.Table{Title: "cost of each NF, generated, XDP, 64 B", Columns: []harness.Column{
		{Key: "program", Head: "program"}, {Key: "nfs", Head: "NFs"},
		{Key: "ns", Head: "time", Unit: "ns"}, {Key: "step_ns", Head: "more than the row above", Unit: "ns"},
	}}
	ns := b.growing.ns
	for i, s := range b.growing.subjects {
		switch {
		case i == 0:
			t.Row(s.name, nil, ns[0], nil)
		case i == 1:
			t.Row(s.name, 0, ns[i], ns[i].Sub(ns[i-1]))
		default:
			t.Row("and "+s.name, i-2, ns[i], ns[i].Sub(ns[i-1]))
		}
	}
	past := b.unclaimed.ns
	t.Row("in no chain, backbone alone", 0, past[0], nil)
	t.Row("in no chain, with classifiers", 0, past[1], past[1].Sub(past[0]))
	t.Row("in no chain, with the whole chain there", 0, past[2], past[2].Sub(past[1]))
	r.Tables = append(r.Tables, t)
	r.Bars = append(r.Bars, harness.Bar{
		Name: "in no chain: ns more than on the backbone with the same classifiers", Value: past[2].Sub(past[1]), AtMost: barUnclaimed,
	})
}

// reportLengths tells what chains of the same NF cost, and how far that is from a line.
func (b *bench) reportLengths(r *harness.Report) {
	t := harness.Table{Title: fmt.Sprintf("chains of one to %d firewalls, generated, XDP, 64 B", longest), Columns: []harness.Column{
		{Key: "nfs", Head: "NFs"}, {Key: "ns", Head: "time", Unit: "ns"}, {Key: "step_ns", Head: "more than the row above", Unit: "ns"},
		{Key: "off_line_ns", Head: "off the line", Unit: "ns"},
	}}
	ns := b.repeated.ns
	l := fit(ns)
	for i := range ns {
		var step any
		if i > 0 {
			step = ns[i].Sub(ns[i-1])
		}
		t.Row(i+1, ns[i], step, l.off[i])
	}
	r.Tables = append(r.Tables, t)
	r.Tables = append(r.Tables, harness.Table{Title: "the line through them", Columns: []harness.Column{
		{Key: "slope_ns", Head: "each NF", Unit: "ns"}, {Key: "base_ns", Head: "without any", Unit: "ns"}, {Key: "r2", Head: "R²"},
	}, Rows: [][]any{{l.slope, l.base, l.r2}}})
	r.Bars = append(r.Bars, harness.Bar{
		Name: "cost of a chain by its length: R² of a line", Value: l.r2, AtLeast: barLine,
	})
}

func plus(a, b harness.Sample) harness.Sample {
	if a == nil {
		return b
	}
	out := make(harness.Sample, len(a))
	for i := range a {
		out[i] = a[i] + b[i]
	}
	return out
}
