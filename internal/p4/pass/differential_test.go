package pass

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// TestRandomPrograms compares programs made at random with what the passes make of
// them, in the reference interpreter: packets, digests, messages, counters and
// registers must be the same.
func TestRandomPrograms(t *testing.T) {
	n := uint64(400)
	if testing.Short() {
		n = 100
	}
	for seed := range n {
		checkRandom(t, seed)
		if t.Failed() {
			return
		}
	}
}

// FuzzRandomPrograms does the same for ever.
func FuzzRandomPrograms(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { checkRandom(t, seed) })
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func checkRandom(t *testing.T, seed uint64) {
	t.Helper()
	g := &generator{r: newRand(seed)}
	p := g.program()
	if err := ir.Verify(p); err != nil {
		t.Fatalf("seed %d: the generator is at fault: %v", seed, err)
	}
	var packets []target.Packet
	for i := range 12 {
		data := make([]byte, g.r.IntN(16))
		for j := range data {
			data[j] = byte(g.r.IntN(4))
		}
		packets = append(packets, target.Packet{Port: uint32(i%3 + 1), Data: data})
	}
	compareOn(t, fmt.Sprintf("seed %d", seed), p, oneClone, packets)
}

// oneClone configures a switch for the random programs.
func oneClone(sw *interp.Switch) error {
	return sw.WriteClone(target.Insert, target.CloneSession{ID: 1, Replicas: []target.Replica{{Port: 7, Instance: 3}}})
}

// compareOn reports the first pass that makes a program do something else with
// packets.
func compareOn(t *testing.T, what string, p *ir.Program, configure func(*interp.Switch) error, packets []target.Packet) {
	t.Helper()
	want := behaviour(t, p, configure, packets)
	q := ir.Copy(p)
	for _, d := range Run(q, Options{Verify: true, After: func(name string, q *ir.Program) {
		for _, lack := range checkProperties(q, name) {
			t.Errorf("%s: pass %s leaves a program that is not %s", what, name, lack)
		}
	}}) {
		t.Errorf("%s: %s", what, d.Message)
	}
	got := behaviour(t, q, configure, packets)
	if got == want {
		return
	}
	found := ""
	Run(ir.Copy(p), Options{After: func(name string, q *ir.Program) {
		if found == "" && behaviour(t, q, configure, packets) != want {
			found = name
		}
	}})
	t.Errorf("%s: pass %s changes what the program does:\n%s", what, found, firstDifference(want, got))
}

// behaviour runs packets and describes all that can be seen from outside.
func behaviour(t *testing.T, p *ir.Program, configure func(*interp.Switch) error, packets []target.Packet) string {
	t.Helper()
	var b strings.Builder
	sw, err := interp.New(p, interp.Options{
		Now:      func() time.Duration { return 0 },
		Log:      func(msg string) { fmt.Fprintf(&b, "log %s\n", msg) },
		MaxSteps: 20000, MaxPasses: 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := configure(sw); err != nil {
		fmt.Fprintf(&b, "configure: %v\n", err)
	}
	for i, pkt := range packets {
		out, err := sw.Inject(pkt)
		switch {
		case errors.Is(err, interp.ErrLimit):
			fmt.Fprintf(&b, "%d: for ever\n", i)
			return b.String()
		case err != nil:
			fmt.Fprintf(&b, "%d: %v\n", i, err)
		}
		for _, o := range out {
			fmt.Fprintf(&b, "%d: port %d %x\n", i, o.Port, o.Data)
		}
		for _, d := range sw.Digests() {
			fmt.Fprintf(&b, "%d: digest %s %x\n", i, d.Name, d.Values)
		}
	}
	state(t, &b, sw, p)
	return b.String()
}

// state describes the counters and registers of a switch.
func state(t *testing.T, b *strings.Builder, sw *interp.Switch, p *ir.Program) {
	t.Helper()
	for _, c := range p.Controls() {
		for _, i := range c.Instances {
			for n := range min(i.Size, 64) {
				switch i.Kind {
				case ir.KindCounter:
					v, err := sw.ReadCounter(i.FullName, n)
					fmt.Fprintf(b, "%s[%d] = %v %v\n", i.FullName, n, v, err)
				case ir.KindRegister:
					v, err := sw.ReadRegister(i.FullName, n)
					fmt.Fprintf(b, "%s[%d] = %x %v\n", i.FullName, n, v, err)
				}
			}
		}
		for _, tab := range c.Tables {
			es, _, err := sw.ReadEntries(tab.FullName)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range es {
				if e.Counter != nil {
					fmt.Fprintf(b, "%s %v = %v\n", tab.FullName, e.Match, *e.Counter)
				}
			}
		}
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range w {
		if i >= len(g) || w[i] != g[i] {
			other := "nothing"
			if i < len(g) {
				other = g[i]
			}
			return fmt.Sprintf("before: %s\nafter:  %s", w[i], other)
		}
	}
	return "after, more: " + g[len(w)]
}
