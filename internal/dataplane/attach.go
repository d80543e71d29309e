package dataplane

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	cebpf "github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
)

// attachment is a program at an interface: a bpf_link, pinned.
type attachment struct {
	link    link.Link
	pin     string
	mode    ebpf.Target
	generic bool // XDP in the slow, generic mode
	idle    bool // the program is attachIdle's
}

// attach attaches a program to an interface and pins the link.
func attach(prog *cebpf.Program, index int, mode ebpf.Target, pin string) (*attachment, error) {
	if err := os.MkdirAll(filepath.Dir(pin), 0o700); err != nil {
		return nil, fmt.Errorf("pin: %w", err)
	}
	// A link to an interface that is gone, or of a process that was killed before it had noted the port.
	if err := os.Remove(pin); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("pin: %w", err)
	}
	a := &attachment{pin: pin, mode: mode}
	var err error
	if mode == ebpf.XDP {
		a.link, err = link.AttachXDP(link.XDPOptions{Program: prog, Interface: index, Flags: link.XDPDriverMode})
		if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL) {
			a.generic = true
			a.link, err = link.AttachXDP(link.XDPOptions{Program: prog, Interface: index, Flags: link.XDPGenericMode})
		}
	} else {
		a.link, err = link.AttachTCX(link.TCXOptions{Program: prog, Interface: index, Attach: cebpf.AttachTCXIngress})
	}
	if errors.Is(err, unix.EBUSY) {
		return nil, fmt.Errorf("attach to %s: another program is attached already", mode)
	}
	if err != nil {
		return nil, fmt.Errorf("attach to %s: %w", mode, err)
	}
	if err := a.link.Pin(pin); err != nil {
		a.link.Close()
		return nil, fmt.Errorf("pin: %w", err)
	}
	return a, nil
}

// adopt opens the pinned link of an earlier process. It returns nil when there is
// none, or one that is not at the interface any more.
func adopt(pin string, index int, mode ebpf.Target) (*attachment, error) {
	l, err := link.LoadPinnedLink(pin, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := l.Info()
	if err != nil {
		l.Close()
		return nil, err
	}
	at, is := uint32(0), ebpf.Target("")
	if x := info.TCX(); x != nil {
		at, is = x.Ifindex, ebpf.TC
	} else if x := info.XDP(); x != nil {
		at, is = x.Ifindex, ebpf.XDP
	}
	if int(at) != index || is != mode {
		a := &attachment{link: l, pin: pin}
		return nil, a.remove()
	}
	idle, err := isIdle(info.Program)
	if err != nil {
		l.Close()
		return nil, err
	}
	return &attachment{link: l, pin: pin, mode: mode, idle: idle}, nil
}

// replace puts another program in the place of the one that runs, atomically.
func (a *attachment) replace(prog *cebpf.Program) error {
	if err := a.link.Update(prog); err != nil {
		return fmt.Errorf("replace the program at %s: %w", a.mode, err)
	}
	a.idle = false
	return nil
}

// idleAgain takes the port's first program away.
func (a *attachment) idleAgain() error {
	prog, err := newIdle(a.mode)
	if err != nil {
		return err
	}
	defer prog.Close()
	if err := a.replace(prog); err != nil {
		return err
	}
	a.idle = true
	return nil
}

// remove detaches the program. It is no error when the interface is gone.
func (a *attachment) remove() error {
	err := os.Remove(a.pin)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, a.link.Close())
}

// close forgets the link, which stays.
func (a *attachment) close() error { return a.link.Close() }
