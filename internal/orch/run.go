package orch

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// runSteps carries out a plan: each step as soon as those that it waits for are
// done, at most `parallel` at a time. After the first failure no further step
// begins and the context of those that run is cancelled; runSteps returns when
// all have returned, with the first error, which names its step.
func runSteps(ctx context.Context, steps []Step, parallel int, do func(context.Context, Step) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	waiting := make(map[string]int, len(steps)) // id → steps that it still waits for
	followers := make(map[string][]int)         // id → indices of steps that wait for it
	var ready []int
	for i, s := range steps {
		waiting[s.ID] = len(s.After)
		for _, a := range s.After {
			followers[a] = append(followers[a], i)
		}
		if len(s.After) == 0 {
			ready = append(ready, i)
		}
	}
	type result struct {
		step int
		err  error
	}
	results := make(chan result)
	running, done := 0, 0
	var first error
	for {
		for first == nil && ctx.Err() == nil && running < parallel && len(ready) > 0 {
			i := ready[0]
			ready = ready[1:]
			running++
			go func() { results <- result{i, do(ctx, steps[i])} }()
		}
		if running == 0 {
			break
		}
		r := <-results
		running--
		if r.err != nil {
			// Of several failures, one that is not an effect of cancelling tells why.
			if first == nil || errors.Is(first, context.Canceled) && !errors.Is(r.err, context.Canceled) {
				first = steps[r.step].failed(r.err)
			}
			cancel()
			continue
		}
		done++
		for _, i := range followers[steps[r.step].ID] {
			if waiting[steps[i].ID]--; waiting[steps[i].ID] == 0 {
				ready = append(ready, i)
			}
		}
	}
	switch {
	case first != nil:
		return first
	case done < len(steps):
		return ctx.Err()
	}
	return nil
}

// failed names a step in its error; the object once, where the error begins with it.
func (s Step) failed(err error) error {
	if strings.HasPrefix(err.Error(), fmt.Sprintf("%s %q: ", s.Key.Kind, s.Key.Name)) {
		return fmt.Errorf("%s %w", s.Action, err)
	}
	return fmt.Errorf("%s: %w", s.ID, err)
}
