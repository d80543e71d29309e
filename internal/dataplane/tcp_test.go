package dataplane

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	p4 "github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// library compiles a program of the NF library.
func library(t *testing.T, file string) *ir.Program {
	t.Helper()
	text, err := nf.File(file)
	if err != nil {
		t.Fatal(err)
	}
	p, fset, diags := p4.Source(file, text, nf.Options())
	if diags.HasErrors() {
		t.Fatal(diags.Err(fset))
	}
	p.Name = file
	return p
}

// TestTCPThroughNAT sends TCP through the NAT between two namespaces. On TC segments
// come whole (up to 64 KB) with checksums that no one has computed yet, and addresses
// change: the sums must come out right all the same.
func TestTCPThroughNAT(t *testing.T) {
	for _, hook := range []ebpf.Target{ebpf.TC, ebpf.XDP} {
		t.Run(string(hook), func(t *testing.T) {
			w := newWireBed(t, hook)
			s := w.open()
			p := w.runs(s, library(t, "nat/nat.p4"))
			outside := netip.MustParseAddr("10.77.0.9")
			for _, e := range []target.Entry{
				{Table: "NatIngress.source", Match: []target.Match{{Value: wireAddr[0].Addr().AsSlice()}},
					Action: &target.Action{Name: "NatIngress.translate", Params: [][]byte{outside.AsSlice()}}},
				{Table: "NatIngress.restore", Match: []target.Match{{Value: outside.AsSlice()}},
					Action: &target.Action{Name: "NatIngress.restore_to", Params: [][]byte{wireAddr[0].Addr().AsSlice()}}},
			} {
				if err := p.WriteEntry(target.Insert, e); err != nil {
					t.Fatal(err)
				}
			}
			w.addPorts(s)
			if err := w.b.Do(func() error { return neighbour("eth0", outside, wireMAC(0)) }); err != nil {
				t.Fatal(err)
			}
			w.transfer(outside)
		})
	}
}

// neighbour says where an address is.
func neighbour(link string, a netip.Addr, mac net.HardwareAddr) error {
	l, err := netlink.LinkByName(link)
	if err != nil {
		return err
	}
	return netlink.NeighSet(&netlink.Neigh{LinkIndex: l.Attrs().Index, IP: a.AsSlice(), HardwareAddr: mac, State: netlink.NUD_PERMANENT})
}

// transfer sends some megabytes from a to b and back, and checks that b takes them to
// come from an address.
func (w *wireBed) transfer(from netip.Addr) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	l, err := w.b.Listen(ctx, net.JoinHostPort(wireAddr[1].Addr().String(), "5001"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer l.Close()
	peer := make(chan string, 1)
	go func() { // an echo server
		c, err := l.Accept()
		if err != nil {
			peer <- err.Error()
			return
		}
		defer c.Close()
		peer <- c.RemoteAddr().(*net.TCPAddr).IP.String()
		io.Copy(c, c)
		c.(*net.TCPConn).CloseWrite()
	}()
	c, err := w.a.DialContext(ctx, "tcp", l.Addr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	defer c.Close()
	deadline, _ := ctx.Deadline()
	c.SetDeadline(deadline)
	if got := <-peer; got != from.String() {
		w.t.Errorf("the connection seems to come from %s, not %s", got, from)
	}
	data := make([]byte, 4<<20)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	go func() {
		io.Copy(c, bytes.NewReader(data))
		c.(*net.TCPConn).CloseWrite()
	}()
	back, err := io.ReadAll(c)
	if err != nil {
		w.t.Fatal(err)
	}
	if sha256.Sum256(back) != sha256.Sum256(data) {
		w.t.Errorf("%d of %d bytes came back, or others", len(back), len(data))
	}
}
