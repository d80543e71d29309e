package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestSample(t *testing.T) {
	for _, c := range []struct {
		s            Sample
		median, a, b float64
		text         string
	}{
		{Sample{5}, 5, 5, 5, "5.00"},
		{Sample{3, 1, 2}, 2, 1.5, 2.5, "2.00 (1.50–2.50)"},
		{Sample{4, 1, 3, 2}, 2.5, 1.75, 3.25, "2.50 (1.75–3.25)"},
		{Sample{100, 300, 200, 400, 500}, 300, 200, 400, "300 (200–400)"},
		{Sample{0.00012, 0.00012}, 0.00012, 0.00012, 0.00012, "0.00012 (0.00012–0.00012)"},
	} {
		if got := c.s.Median(); got != c.median {
			t.Errorf("median of %v = %v, want %v", []float64(c.s), got, c.median)
		}
		if a, b := c.s.Spread(); a != c.a || b != c.b {
			t.Errorf("spread of %v = %v, %v, want %v, %v", []float64(c.s), a, b, c.a, c.b)
		}
		if got := c.s.String(); got != c.text {
			t.Errorf("%v prints %q, want %q", []float64(c.s), got, c.text)
		}
	}
	if got := (Sample{}).Median(); !math.IsNaN(got) {
		t.Errorf("median of nothing = %v", got)
	}
	unsorted := Sample{3, 1, 2}
	unsorted.Median()
	if unsorted[0] != 3 {
		t.Error("Median sorts the rounds")
	}
}

// TestRatio checks that a machine that slows down from round to round does not change a ratio.
func TestRatio(t *testing.T) {
	reference, ours := Sample{10, 5, 1}, Sample{8, 4, 0.8}
	r := ours.Ratio(reference)
	if low, high := r.Spread(); math.Abs(low-0.8) > 1e-12 || math.Abs(high-0.8) > 1e-12 {
		t.Errorf("ratio %v, want 0.8 in each round", []float64(r))
	}
	if d := ours.Sub(reference); d[0] != -2 || d[1] != -1 {
		t.Errorf("differences %v", []float64(d))
	}
}

func TestRoundsTakeTurns(t *testing.T) {
	var order []string
	measure := func(name string, v float64) Case {
		return Case{Name: name, Measure: func(context.Context) (float64, error) {
			order = append(order, name)
			return v + float64(len(order)), nil
		}}
	}
	got, err := Rounds(context.Background(), Options{Rounds: 3}, []Case{measure("a", 100), measure("b", 200), measure("c", 300)})
	if err != nil {
		t.Fatal(err)
	}
	if want := "abc bca cab"; strings.Join(order, "") != strings.ReplaceAll(want, " ", "") {
		t.Errorf("order %v, want %s", order, want)
	}
	if got[0][0] != 101 || got[0][1] != 106 || got[1][1] != 204 || got[2][2] != 307 {
		t.Errorf("samples are not by case and round: %v", got)
	}
}

func TestRoundsFail(t *testing.T) {
	broken := errors.New("broken")
	cases := []Case{{Name: "link", Measure: func(context.Context) (float64, error) { return 0, broken }}}
	_, err := Rounds(context.Background(), Options{Rounds: 2}, cases)
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "link: round 1: ") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	cases[0].Measure = func(context.Context) (float64, error) { calls++; cancel(); return 1, nil }
	if _, err := Rounds(ctx, Options{Rounds: 5}, cases); !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("%d calls after the end, error %v", calls, err)
	}
}

func report() *Report {
	opt := Options{Rounds: 3, Span: 2 * time.Second, Seed: 1}
	r := NewReport(Scenario{Name: "speed", Title: "how fast", Source: "paper 000, Fig. 9"}, opt)
	r.Machine = Machine{Kernel: "6.1", CPU: "processor", CPUs: 2}
	t := Table{Title: "rates", Columns: []Column{{Key: "case", Head: "case"}, {Key: "rate", Head: "rate", Unit: "Gbit/s"}, {Key: "n", Head: "n"}}}
	t.Row("bridge", Sample{8, 9, 10}, 3)
	t.Row("nothing", nil, 0)
	r.Tables = append(r.Tables, t)
	r.Bars = []Bar{
		{Name: "a / b", Value: Sample{0.6, 0.7, 0.8}, AtLeast: 0.5},
		{Name: "extra", Value: Sample{31}, AtMost: 30},
	}
	r.Notes = []string{"The paper has 7."}
	return r
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	if err := report().Text(&b); err != nil {
		t.Fatal(err)
	}
	want := `speed: how fast (paper 000, Fig. 9)
2 × processor, Linux 6.1

rates
  CASE     RATE Gbit/s       N
  bridge   9.00 (8.50–9.50)  3
  nothing  -                 0

median (quartiles) of 3 rounds

a / b: 0.700 (0.650–0.750), at least 0.500: met
extra: 31.0, at most 30.0: MISSED

The paper has 7.
`
	if b.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", b.String(), want)
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := report().JSON(&b); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Tables []struct{ Rows []json.RawMessage }
		Bars   []struct {
			Name string
			Met  bool
		}
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, got.Tables[0].Rows[0]); err != nil {
		t.Fatal(err)
	}
	if want := `{"case":"bridge","rate":{"median":9,"q1":8.5,"q3":9.5,"values":[8,9,10]},"n":3}`; compact.String() != want {
		t.Errorf("row %s, want %s", compact.String(), want)
	}
	if !got.Bars[0].Met || got.Bars[1].Met {
		t.Errorf("bars %+v", got.Bars)
	}
	if report().Met() {
		t.Error("a report with a missed bar is met")
	}
	bad := report()
	bad.Tables[0].Row("too short")
	if err := bad.JSON(&b); err == nil {
		t.Error("a row without a cell for each column was printed")
	}
}

func TestOptions(t *testing.T) {
	got := Options{Rounds: 9}.With(Options{Rounds: 3, Span: time.Second, Seed: 5})
	if got.Rounds != 9 || got.Span != time.Second || got.Seed != 5 {
		t.Errorf("options %+v", got)
	}
}
