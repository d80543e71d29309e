package types

import (
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/syntax"
)

// defaultTableSize is the number of entries of a table that does not say.
const defaultTableSize = 1024

// tableInst is a table of a control that was elaborated.
type tableInst struct {
	t       *ir.Table
	info    *tableInfo
	actions map[*Sig]*ir.Action
	before  func() // computes keys that have side effects
	exits   bool   // an action may exit
}

func (l *lowerer) table(inst *instance, d *syntax.Table, o *object) {
	info := o.table
	path := planeName(inst.path, d.Name.Text, d.Annots)
	l.claim("table", path, d, false)
	t := &ir.Table{
		Name: l.unique(d.Name.Text), FullName: path, Size: defaultTableSize,
		Annotations: l.annots(d.Annots), Span: d.Name.Span(),
	}
	ti := &tableInst{t: t, info: info, actions: map[*Sig]*ir.Action{}}
	inst.tables[o] = ti
	l.tableKeys(ti)
	for _, a := range info.actions {
		l.try(func() {
			x := l.tableAction(inst, a)
			ti.actions[a.sig] = x
			ti.exits = ti.exits || l.canExit(a.sig.object)
			t.Actions = append(t.Actions, &ir.TableAction{
				Action: x, TableOnly: a.annots.Get("tableonly") != nil, DefaultOnly: a.annots.Get("defaultonly") != nil,
				Annotations: l.annots(a.annots), Span: a.ref.Span(),
			})
		})
	}
	l.uniqueActions(t)
	l.tableDefault(inst, ti)
	l.tableProperties(inst, ti)
	if info.entries != nil {
		l.entries(ti)
	}
	l.blk.control.Tables = append(l.blk.control.Tables, t)
}

// uniqueActions checks that the actions of a table can be told apart by the control
// plane.
func (l *lowerer) uniqueActions(t *ir.Table) {
	seen := map[string]*ir.TableAction{}
	for _, a := range t.Actions {
		if old := seen[a.Action.FullName]; old != nil && old.Action.Span != a.Action.Span && !l.named["action "+a.Action.FullName].clash {
			l.errorf(a.Span, CodeNames, "two actions of table %s have the control-plane name %s", t.FullName, a.Action.FullName).Note(old.Span, "the other one")
		}
		seen[a.Action.FullName] = a
	}
}

func (l *lowerer) tableKeys(ti *tableInst) {
	effects := false
	for _, k := range ti.info.keys {
		effects = effects || l.hasEffects(k.elem.Expr)
	}
	var before []func()
	for _, k := range ti.info.keys {
		span := k.elem.Expr.Span()
		t := l.subst(k.typ)
		if k.elem.Annots.Get("name") == nil && !l.nameable(k.elem.Expr) {
			l.errorf(span, CodeNames, "a key that is computed has no name for the control plane; give it one: %s: %s @name(\"…\")", syntax.PrintExpr(k.elem.Expr), k.match)
		}
		key := &ir.Key{
			Type: l.types.lower(t), TypeName: l.types.newtypeName(t), Match: ir.MatchKind(k.match),
			Name: keyName(k.elem), Annotations: l.annots(k.elem.Annots), Span: span,
		}
		switch key.Match {
		case ir.MatchExact, ir.MatchLPM, ir.MatchTernary, ir.MatchRange, ir.MatchOptional, ir.MatchSelector:
		default:
			l.errorf(k.elem.Match.Span(), CodeUnsupported, "v1model does not know match kind %s", k.match)
		}
		if effects {
			v := l.temp("key", t, span)
			key.X = copyOf(v.x)
			before = append(before, func() { l.assign(v, l.expr(k.elem.Expr), span) })
		} else {
			key.X = l.scalarExpr(k.elem.Expr)
		}
		ti.t.Keys = append(ti.t.Keys, key)
	}
	if effects {
		ti.before = func() {
			for _, f := range before {
				f()
			}
		}
	}
}

// nameable reports whether a key's expression gives it a control-plane name (P4_16 1.2.5,
// section 18.3.2.2).
func (l *lowerer) nameable(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.PathExpr, *syntax.IntLit, *syntax.BoolLit:
		return true
	case *syntax.Member:
		return l.nameable(e.X)
	case *syntax.Index:
		return l.nameable(e.X) && l.nameable(e.Index)
	case *syntax.Slice:
		return l.nameable(e.X)
	case *syntax.Call:
		ci := l.info.calls[e]
		return ci != nil && ci.builtin == "isValid"
	case *syntax.Binary:
		return e.Op == syntax.OpAnd && l.nameable(e.X) // a mask, as P4_14 had them
	}
	_, typeName := l.info.types[e].(*TypeRef)
	return typeName
}

// keyName is the control-plane name of a key: its @name, or the expression as written.
func keyName(k *syntax.KeyElem) string {
	if a := k.Annots.Get("name"); a != nil {
		if s, ok := a.StringArg(); ok {
			return s
		}
	}
	e := k.Expr
	if b, ok := e.(*syntax.Binary); ok && b.Op == syntax.OpAnd {
		e = b.X // a masked key has the name of what is masked
	}
	return syntax.PrintExpr(e)
}

// tableAction gives the action that a table's list names. Arguments in the list make
// it an action of its own.
func (l *lowerer) tableAction(inst *instance, a *tableAction) *ir.Action {
	for _, p := range a.sig.params {
		if p.Dir != syntax.DirNone {
			return l.action(inst, a)
		}
	}
	cache := inst.acts
	if a.sig.object.top {
		cache = l.blk.globals
	}
	if cache[a.sig] == nil {
		cache[a.sig] = l.action(inst, a)
	}
	return cache[a.sig]
}

// action lowers an action that tables use.
func (l *lowerer) action(inst *instance, a *tableAction) *ir.Action {
	sig := a.sig
	d, _ := sig.decl.(*syntax.Action)
	path := inst.path
	lexical := inst.frame
	if sig.object.top {
		path, lexical = "", l.global
	}
	full := planeName(path, sig.name, d.Annots)
	l.claim("action", full, d, true)
	x := &ir.Action{Name: l.unique(sig.name), FullName: full, Annotations: l.annots(d.Annots), Span: d.Name.Span()}
	l.blk.control.Actions = append(l.blk.control.Actions, x)
	fr := &frame{lexical: lexical, vars: map[*object]*operand{}, action: true, repeats: true}
	caller := l.frame
	b := &ir.Block{Name: sig.name, Span: d.Name.Span()}
	fr.block = b
	x.Body = l.collect(func() {
		ci := &callInfo{sig: sig, args: make([]syntax.Expr, len(sig.params))}
		var bound []*Param
		var args []syntax.Expr
		for i, p := range sig.params {
			if p.Dir != syntax.DirNone {
				bound, args = append(bound, p), append(args, a.args[i])
				continue
			}
			t := resolved(p.Type)
			v := &ir.Var{Name: p.Name, Type: l.types.lower(t), TypeName: l.types.newtypeName(t), Annotations: l.annots(p.Decl.Annots), Span: p.Decl.Name.Span()}
			x.Params = append(x.Params, v)
			fr.vars[p.obj] = &operand{t: t, x: &ir.VarRef{Var: v, Span: v.Span}, lv: true}
		}
		ci.args = args
		l.frame = &frame{lexical: inst.frame, vars: map[*object]*operand{}, action: true, repeats: true}
		fr.copyOut = l.bindArgs(fr, bound, ci, binding{avoid: l.usedVars(sig.object, lexical)}, d.Name.Span())
		l.frame = fr
		l.labelled(b, func() {
			// A return still copies back: the block ends before that.
			l.stmts(d.Body.Stmts)
		})
		if fr.copyOut != nil {
			fr.copyOut()
		}
	})
	l.frame = caller
	return x
}

// canExit reports whether an action, or one that it calls, has an exit.
func (l *lowerer) canExit(o *object) bool {
	found := false
	check := func(d *syntax.Action) {
		walkStmts(d.Body.Stmts, func(s syntax.Stmt) {
			if _, ok := s.(*syntax.Exit); ok {
				found = true
			}
		}, func(syntax.Expr) bool { return true })
	}
	if d, ok := o.decl.(*syntax.Action); ok {
		check(d)
	}
	for u := range l.uses(o) {
		if d, ok := u.decl.(*syntax.Action); ok && u.kind == objAction {
			check(d)
		}
	}
	return found
}

func (l *lowerer) tableDefault(inst *instance, ti *tableInst) {
	def := ti.info.def
	t := ti.t
	t.ConstDefault = ti.info.defConst
	if def == nil {
		t.Default = &ir.ActionCall{Action: l.noAction(inst, ti), Span: t.Span}
		return
	}
	l.try(func() { t.Default = l.actionCall(ti, def) })
}

// noAction is the action of a table without a default; it is listed for the default
// only, unless the program lists it.
func (l *lowerer) noAction(inst *instance, ti *tableInst) *ir.Action {
	var na *object
	for f := l.info.program.Decls; len(f) > 0; f = f[1:] {
		if d, ok := f[0].(*syntax.Action); ok && d.Name.Text == "NoAction" {
			na = l.info.objs[d]
			break
		}
	}
	if na == nil {
		l.fail(ti.t.Span, CodeTable, "table %s has no default_action, and there is no NoAction: include core.p4", ti.t.Name)
	}
	for _, a := range ti.info.actions {
		if a.sig == na.sigs[0] {
			return ti.actions[a.sig]
		}
	}
	x := l.tableAction(inst, &tableAction{sig: na.sigs[0]})
	ti.actions[na.sigs[0]] = x
	ti.t.Actions = append(ti.t.Actions, &ir.TableAction{
		Action: x, DefaultOnly: true, Annotations: ir.Annotations{{Name: "defaultonly"}}, Span: ti.t.Span,
	})
	return x
}

// actionCall lowers an action with its control-plane arguments.
func (l *lowerer) actionCall(ti *tableInst, a *tableAction) *ir.ActionCall {
	x := ti.actions[a.sig]
	c := &ir.ActionCall{Action: x, Span: ti.t.Span}
	for i, p := range a.sig.params {
		if p.Dir != syntax.DirNone {
			continue
		}
		e := a.args[i]
		if e == nil {
			l.fail(ti.t.Span, CodeArguments, "no argument for %s of %s", p.Name, a.sig.name)
		}
		k, ok := l.convertTo(l.expr(e), p.Type, e.Span()).x.(*ir.Const)
		if !ok {
			l.fail(e.Span(), CodeConst, "the argument for %s has to be known at compile time", p.Name)
		}
		c.Args = append(c.Args, k)
		c.Span = e.Span()
	}
	return c
}

func (l *lowerer) tableProperties(inst *instance, ti *tableInst) {
	t, info := ti.t, ti.info
	for _, name := range []string{"size", "support_timeout", "implementation", "counters", "meters"} {
		p := info.props[name]
		if p == nil {
			continue
		}
		l.try(func() {
			switch name {
			case "size":
				if v, ok := l.ev.value(p.Value).(IntVal); ok && v.V.IsInt64() {
					t.Size = int(v.V.Int64())
				}
			case "support_timeout":
				if v, ok := l.ev.value(p.Value).(BoolVal); ok {
					t.IdleTimeout = bool(v)
				}
			case "implementation":
				t.Impl = l.propertyObject(inst, t, p, ir.KindActionProfile, ir.KindActionSelector)
			case "counters":
				t.Counter = l.propertyObject(inst, t, p, ir.KindDirectCounter)
			case "meters":
				t.Meter = l.propertyObject(inst, t, p, ir.KindDirectMeter)
			}
		})
	}
	for _, other := range l.blk.control.Tables {
		if other != t && t.Counter != nil && other.Counter == t.Counter {
			l.errorf(t.Span, CodeExtern, "table %s has the direct counter of another table", t.Name).Note(other.Span, "the other one")
		}
		if other != t && t.Meter != nil && other.Meter == t.Meter {
			l.errorf(t.Span, CodeExtern, "table %s has the direct meter of another table", t.Name).Note(other.Span, "the other one")
		}
	}
	var lpm *ir.Key
	for _, k := range t.Keys {
		if k.Match == ir.MatchLPM {
			if lpm != nil {
				l.errorf(k.Span, CodeExtern, "table %s has two lpm keys; one can be ternary", t.Name).Note(lpm.Span, "the other one")
			}
			lpm = k
		}
		if k.Match == ir.MatchSelector && (t.Impl == nil || t.Impl.Kind != ir.KindActionSelector) {
			l.errorf(k.Span, CodeExtern, "a selector key needs an action_selector as the table's implementation")
		}
	}
}

// propertyObject gives the object that a property names or makes.
func (l *lowerer) propertyObject(inst *instance, t *ir.Table, p *syntax.Property, kinds ...ir.InstanceKind) *ir.Instance {
	var op *operand
	if call, ok := p.Value.(*syntax.Call); ok {
		op = l.construct(call, l.info.calls[call], t.Name+"_"+p.Name.Text, p.Annots, p.Value.Span())
	} else {
		op = l.expr(p.Value)
	}
	if op.obj != nil && op.obj.ext != nil {
		for _, k := range kinds {
			if op.obj.ext.Kind == k {
				l.listInstance(op.obj.ext)
				return op.obj.ext
			}
		}
	}
	l.fail(p.Value.Span(), CodeExtern, "%s of table %s has to be a %s", p.Name.Text, t.Name, kinds[0])
	return nil
}

func (l *lowerer) entries(ti *tableInst) {
	t, p := ti.t, ti.info.entries
	t.ConstEntries = p.Const
	var keys []*ir.Key
	var types []Type
	for i, k := range t.Keys {
		if k.Match != ir.MatchSelector {
			keys = append(keys, k)
			types = append(types, l.subst(ti.info.keys[i].typ))
		}
	}
	for _, e := range p.Entries {
		l.try(func() {
			a := ti.info.calls[e]
			x := &ir.Entry{Action: l.actionCall(ti, a), Const: e.Const || p.Const, Annotations: l.annots(e.Annots), Span: e.Span()}
			for i, ks := range keysetList(e.Keyset, len(keys)) {
				parts := l.keysets(ks, &operand{t: types[i]})
				x.Keys = append(x.Keys, normalKeyset(keys[i], parts[0]))
			}
			t.Entries = append(t.Entries, x)
		})
	}
	l.priorities(ti)
}

// normalKeyset gives a keyset the form that its match kind has: a mask for lpm and
// ternary, a range for range.
func normalKeyset(k *ir.Key, s ir.Keyset) ir.Keyset {
	width, _ := ir.ScalarBits(k.Type)
	ones := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(width)), big.NewInt(1))
	switch k.Match {
	case ir.MatchLPM, ir.MatchTernary:
		switch s := s.(type) {
		case *ir.KeyExact:
			return &ir.KeyMask{Value: ir.Raw(width, s.Value), Mask: ones}
		case *ir.KeyMask:
			m := ir.Raw(width, s.Mask)
			return &ir.KeyMask{Value: new(big.Int).And(ir.Raw(width, s.Value), m), Mask: m}
		case *ir.KeyAny:
			if k.Match == ir.MatchLPM {
				return &ir.KeyMask{Value: new(big.Int), Mask: new(big.Int)}
			}
		}
	case ir.MatchRange:
		if e, ok := s.(*ir.KeyExact); ok {
			return &ir.KeyRange{Lo: e.Value, Hi: e.Value}
		}
	}
	return s
}

// priorities numbers the entries (P4_16 1.2.5, section 14.2.1.4). In the IR the larger
// priority wins.
func (l *lowerer) priorities(ti *tableInst) {
	t, p := ti.t, ti.info.entries
	if !ti.info.prioritised() || len(t.Entries) != len(p.Entries) {
		return
	}
	larger, delta := true, int64(1)
	if !p.Const {
		if v, ok := l.propertyValue(ti, "largest_priority_wins").(BoolVal); ok {
			larger = bool(v)
		}
		if v, ok := l.propertyValue(ti, "priority_delta").(IntVal); ok && v.V.IsInt64() {
			delta = v.V.Int64()
		}
	}
	most := int64(0)
	prio := make([]int64, len(t.Entries))
	for i, e := range p.Entries {
		given := l.entryPriority(e)
		switch {
		case given != nil:
			prio[i] = given.Int64()
		case i == 0 && larger:
			prio[i] = int64(len(t.Entries)-1)*delta + 1
		case i == 0:
			prio[i] = 1
		case larger:
			prio[i] = prio[i-1] - delta
		default:
			prio[i] = prio[i-1] + delta
		}
		if prio[i] < 0 || prio[i] > 1<<31-1 {
			l.errorf(e.Span(), CodeEntry, "the priority of this entry would be %d", prio[i])
		}
		most = max(most, prio[i])
	}
	for i := range prio {
		if !larger {
			prio[i] = most + 1 - prio[i]
		}
		t.Entries[i].Priority = int(prio[i])
	}
	l.annotatedPriorities(ti)
}

// annotatedPriorities honours @priority(n) on const entries, an older way to give
// priorities, of which the smaller wins.
func (l *lowerer) annotatedPriorities(ti *tableInst) {
	most, any := int64(0), false
	values := make([]int64, len(ti.t.Entries))
	for i, e := range ti.info.entries.Entries {
		values[i] = int64(i + 1)
		if a := e.Annots.Get("priority"); a != nil && len(a.Exprs) == 1 {
			if v, ok := l.ev.value(a.Exprs[0]).(IntVal); ok && v.V.IsInt64() {
				values[i], any = v.V.Int64(), true
			}
		}
		most = max(most, values[i])
	}
	if !any {
		return
	}
	for i, v := range values {
		ti.t.Entries[i].Priority = int(most + 1 - v)
	}
}

func (l *lowerer) propertyValue(ti *tableInst, name string) Value {
	if p := ti.info.props[name]; p != nil {
		return l.ev.value(p.Value)
	}
	return nil
}

func (l *lowerer) entryPriority(e *syntax.Entry) *big.Int {
	if e.Priority == nil {
		return nil
	}
	if v, ok := l.ev.value(e.Priority).(IntVal); ok && v.V.IsInt64() {
		return v.V
	}
	return nil
}

// applyTable lowers t.apply(). hit, when not nil, receives whether an entry matched;
// sw is the switch on action_run around it, or nil.
func (l *lowerer) applyTable(o *object, span diag.Span, hit ir.Expr, sw *syntax.Switch) {
	fr := l.blockFrame()
	var ti *tableInst
	if fr.inst != nil {
		ti = fr.inst.tables[o]
	}
	if ti == nil {
		panic(unsupported{}) // the table was complained about
	}
	if ti.before != nil {
		ti.before()
	}
	n := &ir.Apply{Table: ti.t, Hit: hit, Span: span}
	var check func()
	if ti.exits && l.pending(&frame{lexical: fr}) {
		v := l.exitedVar()
		check = func() {
			then := l.collect(func() { l.exit(span) })
			l.emit(&ir.If{Cond: &ir.VarRef{Var: v, Span: span}, Then: then, Span: span})
		}
	}
	if sw != nil {
		n.Cases = l.switchCases(ti, sw, check)
	}
	l.emit(n)
	if check != nil {
		check()
	}
}
