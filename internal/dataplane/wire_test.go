package dataplane

import (
	_ "embed"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/catena-nfv/catena/internal/netns"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/ir"
)

//go:embed testdata/wire.c
var wireText string

// wireSpec describes testdata/wire.c.
func wireSpec(version int) *ebpf.Spec {
	return &ebpf.Spec{
		Name:     "wire",
		Source:   strings.ReplaceAll(wireText, "VERSION;", strconv.Itoa(version)+";"),
		Counters: []*ebpf.Counter{{Name: "seen", Map: "seen", Size: 512}},
		Digests:  []*ebpf.Digest{{Name: "d", Fields: []ebpf.Field{{Name: "mac", Width: 48}, {Name: "x", Width: 8}}}},
		Targets:  map[ebpf.Target]string{ebpf.TC: "", ebpf.XDP: ""},
		MapKeys: map[string]string{
			ebpf.MapPortsIn: "ports", ebpf.MapPortsOut: "ports", ebpf.MapEvents: "events", "seen": "counter",
		},
	}
}

// needRoot skips where the kernel cannot do what the switch needs.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root for network namespaces and BPF")
	}
}

// wireBed is two namespaces with a port each: 1 in a, 2 in b.
type wireBed struct {
	t     *testing.T
	cfg   SwitchConfig
	a, b  *netns.NS
	links [2]string
	cache string
}

// Address of the namespaces, one subnet.
var wireAddr = [2]netip.Prefix{netip.MustParsePrefix("10.77.0.1/24"), netip.MustParsePrefix("10.77.0.2/24")}

func newWireBed(t *testing.T, mode ebpf.Target) *wireBed {
	t.Helper()
	needRoot(t)
	w := &wireBed{t: t, cache: filepath.Join(os.TempDir(), "catena-test-objects")}
	w.cfg = SwitchConfig{Name: "ct-sw-" + strings.ToLower(filepath.Base(t.Name())), Mode: mode, StateFile: filepath.Join(t.TempDir(), "switch.json")}
	for i, ns := range []**netns.NS{&w.a, &w.b} {
		name := fmt.Sprintf("ct-sw-%d-%d", os.Getpid()%10000, i)
		w.links[i] = name
		n, err := netns.Dir{}.Create(name, func() error { return netns.DisableIPv6() })
		if err != nil {
			t.Fatal(err)
		}
		*ns = n
		t.Cleanup(func() {
			netns.DeleteLink(name)
			n.Close()
			if err := (netns.Dir{}).Delete(name); err != nil {
				t.Error(err)
			}
		})
		w.addLink(i)
	}
	return w
}

func wireMAC(i int) net.HardwareAddr { return net.HardwareAddr{2, 0, 0, 0, 0, byte(i + 1)} }

func (w *wireBed) addLink(i int) {
	w.t.Helper()
	n := []*netns.NS{w.a, w.b}[i]
	if _, err := n.AddVeth(netns.Veth{Host: w.links[i], MAC: wireMAC(i), FillChecksums: w.cfg.Mode == ebpf.XDP}); err != nil {
		w.t.Fatal(err)
	}
	if err := n.Arrange([]netns.Interface{{MAC: wireMAC(i), Name: "eth0", Addr: wireAddr[i]}}, nil); err != nil {
		w.t.Fatal(err)
	}
	// The wire does not answer ARP, and its mark would be learnt.
	if err := n.Do(func() error {
		l, err := netlink.LinkByName("eth0")
		if err != nil {
			return err
		}
		return netlink.NeighSet(&netlink.Neigh{
			LinkIndex: l.Attrs().Index, IP: wireAddr[1-i].Addr().AsSlice(), HardwareAddr: wireMAC(1 - i), State: netlink.NUD_PERMANENT,
		})
	}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wireBed) open() *Switch {
	w.t.Helper()
	s, err := OpenSwitch(w.cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := s.Destroy(); err != nil {
			w.t.Error(err)
		}
	})
	return s
}

func (w *wireBed) load(s *Switch, version int) *Program {
	w.t.Helper()
	o, err := Build(w.t.Context(), wireSpec(version), BuildOptions{CacheDir: w.cache, Targets: s.Hooks()})
	if err != nil {
		w.t.Fatal(err)
	}
	opts, release := s.Predecessor(o.Spec)
	defer release()
	p, err := Load(w.t.Context(), o, opts)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (w *wireBed) run(s *Switch, version int) {
	w.t.Helper()
	p := w.load(s, version)
	if err := s.Run(p); err != nil {
		p.Close()
		w.t.Fatal(err)
	}
}

func (w *wireBed) addPorts(s *Switch) {
	w.t.Helper()
	for i, l := range w.links {
		if err := s.AddPort(w.t.Context(), uint32(i+1), l); err != nil {
			w.t.Fatal(err)
		}
	}
}

// ping sends a datagram from a to b and waits for it; lost tells that it did not come.
func (w *wireBed) ping() (lost bool) {
	w.t.Helper()
	pc := w.listen(w.b)
	defer pc.Close()
	conn, err := w.a.DialContext(w.t.Context(), "udp4", pc.LocalAddr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("hello")); err != nil {
		w.t.Fatal(err)
	}
	pc.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	buf := make([]byte, 100)
	n, _, err := pc.ReadFrom(buf)
	if err != nil {
		return true
	}
	if string(buf[:n]) != "hello" {
		w.t.Errorf("received %q", buf[:n])
	}
	return false
}

func (w *wireBed) listen(n *netns.NS) net.PacketConn {
	w.t.Helper()
	var pc net.PacketConn
	if err := n.Do(func() error {
		var err error
		pc, err = net.ListenPacket("udp4", wireAddr[1].Addr().String()+":0")
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
	return pc
}

// raw opens a packet socket on eth0 of a namespace.
func (w *wireBed) raw(n *netns.NS) (fd int, to unix.Sockaddr) {
	w.t.Helper()
	err := n.Do(func() error {
		l, err := netlink.LinkByName("eth0")
		if err != nil {
			return err
		}
		proto := uint16(0x88b5<<8&0xff00 | 0x88b5>>8)
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, int(proto)); err != nil {
			return err
		}
		sll := &unix.SockaddrLinklayer{Protocol: proto, Ifindex: l.Attrs().Index}
		to = sll
		return unix.Bind(fd, sll)
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { unix.Close(fd) })
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2}); err != nil {
		w.t.Fatal(err)
	}
	return fd, to
}

// frame is an experimental Ethernet frame to MAC 02:00:00:00:00:last.
func frame(last byte) []byte {
	f := make([]byte, 60)
	copy(f, []byte{2, 0, 0, 0, 0, last, 2, 9, 9, 9, 9, 0, 0x88, 0xb5})
	return f
}

func testModes(t *testing.T, f func(t *testing.T, w *wireBed)) {
	for _, mode := range []ebpf.Target{ebpf.TC, ebpf.XDP} {
		t.Run(string(mode), func(t *testing.T) { f(t, newWireBed(t, mode)) })
	}
}

// runs builds a program, loads it and has the switch run it.
func (w *wireBed) runs(s *Switch, prog *ir.Program) *Program {
	w.t.Helper()
	spec, diags := ebpf.Generate(prog, nil)
	if diags.HasErrors() {
		w.t.Fatal(diags.Err(nil))
	}
	o, err := Build(w.t.Context(), spec, BuildOptions{CacheDir: w.cache, Targets: s.Hooks()})
	must(w.t, err)
	p, err := Load(w.t.Context(), o, LoadOptions{})
	must(w.t, err)
	must(w.t, s.Run(p))
	return p
}
