package dataplane

import (
	"context"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// PortEvent tells that a port's link has changed.
type PortEvent struct {
	Number uint32
	Link   string
	Up     bool
	Gone   bool // the link has vanished; the port was removed
}

// watchLinks follows the links of the ports until the context ends.
func (s *Switch) watchLinks(ctx context.Context) error {
	updates := make(chan netlink.LinkUpdate, 64)
	if err := netlink.LinkSubscribeWithOptions(updates, ctx.Done(), netlink.LinkSubscribeOptions{
		ErrorCallback: func(err error) {
			if ctx.Err() == nil {
				s.cfg.Log.Warn("follow links", "switch", s.cfg.Name, "error", err)
			}
		},
		ReceiveBufferSize: 1 << 20,
	}); err != nil {
		return fmt.Errorf("follow links: %w", err)
	}
	s.done.Add(1)
	go func() {
		defer s.done.Done()
		for {
			select {
			case <-ctx.Done():
				return
			case u, ok := <-updates:
				if !ok {
					return
				}
				s.linkChanged(u)
			}
		}
	}()
	return nil
}

func (s *Switch) linkChanged(u netlink.LinkUpdate) {
	// That a link leaves its bridge is told as the deletion of the bridge's port.
	if u.Family == unix.AF_BRIDGE {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.ports {
		if p.index != int(u.Index) {
			continue
		}
		e := PortEvent{Number: p.number, Link: p.link}
		// A link that moves to another namespace is gone for this one, too.
		if u.Header.Type == unix.RTM_DELLINK {
			e.Gone = true
			s.warn(s.detach(p))
			s.warn(s.save())
			s.cfg.Log.Info("a port's link has vanished", "switch", s.cfg.Name, "port", p.number, "link", p.link)
		} else {
			e.Up = u.IfInfomsg.Flags&unix.IFF_UP != 0 && u.IfInfomsg.Flags&unix.IFF_RUNNING != 0
		}
		for w := range s.watchers {
			select {
			case w <- e:
			default: // a watcher that does not keep up asks Ports again
			}
		}
	}
}

// Watch returns the changes of ports' links until the context ends, when the channel
// is closed. A watcher that does not keep up loses events.
func (s *Switch) Watch(ctx context.Context) <-chan PortEvent {
	w := make(chan PortEvent, 64)
	s.mu.Lock()
	s.watchers[w] = true
	s.mu.Unlock()
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, w)
		close(w)
	})
	return w
}
