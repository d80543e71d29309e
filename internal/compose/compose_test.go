package compose_test

import (
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/catena-nfv/catena/internal/chain"
	"github.com/catena-nfv/catena/internal/compose"
	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/p4/backend/p4text"
	"github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

var update = flag.Bool("update", false, "write what is composed into the archives")

// bench is a library with the programs of a test.
type bench struct {
	t    testing.TB
	lib  *nf.Library
	nfs  []compose.NF
	opts compile.Options
}

func newBench(t testing.TB) *bench {
	t.Helper()
	lib, err := nf.Open("")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, lib: lib, opts: nf.Options()}
	b.opts.FileSet = lib.FileSet()
	for _, n := range lib.All() {
		b.nfs = append(b.nfs, compose.NF{Name: n.Name, Program: n.Program})
	}
	return b
}

// compile compiles a program of the test; the files of its diagnostics are those of the
// library's.
func (b *bench) compile(file, src string) *ir.Program {
	b.t.Helper()
	p, _, diags := compile.Source(file, []byte(src), b.opts)
	if err := diags.Err(b.lib.FileSet()); err != nil {
		b.t.Fatal(err)
	}
	return p
}

func (b *bench) add(name, src string) {
	b.t.Helper()
	b.nfs = append(b.nfs, compose.NF{Name: name, Program: b.compile(name+".p4", src)})
}

func (b *bench) backbone(name string) *ir.Program {
	b.t.Helper()
	p, err := b.lib.Backbone(name)
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

// merge merges chain requests.
func merge(t testing.TB, text string) chain.Graph {
	t.Helper()
	dags, err := chain.Parse(text, chain.Options{MaxLoops: 2})
	if err != nil {
		t.Fatal(err)
	}
	g, err := chain.Merge(dags, chain.MergeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// compose composes with a backbone; the result must be well formed.
func (b *bench) compose(backbone *ir.Program, g chain.Graph, opt compose.Options) *compose.Composed {
	b.t.Helper()
	c, diags := compose.Compose(backbone, b.nfs, g, opt)
	if err := diags.Err(b.lib.FileSet()); err != nil {
		b.t.Fatal(err)
	}
	if err := ir.Verify(c.Program); err != nil {
		b.t.Fatalf("the composed program is malformed: %v", err)
	}
	return c
}

// TestGolden composes what each archive says and compares the program with its out.p4.
// chains.sfc holds requests, options a line each of: backbone NAME, copy, nodes N;
// every other .p4 is an NF.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no archives", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			b := newBench(t)
			backbone, opt, request, want := "wire", compose.Options{}, "", -1
			for i, f := range a.Files {
				switch {
				case f.Name == "chains.sfc":
					request = string(f.Data)
				case f.Name == "out.p4":
					want = i
				case f.Name == "options":
					for _, line := range strings.Split(strings.TrimSpace(string(f.Data)), "\n") {
						word, rest, _ := strings.Cut(line, " ")
						switch word {
						case "backbone":
							backbone = rest
						case "copy":
							opt.CopyTables = true
						case "nodes":
							if opt.MinNodes, err = strconv.Atoi(rest); err != nil {
								t.Fatal(err)
							}
						default:
							t.Fatalf("unknown option %q", line)
						}
					}
				default:
					b.add(strings.TrimSuffix(f.Name, ".p4"), string(f.Data))
				}
			}
			c := b.compose(b.backbone(backbone), merge(t, request), opt)
			got, err := p4text.Print(c.Program)
			if err != nil {
				t.Fatal(err)
			}
			// What is printed is what the switch compiles.
			_, fset, diags := compile.Source("out.p4", []byte(got), compile.Options{})
			if err := diags.Err(fset); err != nil {
				t.Fatal(err)
			}
			if *update {
				if want < 0 {
					a.Files = append(a.Files, txtar.File{Name: "out.p4"})
					want = len(a.Files) - 1
				}
				a.Files[want].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want < 0 || got != string(a.Files[want].Data) {
				t.Errorf("composed:\n%s", got)
			}
		})
	}
}

// TestInputsStay composes twice: nothing of the library may have changed.
func TestInputsStay(t *testing.T) {
	b := newBench(t)
	g := merge(t, "IDS before Firewall before NAT before Firewall#2 before L2fwd\nIDS loop")
	print := func() string {
		c := b.compose(b.backbone("vrouter"), g, compose.Options{MinNodes: 65})
		text, err := p4text.Print(c.Program)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	before := map[string]string{}
	for _, n := range b.lib.All() {
		text, err := p4text.Print(n.Program)
		if err != nil {
			t.Fatal(err)
		}
		before[n.Name] = text
	}
	first := print()
	if second := print(); second != first {
		t.Errorf("the second time it differs:\n%s", second)
	}
	for _, n := range b.lib.All() {
		if text, err := p4text.Print(n.Program); err != nil || text != before[n.Name] {
			t.Errorf("composing has changed %s (%v):\n%s", n.Name, err, text)
		}
	}
}

// tables returns the full names of a composed program's tables and the kinds of their
// keys, in order.
func tables(p *ir.Program) (names []string, keys map[string][]string) {
	keys = map[string][]string{}
	for _, k := range p.Controls() {
		for _, t := range k.Tables {
			names = append(names, t.FullName)
			for _, x := range t.Keys {
				keys[t.FullName] = append(keys[t.FullName], x.Name+":"+string(x.Match))
			}
		}
	}
	return names, keys
}

// TestReplicas checks which tables an NF has that stands twice in the order.
func TestReplicas(t *testing.T) {
	b := newBench(t)
	g := merge(t, "Firewall before NAT before Firewall#2")
	for _, tt := range []struct {
		copied   bool
		tables   string
		prefixes string
	}{
		{false, "WireIngress.classifier Firewall.rules NAT.source NAT.restore", "Firewall NAT Firewall"},
		{true, "WireIngress.classifier Firewall.rules NAT.source NAT.restore Firewall_2.rules", "Firewall NAT Firewall_2"},
	} {
		c := b.compose(b.backbone("wire"), g, compose.Options{CopyTables: tt.copied})
		names, keys := tables(c.Program)
		if got := strings.Join(names, " "); got != tt.tables {
			t.Errorf("copied %t: tables %s, want %s", tt.copied, got, tt.tables)
		}
		if got := strings.Join(c.Prefixes, " "); got != tt.prefixes {
			t.Errorf("copied %t: prefixes %s, want %s", tt.copied, got, tt.prefixes)
		}
		for name, k := range keys {
			if own := strings.HasPrefix(name, "Wire"); own == (k[0] == "scope:exact") {
				t.Errorf("table %s has keys %v", name, k)
			}
		}
	}
}

// TestNodeBits checks the width of the bitmap and of the parameter that fills it.
func TestNodeBits(t *testing.T) {
	b := newBench(t)
	var many chain.Graph
	for i := range 70 {
		many.Nodes = append(many.Nodes, chain.Node{ID: i, NF: "NAT", Chains: []int{1}})
	}
	for _, tt := range []struct {
		graph chain.Graph
		min   int
		want  int
	}{
		{merge(t, "NAT first"), 0, 64}, {merge(t, "NAT first"), 64, 64}, {merge(t, "NAT first"), 65, 128},
		{chain.Graph{}, 0, 64}, {many, 0, 128},
	} {
		c := b.compose(b.backbone("vrouter"), tt.graph, compose.Options{MinNodes: tt.min})
		if c.NodeBits != tt.want {
			t.Errorf("%d nodes, at least %d: %d bits, want %d", len(tt.graph.Nodes), tt.min, c.NodeBits, tt.want)
		}
		for _, a := range c.Program.Ingress.Actions {
			if a.FullName != "VrouterIngress.set_chain" {
				continue
			}
			if w, _ := ir.ScalarBits(a.Params[3].Type); w != tt.want {
				t.Errorf("the parameter nodes has %d bits, want %d", w, tt.want)
			}
		}
	}
}

// TestBackboneErrors checks what a backbone must have.
func TestBackboneErrors(t *testing.T) {
	src := func(meta, body string) string {
		return strings.NewReplacer("META", meta, "BODY", body).Replace(`
#include <core.p4>
#include <v1model.p4>
#include "headers.p4"
#include "sfc.p4"
struct metadata { @shared l4_t l4; META }
#include "l4.p4"
control BIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {
    action set_chain(bit<16> scope, bit<16> chain, bit<16> path, bit<64> nodes) {
        meta.sfc.scope = scope; meta.sfc.chain = chain; meta.sfc.path = path; meta.sfc.nodes = nodes;
    }
    table other { key = { hdr.ipv4.ttl: ternary; } actions = { set_chain; NoAction; } default_action = NoAction(); }
    apply { other.apply(); BODY }
}
V1Switch(L4Parser(), L4VerifyChecksum(), BIngress(), L4Egress(), L4ComputeChecksum(), L4Deparser()) main;`)
	}
	for _, tt := range []struct{ name, src, request, want string }{
		{"no hook", src("sfc_t sfc;", ""), "NAT first", "no block annotated @hook"},
		{"two hooks", src("sfc_t sfc;", "@hook { } @hook { }"), "NAT first", "a second block annotated @hook"},
		{"a use of the bitmap", src("sfc_t sfc;", "@hook { } if (meta.sfc.nodes == 0) { mark_to_drop(standard_metadata); }"), "NAT first", "only an action may set it"},
		{"no classifier", src("sfc_t sfc;", "@hook { }"), "NAT loop", "does not apply a table `classifier`"},
		{"unknown NF", src("sfc_t sfc;", "@hook { }"), "Nothing first", `unknown NF "Nothing"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			_, diags := compose.Compose(b.compile("b.p4", tt.src), b.nfs, merge(t, tt.request), compose.Options{MinNodes: 65})
			if err := diags.Err(b.lib.FileSet()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	b := newBench(t)
	nosfc := b.compile("b.p4", strings.ReplaceAll(strings.ReplaceAll(src("bit<8> sfc;", "@hook { }"), "meta.sfc.scope = scope; meta.sfc.chain = chain; meta.sfc.path = path; meta.sfc.nodes = nodes;", ""), `#include "sfc.p4"`, ""))
	_, diags := compose.Compose(nosfc, b.nfs, merge(t, "NAT first"), compose.Options{})
	if err := diags.Err(b.lib.FileSet()); err == nil || !strings.Contains(err.Error(), "no member `sfc`") {
		t.Errorf("got %v", err)
	}
}

// printable compiles the print of a program.
func printable(t *testing.T, p *ir.Program) {
	t.Helper()
	text, err := p4text.Print(p)
	if err != nil {
		t.Fatal(err)
	}
	_, fset, diags := compile.Source("printed.p4", []byte(text), compile.Options{})
	if err := diags.Err(fset); err != nil {
		t.Errorf("%v\nof\n%s", err, text)
	}
}

// TestFloodOverRouter runs L2fwd over the router: the group that it chooses is not
// overridden by the router's own forwarding.
func TestFloodOverRouter(t *testing.T) {
	b := newBench(t)
	c := b.compose(b.backbone("vrouter"), merge(t, "L2fwd first"), compose.Options{})
	sw, err := interp.New(c.Program, interp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	any := target.Match{Any: true}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(sw.WriteMulticast(target.Insert, 7, []target.Replica{{Port: 1, Instance: 1}, {Port: 2, Instance: 1}, {Port: 3, Instance: 1}}))
	must(sw.WriteMulticast(target.Insert, 1, []target.Replica{{Port: 4, Instance: 1}}))
	must(sw.WriteEntry(target.Insert, target.Entry{Table: "VrouterIngress.ports", Match: []target.Match{{Value: []byte{1}}},
		Action: &target.Action{Name: "VrouterIngress.set_network", Params: [][]byte{{1}}}}))
	must(sw.WriteEntry(target.Insert, target.Entry{Table: "VrouterIngress.classifier", Priority: 1, Match: []target.Match{any, any, any, any, any, any},
		Action: &target.Action{Name: "VrouterIngress.set_chain", Params: [][]byte{{9}, {1}, {1}, {1}}}}))
	must(sw.WriteEntry(target.Insert, target.Entry{Table: "L2fwd.addresses", Match: []target.Match{{Value: []byte{9}}, {Value: []byte{2, 0, 0, 0, 0, 2}}},
		Action: &target.Action{Name: "L2fwd.flood", Params: [][]byte{{7}}}}))
	data, err := hex.DecodeString("020000000002" + "020000000001" + "0800" + "4500001c00010000401166cf0a0000010a000002" + "0001000200080000")
	must(err)
	out, err := sw.Inject(target.Packet{Port: 1, Data: data})
	must(err)
	if len(out) != 2 || out[0].Port != 2 || out[1].Port != 3 {
		t.Errorf("got %+v, want copies on ports 2 and 3", out)
	}
	// The node counts what met it.
	if n, err := sw.ReadCounter(compose.NodeCounter, 0); err != nil || n.Packets != 1 {
		t.Errorf("%+v, %v", n, err)
	}
}
