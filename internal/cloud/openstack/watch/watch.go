// Package watch tells how servers get on. However many wait for however many servers
// of a project, the cloud is asked with one list call at a time: often at first and
// after something has changed, less often while nothing does.
package watch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/catena-nfv/catena/internal/cloud/openstack/apierror"
)

// Server is a server as it was last seen.
type Server struct {
	servers.Server
	// Gone: it exists no more. Only its ID is known for certain.
	Gone bool
}

// List returns the servers that have changed since a time of the cloud's clock,
// deleted ones among them; all that exist when the time is zero.
type List func(ctx context.Context, since time.Time) ([]servers.Server, error)

// Servers lists with Nova's API.
func Servers(compute *gophercloud.ServiceClient) List {
	return func(ctx context.Context, since time.Time) ([]servers.Server, error) {
		var opts servers.ListOpts
		if !since.IsZero() {
			opts.ChangesSince = since.UTC().Format(time.RFC3339)
		}
		pages, err := servers.List(compute, opts).AllPages(ctx)
		if err != nil {
			return nil, err
		}
		return servers.ExtractServers(pages)
	}
}

// Config of a Watch. List is needed.
type Config struct {
	List List
	// Between two lists lie at least Min and at most Max; defaults 100 ms and 400 ms.
	Min, Max time.Duration
	// Full is how long changes alone are listed, default 5 s: Nova leaves servers
	// that are not scheduled yet out of such lists.
	Full time.Duration
	// Patience is how long lists may fail with errors that pass, default 30 s.
	Patience time.Duration
}

// Watch looks at the servers of one project, while somebody follows any.
type Watch struct {
	cfg Config

	mu        sync.Mutex
	followers map[*follower]bool
	stop      context.CancelFunc // of the looking; nil: nobody looks
	nudge     chan struct{}
	notified  bool      // changes are pushed
	heard     time.Time // when the last change was pushed, or somebody began to wait for one
}

// follower is one call of Follow. What it has not been told yet is replaced by what is
// newer.
type follower struct {
	known  map[string]string // the state of each server; "": nothing yet
	missed map[string]int    // full lists without the server, before it was known
	news   map[string]Server
	err    error
	wake   chan struct{}
}

// New returns a watch; it asks nothing while nobody follows.
func New(cfg Config) *Watch {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&cfg.Min, 100 * time.Millisecond}, {&cfg.Max, 400 * time.Millisecond}, {&cfg.Full, 5 * time.Second}, {&cfg.Patience, 30 * time.Second}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	return &Watch{cfg: cfg, followers: map[*follower]bool{}, nudge: make(chan struct{}, 1)}
}

// Nudge lets the next list be made now: something is known to have changed.
func (w *Watch) Nudge() {
	select {
	case w.nudge <- struct{}{}:
	default:
	}
}

// Push tells of a change that is known from elsewhere.
func (w *Watch) Push(s Server) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = time.Now()
	for f := range w.followers {
		known, follows := f.known[s.ID]
		if !follows || known == state(s) {
			continue
		}
		f.known[s.ID], f.news[s.ID] = state(s), s
		f.rouse()
	}
}

// Notified says whether changes are pushed: then lists only make up for lost ones, when
// nothing was pushed for Config.Full. A list is dear: for each, Nova asks Neutron for the
// ports and security groups of the servers in it.
func (w *Watch) Notified(yes bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.notified && !yes {
		w.Nudge()
	}
	w.notified = yes
}

// silence is how long lists may wait yet because changes are pushed.
func (w *Watch) silence() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.notified {
		return 0
	}
	return time.Until(w.heard.Add(w.cfg.Full))
}

// hear notes that just now there was word from the cloud.
func (w *Watch) hear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = time.Now()
}

// rest pauses for as long as changes are pushed, or until a nudge; false: the context has
// ended.
func (w *Watch) rest(ctx context.Context) bool {
	for wait := w.silence(); wait > 0; wait = w.silence() {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		case <-w.nudge:
			return true
		}
	}
	return true
}

// Follow tells the first status that is seen of each server and every change of it,
// until tell wants no more, the context ends, or the cloud cannot be asked.
func (w *Watch) Follow(ctx context.Context, ids []string, tell func(Server) (more bool, err error)) error {
	if len(ids) == 0 {
		return nil
	}
	f := &follower{known: map[string]string{}, missed: map[string]int{}, news: map[string]Server{}, wake: make(chan struct{}, 1)}
	for _, id := range ids {
		f.known[id] = ""
	}
	w.join(f)
	defer w.leave(f)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.wake:
		}
		w.mu.Lock()
		news, err := f.news, f.err
		f.news = map[string]Server{}
		w.mu.Unlock()
		if err != nil {
			return err
		}
		for _, id := range ids {
			if s, ok := news[id]; ok {
				if more, err := tell(s); err != nil || !more {
					return err
				}
			}
		}
	}
}

// state is what a change is a change of.
func state(s Server) string { return fmt.Sprint(s.Gone, s.Status, s.TaskState) }

func (w *Watch) join(f *follower) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.followers[f] = true
	w.heard = time.Now()
	// Whoever looks already will see the new servers soon enough: a list for each of many
	// that begin one after the other would keep the cloud from building them.
	if w.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		w.stop = cancel
		go w.look(ctx)
	}
}

func (w *Watch) leave(f *follower) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.followers, f)
	if len(w.followers) == 0 && w.stop != nil {
		w.stop()
		w.stop = nil
	}
}

// slowest is the longest pause behind a list that took long.
const slowest = 2 * time.Second

// look lists until it is told to stop.
func (w *Watch) look(ctx context.Context) {
	var since, full, failing time.Time
	pause := w.cfg.Min
	for {
		if !w.rest(ctx) {
			return
		}
		started := time.Now()
		if w.fresh() || started.Sub(full) >= w.cfg.Full {
			since, full = time.Time{}, started
		}
		list, err := w.cfg.List(ctx, since)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			if failing.IsZero() {
				failing = started
			}
			// What cannot be reached may be reached again; what is refused stays so.
			passing := apierror.Code(err) == 0 || apierror.Passing(err) || apierror.Quota(err)
			if !passing || time.Since(failing) >= w.cfg.Patience {
				w.end(ctx, err)
				return
			}
			full, pause = time.Time{}, w.cfg.Max
		} else {
			failing = time.Time{}
			w.hear()
			pause = min(pause*6/5, w.cfg.Max)
			if w.tell(list, since.IsZero()) {
				pause = w.cfg.Min
			}
			for _, s := range list {
				// Updated is in whole seconds: what changes in the same one is listed again.
				if s.Updated.After(since) {
					since = s.Updated
				}
			}
		}
		// The cloud has other work than to be asked; but a list that hung says nothing of the next.
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(pause, min(time.Since(started), slowest))):
		case <-w.nudge:
			// Also a cloud that changes all the time is not asked all the time.
			select {
			case <-ctx.Done():
				return
			case <-time.After(w.cfg.Min / 2):
			}
		}
	}
}

// fresh reports whether somebody follows servers of which nothing is known yet: only a
// full list tells.
func (w *Watch) fresh() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for f := range w.followers {
		for _, known := range f.known {
			if known == "" {
				return true
			}
		}
	}
	return false
}

// tell passes a list on and reports whether anything in it was new to anybody.
func (w *Watch) tell(list []servers.Server, full bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := make(map[string]*servers.Server, len(list))
	for i := range list {
		at[list[i].ID] = &list[i]
	}
	any := false
	for f := range w.followers {
		for id, known := range f.known {
			now := Server{Server: servers.Server{ID: id, Status: "DELETED"}, Gone: true}
			switch s := at[id]; {
			case s != nil:
				now = Server{Server: *s, Gone: s.Status == "DELETED"}
			case !full:
				continue
			case known == "" && f.missed[id] == 0:
				// It was made a moment ago, perhaps, and is on its way to a cell.
				f.missed[id]++
				continue
			}
			if state(now) == known {
				continue
			}
			f.known[id], f.news[id], any = state(now), now, true
		}
		if len(f.news) > 0 {
			f.rouse()
		}
	}
	return any
}

// rouse makes Follow look.
func (f *follower) rouse() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Active waits until all servers are ACTIVE. It fails when one is gone or goes to
// ERROR, with its name and its fault.
func (w *Watch) Active(ctx context.Context, ids []string) error {
	left := map[string]bool{}
	for _, id := range ids {
		left[id] = true
	}
	return w.Follow(ctx, ids, func(s Server) (bool, error) {
		if err := Failed(s); err != nil {
			return false, err
		}
		if s.Status == "ACTIVE" {
			delete(left, s.ID)
		}
		return len(left) > 0, nil
	})
}

// Gone waits until all servers are gone.
func (w *Watch) Gone(ctx context.Context, ids []string) error {
	left := map[string]bool{}
	for _, id := range ids {
		left[id] = true
	}
	return w.Follow(ctx, ids, func(s Server) (bool, error) {
		if s.Gone {
			delete(left, s.ID)
		}
		return len(left) > 0, nil
	})
}

// Failed tells why a server cannot become ACTIVE any more; nil: it may.
func Failed(s Server) error {
	name := s.Name
	if name == "" {
		name = s.ID
	}
	switch {
	case s.Gone:
		return fmt.Errorf("server %q was deleted", name)
	case s.Status == "ERROR" && s.Fault.Message != "":
		return fmt.Errorf("server %q went to ERROR: %s", name, s.Fault.Message)
	case s.Status == "ERROR":
		return fmt.Errorf("server %q went to ERROR; the cloud does not say why", name)
	}
	return nil
}

// end tells all that the cloud cannot be asked, and why. Whoever comes later begins
// anew.
func (w *Watch) end(ctx context.Context, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return // another goroutine looks now
	}
	for f := range w.followers {
		f.err = err
		f.rouse()
	}
	clear(w.followers)
	w.stop()
	w.stop = nil
}
