package types

import "github.com/catena-nfv/catena/internal/p4/syntax"

// walkExpr visits an expression and its parts, outermost first; f returns false to
// leave the parts out.
func walkExpr(e syntax.Expr, f func(syntax.Expr) bool) {
	if e == nil || !f(e) {
		return
	}
	switch e := e.(type) {
	case *syntax.Member:
		walkExpr(e.X, f)
	case *syntax.Index:
		walkExpr(e.X, f)
		walkExpr(e.Index, f)
	case *syntax.Slice:
		walkExpr(e.X, f)
		walkExpr(e.Hi, f)
		walkExpr(e.Lo, f)
	case *syntax.Unary:
		walkExpr(e.X, f)
	case *syntax.Binary:
		walkExpr(e.X, f)
		walkExpr(e.Y, f)
	case *syntax.Ternary:
		walkExpr(e.Cond, f)
		walkExpr(e.Then, f)
		walkExpr(e.Else, f)
	case *syntax.Cast:
		walkExpr(e.X, f)
	case *syntax.Call:
		walkExpr(e.Fun, f)
		for _, a := range e.Args {
			walkExpr(a.Value, f)
		}
	case *syntax.ListExpr:
		for _, x := range e.Elems {
			walkExpr(x, f)
		}
	case *syntax.RecordExpr:
		for _, x := range e.Fields {
			walkExpr(x.Value, f)
		}
	case *syntax.MaskExpr:
		walkExpr(e.Value, f)
		walkExpr(e.Mask, f)
	case *syntax.RangeExpr:
		walkExpr(e.Lo, f)
		walkExpr(e.Hi, f)
	case *syntax.TupleKeyset:
		for _, x := range e.Elems {
			walkExpr(x, f)
		}
	}
}

// walkStmts visits the statements of a list and what is in them, outermost first, and
// every expression in them.
func walkStmts(ss []syntax.Stmt, stmt func(syntax.Stmt), expr func(syntax.Expr) bool) {
	for _, s := range ss {
		walkStmt(s, stmt, expr)
	}
}

func walkStmt(s syntax.Stmt, stmt func(syntax.Stmt), expr func(syntax.Expr) bool) {
	if s == nil {
		return
	}
	stmt(s)
	switch s := s.(type) {
	case *syntax.Assign:
		walkExpr(s.LHS, expr)
		walkExpr(s.RHS, expr)
	case *syntax.CallStmt:
		walkExpr(s.Call, expr)
	case *syntax.DirectApply:
		for _, a := range s.Args {
			walkExpr(a.Value, expr)
		}
	case *syntax.Block:
		walkStmts(s.Stmts, stmt, expr)
	case *syntax.DeclStmt:
		switch d := s.Decl.(type) {
		case *syntax.Var:
			walkExpr(d.Init, expr)
		case *syntax.Const:
			walkExpr(d.Value, expr)
		case *syntax.Instantiation:
			for _, a := range d.Args {
				walkExpr(a.Value, expr)
			}
		}
	case *syntax.If:
		walkExpr(s.Cond, expr)
		walkStmt(s.Then, stmt, expr)
		if s.Else != nil {
			walkStmt(s.Else, stmt, expr)
		}
	case *syntax.Return:
		walkExpr(s.Value, expr)
	case *syntax.Switch:
		walkExpr(s.Value, expr)
		for _, k := range s.Cases {
			if k.Body != nil {
				walkStmt(k.Body, stmt, expr)
			}
		}
	case *syntax.For:
		walkStmts(s.Init, stmt, expr)
		walkExpr(s.Cond, expr)
		walkStmts(s.Update, stmt, expr)
		walkStmt(s.Body, stmt, expr)
	case *syntax.ForIn:
		walkExpr(s.Over, expr)
		walkStmt(s.Body, stmt, expr)
	}
}
