package ir

// SameExpr reports whether two expressions are written alike: the same operators
// on the same variables, fields and constants.
func SameExpr(a, b Expr) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	switch a := a.(type) {
	case *Const:
		b, ok := b.(*Const)
		return ok && Equal(a.T, b.T) && a.Value.Cmp(b.Value) == 0
	case *StringLit:
		b, ok := b.(*StringLit)
		return ok && a.Value == b.Value
	case *VarRef:
		b, ok := b.(*VarRef)
		return ok && a.Var == b.Var
	case *Member:
		b, ok := b.(*Member)
		return ok && a.Field == b.Field && SameExpr(a.X, b.X)
	case *Index:
		b, ok := b.(*Index)
		return ok && SameExpr(a.X, b.X) && SameExpr(a.I, b.I)
	case *Slice:
		b, ok := b.(*Slice)
		return ok && a.Hi == b.Hi && a.Lo == b.Lo && SameExpr(a.X, b.X)
	case *Unary:
		b, ok := b.(*Unary)
		return ok && a.Op == b.Op && SameExpr(a.X, b.X)
	case *Binary:
		b, ok := b.(*Binary)
		return ok && a.Op == b.Op && SameExpr(a.X, b.X) && SameExpr(a.Y, b.Y)
	case *Cast:
		b, ok := b.(*Cast)
		return ok && Equal(a.T, b.T) && SameExpr(a.X, b.X)
	case *Mux:
		b, ok := b.(*Mux)
		return ok && SameExpr(a.Cond, b.Cond) && SameExpr(a.Then, b.Then) && SameExpr(a.Else, b.Else)
	case *IsValid:
		b, ok := b.(*IsValid)
		return ok && SameExpr(a.X, b.X)
	case *StackIndex:
		b, ok := b.(*StackIndex)
		return ok && a.Last == b.Last && SameExpr(a.X, b.X)
	case *Tuple:
		b, ok := b.(*Tuple)
		return ok && SameExprs(a.Elems, b.Elems)
	}
	return false
}

// SameExprs reports whether two lists hold the same expressions.
func SameExprs(a, b []Expr) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !SameExpr(a[i], b[i]) {
			return false
		}
	}
	return true
}

// SameStmt reports whether two statements without parts (assignments and calls)
// are written alike. Statements with parts are never the same.
func SameStmt(a, b Stmt) bool {
	switch a := a.(type) {
	case *Assign:
		b, ok := b.(*Assign)
		return ok && SameExpr(a.Dst, b.Dst) && SameExpr(a.Src, b.Src)
	case *Call:
		b, ok := b.(*Call)
		return ok && a.Op == b.Op && a.Inst == b.Inst && SameExprs(a.Args, b.Args) && SameExpr(a.Dst, b.Dst)
	}
	return false
}

// SameKeyset reports whether two keysets are written alike.
func SameKeyset(a, b Keyset) bool {
	switch a := a.(type) {
	case *KeyExact:
		b, ok := b.(*KeyExact)
		return ok && a.Value.Cmp(b.Value) == 0
	case *KeyMask:
		b, ok := b.(*KeyMask)
		return ok && a.Value.Cmp(b.Value) == 0 && a.Mask.Cmp(b.Mask) == 0
	case *KeyRange:
		b, ok := b.(*KeyRange)
		return ok && a.Lo.Cmp(b.Lo) == 0 && a.Hi.Cmp(b.Hi) == 0
	case *KeyAny:
		_, ok := b.(*KeyAny)
		return ok
	case *KeySet:
		b, ok := b.(*KeySet)
		return ok && a.Set == b.Set && a.Part == b.Part
	}
	return false
}
