package dataplane

import (
	"encoding/binary"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// TestDirectCounters counts in entries that share elements of the counter's map: what is written of one is not seen of
// the others, a new entry starts from zero, and a successor goes on counting.
func TestDirectCounters(t *testing.T) {
	d := open(t, library(t, "firewall/firewall.p4"), ebpf.TC)
	entry := func(i int) target.Entry {
		return target.Entry{
			Table: "FirewallIngress.rules", Priority: i, Action: &target.Action{Name: "FirewallIngress.allow"},
			Match: []target.Match{{Value: be32(uint32(i)), Mask: be32(^uint32(0))}, anything, anything, anything, anything},
		}
	}
	const entries = 3 * ebpf.CounterGroup / 2
	for i := 1; i <= entries; i++ {
		must(t, d.WriteEntry(target.Insert, entry(i)))
	}
	packet := unhex("020000000001 020000000002 0800 45000028 00010000 40010000 00000000 0a000202")
	packet = append(packet, make([]byte, 20)...)
	send := func(i int) {
		t.Helper()
		binary.BigEndian.PutUint32(packet[26:], uint32(i))
		out, err := d.Inject(target.Packet{Port: 1, Data: packet})
		must(t, err)
		if len(out) != 1 {
			t.Fatalf("%d packets came out", len(out))
		}
	}
	check := func(when string, i int, packets uint64) {
		t.Helper()
		e, err := d.FindEntry(entry(i))
		must(t, err)
		if want := (target.Counter{Packets: packets, Bytes: packets * uint64(len(packet))}); e.Counter == nil || *e.Counter != want {
			t.Errorf("%s: entry %d counts %+v, want %+v", when, i, e.Counter, want)
		}
	}
	for i := 1; i <= entries; i++ {
		send(i)
	}
	send(entries)
	check("sent", 1, 1)
	check("sent", entries, 2)

	changed := entry(2)
	changed.Counter = &target.Counter{}
	must(t, d.WriteEntry(target.Modify, changed))
	check("reset", 2, 0)
	check("beside a reset one", 3, 1)
	send(2)
	check("after a reset", 2, 1)

	must(t, d.WriteEntry(target.Delete, entry(3)))
	must(t, d.WriteEntry(target.Insert, entry(entries+1))) // takes its index
	check("new", entries+1, 0)
	check("beside a new one", 2, 1)

	object, err := Build(t.Context(), d.Spec, BuildOptions{Targets: []ebpf.Target{ebpf.TC}, Test: true})
	must(t, err)
	next, err := Load(t.Context(), object, LoadOptions{Maps: d.Shared(d.Spec), Contents: d.Contents()})
	must(t, err)
	defer next.Close()
	send(entries + 1)
	for i, want := range map[int]uint64{1: 1, 2: 1, entries: 2, entries + 1: 1} {
		e, err := next.FindEntry(entry(i))
		must(t, err)
		if e.Counter == nil || e.Counter.Packets != want {
			t.Errorf("handed over: entry %d counts %+v, want %d packets", i, e.Counter, want)
		}
	}
}
