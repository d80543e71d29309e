package interp

import (
	"errors"
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// parse runs the parser over r.in and leaves the error, if any, in
// standard_metadata.parser_error.
func (r *run) parse() {
	p := r.sw.prog.Parser
	for _, v := range p.Locals {
		r.variable(v).reset()
	}
	state := p.States[0]
	for state != ir.Accept && state != ir.Reject {
		if !r.step(state.Span) {
			return
		}
		if r.tracing() {
			r.trace(Event{Kind: EventState, Span: state.Span, Object: state.Name})
		}
		if f := r.exec(state.Body); f != nil {
			break
		}
		state = r.next(state)
	}
	if r.tracing() && (state == ir.Reject || r.parseError != "") {
		r.trace(Event{Kind: EventReject, Span: state.Span, Detail: r.parseError})
	}
	r.setStd("parser_error", big.NewInt(int64(r.sw.errorCodes[r.parseError])))
	r.parseError = ""
}

// reject ends the parser with an error of core.p4 or of the program.
func (r *run) reject(name string) flow {
	r.parseError = name
	return rejectFlow
}

func (r *run) next(s *ir.State) *ir.State {
	values := make([]*big.Int, len(s.Next.Select))
	for i, e := range s.Next.Select {
		values[i] = r.eval(e)
	}
	for i := range s.Next.Cases {
		if c := &s.Next.Cases[i]; r.matches(c.Keys, s.Next.Select, values) {
			return c.Next
		}
	}
	r.reject("NoMatch")
	return ir.Reject
}

// matches reports whether every keyset has its value. Keysets that are parts of one
// value set must have them in one member.
func (r *run) matches(keys []ir.Keyset, xs []ir.Expr, values []*big.Int) bool {
	for i, k := range keys {
		if i >= len(values) {
			return false
		}
		v := values[i]
		switch k := k.(type) {
		case *ir.KeyAny:
		case *ir.KeyExact:
			if v.Cmp(k.Value) != 0 {
				return false
			}
		case *ir.KeyMask:
			if new(big.Int).And(v, k.Mask).Cmp(new(big.Int).And(k.Value, k.Mask)) != 0 {
				return false
			}
		case *ir.KeyRange:
			if v.Cmp(k.Lo) < 0 || v.Cmp(k.Hi) > 0 {
				return false
			}
		case *ir.KeySet:
			if k.Part == 0 && !r.inSet(k.Set, xs[i:], values[i:]) {
				return false
			}
		}
	}
	return true
}

func (r *run) inSet(set *ir.ValueSet, xs []ir.Expr, values []*big.Int) bool {
	for _, member := range r.sw.valueSets[set] {
		ok := len(values) >= len(member)
		for i := 0; ok && i < len(member); i++ {
			w, _ := bitsOf(xs[i].Type())
			ok = matchOne(set.Fields[i], member[i], target.Encode(values[i], w))
		}
		if ok {
			return true
		}
	}
	return false
}

var errFull = errors.New("stack is full")

// destination finds where an extract goes. Indexing a stack by its own nextIndex
// advances that: the stacks to advance are returned. errFull: there is no next.
func (r *run) destination(e ir.Expr) (*cell, []*cell, error) {
	switch e := e.(type) {
	case *ir.Member:
		c, stacks, err := r.destination(e.X)
		if err != nil {
			return nil, nil, err
		}
		if f := c.field(e.Field); f != nil {
			return f, stacks, nil
		}
	case *ir.Index:
		i, ok := e.I.(*ir.StackIndex)
		if !ok || i.Last {
			break
		}
		c, stacks, err := r.destination(e.X)
		if err != nil {
			return nil, nil, err
		}
		if c.next >= len(c.sub) {
			return nil, nil, errFull
		}
		return c.sub[c.next], append(stacks, c), nil
	}
	return r.lvalue(e), nil, nil
}

// extract is packet_in.extract (P4_16 section 13.8.2): nothing changes on an error.
func (r *run) extract(s *ir.Call) flow {
	dst, stacks, err := r.destination(s.Dst)
	if err != nil {
		return r.reject("StackOutOfBounds")
	}
	varLen := 0
	if len(s.Args) > 0 {
		n := r.eval(s.Args[0])
		if !wholeBytes(n) {
			return r.reject("ParserInvalidArgument")
		}
		if !n.IsInt64() || n.Int64() > int64(r.in.left()) {
			return r.reject("PacketTooShort")
		}
		varLen = int(n.Int64())
	}
	cells := dst.scalars(false, nil)
	total, tooLong := varLen, false
	for _, c := range cells {
		if v, ok := c.typ.(*ir.Varbit); ok {
			tooLong = tooLong || varLen > v.Max
			continue
		}
		total += c.width()
	}
	if total > r.in.left() {
		return r.reject("PacketTooShort")
	}
	if tooLong {
		return r.reject("HeaderTooShort")
	}
	for _, c := range cells {
		r.fill(c, varLen)
	}
	dst.setValid(true)
	for _, st := range stacks {
		st.next++
	}
	if r.tracing() {
		r.trace(Event{Kind: EventExtract, Span: s.Span, Object: path(s.Dst), Detail: describe(dst)})
	}
	return nil
}

// wholeBytes reports whether a number of bits is one of bytes. Parsers of v1model
// take nothing else for a varbit's length or an advance: ParserInvalidArgument.
func wholeBytes(bits *big.Int) bool { return bits.TrailingZeroBits() >= 3 || bits.Sign() == 0 }

// fill reads a scalar or varbit from the packet.
func (r *run) fill(c *cell, varLen int) {
	if _, ok := c.typ.(*ir.Varbit); ok {
		c.bits = varLen
		c.num = r.in.read(varLen)
		return
	}
	c.num = fit(r.in.read(c.width()), c.typ)
}

// lookahead reads a value of the destination's type without moving on.
func (r *run) lookahead(s *ir.Call) flow {
	width := 0
	if w, ok := ir.ScalarBits(s.Dst.Type()); ok {
		width = w
	} else {
		for _, c := range newCell(s.Dst.Type()).scalars(false, nil) {
			width += c.width()
		}
	}
	if width > r.in.left() {
		return r.reject("PacketTooShort")
	}
	if _, ok := ir.ScalarBits(s.Dst.Type()); ok {
		r.assign(s.Dst, r.in.peek(width))
		return nil
	}
	at := r.in.pos
	dst := r.lvalue(s.Dst)
	for _, c := range dst.scalars(false, nil) {
		r.fill(c, 0)
	}
	dst.setValid(true)
	r.in.pos = at
	return nil
}

func (r *run) advance(s *ir.Call) flow {
	n := r.eval(s.Args[0])
	if !wholeBytes(n) {
		return r.reject("ParserInvalidArgument")
	}
	if !n.IsInt64() || n.Int64() > int64(r.in.left()) {
		return r.reject("PacketTooShort")
	}
	r.in.pos += int(n.Int64())
	return nil
}

func (r *run) verify(s *ir.Call) flow {
	if r.isTrue(s.Args[0]) {
		return nil
	}
	code := r.eval(s.Args[1])
	if !code.IsInt64() || code.Int64() >= int64(len(r.sw.prog.Errors)) {
		r.fail(s.Span, "unknown error %s", code)
		return exitFlow
	}
	return r.reject(r.sw.prog.Errors[code.Int64()])
}
