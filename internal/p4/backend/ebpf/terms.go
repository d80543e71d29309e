package ebpf

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/ir"
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
		if f.step != nil && v.w <= 16 {
			f.addStep(t.sum.c(), pathValue(p, v.w), t.bit)
			continue
		}
		f.addDifference(t.sum.c(), v, pathValue(p, v.w), t.bit)
	}
	return v
}

// stepOf is what an assignment x = x + constant adds to x, modulo 2 to the power of the width; nil if it is another one.
func (f *fn) stepOf(s *ir.Assign) *big.Int {
	b, ok := s.Src.(*ir.Binary)
	if !ok || b.Op != ir.Add && b.Op != ir.Sub || f.computed(s.Dst) != nil || f.computed(b.X) != nil {
		return nil
	}
	k, constant := b.Y.(*ir.Const)
	for _, e := range []ir.Expr{s.Dst, b.X} {
		switch e.(type) {
		case *ir.VarRef, *ir.Member:
		default:
			return nil
		}
	}
	dst, okDst := f.static(s.Dst)
	x, okX := f.static(b.X)
	if !constant || !okDst || !okX || dst != x {
		return nil
	}
	step := new(big.Int).Set(k.Value)
	if b.Op == ir.Sub {
		step.Neg(step)
	}
	return step.Mod(step, new(big.Int).Lsh(big.NewInt(1), uint(width(s.Dst.Type()))))
}

// addStep adds to a sum what addDifference would for a field that grows by f.step: one number if it overflows, such as a
// time to live above zero that is lowered by one, and another if not.
func (f *fn) addStep(sum string, old val, bit int) {
	shift := (16 - (bit+old.w)%16) % 16
	size := (old.w + shift + 15) / 16 * 16
	step := f.step.Uint64()
	stays := uint64(1)<<size - 1 + step<<shift
	over := stays - uint64(1)<<(old.w+shift)
	f.t.f("%s += %s >= %#x ? %#x : %#x;", sum, old.one(), uint64(1)<<old.w-step, over, stays)
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
