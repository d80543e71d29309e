package types

import (
	"github.com/catena-nfv/catena/internal/p4/ir"
)

// The statements that v1model allows in the controls around ingress and egress, besides
// those that handle locals: its checksum controls only check or only update checksums,
// and its deparser only emits headers.
var (
	inVerify  = []ir.Op{ir.OpVerifyChecksum, ir.OpVerifyChecksumPay}
	inCompute = []ir.Op{ir.OpUpdateChecksum, ir.OpUpdateChecksumPay}
	inDeparse = []ir.Op{ir.OpEmit}
)

// onlyCalls complains about statements of a control that are neither calls of ops nor
// work on locals.
func (l *lowerer) onlyCalls(k *ir.Control, what string, ops []ir.Op) {
	local := func(e ir.Expr) bool {
		v := ir.Root(e)
		return v != nil && v != l.prog.Hdr && v != l.prog.Meta && v != l.prog.Std
	}
	bad := func(s ir.Stmt, does string) {
		l.errorf(s.Pos(), CodeMisplaced, "%s cannot %s: v1model has only calls of %s there", what, does, ops[0])
	}
	ir.Walk(k.Body.Body, func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.Assign:
			if !local(s.Dst) {
				bad(s, "assign to headers or metadata")
			}
		case *ir.If, *ir.Switch:
			bad(s, "have conditions")
		case *ir.Loop:
			bad(s, "have loops")
		case *ir.Apply:
			bad(s, "apply tables")
		case *ir.Call:
			allowed := false
			switch s.Op {
			case ir.OpAssert, ir.OpAssume, ir.OpLogMsg:
				allowed = true
			case ir.OpSetValid, ir.OpSetInvalid, ir.OpPushFront, ir.OpPopFront:
				allowed = local(s.Args[0])
			}
			for _, op := range ops {
				allowed = allowed || s.Op == op
			}
			if !allowed {
				bad(s, "call "+string(s.Op))
			}
		}
	})
}

// notCalls complains about calls of a parser, ingress or egress that v1model has for
// other blocks only.
func (l *lowerer) notCalls(body []ir.Stmt, what string, not map[ir.Op]string) {
	ir.Walk(body, func(s ir.Stmt) {
		if c, ok := s.(*ir.Call); ok && not[c.Op] != "" {
			l.errorf(c.Span, CodeMisplaced, "%s cannot call %s: it belongs into %s", what, c.Op, not[c.Op])
		}
	})
}

// placement checks where the externs of v1model are called.
func (l *lowerer) placement() {
	p := l.prog
	l.onlyCalls(p.VerifyChecksum, "the control that verifies checksums", inVerify)
	l.onlyCalls(p.ComputeChecksum, "the control that updates checksums", inCompute)
	l.onlyCalls(p.Deparser, "the deparser", inDeparse)
	not := map[ir.Op]string{}
	for _, op := range inVerify {
		not[op] = "the control that verifies checksums"
	}
	for _, op := range inCompute {
		not[op] = "the control that updates checksums"
	}
	for _, k := range []*ir.Control{p.Ingress, p.Egress} {
		l.notCalls(k.Body.Body, k.Name, not)
		for _, a := range k.Actions {
			l.notCalls(a.Body, k.Name, not)
		}
	}
	for _, op := range []ir.Op{
		ir.OpMarkToDrop, ir.OpDigest, ir.OpClone, ir.OpClonePreserving, ir.OpResubmit, ir.OpRecirculate, ir.OpTruncate,
	} {
		not[op] = "ingress or egress"
	}
	for _, s := range p.Parser.States {
		l.notCalls(s.Body, "a parser", not)
	}
}
