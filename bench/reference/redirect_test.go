package reference

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	cebpf "github.com/cilium/ebpf"

	"github.com/catena-nfv/catena/bench/netlab"
)

// TestRedirectCarriesTCP checks both variants with real packets.
func TestRedirectCarriesTCP(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if err := netlab.Need(map[string]string{"iperf3": "iperf3", "clang": "clang"}); err != nil {
		t.Skip(err)
	}
	lab, err := netlab.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := lab.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	p, err := lab.Pair()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Direct(); err != nil {
		t.Fatal(err)
	}
	if err := lab.Serve(ctx, p.Server, 5201); err != nil {
		t.Fatal(err)
	}
	for _, peer := range []bool{false, true} {
		r, err := Connect(ctx, p.Client.Index, p.Server.Index, peer)
		if errors.Is(err, cebpf.ErrNotSupported) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Client.TCP(ctx, p.Server, 5201, time.Second)
		if err != nil {
			t.Fatalf("peer %t: %v", peer, err)
		}
		t.Logf("peer %t: %.2f Gbit/s, %d retransmits, %.2f CPUs", peer, got.BitsPerSecond/1e9, got.Retransmits, got.CPU)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Client.TCP(ctx, p.Server, 5201, time.Second); err == nil {
			t.Fatalf("peer %t: TCP after Close", peer)
		}
	}
}
