package e2e

import (
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt"
	"github.com/catena-nfv/catena/internal/p4rt/client"
)

// TestWriteSpeed writes 1000 entries at once and 100 one by one, through the protocol
// into the kernel. The limits leave room for a busy machine; what is not linear
// exceeds them.
func TestWriteSpeed(t *testing.T) {
	ctx := t.Context()
	b := newBed(t, ebpf.TC, 0)
	c := b.client(client.Config{})
	if err := c.SetPipeline(ctx, client.Commit, client.Pipeline{DeviceConfig: nfText(t, "firewall")}); err != nil {
		t.Fatal(err)
	}
	entry := func(i int) client.Entry {
		return client.Entry{
			Table: "rules", Priority: 1 + i, Action: "deny",
			Match: map[string]target.Match{
				"dst_port": {Value: p4rt.Uint(uint64(i)), Mask: []byte{0xff, 0xff}},
				"src_addr": {Value: []byte{10, 0, byte(i), 0}, Mask: []byte{255, 255, 255, 0}},
			},
		}
	}
	var us []client.Update
	for i := range 1000 {
		us = append(us, client.Insert(entry(i)))
	}
	limit := func(what string, d, most time.Duration) {
		t.Helper()
		t.Logf("%s: %v", what, d)
		if d > most {
			t.Errorf("%s took %v, the limit is %v", what, d, most)
		}
	}
	start := time.Now()
	if err := c.WriteAll(ctx, us...); err != nil {
		t.Fatal(err)
	}
	limit("1000 entries at once", time.Since(start), time.Second)
	start = time.Now()
	for i := range 100 {
		if err := c.Write(ctx, client.Modify(entry(i))); err != nil {
			t.Fatal(err)
		}
	}
	limit("100 entries one by one", time.Since(start), time.Second)
	start = time.Now()
	es, err := c.Entries(ctx, "rules")
	if err != nil || len(es) != 1000 {
		t.Fatalf("%d entries, %v", len(es), err)
	}
	limit("reading 1000 entries", time.Since(start), time.Second)
	for i := range us {
		us[i].Op = target.Delete
	}
	start = time.Now()
	if err := c.WriteAll(ctx, us...); err != nil {
		t.Fatal(err)
	}
	limit("deleting 1000 entries", time.Since(start), time.Second)
}
