// Package tables measures what a look-up costs in tables of many sizes, by the kernel's test-run facility; how fast
// P4Runtime fills them; and what memory they take.
package tables

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/catena-nfv/catena/bench/harness"
	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/p4rt/client"
)

// bar is how many times the look-up among 100 entries one among 10,000 may cost, both under 32 masks.
const bar = 3

// shape is a table's contents.
type shape struct {
	kind           string
	entries, masks int // masks of ternary tables; 0: the rules of a firewall
}

func (s shape) name() string {
	switch {
	case s.kind == none:
		return "no table"
	case s.kind == ternary && s.masks == 0:
		return "ternary, as a firewall"
	}
	return s.kind
}

// updates returns the entries, and the base and last of packets that meet them.
func (s shape) updates(rng *rand.Rand) (entries []client.Update, base, last uint32) {
	switch s.kind {
	case exact:
		return exactEntries(s.entries), 0, uint32(s.entries - 1)
	case lpm:
		return prefixEntries(s.entries), 0, uint32(s.entries*perPrefix - 1)
	case ternary:
		if s.masks == 0 {
			a := clientAddr.As4()
			return firewallEntries(), uint32(a[0])<<24 | uint32(a[1])<<16 | uint32(a[2])<<8, 255
		}
		return ternaryEntries(rng, s.entries, s.masks), 0, uint32(s.entries - 1)
	}
	return nil, 0, 0xffff
}

// shapes are what is measured; the first is what all others are told without.
func shapes(small, middle, large int) []shape {
	out := []shape{{kind: none}, {kind: ternary, entries: 100}}
	for _, masks := range []int{1, 8, 32} {
		for _, n := range []int{100, small, middle} {
			out = append(out, shape{ternary, n, masks})
		}
	}
	for _, kind := range []string{lpm, exact} {
		for _, n := range []int{100, middle, large} {
			out = append(out, shape{kind: kind, entries: n})
		}
	}
	return out
}

// Scenario returns the benchmark.
func Scenario() harness.Scenario {
	s := harness.Scenario{
		Name: "tables", Title: "what a look-up costs, by kind and size of the table", Root: true,
		Defaults: harness.Options{Rounds: 9, Seed: 1},
	}
	s.Run = func(ctx context.Context, opt harness.Options) (*harness.Report, error) {
		return run(ctx, s, opt, shapes(1000, 10000, 100000))
	}
	return s
}

// filled is a shape in the kernel, and what was measured of it.
type filled struct {
	shape
	hit, miss       look
	hitNS, missNS   harness.Sample // of a packet
	perSecond       float64        // entries written
	memory          uint64
	hitOnly, missed harness.Sample // of the look-up alone
}

func run(ctx context.Context, s harness.Scenario, opt harness.Options, shapes []shape) (report *harness.Report, err error) {
	dir, err := os.MkdirTemp("", "catena-bench-tables-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	lib, err := nf.Open("")
	if err != nil {
		return nil, err
	}
	var tables []*filled
	for i, sh := range shapes {
		opt.Tell("%s, %d entries, %d masks", sh.name(), sh.entries, sh.masks)
		d, err := open(ctx, lib, programText(sh.kind), fmt.Sprint(i), filepath.Join(dir, fmt.Sprint(i)), filepath.Join(dir, "cache"))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", sh.name(), err)
		}
		defer func() { err = errors.Join(err, d.close()) }()
		f, err := fill(ctx, d, sh, rand.New(rand.NewPCG(opt.Seed, uint64(i))))
		if err != nil {
			return nil, fmt.Errorf("%s, %d entries: %w", sh.name(), sh.entries, err)
		}
		tables = append(tables, f)
	}
	for round := range opt.Rounds {
		opt.Tell("round %d of %d", round+1, opt.Rounds)
		if err := measure(ctx, tables, round); err != nil {
			return nil, err
		}
	}
	return tell(s, opt, tables)
}

// fill writes the entries of a shape.
func fill(ctx context.Context, d *device, s shape, rng *rand.Rand) (*filled, error) {
	entries, base, last := s.updates(rng)
	f := &filled{shape: s}
	var err error
	if len(entries) > 0 {
		if f.perSecond, err = d.insert(ctx, entries); err != nil {
			return nil, err
		}
	}
	if f.memory, err = d.memory(); err != nil {
		return nil, err
	}
	prog := d.sw.Running().TC
	f.hit, f.miss = look{prog, frame(base, last)}, look{prog, frame(base+absent, last)}
	return f, nil
}

// In a round each table's turn comes so often, for so many packets each time.
const (
	turns  = 16
	repeat = 1000
)

// measure adds one round to the samples. The tables take turns of less than a millisecond, each round begins with
// another one, and turns that were disturbed do not count.
func measure(ctx context.Context, tables []*filled, round int) error {
	hits, misses := make([][]float64, len(tables)), make([][]float64, len(tables))
	for range turns {
		for i := range tables {
			if err := ctx.Err(); err != nil {
				return err
			}
			n := (i + round) % len(tables)
			for _, x := range []struct {
				look
				took *[]float64
			}{{tables[n].hit, &hits[n]}, {tables[n].miss, &misses[n]}} {
				_, took, err := x.prog.Benchmark(x.frame, repeat, nil)
				if err != nil {
					return fmt.Errorf("%s: test run: %w", tables[n].name(), err)
				}
				*x.took = append(*x.took, float64(took.Nanoseconds()))
			}
		}
	}
	for i, t := range tables {
		t.hitNS, t.missNS = append(t.hitNS, quiet(hits[i])), append(t.missNS, quiet(misses[i]))
	}
	return nil
}

// quiet is the mean of the lower half.
func quiet(values []float64) float64 {
	slices.Sort(values)
	half := values[:(len(values)+1)/2]
	sum := 0.0
	for _, v := range half {
		sum += v
	}
	return sum / float64(len(half))
}

func tell(s harness.Scenario, opt harness.Options, tables []*filled) (*harness.Report, error) {
	r := harness.NewReport(s, opt)
	t := harness.Table{Title: "nanoseconds a look-up, without the packet's other costs", Columns: []harness.Column{
		{Key: "table", Head: "table"}, {Key: "entries", Head: "entries"}, {Key: "masks", Head: "masks"},
		{Key: "hit_ns", Head: "hit", Unit: "ns"}, {Key: "miss_ns", Head: "miss", Unit: "ns"},
		{Key: "entries_per_second", Head: "written", Unit: "entries/s"}, {Key: "kib", Head: "memory", Unit: "KiB"},
	}}
	bare := tables[0]
	if bare.kind != none {
		return nil, errors.New("the first case is not the packet without a table")
	}
	for _, f := range tables[1:] {
		f.hitOnly, f.missed = f.hitNS.Sub(bare.hitNS), f.missNS.Sub(bare.missNS)
		var masks any
		if f.kind == ternary {
			masks = f.masks
			if f.masks == 0 {
				masks = 4
			}
		}
		t.Row(f.name(), f.entries, masks, f.hitOnly, f.missed, f.perSecond, float64(f.memory)/1024)
	}
	r.Tables = []harness.Table{t}
	find := func(entries, masks int) *filled {
		for _, f := range tables {
			if f.kind == ternary && f.entries == entries && f.masks == masks {
				return f
			}
		}
		return nil
	}
	if small, large := find(100, 32), find(10000, 32); small != nil && large != nil {
		r.Bars = append(r.Bars,
			harness.Bar{Name: "10,000 entries / 100, both under 32 masks: hit", Value: large.hitOnly.Ratio(small.hitOnly), AtMost: bar},
			harness.Bar{Name: "10,000 entries / 100, both under 32 masks: miss", Value: large.missed.Ratio(small.missed), AtMost: bar})
		if natural := find(100, 0); natural != nil {
			r.Notes = append(r.Notes, fmt.Sprintf("10,000 entries under 32 masks in the order of nothing cost %s times the hit and %s times the miss of a "+
				"firewall's 100 rules, whose four masks stand in the order of their priorities.",
				large.hitOnly.Ratio(natural.hitOnly), large.missed.Ratio(natural.missed)))
		}
	}
	r.Notes = append(r.Notes, fmt.Sprintf("Packets look for random entries. A packet without a look-up takes %s ns of the test run, which is taken off. "+
		"Priorities of the ternary tables are random, too, so that nearly every mask has to be tried.", bare.hitNS))
	return r, nil
}
