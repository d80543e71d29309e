package mirror

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/orch"
)

// memory is a store that can fail.
type memory struct {
	kv   map[string][]byte
	fail error
}

func (m *memory) List(_ context.Context, prefix string) ([]orch.KV, error) {
	var out []orch.KV
	for _, k := range slices.Sorted(maps.Keys(m.kv)) {
		if strings.HasPrefix(k, prefix) {
			out = append(out, orch.KV{Key: k, Value: m.kv[k]})
		}
	}
	return out, m.fail
}

func (m *memory) Txn(_ context.Context, _ map[string]int64, puts map[string][]byte, deletes []string) (bool, error) {
	if len(puts)+len(deletes) > 128 {
		return false, errors.New("too many operations")
	}
	if m.fail != nil {
		return false, m.fail
	}
	maps.Copy(m.kv, puts)
	for _, k := range deletes {
		delete(m.kv, k)
	}
	return true, nil
}

func open(t *testing.T, s Store) *Mirror {
	t.Helper()
	m, err := Open(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func network(id string, revision int64) Change {
	return Change{Ref: Ref{KindNetwork, id, revision}, Object: &Network{Name: fmt.Sprintf("%s@%d", id, revision), AdminUp: true}}
}

func deleted(id string, revision int64) Change { return Change{Ref: Ref{KindNetwork, id, revision}} }

func push(t *testing.T, m *Mirror, changes ...Change) {
	t.Helper()
	if err := m.Push(context.Background(), changes); err != nil {
		t.Fatal(err)
	}
}

// names lists the networks that the mirror has, and checks that a mirror opened from
// the same store has the same.
func names(t *testing.T, m *Mirror) string {
	t.Helper()
	again := open(t, m.store)
	if a, b := m.Snapshot(), again.Snapshot(); !reflect.DeepEqual(a, b) {
		t.Errorf("after a restart: %+v, before: %+v", b, a)
	}
	var out []string
	for _, n := range m.Snapshot().Networks {
		out = append(out, n.Name)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestPushTakesTheNewest(t *testing.T) {
	m := open(t, &memory{kv: map[string][]byte{}})
	push(t, m, network("a", 2), network("b", 1))
	push(t, m, network("a", 1)) // an older one arrives late
	if got := names(t, m); got != "a@2 b@1" {
		t.Errorf("after an older change: %s", got)
	}
	push(t, m, network("a", 3), deleted("b", 1), network("b", 9))
	if got := names(t, m); got != "a@3" {
		t.Errorf("a change after the deletion brought the network back: %s", got)
	}
	repair := network("a", 1) // the cloud's database is from a backup
	repair.Repair = true
	push(t, m, repair)
	if got := names(t, m); got != "a@1" {
		t.Errorf("after a repair: %s", got)
	}
	push(t, m, deleted("neverseen", 0))
}

func TestPushRefusesNonsense(t *testing.T) {
	m := open(t, &memory{kv: map[string][]byte{}})
	for _, c := range []Change{
		{Ref: Ref{KindNetwork, "", 1}, Object: &Network{}},
		{Ref: Ref{KindNetwork, "../port/x", 1}, Object: &Network{}},
		{Ref: Ref{9, "a", 1}},
		{Ref: Ref{KindPort, "a", 1}, Object: &Network{}},
	} {
		if err := m.Push(context.Background(), []Change{network("good", 1), c}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if got := names(t, m); got != "" {
		t.Errorf("a refused push left %s", got)
	}
}

func TestPushThatIsNotStoredIsNotTakenOver(t *testing.T) {
	s := &memory{kv: map[string][]byte{}}
	m := open(t, s)
	s.fail = errors.New("disk full")
	if err := m.Push(context.Background(), []Change{network("a", 1)}); !errors.Is(err, s.fail) {
		t.Fatal(err)
	}
	s.fail = nil
	if got := names(t, m); got != "" {
		t.Errorf("not stored, but taken over: %s", got)
	}
}

func TestPushOfMany(t *testing.T) {
	m := open(t, &memory{kv: map[string][]byte{}})
	var all []Change
	for i := range 450 {
		all = append(all, network(fmt.Sprint("n", i), 1))
	}
	push(t, m, all...)
	if got := len(strings.Fields(names(t, m))); got != 450 {
		t.Errorf("%d of 450 networks", got)
	}
}

func TestCompare(t *testing.T) {
	ctx := context.Background()
	m := open(t, &memory{kv: map[string][]byte{}})
	push(t, m, network("a", 2), network("b", 1), network("c", 1), deleted("d", 1))
	there := []Ref{{KindNetwork, "a", 2}, {KindNetwork, "b", 1}, {KindNetwork, "c", 1}}
	if equal, differing, err := m.Compare(ctx, digestOf(there), nil); !equal || len(differing) > 0 || err != nil {
		t.Errorf("the same: %v %v %v", equal, differing, err)
	}
	there = []Ref{{KindNetwork, "a", 1}, {KindNetwork, "b", 1}, {KindNetwork, "e", 4}}
	equal, differing, err := m.Compare(ctx, digestOf(there), there)
	want := []Ref{{KindNetwork, "a", 1}, {KindNetwork, "e", 4}, {KindNetwork, "c", 1}}
	if equal || err != nil || !reflect.DeepEqual(differing, want) {
		t.Errorf("differing: %v %v, want %v", differing, err, want)
	}
}

// The digest is part of the protocol: the plugin computes it, too.
func TestDigest(t *testing.T) {
	refs := []Ref{{KindNetwork, "0a", 3}, {KindPort, "0b", 12}}
	const want = "401108a06daaf68c8e9388e06962533b557c4eeaa83c2e75b37c31d65069af22"
	if got := fmt.Sprintf("%x", digestOf(refs)); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

func TestDeletedIsForgottenLater(t *testing.T) {
	s := &memory{kv: map[string][]byte{}}
	m := open(t, s)
	now := time.Unix(1e9, 0)
	m.now = func() time.Time { return now }
	push(t, m, network("a", 1), deleted("a", 1))
	for _, hours := range []int{0, 2} {
		now = now.Add(time.Duration(hours) * time.Hour)
		if _, _, err := m.Compare(context.Background(), nil, nil); err != nil {
			t.Fatal(err)
		}
		if kept := len(s.kv) == 1; kept != (hours == 0) {
			t.Errorf("after %d hours the store has %v", hours, s.kv)
		}
	}
}
