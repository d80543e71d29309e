package p4

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/catena-nfv/catena/internal/service"
)

// exchange is a packet between two ports of a network.
type exchange struct {
	from, to     uint32
	mac          service.MAC // that it says it comes from
	ip           netip.Addr
	protocol     uint8
	sport, dport uint16 // of echo: dport is the identifier
	flags        string // of TCP: letters of S A F R
	echo         uint8  // ICMP type
}

func (x exchange) has(flag byte) bool {
	for i := range x.flags {
		if x.flags[i] == flag {
			return true
		}
	}
	return false
}

// service is what rules look at.
func (x exchange) service() uint16 {
	switch x.protocol {
	case 6, 17:
		return x.dport
	case 1:
		return uint16(x.echo) << 8
	}
	return 0
}

func (x exchange) bytes(t *testing.T, to service.SwitchPort) []byte {
	t.Helper()
	eth := &layers.Ethernet{SrcMAC: x.mac[:], DstMAC: to.Port.MAC[:], EthernetType: layers.EthernetTypeIPv4}
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocol(x.protocol), SrcIP: x.ip.AsSlice(), DstIP: to.Port.IP.Addr().AsSlice()}
	var l4 gopacket.SerializableLayer = gopacket.Payload("payload")
	switch x.protocol {
	case 6:
		l4 = &layers.TCP{SrcPort: layers.TCPPort(x.sport), DstPort: layers.TCPPort(x.dport), SYN: x.has('S'), ACK: x.has('A'), FIN: x.has('F'), RST: x.has('R')}
	case 17:
		l4 = &layers.UDP{SrcPort: layers.UDPPort(x.sport), DstPort: layers.UDPPort(x.dport), Length: 8}
	case 1:
		l4 = &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(x.echo, 0), Id: x.dport}
	}
	buf := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true}, eth, ip, l4); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// tracker is Neutron's firewall in a few words: rules, and the connections that they
// allowed, by port.
type tracker struct {
	cfg     service.SwitchConfig
	members map[uint32][]netip.Addr
	flows   map[string]string // "opened" or "closing"
}

// passes judges a packet at a port.
func (k *tracker) passes(p service.SwitchPort, d service.Direction, x exchange) bool {
	if !p.Secured {
		return true
	}
	own, other := p.Port.IP.Addr(), x.ip
	remote := other
	if d == service.Egress {
		remote = k.cfg.Ports[x.to-1].Port.IP.Addr()
	}
	// The same text for both directions of a connection.
	key := fmt.Sprint(p.Number, own, remote, x.protocol)
	switch {
	case x.protocol == 1:
		asks := (x.echo == 8) == (d == service.Egress) // the port does
		key += fmt.Sprint(" echo ", x.dport, asks)
	case d == service.Egress:
		key += fmt.Sprint(" ", x.sport, x.dport)
	default:
		key += fmt.Sprint(" ", x.dport, x.sport)
	}
	state := k.flows[key]
	if state == "closing" && x.has('S') && !x.has('A') {
		state = ""
	}
	if state == "" {
		var rules []service.SwitchGroupRule
		for _, g := range p.Groups {
			rules = append(rules, k.cfg.Groups[g-1].Rules...)
		}
		if !allowedBy(rules, d, k.members, remote, x.protocol, x.service()) {
			return false
		}
		k.flows[key] = "opened"
		return true
	}
	if x.has('F') || x.has('R') {
		k.flows[key] = "closing"
	}
	return true
}

// TestGuardAgainstTracker sends random packets through random groups, and compares what gets
// through with a plain connection tracker.
func TestGuardAgainstTracker(t *testing.T) {
	b := newBed(t)
	r := rand.New(rand.NewPCG(7, 7))
	sent, through := 0, 0
	for round := range 6 {
		cfg := service.SwitchConfig{Networks: []service.SwitchNetwork{{Owner: shop, Number: uint32(round + 1), Name: "n", Subnet: netip.MustParsePrefix("10.0.0.0/16")}}}
		for g := range uint32(3) {
			x := service.SwitchGroup{Number: g + 1, Name: fmt.Sprint("g", g+1)}
			for range 3 + r.IntN(4) {
				x.Rules = append(x.Rules, aRule(r))
			}
			cfg.Groups = append(cfg.Groups, x)
		}
		k := &tracker{members: map[uint32][]netip.Addr{}, flows: map[string]string{}}
		for n := range uint32(4) {
			p := service.SwitchPort{Owner: shop, Number: n + 1, Network: uint32(round + 1), Secured: n < 3, Port: service.Port{PortSpec: service.PortSpec{
				Name: fmt.Sprint("p", n+1), MAC: service.MAC{2, 0, 0, byte(round), 0, byte(n + 1)}, IP: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(r.IntN(3)), byte(n + 1)}), 16)}}}
			for g := range uint32(3) {
				if r.IntN(2) == 0 {
					p.Groups = append(p.Groups, g+1)
					k.members[g+1] = append(k.members[g+1], p.Port.IP.Addr())
				}
			}
			cfg.Ports = append(cfg.Ports, p)
		}
		k.cfg = cfg
		b.deploy(cfg)
		for range 1500 {
			x := exchange{from: 1 + r.Uint32N(4), to: 1 + r.Uint32N(4), protocol: []uint8{1, 6, 6, 6, 17, 47}[r.IntN(6)]}
			if x.from == x.to {
				continue
			}
			from, to := cfg.Ports[x.from-1], cfg.Ports[x.to-1]
			x.mac, x.ip = from.Port.MAC, from.Port.IP.Addr()
			x.sport, x.dport = uint16(10+r.IntN(12)), uint16(10+r.IntN(12))
			switch x.protocol {
			case 6:
				x.flags = []string{"S", "SA", "A", "A", "FA", "R"}[r.IntN(6)]
			case 1:
				x.echo, x.sport = []uint8{0, 8}[r.IntN(2)], 0
			case 47:
				x.sport, x.dport = 0, 0
			}
			honest := true
			switch r.IntN(20) {
			case 0:
				x.mac, honest = to.Port.MAC, !from.Secured
			case 1:
				x.ip, honest = netip.AddrFrom4([4]byte{10, 0, 9, 9}), !from.Secured
			}
			want := honest && k.passes(from, service.Egress, x) && k.passes(to, service.Ingress, x)
			out, err := b.dev.Send(x.from, x.bytes(t, to))
			if err != nil {
				t.Fatal(err)
			}
			if got := len(out) == 1 && out[0].Port == x.to; got != want || len(out) > 1 {
				t.Fatalf("round %d: %+v of %s: %t, want %t", round, x, net.HardwareAddr(from.Port.MAC[:]), got, want)
			}
			sent++
			if want {
				through++
			}
		}
	}
	if through < sent/20 || through > sent*19/20 {
		t.Errorf("%d of %d packets got through: that says little", through, sent)
	}
	t.Logf("%d of %d packets got through", through, sent)
}
