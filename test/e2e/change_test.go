package e2e

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/chain"
)

// pair is a service with a server on each of two networks and a chain between them.
func pair(project, name, request string, rules ...string) string {
	text := fmt.Sprintf(`
name: %s
project: %s
networks:
  - {name: a, subnet: 10.60.1.0/24}
  - {name: b, subnet: 10.60.2.0/24}
routers:
  - {name: r, networks: [a, b]}
servers:
  - {name: s1, networks: [a]}
  - {name: s2, networks: [b]}
chains:
  - name: %s-chain
    request: %s
    match: [{from: a, to: b}, {from: b, to: a}]
    rules:
`, name, project, name, request)
	for _, r := range append(rules, "{nf: Firewall, match: {dst_port: 4444}, action: deny, priority: 1}") {
		text += "      - " + r + "\n"
	}
	return text
}

// live reads how long a change took, and whether a program was loaded for it.
func live(t *testing.T, out string) (took time.Duration, entriesOnly bool) {
	t.Helper()
	m := regexp.MustCompile(`live after (\S+): (table entries only|a new program was loaded)`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("not the report of a change:\n%s", out)
	}
	took, err := time.ParseDuration(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return took, m[2] == "table entries only"
}

// entriesOnly checks that a change of a chain compiled and loaded nothing.
func entriesOnly(t *testing.T, what, out string) {
	t.Helper()
	took, only := live(t, out)
	if !only {
		t.Errorf("%s loaded a program:\n%s", what, out)
	}
	t.Logf("%s: live after %v", what, took)
}

var loaded = regexp.MustCompile(`(?m)switch    switch +(load|compose|compile) `)

// TestChanges changes chains and rules while packets flow.
func TestChanges(t *testing.T) {
	p := newPlatform(t)
	p.must("up", "--bare")
	p.must("apply", "-f", absolute(t, example))
	dns, web1 := p.instance("shop", "dns"), p.instance("shop", "web-1")
	p.answers(dns, "http://10.10.2.10/")

	t.Run("rules", func(t *testing.T) {
		if !connects(dns, "10.10.2.11:80") {
			t.Fatal("no connection before the rule")
		}
		out := p.must("rule", "add", "Firewall", "--chain", "dc", "-m", "protocol=tcp", "-m", "dst_addr=10.10.2.11", "-m", "dst_port=80", "--action", "deny", "--priority", "60")
		entriesOnly(t, "rule add", out)
		if connects(dns, "10.10.2.11:80") || !connects(dns, "10.10.2.10:80") {
			t.Error("the rule does not do what it says")
		}
		again := p.catena("rule", "add", "Firewall", "--chain", "dc", "-m", "protocol=tcp", "-m", "dst_addr=10.10.2.11", "-m", "dst_port=80", "--action", "deny", "--priority", "60")
		if again.code != 2 || !strings.Contains(again.stderr, `chain "dc" has this rule already`) {
			t.Errorf("the same rule again: %s", again)
		}
		var list struct {
			Rules []struct {
				ID   string
				Rule struct{ Priority int }
			}
		}
		p.json(&list, "rule", "list", "Firewall", "--chain", "dc")
		id := ""
		for _, r := range list.Rules {
			if r.Rule.Priority == 60 {
				id = r.ID
			}
		}
		entriesOnly(t, "rule delete", p.must("rule", "delete", id, "--chain", "dc"))
		if !connects(dns, "10.10.2.11:80") {
			t.Error("a deleted rule has an effect")
		}
	})
	t.Run("rules of the operator", func(t *testing.T) {
		rule := []string{"-m", "protocol=tcp", "-m", "dst_addr=10.10.2.11", "-m", "dst_port=80", "--priority", "70"}
		entriesOnly(t, "rule add --operator", p.must(append([]string{"rule", "add", "Firewall", "--operator", "--action", "deny"}, rule...)...))
		if connects(dns, "10.10.2.11:80") || !connects(dns, "10.10.2.10:80") {
			t.Error("the operator's rule does not do what it says")
		}
		// A chain's own rule of the same match and priority goes first.
		p.must(append([]string{"rule", "add", "Firewall", "--chain", "dc", "--action", "allow"}, rule...)...)
		if !connects(dns, "10.10.2.11:80") {
			t.Error("the operator's rule goes before the chain's")
		}
		out := p.must("rule", "list")
		m := regexp.MustCompile(`(?m)^(\S+) +\(operator\) +Firewall .*deny\(\)`).FindStringSubmatch(out)
		if m == nil {
			t.Fatalf("the operator's rule is not listed:\n%s", out)
		}
		entriesOnly(t, "rule delete --operator", p.must("rule", "delete", m[1], "--operator"))
		p.refused(2, "", []string{m[1], "of the operator", "not found"}, "rule", "delete", m[1], "--operator")
		p.refused(2, "", []string{"--chain and --operator"}, "rule", "delete", m[1])
		p.refused(2, "", []string{"write the address"}, "rule", "add", "Firewall", "--operator", "--action", "deny", "-m", "dst_addr=@web-1")
		p.refused(2, "", []string{"rule 1 of the operator", "nonsense"}, "rule", "add", "Firewall", "--operator", "--action", "nonsense")
	})
	t.Run("a chain that fits", func(t *testing.T) {
		out := p.mustInput(pair("default", "fits", "Firewall before L3fwd"), "apply", "-f", "-")
		if loaded.MatchString(out) {
			t.Errorf("a program was loaded:\n%s", out)
		}
		p.answers(p.instance("fits", "s1"), "http://10.60.2.10/")
		if c := p.chain("fits-chain"); c.Packets == 0 {
			t.Error("no packet took the chain")
		}
		// Another request that fits as well.
		start := time.Now()
		out = p.mustInput(pair("default", "fits", "Firewall before NAT before L3fwd"), "apply", "-f", "-")
		if loaded.MatchString(out) {
			t.Errorf("a program was loaded:\n%s", out)
		}
		t.Logf("another request of a chain: applied after %v", time.Since(start))
	})
	t.Run("a chain that does not fit", func(t *testing.T) {
		before := p.chain("dc").Packets
		f := newFlow(t, dns, web1, netip.MustParseAddrPort("10.10.2.10:9999"))
		tcp := newConnection(t, dns, web1, netip.MustParseAddrPort("10.10.2.10:9998"))
		out := p.mustInput(pair("default", "fits", "L3fwd before Firewall"), "apply", "-f", "-")
		if !loaded.MatchString(out) {
			t.Errorf("no program was loaded:\n%s", out)
		}
		time.Sleep(100 * time.Millisecond)
		passed := f.count()
		if after := p.chain("dc").Packets; after < before+uint64(passed) {
			t.Errorf("the other chain had counted %d packets; after %d more and a new program it has %d", before, passed, after)
		}
		f.endLossless("a new program")
		tcp.endUnbroken("a new program")
		p.answers(p.instance("fits", "s1"), "http://10.60.2.10/")
		p.answers(dns, "http://10.10.2.11/")
	})
	t.Run("select and delete", func(t *testing.T) {
		// Path 1 has the firewall that denies, path 2 has none.
		deny := "{nf: Firewall, match: {protocol: tcp, dst_port: 80}, action: deny, priority: 9}"
		p.mustInput(pair("default", "fits", "IDS then Firewall or NAT", deny), "apply", "-f", "-")
		s1 := p.instance("fits", "s1")
		if connects(s1, "10.60.2.10:80") {
			t.Error("path 1 lets through what its firewall denies")
		}
		entriesOnly(t, "chain select", p.must("chain", "select", "fits-chain", "2"))
		if !connects(s1, "10.60.2.10:80") {
			t.Error("path 2 has no firewall")
		}
		if c := p.chain("fits-chain"); c.Selected != 2 {
			t.Errorf("path %d is selected", c.Selected)
		}
		if out := p.must("chain", "paths", "fits-chain"); !regexp.MustCompile(`(?m)^2 +\* .*IDS NAT$`).MatchString(out) {
			t.Errorf("chain paths:\n%s", out)
		}
		entriesOnly(t, "chain select", p.must("chain", "select", "fits-chain"))
		if connects(s1, "10.60.2.10:80") {
			t.Error("path 1 lets through what its firewall denies")
		}
		if r := p.catena("chain", "select", "fits-chain", "3"); r.code != 2 || !strings.Contains(r.stderr, "no path 3") {
			t.Errorf("a path that is not there: %s", r)
		}
		entriesOnly(t, "chain delete", p.must("chain", "delete", "fits-chain"))
		if !connects(s1, "10.60.2.10:80") {
			t.Error("without the chain there is no firewall")
		}
		if r := p.catena("chain", "paths", "fits-chain"); r.code != 2 || !strings.Contains(r.stderr, `chain "fits-chain": not found`) {
			t.Errorf("a deleted chain: %s", r)
		}
		p.answers(dns, "http://10.10.2.11/")
		p.must("delete", "fits")
	})
	t.Run("loop", func(t *testing.T) {
		p.mustInput(pair("default", "loops", "Firewall before L3fwd, L3fwd loop"), "apply", "-f", "-")
		p.answers(p.instance("loops", "s1"), "http://10.60.2.10/")
		// The firewall is met by the other chain's packets, too: health checks never
		// stop. Its count encloses those of the nodes.
		others := p.chain("dc").Packets
		before := p.nodes()["Firewall"]
		looping := p.chain("loops-chain").Packets
		for range 5 {
			p.answers(p.instance("loops", "s1"), "http://10.60.2.10/")
		}
		took, visits := p.chain("loops-chain").Packets-looping, p.nodes()["Firewall"]-before
		others = p.chain("dc").Packets - others
		const passes = 1 + chain.DefaultMaxLoops
		if took == 0 || visits < passes*took || visits > passes*took+others {
			t.Errorf("%d packets took the chain that loops and %d another, and the firewall was visited %d times", took, others, visits)
		}
		p.must("delete", "loops")
		p.answers(dns, "http://10.10.2.11/")
	})
}

// nodes are the packets of each NF.
func (p *platform) nodes() map[string]uint64 {
	p.t.Helper()
	var sw struct {
		Nfs []struct {
			Nf      string
			Packets uint64 `json:"packets,string"`
		}
	}
	p.json(&sw, "switch", "nfs")
	out := map[string]uint64{}
	for _, n := range sw.Nfs {
		out[n.Nf] += n.Packets
	}
	return out
}

// TestScopes deploys the same service in two projects, with the same addresses and
// the same NFs: no rule of one is seen by packets of the other.
func TestScopes(t *testing.T) {
	p := newPlatform(t)
	p.must("up", "--bare")
	deny := "{nf: Firewall, match: {protocol: tcp, dst_port: 80}, action: deny, priority: 9}"
	p.mustInput(pair("red", "twin", "Firewall before NAT", deny), "apply", "-f", "-")
	p.mustInput(pair("blue", "twin", "Firewall before NAT"), "apply", "-f", "-")
	red, blue := p.instanceOf("red", "twin", "s1"), p.instanceOf("blue", "twin", "s1")
	check := func(when string, redConnects, blueConnects bool) {
		t.Helper()
		if got := connects(red, "10.60.2.10:80"); got != redConnects {
			t.Errorf("%s: red connects: %v", when, got)
		}
		if got := connects(blue, "10.60.2.10:80"); got != blueConnects {
			t.Errorf("%s: blue connects: %v", when, got)
		}
	}
	check("red denies", false, true)
	if r := p.catena("rule", "list", "--chain", "twin-chain"); r.code != 2 || !strings.Contains(r.stderr, "red/twin") || !strings.Contains(r.stderr, "blue/twin") {
		t.Errorf("a chain of two services: %s", r)
	}
	args := []string{"rule", "add", "Firewall", "--chain", "blue/twin/twin-chain", "-m", "protocol=tcp", "-m", "dst_port=80", "--action", "deny", "--priority", "9"}
	entriesOnly(t, "the same rule for blue", p.must(args...))
	check("both deny", false, false)
	p.mustInput(pair("red", "twin", "Firewall before NAT"), "apply", "-f", "-")
	check("blue denies", true, false)
	p.must("delete", "twin", "--project", "blue")
	if !connects(red, "10.60.2.10:80") {
		t.Error("red does not connect after blue was deleted")
	}
}
