package interp

import (
	"math/big"
	"time"

	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// The colours as v1model numbers them.
const (
	green  = 0
	yellow = 1
	red    = 2
)

// meter is a colour-blind two-rate three-colour marker (RFC 2698 section 3). Tokens
// are packets or bytes.
type meter struct {
	config          *target.MeterConfig // nil: all is green
	committed, peak float64             // tokens in the buckets
	last            time.Duration
}

func (m *meter) set(c *target.MeterConfig, now time.Duration) {
	*m = meter{}
	if c != nil {
		copied := *c
		*m = meter{config: &copied, committed: float64(c.CBurst), peak: float64(c.PBurst), last: now}
	}
}

// mark takes n tokens at a time and returns the colour.
func (m *meter) mark(now time.Duration, n float64) int {
	if m.config == nil {
		return green
	}
	dt := max(now-m.last, 0).Seconds()
	m.last = now
	m.committed = min(float64(m.config.CBurst), m.committed+dt*float64(m.config.CIR))
	m.peak = min(float64(m.config.PBurst), m.peak+dt*float64(m.config.PIR))
	if m.peak < n {
		return red
	}
	m.peak -= n
	if m.committed < n {
		return yellow
	}
	m.committed -= n
	return green
}

// meterUnits is what the packet at hand costs: its bytes, or one.
func (r *run) meterUnits(i *ir.Instance) float64 {
	if i.Unit == "bytes" {
		return float64(r.it.length)
	}
	return 1
}

func (r *run) executeMeter(s *ir.Call) {
	colour := green
	cells := r.sw.meters[s.Inst]
	if i, ok := r.index(s, cells.size); ok {
		colour = cells.at(i).mark(r.sw.opts.Now(), r.meterUnits(s.Inst))
	}
	r.assign(s.Dst, big.NewInt(int64(colour)))
}
