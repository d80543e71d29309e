package dataplane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"

	"github.com/vishvananda/netlink"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// port is a port of the switch.
type port struct {
	number uint32
	link   string
	index  int // of the interface
	mode   ebpf.Target
	peer   bool
	whole  bool        // packets come with whole checksums
	at     *attachment // nil: its link was made again while no process looked
}

func (p *port) flags() uint32 {
	if p.peer && p.mode == ebpf.TC {
		return ebpf.PortPeer
	}
	return 0
}

// exists reports whether the interface is still there.
func (p *port) exists() bool {
	_, err := netlink.LinkByIndex(p.index)
	return err == nil
}

// PortSpec describes a port to attach.
type PortSpec struct {
	Number uint32 // 1 to 509
	Link   string // name of an interface in this network namespace
	// Mode is the hook; "" means the switch's.
	Mode ebpf.Target
	// Peer sends packets out of the port straight to the other end of its veth
	// or netkit, past the host's side of it: faster, but nothing on the host's side
	// (captures, queues, counters) sees them. TC only.
	Peer bool
	// WholeChecksums promises that packets come with checksums that are complete:
	// the other end's checksum offload is off. Programs that compute checksums over
	// payload from all inputs need it of veths, netkits and taps; ports on XDP have it.
	WholeChecksums bool
}

// AddPort makes a link a port in the switch's mode. It succeeds when it is that
// already; a number that has another link gets this one instead.
func (s *Switch) AddPort(ctx context.Context, number uint32, link string) error {
	return s.AttachPort(ctx, PortSpec{Number: number, Link: link})
}

// AttachPort is AddPort with a choice of how.
func (s *Switch) AttachPort(_ context.Context, spec PortSpec) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.attachPort(spec); err != nil {
		return fmt.Errorf("switch %s: port %d (%s): %w", s.cfg.Name, spec.Number, spec.Link, err)
	}
	return nil
}

func (s *Switch) attachPort(spec PortSpec) error {
	if spec.Number == 0 || spec.Number >= ebpf.CPUPort {
		return fmt.Errorf("%w: ports are 1 to %d", target.ErrInvalid, ebpf.CPUPort-1)
	}
	if spec.Mode == "" {
		spec.Mode = s.cfg.Mode
	}
	if spec.Mode != ebpf.TC && spec.Mode != ebpf.XDP {
		return fmt.Errorf("%w: hook %q is neither %s nor %s", target.ErrInvalid, spec.Mode, ebpf.TC, ebpf.XDP)
	}
	l, err := netlink.LinkByName(spec.Link)
	if err != nil {
		return fmt.Errorf("link: %w", err)
	}
	index := l.Attrs().Index
	for _, p := range s.ports {
		if p.index == index && p.number != spec.Number {
			return fmt.Errorf("%w: the link is port %d", target.ErrExists, p.number)
		}
	}
	p := &port{number: spec.Number, link: spec.Link, index: index, mode: spec.Mode, peer: spec.Peer,
		whole: spec.WholeChecksums || spec.Mode == ebpf.XDP}
	if s.running != nil {
		if err := p.checkChecksums(s.running); err != nil {
			return err
		}
	}
	if old := s.ports[spec.Number]; old != nil {
		if old.link == p.link && old.index == p.index && old.mode == p.mode && old.peer == p.peer && old.whole == p.whole {
			return nil
		}
		if err := s.detach(old); err != nil {
			return err
		}
	}
	if s.running != nil {
		prog := s.running.program(p.mode)
		if prog == nil {
			return fmt.Errorf("the running program is not loaded for %s", p.mode)
		}
		if err := s.running.SetPort(p.number, p.index, p.flags()); err != nil {
			return err
		}
		if p.at, err = attach(prog, p.index, p.mode, s.pins.link(p.number)); err != nil {
			return errors.Join(err, s.running.ClearPort(p.number, p.index))
		}
	} else if p.at, err = attachIdle(p.index, p.mode, s.pins.link(p.number)); err != nil {
		return err
	}
	s.ports[p.number] = p
	if err := s.save(); err != nil {
		return errors.Join(err, s.detach(p))
	}
	return nil
}

// RemovePort takes a port away. It succeeds when the number is free or the link is
// gone.
func (s *Switch) RemovePort(_ context.Context, number uint32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.ports[number]
	if p == nil {
		return nil
	}
	if err := errors.Join(s.detach(p), s.save()); err != nil {
		return fmt.Errorf("switch %s: port %d (%s): %w", s.cfg.Name, number, p.link, err)
	}
	return nil
}

// detach takes a port out of the program and forgets it. The caller holds s.mu.
func (s *Switch) detach(p *port) error {
	delete(s.ports, p.number)
	var errs []error
	if p.at != nil {
		errs = append(errs, p.at.remove())
		p.at = nil
	}
	if s.running != nil {
		errs = append(errs, s.running.ClearPort(p.number, p.index))
	}
	return errors.Join(errs...)
}

// takeOver enters a port of an earlier process.
func (s *Switch) takeOver(sp savedPort) error {
	p := &port{number: sp.Number, link: sp.Link, index: sp.Index, mode: sp.Mode, peer: sp.Peer, whole: sp.Whole || sp.Mode == ebpf.XDP}
	l, err := netlink.LinkByName(sp.Link)
	if err != nil {
		return err
	}
	// A link that was made again under its name is the same port to everybody.
	p.index = l.Attrs().Index
	if p.at, err = adopt(s.pins.link(sp.Number), p.index, p.mode); err != nil {
		return err
	}
	s.ports[p.number] = p
	return nil
}

// PortState is a port with its counters, as seen by the switch: received is what
// came in from the port.
type PortState struct {
	Number               uint32
	Link                 string
	Index                int // of the interface
	Mode                 ebpf.Target
	Generic              bool // XDP in the slow, generic mode
	Up                   bool // the interface is up and has a carrier
	Attached             bool // a program runs at it
	RxPackets, RxBytes   uint64
	TxPackets, TxBytes   uint64
	RxDropped, TxDropped uint64
}

// Ports returns all ports, sorted by number. A port whose link has vanished is there
// without counters, and not up.
func (s *Switch) Ports() []PortState {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []PortState
	for _, number := range slices.Sorted(maps.Keys(s.ports)) {
		p := s.ports[number]
		st := PortState{Number: number, Link: p.link, Index: p.index, Mode: p.mode}
		if p.at != nil {
			st.Attached, st.Generic = !p.at.idle, p.at.generic
		}
		if l, err := netlink.LinkByIndex(p.index); err == nil {
			a := l.Attrs()
			st.Up = a.Flags&net.FlagUp != 0 && a.Flags&net.FlagRunning != 0
			if c := a.Statistics; c != nil {
				st.RxPackets, st.RxBytes, st.RxDropped = c.RxPackets, c.RxBytes, c.RxDropped
				st.TxPackets, st.TxBytes, st.TxDropped = c.TxPackets, c.TxBytes, c.TxDropped
			}
		}
		out = append(out, st)
	}
	return out
}
