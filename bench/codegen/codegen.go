package codegen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	cebpf "github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"github.com/catena-nfv/catena/bench/harness"
	"github.com/catena-nfv/catena/bench/netlab"
	"github.com/catena-nfv/catena/bench/workload"
	"github.com/catena-nfv/catena/internal/nf"
)

// The bars: packets a second of the generated program against the hand-written one, and what a packet that no chain
// claims pays more than on the backbone alone.
const (
	barOfReference = 0.90
	barUnclaimed   = 30 // ns
)

// Scenario returns the benchmark.
func Scenario() harness.Scenario {
	s := harness.Scenario{
		Name: "codegen", Title: "generated code against hand-written XDP", Source: "paper 003, Table III",
		Root: true, Defaults: harness.Options{Rounds: 9, Span: 150 * time.Millisecond, Seed: 1},
	}
	s.Run = func(ctx context.Context, opt harness.Options) (*harness.Report, error) { return run(ctx, s, opt) }
	return s
}

// subject is a program that is measured.
type subject struct {
	name  string
	prog  *cebpf.Program
	close func()
}

// bench owns the programs of a run.
type bench struct {
	lab   *netlab.Lab
	at    []link.Link
	opt   harness.Options
	pairs []pair
	// growing are generated programs: the backbone alone, then with the first chain's classifiers, then with its NFs one
	// by one.
	growing []subject
	empty   subject
}

// pair is a chain by hand and generated.
type pair struct {
	chain             chain
	w                 load
	byHand, generated subject
}

func (b *bench) close() error {
	var errs []error
	for _, l := range b.at {
		errs = append(errs, l.Close())
	}
	for _, s := range b.all() {
		if s.close != nil {
			s.close()
		}
	}
	return errors.Join(append(errs, b.lab.Close())...)
}

// all returns the programs, each once.
func (b *bench) all() []subject {
	out := []subject{b.empty}
	for _, s := range b.growing {
		if s.close != nil { // else it is one of the pairs'
			out = append(out, s)
		}
	}
	for _, p := range b.pairs {
		out = append(out, p.byHand, p.generated)
	}
	return out
}

// attach attaches every program to an idle interface. The kernel calls XDP programs that are attached somewhere
// directly, and others by a slower way, or after a rearrangement at each test run that takes a hundred times as
// long as the run itself.
func (b *bench) attach() error {
	var free []int
	for _, s := range b.all() {
		if len(free) == 0 {
			p, err := b.lab.Pair()
			if err != nil {
				return err
			}
			free = []int{p.Client.Index, p.Server.Index}
		}
		l, err := link.AttachXDP(link.XDPOptions{Program: s.prog, Interface: free[0]})
		if err != nil {
			return fmt.Errorf("%s: attach: %w", s.name, err)
		}
		b.at, free = append(b.at, l), free[1:]
	}
	return nil
}

func open(ctx context.Context, opt harness.Options) (*bench, error) {
	if err := netlab.Need(map[string]string{"clang": "clang"}); err != nil {
		return nil, err
	}
	lib, err := nf.Open("")
	if err != nil {
		return nil, err
	}
	b := &bench{opt: opt}
	if b.lab, err = netlab.Open(); err != nil {
		return nil, err
	}
	err = b.load(ctx, lib)
	if err == nil {
		err = b.attach()
	}
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// generate makes a subject of a generated chain.
func (b *bench) generate(ctx context.Context, lib *nf.Library, name, request string, w load) (subject, error) {
	b.opt.Tell("compile %s", name)
	p, err := newGenerated(ctx, lib, request, w)
	if err != nil {
		return subject{}, fmt.Errorf("%s: %w", name, err)
	}
	return subject{name, p.XDP, func() { _ = p.Close() }}, nil // nothing is pinned: closing only drops references
}

func (b *bench) load(ctx context.Context, lib *nf.Library) error {
	for _, c := range chains() {
		w, err := c.load()
		if err != nil {
			return err
		}
		hand, err := newByHand(ctx, c, w)
		if err != nil {
			return err
		}
		p := pair{chain: c, w: w, byHand: subject{c.name + " by hand", hand.Programs[c.name], hand.Close}}
		p.generated, err = b.generate(ctx, lib, c.name, c.request, w)
		b.pairs = append(b.pairs, p)
		if err != nil {
			return err
		}
	}
	first := b.pairs[0]
	nfs := []string{"IDS", "Firewall", "NAT", "L3fwd"}
	add := func(name, request string, w load) error {
		s, err := b.generate(ctx, lib, name, request, w)
		if err == nil {
			b.growing = append(b.growing, s)
		}
		return err
	}
	if err := add("backbone alone", "", load{}); err != nil {
		return err
	}
	if err := add("classifiers", "", first.w); err != nil {
		return err
	}
	for i, request := range workload.Prefixes(nfs[:len(nfs)-1]) {
		if err := add(nfs[i], request, first.w); err != nil {
			return err
		}
	}
	b.growing = append(b.growing, subject{name: nfs[len(nfs)-1], prog: first.generated.prog}) // the whole chain
	empty, err := cebpf.NewProgram(&cebpf.ProgramSpec{
		Name: "empty", Type: cebpf.XDP, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, verdictDrop), asm.Return()},
	})
	if err != nil {
		return err
	}
	b.empty = subject{"empty program", empty, func() { empty.Close() }}
	return nil
}

// XDP's verdicts.
const (
	verdictDrop     = 1
	verdictRedirect = 4
)

func (t traffic) verdict() uint32 {
	if t.drop {
		return verdictDrop
	}
	return verdictRedirect
}

// same checks that two programs do the same to a packet.
func same(a, b subject, t traffic, size int) error {
	frame := t.packet.frame(size)
	va, outA, err := a.prog.Test(frame)
	if err != nil {
		return fmt.Errorf("%s: %w", a.name, err)
	}
	vb, outB, err := b.prog.Test(frame)
	if err != nil {
		return fmt.Errorf("%s: %w", b.name, err)
	}
	if va != t.verdict() {
		return fmt.Errorf("%s, %d B: verdict %d by hand, want %d", t.name, size, va, t.verdict())
	}
	if va != vb || !t.drop && !bytes.Equal(outA, outB) {
		return fmt.Errorf("%s, %d B: the programs differ: verdict %d by hand, %d generated; out come\n%x\n%x", t.name, size, va, vb, outA, outB)
	}
	return nil
}

func run(ctx context.Context, sc harness.Scenario, opt harness.Options) (report *harness.Report, err error) {
	b, err := open(ctx, opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	r := harness.NewReport(sc, opt)
	for _, p := range b.pairs {
		if err := b.compare(ctx, p, r); err != nil {
			return nil, fmt.Errorf("%s: %w", p.chain.name, err)
		}
	}
	if err := b.lengths(ctx, r); err != nil {
		return nil, err
	}
	r.Notes = []string{
		fmt.Sprintf("The chains of paper 003's Table III with %d rules an NF, on the backbone `wire`, XDP. Nanoseconds a packet by "+
			"BPF_PROG_TEST_RUN: no device, and the same packet again and again, so branches are well predicted for both. The part of "+
			"hand-written is that of packets a second.", workload.Rules),
		"The hand-written programs (bench/reference) have the same kinds of maps, counters and rules; verdicts and packets are compared " +
			"before anything is measured.",
	}
	return r, nil
}

// compare measures a generated chain against the hand-written one.
func (b *bench) compare(ctx context.Context, p pair, r *harness.Report) error {
	t := harness.Table{Title: fmt.Sprintf("%s: %s", p.chain.name, p.chain.request), Columns: []harness.Column{
		{Key: "packets", Head: "packets"}, {Key: "bytes", Head: "bytes"},
		{Key: "hand_ns", Head: "by hand", Unit: "ns"}, {Key: "generated_ns", Head: "generated", Unit: "ns"},
		{Key: "of_hand", Head: "of hand-written"},
	}}
	for _, size := range []int{64, 1500} {
		var mixHand, mixGenerated harness.Sample
		for _, c := range p.w.cases {
			if err := same(p.byHand, p.generated, c, size); err != nil {
				return err
			}
			ns, err := b.measure(ctx, []subject{p.byHand, p.generated}, c, size)
			if err != nil {
				return err
			}
			hand, gen := ns[0], ns[1]
			mixHand, mixGenerated = plus(mixHand, hand.Scale(c.part)), plus(mixGenerated, gen.Scale(c.part))
			t.Row(c.name, size, hand, gen, hand.Ratio(gen))
		}
		ratio := mixHand.Ratio(mixGenerated)
		t.Row("mix", size, mixHand, mixGenerated, ratio)
		r.Bars = append(r.Bars, harness.Bar{
			Name:  fmt.Sprintf("%s, mix, %d B: packets a second, generated / by hand", p.chain.name, size),
			Value: ratio, AtLeast: barOfReference,
		})
	}
	r.Tables = append(r.Tables, t)
	return nil
}

// lengths measures what each NF adds, and what a packet pays that no chain claims.
func (b *bench) lengths(ctx context.Context, r *harness.Report) error {
	t := harness.Table{Title: "cost of each NF, generated, 64 B", Columns: []harness.Column{
		{Key: "program", Head: "program"}, {Key: "nfs", Head: "NFs"},
		{Key: "ns", Head: "time", Unit: "ns"}, {Key: "step_ns", Head: "more than the row above", Unit: "ns"},
	}}
	cases := b.pairs[0].w.cases
	pass, unclaimed := cases[0], cases[len(cases)-1]
	subjects := append([]subject{b.empty}, b.growing...)
	ns, err := b.measure(ctx, subjects, pass, 64)
	if err != nil {
		return err
	}
	for i, s := range subjects {
		switch {
		case i == 0:
			t.Row(s.name, nil, ns[0], nil)
		case i == 1:
			t.Row(s.name, 0, ns[i], ns[i].Sub(ns[i-1]))
		default:
			t.Row("and "+s.name, i-2, ns[i], ns[i].Sub(ns[i-1]))
		}
	}
	past, err := b.measure(ctx, []subject{b.growing[0], b.growing[1], b.growing[len(b.growing)-1]}, unclaimed, 64)
	if err != nil {
		return err
	}
	t.Row("in no chain, backbone alone", 0, past[0], nil)
	t.Row("in no chain, with classifiers", 0, past[1], past[1].Sub(past[0]))
	t.Row("in no chain, with the whole chain there", 0, past[2], past[2].Sub(past[1]))
	r.Tables = append(r.Tables, t)
	r.Bars = append(r.Bars, harness.Bar{
		Name: "in no chain: ns more than on the backbone with the same classifiers", Value: past[2].Sub(past[1]), AtMost: barUnclaimed,
	})
	return nil
}

// measure measures programs on one kind of packets, in rounds.
func (b *bench) measure(ctx context.Context, subjects []subject, c traffic, size int) ([]harness.Sample, error) {
	frame := c.packet.frame(size)
	out := make([]harness.Sample, len(subjects))
	for range b.opt.Rounds {
		progs := make([]*cebpf.Program, len(subjects))
		for i, s := range subjects {
			progs[i] = s.prog
		}
		ns, err := timed(ctx, progs, frame, b.opt.Span)
		if err != nil {
			return nil, fmt.Errorf("%s, %d B: %w", c.name, size, err)
		}
		for i, v := range ns {
			out[i] = append(out[i], v)
		}
	}
	b.opt.Tell("%s, %d B: %s ns", c.name, size, out[0])
	return out, nil
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
