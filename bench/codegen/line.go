package codegen

import "github.com/catena-nfv/catena/bench/harness"

// line is the least-squares line through what chains of 1, 2, … NFs cost, round by round.
type line struct {
	slope, base harness.Sample   // ns
	r2          harness.Sample   // the part of the variance that it explains
	off         []harness.Sample // of each length, how many ns it is above the line
}

func fit(ns []harness.Sample) line {
	l := line{off: make([]harness.Sample, len(ns))}
	for r := range ns[0] {
		n := float64(len(ns))
		var x, y, xx, xy, yy float64
		for i := range ns {
			at, v := float64(i+1), ns[i][r]
			x, y, xx, xy, yy = x+at, y+v, xx+at*at, xy+at*v, yy+v*v
		}
		slope := (n*xy - x*y) / (n*xx - x*x)
		base := (y - slope*x) / n
		missed := 0.0
		for i := range ns {
			off := ns[i][r] - base - slope*float64(i+1)
			l.off[i] = append(l.off[i], off)
			missed += off * off
		}
		l.slope, l.base = append(l.slope, slope), append(l.base, base)
		l.r2 = append(l.r2, 1-missed/(yy-y*y/n))
	}
	return l
}
