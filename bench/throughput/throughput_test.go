package throughput

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/catena-nfv/catena/bench/harness"
	"github.com/catena-nfv/catena/bench/netlab"
	"github.com/catena-nfv/catena/internal/netns"
	"github.com/catena-nfv/catena/internal/service"
)

func TestReport(t *testing.T) {
	lanes := []*lane{
		{name: "bare redirect", chain: -1, tests: []netlab.Result{{CPU: 1.5, Retransmits: 2}, {CPU: 1.7, Retransmits: 3}}},
		{name: "switch, no chain", chain: 0},
		{name: "IDS, Firewall, NAT, L3fwd", chain: 4},
		{name: "past the chain of four", chain: 0},
	}
	samples := []harness.Sample{{10e9, 20e9}, {8e9, 16e9}, {4e9, 8e9}, {8e9, 16e9}}
	r := report(Scenario(nil), harness.Options{Rounds: 2}, lanes, samples)
	rows := r.Tables[0].Rows
	if got := rows[2][3].(harness.Sample); math.Abs(got[0]-0.4) > 1e-9 || math.Abs(got[1]-0.4) > 1e-9 {
		t.Errorf("chain of four: %v of the redirect, want 0.4 in each round", []float64(got))
	}
	// 8 Gbit/s are 1000 ns for 1000 bytes, 4 Gbit/s 2000.
	if got := rows[2][4].(harness.Sample); math.Abs(got[0]-1000) > 1e-6 || math.Abs(got[1]-500) > 1e-6 {
		t.Errorf("chain of four: %v ns/kB more than no chain, want 1000 and 500", []float64(got))
	}
	if rows[0][1] != nil || rows[0][4] != nil {
		t.Errorf("the redirect has no NFs: %v", rows[0])
	}
	if got := rows[0][2].(harness.Sample); got[1] != 20 {
		t.Errorf("%v Gbit/s, want 20", got[1])
	}
	if got := rows[0][6]; got != 5 {
		t.Errorf("%v retransmits, want 5", got)
	}
	if len(r.Bars) != 1 || r.Met() {
		t.Errorf("bars %+v: 0.4 does not meet 0.5", r.Bars)
	}
}

func TestMet(t *testing.T) {
	seen := func(packets ...uint64) (out []service.NFState) {
		for i, p := range packets {
			out = append(out, service.NFState{NF: fmt.Sprintf("NF%d", i), Packets: p})
		}
		return out
	}
	for _, c := range []struct {
		n    int
		nfs  []service.NFState
		want string
	}{
		{0, nil, ""},
		{2, seen(5000, 5000), ""},
		{2, seen(5000), "the switch with a chain of 2 NFs runs 1"},
		{2, seen(5000, 3), "chain of 2 NFs: only 3 packets met NF1"},
	} {
		err := met(c.n, c.nfs)
		if got := fmt.Sprint(err); (c.want == "") != (err == nil) || c.want != "" && got != c.want {
			t.Errorf("%+v: %v, want %s", c.nfs, err, c.want)
		}
	}
}

// TestFailureLeavesNothing checks that a run that fails half way takes away its namespaces and links, and closes
// the switches that it opened.
func TestFailureLeavesNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if err := netlab.Need(map[string]string{"iperf3": "iperf3", "clang": "clang"}); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	broken := errors.New("no program")
	first := &fake{}
	opened := 0
	open := func(context.Context, string) (Switch, error) {
		if opened++; opened == 1 {
			return first, nil
		}
		return nil, broken
	}
	s := Scenario(open)
	if _, err := s.Run(ctx, s.Defaults); !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "IDS: ") {
		t.Errorf("error %v, want that of the switch for the chain IDS", err)
	}
	if !first.closed || len(first.ports) != 2 {
		t.Errorf("the first switch: closed %t, ports %v", first.closed, first.ports)
	}
	names, err := netns.Dir{}.List(fmt.Sprintf("ct-bench-%d-", os.Getpid()))
	if err != nil || len(names) > 0 {
		t.Errorf("namespaces left: %v, %v", names, err)
	}
	links, err := netlink.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if strings.HasPrefix(l.Attrs().Name, "ctb-"+strconv.FormatInt(int64(os.Getpid()), 36)+"-") {
			t.Errorf("link left: %s", l.Attrs().Name)
		}
	}
}

// fake is a switch that forwards nothing.
type fake struct {
	ports  []uint32
	closed bool
}

func (f *fake) Attach(_ context.Context, number uint32, _ string) error {
	f.ports = append(f.ports, number)
	return nil
}

func (f *fake) Deploy(context.Context, service.SwitchConfig) (service.SwitchReport, error) {
	return service.SwitchReport{}, nil
}

func (f *fake) State(context.Context) (service.SwitchState, error) {
	return service.SwitchState{}, nil
}

func (f *fake) Close() error { f.closed = true; return nil }
