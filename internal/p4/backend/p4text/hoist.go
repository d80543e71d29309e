package p4text

import (
	"strings"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// hoisted is a function that takes the place of a statement that no parser state can
// have: a switch or a loop, which come into a parser only by functions that it calls.
type hoisted struct {
	name string
	vars []*ir.Var // what it uses, in the order of use
}

// hoist prints a function for each switch and loop in the bodies of parser states.
// The parameters have the names of the variables that they stand for.
func (pr *printer) hoist(bodies []restructured) {
	pr.hoists = map[ir.Stmt]hoisted{}
	var out func(list []ir.Stmt)
	out = func(list []ir.Stmt) {
		for _, s := range list {
			switch s := s.(type) {
			case *ir.Switch, *ir.Loop:
				pr.hoistOne(s)
			case *ir.If:
				out(s.Then)
				out(s.Else)
			case *ir.Block:
				out(s.Body)
			}
		}
	}
	for _, b := range bodies {
		out(b.body)
	}
}

func (pr *printer) hoistOne(s ir.Stmt) {
	h := hoisted{name: pr.global.take("within_" + pr.prog.Parser.Name)}
	seen := map[*ir.Var]bool{}
	use := func(e ir.Expr) {
		if r, ok := e.(*ir.VarRef); ok && !seen[r.Var] {
			seen[r.Var] = true
			h.vars = append(h.vars, r.Var)
		}
	}
	ir.Walk([]ir.Stmt{s}, func(s ir.Stmt) {
		ir.WalkExprs(s, use)
		if l, ok := s.(*ir.Loop); ok {
			ir.WalkExpr(pr.loops[l], use)
		}
	})
	var params []string
	for _, v := range h.vars {
		params = append(params, "inout "+pr.typ(v.Type)+" "+pr.vars[v])
	}
	pr.parser = false
	pr.line("")
	pr.open("void %s(%s)", h.name, strings.Join(params, ", "))
	pr.stmt(s)
	pr.close("")
	pr.parser = true
	pr.hoists[s] = h
}

// hoistedCall prints the call of the function that stands for a statement.
func (pr *printer) hoistedCall(h hoisted) {
	var args []string
	for _, v := range h.vars {
		args = append(args, pr.vars[v])
	}
	pr.line("%s(%s);", h.name, strings.Join(args, ", "))
}
