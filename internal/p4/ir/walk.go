package ir

// Walk calls f for every statement of a list and of what is nested in it, each
// before its parts. It does not enter the actions of tables.
func Walk(ss []Stmt, f func(Stmt)) {
	for _, s := range ss {
		f(s)
		switch s := s.(type) {
		case *If:
			Walk(s.Then, f)
			Walk(s.Else, f)
		case *Switch:
			for _, c := range s.Cases {
				Walk(c.Body, f)
			}
			Walk(s.Default, f)
		case *Apply:
			for _, c := range s.Cases {
				Walk(c.Body, f)
			}
		case *Block:
			Walk(s.Body, f)
		case *Loop:
			Walk(s.Body, f)
		}
	}
}

// WalkExprs calls f for every expression of a statement, its own ones only, each
// before its operands; lvalues are expressions, too.
func WalkExprs(s Stmt, f func(Expr)) {
	switch s := s.(type) {
	case *Assign:
		WalkExpr(s.Dst, f)
		WalkExpr(s.Src, f)
	case *If:
		WalkExpr(s.Cond, f)
	case *Switch:
		WalkExpr(s.X, f)
	case *Apply:
		WalkExpr(s.Hit, f)
	case *Call:
		for _, a := range s.Args {
			WalkExpr(a, f)
		}
		WalkExpr(s.Dst, f)
	}
}

// WalkExpr calls f for an expression and its operands; nil has none.
func WalkExpr(e Expr, f func(Expr)) {
	if e == nil {
		return
	}
	f(e)
	switch e := e.(type) {
	case *Member:
		WalkExpr(e.X, f)
	case *Index:
		WalkExpr(e.X, f)
		WalkExpr(e.I, f)
	case *Slice:
		WalkExpr(e.X, f)
	case *Unary:
		WalkExpr(e.X, f)
	case *Binary:
		WalkExpr(e.X, f)
		WalkExpr(e.Y, f)
	case *Cast:
		WalkExpr(e.X, f)
	case *Mux:
		WalkExpr(e.Cond, f)
		WalkExpr(e.Then, f)
		WalkExpr(e.Else, f)
	case *IsValid:
		WalkExpr(e.X, f)
	case *StackIndex:
		WalkExpr(e.X, f)
	case *Tuple:
		for _, x := range e.Elems {
			WalkExpr(x, f)
		}
	}
}
