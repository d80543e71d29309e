package verify

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// route is one path of one chain.
type route struct {
	chain, path int // path counts from 1
	name        string
	scope       int
	nfs         []string // in the order visited
	loops       map[int]bool
	maxLoops    int
}

func (r route) String() string { return fmt.Sprintf("chain %q, path %d", r.name, r.path) }

// machine is something that carries packets along a route.
type machine interface {
	// load replaces all rules by these, of all chains.
	load(rules []rule) error
	// take makes all packets that follow take a route.
	take(r route) error
	inject(p target.Packet) (outcome, error)
	close() error
}

// outcome is what became of a packet.
type outcome struct {
	packets []target.Packet
	digests []target.Digest
}

// normal sorts what has no order: copies of a multicast packet, digests of one packet.
func (o outcome) normal() outcome {
	slices.SortFunc(o.packets, func(a, b target.Packet) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), bytes.Compare(a.Data, b.Data))
	})
	slices.SortFunc(o.digests, func(a, b target.Digest) int { return strings.Compare(digestText(a), digestText(b)) })
	return o
}

func digestText(d target.Digest) string {
	var b strings.Builder
	b.WriteString(d.Name)
	for _, v := range d.Values {
		fmt.Fprintf(&b, " 0x%x", bytes.TrimLeft(v, "\x00"))
	}
	return b.String()
}

func same(a, b outcome) bool {
	return slices.EqualFunc(a.packets, b.packets, func(x, y target.Packet) bool {
		return x.Port == y.Port && bytes.Equal(x.Data, y.Data)
	}) && slices.EqualFunc(a.digests, b.digests, func(x, y target.Digest) bool { return digestText(x) == digestText(y) })
}

// String gives the outcome in lines.
func (o outcome) String() string {
	var lines []string
	for _, p := range o.packets {
		lines = append(lines, fmt.Sprintf("port %d: %x", p.Port, p.Data))
	}
	for _, d := range o.digests {
		lines = append(lines, "digest "+digestText(d))
	}
	if len(o.packets) == 0 {
		lines = append(lines, "no packet leaves")
	}
	return strings.Join(lines, "\n")
}

// rule is an entry of an NF's table, in the NF's own names, for one chain.
type rule struct {
	scope int
	table *table
	entry target.Entry // without the scope; of tables with a profile Member is set
}

// tracer hands events to whoever listens at the moment.
type tracer struct{ to func(interp.Event) }

func (t *tracer) Trace(e interp.Event) {
	if t.to != nil {
		t.to(e)
	}
}

// replicas are the multicast groups that both machines have. Each leads to more ports
// than the one that a packet comes from.
func replicas(group uint32) []target.Replica {
	out := []target.Replica{{Port: 1, Instance: 1}, {Port: 2, Instance: 1}}
	if group%2 == 1 {
		out = append(out, target.Replica{Port: 3, Instance: 1})
	}
	return out
}

func addGroups(d target.Switch) error {
	for _, id := range words {
		if id == 0 {
			continue
		}
		if err := d.WriteMulticast(target.Insert, uint32(id), replicas(uint32(id))); err != nil {
			return err
		}
	}
	return nil
}
