package verify

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"

	"github.com/catena-nfv/catena/internal/compose"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// Values that keys, parameters and packets have in common, so that rules are hit by
// packets, also behind NFs that change them.
var (
	addresses = []int64{0x0a000001, 0x0a000002, 0x0a000101, 0xc0a80109}
	stations  = []int64{0x020000000001, 0x020000000002, 0x020000000003}
	words     = []int64{0, 1, 2, 3, 53, 80, 4000}
	small     = []int64{0, 1, 2, 3, 6, 17, 64}
)

// values draws numbers for fields and parameters.
type values struct {
	rng *rand.Rand
	// of has the constants that a program compares a field with.
	of map[*ir.Field][]*big.Int
}

func newValues(rng *rand.Rand, programs []*ir.Program) *values {
	v := &values{rng: rng, of: map[*ir.Field][]*big.Int{}}
	for _, p := range programs {
		v.learn(p)
	}
	return v
}

// learn collects the constants of a program.
func (v *values) learn(p *ir.Program) {
	add := func(x, y ir.Expr) {
		m, ok := x.(*ir.Member)
		k, isConst := y.(*ir.Const)
		if ok && isConst {
			v.of[m.Field] = append(v.of[m.Field], k.Value)
		}
	}
	compare := func(e ir.Expr) {
		if b, ok := e.(*ir.Binary); ok {
			add(b.X, b.Y)
			add(b.Y, b.X)
		}
	}
	for _, s := range p.Parser.States {
		for i, e := range s.Next.Select {
			for _, k := range s.Next.Cases {
				if x, ok := k.Keys[i].(*ir.KeyExact); ok {
					add(e, &ir.Const{Value: x.Value})
				}
			}
		}
	}
	for _, k := range p.Controls() {
		look := func(s ir.Stmt) { ir.WalkExprs(s, compare) }
		ir.Walk(k.Body.Body, look)
		for _, a := range k.Actions {
			ir.Walk(a.Body, look)
		}
	}
}

// width draws a value of a width.
func (v *values) width(w int) *big.Int {
	pool := small
	switch {
	case w == 32:
		pool = addresses
	case w == 48:
		pool = stations
	case w >= 16:
		pool = words
	case w == 9:
		pool = []int64{1, 2, 3, 4}
	}
	x := big.NewInt(pool[v.rng.IntN(len(pool))])
	if v.rng.IntN(40) == 0 {
		x.SetUint64(v.rng.Uint64())
	}
	return fit(x, w)
}

// field draws a value of a field: one that some program looks for, or one of its width.
func (v *values) field(f *ir.Field) *big.Int {
	w, _ := ir.ScalarBits(f.Type)
	if special := v.of[f]; len(special) > 0 && v.rng.IntN(3) > 0 {
		return fit(special[v.rng.IntN(len(special))], w)
	}
	return v.width(w)
}

func fit(x *big.Int, width int) *big.Int {
	return new(big.Int).And(x, ones(width))
}

func ones(width int) *big.Int {
	one := big.NewInt(1)
	return new(big.Int).Sub(new(big.Int).Lsh(one, uint(width)), one)
}

// table is a table of an NF that rules can be written to.
type table struct {
	nf      string
	block   string // name of its control
	decl    *ir.Table
	program *ir.Program
}

// tablesOf returns the tables of an NF whose entries the program does not give.
func tablesOf(nf string, p *ir.Program) []*table {
	var out []*table
	for _, k := range []*ir.Control{p.Ingress, p.Egress} {
		for _, t := range k.Tables {
			if len(t.Entries) == 0 && len(target.ControlKeys(t)) > 0 {
				out = append(out, &table{nf: nf, block: k.Name, decl: t, program: p})
			}
		}
	}
	return out
}

// merged returns what an object of the table's control is called in the composed
// program.
func (t *table) merged(prefix, name string) string { return compose.FullName(prefix, t.block, name) }

// actions returns the actions that entries can have.
func (t *table) actions() []*ir.Action {
	var out []*ir.Action
	for _, a := range t.decl.Actions {
		if !a.DefaultOnly {
			out = append(out, a.Action)
		}
	}
	return out
}

// addMembers gives the table's action profile, if it has one, a member for each action.
// Profiles have no scope: all rules share them. name says what the table's objects are
// called on the device.
func (t *table) addMembers(d target.Switch, name func(string) string) error {
	if t.decl.Impl == nil {
		return nil
	}
	v := &values{rng: rand.New(rand.NewPCG(1, 1))}
	profile := name(t.decl.Impl.FullName)
	for i, a := range t.actions() {
		m := target.Member{ID: uint32(i + 1), Action: target.Action{Name: name(a.FullName), Params: v.params(a)}}
		// Several tables may use one profile.
		if err := d.WriteMember(target.Insert, profile, m); err != nil && !errors.Is(err, target.ErrExists) {
			return fmt.Errorf("action profile %s: %w", profile, err)
		}
	}
	return nil
}

func (v *values) params(a *ir.Action) [][]byte {
	var out [][]byte
	for _, p := range a.Params {
		w, _ := ir.ScalarBits(p.Type)
		out = append(out, target.Encode(v.width(w), w))
	}
	return out
}

// rules makes rules for all tables of an NF in a scope: perAction for each action, of
// which gentle leaves out those that may drop a packet.
func (v *values) rules(scope int, tables []*table, perAction int, gentle bool) []rule {
	var out []rule
	for _, t := range tables {
		taken := map[string]bool{}
		for n, a := range t.actions() {
			if gentle && mayDrop(a) {
				continue
			}
			for range perAction {
				e := target.Entry{Table: t.decl.FullName, Priority: 1 + len(out)}
				if t.decl.Impl != nil {
					e.Member = uint32(n + 1)
				} else {
					e.Action = &target.Action{Name: a.FullName, Params: v.params(a)}
				}
				for _, k := range target.ControlKeys(t.decl) {
					e.Match = append(e.Match, v.match(k))
				}
				e, err := target.CheckEntry(t.decl, e)
				id := target.Identity(e)
				if err != nil || taken[id] {
					continue
				}
				taken[id] = true
				out = append(out, rule{scope: scope, table: t, entry: e})
			}
		}
	}
	return out
}

// match draws a match of a key.
func (v *values) match(k *ir.Key) target.Match {
	w, _ := ir.ScalarBits(k.Type)
	x := v.width(w)
	if m, ok := k.X.(*ir.Member); ok {
		x = v.field(m.Field)
	}
	b := target.Encode(x, w)
	if k.Match != ir.MatchExact && v.rng.IntN(2) == 0 {
		return target.Match{Any: true}
	}
	switch k.Match {
	case ir.MatchLPM:
		n := []int{w, w, w - w/4, w / 2}[v.rng.IntN(4)]
		return target.Match{Value: b, PrefixLen: n}
	case ir.MatchTernary:
		mask := ones(w)
		if v.rng.IntN(4) == 0 {
			mask = new(big.Int).Lsh(mask, uint(v.rng.IntN(w)))
		}
		return target.Match{Value: b, Mask: target.Encode(mask, w)}
	case ir.MatchRange:
		hi := new(big.Int).Add(x, big.NewInt(int64(v.rng.IntN(3))))
		if hi.BitLen() > w {
			hi = x
		}
		return target.Match{Lo: b, Hi: target.Encode(hi, w)}
	}
	return target.Match{Value: b}
}

// mayDrop reports whether an action may drop the packet.
func mayDrop(a *ir.Action) bool {
	drops := false
	ir.Walk(a.Body, func(s ir.Stmt) {
		call, ok := s.(*ir.Call)
		drops = drops || ok && call.Op == ir.OpMarkToDrop
	})
	return drops
}
