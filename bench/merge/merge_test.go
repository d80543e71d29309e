package merge

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/bench/harness"
)

// TestSmallRun checks the figures of a small run against what must hold for any: one chain costs what it
// costs, more chains share, and the default merges no worse than Algorithm 1 of the paper.
func TestSmallRun(t *testing.T) {
	opt := harness.Options{Rounds: 2, Seed: 7}
	r, err := run(context.Background(), Scenario(), opt, []int{1, 20})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Tables) != 2 {
		t.Fatalf("%d tables, want branching and linear", len(r.Tables))
	}
	for _, table := range r.Tables {
		one, many := table.Rows[0], table.Rows[1]
		for i := 2; i <= 4; i++ {
			if got := one[i].(harness.Sample).Median(); got != 100 {
				t.Errorf("%s: %s of one chain: %v %% of parallel, want 100", table.Title, table.Columns[i].Key, got)
			}
			if got := many[i].(harness.Sample).Median(); got <= 0 || got >= 60 {
				t.Errorf("%s: %s of 20 chains: %v %% of parallel, want less than 60", table.Title, table.Columns[i].Key, got)
			}
		}
		lcs, beam := many[2].(harness.Sample), many[3].(harness.Sample)
		if beam.Median() >= lcs.Median() {
			t.Errorf("%s: beam takes %v, Algorithm 1 %v", table.Title, beam, lcs)
		}
	}
	var text bytes.Buffer
	if err := r.JSON(&text); err != nil {
		t.Fatal(err)
	}
	var back struct {
		Tables []struct {
			Rows []map[string]any `json:"rows"`
		} `json:"tables"`
	}
	if err := json.Unmarshal(text.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if got := back.Tables[0].Rows[1]["chains"]; got != 20.0 {
		t.Errorf("second row's chains: %v, want 20", got)
	}
	beam, ok := back.Tables[0].Rows[1]["beam_percent"].(map[string]any)
	if !ok || len(beam["values"].([]any)) != 2 {
		t.Errorf("beam_percent: %v, want a sample of 2 rounds", back.Tables[0].Rows[1]["beam_percent"])
	}
}

// TestSeed checks that a seed gives the same requests each time and another one others.
func TestSeed(t *testing.T) {
	tables := func(seed uint64) string {
		m, err := measure(context.Background(), harness.Options{Rounds: 2, Seed: seed}, 3, 5)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, s := range append([]harness.Sample{m.parallel}, m.percent...) {
			b.WriteString(s.String() + "\n")
		}
		return b.String()
	}
	if a, b := tables(1), tables(1); a != b {
		t.Errorf("seed 1 twice:\n%s\nand\n%s", a, b)
	}
	if tables(1) == tables(2) {
		t.Error("seeds 1 and 2 give the same tables")
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := Scenario()
	if _, err := s.Run(ctx, harness.Options{Rounds: 1, Seed: 1}); err == nil {
		t.Error("a cancelled run gave a report")
	}
}
