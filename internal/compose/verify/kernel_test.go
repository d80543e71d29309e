package verify_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/catena-nfv/catena/internal/chain"
	"github.com/catena-nfv/catena/internal/compose"
	"github.com/catena-nfv/catena/internal/compose/verify"
	"github.com/catena-nfv/catena/internal/dataplane"
	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/backend/p4text"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/pass"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// errNoPlace says that a program cannot run on a hook: one that copies packets on XDP.
var errNoPlace = errors.New("no place on this hook")

// kernel opens test devices of a hook.
func kernel(t testing.TB, hook ebpf.Target) func(*ir.Program) (target.Device, error) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("loading programs into the kernel needs root")
	}
	cache := t.TempDir()
	return func(p *ir.Program) (target.Device, error) {
		q := ir.Copy(p)
		if diags := pass.Run(q, pass.Options{}); diags.HasErrors() {
			return nil, diags.Err(nil)
		}
		spec, diags := ebpf.Generate(q, nil)
		if diags.HasErrors() {
			return nil, diags.Err(nil)
		}
		if why := spec.Targets[hook]; why != "" {
			return nil, fmt.Errorf("%w: %s", errNoPlace, why)
		}
		o, err := dataplane.Build(t.Context(), spec, dataplane.BuildOptions{Targets: []ebpf.Target{hook}, Test: true, CacheDir: cache})
		if err != nil {
			return nil, err
		}
		loaded, err := dataplane.Load(t.Context(), o, dataplane.LoadOptions{})
		if err != nil {
			return nil, err
		}
		d, err := dataplane.OpenTestDevice(loaded, hook)
		if err != nil {
			return nil, errors.Join(err, loaded.Close())
		}
		return d, nil
	}
}

// printed prints the composed program and compiles it again, as a switch does that gets
// it over P4Runtime.
func printed(t testing.TB, l *nf.Library, p *ir.Program) *ir.Program {
	t.Helper()
	text, err := p4text.Print(p)
	if err != nil {
		t.Fatal(err)
	}
	q, _, err := l.CompileText(t.Context(), []byte(text))
	if err != nil {
		t.Fatalf("%v\nof\n%s", err, text)
	}
	return q
}

// TestRoundTrip compares what is printed and compiled again with the NFs alone, and the
// passes' result with them.
func TestRoundTrip(t *testing.T) {
	l := library(t)
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 5))
		cfg := configOf(t, l, requests(t, l, random(l, rng, 2, 3)), "", compose.Options{})
		cfg.Seed, cfg.Packets = seed, 30
		cfg.Program = printed(t, l, cfg.Composed.Program)
		check(t, cfg)
		pass.Run(cfg.Program, pass.Options{})
		check(t, cfg)
	}
}

// kernelChains are chains that each hook can run; those of XDP do not flood.
var kernelChains = map[ebpf.Target][]string{
	ebpf.TC: {
		"Firewall then LB or NAT and branch_end=L2fwd\nLB loop\nEnd_of_Request\nIDS before LB before L3fwd before Firewall",
		"NAT before L2fwd before NAT#2 before IDS\nEnd_of_Request\nL3fwd before L2fwd",
	},
	ebpf.XDP: {"IDS then Firewall or LB and branch_end=L3fwd\nNAT last\nEnd_of_Request\nLB before NAT before LB#2"},
}

// TestKernel compares the kernel with the interpreter, packet by packet.
func TestKernel(t *testing.T) {
	l := library(t)
	for _, hook := range []ebpf.Target{ebpf.TC, ebpf.XDP} {
		for i, text := range kernelChains[hook] {
			t.Run(fmt.Sprintf("%s-%d", hook, i), func(t *testing.T) {
				cfg := configOf(t, l, requests(t, l, text), "", compose.Options{})
				cfg.Packets = 80
				cfg.Program = printed(t, l, cfg.Composed.Program)
				cfg.Open = kernel(t, hook)
				check(t, cfg)
			})
		}
	}
}

// TestKernelFindsFaults gives the kernel another program than the interpreter: the
// counterexample must be found and small.
func TestKernelFindsFaults(t *testing.T) {
	l := library(t)
	cfg := configOf(t, l, requests(t, l, "Firewall before NAT"), "", compose.Options{})
	open := kernel(t, ebpf.TC)
	cfg.Open = func(p *ir.Program) (target.Device, error) {
		q := ir.Copy(p)
		for _, a := range q.Ingress.Actions {
			if a.FullName == "NAT.translate" {
				a.Body = nil
			}
		}
		return open(q)
	}
	r, err := verify.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	c := r.Counterexample
	if c == nil || len(c.Rules) != 1 || len(c.Data) > 2*34 || c.Left != "the interpreter" {
		t.Errorf("%+v", c)
	}
}

// FuzzChains compares merged programs of random requests with the NFs alone and, as
// root, the kernel with the interpreter. One input must not take ten seconds.
func FuzzChains(f *testing.F) {
	l := library(f)
	f.Add(uint64(1), uint8(3), false)
	f.Add(uint64(2), uint8(1), true)
	f.Fuzz(func(t *testing.T, seed uint64, n uint8, inKernel bool) {
		rng := rand.New(rand.NewPCG(seed, 9))
		strategies := chain.Strategies()
		text := random(l, rng, 1+int(n%3), 3)
		cfg := configOf(t, l, requests(t, l, text), strategies[rng.IntN(len(strategies))], compose.Options{CopyTables: rng.IntN(4) == 0})
		cfg.Seed, cfg.Packets = seed, 12
		cfg.Program = printed(t, l, cfg.Composed.Program)
		check(t, cfg)
		if inKernel && os.Geteuid() == 0 {
			cfg.Open = kernel(t, ebpf.TC)
			check(t, cfg)
		}
	})
}
