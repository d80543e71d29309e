package softswitch_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt/client"
	"github.com/catena-nfv/catena/internal/p4rt/server"
	"github.com/catena-nfv/catena/internal/p4rt/softswitch"
)

const program = `
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; bit<8> b; }
@controller_header("packet_in") header pin_t { bit<16> port; }
struct headers { pin_t pin; h_t h; }
struct metadata { }
struct learn_t { bit<8> a; bit<16> port; }
parser P(packet_in p, out headers hdr, inout metadata m, inout standard_metadata_t sm) {
    value_set<bit<8>>(4) known;
    state start { p.extract(hdr.h); transition select(hdr.h.a) { known: accept; default: accept; } }
}
control V(inout headers hdr, inout metadata m) { apply { } }
control I(inout headers hdr, inout metadata m, inout standard_metadata_t sm) {
    register<bit<16>>(8) seen;
    counter(8, CounterType.packets) count;
    action_selector(HashAlgorithm.crc16, 16, 8) ways;
    action to(bit<9> port) { sm.egress_spec = port; }
    action punt() { sm.egress_spec = 510; hdr.pin.setValid(); hdr.pin.port = (bit<16>)sm.ingress_port; }
    action learn() { digest<learn_t>(1, { hdr.h.a, (bit<16>)sm.ingress_port }); mark_to_drop(sm); }
    table t {
        key = { hdr.h.a: exact @name("a"); }
        actions = { to; punt; learn; }
        default_action = learn();
        size = 16;
    }
    table e {
        key = { hdr.h.a: exact @name("a"); hdr.h.b: selector; }
        actions = { to; NoAction; }
        implementation = ways;
        size = 16;
    }
    apply {
        bit<16> n;
        seen.read(n, 0);
        seen.write(0, n + 1);
        count.count(0);
        if (!e.apply().hit) { t.apply(); }
    }
}
control E(inout headers hdr, inout metadata m, inout standard_metadata_t sm) { apply { } }
control C(inout headers hdr, inout metadata m) { apply { } }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr.pin); p.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
`

func front(_ context.Context, text []byte) (*ir.Program, error) {
	p, files, diags := compile.Source("program.p4", text, compile.Options{FS: fstest.MapFS{}})
	return p, diags.Err(files)
}

func TestDevice(t *testing.T) {
	ctx := t.Context()
	dev := softswitch.New(softswitch.Config{Compile: front})
	srv, err := server.New(ctx, server.Config{DeviceID: 1, Device: dev})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	lis, err := server.Listen("unix://" + filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	serveCtx, stop := context.WithCancel(context.Background())
	defer stop()
	go srv.Serve(serveCtx, nil, lis)
	packets, digests := make(chan client.PacketIn, 4), make(chan client.Digest, 4)
	c, err := client.Dial(ctx, client.Config{
		Target: "unix://" + lis.Addr().String(), Election: 1,
		PacketIn: func(p client.PacketIn) { packets <- p }, Digest: func(d client.Digest) { digests <- d },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	set := func(how client.Action, text string) error {
		return c.SetPipeline(ctx, how, client.Pipeline{DeviceConfig: []byte(text)})
	}
	if err := set(client.Commit, program); err != nil {
		t.Fatal(err)
	}
	key := func(a byte) map[string]target.Match { return map[string]target.Match{"a": {Value: []byte{a}}} }
	port := func(n byte) map[string][]byte { return map[string][]byte{"port": {n}} }
	if err := c.Write(ctx,
		client.Insert(client.Entry{Table: "t", Match: key(1), Action: "to", Params: port(5)}),
		client.Insert(client.Entry{Table: "t", Match: key(2), Action: "punt"}),
		client.Insert(client.DigestConfig{Digest: "learn_t"}),
		client.Insert(client.Member{Profile: "ways", ID: 1, Action: "to", Params: port(6)})); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(ctx, client.Insert(client.Group{Profile: "ways", ID: 1, Members: []target.GroupMember{{ID: 1, Weight: 1}}}),
		client.Modify(client.ValueSet{Name: "known", Members: [][]target.Match{{{Value: []byte{9}}}}})); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(ctx, client.Insert(client.Entry{Table: "e", Match: key(3), Group: 1})); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		for a, want := range map[byte]uint32{1: 5, 3: 6} {
			out, err := dev.Send(7, []byte{a, 0, 'x'})
			if err != nil || len(out) != 1 || out[0].Port != want || string(out[0].Data) != string([]byte{a, 0, 'x'}) {
				t.Errorf("packet %d: %v, %v, want port %d", a, out, err, want)
			}
		}
		if _, err := dev.Send(7, []byte{2, 0}); err != nil {
			t.Error(err)
		}
		if _, err := dev.Send(7, []byte{4, 0}); err != nil {
			t.Error(err)
		}
		select {
		case p := <-packets:
			if string(p.Payload) != "\x02\x00" || string(p.Metadata["port"]) != "\x07" {
				t.Errorf("packet-in %+v", p)
			}
		case <-time.After(5 * time.Second):
			t.Error("no packet-in")
		}
		select {
		case d := <-digests:
			if strings.Join(d.Fields, " ") != "a port" || len(d.Values) != 1 || d.Values[0][0][0] != 4 || d.Values[0][1][0] != 7 {
				t.Errorf("digest %+v", d)
			}
		case <-time.After(5 * time.Second):
			t.Error("no digest")
		}
	}
	check()
	// The state goes on in a program that has more.
	more := strings.Replace(program, "    apply {\n        bit<16> n;", "    table extra { key = { hdr.h.b: exact; } actions = { NoAction; } }\n    apply {\n        extra.apply();\n        bit<16> n;", 1)
	if err := set(client.Reconcile, more); err != nil {
		t.Fatal(err)
	}
	check()
	if n, err := c.Counter(ctx, "count", 0); err != nil || n.Packets != 8 {
		t.Errorf("counter %+v, %v", n, err)
	}
	if v, err := c.Register(ctx, "seen", 0); err != nil || v[0][0] != 8 {
		t.Errorf("register %v, %v", v, err)
	}
	if v, err := c.ReadValueSet(ctx, "known"); err != nil || len(v.Members) != 1 {
		t.Errorf("value set %v, %v", v, err)
	}
	// It cannot go on where it does not fit: the old program stays.
	err = set(client.Reconcile, strings.Replace(program, `actions = { to; punt; learn; }`, `actions = { punt; learn; }`, 1))
	if !errors.Is(err, target.ErrInvalid) || !strings.Contains(err.Error(), "I.t") {
		t.Errorf("entries that do not fit: %v", err)
	}
	if out, err := dev.Send(7, []byte{1, 0}); err != nil || len(out) != 1 {
		t.Errorf("the old program is gone: %v, %v", out, err)
	}
}
