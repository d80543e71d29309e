package dataplane

import (
	"context"
	"errors"
	"fmt"
	"strings"

	cebpf "github.com/cilium/ebpf"
	"github.com/cilium/ebpf/rlimit"

	"github.com/catena-nfv/catena/internal/dataplane/tables"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
)

// LoadOptions says how a program is loaded.
type LoadOptions struct {
	// Maps are maps to use instead of new ones, by name: those of a predecessor
	// (Program.Shared) or pinned ones. They are cloned.
	Maps map[string]*cebpf.Map
	// Contents is what the predecessor's control plane had written (Program.Contents):
	// for maps in Maps it says what they hold; the rest is written into new maps where
	// the program still has a place for it.
	Contents *tables.Contents
	// Same is the predecessor if it has the same text and all its maps are in Maps: what
	// the kernel has verified of it is used again.
	Same *Program
	// Targets are the hooks to load; nil means all that the object has.
	Targets []ebpf.Target
}

// Program is a program in the kernel with its maps. It implements target.Switch.
type Program struct {
	Spec    *ebpf.Spec
	TC, XDP *cebpf.Program        // nil if not loaded
	Maps    map[string]*cebpf.Map // by name in the Spec

	*tables.Control
	grace gracePeriod
}

// Load loads an object into the kernel. The new maps hold the program's own entries. If the kernel refuses the program,
// it is compiled in the next way. The error of one that the kernel takes in no way is a *Refusal.
func Load(ctx context.Context, o *Object, opts LoadOptions) (*Program, error) {
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("raise the limit of locked memory: %w", err)
	}
	targets := opts.Targets
	if targets == nil {
		for _, t := range []ebpf.Target{ebpf.TC, ebpf.XDP} {
			if _, ok := o.ELF[t]; ok {
				targets = append(targets, t)
			}
		}
	}
	p := &Program{Spec: o.Spec, Maps: map[string]*cebpf.Map{}}
	replace := map[string]*cebpf.Map{}
	for name, m := range opts.Maps {
		replace[name] = m
	}
	for _, t := range targets {
		load := func(o *Object, t ebpf.Target, replace map[string]*cebpf.Map) error { return p.load(ctx, o, t, replace) }
		if opts.Same != nil && opts.Same.program(t) != nil {
			load = func(_ *Object, t ebpf.Target, _ map[string]*cebpf.Map) error { return p.share(opts.Same, t) }
		}
		if err := load(o, t, replace); err != nil {
			return nil, errors.Join(err, p.Close())
		}
		for name, m := range p.Maps {
			replace[name] = m
		}
	}
	cpus, err := cebpf.PossibleCPU()
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	kernel := tables.Kernel{Maps: map[string]tables.Map{}, CPUs: cpus, Wait: p.grace.wait}
	for name, m := range p.Maps {
		kernel.Maps[name] = m
	}
	if kernel.Memory, err = p.memory(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	kept := func(name string) bool { return opts.Maps[name] != nil }
	p.Control, err = tables.New(o.Spec, kernel, opts.Contents, kept)
	if err != nil {
		if r := refusedEntry(err); r != nil && len(targets) > 0 {
			r.Program, r.Target = o.Spec.Name, targets[0]
			r.place(o.Spec.Split)
			err = r
		} else {
			err = fmt.Errorf("program %q: %w", o.Spec.Name, err)
		}
		return nil, errors.Join(err, p.Close())
	}
	if err := p.SetPort(ebpf.CPUPort, 0, ebpf.PortToRing); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// share takes the program of one hook, with the maps that it uses, from a program of the same text.
func (p *Program) share(same *Program, t ebpf.Target) error {
	prog, err := same.program(t).Clone()
	if err != nil {
		return fmt.Errorf("program %q: share it for %s: %w", p.Spec.Name, t, err)
	}
	if t == ebpf.TC {
		p.TC = prog
	} else {
		p.XDP = prog
	}
	for name, m := range same.Maps {
		if p.Maps[name] != nil {
			continue
		}
		if p.Maps[name], err = m.Clone(); err != nil {
			delete(p.Maps, name)
			return fmt.Errorf("program %q: share map %s: %w", p.Spec.Name, name, err)
		}
	}
	return nil
}

// load loads the program of one hook, in the first way in which the kernel takes it, taking maps from replace.
func (p *Program) load(ctx context.Context, o *Object, t ebpf.Target, replace map[string]*cebpf.Map) error {
	for {
		err := p.loadObject(o, t, replace)
		if err == nil {
			o.remember(t)
			return nil
		}
		if r := refusedMap(err); r != nil {
			r.Program, r.Target = o.Spec.Name, t
			r.place(o.Spec.Split)
			return r
		}
		if !refuses(err) {
			return fmt.Errorf("program %q: load for %s: %w", o.Spec.Name, t, err)
		}
		var refused *Refusal
		if err := o.buildFrom(ctx, t, o.way[t]+1); errors.As(err, &refused) {
			return o.explain(ctx, t, refused)
		} else if err != nil {
			return fmt.Errorf("program %q: %s: %w", o.Spec.Name, t, err)
		}
	}
}

// loadObject loads the object of one hook as it is.
func (p *Program) loadObject(o *Object, t ebpf.Target, replace map[string]*cebpf.Map) error {
	spec, err := o.Collection(t)
	if err != nil {
		return err
	}
	known := map[string]*cebpf.Map{}
	for name, m := range replace {
		if _, ok := spec.Maps[name]; ok {
			known[name] = m
		}
	}
	// Without a log it is loaded once only.
	coll, err := cebpf.NewCollectionWithOptions(spec, cebpf.CollectionOptions{MapReplacements: known, Programs: cebpf.ProgramOptions{LogDisabled: true}})
	if err != nil {
		return err
	}
	defer coll.Close()
	prog := coll.DetachProgram(ebpf.ProgramName)
	if prog == nil {
		return fmt.Errorf("the object has no program %s", ebpf.ProgramName)
	}
	if t == ebpf.TC {
		p.TC = prog
	} else {
		p.XDP = prog
	}
	for name := range coll.Maps {
		// Of the data sections, only tables' states are shared and written.
		shared := !strings.HasPrefix(name, ".") || strings.HasPrefix(name, ".data.")
		if _, ok := p.Maps[name]; !ok && shared {
			p.Maps[name] = coll.DetachMap(name)
		}
	}
	return nil
}

// Shared returns the maps whose contents mean the same in a successor, for
// LoadOptions.Maps. They belong to p.
func (p *Program) Shared(next *ebpf.Spec) map[string]*cebpf.Map {
	out := map[string]*cebpf.Map{}
	for name, m := range p.Maps {
		if key, ok := next.MapKeys[name]; ok && key == p.Spec.MapKeys[name] {
			out[name] = m
		}
	}
	return out
}

// Close releases the program and its maps. What is attached or pinned stays in the
// kernel.
func (p *Program) Close() error {
	var errs []error
	for _, prog := range []*cebpf.Program{p.TC, p.XDP} {
		if prog != nil {
			errs = append(errs, prog.Close())
		}
	}
	for _, m := range p.Maps {
		errs = append(errs, m.Close())
	}
	errs = append(errs, p.grace.close())
	return errors.Join(errs...)
}
