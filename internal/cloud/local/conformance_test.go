package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/catena-nfv/catena/internal/cloud/cloudtest"
	"github.com/catena-nfv/catena/internal/cloud/guest"
	"github.com/catena-nfv/catena/internal/netns"
	"github.com/catena-nfv/catena/internal/orch"
	"github.com/catena-nfv/catena/internal/service"
)

var _ orch.Cloud = (*Cloud)(nil)

// TestMain is also the HTTP server of `server` instances: the driver runs its
// own executable with "__server".
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "__server" {
		if err := guest.Serve(context.Background(), os.Args[2:], os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "__victim" {
		victim(os.Args[2], os.Args[3])
		return
	}
	os.Exit(m.Run())
}

// testConfig is a driver of its own: names do not meet those of other tests,
// nor those of a platform that runs on this machine.
func testConfig(t *testing.T) Config {
	t.Helper()
	var missing *MissingError
	if err := CheckMachine("dnsmasq", "haproxy", "nft"); errors.As(err, &missing) && missing.privilege() {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return Config{
		StateDir: filepath.Join(dir, "state"),
		NetnsDir: filepath.Join(dir, "netns"),
		Prefix:   "cttl",
	}
}

// privilege tells whether the privileges are what is missing.
func (e *MissingError) privilege() bool {
	return len(e.Needs) > 0 && strings.Contains(e.Needs[0], "root")
}

// open starts a driver whose remains are purged, and checked for, at the end.
func open(t *testing.T, cfg Config) *Cloud {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			logs, _ := filepath.Glob(filepath.Join(cfg.StateDir, "instances", "*", "log"))
			for _, l := range logs {
				t.Log(logEnd(l))
			}
		}
		if err := c.Purge(context.Background()); err != nil {
			t.Error(err)
		}
		if left := leftovers(t, c); len(left) > 0 {
			t.Errorf("Purge left %v", left)
		}
		c.Close()
	})
	return c
}

// leftovers looks for kernel objects and files that bear this driver's names.
func leftovers(t *testing.T, c *Cloud) []string {
	t.Helper()
	var left []string
	entries, err := os.ReadDir(c.cfg.NetnsDir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		left = append(left, "namespace "+e.Name())
	}
	links, err := netlink.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if strings.HasPrefix(l.Attrs().Alias, c.names.aliasPrefix()) {
			left = append(left, "link "+l.Attrs().Name+" "+l.Attrs().Alias)
		}
	}
	processes, err := marked(everyInstance(c.names))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range processes {
		left = append(left, fmt.Sprint("process ", p.PID))
	}
	for _, dir := range []string{"objects", "instances"} {
		err := filepath.WalkDir(filepath.Join(c.cfg.StateDir, dir), func(file string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				left = append(left, "file "+file)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return left
}

func TestConformance(t *testing.T) {
	cloudtest.Run(t, func(t *testing.T) cloudtest.Fixture {
		cfg := testConfig(t)
		current := open(t, cfg)
		return cloudtest.Fixture{
			Cloud: current,
			Restart: func() cloudtest.Cloud {
				if err := current.Close(); err != nil {
					t.Fatal(err)
				}
				next, err := New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				// The lock changes hands; the cleanup of open uses the last holder.
				*current = Cloud{cfg: next.cfg, names: next.names, netns: next.netns, records: next.records, lock: next.lock}
				return current
			},
			Leftovers:      func() []string { return leftovers(t, current) },
			BadCommand:     []string{"/bin/sh", "-c", "echo cannot go on >&2; exit 3"},
			BadCommandSays: "cannot go on",
			Identity: func(o service.Owner, kind service.Kind, name string) string {
				return identity(t, current, o, kind, name)
			},
			Damage: func(o service.Owner, kind service.Kind, name string) { destroy(t, current, o, kind, name) },
		}
	})
}

// identity is a port's interface index and an instance's process and namespace.
func identity(t *testing.T, c *Cloud, o service.Owner, kind service.Kind, name string) string {
	t.Helper()
	switch kind {
	case service.KindPort:
		l, err := netlink.LinkByName(c.names.link(o, name))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint("link ", l.Attrs().Index)
	case service.KindServer, service.KindFunction:
		var st unix.Stat_t
		if err := unix.Stat(filepath.Join(c.cfg.NetnsDir, c.names.netns(o, name)), &st); err != nil {
			t.Fatal(err)
		}
		r, _, err := c.records.get(o, kind, name)
		if err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprint("namespace ", st.Ino)
		if r.Process != nil && name != "lb" { // haproxy's next process takes over its sockets
			id += fmt.Sprint(" process ", r.Process.PID)
		}
		return id
	}
	return ""
}

// destroy kills an instance's program or removes a port's link, unseen by the driver.
func destroy(t *testing.T, c *Cloud, o service.Owner, kind service.Kind, name string) {
	t.Helper()
	if kind == service.KindPort {
		if err := netns.DeleteLink(c.names.link(o, name)); err != nil {
			t.Fatal(err)
		}
		return
	}
	r, ok, err := c.records.get(o, kind, name)
	if err != nil || !ok {
		t.Fatalf("%s %q: %v, %v", kind, name, ok, err)
	}
	if err := r.Process.signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := r.Process.stop(); err != nil {
		t.Fatal(err)
	}
}
