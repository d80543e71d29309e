package netlab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/catena-nfv/catena/internal/netns"
)

// lab opens a lab, or skips the test, saying why, where namespaces may not be made or iperf3 is missing.
func lab(t *testing.T) *Lab {
	t.Helper()
	if err := Need(map[string]string{"iperf3": "iperf3"}); err != nil {
		t.Skip(err)
	}
	l, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	ns, err := l.dir.Create(fmt.Sprintf("%s%d-probe", nsPrefix, os.Getpid()), nil)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		t.Skipf("needs root with CAP_SYS_ADMIN and CAP_NET_ADMIN: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(ns.Close(), l.dir.Delete(ns.Name())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// left lists what exists of this process's namespaces and links.
func left(t *testing.T) []string {
	t.Helper()
	names, err := netns.Dir{}.List(fmt.Sprintf("%s%d-", nsPrefix, os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	links, err := netlink.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	mine := linkPrefix + strconv.FormatInt(int64(os.Getpid()), 36) + "-"
	for _, l := range links {
		if strings.HasPrefix(l.Attrs().Name, mine) {
			names = append(names, l.Attrs().Name)
		}
	}
	return names
}

func TestBridgeCarriesTCP(t *testing.T) {
	l := lab(t)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	p, err := l.Pair()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Serve(ctx, p.Server, 5201); err != nil {
		t.Fatal(err)
	}
	// Without the bridge nothing may arrive.
	if _, err := p.Client.TCP(ctx, p.Server, 5201, time.Second); err == nil {
		t.Error("TCP between two hosts that nothing connects")
	}
	if err := l.Bridge(p); err != nil {
		t.Fatal(err)
	}
	r, err := p.Client.TCP(ctx, p.Server, 5201, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if r.BitsPerSecond < 1e6 || r.CPU <= 0 {
		t.Errorf("result %+v", r)
	}
	pid := l.servers[0].cmd.Process.Pid
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if rest := left(t); len(rest) > 0 {
		t.Errorf("left behind: %v", rest)
	}
	if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
		t.Errorf("the iperf3 server lives on: %v", err)
	}
}

func TestServeTellsWhy(t *testing.T) {
	l := lab(t)
	p, err := l.Pair()
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if err := l.Serve(ctx, p.Server, 5201); err != nil {
		t.Fatal(err)
	}
	if err := l.Serve(ctx, p.Server, 5201); err == nil || !strings.Contains(err.Error(), "5201") {
		t.Errorf("a second server on the port: %v", err)
	}
}

// TestSweep checks that what a killed process left behind goes away, and nothing of one that lives.
func TestSweep(t *testing.T) {
	l := lab(t)
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	pid := child.Process.Pid
	name := fmt.Sprintf("%s%d-0c", nsPrefix, pid)
	link := linkPrefix + strconv.FormatInt(int64(pid), 36) + "-0c"
	ns, err := l.dir.Create(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(netns.DeleteLink(link), l.dir.Delete(name)); err != nil {
			t.Error(err)
		}
	})
	if _, err := ns.AddVeth(netns.Veth{Host: link, MAC: []byte{2, 0xbe, 0, 0, 9, 9}}); err != nil {
		t.Fatal(err)
	}
	ns.Close()
	exists := func() bool {
		_, nsErr := os.Stat("/run/netns/" + name)
		_, linkErr := netlink.LinkByName(link)
		return nsErr == nil && linkErr == nil
	}
	if _, err := Open(); err != nil {
		t.Fatal(err)
	}
	if !exists() {
		t.Fatal("the network of a living process was swept away")
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // reports the kill
	if _, err := Open(); err != nil {
		t.Fatal(err)
	}
	if exists() {
		t.Error("the network of a dead process is still there")
	}
}
