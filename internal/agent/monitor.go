package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/vishvananda/netlink"
)

const (
	// settle is how long messages of the kernel are gathered before a look at
	// the links: deleting one veth alone brings several.
	settle = 5 * time.Millisecond
	// sweepInterval bounds how long a lost message goes unnoticed.
	sweepInterval = 10 * time.Second
)

// Run resyncs the switch with the remembered ports, then follows the links until
// the context ends: ports whose link vanishes are reported, those whose link
// comes back are attached again.
func (a *Agent) Run(ctx context.Context) error {
	a.Resync(ctx)
	return followLinks(ctx, a.cfg.Log, nil, func() { a.sweep(ctx) })
}

// followLinks looks at the links whenever one changes, when it is woken, and now and
// then, until the context ends.
func followLinks(ctx context.Context, log *slog.Logger, wake <-chan struct{}, look func()) error {
	for ctx.Err() == nil {
		lost, err := followLinksOnce(ctx, wake, look)
		if err != nil {
			return fmt.Errorf("agent: follow links: %w", err)
		}
		if lost != nil {
			log.Warn("lost track of links, beginning again", "error", lost)
		}
	}
	return nil
}

// followLinksOnce ends when the context does, or when the kernel had more to say than
// we could read (ENOBUFS), which is returned as lost.
func followLinksOnce(ctx context.Context, wake <-chan struct{}, look func()) (lost, err error) {
	updates := make(chan netlink.LinkUpdate)
	done := make(chan struct{})
	failures := make(chan error, 1)
	err = netlink.LinkSubscribeWithOptions(updates, done, netlink.LinkSubscribeOptions{
		ErrorCallback: func(err error) {
			select {
			case failures <- err:
			default:
			}
		},
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		close(done)
		// The subscription's goroutine may be about to send.
		go func() {
			for range updates {
			}
		}()
	}()
	look() // what changed before the subscription
	wait := time.NewTimer(sweepInterval)
	defer wait.Stop()
	settling := false
	for {
		select {
		case <-ctx.Done():
			return nil, nil
		case _, open := <-updates:
			if !open {
				select {
				case lost = <-failures:
				default:
					lost = errors.New("the subscription ended")
				}
				return lost, nil
			}
			if !settling {
				wait.Reset(settle)
				settling = true
			}
		case <-wake:
			look()
		case <-wait.C:
			look()
			wait.Reset(sweepInterval)
			settling = false
		}
	}
}

// Resync gives every remembered port to the switch again, for a switch that was
// started anew. Failures are logged; the ports stay remembered.
func (a *Agent) Resync(ctx context.Context) {
	a.attaching.Lock()
	for _, s := range a.Ports() {
		if _, there, err := findLink(s.Link); err == nil && !there {
			continue // sweep reports it
		}
		if err := a.cfg.Switch.AddPort(ctx, s.Number, s.Link); err != nil {
			a.cfg.Log.Error("attach again", "port", s.Port, "owner", s.Owner.String(), "number", s.Number, "error", err)
		}
	}
	a.attaching.Unlock()
	a.sweep(ctx)
}

// sweep compares every port with its link.
func (a *Agent) sweep(ctx context.Context) {
	a.attaching.Lock()
	defer a.attaching.Unlock()
	ports := a.Ports()
	if len(ports) == 0 {
		return
	}
	links, err := listLinks()
	if err != nil {
		a.cfg.Log.Error("list links", "error", err)
		return
	}
	for _, old := range ports {
		now := old
		l, there := links[old.Link]
		switch {
		case !there:
			now.State = Gone
		case l.index == old.Index:
			now.State = l.state
		default:
			// Made again under its name: the switch still has the link of before.
			now.Index, now.State = l.index, l.state
			err := errors.Join(a.cfg.Switch.RemovePort(ctx, old.Number), a.cfg.Switch.AddPort(ctx, old.Number, old.Link))
			if err != nil {
				a.cfg.Log.Error("attach again", "port", old.Port, "owner", old.Owner.String(), "number", old.Number, "error", err)
				continue
			}
		}
		if now == old {
			continue
		}
		if err := a.remember(now); err != nil {
			a.cfg.Log.Error("state file", "error", err)
		}
		a.announce(now)
	}
}

// link is what the agent needs to know of a network device.
type link struct {
	index  int
	state  State
	master int // index of the bridge that it is in, 0: none
}

func linkOf(l netlink.Link) link {
	a := l.Attrs()
	// A veth has a carrier when its other end is up, too.
	if a.Flags&net.FlagUp != 0 && a.Flags&net.FlagRunning != 0 {
		return link{index: a.Index, state: Up, master: a.MasterIndex}
	}
	return link{index: a.Index, state: Down, master: a.MasterIndex}
}

// findLink returns ok false when there is no such link.
func findLink(name string) (l link, ok bool, err error) {
	found, err := netlink.LinkByName(name)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return link{}, false, nil
	}
	if err != nil {
		return link{}, false, fmt.Errorf("link %s: %w", name, err)
	}
	return linkOf(found), true, nil
}

func listLinks() (map[string]link, error) {
	all, err := consistent(netlink.LinkList)
	if err != nil {
		return nil, fmt.Errorf("list links: %w", err)
	}
	links := make(map[string]link, len(all))
	for _, l := range all {
		links[l.Attrs().Name] = linkOf(l)
	}
	return links, nil
}

// consistent asks again when links changed meanwhile: the kernel's answer may lack some
// then, and a link that is taken for gone would lose its packets.
func consistent(list func() ([]netlink.Link, error)) (all []netlink.Link, err error) {
	for range 20 {
		if all, err = list(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	return all, err
}
