package chain

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// randomClauses writes clauses at random over few NFs: most texts are contradictory, many are not.
func randomClauses(rng *rand.Rand) (string, [][]string) {
	nf := func() string { return string(rune('A' + rng.IntN(9))) }
	var clauses [][]string
	var lines []string
	for range 1 + rng.IntN(6) {
		var c []string
		var line string
		switch rng.IntN(8) {
		case 0:
			c = []string{"first", nf()}
			line = c[1] + " first"
		case 1:
			c = []string{"last", nf()}
			line = c[1] + " last"
		case 2, 3:
			c = []string{"then", nf(), nf(), nf()}
			line = fmt.Sprintf("%s then %s or %s", c[1], c[2], c[3])
		case 4:
			c = []string{"end", nf(), nf(), nf(), nf()}
			line = fmt.Sprintf("%s then %s or %s and branch_end=%s", c[1], c[2], c[3], c[4])
		default:
			c = []string{"before", nf(), nf()}
			line = c[1] + " before " + c[2]
		}
		clauses = append(clauses, c)
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), clauses
}

// TestClausesHold checks on random requests that what is accepted means what its clauses say.
func TestClausesHold(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	accepted := 0
	for range 20000 {
		src, clauses := randomClauses(rng)
		dags, err := Parse(src, Options{})
		if err != nil {
			var ps Problems
			if !errors.As(err, &ps) {
				t.Fatalf("%s: %v", src, err)
			}
			continue
		}
		accepted++
		if msg := clausesHold(dags[0], clauses); msg != "" {
			t.Fatalf("%s\npaths %s\n%s", src, pathsText(dags), msg)
		}
	}
	if accepted < 2000 {
		t.Errorf("only %d requests were accepted", accepted)
	}
}

func clausesHold(d DAG, clauses [][]string) string {
	visited := map[string]bool{}
	seen := map[string]bool{}
	branchings := map[string]int{}
	for _, c := range clauses {
		if c[0] == "then" || c[0] == "end" {
			branchings[c[1]]++
		}
	}
	for _, p := range d.PathNames() {
		key := strings.Join(p, " ")
		if seen[key] {
			return "path " + key + " is there twice"
		}
		seen[key] = true
		at := map[string]int{}
		for i, n := range p {
			if _, again := at[n]; again {
				return n + " is visited twice"
			}
			at[n] = i
			visited[n] = true
		}
		on := func(n string) bool { _, ok := at[n]; return ok }
		ordered := func(a, b string) bool { return !on(a) || !on(b) || at[a] < at[b] }
		for _, c := range clauses {
			switch c[0] {
			case "first":
				if !on(c[1]) || at[c[1]] != 0 {
					return c[1] + " is not first on " + key
				}
			case "last":
				if on(c[1]) && at[c[1]] != len(p)-1 {
					return c[1] + " is not last on " + key
				}
			case "before":
				if !ordered(c[1], c[2]) {
					return c[1] + " is not before " + c[2] + " on " + key
				}
			case "then", "end":
				if !ordered(c[1], c[2]) || !ordered(c[1], c[3]) {
					return "a branch is before " + c[1] + " on " + key
				}
				if on(c[1]) && branchings[c[1]] == 1 && !on(c[2]) && !on(c[3]) {
					return c[1] + " leads to no branch on " + key
				}
				if c[0] == "end" && branchings[c[1]] == 1 {
					if on(c[1]) && !on(c[4]) || c[2] != c[4] && !ordered(c[2], c[4]) || c[3] != c[4] && !ordered(c[3], c[4]) {
						return c[4] + " does not end the branches on " + key
					}
				}
			}
		}
	}
	for _, nf := range d.NFs {
		if !visited[nf.String()] {
			return nf.String() + " is on no path"
		}
	}
	return ""
}

// TestAnyText feeds words and signs at random: whatever comes back, it is no panic, and errors have
// places inside of the text.
func TestAnyText(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	words := []string{"A", "B", "C#2", "before", "then", "or", "and", "branch_end", "=", "first", "last", "loop",
		"End_of_Request", ",", "\n", "#", " ", " ", " ", "#1", "\xff", "é", "\r", "7"}
	for range 20000 {
		var b strings.Builder
		for range rng.IntN(14) {
			b.WriteString(words[rng.IntN(len(words))])
			if rng.IntN(4) > 0 {
				b.WriteByte(' ')
			}
		}
		_, err := Parse(b.String(), Options{})
		var ps Problems
		if errors.As(err, &ps) {
			for _, p := range ps {
				if p.Pos.Offset > b.Len() || p.Pos.Line < 1 || p.Pos.Col < 1 || !strings.Contains(p.Error(), "^") {
					t.Fatalf("%q: %+v", b.String(), p)
				}
			}
		} else if err != nil {
			t.Fatalf("%q: %v", b.String(), err)
		}
	}
}

// TestValidFindsFaults breaks a graph in each way that a file may be broken.
func TestValidFindsFaults(t *testing.T) {
	dags := mustParse(t, "A before B before C, End_of_Request, A before C", Options{})
	g := mustMerge(t, dags, "")
	faults := map[string]func(*Graph){
		"IDs are not unique":         func(g *Graph) { g.Nodes[1].ID = 0 },
		"cannot be":                  func(g *Graph) { g.Nodes[1].Tables, g.Tables = 0, 2 },
		"tables stated":              func(g *Graph) { g.Tables++ },
		"chain ID 1 is used twice":   func(g *Graph) { g.Chains[1].ID = 1 },
		"node 9 does not exist":      func(g *Graph) { g.Chains[0].Paths[0][1] = 9 },
		"not behind its predecessor": func(g *Graph) { slices.Reverse(g.Chains[0].Paths[0]) },
		"chains [1] stated, visited": func(g *Graph) { g.Nodes[0].Chains = []int{1} },
		"the request wants":          func(g *Graph) { g.Nodes[0].NF = "X" },
		"1 chains for 2 requests":    func(g *Graph) { *g, _ = Remove(*g, 2) },
		"2 nodes for 3 NFs":          func(g *Graph) { g.Chains[0].Paths[0] = []int{0, 2}; g.Nodes[1].Chains = nil },
		"2 paths in the graph":       func(g *Graph) { g.Chains[0].Paths = append(g.Chains[0].Paths, []int{0}) },
		"chain 1 \"request-1\": not in the graph": func(g *Graph) {
			*g, _ = Remove(*g, 1)
			*g, _, _ = Embed(*g, DAG{ID: 7, NFs: dags[0].NFs, paths: dags[0].paths})
		},
	}
	text, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	for want, fault := range faults {
		var broken Graph
		if err := json.Unmarshal(text, &broken); err != nil {
			t.Fatal(err)
		}
		if err := broken.Check(dags); err != nil {
			t.Fatalf("as read back: %v", err)
		}
		fault(&broken)
		if err := broken.Check(dags); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
