package verify

import (
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// maxStates bounds a walk through a parser.
const maxStates = 32

// packets makes packets for one program.
type packets struct {
	*values
	program *ir.Program
	// assigned are the fields that metadata is set from, in the parser or ingress.
	assigned map[*ir.Field]ir.Expr
}

func newPackets(v *values, p *ir.Program) *packets {
	g := &packets{values: v, program: p, assigned: map[*ir.Field]ir.Expr{}}
	look := func(s ir.Stmt) {
		if as, ok := s.(*ir.Assign); ok {
			if m, ok := as.Dst.(*ir.Member); ok {
				if _, ok := as.Src.(*ir.Member); ok {
					g.assigned[m.Field] = as.Src
				}
			}
		}
	}
	for _, s := range p.Parser.States {
		ir.Walk(s.Body, look)
	}
	ir.Walk(p.Ingress.Body.Body, look)
	return g
}

// piece is a header of a packet in the making, or bytes that the parser skips.
type piece struct {
	header string // as pathOf gives it; "": skipped bytes
	decl   *ir.Header
	fields map[*ir.Field]*big.Int
	bits   map[*ir.Field]int // length of a varbit field
	raw    []byte
}

// draft is a packet in the making.
type draft struct {
	pieces  []*piece
	payload []byte
}

// aim is a rule that a packet shall match, and what makes packets for its NF.
type aim struct {
	by   *packets
	rule *rule
}

// make draws a packet that matches the rules, as far as one can. A short one ends within
// one of its headers.
func (g *packets) make(short bool, aims ...aim) []byte {
	var d *draft
	for range 12 {
		d = g.walk()
		all := true
		for _, a := range aims {
			all = a.by.aim(d, a.rule) && all
		}
		if all {
			break
		}
	}
	g.complete(d)
	data := d.bytes()
	if short {
		data = data[:g.within(d)]
	}
	return data
}

// within draws a place within a header: its distance from the packet's beginning.
func (g *packets) within(d *draft) int {
	if len(d.pieces) == 0 {
		return 0
	}
	last, at := g.rng.IntN(len(d.pieces)), 0
	for _, p := range d.pieces[:last] {
		at += len(p.bytes())
	}
	return at + g.rng.IntN(max(len(d.pieces[last].bytes()), 1))
}

// walk draws a way through the parser, with the headers that are extracted on it.
func (g *packets) walk() *draft {
	d := &draft{}
	s := g.program.Parser.States[0]
	for range maxStates {
		if s == ir.Accept || s == ir.Reject {
			break
		}
		ir.Walk(s.Body, func(x ir.Stmt) {
			if call, ok := x.(*ir.Call); ok {
				g.consume(d, call)
			}
		})
		s = g.choose(d, s.Next)
	}
	d.payload = make([]byte, g.rng.IntN(40))
	for i := range d.payload {
		d.payload[i] = byte(g.rng.Uint32())
	}
	return d
}

func (g *packets) consume(d *draft, call *ir.Call) {
	switch call.Op {
	case ir.OpExtract:
		h, ok := call.Dst.Type().(*ir.Header)
		if !ok {
			return
		}
		p := &piece{header: pathOf(call.Dst), decl: h, fields: map[*ir.Field]*big.Int{}, bits: map[*ir.Field]int{}}
		for _, f := range h.Fields {
			if t, ok := f.Type.(*ir.Varbit); ok {
				p.bits[f] = min(8*g.rng.IntN(5), t.Max/8*8)
				p.fields[f] = fit(g.width(64), p.bits[f])
				continue
			}
			p.fields[f] = g.field(f)
		}
		d.pieces = append(d.pieces, p)
	case ir.OpAdvance:
		p := &piece{}
		if k, ok := call.Args[0].(*ir.Const); ok && k.Value.IsInt64() {
			p.raw = make([]byte, min(k.Value.Int64()/8, 256))
		}
		d.pieces = append(d.pieces, p)
	}
}

// choose sets fields so that a case of a transition is taken, and returns the state
// behind the case that is.
func (g *packets) choose(d *draft, t ir.Transition) *ir.State {
	if len(t.Cases) == 0 {
		return ir.Reject
	}
	k := t.Cases[g.rng.IntN(len(t.Cases))]
	for i, key := range k.Keys {
		f, at := d.find(t.Select[i])
		if f == nil {
			continue
		}
		w, _ := ir.ScalarBits(f.Type)
		switch key := key.(type) {
		case *ir.KeyExact:
			at.fields[f] = key.Value
		case *ir.KeyMask:
			rest := new(big.Int).AndNot(at.fields[f], key.Mask)
			at.fields[f] = fit(rest.Or(rest, new(big.Int).And(key.Value, key.Mask)), w)
		case *ir.KeyRange:
			at.fields[f] = key.Lo
		}
	}
	// An earlier case may match, too.
	for _, c := range t.Cases {
		if d.matches(t.Select, c.Keys) {
			return c.Next
		}
	}
	return k.Next
}

// find returns the field that an expression stands for, and the piece that has it. Fields
// are found by their names: the programs of a chain mean the same by these.
func (d *draft) find(e ir.Expr) (*ir.Field, *piece) {
	m, ok := e.(*ir.Member)
	if !ok {
		return nil, nil
	}
	header := pathOf(m.X)
	for i := len(d.pieces) - 1; i >= 0; i-- {
		p := d.pieces[i]
		if p.header == "" || p.header != header {
			continue
		}
		for _, f := range p.decl.Fields {
			if f.Name == m.Field.Name && p.fields[f] != nil {
				return f, p
			}
		}
	}
	return nil, nil
}

// pathOf names a header instance: ".ipv4", ".tags[0]". Programs may call the struct that
// it is in otherwise.
func pathOf(e ir.Expr) string {
	switch e := e.(type) {
	case *ir.VarRef:
		return ""
	case *ir.Member:
		return pathOf(e.X) + "." + e.Field.Name
	case *ir.Index:
		if k, ok := e.I.(*ir.Const); ok {
			return pathOf(e.X) + "[" + k.Value.String() + "]"
		}
		return pathOf(e.X) + "[next]"
	}
	return "?"
}

// matches reports whether a row of a select matches; values that are not known do not
// count.
func (d *draft) matches(exprs []ir.Expr, keys []ir.Keyset) bool {
	for i, k := range keys {
		f, p := d.find(exprs[i])
		if f == nil {
			continue
		}
		v, in := p.fields[f], true
		switch k := k.(type) {
		case *ir.KeyExact:
			in = v.Cmp(k.Value) == 0
		case *ir.KeyMask:
			in = new(big.Int).And(v, k.Mask).Cmp(new(big.Int).And(k.Value, k.Mask)) == 0
		case *ir.KeyRange:
			in = v.Cmp(k.Lo) >= 0 && v.Cmp(k.Hi) <= 0
		}
		if !in {
			return false
		}
	}
	return true
}

// aim sets the fields that a rule looks at. It is false if the packet lacks one.
func (g *packets) aim(d *draft, r *rule) bool {
	found := true
	for i, k := range target.ControlKeys(r.table.decl) {
		m := r.entry.Match[i]
		if m.Any {
			continue
		}
		f, p := d.find(k.X)
		if x, ok := k.X.(*ir.Member); f == nil && ok {
			if from := g.assigned[x.Field]; from != nil {
				f, p = d.find(from)
			}
		}
		if f == nil {
			found = false
			continue
		}
		w, _ := ir.ScalarBits(f.Type)
		v := new(big.Int).SetBytes(m.Value)
		switch {
		case m.Lo != nil:
			v.SetBytes(m.Lo)
		case m.Mask != nil:
			v.Or(v, new(big.Int).AndNot(p.fields[f], new(big.Int).SetBytes(m.Mask)))
		case k.Match == ir.MatchLPM:
			low := ones(w - min(m.PrefixLen, w))
			v.Or(v, low.And(low, p.fields[f]))
		}
		p.fields[f] = fit(v, w)
	}
	return found
}

// complete gives the standard headers the lengths and constants that they have on
// every wire. Checksums are left to the program.
func (g *packets) complete(d *draft) {
	for i, p := range d.pieces {
		if p.header == "" || g.rng.IntN(30) == 0 {
			continue
		}
		rest := len(d.payload)
		for _, q := range d.pieces[i:] {
			rest += len(q.bytes())
		}
		for _, f := range p.decl.Fields {
			switch p.decl.Name + "." + f.Name {
			case "ipv4_t.version":
				p.fields[f] = big.NewInt(4)
			case "ipv4_t.ihl":
				p.fields[f] = big.NewInt(5)
			case "ipv4_t.frag_offset":
				p.fields[f] = new(big.Int)
			case "ipv4_t.ttl":
				if g.rng.IntN(8) > 0 && p.fields[f].Cmp(big.NewInt(1)) <= 0 {
					p.fields[f] = big.NewInt(64)
				}
			case "ipv4_t.total_len", "udp_t.length":
				p.fields[f] = big.NewInt(int64(rest))
			case "tcp_t.data_offset":
				p.fields[f] = big.NewInt(5)
			}
		}
	}
}

func (p *piece) bytes() []byte {
	if p.header == "" {
		return p.raw
	}
	all, width := new(big.Int), 0
	for _, f := range p.decl.Fields {
		w, ok := ir.ScalarBits(f.Type)
		if !ok {
			w = p.bits[f]
		}
		all.Or(all.Lsh(all, uint(w)), fit(p.fields[f], w))
		width += w
	}
	if pad := width % 8; pad != 0 {
		all.Lsh(all, uint(8-pad))
	}
	return target.Encode(all, (width+7)/8*8)
}

func (d *draft) bytes() []byte {
	var out []byte
	for _, p := range d.pieces {
		out = append(out, p.bytes()...)
	}
	return append(out, d.payload...)
}
