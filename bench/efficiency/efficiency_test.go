package efficiency

import (
	"context"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/bench/harness"
	"github.com/catena-nfv/catena/bench/netlab"
	"github.com/catena-nfv/catena/internal/chain"
)

func TestRequests(t *testing.T) {
	for n := 1; n <= longest; n++ {
		dags, err := chain.Parse(request(n), chain.Options{})
		if err != nil {
			t.Fatalf("%q: %v", request(n), err)
		}
		if got := len(dags[0].PathNames()[0]); got != n {
			t.Errorf("%q visits %d NFs, want %d", request(n), got, n)
		}
	}
	if got := request(8); !strings.HasSuffix(got, "L3fwd before IDS#2 before Firewall#2") {
		t.Errorf("chain of 8: %q", got)
	}
}

func TestSum(t *testing.T) {
	took := map[string]harness.Sample{"a": {1, 2}, "b": {10, 20}, "c": {100, 200}}
	if got := sum(took, []string{"a", "c"}); len(got) != 2 || got[0] != 101 || got[1] != 202 {
		t.Errorf("sum %v", []float64(got))
	}
}

func TestSmallRun(t *testing.T) {
	if err := netlab.Need(map[string]string{"clang": "clang"}); err != nil {
		t.Skip(err)
	}
	r, err := run(context.Background(), Scenario(), harness.Options{Rounds: 1}, 2)
	if err != nil {
		t.Fatal(err)
	}
	rows := r.Tables[0].Rows
	if len(rows) != 2 || rows[1][1].(int) <= rows[0][1].(int) {
		t.Errorf("a chain of two NFs is no longer than one of one: %v", rows)
	}
	for _, c := range rows[0][2:] {
		if s := c.(harness.Sample); len(s) != 1 || s[0] <= 0 {
			t.Errorf("a stage took %v", s)
		}
	}
}
