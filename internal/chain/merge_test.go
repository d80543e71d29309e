package chain

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

func mustParse(t testing.TB, src string, opt Options) []DAG {
	t.Helper()
	dags, err := Parse(src, opt)
	if err != nil {
		t.Fatal(err)
	}
	return dags
}

func random(t testing.TB, seed uint64, n int, opt RandomOptions, tables func(string) int) []DAG {
	return mustParse(t, RandomRequests(rand.New(rand.NewPCG(seed, 1)), n, opt), Options{Name: "r", Tables: tables})
}

func mustMerge(t testing.TB, dags []DAG, strategy string) Graph {
	t.Helper()
	return mergeWith(t, dags, MergeOptions{Strategy: strategy, Effort: 0.05})
}

func mergeWith(t testing.TB, dags []DAG, opt MergeOptions) Graph {
	t.Helper()
	g, err := Merge(dags, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Check(dags); err != nil {
		t.Fatalf("%s: %v", opt.Strategy, err)
	}
	return g
}

func uneven(nf string) int { return len(nf) + int(nf[len(nf)-1]-'0')%5 }

// TestMergeProperties checks, over random requests of several kinds: every path is a subsequence with the
// right NFs (Check), no strategy is worse than the one it improves on, and runs repeat exactly.
func TestMergeProperties(t *testing.T) {
	kinds := []struct {
		n      int
		opt    RandomOptions
		tables func(string) int
	}{
		{1, RandomOptions{}, nil},
		{2, RandomOptions{}, nil},
		{2, RandomOptions{NFs: 3}, uneven},
		{7, RandomOptions{NFs: 6}, uneven},
		{20, RandomOptions{}, nil},
		{20, RandomOptions{}, uneven},
		{12, RandomOptions{NFs: 100, MaxLength: 30}, uneven},
	}
	for k, kind := range kinds {
		for seed := range uint64(4) {
			dags := random(t, seed*100+uint64(k), kind.n, kind.opt, kind.tables)
			par := mustMerge(t, dags, StrategyParallel)
			lcs := mustMerge(t, dags, StrategyLCS)
			beam := mustMerge(t, dags, StrategyBeam)
			if lcs.Tables > par.Tables || beam.Tables > lcs.Tables {
				t.Errorf("kind %d seed %d: parallel %d, lcs %d, beam %d", k, seed, par.Tables, lcs.Tables, beam.Tables)
			}
			if par.Tables != par.TablesParallel || beam.TablesParallel != par.Tables {
				t.Errorf("kind %d seed %d: parallel %d, stated %d and %d", k, seed, par.Tables, par.TablesParallel, beam.TablesParallel)
			}
			if again := mustMerge(t, dags, ""); !reflect.DeepEqual(again, beam) {
				t.Errorf("kind %d seed %d: a second run differs", k, seed)
			}
		}
	}
}

// TestMergeFigure8 holds the figures of section IV-E: time, and tables in terms of the parallelism
// method's, for 128 requests.
func TestMergeFigure8(t *testing.T) {
	if testing.Short() {
		t.Skip("merges of 128 requests")
	}
	for _, tc := range []struct {
		name string
		opt  RandomOptions
	}{
		{"linear", RandomOptions{MaxBranches: 1}},
		{"linear from 5", RandomOptions{MaxBranches: 1, MinLength: 5}},
		{"branches", RandomOptions{}},
	} {
		var par, lcs, beam int
		var worst time.Duration
		for seed := range uint64(2) {
			dags := random(t, seed, 128, tc.opt, nil)
			lcs += mustMerge(t, dags, StrategyLCS).Tables
			start := time.Now()
			g := mergeWith(t, dags, MergeOptions{})
			worst = max(worst, time.Since(start))
			beam += g.Tables
			par += g.TablesParallel
		}
		t.Logf("%-14s lcs %.2f %%, beam %.2f %% of %d tables, at most %v", tc.name,
			100*float64(lcs)/float64(par), 100*float64(beam)/float64(par), par, worst)
		// A plain beam search reaches 0.77 of Algorithm 1's tables on linear chains.
		if float64(beam) > 0.72*float64(lcs) {
			t.Errorf("%s: beam takes %d tables, lcs %d", tc.name, beam, lcs)
		}
	}
}

func TestMergeNumbersAndJSON(t *testing.T) {
	dags := mustParse(t, "A before B, B loop, End_of_Request, A before C", Options{Name: "x"})
	g := mustMerge(t, dags, "")
	got, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"nodes":[{"id":0,"nf":"A","tables":1,"chains":[1,2]},{"id":1,"nf":"C","tables":1,"chains":[2]},` +
		`{"id":2,"nf":"B","tables":1,"chains":[1]}],"chains":[{"id":1,"name":"x-1","paths":[[0,2]],"tables":2,` +
		`"loops":[{"path":1,"node":2,"max":4}]},{"id":2,"name":"x-2","paths":[[0,1]],"tables":2}],` +
		`"tables":3,"tables_parallel":5,"strategy":"beam","seconds":0}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	set, err := g.Visits(2, 1)
	if err != nil || set.String() != "0x3" || !slices.Equal(set.IDs(), []int{0, 1}) {
		t.Errorf("visits %v, %v", set, err)
	}
	for _, bad := range [][2]int{{3, 1}, {1, 0}, {1, 2}} {
		if _, err := g.Visits(bad[0], bad[1]); err == nil {
			t.Errorf("chain %d path %d: no error", bad[0], bad[1])
		}
	}
}
