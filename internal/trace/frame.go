package trace

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/catena-nfv/catena/internal/p4/target"
)

// Flow describes an IPv4 packet from one host to another.
type Flow struct {
	Src, Dst         netip.Addr
	Protocol         string // tcp (a SYN), udp or icmp (an echo request)
	SrcPort, DstPort uint16 // of tcp and udp
	TTL              uint8
	Payload          []byte
}

// Protocols are the values of Flow.Protocol.
var Protocols = []string{"icmp", "tcp", "udp"}

// Packet makes the packet as the source would send it: to the destination's MAC
// address in its own network, else to the gateway's.
func (f Flow) Packet(hosts []Host) (target.Packet, error) {
	src := slices.IndexFunc(hosts, func(h Host) bool { return h.Address == f.Src && h.Port != 0 })
	if src < 0 {
		return target.Packet{}, fmt.Errorf("no port of the switch has the address %s", f.Src)
	}
	from := hosts[src]
	to := from.Gateway
	if dst := slices.IndexFunc(hosts, func(h Host) bool { return h.Address == f.Dst && h.Network == from.Network }); dst >= 0 {
		to = hosts[dst].MAC
	}
	if to == nil {
		return target.Packet{}, fmt.Errorf("%s is not in the network of %s, which has no router", f.Dst, f.Src)
	}
	ip := &layers.IPv4{Version: 4, TTL: f.TTL, SrcIP: f.Src.AsSlice(), DstIP: f.Dst.AsSlice()}
	ls := []gopacket.SerializableLayer{&layers.Ethernet{SrcMAC: from.MAC, DstMAC: to, EthernetType: layers.EthernetTypeIPv4}, ip}
	var sum error
	switch f.Protocol {
	case "tcp":
		ip.Protocol = layers.IPProtocolTCP
		l := &layers.TCP{SrcPort: layers.TCPPort(f.SrcPort), DstPort: layers.TCPPort(f.DstPort), SYN: true, Window: 65535}
		sum = l.SetNetworkLayerForChecksum(ip)
		ls = append(ls, l)
	case "udp":
		ip.Protocol = layers.IPProtocolUDP
		l := &layers.UDP{SrcPort: layers.UDPPort(f.SrcPort), DstPort: layers.UDPPort(f.DstPort)}
		sum = l.SetNetworkLayerForChecksum(ip)
		ls = append(ls, l)
	case "icmp":
		ip.Protocol = layers.IPProtocolICMPv4
		ls = append(ls, &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoRequest, 0), Id: 1, Seq: 1})
	default:
		return target.Packet{}, fmt.Errorf("protocol %q is none of %v", f.Protocol, Protocols)
	}
	if sum != nil {
		return target.Packet{}, sum
	}
	b := gopacket.NewSerializeBuffer()
	opts := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(b, opts, append(ls, gopacket.Payload(f.Payload))...); err != nil {
		return target.Packet{}, err
	}
	return target.Packet{Port: from.Port, Data: b.Bytes()}, nil
}
