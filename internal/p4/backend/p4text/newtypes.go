package p4text

import "github.com/catena-nfv/catena/internal/p4/ir"

// The IR has values of newtypes in their representation and remembers what was declared
// with one. What the control plane sees of that is printed with its newtype again:
// fields, parameters of actions, keys. There it is read through a cast to the
// representation and written through one to the newtype.

// newtype is how a newtype is printed. A cast goes step by step where it is made of
// another newtype.
type newtype struct {
	name string
	to   string // the casts from the representation, in front of an operand
	from string // the casts to the representation
}

// declareNewtypes prints the newtypes, each behind the one that it is made of.
func (pr *printer) declareNewtypes() {
	for _, n := range pr.prog.Newtypes {
		pr.declare(n.Type)
		under, name := pr.typ(n.Type), pr.global.take(n.Name)
		x := newtype{name, "(" + name + ")", "(" + under + ")"}
		if u, ok := pr.newtypes[n.TypeName]; ok {
			under = u.name
			x.to, x.from = x.to+u.to, u.from+"("+u.name+")"
		}
		pr.newtypes[n.Name] = x
		pr.line("")
		pr.annotationLines(n.Annotations)
		pr.line("type %s %s;", under, name)
	}
}

// declaredType gives the type of something declared with a newtype, or without if that
// is "".
func (pr *printer) declaredType(t ir.Type, newtype string) string {
	if n, ok := pr.newtypes[newtype]; ok {
		return n.name
	}
	return pr.typ(t)
}

// asNewtype casts an expression to a newtype, if there is one.
func (pr *printer) asNewtype(e ir.Expr, newtype string) string {
	n, ok := pr.newtypes[newtype]
	if !ok {
		return pr.expr(e)
	}
	if m, ok := e.(*ir.Member); ok && pr.fieldNewtype(m.Field) == n.name {
		return pr.place(e)
	}
	return n.to + pr.primary(e)
}

// fieldNewtype is the newtype with which a field is printed, or "".
func (pr *printer) fieldNewtype(f *ir.Field) string {
	if pr.plain[f] {
		return ""
	}
	return pr.newtypes[f.TypeName].name
}

// cloaked reports whether an expression is printed with a cast from a newtype.
func (pr *printer) cloaked(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.VarRef:
		return pr.newParams[e.Var]
	case *ir.Member:
		return pr.fieldNewtype(e.Field) != ""
	}
	return false
}

// place gives something that is assigned to, without the cast of one that is read.
func (pr *printer) place(e ir.Expr) string {
	if m, ok := e.(*ir.Member); ok {
		return pr.primary(m.X) + "." + pr.field(m.Field)
	}
	return pr.expr(e)
}

// assigned gives a value for a place.
func (pr *printer) assigned(dst, src ir.Expr) string {
	if m, ok := dst.(*ir.Member); ok && pr.fieldNewtype(m.Field) != "" {
		return pr.asNewtype(src, m.Field.TypeName)
	}
	return pr.expr(src)
}

// findPlain notes the fields that keep their representation, since something other than
// an assignment of the whole writes them.
func (pr *printer) findPlain() {
	pr.plain = map[*ir.Field]bool{}
	var written func(e ir.Expr)
	written = func(e ir.Expr) {
		switch e := e.(type) {
		case *ir.Slice:
			written(e.X)
		case *ir.Member:
			pr.plain[e.Field] = true
		}
	}
	look := func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.Assign:
			if x, ok := s.Dst.(*ir.Slice); ok {
				written(x)
			}
		case *ir.Apply:
			written(s.Hit)
		case *ir.Call:
			written(s.Dst)
		}
	}
	for _, s := range pr.prog.Parser.States {
		ir.Walk(s.Body, look)
	}
	for _, c := range pr.prog.Controls() {
		for _, a := range c.Actions {
			ir.Walk(a.Body, look)
		}
		if c.Body != nil {
			ir.Walk(c.Body.Body, look)
		}
	}
}
