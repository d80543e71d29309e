package types

import (
	"fmt"
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/syntax"
)

// dropPort is the egress_spec that drops a packet in v1model.
const dropPort = 511

// externCall lowers a call of an extern function.
func (l *lowerer) externCall(e *syntax.Call, ci *callInfo) *operand {
	span := e.Span()
	none := &operand{t: Void}
	call := &ir.Call{Op: ir.Op(ci.sig.name), Span: span}
	in := func(i int) ir.Expr {
		return l.scalar(l.before(l.expr(ci.args[i]), ci.args[i], ci.args[i+1:]...), span)
	}
	list := func(i int) ir.Expr {
		return l.fieldTuple(l.before(l.expr(ci.args[i]), ci.args[i], ci.args[i+1:]...), span)
	}
	switch call.Op {
	case "static_assert":
		return &operand{t: Bool, x: boolConst(true, span)}
	case ir.OpVerify:
		call.Args = []ir.Expr{in(0), in(1)}
	case ir.OpMarkToDrop:
		if len(ci.args) == 1 {
			if std := l.lvalue(ci.args[0], true); !l.isStd(std) {
				l.dropCopy(std, span)
				return none
			}
		}
	case ir.OpHash:
		call.Dst = l.outArg(ci.args[0], &ir.Bits{Width: 32}, span)
		call.Args = []ir.Expr{in(1), in(2), list(3), in(4)}
	case ir.OpRandom:
		call.Dst = l.outArg(ci.args[0], &ir.Bits{Width: 32}, span)
		call.Args = []ir.Expr{in(1), in(2)}
	case ir.OpDigest:
		receiver := in(0)
		o := l.expr(ci.args[1])
		call.Inst = l.digestOf(o, span)
		call.Args = []ir.Expr{receiver, l.structValue(o, span)}
	case ir.OpClone:
		call.Args = []ir.Expr{in(0), in(1)}
	case ir.OpClonePreserving:
		call.Args = []ir.Expr{in(0), in(1), in(2)}
	case ir.OpResubmit, ir.OpRecirculate, ir.OpTruncate, ir.OpAssert, ir.OpAssume:
		call.Args = []ir.Expr{in(0)}
	case ir.OpVerifyChecksum, ir.OpVerifyChecksumPay:
		call.Args = []ir.Expr{in(0), list(1), in(2), in(3)}
	case ir.OpUpdateChecksum, ir.OpUpdateChecksumPay:
		call.Args = []ir.Expr{in(0), list(1)}
		call.Dst = l.outArg(ci.args[2], &ir.Bits{Width: 16}, span)
		call.Args = append(call.Args, in(3))
	case ir.OpLogMsg:
		call.Args = []ir.Expr{in(0)}
		if len(ci.args) > 1 && ci.args[1] != nil {
			call.Args = append(call.Args, list(1))
		}
	default:
		l.fail(span, CodeUnsupported, "extern function %s is not part of v1model and cannot be compiled", ci.sig.name)
	}
	l.emit(call)
	return none
}

func (l *lowerer) isStd(o *operand) bool {
	r, ok := o.x.(*ir.VarRef)
	return ok && r.Var == l.prog.Std
}

// dropCopy is mark_to_drop of a copy of the standard metadata.
func (l *lowerer) dropCopy(o *operand, span diag.Span) {
	s, _ := resolved(o.t).(*Struct)
	set := func(field string, v int64) {
		if s == nil {
			return
		}
		if f, i := s.field(field); f != nil {
			l.assign(l.part(o, i, span), l.constant(IntVal{big.NewInt(v)}, f.Type, span), span)
		}
	}
	set("egress_spec", dropPort)
	set("mcast_grp", 0)
}

// fieldTuple takes the data of a hash, checksum or log message apart into a flat list.
func (l *lowerer) fieldTuple(o *operand, span diag.Span) ir.Expr {
	t := &ir.Struct{Tuple: true, Name: "tuple"}
	tuple := &ir.Tuple{T: t, Span: span}
	for _, s := range l.scalars(o, span) {
		x := l.scalar(s, span)
		t.Fields = append(t.Fields, &ir.Field{Name: fmt.Sprintf("f%d", len(t.Fields)), Type: x.Type()})
		tuple.Elems = append(tuple.Elems, x)
	}
	return tuple
}

// digestOf gives the digest for the struct that is sent.
func (l *lowerer) digestOf(o *operand, span diag.Span) *ir.Instance {
	if !isAggregate(o.t) {
		l.fail(span, CodeUnsupported, "a digest is of a struct or a list, not of %s", o.t)
	}
	t := l.types.lower(o.t)
	d := l.digest[t]
	if d == nil {
		d = &ir.Instance{Kind: ir.KindDigest, FullName: t.String(), Elem: t, Span: span}
		l.digest[t] = d
	}
	l.listInstance(d)
	return d
}

// structValue gives a struct operand as storage or as a list of its fields.
func (l *lowerer) structValue(o *operand, span diag.Span) ir.Expr {
	if o.x != nil {
		return copyOf(o.x)
	}
	t, ok := l.types.lower(o.t).(*ir.Struct)
	if !ok {
		return l.storage(o, span)
	}
	tuple := &ir.Tuple{T: t, Span: span}
	for i := range count(o.t) {
		p := l.part(o, i, span)
		if isAggregate(p.t) {
			tuple.Elems = append(tuple.Elems, l.structValue(p, span))
		} else {
			tuple.Elems = append(tuple.Elems, l.scalar(p, span))
		}
	}
	return tuple
}
