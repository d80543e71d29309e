package ebpf

import (
	_ "embed"
	"fmt"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

//go:embed prelude_flow.h
var preludeFlow string

// flowWords is how many words of eight bytes a key of a flow_state has, and where its
// scalars begin in them, in bytes.
func flowWords(widths []int) (offsets []int, words int) {
	at := 0
	for _, w := range widths {
		n := cbytes(w)
		at = align(at, min(n, 8))
		offsets = append(offsets, at)
		at += n
	}
	return offsets, (at + 7) / 8
}

// declareFlows writes the map of a flow_state. Its contents are the packets' own: the
// control plane neither reads nor writes them.
func (g *gen) declareFlows(i *ir.Instance) {
	c := g.globals.fresh(i.FullName)
	g.instances[i] = c
	g.need["flow"] = true
	_, words := flowWords(i.Key)
	g.maps.f("/* flow_state %s */", i.FullName)
	g.maps.f("struct %s_key {", c)
	g.maps.f("u64 w[%d];", words)
	g.maps.f("};")
	g.declareMap(c, "LRU_HASH", i.Size, "struct "+c+"_key", "struct flow", "")
	g.maps.f("")
	w, _ := ir.ScalarBits(i.Elem)
	g.spec.MapKeys[c] = fmt.Sprintf("%s %s %d %v %d", i.Kind, i.FullName, i.Size, i.Key, w)
}

// flowKey writes the key of a flow_state, by whole words, and returns its variable.
func (f *fn) flowKey(i *ir.Instance, e ir.Expr) string {
	offsets, words := flowWords(i.Key)
	lanes := make([][]string, words)
	for n, v := range f.flatten(e) {
		v = f.hold(v)
		for k, c := range v.words {
			at := offsets[n] + 8*k
			lanes[at/8] = append(lanes[at/8], fmt.Sprintf("LANE(u%d, %s, %d)", 8*min(cbytes(v.w), 8), c, at%8))
		}
	}
	key := fmt.Sprintf("k%d", f.temps)
	f.temps++
	f.t.f("u64 %s[%d];", key, words)
	for n, l := range lanes {
		f.t.f("%s[%d] = %s;", key, n, join(l, "|"))
	}
	return key
}

func (f *fn) flowRead(s *ir.Call) {
	key := f.flowKey(s.Inst, s.Args[0])
	w, _ := ir.ScalarBits(s.Inst.Elem)
	v := narrow(64, f.temp("u64", fmt.Sprintf("read_flow(&%s, %s)", f.g.instances[s.Inst], key)))
	f.store(s.Dst, f.resize(v, w, false))
}

func (f *fn) flowWrite(s *ir.Call) {
	value, life := f.temp("u64", f.low(s.Args[1])), f.temp("u32", f.low(s.Args[2]))
	key := f.flowKey(s.Inst, s.Args[0])
	f.t.f("write_flow(&%s, %s, %s, %s);", f.g.instances[s.Inst], key, value, life)
}
