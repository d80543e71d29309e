package ebpf

import "github.com/catena-nfv/catena/internal/p4/ir"

// The state of a packet that multicast copies is copied for each of them. What only parser and ingress look at is not: it
// would have to be kept at hand up to the end of ingress, for packets that are not copied, too.

// late is what egress, checksums and deparser look at of headers and metadata; nil is everything.
type late map[*ir.Field]bool

// lateFields finds it. In programs whose copies start again, are cloned or have headers moved it is everything.
func (g *gen) lateFields() late {
	if !g.copiesLast() || g.repeats() || !g.stays {
		return nil
	}
	l := late{}
	for _, h := range g.use.list {
		for _, x := range h.typ.Fields {
			if h.dirty[x] {
				l[x] = true // the deparser writes it
			}
		}
	}
	for _, c := range []*ir.Control{g.p.Egress, g.p.ComputeChecksum, g.p.Deparser} {
		g.addLate(l, c.Body.Body)
		for _, a := range c.Actions {
			g.addLate(l, a.Body)
		}
		for _, t := range c.Tables {
			for _, k := range t.Keys {
				l.add(k.X)
			}
		}
	}
	return l
}

// addLate notes what statements look at.
func (g *gen) addLate(l late, ss []ir.Stmt) {
	ir.Walk(ss, func(s ir.Stmt) {
		c, ok := s.(*ir.Call)
		switch {
		case ok && c.Op == ir.OpEmit: // writes what was assigned
		case ok && g.increments[c] != nil: // of what the checksum covers it needs what changed
			l.add(c.Dst)
			l.add(c.Args[0])
			for _, in := range g.increments[c].inputs {
				l.add(in.e)
			}
		default:
			ir.WalkExprs(s, l.visitor())
		}
	})
}

// add notes what an expression looks at.
func (l late) add(e ir.Expr) { ir.WalkExpr(e, l.visitor()) }

// visitor returns the function that notes what expressions look at, each before its operands.
func (l late) visitor() func(ir.Expr) {
	part := map[ir.Expr]bool{} // of which only a part is looked at
	return func(e ir.Expr) {
		switch e := e.(type) {
		case *ir.Member:
			part[e.X] = true
			l[e.Field] = true
		case *ir.Index:
			part[e.X] = true
		case *ir.StackIndex:
			part[e.X] = true
		case *ir.IsValid:
			part[e.X] = true
		}
		if !part[e] {
			l.addType(e.Type())
		}
	}
}

// addType notes all that is in values of a type.
func (l late) addType(t ir.Type) {
	if s, ok := t.(*ir.Stack); ok {
		l.addType(s.Elem)
		return
	}
	for _, f := range ir.FieldsOf(t) {
		l[f] = true
		l.addType(f.Type)
	}
}
