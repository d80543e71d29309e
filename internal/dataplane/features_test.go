package dataplane

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	p4 "github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// feature is a program of testdata/p4 and what it is tried with.
type feature struct {
	name      string
	configure func(t *testing.T, s target.Switch)
	packet    func(r *rand.Rand) []byte
	counters  map[string]int // name and size
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// choose is one of some values.
func choose(r *rand.Rand, xs ...string) string { return xs[r.IntN(len(xs))] }

// randomBytes has many zeros and ones, so that matches happen.
func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		if r.IntN(3) == 0 {
			b[i] = byte(r.Uint32())
		} else {
			b[i] = byte(r.IntN(4))
		}
	}
	return b
}

func insert(t *testing.T, s target.Switch, table, action string, prio int, param byte, ms ...target.Match) {
	t.Helper()
	e := target.Entry{Table: table, Priority: prio, Match: ms, Action: &target.Action{Name: action, Params: [][]byte{{param}}}}
	must(t, s.WriteEntry(target.Insert, e))
}

func value(b ...byte) target.Match { return target.Match{Value: b} }

var anything = target.Match{Any: true}

var features = []feature{
	{
		name: "multicast",
		configure: func(t *testing.T, s target.Switch) {
			must(t, s.WriteMulticast(target.Insert, 5, []target.Replica{
				{Port: 1, Instance: 1}, {Port: 2, Instance: 2}, {Port: 3, Instance: 3}, {Port: 4, Instance: 2}, {Port: 5}}))
		},
		packet: func(r *rand.Rand) []byte {
			p := unhex(choose(r, "01", "02") + "0000000001 020000000002" + choose(r, "0800", "8100 00050800", "81000006 1111", "2222"))
			return append(p, randomBytes(r, 60)...)
		},
		counters: map[string]int{"I.seen": 4},
	},
	{
		name: "clone",
		configure: func(t *testing.T, s target.Switch) {
			must(t, s.WriteMulticast(target.Insert, 5, []target.Replica{{Port: 1, Instance: 1}, {Port: 2, Instance: 2}}))
			for _, x := range []target.CloneSession{
				{ID: 100, Replicas: []target.Replica{{Port: 7}}},
				{ID: 1, Replicas: []target.Replica{{Port: 3, Instance: 4}, {Port: 6, Instance: 5}}},
				{ID: 2, Replicas: []target.Replica{{Port: 9}}, Truncate: 40},
				{ID: 3, Replicas: []target.Replica{{Port: 3, Instance: 4}, {Port: 6}}, Truncate: 61},
				{ID: 4},
			} {
				must(t, s.WriteClone(target.Insert, x))
			}
		},
		packet: func(r *rand.Rand) []byte {
			p := []byte{0, 1, 1}
			p = append(p, byte(r.IntN(6))<<4|byte(r.IntN(16)), byte(r.IntN(6)), byte(r.IntN(32)))
			p = append(p, unhex("020000000002"+choose(r, "0800", "8100 00050800", "81000006 1111", "2222"))...)
			return append(p, randomBytes(r, 60+r.IntN(60))...)
		},
		counters: map[string]int{"E.kinds": 8},
	},
	{
		name: "hashes",
		packet: func(r *rand.Rand) []byte {
			return append(randomBytes(r, 48), randomBytes(r, r.IntN(1200))...)
		},
	},
	{
		name: "tables",
		configure: func(t *testing.T, s target.Switch) {
			insert(t, s, "I.exact_table", "I.exact_is", 0, 11, value(1), value(0, 1))
			insert(t, s, "I.exact_table", "I.exact_is", 0, 12, value(2), value(2, 0, 0, 0, 0, 1))
			for i, p := range []target.Match{anything, {Value: []byte{1, 0, 0, 0}, PrefixLen: 8}, {Value: []byte{1, 2, 0, 0}, PrefixLen: 15},
				{Value: []byte{1, 2, 3, 0}, PrefixLen: 24}, {Value: []byte{0, 0, 0, 0}, PrefixLen: 1}} {
				insert(t, s, "I.prefix_table", "I.prefix_is", 0, byte(20+i), value(0), p)
			}
			insert(t, s, "I.prefix_table", "I.prefix_is", 0, 30, value(1), target.Match{Value: []byte{1, 0, 0, 0}, PrefixLen: 8})
			tern := func(v, m byte) target.Match {
				return target.Match{Value: []byte{0, 0, 0, v}, Mask: []byte{0, 0, 0, m}}
			}
			insert(t, s, "I.ternary_table", "I.ternary_is", 10, 31, tern(1, 1), anything, anything)
			insert(t, s, "I.ternary_table", "I.ternary_is", 20, 32, tern(1, 3), anything, value(1))
			insert(t, s, "I.ternary_table", "I.ternary_is", 5, 33, anything, target.Match{Value: []byte{2}, Mask: []byte{2}}, anything)
			insert(t, s, "I.ternary_table", "I.ternary_is", 30, 34, tern(3, 255), target.Match{Value: []byte{1}, Mask: []byte{1}}, value(2))
			insert(t, s, "I.range_table", "I.range_is", 1, 41, target.Match{Lo: []byte{0, 100}, Hi: []byte{2, 3}}, value(0))
			insert(t, s, "I.range_table", "I.range_is", 2, 42, target.Match{Lo: []byte{1, 1}, Hi: []byte{1, 7}}, value(0))
			insert(t, s, "I.range_table", "I.range_is", 3, 43, anything, value(1))
			must(t, s.SetDefault("I.range_table", &target.Action{Name: "I.range_is", Params: [][]byte{{77}}}))
			for i := range uint32(5) {
				must(t, s.WriteMember(target.Insert, "I.spread", target.Member{ID: i + 1, Action: target.Action{Name: "I.chosen_is", Params: [][]byte{{byte(50 + i)}}}}))
			}
			must(t, s.WriteGroup(target.Insert, "I.spread", target.Group{ID: 1, Members: []target.GroupMember{{ID: 4, Weight: 2}, {ID: 2, Weight: 1}, {ID: 5, Weight: 1}}}))
			must(t, s.WriteGroup(target.Insert, "I.spread", target.Group{ID: 2}))
			for proto, e := range []target.Entry{{Member: 3}, {Group: 1}, {Group: 2}} {
				e.Table, e.Match = "I.selected", []target.Match{value(byte(proto))}
				must(t, s.WriteEntry(target.Insert, e))
			}
			must(t, s.WriteValueSet("P.types", [][]target.Match{{value(0x01, 0x02)}, {value(0x01, 0x01)}}))
			must(t, s.WriteRegister("I.totals", 3, [][]byte{{0x12, 0x34}}))
		},
		packet: func(r *rand.Rand) []byte {
			p := unhex(choose(r, "000000000001", "020000000001", "020202020202") + "000000000" + choose(r, "001", "002", "103") +
				choose(r, "0102", "0101", "0801", "9321", "7777") + choose(r, "0001", "2002", "1003", "c001", "e123", "6044"))
			p = append(p, randomBytes(r, 22)...)
			for i := range 4 {
				p[18+16+i] = byte(r.IntN(4)) // the destination
			}
			return append(p, randomBytes(r, r.IntN(20))...)
		},
		counters: map[string]int{"I.by_prio": 16},
	},
	{
		name: "again",
		packet: func(r *rand.Rand) []byte {
			p := unhex("020000000" + choose(r, "0", "1", "3", "5", "7") + "0" + choose(r, "0", "1", "2", "4", "7") + "0200000000" + choose(r, "01", "7f") + choose(r, "8100 0123 0800", "0800", "9999 00000000"))
			return append(p, randomBytes(r, 20+r.IntN(40))...)
		},
		counters: map[string]int{"I.kinds": 8},
	},
	{
		name: "flows",
		packet: func(r *rand.Rand) []byte {
			p := unhex("00000000000" + choose(r, "0", "1") + "02000000000" + choose(r, "0", "1", "2", "3") + choose(r, "0800", "0801") +
				choose(r, "00", "00", "00", "01", "01", "02") + choose(r, "0000000000", "ff00000001", "0000000002"))
			return append(p, make([]byte, 13+r.IntN(40))...)
		},
	},
	{
		name:   "written",
		packet: writtenPacket,
	},
	{
		name: "written_copies",
		configure: func(t *testing.T, s target.Switch) {
			must(t, s.WriteMulticast(target.Insert, 5, []target.Replica{{Port: 1, Instance: 1}, {Port: 2, Instance: 2}, {Port: 3}}))
		},
		packet: writtenPacket,
	},
	{
		name: "layout",
		packet: func(r *rand.Rand) []byte {
			p := unhex("0" + choose(r, "1", "2") + "000000000" + choose(r, "0", "1", "2", "3") + "02000000000" + choose(r, "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a"))
			tag := "8100 0" + choose(r, "001", "123")
			options := "1234 " + choose(r, "00", "08aa", "38aabbccddeeff11", "40aabbccddeeff1122") + choose(r, "01 42", "02 4243", "01 42", "03")
			ip := choose(r, "0800", "0800", "7777")
			if r.IntN(3) == 0 {
				ip = options
			}
			if r.IntN(8) == 0 {
				ip = "5555 112233"
			}
			for range r.IntN(5) {
				p = append(p, unhex(tag)...)
			}
			p = append(p, unhex(ip)...)
			p = append(p, unhex(choose(r, "45", "45", "55"))...)
			return append(p, randomBytes(r, []int{5, 18, 19, 20, 60, 700}[r.IntN(6)])...)
		},
	},
}

// writtenPacket is a packet of written.p4 with the checksums that it ought to have.
func writtenPacket(r *rand.Rand) []byte {
	p := append(unhex("020000000001 020000000002 7777"), randomBytes(r, 32+r.IntN(40))...)
	m := p[14:]
	m[1] = byte(r.Uint32()) // which fields are assigned
	put16 := func(at int, v uint16) { m[at], m[at+1] = byte(v>>8), byte(v) }
	number, word := m[5:9], m[3:5]
	put16(22, ones(m[0:3], m[9:10], number, word, number, m[10:11], m[20:21], []byte{0x12, 0x34}))
	put16(24, ones(number, []byte{0}, m[9:10], word, m[26:27], m[28:29], []byte{0x43, 0x21}, m[30:]))
	return p
}

// ones is the Internet checksum of some bytes, one behind another.
func ones(parts ...[]byte) uint16 {
	b := bytes.Join(parts, nil)
	sum := 0
	for i, x := range b {
		sum += int(x) << (8 * ((i + 1) % 2))
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

func program(t *testing.T, name string) *ir.Program {
	t.Helper()
	p, fset, diags := p4.File("testdata/p4/"+name+".p4", p4.Options{})
	if diags.HasErrors() {
		t.Fatal(diags.Err(fset))
	}
	p.Name = name
	return p
}

// TestFeatures compares the kernel with the reference interpreter, packet by packet.
func TestFeatures(t *testing.T) {
	for _, x := range features {
		p := program(t, x.name)
		for _, hook := range []ebpf.Target{ebpf.TC, ebpf.XDP} {
			if spec, _ := ebpf.Generate(p, nil); spec.Targets[hook] != "" {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", x.name, hook), func(t *testing.T) {
				reference, err := interp.New(p, interp.Options{})
				must(t, err)
				d := open(t, p, hook)
				if x.configure != nil {
					x.configure(t, reference)
					x.configure(t, d)
				}
				r := rand.New(rand.NewPCG(1, 1))
				for i := range 400 {
					in := target.Packet{Port: uint32(r.IntN(4)), Data: x.packet(r)}
					want, err := reference.Inject(in)
					must(t, err)
					got, err := d.Inject(in)
					must(t, err)
					same(t, fmt.Sprintf("packet %d on port %d: %x", i, in.Port, in.Data), got, want)
					if g, w := d.Digests(), reference.Digests(); !reflect.DeepEqual(g, w) {
						t.Fatalf("packet %d: digests %v, want %v", i, g, w)
					}
				}
				for name, n := range x.counters {
					for i := range n {
						g, err := d.ReadCounter(name, i)
						must(t, err)
						w, err := reference.ReadCounter(name, i)
						must(t, err)
						if g != w {
							t.Errorf("counter %s[%d] is %v, want %v", name, i, g, w)
						}
					}
				}
				for _, c := range p.Controls() {
					for _, i := range c.Instances {
						if i.Kind != ir.KindRegister {
							continue
						}
						for k := range i.Size {
							g, err := d.ReadRegister(i.FullName, k)
							must(t, err)
							w, err := reference.ReadRegister(i.FullName, k)
							must(t, err)
							if !reflect.DeepEqual(g, w) {
								t.Errorf("register %s[%d] is %x, want %x", i.FullName, k, g, w)
							}
						}
					}
					for _, tab := range c.Tables {
						g, gd, err := d.ReadEntries(tab.FullName)
						must(t, err)
						w, wd, err := reference.ReadEntries(tab.FullName)
						must(t, err)
						if !reflect.DeepEqual(g, w) || !reflect.DeepEqual(gd, wd) {
							t.Errorf("table %s reads\n%+v %+v, want\n%+v %+v", tab.FullName, g, gd, w, wd)
						}
					}
				}
			})
		}
	}
}

// same compares packets sent, in any order.
func same(t *testing.T, what string, got, want []target.Packet) {
	t.Helper()
	left := append([]target.Packet(nil), got...)
	for _, w := range want {
		found := false
		for i, g := range left {
			if g.Port == w.Port && bytes.Equal(g.Data, w.Data) {
				left = append(left[:i], left[i+1:]...)
				found = true
				break
			}
		}
		if !found {
			t.Fatalf("%s\ngot  %x\nwant %x", what, got, want)
		}
	}
	if len(left) > 0 {
		t.Fatalf("%s\ngot  %x\nwant %x", what, got, want)
	}
}

// TestMeter checks the colours of a burst, which do not depend on the clock.
func TestMeter(t *testing.T) {
	for _, hook := range []ebpf.Target{ebpf.TC, ebpf.XDP} {
		d := open(t, program(t, "tables"), hook)
		cfg := &target.MeterConfig{CIR: 1, CBurst: 2, PIR: 2, PBurst: 5}
		must(t, d.WriteMeter("I.rate", 0, cfg))
		back, err := d.ReadMeter("I.rate", 0)
		if err != nil || *back != *cfg {
			t.Fatalf("read back %+v, %v", back, err)
		}
		var colours []byte
		for range 8 {
			out, err := d.Inject(target.Packet{Port: 1, Data: make([]byte, 60)})
			must(t, err)
			colours = append(colours, out[0].Data[7])
		}
		if want := []byte{0, 0, 1, 1, 1, 2, 2, 2}; !bytes.Equal(colours, want) {
			t.Errorf("%s: colours %v, want %v", hook, colours, want)
		}
		must(t, d.WriteMeter("I.rate", 0, nil))
		if back, err := d.ReadMeter("I.rate", 0); err != nil || back != nil {
			t.Errorf("a meter without configuration reads %+v, %v", back, err)
		}
	}
}
