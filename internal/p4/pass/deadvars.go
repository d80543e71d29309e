package pass

import "github.com/catena-nfv/catena/internal/p4/ir"

// deadvars removes the declarations of local variables that nothing uses.
//
// Inlining declares a variable for every parameter and every temporary; once copies
// and deadstores have done their work most are neither read nor written. Parameters
// of actions stay: the control plane sees them.
func deadvars(p *ir.Program) {
	used := map[*ir.Var]bool{}
	see := func(e ir.Expr) {
		ir.WalkExpr(e, func(e ir.Expr) {
			if r, ok := e.(*ir.VarRef); ok {
				used[r.Var] = true
			}
		})
	}
	stmts := func(ss []ir.Stmt) []ir.Stmt {
		ir.Walk(ss, func(s ir.Stmt) { ir.WalkExprs(s, see) })
		return ss
	}
	for _, s := range p.Parser.States {
		for _, x := range s.Next.Select {
			see(x)
		}
	}
	bodies(p, stmts)
	for _, c := range p.Controls() {
		for _, t := range c.Tables {
			for _, k := range t.Keys {
				see(k.X)
			}
		}
	}
	keep := func(vs []*ir.Var) []*ir.Var {
		out := vs[:0:0]
		for _, v := range vs {
			if used[v] {
				out = append(out, v)
			}
		}
		return out
	}
	p.Parser.Locals = keep(p.Parser.Locals)
	for _, c := range p.Controls() {
		c.Locals = keep(c.Locals)
	}
}
