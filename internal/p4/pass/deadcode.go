package pass

import "github.com/catena-nfv/catena/internal/p4/ir"

// deadcode removes conditionals that make no difference.
//
// When assignments and calls were removed, the conditions around them are left:
//
//	if (hdr.ipv4.isValid()) { }           if (c) { x = 1; } else { x = 1; }
//	→ nothing                             → x = 1;
//
// An if without a then gets the opposite condition. The arms of a switch that do
// nothing go if nothing else would be done instead; a table is applied in any case.
// Actions, tables and extern objects stay, used or not: the control plane knows them.
func deadcode(p *ir.Program) { bodies(p, withoutIdle) }

func withoutIdle(ss []ir.Stmt) []ir.Stmt {
	out := ss[:0:0]
	for _, s := range ss {
		parts(s, withoutIdle)
		if instead, ok := idleParts(s); ok {
			out = append(out, instead...)
			continue
		}
		out = append(out, s)
	}
	return out
}

// idleParts removes the parts of a statement that do nothing. If nothing is left of
// it but some statements, or none, it returns these.
func idleParts(s ir.Stmt) (instead []ir.Stmt, ok bool) {
	switch s := s.(type) {
	case *ir.If:
		if sameList(s.Then, s.Else) {
			return s.Then, true
		}
		if len(s.Then) == 0 {
			s.Cond = simplify(&ir.Unary{Op: ir.Not, X: s.Cond, Span: s.Cond.Pos()})
			s.Then, s.Else = s.Else, nil
		}
	case *ir.Switch:
		if len(s.Default) == 0 {
			s.Cases = nonEmptyCases(s.Cases)
		}
		if len(s.Cases) == 0 {
			return s.Default, true
		}
	case *ir.Apply:
		s.Cases = nonEmptyArms(s.Cases)
	case *ir.Block:
		return nil, len(s.Body) == 0 && len(s.Annotations) == 0
	}
	return nil, false
}

// sameList reports whether two lists of assignments and calls are written alike. Two
// empty lists are.
func sameList(a, b []ir.Stmt) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !ir.SameStmt(a[i], b[i]) {
			return false
		}
	}
	return true
}

func nonEmptyCases(cs []ir.SwitchCase) []ir.SwitchCase {
	out := cs[:0:0]
	for _, c := range cs {
		if len(c.Body) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// nonEmptyArms leaves out the arms without statements, unless the default arm would
// be taken instead.
func nonEmptyArms(cs []ir.ApplyCase) []ir.ApplyCase {
	for _, c := range cs {
		if c.Default && len(c.Body) > 0 {
			return cs
		}
	}
	out := cs[:0:0]
	for _, c := range cs {
		if len(c.Body) > 0 {
			out = append(out, c)
		}
	}
	return out
}
