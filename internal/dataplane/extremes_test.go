package dataplane

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	p4 "github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/pass"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// extreme is the text of a program that has much of something.
type extreme struct {
	headers, parser, ingress, metadata string
}

func (x extreme) String() string {
	if x.headers == "" {
		x.headers = "header h_t { bit<32> x; bit<32> y; }\nstruct headers { h_t h; }"
	}
	if x.parser == "" {
		x.parser = "state start { p.extract(hdr.h); transition accept; }"
	}
	return `#include <core.p4>
#include <v1model.p4>
` + x.headers + `
struct metadata { ` + x.metadata + ` }
parser P(packet_in p, out headers hdr, inout metadata m, inout standard_metadata_t s) {
` + x.parser + `
}
control V(inout headers hdr, inout metadata m) { apply { } }
control I(inout headers hdr, inout metadata m, inout standard_metadata_t s) {
` + x.ingress + `
}
control E(inout headers hdr, inout metadata m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
`
}

// each writes something n times, with its number for #, and the ones behind for #+1 and #+2.
func each(n int, text string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.NewReplacer("#+1", fmt.Sprint(i+1), "#+2", fmt.Sprint(i+2), "#", fmt.Sprint(i)).Replace(text))
	}
	return b.String()
}

// TestExtremes compares programs that are beyond what people write with the interpreter: some are laid out in another
// way than others, and in all they do the same.
func TestExtremes(t *testing.T) {
	for name, x := range map[string]struct {
		program extreme
		entry   *target.Entry // for packets that begin with 00000001
		bytes   int           // of a packet
	}{
		"100 actions": {program: extreme{ingress: each(100, "action a#(bit<32> v) { hdr.h.y = (hdr.h.y ^ #) + v; }\n") +
			"table t { key = { hdr.h.x: exact; } actions = { " + each(100, "a#; ") + "} default_action = a99(3); }\napply { s.egress_spec = 1; t.apply(); }"},
			entry: &target.Entry{Match: []target.Match{{Value: []byte{0, 0, 0, 1}}}, Action: &target.Action{Name: "I.a57", Params: [][]byte{{9}}}}},
		"500 bytes of action data under a mask": {program: extreme{metadata: "bit<32> a;",
			ingress: "action a(bit<32> q" + each(124, ", bit<32> p#") + ") { m.a = q; " + each(124, "m.a = (m.a ^ p#) + #; ") + "hdr.h.y = m.a; }\n" +
				"table t { key = { hdr.h.x: ternary; } actions = { a; } }\napply { s.egress_spec = 1; t.apply(); }"},
			entry: &target.Entry{Priority: 1, Match: []target.Match{{Value: []byte{0, 0, 0, 1}, Mask: []byte{255, 255, 255, 255}}},
				Action: &target.Action{Name: "I.a", Params: numbers(125)}}},
		"a key of 500 bytes": {bytes: 504, program: extreme{headers: "header h_t { bit<4000> x; bit<32> y; }\nstruct headers { h_t h; }",
			ingress: "action a(bit<32> q) { hdr.h.y = q; }\ntable t { key = { hdr.h.x: exact; } actions = { a; } }\napply { s.egress_spec = 1; t.apply(); }"},
			entry: &target.Entry{Match: []target.Match{{Value: append([]byte{0, 0, 0, 1}, make([]byte, 496)...)}},
				Action: &target.Action{Name: "I.a", Params: [][]byte{{5}}}}},
		"fields of 2048 bits": {bytes: 512, program: extreme{headers: "header h_t { bit<2048> x; bit<2048> y; }\nstruct headers { h_t h; }",
			ingress: "apply { hdr.h.x = hdr.h.x + hdr.h.y; hdr.h.y = hdr.h.y ^ hdr.h.x; hdr.h.x = hdr.h.x << 77; s.egress_spec = 1; }"}},
		"400 fields of metadata": {program: extreme{metadata: each(400, "bit<64> f#; "),
			ingress: "apply { s.egress_spec = 1; m.f399 = 7; " + each(399, "m.f# = m.f399 + (bit<64>) hdr.h.x + #; m.f399 = m.f# ^ 5; ") +
				"hdr.h.y = m.f0[31:0]" + each(400, " ^ m.f#[31:0]") + "; }"}},
		"loops in loops": {program: extreme{metadata: "bit<32> a;", ingress: "action a(bit<32> q) { hdr.h.y = hdr.h.y + q; }\n" +
			"table t { key = { hdr.h.x: ternary; } actions = { a; } default_action = a(2); }\n" +
			"apply { s.egress_spec = 1; for (bit<32> i in 0..3) { for (bit<32> j in 0..9) { for (bit<32> k in 0..9) { m.a = m.a + i * j + k; " +
			"if (m.a == hdr.h.x) { continue; } if (k > j + i) { break; } hdr.h.y = hdr.h.y + m.a; } t.apply(); } } }"}},
		"ifs in ifs": {program: extreme{ingress: "apply { s.egress_spec = 1; " + each(60, "if (hdr.h.x[7:0] > 3 * #) { hdr.h.y = hdr.h.y + #; ") +
			each(60, "} else { hdr.h.y = hdr.h.y ^ (bit<32>) hdr.h.x[15:8]; if (hdr.h.y == #) { hdr.h.x = #; } } ") + "}"}},
		"many ways": {program: extreme{metadata: "bit<32> v;", ingress: "apply { s.egress_spec = 1; " +
			each(150, "if (hdr.h.x & (32w1 << (# & 31)) != 0) { m.v = m.v + hdr.h.y; hdr.h.x = hdr.h.x ^ m.v; } else { hdr.h.y = hdr.h.y + #; } ") + "}"}},
		"a parser of 400 states": {program: extreme{metadata: "bit<32> v;", parser: "state start { p.extract(hdr.h); transition s0; }\n" +
			each(400, "state s# { m.v = (m.v ^ #) + hdr.h.x; transition select(hdr.h.y & (32w1 << (# & 31))) { 0: s#+1; default: s#+2; } }\n") +
			"state s400 { m.v = m.v ^ 1; transition accept; }\nstate s401 { transition accept; }",
			ingress: "apply { s.egress_spec = 1; hdr.h.y = m.v; }"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, fset, diags := p4.Source("extreme.p4", []byte(x.program.String()), p4.Options{})
			if diags.HasErrors() {
				t.Fatal(diags.Err(fset))
			}
			if diags := pass.Run(p, pass.Options{}); diags.HasErrors() {
				t.Fatal(diags.Err(fset))
			}
			reference, err := interp.New(p, interp.Options{})
			must(t, err)
			d := open(t, p, ebpf.TC)
			if e := x.entry; e != nil {
				e.Table = "I.t"
				must(t, reference.WriteEntry(target.Insert, *e))
				must(t, d.WriteEntry(target.Insert, *e))
			}
			r := rand.New(rand.NewPCG(7, 7))
			for i := range 60 {
				in := target.Packet{Port: 1, Data: make([]byte, max(x.bytes, 8)+20)}
				if i%3 == 0 {
					in.Data[3] = 1
				} else {
					for k := range in.Data {
						in.Data[k] = byte(r.Uint32())
					}
				}
				want, err := reference.Inject(in)
				must(t, err)
				got, err := d.Inject(in)
				must(t, err)
				same(t, fmt.Sprintf("packet %x", in.Data), got, want)
			}
		})
	}
}

// numbers are n parameters.
func numbers(n int) [][]byte {
	var out [][]byte
	for i := range n {
		out = append(out, []byte{1, byte(i)})
	}
	return out
}
