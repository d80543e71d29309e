package nodeservice

import (
	"encoding/binary"
	"net/netip"
	"sync"

	"github.com/catena-nfv/catena/internal/service"
)

// Where the servers listen in the namespace.
var (
	metadataAddr = netip.AddrFrom4([4]byte{169, 254, 169, 254})
	dnsAddr      = netip.AddrFrom4([4]byte{169, 254, 169, 253})
)

// Clients appear in the namespace as 198.18.0.0/15 (RFC 2544: on no network) plus
// the port's number times 256 plus the number of its address, in order of use.
var aliasNet = netip.MustParsePrefix("198.18.0.0/15")

const aliasesOfPort = 256

// client is one address of a port that asks for something.
type client struct {
	alias, ip netip.Addr
	port      uint32
	mac       service.MAC
	used      uint64 // a count of packets
}

type clientKey struct {
	port uint32
	ip   netip.Addr
}

// translator gives clients their aliases.
type translator struct {
	mu      sync.Mutex
	clients map[clientKey]*client
	aliases map[netip.Addr]*client
	packets uint64
}

func newTranslator() *translator {
	return &translator{clients: map[clientKey]*client{}, aliases: map[netip.Addr]*client{}}
}

// client finds or makes the client of a packet. A port with too many addresses loses
// the one that it has not used for longest.
func (t *translator) client(port uint32, ip netip.Addr, mac service.MAC) *client {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.packets++
	c := t.clients[clientKey{port, ip}]
	if c == nil {
		c = &client{alias: t.free(port), ip: ip, port: port}
		t.clients[clientKey{port, ip}], t.aliases[c.alias] = c, c
	}
	c.mac, c.used = mac, t.packets
	out := *c
	return &out
}

func (t *translator) free(port uint32) netip.Addr {
	base := aliasNet.Addr().As4()
	first := binary.BigEndian.Uint32(base[:]) + port*aliasesOfPort
	var oldest *client
	for i := range uint32(aliasesOfPort) {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], first+i)
		a := netip.AddrFrom4(b)
		c := t.aliases[a]
		if c == nil {
			return a
		}
		if oldest == nil || c.used < oldest.used {
			oldest = c
		}
	}
	delete(t.clients, clientKey{oldest.port, oldest.ip})
	return oldest.alias
}

// byAlias returns nil for an address that is nobody's.
func (t *translator) byAlias(a netip.Addr) *client {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.aliases[a]
	if c == nil {
		return nil
	}
	out := *c
	return &out
}

// forget removes the clients of ports for which gone tells true.
func (t *translator) forget(gone func(port uint32) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, c := range t.clients {
		if gone(k.port) {
			delete(t.clients, k)
			delete(t.aliases, c.alias)
		}
	}
}

// transport is an IPv4 packet of TCP or UDP whose header has no options and which is no
// fragment.
type transport struct{ b []byte }

// parseTransport returns ok false for every other packet.
func parseTransport(b []byte) (transport, bool) {
	if len(b) < 28 || b[0] != 0x45 {
		return transport{}, false
	}
	n := int(binary.BigEndian.Uint16(b[2:]))
	fragment := binary.BigEndian.Uint16(b[6:]) & 0x3fff
	if n < 28 || n > len(b) || fragment != 0 || b[9] != 6 && b[9] != 17 || b[9] == 6 && n < 40 {
		return transport{}, false
	}
	return transport{b[:n]}, true
}

func (p transport) src() netip.Addr { return netip.AddrFrom4([4]byte(p.b[12:16])) }
func (p transport) dst() netip.Addr { return netip.AddrFrom4([4]byte(p.b[16:20])) }
func (p transport) udp() bool       { return p.b[9] == 17 }
func (p transport) dstPort() uint16 { return binary.BigEndian.Uint16(p.b[22:]) }

// readdress sets the addresses and computes both checksums anew: those of a packet from
// a virtual machine may be left for a NIC to fill in.
func (p transport) readdress(src, dst netip.Addr) {
	s, d := src.As4(), dst.As4()
	copy(p.b[12:], s[:])
	copy(p.b[16:], d[:])
	clear(p.b[10:12])
	binary.BigEndian.PutUint16(p.b[10:], ^fold(sum(p.b[:20])))
	at := 20 + 16
	if p.udp() {
		at = 20 + 6
	}
	clear(p.b[at : at+2])
	c := ^fold(sum(p.b[12:]) + uint64(p.b[9]) + uint64(len(p.b)-20)) // with the pseudo header
	if p.udp() && c == 0 {
		c = 0xffff
	}
	binary.BigEndian.PutUint16(p.b[at:], c)
}

// sum adds the 16-bit words of b (RFC 1071).
func sum(b []byte) uint64 {
	var s uint64
	for ; len(b) > 1; b = b[2:] {
		s += uint64(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		s += uint64(b[0]) << 8
	}
	return s
}

func fold(s uint64) uint16 {
	for s>>16 != 0 {
		s = s&0xffff + s>>16
	}
	return uint16(s)
}
