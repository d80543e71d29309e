package ebpf

import (
	"fmt"
	"slices"
	"strings"
)

// Checksums that are updated by what changed need new - old of each input. It is added up where the program assigns
// the input, in the state's sums: a sum for all fields that count in the same checksums in the same way.

// term is a field's part in a sum: of its differences, shifted so that it counts in 16-bit words as it lies in the
// checksums.
type term struct {
	sum *sum
	bit int // where the field begins in a word
}

// sum is of differences of fields that the program assigns.
type sum struct {
	number int
	in     []summand
}

// summand is a checksum that a sum counts in, so many times.
type summand struct {
	inc    *incremental
	pseudo bool
	times  int
}

func (s *sum) c() string { return fmt.Sprintf("s->sum%d", s.number) }

// summed tells whether an input's differences are added up where it is assigned. What the parser assigns may still be
// overwritten by a header that it extracts.
func (g *gen) summed(in input) bool {
	return g.stays && in.h != nil && !in.h.early[in.field] && !in.h.fresh()
}

// findTerms says in which sums a field's differences count.
func (g *gen) findTerms() {
	type part struct {
		path string
		bit  int
	}
	counts := map[part][]summand{}
	var order []part
	for _, inc := range g.sortedIncrements() {
		for _, in := range inc.inputs {
			if !g.summed(in) {
				continue
			}
			p := part{in.h.path + "." + g.field(in.field), in.bit % 16}
			if counts[p] == nil {
				order = append(order, p)
			}
			i := slices.IndexFunc(counts[p], func(s summand) bool { return s.inc == inc && s.pseudo == in.pseudo })
			if i < 0 {
				counts[p] = append(counts[p], summand{inc, in.pseudo, 0})
				i = len(counts[p]) - 1
			}
			counts[p][i].times++
		}
	}
	byUse := map[string]*sum{}
	for _, p := range order {
		var key []string
		for _, s := range counts[p] {
			key = append(key, fmt.Sprint(s.inc.number, s.pseudo, s.times))
		}
		k := strings.Join(key, ",")
		if byUse[k] == nil {
			byUse[k] = &sum{number: len(g.sums), in: counts[p]}
			g.sums = append(g.sums, byUse[k])
		}
		g.terms[p.path] = append(g.terms[p.path], term{byUse[k], p.bit})
	}
}

// sumOf is the C expression of the sums that count in a checksum.
func (g *gen) sumOf(inc *incremental, pseudo bool) string {
	var parts []string
	for _, s := range g.sums {
		for _, x := range s.in {
			if x.inc != inc || x.pseudo != pseudo {
				continue
			}
			for range x.times {
				parts = append(parts, s.c())
			}
		}
	}
	return join(parts, "+")
}

// track adds the difference that an assignment makes to the sums that it counts in, and returns the value to assign.
func (f *fn) track(p string, v val) val {
	if f.parser != nil || len(f.g.terms[p]) == 0 {
		return v
	}
	v = f.hold(v)
	for _, t := range f.g.terms[p] {
		f.addDifference(t.sum.c(), v, pathValue(p, v.w), t.bit)
	}
	return v
}

// summedPaths are the C paths of the fields whose differences are in a sum.
func (g *gen) summedPaths(s *sum) []string {
	var out []string
	for p, ts := range g.terms {
		if slices.ContainsFunc(ts, func(t term) bool { return t.sum == s }) {
			out = append(out, strings.TrimPrefix(p, "s->"))
		}
	}
	slices.Sort(out)
	return out
}
