package server_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt/client"
	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
)

// peer is a raw stream.
type peer struct {
	t   *testing.T
	s   v1.P4Runtime_StreamChannelClient
	in  chan *v1.StreamMessageResponse
	end chan error
}

func (b *bed) peer() *peer {
	b.t.Helper()
	s, err := b.rpc.StreamChannel(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	p := &peer{b.t, s, make(chan *v1.StreamMessageResponse, 100), make(chan error, 1)}
	go func() {
		for {
			m, err := s.Recv()
			if err != nil {
				p.end <- err
				return
			}
			p.in <- m
		}
	}()
	return p
}

// arbitrate sends an update; id 0 is unset.
func (p *peer) arbitrate(role string, id uint64) *peer {
	p.t.Helper()
	m := &v1.MasterArbitrationUpdate{DeviceId: 1}
	if id != 0 {
		m.ElectionId = &v1.Uint128{Low: id}
	}
	if role != "" {
		m.Role = &v1.Role{Name: role}
	}
	p.send(m)
	return p
}

func (p *peer) send(m *v1.MasterArbitrationUpdate) {
	p.t.Helper()
	if err := p.s.Send(&v1.StreamMessageRequest{Update: &v1.StreamMessageRequest_Arbitration{Arbitration: m}}); err != nil && err != io.EOF {
		p.t.Fatal(err)
	}
}

// hears checks the next message: its status and the highest election id.
func (p *peer) hears(code codes.Code, highest uint64) {
	p.t.Helper()
	select {
	case m := <-p.in:
		a := m.GetArbitration()
		if codes.Code(a.GetStatus().GetCode()) != code || a.GetElectionId().GetLow() != highest || (a.GetElectionId() != nil) != (highest != 0) {
			p.t.Errorf("arbitration %v, want %s and %d", m, code, highest)
		}
	case err := <-p.end:
		p.t.Errorf("stream ended: %v", err)
	case <-time.After(5 * time.Second):
		p.t.Error("no message")
	}
}

// quiet checks that nothing more came.
func (p *peer) quiet() {
	p.t.Helper()
	select {
	case m := <-p.in:
		p.t.Errorf("unexpected %v", m)
	case <-time.After(20 * time.Millisecond):
	}
}

func (p *peer) endsWith(code codes.Code) {
	p.t.Helper()
	select {
	case err := <-p.end:
		if status.Code(err) != code {
			p.t.Errorf("stream ended with %v, want %s", err, code)
		}
	case <-time.After(5 * time.Second):
		p.t.Error("the stream did not end")
	}
}

func TestArbitration(t *testing.T) {
	b := newBed(t)
	standby := b.peer().arbitrate("", 0)
	standby.hears(codes.NotFound, 0)
	one := b.peer().arbitrate("", 10)
	one.hears(codes.OK, 10)
	standby.hears(codes.AlreadyExists, 10)

	low := b.peer().arbitrate("", 5) // a backup: only it is told
	low.hears(codes.AlreadyExists, 10)
	one.quiet()

	high := b.peer().arbitrate("", 20)
	high.hears(codes.OK, 20)
	for _, p := range []*peer{one, low, standby} {
		p.hears(codes.AlreadyExists, 20)
	}
	high.arbitrate("", 15) // downgrades itself: nobody is primary
	for _, p := range []*peer{high, one, low, standby} {
		p.hears(codes.NotFound, 20)
	}
	low.arbitrate("", 20)
	for _, p := range []*peer{low, one, high, standby} {
		want := codes.AlreadyExists
		if p == low {
			want = codes.OK
		}
		p.hears(want, 20)
	}
	if err := low.s.CloseSend(); err != nil { // the primary leaves
		t.Fatal(err)
	}
	for _, p := range []*peer{one, high, standby} {
		p.hears(codes.NotFound, 20)
		p.quiet()
	}
	// Another role elects on its own.
	other := b.peer().arbitrate("monitor", 3)
	other.hears(codes.OK, 3)
	one.quiet()
}

func TestArbitrationErrors(t *testing.T) {
	b := newBed(t)
	one := b.peer().arbitrate("", 10)
	one.hears(codes.OK, 10)

	b.peer().arbitrate("", 10).endsWith(codes.InvalidArgument)
	p := b.peer()
	p.send(&v1.MasterArbitrationUpdate{DeviceId: 2, ElectionId: &v1.Uint128{Low: 11}})
	p.endsWith(codes.NotFound)
	p = b.peer()
	p.send(&v1.MasterArbitrationUpdate{DeviceId: 1, ElectionId: &v1.Uint128{Low: 11}, Role: &v1.Role{Config: &anypb.Any{}}})
	p.endsWith(codes.InvalidArgument)
	p = b.peer().arbitrate("", 4)
	p.hears(codes.AlreadyExists, 10)
	p.arbitrate("x", 4)
	p.endsWith(codes.FailedPrecondition)
	p = b.peer().arbitrate("", 4)
	p.hears(codes.AlreadyExists, 10)
	p.send(&v1.MasterArbitrationUpdate{DeviceId: 9, ElectionId: &v1.Uint128{Low: 4}})
	p.endsWith(codes.FailedPrecondition)
	one.quiet()
}

func TestOnlyPrimaryWrites(t *testing.T) {
	b, c := ready(t) // election id 1
	insert := client.Insert(client.Multicast{ID: 1})
	request := func(role string, id uint64) codes.Code {
		req := &v1.WriteRequest{DeviceId: 1, Role: role}
		if id != 0 {
			req.ElectionId = &v1.Uint128{Low: id}
		}
		_, err := b.rpc.Write(t.Context(), req)
		return status.Code(err)
	}
	for _, tt := range []struct {
		role string
		id   uint64
		want codes.Code
	}{{"", 1, codes.OK}, {"", 2, codes.PermissionDenied}, {"", 0, codes.PermissionDenied}, {"nobody", 1, codes.NotFound}} {
		if got := request(tt.role, tt.id); got != tt.want {
			t.Errorf("role %q, election id %d: %s, want %s", tt.role, tt.id, got, tt.want)
		}
	}
	if _, err := b.rpc.Write(t.Context(), &v1.WriteRequest{DeviceId: 2, ElectionId: &v1.Uint128{Low: 1}}); status.Code(err) != codes.NotFound {
		t.Errorf("another device: %v", err)
	}
	if _, err := b.rpc.SetForwardingPipelineConfig(t.Context(), &v1.SetForwardingPipelineConfigRequest{DeviceId: 1, ElectionId: &v1.Uint128{Low: 2}}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("pipeline by a backup: %v", err)
	}
	next := b.client(client.Config{Election: 2})
	if !next.Primary() {
		t.Fatal("the higher election id is not the primary")
	}
	waitFor(t, func() bool { return !c.Primary() })
	if err := c.Write(t.Context(), insert); status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "not permitted") {
		t.Errorf("write by the former primary: %v", err)
	}
	if err := next.Write(t.Context(), insert); err != nil {
		t.Error(err)
	}
	backup := b.client(client.Config{Election: 1000})
	next.Close()
	waitFor(t, backup.Primary)
	if err := backup.WaitPrimary(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDigests(t *testing.T) {
	b := newBed(t)
	got := make(chan client.Digest, 10)
	c := b.client(client.Config{Election: 1, Digest: func(d client.Digest) { got <- d }})
	ctx := t.Context()
	if err := c.SetPipeline(ctx, client.Commit, client.Pipeline{DeviceConfig: []byte(program)}); err != nil {
		t.Fatal(err)
	}
	learn := func(mac byte) { b.dev.digest(target.Digest{Name: "learn", Values: [][]byte{{mac}, {0xff}}}) }
	none := func() {
		t.Helper()
		select {
		case d := <-got:
			t.Errorf("unexpected %v", d)
		case <-time.After(30 * time.Millisecond):
		}
	}
	next := func(macs ...byte) {
		t.Helper()
		select {
		case d := <-got:
			if d.Name != "learn" || len(d.Values) != len(macs) || d.Fields[0] != "mac" {
				t.Fatalf("digest %+v, want %v", d, macs)
			}
			for i, m := range macs {
				if string(d.Values[i][0]) != string([]byte{m}) || d.Values[i][1][0] != 0xff {
					t.Errorf("digest %+v, want %v", d, macs)
				}
			}
		case <-time.After(5 * time.Second):
			t.Fatal("no digest")
		}
	}
	learn(1)
	none() // not enabled
	hour := int64(time.Hour)
	if err := c.Write(ctx, client.Insert(client.DigestConfig{Digest: "learn", MaxTimeout: hour, MaxList: 2, AckTimeout: hour})); err != nil {
		t.Fatal(err)
	}
	learn(1)
	learn(1) // the same
	none()
	learn(2)
	next(1, 2)
	// Once acknowledged, the same may come again; a full list is not needed after the timeout.
	if err := c.Write(ctx, client.Modify(client.DigestConfig{Digest: "learn", MaxTimeout: int64(10 * time.Millisecond), MaxList: 5, AckTimeout: hour})); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond) // for the acknowledgement to arrive
	learn(2)
	next(2)
	if err := c.Write(ctx, client.Delete(client.DigestConfig{Digest: "learn"})); err != nil {
		t.Fatal(err)
	}
	learn(3)
	none()
	if err := c.Write(ctx, client.Delete(client.DigestConfig{Digest: "learn"})); err == nil {
		t.Error("disabled twice")
	}
}
