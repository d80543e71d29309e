package verify

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// lookup is what a packet was looked up with in a table.
type lookup struct {
	route  int // index
	table  *table
	values []*big.Int // by key
	packet target.Packet
}

// maxLookups is how many different lookups in a table are remembered for a route.
const maxLookups = 12

// remember keeps the values of a lookup in an NF's table.
func (r *run) remember(index int, nf string, e interp.Event, p target.Packet) {
	i := slices.IndexFunc(r.tables[nf], func(t *table) bool { return t.decl.FullName == e.Object })
	if i < 0 {
		return
	}
	l := lookup{route: index, table: r.tables[nf][i], packet: p}
	words := strings.Fields(e.Detail)
	for j, k := range target.ControlKeys(l.table.decl) {
		if j >= len(words) {
			return
		}
		v, ok := new(big.Int).SetString(strings.TrimPrefix(words[j], k.Name+"="), 0)
		if !ok {
			return
		}
		l.values = append(l.values, v)
	}
	n := 0
	for _, o := range r.seen {
		if o.route != index || o.table != l.table {
			continue
		}
		if n++; n == maxLookups || slices.EqualFunc(o.values, l.values, func(a, b *big.Int) bool { return a.Cmp(b) == 0 }) {
			return
		}
	}
	r.seen = append(r.seen, l)
}

// canAim tells whether some action that was not reached stands in a table that was
// looked up.
func (r *run) canAim(paths []PathReport) bool {
	return slices.ContainsFunc(r.seen, func(l lookup) bool {
		return slices.ContainsFunc(l.table.actions(), func(a *ir.Action) bool {
			return slices.Contains(paths[l.route].NotReached, actionKey(l.table.nf, l.table.decl.FullName, a.FullName))
		})
	})
}

// aimed adds to a set of rules those that make packets seen before take the actions
// that none has taken.
func (r *run) aimed(easy []rule, paths []PathReport) []rule {
	r.replay = nil
	rules := slices.Clone(easy)
	for i, x := range r.routes {
		for _, nf := range slices.Compact(slices.Sorted(slices.Values(x.nfs))) {
			for _, t := range r.tables[nf] {
				var seen []lookup
				for _, l := range r.seen {
					if l.route == i && l.table == t {
						seen = append(seen, l)
					}
				}
				r.rng.Shuffle(len(seen), func(a, b int) { seen[a], seen[b] = seen[b], seen[a] })
				for n, a := range t.actions() {
					missing := slices.Contains(paths[i].NotReached, actionKey(nf, t.decl.FullName, a.FullName))
					if !missing || len(seen) == 0 {
						continue
					}
					rules = r.place(rules, r.exactly(x.scope, seen[0], n, a))
					r.replay = append(r.replay, seen[0])
					if len(seen) > 1 {
						seen = seen[1:]
					}
				}
			}
		}
	}
	return rules
}

// exactly makes a rule for the values of a lookup.
func (r *run) exactly(scope int, l lookup, n int, a *ir.Action) rule {
	e := target.Entry{Table: l.table.decl.FullName, Priority: 1<<16 + len(r.replay)}
	if l.table.decl.Impl != nil {
		e.Member = uint32(n + 1)
	} else {
		e.Action = &target.Action{Name: a.FullName, Params: r.values.params(a)}
	}
	for i, k := range target.ControlKeys(l.table.decl) {
		w, _ := ir.ScalarBits(k.Type)
		b := target.Encode(l.values[i], w)
		m := target.Match{Value: b}
		switch k.Match {
		case ir.MatchLPM:
			m.PrefixLen = w
		case ir.MatchTernary:
			m.Mask = target.Encode(ones(w), w)
		case ir.MatchRange:
			m = target.Match{Lo: b, Hi: b}
		}
		e.Match = append(e.Match, m)
	}
	e, err := target.CheckEntry(l.table.decl, e)
	if err != nil {
		panic(fmt.Sprintf("verify: a rule of values that were looked up: %v", err))
	}
	return rule{scope: scope, table: l.table, entry: e}
}

// place adds a rule in place of one with the same match.
func (r *run) place(rules []rule, x rule) []rule {
	id := target.Identity(x.entry)
	rules = slices.DeleteFunc(rules, func(y rule) bool {
		return y.scope == x.scope && y.table == x.table && target.Identity(y.entry) == id
	})
	return append(rules, x)
}
