package openstack

import (
	"sync"
	"time"
)

// gatherTime is how long a call waits for others like it. The orchestrator starts the
// steps that are ready at once, so what can go together arrives together.
const gatherTime = 4 * time.Millisecond

// batch joins calls that are made at the same time into one request.
type batch[In, Out any] struct {
	limit int // calls in one request
	// do makes one request. The i-th result is that of the i-th call.
	do func([]In) []batchResult[Out]

	mu      sync.Mutex
	waiting []*batchCall[In, Out]
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
	switch len(b.waiting) {
	case b.limit:
		go b.send(b.take())
	case 1:
		time.AfterFunc(gatherTime, func() {
			b.mu.Lock()
			calls := b.take()
			b.mu.Unlock()
			b.send(calls)
		})
	}
	b.mu.Unlock()
	<-c.done
	return c.result.out, c.result.err
}

// take empties the queue; the lock is held.
func (b *batch[In, Out]) take() []*batchCall[In, Out] {
	calls := b.waiting
	b.waiting = nil
	return calls
}

func (b *batch[In, Out]) send(calls []*batchCall[In, Out]) {
	if len(calls) == 0 {
		return
	}
	in := make([]In, len(calls))
	for i, c := range calls {
		in[i] = c.in
	}
	for i, r := range b.do(in) {
		calls[i].result = r
		close(calls[i].done)
	}
}
