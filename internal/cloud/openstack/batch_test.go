package openstack

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// TestPortOrder has the first instance's ports asked for alone, those of the others
// together beside them, and what comes later together when one of the two is done.
func TestPortOrder(t *testing.T) {
	requests := make(chan string)
	answer := make(chan struct{})
	b := &batch[portRequest, port]{lanes: portLanes, pick: nextPorts, do: func(in []portRequest) []batchResult[port] {
		var names []string
		out := make([]batchResult[port], len(in))
		for i, r := range in {
			names = append(names, r.name)
			out[i].out.Name = r.name
		}
		requests <- strings.Join(names, " ")
		<-answer
		return out
	}}
	var calls errgroup.Group
	ask := func(name, device string) {
		calls.Go(func() error {
			if p, err := b.call(portRequest{name: name, device: device}); err != nil || p.Name != name {
				return fmt.Errorf("%s: the answer is %s, %v", name, p.Name, err)
			}
			return nil
		})
		for deadline := time.Now().Add(time.Second); ; time.Sleep(time.Millisecond) { // in this order
			b.mu.Lock()
			there := len(b.waiting) > 0 && slices.ContainsFunc(b.waiting, func(c *portCall) bool { return c.in.name == name })
			b.mu.Unlock()
			if there || time.Now().After(deadline) {
				return
			}
		}
	}
	b.timer = true // all of these come together
	ask("a.1", "a")
	ask("b.1", "b")
	ask("a.2", "a")
	ask("c.1", "c")
	b.mu.Lock()
	b.timer = false
	b.dispatch()
	b.mu.Unlock()
	got := []string{<-requests, <-requests}
	slices.Sort(got)
	if want := []string{"a.1 a.2", "b.1 c.1"}; !slices.Equal(got, want) {
		t.Errorf("at first %q, not %q", got, want)
	}
	b.mu.Lock()
	b.timer = true
	b.mu.Unlock()
	ask("d.1", "d")
	ask("e.1", "e")
	b.mu.Lock()
	b.timer = false
	b.dispatch() // in vain
	b.mu.Unlock()
	select {
	case got := <-requests:
		t.Errorf("%q was a third request at the same time", got)
	case <-time.After(20 * time.Millisecond):
	}
	answer <- struct{}{}
	if got := <-requests; got != "d.1 e.1" {
		t.Errorf("then %q, not d.1 and e.1 together", got)
	}
	close(answer)
	if err := calls.Wait(); err != nil {
		t.Error(err)
	}
}
