package types

import (
	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/syntax"
)

// externInstance makes the IR instance of an extern object.
func (l *lowerer) externInstance(inst *instance, x *Extern, ci *callInfo, span diag.Span) {
	n := &ir.Instance{Kind: ir.InstanceKind(x.info.decl.Name.Text), FullName: inst.path, Annotations: l.annots(inst.annots), Span: span}
	size := func(i int) int {
		v, ok := inst.ctor[ci.sig.params[i].obj].value().(IntVal)
		if !ok || !v.V.IsInt64() || v.V.Int64() > 1<<31 || v.V.Sign() < 0 {
			l.fail(span, CodeConst, "the %s of %s has to be known at compile time", ci.sig.params[i].Name, inst.name)
		}
		return int(v.V.Int64())
	}
	member := func(i int) string {
		p := ci.sig.params[i]
		v, ok := inst.ctor[p.obj].value().(EnumVal)
		e, isEnum := resolved(p.Type).(*Enum)
		if !ok || !isEnum {
			l.fail(span, CodeConst, "the %s of %s has to be known at compile time", p.Name, inst.name)
		}
		return e.Members[v]
	}
	index := func(i int) int {
		if i >= len(x.Args) {
			return 32
		}
		b, ok := base(l.subst(x.Args[i])).(*Bits)
		if !ok {
			l.fail(span, CodeExtern, "the index of %s is a bit<W>, not %s", inst.name, x.Args[i])
		}
		return b.Width
	}
	switch n.Kind {
	case ir.KindCounter, ir.KindMeter:
		n.Size, n.Unit, n.IndexWidth = size(0), member(1), index(0)
	case ir.KindDirectCounter:
		n.Unit = member(0)
	case ir.KindDirectMeter:
		n.Unit = member(0)
		n.Elem = l.types.lower(l.subst(x.Args[0]))
	case ir.KindRegister:
		n.Size, n.IndexWidth = size(0), index(1)
		t := l.subst(x.Args[0])
		n.Elem, n.TypeName = l.types.lower(t), l.types.newtypeName(t)
		if _, ok := ir.ScalarBits(n.Elem); !ok || resolved(t) == Int {
			l.fail(span, CodeUnsupported, "register %s: v1model keeps numbers and bools in registers, not %s", inst.name, t)
		}
	case ir.KindFlowState:
		n.Size = size(0)
		for _, s := range l.scalarTypes(l.types.lower(l.subst(x.Args[0])), inst.name, span) {
			w, _ := ir.ScalarBits(s)
			n.Key = append(n.Key, w)
		}
		n.Elem = l.types.lower(l.subst(x.Args[1]))
		if b, ok := n.Elem.(*ir.Bits); !ok || b.Signed || b.Width > 64 || n.Size == 0 {
			l.fail(span, CodeUnsupported, "flow_state %s: it has a size above 0 and a value of type bit<1> to bit<64>", inst.name)
		}
	case ir.KindActionProfile:
		n.Size = size(0)
	case ir.KindActionSelector:
		n.Algorithm, n.Size, n.OutWidth = member(0), size(1), size(2)
	default:
		l.fail(span, CodeUnsupported, "extern %s is not part of v1model and cannot be compiled", x)
	}
	l.claim(string(n.Kind), n.FullName, inst.decl, false)
	inst.ext = n
	if l.blk != nil {
		l.listInstance(n)
	}
}

// listInstance makes an instance one of the control that is being built. One at top
// level belongs to every control that uses it.
func (l *lowerer) listInstance(n *ir.Instance) {
	if l.blk.listed[n] {
		return
	}
	l.blk.listed[n] = true
	if n.Name == "" {
		n.Name = l.unique(lastPart(n.FullName))
	} else {
		l.blk.names.used[n.Name] = true
	}
	if l.blk.control != nil {
		l.blk.control.Instances = append(l.blk.control.Instances, n)
	}
}

func lastPart(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '.' {
			return path[i+1:]
		}
	}
	return path
}

// methodCall lowers a call of a method of an extern object.
func (l *lowerer) methodCall(e *syntax.Call, ci *callInfo) *operand {
	span := e.Span()
	x, _ := l.subst(ci.recvT).(*Extern)
	switch x.info.decl.Name.Text {
	case "packet_in":
		return l.packetIn(e, ci)
	case "packet_out":
		if ci.sig.name == "emit" {
			l.emitHeaders(l.expr(ci.args[0]), span)
			return &operand{t: Void}
		}
	}
	recv := l.expr(ci.recv)
	if recv.obj == nil || recv.obj.ext == nil {
		l.fail(span, CodeUnsupported, "method %s of extern %s is not part of v1model and cannot be compiled", ci.sig.name, x)
	}
	inst := recv.obj.ext
	if l.blk.parser != nil {
		l.fail(span, CodeUnsupported, "%s cannot be used in a parser: v1model keeps state in controls", inst.FullName)
	}
	l.listInstance(inst)
	call := &ir.Call{Inst: inst, Span: span}
	switch string(inst.Kind) + "." + ci.sig.name {
	case "counter.count":
		call.Op = ir.OpCount
		call.Args = []ir.Expr{l.scalarExpr(ci.args[0])}
	case "direct_counter.count":
		call.Op = ir.OpDirectCount
	case "meter.execute_meter":
		call.Op = ir.OpMeter
		i := l.before(l.expr(ci.args[0]), ci.args[0], ci.args[1])
		call.Args = []ir.Expr{l.scalar(i, span)}
		return l.withDst(call, ci.args[1], span)
	case "direct_meter.read":
		call.Op = ir.OpDirectMeter
		return l.withDst(call, ci.args[0], span)
	case "register.read":
		call.Op = ir.OpRegRead
		dst := l.outArg(ci.args[0], inst.Elem, span)
		call.Args = []ir.Expr{l.scalarExpr(ci.args[1])}
		call.Dst = dst
	case "register.write":
		call.Op = ir.OpRegWrite
		i := l.before(l.expr(ci.args[0]), ci.args[0], ci.args[1])
		call.Args = []ir.Expr{l.scalar(i, span), l.scalarExpr(ci.args[1])}
	case "flow_state.read":
		call.Op = ir.OpFlowRead
		key := l.fieldTuple(l.expr(ci.args[1]), span)
		call.Dst = l.outArg(ci.args[0], inst.Elem, span)
		call.Args = []ir.Expr{key}
	case "flow_state.write":
		call.Op = ir.OpFlowWrite
		key := l.fieldTuple(l.before(l.expr(ci.args[0]), ci.args[0], ci.args[1:]...), span)
		value := l.scalar(l.before(l.expr(ci.args[1]), ci.args[1], ci.args[2]), span)
		call.Args = []ir.Expr{key, value, l.scalarExpr(ci.args[2])}
	default:
		l.fail(span, CodeUnsupported, "method %s of extern %s is not part of v1model and cannot be compiled", ci.sig.name, x)
	}
	l.emit(call)
	return &operand{t: Void}
}

// scalarTypes lists the numbers and bools that the key of an object consists of.
func (l *lowerer) scalarTypes(t ir.Type, name string, span diag.Span) []ir.Type {
	if _, ok := ir.ScalarBits(t); ok {
		return []ir.Type{t}
	}
	if _, ok := t.(*ir.Struct); !ok {
		l.fail(span, CodeUnsupported, "the key of %s is a number or a struct of numbers, not %s", name, t)
	}
	var out []ir.Type
	for _, f := range ir.FieldsOf(t) {
		out = append(out, l.scalarTypes(f.Type, name, span)...)
	}
	return out
}

// outArg lowers an out argument; `_` gets a variable that nobody reads.
func (l *lowerer) outArg(e syntax.Expr, t ir.Type, span diag.Span) ir.Expr {
	if isDontCare(e) {
		v := &ir.Var{Name: l.unique("unused"), Type: t, Span: span}
		l.local(v)
		return &ir.VarRef{Var: v, Span: span}
	}
	o := l.lvalue(e, true)
	if o.x == nil {
		l.fail(e.Span(), CodeUnsupported, "this cannot be an out argument of an extern")
	}
	return copyOf(o.x)
}

func (l *lowerer) local(v *ir.Var) {
	if l.blk.control != nil {
		l.blk.control.Locals = append(l.blk.control.Locals, v)
	} else {
		l.blk.parser.Locals = append(l.blk.parser.Locals, v)
	}
}

func (l *lowerer) withDst(call *ir.Call, e syntax.Expr, span diag.Span) *operand {
	t := ir.Type(&ir.Bits{Width: 32})
	if !isDontCare(e) {
		if b, ok := base(l.typ(e)).(*Bits); !ok || b.Signed {
			l.fail(e.Span(), CodeExtern, "a meter's colour is a bit<W>, not %s", l.typ(e))
		}
		t = l.types.lower(l.typ(e))
	}
	call.Dst = l.outArg(e, t, span)
	l.emit(call)
	return &operand{t: Void}
}

// packetIn lowers the methods of packet_in.
func (l *lowerer) packetIn(e *syntax.Call, ci *callInfo) *operand {
	span := e.Span()
	t := Type(Void)
	if len(ci.sig.tparams) > 0 {
		t = l.subst(l.compose(ci.subst).apply(ci.sig.tparams[0]))
	}
	switch ci.sig.name {
	case "extract":
		call := &ir.Call{Op: ir.OpExtract, Span: span}
		if isDontCare(ci.args[0]) {
			if !isHeader(t) {
				l.fail(span, CodeTypeArgs, "extract(_) needs the type of the header: extract<H>(_)")
			}
			call.Dst = copyOf(l.temp("skipped", t, span).x)
		} else {
			h := l.lvalue(ci.args[0], len(ci.args) > 1 && l.hasEffects(ci.args[1]))
			call.Dst = l.storage(h, span)
		}
		if len(ci.args) > 1 {
			call.Args = []ir.Expr{l.scalarExpr(ci.args[1])}
		}
		l.emit(call)
		return &operand{t: Void}
	case "lookahead":
		v := l.temp("ahead", t, span)
		l.emit(&ir.Call{Op: ir.OpLookahead, Dst: copyOf(v.x), Span: span})
		v.lv = false
		return v
	case "advance":
		l.emit(&ir.Call{Op: ir.OpAdvance, Args: []ir.Expr{l.scalarExpr(ci.args[0])}, Span: span})
		return &operand{t: Void}
	case "length":
		v := l.temp("length", &Bits{Width: 32}, span)
		l.emit(&ir.Call{Op: ir.OpLength, Dst: copyOf(v.x), Span: span})
		v.lv = false
		return v
	}
	l.fail(span, CodeUnsupported, "packet_in has no %s", ci.sig.name)
	return nil
}

// emitHeaders lowers packet_out.emit, taking structs, stacks and unions apart.
func (l *lowerer) emitHeaders(o *operand, span diag.Span) {
	switch t := resolved(o.t).(type) {
	case *Struct:
		if isHeader(t) {
			if !o.invalid {
				l.emit(&ir.Call{Op: ir.OpEmit, Args: []ir.Expr{l.storage(o, span)}, Span: span})
			}
			return
		}
		for i := range t.Fields() {
			l.emitHeaders(l.part(o, i, span), span)
		}
	case *Stack:
		for i := range t.Size {
			l.emitHeaders(l.part(o, i, span), span)
		}
	case *Tuple, *ListLit, *RecordLit:
		for i := range count(t) {
			l.emitHeaders(l.part(o, i, span), span)
		}
	}
}
