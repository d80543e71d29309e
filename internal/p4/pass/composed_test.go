package pass

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/chain"
	"github.com/catena-nfv/catena/internal/compose"
	"github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// TestComposed compares composed programs, with entries and packets made at random.
func TestComposed(t *testing.T) {
	for _, backbone := range []string{"vrouter", "wire", "l2"} {
		p := composed(t, backbone, "IDS", "Firewall", "NAT", "LB", "Firewall", "L3fwd", "NAT", "L2fwd", "IDS")
		for seed := range uint64(6) {
			configure := func(sw *interp.Switch) error { return populate(sw, p, seed) }
			compareOn(t, fmt.Sprintf("%s, seed %d", backbone, seed), p, configure, traffic(seed, 150))
		}
	}
}

func compiled(t testing.TB, file string) *ir.Program {
	t.Helper()
	p, fset, diags := compile.File("../../nf/"+file, compile.Options{IncludeDirs: []string{"../../nf/include"}})
	if err := diags.Err(fset); err != nil {
		t.Fatal(err)
	}
	return p
}

// composed makes the program of one chain of NFs.
func composed(t testing.TB, backbone string, nfs ...string) *ir.Program {
	t.Helper()
	var g chain.Graph
	var blocks []compose.NF
	seen := map[string]bool{}
	for i, n := range nfs {
		g.Nodes = append(g.Nodes, chain.Node{ID: i, NF: n, Chains: []int{1}})
		if !seen[n] {
			blocks = append(blocks, compose.NF{Name: n, Program: compiled(t, strings.ToLower(n+"/"+n)+".p4")})
		}
		seen[n] = true
	}
	c, diags := compose.Compose(compiled(t, "backbone/"+backbone+".p4"), blocks, g, compose.Options{})
	if diags.HasErrors() {
		t.Fatal(diags[0].Message)
	}
	if err := ir.Verify(c.Program); err != nil {
		t.Fatalf("the composer's program is malformed: %v", err)
	}
	return c.Program
}

// Values that keys, parameters and packets have in common, so that entries are hit.
var (
	addresses = []uint32{0x0a000001, 0x0a000002, 0x0a000101}
	stations  = []uint64{0x020000000001, 0x020000000002}
	l4ports   = []uint16{53, 80, 4000}
)

// value draws a value for a key or parameter by its name and width.
func value(r *rand.Rand, name string, width int) []byte {
	var v uint64
	switch {
	case name == "nodes":
		v = r.Uint64() | r.Uint64()
	case width == 32:
		v = uint64(addresses[r.IntN(len(addresses))])
	case width == 48:
		v = stations[r.IntN(len(stations))]
	case strings.HasSuffix(name, "_port"):
		v = uint64(l4ports[r.IntN(len(l4ports))])
	case name == "protocol":
		v = []uint64{1, 6, 17}[r.IntN(3)]
	case name == "members":
		v = 2
	default:
		v = uint64(r.IntN(3))
	}
	b := binary.BigEndian.AppendUint64(nil, v)
	if width < 64 {
		b = binary.BigEndian.AppendUint64(nil, v&(1<<width-1))
	}
	return b
}

// populate fills the tables of a program at random.
func populate(sw *interp.Switch, p *ir.Program, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 2))
	for id := range uint32(4) {
		if err := sw.WriteMulticast(target.Insert, id+1, []target.Replica{{Port: 1}, {Port: 2}, {Port: 3, Instance: 1}}); err != nil {
			return err
		}
	}
	for _, c := range p.Controls() {
		for _, t := range c.Tables {
			if t.ConstEntries || len(t.Keys) == 0 {
				continue
			}
			for range 12 {
				e := target.Entry{Table: t.FullName, Priority: 1 + r.IntN(100)}
				for _, k := range target.ControlKeys(t) {
					e.Match = append(e.Match, match(r, k))
				}
				if !target.HasPriority(t) {
					e.Priority = 0
				}
				a := t.Actions[r.IntN(len(t.Actions))].Action
				e.Action = &target.Action{Name: a.FullName}
				for _, x := range a.Params {
					w, _ := ir.ScalarBits(x.Type)
					e.Action.Params = append(e.Action.Params, value(r, x.Name, w))
				}
				// Two entries may have the same key.
				_ = sw.WriteEntry(target.Insert, e)
			}
		}
	}
	return nil
}

func match(r *rand.Rand, k *ir.Key) target.Match {
	w, _ := ir.ScalarBits(k.Type)
	v := value(r, k.Name, w)
	if k.Match != ir.MatchExact && r.IntN(5) > 0 {
		return target.Match{Any: true}
	}
	return target.Match{Value: v, Mask: target.Encode(ones(bitType(w)), w), PrefixLen: w, Lo: v, Hi: v}
}

// traffic makes ARP and IPv4 packets, some of them mutilated.
func traffic(seed uint64, n int) []target.Packet {
	r := rand.New(rand.NewPCG(seed, 3))
	var out []target.Packet
	be := binary.BigEndian
	mac := func() []byte { return be.AppendUint64(nil, stations[r.IntN(2)])[2:] }
	addr := func() uint32 { return addresses[r.IntN(3)] }
	for range n {
		b := append(append([]byte(nil), mac()...), mac()...)
		switch r.IntN(6) {
		case 0:
			b = append(b, 8, 6, 0, 1, 8, 0, 6, 4, 0, byte(1+r.IntN(2)))
			b = be.AppendUint32(append(b, mac()...), addr())
			b = be.AppendUint32(append(b, mac()...), addr())
		default:
			proto := []byte{1, 6, 6, 17, 17, 99}[r.IntN(6)]
			b = append(b, 8, 0, 0x45, 0, 0, 48, 0, 1, 0, 0, byte(r.IntN(4)), proto, 0, 0)
			b = be.AppendUint32(b, addr())
			b = be.AppendUint32(b, addr())
			b = be.AppendUint16(b, l4ports[r.IntN(3)])
			b = be.AppendUint16(b, l4ports[r.IntN(3)])
			for range 24 {
				b = append(b, byte(r.IntN(256)))
			}
		}
		switch r.IntN(8) {
		case 0:
			b = b[:r.IntN(len(b))]
		case 1:
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
		port := uint32(r.IntN(4))
		if port == 0 {
			port = 510
			b = append([]byte{0, byte(0x80 * r.IntN(2))}, b...)
		}
		out = append(out, target.Packet{Port: port, Data: b})
	}
	return out
}
