package openstack

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// States of a guest in its server's metadata; none: it is ready, or never tells.
const (
	guestBooting = "booting"
	guestFailed  = "failed" // followed by ": why"
)

// guestState reads the metadata.
func guestState(text string) (state, why string) {
	state, why, _ = strings.Cut(text, ": ")
	return state, why
}

// A guest surely needs bootTime before it says a word; then it is asked every
// consolePause, all guests together at most consoleRate times a second.
const (
	bootTime     = 2 * time.Second
	consolePause = time.Second
	consoleRate  = 4
)

// console reads consoles. What a guest says there is the only word from inside that
// OpenStack passes on, and there is no list of it: it takes a request a server. All that
// wait share a bound on these.
type console struct {
	session *Session
	first   time.Duration // until a guest is asked
	limit   *rate.Limiter
}

// read returns the end of a server's console.
func (c *console) read(ctx context.Context, id string) (string, error) {
	if err := c.limit.Wait(ctx); err != nil {
		return "", err
	}
	var answer struct{ Output string }
	err := c.session.compute.repeat(ctx, func() error {
		return c.session.compute.post(ctx, "servers/"+id+"/action", map[string]any{"os-getConsoleOutput": map[string]any{"length": 100}}, &answer)
	})
	return answer.Output, err
}

// waitGuest waits until a guest has said that it is ready with a script, or that it failed,
// and keeps its word in the metadata, where Observe finds it.
func (c *Cloud) waitGuest(ctx context.Context, id, script string) error {
	for pause := c.console.first; ; pause = consolePause {
		select {
		case <-ctx.Done():
			return fmt.Errorf("its guest is not ready (see `openstack console log show %s`): %w", id, ctx.Err())
		case <-time.After(pause):
		}
		output, err := c.console.read(ctx, id)
		if err != nil {
			return fmt.Errorf("console: %w", err)
		}
		ready, failure := guestSaid(output, script)
		switch {
		case ready:
			return c.note(ctx, id, "ready")
		case failure != "":
			word := guestFailed + ": " + failure
			if err := c.note(ctx, id, word[:min(len(word), 255)]); err != nil {
				return err
			}
			return fmt.Errorf("its guest failed: %s; see `openstack console log show %s`", failure, id)
		}
	}
}

func (c *Cloud) note(ctx context.Context, id, word string) error {
	return c.session.compute.repeat(ctx, func() error {
		return c.session.compute.post(ctx, "servers/"+id+"/metadata", map[string]any{"metadata": map[string]string{metaGuest: word}}, nil)
	})
}

// guestSaid finds the last word of a script on a console.
func guestSaid(output, script string) (ready bool, failure string) {
	for _, line := range strings.Split(output, "\n") {
		_, word, ok := strings.Cut(strings.TrimRight(line, "\r "), guestWord)
		switch {
		case !ok:
		case word == "ready "+script:
			ready, failure = true, ""
		case strings.HasPrefix(word, "failed "+script+": "):
			ready, failure = false, strings.TrimPrefix(word, "failed "+script+": ")
		}
	}
	return ready, failure
}
