package pass

import "github.com/catena-nfv/catena/internal/p4/ir"

// fold computes what is known at compile time.
//
// Inlining, the composer and the other passes leave constants behind: arguments of
// sub-controls, the node that a bitmap is tested for, conditions that always hold.
//
//	if (true && (bit<16>)x == 0x12345) { a = y & 0xff; } else { a = b ++ c[7:0]; }
//
// with bit<8> x, y, a and c, becomes
//
//	a = b ++ c;
//
// An if or a switch whose choice is known is replaced by the branch; so are
// statements that never do anything: x = x, verify(true, …), assert(true),
// update_checksum(false, …).
func fold(p *ir.Program) {
	f := &folder{seen: map[ir.Expr]ir.Expr{}}
	for _, c := range p.Controls() {
		for _, t := range c.Tables {
			for _, k := range t.Keys {
				k.X = f.expr(k.X)
			}
		}
	}
	for _, s := range p.Parser.States {
		for i, x := range s.Next.Select {
			s.Next.Select[i] = f.expr(x)
		}
	}
	bodies(p, f.stmts)
}

// folder remembers what became of operators, so that one which stands in several
// places is worked on once.
type folder struct {
	seen map[ir.Expr]ir.Expr
}

func (f *folder) expr(e ir.Expr) ir.Expr {
	switch e.(type) {
	case nil:
		return nil
	case *ir.Const, *ir.VarRef, *ir.StringLit:
		return e
	}
	if out, ok := f.seen[e]; ok {
		return out
	}
	out := simplify(operands(e, f.expr))
	f.seen[e] = out
	return out
}

func (f *folder) stmts(ss []ir.Stmt) []ir.Stmt {
	out := ss[:0:0]
	for _, s := range ss {
		rewriteOwn(s, f.expr)
		if chosen, ok := decided(s); ok {
			out = append(out, f.stmts(chosen)...)
			continue
		}
		if idle(s) {
			continue
		}
		parts(s, f.stmts)
		out = append(out, s)
	}
	return out
}

// decided returns the statements that a conditional always chooses.
func decided(s ir.Stmt) ([]ir.Stmt, bool) {
	switch s := s.(type) {
	case *ir.If:
		switch {
		case ir.IsTrue(s.Cond):
			return s.Then, true
		case ir.IsFalse(s.Cond):
			return s.Else, true
		}
	case *ir.Switch:
		x, ok := ir.IsConst(s.X)
		if !ok {
			return nil, false
		}
		for _, c := range s.Cases {
			for _, v := range c.Values {
				if v.Value.Cmp(x) == 0 {
					return c.Body, true
				}
			}
		}
		return s.Default, true
	}
	return nil, false
}

// idle reports whether a statement never does anything.
func idle(s ir.Stmt) bool {
	switch s := s.(type) {
	case *ir.Assign:
		return ir.SameExpr(s.Dst, s.Src)
	case *ir.Call:
		switch s.Op {
		case ir.OpVerify, ir.OpAssert, ir.OpAssume:
			return ir.IsTrue(s.Args[0])
		case ir.OpVerifyChecksum, ir.OpVerifyChecksumPay, ir.OpUpdateChecksum, ir.OpUpdateChecksumPay:
			return ir.IsFalse(s.Args[0])
		}
	}
	return false
}
