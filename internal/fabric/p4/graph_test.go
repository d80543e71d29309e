package p4

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/service"
)

func chains(cs ...service.SwitchChain) []service.SwitchChain { return cs }

// TestPlan checks what another program takes, and what only entries.
func TestPlan(t *testing.T) {
	lib := testLibrary(t)
	a := chainOf(1, "a", "IDS before Firewall before NAT", nil)
	do := func(have *deployment, cs []service.SwitchChain) *deployment {
		t.Helper()
		d, err := plan(have, cs, lib)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Graph.Valid(); err != nil {
			t.Fatal(err)
		}
		if len(d.Graph.Chains) != len(cs) {
			t.Fatalf("%d chains of %d", len(d.Graph.Chains), len(cs))
		}
		// A controller that starts again reads it from the program's text.
		text, err := withDeployment(*d.copy(), "the program\n// catena: {}\n")
		if err != nil {
			t.Fatal(err)
		}
		back := deploymentOf(text)
		if back == nil || !reflect.DeepEqual(back.Requests, d.Requests) || !sameNodes(back, &d) || !strings.HasSuffix(string(text), "the program\n// catena: {}\n") {
			t.Fatalf("read back: %+v", back)
		}
		return &d
	}
	one := do(nil, chains(a))
	for _, tt := range []struct {
		name  string
		next  []service.SwitchChain
		nodes int  // of the program
		load  bool // another program
	}{
		{"the same", chains(a), 3, false},
		{"a chain that fits", chains(a, chainOf(2, "b", "IDS before NAT", nil)), 3, false},
		{"a chain of one NF", chains(a, chainOf(2, "b", "NAT first", nil)), 3, false},
		{"another order", chains(a, chainOf(2, "b", "NAT before IDS", nil)), 4, true},
		{"a new NF", chains(a, chainOf(2, "b", "LB before NAT", nil)), 4, true},
		{"none", nil, 3, false},
		{"a shorter one", chains(chainOf(1, "a", "IDS before NAT", nil)), 3, false},
		{"another one", chains(chainOf(1, "a", "IDS before LB", nil)), 4, true}, // the old nodes stay for its packets
		{"a loop", chains(chainOf(1, "a", "IDS before Firewall before NAT\nNAT loop", nil)), 3, true},
	} {
		d := do(one, tt.next)
		if len(d.Graph.Nodes) != tt.nodes || sameNodes(one, d) == tt.load {
			t.Errorf("%s: nodes %v, another program: %t", tt.name, d.Graph.Nodes, !sameNodes(one, d))
		}
		again := do(d, tt.next)
		if !sameNodes(d, again) || !reflect.DeepEqual(d.Graph.Chains, again.Graph.Chains) {
			t.Errorf("%s: planned again it is\n%+v\nin place of\n%+v", tt.name, again.Graph, d.Graph)
		}
		// As it was in the text of the program that runs, entries having changed since.
		if !tt.load {
			if again := do(one, tt.next); !reflect.DeepEqual(d.Graph.Chains, again.Graph.Chains) {
				t.Errorf("%s: planned after a start it is\n%+v\nin place of\n%+v", tt.name, again.Graph, d.Graph)
			}
		}
	}
	// What nobody visits any more goes with the next program.
	two := do(one, chains(chainOf(1, "a", "IDS before LB", nil)))
	three := do(two, chains(chainOf(1, "a", "IDS before LB", nil), chainOf(2, "b", "LB before IDS", nil)))
	for _, n := range three.Graph.Nodes {
		if n.NF == "Firewall" || n.NF == "NAT" {
			t.Errorf("node %d %s is left", n.ID, n.NF)
		}
	}
	// A chain that is called otherwise.
	if d := do(one, chains(chainOf(1, "new", "IDS before Firewall before NAT", nil))); d.Graph.Chains[0].Name != "new" || !sameNodes(one, d) {
		t.Errorf("renamed: %+v", d.Graph.Chains[0])
	}
	// A library in which an NF has other tables, or is gone.
	other := testLibrary(t)
	nat := other["NAT"]
	nat.Tables = append(nat.Tables, nat.Tables[0])
	other["NAT"] = nat
	if d, err := plan(one, chains(a), other); err != nil || d.Graph.Tables != one.Graph.Tables+1 {
		t.Errorf("another library: %+v, %v", d.Graph, err)
	}
	delete(other, "NAT")
	if d, err := plan(one, chains(chainOf(1, "a", "IDS before Firewall", nil)), other); err != nil || len(d.Graph.Nodes) != 2 {
		t.Errorf("a smaller library: %+v, %v", d.Graph, err)
	}
}

func (d *deployment) copy() *deployment { c := *d; return &c }

func TestDeploymentOf(t *testing.T) {
	for _, text := range []string{"", "control C() { }", "// catena: nonsense\n", "// catena: [1]\n", "\n// catena: {}\n"} {
		if d := deploymentOf([]byte(text)); d != nil {
			t.Errorf("%q: %+v", text, d)
		}
	}
}

func TestRequestErrors(t *testing.T) {
	lib := testLibrary(t)
	for _, tt := range []struct {
		request, want string
		offset        int
	}{
		{"A before B, B before A", "", 0},
		{"IDS before Wall", `no NF "Wall"; there are Firewall, IDS`, 11},
		{"IDS before", "", 0},
		{"IDS first\nEnd_of_Request\nNAT first", "2 requests; a chain is one", 0},
		{strings.Repeat("#", 5<<20), "bytes of request text", 0},
	} {
		_, err := plan(nil, chains(chainOf(3, "c", tt.request, nil)), lib)
		var c *service.ChainError
		if !errors.As(err, &c) || c.Chain != "c" || c.Field != "request" || c.Owner != shop || !strings.Contains(c.Err.Error(), tt.want) || tt.want != "" && c.Offset != tt.offset {
			t.Errorf("%.40q: %v, at %+v", tt.request, err, c)
		}
	}
}
