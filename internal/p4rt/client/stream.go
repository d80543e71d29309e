package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/catena-nfv/catena/internal/p4rt"
	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// PacketIn is a packet that the program sent to the controller.
type PacketIn struct {
	Payload  []byte
	Metadata map[string][]byte // by field name of the packet_in header
}

// Digest is a list of digests. It is acknowledged when the handler returns.
type Digest struct {
	Name   string
	Fields []string   // names of the values, paths within the struct
	Values [][][]byte // one list of values for each digest
	Time   time.Time
}

// arbitrate opens the stream and waits for the first answer.
func (c *Client) arbitrate(ctx, life context.Context) error {
	stream, err := c.rpc.StreamChannel(life)
	if err != nil {
		return plain("open the stream", err)
	}
	c.stream = stream
	m := &v1.MasterArbitrationUpdate{DeviceId: c.cfg.DeviceID, ElectionId: c.election()}
	if c.cfg.Role != "" {
		m.Role = &v1.Role{Name: c.cfg.Role}
	}
	if err := c.send(&v1.StreamMessageRequest{Update: &v1.StreamMessageRequest_Arbitration{Arbitration: m}}); err != nil {
		return err
	}
	c.mu.Lock()
	first := c.changed
	c.mu.Unlock()
	go c.receive()
	select {
	case <-first:
		return nil
	case <-c.done:
		return c.Err()
	case <-ctx.Done():
		return fmt.Errorf("no answer to the arbitration: %w", ctx.Err())
	}
}

func (c *Client) send(m *v1.StreamMessageRequest) error {
	if c.stream == nil {
		return errors.New("the client was opened for reading only")
	}
	c.sendMu.Lock()
	defer c.sendMu.Unlock()
	err := c.stream.Send(m)
	if errors.Is(err, io.EOF) {
		// The reason comes with the receiving side.
		select {
		case <-c.done:
			return c.Err()
		case <-time.After(time.Second):
		}
	}
	if err != nil {
		return plain("send on the stream", err)
	}
	return nil
}

func (c *Client) receive() {
	defer close(c.done)
	for {
		m, err := c.stream.Recv()
		if err != nil {
			c.mu.Lock()
			c.primary = false
			c.err = plain("the stream has ended", err)
			c.mu.Unlock()
			return
		}
		switch x := m.GetUpdate().(type) {
		case *v1.StreamMessageResponse_Arbitration:
			c.mu.Lock()
			c.primary = codes.Code(x.Arbitration.GetStatus().GetCode()) == codes.OK
			close(c.changed)
			c.changed = make(chan struct{})
			c.mu.Unlock()
		case *v1.StreamMessageResponse_Packet:
			c.packetIn(x.Packet)
		case *v1.StreamMessageResponse_Digest:
			c.digest(x.Digest)
		case *v1.StreamMessageResponse_Error:
			c.fault(x.Error)
		}
	}
}

func (c *Client) packetIn(p *v1.PacketIn) {
	schema, err := c.Schema()
	if err != nil || c.cfg.PacketIn == nil {
		return
	}
	out := PacketIn{Payload: p.GetPayload(), Metadata: map[string][]byte{}}
	for _, m := range p.GetMetadata() {
		for _, f := range schema.PacketIn.GetMetadata() {
			if f.GetId() == m.GetMetadataId() {
				out.Metadata[f.GetName()] = m.GetValue()
			}
		}
	}
	c.cfg.PacketIn(out)
}

func (c *Client) digest(l *v1.DigestList) {
	schema, err := c.Schema()
	if err != nil {
		return
	}
	info := schema.Digests.ID(l.GetDigestId())
	if info == nil {
		return
	}
	out := Digest{Name: info.GetPreamble().GetName(), Time: time.Unix(0, l.GetTimestamp())}
	for _, s := range info.Scalars {
		out.Fields = append(out.Fields, s.Name)
	}
	for _, d := range l.GetData() {
		v, err := schema.DecodeData(info.GetTypeSpec(), info.Scalars, d)
		if err != nil {
			c.addFault(plain("digest "+out.Name, err))
			continue
		}
		out.Values = append(out.Values, v)
	}
	if c.cfg.Digest != nil {
		c.cfg.Digest(out)
	}
	ack := &v1.DigestListAck{DigestId: l.GetDigestId(), ListId: l.GetListId()}
	if err := c.send(&v1.StreamMessageRequest{Update: &v1.StreamMessageRequest_DigestAck{DigestAck: ack}}); err != nil {
		c.addFault(err)
	}
}

func (c *Client) fault(e *v1.StreamError) {
	what := "stream"
	switch {
	case e.GetPacketOut() != nil:
		what = "packet-out"
	case e.GetDigestListAck() != nil:
		what = "digest acknowledgement"
	}
	c.addFault(plain(what, status.Error(codes.Code(e.GetCanonicalCode()), e.GetMessage())))
}

func (c *Client) addFault(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const keep = 100
	if len(c.faults) < keep {
		c.faults = append(c.faults, err)
	}
}

// Faults returns and forgets the errors that came on the stream: of packet-outs
// and acknowledgements, which have no answer of their own. At most 100 are kept.
func (c *Client) Faults() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.faults
	c.faults = nil
	return f
}

// PacketOut sends a packet into the program, with metadata by the field names of
// its packet_out header. What the switch does not like about it is told by Faults.
func (c *Client) PacketOut(payload []byte, metadata map[string][]byte) error {
	schema, err := c.Schema()
	if err != nil {
		return fmt.Errorf("packet-out: %w", err)
	}
	p := &v1.PacketOut{Payload: payload}
	var names []string
	known := map[string]bool{}
	for _, f := range schema.PacketOut.GetMetadata() {
		names = append(names, f.GetName())
		known[f.GetName()] = true
		if v, ok := metadata[f.GetName()]; ok {
			p.Metadata = append(p.Metadata, &v1.PacketMetadata{MetadataId: f.GetId(), Value: p4rt.Canonical(v)})
		}
	}
	for name := range metadata {
		if !known[name] {
			return fmt.Errorf("packet-out: the packet_out header has no field %q; %s", name, list(names))
		}
	}
	return c.send(&v1.StreamMessageRequest{Update: &v1.StreamMessageRequest_Packet{Packet: p}})
}
