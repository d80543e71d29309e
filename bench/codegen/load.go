package codegen

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/catena-nfv/catena/bench/workload"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/service"
)

// Numbers of the test bed. A test run's packets come in at the loopback interface.
const (
	testInterface = 1
	inPort        = 1
	outPort       = 2
	scope         = 1
	chainNumber   = 1
	floodGroup    = 1
)

// workloadOf is what a chain is measured with.
type workloadOf struct {
	classifiers []classifier
	rules       map[string][]service.Rule // by NF
	cases       []traffic
}

// classifier leads the packets of a port that match into a path of the chain.
type classifier struct {
	port  uint32
	match map[string]string
	path  int
}

// chain is a chain of the paper and its hand-written counterpart.
type chain struct {
	name    string // of the program in the object, too
	request string
	hook    ebpf.Target
	file    string // in bench/reference
	load    func() (workloadOf, error)
}

func chains() []chain {
	return []chain{
		{"sfc1", workload.SFC1, ebpf.XDP, "sfc1_xdp.c", forSFC1},
		{"sfc2", workload.SFC2, ebpf.XDP, "sfc2_xdp.c", forSFC2},
		{"sfc3", workload.SFC3, ebpf.TC, "sfc3_tc.c", forSFC3},
	}
}

// traffic is a kind of packets.
type traffic struct {
	name   string
	packet packet
	// drop tells that the chain drops it.
	drop bool
	// part is its part of the mix; packets that have none are not measured, only compared.
	part float64
}

// rulesOf returns the paper's rules for NFs, with changes that make a packet of the flow pass again and again: the NAT
// also translates the flow's outer address back to its inner one, and the firewall allows both, to each of the
// servers. So every run translates, and nothing that a program could skip.
func rulesOf(f workload.Flow, nfs []string, servers ...netip.Addr) (map[string][]service.Rule, error) {
	all := map[string][]service.Rule{}
	for _, nf := range nfs {
		rules, err := workload.Of(nf, f)
		if err != nil {
			return nil, err
		}
		all[nf] = rules
	}
	outer := workload.Translated()
	back := all["NAT"][len(all["NAT"])-2] // the last translation of a client that never sends
	if back.Table != "source" {
		return nil, fmt.Errorf("the last rule but one of the NAT is of table %s", back.Table)
	}
	back.Match["src_addr"], back.Params["addr"] = outer.String(), f.Client.String()
	var allow []map[string]string
	for _, client := range []netip.Addr{f.Client, outer} {
		for _, server := range servers {
			if client == f.Client && server == f.Server {
				continue // is allowed
			}
			allow = append(allow, map[string]string{
				"src_addr": netip.PrefixFrom(client, 24).Masked().String(), "dst_addr": server.String(),
				"protocol": "tcp", "dst_port": strconv.Itoa(int(f.Service)),
			})
		}
	}
	for i, r := range all["Firewall"] {
		if r.Match["dst_port"] == "80" && len(allow) > 0 { // to a server that is none of these
			all["Firewall"][i].Match, allow = allow[0], allow[1:]
		}
	}
	return all, nil
}

// flowPacket is a packet of the flow.
func flowPacket(f workload.Flow) packet {
	return packet{
		src: f.Client, dst: f.Server, srcPort: 40000, dstPort: f.Service, srcMAC: f.ClientMAC, dstMAC: f.ClientGateway,
		ttl: startTTL, flags: 0x10,
	}
}

func forSFC1() (workloadOf, error) {
	f := workload.DefaultFlow()
	port := strconv.Itoa(int(f.Service))
	w := workloadOf{classifiers: []classifier{
		{inPort, map[string]string{"protocol": "tcp", "dst_port": port}, 1},
		{outPort, map[string]string{"protocol": "tcp", "src_port": port}, 1},
	}}
	var err error
	if w.rules, err = rulesOf(f, []string{"IDS", "Firewall", "NAT", "L3fwd"}, f.Server); err != nil {
		return w, err
	}
	pass := flowPacket(f)
	blocked, scan, other, unclaimed := pass, pass, pass, pass
	blocked.src = netip.MustParseAddr("198.18.7.9")
	scan.flags = 0x29
	other.src, other.dst = netip.MustParseAddr("10.0.1.250"), netip.MustParseAddr("10.0.2.250")
	unclaimed.dstPort = f.Service + 1
	w.cases = []traffic{
		{name: "passes all, translated and routed", packet: pass, part: 0.8},
		{name: "dropped by the IDS", packet: scan, drop: true, part: 0.05},
		{name: "dropped by the firewall", packet: blocked, drop: true, part: 0.05},
		{name: "NAT and routes miss", packet: other, part: 0.05},
		{name: "in no chain", packet: unclaimed, part: 0.05},
	}
	return w, nil
}

// forSFC2 balances the flow between two addresses, each of which is a service whose members all have the other one: so
// the destination, too, is rewritten by every run.
func forSFC2() (workloadOf, error) {
	f := workload.DefaultFlow()
	twin := f.Server.Next()
	port := strconv.Itoa(int(f.Service))
	w := workloadOf{classifiers: []classifier{
		{inPort, map[string]string{"protocol": "tcp", "dst_port": port, "src_port": "40000"}, 1},
		{inPort, map[string]string{"protocol": "tcp", "dst_port": port, "src_port": "40001"}, 2},
		{outPort, map[string]string{"protocol": "tcp", "src_port": port}, 1},
	}}
	var err error
	if w.rules, err = rulesOf(f, []string{"LB", "L3fwd", "Firewall", "NAT"}, f.Server, twin); err != nil {
		return w, err
	}
	balanceTwins(f, w)
	pass := flowPacket(f)
	second, blocked, other, unclaimed := pass, pass, pass, pass
	second.srcPort = 40001
	blocked.src = netip.MustParseAddr("198.18.7.9")
	other.src, other.dst = netip.MustParseAddr("10.0.1.250"), netip.MustParseAddr("10.0.2.250")
	unclaimed.dstPort = f.Service + 1
	w.cases = []traffic{
		{name: "path 1: balanced, routed, translated", packet: pass, part: 0.4},
		{name: "path 2: balanced, translated", packet: second, part: 0.4},
		{name: "dropped by the firewall", packet: blocked, drop: true, part: 0.1},
		{name: "all NFs miss", packet: other, part: 0.05},
		{name: "in no chain", packet: unclaimed, part: 0.05},
	}
	return w, nil
}

// balanceTwins makes the flow's service and the one beside it balance to each other's address, and routes both.
func balanceTwins(f workload.Flow, w workloadOf) {
	for _, r := range w.rules["LB"] {
		if r.Table == "members" && r.Match["group"] == "1" {
			r.Params["addr"] = f.Server.Next().String()
		}
		if r.Table == "members" && r.Match["group"] == "2" {
			r.Params["addr"] = f.Server.String()
		}
	}
	for _, r := range w.rules["L3fwd"] {
		if r.Match["dst_addr"] == f.Server.String()+"/32" {
			r.Match["dst_addr"] = netip.PrefixFrom(f.Server, 31).Masked().String()
		}
	}
}

// forSFC3 translates and balances as the others do. What L2fwd says of a packet L3fwd overrules, but for what floods.
func forSFC3() (workloadOf, error) {
	f := workload.DefaultFlow()
	port := strconv.Itoa(int(f.Service))
	w := workloadOf{classifiers: []classifier{
		{inPort, map[string]string{"protocol": "tcp", "dst_port": port}, 1},
		{outPort, map[string]string{"protocol": "tcp", "src_port": port}, 1},
	}}
	var err error
	if w.rules, err = rulesOf(f, []string{"NAT", "L2fwd", "LB", "L3fwd", "Firewall"}, f.Server, f.Server.Next()); err != nil {
		return w, err
	}
	balanceTwins(f, w)
	pass := flowPacket(f)
	blocked, other, unclaimed, flooded := pass, pass, pass, pass
	blocked.src = netip.MustParseAddr("198.18.7.9")
	other.src, other.dst = netip.MustParseAddr("10.0.1.250"), netip.MustParseAddr("10.0.2.250")
	unclaimed.dstPort = f.Service + 1
	flooded.dstMAC = service.MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	w.cases = []traffic{
		{name: "passes all, translated, balanced, routed", packet: pass, part: 0.8},
		{name: "dropped by the firewall", packet: blocked, drop: true, part: 0.1},
		{name: "all NFs miss", packet: other, part: 0.05},
		{name: "in no chain", packet: unclaimed, part: 0.05},
		{name: "flooded", packet: flooded, drop: true}, // copies leave; what is left is dropped
	}
	return w, nil
}
