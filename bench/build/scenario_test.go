package build

import (
	"bytes"
	"os"
	"testing"

	"github.com/catena-nfv/catena/bench/harness"
)

// TestRun builds two programs, each twice; the second has enough nodes that these share functions.
func TestRun(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root for links and BPF")
	}
	s := Scenario()
	r, err := run(t.Context(), s, harness.Options{Rounds: 1, Seed: 1}, []int{1, 4})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := r.Text(&text); err != nil {
		t.Fatal(err)
	}
	for _, table := range r.Tables {
		for _, row := range table.Rows {
			for i, cell := range row {
				if v, ok := cell.(harness.Sample); ok && (len(v) != 1 || v[0] <= 0) {
					t.Errorf("%s: %s is %v", table.Title, table.Columns[i].Key, v)
				}
			}
		}
	}
	if len(r.Bars) != 2 {
		t.Errorf("bars %+v: that of the front end is for larger programs", r.Bars)
	}
}
