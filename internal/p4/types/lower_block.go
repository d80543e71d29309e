package types

import (
	"strings"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/syntax"
)

// instance is an object that the elaboration made: an extern, parser or control.
type instance struct {
	t      Type
	name   string // as declared, or of the type
	path   string // control-plane name
	decl   syntax.Node
	annots syntax.Annotations
	ext    *ir.Instance // of an extern
	info   *blockInfo   // of a parser or control
	ctor   map[*object]*operand
	frame  *frame               // of a control, once it is applied
	shared map[*object]*operand // the objects declared in a parser or control
	sites  int                  // places that apply it; 0: not known
	same   bool                 // all of them have the same arguments
	tables map[*object]*tableInst
	acts   map[*Sig]*ir.Action
	set    *ir.ValueSet // of a parser value set
}

// prefix is the name that a top-level parser or control gives to what is in it.
func (i *instance) prefix() string { return planeName("", i.info.name, i.info.decl.DeclAnnotations()) }

// planeName gives the control-plane name of something: its path and name, the last
// part of which @name may change; a leading dot makes it absolute.
func planeName(path, name string, annots syntax.Annotations) string {
	if a := annots.Get("name"); a != nil {
		if s, ok := a.StringArg(); ok {
			name = s
		}
	}
	if abs, ok := strings.CutPrefix(name, "."); ok {
		return abs
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// claim takes a control-plane name. Two things of a kind with one name are an error.
// With many they may be instances of one declaration: the control plane cannot tell them
// apart, and need not. In a program that comes from P4_14, where names know no controls,
// they may also be actions with the same parameters.
func (l *lowerer) claim(kind, name string, decl syntax.Node, many bool) {
	key := kind + " " + name
	span := nodeSpan(decl)
	if old := l.named[key]; old != nil {
		if !many || old.decl != decl && !(l.flatNames() && sameParameters(old.decl, decl)) {
			first, second := old.span, span
			if second.Less(first) {
				first, second = second, first
			}
			l.errorf(second, CodeNames, "%s has the control-plane name %s, which another one has, too; give it a @name", kind, name).Note(first, "the other one")
			old.clash = true
		} else if old.decl != decl {
			l.diags.Warnf(span, CodeNames, "%s %s is declared twice with one control-plane name and the same parameters; they count as one", kind, name).Note(old.span, "the other one")
		}
		return
	}
	l.named[key] = &namedThing{decl: decl, span: span}
}

// flatNames reports whether all tables of the program have absolute names, as they have
// in a program that comes from P4_14.
func (l *lowerer) flatNames() bool {
	if l.flat != nil {
		return *l.flat
	}
	flat := true
	for _, d := range l.info.program.Decls {
		c, ok := d.(*syntax.Control)
		if !ok {
			continue
		}
		for _, d := range c.Locals {
			if t, ok := d.(*syntax.Table); ok && !absoluteName(t.Annots) {
				flat = false
			}
		}
	}
	l.flat = &flat
	return flat
}

func absoluteName(as syntax.Annotations) bool {
	a := as.Get("name")
	if a == nil {
		return false
	}
	name, _ := a.StringArg()
	return strings.HasPrefix(name, ".")
}

// sameParameters reports whether two actions look the same to the control plane. Their
// bodies may differ: a program that comes from P4_14 has an action for each table with
// direct counters or meters, all of one name, and one that we printed has an action of
// the top level once for each place that binds its parameters.
func sameParameters(a, b syntax.Node) bool {
	x, ok1 := a.(*syntax.Action)
	y, ok2 := b.(*syntax.Action)
	if !ok1 || !ok2 || len(x.Params) != len(y.Params) {
		return false
	}
	for i, p := range x.Params {
		q := y.Params[i]
		if p.Dir != q.Dir || p.Name.Text != q.Name.Text || syntax.PrintType(p.Type) != syntax.PrintType(q.Type) {
			return false
		}
	}
	return true
}

// construct elaborates a constructor call; name is empty for an object without one.
func (l *lowerer) construct(n syntax.Node, ci *callInfo, name string, annots syntax.Annotations, span diag.Span) *operand {
	t := l.subst(ci.result)
	inst := &instance{t: t, name: name, decl: n, annots: annots, ctor: map[*object]*operand{}}
	for i, p := range ci.sig.params {
		a := ci.args[i]
		if a == nil {
			a = p.Decl.Default
		}
		if a == nil {
			continue
		}
		inst.ctor[p.obj] = l.convertTo(l.expr(a), l.subst(l.compose(ci.subst).apply(p.Type)), a.Span())
	}
	switch u := t.(type) {
	case *Extern:
		if inst.name == "" {
			inst.name = u.info.decl.Name.Text
		}
		inst.path = planeName(l.path0(), inst.name, annots)
		l.externInstance(inst, u, ci, span)
	case *Block:
		inst.info = u.info
		if inst.name == "" {
			inst.name = u.info.name
		}
		if inst.info.kind == packageBlock {
			l.fail(span, CodePackage, "a package within another cannot be compiled")
		}
		inst.path = planeName(l.path0(), inst.name, annots)
	}
	return &operand{t: t, obj: inst}
}

// path0 is the control-plane path of the block being lowered.
func (l *lowerer) path0() string {
	if f := l.blockFrame(); f.inst != nil {
		return f.inst.path
	}
	return ""
}

// anonymous makes the object for T.apply(…).
func (l *lowerer) anonymous(t Type, n syntax.Node) *instance {
	r, _ := t.(*TypeRef)
	b, _ := l.subst(r.T).(*Block)
	fr := l.blockFrame()
	if fr.inst != nil && fr.inst.shared == nil {
		fr.inst.shared = map[*object]*operand{}
	}
	inst := &instance{t: b, name: b.info.name, decl: n, info: b.info, ctor: map[*object]*operand{}, sites: 1, same: true}
	inst.path = planeName(l.path0(), b.info.name, b.info.decl.DeclAnnotations())
	for _, p := range b.info.ctor {
		if p.Decl.Default != nil {
			inst.ctor[p.obj] = l.expr(p.Decl.Default)
		}
	}
	return inst
}

func (l *lowerer) globalInstance(o *object) {
	ci := l.info.calls[o.decl]
	d, _ := o.decl.(*syntax.Instantiation)
	if ci == nil || d == nil {
		return
	}
	if d.Members != nil {
		l.fail(o.span, CodeUnsupported, "%s: methods of an instance cannot be compiled for v1model", o.name)
	}
	l.global.vars[o] = l.construct(d, ci, o.name, d.Annots, o.span)
}

func (l *lowerer) bindCtor(inst *instance, fr *frame) {
	for o, op := range inst.ctor {
		fr.vars[o] = op
	}
}

// locals declares what a parser or control declares before its body. The objects are
// made once; variables get their initial values each time.
func (l *lowerer) locals(inst *instance, decls []syntax.Decl) {
	if inst.shared == nil {
		inst.shared = map[*object]*operand{}
	}
	fr := l.frame
	for _, d := range decls {
		l.try(func() {
			switch d := d.(type) {
			case *syntax.Var:
				l.blockVar(d)
			case *syntax.Instantiation:
				l.blockInstance(inst, d)
			case *syntax.ValueSet:
				o := l.info.objs[d]
				if inst.shared[o] == nil {
					inst.shared[o] = l.valueSet(inst, d, o)
				}
				fr.vars[o] = inst.shared[o]
			}
		})
	}
}

// blockVar declares a variable of a parser or control.
func (l *lowerer) blockVar(d *syntax.Var) {
	o := l.info.objs[d]
	if op := l.frame.vars[o]; op != nil {
		if d.Init != nil {
			l.assign(op, l.expr(d.Init), d.Span())
		} else {
			l.invalidate(op, d.Span())
		}
		return
	}
	l.varDecl(d)
}

func (l *lowerer) blockInstance(inst *instance, d *syntax.Instantiation) {
	o := l.info.objs[d]
	if inst.shared[o] == nil {
		ci := l.info.calls[d]
		if d.Members != nil {
			l.fail(d.Name.Span(), CodeUnsupported, "%s: methods of an instance cannot be compiled for v1model", o.name)
		}
		op := l.construct(d, ci, o.name, d.Annots, d.Name.Span())
		op.obj.sites, op.obj.same = l.sites(inst, o)
		inst.shared[o] = op
	}
	l.frame.vars[o] = inst.shared[o]
}

// sites counts the places that apply an object, and tells whether they all have the
// same arguments. An object that is passed on may be applied anywhere.
func (l *lowerer) sites(inst *instance, o *object) (int, bool) {
	n, same, passed := 0, true, false
	var first []syntax.Expr
	visit := func(e syntax.Expr) bool {
		call, ok := e.(*syntax.Call)
		if !ok {
			return true
		}
		for _, a := range call.Args {
			if p, ok := a.Value.(*syntax.PathExpr); ok && l.info.uses[p] == o {
				passed = true
			}
		}
		ci := l.info.calls[call]
		if ci == nil || ci.builtin != "apply" || ci.recv == nil {
			return true
		}
		if p, ok := ci.recv.(*syntax.PathExpr); !ok || l.info.uses[p] != o {
			return true
		}
		if n++; n == 1 {
			first = ci.args
			return true
		}
		for i, a := range ci.args {
			if a != nil && first[i] != nil && !sameExpr(l.info, a, first[i]) {
				same = false
			}
		}
		return true
	}
	switch d := inst.info.decl.(type) {
	case *syntax.Control:
		walkStmts(d.Body.Stmts, func(syntax.Stmt) {}, visit)
		for _, x := range d.Locals {
			if i, ok := x.(*syntax.Instantiation); ok {
				for _, a := range i.Args {
					walkExpr(a.Value, func(e syntax.Expr) bool {
						if l.info.uses[e] == o {
							passed = true
						}
						return true
					})
				}
			}
		}
	case *syntax.Parser:
		return 1, true // each place gets states of its own
	}
	if passed {
		return 0, false
	}
	return n, same
}

// applyBlock inlines a parser or control.
func (l *lowerer) applyBlock(inst *instance, ci *callInfo, span diag.Span) {
	if inst.info.kind == parserBlock {
		l.applyParser(inst, ci, span)
		return
	}
	fr := inst.frame
	if fr == nil {
		fr = &frame{lexical: l.global, vars: map[*object]*operand{}, inst: inst}
		fr.repeats = inst.sites != 1
		inst.frame = fr
		l.bindCtor(inst, fr)
	}
	fr.caller = l.frame
	how := binding{copy: inst.sites != 1 && !(inst.same && inst.sites > 1 && l.fixedArgs(ci))}
	fr.copyOut = l.bindArgs(fr, inst.info.params, ci, how, span)
	b := &ir.Block{Name: inst.name, Span: span, Annotations: l.annots(inst.info.decl.DeclAnnotations())}
	fr.block = b
	caller := l.frame
	l.frame = fr
	l.labelled(b, func() { l.controlBody(inst) })
	l.frame = caller
	if fr.copyOut != nil {
		fr.copyOut()
	}
}

// fixedArgs reports whether arguments name the same storage whenever they are evaluated.
func (l *lowerer) fixedArgs(ci *callInfo) bool {
	for _, a := range ci.args {
		fixed := true
		walkExpr(a, func(e syntax.Expr) bool {
			switch e := e.(type) {
			case *syntax.Index:
				if l.ev.value(e.Index) == nil {
					fixed = false
				}
			case *syntax.Call:
				fixed = false
			}
			return true
		})
		if !fixed {
			return false
		}
	}
	return true
}

// controlBody lowers the declarations and the body of a control into the current list.
func (l *lowerer) controlBody(inst *instance) {
	d, _ := inst.info.decl.(*syntax.Control)
	l.locals(inst, d.Locals)
	if inst.tables == nil {
		inst.tables, inst.acts = map[*object]*tableInst{}, map[*Sig]*ir.Action{}
	}
	used := l.appliedTables(d)
	for _, x := range d.Locals {
		if t, ok := x.(*syntax.Table); ok {
			if o := l.info.objs[t]; used[o] && inst.tables[o] == nil {
				l.try(func() { l.table(inst, t, o) })
			}
		}
	}
	l.stmts(d.Body.Stmts)
}

// appliedTables finds the tables that the body of a control applies.
func (l *lowerer) appliedTables(d *syntax.Control) map[*object]bool {
	used := map[*object]bool{}
	walkStmts(d.Body.Stmts, func(syntax.Stmt) {}, func(e syntax.Expr) bool {
		if r, ok := l.info.types[e].(*ApplyResult); ok {
			used[r.table] = true
		}
		return true
	})
	for _, x := range d.Locals {
		if v, ok := x.(*syntax.Var); ok {
			walkExpr(v.Init, func(e syntax.Expr) bool {
				if r, ok := l.info.types[e].(*ApplyResult); ok {
					used[r.table] = true
				}
				return true
			})
		}
	}
	return used
}
