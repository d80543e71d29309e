package tables

import (
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

func be(v uint64, width int) []byte {
	b := []byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}
	return b[4-(width+7)/8:]
}

// model is the meaning of a table: the entries in a list.
type model struct {
	keys    []ebpf.Key
	entries map[string]target.Entry
}

func (m *model) matches(e target.Entry, vs []uint64) bool {
	for i, k := range m.keys {
		x := e.Match[i]
		num := func(b []byte) (v uint64) {
			for _, c := range b {
				v = v<<8 | uint64(c)
			}
			return v
		}
		switch {
		case x.Any:
		case k.Match == "ternary":
			if vs[i]&num(x.Mask) != num(x.Value)&num(x.Mask) {
				return false
			}
		case k.Match == "range":
			if vs[i] < num(x.Lo) || vs[i] > num(x.Hi) {
				return false
			}
		case k.Match == "lpm":
			s := k.Width - x.PrefixLen
			if vs[i]>>s != num(x.Value)>>s {
				return false
			}
		default:
			if vs[i] != num(x.Value) {
				return false
			}
		}
	}
	return true
}

// search returns what a packet may get: several if entries are equally good.
func (m *model) search(vs []uint64) []int {
	best, prio := []int{-1}, -1
	for _, e := range m.entries {
		p := e.Priority
		for _, x := range e.Match {
			p += x.PrefixLen
		}
		if !m.matches(e, vs) || p < prio {
			continue
		}
		if p > prio {
			best, prio = nil, p
		}
		best = append(best, int(e.Action.Params[0][0]))
	}
	return best
}

func randomMatch(r *rand.Rand, k ebpf.Key) target.Match {
	all := uint64(1)<<k.Width - 1
	v := r.Uint64() & all
	if k.Match != "exact" && r.IntN(5) == 0 {
		return target.Match{Any: true}
	}
	switch k.Match {
	case "ternary":
		return target.Match{Value: be(v, k.Width), Mask: be([]uint64{all, all &^ 3, 0x55 & all, all >> 1}[r.IntN(4)], k.Width)}
	case "range":
		w := r.Uint64() & all
		return target.Match{Lo: be(min(v, w), k.Width), Hi: be(max(v, w), k.Width)}
	case "lpm":
		return target.Match{Value: be(v, k.Width), PrefixLen: r.IntN(k.Width + 1)}
	}
	return target.Match{Value: be(v, k.Width)}
}

// TestAgainstModel writes random entries and checks, behind every single change of a
// map, that each packet meets either the table before the write or that after it.
func TestAgainstModel(t *testing.T) {
	for name, spec := range map[string]*ebpf.Table{
		"hash":    testTable(ebpf.KindHash, ebpf.Key{Name: "a", Width: 5, Match: "exact"}, ebpf.Key{Name: "b", Width: 3, Match: "exact"}),
		"lpm":     testTable(ebpf.KindLPM, ebpf.Key{Name: "a", Width: 8, Match: "exact"}, ebpf.Key{Name: "b", Width: 9, Match: "lpm"}),
		"ternary": testTable(ebpf.KindTuples, ebpf.Key{Name: "a", Width: 6, Match: "ternary"}, ebpf.Key{Name: "b", Width: 3, Match: "exact"}),
		"range":   testTable(ebpf.KindTuples, ebpf.Key{Name: "a", Width: 5, Match: "range"}, ebpf.Key{Name: "b", Width: 2, Match: "optional"}),
		"two lpm": testTable(ebpf.KindTuples, ebpf.Key{Name: "a", Width: 5, Match: "lpm"}, ebpf.Key{Name: "b", Width: 4, Match: "lpm"}),
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			p := newFakeProgram(spec)
			c, err := p.control()
			if err != nil {
				t.Fatal(err)
			}
			m := &model{keys: spec.Keys, entries: map[string]target.Entry{}}
			var packets [][]uint64
			for range 60 {
				var vs []uint64
				for _, k := range spec.Keys {
					vs = append(vs, r.Uint64()&(1<<k.Width-1))
				}
				if spec.Keys[0].Width == 8 {
					vs[0] &= 3
				}
				packets = append(packets, vs)
			}
			prio := 0
			for round := range 200 {
				e := target.Entry{Table: "t", Action: &target.Action{Name: "act", Params: [][]byte{{byte(1 + r.IntN(200))}}}}
				for _, k := range spec.Keys {
					e.Match = append(e.Match, randomMatch(r, k))
				}
				if spec.Keys[0].Width == 8 {
					e.Match[0].Value[0] &= 3
				}
				op := target.Insert
				if hasPriority := spec.Kind == ebpf.KindTuples && spec.Keys[0].Match != "lpm"; hasPriority {
					prio++ // all different, for there is no order among equals
					e.Priority = prio*37%1009 + 1
				}
				if len(m.entries) > 0 && r.IntN(3) > 0 {
					for _, old := range m.entries {
						e.Match, e.Priority = old.Match, old.Priority
						break
					}
					op = []target.Op{target.Modify, target.Delete}[r.IntN(2)]
				}
				norm, err := c.tables["t"].checkMatch(e)
				if err != nil {
					t.Fatal(err)
				}
				id := entryID(spec, norm)
				before := make([][]int, len(packets))
				for i, vs := range packets {
					before[i] = m.search(vs)
				}
				next := &model{keys: m.keys, entries: map[string]target.Entry{}}
				for k, v := range m.entries {
					next.entries[k] = v
				}
				_, exists := m.entries[id]
				switch {
				case op == target.Delete:
					delete(next.entries, id)
				case op == target.Insert && exists:
				default:
					next.entries[id] = norm
				}
				check := func(final bool) {
					for i, vs := range packets {
						got, after := p.search(keyBytes(spec, vs...)), next.search(vs)
						if !slices.Contains(after, got) && (final || !slices.Contains(before[i], got)) {
							t.Fatalf("round %d: op %d: packet %v gets %d; before it was one of %v, after it is one of %v", round, op, vs, got, before[i], after)
						}
					}
				}
				p.onChange(func() { check(false) })
				err = c.WriteEntry(op, e)
				p.onChange(func() {})
				if op == target.Insert && exists {
					if !errors.Is(err, target.ErrExists) {
						t.Fatalf("second insert: %v", err)
					}
				} else if err != nil {
					t.Fatalf("round %d: op %d %+v: %v", round, op, e, err)
				}
				m = next
				check(true)
			}
			checkHandOver(t, c, p)
		})
	}
}

// checkHandOver gives the maps to a second Control and checks that it can delete
// everything, leaving nothing behind.
func checkHandOver(t *testing.T, c *Control, p *fakeProgram) {
	t.Helper()
	d, err := New(c.spec, p.kernel(), c.Contents(), func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	es, _, err := d.ReadEntries("t")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range es {
		if err := d.WriteEntry(target.Delete, e); err != nil {
			t.Fatal(err)
		}
	}
	if n := p.elements(t, d); n != 0 {
		t.Errorf("%d elements are left of no entry", n)
	}
}

func TestRangeCubes(t *testing.T) {
	for lo := range uint64(64) {
		for hi := lo; hi < 64; hi++ {
			n := 0
			for _, c := range rangeCubes(be(lo, 6), be(hi, 6), 6) {
				for v := range uint64(64) {
					if string(and(be(v, 6), c.mask)) == string(and(c.value, c.mask)) {
						n++
						if v < lo || v > hi {
							t.Fatalf("%d..%d: %d is in %x/%x", lo, hi, v, c.value, c.mask)
						}
					}
				}
			}
			if n != int(hi-lo+1) {
				t.Fatalf("%d..%d: %d values are covered", lo, hi, n)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	spec := testTable(ebpf.KindTuples, ebpf.Key{Name: "a", Width: 12, Match: "ternary"})
	spec.Size = 2
	p := newFakeProgram(spec)
	c, err := p.control()
	if err != nil {
		t.Fatal(err)
	}
	entry := func(v, mask uint64, prio int) target.Entry {
		return target.Entry{Table: "t", Priority: prio, Match: []target.Match{{Value: be(v, 12), Mask: be(mask, 12)}},
			Action: &target.Action{Name: "act", Params: [][]byte{{1}}}}
	}
	bad := entry(1, 0xfff, 1)
	bad.Action = &target.Action{Name: "other"}
	wide := entry(1, 0xfff, 1)
	wide.Action.Params = [][]byte{{1, 0}}
	for _, x := range []struct {
		op   target.Op
		e    target.Entry
		want error
	}{
		{target.Insert, target.Entry{Table: "nope"}, target.ErrNotFound},
		{target.Insert, bad, target.ErrNotFound},
		{target.Insert, wide, target.ErrInvalid},
		{target.Insert, entry(0x1000, 0xfff, 1), target.ErrInvalid},
		{target.Insert, target.Entry{Table: "t"}, target.ErrInvalid},
		{target.Modify, entry(1, 0xfff, 1), target.ErrNotFound},
		{target.Delete, entry(1, 0xfff, 1), target.ErrNotFound},
		{target.Insert, entry(1, 0xfff, 1), nil},
		{target.Insert, entry(1, 0xfff, 1), target.ErrExists},
		{target.Insert, entry(1, 0xfff, 2), nil}, // another priority, another entry
		{target.Insert, entry(3, 0xfff, 2), target.ErrFull},
		{target.Delete, entry(1, 0xfff, 2), nil},
	} {
		if err := c.WriteEntry(x.op, x.e); !errors.Is(err, x.want) || x.want == nil && err != nil {
			t.Errorf("op %d, %v: got %v, want %v", x.op, x.e, err, x.want)
		}
	}
	if got := p.search(keyBytes(spec, 1)); got != 1 {
		t.Errorf("the entry of the lower priority is lost: got %d", got)
	}
}

func TestTooManyMasks(t *testing.T) {
	p := newFakeProgram(testTable(ebpf.KindTuples, ebpf.Key{Name: "a", Width: 12, Match: "ternary"}))
	c, err := p.control()
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(ebpf.MaxMasks + 1) {
		err := c.WriteEntry(target.Insert, target.Entry{Table: "t", Priority: int(i) + 1,
			Match:  []target.Match{{Value: be(0, 12), Mask: be(i+1, 12)}},
			Action: &target.Action{Name: "act", Params: [][]byte{{1}}}})
		if full := i == ebpf.MaxMasks; full != errors.Is(err, target.ErrFull) || !full && err != nil {
			t.Fatalf("mask %d: %v", i+1, err)
		}
	}
	if n := p.elements(t, c); n != ebpf.MaxMasks {
		t.Errorf("the refused entry left something: %d elements", n)
	}
}

// TestHandOverDoesNotFit gives entries to a program whose table has changed: each is
// taken or the whole is refused, never is one dropped.
func TestHandOverDoesNotFit(t *testing.T) {
	spec := testTable(ebpf.KindHash, ebpf.Key{Name: "a", Width: 12, Match: "exact"})
	c, err := newFakeProgram(spec).control()
	if err != nil {
		t.Fatal(err)
	}
	e := target.Entry{Table: "t", Match: []target.Match{{Value: be(0x123, 12)}}, Action: &target.Action{Name: "act", Params: [][]byte{{1}}}}
	if err := c.WriteEntry(target.Insert, e); err != nil {
		t.Fatal(err)
	}
	next := func(spec *ebpf.Table) (*Control, error) {
		return New(&ebpf.Spec{Tables: []*ebpf.Table{spec}, StateSize: stateSize(spec)}, newFakeProgram(spec).kernel(), c.Contents(), nil)
	}
	other := testTable(ebpf.KindHash, ebpf.Key{Name: "a", Width: 12, Match: "exact"})
	other.Actions[0].Name = "other"
	narrow := testTable(ebpf.KindHash, ebpf.Key{Name: "a", Width: 4, Match: "exact"})
	for name, spec := range map[string]*ebpf.Table{"another action": other, "a narrower key": narrow} {
		if _, err := next(spec); err == nil || !strings.Contains(err.Error(), `table "t": entry (0123) with act does not fit the new program`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The program's own entries were entries of the table before, if they still are.
	own := testTable(ebpf.KindHash, ebpf.Key{Name: "a", Width: 12, Match: "exact"})
	own.Entries = []ebpf.Entry{{Match: []ebpf.Match{{Value: be(0x456, 12)}}, Call: ebpf.Call{Args: [][]byte{{2}}}},
		{Match: []ebpf.Match{{Value: be(0x123, 12)}}, Call: ebpf.Call{Args: [][]byte{{3}}}}}
	d, err := next(own)
	if err != nil {
		t.Fatal(err)
	}
	if es, _, err := d.ReadEntries("t"); err != nil || len(es) != 1 || es[0].Action.Params[0][0] != 1 {
		t.Errorf("got %+v, %v", es, err)
	}
}

// TestNewStateKeptTable hands a table's maps to a program that has tables in front of it, and so states of its own.
func TestNewStateKeptTable(t *testing.T) {
	spec := testTable(ebpf.KindTuples, ebpf.Key{Name: "a", Width: 12, Match: "ternary"})
	p := newFakeProgram(spec)
	c, err := p.control()
	if err != nil {
		t.Fatal(err)
	}
	e := target.Entry{Table: "t", Match: []target.Match{{Value: be(0x120, 12), Mask: be(0xff0, 12)}}, Priority: 1,
		Action: &target.Action{Name: "act", Params: [][]byte{{7}}}}
	if err := c.WriteEntry(target.Insert, e); err != nil {
		t.Fatal(err)
	}
	if c.tables["t"].state.Masks == 0 {
		t.Fatal("the list of masks in force is the first one: the test shows nothing")
	}
	moved := *spec
	moved.StateAt = 40
	next := newFakeProgram(&moved)
	next.memory[spec.Map], next.memory[spec.Masks] = p.memory[spec.Map], p.memory[spec.Masks]
	kept := func(name string) bool { return name == spec.Map || name == spec.Masks }
	if _, err := New(&ebpf.Spec{Tables: []*ebpf.Table{&moved}, StateSize: stateSize(&moved)}, next.kernel(), c.Contents(), kept); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*fakeProgram{p, next} {
		if got := p.search(keyBytes(p.spec, 0x123)); got != 7 {
			t.Errorf("with its state at %d: got %d", p.spec.StateAt, got)
		}
	}
}

// TestMaskNumbersComeAgain has more masks one after another than there are numbers of eight bits.
func TestMaskNumbersComeAgain(t *testing.T) {
	spec := testTable(ebpf.KindTuples, ebpf.Key{Name: "a", Width: 12, Match: "ternary"})
	p := newFakeProgram(spec)
	c, err := p.control()
	if err != nil {
		t.Fatal(err)
	}
	entry := func(mask uint64, param byte) target.Entry {
		return target.Entry{Table: "t", Priority: 1, Match: []target.Match{{Value: be(0x800, 12), Mask: be(0x800|mask, 12)}},
			Action: &target.Action{Name: "act", Params: [][]byte{{param}}}}
	}
	if err := c.WriteEntry(target.Insert, entry(0x7ff, 7)); err != nil { // stays, with its number
		t.Fatal(err)
	}
	for i := range uint64(600) {
		e := entry(i, byte(i%5)+1)
		if err := c.WriteEntry(target.Insert, e); err != nil {
			t.Fatal(err)
		}
		if got, want := p.search(keyBytes(spec, 0x800|^i&0x7ff)), int(i%5)+1; got != want {
			t.Fatalf("mask %#x: got %d, want %d", 0x800|i, got, want)
		}
		if err := c.WriteEntry(target.Delete, e); err != nil {
			t.Fatal(err)
		}
		if got := p.search(keyBytes(spec, 0x800)); got != 7 {
			t.Fatalf("after mask %#x the first entry is lost: got %d", 0x800|i, got)
		}
	}
}

// TestUnderWay has packets that take their time, while elements come, change and go and the index grows: each must meet
// what was there at one time while it was under way, and slots must not be used again before it is through.
func TestUnderWay(t *testing.T) {
	spec := testTable(ebpf.KindTuples, ebpf.Key{Name: "a", Width: 12, Match: "ternary"})
	spec.Slots = 300 // few that are free
	p := newFakeProgram(spec)
	c, err := p.control()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 6))
	type packet struct {
		key   uint64
		may   map[int]bool // what it may find
		next  func() (struct{}, bool)
		found int
	}
	var under []*packet
	now := map[uint64]int{} // by key: what there is
	step := func(x *packet) (through bool) {
		if _, ok := x.next(); ok {
			return false
		}
		if !x.may[x.found] {
			t.Fatalf("a packet with %#x found %d, it may find %v", x.key, x.found, x.may)
		}
		return true
	}
	start := func() {
		x := &packet{key: r.Uint64N(250), may: map[int]bool{}}
		x.may[now[x.key]] = true
		x.next, _ = iter.Pull(func(yield func(struct{}) bool) {
			x.found = p.searchSlowly(keyBytes(spec, x.key), func() { yield(struct{}{}) })
		})
		under = append(under, x)
	}
	waits := 0
	p.wait = func() {
		for waits++; len(under) > 0; {
			if x := under[len(under)-1]; step(x) {
				under = under[:len(under)-1]
			}
		}
	}
	entry := func(key uint64, param byte) target.Entry {
		return target.Entry{Table: "t", Priority: 1, Match: []target.Match{{Value: be(key, 12), Mask: be(0xfff, 12)}},
			Action: &target.Action{Name: "act", Params: [][]byte{{param}}}}
	}
	for key := range uint64(250) {
		now[key] = -1
	}
	// One that stays, so that the mask does.
	if err := c.WriteEntry(target.Insert, entry(0xfff, 1)); err != nil {
		t.Fatal(err)
	}
	for round := range 6000 {
		key, param := r.Uint64N(250), 1+r.IntN(200)
		op := target.Insert
		switch {
		case now[key] < 0 && round > 500 && r.IntN(3) == 0:
			continue
		case now[key] >= 0 && r.IntN(2) == 0:
			op = target.Modify
		case now[key] >= 0:
			op, param = target.Delete, -1
		}
		for _, x := range under {
			if x.key == key {
				x.may[param] = true
			}
		}
		p.onChange(func() {
			for i := 0; i < len(under); i++ {
				if r.IntN(3) == 0 && step(under[i]) {
					under = slices.Delete(under, i, i+1)
				}
			}
		})
		old := now[key]
		if err := c.WriteEntry(op, entry(key, byte(max(param, 1)))); err != nil {
			t.Fatalf("round %d: op %d of %#x: %v", round, op, key, err)
		}
		if got := p.search(keyBytes(spec, key)); got != param {
			t.Fatalf("round %d: op %d of %#x: found %d, want %d, before %d", round, op, key, got, param, old)
		}
		now[key] = param
		for len(under) < 20 {
			start()
		}
	}
	if waits < 5 {
		t.Errorf("%d waits: the test shows nothing", waits)
	}
	if x := c.tables["t"].engine.(*tuples).els; x.level != spec.IndexBits {
		t.Errorf("the index ended at level %d", x.level)
	}
}
