package dataplane

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	cebpf "github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// TestDevice pushes packets through a program one by one, by BPF_PROG_TEST_RUN. Every
// port leads to the ring buffer, so that what leaves comes back. The object must have
// been built with BuildOptions.Test. It implements target.Device.
//
// A packet is given to the kernel with padding behind it, which the program does not
// see: the kernel knows no frames shorter than an Ethernet header, scripts do.
type TestDevice struct {
	*Program
	mu      sync.Mutex
	hook    ebpf.Target
	prog    *cebpf.Program
	ring    *ringbuf.Reader
	digests []target.Digest
}

var _ target.Device = (*TestDevice)(nil)

// testPad is how many bytes stand behind each packet.
const testPad = 64

// OpenTestDevice makes a test device of a program that is loaded for the hook. The
// device closes the program.
func OpenTestDevice(p *Program, hook ebpf.Target) (*TestDevice, error) {
	d := &TestDevice{Program: p, hook: hook, prog: p.TC}
	if hook == ebpf.XDP {
		d.prog = p.XDP
	}
	if d.prog == nil {
		return nil, fmt.Errorf("test device: the program is not loaded for %s", hook)
	}
	for port := range uint32(target.DropPort) {
		if err := p.SetPort(port, 0, ebpf.PortToRing); err != nil {
			return nil, err
		}
	}
	ring, err := ringbuf.NewReader(p.Maps[ebpf.MapEvents])
	if err != nil {
		return nil, fmt.Errorf("test device: %w", err)
	}
	d.ring = ring
	return d, nil
}

// Inject implements target.Device.
func (d *TestDevice) Inject(p target.Packet) ([]target.Packet, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	in := ebpf.PortIn{Port: p.Port, Flags: testPad << ebpf.PortPadShift}
	if err := d.Maps[ebpf.MapPortsIn].Put(uint32(loopback), &in); err != nil {
		return nil, fmt.Errorf("port %d: %w", p.Port, err)
	}
	data := append(append([]byte(nil), p.Data...), make([]byte, testPad)...)
	opts := &cebpf.RunOptions{Data: data, DataOut: make([]byte, len(data)+1024), Repeat: 1}
	if _, err := d.prog.Run(opts); err != nil {
		return nil, fmt.Errorf("port %d: test run on %s: %w", p.Port, d.hook, err)
	}
	return d.drain()
}

// drain reads what the packet left in the ring.
func (d *TestDevice) drain() ([]target.Packet, error) {
	var out []target.Packet
	var rec ringbuf.Record
	for {
		d.ring.SetDeadline(time.Unix(1, 0)) // in the past: what is there, and no more
		if err := d.ring.ReadInto(&rec); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return out, nil
			}
			return nil, fmt.Errorf("test device: %w", err)
		}
		s := rec.RawSample
		if len(s) < headerSize {
			return nil, fmt.Errorf("test device: an event of %d bytes", len(s))
		}
		id, n := binary.NativeEndian.Uint32(s[4:]), binary.NativeEndian.Uint32(s[8:])
		if orig := binary.NativeEndian.Uint32(s[12:]); orig != n {
			return nil, fmt.Errorf("test device: packet of %d bytes, of which %d fit the ring", orig, n)
		}
		body := append([]byte(nil), s[headerSize:headerSize+n]...)
		switch binary.NativeEndian.Uint32(s) {
		case ebpf.EventPacket:
			out = append(out, target.Packet{Port: id, Data: body})
		case ebpf.EventDigest:
			g, err := splitDigest(d.Spec.Digests[id], body)
			if err != nil {
				return nil, fmt.Errorf("test device: %w", err)
			}
			d.digests = append(d.digests, g)
		}
	}
}

// Digests implements target.Device.
func (d *TestDevice) Digests() []target.Digest {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.digests
	d.digests = nil
	return out
}

// Close implements target.Device.
func (d *TestDevice) Close() error {
	return errors.Join(d.ring.Close(), d.Program.Close())
}
