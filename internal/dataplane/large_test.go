package dataplane

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// The sizes of the tables of testdata/p4/large.p4, all of which are used, and the masks of its rules.
const (
	largeSize  = 100_000
	largeRules = 10_000
	largeMasks = 32
)

// question is a key of all three tables.
type question struct {
	a, b uint32
	c    uint16
}

func (q question) and(m question) question { return question{q.a & m.a, q.b & m.b, q.c & m.c} }

// rule is an entry of the ternary table. Its number is its priority.
type rule struct{ value, mask question }

// ask sends a packet and returns what the tables found, zero for nothing.
func ask(t *testing.T, d *TestDevice, q question) (exactly, longest, best uint32) {
	t.Helper()
	p := binary.BigEndian.AppendUint32(nil, q.a)
	p = binary.BigEndian.AppendUint32(p, q.b)
	p = binary.BigEndian.AppendUint16(p, q.c)
	out, err := d.Inject(target.Packet{Port: 1, Data: append(p, make([]byte, 12)...)})
	must(t, err)
	if len(out) != 1 || len(out[0].Data) != 22 {
		t.Fatalf("%+v: %d packets came out", q, len(out))
	}
	n := func(at int) uint32 { return binary.BigEndian.Uint32(out[0].Data[at:]) }
	return n(10), n(14), n(18)
}

func be32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }

func largeEntry(table, action string, n uint32, prio int, ms ...target.Match) target.Entry {
	return target.Entry{Table: "I." + table, Priority: prio, Match: ms, Action: &target.Action{Name: "I." + action, Params: [][]byte{be32(n)}}}
}

func (r rule) entry(prio int) target.Entry {
	c := func(v uint16) []byte { return binary.BigEndian.AppendUint16(nil, v) }
	return largeEntry("rules", "best", uint32(prio), prio,
		target.Match{Value: be32(r.value.a), Mask: be32(r.mask.a)},
		target.Match{Value: be32(r.value.b), Mask: be32(r.mask.b)},
		target.Match{Value: c(r.value.c), Mask: c(r.mask.c)})
}

// largestMatch is what the ternary table must find: the matching rule with the best priority.
func largestMatch(rules []rule, q question) uint32 {
	for prio := len(rules) - 1; prio > 0; prio-- {
		if q.and(rules[prio].mask) == rules[prio].value && rules[prio].mask != (question{}) {
			return uint32(prio)
		}
	}
	return 0
}

// TestLargeTables fills exact and lpm tables with 100,000 entries each and a ternary one with 10,000 under 32 masks, whose
// priorities have no order, and compares look-ups with plain searches; and again after half of the rules are gone.
func TestLargeTables(t *testing.T) {
	d := open(t, program(t, "large"), ebpf.TC)
	r := rand.New(rand.NewPCG(3, 4))

	// Hosts are scattered, but dense enough that questions nearby meet others, and no others.
	hosts := map[uint32]uint32{}
	for n := uint32(1); n <= largeSize; n++ {
		a := n * 0x9e3779b1 // odd: all different
		hosts[a] = n
		must(t, d.WriteEntry(target.Insert, largeEntry("hosts", "exactly", n, 0, target.Match{Value: be32(a)})))
	}
	type prefix struct {
		addr   uint32
		length int
	}
	prefixes := map[prefix]uint32{}
	for n := uint32(1); n <= largeSize; {
		length := 8 + r.IntN(25)
		p := prefix{r.Uint32() &^ (1<<(32-length) - 1), length}
		if prefixes[p] != 0 {
			continue
		}
		prefixes[p] = n
		must(t, d.WriteEntry(target.Insert, largeEntry("prefixes", "longest", n, 0, target.Match{Value: be32(p.addr), PrefixLen: length})))
		n++
	}
	longest := func(a uint32) uint32 {
		for length := 32; length > 0; length-- {
			if n := prefixes[prefix{a &^ (1<<(32-length) - 1), length}]; n != 0 {
				return n
			}
		}
		return 0
	}
	// Few bits differ, so that rules under different masks overlap.
	draw := func() question {
		return question{r.Uint32() & 0x00ff00ff, r.Uint32() & 0x0fff, uint16(r.Uint32()) & 0x0f0f}
	}
	var masks []question
	for len(masks) < largeMasks {
		m := question{^uint32(0) << r.IntN(6), 0xffffffff ^ 1<<r.IntN(12), 0xffff ^ 1<<r.IntN(12)}
		if !slices.Contains(masks, m) {
			masks = append(masks, m)
		}
	}
	rules := make([]rule, largeRules+1) // by priority, from 1 on
	known := map[rule]bool{}
	for prio := 1; prio <= largeRules; {
		m := masks[r.IntN(len(masks))]
		x := rule{draw().and(m), m}
		if known[x] {
			continue
		}
		known[x] = true
		rules[prio] = x
		prio++
	}
	for _, i := range r.Perm(largeRules) {
		must(t, d.WriteEntry(target.Insert, rules[i+1].entry(i+1)))
	}

	compare := func(when string) {
		t.Helper()
		found := 0
		for range 3000 {
			q := draw()
			if x := rules[1+r.IntN(largeRules)]; r.IntN(4) > 0 { // one that meets a rule
				q = question{x.value.a | r.Uint32()&^x.mask.a, x.value.b | r.Uint32()&^x.mask.b, x.value.c | uint16(r.Uint32())&^x.mask.c}
			}
			if r.IntN(3) == 0 { // one that meets a host
				q.a = (1 + r.Uint32N(largeSize)) * 0x9e3779b1
			}
			want := largestMatch(rules, q)
			e, l, b := ask(t, d, q)
			if e != hosts[q.a] || l != longest(q.a) || b != want {
				t.Fatalf("%s: %+v: found host %d, prefix %d, rule %d, want %d, %d, %d", when, q, e, l, b, hosts[q.a], longest(q.a), want)
			}
			if want != 0 {
				found++
			}
		}
		if found < 500 {
			t.Errorf("%s: only %d questions met a rule", when, found)
		}
	}
	compare("filled")
	if err := d.WriteEntry(target.Insert, largeEntry("hosts", "exactly", 1, 0, target.Match{Value: be32(1)})); err == nil {
		t.Error("a table took an entry more than its size")
	}
	for prio := 1; prio <= largeRules; prio++ {
		if prio%2 == 0 {
			must(t, d.WriteEntry(target.Delete, rules[prio].entry(prio)))
			rules[prio] = rule{}
		}
	}
	compare("half of the rules deleted")
}
