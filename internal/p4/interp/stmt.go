package interp

import (
	"fmt"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
)

// flow says how a list of statements ended: nil at its end, otherwise on the way to
// the end of a block, or of everything when it is exitFlow or rejectFlow.
type flow *ir.Block

var (
	exitFlow   = flow(&ir.Block{Name: "exit"})
	rejectFlow = flow(&ir.Block{Name: "reject"})
)

// fail notes what went wrong; the first failure counts, and ends the packet.
func (r *run) fail(s diag.Span, format string, args ...any) {
	r.failWith(s, fmt.Errorf(format, args...))
}

func (r *run) failWith(s diag.Span, err error) {
	if r.err != nil {
		return
	}
	if r.sw.opts.Position != nil && s != (diag.Span{}) {
		err = fmt.Errorf("%s: %w", r.sw.opts.Position(s), err)
	}
	r.err = err
}

// step counts one unit of work and reports whether the packet may go on.
func (r *run) step(s diag.Span) bool {
	r.steps++
	if r.steps > r.sw.opts.MaxSteps {
		r.failWith(s, fmt.Errorf("a packet took more than %d steps: %w", r.sw.opts.MaxSteps, ErrLimit))
	}
	return r.err == nil
}

// exec runs statements until the end, a jump or a failure.
func (r *run) exec(body []ir.Stmt) flow {
	for _, s := range body {
		if !r.step(s.Pos()) {
			return exitFlow
		}
		if f := r.stmt(s); f != nil {
			return f
		}
	}
	return nil
}

func (r *run) stmt(s ir.Stmt) flow {
	switch s := s.(type) {
	case *ir.Assign:
		r.assignment(s)
	case *ir.If:
		cond := r.isTrue(s.Cond)
		if r.tracing() {
			r.trace(Event{Kind: EventBranch, Span: s.Span, Object: path(s.Cond), Detail: fmt.Sprint(cond)})
		}
		if cond {
			return r.exec(s.Then)
		}
		return r.exec(s.Else)
	case *ir.Switch:
		return r.exec(r.chosen(s))
	case *ir.Apply:
		return r.apply(s)
	case *ir.Call:
		return r.call(s)
	case *ir.Block:
		if f := r.exec(s.Body); f != nil && f != flow(s) {
			return f
		}
	case *ir.Leave:
		return s.Block
	case *ir.Loop:
		for r.step(s.Span) {
			if f := r.exec(s.Body); f != nil {
				return f
			}
		}
		return exitFlow
	case *ir.Exit:
		return exitFlow
	default:
		r.fail(s.Pos(), "unknown statement %T", s)
	}
	return nil
}

func (r *run) assignment(s *ir.Assign) {
	if _, ok := ir.ScalarBits(s.Dst.Type()); ok {
		r.assign(s.Dst, r.eval(s.Src))
		return
	}
	dst, src := r.lvalue(s.Dst), r.lvalue(s.Src)
	dst.set(src)
	if dst.union != nil && dst.valid {
		dst.setValid(true)
	}
	if r.tracing() {
		r.trace(Event{Kind: EventAssign, Span: s.Span, Object: path(s.Dst), Detail: describe(dst)})
	}
}

func (r *run) chosen(s *ir.Switch) []ir.Stmt {
	x := r.eval(s.X)
	if r.tracing() {
		r.trace(Event{Kind: EventBranch, Span: s.Span, Object: path(s.X), Detail: number(x, s.X.Type())})
	}
	for _, c := range s.Cases {
		for _, v := range c.Values {
			if v.Value.Cmp(x) == 0 {
				return c.Body
			}
		}
	}
	return s.Default
}

// control runs one of the five controls on the packet at hand.
func (r *run) control(c *ir.Control) {
	if len(c.Body.Body) == 0 {
		return
	}
	if r.tracing() {
		r.trace(Event{Kind: EventControl, Span: c.Span, Object: c.Name})
	}
	for _, v := range c.Locals {
		r.variable(v).reset()
	}
	r.exec(c.Body.Body)
}
