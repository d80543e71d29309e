package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/catena-nfv/catena/internal/orch"
	"github.com/catena-nfv/catena/internal/service"
	"github.com/catena-nfv/catena/internal/store"
)

var (
	_ orch.Node = (*Agent)(nil)
	_ orch.Node = (*Remote)(nil)
)

var shop = service.Owner{Project: "p", Service: "shop"}

// fakeSwitch holds links by number, like a data plane: by interface index.
type fakeSwitch struct {
	mu    sync.Mutex
	ports map[uint32]int
	fail  error
	calls int
}

func (s *fakeSwitch) AddPort(_ context.Context, number uint32, link string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.fail != nil {
		return s.fail
	}
	l, err := net.InterfaceByName(link)
	if err != nil {
		return err
	}
	if s.ports == nil {
		s.ports = map[uint32]int{}
	}
	s.ports[number] = l.Index
	return nil
}

func (s *fakeSwitch) RemovePort(_ context.Context, number uint32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	delete(s.ports, number)
	return nil
}

func (s *fakeSwitch) index(number uint32) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ports[number]
}

// pair makes a veth pair NAME/NAMEi with both ends up; the test is skipped where
// that is not permitted.
func pair(t *testing.T, name string) {
	t.Helper()
	attrs := netlink.NewLinkAttrs()
	attrs.Name = name
	v := netlink.NewVeth(attrs)
	v.PeerName = name + "i"
	err := netlink.LinkAdd(v)
	if errors.Is(err, unix.EPERM) {
		t.Skipf("needs root with CAP_NET_ADMIN: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(name) })
	up(t, name)
	up(t, name+"i")
}

func up(t *testing.T, name string) {
	t.Helper()
	l, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkSetUp(l)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func remove(name string) {
	if l, err := netlink.LinkByName(name); err == nil {
		_ = netlink.LinkDel(l)
	}
}

func start(t *testing.T, sw Switch, file string) *Agent {
	t.Helper()
	a, err := New(Config{Switch: sw, StateFile: file, LinkTimeout: 300 * time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func run(t *testing.T, a *Agent) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func port(name, link string) service.Port {
	return service.Port{PortSpec: service.PortSpec{Name: name}, ID: link, Node: "n1", Link: link}
}

func index(t *testing.T, link string) int {
	t.Helper()
	l, err := net.InterfaceByName(link)
	if err != nil {
		t.Fatal(err)
	}
	return l.Index
}

func TestAttachDetach(t *testing.T) {
	ctx := context.Background()
	pair(t, "ctagt0")
	pair(t, "ctagt1")
	sw := &fakeSwitch{}
	file := filepath.Join(t.TempDir(), "agent.json")
	a := start(t, sw, file)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(a.Attach(ctx, shop, 7, port("web.front", "ctagt0")))
	if sw.index(7) != index(t, "ctagt0") {
		t.Error("the switch does not have the link")
	}
	calls := sw.calls
	must(a.Attach(ctx, shop, 7, port("web.front", "ctagt0")))
	if sw.calls != calls {
		t.Error("attaching again touched the switch")
	}
	// Numbers are unique on the switch, also between services.
	err := a.Attach(ctx, service.Owner{Project: "q", Service: "shop"}, 7, port("web.front", "ctagt1"))
	if err == nil || !strings.Contains(err.Error(), `number 7 belongs to port "web.front" of p/shop`) {
		t.Errorf("number in use: %v", err)
	}
	for _, n := range []uint32{0, 510, 511} {
		if err := a.Attach(ctx, shop, n, port("x", "ctagt1")); err == nil {
			t.Errorf("number %d was accepted", n)
		}
	}
	// Another number and another link.
	must(a.Attach(ctx, shop, 8, port("web.front", "ctagt0")))
	must(a.Attach(ctx, shop, 8, port("web.front", "ctagt1")))
	if sw.index(7) != 0 || sw.index(8) != index(t, "ctagt1") {
		t.Errorf("after renumbering: %v", sw.ports)
	}
	// A new agent knows it all and tells a new switch.
	sw2 := &fakeSwitch{}
	b := start(t, sw2, file)
	if !reflect.DeepEqual(a.Ports(), b.Ports()) {
		t.Errorf("restarted agent has %v, want %v", b.Ports(), a.Ports())
	}
	b.Resync(ctx)
	if sw2.index(8) != index(t, "ctagt1") {
		t.Error("Resync did not attach")
	}
	must(b.Detach(ctx, shop, "web.front"))
	must(b.Detach(ctx, shop, "web.front"))
	if len(sw2.ports) != 0 || len(b.Ports()) != 0 {
		t.Errorf("after Detach: %v, %v", sw2.ports, b.Ports())
	}
}

func TestAttachFails(t *testing.T) {
	ctx := context.Background()
	pair(t, "ctagt0")
	sw := &fakeSwitch{fail: errors.New("no room")}
	a := start(t, sw, filepath.Join(t.TempDir(), "agent.json"))
	err := a.Attach(ctx, shop, 1, port("web.front", "ctagt0"))
	if !errors.Is(err, sw.fail) || !strings.Contains(err.Error(), `port "web.front"`) {
		t.Errorf("switch error: %v", err)
	}
	if len(a.Ports()) != 0 {
		t.Errorf("a failed port is remembered: %v", a.Ports())
	}
	err = a.Attach(ctx, shop, 1, port("db.back", "ctagt9"))
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `port "db.back": link ctagt9 does not appear`) {
		t.Errorf("absent link: %v", err)
	}
	// One that appears in time.
	sw.fail = nil
	attached := make(chan error, 1)
	go func() { attached <- a.Attach(ctx, shop, 1, port("db.back", "ctagt1")) }()
	time.Sleep(30 * time.Millisecond)
	pair(t, "ctagt1")
	if err := <-attached; err != nil {
		t.Error(err)
	}
	remove("ctagt1")
	err = a.Attach(ctx, shop, 1, port("db.back", "ctagt1"))
	if err == nil || !strings.Contains(err.Error(), `port "db.back": link ctagt1 has vanished`) {
		t.Errorf("vanished link: %v", err)
	}
}

func TestLinksAreFollowed(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pair(t, "ctagt0")
	sw := &fakeSwitch{}
	a := start(t, sw, filepath.Join(t.TempDir(), "agent.json"))
	run(t, a)
	events := a.Watch(ctx)
	expect := func(want State) {
		t.Helper()
		// Links may pass through further states on the way.
		var seen []State
		for deadline := time.After(5 * time.Second); ; {
			select {
			case e := <-events:
				if e.Port != "web.front" || e.Number != 3 {
					t.Fatalf("event %+v", e)
				}
				if seen = append(seen, e.State); e.State == want {
					return
				}
			case <-deadline:
				t.Fatalf("saw %v, want %s", seen, want)
			}
		}
	}
	if err := a.Attach(ctx, shop, 3, port("web.front", "ctagt0")); err != nil {
		t.Fatal(err)
	}
	expect(Up)
	peer, err := netlink.LinkByName("ctagt0i")
	if err != nil {
		t.Fatal(err)
	}
	if err := netlink.LinkSetDown(peer); err != nil {
		t.Fatal(err)
	}
	expect(Down)
	up(t, "ctagt0i")
	expect(Up)
	remove("ctagt0")
	expect(Gone)
	pair(t, "ctagt0")
	expect(Up)
	if sw.index(3) != index(t, "ctagt0") {
		t.Error("the new link was not attached")
	}
}

func TestRemote(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pair(t, "ctagt0")
	pair(t, "ctagt1")
	st, err := store.Open(ctx, store.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	remote := &Remote{Store: st, Timeout: 5 * time.Second}

	if err := (&Remote{Store: st, Timeout: 50 * time.Millisecond}).Attach(ctx, shop, 9, port("web.front", "ctagt8")); err == nil ||
		!strings.Contains(err.Error(), `node "n1": its agent does not answer`) {
		t.Errorf("without an agent: %v", err)
	}
	sw := &fakeSwitch{}
	file := filepath.Join(t.TempDir(), "agent.json")
	follow := func() (*Agent, func()) {
		a := start(t, sw, file)
		ctx, cancel := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- a.Follow(ctx, st, "n1") }()
		return a, func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	a, stop := follow()
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			p := port(fmt.Sprintf("web-%d.front", i), fmt.Sprint("ctagt", i))
			for range 3 {
				if err := remote.Attach(ctx, shop, uint32(i+1), p); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if len(a.Ports()) != 2 {
		t.Errorf("attached: %v", a.Ports())
	}
	err = remote.Attach(ctx, shop, 5, port("db.back", "ctagt9"))
	if err == nil || !strings.Contains(err.Error(), `port "db.back" on node "n1": link ctagt9 does not appear`) {
		t.Errorf("absent link: %v", err)
	}
	// Given up while the agent is away.
	stop()
	if err := st.Delete(ctx, wantedPrefix("n1")+key(shop, "web-0.front")); err != nil {
		t.Fatal(err)
	}
	a, stop = follow()
	defer stop()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		_, there, err := st.Get(ctx, answerPrefix("n1")+key(shop, "web-0.front"))
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("a port that is wanted no more is still answered for: %v", err)
		}
		if !there {
			break
		}
	}
	for _, name := range []string{"web-1.front", "web.front", "db.back", "never.was"} {
		if err := remote.Detach(ctx, shop, name); err != nil {
			t.Error(err)
		}
	}
	for deadline := time.Now().Add(5 * time.Second); len(a.Ports()) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still attached: %v", a.Ports())
		}
	}
	if left, err := st.List(ctx, "agents/"); err != nil || len(left) != 0 {
		t.Errorf("left in the store: %v, %v", left, err)
	}
}
