package ebpf

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// frame is a program around the parts that a test is about.
func frame(headers, parser, ingress, deparser string) string {
	return `#include <core.p4>
#include <v1model.p4>
` + headers + `
struct metadata { bit<8> x; bit<32> n; @field_list(1) bit<8> kept; }
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
` + parser + `
}
control V(inout headers hdr, inout metadata meta) { apply { } }
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
` + ingress + `
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) { apply { } }
control C(inout headers hdr, inout metadata meta) { apply { } }
control D(packet_out packet, in headers hdr) { apply { ` + deparser + ` } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
`
}

var errorComment = regexp.MustCompile(`/\* ERROR "([^"]*)" \*/`)

// TestUnsupported checks that what the target cannot do is told at its place: each
// line with an ERROR comment, and no other, has a diagnostic that matches.
func TestUnsupported(t *testing.T) {
	const h8 = "header h_t { bit<8> a; bit<200> w; }\nstruct headers { h_t h; }"
	const plain = "    state start { packet.extract(hdr.h); transition accept; }"
	for name, src := range map[string]string{
		"bits": frame("header odd_t { bit<3> a; }\nstruct headers { odd_t h; }",
			"    state start {\n packet.extract(hdr.h); /* ERROR \"extract of header odd_t, which is 3 bits long\" */\n transition accept; }",
			"    apply { }", "\n packet.emit(hdr.h); /* ERROR \"emit of header odd_t\" */\n"),
		"division": frame(h8, plain, "    apply {\n hdr.h.w = hdr.h.w / 10000000001; /* ERROR \"division of more than 64 bits\" */\n }", "packet.emit(hdr.h);"),
		"algorithm": frame(h8, plain, "    apply {\n HashAlgorithm a = HashAlgorithm.crc16; if (hdr.h.a == 1) { a = HashAlgorithm.crc32; }\n"+
			" hash(meta.n, a, 32w0, { hdr.h.a }, 32w100); /* ERROR \"hash algorithm that is not constant\" */\n }", "packet.emit(hdr.h);"),
	} {
		t.Run(name, func(t *testing.T) {
			_, _, diags, fset := generate(t, "t.p4", []byte(src))
			want := map[int]string{}
			for i, l := range strings.Split(src, "\n") {
				if m := errorComment.FindStringSubmatch(l); m != nil {
					want[i+1] = m[1]
				}
			}
			for _, d := range diags {
				line := fset.Position(d.Span).Line
				if d.Code != Unsupported || want[line] == "" || !regexp.MustCompile(want[line]).MatchString(d.Message) {
					t.Errorf("line %d: %s [%s]", line, d.Message, d.Code)
				}
				delete(want, line)
			}
			for line, rx := range want {
				t.Errorf("line %d: no diagnostic that matches %q", line, rx)
			}
		})
	}
}

// TestNames checks that no P4 name collides with one of the text's own.
func TestNames(t *testing.T) {
	s := newScope()
	seen := map[string]bool{}
	for _, n := range []string{"at", "at_", "int", "t1", "a.b", "a_b", "9lives", "s", "ctx", "NOWHERE", "a-b"} {
		c := s.fresh(n)
		if seen[c] || isReserved(c) || !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(c) {
			t.Errorf("%q becomes %q", n, c)
		}
		seen[c] = true
	}
	if _, spec, diags, fset := generate(t, "t.p4", []byte(frame("header h_t { bit<8> at; bit<8> int_; bit<8> t1; bit<16> valid; }\nstruct headers { h_t s; }",
		"    state start { packet.extract(hdr.s); transition accept; }", "    apply { hdr.s.at = hdr.s.t1; }", "packet.emit(hdr.s);"))); diags.HasErrors() {
		t.Error(diags.Err(fset))
	} else if !strings.Contains(spec.Source, "s->hdr.s_.at_ = s->hdr.s_.t1_;") {
		t.Error(fmt.Sprint("unexpected names in\n", spec.Source[strings.Index(spec.Source, "the bit of each header"):]))
	}
}
