package server_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/p4rt/client"
	"github.com/catena-nfv/catena/internal/p4rt/server"
	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// bed is a server before a memory device, reached over an in-memory connection.
type bed struct {
	t    *testing.T
	dev  *memoryDevice
	srv  *server.Server
	dial grpc.DialOption
	rpc  v1.P4RuntimeClient
}

func newBed(t *testing.T) *bed { return newBedWith(t, &memoryDevice{}, "") }

func newBedWith(t *testing.T, dev *memoryDevice, state string) *bed {
	t.Helper()
	srv, err := server.New(t.Context(), server.Config{DeviceID: 1, Device: dev, Journal: state})
	if err != nil {
		t.Fatal(err)
	}
	lis := bufconn.Listen(1 << 20)
	gs := grpc.NewServer()
	v1.RegisterP4RuntimeServer(gs, srv)
	go gs.Serve(lis)
	t.Cleanup(func() { gs.Stop(); srv.Close() })
	b := &bed{t: t, dev: dev, srv: srv}
	b.dial = grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) })
	conn, err := grpc.NewClient("passthrough:///bed", b.dial, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	b.rpc = v1.NewP4RuntimeClient(conn)
	return b
}

// client connects; cfg may have more than the election id.
func (b *bed) client(cfg client.Config) *client.Client {
	b.t.Helper()
	cfg.Target = "passthrough:///bed"
	cfg.Dial = []grpc.DialOption{b.dial, grpc.WithTransportCredentials(insecure.NewCredentials())}
	c, err := client.Dial(b.t.Context(), cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { c.Close() })
	return c
}

// ready is a bed with the test's program and its primary client.
func ready(t *testing.T) (*bed, *client.Client) {
	t.Helper()
	b := newBed(t)
	c := b.client(client.Config{Election: 1})
	if err := c.SetPipeline(t.Context(), client.Commit, client.Pipeline{DeviceConfig: []byte(program), Cookie: 77}); err != nil {
		t.Fatal(err)
	}
	return b, c
}

// updates writes raw updates, given as text, and returns the codes, one each.
func (b *bed) updates(text string) []codes.Code {
	b.t.Helper()
	req := &v1.WriteRequest{}
	if err := prototext.Unmarshal([]byte(text), req); err != nil {
		b.t.Fatal(err)
	}
	req.DeviceId, req.ElectionId = 1, &v1.Uint128{Low: 1}
	out := make([]codes.Code, len(req.Updates))
	_, err := b.rpc.Write(b.t.Context(), req)
	if err == nil {
		return out
	}
	details := status.Convert(err).Details()
	if len(details) != len(out) {
		b.t.Fatalf("%d details for %d updates: %v", len(details), len(out), err)
	}
	for i, d := range details {
		out[i] = codes.Code(d.(*v1.Error).CanonicalCode)
		if (out[i] == codes.OK) != (d.(*v1.Error).Message == "") {
			b.t.Errorf("update %d: code %s with message %q", i, out[i], d.(*v1.Error).Message)
		}
	}
	return out
}

// read reads raw entities.
func (b *bed) read(text string) ([]*v1.Entity, error) {
	b.t.Helper()
	req := &v1.ReadRequest{}
	if err := prototext.Unmarshal([]byte(text), req); err != nil {
		b.t.Fatal(err)
	}
	req.DeviceId = 1
	stream, err := b.rpc.Read(b.t.Context(), req)
	if err != nil {
		b.t.Fatal(err)
	}
	var out []*v1.Entity
	for {
		resp, err := stream.Recv()
		if err != nil {
			if status.Code(err) == codes.Unknown && err.Error() == "EOF" {
				err = nil
			}
			return out, err
		}
		out = append(out, resp.Entities...)
	}
}

func sameSet(t *testing.T, want, got []*v1.Entity) {
	t.Helper()
	if len(want) != len(got) {
		t.Errorf("%d entities, want %d", len(got), len(want))
	}
	for _, w := range want {
		found := false
		for _, g := range got {
			found = found || proto.Equal(w, g)
		}
		if !found {
			t.Errorf("lost: %v", w)
		}
	}
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited for 5 s")
		}
	}
}
