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
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

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
