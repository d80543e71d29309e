package p4text

import (
	"fmt"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

func (pr *printer) stmts(list []ir.Stmt) {
	for _, s := range list {
		pr.stmt(s)
	}
}

func (pr *printer) stmt(s ir.Stmt) {
	if h, ok := pr.hoists[s]; ok && pr.parser {
		pr.hoistedCall(h)
		return
	}
	switch s := s.(type) {
	case *ir.Assign:
		pr.line("%s = %s;", pr.place(s.Dst), pr.assigned(s.Dst, s.Src))
	case *ir.If:
		pr.ifStmt("", s)
	case *ir.Switch:
		pr.open("switch (%s)", pr.expr(s.X))
		for _, c := range s.Cases {
			var labels []string
			for _, v := range c.Values {
				labels = append(labels, pr.expr(v))
			}
			pr.arm(labels, c.Body)
		}
		if len(s.Default) > 0 {
			pr.arm([]string{"default"}, s.Default)
		}
		pr.close("")
	case *ir.Apply:
		pr.apply(s)
	case *ir.Call:
		pr.line("%s;", pr.call(s))
	case *ir.Block:
		pr.open("%s", strings.Join(annotationText(s.Annotations), " "))
		pr.stmts(s.Body)
		pr.close("")
	case *ir.Leave:
		if s.Block != ret {
			pr.fail("a statement leaves block %q from outside", s.Block.Name)
		}
		pr.line("return;")
	case *ir.Loop:
		cond := pr.loops[s]
		if cond == nil {
			cond = boolean(true)
		}
		pr.open("for (; %s; )", pr.expr(cond))
		pr.stmts(s.Body)
		pr.close("")
	case *ir.Exit:
		pr.line("exit;")
	default:
		pr.fail("unknown statement %T", s)
	}
}

// ifStmt prints an if, an else that is one if being put behind it.
func (pr *printer) ifStmt(prefix string, s *ir.If) {
	pr.open("%sif (%s)", prefix, pr.expr(s.Cond))
	pr.stmts(s.Then)
	if len(s.Else) == 0 {
		pr.close("")
		return
	}
	if next, ok := s.Else[0].(*ir.If); ok && len(s.Else) == 1 {
		pr.indent--
		pr.ifStmt("} else ", next)
		return
	}
	pr.indent--
	pr.open("} else")
	pr.stmts(s.Else)
	pr.close("")
}

// arm prints an arm of a switch.
func (pr *printer) arm(labels []string, body []ir.Stmt) {
	for i, l := range labels {
		if i < len(labels)-1 {
			pr.line("%s:", l)
			continue
		}
		if len(body) == 0 {
			pr.line("%s: { }", l)
			return
		}
		pr.open("%s:", l)
		pr.stmts(body)
		pr.close("")
	}
}

func (pr *printer) apply(s *ir.Apply) {
	if v := hitVar(s); v != nil && pr.hits[v] == s {
		return // the if behind it does it
	}
	name := pr.object(s.Table)
	if len(s.Cases) == 0 {
		if s.Hit == nil {
			pr.line("%s.apply();", name)
		} else {
			pr.line("%s = %s.apply().hit;", pr.expr(s.Hit), name)
		}
		return
	}
	if s.Hit != nil {
		pr.fail("table %q: one apply gives both hit and action_run", s.Table.FullName)
	}
	pr.open("switch (%s.apply().action_run)", name)
	for _, c := range s.Cases {
		var labels []string
		for _, a := range c.Actions {
			labels = append(labels, pr.object(a))
		}
		if c.Default {
			labels = append(labels, "default")
		}
		pr.arm(labels, c.Body)
	}
	pr.close("")
}

// call gives an operation as a P4 call or assignment.
func (pr *printer) call(s *ir.Call) string {
	args := make([]string, len(s.Args))
	for i, a := range s.Args {
		args[i] = pr.expr(a)
	}
	dst := ""
	if s.Dst != nil {
		dst = pr.expr(s.Dst)
	}
	at := func(i int) string {
		if i < len(args) {
			return args[i]
		}
		pr.fail("%s has %d arguments", s.Op, len(args))
		return "unknown"
	}
	all := func(parts ...string) string { return strings.Join(parts, ", ") }
	method := string(s.Op)
	if i := strings.LastIndexByte(method, '.'); i >= 0 {
		method = method[i+1:]
	}
	switch s.Op {
	case ir.OpSetValid, ir.OpSetInvalid:
		return fmt.Sprintf("%s.%s()", at(0), s.Op)
	case ir.OpPushFront, ir.OpPopFront:
		n := at(1)
		if c, ok := s.Args[1].(*ir.Const); ok {
			n = c.Value.String()
		}
		return fmt.Sprintf("%s.%s(%s)", at(0), s.Op, n)
	case ir.OpExtract:
		return fmt.Sprintf("%s.extract(%s)", pr.packet, all(append([]string{dst}, args...)...))
	case ir.OpLookahead:
		return fmt.Sprintf("%s = %s.lookahead<%s>()", dst, pr.packet, pr.typ(s.Dst.Type()))
	case ir.OpAdvance:
		return fmt.Sprintf("%s.advance(%s)", pr.packet, at(0))
	case ir.OpLength:
		return fmt.Sprintf("%s = %s.length()", dst, pr.packet)
	case ir.OpEmit:
		return fmt.Sprintf("%s.emit(%s)", pr.packet, at(0))
	case ir.OpMarkToDrop:
		return fmt.Sprintf("mark_to_drop(%s)", pr.std)
	case ir.OpHash:
		return fmt.Sprintf("hash(%s)", all(dst, at(0), at(1), at(2), at(3)))
	case ir.OpRandom:
		return fmt.Sprintf("random(%s)", all(dst, at(0), at(1)))
	case ir.OpDigest:
		if s.Inst != nil && s.Inst.Elem != nil {
			if x, ok := s.Args[1].(*ir.Tuple); ok {
				args[1] = pr.tupleOf(x, ir.FieldsOf(s.Inst.Elem))
			}
			return fmt.Sprintf("digest<%s>(%s)", pr.typ(s.Inst.Elem), all(args...))
		}
	case ir.OpUpdateChecksum, ir.OpUpdateChecksumPay:
		return fmt.Sprintf("%s(%s)", s.Op, all(at(0), at(1), dst, at(2)))
	case ir.OpCount, ir.OpDirectCount, ir.OpRegWrite, ir.OpFlowWrite:
		return fmt.Sprintf("%s.%s(%s)", pr.object(s.Inst), method, all(args...))
	case ir.OpMeter:
		return fmt.Sprintf("%s.%s(%s)", pr.object(s.Inst), method, all(at(0), dst))
	case ir.OpDirectMeter:
		return fmt.Sprintf("%s.%s(%s)", pr.object(s.Inst), method, dst)
	case ir.OpRegRead, ir.OpFlowRead:
		return fmt.Sprintf("%s.%s(%s)", pr.object(s.Inst), method, all(dst, at(0)))
	}
	return fmt.Sprintf("%s(%s)", s.Op, all(args...))
}
