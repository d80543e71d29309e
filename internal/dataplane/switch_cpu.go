package dataplane

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"

	cebpf "github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// loopback is the interface on which packets from the CPU port are said to come in:
// no port can be there, and it is the one that a test run assumes.
const loopback = 1

// setInject ties the CPU port to test runs.
func (p *Program) setInject() error {
	in := ebpf.PortIn{Port: ebpf.CPUPort, Flags: ebpf.PortInject}
	if err := p.Maps[ebpf.MapPortsIn].Put(uint32(loopback), &in); err != nil {
		return fmt.Errorf("CPU port: %w", err)
	}
	return nil
}

// minPacket is the smallest packet that the kernel lets a test run have.
const minPacket = 14

// Inject runs a packet through the program as if it had come in on the CPU port; it
// leaves on real ports. The packet begins with the controller header if the program
// has one. Packets longer than about 3.5 KB do not fit.
func (s *Switch) Inject(_ context.Context, packet []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		return fmt.Errorf("switch %s: packet from the controller: no program runs", s.cfg.Name)
	}
	if len(packet) < minPacket {
		return fmt.Errorf("switch %s: packet from the controller: %w: %d bytes are less than an Ethernet header",
			s.cfg.Name, target.ErrInvalid, len(packet))
	}
	if s.running.TC == nil {
		return fmt.Errorf("switch %s: packet from the controller: %w: the program is not loaded for %s", s.cfg.Name, target.ErrUnsupported, ebpf.TC)
	}
	out := make([]byte, len(packet)+512)
	if _, err := s.running.TC.Run(&cebpf.RunOptions{Data: packet, DataOut: out, Repeat: 1}); err != nil {
		return fmt.Errorf("switch %s: packet from the controller: %w", s.cfg.Name, err)
	}
	return nil
}

// eventReader hands out a program's events.
type eventReader struct {
	rd       *ringbuf.Reader
	digests  []*ebpf.Digest
	packetIn func([]byte)
	digest   func(target.Digest)
	log      *slog.Logger
	done     chan struct{} // closed when the reader has ended; nil before start
}

func newEventReader(p *Program, packetIn func([]byte), digest func(target.Digest), log *slog.Logger) (*eventReader, error) {
	rd, err := ringbuf.NewReader(p.Maps[ebpf.MapEvents])
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	return &eventReader{rd: rd, digests: p.Spec.Digests, packetIn: packetIn, digest: digest, log: log}, nil
}

func (r *eventReader) start() {
	r.done = make(chan struct{})
	go r.run()
}

func (r *eventReader) run() {
	defer close(r.done)
	var rec ringbuf.Record
	for {
		if err := r.rd.ReadInto(&rec); err != nil {
			if !errors.Is(err, ringbuf.ErrClosed) && !errors.Is(err, ringbuf.ErrFlushed) {
				r.log.Error("read events", "error", err)
			}
			return
		}
		if err := r.handle(rec.RawSample); err != nil {
			r.log.Warn("event of the data plane", "error", err)
		}
	}
}

// close handles the events that are in the ring and ends the reader.
func (r *eventReader) close() error {
	var err error
	if r.done != nil {
		err = r.rd.Flush()
		<-r.done
	}
	return errors.Join(err, r.rd.Close())
}

// headerSize is the size of ebpf.EventHeader.
const headerSize = 16

func (r *eventReader) handle(sample []byte) error {
	if len(sample) < headerSize {
		return fmt.Errorf("%d bytes are no event", len(sample))
	}
	kind := binary.NativeEndian.Uint32(sample)
	id := binary.NativeEndian.Uint32(sample[4:])
	n := binary.NativeEndian.Uint32(sample[8:])
	if int(n) > len(sample)-headerSize {
		return fmt.Errorf("event of %d bytes says it has %d", len(sample), n)
	}
	data := sample[headerSize : headerSize+int(n)]
	switch kind {
	case ebpf.EventPacket:
		if id == ebpf.CPUPort && r.packetIn != nil {
			r.packetIn(data)
		}
	case ebpf.EventDigest:
		if int(id) >= len(r.digests) {
			return fmt.Errorf("digest number %d, the program has %d", id, len(r.digests))
		}
		d, err := splitDigest(r.digests[id], data)
		if err != nil {
			return err
		}
		if r.digest != nil {
			r.digest(d)
		}
	default:
		return fmt.Errorf("event of kind %d", kind)
	}
	return nil
}

// splitDigest takes the values of a digest apart.
func splitDigest(d *ebpf.Digest, data []byte) (target.Digest, error) {
	out := target.Digest{Name: d.Name}
	for _, f := range d.Fields {
		n := (f.Width + 7) / 8
		if n > len(data) {
			return out, fmt.Errorf("digest %s: %d bytes are missing at field %s", d.Name, n-len(data), f.Name)
		}
		out.Values = append(out.Values, append([]byte(nil), data[:n]...))
		data = data[n:]
	}
	return out, nil
}
