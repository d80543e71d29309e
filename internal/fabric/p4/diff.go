package p4

import (
	"bytes"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt/client"
)

// keyOf identifies an entity: two with the same key cannot both be on the switch.
func keyOf(e client.Entity) string {
	switch e := e.(type) {
	case client.Multicast:
		return fmt.Sprintf("multicast %d", e.ID)
	case client.Entry:
		var b strings.Builder
		fmt.Fprintf(&b, "%s %d", e.Table, e.Priority)
		for _, k := range sortedKeys(e.Match) {
			m := e.Match[k]
			if m.Any {
				continue
			}
			fmt.Fprintf(&b, " %s=%x/%x/%d/%x-%x", k, trim(m.Value), trim(m.Mask), m.PrefixLen, trim(m.Lo), trim(m.Hi))
		}
		return b.String()
	}
	return e.String()
}

// trim drops leading zero bytes, which do not matter.
func trim(b []byte) []byte { return new(big.Int).SetBytes(b).Bytes() }

// same reports whether two entities of one key have the same value.
func same(a, b client.Entity) bool {
	switch a := a.(type) {
	case client.Multicast:
		b, ok := b.(client.Multicast)
		return ok && sameReplicas(a.Replicas, b.Replicas)
	case client.Entry:
		b, ok := b.(client.Entry)
		if !ok || a.Action != b.Action || len(a.Params) != len(b.Params) {
			return false
		}
		for k, v := range a.Params {
			if !bytes.Equal(trim(v), trim(b.Params[k])) {
				return false
			}
		}
		return true
	}
	return false
}

func sameReplicas(a, b []target.Replica) bool {
	if len(a) != len(b) {
		return false
	}
	count := map[target.Replica]int{}
	for i := range a {
		count[a[i]]++
		count[b[i]]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// changes are the writes that lead from one state to another.
type changes struct {
	updates                 []client.Update
	added, changed, deleted int
}

// rank orders entities as desired does: what sends packets somewhere comes after what
// waits for them there.
func rank(e client.Entity) int {
	x, ok := e.(client.Entry)
	if !ok {
		return 1 // multicast groups
	}
	if i := slices.Index(backboneTables, x.Table); i >= 0 {
		return 2 + i
	}
	return 0 // rules
}

// diff returns what has to be written: first what is new or changed, in the order of
// want, then deletions, so that packets are never led to where nothing is any more.
func diff(have, want []client.Entity) changes {
	var c changes
	old := map[string]client.Entity{}
	for _, e := range have {
		old[keyOf(e)] = e
	}
	keep := map[string]bool{}
	for _, e := range want {
		k := keyOf(e)
		keep[k] = true
		switch was, ok := old[k]; {
		case !ok:
			c.updates = append(c.updates, client.Insert(e))
			c.added++
		case !same(was, e):
			c.updates = append(c.updates, client.Modify(e))
			c.changed++
		}
	}
	var gone []client.Entity
	for _, e := range have {
		if !keep[keyOf(e)] {
			gone = append(gone, e)
		}
	}
	slices.SortStableFunc(gone, func(a, b client.Entity) int { return rank(b) - rank(a) })
	for _, e := range gone {
		c.updates = append(c.updates, client.Delete(e))
		c.deleted++
	}
	return c
}
