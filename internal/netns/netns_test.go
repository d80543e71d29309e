package netns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// privileged skips the test, saying why, where namespaces may not be made; any
// other failure is a failure.
func privileged(t *testing.T) Dir {
	t.Helper()
	dir := Dir{Path: t.TempDir()}
	ns, err := dir.Create("probe", nil)
	if errors.Is(err, unix.EPERM) {
		t.Skipf("needs root with CAP_SYS_ADMIN and CAP_NET_ADMIN: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	ns.Close()
	if err := dir.Delete("probe"); err != nil {
		t.Fatal(err)
	}
	return dir
}

func create(t *testing.T, dir Dir, name string) *NS {
	t.Helper()
	ns, err := dir.Create(name, DisableIPv6)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ns.Close()
		if err := dir.Delete(name); err != nil {
			t.Error(err)
		}
	})
	return ns
}

func TestCreateOpenDelete(t *testing.T) {
	dir := privileged(t)
	create(t, dir, "a1")
	if _, err := dir.Create("a1", nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("second Create: %v, want ErrExist", err)
	}
	if _, err := dir.Open("a2"); !errors.Is(err, ErrNotExist) {
		t.Errorf("Open of nothing: %v, want ErrNotExist", err)
	}
	// What a crash between file and mount leaves behind.
	if err := os.WriteFile(filepath.Join(dir.Path, "a2"), nil, 0o444); err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Open("a2"); !errors.Is(err, ErrNotExist) {
		t.Errorf("Open of a half-made one: %v, want ErrNotExist", err)
	}
	names, err := dir.List("a")
	if err != nil || strings.Join(names, " ") != "a1 a2" {
		t.Errorf("List = %v, %v", names, err)
	}
	create(t, dir, "a2")
	if err := dir.Delete("none"); err != nil {
		t.Errorf("Delete of nothing: %v", err)
	}
	failed := errors.New("no")
	if _, err := dir.Create("a3", func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("failing setup: %v", err)
	}
	if names, _ := dir.List("a3"); len(names) != 0 {
		t.Errorf("failed Create left %v", names)
	}
}

// The threads that were inside must be back outside, whatever happens in parallel.
func TestDoRestoresThreads(t *testing.T) {
	dir := privileged(t)
	home, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	ns := create(t, dir, "a")
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			err := ns.Do(func() error {
				in, err := os.Readlink("/proc/thread-self/ns/net")
				if err == nil && in == home {
					err = fmt.Errorf("Do ran outside")
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if now, err := os.Readlink("/proc/self/task/" + task.Name() + "/ns/net"); err == nil && now != home {
			t.Errorf("thread %s stayed in %s", task.Name(), now)
		}
	}
}

func TestVethsBetweenTwoNamespaces(t *testing.T) {
	dir := privileged(t)
	// The "switch" side is a namespace, too, so that the test leaves the host alone.
	hub, leaf := create(t, dir, "hub"), create(t, dir, "leaf")
	macs := []net.HardwareAddr{{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}}
	pairs := []Veth{
		{Host: "ctnsp0", MAC: macs[0], MTU: 1400, Alias: "test:0"},
		{Host: "ctnsp1", MAC: macs[1], Alias: "test:1", FillChecksums: true},
	}
	index := map[string]int{}
	for range 2 { // the second round finds everything there
		for _, v := range pairs {
			err := hub.Do(func() error {
				i, err := leaf.AddVeth(v)
				if old, ok := index[v.Host]; ok && old != i {
					t.Errorf("%s: index %d became %d", v.Host, old, i)
				}
				index[v.Host] = i
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	// Named in one order, then in the other.
	for _, order := range [][]int{{0, 1}, {1, 0}, {1, 0}} {
		want := []Interface{
			{MAC: macs[order[0]], Name: "eth0", Addr: netip.MustParsePrefix("10.9.0.2/24")},
			{MAC: macs[order[1]], Name: "eth1"},
		}
		err := leaf.Arrange(want, []Route{{Dst: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("10.9.0.1")}})
		if err != nil {
			t.Fatal(err)
		}
		links, err := leaf.Links()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, l := range links {
			got[l.Attrs().HardwareAddr.String()] = l.Attrs().Name
		}
		for i, o := range order {
			if name := got[macs[o].String()]; name != fmt.Sprint("eth", i) {
				t.Errorf("order %v: %s is %s", order, macs[o], name)
			}
		}
	}
	err := hub.Do(func() error {
		l, err := netlink.LinkByName("ctnsp0")
		if err != nil {
			return err
		}
		a := l.Attrs()
		if a.MTU != 1400 || a.Alias != "test:0" || a.RawFlags&unix.IFF_NOARP == 0 || a.Flags&net.FlagUp == 0 {
			t.Errorf("host end: %+v", a)
		}
		return DeleteLink("ctnsp0")
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := hub.Do(func() error { return DeleteLink("ctnsp0") }); err != nil {
		t.Errorf("second delete: %v", err)
	}
	if links, err := leaf.Links(); err != nil || len(links) != 1 {
		t.Errorf("after delete: %d links, %v", len(links), err)
	}
	if on := txChecksum(t, leaf); on {
		t.Error("FillChecksums left offload on")
	}
}

// txChecksum tells whether the namespace's only link leaves checksums to the device.
func txChecksum(t *testing.T, ns *NS) bool {
	t.Helper()
	links, err := ns.Links()
	if err != nil || len(links) != 1 {
		t.Fatalf("links: %v, %v", links, err)
	}
	var on uint32
	err = ns.Do(func() error {
		var err error
		on, err = ethtool(links[0].Attrs().Name, ethtoolGetTxChecksum, 0)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return on != 0
}

func TestDialAndListenInside(t *testing.T) {
	dir := privileged(t)
	ns := create(t, dir, "a")
	ctx := context.Background()
	l, err := ns.Listen(ctx, "127.0.0.1:80")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(c, "inside")
		c.Close()
	}()
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		c.Close()
		t.Error("the listener is reachable from outside")
	}
	c, err := ns.DialContext(ctx, "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got, err := io.ReadAll(c); err != nil || string(got) != "inside" {
		t.Errorf("read %q, %v", got, err)
	}
	if _, err := ns.DialContext(ctx, "tcp", "localhost:80"); err == nil {
		t.Error("a host name was accepted")
	}
}

// A caller may give up on a connection attempt and close the namespace while the
// attempt still goes on.
func TestCloseWhileDialing(t *testing.T) {
	dir := privileged(t)
	create(t, dir, "a")
	for range 20 {
		ns, err := dir.Open("a")
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if c, err := ns.DialContext(context.Background(), "tcp", "127.0.0.1:1"); err == nil {
					c.Close()
				}
			})
		}
		ns.Close()
		wg.Wait()
		if err := ns.Do(func() error { return nil }); !errors.Is(err, fs.ErrClosed) {
			t.Fatalf("Do after Close: %v, want ErrClosed", err)
		}
	}
}
