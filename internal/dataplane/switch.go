package dataplane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	cebpf "github.com/cilium/ebpf"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// SwitchConfig is what a Switch needs.
type SwitchConfig struct {
	// Name tells switches of one machine apart; letters, digits, '-' and '_'.
	Name string
	// StateFile keeps which ports there are, over restarts.
	StateFile string
	// BPFFS is where the bpffs is or shall be mounted; "" means /sys/fs/bpf.
	BPFFS string
	// Mode is the hook of ports for which nothing else is said; "" means TC.
	Mode ebpf.Target
	Log  *slog.Logger
}

// Switch is ports and the program that they share. What it attaches stays attached
// when the process ends; OpenSwitch takes it over again.
type Switch struct {
	cfg  SwitchConfig
	pins pins

	mu      sync.Mutex
	ports   map[uint32]*port
	running *Program // nil: none, or one of an earlier process that is still attached
	gen     int      // of the pinned maps
	keys    map[string]string
	events  *eventReader // of running

	packetIn func(packet []byte)
	digest   func(target.Digest)
	watchers map[chan PortEvent]bool
	stop     context.CancelFunc
	done     sync.WaitGroup
}

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// OpenSwitch makes a switch, or takes over what an earlier process left of it: ports
// whose links are still there keep their program running until Run gives them
// another one. Mounting a bpffs is logged.
func OpenSwitch(cfg SwitchConfig) (*Switch, error) {
	if !validName.MatchString(cfg.Name) {
		return nil, fmt.Errorf("switch name %q: use letters, digits, - and _", cfg.Name)
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.BPFFS == "" {
		cfg.BPFFS = "/sys/fs/bpf"
	}
	if cfg.Mode == "" {
		cfg.Mode = ebpf.TC
	}
	mounted, err := mountBPF(cfg.BPFFS)
	if err != nil {
		return nil, fmt.Errorf("switch %s: %w", cfg.Name, err)
	}
	if mounted {
		cfg.Log.Info("mounted a bpffs", "dir", cfg.BPFFS)
	}
	s := &Switch{
		cfg: cfg, pins: pins{filepath.Join(cfg.BPFFS, "catena", cfg.Name)},
		ports: map[uint32]*port{}, watchers: map[chan PortEvent]bool{},
	}
	state, err := readSaved(cfg.StateFile)
	if err != nil {
		return nil, fmt.Errorf("switch %s: %w", cfg.Name, err)
	}
	s.gen, s.keys = state.Generation, state.MapKeys
	for _, sp := range state.Ports {
		if err := s.takeOver(sp); err != nil {
			cfg.Log.Warn("port of an earlier run is not taken over", "port", sp.Number, "link", sp.Link, "error", err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	if err := s.watchLinks(ctx); err != nil {
		stop()
		return nil, fmt.Errorf("switch %s: %w", cfg.Name, err)
	}
	return s, nil
}

// Listen says where packets for the CPU port, with their controller header, and
// digests go. It is to be called before the first Run. The functions must not block
// and not keep the slices.
func (s *Switch) Listen(packetIn func(packet []byte), digest func(target.Digest)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.packetIn, s.digest = packetIn, digest
}

// Hooks returns the hooks that a program must be loaded for: those of the ports, of
// ports to come, and TC, through which packets from the CPU port come.
func (s *Switch) Hooks() []ebpf.Target {
	s.mu.Lock()
	defer s.mu.Unlock()
	need := map[ebpf.Target]bool{ebpf.TC: true, s.cfg.Mode: true}
	for _, p := range s.ports {
		need[p.mode] = true
	}
	return slices.Sorted(maps.Keys(need))
}

// Predecessor returns what a program that shall take the running one's place can be
// given to keep its state (see LoadOptions). Of a program of an earlier process these
// are the counters, meters and registers. release is to be called when the new
// program is loaded.
func (s *Switch) Predecessor(next *ebpf.Spec) (opts LoadOptions, release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		opts := LoadOptions{Maps: s.running.Shared(next), Contents: s.running.Contents()}
		if s.running.Spec.Source == next.Source {
			opts.Same = s.running
		}
		return opts, func() {}
	}
	kept := s.pins.openMaps(s.gen, s.keys, next)
	return LoadOptions{Maps: kept}, func() {
		for _, m := range kept {
			m.Close()
		}
	}
}

// Running returns the program that runs, nil if there is none of this process.
func (s *Switch) Running() *Program {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running
}

// Run makes p the program of all ports: each port changes from one packet to the
// next. The switch owns p from then on, and closes its predecessor. When Run fails,
// the predecessor goes on everywhere and p is still the caller's.
func (s *Switch) Run(p *Program) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.run(p); err != nil {
		return fmt.Errorf("switch %s: %w", s.cfg.Name, err)
	}
	return nil
}

func (s *Switch) run(p *Program) error {
	for _, number := range slices.Sorted(maps.Keys(s.ports)) {
		port := s.ports[number]
		if p.program(port.mode) == nil {
			return fmt.Errorf("port %d: the program is not loaded for %s", port.number, port.mode)
		}
		if err := port.checkChecksums(p); err != nil {
			return err
		}
		if err := p.SetPort(port.number, port.index, port.flags()); err != nil {
			return err
		}
	}
	if err := p.setInject(); err != nil {
		return err
	}
	gen := s.gen + 1
	if err := s.pins.pinMaps(gen, p); err != nil {
		return errors.Join(err, s.pins.keepOnly(s.gen))
	}
	events, err := newEventReader(p, s.packetIn, s.digest, s.cfg.Log)
	if err != nil {
		return errors.Join(err, s.pins.keepOnly(s.gen))
	}
	if err := s.attachAll(p); err != nil {
		return errors.Join(err, events.close(), s.pins.keepOnly(s.gen))
	}
	old, oldEvents := s.running, s.events
	s.running, s.events, s.gen, s.keys = p, events, gen, p.Spec.MapKeys
	err = s.save()
	if err != nil {
		// The switch works; only the next process will not find the counters.
		s.cfg.Log.Error("remember the program", "switch", s.cfg.Name, "error", err)
	}
	// Both may share the ring, which takes one reader.
	if oldEvents != nil {
		s.warn(oldEvents.close())
	}
	events.start()
	if old != nil {
		s.warn(old.Close())
	}
	s.warn(s.pins.keepOnly(gen))
	return nil
}

func (s *Switch) warn(err error) {
	if err != nil {
		s.cfg.Log.Warn("clean up", "switch", s.cfg.Name, "error", err)
	}
}

// attachAll attaches p at every port, or nowhere.
func (s *Switch) attachAll(p *Program) error {
	var undo []func() error
	for _, number := range slices.Sorted(maps.Keys(s.ports)) {
		port := s.ports[number]
		prog := p.program(port.mode)
		if port.at == nil {
			a, err := attach(prog, port.index, port.mode, s.pins.link(number))
			if err == nil {
				port.at = a
				undo = append(undo, func() error { port.at = nil; return a.remove() })
				continue
			}
			if !port.exists() {
				s.cfg.Log.Warn("the port's link has vanished", "port", number, "link", port.link)
				continue
			}
			return errors.Join(fmt.Errorf("port %d (%s): %w", number, port.link, err), undoAll(undo))
		}
		idle := port.at.idle
		if err := port.at.replace(prog); err != nil {
			if !port.exists() {
				continue
			}
			return errors.Join(fmt.Errorf("port %d (%s): %w", number, port.link, err), undoAll(undo))
		}
		if idle {
			undo = append(undo, port.at.idleAgain)
		} else if old := s.running; old != nil {
			undo = append(undo, func() error { return port.at.replace(old.program(port.mode)) })
		}
	}
	return nil
}

func undoAll(undo []func() error) error {
	var errs []error
	for i := len(undo) - 1; i >= 0; i-- {
		errs = append(errs, undo[i]())
	}
	return errors.Join(errs...)
}

// program returns the program for a hook, nil if it is not loaded.
func (p *Program) program(mode ebpf.Target) *cebpf.Program {
	if mode == ebpf.XDP {
		return p.XDP
	}
	return p.TC
}

// save writes the state file. The caller holds s.mu.
func (s *Switch) save() error {
	if s.cfg.StateFile == "" {
		return nil
	}
	state := saved{Generation: s.gen, MapKeys: s.keys}
	for _, number := range slices.Sorted(maps.Keys(s.ports)) {
		p := s.ports[number]
		state.Ports = append(state.Ports, savedPort{Number: number, Link: p.link, Index: p.index, Mode: p.mode, Peer: p.peer, Whole: p.whole})
	}
	return writeSaved(s.cfg.StateFile, state)
}

// Close ends the process's part. Ports and program stay and packets flow.
func (s *Switch) Close() error {
	s.stop()
	s.done.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, p := range s.ports {
		if p.at != nil {
			errs = append(errs, p.at.close())
			p.at = nil
		}
	}
	if s.events != nil {
		errs = append(errs, s.events.close())
		s.events = nil
	}
	if s.running != nil {
		errs = append(errs, s.running.Close())
		s.running = nil
	}
	return errors.Join(errs...)
}

// Destroy detaches the program everywhere and leaves nothing: no link, map or file.
// The interfaces stay; they are not the switch's. The switch is closed by it.
func (s *Switch) Destroy() error {
	s.mu.Lock()
	var errs []error
	for _, p := range s.ports {
		if p.at != nil {
			errs = append(errs, p.at.remove())
			p.at = nil
		}
	}
	s.mu.Unlock()
	errs = append(errs, s.Close(), s.pins.removeAll())
	if s.cfg.StateFile != "" {
		if err := os.Remove(s.cfg.StateFile); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("switch %s: %w", s.cfg.Name, err)
	}
	return nil
}
