package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sort"
	"sync"
	"time"

	"github.com/catena-nfv/catena/internal/service"
)

// Port numbers that a switch can give to links. 0 is no port, 510 the CPU and
// 511 the drop port of v1model.
const (
	MinPort = 1
	MaxPort = 509
)

// Switch is what the agent needs of the data plane.
type Switch interface {
	// AddPort makes the link port number. It succeeds when it is that already;
	// a number that has another link gets this one instead.
	AddPort(ctx context.Context, number uint32, link string) error
	// RemovePort succeeds when the number is free or its link is gone.
	RemovePort(ctx context.Context, number uint32) error
}

// State of an attached port.
type State string

// The states of a port.
const (
	Up   State = "up"
	Down State = "down" // the link is there, but one of its ends is not up
	Gone State = "gone" // the link has vanished
)

// Status is one attached port.
type Status struct {
	Owner  service.Owner
	Port   string // name of the port in its service
	ID     string `json:",omitempty"` // of the port in the cloud
	Number uint32
	Link   string
	State  State
	// Index is the interface index of the link that the switch has; a link that
	// was made again under its name has another one.
	Index int
}

func (s Status) key() string { return key(s.Owner, s.Port) }

func key(o service.Owner, port string) string { return o.String() + "/" + port }

// Event is a change of a port's state.
type Event struct {
	Time time.Time
	Status
}

// Config of an agent. Switch and StateFile must be set.
type Config struct {
	Switch Switch
	// StateFile remembers the attached ports over restarts.
	StateFile string
	// LinkTimeout is how long Attach waits for a link to appear; 5 s by default.
	LinkTimeout time.Duration
	// Log is slog.Default() by default.
	Log *slog.Logger
}

// Agent is the node's agent. Its methods may be called at the same time; calls
// for one port wait for each other.
type Agent struct {
	cfg Config

	// attaching serialises changes of ports. AddPort and RemovePort take
	// milliseconds; waiting for a link happens outside.
	attaching sync.Mutex

	mu       sync.Mutex
	ports    map[string]Status
	watchers map[chan Event]bool
}

// New reads what an earlier agent had attached. The switch is not touched until
// Run or Resync.
func New(cfg Config) (*Agent, error) {
	if cfg.Switch == nil || cfg.StateFile == "" {
		return nil, errors.New("agent: a switch and a state file are needed")
	}
	if cfg.LinkTimeout == 0 {
		cfg.LinkTimeout = 5 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	ports, err := readState(cfg.StateFile)
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	return &Agent{cfg: cfg, ports: ports, watchers: map[chan Event]bool{}}, nil
}

// Attach makes the port's link port number of the switch. It waits for the link
// to appear until the context or Config.LinkTimeout ends. A port that is
// attached as asked is left alone.
func (a *Agent) Attach(ctx context.Context, o service.Owner, number uint32, port service.Port) error {
	if err := a.attach(ctx, Status{Owner: o, Port: port.Name, ID: port.ID, Number: number, Link: port.Link}); err != nil {
		return fmt.Errorf("port %q: %w", port.Name, err)
	}
	return nil
}

func (a *Agent) attach(ctx context.Context, want Status) error {
	if want.Number < MinPort || want.Number > MaxPort {
		return fmt.Errorf("number %d is not between %d and %d", want.Number, MinPort, MaxPort)
	}
	l, err := a.waitForLink(ctx, want)
	if err != nil {
		return err
	}
	want.Index, want.State = l.index, l.state

	a.attaching.Lock()
	defer a.attaching.Unlock()
	a.mu.Lock()
	old, attached := a.ports[want.key()]
	for _, other := range a.ports {
		if other.key() != want.key() && other.Number == want.Number {
			a.mu.Unlock()
			return fmt.Errorf("number %d belongs to port %q of %s", want.Number, other.Port, other.Owner)
		}
	}
	a.mu.Unlock()
	if attached && old.Number == want.Number && old.Link == want.Link && old.Index == want.Index {
		return nil
	}
	if attached {
		if err := a.cfg.Switch.RemovePort(ctx, old.Number); err != nil {
			return fmt.Errorf("leave number %d: %w", old.Number, err)
		}
	}
	// Remembered before it is done: an agent that is killed in between takes the
	// port up again, or is told to detach it.
	if err := a.remember(want); err != nil {
		return err
	}
	if err := a.cfg.Switch.AddPort(ctx, want.Number, want.Link); err != nil {
		if _, there, linkErr := findLink(want.Link); linkErr == nil && !there {
			err = fmt.Errorf("link %s has vanished: %w", want.Link, err)
		}
		return errors.Join(err, a.forget(want.key()))
	}
	a.announce(want)
	return nil
}

// waitForLink returns the port's link as soon as there is one.
func (a *Agent) waitForLink(ctx context.Context, want Status) (link, error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.LinkTimeout)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		if err := ctx.Err(); err != nil {
			a.mu.Lock()
			_, attached := a.ports[want.key()]
			a.mu.Unlock()
			if attached {
				return link{}, fmt.Errorf("link %s has vanished: %w", want.Link, err)
			}
			return link{}, fmt.Errorf("link %s does not appear: %w", want.Link, err)
		}
		if l, there, err := findLink(want.Link); err != nil || there {
			return l, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// Detach takes the port from the switch. It succeeds when the port is not
// attached or its link is gone.
func (a *Agent) Detach(ctx context.Context, o service.Owner, port string) error {
	a.attaching.Lock()
	defer a.attaching.Unlock()
	a.mu.Lock()
	old, attached := a.ports[key(o, port)]
	a.mu.Unlock()
	if !attached {
		return nil
	}
	if err := a.cfg.Switch.RemovePort(ctx, old.Number); err != nil {
		return fmt.Errorf("port %q: number %d: %w", port, old.Number, err)
	}
	if err := a.forget(old.key()); err != nil {
		return fmt.Errorf("port %q: %w", port, err)
	}
	return nil
}

// Ports lists the attached ports by number.
func (a *Agent) Ports() []Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make([]Status, 0, len(a.ports))
	for _, s := range a.ports {
		all = append(all, s)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Number < all[j].Number })
	return all
}

// Watch sends every change of a port's state until the context ends. A watcher
// that does not read loses events; Ports tells the truth at any time.
func (a *Agent) Watch(ctx context.Context) <-chan Event {
	events := make(chan Event, 64)
	a.mu.Lock()
	a.watchers[events] = true
	a.mu.Unlock()
	context.AfterFunc(ctx, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.watchers, events)
		close(events)
	})
	return events
}

func (a *Agent) announce(s Status) {
	a.cfg.Log.Info("port "+string(s.State), "owner", s.Owner.String(), "port", s.Port, "number", s.Number, "link", s.Link)
	a.mu.Lock()
	defer a.mu.Unlock()
	for w := range a.watchers {
		select {
		case w <- Event{Time: time.Now(), Status: s}:
		default:
		}
	}
}

// remember and forget change the set of ports and its file.
func (a *Agent) remember(s Status) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ports[s.key()] = s
	return writeState(a.cfg.StateFile, a.ports)
}

func (a *Agent) forget(key string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.ports, key)
	return writeState(a.cfg.StateFile, a.ports)
}
