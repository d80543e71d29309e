package codegen

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"testing"

	cebpf "github.com/cilium/ebpf"

	"github.com/catena-nfv/catena/bench/netlab"
	"github.com/catena-nfv/catena/bench/workload"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/service"
)

// handWritten loads the reference, or skips where BPF programs cannot be loaded.
func handWritten(t *testing.T) (workloadOf, *cebpf.Collection) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if err := netlab.Need(map[string]string{"clang": "clang"}); err != nil {
		t.Skip(err)
	}
	w, err := forSFC1()
	if err != nil {
		t.Fatal(err)
	}
	c, err := newByHand(context.Background(), chains()[0], w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return w, c
}

func TestSFC1Verdicts(t *testing.T) {
	w, c := handWritten(t)
	for _, tr := range w.cases {
		want := uint32(verdict(ebpf.XDP, tr.drop))
		for _, size := range []int{64, 65, 1500} {
			got, _, err := c.Programs["sfc1"].Test(tr.packet.frame(size))
			if err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("%s, %d B: verdict %d, want %d", tr.name, size, got, want)
			}
		}
	}
}

// TestSFC1Rewrites checks the packet that leaves against one made by hand, checksums included.
func TestSFC1Rewrites(t *testing.T) {
	w, c := handWritten(t)
	f := workload.DefaultFlow()
	in := w.cases[0].packet
	want := in
	want.src, want.ttl, want.srcMAC, want.dstMAC = workload.Translated(), startTTL-1, f.ServerGateway, f.ServerMAC
	check := func(in, want packet) {
		t.Helper()
		for _, size := range []int{64, 65, 1500} {
			_, got, err := c.Programs["sfc1"].Test(in.frame(size))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want.frame(size)) {
				t.Errorf("%d B: out came\n%x\nwant\n%x", size, got[:atEnd], want.frame(size)[:atEnd])
			}
		}
	}
	check(in, want)
	// And back: so the program does the same work again and again on one packet.
	again := want
	again.src, again.ttl = in.src, startTTL-2
	check(want, again)
	// The way from the server: the outer address becomes the inner one.
	reply := in
	reply.src, reply.dst, reply.srcPort, reply.dstPort = f.Server, workload.Translated(), f.Service, 40000
	if err := c.Maps["ports_in"].Put(words(testInterface), words(outPort)); err != nil {
		t.Fatal(err)
	}
	if err := c.Maps["ports_out"].Put(words(inPort), words(testInterface)); err != nil {
		t.Fatal(err)
	}
	restored := reply
	restored.dst, restored.ttl, restored.srcMAC, restored.dstMAC = f.Client, startTTL-1, f.ClientGateway, f.ClientMAC
	check(reply, restored)
}

// TestSFC1Counts checks that each NF and rule counts what it meets.
func TestSFC1Counts(t *testing.T) {
	w, c := handWritten(t)
	for _, tr := range w.cases {
		if _, _, err := c.Programs["sfc1"].Test(tr.packet.frame(64)); err != nil {
			t.Fatal(err)
		}
	}
	sum := func(m string, index uint32, word int) (n uint64) {
		t.Helper()
		var perCPU [][]byte
		if err := c.Maps[m].Lookup(index, &perCPU); err != nil {
			t.Fatal(err)
		}
		for _, v := range perCPU {
			n += binary.NativeEndian.Uint64(v[8*word:])
		}
		return n
	}
	// Seen by IDS, firewall, NAT, L3fwd; dropped by them. Of five cases one is in no chain, one dropped by each of
	// the first two.
	for i, want := range []uint64{4, 3, 2, 2, 1, 1, 0, 0} {
		if got := sum("nodes", 0, 2*i); got != want {
			t.Errorf("packets in cell %d of the nodes: %d, want %d", i, got, want)
		}
	}
	if got := sum("nodes", 0, 1); got != 4*60 {
		t.Errorf("bytes seen by the IDS: %d, want 240", got)
	}
	rule := func(nf string, match func(service.Rule) bool) uint32 {
		for i, r := range w.rules[nf] {
			if match(r) {
				return uint32(i + 1)
			}
		}
		t.Fatalf("no such rule of %s", nf)
		return 0
	}
	xmas := rule("IDS", func(r service.Rule) bool { return r.Match["tcp_flags"] == "0x29&&&0x3f" })
	blocked := rule("Firewall", func(r service.Rule) bool { return r.Match["src_addr"] == "198.18.7.0/24" })
	for _, x := range []struct {
		m     string
		index uint32
		want  uint64
	}{{"ids_hits", xmas, 1}, {"ids_hits", 0, 0}, {"firewall_hits", blocked, 1}, {"firewall_hits", 0, 0}} {
		if got := sum(x.m, x.index, 0); got != x.want {
			t.Errorf("%s[%d]: %d packets, want %d", x.m, x.index, got, x.want)
		}
	}
}
