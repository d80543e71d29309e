package trace_test

import (
	"context"
	"errors"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt/client"
	"github.com/catena-nfv/catena/internal/p4rt/server"
	"github.com/catena-nfv/catena/internal/p4rt/softswitch"
	"github.com/catena-nfv/catena/internal/trace"
)

const program = `
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; bit<8> b; }
struct headers { h_t h; }
struct metadata { }
parser P(packet_in p, out headers hdr, inout metadata m, inout standard_metadata_t sm) {
    value_set<bit<8>>(4) refused;
    state start { p.extract(hdr.h); transition select(hdr.h.a) { refused: no; default: accept; } }
    state no { hdr.h.setInvalid(); transition accept; }
}
control V(inout headers hdr, inout metadata m) { apply { } }
control I(inout headers hdr, inout metadata m, inout standard_metadata_t sm) {
    register<bit<16>>(8) seen;
    action_selector(HashAlgorithm.crc16, 16, 8) ways;
    action to(bit<9> port) { sm.egress_spec = port; }
    action copy() { sm.mcast_grp = 5; }
    action gone() { mark_to_drop(sm); }
    table t {
        key = { hdr.h.a: exact @name("a"); }
        actions = { to; copy; gone; }
        default_action = gone();
        entries = { 9 : to(9); }
        size = 16;
    }
    table e {
        key = { hdr.h.a: exact @name("a"); hdr.h.b: selector; }
        actions = { to; NoAction; }
        implementation = ways;
        size = 16;
    }
    apply {
        if (!hdr.h.isValid()) { gone(); return; }
        bit<16> n;
        seen.read(n, 0);
        seen.write(0, n + 1);
        hdr.h.b = hdr.h.b + (bit<8>)n;
        if (!e.apply().hit) { t.apply(); }
    }
}
control E(inout headers hdr, inout metadata m, inout standard_metadata_t sm) { apply { } }
control C(inout headers hdr, inout metadata m) { apply { } }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
`

func compileText(_ context.Context, text []byte) (*ir.Program, *diag.FileSet, error) {
	p, fset, diags := compile.Source("program.p4", text, compile.Options{})
	return p, fset, diags.Err(fset)
}

// source is a switch with a program, as a client sees it.
func source(t *testing.T, text string) (*softswitch.Device, *client.Client) {
	t.Helper()
	ctx := context.Background()
	dev := softswitch.New(softswitch.Config{Compile: func(ctx context.Context, text []byte) (*ir.Program, error) {
		p, _, err := compileText(ctx, text)
		return p, err
	}})
	srv, err := server.New(ctx, server.Config{DeviceID: 1, Device: dev})
	if err != nil {
		t.Fatal(err)
	}
	lis, err := server.Listen("unix://" + filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	life, stop := context.WithCancel(ctx)
	t.Cleanup(func() { stop(); srv.Close() })
	go srv.Serve(life, nil, lis)
	c, err := client.Dial(ctx, client.Config{Target: "unix://" + lis.Addr().String(), Election: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if text != "" {
		if err := c.SetPipeline(ctx, client.Commit, client.Pipeline{DeviceConfig: []byte(text)}); err != nil {
			t.Fatal(err)
		}
	}
	return dev, c
}

// TestReplica compares the copy with the switch, packet by packet, and shows that the
// switch does not notice.
func TestReplica(t *testing.T) {
	ctx := context.Background()
	dev, c := source(t, program)
	key := func(a byte) map[string]target.Match { return map[string]target.Match{"a": {Value: []byte{a}}} }
	port := func(n byte) map[string][]byte { return map[string][]byte{"port": {n}} }
	if err := c.Write(ctx,
		client.Delete(client.Entry{Table: "t", Match: key(9)}), // an entry that the program brings
		client.Insert(client.Entry{Table: "t", Match: key(1), Action: "to", Params: port(5)}),
		client.Insert(client.Entry{Table: "t", Match: key(2), Action: "copy"}),
		client.Insert(client.Multicast{ID: 5, Replicas: []target.Replica{{Port: 3, Instance: 1}, {Port: 4, Instance: 1}}}),
		client.Modify(client.Default{Table: "t", Action: "to", Params: port(8)}),
		client.Insert(client.Member{Profile: "ways", ID: 1, Action: "to", Params: port(6)}),
		client.Insert(client.Group{Profile: "ways", ID: 1, Members: []target.GroupMember{{ID: 1, Weight: 1}}}),
		client.Insert(client.Entry{Table: "e", Match: key(3), Group: 1}),
		client.Modify(client.RegisterCell{Register: "seen", Index: 0, Value: [][]byte{{7}}}),
		client.Modify(client.ValueSet{Name: "refused", Members: [][]target.Match{{{Value: []byte{77}}}}}),
	); err != nil {
		t.Fatal(err)
	}
	r, err := trace.Open(ctx, c, compileText)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	packets := []byte{1, 2, 3, 9, 50, 77}
	var copies [][]target.Packet
	for _, a := range packets {
		steps, out, err := r.Send(target.Packet{Port: 7, Data: []byte{a, 0, 'x'}})
		if err != nil || len(steps) == 0 || steps[0].Kind != interp.EventReceive {
			t.Fatalf("packet %d: steps %v, %v", a, steps, err)
		}
		copies = append(copies, out)
	}
	if v, err := c.Register(ctx, "seen", 0); err != nil || v[0][0] != 7 {
		t.Errorf("the switch noticed: register %v, %v", v, err)
	}
	for i, a := range packets {
		want, err := dev.Send(7, []byte{a, 0, 'x'})
		if err != nil {
			t.Fatal(err)
		}
		if len(want) != len(copies[i]) {
			t.Errorf("packet %d: the copy sends %v, the switch %v", a, copies[i], want)
			continue
		}
		for j := range want {
			if want[j].Port != copies[i][j].Port || string(want[j].Data) != string(copies[i][j].Data) {
				t.Errorf("packet %d: the copy sends %v, the switch %v", a, copies[i][j], want[j])
			}
		}
	}
}

// TestSteps looks at what is told of a packet.
func TestSteps(t *testing.T) {
	ctx := context.Background()
	_, c := source(t, program)
	r, err := trace.Open(ctx, c, compileText)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	steps, out, err := r.Send(target.Packet{Port: 7, Data: []byte{1, 0}})
	if err != nil || len(out) != 0 {
		t.Fatalf("%v, %v", out, err)
	}
	found := false
	for _, s := range steps {
		if s.Kind == interp.EventTable && s.Object == "I.t" {
			found = true
			if !strings.Contains(s.Detail, "miss -> I.gone()") || !strings.HasPrefix(s.At, "program.p4:") {
				t.Errorf("%+v", s)
			}
		}
	}
	if !found {
		t.Errorf("the table is not among the steps %v", steps)
	}
}

func TestNoProgram(t *testing.T) {
	_, c := source(t, "")
	if _, err := trace.Open(context.Background(), c, compileText); !errors.Is(err, target.ErrNotFound) {
		t.Errorf("a switch without a program: %v", err)
	}
}

func TestHostsNeedVrouter(t *testing.T) {
	_, c := source(t, program)
	if _, err := trace.Hosts(context.Background(), c); err == nil || !strings.Contains(err.Error(), "backbone vrouter") {
		t.Errorf("hosts of a program without vrouter: %v", err)
	}
}

func TestFlow(t *testing.T) {
	hosts := []trace.Host{
		{Network: 1, Address: netip.MustParseAddr("10.0.1.1"), MAC: []byte{2, 0, 0, 0, 1, 1}, Gateway: []byte{2, 0, 0, 0, 1, 1}},
		{Network: 1, Address: netip.MustParseAddr("10.0.1.5"), MAC: []byte{2, 0, 0, 0, 1, 5}, Port: 1, Gateway: []byte{2, 0, 0, 0, 1, 1}},
		{Network: 1, Address: netip.MustParseAddr("10.0.1.6"), MAC: []byte{2, 0, 0, 0, 1, 6}, Port: 2, Gateway: []byte{2, 0, 0, 0, 1, 1}},
		{Network: 2, Address: netip.MustParseAddr("10.0.2.5"), MAC: []byte{2, 0, 0, 0, 2, 5}, Port: 3},
	}
	for _, c := range []struct{ src, dst, protocol, mac, err string }{
		{"10.0.1.5", "10.0.1.6", "tcp", "\x02\x00\x00\x00\x01\x06", ""},
		{"10.0.1.5", "10.0.2.5", "udp", "\x02\x00\x00\x00\x01\x01", ""},
		{"10.0.1.5", "8.8.8.8", "icmp", "\x02\x00\x00\x00\x01\x01", ""},
		{"10.0.2.5", "10.0.1.5", "tcp", "", "no router"},
		{"10.0.1.1", "10.0.1.5", "tcp", "", "no port of the switch has the address 10.0.1.1"},
		{"10.0.1.5", "10.0.1.6", "sctp", "", `protocol "sctp"`},
	} {
		p, err := trace.Flow{Src: netip.MustParseAddr(c.src), Dst: netip.MustParseAddr(c.dst), Protocol: c.protocol, TTL: 64, DstPort: 80}.Packet(hosts)
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%+v: %v", c, err)
			}
		case err != nil:
			t.Errorf("%+v: %v", c, err)
		case p.Port != 1 || string(p.Data[:6]) != c.mac:
			t.Errorf("%+v: port %d, frame %x", c, p.Port, p.Data)
		}
	}
}
