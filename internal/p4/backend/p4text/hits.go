package p4text

import "github.com/catena-nfv/catena/internal/p4/ir"

// foldHits finds the variables that only carry the result of an apply to the if that
// follows it: `v = t.apply().hit; if (v)` is printed `if (t.apply().hit)`, and v is
// not declared. The result maps the variables to their apply.
//
// A variable qualifies if a list of statements has the apply and the if in a row, the
// condition is v or !v, and the block uses v nowhere else.
func foldHits(c *ir.Control, body []ir.Stmt) map[*ir.Var]*ir.Apply {
	uses := map[*ir.Var]int{}
	count := func(e ir.Expr) {
		if r, ok := e.(*ir.VarRef); ok {
			uses[r.Var]++
		}
	}
	inStmt := func(s ir.Stmt) { ir.WalkExprs(s, count) }
	ir.Walk(body, inStmt)
	for _, a := range c.Actions {
		ir.Walk(a.Body, inStmt)
	}
	for _, t := range c.Tables {
		for _, k := range t.Keys {
			ir.WalkExpr(k.X, count)
		}
	}
	local := map[*ir.Var]bool{}
	for _, v := range c.Locals {
		local[v] = true
	}
	found := map[*ir.Var]*ir.Apply{}
	eachList(body, func(list []ir.Stmt) {
		for i := range list[:max(len(list)-1, 0)] {
			v := hitVar(list[i])
			f, ok := list[i+1].(*ir.If)
			if v != nil && ok && local[v] && uses[v] == 2 && len(v.Annotations) == 0 && condVar(f.Cond) == v {
				found[v] = list[i].(*ir.Apply)
			}
		}
	})
	return found
}

// hitVar returns the variable that receives the hit of a plain apply.
func hitVar(s ir.Stmt) *ir.Var {
	a, ok := s.(*ir.Apply)
	if !ok || a.Hit == nil || len(a.Cases) > 0 {
		return nil
	}
	if r, ok := a.Hit.(*ir.VarRef); ok {
		return r.Var
	}
	return nil
}

// condVar returns v for the conditions v and !v.
func condVar(e ir.Expr) *ir.Var {
	if u, ok := e.(*ir.Unary); ok && u.Op == ir.Not {
		e = u.X
	}
	if r, ok := e.(*ir.VarRef); ok {
		return r.Var
	}
	return nil
}

// eachList calls f for a list of statements and those within.
func eachList(list []ir.Stmt, f func([]ir.Stmt)) {
	f(list)
	for _, s := range list {
		switch s := s.(type) {
		case *ir.If:
			eachList(s.Then, f)
			eachList(s.Else, f)
		case *ir.Switch:
			for _, c := range s.Cases {
				eachList(c.Body, f)
			}
			eachList(s.Default, f)
		case *ir.Apply:
			for _, c := range s.Cases {
				eachList(c.Body, f)
			}
		case *ir.Block:
			eachList(s.Body, f)
		case *ir.Loop:
			eachList(s.Body, f)
		}
	}
}
