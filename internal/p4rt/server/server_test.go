package server_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt"
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

// Codes of single updates, as the specification gives them.
func TestUpdateCodes(t *testing.T) {
	b, _ := ready(t)
	entry := func(op, rest string) string {
		return "updates { type: " + op + " entity { table_entry { " + rest + " } } }"
	}
	const (
		fwd   = "table_id: 0x02000001 match { field_id: 1 exact { value: '\\x01' } } "
		fwd2  = "table_id: 0x02000001 match { field_id: 1 exact { value: '\\x02' } } "
		drop  = "action { action { action_id: 0x01000001 } } "
		acl   = "table_id: 0x02000002 "
		fixed = "table_id: 0x02000003 match { field_id: 1 exact { value: '\\x07' } } "
	)
	set := func(port, mac string) string {
		return "action { action { action_id: 0x01000002 params { param_id: 1 value: '" + port + "' } params { param_id: 2 value: '" + mac + "' } } } "
	}
	tests := []struct {
		name, update string
		want         codes.Code
	}{
		{"insert", entry("INSERT", fwd+set("\\x01", "\\x02")), codes.OK},
		{"insert again", entry("INSERT", fwd+drop), codes.AlreadyExists},
		{"same value, padded", entry("INSERT", strings.Replace(fwd, "\\x01", "\\x00\\x01", 1)+drop), codes.AlreadyExists},
		{"modify", entry("MODIFY", fwd+drop), codes.OK},
		{"modify without action", entry("MODIFY", fwd+"counter_data { packet_count: 3 }"), codes.OK},
		{"modify nothing", entry("MODIFY", fwd2+drop), codes.NotFound},
		{"delete nothing", entry("DELETE", fwd2), codes.NotFound},
		{"delete ignores the rest", entry("DELETE", fwd+"action { action { action_id: 12345 } } counter_data { } meter_config { }"), codes.OK},
		{"no type", "updates { entity { table_entry { " + fwd + drop + "} } }", codes.InvalidArgument},
		{"no entity", "updates { type: INSERT }", codes.InvalidArgument},
		{"unknown table", entry("INSERT", "table_id: 0x02999999 "+drop), codes.InvalidArgument},
		{"insert without action", entry("INSERT", fwd), codes.InvalidArgument},
		{"key missing", entry("INSERT", "table_id: 0x02000001 "+drop), codes.InvalidArgument},
		{"key twice", entry("INSERT", fwd+"match { field_id: 1 exact { value: '\\x03' } }"+drop), codes.InvalidArgument},
		{"unknown field", entry("INSERT", fwd+"match { field_id: 2 exact { value: '\\x03' } }"+drop), codes.InvalidArgument},
		{"value too wide", entry("INSERT", "table_id: 0x02000001 match { field_id: 1 exact { value: '\\x01\\x00\\x00\\x00\\x00\\x00\\x00' } }"+drop), codes.InvalidArgument},
		{"value empty", entry("INSERT", "table_id: 0x02000001 match { field_id: 1 exact { value: '' } }"+drop), codes.InvalidArgument},
		{"wrong kind of match", entry("INSERT", "table_id: 0x02000001 match { field_id: 1 lpm { value: '\\x01' prefix_len: 48 } }"+drop), codes.InvalidArgument},
		{"priority where none is", entry("INSERT", fwd+drop+"priority: 1"), codes.InvalidArgument},
		{"is_const", entry("INSERT", fwd+drop+"is_const: true"), codes.InvalidArgument},
		{"meter where none is", entry("INSERT", fwd+drop+"meter_config { cir: 1 }"), codes.InvalidArgument},
		{"idle timeout where none is", entry("INSERT", fwd+drop+"idle_timeout_ns: 5"), codes.InvalidArgument},
		{"param missing", entry("INSERT", fwd+"action { action { action_id: 0x01000002 params { param_id: 1 value: '\\x01' } } }"), codes.InvalidArgument},
		{"param too wide", entry("INSERT", fwd+set("\\x02\\x00", "\\x01")), codes.InvalidArgument},
		{"param unknown", entry("INSERT", fwd+"action { action { action_id: 0x01000001 params { param_id: 1 value: '\\x01' } } }"), codes.InvalidArgument},
		{"default-only action in an entry", entry("INSERT", fwd+"action { action { action_id: 0x01000003 } }"), codes.PermissionDenied},
		{"action of another table", entry("INSERT", acl+"priority: 1 action { action { action_id: 0x01000003 } }"), codes.InvalidArgument},
		{"member of a direct table", entry("INSERT", fwd+"action { action_profile_member_id: 1 }"), codes.InvalidArgument},

		{"priority missing", entry("INSERT", acl+drop), codes.InvalidArgument},
		{"negative priority", entry("INSERT", acl+drop+"priority: -1"), codes.InvalidArgument},
		{"all wildcards", entry("INSERT", acl+drop+"priority: 1"), codes.OK},
		{"mask 0", entry("INSERT", acl+drop+"priority: 2 match { field_id: 1 ternary { value: '\\x00' mask: '\\x00' } }"), codes.InvalidArgument},
		{"value beyond mask", entry("INSERT", acl+drop+"priority: 2 match { field_id: 1 ternary { value: '\\x03' mask: '\\x01' } }"), codes.InvalidArgument},
		{"prefix 0", entry("INSERT", acl+drop+"priority: 2 match { field_id: 2 lpm { value: '\\x00' prefix_len: 0 } }"), codes.InvalidArgument},
		{"prefix too long", entry("INSERT", acl+drop+"priority: 2 match { field_id: 2 lpm { value: '\\x00' prefix_len: 33 } }"), codes.InvalidArgument},
		{"value beyond prefix", entry("INSERT", acl+drop+"priority: 2 match { field_id: 2 lpm { value: '\\x0a\\x00\\x00\\x01' prefix_len: 8 } }"), codes.InvalidArgument},
		{"range upside down", entry("INSERT", acl+drop+"priority: 2 match { field_id: 3 range { low: '\\x05' high: '\\x04' } }"), codes.InvalidArgument},
		{"whole range", entry("INSERT", acl+drop+"priority: 2 match { field_id: 3 range { low: '\\x00' high: '\\xff\\xff' } }"), codes.InvalidArgument},
		{"every kind", entry("INSERT", acl+set("\\x01", "\\x01")+`priority: 2 metadata: "m" controller_metadata: 8 meter_config { cir: 1 cburst: 2 pir: 3 pburst: 4 }
			match { field_id: 1 ternary { value: '\x01' mask: '\x0f' } } match { field_id: 2 lpm { value: '\x0a\x00\x00\x00' prefix_len: 8 } }
			match { field_id: 3 range { low: '\x05' high: '\x09' } } match { field_id: 4 optional { value: '\x06' } }`), codes.OK},
		{"pir below cir", entry("INSERT", acl+drop+"priority: 3 meter_config { cir: 3 pir: 1 }"), codes.InvalidArgument},
		{"meter colours", entry("INSERT", acl+drop+"priority: 3 meter_counter_data { }"), codes.Unimplemented},
		{"table full", entry("INSERT", acl+drop+"priority: 3") + entry("INSERT", acl+drop+"priority: 4") + entry("INSERT", acl+drop+"priority: 5"), codes.ResourceExhausted},

		{"default", entry("MODIFY", "table_id: 0x02000001 is_default_action: true "+set("\\x01", "\\x01")), codes.OK},
		{"default reset", entry("MODIFY", "table_id: 0x02000001 is_default_action: true"), codes.OK},
		{"default insert", entry("INSERT", "table_id: 0x02000001 is_default_action: true "+drop), codes.InvalidArgument},
		{"default with match", entry("MODIFY", fwd+"is_default_action: true "+drop), codes.InvalidArgument},
		{"default constant", entry("MODIFY", "table_id: 0x02000003 is_default_action: true "+drop), codes.PermissionDenied},
		{"table-only action as default", entry("MODIFY", "table_id: 0x02000002 is_default_action: true "+set("\\x01", "\\x01")), codes.PermissionDenied},

		{"constant table, insert", entry("INSERT", strings.Replace(fixed, "07", "08", 1)+drop), codes.PermissionDenied},
		{"constant table, delete", entry("DELETE", fixed), codes.PermissionDenied},
		{"constant table, modify with action", entry("MODIFY", fixed+drop), codes.PermissionDenied},
		{"keyless insert", entry("INSERT", "table_id: 0x02000005 "+drop), codes.InvalidArgument},

		{"counter", "updates { type: MODIFY entity { counter_entry { counter_id: 0x12000001 index { index: 1 } data { packet_count: 1 } } } }", codes.OK},
		{"counter insert", "updates { type: INSERT entity { counter_entry { counter_id: 0x12000001 index { index: 1 } } } }", codes.InvalidArgument},
		{"counter beyond", "updates { type: MODIFY entity { counter_entry { counter_id: 0x12000001 index { index: 4 } } } }", codes.OutOfRange},
		{"counter negative", "updates { type: MODIFY entity { counter_entry { counter_id: 0x12000001 index { index: -1 } } } }", codes.InvalidArgument},
		{"register", "updates { type: MODIFY entity { register_entry { register_id: 0x16000001 index { index: 2 } data { struct { members { bitstring: '\\x07' } members { bitstring: '\\xff' } } } } } }", codes.OK},
		{"register of another type", "updates { type: MODIFY entity { register_entry { register_id: 0x16000001 index { index: 2 } data { bitstring: '\\x01' } } } }", codes.InvalidArgument},
		{"register too wide", "updates { type: MODIFY entity { register_entry { register_id: 0x16000001 index { index: 2 } data { struct { members { bitstring: '\\x07' } members { bitstring: '\\x00\\x80' } } } } } }", codes.OutOfRange},
		{"value set", "updates { type: MODIFY entity { value_set_entry { value_set_id: 0x03000001 members { match { field_id: 1 exact { value: '\\x01' } } } } } }", codes.OK},
		{"value set twice", "updates { type: MODIFY entity { value_set_entry { value_set_id: 0x03000001 members { match { field_id: 1 exact { value: '\\x01' } } } members { match { field_id: 1 exact { value: '\\x00\\x01' } } } } } }", codes.AlreadyExists},
		{"value set full", "updates { type: MODIFY entity { value_set_entry { value_set_id: 0x03000001 members { } members { } members { } } } }", codes.ResourceExhausted},
		{"value set insert", "updates { type: INSERT entity { value_set_entry { value_set_id: 0x03000001 } } }", codes.InvalidArgument},

		{"multicast", "updates { type: INSERT entity { packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1 metadata: 'm' replicas { port: '\\x05' instance: 1 } replicas { egress_port: 0xfffffffd } } } } }", codes.OK},
		{"multicast id 0", "updates { type: INSERT entity { packet_replication_engine_entry { multicast_group_entry { } } } }", codes.InvalidArgument},
		{"multicast twice the same", "updates { type: INSERT entity { packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 2 replicas { port: '\\x05' } replicas { port: '\\x05' } } } } }", codes.InvalidArgument},
		{"backup replicas", "updates { type: INSERT entity { packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 2 replicas { port: '\\x05' backup_replicas { port: '\\x06' } } } } } }", codes.Unimplemented},
		{"clone", "updates { type: INSERT entity { packet_replication_engine_entry { clone_session_entry { session_id: 5 packet_length_bytes: 64 replicas { port: '\\x05' } } } } }", codes.OK},
		{"clone id 0", "updates { type: INSERT entity { packet_replication_engine_entry { clone_session_entry { } } } }", codes.InvalidArgument},
		{"extern", "updates { type: INSERT entity { extern_entry { extern_type_id: 0x81 } } }", codes.Unimplemented},
	}
	for _, tt := range tests {
		got := b.updates(tt.update)
		if got[len(got)-1] != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got[len(got)-1], tt.want)
		}
	}
}

// What is written comes back as it was written.
func TestSymmetry(t *testing.T) {
	b, _ := ready(t)
	entities := []string{
		`table_entry { table_id: 0x02000001 match { field_id: 1 exact { value: '\x01' } } counter_data { byte_count: 4 packet_count: 1 }
			action { action { action_id: 0x01000002 params { param_id: 1 value: '\x01\xff' } params { param_id: 2 value: '\x00' } } } }`,
		`table_entry { table_id: 0x02000002 priority: 7 metadata: "m" controller_metadata: 8 meter_config { cir: 1 cburst: 2 pir: 3 pburst: 4 }
			match { field_id: 1 ternary { value: '\x00' mask: '\x0f' } } match { field_id: 2 lpm { value: '\x0a\x00\x00\x00' prefix_len: 8 } }
			match { field_id: 3 range { low: '\x00' high: '\x09' } } match { field_id: 4 optional { value: '\x06' } } action { action { action_id: 0x01000001 } } }`,
		`action_profile_member { action_profile_id: 0x11000001 member_id: 1 action { action_id: 0x01000001 } }`,
		`action_profile_member { action_profile_id: 0x11000001 member_id: 2 action { action_id: 0x01000002 params { param_id: 1 value: '\x01' } params { param_id: 2 value: '\x02' } } }`,
		`action_profile_group { action_profile_id: 0x11000001 group_id: 1 max_size: 5 members { member_id: 1 weight: 2 } members { member_id: 2 weight: 1 watch_port: '\x03' } }`,
		`table_entry { table_id: 0x02000004 match { field_id: 1 lpm { value: '\x0a\x00\x00\x00' prefix_len: 8 } } action { action_profile_group_id: 1 } }`,
		`table_entry { table_id: 0x02000004 match { field_id: 1 lpm { value: '\x0b\x00\x00\x00' prefix_len: 8 } } action { action_profile_member_id: 2 } }`,
		`packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1 metadata: 'm' replicas { port: '\x05' instance: 1 } replicas { egress_port: 6 } } }`,
		`packet_replication_engine_entry { clone_session_entry { session_id: 5 packet_length_bytes: 64 replicas { port: '\xff\xff\xff\xfd' instance: 3 } } }`,
		`digest_entry { digest_id: 0x17000001 config { max_timeout_ns: 1 max_list_size: 2 ack_timeout_ns: 3 } }`,
	}
	for _, text := range entities {
		want := &v1.Entity{}
		if err := prototext.Unmarshal([]byte(text), want); err != nil {
			t.Fatal(err)
		}
		if got := b.updates("updates { type: INSERT entity { " + text + " } }"); got[0] != codes.OK {
			t.Errorf("insert %s: %s", text, got[0])
			continue
		}
		got, err := b.read("entities { " + text + " }")
		if err != nil {
			t.Errorf("read %s: %v", text, err)
			continue
		}
		found := false
		for _, e := range got {
			found = found || proto.Equal(e, want)
		}
		if !found {
			t.Errorf("wrote %v\nread %v", want, got)
		}
	}
	// Members and groups that are in use cannot go.
	for text, want := range map[string]codes.Code{
		`action_profile_member { action_profile_id: 0x11000001 member_id: 1 }`: codes.FailedPrecondition,
		`action_profile_group { action_profile_id: 0x11000001 group_id: 1 }`:   codes.FailedPrecondition,
		`action_profile_group { action_profile_id: 0x11000001 group_id: 9 }`:   codes.NotFound,
	} {
		if got := b.updates("updates { type: DELETE entity { " + text + " } }"); got[0] != want {
			t.Errorf("delete %s: %s, want %s", text, got[0], want)
		}
	}
	modified := map[string]codes.Code{
		`action_profile_group { action_profile_id: 0x11000001 group_id: 1 max_size: 6 members { member_id: 1 weight: 2 } }`:                                    codes.InvalidArgument,
		`action_profile_group { action_profile_id: 0x11000001 group_id: 1 max_size: 5 members { member_id: 7 weight: 2 } }`:                                    codes.NotFound,
		`action_profile_group { action_profile_id: 0x11000001 group_id: 1 max_size: 5 members { member_id: 1 weight: 9 } }`:                                    codes.ResourceExhausted,
		`action_profile_group { action_profile_id: 0x11000001 group_id: 1 max_size: 5 members { member_id: 1 } }`:                                              codes.InvalidArgument,
		`action_profile_group { action_profile_id: 0x11000001 group_id: 1 max_size: 5 members { member_id: 1 weight: 1 } members { member_id: 1 weight: 1 } }`: codes.InvalidArgument,
	}
	for text, want := range modified {
		if got := b.updates("updates { type: MODIFY entity { " + text + " } }"); got[0] != want {
			t.Errorf("modify %s: %s, want %s", text, got[0], want)
		}
	}
}

// Entries that bring their action set along come back as they were, and leave
// nothing behind.
func TestOneShot(t *testing.T) {
	b, _ := ready(t)
	entry := func(op, net, set string) codes.Code {
		return b.updates("updates { type: " + op + " entity { table_entry { table_id: 0x02000004 match { field_id: 1 lpm { value: '\\x" + net + "\\x00\\x00\\x00' prefix_len: 8 } } " + set + " } } }")[0]
	}
	two := `action { action_profile_action_set { action_profile_actions { action { action_id: 0x01000001 } weight: 1 }
		action_profile_actions { action { action_id: 0x01000002 params { param_id: 1 value: '\x01' } params { param_id: 2 value: '\x02' } } weight: 2 watch_port: '\x01' } } }`
	one := `action { action_profile_action_set { action_profile_actions { action { action_id: 0x01000001 } weight: 8 } } }`
	for _, x := range []struct {
		op, net, set string
		want         codes.Code
	}{
		{"INSERT", "0a", two, codes.OK},
		{"INSERT", "0a", two, codes.AlreadyExists},
		{"INSERT", "0b", two, codes.OK},
		{"MODIFY", "0a", one, codes.OK},
		{"MODIFY", "0c", one, codes.NotFound},
		{"INSERT", "0c", strings.Replace(one, "8", "9", 1), codes.InvalidArgument},
		{"INSERT", "0c", strings.Replace(one, "weight: 8", "", 1), codes.InvalidArgument},
	} {
		if got := entry(x.op, x.net, x.set); got != x.want {
			t.Errorf("%s %s: %s, want %s", x.op, x.net, got, x.want)
		}
	}
	got, err := b.read("entities { table_entry { table_id: 0x02000004 } } entities { action_profile_member { } } entities { action_profile_group { } }")
	if err != nil || len(got) != 2 {
		t.Fatalf("read %v, %v", got, err)
	}
	if set := got[0].GetTableEntry().GetAction().GetActionProfileActionSet(); len(set.GetActionProfileActions()) != 1 {
		t.Errorf("read %v", got[0])
	}
	if m := len(b.dev.running.members["In.sel"]); m != 3 {
		t.Errorf("%d members for three actions", m)
	}
	if got := b.updates(`updates { type: INSERT entity { action_profile_member { action_profile_id: 0x11000001 member_id: 1 action { action_id: 0x01000001 } } } }`)[0]; got != codes.InvalidArgument {
		t.Errorf("mixing the two ways: %s", got)
	}
	for _, net := range []string{"0a", "0b"} {
		if got := entry("DELETE", net, ""); got != codes.OK {
			t.Errorf("delete: %s", got)
		}
	}
	if m, g := b.dev.running.members["In.sel"], b.dev.running.groups["In.sel"]; len(m)+len(g) != 0 {
		t.Errorf("left behind: %v %v", m, g)
	}
}

func TestReads(t *testing.T) {
	b, c := ready(t)
	ctx := t.Context()
	var us []client.Update
	for i := range 4 {
		us = append(us, client.Insert(client.Entry{
			Table: "fwd", Match: map[string]target.Match{"dst": {Value: []byte{byte(i)}}},
			Action: []string{"drop", "set"}[i%2], Params: []map[string][]byte{nil, {"port": {1}, "mac": {2}}}[i%2], Counter: &target.Counter{Packets: uint64(i)},
		}))
	}
	if err := c.Write(ctx, us...); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		query string
		count int
		code  codes.Code
	}{
		{"entities { table_entry { } }", 5, codes.OK}, // with the constant one
		{"entities { table_entry { table_id: 0x02000001 } }", 4, codes.OK},
		{"entities { table_entry { table_id: 0x02000001 action { action { action_id: 0x01000001 } } } }", 2, codes.OK},
		{"entities { table_entry { table_id: 0x02000001 match { field_id: 1 exact { value: '\\x02' } } } }", 1, codes.OK},
		{"entities { table_entry { table_id: 0x02000001 match { field_id: 1 exact { value: '\\x09' } } } }", 0, codes.OK},
		{"entities { table_entry { table_id: 0x02000001 is_default_action: true } }", 1, codes.OK},
		{"entities { table_entry { is_default_action: true } }", 5, codes.OK},
		{"entities { counter_entry { } }", 4, codes.OK},
		{"entities { counter_entry { counter_id: 0x12000001 index { index: 3 } } }", 1, codes.OK},
		{"entities { meter_entry { } } entities { register_entry { } } entities { value_set_entry { } }", 6, codes.OK},
		{"entities { direct_counter_entry { } }", 4, codes.OK},
		{"entities { direct_counter_entry { table_entry { table_id: 0x02000001 } } }", 4, codes.OK},
		{"entities { direct_counter_entry { table_entry { table_id: 0x02000001 match { field_id: 1 exact { value: '\\x02' } } } } }", 1, codes.OK},
		{"entities { direct_counter_entry { table_entry { table_id: 0x02000001 match { field_id: 1 exact { value: '\\x09' } } } } }", 0, codes.NotFound},
		{"entities { direct_counter_entry { table_entry { table_id: 0x02000002 } } }", 0, codes.InvalidArgument},
		{"entities { direct_meter_entry { } }", 0, codes.OK},
		{"entities { packet_replication_engine_entry { } } entities { digest_entry { } } entities { extern_entry { } }", 0, codes.OK},
		{"entities { }", 0, codes.InvalidArgument},
		{"entities { counter_entry { counter_id: 0x12000001 index { index: 4 } } }", 0, codes.OutOfRange},
	}
	for _, tt := range tests {
		got, err := b.read(tt.query)
		code := codes.OK
		if err != nil {
			if status.Code(err) != codes.Unknown {
				t.Errorf("%s: overall code %s", tt.query, status.Code(err))
			}
			code = codes.Code(status.Convert(err).Details()[0].(*v1.Error).CanonicalCode)
		}
		if len(got) != tt.count || code != tt.code {
			t.Errorf("%s: %d entities, %s; want %d, %s", tt.query, len(got), code, tt.count, tt.code)
		}
	}
	got, err := b.read("entities { table_entry { table_id: 0x02000003 } }")
	if err != nil || len(got) != 1 || !got[0].GetTableEntry().GetIsConst() {
		t.Errorf("constant entry: %v, %v", got, err)
	}
	// A request that fails does not hide the others' answers.
	got, err = b.read("entities { counter_entry { } } entities { counter_entry { counter_id: 9 } } entities { meter_entry { } }")
	if len(got) != 6 || len(status.Convert(err).Details()) != 3 {
		t.Errorf("mixed read: %d entities, %v", len(got), err)
	}
}

func TestRollback(t *testing.T) {
	b, c := ready(t)
	ctx := t.Context()
	entry := func(dst byte, action string) client.Entry {
		return client.Entry{Table: "fwd", Match: map[string]target.Match{"dst": {Value: []byte{dst}}}, Action: action,
			Params: map[string]map[string][]byte{"set": {"port": {1}, "mac": {dst}}}[action]}
	}
	first := entry(1, "set")
	first.Counter, first.Metadata = &target.Counter{Packets: 5, Bytes: 9}, []byte("m")
	if err := c.WriteAll(ctx, client.Insert(first), client.Insert(entry(2, "drop")),
		client.Modify(client.RegisterCell{Register: "reg", Index: -1, Value: [][]byte{{3}, {4}}}),
		client.Modify(client.Default{Table: "fwd", Action: "drop"}),
		client.Insert(client.Multicast{ID: 3, Replicas: []target.Replica{{Port: 1}}})); err != nil {
		t.Fatal(err)
	}
	all := "entities { table_entry { counter_data { } } } entities { table_entry { is_default_action: true } } entities { register_entry { } } entities { packet_replication_engine_entry { } }"
	before, err := b.read(all)
	if err != nil {
		t.Fatal(err)
	}
	err = c.WriteAll(ctx,
		client.Insert(entry(3, "drop")),
		client.Modify(entry(2, "set")),
		client.Delete(entry(1, "")),
		client.Modify(client.RegisterCell{Register: "reg", Index: 1, Value: [][]byte{{9}, {9}}}),
		client.Modify(client.Default{Table: "fwd"}),
		client.Delete(client.Multicast{ID: 3}),
		client.Delete(entry(8, "")))
	var we *client.WriteError
	if !errors.As(err, &we) || !errors.Is(err, target.ErrNotFound) {
		t.Fatalf("batch with a bad update: %v", err)
	}
	after, err := b.read(all)
	if err != nil {
		t.Fatal(err)
	}
	sameSet(t, before, after)
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

func TestClientErrors(t *testing.T) {
	_, c := ready(t)
	dst := map[string]target.Match{"dst": {Value: []byte{1}}}
	tests := []struct {
		e    client.Entity
		want string
		is   error
	}{
		{client.Entry{Table: "nope"}, "no table named \"nope\"; there are In.acl, In.ecmp, In.fixed, In.fwd, In.keyless", target.ErrNotFound},
		{client.Entry{Table: "fwd", Match: map[string]target.Match{"dst": {Value: []byte{1}}, "x": {}}, Action: "drop"}, `table In.fwd has no key "x"; it has dst`, target.ErrNotFound},
		{client.Entry{Table: "fwd", Action: "drop"}, "key dst is matched exactly and needs a value", target.ErrInvalid},
		{client.Entry{Table: "fwd", Match: dst, Action: "fly"}, `table In.fwd has no action "fly"; there are In.set, NoAction, drop`, target.ErrNotFound},
		{client.Entry{Table: "fwd", Match: dst, Action: "set", Params: map[string][]byte{"port": {1}}}, "table In.fwd: action In.set: parameter mac is missing", target.ErrInvalid},
		{client.Entry{Table: "fwd", Match: dst, Action: "drop", Params: map[string][]byte{"port": {1}}}, `action drop has no parameter "port"; it has none`, target.ErrNotFound},
		{client.Entry{Table: "fwd", Match: dst, Action: "set", Params: map[string][]byte{"port": {1}, "mac": {1, 2, 3, 4, 5, 6, 7}}}, "parameter mac: value 0x01020304050607 needs 49 bits, the field has 48", target.ErrInvalid},
		{client.CounterCell{Counter: "cnt", Index: 9}, "counter In.cnt: index 9, the size is 4", target.ErrInvalid},
		{client.RegisterCell{Register: "no"}, "no register named", target.ErrNotFound},
	}
	for _, tt := range tests {
		err := c.Write(t.Context(), client.Modify(tt.e))
		if err == nil || !strings.Contains(err.Error(), tt.want) || !errors.Is(err, tt.is) || strings.Contains(err.Error(), "rpc error") {
			t.Errorf("%v: %v\nwant %q and %v", tt.e, err, tt.want, tt.is)
		}
	}
}

func TestClientReads(t *testing.T) {
	_, c := ready(t)
	ctx := t.Context()
	e := client.Entry{
		Table: "In.acl", Priority: 5, Action: "In.set", Params: map[string][]byte{"port": {3}, "mac": {1, 2}}, Metadata: []byte("m"),
		Match: map[string]target.Match{"dst": {Value: []byte{10, 0, 0, 0}, PrefixLen: 8}, "proto": {Value: []byte{6}}},
		Meter: &target.MeterConfig{CIR: 1, CBurst: 2, PIR: 3, PBurst: 4},
	}
	if err := c.Write(ctx, client.Insert(e), client.Modify(client.Default{Table: "fwd", Action: "set", Params: map[string][]byte{"port": {3}, "mac": {1}}}),
		client.Modify(client.CounterCell{Counter: "cnt", Index: 2, Value: target.Counter{Packets: 7, Bytes: 8}}),
		client.Modify(client.RegisterCell{Register: "reg", Index: 1, Value: [][]byte{{1, 2, 3}, {0xfe}}}),
		client.Modify(client.ValueSet{Name: "types", Members: [][]target.Match{{{Value: []byte{8, 0}}}}}),
		client.Insert(client.Member{Profile: "sel", ID: 4, Action: "drop"}),
		client.Insert(client.Clone{CloneSession: target.CloneSession{ID: 3, Replicas: []target.Replica{{Port: 4}}}})); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(ctx, client.Insert(client.Group{Profile: "sel", ID: 1, Members: []target.GroupMember{{ID: 4, Weight: 2}}})); err != nil {
		t.Fatal(err)
	}
	es, err := c.Entries(ctx, "acl")
	if err != nil || len(es) != 1 {
		t.Fatalf("entries %v, %v", es, err)
	}
	got := es[0]
	if got.Action != "In.set" || string(got.Params["mac"]) != "\x01\x02" || got.Priority != 5 || string(got.Metadata) != "m" ||
		got.Match["dst"].PrefixLen != 8 || len(got.Match) != 2 || got.Meter == nil || *got.Meter != *e.Meter {
		t.Errorf("entry %+v", got)
	}
	if d, err := c.DefaultAction(ctx, "fwd"); err != nil || d.Action != "In.set" || string(d.Params["port"]) != "\x03" {
		t.Errorf("default %+v, %v", d, err)
	}
	if x, err := c.Counter(ctx, "cnt", 2); err != nil || x != (target.Counter{Packets: 7, Bytes: 8}) {
		t.Errorf("counter %v, %v", x, err)
	}
	if x, err := c.Counters(ctx, "cnt"); err != nil || len(x) != 4 {
		t.Errorf("counters %v, %v", x, err)
	}
	if x, err := c.Register(ctx, "reg", 1); err != nil || string(x[0]) != "\x01\x02\x03" || string(x[1]) != "\xfe" {
		t.Errorf("register %x, %v", x, err)
	}
	if x, err := c.ReadValueSet(ctx, "types"); err != nil || len(x.Members) != 1 || string(x.Members[0][0].Value) != "\x08\x00" {
		t.Errorf("value set %v, %v", x, err)
	}
	if x, err := c.Members(ctx, "sel"); err != nil || len(x) != 1 || x[0].Action != "drop" {
		t.Errorf("members %v, %v", x, err)
	}
	if x, err := c.Groups(ctx, "sel"); err != nil || len(x) != 1 || x[0].Members[0].Weight != 2 {
		t.Errorf("groups %v, %v", x, err)
	}
	if x, err := c.Clones(ctx); err != nil || len(x) != 1 || x[0].Replicas[0].Port != 4 {
		t.Errorf("clones %v, %v", x, err)
	}
}

func TestPacketIO(t *testing.T) {
	b := newBed(t)
	got := make(chan client.PacketIn, 10)
	c := b.client(client.Config{Election: 1, PacketIn: func(p client.PacketIn) { got <- p }})
	if err := c.SetPipeline(t.Context(), client.Commit, client.Pipeline{DeviceConfig: []byte(program)}); err != nil {
		t.Fatal(err)
	}
	b.dev.packetIn([]byte{0x80, 0x83, 'h', 'i'}) // port 257, reason 3
	select {
	case p := <-got:
		if string(p.Payload) != "hi" || p4rt.Uint64(p.Metadata["ingress_port"]) != 257 || p4rt.Uint64(p.Metadata["reason"]) != 3 {
			t.Errorf("packet-in %+v", p)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("no packet-in")
	}
	if err := c.PacketOut([]byte("yo"), map[string][]byte{"egress_port": {1, 1}}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { b.dev.mu.Lock(); defer b.dev.mu.Unlock(); return len(b.dev.injected) == 1 })
	if p := b.dev.injected[0]; string(p) != "\x80\x80yo" {
		t.Errorf("injected %x", p)
	}
	if err := c.PacketOut(nil, map[string][]byte{"color": {1}}); err == nil || !strings.Contains(err.Error(), `no field "color"; it has egress_port, pad`) {
		t.Errorf("unknown metadata: %v", err)
	}
	if err := c.PacketOut([]byte("x"), nil); err != nil {
		t.Fatal(err)
	}
	var faults []error
	waitFor(t, func() bool { faults = append(faults, c.Faults()...); return len(faults) > 0 })
	if !errors.Is(faults[0], target.ErrInvalid) || !strings.Contains(faults[0].Error(), "metadata egress_port (id 1) is missing") {
		t.Errorf("fault %v", faults[0])
	}
	// A backup gets no packets and may send none.
	backup := b.client(client.Config{Election: 0x0})
	if err := backup.PacketOut([]byte("x"), map[string][]byte{"egress_port": {1}}); err == nil {
		t.Error("a client without a stream sent a packet")
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

func TestBatchSpeed(t *testing.T) {
	_, c := ready(t)
	var us []client.Update
	for i := range 1000 {
		us = append(us, client.Insert(client.Entry{
			Table: "fwd", Match: map[string]target.Match{"dst": {Value: p4rt.Uint(uint64(i))}},
			Action: "set", Params: map[string][]byte{"port": {1}, "mac": p4rt.Uint(uint64(i))},
		}))
	}
	start := time.Now()
	if err := c.Write(t.Context(), us...); err != nil {
		t.Fatal(err)
	}
	// The device of this test takes no time: what is left is the protocol's. The
	// limit is far off, so that a busy machine passes and a quadratic server fails.
	if d := time.Since(start); d > 500*time.Millisecond {
		t.Errorf("1000 entries in %v", d)
	} else {
		t.Logf("1000 entries in %v", d)
	}
	if es, err := c.Entries(t.Context(), "fwd"); err != nil || len(es) != 1000 {
		t.Errorf("%d entries, %v", len(es), err)
	}
}
