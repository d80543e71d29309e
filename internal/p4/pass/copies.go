package pass

import (
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// copies uses the original in place of a copy.
//
// Inlining gives each parameter a variable, assigned before the body and, if it is
// out or inout, copied back behind it; a variable that was assigned a literal, or
// compared with one, is as good as that literal.
//
//	port = std.ingress_port;                 port = std.ingress_port;
//	mark = 0;                        →       mark = 0;
//	if (port == 1 && mark == 0) {            if (std.ingress_port == 1) {
//
// The assignments themselves are left to the pass deadstores. A copy is followed as
// long as neither side is written to: not by the statements that follow, and not by
// an action of a table that is applied. A header field is no longer used in place of
// its copy once the validity of the header changes, so that no reads of invalid
// headers are made. Only whole scalars are followed: local variables as copies of
// anything, metadata as copies of literals. An assignment of what is there already
// is removed.
func copies(p *ir.Program) {
	c := newCopies(p)
	for _, s := range p.Parser.States {
		w := newForward(c, c.x)
		f := w.body(s.Body, make(facts, c.count))
		for i, x := range s.Next.Select {
			if f != nil {
				s.Next.Select[i] = c.value(x, f)
			}
		}
	}
	for _, k := range p.Controls() {
		w := newForward(c, c.x)
		w.control(k, c.begin(k.Locals))
		c.placesOnly = true
		for _, t := range k.Tables {
			if f := w.tables[t]; f != nil {
				for _, key := range t.Keys {
					key.X = c.value(key.X, f)
				}
			}
		}
		c.placesOnly = false
	}
	bodies(p, c.idle.sweep)
}

// copying is the analysis. Its facts are numbers of sources, one for each cell that
// may be a copy.
type copying struct {
	x     *effects
	st    *storage
	ord   []int32 // of a cell: its place in the facts, -1 if it is not followed
	local []bool  // of a cell: it may be a copy of a place, too
	count int

	sources  []source // number n is sources[n-1]
	ofCell   map[int]int32
	ofConst  map[constKey]int32
	copiesOf map[int][]int32 // of a cell: the places in the facts of its copies
	inHeader map[int]int     // of a validity cell: the cell behind the header

	dropped map[int32]int32 // facts behind mark_to_drop

	placesOnly bool // do not put literals in place of variables
	idle       removed
}

// source is a literal (cell -1) or a scalar place.
type source struct {
	e    ir.Expr
	cell int
}

type constKey struct{ t, v string }

func newCopies(p *ir.Program) *copying {
	st := newStorage(p)
	c := &copying{
		x: newEffects(p, st), st: st, ord: make([]int32, st.size), local: make([]bool, st.size),
		ofCell: map[int]int32{}, ofConst: map[constKey]int32{}, copiesOf: map[int][]int32{},
		inHeader: map[int]int{}, dropped: map[int32]int32{}, idle: removed{},
	}
	for i := range c.ord {
		c.ord[i] = -1
	}
	for _, v := range st.vars {
		if v != p.Hdr {
			c.follow(v.Type, st.base[v], v != p.Meta && v != p.Std)
		}
		c.headers(v.Type, st.base[v])
	}
	for _, f := range ir.FieldsOf(p.Std.Type) {
		cell := st.field(p.Std.Type, f, st.variable(p.Std)).lo
		switch f.Name {
		case "egress_spec":
			c.dropped[c.ord[cell]] = c.constant(&ir.Const{T: f.Type, Value: big.NewInt(dropPort)})
		case "mcast_grp":
			c.dropped[c.ord[cell]] = c.constant(&ir.Const{T: f.Type, Value: new(big.Int)})
		}
	}
	return c
}

// dropPort is the egress_spec that mark_to_drop sets.
const dropPort = 511

// follow makes the scalars outside of headers things that facts are about.
func (c *copying) follow(t ir.Type, lo int, local bool) {
	if s, ok := t.(*ir.Struct); ok {
		for _, f := range s.Fields {
			c.follow(f.Type, lo+c.st.layout(s).fields[f], local)
		}
		return
	}
	if _, ok := ir.ScalarBits(t); ok {
		c.ord[lo], c.local[lo] = int32(c.count), local
		c.count++
	}
}

// headers notes where the headers in a type end.
func (c *copying) headers(t ir.Type, lo int) {
	switch t := t.(type) {
	case *ir.Header:
		c.inHeader[lo] = lo + c.st.sizeOf(t)
	case *ir.Union, *ir.Struct:
		for _, f := range ir.FieldsOf(t) {
			c.headers(f.Type, lo+c.st.layout(t).fields[f])
		}
	case *ir.Stack:
		n := c.st.sizeOf(t.Elem)
		for i := range t.Size {
			c.headers(t.Elem, lo+1+i*n)
		}
	}
}

// begin is what is known when a control begins: its variables are zero.
func (c *copying) begin(locals []*ir.Var) facts {
	f := make(facts, c.count)
	for _, v := range locals {
		c.zero(v.Type, c.st.base[v], f)
	}
	return f
}

func (c *copying) zero(t ir.Type, lo int, f facts) {
	switch t := t.(type) {
	case *ir.Struct:
		for _, x := range t.Fields {
			c.zero(x.Type, lo+c.st.layout(t).fields[x], f)
		}
	case *ir.Bits, *ir.Bool:
		f[c.ord[lo]] = c.constant(&ir.Const{T: t, Value: new(big.Int)})
	}
}

func (c *copying) constant(k *ir.Const) int32 {
	key := constKey{k.T.String(), k.Value.String()}
	n, ok := c.ofConst[key]
	if !ok {
		c.sources = append(c.sources, source{k, -1})
		n = int32(len(c.sources))
		c.ofConst[key] = n
	}
	return n
}

func (c *copying) place(e ir.Expr, cell int) int32 {
	n, ok := c.ofCell[cell]
	if !ok {
		c.sources = append(c.sources, source{e, cell})
		n = int32(len(c.sources))
		c.ofCell[cell] = n
	}
	return n
}

// cell returns the cell of a scalar place that is known and whole.
func (c *copying) cell(e ir.Expr) (int, bool) {
	switch e.(type) {
	case *ir.VarRef, *ir.Member:
		if !isScalar(e) {
			return 0, false
		}
		s, ok := c.st.of(e)
		return s.lo, ok && s.exact && s.hi == s.lo+1
	}
	return 0, false
}

// followed is cell for places that facts are about.
func (c *copying) followed(e ir.Expr) (int, bool) {
	cell, ok := c.cell(e)
	return cell, ok && c.ord[cell] >= 0
}

func (c *copying) step(s ir.Stmt, f facts) {
	rewriteOwn(s, func(e ir.Expr) ir.Expr { return c.value(e, f) })
	var dst, n int32 = -1, 0
	if a, ok := s.(*ir.Assign); ok {
		if cell, ok := c.followed(a.Dst); ok {
			dst = c.ord[cell]
			n = c.sourceOf(a.Src, cell)
			if n != 0 && f[dst] == n {
				c.idle[s] = true
				return
			}
		}
	}
	c.x.of(s, func(span) {}, func(w span) { c.kill(w, f) })
	if n != 0 {
		f[dst] = n
		if src := c.sources[n-1].cell; src >= 0 {
			c.copiesOf[src] = append(c.copiesOf[src], dst)
		}
	}
	if k, ok := s.(*ir.Call); ok && k.Op == ir.OpMarkToDrop {
		for i, n := range c.dropped {
			f[i] = n
		}
	}
}

// sourceOf returns the number of what is assigned to a cell, 0 if it is not followed.
func (c *copying) sourceOf(e ir.Expr, dst int) int32 {
	if k, ok := e.(*ir.Const); ok {
		return c.constant(k)
	}
	if cell, ok := c.cell(e); ok && c.local[dst] && cell != dst {
		return c.place(e, cell)
	}
	return 0
}

func (c *copying) value(e ir.Expr, f facts) ir.Expr {
	rec := func(x ir.Expr) ir.Expr { return c.value(x, f) }
	switch e := e.(type) {
	case *ir.Const, *ir.StringLit:
		return e
	case *ir.VarRef, *ir.Member, *ir.Index:
		if cell, ok := c.followed(e); ok {
			if n := f[c.ord[cell]]; n != 0 && (!c.placesOnly || c.sources[n-1].cell >= 0) {
				return c.sources[n-1].e
			}
		}
		return place(e, rec)
	case *ir.IsValid:
		if x := place(e.X, rec); x != e.X {
			return &ir.IsValid{X: x, Span: e.Span}
		}
		return e
	case *ir.StackIndex:
		if x := place(e.X, rec); x != e.X {
			return &ir.StackIndex{X: x, Last: e.Last, Span: e.Span}
		}
		return e
	}
	if n := operands(e, rec); n != e {
		return simplify(n)
	}
	return e
}

// assume notes what a comparison with a literal, or a bool, says.
func (c *copying) assume(cond ir.Expr, holds bool, f facts) {
	switch e := cond.(type) {
	case *ir.VarRef, *ir.Member:
		if cell, ok := c.followed(e); ok && isBool(e) {
			f[c.ord[cell]] = c.constant(truth(holds, e))
		}
	case *ir.Unary:
		if e.Op == ir.Not {
			c.assume(e.X, !holds, f)
		}
	case *ir.Binary:
		switch {
		case e.Op == ir.AndAnd && holds, e.Op == ir.OrOr && !holds:
			c.assume(e.X, holds, f)
			c.assume(e.Y, holds, f)
		case e.Op == ir.Eq && holds, e.Op == ir.Ne && !holds:
			k, ok := e.Y.(*ir.Const)
			if cell, followed := c.followed(e.X); ok && followed {
				f[c.ord[cell]] = c.constant(k)
			}
		}
	}
}

func (c *copying) kill(s span, f facts) {
	for cell := s.lo; cell < s.hi; cell++ {
		if i := c.ord[cell]; i >= 0 {
			f[i] = 0
		}
		c.killCopies(cell, f)
		if end, ok := c.inHeader[cell]; ok {
			for x := cell + 1; x < end; x++ {
				c.killCopies(x, f)
			}
		}
	}
}

// killCopies forgets what is a copy of a cell.
func (c *copying) killCopies(cell int, f facts) {
	n, ok := c.ofCell[cell]
	if !ok {
		return
	}
	for _, i := range c.copiesOf[cell] {
		if f[i] == n {
			f[i] = 0
		}
	}
}
