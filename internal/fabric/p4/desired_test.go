package p4

import (
	"errors"
	"flag"
	"fmt"
	"math/big"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt/client"
	"github.com/catena-nfv/catena/internal/service"
)

var update = flag.Bool("update", false, "write the golden files")

// entityText writes an entity in one line.
func entityText(e client.Entity) string {
	switch e := e.(type) {
	case client.Multicast:
		var ports []string
		for _, r := range e.Replicas {
			ports = append(ports, fmt.Sprintf("%d/%d", r.Port, r.Instance))
		}
		return fmt.Sprintf("multicast %d: %s", e.ID, strings.Join(ports, " "))
	case client.Entry:
		line := fmt.Sprintf("%s %d", e.Table, e.Priority)
		for _, k := range sortedKeys(e.Match) {
			line += " " + k + "=" + matchText([]target.Match{e.Match[k]})
		}
		line += " -> " + e.Action
		for _, k := range sortedKeys(e.Params) {
			line += " " + k + "=" + new(big.Int).SetBytes(e.Params[k]).Text(16)
		}
		return line
	}
	return e.String()
}

func entitiesText(es []client.Entity) string {
	var b strings.Builder
	for _, e := range es {
		b.WriteString(entityText(e) + "\n")
	}
	return b.String()
}

var shop = service.Owner{Project: "p", Service: "shop"}

// twoNetworks is a service with two networks of a router, three ports and a chain
// between the networks.
func twoNetworks() service.SwitchConfig {
	network := func(number uint32, name string, subnet string) service.SwitchNetwork {
		p := netip.MustParsePrefix(subnet)
		return service.SwitchNetwork{Owner: shop, Number: number, Name: name, Subnet: p, Gateway: p.Addr().Next(), GatewayMAC: service.MAC{2, 0, 0, 0, byte(number), 1}, Router: 1}
	}
	port := func(number, network uint32, name, ip string) service.SwitchPort {
		return service.SwitchPort{Owner: shop, Number: number, Network: network, Port: service.Port{PortSpec: service.PortSpec{
			Name: name, MAC: service.MAC{2, 0, 0, 0, 0, byte(number)}, IP: netip.MustParsePrefix(ip)}}}
	}
	return service.SwitchConfig{
		Networks: []service.SwitchNetwork{network(1, "front", "10.0.1.0/24"), network(2, "back", "10.0.2.0/24")},
		Ports:    []service.SwitchPort{port(1, 1, "a.front", "10.0.1.10/24"), port(2, 2, "b.back", "10.0.2.10/24"), port(3, 2, "c.back", "10.0.2.11/24")},
		Chains: []service.SwitchChain{chainOf(1, "dc", "IDS before Firewall", []service.Classifier{
			{From: "front", To: "back"}, {From: "back", To: "front", Protocol: "tcp", SourcePorts: service.PortRange{Lo: 80, Hi: 81}, Priority: 5},
		}, service.Rule{NF: "Firewall", Match: map[string]string{"dst_port": "22"}, Action: "deny", Priority: 9})},
		Rules: []service.SwitchRule{
			{Rule: service.Rule{NF: "Firewall", Match: map[string]string{"dst_port": "22"}, Action: "allow", Priority: 9}}, // the chain's own rule counts
			{Rule: service.Rule{NF: "Firewall", Match: map[string]string{"dst_port": "23"}, Action: "deny"}},
			{Rule: service.Rule{NF: "NAT", Match: map[string]string{"src_addr": "10.0.1.10"}, Action: "NoAction"}}, // no chain visits it
		},
	}
}

func chainOf(number uint32, name, request string, match []service.Classifier, rules ...service.Rule) service.SwitchChain {
	return service.SwitchChain{Owner: shop, Number: number, Scope: number, Chain: service.Chain{Name: name, Request: request, Match: match, Rules: rules}}
}

func planned(t testing.TB, have *deployment, cfg service.SwitchConfig) deployment {
	t.Helper()
	d, err := plan(have, cfg.Chains, testLibrary(t))
	if err != nil {
		t.Fatal(err)
	}
	d.NodeBits = 64
	return d
}

func wanted(t testing.TB, cfg service.SwitchConfig) []client.Entity {
	t.Helper()
	es, err := desired(cfg, planned(t, nil, cfg), testLibrary(t))
	if err != nil {
		t.Fatal(err)
	}
	return es
}

// TestDesired holds the entities of a configuration in testdata/desired.txt.
func TestDesired(t *testing.T) {
	const file = "testdata/desired.txt"
	es := wanted(t, twoNetworks())
	got := entitiesText(es)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("entities:\n%s", got)
	}
	// They stand in the order in which they may be written, and no key twice.
	if !slices.IsSortedFunc(es, func(a, b client.Entity) int { return min(rank(a), 2) - min(rank(b), 2) }) {
		t.Error("rules, groups, tables: the order is another")
	}
	seen := map[string]bool{}
	for _, e := range es {
		if k := keyOf(e); seen[k] {
			t.Errorf("twice: %s", k)
		} else {
			seen[k] = true
		}
	}
}

// TestConfigErrors checks what is wrong with configurations: the chain's errors with
// their place, by Check already.
func TestConfigErrors(t *testing.T) {
	lib := testLibrary(t)
	match := func(m ...service.Classifier) func(*service.SwitchConfig) {
		return func(c *service.SwitchConfig) { c.Chains[0].Chain.Match = m }
	}
	for _, tt := range []struct {
		name  string
		spoil func(*service.SwitchConfig)
		want  string
		field string // of the ChainError; "": the error is none
		chain string // "": dc
	}{
		{name: "network number", spoil: func(c *service.SwitchConfig) { c.Networks[0].Number = 70000 }, want: `network "front": number 70000 is not between 1 and 65535`},
		{name: "port number", spoil: func(c *service.SwitchConfig) { c.Ports[0].Number = 510 }, want: `port "a.front": number 510 is not between 1 and 509`},
		{name: "port's network", spoil: func(c *service.SwitchConfig) { c.Ports[0].Network = 9 }, want: `port "a.front": network 9 is not configured`},
		{name: "chain number", spoil: func(c *service.SwitchConfig) { c.Chains[0].Number = 4096 }, want: `chain "dc": number 4096 is not between 1 and 4095`},
		{name: "scope", spoil: func(c *service.SwitchConfig) { c.Chains[0].Scope = 0 }, want: `scope 0 not between 1 and 65535`},
		{name: "from", spoil: match(service.Classifier{From: "nowhere"}), want: `from network "nowhere": there is no such network`, field: "match[0]"},
		{name: "to", spoil: match(service.Classifier{}, service.Classifier{To: "nowhere"}), want: `to network "nowhere": there is no such network`, field: "match[1]"},
		{name: "not in the subnet", spoil: match(service.Classifier{To: "back", Destination: netip.MustParsePrefix("10.9.0.0/16")}), want: `destination 10.9.0.0/16 is not in its subnet 10.0.2.0/24`, field: "match[0]"},
		{name: "protocol", spoil: match(service.Classifier{Protocol: "sctp"}), want: `protocol "sctp" is neither tcp, udp, icmp nor a number up to 255`, field: "match[0]"},
		{name: "priority", spoil: match(service.Classifier{Priority: -1}), want: "priority -1 is not between 0 and 1048576", field: "match[0]"},
		{name: "same twice", spoil: func(c *service.SwitchConfig) {
			c.Chains[0].Chain.Request = "IDS then Firewall or NAT"
			c.Chains[0].Chain.Match = []service.Classifier{{From: "front"}, {From: "front", Path: 2}}
		}, want: `matches the same packets with the same priority as classifier 1 of chain "dc"`, field: "match[1]"},
		{name: "same of two chains", spoil: func(c *service.SwitchConfig) {
			c.Chains = append(c.Chains, chainOf(2, "other", "NAT first", []service.Classifier{{From: "front", Ports: service.PortRange{Lo: 80, Hi: 80}}, {From: "front", To: "back"}}))
		}, want: `matches the same packets with the same priority as classifier 1 of chain "dc"; give one of them another priority`, field: "match[1]", chain: "other"},
		{name: "rule", spoil: func(c *service.SwitchConfig) { c.Chains[0].Chain.Rules[0].Action = "drop" }, want: `no action "drop"`, field: "rules[0]"},
		{name: "rule twice", spoil: func(c *service.SwitchConfig) {
			c.Chains[0].Chain.Rules = append(c.Chains[0].Chain.Rules, service.Rule{NF: "Firewall", Match: map[string]string{"dst_port": "0x16"}, Action: "allow", Priority: 9})
		}, want: "two rules with the same match dst_port=0x16 in table Firewall.rules", field: "rules[1]"},
		{name: "operator's rule", spoil: func(c *service.SwitchConfig) { c.Rules[1].Rule.NF = "Wall" }, want: `rule 2 of the operator: no NF "Wall"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := twoNetworks()
			tt.spoil(&cfg)
			d := planned(t, nil, twoNetworks())
			if len(cfg.Chains) == 2 {
				d = planned(t, nil, cfg)
			}
			_, err := desired(cfg, d, lib)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v, want %q", err, tt.want)
			}
			if tt.field == "" {
				return
			}
			if tt.chain == "" {
				tt.chain = "dc"
			}
			for _, err := range []error{err, New(Config{Programs: &programs{lib: openLib(t)}}).Check(t.Context(), cfg)} {
				var c *service.ChainError
				if !errors.As(err, &c) || c.Chain != tt.chain || c.Field != tt.field || c.Owner != shop {
					t.Errorf("%v: chain error %+v, want chain %s, field %s", err, c, tt.chain, tt.field)
				}
			}
		})
	}
}

// TestPriorities checks the order of classifiers that overlap.
func TestPriorities(t *testing.T) {
	order := []int{
		classifierPriority(7, 4095, 9), classifierPriority(6, 1, 0), classifierPriority(6, 1, 1), classifierPriority(6, 2, 0),
		classifierPriority(6, 255, 3), classifierPriority(0, 1, 0), classifierPriority(0, 9, 0),
	}
	if !slices.IsSortedFunc(order, func(a, b int) int { return b - a }) || order[len(order)-1] < 1 {
		t.Errorf("priorities %v", order)
	}
	if most := classifierPriority(maxPriority, 1, 0); most > 1<<31-1 {
		t.Errorf("the largest is %d", most)
	}
}
