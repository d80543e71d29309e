package server_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt"
	"github.com/catena-nfv/catena/internal/p4rt/client"
	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

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
