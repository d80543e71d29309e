package codegen

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	cebpf "github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"github.com/catena-nfv/catena/bench/harness"
	"github.com/catena-nfv/catena/bench/netlab"
	"github.com/catena-nfv/catena/bench/workload"
	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
)

// sizes are the frames' lengths.
var sizes = []int{64, 1500}

// longest is the length of the longest chain of the same NF.
const longest = 8

// subject is a program that is measured. It is compiled once and loaded several times.
type subject struct {
	name string
	hook ebpf.Target
	// load makes the program, and what closes it.
	load func() (*cebpf.Program, func() error, error)
	prog *cebpf.Program
}

// prepare compiles the programs.
func prepare(ctx context.Context, opt harness.Options) (*bench, error) {
	if err := netlab.Need(map[string]string{"clang": "clang"}); err != nil {
		return nil, err
	}
	lib, err := nf.Open("")
	if err != nil {
		return nil, err
	}
	b := &bench{opt: opt}
	for _, c := range chains() {
		if err := b.addPair(ctx, lib, c); err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	w, err := forSFC1()
	if err != nil {
		return nil, err
	}
	if err := b.addGrowing(ctx, lib, w); err != nil {
		return nil, err
	}
	return b, b.addRepeated(ctx, lib, w)
}

// add makes a subject of something that can be loaded.
func (b *bench) add(name string, hook ebpf.Target, load func() (*cebpf.Program, func() error, error)) *subject {
	s := &subject{name: name, hook: hook, load: load}
	b.subjects = append(b.subjects, s)
	return s
}

// addGenerated makes a subject of a generated chain.
func (b *bench) addGenerated(ctx context.Context, lib *nf.Library, name, request string, hook ebpf.Target, w workloadOf) (*subject, error) {
	b.opt.Tell("compile %s", name)
	r, err := generate(ctx, lib, request, hook)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b.add(name, hook, func() (*cebpf.Program, func() error, error) {
		p, err := loadGenerated(ctx, lib, r, hook, w)
		if err != nil {
			return nil, nil, err
		}
		if hook == ebpf.TC {
			return p.TC, p.Close, nil
		}
		return p.XDP, p.Close, nil
	}), nil
}

func (b *bench) addPair(ctx context.Context, lib *nf.Library, c chain) error {
	w, err := c.load()
	if err != nil {
		return err
	}
	p := pair{chain: c}
	p.byHand = b.add(c.name+" by hand", c.hook, func() (*cebpf.Program, func() error, error) {
		hand, err := newByHand(ctx, c, w)
		if err != nil {
			return nil, nil, err
		}
		return hand.Programs[c.name], func() error { hand.Close(); return nil }, nil
	})
	if p.generated, err = b.addGenerated(ctx, lib, c.name, c.request, c.hook, w); err != nil {
		return err
	}
	for _, size := range sizes {
		for _, t := range w.cases {
			if t.part > 0 {
				p.cases = append(p.cases, measurementOf(t, size, p.byHand, p.generated))
			} else if size == sizes[0] {
				p.untimed = append(p.untimed, t)
			}
		}
	}
	b.pairs = append(b.pairs, p)
	return nil
}

func measurementOf(t traffic, size int, subjects ...*subject) *measurement {
	return &measurement{subjects: subjects, packets: t, size: size, ns: make([]harness.Sample, len(subjects))}
}

// addGrowing makes the subjects that tell what each NF of the first chain adds.
func (b *bench) addGrowing(ctx context.Context, lib *nf.Library, w workloadOf) error {
	grown := []*subject{b.add("empty program", ebpf.XDP, loadEmpty)}
	add := func(name, request string, w workloadOf) error {
		s, err := b.addGenerated(ctx, lib, name, request, ebpf.XDP, w)
		grown = append(grown, s)
		return err
	}
	if err := add("backbone alone", "", workloadOf{}); err != nil {
		return err
	}
	if err := add("classifiers", "", w); err != nil {
		return err
	}
	nfs := []string{"IDS", "Firewall", "NAT", "L3fwd"}
	for i, request := range workload.Prefixes(nfs) {
		if err := add(nfs[i], request, w); err != nil {
			return err
		}
	}
	b.growing = measurementOf(w.cases[0], 64, grown...)
	b.unclaimed = measurementOf(w.cases[len(w.cases)-1], 64, grown[1], grown[2], grown[len(grown)-1])
	return nil
}

// addRepeated makes the subjects that tell how the cost grows with the length of a chain, whose NFs cost the same.
func (b *bench) addRepeated(ctx context.Context, lib *nf.Library, w workloadOf) error {
	nfs := []string{"Firewall"}
	for i := 2; i <= longest; i++ {
		nfs = append(nfs, fmt.Sprintf("Firewall#%d", i))
	}
	var chains []*subject
	for i, request := range workload.Prefixes(nfs) {
		s, err := b.addGenerated(ctx, lib, fmt.Sprintf("%d firewalls", i+1), request, ebpf.XDP, w)
		if err != nil {
			return err
		}
		chains = append(chains, s)
	}
	b.repeated = measurementOf(w.cases[0], 64, chains...)
	return nil
}

func loadEmpty() (*cebpf.Program, func() error, error) {
	p, err := cebpf.NewProgram(&cebpf.ProgramSpec{
		Name: "empty", Type: cebpf.XDP, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, verdict(ebpf.XDP, true)), asm.Return()},
	})
	if err != nil {
		return nil, nil, err
	}
	return p, p.Close, nil
}

// loaded is what is in the kernel while programs are measured.
type loaded struct {
	lab     *netlab.Lab
	closers []func() error
}

func (l *loaded) close() error {
	var errs []error
	for i := len(l.closers) - 1; i >= 0; i-- {
		errs = append(errs, l.closers[i]())
	}
	return errors.Join(append(errs, l.lab.Close())...)
}

// load loads programs, and attaches those for XDP to idle interfaces: the kernel calls XDP programs that are attached
// somewhere directly, and others by a slower way, or after a rearrangement at each test run that takes a hundred times
// as long as the run itself.
func load(subjects []*subject) (*loaded, error) {
	lab, err := netlab.Open()
	if err != nil {
		return nil, err
	}
	l := &loaded{lab: lab}
	var free []int
	for _, s := range subjects {
		p, closer, err := s.load()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", s.name, err), l.close())
		}
		l.closers = append(l.closers, closer)
		s.prog = p
		if s.hook != ebpf.XDP {
			continue
		}
		if len(free) == 0 {
			p, err := lab.Pair()
			if err != nil {
				return nil, errors.Join(err, l.close())
			}
			free = []int{p.Client.Index, p.Server.Index}
		}
		at, err := link.AttachXDP(link.XDPOptions{Program: p, Interface: free[0]})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: attach: %w", s.name, err), l.close())
		}
		l.closers, free = append(l.closers, at.Close), free[1:]
	}
	return l, nil
}

// verdict is what a program returns for a packet that it drops, or redirects.
func verdict(hook ebpf.Target, drop bool) int32 {
	switch {
	case hook == ebpf.TC && drop:
		return 2 // TC_ACT_SHOT
	case hook == ebpf.TC:
		return 7 // TC_ACT_REDIRECT
	case drop:
		return 1 // XDP_DROP
	}
	return 4 // XDP_REDIRECT
}

// same checks that two programs do the same to a packet.
func same(a, b *subject, t traffic, size int) error {
	frame := t.packet.frame(size)
	va, outA, err := a.prog.Test(frame)
	if err != nil {
		return fmt.Errorf("%s: %w", a.name, err)
	}
	vb, outB, err := b.prog.Test(frame)
	if err != nil {
		return fmt.Errorf("%s: %w", b.name, err)
	}
	if want := uint32(verdict(a.hook, t.drop)); va != want {
		return fmt.Errorf("%s, %d B: verdict %d by hand, want %d", t.name, size, va, want)
	}
	if va != vb || !t.drop && !bytes.Equal(outA, outB) {
		return fmt.Errorf("%s, %d B: the programs differ: verdict %d by hand, %d generated; out come\n%x\n%x", t.name, size, va, vb, outA, outB)
	}
	return nil
}
