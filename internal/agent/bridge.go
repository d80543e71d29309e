package agent

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
)

// RemoveBridge removes an empty bridge: nova makes one for each network of a host's
// servers, and leaves its removal to the agent. It succeeds when there is none.
func (t *Taps) RemoveBridge(name string) error {
	l, err := netlink.LinkByName(name)
	var none netlink.LinkNotFoundError
	if errors.As(err, &none) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("bridge %s: %w", name, err)
	}
	if l.Type() != "bridge" {
		return fmt.Errorf("link %s is no bridge but a %s", name, l.Type())
	}
	links, err := listLinks()
	if err != nil {
		return fmt.Errorf("bridge %s: %w", name, err)
	}
	for other, in := range links {
		if in.master == l.Attrs().Index {
			return fmt.Errorf("bridge %s: link %s is in it", name, other)
		}
	}
	if err := netlink.LinkDel(l); err != nil {
		return fmt.Errorf("bridge %s: %w", name, err)
	}
	return nil
}
