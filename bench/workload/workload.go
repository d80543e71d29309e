// Package workload is what the benchmarks of chains carry: the chains of paper 003 (its Table III), with as many
// rules an NF as there (section IV-A), and the flow of packets that passes them. The rules are of the kinds
// that operators write, and of several shapes, since a table's cost grows with the number of its masks. All
// rules but those of the flow itself match nothing that the benchmarks send.
package workload

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/catena-nfv/catena/internal/service"
)

// Rules is the number of rules an NF: paper 003, section IV-A.
const Rules = 100

// Flow is the traffic of a benchmark: TCP or UDP from a client to a port of a server and back.
type Flow struct {
	Client, Server       netip.Addr
	ClientMAC, ServerMAC service.MAC
	// ClientGateway and ServerGateway are the router's addresses on the two sides.
	ClientGateway, ServerGateway service.MAC
	// ClientPort and ServerPort are numbers of the switch's ports.
	ClientPort, ServerPort uint32
	// Service is the TCP or UDP port at the server.
	Service uint16
}

// SFC1 is the request of the chain for data centres.
const SFC1 = "IDS before Firewall before NAT before L3fwd"

// SFC2 is the request of the chain for HTTP services.
const SFC2 = "LB then L3fwd or Firewall and branch_end=Firewall, Firewall before NAT"

// SFC3 is the request of the chain for Gi-LANs.
const SFC3 = "NAT before L2fwd before LB before L3fwd before Firewall"

// Of returns the rules of an NF of the library.
func Of(nf string, f Flow) ([]service.Rule, error) {
	switch nf {
	case "IDS":
		return ids(f), nil
	case "Firewall":
		return firewall(f), nil
	case "NAT":
		return nat(f), nil
	case "L2fwd":
		return l2fwd(f), nil
	case "L3fwd":
		return l3fwd(f), nil
	case "LB":
		return lb(f), nil
	}
	return nil, fmt.Errorf("the workload has no rules for NF %q", nf)
}

type fields map[string]string

func rule(nf, table, action string, priority int, match, params fields) service.Rule {
	return service.Rule{NF: nf, Table: table, Match: match, Action: action, Params: params, Priority: priority}
}

// ids returns signatures: known bad senders, ports of trojans, scans by their flags.
func ids(Flow) []service.Rule {
	var out []service.Rule
	for i := range 40 {
		out = append(out, rule("IDS", "signatures", "drop", 300, fields{"protocol": "tcp", "dst_port": strconv.Itoa(31300 + i)}, nil))
	}
	for i := range 20 {
		out = append(out, rule("IDS", "signatures", "drop", 300, fields{"protocol": "udp", "dst_port": strconv.Itoa(27400 + i)}, nil))
	}
	for i := range 36 {
		out = append(out, rule("IDS", "signatures", "drop", 200, fields{"src_addr": fmt.Sprintf("203.0.113.%d", 10+i)}, nil))
	}
	for _, flags := range []string{"0x29&&&0x3f", "0x00&&&0x3f", "0x03&&&0x3f", "0x3f&&&0x3f"} { // xmas, null, SYN+FIN, all
		out = append(out, rule("IDS", "signatures", "drop", 100, fields{"protocol": "tcp", "tcp_flags": flags}, nil))
	}
	return out
}

// firewall returns blocked networks and services, and allowed services, the flow's among them.
func firewall(f Flow) []service.Rule {
	var out []service.Rule
	for i := range 40 {
		out = append(out, rule("Firewall", "rules", "deny", 300, fields{"src_addr": fmt.Sprintf("198.18.%d.0/24", i)}, nil))
	}
	for i := range 30 {
		out = append(out, rule("Firewall", "rules", "deny", 200, fields{"dst_addr": f.Server.String(), "protocol": "tcp", "dst_port": strconv.Itoa(6000 + i)}, nil))
	}
	clients := netip.PrefixFrom(f.Client, 24).Masked().String()
	for i := range 28 {
		out = append(out, rule("Firewall", "rules", "allow", 100, fields{
			"src_addr": clients, "dst_addr": fmt.Sprintf("10.0.2.%d", 100+i), "protocol": "tcp", "dst_port": "80",
		}, nil))
	}
	port := strconv.Itoa(int(f.Service))
	return append(out,
		rule("Firewall", "rules", "allow", 100, fields{"src_addr": clients, "dst_addr": f.Server.String(), "protocol": "tcp", "dst_port": port}, nil),
		rule("Firewall", "rules", "allow", 50, fields{"src_addr": f.Server.String(), "protocol": "tcp", "src_port": port}, nil),
	)
}

// nat returns a translation for each of many clients, and the way back.
func nat(f Flow) []service.Rule {
	inside, outside := f.Client, netip.AddrFrom4([4]byte{198, 51, 100, 1})
	var out []service.Rule
	for range Rules {
		out = append(out,
			rule("NAT", "source", "translate", 0, fields{"src_addr": inside.String()}, fields{"addr": outside.String()}),
			rule("NAT", "restore", "restore_to", 0, fields{"dst_addr": outside.String()}, fields{"addr": inside.String()}))
		inside, outside = inside.Next(), outside.Next()
	}
	return out
}

// Translated is the address that the client's packets have behind the NAT.
func Translated() netip.Addr { return netip.AddrFrom4([4]byte{198, 51, 100, 1}) }

// l2fwd returns stations, the flow's two hosts among them, and floods what goes to all.
func l2fwd(f Flow) []service.Rule {
	forward := func(to service.MAC, port uint32) service.Rule {
		return rule("L2fwd", "addresses", "forward", 0, fields{"dst_addr": to.String()}, fields{"port": strconv.Itoa(int(port))})
	}
	out := []service.Rule{
		rule("L2fwd", "addresses", "flood", 0, fields{"dst_addr": "ff:ff:ff:ff:ff:ff"}, fields{"group": "1"}),
		forward(f.ClientMAC, f.ClientPort), forward(f.ServerMAC, f.ServerPort),
	}
	for i := len(out); i < Rules; i++ {
		out = append(out, forward(service.MAC{2, 0xbe, 1, 0, 0, byte(i)}, f.ClientPort))
	}
	return out
}

// l3fwd returns routes of several prefix lengths, and the two hosts'.
func l3fwd(f Flow) []service.Rule {
	forward := func(dst string, port uint32, from, to service.MAC) service.Rule {
		return rule("L3fwd", "routes", "forward", 0, fields{"dst_addr": dst},
			fields{"port": strconv.Itoa(int(port)), "src_mac": from.String(), "dst_mac": to.String()})
	}
	var out []service.Rule
	for i := range Rules - 2 {
		// 100.64.0.0/10 and below, none of it used.
		prefix := netip.PrefixFrom(netip.AddrFrom4([4]byte{100, byte(64 + i%64), byte(i), 0}), 16+i%9)
		out = append(out, forward(prefix.Masked().String(), f.ServerPort, f.ServerGateway, f.ServerMAC))
	}
	return append(out,
		forward(f.Client.String()+"/32", f.ClientPort, f.ClientGateway, f.ClientMAC),
		forward(f.Server.String()+"/32", f.ServerPort, f.ServerGateway, f.ServerMAC))
}

// lb returns services with their members: the flow's own, which is group 1, another one beside it, and many that
// nobody asks for.
func lb(f Flow) []service.Rule {
	const services, members = 10, 9
	var out []service.Rule
	virtual, member := f.Server, netip.AddrFrom4([4]byte{10, 0, 3, 1})
	for g := range services {
		group, port := strconv.Itoa(g+1), "80"
		if g < 2 {
			port = strconv.Itoa(int(f.Service))
		}
		out = append(out, rule("LB", "services", "balance", 0,
			fields{"dst_addr": virtual.String(), "protocol": "tcp", "dst_port": port}, fields{"group": group, "members": strconv.Itoa(members)}))
		for i := range members {
			out = append(out, rule("LB", "members", "to_member", 0,
				fields{"group": group, "index": strconv.Itoa(i)}, fields{"addr": member.String()}))
			member = member.Next()
		}
		virtual = virtual.Next()
	}
	return out
}
