package harness

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Sample is the values that the rounds gave for one case, in their order.
type Sample []float64

// Median returns the middle value, NaN of an empty sample.
func (s Sample) Median() float64 { return s.Quantile(0.5) }

// Quantile returns the value below which a part p of the values lies, interpolated between neighbours; NaN
// of an empty sample.
func (s Sample) Quantile(p float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	at := p * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// Spread returns the quartiles: half of the values lie between them.
func (s Sample) Spread() (low, high float64) { return s.Quantile(0.25), s.Quantile(0.75) }

// Ratio returns, round by round, how many times the other's value this one is. Drift of the machine
// between rounds cancels out.
func (s Sample) Ratio(other Sample) Sample {
	n := min(len(s), len(other))
	out := make(Sample, n)
	for i := range n {
		out[i] = s[i] / other[i]
	}
	return out
}

// Sub returns the differences round by round.
func (s Sample) Sub(other Sample) Sample {
	n := min(len(s), len(other))
	out := make(Sample, n)
	for i := range n {
		out[i] = s[i] - other[i]
	}
	return out
}

// Scale returns the values times a factor.
func (s Sample) Scale(factor float64) Sample {
	out := make(Sample, len(s))
	for i, v := range s {
		out[i] = v * factor
	}
	return out
}

// String prints median and quartiles: "9.83 (9.71–9.90)"; of one value, only it.
func (s Sample) String() string {
	switch len(s) {
	case 0:
		return "-"
	case 1:
		return digits(s[0])
	}
	low, high := s.Spread()
	return fmt.Sprintf("%s (%s–%s)", digits(s.Median()), digits(low), digits(high))
}

// sampleJSON is how a sample appears in JSON.
type sampleJSON struct {
	Median float64   `json:"median"`
	Low    float64   `json:"q1"`
	High   float64   `json:"q3"`
	Values []float64 `json:"values"`
}

func (s Sample) json() any {
	if len(s) == 0 {
		return nil
	}
	low, high := s.Spread()
	return sampleJSON{Median: s.Median(), Low: low, High: high, Values: s}
}

// digits prints three significant digits at least, and all before the point.
func digits(v float64) string {
	a := math.Abs(v)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "-"
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a >= 0.1 || a == 0:
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
