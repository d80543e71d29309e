// Package throughput measures what a service function chain in the kernel costs a TCP connection. Each case has a
// client and a server of its own, in two namespaces; what connects them differs: the bare redirect, a Linux
// bridge, the switch with its backbone alone, and with chains of one to four NFs. All run in the same rounds.
package throughput

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/catena-nfv/catena/bench/harness"
	"github.com/catena-nfv/catena/bench/netlab"
	"github.com/catena-nfv/catena/bench/reference"
	"github.com/catena-nfv/catena/bench/workload"
	"github.com/catena-nfv/catena/internal/service"
)

// Switch is a switch in the kernel together with what programs it, as in the product.
type Switch interface {
	// Attach makes an interface of this namespace a port.
	Attach(ctx context.Context, number uint32, link string) error
	// Deploy makes the switch follow the configuration.
	Deploy(context.Context, service.SwitchConfig) (service.SwitchReport, error)
	// State reads the counters back.
	State(context.Context) (service.SwitchState, error)
	// Close leaves nothing of the switch.
	Close() error
}

// OpenSwitch makes a switch without ports. Names tell the switches of a run apart.
type OpenSwitch func(ctx context.Context, name string) (Switch, error)

// bar is the part of the bare redirect's throughput that the four-NF chain must reach.
const bar = 0.5

// unclaimed is a TCP port whose packets no chain claims.
const unclaimed = 5202

// sfc1 is the NFs of workload.SFC1.
func sfc1() []string { return []string{"IDS", "Firewall", "NAT", "L3fwd"} }

// Scenario returns the benchmark.
func Scenario(open OpenSwitch) harness.Scenario {
	s := harness.Scenario{
		Name: "chain-throughput", Title: "TCP through a chain of four NFs", Source: "paper 003, Fig. 6",
		Root: true, Defaults: harness.Options{Rounds: 4, Span: time.Second, Seed: 1},
	}
	s.Run = func(ctx context.Context, opt harness.Options) (*harness.Report, error) { return run(ctx, s, opt, open) }
	return s
}

// lane is a case with its network.
type lane struct {
	name  string
	pair  *netlab.Pair
	port  int // of the server
	chain int // NFs; -1: not through the switch
	tests []netlab.Result
}

// measure is one round of the lane: bits a second.
func (l *lane) measure(span time.Duration) func(context.Context) (float64, error) {
	return func(ctx context.Context) (float64, error) {
		r, err := l.pair.Client.TCP(ctx, l.pair.Server, l.port, span)
		l.tests = append(l.tests, r)
		return r.BitsPerSecond, err
	}
}

// setup owns what a run makes.
type setup struct {
	lab      *netlab.Lab
	direct   []*reference.Redirect
	switches []Switch
	lanes    []*lane
	open     OpenSwitch
	opt      harness.Options
}

func run(ctx context.Context, sc harness.Scenario, opt harness.Options, open OpenSwitch) (_ *harness.Report, err error) {
	if err := netlab.Need(map[string]string{"iperf3": "iperf3", "clang": "clang"}); err != nil {
		return nil, err
	}
	lab, err := netlab.Open()
	if err != nil {
		return nil, err
	}
	s := &setup{lab: lab, open: open, opt: opt}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.build(ctx); err != nil {
		return nil, err
	}
	var cases []harness.Case
	for _, l := range s.lanes {
		if err := l.pair.Client.Warm(ctx, l.pair.Server, l.port); err != nil {
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
		cases = append(cases, harness.Case{Name: l.name, Measure: l.measure(opt.Span)})
	}
	samples, err := harness.Rounds(ctx, opt, cases)
	if err != nil {
		return nil, err
	}
	if err := s.passed(ctx); err != nil {
		return nil, err
	}
	return report(sc, s.opt, s.lanes, samples), nil
}

func (s *setup) close() error {
	var errs []error
	for _, sw := range s.switches {
		errs = append(errs, sw.Close())
	}
	for _, r := range s.direct {
		errs = append(errs, r.Close())
	}
	return errors.Join(append(errs, s.lab.Close())...)
}

func (s *setup) add(ctx context.Context, name string, chain int) (*lane, error) {
	pair, err := s.lab.Pair()
	if err != nil {
		return nil, err
	}
	l := &lane{name: name, pair: pair, port: int(workload.DefaultFlow().Service), chain: chain}
	s.lanes = append(s.lanes, l)
	return l, s.lab.Serve(ctx, pair.Server, l.port)
}

// build makes all lanes, the reference first.
func (s *setup) build(ctx context.Context) error {
	for _, peer := range []bool{false, true} {
		name := "bare redirect"
		if peer {
			name = "bare redirect to the peer"
		}
		l, err := s.add(ctx, name, -1)
		if err != nil {
			return err
		}
		if err := l.pair.Direct(); err != nil {
			return err
		}
		r, err := reference.Connect(ctx, l.pair.Client.Index, l.pair.Server.Index, peer)
		if err != nil {
			return err
		}
		s.direct = append(s.direct, r)
	}
	l, err := s.add(ctx, "Linux bridge", -1)
	if err != nil {
		return err
	}
	if err := s.lab.Bridge(l.pair); err != nil {
		return err
	}
	if _, err := s.connect(ctx, "switch, no chain", "", nil); err != nil {
		return err
	}
	var last *lane
	for i, request := range workload.Prefixes(sfc1()) {
		nfs := sfc1()[:i+1]
		if last, err = s.connect(ctx, strings.Join(nfs, ", "), request, nfs); err != nil {
			return err
		}
	}
	other := &lane{name: "past the chain of four", pair: last.pair, port: unclaimed, chain: 0}
	s.lanes = append(s.lanes, other)
	return s.lab.Serve(ctx, other.pair.Server, other.port)
}

// connect adds a lane through a switch of its own.
func (s *setup) connect(ctx context.Context, name, request string, nfs []string) (*lane, error) {
	l, err := s.add(ctx, name, len(nfs))
	if err != nil {
		return nil, err
	}
	sw, err := s.open(ctx, fmt.Sprintf("%d", len(s.switches)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s.switches = append(s.switches, sw)
	flow := workload.DefaultFlow()
	flow.ClientMAC, flow.ServerMAC = service.MAC(l.pair.Client.MAC), service.MAC(l.pair.Server.MAC)
	cfg, err := workload.Config(flow, request, nfs)
	if err != nil {
		return nil, err
	}
	for number, h := range map[uint32]*netlab.Host{flow.ClientPort: l.pair.Client, flow.ServerPort: l.pair.Server} {
		if err := sw.Attach(ctx, number, h.Link); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	start := time.Now()
	report, err := sw.Deploy(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s.opt.Tell("%s: %d entries, deployed in %.2f s", name, report.EntriesAdded, time.Since(start).Seconds())
	return l, nil
}

// passed checks, by the switches' counters, that the packets went through each NF of their chain: a measurement of a
// chain that nothing enters would be worthless.
func (s *setup) passed(ctx context.Context) error {
	for i, sw := range s.switches {
		st, err := sw.State(ctx)
		if err != nil {
			return err
		}
		if err := met(i, st.NFs); err != nil {
			return err
		}
	}
	return nil
}

// met tells whether a chain of n NFs has seen traffic at each of them.
func met(n int, nfs []service.NFState) error {
	if len(nfs) != n {
		return fmt.Errorf("the switch with a chain of %d NFs runs %d", n, len(nfs))
	}
	for _, nf := range nfs {
		if nf.Packets < 100 {
			return fmt.Errorf("chain of %d NFs: only %d packets met %s", n, nf.Packets, nf.NF)
		}
	}
	return nil
}

// report makes the report of the lanes' samples, which are bits a second; the first lane is the reference.
func report(sc harness.Scenario, opt harness.Options, lanes []*lane, samples []harness.Sample) *harness.Report {
	r := harness.NewReport(sc, opt)
	t := harness.Table{
		Title: "one TCP connection between two namespaces",
		Columns: []harness.Column{
			{Key: "case", Head: "case"},
			{Key: "nfs", Head: "NFs"},
			{Key: "gbits", Head: "throughput", Unit: "Gbit/s"},
			{Key: "of_redirect", Head: "of bare redirect"},
			{Key: "ns_per_kb", Head: "extra to no chain", Unit: "ns/kB"},
			{Key: "cpus", Head: "CPUs"},
			{Key: "retransmits", Head: "retransmits"},
		},
	}
	var base harness.Sample // of the switch without chain
	for i, l := range lanes {
		if l.chain == 0 && base == nil {
			base = perKilobyte(samples[i])
		}
	}
	var last harness.Sample
	for i, l := range lanes {
		var nfs, extra any
		if l.chain >= 0 {
			nfs, extra = l.chain, perKilobyte(samples[i]).Sub(base)
		}
		cpus, lost := harness.Sample{}, 0
		for _, test := range l.tests {
			cpus = append(cpus, test.CPU)
			lost += test.Retransmits
		}
		ratio := samples[i].Ratio(samples[0])
		if l.chain == len(sfc1()) {
			last = ratio
		}
		t.Row(l.name, nfs, samples[i].Scale(1e-9), ratio, extra, cpus.Median(), lost)
	}
	r.Tables = []harness.Table{t}
	r.Bars = []harness.Bar{{Name: "chain of four NFs / bare redirect", Value: last, AtLeast: bar}}
	r.Notes = []string{
		fmt.Sprintf("The chain is `%s`; each NF has %d rules (the NAT %d translations, there and back). Both directions of the "+
			"connection pass it. Packets are whole TCP segments of up to 64 kB, as veths hand them over, so this is the cost "+
			"for bulk traffic; `bench codegen` tells the cost of a packet.", workload.SFC1, workload.Rules, workload.Rules),
		"past the chain of four: the program has the chain, the packets are none of it.",
		"The paper measures these chains at 64 to 1500 bytes on BMv2, Tofino and BESS (Fig. 6): Tofino takes 230 times what BMv2 takes.",
	}
	return r
}

// perKilobyte turns bits a second into nanoseconds for 1000 bytes.
func perKilobyte(bitsPerSecond harness.Sample) harness.Sample {
	out := make(harness.Sample, len(bitsPerSecond))
	for i, v := range bitsPerSecond {
		out[i] = 8e3 * 1e9 / v
	}
	return out
}
