package tables

import (
	"os"
	"testing"

	"github.com/catena-nfv/catena/bench/harness"
)

// TestRun measures small tables of each kind.
func TestRun(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root for BPF")
	}
	small := []shape{
		{kind: none}, {kind: ternary, entries: 100}, {ternary, 100, 32}, {ternary, 10000, 32},
		{kind: lpm, entries: 100}, {kind: exact, entries: 100},
	}
	r, err := run(t.Context(), Scenario(), harness.Options{Rounds: 2, Seed: 1}, small)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Tables[0].Rows); n != len(small)-1 {
		t.Fatalf("%d rows", n)
	}
	for _, row := range r.Tables[0].Rows {
		hit, miss := row[3].(harness.Sample), row[4].(harness.Sample)
		if len(hit) != 2 || len(miss) != 2 || row[5].(float64) <= 0 || row[6].(float64) <= 0 {
			t.Errorf("row %v", row)
		}
	}
	if len(r.Bars) != 2 {
		t.Errorf("bars %+v", r.Bars)
	}
}
