package openstack

import (
	"sync"
	"time"
)

// gatherTime is how long a call waits for others like it. The orchestrator starts the
// steps that are ready at once, so what can go together arrives together.
const gatherTime = 4 * time.Millisecond

// batch joins calls that are made at the same time into few requests.
type batch[In, Out any] struct {
	// lanes are the requests that run at the same time. Calls that come while all are
	// taken go together when one is free again.
	lanes int
	// pick tells how many calls the next request makes, and moves these to the front;
	// idle: no request runs.
	pick func(waiting []*batchCall[In, Out], idle bool) int
	// do makes one request. The i-th result is that of the i-th call.
	do func([]In) []batchResult[Out]

	mu      sync.Mutex
	waiting []*batchCall[In, Out]
	running int
	timer   bool // dispatch comes by itself
}

type batchResult[Out any] struct {
	out Out
	err error
}

type batchCall[In, Out any] struct {
	in     In
	result batchResult[Out]
	done   chan struct{}
}

// call makes one call, perhaps together with others. It always waits for the end: a
// request that is given up midway would have an effect that nobody knows of.
func (b *batch[In, Out]) call(in In) (Out, error) {
	c := &batchCall[In, Out]{in: in, done: make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, c)
	if !b.timer {
		b.timer = true
		time.AfterFunc(gatherTime, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.timer = false
			b.dispatch()
		})
	}
	b.mu.Unlock()
	<-c.done
	return c.result.out, c.result.err
}

// dispatch begins requests in all lanes that are free; the lock is held.
func (b *batch[In, Out]) dispatch() {
	for b.running < b.lanes && len(b.waiting) > 0 {
		n := b.pick(b.waiting, b.running == 0)
		calls := b.waiting[:n:n]
		b.waiting = b.waiting[n:]
		b.running++
		go b.send(calls)
	}
}

func (b *batch[In, Out]) send(calls []*batchCall[In, Out]) {
	in := make([]In, len(calls))
	for i, c := range calls {
		in[i] = c.in
	}
	results := b.do(in)
	b.mu.Lock()
	b.running--
	if !b.timer { // else those who wait are joined by others in a moment
		b.dispatch()
	}
	b.mu.Unlock()
	for i, r := range results {
		calls[i].result = r
		close(calls[i].done)
	}
}
