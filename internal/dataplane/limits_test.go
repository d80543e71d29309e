package dataplane

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	p4 "github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// manyTables is a program with n tables.
func manyTables(n int) string {
	var tables, applies strings.Builder
	for i := range n {
		fmt.Fprintf(&tables, "table t%d { key = { hdr.h.x: exact; } actions = { to; NoAction; } default_action = NoAction(); size = 4; }\n", i)
		fmt.Fprintf(&applies, "t%d.apply();\n", i)
	}
	return `#include <core.p4>
#include <v1model.p4>
header h_t { bit<32> x; }
struct headers { h_t h; }
struct metadata { }
parser P(packet_in p, out headers hdr, inout metadata m, inout standard_metadata_t s) { state start { p.extract(hdr.h); transition accept; } }
control V(inout headers hdr, inout metadata m) { apply { } }
control I(inout headers hdr, inout metadata m, inout standard_metadata_t s) {
action to(bit<9> port) { s.egress_spec = port; }
` + tables.String() + "apply {\n" + applies.String() + `}
}
control E(inout headers hdr, inout metadata m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
`
}

// TestManyTables loads a program that uses nearly as many maps as it may, with one for the states of all tables, and is
// told why one with more cannot run.
func TestManyTables(t *testing.T) {
	for n, fits := range map[int]bool{58: true, 70: false} {
		p, fset, diags := p4.Source("many.p4", []byte(manyTables(n)), p4.Options{})
		if diags.HasErrors() {
			t.Fatal(diags.Err(fset))
		}
		if fits {
			open(t, p, ebpf.TC)
			continue
		}
		spec, diags := ebpf.Generate(p, nil)
		if diags.HasErrors() {
			t.Fatal(diags.Err(nil))
		}
		_, err := Build(t.Context(), spec, BuildOptions{Targets: []ebpf.Target{ebpf.TC}})
		if !errors.Is(err, target.ErrUnsupported) || !strings.Contains(err.Error(), "the kernel lets a program use 64 maps") {
			t.Errorf("%d tables: %v", n, err)
		}
	}
}
