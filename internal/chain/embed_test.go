package chain

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func text(t *testing.T, g Graph) string {
	t.Helper()
	b, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func ids(g Graph) []int {
	var out []int
	for _, n := range g.Nodes {
		out = append(out, n.ID)
	}
	return out
}

// order prints nodes as NF:ID.
func order(g Graph) string {
	var out []string
	for _, n := range g.Nodes {
		out = append(out, n.NF+":"+string(rune('0'+n.ID)))
	}
	return strings.Join(out, " ")
}

func TestEmbed(t *testing.T) {
	tests := []struct {
		deployed, add string
		changed       bool
		order         string
	}{
		{"A before B before C", "A before C", false, "A:0 B:1 C:2"},
		{"A before B before C", "B first", false, "A:0 B:1 C:2"},
		{"A before B before C", "A then B or C", false, "A:0 B:1 C:2"},
		{"A before B before C", "C before A", true, "C:3 A:0 B:1 C:2"},
		{"A before B before C", "D before B", true, "D:3 A:0 B:1 C:2"},
		{"A before B before C", "B before D", true, "A:0 B:1 D:3 C:2"},
		{"A before B", "B before B#2", true, "B:2 A:0 B:1"},
		{"A before B", "X then Y or Z and branch_end=B", true, "X:2 Z:4 Y:3 A:0 B:1"},
		// Heavy NFs are found rather than inserted again.
		{"A before Heavy before B", "B before Heavy", true, "B:3 A:0 Heavy:1 B:2"},
		{"Heavy before B", "B before Heavy before C", true, "B:2 Heavy:0 C:3 B:1"},
	}
	tables := func(nf string) int { return map[string]int{"Heavy": 5}[nf] }
	for _, tc := range tests {
		base := mustParse(t, tc.deployed, Options{Name: "base", Tables: tables})
		add := mustParse(t, tc.add, Options{Name: "add", Tables: tables})
		g := mustMerge(t, base, "")
		before := text(t, g)
		out, changed, err := Embed(g, add[0])
		if err != nil {
			t.Fatal(err)
		}
		if changed != tc.changed || order(out) != tc.order {
			t.Errorf("%s + %s: changed %v, %s; want %v, %s", tc.deployed, tc.add, changed, order(out), tc.changed, tc.order)
		}
		if err := out.Check(append(base, add...)); err != nil {
			t.Errorf("%s + %s: %v", tc.deployed, tc.add, err)
		}
		if text(t, g) != before {
			t.Errorf("%s + %s: the deployed graph was modified", tc.deployed, tc.add)
		}
	}
}

// TestEmbedRandom adds and removes random chains: all that is deployed stays served, deployed nodes keep
// order and IDs, nothing changes where the chain fits, and removing gives the old graph back.
func TestEmbedRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for round := range 20 {
		dags := random(t, uint64(round), 12, RandomOptions{NFs: 8, MaxLength: 8}, uneven)
		g := mustMerge(t, dags[:4], StrategyLCS)
		live := slices.Clone(dags[:4])
		for i := range live {
			live[i].ID = i + 1
		}
		for _, d := range dags[4:] {
			old := ids(g)
			fit := g.fits(d)
			out, changed, err := Embed(g, d)
			if err != nil {
				t.Fatal(err)
			}
			if changed == fit {
				t.Errorf("round %d: fits %v, changed %v", round, fit, changed)
			}
			kept := slices.DeleteFunc(ids(out), func(id int) bool { return !slices.Contains(old, id) })
			if !slices.Equal(kept, old) {
				t.Errorf("round %d: deployed nodes %v became %v", round, old, kept)
			}
			d.ID = out.Chains[len(out.Chains)-1].ID
			live = append(live, d)
			if err := out.Check(live); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			if !changed {
				back, err := Remove(out, d.ID)
				if err != nil || text(t, back) != text(t, g) {
					t.Errorf("round %d: embed and remove give %s (%v), not %s", round, text(t, back), err, text(t, g))
				}
			}
			g = out
			i := rng.IntN(len(live))
			g, err = Remove(g, live[i].ID)
			if err != nil {
				t.Fatal(err)
			}
			live = slices.Delete(live, i, i+1)
			if rng.IntN(3) == 0 {
				g = Prune(g)
			}
			if err := g.Check(live); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
	}
}

func TestEmbedErrors(t *testing.T) {
	base := mustParse(t, "A before B", Options{Name: "base"})
	g := mustMerge(t, base, "")
	same := base[0]
	same.ID = 1
	heavy := mustParse(t, "A first", Options{Name: "heavy", Tables: func(string) int { return 2 }})[0]
	for want, d := range map[string]DAG{
		"ID 1 is in use":                        same,
		"A has 2 tables here and 1 as deployed": heavy,
	} {
		if _, _, err := Embed(g, d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := Remove(g, 7); err == nil {
		t.Error("removed chain 7")
	}
}
