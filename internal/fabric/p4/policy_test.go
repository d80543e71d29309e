package p4

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/service"
)

// longest finds what the switch's table would.
func longest(table []prefixSet, value uint32, width int) *big.Int {
	best := new(big.Int)
	length := -1
	for _, x := range table {
		if x.holds(prefix{value, width}, width) && x.length > length {
			best, length = x.set, x.length
		}
	}
	return best
}

func (s side) allows(remote netip.Addr, protocol uint8, service uint16) bool {
	a := longest(s.rules, uint32(protocol)<<16|uint32(service), 24)
	b := longest(s.remotes, prefixOf(netip.PrefixFrom(remote, 32)).value, 32)
	return new(big.Int).And(a, b).Sign() != 0
}

// allowedBy asks the rules one after the other, as Neutron words them.
func allowedBy(rules []service.SwitchGroupRule, d service.Direction, members map[uint32][]netip.Addr, remote netip.Addr, protocol uint8, port uint16) bool {
	return slices.ContainsFunc(rules, func(r service.SwitchGroupRule) bool {
		want, named := protocols[r.Protocol]
		if r.Protocol != "" && !named {
			fmt.Sscan(r.Protocol, &want)
		}
		from := !r.RemotePrefix.IsValid() || r.RemotePrefix.Contains(remote)
		if r.Remote != 0 {
			from = slices.Contains(members[r.Remote], remote)
		}
		what := r.Ports.IsZero() || r.Ports.Lo <= port && port <= r.Ports.Hi
		if r.ICMP != nil {
			what = port>>8 == uint16(r.ICMP.Type) && (r.ICMP.Code < 0 || port&0xff == uint16(r.ICMP.Code))
		}
		return r.Direction == d && (r.Protocol == "" || int64(protocol) == want) && from && what
	})
}

func anAddress(r *rand.Rand) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 0, byte(r.IntN(3)), byte(r.IntN(6))})
}

func aRule(r *rand.Rand) service.SwitchGroupRule {
	x := service.SwitchGroupRule{SecurityRule: service.SecurityRule{Direction: service.Ingress}}
	if r.IntN(3) == 0 {
		x.Direction = service.Egress
	}
	x.Protocol = []string{"", "tcp", "udp", "icmp", "47"}[r.IntN(5)]
	switch {
	case (x.Protocol == "tcp" || x.Protocol == "udp") && r.IntN(3) > 0:
		lo := uint16(1 + r.IntN(40))
		x.Ports = service.PortRange{Lo: lo, Hi: lo + uint16(r.IntN(20))}
	case x.Protocol == "icmp" && r.IntN(2) == 0:
		x.ICMP = &service.ICMPMatch{Type: uint8(r.IntN(3)), Code: int16(r.IntN(3) - 1)}
	}
	switch r.IntN(3) {
	case 0:
		x.Remote = uint32(1 + r.IntN(3))
	case 1:
		x.RemotePrefix = netip.PrefixFrom(anAddress(r), []int{0, 8, 23, 24, 30, 32}[r.IntN(6)]).Masked()
	}
	return x
}

// TestPolicies compares the tables of random groups with their rules, asked one by one.
func TestPolicies(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for round := range 200 {
		var cfg service.SwitchConfig
		for n := range 3 {
			g := service.SwitchGroup{Number: uint32(n + 1), Name: fmt.Sprint("g", n+1)}
			for range r.IntN(6) {
				g.Rules = append(g.Rules, aRule(r))
			}
			cfg.Groups = append(cfg.Groups, g)
		}
		members := map[uint32][]netip.Addr{}
		for n := range 6 {
			p := service.SwitchPort{Number: uint32(n + 1), Secured: n < 4, Port: service.Port{PortSpec: service.PortSpec{IP: netip.PrefixFrom(anAddress(r), 24)}}}
			for g := range uint32(3) {
				if r.IntN(2) == 0 {
					p.Groups = append(p.Groups, g+1)
					members[g+1] = append(members[g+1], p.Port.IP.Addr())
				}
			}
			cfg.Ports = append(cfg.Ports, p)
		}
		all, of, _, err := policies(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range cfg.Ports[:4] {
			var rules []service.SwitchGroupRule
			for _, g := range p.Groups {
				rules = append(rules, cfg.Groups[g-1].Rules...)
			}
			i := slices.IndexFunc(all, func(x policy) bool { return x.number == of[p.Number] })
			if i < 0 || of[p.Number] == 0 {
				t.Fatalf("port %d has no policy", p.Number)
			}
			for range 60 {
				remote, protocol, port := anAddress(r), []uint8{1, 6, 17, 47, 50}[r.IntN(5)], uint16(r.IntN(70))
				if protocol == 1 {
					port = uint16(r.IntN(3)<<8 | r.IntN(3))
				}
				for _, x := range []struct {
					d service.Direction
					s side
				}{{service.Ingress, all[i].ingress}, {service.Egress, all[i].egress}} {
					if got, want := x.s.allows(remote, protocol, port), allowedBy(rules, x.d, members, remote, protocol, port); got != want {
						t.Fatalf("round %d: %s %s protocol %d port %d: %t, want %t by %+v", round, x.d, remote, protocol, port, got, want, rules)
					}
				}
			}
		}
	}
}

func TestPoliciesAreShared(t *testing.T) {
	allow := func(port uint16) service.SwitchGroupRule {
		return service.SwitchGroupRule{SecurityRule: service.SecurityRule{Direction: service.Ingress, Protocol: "tcp", Ports: service.PortRange{Lo: port, Hi: port}}}
	}
	port := func(n uint32, groups ...uint32) service.SwitchPort {
		return service.SwitchPort{Number: n, Secured: true, Groups: groups}
	}
	cfg := service.SwitchConfig{
		Groups: []service.SwitchGroup{{Number: 1, Rules: []service.SwitchGroupRule{allow(80), allow(22)}}, {Number: 2, Rules: []service.SwitchGroupRule{allow(22), allow(80)}}, {Number: 3}},
		Ports:  []service.SwitchPort{port(1, 1), port(2, 1, 2), port(3, 2, 3), port(4)},
	}
	all, of, _, err := policies(cfg)
	if err != nil || len(all) != 2 || of[1] != of[2] || of[2] != of[3] || of[4] == of[1] || of[4] == 0 {
		t.Errorf("%v %v %v", all, of, err)
	}
	// Other rules are another policy; another member is not.
	cfg.Groups[0].Rules = append(cfg.Groups[0].Rules, allow(443))
	if _, now, _, err := policies(cfg); err != nil || now[1] == of[1] || now[3] != of[3] {
		t.Errorf("%v %v %v", of, now, err)
	}
	cfg.Ports = []service.SwitchPort{port(1, 9)}
	if _, _, _, err := policies(cfg); err == nil || !strings.Contains(err.Error(), "security group 9 is not configured") {
		t.Error(err)
	}
	var many service.SwitchGroup
	for i := range 129 {
		r := allow(uint16(i + 1))
		r.RemotePrefix = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 32)
		many.Rules = append(many.Rules, r)
	}
	many.Number, many.Name = 1, "many"
	over := service.SwitchConfig{Groups: []service.SwitchGroup{many}, Ports: []service.SwitchPort{port(1, 1)}}
	_, _, _, err = policies(over)
	if err == nil || !strings.Contains(err.Error(), `security groups "many": 129 sets of remotes with different ingress rules; the switch has room for 128`) {
		t.Error(err)
	}
	// A user of the cloud keeps nobody else from being deployed.
	over.Ports[0].Owner = service.InventoryOwner
	over.Ports = append(over.Ports, service.SwitchPort{Owner: service.InventoryOwner, Number: 2, Secured: true, Groups: []uint32{1, 9}})
	all, of, unfit, err := policies(over)
	if err != nil || unfit == nil || of[1] == 0 || of[2] == 0 || len(all) != 2 || len(all[0].ingress.rules)+len(all[1].ingress.rules) != 0 {
		t.Errorf("of an inventory: %v %v, %v, %v", all, of, unfit, err)
	}
}

// TestSecuredPorts deploys groups, which takes another program, changes them, which does
// not, and takes them away.
func TestSecuredPorts(t *testing.T) {
	b := newBed(t)
	cfg := twoNetworks()
	cfg.Networks[0].Server, cfg.Networks[0].Metadata = cfg.Networks[0].Gateway, true
	b.deploy(cfg)
	if !b.passes(ping(80)) {
		t.Fatal("without groups the packet does not pass")
	}
	secured := func(rules ...service.SwitchGroupRule) service.SwitchConfig {
		c := cfg
		c.Ports = slices.Clone(cfg.Ports)
		for i := range 2 {
			c.Ports[i].Secured, c.Ports[i].Groups = true, []uint32{uint32(i + 1)}
		}
		c.Ports[0].Pairs = []service.AddressPair{{IP: netip.MustParsePrefix("10.0.1.0/24")}, {MAC: service.MAC{2, 9}, IP: netip.MustParsePrefix("10.0.1.77/32")}}
		out := service.SwitchGroupRule{SecurityRule: service.SecurityRule{Direction: service.Egress}}
		c.Groups = []service.SwitchGroup{{Number: 1, Rules: []service.SwitchGroupRule{out}}, {Number: 2, Rules: rules}}
		return c
	}
	web := service.SwitchGroupRule{SecurityRule: service.SecurityRule{Direction: service.Ingress, Protocol: "tcp", Ports: service.PortRange{Lo: 80, Hi: 90}}, Remote: 1}
	// What is prepared before there are ports is what is loaded.
	early := secured(web)
	early.Ports = nil
	if err := b.fabric.Prepare(b.ctx(), early, nil); err != nil {
		t.Fatal(err)
	}
	composed := b.programs.count
	if r := b.deploy(secured(web)); !r.Recompiled || b.programs.count != composed {
		t.Errorf("with groups: %+v", r)
	}
	b.is(secured(web), *b.fabric.running)
	if !b.passes(ping(80)) || b.passes(ping(91)) {
		t.Error("the group's rule is not kept to")
	}
	if r := b.deploy(secured(web)); r.Recompiled || r.EntriesAdded+r.EntriesChanged+r.EntriesDeleted != 0 {
		t.Errorf("once more: %+v", r)
	}
	// The flow was allowed by a rule that is there no more.
	if r := b.deploy(secured()); r.Recompiled || b.passes(ping(80)) {
		t.Errorf("without the rule: %+v, or the packet passes", r)
	}
	if r := b.deploy(cfg); r.Recompiled || !b.passes(ping(91)) {
		t.Errorf("not secured any more: %+v, or the packet does not pass", r)
	}
	b.is(cfg, *b.fabric.running)
	// Another program, and it is the plain one again.
	cfg.Chains = append(slices.Clone(cfg.Chains), chainOf(2, "new", "NAT first", nil))
	if r := b.deploy(cfg); !r.Recompiled || b.fabric.running.Guard {
		t.Errorf("with a new chain: %+v", r)
	}
	b.is(cfg, *b.fabric.running)
}
