package dataplane

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	cebpf "github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/catena-nfv/catena/internal/netns"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

func TestSwitchForwards(t *testing.T) {
	testModes(t, func(t *testing.T, w *wireBed) {
		s := w.open()
		w.addPorts(s) // before there is a program
		if !w.ping() {
			t.Fatal("a packet came through without a program")
		}
		w.run(s, 1)
		if w.ping() {
			t.Fatal("no packet came through")
		}
		ports := s.Ports()
		if len(ports) != 2 || !ports[0].Up || !ports[0].Attached || ports[0].Generic || ports[0].RxPackets == 0 || ports[1].TxPackets == 0 {
			t.Errorf("ports %+v", ports)
		}
		if c, err := s.Running().ReadCounter("seen", 1); err != nil || c.Packets != 1 {
			t.Errorf("counter %+v, %v", c, err)
		}
		// The same again changes nothing; another number for the link is refused.
		if err := s.AddPort(t.Context(), 1, w.links[0]); err != nil {
			t.Error(err)
		}
		if err := s.AddPort(t.Context(), 3, w.links[0]); err == nil || !strings.Contains(err.Error(), "the link is port 1") {
			t.Errorf("link added twice: %v", err)
		}
		for _, bad := range []uint32{0, 510, 511, 4000} {
			if err := s.AddPort(t.Context(), bad, w.links[0]); err == nil {
				t.Errorf("port %d was added", bad)
			}
		}
		if err := s.AddPort(t.Context(), 7, "ct-sw-none"); err == nil || !strings.Contains(err.Error(), "port 7 (ct-sw-none)") {
			t.Errorf("missing link: %v", err)
		}
		// Without port 2 nothing arrives; with it again, it does.
		if err := s.RemovePort(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		if !w.ping() {
			t.Error("a packet came through to a removed port")
		}
		if err := s.AddPort(t.Context(), 2, w.links[1]); err != nil {
			t.Fatal(err)
		}
		if w.ping() {
			t.Error("no packet came through to the port that was added again")
		}
	})
}

// A swap loses no packet and no count.
func TestSwitchSwap(t *testing.T) {
	testModes(t, func(t *testing.T, w *wireBed) {
		s := w.open()
		w.addPorts(s)
		w.run(s, 1)
		pc := w.listen(w.b)
		defer pc.Close()
		conn, err := w.a.DialContext(t.Context(), "udp4", pc.LocalAddr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		var received atomic.Uint32
		go func() {
			buf := make([]byte, 100)
			for {
				if _, _, err := pc.ReadFrom(buf); err != nil {
					return
				}
				received.Add(1)
			}
		}()
		ctx, cancel := context.WithCancel(t.Context())
		sent := make(chan uint32)
		go func() {
			n := uint32(0)
			for ctx.Err() == nil {
				if _, err := conn.Write(binary.BigEndian.AppendUint32(nil, n)); err == nil {
					n++
				}
				time.Sleep(200 * time.Microsecond)
			}
			sent <- n
		}()
		for v := range 8 {
			w.run(s, 2+v)
			time.Sleep(20 * time.Millisecond)
		}
		cancel()
		n := <-sent
		for end := time.Now().Add(2 * time.Second); received.Load() < n && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		if received.Load() != n {
			t.Errorf("%d packets sent, %d received over 8 swaps", n, received.Load())
		}
		if c, err := s.Running().ReadCounter("seen", 1); err != nil || c.Packets != uint64(n) {
			t.Errorf("counter %+v, %v, want %d packets", c, err, n)
		}
		if dirs, _ := filepath.Glob(filepath.Join(s.pins.dir, "maps-*")); len(dirs) != 1 {
			t.Errorf("pinned maps %v", dirs)
		}
	})
}

// A program that takes its own place is not verified again, and keeps counting.
func TestSwitchSameAgain(t *testing.T) {
	testModes(t, func(t *testing.T, w *wireBed) {
		s := w.open()
		w.addPorts(s)
		id := func() cebpf.ProgramID {
			info, err := s.Running().program(w.cfg.Mode).Info()
			if err != nil {
				t.Fatal(err)
			}
			id, _ := info.ID()
			return id
		}
		w.run(s, 1)
		first := id()
		if w.ping() {
			t.Fatal("lost")
		}
		w.run(s, 1)
		if id() != first {
			t.Error("the same program was loaded again")
		}
		if w.ping() {
			t.Error("lost after the swap")
		}
		if c, err := s.Running().ReadCounter("seen", 1); err != nil || c.Packets != 2 {
			t.Errorf("counter %+v, %v", c, err)
		}
		w.run(s, 2)
		if id() == first {
			t.Error("another program was not loaded")
		}
		if w.ping() {
			t.Error("lost after the last swap")
		}
	})
}

// While no process has the switch open packets flow; the next process goes on with
// its counters.
func TestSwitchOutlivesProcess(t *testing.T) {
	testModes(t, func(t *testing.T, w *wireBed) {
		s := w.open()
		w.addPorts(s)
		w.run(s, 1)
		if w.ping() {
			t.Fatal("no packet came through")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if w.ping() {
			t.Error("no packet came through while the switch was closed")
		}
		again := w.open()
		if w.ping() {
			t.Error("no packet came through after the switch was opened again")
		}
		if p := again.Ports(); len(p) != 2 || !p[0].Attached || again.Running() != nil {
			t.Errorf("ports after opening again: %+v", p)
		}
		w.run(again, 2)
		if w.ping() {
			t.Error("no packet came through after the next program")
		}
		if c, err := again.Running().ReadCounter("seen", 1); err != nil || c.Packets != 4 {
			t.Errorf("counter %+v, %v, want 4 packets", c, err)
		}
	})
}

func TestSwitchDestroy(t *testing.T) {
	w := newWireBed(t, ebpf.TC)
	s := w.open()
	w.addPorts(s)
	w.run(s, 1)
	if err := s.Destroy(); err != nil {
		t.Fatal(err)
	}
	if !w.ping() {
		t.Error("a packet came through a destroyed switch")
	}
	for _, file := range []string{s.pins.dir, w.cfg.StateFile} {
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			t.Errorf("%s is still there", file)
		}
	}
	for _, name := range w.links {
		l, err := netlink.LinkByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if n := attachedTo(t, l.Attrs().Index); n != 0 {
			t.Errorf("%d programs are still attached to %s", n, name)
		}
	}
}

func attachedTo(t *testing.T, index int) int {
	t.Helper()
	r, err := link.QueryPrograms(link.QueryOptions{Target: index, Attach: cebpf.AttachTCXIngress})
	if err != nil {
		t.Fatal(err)
	}
	return len(r.Programs)
}

// A link that leaves a bridge, as a hypervisor's tap does that the agent takes over, is
// still there: the kernel's message about the bridge's port looks like that of a deletion.
func TestSwitchLinkLeavesBridge(t *testing.T) {
	w := newWireBed(t, ebpf.TC)
	s := w.open()
	w.addPorts(s)
	w.run(s, 1)
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: fmt.Sprintf("ctb%d", os.Getpid()%1e6)}}
	if err := netlink.LinkAdd(bridge); err != nil {
		t.Fatal(err)
	}
	defer netlink.LinkDel(bridge)
	l, err := netlink.LinkByName(w.links[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(netlink.LinkSetMaster(l, bridge), netlink.LinkSetNoMaster(l)); err != nil {
		t.Fatal(err)
	}
	// The message of a change that comes behind says that the first was read.
	events := s.Watch(t.Context())
	if err := errors.Join(netlink.LinkSetDown(l), netlink.LinkSetUp(l)); err != nil {
		t.Fatal(err)
	}
	for up := false; !up; {
		select {
		case e := <-events:
			up = e.Number == 2 && e.Up
			if e.Gone {
				t.Fatal("the link is said to have vanished")
			}
		case <-time.After(5 * time.Second):
			t.Fatal("no event")
		}
	}
	if p := s.Ports(); len(p) != 2 {
		t.Errorf("ports %+v", p)
	}
	if w.ping() {
		t.Error("no packet comes through to the link that has left a bridge")
	}
}

// A link that vanishes takes its port with it.
func TestSwitchLinkVanishes(t *testing.T) {
	testModes(t, func(t *testing.T, w *wireBed) {
		s := w.open()
		w.addPorts(s)
		w.run(s, 1)
		events := s.Watch(t.Context())
		if err := netns.DeleteLink(w.links[1]); err != nil {
			t.Fatal(err)
		}
		for gone := false; !gone; {
			select {
			case e := <-events:
				gone = e.Number == 2 && e.Gone && e.Link == w.links[1]
			case <-time.After(5 * time.Second):
				t.Fatal("no event")
			}
		}
		if p := s.Ports(); len(p) != 1 || p[0].Number != 1 {
			t.Errorf("ports %+v", p)
		}
		if _, err := os.Stat(s.pins.link(2)); !os.IsNotExist(err) {
			t.Error("the link is still pinned")
		}
		var out ebpf.PortOut
		if err := s.Running().Maps[ebpf.MapPortsOut].Lookup(uint32(2), &out); err != nil || out.Ifindex != 0 {
			t.Errorf("the program still sends to the port: %+v, %v", out, err)
		}
		// It comes back under its name.
		w.addLink(1)
		if err := s.AddPort(t.Context(), 2, w.links[1]); err != nil {
			t.Fatal(err)
		}
		if w.ping() {
			t.Error("no packet came through to the new link")
		}
		// A link that vanishes while nobody looks does not hinder the next process.
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := netns.DeleteLink(w.links[1]); err != nil {
			t.Fatal(err)
		}
		w.addLink(1)
		again := w.open()
		w.run(again, 2)
		if w.ping() {
			t.Error("no packet came through to a link that was made again meanwhile")
		}
	})
}

func TestSwitchCPU(t *testing.T) {
	testModes(t, func(t *testing.T, w *wireBed) {
		s := w.open()
		packets, digests := make(chan []byte, 10), make(chan target.Digest, 10)
		s.Listen(func(p []byte) { packets <- append([]byte(nil), p...) }, func(d target.Digest) { digests <- d })
		w.addPorts(s)
		w.run(s, 7)
		fd, to := w.raw(w.a)
		if err := unix.Sendto(fd, frame(1), 0, to); err != nil {
			t.Fatal(err)
		}
		select {
		case p := <-packets:
			if len(p) != 14 || p[11] != 7 {
				t.Errorf("packet-in %x", p)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("no packet-in")
		}
		if err := unix.Sendto(fd, frame(0xdd), 0, to); err != nil {
			t.Fatal(err)
		}
		select {
		case d := <-digests:
			if d.Name != "d" || fmt.Sprintf("%x", d.Values) != "[0200000000dd 02]" {
				t.Errorf("digest %s %x", d.Name, d.Values)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("no digest")
		}
		// Packet-out to port 2.
		rx, _ := w.raw(w.b)
		if err := s.Inject(t.Context(), frame(2)); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 200)
		n, _, err := unix.Recvfrom(rx, buf, 0)
		if err != nil || n != 60 || buf[11] != 7 {
			t.Errorf("packet-out: %x, %v", buf[:max(n, 0)], err)
		}
		if err := s.Inject(t.Context(), []byte{1}); err == nil {
			t.Error("a packet of one byte was injected")
		}
		// After a swap events go on.
		w.run(s, 8)
		if err := unix.Sendto(fd, frame(1), 0, to); err != nil {
			t.Fatal(err)
		}
		select {
		case p := <-packets:
			if p[11] != 8 {
				t.Errorf("packet-in %x", p)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("no packet-in after a swap")
		}
	})
}

// Redirecting to the peer bypasses the host's side of the link.
func TestSwitchPeer(t *testing.T) {
	w := newWireBed(t, ebpf.TC)
	s := w.open()
	w.addPorts(s)
	w.run(s, 1)
	if err := s.AttachPort(t.Context(), PortSpec{Number: 2, Link: w.links[1], Peer: true}); err != nil {
		t.Fatal(err)
	}
	if w.ping() {
		t.Error("no packet came through")
	}
}

// A program that is not loaded for a port's hook is refused and changes nothing.
func TestSwitchRunFails(t *testing.T) {
	w := newWireBed(t, ebpf.TC)
	s := w.open()
	w.addPorts(s)
	w.run(s, 1)
	o, err := Build(t.Context(), wireSpec(2), BuildOptions{CacheDir: w.cache, Targets: []ebpf.Target{ebpf.XDP}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Load(t.Context(), o, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := s.Run(p); err == nil || !strings.Contains(err.Error(), "not loaded for tc") {
		t.Errorf("Run: %v", err)
	}
	if w.ping() {
		t.Error("the former program does not run any more")
	}
}

// Ports get something of the switch before there is a program, so that a program comes without a wait for each.
func TestSwitchPortsWithoutProgram(t *testing.T) {
	testModes(t, func(t *testing.T, w *wireBed) {
		s := w.open()
		w.addPorts(s)
		idle := func(s *Switch) {
			t.Helper()
			if !w.ping() {
				t.Error("a packet came through without a program")
			}
			for _, p := range s.Ports() {
				at := s.ports[p.Number].at
				if p.Attached || at == nil || !at.idle {
					t.Errorf("port %d has a program: %+v", p.Number, p)
				}
			}
		}
		idle(s)
		// A link that cannot be replaced: nowhere has the program then.
		p := w.load(s, 1)
		broken := s.ports[2].at.link
		s.ports[2].at.link = failingLink{broken}
		if err := s.Run(p); err == nil {
			t.Fatal("a link that fails was replaced")
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		s.ports[2].at.link = broken
		idle(s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		again := w.open()
		idle(again)
		w.run(again, 1)
		if w.ping() {
			t.Error("no packet came through")
		}
		for _, p := range again.Ports() {
			if !p.Attached {
				t.Errorf("port %d has no program", p.Number)
			}
		}
	})
}

type failingLink struct{ link.Link }

func (failingLink) Update(*cebpf.Program) error { return errors.New("fails") }

func TestSwitchNames(t *testing.T) {
	for _, name := range []string{"", "a/b", "..", "a b"} {
		if s, err := OpenSwitch(SwitchConfig{Name: name}); err == nil {
			s.Close()
			t.Errorf("a switch named %q was opened", name)
		}
	}
}
