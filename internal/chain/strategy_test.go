package chain

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func nfsOf(g Graph) string {
	var out []string
	for _, n := range g.Nodes {
		out = append(out, n.NF)
	}
	return strings.Join(out, " ")
}

// TestAlgorithm1 follows the paper's lines by hand: base is the longer order; first goes before the first
// shared NF, follow behind the last, the rest of the main segment right behind its predecessor.
func TestAlgorithm1(t *testing.T) {
	tests := []struct{ name, src, want string }{
		// As in Fig. 3: NF1 and NF3 are shared, NF2 is inserted behind NF1, first before it, no follow.
		{"main segment and first", "NF1 before NF4 before NF3 before NF5, End_of_Request, NF6 before NF1 before NF2 before NF3",
			"NF6 NF1 NF2 NF4 NF3 NF5"},
		{"follow", "A before B before C before D, End_of_Request, B before X before Y", "A B X Y C D"},
		{"the shorter one came first", "B before X, End_of_Request, A before B before C", "A B X C"},
		{"nothing shared", "A before B, End_of_Request, C before D", PreVisit + " A B C D"},
		{"one pre-visiting node serves three", "A first, End_of_Request, B first, End_of_Request, C first", PreVisit + " A B C"},
		{"conflicting orders", "A before B, End_of_Request, B before A", "A B A"},
		{"shared by tables, not by number", "Heavy before A before B, End_of_Request, A before B before Heavy", "A B Heavy A B"},
		{"branches", "LB then A or B and branch_end=E, End_of_Request, LB before B before E", "LB A B E"},
	}
	tables := func(nf string) int { return map[string]int{"Heavy": 3}[nf] }
	for _, tc := range tests {
		g := mustMerge(t, mustParse(t, tc.src, Options{Tables: tables}), StrategyLCS)
		if got := nfsOf(g); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.want)
		}
	}
}

func TestParallel(t *testing.T) {
	g := mustMerge(t, mustParse(t, "A before B before C, End_of_Request, C before A", Options{}), StrategyParallel)
	if nfsOf(g) != PreVisit+" A B C C A" || g.Tables != 6 || g.TablesParallel != 6 {
		t.Errorf("got %s, %d and %d tables", nfsOf(g), g.Tables, g.TablesParallel)
	}
	g = mustMerge(t, mustParse(t, "A before B", Options{}), StrategyParallel)
	if nfsOf(g) != "A B" || g.TablesParallel != 2 {
		t.Errorf("one request: got %s", nfsOf(g))
	}
	g = mustMerge(t, nil, "")
	if g.Tables != 0 || g.TablesParallel != 0 {
		t.Errorf("no request: got %+v", g)
	}
}

// cheapest finds the weight of a cheapest common supersequence by trying all states.
func cheapest(seqs [][]int32, weight []int) int {
	memo := map[string]int{}
	var solve func(at []byte) int
	solve = func(at []byte) int {
		if cost, ok := memo[string(at)]; ok {
			return cost
		}
		best := -1
		for c := range weight {
			next, moved := slices.Clone(at), false
			for i, s := range seqs {
				if int(at[i]) < len(s) && s[at[i]] == int32(c) {
					next[i]++
					moved = true
				}
			}
			if moved {
				if cost := weight[c] + solve(next); best < 0 || cost < best {
					best = cost
				}
			}
		}
		memo[string(at)] = max(best, 0)
		return max(best, 0)
	}
	return solve(make([]byte, len(seqs)))
}

// TestBeamIsOptimalOnSmallProblems compares the default strategy with an exhaustive search.
func TestBeamIsOptimalOnSmallProblems(t *testing.T) {
	for seed := range uint64(25) {
		dags := random(t, 1000+seed, 3, RandomOptions{NFs: 6, MaxLength: 6}, uneven)
		g := mustMerge(t, dags, "")
		m, err := newMerger(dags)
		if err != nil {
			t.Fatal(err)
		}
		if want := cheapest(m.sequences(), m.tables); g.Tables != want {
			t.Errorf("seed %d: %d tables, %d suffice", seed, g.Tables, want)
		}
	}
}

func TestMergeErrors(t *testing.T) {
	one := mustParse(t, "A before B", Options{Name: "one"})
	two := mustParse(t, "A first", Options{Name: "two", Tables: func(string) int { return 3 }})
	same := []DAG{one[0], one[0]}
	same[0].ID, same[1].ID = 4, 4
	for _, tc := range []struct {
		dags     []DAG
		strategy string
		want     string
	}{
		{one, "best", `merge strategy "best" is unknown: use one of [beam lcs parallel]`},
		{append(one, two...), "", `chain "two": A has 3 tables here and 1 in another chain`},
		{same, "", `chain "one": ID 4 is that of chain "one"`},
	} {
		if _, err := Merge(tc.dags, MergeOptions{Strategy: tc.strategy}); err == nil || err.Error() != tc.want {
			t.Errorf("got %v, want %s", err, tc.want)
		}
	}
}

func TestChainIDs(t *testing.T) {
	dags := mustParse(t, "A first, End_of_Request, A last, End_of_Request, A loop", Options{})
	dags[1].ID = 1
	g := mustMerge(t, dags, "")
	var got []int
	for _, c := range g.Chains {
		got = append(got, c.ID)
	}
	if c, _ := g.Chain(1); !slices.Equal(got, []int{1, 2, 3}) || c.Name != "request-2" {
		t.Errorf("IDs %v, chain 1 is %s", got, c.Name)
	}
}

func TestNodeSet(t *testing.T) {
	var s NodeSet
	if s.String() != "0x0" || s.Len() != 0 || s.Has(3) {
		t.Errorf("empty set: %s", s)
	}
	want := []int{0, 9, 63, 64, 130}
	for _, id := range want {
		s = s.With(id)
	}
	if !slices.Equal(s.IDs(), want) || s.Len() != 5 || !s.Has(64) || s.Has(65) || s.Has(1000) {
		t.Errorf("got %v", s.IDs())
	}
	if got, want := s.String(), "0x400000000000000018000000000000201"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := s.Bytes(130); err == nil {
		t.Error("bit 130 fits 130 bits")
	}
	b, err := NodeSet{}.With(0).With(9).Bytes(12)
	if err != nil || !bytes.Equal(b, []byte{0x02, 0x01}) {
		t.Errorf("got %x, %v", b, err)
	}
}

func TestRandomRequestsKeepTheirLimits(t *testing.T) {
	dags := random(t, 3, 400, RandomOptions{}, nil)
	if len(dags) != 400 {
		t.Fatalf("%d requests", len(dags))
	}
	paths := map[int]int{}
	for _, d := range dags {
		paths[len(d.Paths())]++
		if len(d.NFs) > 14 {
			t.Errorf("%d NFs", len(d.NFs))
		}
		for _, nf := range d.NFs {
			if nf.Serial != 0 {
				t.Errorf("%s occurs again", nf)
			}
		}
	}
	if len(paths) != 3 || paths[1] == 0 || paths[2] == 0 || paths[3] == 0 {
		t.Errorf("requests by paths: %v", paths)
	}
	src := func() string { return RandomRequests(rand.New(rand.NewPCG(1, 2)), 5, RandomOptions{}) }
	if first, second := src(), src(); first != second {
		t.Error("the same seed gives other requests")
	}
}
