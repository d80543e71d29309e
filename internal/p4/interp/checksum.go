package interp

import (
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// checksum computes a checksum over a list of fields and, withPayload, over all that
// the parser left behind them.
func (r *run) checksum(s *ir.Call, fields, algorithm ir.Expr, withPayload bool) *big.Int {
	data := r.pack(fields).data
	if withPayload {
		data = append(data, r.it.payload...)
	}
	return r.hash(s.Span, r.algorithm(algorithm), data)
}

// verifyChecksum sets standard_metadata.checksum_error if a checksum is wrong.
func (r *run) verifyChecksum(s *ir.Call) {
	if !r.isTrue(s.Args[0]) {
		return
	}
	want := r.checksum(s, s.Args[1], s.Args[3], s.Op == ir.OpVerifyChecksumPay)
	if fit(want, s.Args[2].Type()).Cmp(r.eval(s.Args[2])) != 0 {
		r.setStd("checksum_error", one)
	}
}

// emit is packet_out.emit.
func (r *run) emit(s *ir.Call) {
	r.emitCell(s, path(s.Args[0]), r.lvalue(s.Args[0]))
}

func (r *run) emitCell(s *ir.Call, name string, c *cell) {
	if c.num != nil {
		r.out.write(c.num, c.width())
		return
	}
	if _, ok := c.typ.(*ir.Header); ok {
		if !c.valid {
			return
		}
		if r.tracing() {
			r.trace(Event{Kind: EventEmit, Span: s.Span, Object: name})
		}
	}
	for _, f := range c.sub {
		r.emitCell(s, name, f)
	}
}
