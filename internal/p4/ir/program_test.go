package ir_test

import (
	"testing"

	"github.com/catena-nfv/catena/internal/p4/backend/p4text"
	"github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/ir"
)

const source = `
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; bit<8> b; }
struct headers { h_t h; h_t[2] st; }
struct metadata { bit<8> m; }
register<bit<8>>(4) shared;
parser P(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    value_set<bit<8>>(4) set;
    state start {
        p.extract(hdr.h);
        transition select(hdr.h.a) { set: more; 1 &&& 3: more; default: accept; }
    }
    state more { p.extract(hdr.st.next); transition accept; }
}
control V(inout headers hdr, inout metadata meta) { apply { } }
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    direct_counter(CounterType.packets) hits;
    action set(bit<8> v) { hdr.h.b = v; if (v == 0) { return; } hits.count(); meta.m = v; }
    table t {
        key = { hdr.h.a: ternary; }
        actions = { set; NoAction; }
        counters = hits;
        entries = { 1 &&& 3: set(2); }
    }
    apply {
        bit<8> x;
        shared.read(x, 0);
        if (hdr.h.isValid() && x != 3) {
            switch (t.apply().action_run) { set: { hdr.h.a = hdr.h.b ++ 4w0 == 12w0 ? x : 1; } default: { return; } }
        }
        for (bit<8> i in 8w0 .. 3) { if (i == x) { break; } meta.m = meta.m + i; }
        hdr.h.b = hdr.st[0].a;
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    apply { shared.write(0, hdr.h.a); }
}
control D(packet_out p, in headers hdr) { apply { p.emit(hdr); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
`

func program(t *testing.T) *ir.Program {
	t.Helper()
	p, fset, diags := compile.Source("prog.p4", []byte(source), compile.Options{})
	if err := diags.Err(fset); err != nil {
		t.Fatal(err)
	}
	return p
}

func printed(t *testing.T, p *ir.Program) string {
	t.Helper()
	s, err := p4text.Print(p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// nodes collects all statements and expressions of a program.
func nodes(p *ir.Program) map[any]bool {
	seen := map[any]bool{}
	expr := func(e ir.Expr) { ir.WalkExpr(e, func(x ir.Expr) { seen[x] = true }) }
	list := func(ss []ir.Stmt) {
		ir.Walk(ss, func(s ir.Stmt) {
			seen[s] = true
			ir.WalkExprs(s, func(e ir.Expr) { seen[e] = true })
		})
	}
	for _, s := range p.Parser.States {
		list(s.Body)
		for _, e := range s.Next.Select {
			expr(e)
		}
	}
	for _, k := range p.Controls() {
		list(k.Body.Body)
		for _, a := range k.Actions {
			list(a.Body)
		}
		for _, t := range k.Tables {
			for _, key := range t.Keys {
				expr(key.X)
			}
		}
	}
	return seen
}

// TestCopy checks that a copy is the same program and shares no node with it, and that
// what belongs to two controls is one in the copy, too.
func TestCopy(t *testing.T) {
	p := program(t)
	c := ir.Copy(p)
	if err := ir.Verify(c); err != nil {
		t.Fatal(err)
	}
	if got, want := printed(t, c), printed(t, p); got != want {
		t.Errorf("the copy is\n%s\nthe original\n%s", got, want)
	}
	of := nodes(p)
	for n := range nodes(c) {
		if of[n] {
			t.Errorf("%T stands in both", n)
		}
	}
	find := func(k *ir.Control) *ir.Instance {
		for _, i := range k.Instances {
			if i.FullName == "shared" {
				return i
			}
		}
		return nil
	}
	if a, b := find(c.Ingress), find(c.Egress); a == nil || a != b || a == find(p.Ingress) {
		t.Errorf("the register of two controls: %p and %p, of the original %p", a, b, find(p.Ingress))
	}
}

// TestCopierSubstitutes copies a control for another header.
func TestCopierSubstitutes(t *testing.T) {
	p := program(t)
	other := &ir.Var{Name: "other", Type: p.Hdr.Type}
	c := &ir.Copier{Vars: map[*ir.Var]*ir.Var{p.Hdr: other}}
	c.Stmt = func(s ir.Stmt) ([]ir.Stmt, bool) {
		_, loop := s.(*ir.Loop)
		return nil, loop
	}
	k := c.CopyControl(p.Ingress)
	ir.Walk(k.Body.Body, func(s ir.Stmt) {
		if _, ok := s.(*ir.Loop); ok {
			t.Error("the loop was to be left out")
		}
		ir.WalkExprs(s, func(e ir.Expr) {
			if r, ok := e.(*ir.VarRef); ok && r.Var == p.Hdr {
				t.Errorf("%T still names hdr", s)
			}
		})
	})
}
