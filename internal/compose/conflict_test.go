package compose_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/compose"
	"github.com/catena-nfv/catena/internal/p4/diag"
)

// parts of an NF program; what is left out is as in the library's NFs.
type parts struct {
	headers    string // declarations, and struct headers
	meta       string // members of the metadata
	parser     string // states
	decls      string // of the ingress control
	apply      string // of the ingress control
	egress     string // body of the control
	checksum   string // of the compute control
	deparser   string
	top        string // declarations of the top level, behind metadata and headers
	parserName string
}

func (p parts) source() string {
	or := func(s, otherwise string) string {
		if s == "" {
			return otherwise
		}
		return s
	}
	return `#include <core.p4>
#include <v1model.p4>
#include "headers.p4"
` + or(p.headers, "struct headers { ethernet_t ethernet; ipv4_t ipv4; }") + `
` + p.top + `
struct metadata { ` + p.meta + ` }
parser ` + or(p.parserName, "P") + `(packet_in pkt, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
` + or(p.parser, `state start { pkt.extract(hdr.ethernet); transition select(hdr.ethernet.ether_type) { 0x0800: ip; default: accept; } }
state ip { pkt.extract(hdr.ipv4); transition accept; }`) + `
}
control V(inout headers hdr, inout metadata meta) { apply { } }
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
` + p.decls + `
apply {
` + p.apply + `
}
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
` + or(p.egress, "apply { }") + `
}
control C(inout headers hdr, inout metadata meta) { apply {
` + p.checksum + `
} }
control D(packet_out pkt, in headers hdr) { apply {
` + or(p.deparser, "pkt.emit(hdr.ethernet); pkt.emit(hdr.ipv4);") + `
} }
V1Switch(` + or(p.parserName, "P") + `(), V(), I(), E(), C(), D()) main;
`
}

const table1 = `action a() { } table t { key = { hdr.ipv4.ttl: exact @name("ttl"); } actions = { a; NoAction; } default_action = NoAction(); }`

var expected = regexp.MustCompile(`/\* ERROR "([^"]*)" \*/`)

// TestConflicts checks what cannot be joined: each ERROR comment has a diagnostic on
// its line, and no other line has one. Where two places contradict each other the other
// one is shown, too: in the library or in another NF of the test.
func TestConflicts(t *testing.T) {
	for _, tt := range []struct {
		name   string
		nf     parts
		before *parts // an NF that is composed first, called Other
		note   string // file in which the other place is; "": there is none
	}{
		{name: "structure", note: "l4.p4", nf: parts{
			headers: `header ipv4_x { bit<8> a; }
struct headers { ethernet_t ethernet; ipv4_x ipv4; /* ERROR "header ipv4 of X has another structure.*its field 1 is bit<8> a, the other's bit<4> version" */
}`}},
		{name: "structure of two NFs", note: "Other.p4", before: &parts{
			headers:  "header h_t { bit<8> a; }\nstruct headers { ethernet_t ethernet; h_t h; }",
			parser:   "state start { pkt.extract(hdr.ethernet); transition select(hdr.ethernet.ether_type) { 0x9999: h; default: accept; } }\nstate h { pkt.extract(hdr.h); transition accept; }",
			deparser: "pkt.emit(hdr.ethernet); pkt.emit(hdr.h);",
		}, nf: parts{
			headers: `header h_t { bit<8> a; bit<8> b; }
struct headers { ethernet_t ethernet; h_t h; /* ERROR "it has 2 fields, the other 1" */
}`,
			parser:   "state start { pkt.extract(hdr.ethernet); transition select(hdr.ethernet.ether_type) { 0x9999: h; default: accept; } }\nstate h { pkt.extract(hdr.h); transition accept; }",
			deparser: "pkt.emit(hdr.ethernet); pkt.emit(hdr.h);",
		}},
		{name: "nested", nf: parts{headers: `struct inner_t { ipv4_t a; ipv4_t b; }
struct headers { ethernet_t ethernet; inner_t both; /* ERROR "both is a struct inner_t among the headers" */
}`,
			parser: "state start { pkt.extract(hdr.ethernet); transition accept; }", deparser: "pkt.emit(hdr.ethernet); pkt.emit(hdr.both.a);"}},
		{name: "shared metadata", note: "l4.p4|wire.p4", nf: parts{meta: `@shared bit<8> l4; /* ERROR "shared metadata l4 of X is something else" */
`}},
		{name: "shared and private", note: "sfc.p4|wire.p4", nf: parts{meta: `@shared bit<8> sfc; /* ERROR "shared metadata sfc of X is something else" */
`}},
		{name: "other headers", note: "l4.p4", nf: parts{
			headers: "header x_t { bit<8> a; }\nstruct headers { ethernet_t ethernet; x_t x; }",
			parser: `state start { pkt.extract(hdr.ethernet); transition x; }
state x { pkt.extract(hdr.x); /* ERROR "parser state x of X reads other headers than the composed program" */
transition accept; }`, deparser: "pkt.emit(hdr.ethernet); pkt.emit(hdr.x);"}},
		{name: "deeper than the NF", note: "X.p4", nf: parts{
			headers: "struct headers { ethernet_t ethernet; ipv4_t ipv4; tcp_t tcp; }",
			parser: `state start { pkt.extract(hdr.ethernet); transition select(hdr.ethernet.ether_type) { 0x0800: ip; default: accept; } }
state ip { pkt.extract(hdr.ipv4); transition accept; }`, deparser: "pkt.emit(hdr.ethernet); pkt.emit(hdr.ipv4); pkt.emit(hdr.tcp);"}},
		{name: "deeper than the others", note: "l4.p4|headers.p4", nf: parts{
			headers: "header vlan_t { bit<16> tag; bit<16> ether_type; }\nstruct headers { ethernet_t ethernet; vlan_t vlan; ipv4_t ipv4; }",
			parser: `state start { pkt.extract(hdr.ethernet); transition select(hdr.ethernet.ether_type) { 0x0800: ip; 0x8100: tag; default: accept; } }
state tag { pkt.extract(hdr.vlan); transition select(hdr.vlan.ether_type) { 0x0800: ip; default: accept; } }
state ip { pkt.extract(hdr.ipv4); /* ERROR "X extracts header ipv4 where the composed program has stopped parsing" */
transition accept; }`, deparser: "pkt.emit(hdr.ethernet); pkt.emit(hdr.vlan); pkt.emit(hdr.ipv4);"}},
		{name: "set to other values", note: "l4.p4", nf: parts{
			headers: "struct headers { ethernet_t ethernet; ipv4_t ipv4; tcp_t tcp; }", meta: "@shared l4_t l4;",
			parser: `state start { pkt.extract(hdr.ethernet); transition select(hdr.ethernet.ether_type) { 0x0800: ip; default: accept; } }
state ip { pkt.extract(hdr.ipv4); transition select(hdr.ipv4.ihl, hdr.ipv4.frag_offset, hdr.ipv4.protocol) { (5, 0, 6): tcp; default: accept; } }
state tcp { pkt.extract(hdr.tcp);
meta.l4.length = 7; /* ERROR "sets this to another value" */
transition accept; }`, deparser: "pkt.emit(hdr.ethernet); pkt.emit(hdr.ipv4); pkt.emit(hdr.tcp);"}},
		{name: "verify", nf: parts{parser: `state start { pkt.extract(hdr.ethernet);
verify(hdr.ethernet.ether_type != 0, error.NoMatch); /* ERROR "verify in the parser of X" */
transition select(hdr.ethernet.ether_type) { 0x0800: ip; default: accept; } }
state ip { pkt.extract(hdr.ipv4); transition accept; }`}},
		{name: "order of emitting", note: "l4.p4", nf: parts{deparser: `pkt.emit(hdr.ipv4);
pkt.emit(hdr.ethernet); /* ERROR "X emits its headers in another order" */
`}},
		{name: "not emitted", note: "l4.p4", nf: parts{headers: `struct headers { ethernet_t ethernet;
ipv4_t ipv4; /* ERROR "X does not emit its header ipv4" */
}`, deparser: "pkt.emit(hdr.ethernet);"}},
		{name: "more than emitting", nf: parts{deparser: `pkt.emit(hdr.ethernet);
pkt.emit(hdr.ipv4);
log_msg("done"); /* ERROR "may only emit headers" */
`}},
		{name: "another checksum", note: "l4.p4", nf: parts{checksum: `
update_checksum(true, { hdr.ipv4.ttl }, hdr.ipv4.checksum, HashAlgorithm.csum16); /* ERROR "X computes this checksum in another way" */
`}},
		{name: "exit in an action", nf: parts{decls: `action a() {
exit; /* ERROR "exit in action a would end the whole chain" */
}
table t { key = { hdr.ipv4.ttl: exact @name("ttl"); } actions = { a; NoAction; } default_action = NoAction(); }`, apply: "t.apply();"}},
		{name: "resubmit", nf: parts{apply: `
resubmit_preserving_field_list(1); /* ERROR "would start its whole chain again" */
`}},
		{name: "recirculate", nf: parts{egress: `apply {
recirculate_preserving_field_list(1); /* ERROR "would start its whole chain again" */
}`}},
		{name: "clone", nf: parts{apply: `
clone(CloneType.I2E, 1); /* ERROR "a clone has left the chain" */
`, egress: "apply { hdr.ipv4.ttl = 1; }"}},
		{name: "metadata as a whole", nf: parts{meta: "bit<8> a;", apply: `metadata m = meta; /* ERROR "meta cannot be used as a whole" */
meta = m; /* ERROR "meta cannot be used as a whole" */
`}},
		{name: "tables of both controls", note: "X.p4", nf: parts{decls: table1, apply: "t.apply();", egress: `action b() { } table t /* ERROR "two objects .X.t.: rename this table" */
{ key = { hdr.ipv4.ttl: exact @name("ttl"); } actions = { b; NoAction; } default_action = NoAction(); }
apply { t.apply(); }`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			request := "X first"
			if tt.before != nil {
				b.add("Other", tt.before.source())
				request = "Other before X"
			}
			src := tt.nf.source()
			b.add("X", src)
			_, diags := compose.Compose(b.backbone("wire"), b.nfs, merge(t, request), compose.Options{})
			checkDiags(t, b, diags, "X.p4", src, tt.note)
		})
	}
}

// checkDiags compares diagnostics with the comments of a source.
func checkDiags(t *testing.T, b *bench, diags diag.List, file, src, note string) {
	t.Helper()
	want := map[int]string{}
	for i, l := range strings.Split(src, "\n") {
		if m := expected.FindStringSubmatch(l); m != nil {
			want[i+1] = m[1]
		}
	}
	if len(diags) == 0 {
		t.Fatal("composed")
	}
	elsewhere := len(want) == 0 // the complaint stands in a file of the library
	for _, d := range diags {
		p := b.lib.FileSet().Position(d.Span)
		if d.Code != diag.ComposeConflict {
			t.Errorf("code %s", d.Code)
		}
		if elsewhere {
			if p.Line == 0 || p.Filename == file {
				t.Errorf("%s: %s", p, d.Message)
			}
		} else if rx := want[p.Line]; p.Filename != file || rx == "" || !regexp.MustCompile(rx).MatchString(d.Message) {
			t.Errorf("%s: %s", p, d.Message)
		}
		if note == "" {
			continue
		}
		if len(d.Notes) == 0 {
			t.Errorf("%s: the other place is not shown", d.Message)
			continue
		}
		other := b.lib.FileSet().Position(d.Notes[0].Span)
		if other.Line == 0 || !regexp.MustCompile(note).MatchString(other.Filename) {
			t.Errorf("%s: the other place is %s, want one in %s", d.Message, other, note)
		}
	}
	for line, rx := range want {
		found := false
		for _, d := range diags {
			found = found || b.lib.FileSet().Position(d.Span).Line == line
		}
		if !found {
			t.Errorf("line %d: no %q", line, rx)
		}
	}
}

// TestCopiedName composes an NF that has the name that another one's copy would get.
func TestCopiedName(t *testing.T) {
	b := newBench(t)
	b.add("NAT_2", parts{decls: `action a() { } table source { key = { hdr.ipv4.ttl: exact @name("ttl"); } actions = { a; NoAction; } default_action = NoAction(); }`, apply: "source.apply();"}.source())
	g := merge(t, "NAT before NAT_2 before NAT#2")
	c := b.compose(b.backbone("wire"), g, compose.Options{CopyTables: true})
	if got := strings.Join(c.Prefixes, " "); got != "NAT NAT_2 NAT_3" {
		t.Errorf("prefixes %s", got)
	}
}

// TestNamesOfTheBackbone refuses NFs whose objects would be called like others.
func TestNamesOfTheBackbone(t *testing.T) {
	b := newBench(t)
	b.add("WireIngress", parts{decls: strings.Replace(table1, "table t", "table classifier", 1), apply: "classifier.apply();"}.source())
	b.add("catena", parts{decls: "counter(4, CounterType.packets) nodes;", apply: "nodes.count(0);"}.source())
	for request, want := range map[string]string{
		"WireIngress first": `two objects "WireIngress.classifier"`, "catena first": `two objects "catena.nodes"`,
	} {
		_, diags := compose.Compose(b.backbone("wire"), b.nfs, merge(t, request), compose.Options{})
		if !diags.HasErrors() || !strings.Contains(diags[0].Message, want) {
			t.Errorf("%s: %v", request, diags.Err(b.lib.FileSet()))
		}
	}
}

// TestJoins composes what looks like a conflict and is none; the result is well formed
// and has what is wanted.
func TestJoins(t *testing.T) {
	for _, tt := range []struct {
		name    string
		nfs     map[string]parts
		request string
		tables  string // behind the classifier
		states  int    // of the parser with the backbone wire, which has 4; 0: any
	}{
		{name: "states chained otherwise", request: "X first", states: 4, nfs: map[string]parts{"X": {
			parser: `state start { transition eth; }
state eth { pkt.extract(hdr.ethernet); transition next; }
state next { transition select(hdr.ethernet.ether_type) { 0x0800: ip; default: done; } }
state ip { pkt.extract(hdr.ipv4); transition done; }
state done { transition accept; }`}}},
		{name: "rows written otherwise", request: "X first", states: 4, nfs: map[string]parts{"X": {
			parser: `state start { pkt.extract(hdr.ethernet); transition select(hdr.ethernet.ether_type, hdr.ethernet.src_addr) { (0x0800 &&& 0xffff, _): ip; (0x0900 .. 0x0a00, 5): accept; default: accept; } }
state ip { pkt.extract(hdr.ipv4); transition accept; }`}}},
		{name: "rejects", request: "X first", states: 4, nfs: map[string]parts{"X": {
			parser: `state start { pkt.extract(hdr.ethernet); transition select(hdr.ethernet.ether_type) { 0x0800: ip; } }
state ip { pkt.extract(hdr.ipv4); transition select(hdr.ipv4.version) { 4: accept; default: reject; } }`}}},
		{name: "a name of the backbone", request: "l4 before sfc", nfs: map[string]parts{
			"l4": {meta: "bit<8> mine;", apply: "meta.mine = 1; if (meta.mine == hdr.ipv4.ttl) { mark_to_drop(sm); }"}, "sfc": {meta: "bit<8> mine;", decls: table1, apply: "t.apply();"}},
			tables: "sfc.t"},
		{name: "types of one name", request: "A before B", nfs: map[string]parts{
			"A": {top: "struct s_t { bit<8> x; }\nenum E1 { one, two }", meta: "s_t s; E1 e;", apply: "meta.s.x = 1; meta.e = E1.two; digest<s_t>(1, meta.s); if (meta.e == E1.one) { mark_to_drop(sm); }"},
			"B": {top: "struct s_t { bit<16> y; }\nenum E1 { other, one, two }", meta: "s_t s; E1 e;", apply: "meta.s.y = 1; meta.e = E1.two; digest<s_t>(1, meta.s); if (meta.e == E1.one) { mark_to_drop(sm); }"}}},
		{name: "a second header of a known type", request: "X first", nfs: map[string]parts{"X": {
			headers: "struct headers { ethernet_t ethernet; ipv4_t ipv4; ipv4_t inner; }",
			parser: `state start { pkt.extract(hdr.ethernet); transition select(hdr.ethernet.ether_type) { 0x0800: ip; default: accept; } }
state ip { pkt.extract(hdr.ipv4); transition select(hdr.ipv4.protocol) { 4: inner; default: accept; } }
state inner { pkt.extract(hdr.inner); transition accept; }`,
			apply: "if (hdr.inner.isValid()) { hdr.inner.ttl = 1; }", deparser: "pkt.emit(hdr.ethernet); pkt.emit(hdr.ipv4); pkt.emit(hdr.inner);"}}},
		{name: "a union and a stack", request: "X first", nfs: map[string]parts{"X": {
			headers: "header a_t { bit<8> a; }\nheader b_t { bit<16> b; }\nheader_union u_t { a_t a; b_t b; }\nstruct headers { ethernet_t ethernet; u_t u; ipv4_t[2] ips; }",
			parser: `state start { pkt.extract(hdr.ethernet); transition select(hdr.ethernet.ether_type) { 0x9001: a; 0x9002: b; 0x9003: ips; default: accept; } }
state a { pkt.extract(hdr.u.a); transition accept; }
state b { pkt.extract(hdr.u.b); transition accept; }
state ips { pkt.extract(hdr.ips.next); transition select(hdr.ips.last.protocol) { 4: ips; default: accept; } }`,
			apply: "if (hdr.u.a.isValid()) { hdr.u.a.a = 1; }", deparser: "pkt.emit(hdr.ethernet); pkt.emit(hdr.u); pkt.emit(hdr.ips);"}}},
		{name: "objects of the top level", request: "X before NAT before X#2", nfs: map[string]parts{"X": {
			top:   "counter(4, CounterType.packets) both;\naction shared_action() { }",
			decls: `table t { key = { hdr.ipv4.ttl: exact @name("ttl"); } actions = { shared_action; NoAction; } default_action = NoAction(); }`, apply: "both.count(0); t.apply();",
			egress: `table u { key = { hdr.ipv4.ttl: exact @name("ttl"); } actions = { shared_action; NoAction; } default_action = NoAction(); }
apply { both.count(1); u.apply(); }`}}, tables: "X.t NAT.source NAT.restore X.u"},
		{name: "value sets", request: "A before B", states: 4, nfs: map[string]parts{
			"A": {parser: valueSetParser}, "B": {parser: valueSetParser}}},
		{name: "the same checksum", request: "X before NAT", nfs: map[string]parts{"X": {checksum: `update_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
{ hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv, hdr.ipv4.total_len, hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset,
hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr }, hdr.ipv4.checksum, HashAlgorithm.csum16);`}}, tables: "NAT.source NAT.restore"},
		{name: "one digest of two NFs", request: "A before B", nfs: map[string]parts{
			"A": {top: "struct s_t { bit<8> x; }", apply: "digest<s_t>(1, { hdr.ipv4.ttl });"}, "B": {top: "struct s_t { bit<8> x; }", apply: "digest<s_t>(1, { hdr.ipv4.ttl });"}}},
		{name: "locals and actions of one name", request: "A_b before A", nfs: map[string]parts{
			"A_b": {decls: "bit<8> c; action x() { c = 1; }\n" + tableX, apply: "c = hdr.ipv4.ttl; t.apply(); hdr.ipv4.ttl = c;"},
			"A":   {decls: "bit<8> b_c; action b_x() { b_c = 1; } action x() { b_x(); }\n" + tableX, apply: "b_c = hdr.ipv4.ttl; t.apply(); hdr.ipv4.ttl = b_c;"}},
			tables: "A_b.t A.t"},
		{name: "entries of the program", request: "X first", nfs: map[string]parts{"X": {
			decls: "action a(bit<8> x) { hdr.ipv4.ttl = x; }\n" + `table c { key = { hdr.ipv4.ttl: exact @name("ttl"); } actions = { a; NoAction; } const entries = { 1: a(2); } default_action = NoAction(); }
table i { key = { hdr.ipv4.ttl: ternary @name("ttl"); } actions = { a; NoAction; } entries = { priority = 5: 3: a(4); } default_action = NoAction(); }`, apply: "c.apply(); i.apply();"}}, tables: "X.c X.i"},
		{name: "profiles and direct meters", request: "X before NAT before X#2", nfs: map[string]parts{"X": {
			decls: `action_profile(8) members; direct_meter<bit<2>>(MeterType.packets) rate; bit<2> colour;
action a(bit<8> x) { hdr.ipv4.ttl = x; }
table p { key = { hdr.ipv4.ttl: exact @name("ttl"); } actions = { a; NoAction; } implementation = members; }
action m() { rate.read(colour); }
table r { key = { hdr.ipv4.src_addr: exact @name("src_addr"); } actions = { m; NoAction; } meters = rate; default_action = NoAction(); }`,
			apply: "p.apply(); r.apply(); if (colour == 2) { mark_to_drop(sm); }"}}, tables: "X.p X.r NAT.source NAT.restore"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, opt := range []compose.Options{{}, {CopyTables: true}} {
				b := newBench(t)
				for name, p := range tt.nfs {
					b.add(name, p.source())
				}
				for _, backbone := range []string{"wire", "l2", "vrouter"} {
					c := b.compose(b.backbone(backbone), merge(t, tt.request), opt)
					printable(t, c.Program)
					if n := len(c.Program.Parser.States); tt.states > 0 && backbone == "wire" && n != tt.states {
						t.Errorf("%d parser states, want %d", n, tt.states)
					}
					names, keys := tables(c.Program)
					var own []string
					for _, n := range names {
						if first, _, _ := strings.Cut(n, "."); !strings.HasSuffix(first, "Ingress") {
							own = append(own, n)
						}
					}
					if got := strings.Join(own, " "); !opt.CopyTables && got != tt.tables {
						t.Errorf("tables %s, want %s", got, tt.tables)
					}
					if tt.name == "entries of the program" && (len(keys["X.c"]) != 1 || len(keys["X.i"]) != 1) {
						t.Errorf("keys of tables whose entries the program gives: %v", keys)
					}
				}
			}
		})
	}
}

const tableX = `table t { key = { hdr.ipv4.ttl: exact @name("ttl"); } actions = { x; NoAction; } default_action = NoAction(); }`

const valueSetParser = `value_set<bit<16>>(4) types;
state start { pkt.extract(hdr.ethernet); transition select(hdr.ethernet.ether_type) { 0x0800: ip; types: accept; default: accept; } }
state ip { pkt.extract(hdr.ipv4); transition accept; }`
