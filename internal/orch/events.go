package orch

import (
	"context"
	"sync"

	"github.com/catena-nfv/catena/internal/service"
)

// maxQueue bounds the events that wait for a slow subscriber.
const maxQueue = 10_000

// hub hands every event to every subscriber, without waiting for any.
type hub struct {
	mu   sync.Mutex
	subs map[*subscription]bool
}

// subscription is an unbounded-looking queue: publishing never blocks; a
// subscriber that falls maxQueue events behind is cut off.
type subscription struct {
	match func(Event) bool
	queue []Event
	wake  chan struct{} // holds one token when the queue has something
	cut   bool
}

func newHub() *hub { return &hub{subs: map[*subscription]bool{}} }

func (h *hub) publish(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		if !s.match(e) {
			continue
		}
		if len(s.queue) >= maxQueue {
			s.cut = true
			delete(h.subs, s)
		} else {
			s.queue = append(s.queue, e)
		}
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// subscribe begins to collect the events that match.
func (h *hub) subscribe(match func(Event) bool) *subscription {
	s := &subscription{match: match, wake: make(chan struct{}, 1)}
	h.mu.Lock()
	h.subs[s] = true
	h.mu.Unlock()
	return s
}

func (h *hub) unsubscribe(s *subscription) {
	h.mu.Lock()
	delete(h.subs, s)
	h.mu.Unlock()
}

// take empties the queue.
func (h *hub) take(s *subscription) (events []Event, cut bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	events, s.queue = s.queue, nil
	return events, s.cut
}

// Watch sends the events of one service, of one project (service "") or of all
// (both "") from now on to send, until the context ends, send fails, or the
// receiver falls hopelessly behind (ErrBehind). ready, when not nil, is called
// once events are being collected.
func (o *Orchestrator) Watch(ctx context.Context, of service.Owner, ready func(), send func(Event) error) error {
	sub := o.hub.subscribe(func(e Event) bool {
		return (of.Project == "" || e.Owner.Project == of.Project) && (of.Service == "" || e.Owner.Service == of.Service)
	})
	defer o.hub.unsubscribe(sub)
	if ready != nil {
		ready()
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-sub.wake:
		}
		events, cut := o.hub.take(sub)
		for _, e := range events {
			if err := send(e); err != nil {
				return err
			}
		}
		if cut {
			return ErrBehind
		}
	}
}
