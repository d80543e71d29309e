package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt/client"
	"github.com/catena-nfv/catena/internal/p4rt/server"
	"github.com/catena-nfv/catena/internal/p4rt/softswitch"
)

const switchProgram = `
#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
struct headers { ethernet_t ethernet; }
struct metadata { bit<32> addr; }
parser P(packet_in p, out headers hdr, inout metadata m, inout standard_metadata_t sm) {
    state start { p.extract(hdr.ethernet); transition accept; }
}
control V(inout headers hdr, inout metadata m) { apply { } }
control I(inout headers hdr, inout metadata m, inout standard_metadata_t sm) {
    counter(4, CounterType.packets_and_bytes) seen;
    direct_counter(CounterType.packets_and_bytes) hits;
    action forward(bit<9> port) { sm.egress_spec = port; hits.count(); }
    action drop() { mark_to_drop(sm); hits.count(); }
    table stations {
        key = { hdr.ethernet.dst: exact @name("dst"); }
        actions = { forward; drop; }
        default_action = drop();
        counters = hits;
        size = 16;
    }
    action next() { m.addr = 1; }
    table routes {
        key = { m.addr: lpm @name("addr"); hdr.ethernet.type: ternary @name("type"); }
        actions = { next; NoAction; }
    }
    apply { seen.count((bit<32>)sm.ingress_port); routes.apply(); stations.apply(); }
}
control E(inout headers hdr, inout metadata m, inout standard_metadata_t sm) { apply { } }
control C(inout headers hdr, inout metadata m) { apply { } }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr.ethernet); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
`

// startSwitch serves an interpreted switch and returns its address.
func startSwitch(t *testing.T) (*softswitch.Device, string) {
	t.Helper()
	dev := softswitch.New(softswitch.Config{Compile: func(_ context.Context, text []byte) (*ir.Program, error) {
		p, files, diags := compile.Source("program.p4", text, compile.Options{FS: fstest.MapFS{}})
		return p, diags.Err(files)
	}})
	srv, err := server.New(t.Context(), server.Config{DeviceID: 1, Device: dev})
	if err != nil {
		t.Fatal(err)
	}
	address := "unix://" + filepath.Join(t.TempDir(), "p4rt.sock")
	lis, err := server.Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ctx, nil, lis) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		srv.Close()
	})
	return dev, address
}

// runSwitch runs `catena switch ARGS` and returns what it prints.
func runSwitch(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := SwitchCommand()
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestSwitchCommand(t *testing.T) {
	dev, address := startSwitch(t)
	if _, err := runSwitch(t, "pipeline", "--p4runtime", address); CodeOf(err) != ExitRefused || !strings.Contains(err.Error(), "the switch has no pipeline") {
		t.Errorf("without a pipeline: %v", err)
	}
	c, err := client.Dial(t.Context(), client.Config{Target: address, Election: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetPipeline(t.Context(), client.Commit, client.Pipeline{DeviceConfig: []byte(switchProgram), Cookie: 0xabc}); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(t.Context(),
		client.Insert(client.Entry{Table: "stations", Match: map[string]target.Match{"dst": {Value: []byte{2, 0, 0, 0, 0, 1}}}, Action: "forward", Params: map[string][]byte{"port": {3}}}),
		client.Insert(client.Entry{Table: "routes", Priority: 5, Action: "next", Match: map[string]target.Match{
			"addr": {Value: []byte{10, 0, 0, 0}, PrefixLen: 8}, "type": {Value: []byte{8, 0}, Mask: []byte{0xff, 0}}}})); err != nil {
		t.Fatal(err)
	}
	packet := append([]byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0}, make([]byte, 46)...)
	out, err := dev.Send(1, packet)
	if err != nil || len(out) != 1 || out[0].Port != 3 {
		t.Fatalf("packets %v, %v", out, err)
	}
	for _, tt := range []struct {
		args string
		want []string // lines
	}{
		{"tables", []string{
			"I.stations: 1 entries, default I.drop()",
			"dst                ACTION             PACKETS  BYTES",
			"02:00:00:00:00:01  I.forward(port=3)  1        60",
			"I.routes: 1 entries, default NoAction()",
			"addr        type            PRIORITY  ACTION",
			"10.0.0.0/8  2048&&&0xff00   5         I.next()",
		}},
		{"tables routes", []string{"I.routes: 1 entries, default NoAction()"}},
		{"counters", []string{"COUNTER  INDEX  PACKETS  BYTES", "I.seen   1      1        60"}},
		{"pipeline", []string{"cookie 0x0000000000000abc, P4Runtime 1.5.0", "counter I.seen[4]", "I.stations  dst:exact", "I.routes    addr:lpm type:ternary"}},
		{"pipeline --program", []string{"#include <v1model.p4>"}},
	} {
		got, err := runSwitch(t, append(strings.Fields(tt.args), "--p4runtime", address)...)
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
		}
		for _, line := range tt.want {
			if !strings.Contains(squeeze(got), squeeze(line)) {
				t.Errorf("%s lacks %q:\n%s", tt.args, line, got)
			}
		}
	}
	text, err := runSwitch(t, "tables", "stations", "--json", "--p4runtime", address)
	var dump struct {
		Tables []struct {
			Table   string
			Entries []struct {
				Match   map[string]string
				Action  string
				Packets uint64
			}
		}
	}
	if err != nil || json.Unmarshal([]byte(text), &dump) != nil || len(dump.Tables) != 1 || dump.Tables[0].Entries[0].Match["dst"] != "02:00:00:00:00:01" || dump.Tables[0].Entries[0].Packets != 1 {
		t.Errorf("JSON: %v\n%s", err, text)
	}
	if _, err := runSwitch(t, "tables", "nope", "--p4runtime", address); CodeOf(err) != ExitRefused || !strings.Contains(err.Error(), `no table named "nope"; there are I.routes, I.stations`) {
		t.Errorf("unknown table: %v", err)
	}
	if _, err := runSwitch(t, "pipeline", "--p4runtime", "unix:///nowhere.sock"); CodeOf(err) != ExitUnreachable {
		t.Errorf("unreachable: exit code %d, %v", CodeOf(err), err)
	}
}

// squeeze makes runs of blanks one blank.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }
