package types

import (
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/syntax"
)

// tableInfo is what checking finds out about a table.
type tableInfo struct {
	decl     *syntax.Table
	keys     []tableKey
	hasKey   bool
	actions  []*tableAction
	def      *tableAction // default_action, with all its arguments
	defConst bool
	entries  *syntax.EntriesProperty
	calls    map[*syntax.Entry]*tableAction
	props    map[string]*syntax.Property
}

type tableKey struct {
	elem  *syntax.KeyElem
	typ   Type
	match string
}

// tableAction is an action in a table: args has one expression for each parameter,
// nil for those of the control plane that are still to come.
type tableAction struct {
	ref    *syntax.ActionRef // nil for default_action
	sig    *Sig
	args   []syntax.Expr
	annots syntax.Annotations
}

func (t *tableInfo) has(s *Sig) bool { return t.listed(s) != nil }

func (t *tableInfo) listed(s *Sig) *tableAction {
	for _, a := range t.actions {
		if a.sig == s {
			return a
		}
	}
	return nil
}

// prioritised reports whether entries can overlap, so that their order matters.
func (t *tableInfo) prioritised() bool {
	for _, k := range t.keys {
		switch k.match {
		case "ternary", "range", "optional":
			return true
		}
	}
	return false
}

func (c *checker) tableDecl(d *syntax.Table) {
	info := &tableInfo{decl: d, calls: map[*syntax.Entry]*tableAction{}, props: map[string]*syntax.Property{}}
	o := &object{kind: objTable, name: d.Name.Text, span: d.Name.Span(), decl: d, table: info, checking: true}
	o.typ = &TableRef{o}
	c.annotations(d.Annots)
	c.declare(o)
	c.info.objs[d] = o
	seen := map[string]syntax.Node{}
	once := func(name string, n syntax.Node) bool {
		if old := seen[name]; old != nil {
			c.errorf(n.Span(), CodeTable, "table %s has two properties %s", d.Name.Text, name).Note(old.Span(), "the other one")
			return false
		}
		seen[name] = n
		return true
	}
	// The default action and the entries refer to keys and actions wherever these stand.
	for _, p := range d.Properties {
		switch p := p.(type) {
		case *syntax.KeyProperty:
			c.annotations(p.Annots)
			if once("key", p) {
				info.hasKey = true
				c.tableKeys(info, p)
			}
		case *syntax.ActionsProperty:
			c.annotations(p.Annots)
			if once("actions", p) {
				c.tableActions(info, p)
			}
		}
	}
	for _, p := range d.Properties {
		switch p := p.(type) {
		case *syntax.EntriesProperty:
			c.annotations(p.Annots)
			if once("entries", p) {
				c.tableEntries(info, p)
			}
		case *syntax.Property:
			c.annotations(p.Annots)
			if once(p.Name.Text, p) {
				c.tableProperty(info, p)
			}
		}
	}
	if seen["actions"] == nil {
		c.errorf(d.Name.Span(), CodeTable, "table %s has no actions", d.Name.Text)
	}
	if info.def == nil && seen["default_action"] == nil {
		if na := c.scope.lookup("NoAction"); na != nil && na.kind == objAction && len(na.sigs[0].params) > 0 {
			c.errorf(d.Name.Span(), CodeTable, "table %s has no default_action, and NoAction takes parameters", d.Name.Text).Note(na.span, "declared here")
		}
	}
	o.checking = false
}

func (c *checker) tableKeys(info *tableInfo, p *syntax.KeyProperty) {
	for _, k := range p.Elems {
		c.annotations(k.Annots)
		t := c.value(k.Expr)
		if resolved(t) == Int {
			c.errorf(k.Expr.Span(), CodeTable, "a key needs a width")
			t = Bad
		} else if !isBad(t) && (!selectable(t) || isStruct(t)) {
			c.errorf(k.Expr.Span(), CodeTable, "a key cannot be of type %s", t)
			t = Bad
		}
		match := k.Match.Text
		o := c.scope.lookup(match)
		if o == nil || o.kind != objMatchKind {
			c.errorf(k.Match.Span(), CodeTable, "%s is not a match kind", match)
			match = ""
		} else {
			o.used = true
		}
		if _, ok := base(t).(*Bits); !ok && !isBad(t) && (match == "lpm" || match == "range") {
			c.errorf(k.Expr.Span(), CodeTable, "a key of type %s cannot be matched by %s", t, match)
		}
		info.keys = append(info.keys, tableKey{k, t, match})
	}
}

func (c *checker) tableActions(info *tableInfo, p *syntax.ActionsProperty) {
	for _, r := range p.Refs {
		c.annotations(r.Annots)
		sig := c.actionNamed(r.Path)
		if sig == nil {
			for _, a := range r.Args {
				c.argument(a.Value)
			}
			continue
		}
		if info.has(sig) {
			c.errorf(r.Span(), CodeTable, "action %s is listed twice", r.Path)
			continue
		}
		a := &tableAction{ref: r, sig: sig, annots: r.Annots}
		a.args = c.boundArgs(r, sig)
		info.actions = append(info.actions, a)
	}
}

func (c *checker) actionNamed(p syntax.Path) *Sig {
	o := c.lookup(p)
	if o == nil {
		return nil
	}
	if o.kind != objAction {
		c.errorf(p.Span(), CodeTable, "%s is not an action", p).Note(o.span, "declared here")
		return nil
	}
	return o.sigs[0]
}

// boundArgs checks the arguments that a table's list gives to an action: all those
// with a direction, and no others.
func (c *checker) boundArgs(r *syntax.ActionRef, sig *Sig) []syntax.Expr {
	for _, a := range r.Args {
		c.argument(a.Value)
	}
	directed := sig.params
	for i, p := range sig.params {
		if p.Dir == syntax.DirNone {
			directed = sig.params[:i]
			break
		}
	}
	placed, at, why := place(directed, r.Args)
	if why != "" {
		if !at.IsValid() {
			at = r.Span()
		}
		if len(r.Args) > len(directed) {
			why = "only parameters with a direction are given here, the others come from the control plane"
		}
		c.errorf(at, CodeTable, "%s: %s", sig.name, why).Note(nodeSpan(sig.decl), "the action")
		return make([]syntax.Expr, len(sig.params))
	}
	for i, p := range directed {
		c.actionArg(placed[i], p, sig)
	}
	for len(placed) < len(sig.params) {
		placed = append(placed, nil)
	}
	return placed
}

func (c *checker) actionArg(a syntax.Expr, p *Param, sig *Sig) bool {
	if a == nil || isBad(c.info.types[a]) || isBad(p.Type) {
		return false
	}
	return c.passed(a, p, sig, subst{})
}

// fullCall checks an action with all of its arguments, as default_action and entries
// have it. Those with a direction repeat the ones of the table's list.
func (c *checker) fullCall(info *tableInfo, path syntax.Path, n syntax.Node, args []syntax.Arg, what string) *tableAction {
	for _, a := range args {
		c.argument(a.Value)
	}
	sig := c.actionNamed(path)
	if sig == nil {
		return nil
	}
	listed := info.listed(sig)
	if listed == nil {
		c.errorf(n.Span(), CodeTable, "%s is not in the list of actions of table %s", path, info.decl.Name.Text)
		return nil
	}
	placed, at, why := place(sig.params, args)
	if why != "" {
		if !at.IsValid() {
			at = n.Span()
		}
		c.errorf(at, CodeTable, "%s in %s: %s", sig.name, what, why).Note(nodeSpan(sig.decl), "the action")
		return nil
	}
	out := &tableAction{sig: sig, args: append([]syntax.Expr(nil), listed.args...)}
	for i, p := range sig.params {
		a := placed[i]
		if p.Dir != syntax.DirNone {
			if a != nil && listed.args[i] != nil && c.actionArg(a, p, sig) && !sameExpr(c.info, a, listed.args[i]) {
				c.errorf(a.Span(), CodeTable, "the argument for %s differs from the one in the list of actions", p.Name).Note(listed.args[i].Span(), "the one in the list")
			}
			continue
		}
		if a == nil {
			a = p.Decl.Default
		} else if !c.actionArg(a, p, sig) {
			return nil
		} else if !c.elaborated(a) {
			c.errorf(a.Span(), CodeConst, "the argument for %s in %s has to be known at compile time", p.Name, what)
			return nil
		}
		out.args[i] = a
	}
	return out
}

// sameExpr reports whether two expressions are written the same and name the same.
func sameExpr(info *Info, a, b syntax.Expr) bool {
	switch a := a.(type) {
	case *syntax.PathExpr:
		b, ok := b.(*syntax.PathExpr)
		return ok && info.uses[a] == info.uses[b]
	case *syntax.Member:
		b, ok := b.(*syntax.Member)
		return ok && a.Name.Text == b.Name.Text && sameExpr(info, a.X, b.X)
	case *syntax.TypeExpr:
		b, ok := b.(*syntax.TypeExpr)
		if !ok {
			return false
		}
		ta, ok1 := info.types[a].(*TypeRef)
		tb, ok2 := info.types[b].(*TypeRef)
		return ok1 && ok2 && identical(ta.T, tb.T)
	case *syntax.Index:
		b, ok := b.(*syntax.Index)
		return ok && sameExpr(info, a.X, b.X) && sameExpr(info, a.Index, b.Index)
	case *syntax.Slice:
		b, ok := b.(*syntax.Slice)
		return ok && sameExpr(info, a.X, b.X) && sameExpr(info, a.Hi, b.Hi) && sameExpr(info, a.Lo, b.Lo)
	case *syntax.IntLit:
		b, ok := b.(*syntax.IntLit)
		return ok && a.Value.Cmp(b.Value) == 0 && a.Sized == b.Sized && a.Width == b.Width && a.Signed == b.Signed
	case *syntax.BoolLit:
		b, ok := b.(*syntax.BoolLit)
		return ok && a.Value == b.Value
	case *syntax.Unary:
		b, ok := b.(*syntax.Unary)
		return ok && a.Op == b.Op && sameExpr(info, a.X, b.X)
	case *syntax.Binary:
		b, ok := b.(*syntax.Binary)
		return ok && a.Op == b.Op && sameExpr(info, a.X, b.X) && sameExpr(info, a.Y, b.Y)
	case *syntax.Cast:
		b, ok := b.(*syntax.Cast)
		return ok && identical(info.types[a], info.types[b]) && sameExpr(info, a.X, b.X)
	case *syntax.Call:
		b, ok := b.(*syntax.Call)
		if !ok || len(a.Args) != len(b.Args) || !sameExpr(info, a.Fun, b.Fun) {
			return false
		}
		for i := range a.Args {
			if !sameExpr(info, a.Args[i].Value, b.Args[i].Value) {
				return false
			}
		}
		return true
	}
	return false
}

func (c *checker) tableProperty(info *tableInfo, p *syntax.Property) {
	name := p.Name.Text
	info.props[name] = p
	switch name {
	case "default_action":
		c.defaultAction(info, p)
		return
	case "key", "actions", "entries":
		c.errorf(p.Span(), CodeTable, "%s is a list in braces", name)
		return
	}
	t := c.expr(p.Value)
	if isBad(t) {
		return
	}
	switch name {
	case "size":
		if n, ok := c.propertyInt(p, t); ok && n.Sign() < 0 {
			c.errorf(p.Value.Span(), CodeRange, "the size of a table cannot be %s", n)
		}
	case "priority_delta":
		if n, ok := c.propertyInt(p, t); ok && n.Sign() <= 0 {
			c.errorf(p.Value.Span(), CodeRange, "priority_delta has to be positive")
		}
	case "largest_priority_wins":
		if resolved(t) != Bool {
			c.errorf(p.Value.Span(), CodeMismatch, "largest_priority_wins is a bool, not %s", t)
		} else {
			c.constant(p.Value, name)
		}
	default:
		if what := notValue(t); what != "" {
			c.errorf(p.Value.Span(), CodeNotValue, "%s is not a value", what)
		}
	}
}

func (c *checker) propertyInt(p *syntax.Property, t Type) (*big.Int, bool) {
	if _, ok := base(t).(*Bits); !ok && resolved(t) != Int {
		c.errorf(p.Value.Span(), CodeMismatch, "%s is a number, not %s", p.Name.Text, t)
		return nil, false
	}
	if !c.elaborated(p.Value) {
		c.constant(p.Value, p.Name.Text)
		return nil, false
	}
	v, ok := c.eval.value(p.Value).(IntVal)
	return v.V, ok
}

func (c *checker) defaultAction(info *tableInfo, p *syntax.Property) {
	info.defConst = p.Const
	var path *syntax.PathExpr
	var args []syntax.Arg
	switch e := p.Value.(type) {
	case *syntax.PathExpr:
		path = e
	case *syntax.Call:
		path, _ = e.Fun.(*syntax.PathExpr)
		args = e.Args
		if len(e.TypeArgs) > 0 {
			c.errorf(e.Span(), CodeTypeArgs, "an action takes no type arguments")
		}
	}
	if path == nil {
		c.errorf(p.Value.Span(), CodeTable, "default_action is an action, perhaps with arguments")
		return
	}
	info.def = c.fullCall(info, path.Path, p.Value, args, "default_action")
	if info.def != nil {
		if l := info.listed(info.def.sig); l != nil && l.annots.Get("tableonly") != nil {
			c.errorf(p.Value.Span(), CodeTable, "action %s is @tableonly", path.Path)
		}
	}
}
