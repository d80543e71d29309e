package compose

import (
	"slices"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// mergeDeparser puts the headers that an NF emits among those of the composed
// program, each behind the one that it follows in the NF.
func (c *composer) mergeDeparser(name string, p *ir.Program, cp *ir.Copier, m *mapping) {
	body := c.out.Deparser.Body
	position := func(e ir.Expr) int {
		return slices.IndexFunc(body.Body, func(s ir.Stmt) bool {
			call, ok := s.(*ir.Call)
			return ok && call.Op == ir.OpEmit && ir.SameExpr(call.Args[0], e)
		})
	}
	emitted := map[*ir.Field]bool{}
	last := -1 // where the previous header of the NF stands
	for _, s := range p.Deparser.Body.Body {
		call, ok := s.(*ir.Call)
		if !ok || call.Op != ir.OpEmit {
			c.errorf(s.Pos(), "%s: a deparser that is composed may only emit headers, one after the other", name)
			return
		}
		n := &ir.Call{Op: ir.OpEmit, Args: cp.CopyExprs(call.Args), Span: call.Span}
		f := headerField(n.Args[0])
		emitted[f] = true
		at := position(n.Args[0])
		switch {
		case at < 0 && m.before[f] && !emitsPart(body.Body, f):
			c.errorf(s.Pos(), "%s emits header %s, which the composed program does not", name, f.Name).Note(f.Span, "it is declared here, too")
		case at < 0:
			last++
			body.Body = slices.Insert(body.Body, last, ir.Stmt(n))
		case at < last:
			c.errorf(s.Pos(), "%s emits its headers in another order than the composed program", name).
				Note(body.Body[at].Pos(), "there this header comes first")
			return
		default:
			last = at
		}
	}
	for _, s := range body.Body {
		call, ok := s.(*ir.Call)
		if !ok || call.Op != ir.OpEmit {
			continue
		}
		if f := headerField(call.Args[0]); m.headers[f] && !emitted[f] {
			c.errorf(m.declared[f], "%s does not emit its header %s, which the composed program does", name, f.Name).Note(call.Span, "it is emitted here")
		}
	}
}

// emitsPart reports whether statements emit a header or an element of it.
func emitsPart(ss []ir.Stmt, f *ir.Field) bool {
	return slices.ContainsFunc(ss, func(s ir.Stmt) bool {
		call, ok := s.(*ir.Call)
		return ok && call.Op == ir.OpEmit && headerField(call.Args[0]) == f
	})
}

// mergeChecksums appends the checksum operations of an NF that are not there yet.
func (c *composer) mergeChecksums(name string, from, to *ir.Control, cp *ir.Copier) {
	for _, v := range from.Locals {
		n := cp.CopyVar(v)
		n.Name = fresh(name+"_"+v.Name, func(n string) bool {
			return slices.ContainsFunc(to.Locals, func(v *ir.Var) bool { return v.Name == n })
		})
		to.Locals = append(to.Locals, n)
	}
	have := slices.Clone(to.Body.Body)
	for _, s := range cp.CopyBlock(from.Body).Body {
		if slices.ContainsFunc(have, func(x ir.Stmt) bool { return ir.SameStmt(s, x) }) {
			continue
		}
		for _, x := range have {
			if dst := checksumOf(s); dst != nil && ir.SameExpr(dst, checksumOf(x)) {
				c.errorf(s.Pos(), "%s computes this checksum in another way than the composed program", name).Note(x.Pos(), "there it is computed here")
			}
		}
		to.Body.Body = append(to.Body.Body, s)
	}
}

// checksumOf returns the field that a statement computes as a checksum, or nil.
func checksumOf(s ir.Stmt) ir.Expr {
	var dst ir.Expr
	ir.Walk([]ir.Stmt{s}, func(s ir.Stmt) {
		call, ok := s.(*ir.Call)
		if ok && (call.Op == ir.OpUpdateChecksum || call.Op == ir.OpUpdateChecksumPay) {
			dst = call.Dst
		}
	})
	return dst
}
