package compose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// facts are what the rows that were taken tell of a packet.
type facts struct {
	holds    []constraint
	excluded [][]constraint // none of these rows, which stood before, has matched
}

// constraint says that the value of an expression is in a keyset.
type constraint struct {
	expr ir.Expr
	key  ir.Keyset
}

// with adds that row i of a select was taken.
func (f facts) with(b branches, i int) facts {
	out := facts{holds: slices.Clip(f.holds), excluded: slices.Clip(f.excluded)}
	for n := range b.rows[:i] {
		out.excluded = append(out.excluded, b.constraints(n))
	}
	for _, c := range b.constraints(i) {
		if !slices.ContainsFunc(out.holds, func(d constraint) bool { return ir.SameExpr(c.expr, d.expr) && ir.SameKeyset(c.key, d.key) }) {
			out.holds = append(out.holds, c)
		}
	}
	return out
}

// constraints returns what a row demands.
func (b branches) constraints(i int) []constraint {
	var out []constraint
	for j, k := range b.rows[i].keys {
		if _, any := k.(*ir.KeyAny); !any {
			out = append(out, constraint{b.exprs[j], k})
		}
	}
	return out
}

// possible reports whether some packet may be so.
func (f facts) possible() bool {
	for i, c := range f.holds {
		for _, d := range f.holds[:i] {
			if !ir.SameExpr(c.expr, d.expr) {
				continue
			}
			if _, how := intersect(c.key, d.key); how == disjoint {
				return false
			}
		}
	}
	return !slices.ContainsFunc(f.excluded, f.implyAll)
}

// implyAll reports whether the facts imply all constraints.
func (f facts) implyAll(cs []constraint) bool {
	return !slices.ContainsFunc(cs, func(c constraint) bool {
		return !slices.ContainsFunc(f.holds, func(d constraint) bool {
			return ir.SameExpr(c.expr, d.expr) && covers([]ir.Keyset{c.key}, []ir.Keyset{d.key})
		})
	})
}

// imply reports whether the facts imply that a row matches.
func (f facts) imply(exprs []ir.Expr, keys []ir.Keyset) bool {
	for i, k := range keys {
		if _, any := k.(*ir.KeyAny); !any && !f.implyAll([]constraint{{exprs[i], k}}) {
			return false
		}
	}
	return true
}

// behind returns what still holds behind statements: nothing of what they may change.
func (f facts) behind(ss []ir.Stmt) facts {
	changed := map[string]bool{}
	ir.Walk(ss, func(s ir.Stmt) {
		for _, dst := range targets(s) {
			changed[rootOf(dst)] = true
		}
	})
	stays := func(c constraint) bool {
		safe := true
		ir.WalkExpr(c.expr, func(e ir.Expr) {
			switch e.(type) {
			case *ir.VarRef, *ir.Member:
				safe = safe && !changed[rootOf(e)]
			}
		})
		return safe
	}
	var out facts
	for _, c := range f.holds {
		if stays(c) {
			out.holds = append(out.holds, c)
		}
	}
	for _, row := range f.excluded {
		if !slices.ContainsFunc(row, func(c constraint) bool { return !stays(c) }) {
			out.excluded = append(out.excluded, row)
		}
	}
	return out
}

// rootOf names the header, the member of the metadata or the local that an lvalue is
// part of.
func rootOf(e ir.Expr) string {
	switch e := e.(type) {
	case *ir.VarRef:
		return e.Var.Name
	case *ir.Member:
		if v, ok := e.X.(*ir.VarRef); ok {
			return v.Var.Name + "." + e.Field.Name
		}
		return rootOf(e.X)
	case *ir.Index:
		return rootOf(e.X)
	case *ir.Slice:
		return rootOf(e.X)
	}
	return ""
}

// keyOf tells different facts apart.
func (pm *parserMerge) keyOf(f facts) string {
	var b strings.Builder
	write := func(c constraint) {
		i := slices.IndexFunc(pm.exprs, func(e ir.Expr) bool { return ir.SameExpr(e, c.expr) })
		if i < 0 {
			i = len(pm.exprs)
			pm.exprs = append(pm.exprs, c.expr)
		}
		fmt.Fprintf(&b, "%d:%T%v;", i, c.key, c.key)
	}
	for _, c := range f.holds {
		write(c)
	}
	for _, row := range f.excluded {
		b.WriteString("not ")
		for _, c := range row {
			write(c)
		}
	}
	return b.String()
}
