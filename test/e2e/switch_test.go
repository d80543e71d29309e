package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/vishvananda/netlink"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/catena-nfv/catena/internal/dataplane"
	"github.com/catena-nfv/catena/internal/netns"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/backend/p4text"
	"github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/pass"
	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt/client"
	"github.com/catena-nfv/catena/internal/p4rt/kernelswitch"
	"github.com/catena-nfv/catena/internal/p4rt/server"
)

// bed is a kernel switch with a P4Runtime server, and hosts on its ports 1, 2, ….
type bed struct {
	t       *testing.T
	mode    ebpf.Target
	dir     string
	hosts   []*host
	sw      *dataplane.Switch
	srv     *server.Server
	address string
	stop    func()
}

// host is a namespace with one interface, eth0.
type host struct {
	ns   *netns.NS
	link string
	mac  net.HardwareAddr
	addr netip.Addr
}

func newBed(t *testing.T, mode ebpf.Target, hosts int) *bed {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root for network namespaces and BPF")
	}
	b := &bed{t: t, mode: mode, dir: t.TempDir()}
	for i := range hosts {
		name := fmt.Sprintf("ct-e2e-%d-%d", os.Getpid()%10000, i+1)
		ns, err := netns.Dir{}.Create(name, netns.DisableIPv6)
		if err != nil {
			t.Fatal(err)
		}
		h := &host{ns: ns, link: name, mac: net.HardwareAddr{2, 0, 0, 0, 0, byte(i + 1)}, addr: netip.AddrFrom4([4]byte{10, 78, 0, byte(i + 1)})}
		t.Cleanup(func() {
			netns.DeleteLink(h.link)
			ns.Close()
			if err := (netns.Dir{}).Delete(name); err != nil {
				t.Error(err)
			}
		})
		if _, err := ns.AddVeth(netns.Veth{Host: h.link, MAC: h.mac, FillChecksums: mode == ebpf.XDP}); err != nil {
			t.Fatal(err)
		}
		if err := ns.Arrange([]netns.Interface{{MAC: h.mac, Name: "eth0", Addr: netip.PrefixFrom(h.addr, 24)}}, nil); err != nil {
			t.Fatal(err)
		}
		b.hosts = append(b.hosts, h)
	}
	b.start()
	t.Cleanup(func() {
		b.stop()
		if err := b.sw.Destroy(); err != nil {
			t.Error(err)
		}
	})
	for i, h := range b.hosts {
		if err := b.sw.AddPort(t.Context(), uint32(i+1), h.link); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// start opens the switch and its server, as a process does when it starts.
func (b *bed) start() {
	b.t.Helper()
	sw, err := dataplane.OpenSwitch(dataplane.SwitchConfig{
		Name: "ct-e2e-" + string(b.mode), Mode: b.mode, StateFile: filepath.Join(b.dir, "switch.json"),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.sw = sw
	dev := kernelswitch.New(kernelswitch.Config{Switch: sw, Compile: frontEnd, Optimize: optimize, CacheDir: filepath.Join(os.TempDir(), "catena-test-objects")})
	b.srv, err = server.New(b.t.Context(), server.Config{DeviceID: 1, Device: dev, Journal: filepath.Join(b.dir, "journal")})
	if err != nil {
		b.t.Fatal(err)
	}
	lis, err := server.Listen("127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	b.address = lis.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.srv.Serve(ctx, nil, lis) }()
	b.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			b.t.Error(err)
		}
		b.srv.Close()
	}
}

// frontEnd compiles P4 text that includes nothing but the standard headers: it comes
// from a client, who has no business in this machine's files.
func frontEnd(_ context.Context, text []byte) (*ir.Program, *diag.FileSet, error) {
	p, files, diags := compile.Source("program.p4", text, compile.Options{FS: fstest.MapFS{}})
	return p, files, diags.Err(files)
}

// optimize runs the compiler's passes.
func optimize(p *ir.Program) (*ir.Program, error) {
	diags := pass.Run(p, pass.Options{Verify: true})
	return p, diags.Err(diag.NewFileSet())
}

func (b *bed) client(cfg client.Config) *client.Client {
	b.t.Helper()
	cfg.Target = b.address
	cfg.Election = 1
	c, err := client.Dial(b.t.Context(), cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { c.Close() })
	return c
}

// nfText is the self-contained text of an NF of the library.
func nfText(t *testing.T, name string) []byte {
	t.Helper()
	p, files, diags := compile.File(name+"/"+name+".p4", compile.Options{
		FS: os.DirFS("../../internal/nf"), IncludeDirs: []string{"include"},
	})
	if err := diags.Err(files); err != nil {
		t.Fatal(err)
	}
	text, err := p4text.Print(p)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(text)
}

// neighbours tells the hosts each other's MAC addresses: these programs answer no ARP.
func (b *bed) neighbours() {
	b.t.Helper()
	for _, h := range b.hosts {
		if err := h.ns.Do(func() error {
			l, err := netlink.LinkByName("eth0")
			if err != nil {
				return err
			}
			for _, other := range b.hosts {
				if other == h {
					continue
				}
				if err := netlink.NeighSet(&netlink.Neigh{
					LinkIndex: l.Attrs().Index, IP: other.addr.AsSlice(), HardwareAddr: other.mac, State: netlink.NUD_PERMANENT,
				}); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			b.t.Fatal(err)
		}
	}
}

// udp sends a datagram from one host to a port of another and reports whether it
// arrived.
func (b *bed) udp(from, to *host, port int) bool {
	b.t.Helper()
	var pc net.PacketConn
	if err := to.ns.Do(func() error {
		var err error
		pc, err = net.ListenPacket("udp4", netip.AddrPortFrom(to.addr, uint16(port)).String())
		return err
	}); err != nil {
		b.t.Fatal(err)
	}
	defer pc.Close()
	conn, err := from.ns.DialContext(b.t.Context(), "udp4", pc.LocalAddr().String())
	if err != nil {
		b.t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("hello")); err != nil {
		b.t.Fatal(err)
	}
	pc.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	buf := make([]byte, 100)
	n, addr, err := pc.ReadFrom(buf)
	if err != nil {
		return false
	}
	if string(buf[:n]) != "hello" || !strings.HasPrefix(addr.String(), from.addr.String()+":") {
		b.t.Errorf("received %q from %s", buf[:n], addr)
	}
	return true
}

// tcp sends n bytes over a connection and checks that they arrive.
func (b *bed) tcp(from, to *host, n int) {
	b.t.Helper()
	var lis net.Listener
	if err := to.ns.Do(func() error {
		var err error
		lis, err = net.Listen("tcp4", netip.AddrPortFrom(to.addr, 0).String())
		return err
	}); err != nil {
		b.t.Fatal(err)
	}
	defer lis.Close()
	got := make(chan int64, 1)
	go func() {
		conn, err := lis.Accept()
		if err != nil {
			got <- -1
			return
		}
		defer conn.Close()
		k, _ := io.Copy(io.Discard, conn)
		got <- k
	}()
	ctx, cancel := context.WithTimeout(b.t.Context(), 10*time.Second)
	defer cancel()
	conn, err := from.ns.DialContext(ctx, "tcp4", lis.Addr().String())
	if err != nil {
		b.t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := conn.Write(make([]byte, n)); err != nil {
		b.t.Fatal(err)
	}
	conn.Close()
	select {
	case k := <-got:
		if k != int64(n) {
			b.t.Errorf("%d bytes sent, %d received", n, k)
		}
	case <-time.After(20 * time.Second):
		b.t.Errorf("%d bytes did not arrive in 20 s", n)
	}
}

func modes(t *testing.T, f func(t *testing.T, mode ebpf.Target)) {
	for _, mode := range []ebpf.Target{ebpf.TC, ebpf.XDP} {
		t.Run(string(mode), func(t *testing.T) { f(t, mode) })
	}
}

// deny is a rule against datagrams to a port.
func deny(port uint16, priority int) client.Entry {
	return client.Entry{
		Table: "rules", Priority: priority, Action: "deny",
		Match: map[string]target.Match{
			"protocol": {Value: []byte{17}, Mask: []byte{0xff}},
			"dst_port": {Value: []byte{byte(port >> 8), byte(port)}, Mask: []byte{0xff, 0xff}},
		},
	}
}

// TestFirewall takes an NF from its P4 text to packets: pipeline and rules over
// P4Runtime, then datagrams and a TCP connection between two hosts.
func TestFirewall(t *testing.T) {
	modes(t, func(t *testing.T, mode ebpf.Target) {
		ctx := t.Context()
		text := nfText(t, "firewall")
		b := newBed(t, mode, 2)
		b.neighbours()
		one, two := b.hosts[0], b.hosts[1]
		c := b.client(client.Config{})
		if err := c.SetPipeline(ctx, client.Commit, client.Pipeline{DeviceConfig: text, Cookie: 1}); err != nil {
			t.Fatal(err)
		}
		if !b.udp(one, two, 9999) {
			t.Fatal("a datagram was lost before there were rules")
		}
		if err := c.Write(ctx, client.Insert(deny(9999, 10))); err != nil {
			t.Fatal(err)
		}
		if b.udp(one, two, 9999) {
			t.Error("the firewall let a denied datagram through")
		}
		if !b.udp(one, two, 8888) {
			t.Error("the firewall held an allowed datagram back")
		}
		b.tcp(one, two, 1<<20)
		count := func(c *client.Client, packets uint64) {
			t.Helper()
			es, err := c.Entries(ctx, "rules")
			if err != nil || len(es) != 1 || es[0].Counter == nil || es[0].Counter.Packets != packets {
				t.Errorf("entries %+v, %v, want %d packets denied", es, err, packets)
			}
		}
		count(c, 1)

		// Another program takes over without losing rules and counts.
		other := strings.Replace(string(text), "size = 16384", "size = 16384", 1) + "\n// another text\n"
		if err := c.SetPipeline(ctx, client.Reconcile, client.Pipeline{DeviceConfig: []byte(other), Cookie: 2}); err != nil {
			t.Fatal(err)
		}
		if b.udp(one, two, 9999) || !b.udp(one, two, 8888) {
			t.Error("the rules do not hold after another program took over")
		}
		count(c, 2)

		// The process ends: packets flow, rules hold. The next one has it all.
		c.Close()
		b.stop()
		if err := b.sw.Close(); err != nil {
			t.Fatal(err)
		}
		if b.udp(one, two, 9999) || !b.udp(one, two, 8888) {
			t.Error("the rules do not hold while no process is there")
		}
		b.start()
		if b.udp(one, two, 9999) || !b.udp(one, two, 8888) {
			t.Error("the rules do not hold after a restart")
		}
		again := b.client(client.Config{})
		if cookie, err := again.Cookie(ctx); err != nil || cookie != 2 {
			t.Errorf("cookie %d, %v", cookie, err)
		}
		if err := again.Write(ctx, client.Delete(deny(9999, 10))); err != nil {
			t.Error(err)
		}
		if !b.udp(one, two, 9999) {
			t.Error("a rule that was deleted still holds")
		}
		// A clean new program has no rules.
		if err := again.Write(ctx, client.Insert(deny(9999, 10))); err != nil {
			t.Error(err)
		}
		if err := again.SetPipeline(ctx, client.Commit, client.Pipeline{DeviceConfig: text, Cookie: 3}); err != nil {
			t.Fatal(err)
		}
		if !b.udp(one, two, 9999) {
			t.Error("a rule outlived the commit of a program")
		}
	})
}

// TestMulticast floods over a multicast group and then learns where hosts are.
func TestMulticast(t *testing.T) {
	modes(t, func(t *testing.T, mode ebpf.Target) {
		ctx := t.Context()
		b := newBed(t, mode, 3)
		c := b.client(client.Config{})
		err := c.SetPipeline(ctx, client.Commit, client.Pipeline{DeviceConfig: nfText(t, "l2fwd")})
		if mode == ebpf.XDP && errors.Is(err, target.ErrUnsupported) {
			t.Skip(err) // the kernel's XDP cannot copy packets
		}
		if err != nil {
			t.Fatal(err)
		}
		var all []target.Replica
		for i := range b.hosts {
			all = append(all, target.Replica{Port: uint32(i + 1), Instance: 1})
		}
		us := []client.Update{client.Insert(client.Multicast{ID: 1, Replicas: all})}
		entry := func(mac net.HardwareAddr, action, param string, value byte) client.Update {
			return client.Insert(client.Entry{
				Table: "addresses", Match: map[string]target.Match{"dst_addr": {Value: mac}}, Action: action, Params: map[string][]byte{param: {value}},
			})
		}
		us = append(us, entry(net.HardwareAddr{255, 255, 255, 255, 255, 255}, "flood", "group", 1))
		for i, h := range b.hosts {
			us = append(us, entry(h.mac, "forward", "port", byte(i+1)))
		}
		if err := c.WriteAll(ctx, us...); err != nil {
			t.Fatal(err)
		}
		// ARP goes by the group, the datagrams by the addresses.
		if !b.udp(b.hosts[0], b.hosts[2], 1000) || !b.udp(b.hosts[2], b.hosts[1], 1000) {
			t.Error("a datagram was lost")
		}
		b.tcp(b.hosts[1], b.hosts[0], 100_000)
	})
}

// cpuProgram sends datagrams to port 7 to the controller, and packets from the
// controller to the port that it says.
const cpuProgram = `
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
@controller_header("packet_in") header packet_in_h { bit<16> port; bit<8> reason; }
@controller_header("packet_out") header packet_out_h { bit<16> port; }
struct headers { packet_in_h pin; packet_out_h pout; ethernet_t ethernet; }
struct metadata { }

parser P(packet_in p, out headers hdr, inout metadata m, inout standard_metadata_t sm) {
    state start {
        transition select(sm.ingress_port) { 510: from_cpu; default: ethernet; }
    }
    state from_cpu { p.extract(hdr.pout); transition ethernet; }
    state ethernet { p.extract(hdr.ethernet); transition accept; }
}
control V(inout headers hdr, inout metadata m) { apply { } }
control I(inout headers hdr, inout metadata m, inout standard_metadata_t sm) {
    register<bit<32>>(4) seen;
    counter(512, CounterType.packets_and_bytes) ports;
    apply {
        ports.count((bit<32>)sm.ingress_port);
        if (hdr.pout.isValid()) {
            sm.egress_spec = (bit<9>)hdr.pout.port;
            hdr.pout.setInvalid();
        } else if (hdr.ethernet.type == 0x88b5) {
            hdr.pin.setValid();
            hdr.pin.port = (bit<16>)sm.ingress_port;
            hdr.pin.reason = 9;
            sm.egress_spec = 510;
            bit<32> n;
            seen.read(n, 1);
            seen.write(1, n + 1);
        } else {
            mark_to_drop(sm);
        }
    }
}
control E(inout headers hdr, inout metadata m, inout standard_metadata_t sm) { apply { } }
control C(inout headers hdr, inout metadata m) { apply { } }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr.pin); p.emit(hdr.ethernet); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
`

// TestPacketIO passes packets between hosts and the controller.
func TestPacketIO(t *testing.T) {
	modes(t, func(t *testing.T, mode ebpf.Target) {
		ctx := t.Context()
		b := newBed(t, mode, 2)
		in := make(chan client.PacketIn, 10)
		c := b.client(client.Config{PacketIn: func(p client.PacketIn) { in <- p }})
		if err := c.SetPipeline(ctx, client.Commit, client.Pipeline{DeviceConfig: []byte(cpuProgram)}); err != nil {
			t.Fatal(err)
		}
		frame := append([]byte{2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 0x88, 0xb5}, make([]byte, 50)...)
		copy(frame[14:], "to the controller")
		one := openRaw(t, b.hosts[0].ns)
		two := openRaw(t, b.hosts[1].ns)
		one.send(frame)
		select {
		case p := <-in:
			if string(p.Payload) != string(frame) || p.Metadata["port"][0] != 1 || p.Metadata["reason"][0] != 9 {
				t.Errorf("packet-in %+v, sent %x", p, frame)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("no packet-in")
		}
		if err := c.PacketOut(frame, map[string][]byte{"port": {2}}); err != nil {
			t.Fatal(err)
		}
		if got := two.receive(); string(got) != string(frame) {
			t.Errorf("packet-out arrived as %x, sent %x", got, frame)
		}
		if err := c.PacketOut(frame, map[string][]byte{"port": {1, 0, 0}}); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			if f := c.Faults(); len(f) > 0 {
				if !errors.Is(f[0], target.ErrInvalid) {
					t.Errorf("fault %v", f[0])
				}
				break
			}
			if time.Now().After(end) {
				t.Fatal("a packet-out with a port of 17 bits was taken")
			}
		}
		if v, err := c.Register(ctx, "seen", 1); err != nil || fmt.Sprint(v) != "[[1]]" {
			t.Errorf("register %v, %v", v, err)
		}
		if err := c.Write(ctx, client.Modify(client.RegisterCell{Register: "seen", Index: 1, Value: [][]byte{{1, 0}}})); err != nil {
			t.Fatal(err)
		}
		one.send(frame)
		<-in
		if v, err := c.Register(ctx, "seen", 1); err != nil || fmt.Sprint(v) != "[[1 1]]" {
			t.Errorf("register %v, %v", v, err)
		}
		for port, want := range map[int]uint64{1: 2, 510: 1} {
			if n, err := c.Counter(ctx, "ports", port); err != nil || n.Packets != want {
				t.Errorf("port %d counts %+v, %v, want %d packets", port, n, err, want)
			}
		}
	})
}

// TestBadPrograms is about what a client is told of programs that do not work.
func TestBadPrograms(t *testing.T) {
	b := newBed(t, ebpf.TC, 0)
	c := b.client(client.Config{})
	for _, tt := range []struct{ text, want string }{
		{"", "the config is missing"},
		{"control", "program.p4:1:"},
		{strings.Replace(cpuProgram, "hdr.pin.reason = 9", "hdr.pin.nothing = 9", 1), "nothing"},
		{strings.Replace(cpuProgram, "#include <core.p4>", `#include "/etc/passwd"`, 1), "/etc/passwd"},
	} {
		err := c.SetPipeline(t.Context(), client.Verify, client.Pipeline{DeviceConfig: []byte(tt.text)})
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.40q: %v, want %q", tt.text, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "root:") {
			t.Errorf("a program shows a file of the machine: %v", err)
		}
	}
}
