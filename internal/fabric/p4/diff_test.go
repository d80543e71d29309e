package p4

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt/client"
	"github.com/catena-nfv/catena/internal/service"
)

// TestDiff checks that the changes lead from one state to the other, that nothing is
// written that is there already, and that deletions come last.
func TestDiff(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	random := func() []client.Entity {
		cfg := twoNetworks()
		cfg.Ports = slices.DeleteFunc(cfg.Ports, func(service.SwitchPort) bool { return r.IntN(3) == 0 })
		if r.IntN(4) == 0 {
			cfg.Chains = nil
		} else if r.IntN(2) == 0 {
			cfg.Chains[0].Chain.Match = cfg.Chains[0].Chain.Match[:1]
		} else {
			cfg.Chains[0].Chain.Rules[0].Action = "allow"
			cfg.Networks[0].GatewayMAC[5] = byte(r.IntN(3))
		}
		return wanted(t, cfg)
	}
	for range 200 {
		have, want := random(), random()
		r.Shuffle(len(have), func(i, j int) { have[i], have[j] = have[j], have[i] })
		c := diff(have, want)
		state := map[string]client.Entity{}
		for _, e := range have {
			state[keyOf(e)] = e
		}
		deleting, last := false, 0
		for _, u := range c.updates {
			k := keyOf(u.Entity)
			old, there := state[k]
			switch {
			case u.Op == target.Insert && (there || deleting), u.Op == target.Modify && (!there || deleting || same(old, u.Entity)), u.Op == target.Delete && !there:
				t.Fatalf("%v %s: there %t", u.Op, k, there)
			case u.Op == target.Delete:
				if deleting && rank(u.Entity) > last {
					t.Fatalf("%s is deleted too late", k)
				}
				deleting, last = true, rank(u.Entity)
				delete(state, k)
			default:
				state[k] = u.Entity
			}
		}
		if len(state) != len(want) || len(c.updates) != c.added+c.changed+c.deleted {
			t.Fatalf("%d entities, want %d; %d updates, %d told", len(state), len(want), len(c.updates), c.added+c.changed+c.deleted)
		}
		for _, e := range want {
			if s, ok := state[keyOf(e)]; !ok || !same(s, e) {
				t.Fatalf("missing or other: %s", entityText(e))
			}
		}
		if c := diff(want, want); len(c.updates) != 0 {
			t.Fatalf("nothing has changed, yet %d updates", len(c.updates))
		}
	}
}

// TestKeys checks that values that mean the same are the same.
func TestKeys(t *testing.T) {
	a := client.Entry{Table: "t", Match: map[string]target.Match{"k": {Value: []byte{0, 1}, Mask: []byte{0, 255}}, "any": {Any: true}}, Action: "a", Params: map[string][]byte{"p": {0, 5}}}
	b := client.Entry{Table: "t", Match: map[string]target.Match{"k": {Value: []byte{1}, Mask: []byte{255}}}, Action: "a", Params: map[string][]byte{"p": {5}}}
	if keyOf(a) != keyOf(b) || !same(a, b) {
		t.Errorf("%s is not %s", keyOf(a), keyOf(b))
	}
	b.Params["p"] = []byte{6}
	if same(a, b) {
		t.Error("another parameter is the same")
	}
	x := client.Multicast{ID: 1, Replicas: []target.Replica{{Port: 1, Instance: 1}, {Port: 2, Instance: 1}}}
	y := client.Multicast{ID: 1, Replicas: []target.Replica{{Port: 2, Instance: 1}, {Port: 1, Instance: 1}}}
	if !same(x, y) || same(x, a) || same(a, x) || keyOf(x) == keyOf(client.Multicast{ID: 2}) {
		t.Error("multicast groups")
	}
	y.Replicas[0].Port = 1
	if same(x, y) {
		t.Error("other ports are the same")
	}
}
