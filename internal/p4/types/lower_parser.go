package types

import (
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/syntax"
)

// mainParser builds the parser of the program.
func (l *lowerer) mainParser(inst *instance) *ir.Parser {
	p := &ir.Parser{Name: inst.info.name, Span: nodeSpan(inst.info.decl)}
	l.blk = &blockOut{parser: p, names: blockNames(), states: newNameSet("accept", "reject"), listed: map[*ir.Instance]bool{}}
	fr := &frame{lexical: l.global, vars: map[*object]*operand{}, inst: inst, repeats: true}
	inst.frame = fr
	inst.path = inst.prefix()
	shared := []*ir.Var{nil, l.prog.Hdr, l.prog.Meta, l.prog.Std}
	for i, param := range inst.info.params {
		if i == 0 {
			fr.vars[param.obj] = &operand{t: resolved(param.Type)}
			continue
		}
		fr.vars[param.obj] = &operand{t: resolved(param.Type), x: &ir.VarRef{Var: shared[i]}, lv: true}
	}
	l.bindCtor(inst, fr)
	l.frame = fr
	d, _ := inst.info.decl.(*syntax.Parser)
	init := l.collect(func() { l.locals(inst, d.Locals) })
	if len(init) == 0 {
		l.parserStates(inst, ir.Accept)
	} else {
		first := l.newState("start", nil, nodeSpan(d))
		first.Body = init
		first.Next = direct(l.parserStates(inst, ir.Accept), first.Span)
		l.mergeStart(first)
	}
	l.dropUnreachable()
	return p
}

// mergeStart joins the state that initializes locals with the program's own start state,
// if nothing returns there.
func (l *lowerer) mergeStart(first *ir.State) {
	p := l.blk.parser
	own := first.Next.Cases[0].Next
	for _, s := range p.States {
		for _, k := range s.Next.Cases {
			if s != first && k.Next == own {
				return
			}
		}
	}
	first.Body = append(first.Body, own.Body...)
	first.Next, first.Annotations, first.Span = own.Next, own.Annotations, own.Span
	for i, s := range p.States {
		if s == own {
			p.States = append(p.States[:i], p.States[i+1:]...)
			break
		}
	}
}

// dropUnreachable removes the states that the start state does not lead to.
func (l *lowerer) dropUnreachable() {
	p := l.blk.parser
	if len(p.States) == 0 {
		return
	}
	seen := map[*ir.State]bool{}
	var visit func(*ir.State)
	visit = func(s *ir.State) {
		if seen[s] {
			return
		}
		seen[s] = true
		for _, k := range s.Next.Cases {
			visit(k.Next)
		}
	}
	visit(p.States[0])
	var kept []*ir.State
	for _, s := range p.States {
		if seen[s] {
			kept = append(kept, s)
		}
	}
	p.States = kept
}

func (l *lowerer) newState(name string, annots ir.Annotations, span diag.Span) *ir.State {
	s := &ir.State{Name: l.blk.states.take(name), Annotations: annots, Span: span}
	l.blk.parser.States = append(l.blk.parser.States, s)
	return s
}

func direct(to *ir.State, span diag.Span) ir.Transition {
	return ir.Transition{Cases: []ir.SelectCase{{Next: to, Span: span}}, Span: span}
}

// parserStates lowers the states of a parser in the current frame; accept is where its
// accept leads to. It returns its start state.
func (l *lowerer) parserStates(inst *instance, accept *ir.State) *ir.State {
	d, _ := inst.info.decl.(*syntax.Parser)
	states := map[string]*ir.State{"accept": accept, "reject": ir.Reject}
	prefix := ""
	if accept != ir.Accept {
		prefix = inst.name + "_"
	}
	order := make([]*syntax.State, 0, len(d.States))
	for _, s := range d.States {
		if s.Name.Text == "start" {
			order = append([]*syntax.State{s}, order...)
		} else {
			order = append(order, s)
		}
	}
	for _, s := range order {
		states[s.Name.Text] = l.newState(prefix+s.Name.Text, l.annots(s.Annots), s.Name.Span())
	}
	outer, outerOut := l.state, l.out
	for _, s := range order {
		l.state = states[s.Name.Text]
		l.out = &l.state.Body
		l.try(func() { l.stateBody(s, states) })
		l.state, l.out = outer, outerOut
	}
	return states["start"]
}

func (l *lowerer) stateBody(s *syntax.State, states map[string]*ir.State) {
	l.state.Next = direct(ir.Reject, s.Span())
	l.stateStmts(s.Stmts)
	switch t := s.Next.(type) {
	case nil:
		l.state.Next = direct(ir.Reject, s.Span())
	case *syntax.Goto:
		l.state.Next = direct(states[t.State.Text], t.Span())
	case *syntax.Select:
		l.state.Next = l.selectNext(t, states)
	}
}

// stateStmts lowers statements of a state. Applying a parser ends the IR state; what
// follows goes to another.
func (l *lowerer) stateStmts(ss []syntax.Stmt) {
	for _, s := range ss {
		if !l.appliesParser(s) {
			l.try(func() { l.stmt(s) })
			continue
		}
		switch s := s.(type) {
		case *syntax.Block:
			l.stateStmts(s.Stmts)
		case *syntax.If:
			l.stateIf(s)
		case *syntax.CallStmt, *syntax.DirectApply:
			l.stmt(s)
		default:
			l.fail(s.Span(), CodeUnsupported, "a parser cannot be applied in a loop or switch")
		}
	}
}

// appliesParser reports whether a statement applies a parser somewhere.
func (l *lowerer) appliesParser(s syntax.Stmt) bool {
	found := false
	walkStmt(s, func(x syntax.Stmt) {
		if d, ok := x.(*syntax.DirectApply); ok {
			if ci := l.info.calls[d]; ci != nil {
				found = true
			}
		}
	}, func(e syntax.Expr) bool {
		if call, ok := e.(*syntax.Call); ok {
			if ci := l.info.calls[call]; ci != nil && ci.builtin == "apply" {
				found = true
			}
		}
		return true
	})
	return found
}

// stateIf lowers a conditional with a parser in it: the branches become states.
func (l *lowerer) stateIf(s *syntax.If) {
	cond := l.scalarExpr(s.Cond)
	name := l.state.Name
	then, els, join := l.newState(name+"_then", nil, s.Span()), l.newState(name+"_else", nil, s.Span()), l.newState(name+"_join", nil, s.Span())
	l.state.Next = ir.Transition{Select: []ir.Expr{cond}, Span: s.Span(), Cases: []ir.SelectCase{
		{Keys: []ir.Keyset{&ir.KeyExact{Value: big.NewInt(1)}}, Next: then, Span: s.Span()},
		{Keys: []ir.Keyset{&ir.KeyAny{}}, Next: els, Span: s.Span()},
	}}
	branch := func(st *ir.State, body syntax.Stmt) {
		l.state, l.out = st, &st.Body
		if body != nil {
			l.stateStmts([]syntax.Stmt{body})
		}
		l.state.Next = direct(join, s.Span())
	}
	branch(then, s.Then)
	branch(els, s.Else)
	l.state, l.out = join, &join.Body
}

// applyParser inlines a parser: the current state leads to its start, its accept leads
// to a new state where the rest goes.
func (l *lowerer) applyParser(inst *instance, ci *callInfo, span diag.Span) {
	if l.state == nil || l.out != &l.state.Body {
		l.fail(span, CodeUnsupported, "a parser cannot be applied here")
	}
	fr := &frame{lexical: l.global, caller: l.frame, vars: map[*object]*operand{}, inst: inst, repeats: true}
	l.bindCtor(inst, fr)
	copyOut := l.bindArgs(fr, inst.info.params, ci, binding{}, span)
	caller := l.frame
	l.frame = fr
	d, _ := inst.info.decl.(*syntax.Parser)
	l.locals(inst, d.Locals)
	from := l.state
	next := l.newState(from.Name+"_next", nil, span)
	start := l.parserStates(inst, next)
	from.Next = direct(start, span)
	l.frame = caller
	l.state, l.out = next, &next.Body
	if copyOut != nil {
		copyOut()
	}
}

func (l *lowerer) selectNext(t *syntax.Select, states map[string]*ir.State) ir.Transition {
	n := ir.Transition{Span: t.Span()}
	var keys []*operand
	for i, e := range t.Exprs {
		keys = append(keys, l.before(l.expr(e), e, t.Exprs[i+1:]...))
	}
	for i, k := range keys {
		for _, x := range l.scalars(k, t.Exprs[i].Span()) {
			n.Select = append(n.Select, l.scalar(x, t.Exprs[i].Span()))
		}
	}
	for _, k := range t.Cases {
		c := ir.SelectCase{Next: states[k.State.Text], Span: k.Span()}
		c.Keys = l.caseKeysets(k.Keyset, keys)
		n.Cases = append(n.Cases, c)
	}
	return n
}

// scalars takes an operand apart into its scalars.
func (l *lowerer) scalars(o *operand, span diag.Span) []*operand {
	if !isAggregate(o.t) {
		return []*operand{o}
	}
	var out []*operand
	for i := range count(o.t) {
		out = append(out, l.scalars(l.part(o, i, span), span)...)
	}
	return out
}

// scalarCount is the number of scalars of a type.
func scalarCount(t Type) int {
	if !isAggregate(t) {
		return 1
	}
	n := 0
	_, types := elemTypes(t)
	for _, e := range types {
		n += scalarCount(e)
	}
	return n
}

// caseKeysets lowers the keyset of a select case for all its values.
func (l *lowerer) caseKeysets(e syntax.Expr, keys []*operand) []ir.Keyset {
	if len(keys) == 1 {
		return l.keysets(e, keys[0])
	}
	if set := l.valueSetNamed(e); set != nil {
		return setParts(set)
	}
	list := keysetList(e, len(keys))
	if len(list) != len(keys) {
		// One expression that is a tuple.
		var types []Type
		for _, k := range keys {
			types = append(types, k.t)
		}
		return l.keysets(e, &operand{t: &Tuple{types}})
	}
	var out []ir.Keyset
	for i, x := range list {
		out = append(out, l.keysets(x, keys[i])...)
	}
	return out
}

func (l *lowerer) valueSetNamed(e syntax.Expr) *ir.ValueSet {
	p, ok := e.(*syntax.PathExpr)
	if !ok {
		return nil
	}
	if o := l.info.uses[p]; o != nil && o.kind == objValueSet {
		if op := l.find(o); op != nil && op.obj != nil {
			return op.obj.set
		}
	}
	return nil
}

func setParts(s *ir.ValueSet) []ir.Keyset {
	var out []ir.Keyset
	for i := range s.Fields {
		out = append(out, &ir.KeySet{Set: s, Part: i})
	}
	return out
}

// keysets lowers a keyset for one value, which may be made of several scalars.
func (l *lowerer) keysets(e syntax.Expr, key *operand) []ir.Keyset {
	if set := l.valueSetNamed(e); set != nil {
		return setParts(set)
	}
	n := scalarCount(key.t)
	number := func(x syntax.Expr) *big.Int {
		o := l.expr(x)
		if key.t != Int {
			o = l.convertTo(o, base(key.t), x.Span())
		}
		switch v := o.value().(type) {
		case IntVal:
			return v.V
		}
		l.fail(x.Span(), CodeConst, "a keyset has to be known at compile time")
		return nil
	}
	switch e := e.(type) {
	case *syntax.DefaultExpr, *syntax.DontCare:
		out := make([]ir.Keyset, n)
		for i := range out {
			out[i] = &ir.KeyAny{}
		}
		return out
	case *syntax.MaskExpr:
		return []ir.Keyset{&ir.KeyMask{Value: number(e.Value), Mask: number(e.Mask)}}
	case *syntax.RangeExpr:
		return []ir.Keyset{&ir.KeyRange{Lo: number(e.Lo), Hi: number(e.Hi)}}
	case *syntax.TupleKeyset:
		_, types := elemTypes(key.t)
		var out []ir.Keyset
		for i, x := range e.Elems {
			out = append(out, l.keysets(x, &operand{t: resolved(types[i])})...)
		}
		return out
	}
	o := l.expr(e)
	if key.t != Int {
		o = l.convertTo(o, key.t, e.Span())
	}
	var out []ir.Keyset
	for _, s := range l.scalars(o, e.Span()) {
		v, ok := l.scalar(s, e.Span()).(*ir.Const)
		if !ok {
			l.fail(e.Span(), CodeConst, "a keyset has to be known at compile time")
		}
		out = append(out, &ir.KeyExact{Value: v.Value})
	}
	return out
}

// valueSet elaborates a parser value set.
func (l *lowerer) valueSet(inst *instance, d *syntax.ValueSet, o *object) *operand {
	t := resolved(o.typ).(*Set)
	s := &ir.ValueSet{Name: planeName(inst.path, d.Name.Text, d.Annots), Annotations: l.annots(d.Annots), Span: d.Name.Span()}
	l.claim("value set", s.Name, d, false)
	if v, ok := l.ev.value(d.Size).(IntVal); ok && v.V.IsInt64() {
		s.Size = int(v.V.Int64())
	}
	s.Fields = l.setFields("", t.Elem, nil)
	l.blk.parser.ValueSets = append(l.blk.parser.ValueSets, s)
	return &operand{t: t, obj: &instance{t: t, name: d.Name.Text, decl: d, set: s}}
}

// setFields gives the components of a value set: exact, unless @match says otherwise.
func (l *lowerer) setFields(name string, t Type, annots syntax.Annotations) []*ir.Key {
	t = resolved(t)
	if isAggregate(t) {
		var out []*ir.Key
		names, types := elemTypes(t)
		for i, e := range types {
			n, as := "", syntax.Annotations(nil)
			if names != nil {
				n = names[i]
				as = t.(*Struct).Fields()[i].Decl.Annots
			}
			if name != "" && n != "" {
				n = name + "." + n
			}
			out = append(out, l.setFields(n, e, as)...)
		}
		return out
	}
	k := &ir.Key{Type: l.types.lower(t), TypeName: l.types.newtypeName(t), Match: ir.MatchExact, Name: name, Annotations: l.annots(annots)}
	if a := annots.Get("match"); a != nil && len(a.Exprs) == 1 {
		if m, ok := l.ev.value(a.Exprs[0]).(ErrVal); ok {
			k.Match = ir.MatchKind(m)
		}
	}
	return []*ir.Key{k}
}
