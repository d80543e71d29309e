package tables

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt/client"
)

// text is a program whose packets say what to look for: src is a random number of those from base to base + last, so
// that look-ups do not find what they need in the processor's caches only because the last one needed it, too. TABLE
// stands for the look-up.
const text = `#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

header look_up_t {
    bit<32> base;
    bit<32> last;
    bit<32> dst;
    bit<16> src_port;
    bit<16> dst_port;
    bit<8>  protocol;
}

struct headers {
    ethernet_t ethernet;
    look_up_t  look_up;
}

struct metadata { bit<32> src; }

parser TheParser(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.look_up);
        transition accept;
    }
}

control NoCheck(inout headers hdr, inout metadata meta) { apply { } }
control NoUpdate(inout headers hdr, inout metadata meta) { apply { } }
control NoEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) { apply { } }

control TheIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {
    action to(bit<9> port) { standard_metadata.egress_spec = port; }
    DECLARATION
    apply {
        bit<32> n;
        random(n, 0, hdr.look_up.last);
        meta.src = hdr.look_up.base + n;
        APPLY
    }
}

control TheDeparser(packet_out packet, in headers hdr) { apply { packet.emit(hdr.ethernet); packet.emit(hdr.look_up); } }

V1Switch(TheParser(), NoCheck(), TheIngress(), NoEgress(), NoUpdate(), TheDeparser()) main;
`

// The kinds of tables, and the program without one.
const (
	none    = "none"
	exact   = "exact"
	lpm     = "lpm"
	ternary = "ternary"
)

// sizes is what the programs declare: room for all that is measured.
var sizes = map[string]int{exact: 131072, lpm: 131072, ternary: 16384}

// programText returns the program with a table of the kind. Hit and miss do the same with the packet.
func programText(kind string) string {
	declaration, apply := "", "to(2 + (bit<9>)(meta.src & 1));" // of which nothing can be left out
	if kind != none {
		keys := fmt.Sprintf("meta.src: %s @name(\"src\");", kind)
		if kind == ternary {
			keys += ` hdr.look_up.dst: ternary @name("dst"); hdr.look_up.src_port: ternary @name("src_port");
                hdr.look_up.dst_port: ternary @name("dst_port"); hdr.look_up.protocol: ternary @name("protocol");`
		}
		declaration = fmt.Sprintf(`table entries {
            key = { %s }
            actions = { to; }
            default_action = to(3);
            size = %d;
        }`, keys, sizes[kind])
		apply = "entries.apply();"
	}
	return strings.NewReplacer("DECLARATION", declaration, "APPLY", apply).Replace(text)
}

// frame is a packet that asks for one of the addresses from base to base + last.
func frame(base, last uint32) []byte {
	out := make([]byte, 64)
	out[12], out[13] = 0x88, 0xb5 // an EtherType for experiments
	binary.BigEndian.PutUint32(out[14:], base)
	binary.BigEndian.PutUint32(out[18:], last)
	copy(out[22:], serverAddr.AsSlice())
	binary.BigEndian.PutUint16(out[26:], 40000)
	binary.BigEndian.PutUint16(out[28:], 5201)
	out[30] = 6
	return out
}

// serverAddr is the packets' destination.
var serverAddr = netip.AddrFrom4([4]byte{10, 0, 2, 2})

// absent is a base that no entry covers.
const absent = 0x40000000

// Matches of entries, by key.
type matches = map[string]target.Match

func entry(priority int, match matches) client.Update {
	return client.Insert(client.Entry{Table: "TheIngress.entries", Match: match, Priority: priority, Action: "TheIngress.to",
		Params: map[string][]byte{"port": {2}}})
}

func u32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }
func u16(v uint16) []byte { return binary.BigEndian.AppendUint16(nil, v) }

// exactEntries returns n entries, for the addresses from 0 on.
func exactEntries(n int) []client.Update {
	out := make([]client.Update, n)
	for i := range out {
		out[i] = entry(0, matches{"src": {Value: u32(uint32(i))}})
	}
	return out
}

// perPrefix is how many addresses there are for each prefix.
const perPrefix = 16

// prefixEntries returns n prefixes of 28 bits, with every fourth one of 26 around those beside it.
func prefixEntries(n int) []client.Update {
	out := make([]client.Update, n)
	for i := range out {
		length := 28
		if i%4 == 0 {
			length = 26
		}
		out[i] = entry(0, matches{"src": {Value: u32(uint32(i * perPrefix)), PrefixLen: length}})
	}
	return out
}

// ternaryEntries returns n entries under so many masks, 32 at most, with priorities that have nothing to do with the
// masks: packets try nearly all of these, which is the worst case.
func ternaryEntries(rng *rand.Rand, n, masks int) []client.Update {
	priorities := rng.Perm(n)
	out := make([]client.Update, n)
	for i := range out {
		out[i] = entry(priorities[i]+1, matches{
			"src": {Value: u32(uint32(i)), Mask: u32(^uint32(0))},
			"dst": prefix(serverAddr, 32-i%masks),
		})
	}
	return out
}

// prefix is a prefix of an address as value and mask.
func prefix(a netip.Addr, bits int) target.Match {
	mask := ^uint32(0) << (32 - bits)
	return target.Match{Value: u32(binary.BigEndian.Uint32(a.AsSlice()) & mask), Mask: u32(mask)}
}

// firewallEntries returns 100 rules as a firewall has them: of four shapes, each with a priority of its own. Packets
// from clientAddr meet one of the third shape.
func firewallEntries() []client.Update {
	var out []client.Update
	port := func(p uint16) target.Match { return target.Match{Value: u16(p), Mask: u16(0xffff)} }
	tcp := target.Match{Value: []byte{6}, Mask: []byte{0xff}}
	for i := range 40 {
		out = append(out, entry(300, matches{"src": prefix(netip.AddrFrom4([4]byte{198, 18, byte(i), 0}), 24)}))
	}
	for i := range 30 {
		out = append(out, entry(200, matches{"dst": prefix(serverAddr, 32), "protocol": tcp, "dst_port": port(6000 + uint16(i))}))
	}
	for i := range 29 {
		out = append(out, entry(100, matches{
			"src": prefix(clientAddr, 24), "dst": prefix(serverAddr, 32), "protocol": tcp, "dst_port": port(5201 + uint16(i)),
		}))
	}
	return append(out, entry(50, matches{"src": prefix(serverAddr, 32), "protocol": tcp, "src_port": port(5201)}))
}

// clientAddr is the first of the addresses that the firewall's rules allow.
var clientAddr = netip.AddrFrom4([4]byte{10, 0, 1, 0})
