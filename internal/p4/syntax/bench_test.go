package syntax

import (
	"fmt"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/diag"
)

// longProgram writes a v1model program of about 2,000 lines.
func longProgram() []byte {
	var b strings.Builder
	b.WriteString("#include <core.p4>\n#include <v1model.p4>\n#define WIDTH 32\n")
	b.WriteString("header ipv4_t {\n")
	for i := range 20 {
		fmt.Fprintf(&b, "    bit<WIDTH> f%d;\n", i)
	}
	b.WriteString("}\nstruct headers { ipv4_t ipv4; }\nstruct meta { bit<WIDTH> x; }\n")
	for c := range 50 {
		fmt.Fprintf(&b, "control C%d(inout headers hdr, inout meta m, inout standard_metadata_t sm) {\n", c)
		for a := range 3 {
			fmt.Fprintf(&b, "    @name(\"a%d\")\n    action a%d(bit<WIDTH> v, bit<9> port) {\n", a, a)
			fmt.Fprintf(&b, "        hdr.ipv4.f%d = (bit<32>)v + (hdr.ipv4.f%d |+| 32w0x%x);\n        sm.egress_spec = port;\n    }\n", a, a+1, a+10)
		}
		b.WriteString("    table t {\n        key = {\n            hdr.ipv4.f1: exact;\n            hdr.ipv4.f2: ternary;\n        }\n")
		b.WriteString("        actions = { a0; a1; a2; NoAction; }\n        size = 1024;\n        default_action = NoAction();\n    }\n")
		b.WriteString("    apply {\n        if (hdr.ipv4.isValid() && hdr.ipv4.f3 < 10) {\n            t.apply(); // look up\n        } else {\n")
		b.WriteString("            hash(m.x, HashAlgorithm.crc32, (bit<32>)0, { hdr.ipv4.f1, hdr.ipv4.f2 }, (bit<32>)16);\n        }\n    }\n}\n")
	}
	return []byte(b.String())
}

func BenchmarkParse(b *testing.B) {
	src := longProgram()
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		fset := diag.NewFileSet()
		if _, list := ParseBytes(fset, "t.p4", src, Options{}); len(list) > 0 {
			b.Fatal(list.Err(fset))
		}
	}
	b.ReportMetric(float64(strings.Count(string(src), "\n")), "lines")
}

func BenchmarkPrint(b *testing.B) {
	prog, _ := ParseBytes(diag.NewFileSet(), "t.p4", longProgram(), Options{})
	for b.Loop() {
		Print(prog)
	}
}
