package interp

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/hash"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// call runs an extern or built-in operation.
func (r *run) call(s *ir.Call) flow {
	if !r.wellFormed(s) {
		return exitFlow
	}
	switch s.Op {
	case ir.OpExtract:
		return r.extract(s)
	case ir.OpLookahead:
		return r.lookahead(s)
	case ir.OpAdvance:
		return r.advance(s)
	case ir.OpVerify:
		return r.verify(s)
	case ir.OpLength:
		r.assign(s.Dst, big.NewInt(int64(len(r.in.data))))
	case ir.OpEmit:
		r.emit(s)
	case ir.OpSetValid, ir.OpSetInvalid, ir.OpPushFront, ir.OpPopFront:
		r.headerOp(s)
	default:
		r.extern(s)
	}
	return nil
}

// arity is the least number of arguments of the operations, and whether they have a
// destination.
var arity = map[ir.Op]struct {
	args int
	dst  bool
}{
	ir.OpSetValid: {1, false}, ir.OpSetInvalid: {1, false}, ir.OpPushFront: {2, false}, ir.OpPopFront: {2, false},
	ir.OpExtract: {0, true}, ir.OpLookahead: {0, true}, ir.OpAdvance: {1, false}, ir.OpLength: {0, true},
	ir.OpVerify: {2, false}, ir.OpEmit: {1, false}, ir.OpMarkToDrop: {0, false}, ir.OpHash: {4, true},
	ir.OpRandom: {2, true}, ir.OpDigest: {2, false}, ir.OpClone: {2, false}, ir.OpClonePreserving: {3, false},
	ir.OpResubmit: {1, false}, ir.OpRecirculate: {1, false}, ir.OpTruncate: {1, false},
	ir.OpVerifyChecksum: {4, false}, ir.OpVerifyChecksumPay: {4, false},
	ir.OpUpdateChecksum: {3, true}, ir.OpUpdateChecksumPay: {3, true},
	ir.OpAssert: {1, false}, ir.OpAssume: {1, false}, ir.OpLogMsg: {1, false},
	ir.OpCount: {1, false}, ir.OpDirectCount: {0, false}, ir.OpMeter: {1, true}, ir.OpDirectMeter: {0, true},
	ir.OpRegRead: {1, true}, ir.OpRegWrite: {2, false}, ir.OpFlowRead: {1, true}, ir.OpFlowWrite: {3, false},
}

func (r *run) wellFormed(s *ir.Call) bool {
	a, ok := arity[s.Op]
	switch {
	case !ok:
		r.fail(s.Span, "unknown operation %s", s.Op)
	case len(s.Args) < a.args:
		r.fail(s.Span, "%s has %d arguments, it needs %d", s.Op, len(s.Args), a.args)
	case a.dst && s.Dst == nil:
		r.fail(s.Span, "the result of %s goes nowhere", s.Op)
	case strings.Contains(string(s.Op), ".") && s.Inst == nil:
		r.fail(s.Span, "%s has no object", s.Op)
	default:
		return true
	}
	return false
}

func (r *run) headerOp(s *ir.Call) {
	c := r.lvalue(s.Args[0])
	switch s.Op {
	case ir.OpSetValid, ir.OpSetInvalid:
		c.setValid(s.Op == ir.OpSetValid)
	default:
		n := r.eval(s.Args[1])
		count := len(c.sub) // all that a larger count can move
		if n.IsInt64() && n.Int64() < int64(count) {
			count = max(int(n.Int64()), 0)
		}
		if s.Op == ir.OpPushFront {
			c.push(count)
		} else {
			c.pop(count)
		}
	}
	if r.tracing() {
		r.trace(Event{Kind: EventCall, Span: s.Span, Object: path(s.Args[0]) + "." + string(s.Op), Detail: describe(c)})
	}
}

// extern runs the functions and methods of v1model.
func (r *run) extern(s *ir.Call) {
	switch s.Op {
	case ir.OpMarkToDrop:
		r.setStd("egress_spec", big.NewInt(target.DropPort))
		r.setStd("mcast_grp", zero)
	case ir.OpHash:
		r.assign(s.Dst, hash.Range(r.hash(s.Span, r.algorithm(s.Args[0]), r.pack(s.Args[2]).data), r.eval(s.Args[1]), r.eval(s.Args[3])))
	case ir.OpRandom:
		r.assign(s.Dst, r.draw(r.eval(s.Args[0]), r.eval(s.Args[1])))
	case ir.OpDigest:
		r.digest(s)
	case ir.OpClone:
		r.req.clone, r.req.session, r.req.cloneList = true, uint32(r.eval(s.Args[1]).Uint64()), ""
	case ir.OpClonePreserving:
		r.req.clone, r.req.session, r.req.cloneList = true, uint32(r.eval(s.Args[1]).Uint64()), r.eval(s.Args[2]).String()
	case ir.OpResubmit:
		r.req.resubmit, r.req.resubmitList = true, r.eval(s.Args[0]).String()
	case ir.OpRecirculate:
		r.req.recirculate, r.req.recircList = true, r.eval(s.Args[0]).String()
	case ir.OpTruncate:
		r.it.truncate = int(r.eval(s.Args[0]).Uint64()) + 1
	case ir.OpVerifyChecksum, ir.OpVerifyChecksumPay:
		r.verifyChecksum(s)
	case ir.OpUpdateChecksum, ir.OpUpdateChecksumPay:
		if r.isTrue(s.Args[0]) {
			r.assign(s.Dst, r.checksum(s, s.Args[1], s.Args[2], s.Op == ir.OpUpdateChecksumPay))
		}
	case ir.OpAssert, ir.OpAssume:
		if !r.isTrue(s.Args[0]) {
			r.failWith(s.Span, fmt.Errorf("%s(%s): %w", s.Op, path(s.Args[0]), ErrAssert))
		}
	case ir.OpLogMsg:
		r.logMessage(s)
	case ir.OpCount:
		cells := r.sw.counters[s.Inst]
		if i, ok := r.index(s, cells.size); ok {
			c := cells.at(i)
			c.Packets++
			c.Bytes += uint64(r.it.length)
		}
	case ir.OpDirectCount: // counted when the table matched
	case ir.OpMeter:
		r.executeMeter(s)
	case ir.OpDirectMeter:
		r.assign(s.Dst, big.NewInt(int64(r.colours[s.Inst])))
	case ir.OpRegRead:
		r.registerRead(s)
	case ir.OpRegWrite:
		r.registerWrite(s)
	case ir.OpFlowRead:
		r.assign(s.Dst, r.sw.flows[s.Inst].read(string(r.pack(s.Args[0]).data), r.sw.opts.Now()))
	case ir.OpFlowWrite:
		life := time.Duration(r.eval(s.Args[2]).Uint64()) * time.Second
		r.sw.flows[s.Inst].write(string(r.pack(s.Args[0]).data), fit(r.eval(s.Args[1]), s.Inst.Elem), life, r.sw.opts.Now())
	}
	if r.tracing() {
		r.traceCall(s)
	}
}

func (r *run) traceCall(s *ir.Call) {
	name := string(s.Op)
	if s.Inst != nil {
		name += " " + s.Inst.FullName
	}
	var args []string
	for _, a := range s.Args {
		switch a := a.(type) {
		case *ir.StringLit:
			args = append(args, fmt.Sprintf("%q", a.Value))
		default:
			args = append(args, describe(r.lvalue(a)))
		}
	}
	r.trace(Event{Kind: EventCall, Span: s.Span, Object: name, Detail: strings.Join(args, ", ")})
}

// index evaluates the index argument of an object with so many cells.
func (r *run) index(s *ir.Call, size int) (int, bool) {
	i := r.eval(s.Args[0])
	if !i.IsInt64() || i.Int64() < 0 || i.Int64() >= int64(size) {
		return 0, false
	}
	return int(i.Int64()), true
}

func (r *run) registerRead(s *ir.Call) {
	cells := r.sw.registers[s.Inst]
	v := newCell(s.Inst.Elem)
	if i, ok := r.index(s, cells.size); ok && cells.get(i) != nil {
		v = cells.get(i)
	}
	if v.num != nil {
		r.assign(s.Dst, v.num)
		return
	}
	r.lvalue(s.Dst).set(v)
}

func (r *run) registerWrite(s *ir.Call) {
	cells := r.sw.registers[s.Inst]
	i, ok := r.index(s, cells.size)
	if !ok {
		return
	}
	c := cells.at(i)
	if *c == nil {
		*c = newCell(s.Inst.Elem)
	}
	if (*c).num != nil {
		(*c).num = fit(r.eval(s.Args[1]), s.Inst.Elem)
		return
	}
	(*c).set(r.lvalue(s.Args[1]))
}

// draw returns a random number from lo to hi, both included; lo if there is none.
func (r *run) draw(lo, hi *big.Int) *big.Int {
	span := new(big.Int).Sub(hi, lo)
	if span.Sign() <= 0 {
		return lo
	}
	span.Add(span, one)
	v := new(big.Int)
	for range span.BitLen()/64 + 2 { // so many bits that the remainder is as good as even
		v.Or(v.Lsh(v, 64), new(big.Int).SetUint64(r.sw.random.Uint64()))
	}
	return v.Add(v.Mod(v, span), lo)
}

func (r *run) digest(s *ir.Call) {
	d := target.Digest{Name: "digest"}
	if s.Inst != nil {
		d.Name = s.Inst.FullName
	}
	for _, c := range r.lvalue(s.Args[1]).scalars(false, nil) {
		d.Values = append(d.Values, target.Encode(c.num, c.width()))
	}
	r.sw.digests = append(r.sw.digests, d)
}

// logMessage fills the {} of a log_msg in order.
func (r *run) logMessage(s *ir.Call) {
	lit, ok := s.Args[0].(*ir.StringLit)
	if !ok {
		r.fail(s.Span, "log_msg needs a string")
		return
	}
	msg := lit.Value
	if len(s.Args) > 1 {
		for _, c := range r.lvalue(s.Args[1]).scalars(false, nil) {
			msg = strings.Replace(msg, "{}", c.num.String(), 1)
		}
	}
	r.sw.opts.Log(msg)
}

// algorithm returns the name of a HashAlgorithm argument.
func (r *run) algorithm(e ir.Expr) string {
	t, ok := e.Type().(*ir.Enum)
	v := r.eval(e)
	if !ok || !v.IsInt64() || v.Int64() < 0 || v.Int64() >= int64(len(t.Members)) {
		r.fail(e.Pos(), "%s is no hash algorithm", path(e))
		return "identity"
	}
	return t.Members[v.Int64()]
}

func (r *run) hash(at diag.Span, algorithm string, data []byte) *big.Int {
	if algorithm == "random" {
		return new(big.Int).SetUint64(r.sw.random.Uint64())
	}
	h, err := hash.Compute(algorithm, r.sw.opts.Hash, data)
	if err != nil {
		r.failWith(at, err)
		return zero
	}
	return h
}

// pack writes the scalars of a value one after another, without those of invalid
// headers.
func (r *run) pack(e ir.Expr) *writer {
	w := &writer{}
	for _, c := range r.lvalue(e).scalars(true, nil) {
		w.write(c.num, c.width())
	}
	return w
}
