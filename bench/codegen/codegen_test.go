package codegen

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/catena-nfv/catena/bench/harness"
	"github.com/catena-nfv/catena/bench/netlab"
	"github.com/catena-nfv/catena/bench/workload"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/service"
)

// TestRun compares the generated program with the hand-written one on every kind of packets, and measures both for a
// moment.
func TestRun(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if err := netlab.Need(map[string]string{"clang": "clang"}); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s := Scenario()
	r, err := s.Run(ctx, harness.Options{Rounds: 1, Span: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	n := len(chains())
	if len(r.Tables) != n+3 {
		t.Fatalf("%d tables, want one for each chain, the NFs' costs, the lengths and their line", len(r.Tables))
	}
	for i, table := range r.Tables[:n] {
		if want := 2 * (1 + mixed(t, chains()[i])); len(table.Rows) != want {
			t.Errorf("%s: %d rows, want %d: each kind of packets and the mix in two sizes", table.Title, len(table.Rows), want)
		}
		for _, row := range table.Rows {
			hand, generated, part := row[2].(harness.Sample), row[3].(harness.Sample), row[4].(harness.Sample)
			if hand[0] <= 1 || generated[0] <= 1 || part[0] != hand[0]/generated[0] {
				t.Errorf("%v: %v ns by hand, %v generated, ratio %v", row[0], hand, generated, part)
			}
		}
	}
	if rows := r.Tables[n].Rows; len(rows) != 10 {
		t.Errorf("%d rows, want empty, backbone, classifiers, four NFs and three in no chain", len(rows))
	}
	if rows := r.Tables[n+1].Rows; len(rows) != longest {
		t.Errorf("%d rows, want %d lengths", len(rows), longest)
	}
	if len(r.Bars) != 2*n+2 {
		t.Errorf("bars %+v", r.Bars)
	}
}

// mixed is the number of kinds of packets in a chain's mix.
func mixed(t *testing.T, c chain) (n int) {
	t.Helper()
	w, err := c.load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range w.cases {
		if c.part > 0 {
			n++
		}
	}
	return n
}

func TestLine(t *testing.T) {
	exact := fit([]harness.Sample{{12, 5}, {14, 5.5}, {16, 6}})
	if exact.slope[0] != 2 || exact.base[0] != 10 || exact.r2[0] != 1 || exact.slope[1] != 0.5 || exact.off[1][0] != 0 {
		t.Errorf("a line is found to be %+v", exact)
	}
	bent := fit([]harness.Sample{{1}, {2}, {4}, {8}})
	if bent.r2[0] > 0.95 || bent.off[3][0] <= 0 {
		t.Errorf("doubling is found to be %+v", bent)
	}
}

// TestMixIsWhole checks that the parts of the mix add up.
func TestMixIsWhole(t *testing.T) {
	for _, c := range chains() {
		w, err := c.load()
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, c := range w.cases {
			sum += c.part
		}
		if sum < 0.999 || sum > 1.001 {
			t.Errorf("%s: the parts of the mix add up to %v", c.name, sum)
		}
		for nf, rules := range w.rules {
			if want := workload.Rules; len(rules) != want && (nf != "NAT" || len(rules) != 2*want) {
				t.Errorf("%s: %d rules of %s", c.name, len(rules), nf)
			}
			seen := map[string]bool{}
			for _, r := range rules {
				k := fmt.Sprint(r.Table, r.Match)
				if seen[k] {
					t.Errorf("%s: %s has two rules with the match %s", c.name, nf, k)
				}
				seen[k] = true
			}
		}
	}
}

func TestDifference(t *testing.T) {
	w, c := handWritten(t)
	hand := &subject{name: "by hand", hook: ebpf.XDP, prog: c.Programs["sfc1"]}
	if err := same(hand, hand, w.cases[0], 64); err != nil {
		t.Errorf("a program differs from itself: %v", err)
	}
	// A program with an empty NAT does something else.
	other := w
	other.rules = map[string][]service.Rule{}
	for nf, rules := range w.rules {
		if nf != "NAT" {
			other.rules[nf] = rules
		}
	}
	d, err := newByHand(context.Background(), chains()[0], other)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := same(hand, &subject{name: "without NAT", hook: ebpf.XDP, prog: d.Programs["sfc1"]}, w.cases[0], 64); err == nil {
		t.Error("a program without translations is said to do the same")
	}
}
