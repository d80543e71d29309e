// Package softswitch is a P4Runtime device in software: it runs programs in the
// reference interpreter. It needs no kernel and no root, and takes exactly one packet
// at a time: a device for tests, for teaching and for comparing with the kernel's.
package softswitch

import (
	"context"
	"fmt"
	"sync"

	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/p4info"
	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt/server"
	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
)

// CPUPort is the port of packets from and to the controller.
const CPUPort = 510

// Config is what a device needs.
type Config struct {
	// Compile turns the P4 text of a device configuration into a program. Its errors
	// are for the client.
	Compile func(ctx context.Context, text []byte) (*ir.Program, error)
	// Out receives the packets that the program sends on a port after a packet from
	// the controller; nil drops them.
	Out func(target.Packet)
	// Options are the interpreter's.
	Options interp.Options
}

// Device implements server.Device.
type Device struct {
	cfg Config

	mu       sync.Mutex
	running  *pipeline
	packetIn func([]byte)
	digest   func(target.Digest)
}

// New makes a device without a program.
func New(cfg Config) *Device { return &Device{cfg: cfg} }

// Listen implements server.Device.
func (d *Device) Listen(packetIn func([]byte), digest func(target.Digest)) {
	d.packetIn, d.digest = packetIn, digest
}

// Compile implements server.Device.
func (d *Device) Compile(ctx context.Context, text []byte) (server.Program, error) {
	p, err := d.cfg.Compile(ctx, text)
	if err != nil {
		return nil, err
	}
	info, err := p4info.Build(p)
	if err != nil {
		return nil, err
	}
	return &program{d, p, info}, nil
}

// Inject implements server.Device.
func (d *Device) Inject(_ context.Context, packet []byte) error {
	out, err := d.Send(CPUPort, packet)
	if err != nil {
		return err
	}
	if d.cfg.Out != nil {
		for _, p := range out {
			d.cfg.Out(p)
		}
	}
	return nil
}

// Send runs a packet that comes in on a port through the program and returns what
// leaves on ports. Packets to the CPU port and digests go to the listeners.
func (d *Device) Send(port uint32, data []byte) ([]target.Packet, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running == nil {
		return nil, fmt.Errorf("packet on port %d: no program runs", port)
	}
	sw := d.running.Switch
	all, err := sw.Inject(target.Packet{Port: port, Data: data})
	if err != nil {
		return nil, err
	}
	var out []target.Packet
	for _, p := range all {
		switch {
		case p.Port != CPUPort:
			out = append(out, p)
		case d.packetIn != nil:
			d.packetIn(p.Data)
		}
	}
	for _, g := range sw.Digests() {
		if d.digest != nil {
			d.digest(g)
		}
	}
	return out, nil
}

type program struct {
	d    *Device
	prog *ir.Program
	info *configv1.P4Info
}

func (p *program) P4Info() *configv1.P4Info { return p.info }

func (p *program) Load(_ context.Context, keep bool) (server.Pipeline, error) {
	sw, err := interp.New(p.prog, p.d.cfg.Options)
	if err != nil {
		return nil, err
	}
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	if keep && p.d.running != nil {
		if err := takeState(p.d.running, sw, p.info); err != nil {
			return nil, err
		}
	}
	return &pipeline{Switch: sw, d: p.d, info: p.info}, nil
}

// pipeline implements server.Pipeline.
type pipeline struct {
	*interp.Switch
	d    *Device
	info *configv1.P4Info
}

func (p *pipeline) Commit(context.Context) error {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	p.d.running = p
	return nil
}
