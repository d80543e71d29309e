package pass

import "github.com/catena-nfv/catena/internal/p4/ir"

// effects tells what statements read and write, in cells. What a called action does
// is not part of it, nor what the switch reads between the blocks.
type effects struct {
	st *storage
	// Cells of the standard metadata that operations write.
	egressSpec, mcastGrp, checksumError span
}

func newEffects(p *ir.Program, st *storage) *effects {
	return &effects{
		st:            st,
		egressSpec:    st.std(p, "egress_spec"),
		mcastGrp:      st.std(p, "mcast_grp"),
		checksumError: st.std(p, "checksum_error"),
	}
}

// std returns the cells of a field of the standard metadata, none if the program's
// standard metadata has no such field.
func (st *storage) std(p *ir.Program, name string) span {
	for _, f := range ir.FieldsOf(p.Std.Type) {
		if f.Name == name {
			return st.field(p.Std.Type, f, st.variable(p.Std))
		}
	}
	return span{exact: true}
}

// reads calls f with the cells that the value of an expression depends on.
func (x *effects) reads(e ir.Expr, f func(span)) {
	switch e := e.(type) {
	case nil, *ir.Const, *ir.StringLit:
	case *ir.VarRef, *ir.Member, *ir.Index:
		s, ok := x.st.of(e)
		if !ok { // a member of what is no place, e.g. of ?:
			x.operandReads(e, f)
			return
		}
		f(s)
		x.indexReads(e, f)
	case *ir.IsValid:
		if s, ok := x.st.of(e.X); ok {
			x.validityOf(e.X.Type(), s, f)
			x.indexReads(e.X, f)
		} else {
			x.operandReads(e, f)
		}
	case *ir.StackIndex:
		if s, ok := x.st.of(e.X); ok {
			f(position(s))
			x.indexReads(e.X, f)
		} else {
			x.operandReads(e, f)
		}
	default:
		x.operandReads(e, f)
	}
}

func (x *effects) operandReads(e ir.Expr, f func(span)) {
	operands(e, func(y ir.Expr) ir.Expr {
		x.reads(y, f)
		return y
	})
}

// indexReads calls f with what is read in order to find a place.
func (x *effects) indexReads(e ir.Expr, f func(span)) {
	switch e := e.(type) {
	case *ir.Member:
		x.indexReads(e.X, f)
	case *ir.Slice:
		x.indexReads(e.X, f)
	case *ir.Index:
		x.reads(e.I, f)
		x.indexReads(e.X, f)
	}
}

// position is the position cell of a stack.
func position(s span) span {
	if s.exact && s.lo < s.hi {
		return span{s.lo, s.lo + 1, true}
	}
	return s
}

// validityOf calls f with the validity cells of a header, union, struct or stack.
func (x *effects) validityOf(t ir.Type, s span, f func(span)) {
	if !s.exact || s.lo == s.hi {
		f(s)
		return
	}
	x.st.validity(t, s.lo, func(c int) { f(span{c, c + 1, true}) })
}

// siblings calls f with the validity cells of a header's union: making a member
// valid makes the others invalid.
func (x *effects) siblings(e ir.Expr, f func(span)) {
	m, ok := e.(*ir.Member)
	if !ok {
		return
	}
	if t, ok := m.X.Type().(*ir.Union); ok {
		if s, ok := x.st.of(m.X); ok {
			x.validityOf(t, s, func(s span) { f(span{s.lo, s.hi, false}) })
		}
	}
}

// of calls read and write for what a statement itself does, without its parts. A
// write of an exact span happens always and depends on nothing that was there.
func (x *effects) of(s ir.Stmt, read, write func(span)) {
	switch s := s.(type) {
	case *ir.Assign:
		x.reads(s.Src, read)
		x.writes(s.Dst, true, read, write)
		if !isScalar(s.Dst) {
			x.siblings(s.Dst, write)
		}
	case *ir.If:
		x.reads(s.Cond, read)
	case *ir.Switch:
		x.reads(s.X, read)
	case *ir.Apply:
		for _, k := range s.Table.Keys {
			x.reads(k.X, read)
		}
		if s.Hit != nil {
			x.writes(s.Hit, true, read, write)
		}
	case *ir.Call:
		x.call(s, read, write)
	}
}

func isScalar(e ir.Expr) bool {
	_, ok := ir.ScalarBits(e.Type())
	return ok
}

// writes reports a write to an lvalue. A slice leaves the other bits as they are,
// which is no exact write.
func (x *effects) writes(e ir.Expr, always bool, read, write func(span)) {
	x.indexReads(e, read)
	s, ok := x.st.of(e)
	if !ok {
		return
	}
	if _, slice := e.(*ir.Slice); slice || !always {
		s.exact = false
	}
	write(s)
}

func (x *effects) call(s *ir.Call, read, write func(span)) {
	switch s.Op {
	case ir.OpSetValid, ir.OpSetInvalid:
		x.indexReads(s.Args[0], read)
		c, ok := x.st.of(s.Args[0])
		if !ok {
			return
		}
		if _, header := s.Args[0].Type().(*ir.Header); !header && s.Op == ir.OpSetValid {
			return
		}
		x.validityOf(s.Args[0].Type(), c, write)
		if s.Op == ir.OpSetValid {
			x.siblings(s.Args[0], write)
		}
		return
	case ir.OpPushFront, ir.OpPopFront:
		x.indexReads(s.Args[0], read)
		if c, ok := x.st.of(s.Args[0]); ok {
			read(c)
			write(span{c.lo, c.hi, false})
		}
		return
	case ir.OpMarkToDrop:
		write(x.egressSpec)
		write(x.mcastGrp)
		return
	}
	for _, a := range s.Args {
		x.reads(a, read)
	}
	switch s.Op {
	case ir.OpVerifyChecksum, ir.OpVerifyChecksumPay:
		write(span{x.checksumError.lo, x.checksumError.hi, false})
	case ir.OpUpdateChecksum, ir.OpUpdateChecksumPay:
		x.writes(s.Dst, false, read, write)
	case ir.OpExtract:
		x.writes(s.Dst, true, read, write)
		x.siblings(s.Dst, write)
		x.advances(s.Dst, write)
	default:
		if s.Dst != nil {
			x.writes(s.Dst, true, read, write)
			if s.Op == ir.OpLookahead && !isScalar(s.Dst) {
				x.siblings(s.Dst, write)
			}
		}
	}
}

// advances reports the positions of the stacks that an extract into their next
// element moves on.
func (x *effects) advances(e ir.Expr, write func(span)) {
	switch e := e.(type) {
	case *ir.Member:
		x.advances(e.X, write)
	case *ir.Index:
		if i, ok := e.I.(*ir.StackIndex); ok && !i.Last {
			if s, ok := x.st.of(e.X); ok {
				p := position(s)
				write(span{p.lo, p.hi, false})
			}
			x.advances(e.X, write)
		}
	}
}
