package nf_test

import (
	"bytes"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/catena-nfv/catena/internal/dataplane"
	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/pass"
	"github.com/catena-nfv/catena/internal/p4/stf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// guardPacket makes a packet between the ports of vrouter-guard.stf: of any kind that the
// guard tells apart, mostly honest.
func guardPacket(t *testing.T, r *rand.Rand) target.Packet {
	t.Helper()
	ips := []string{"10.0.1.1", "10.0.1.2", "10.0.1.5", "10.0.2.1"}
	ports := []uint32{1, 2, 5, 3}
	last := []byte{1, 2, 5, 1}
	mac := func(i int) net.HardwareAddr {
		return net.HardwareAddr{2, 0, 0, 0, byte(1 + i/3), last[i]}
	}
	from, to := r.IntN(4), r.IntN(4)
	eth := &layers.Ethernet{SrcMAC: mac(from), DstMAC: mac(to), EthernetType: layers.EthernetTypeIPv4}
	if from/3 != to/3 {
		eth.DstMAC = net.HardwareAddr{2, 0, 0, 0, byte(1 + from/3), 0xfe}
	}
	ip := &layers.IPv4{Version: 4, TTL: 64, Id: uint16(r.IntN(3)), SrcIP: net.ParseIP(ips[from]), DstIP: net.ParseIP(ips[to])}
	sport, dport := uint16(50+r.IntN(4)), []uint16{22, 50, 51, 52, 53, 67, 68, 8000, 8001}[r.IntN(9)]
	if r.IntN(2) == 0 {
		sport, dport = dport, sport
	}
	body := []gopacket.SerializableLayer{gopacket.Payload("payload of a packet")}
	tcp := func() *layers.TCP {
		x := &layers.TCP{SrcPort: layers.TCPPort(sport), DstPort: layers.TCPPort(dport), ACK: r.IntN(3) > 0, SYN: r.IntN(3) == 0, FIN: r.IntN(6) == 0, RST: r.IntN(9) == 0}
		_ = x.SetNetworkLayerForChecksum(ip)
		return x
	}
	udp := func() *layers.UDP {
		x := &layers.UDP{SrcPort: layers.UDPPort(sport), DstPort: layers.UDPPort(dport)}
		_ = x.SetNetworkLayerForChecksum(ip)
		return x
	}
	switch r.IntN(8) {
	case 0, 1, 2:
		ip.Protocol = layers.IPProtocolTCP
		body = append([]gopacket.SerializableLayer{tcp()}, body...)
	case 3, 4:
		ip.Protocol = layers.IPProtocolUDP
		body = append([]gopacket.SerializableLayer{udp()}, body...)
	case 5:
		ip.Protocol = layers.IPProtocolICMPv4
		echo := &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode([]uint8{0, 8, 13}[r.IntN(3)], 0), Id: uint16(r.IntN(3))}
		body = append([]gopacket.SerializableLayer{echo}, body...)
	case 6: // an error, about a packet that went the other way
		ip.Protocol = layers.IPProtocolICMPv4
		quoted := &layers.IPv4{Version: 4, TTL: 60, SrcIP: ip.DstIP, DstIP: ip.SrcIP, Protocol: layers.IPProtocolUDP}
		x := &layers.UDP{SrcPort: layers.UDPPort(dport), DstPort: layers.UDPPort(sport)}
		_ = x.SetNetworkLayerForChecksum(quoted)
		body = []gopacket.SerializableLayer{&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode([]uint8{3, 11, 5}[r.IntN(3)], 1)}, quoted, x}
	default:
		ip.Protocol = 47
	}
	if r.IntN(6) == 0 {
		ip.Flags, ip.FragOffset = layers.IPv4MoreFragments, uint16(r.IntN(2))
	}
	if r.IntN(15) == 0 {
		ip.Options = []layers.IPv4Option{{OptionType: 148, OptionLength: 4, OptionData: []byte{0, 0}}}
	}
	if r.IntN(12) == 0 {
		ip.SrcIP = net.IPv4(10, 0, 1, 9)
	}
	if r.IntN(12) == 0 {
		eth.SrcMAC = mac(to)
	}
	buf := gopacket.NewSerializeBuffer()
	opts := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(buf, opts, append([]gopacket.SerializableLayer{eth, ip}, body...)...); err != nil {
		t.Fatal(err)
	}
	data := buf.Bytes()
	// Cut short: but for ICMP, whose checksum the kernel keeps and the interpreter computes.
	if r.IntN(10) == 0 && ip.Protocol != layers.IPProtocolICMPv4 {
		data = data[:14+20+r.IntN(len(data)-34)]
	}
	return target.Packet{Port: ports[from], Data: bytes.Clone(data)}
}

// TestGuardInKernel sends the same random packets through the backbone vrouter-guard in the
// kernel and in the interpreter.
func TestGuardInKernel(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("loading programs into the kernel needs root")
	}
	l := open(t)
	p, err := l.Backbone("vrouter-guard")
	if err != nil {
		t.Fatal(err)
	}
	q := ir.Copy(p)
	if diags := pass.Run(q, pass.Options{}); diags.HasErrors() {
		t.Fatal(diags.Err(l.FileSet()))
	}
	spec, diags := ebpf.Generate(q, l.FileSet())
	if diags.HasErrors() {
		t.Fatal(diags.Err(l.FileSet()))
	}
	kernel, err := dataplane.OpenTestDevice(load(t, spec, ebpf.TC), ebpf.TC)
	if err != nil {
		t.Fatal(err)
	}
	defer kernel.Close()
	reference, err := interp.New(p, interp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer reference.Close()
	text, err := nf.File("backbone/vrouter-guard.stf")
	if err != nil {
		t.Fatal(err)
	}
	config, _, _ := strings.Cut(string(text), "\npacket ")
	s, err := stf.Parse("config", config)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []target.Device{kernel, reference} {
		for _, f := range stf.Run(s, p, d).Failures {
			t.Fatal(f)
		}
	}
	r := rand.New(rand.NewPCG(9, 9))
	through := 0
	const packets = 4000
	for i := range packets {
		in := guardPacket(t, r)
		want, err := reference.Inject(target.Packet{Port: in.Port, Data: bytes.Clone(in.Data)})
		if err != nil {
			t.Fatal(err)
		}
		got, err := kernel.Inject(in)
		if err != nil {
			t.Fatal(err)
		}
		if len(want) > 0 {
			through++
		}
		if !samePackets(got, want) {
			t.Fatalf("packet %d on port %d: %x\nkernel:      %x\ninterpreter: %x", i, in.Port, in.Data, got, want)
		}
	}
	if through < packets/10 || through > packets*9/10 {
		t.Errorf("%d of %d packets got through: that says little", through, packets)
	}
}

// samePackets compares what came out, in any order.
func samePackets(got, want []target.Packet) bool {
	if len(got) != len(want) {
		return false
	}
	left := append([]target.Packet(nil), got...)
	for _, w := range want {
		found := -1
		for i, g := range left {
			if g.Port == w.Port && bytes.Equal(g.Data, w.Data) {
				found = i
			}
		}
		if found < 0 {
			return false
		}
		left = append(left[:found], left[found+1:]...)
	}
	return true
}
