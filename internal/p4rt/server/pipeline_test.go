package server_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt/client"
	"github.com/catena-nfv/catena/internal/p4rt/server"
	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

func TestCapabilities(t *testing.T) {
	b := newBed(t)
	if v, err := b.client(client.Config{}).Version(t.Context()); err != nil || v != "1.5.0" {
		t.Errorf("version %q, %v", v, err)
	}
}

func TestPipelineActions(t *testing.T) {
	b := newBed(t)
	c := b.client(client.Config{Election: 1})
	ctx := t.Context()
	if p, err := c.Pipeline(ctx); p != nil || err != nil {
		t.Fatalf("pipeline before any was set: %v, %v", p, err)
	}
	if err := c.Write(ctx, client.Insert(client.Multicast{ID: 1})); !errors.Is(err, target.ErrNotFound) {
		t.Errorf("write without pipeline: %v", err)
	}
	if got := mustFail(t, b); got != codes.FailedPrecondition {
		t.Errorf("raw write without pipeline: %s", got)
	}
	p := client.Pipeline{DeviceConfig: []byte(program), Cookie: 5}
	for _, bad := range []struct {
		how  client.Action
		p    client.Pipeline
		code codes.Code
	}{
		{client.Commit, client.Pipeline{}, codes.InvalidArgument},
		{client.Commit, client.Pipeline{DeviceConfig: []byte("tables {")}, codes.InvalidArgument},
		{client.CommitSaved, client.Pipeline{}, codes.NotFound},
	} {
		if err := c.SetPipeline(ctx, bad.how, bad.p); status.Code(err) != bad.code {
			t.Errorf("%v: %v, want %s", bad.how, err, bad.code)
		}
	}
	if err := c.SetPipeline(ctx, client.Verify, p); err != nil || b.dev.running != nil || b.dev.loaded != 0 {
		t.Errorf("verify: %v, running %v, loaded %d", err, b.dev.running, b.dev.loaded)
	}
	if err := c.SetPipeline(ctx, client.Save, p); err != nil || b.dev.running != nil {
		t.Fatalf("save: %v", err)
	}
	// Between save and commit, writes go to the new program.
	if err := c.Write(ctx, client.Insert(client.Entry{Table: "fwd", Match: map[string]target.Match{"dst": {Value: []byte{1}}}, Action: "drop"})); err != nil {
		t.Fatal(err)
	}
	if err := c.SetPipeline(ctx, client.CommitSaved, client.Pipeline{}); err != nil {
		t.Fatal(err)
	}
	if es, err := c.Entries(ctx, "fwd"); err != nil || len(es) != 1 {
		t.Errorf("entries after commit: %v, %v", es, err)
	}
	// Reconcile keeps them, commit does not.
	if err := c.SetPipeline(ctx, client.Reconcile, client.Pipeline{DeviceConfig: edited("size: 1100", "size: 1200"), Cookie: 6}); err != nil {
		t.Fatal(err)
	}
	if es, err := c.Entries(ctx, "fwd"); err != nil || len(es) != 1 {
		t.Errorf("entries after reconcile: %v, %v", es, err)
	}
	if cookie, err := c.Cookie(ctx); cookie != 6 || err != nil {
		t.Errorf("cookie %d, %v", cookie, err)
	}
	if err := c.SetPipeline(ctx, client.Commit, p); err != nil {
		t.Fatal(err)
	}
	if es, err := c.Entries(ctx, "fwd"); err != nil || len(es) != 0 {
		t.Errorf("entries after commit: %v, %v", es, err)
	}
	if b.dev.loaded != 1 {
		t.Errorf("%d programs are loaded", b.dev.loaded)
	}
}

func mustFail(t *testing.T, b *bed) codes.Code {
	t.Helper()
	_, err := b.rpc.Write(t.Context(), &v1.WriteRequest{DeviceId: 1, ElectionId: &v1.Uint128{Low: 1}})
	return status.Code(err)
}

// The P4Info of a client may number objects differently, but not describe another
// program.
func TestGivenP4Info(t *testing.T) {
	b := newBed(t)
	c := b.client(client.Config{Election: 1})
	renumbered := strings.ReplaceAll(program, "0x02000001", "0x02abcdef")
	info := &server.P4Info{}
	if err := prototext.Unmarshal([]byte(renumbered), info); err != nil {
		t.Fatal(err)
	}
	p := client.Pipeline{P4Info: info, DeviceConfig: []byte(program)}
	if err := c.SetPipeline(t.Context(), client.Commit, p); err != nil {
		t.Fatal(err)
	}
	if got := b.updates(`updates { type: INSERT entity { table_entry { table_id: 0x02abcdef
		match { field_id: 1 exact { value: "\x01" } } action { action { action_id: 0x01000001 } } } } }`); got[0] != codes.OK {
		t.Errorf("write by the client's id: %s", got[0])
	}
	got, err := c.Pipeline(t.Context())
	if err != nil || !proto.Equal(got.P4Info, info) {
		t.Errorf("the P4Info that was set does not come back: %v", err)
	}
	for _, tt := range []struct{ old, new, want string }{
		{`name: "dst" bitwidth: 48`, `name: "dst" bitwidth: 32`, "table In.fwd is keys dst:32:EXACT"},
		{`name: "In.cnt"`, `name: "In.other"`, "counter In.cnt"},
	} {
		if err := prototext.Unmarshal(edited(tt.old, tt.new), info); err != nil {
			t.Fatal(err)
		}
		err := c.SetPipeline(t.Context(), client.Commit, p)
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("p4info with %s: %v, want %q", tt.new, err, tt.want)
		}
	}
}

// A server that starts again has what was written before, whether the former one
// ended well or not.
func TestRestart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sub", "journal")
	b := newBedWith(t, &memoryDevice{}, file)
	c := b.client(client.Config{Election: 1})
	ctx := t.Context()
	if err := c.SetPipeline(ctx, client.Commit, client.Pipeline{DeviceConfig: []byte(program), Cookie: 9}); err != nil {
		t.Fatal(err)
	}
	dst := func(i byte) map[string]target.Match { return map[string]target.Match{"dst": {Value: []byte{i}}} }
	if err := c.Write(ctx,
		client.Insert(client.Entry{Table: "fwd", Match: dst(1), Action: "drop", Metadata: []byte("mine")}),
		client.Insert(client.Entry{Table: "fwd", Match: dst(2), Action: "drop"}),
		client.Delete(client.Entry{Table: "fwd", Match: dst(2)}),
		client.Modify(client.Default{Table: "fwd", Action: "drop"}),
		client.Insert(client.Multicast{ID: 1, Replicas: []target.Replica{{Port: 1}}}),
		client.Modify(client.MeterCell{Meter: "met", Index: 1, Config: &target.MeterConfig{CIR: 1, PIR: 2}}),
		client.Insert(client.DigestConfig{Digest: "learn", MaxList: 3})); err != nil {
		t.Fatal(err)
	}
	// A failed update must not come to life.
	if err := c.Write(ctx, client.Insert(client.Entry{Table: "fwd", Match: dst(1), Action: "drop"})); err == nil {
		t.Fatal("inserted twice")
	}
	if got := b.updates(`updates { type: INSERT entity { table_entry { table_id: 0x02000004 match { field_id: 1 lpm { value: '\x0a\x00\x00\x00' prefix_len: 8 } }
		action { action_profile_action_set { action_profile_actions { action { action_id: 0x01000001 } weight: 1 } } } } } }`)[0]; got != codes.OK {
		t.Fatal(got)
	}
	all := "entities { table_entry { } } entities { table_entry { is_default_action: true } } entities { packet_replication_engine_entry { } } entities { meter_entry { } } entities { digest_entry { } }"
	before, err := b.read(all)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string) *bed {
		t.Helper()
		again := newBedWith(t, &memoryDevice{}, file)
		if cookie, err := again.client(client.Config{}).Cookie(ctx); cookie != 9 || err != nil {
			t.Errorf("%s: cookie %d, %v", what, cookie, err)
		}
		after, err := again.read(all)
		if err != nil {
			t.Fatal(err)
		}
		sameSet(t, before, after)
		return again
	}
	check("after a crash") // the first server is still there, but has nothing to do with it
	last := check("after another")
	last.srv.Close()
	check("after an end")
	// What a crash has cut off does not count, what stands before it does.
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(data, 0x7f, 1, 2), 0o600); err != nil {
		t.Fatal(err)
	}
	check("with a torn end")
}
