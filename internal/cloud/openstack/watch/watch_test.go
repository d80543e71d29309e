package watch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
)

// cloud is a list of servers with the cloud's clock in whole seconds.
type cloud struct {
	mu     sync.Mutex
	all    map[string]servers.Server
	hidden map[string]bool // from lists of changes
	lists  int
	fulls  int
	err    error
	takes  time.Duration
}

func newCloud() *cloud { return &cloud{all: map[string]servers.Server{}, hidden: map[string]bool{}} }

func (c *cloud) set(id, status string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := servers.Server{ID: id, Name: "name of " + id, Status: status, Updated: time.Now().Truncate(time.Second)}
	if status == "ERROR" {
		s.Fault.Message = "no host"
	}
	c.all[id] = s
}

func (c *cloud) remove(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, id)
}

func (c *cloud) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

func (c *cloud) count() (lists, fulls int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lists, c.fulls
}

func (c *cloud) list(_ context.Context, since time.Time) ([]servers.Server, error) {
	time.Sleep(c.takes)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists++
	if since.IsZero() {
		c.fulls++
	}
	if c.err != nil {
		return nil, c.err
	}
	var out []servers.Server
	for id, s := range c.all {
		if since.IsZero() && s.Status != "DELETED" || !since.IsZero() && !s.Updated.Before(since) && !c.hidden[id] {
			out = append(out, s)
		}
	}
	return out, nil
}

func refusal(code int) error { return gophercloud.ErrUnexpectedResponseCode{Actual: code} }

func TestActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud()
		w := New(Config{List: c.list})
		ids := []string{"a", "b", "c"}
		for i, id := range ids {
			c.set(id, "BUILD")
			time.AfterFunc(time.Duration(i+2)*time.Second, func() { c.set(id, "ACTIVE") })
		}
		c.set("other", "BUILD")
		started := time.Now()
		if err := w.Active(t.Context(), ids); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(started); took < 4*time.Second || took > 4400*time.Millisecond {
			t.Errorf("ACTIVE after 4 s, seen after %v", took)
		}
		if lists, _ := c.count(); lists > 40 {
			t.Errorf("%d lists in 4 s", lists)
		}
		// Nobody waits: nothing is asked.
		synctest.Wait()
		before, _ := c.count()
		time.Sleep(time.Minute)
		if after, _ := c.count(); after != before {
			t.Errorf("%d lists while nobody waits", after-before)
		}
	})
}

// TestListThatHung: a list that waited for another service of the cloud is no reason to wait as
// long again.
func TestListThatHung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud()
		c.set("a", "BUILD")
		hang := 25 * time.Second
		w := New(Config{List: func(ctx context.Context, since time.Time) ([]servers.Server, error) {
			out, err := c.list(ctx, since)
			time.Sleep(hang)
			hang = 0
			return out, err
		}})
		time.AfterFunc(24*time.Second, func() { c.set("a", "ACTIVE") })
		started := time.Now()
		if err := w.Active(t.Context(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(started); took > 28*time.Second {
			t.Errorf("ACTIVE after 24 s, seen after %v; the first list took 25 s", took)
		}
	})
}

func TestManyShareOneList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud()
		c.takes = 50 * time.Millisecond
		w := New(Config{List: c.list})
		var all sync.WaitGroup
		for i := range 100 {
			id := fmt.Sprint(i)
			c.set(id, "BUILD")
			time.AfterFunc(3*time.Second, func() { c.set(id, "ACTIVE") })
			all.Go(func() {
				if err := w.Active(t.Context(), []string{id}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if lists, fulls := c.count(); lists > 30 || fulls > 3 {
			t.Errorf("%d lists, %d of them full, for 100 who wait 3 s", lists, fulls)
		}
	})
}

func TestFollowTellsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud()
		w := New(Config{List: c.list})
		c.set("a", "BUILD")
		time.AfterFunc(2*time.Second, func() { c.set("a", "ACTIVE") })
		time.AfterFunc(4*time.Second, func() { c.set("a", "SHUTOFF") })
		time.AfterFunc(6*time.Second, func() { c.set("a", "DELETED") })
		var got []string
		err := w.Follow(t.Context(), []string{"a"}, func(s Server) (bool, error) {
			got = append(got, s.Status)
			return !s.Gone, nil
		})
		if want := "BUILD ACTIVE SHUTOFF DELETED"; err != nil || strings.Join(got, " ") != want {
			t.Errorf("told %v, %v; want %s", got, err, want)
		}
	})
}

func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud()
		w := New(Config{List: c.list})
		c.set("a", "ACTIVE")
		c.set("b", "ACTIVE")
		time.AfterFunc(time.Second, func() { c.set("a", "DELETED") }) // seen in a list of changes
		time.AfterFunc(2*time.Second, func() { c.remove("b") })       // seen by its absence only
		if err := w.Gone(t.Context(), []string{"a", "b", "never there"}); err != nil {
			t.Fatal(err)
		}
	})
}

func TestServerThatIsNotListedYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud()
		w := New(Config{List: c.list})
		time.AfterFunc(50*time.Millisecond, func() { c.set("a", "BUILD") })
		// The cloud leaves it out of lists of changes for ever: the full one tells.
		c.hidden["a"] = true
		time.AfterFunc(time.Second, func() { c.set("a", "ACTIVE") })
		started := time.Now()
		if err := w.Active(t.Context(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(started); took > 7*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestNudge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud()
		w := New(Config{List: c.list, Max: time.Hour, Min: 10 * time.Minute})
		c.set("a", "BUILD")
		time.AfterFunc(20*time.Minute+time.Second, func() { c.set("a", "ACTIVE"); w.Nudge() })
		started := time.Now()
		if err := w.Active(t.Context(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(started); took > 26*time.Minute {
			t.Errorf("a nudge at 20 minutes was followed at %v", took)
		}
	})
}

func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		during func(*cloud)
		want   string // "": it ends well
	}{
		"fault":         {func(c *cloud) { c.set("a", "ERROR") }, `server "name of a" went to ERROR: no host`},
		"deleted":       {func(c *cloud) { c.remove("a") }, `server "a" was deleted`},
		"refused":       {func(c *cloud) { c.fail(refusal(http.StatusUnauthorized)) }, "401"},
		"down for good": {func(c *cloud) { c.fail(refusal(http.StatusServiceUnavailable)) }, "503"},
		"down for a while": {func(c *cloud) {
			c.fail(refusal(500))
			time.AfterFunc(20*time.Second, func() { c.fail(nil); c.set("a", "ACTIVE") })
		}, ""},
		"cut off": {func(c *cloud) {
			c.fail(errors.New("connection refused"))
			time.AfterFunc(time.Second, func() { c.fail(nil); c.set("a", "ACTIVE") })
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cl := newCloud()
				w := New(Config{List: cl.list})
				cl.set("a", "BUILD")
				time.AfterFunc(time.Second, func() { c.during(cl) })
				err := w.Active(t.Context(), []string{"a"})
				if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("%v, want %q", err, c.want)
				}
				// Whoever comes then is served.
				cl.fail(nil)
				cl.set("b", "ACTIVE")
				if err := w.Active(t.Context(), []string{"b"}); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestFollowEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud()
		c.set("a", "BUILD")
		w := New(Config{List: c.list})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := w.Active(ctx, []string{"a"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

// Followers come and go while the cloud changes: nobody misses the end, and the looking
// stops and starts without two at the same time.
func TestManyComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud()
		var at, most atomic.Int32
		list := func(ctx context.Context, since time.Time) ([]servers.Server, error) {
			if n := at.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer at.Add(-1)
			return c.list(ctx, since)
		}
		w := New(Config{List: list})
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				time.Sleep(time.Duration(i*37%20000) * time.Millisecond)
				id := fmt.Sprint(i)
				c.set(id, "BUILD")
				time.AfterFunc(time.Duration(i*91%4000)*time.Millisecond, func() { c.set(id, "ACTIVE") })
				if i%5 == 0 {
					ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
					defer cancel()
					_ = w.Active(ctx, []string{id})
					return
				}
				if err := w.Active(t.Context(), []string{id}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := most.Load(); n > 2 {
			t.Errorf("%d lists at the same time", n)
		}
	})
}

func TestServersAsksForChanges(t *testing.T) {
	var asked []string
	transport := roundTrip(func(r *http.Request) string {
		asked = append(asked, r.URL.Query().Get("changes-since"))
		return `{"servers": [{"id": "a", "status": "ACTIVE", "updated": "2026-01-02T03:04:05Z"}]}`
	})
	p := &gophercloud.ProviderClient{HTTPClient: http.Client{Transport: transport}}
	list := Servers(&gophercloud.ServiceClient{ProviderClient: p, Endpoint: "http://nova.example/v2.1/", Type: "compute"})
	got, err := list(t.Context(), time.Time{})
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	if _, err := list(t.Context(), got[0].Updated); err != nil || !slices.Equal(asked, []string{"", "2026-01-02T03:04:05Z"}) {
		t.Errorf("asked for changes since %q, %v", asked, err)
	}
}

// While changes are pushed nothing is listed, until nothing was heard for long enough; a
// lost push costs that much and no more.
func TestPushedChangesNeedNoLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCloud()
		w := New(Config{List: c.list, Full: 5 * time.Second})
		w.Notified(true)
		begun := time.Now()
		for _, id := range []string{"a", "b"} {
			c.set(id, "BUILD")
		}
		go func() {
			time.Sleep(4 * time.Second)
			c.set("a", "ACTIVE")
			w.Push(Server{Server: servers.Server{ID: "a", Status: "ACTIVE"}})
			time.Sleep(time.Second)
			c.set("b", "ACTIVE") // and the push is lost
		}()
		if err := w.Active(t.Context(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
		if lists, _ := c.count(); lists != 0 {
			t.Errorf("%d lists although the change was pushed", lists)
		}
		if err := w.Active(t.Context(), []string{"b"}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun).Round(time.Second); took != 9*time.Second {
			t.Errorf("a lost push was made up for after %v, not 9 s", took)
		}
		if lists, _ := c.count(); lists != 1 {
			t.Errorf("%d lists, not one", lists)
		}
		synctest.Wait()
	})
}
