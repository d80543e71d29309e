package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/catena-nfv/catena/internal/netns"
	"github.com/catena-nfv/catena/internal/service"
)

// Taps attaches ports whose links a hypervisor makes and removes when it likes: on
// OpenStack a port's tap appears when its server starts, in a bridge that nova made,
// and another one after each hard reboot. It satisfies orch.Node.
//
// The controller's restart costs no packet: ports that the agent had attached stay so
// until Detach or SetInventory says otherwise.
type Taps struct {
	agent *Agent
	wake  chan struct{}

	// moving is held while ports are attached or detached: what was given up must not
	// be attached by a look that began before.
	moving sync.Mutex

	mu       sync.Mutex
	wanted   map[string]tap
	attached map[string]string // key → id in the cloud
	changed  chan struct{}     // closed when attached changes
	failures map[string]string // key → last error, logged once
}

// tap is a port that waits for its link, or has it.
type tap struct {
	owner  service.Owner
	number uint32
	port   service.Port
}

// tapPrefix begins the names of links that hypervisors make.
const tapPrefix = "tap"

// NewTaps begins with the taps that the agent has attached already. They count as
// attached until a look tells otherwise: who asks before that is not to hear that
// nothing works.
func NewTaps(a *Agent) *Taps {
	t := &Taps{
		agent: a, wake: make(chan struct{}, 1), wanted: map[string]tap{}, attached: map[string]string{},
		changed: make(chan struct{}), failures: map[string]string{},
	}
	for _, s := range a.Ports() {
		if s.ID != "" && strings.HasPrefix(s.Link, tapPrefix) {
			port := service.Port{PortSpec: service.PortSpec{Name: s.Port}, ID: s.ID, Link: s.Link}
			t.wanted[s.key()] = tap{owner: s.Owner, number: s.Number, port: port}
			if s.State != Gone {
				t.attached[s.key()] = s.ID
			}
		}
	}
	return t
}

// Attach has the port's link become port number of the switch as soon as it is there,
// from now on, and waits for the first time until the context ends.
func (t *Taps) Attach(ctx context.Context, o service.Owner, number uint32, port service.Port) error {
	if number < MinPort || number > MaxPort {
		return fmt.Errorf("port %q: number %d is not between %d and %d", port.Name, number, MinPort, MaxPort)
	}
	k := key(o, port.Name)
	t.mu.Lock()
	t.wanted[k] = tap{o, number, port}
	t.mu.Unlock()
	t.poke()
	for {
		t.mu.Lock()
		id, attached := t.attached[k]
		failure, changed := t.failures[k], t.changed
		t.mu.Unlock()
		// Another id is that of the port that had the name before.
		if attached && id == port.ID {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.mu.Lock()
			delete(t.wanted, k)
			t.mu.Unlock()
			if failure != "" {
				return errors.New(failure)
			}
			return fmt.Errorf("port %q: link %s does not appear: %w", port.Name, port.Link, ctx.Err())
		}
	}
}

// Detach takes the port from the switch. It succeeds when the port is not attached or
// its link is gone.
func (t *Taps) Detach(ctx context.Context, o service.Owner, port string) error {
	t.mu.Lock()
	delete(t.wanted, key(o, port))
	t.mu.Unlock()
	t.moving.Lock()
	defer t.moving.Unlock()
	err := t.agent.Detach(ctx, o, port)
	t.poke()
	return err
}

// SetInventory attaches the ports that no service owns, and detaches those of before.
func (t *Taps) SetInventory(ctx context.Context, ports []service.SwitchPort) error {
	next := map[string]tap{}
	for _, p := range ports {
		next[key(p.Owner, p.Port.Name)] = tap{p.Owner, p.Number, p.Port}
	}
	var gone []string
	t.mu.Lock()
	for k, w := range t.wanted {
		if _, ok := next[k]; w.owner == service.InventoryOwner && !ok {
			delete(t.wanted, k)
			gone = append(gone, w.port.Name)
		}
	}
	for k, w := range next {
		t.wanted[k] = w
	}
	t.mu.Unlock()
	t.moving.Lock()
	defer t.moving.Unlock()
	var errs []error
	for _, port := range gone {
		errs = append(errs, t.agent.Detach(ctx, service.InventoryOwner, port))
	}
	t.poke()
	return errors.Join(errs...)
}

// Attached tells the ids of the ports that are attached, and gives a channel that is
// closed when that changes.
func (t *Taps) Attached() (ids map[string]bool, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ids = make(map[string]bool, len(t.attached))
	for _, id := range t.attached {
		ids[id] = true
	}
	return ids, t.changed
}

func (t *Taps) poke() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Run follows the links until the context ends.
func (t *Taps) Run(ctx context.Context) error {
	return followLinks(ctx, t.agent.cfg.Log, t.wake, func() { t.look(ctx) })
}

// look compares what is wanted with the links that there are.
func (t *Taps) look(ctx context.Context) {
	t.moving.Lock()
	defer t.moving.Unlock()
	t.mu.Lock()
	wanted := make(map[string]tap, len(t.wanted))
	for k, w := range t.wanted {
		wanted[k] = w
	}
	idle := len(wanted)+len(t.attached) == 0
	t.mu.Unlock()
	if idle {
		return
	}
	links, err := listLinks()
	if err != nil {
		t.agent.cfg.Log.Error("list links", "error", err)
		return
	}
	have := map[string]Status{}
	for _, s := range t.agent.Ports() {
		have[s.key()] = s
	}
	attached := map[string]string{}
	for k, w := range wanted {
		s, ok := have[k]
		l, there := links[w.port.Link]
		var err error
		switch {
		case !there && ok: // the hypervisor took it away
			err = t.agent.Detach(ctx, w.owner, w.port.Name)
		case !there:
		case ok && s.Number == w.number && s.Link == w.port.Link && s.Index == l.index && l.master == 0:
			attached[k] = w.port.ID
		default:
			if err = t.take(ctx, w, l); err == nil {
				attached[k] = w.port.ID
			}
		}
		t.report(k, err)
	}
	t.settle(attached)
}

// take moves a link from its bridge to the switch.
func (t *Taps) take(ctx context.Context, w tap, l link) error {
	if l.master != 0 {
		err := netlink.LinkSetNoMaster(&netlink.GenericLink{LinkAttrs: netlink.LinkAttrs{Index: l.index, Name: w.port.Link}})
		if err != nil {
			return fmt.Errorf("port %q: take link %s out of its bridge: %w", w.port.Name, w.port.Link, err)
		}
	}
	// Nothing of the host's own goes out of the link.
	if err := netns.Sysctl("net/ipv6/conf/"+w.port.Link+"/disable_ipv6", "1"); err != nil {
		t.agent.cfg.Log.Warn("the host speaks IPv6 on a port", "link", w.port.Link, "error", err)
	}
	// The link is there, or was a moment ago.
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return t.agent.Attach(ctx, w.owner, w.number, w.port)
}

// report logs an error when it is not that of before.
func (t *Taps) report(k string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	t.mu.Lock()
	known := t.failures[k]
	if text == "" {
		delete(t.failures, k)
	} else {
		t.failures[k] = text
	}
	t.mu.Unlock()
	if text != "" && text != known {
		t.agent.cfg.Log.Error("attach", "error", err)
	}
}

// settle remembers what is attached, and wakes those who wait for a change.
func (t *Taps) settle(attached map[string]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	same := len(attached) == len(t.attached)
	for k, id := range attached {
		old, ok := t.attached[k]
		same = same && ok && old == id
		if _, wanted := t.wanted[k]; !wanted { // given up meanwhile
			delete(attached, k)
			same = false
		}
	}
	if same {
		return
	}
	t.attached = attached
	close(t.changed)
	t.changed = make(chan struct{})
}
