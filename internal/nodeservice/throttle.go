package nodeservice

import (
	"sync"
	"time"
)

// throttle bounds the packets per second that each port may send to the node: a token
// bucket for each.
type throttle struct {
	rate, burst float64
	now         func() time.Time

	mu      sync.Mutex
	buckets map[uint32]*bucket
}

type bucket struct {
	tokens float64
	at     time.Time
}

func newThrottle(rate, burst float64) *throttle {
	return &throttle{rate: rate, burst: burst, now: time.Now, buckets: map[uint32]*bucket{}}
}

// allow returns false for a packet that is one too many.
func (t *throttle) allow(port uint32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	b := t.buckets[port]
	if b == nil {
		b = &bucket{tokens: t.burst, at: now}
		t.buckets[port] = b
	}
	b.tokens = min(t.burst, b.tokens+t.rate*now.Sub(b.at).Seconds())
	b.at = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
