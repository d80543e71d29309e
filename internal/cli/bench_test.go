package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/catena-nfv/catena/bench/harness"
)

// benchOutput runs `bench` with scenarios that tell their options.
func benchOutput(t *testing.T, args ...string) (string, error) {
	t.Helper()
	fast := harness.Scenario{Name: "fast", Title: "a quick one", Source: "paper 000, Fig. 1", Defaults: harness.Options{Rounds: 3, Span: time.Second, Seed: 1}}
	fast.Run = func(_ context.Context, opt harness.Options) (*harness.Report, error) {
		opt.Tell("working")
		r := harness.NewReport(fast, opt)
		r.Bars = []harness.Bar{{Name: "ratio", Value: harness.Sample{0.4}, AtLeast: 0.5}}
		return r, nil
	}
	broken := harness.Scenario{Name: "broken", Title: "fails", Run: func(context.Context, harness.Options) (*harness.Report, error) {
		return nil, errors.New("no link")
	}}
	cmd := BenchCommand([]harness.Scenario{fast, broken})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&bytes.Buffer{})
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(context.Background())
	return out.String(), err
}

func TestBenchOptions(t *testing.T) {
	out, err := benchOutput(t, "fast", "--json", "--seconds", "0.25")
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Name    string
		Rounds  int
		Seconds float64
		Seed    int
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if r.Name != "fast" || r.Rounds != 3 || r.Seconds != 0.25 || r.Seed != 1 {
		t.Errorf("report %+v", r)
	}
}

func TestBenchErrors(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"slow"}, ExitRefused, `no benchmark "slow"; there are fast, broken`},
		{[]string{"fast", "--rounds", "0"}, ExitRefused, "--rounds and --seconds are above 0"},
		{[]string{"fast", "--seconds", "-1"}, ExitRefused, "--rounds and --seconds are above 0"},
		{[]string{"fast", "--check"}, ExitFailed, "bench fast: a bar is missed"},
		{[]string{"broken"}, ExitFailed, "bench broken: no link"},
	} {
		_, err := benchOutput(t, c.args...)
		if CodeOf(err) != c.code || err == nil || err.Error() != c.want {
			t.Errorf("bench %v: code %d, %v; want %d, %s", c.args, CodeOf(err), err, c.code, c.want)
		}
	}
}

func TestBenchList(t *testing.T) {
	out, err := benchOutput(t, "list")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "fast") || !strings.Contains(out, "paper 000, Fig. 1") || !strings.Contains(out, "broken") {
		t.Errorf("list:\n%s", out)
	}
}
