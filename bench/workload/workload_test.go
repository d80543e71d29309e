package workload

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/chain"
	"github.com/catena-nfv/catena/internal/service"
)

// TestRules checks the number of rules of each NF, and that no two have the same match.
func TestRules(t *testing.T) {
	f := DefaultFlow()
	for nf, want := range map[string]int{"IDS": Rules, "Firewall": Rules, "NAT": 2 * Rules, "L2fwd": Rules, "L3fwd": Rules, "LB": Rules} {
		rules, err := Of(nf, f)
		if err != nil {
			t.Fatal(err)
		}
		if len(rules) != want {
			t.Errorf("%s has %d rules, want %d", nf, len(rules), want)
		}
		seen := map[string]bool{}
		for _, r := range rules {
			if k := fmt.Sprint(r.Table, r.Match); seen[k] {
				t.Errorf("%s: two rules with the match %s", nf, k)
			} else {
				seen[k] = true
			}
		}
	}
	if _, err := Of("DPI", f); err == nil {
		t.Error("rules for an NF that there is not")
	}
}

// packet is what a rule may match.
type packet map[string]string

// passes tells whether a packet gets through the rules of a table with priorities, by the action of the best.
func passes(t *testing.T, rules []service.Rule, p packet) (action string) {
	t.Helper()
	best := -1
	for _, r := range rules {
		hit := true
		for k, want := range r.Match {
			hit = hit && matches(t, want, p[k])
		}
		if hit && r.Priority > best {
			best, action = r.Priority, r.Action
		}
	}
	return action
}

func matches(t *testing.T, want, have string) bool {
	if value, mask, ok := strings.Cut(want, "&&&"); ok {
		v, err1 := strconv.ParseUint(value, 0, 64)
		m, err2 := strconv.ParseUint(mask, 0, 64)
		h, err3 := strconv.ParseUint(have, 0, 64)
		if err1 != nil || err2 != nil || err3 != nil {
			t.Fatalf("%q against %q: %v %v %v", have, want, err1, err2, err3)
		}
		return h&m == v&m
	}
	if prefix, err := netip.ParsePrefix(want); err == nil {
		return prefix.Contains(netip.MustParseAddr(have))
	}
	return want == have
}

// TestFlowPasses checks that the flow, with every combination of flags that TCP sends in both directions, meets no
// signature and is let through by a rule of the firewall.
func TestFlowPasses(t *testing.T) {
	f := DefaultFlow()
	port := strconv.Itoa(int(f.Service))
	signatures, firewall := ids(f), firewall(f)
	for _, flags := range []string{"0x02", "0x12", "0x10", "0x18", "0x11", "0x04", "0x14", "0x19", "0xc2", "0x52"} {
		there := packet{"src_addr": f.Client.String(), "dst_addr": f.Server.String(), "protocol": "tcp", "src_port": "40000", "dst_port": port, "tcp_flags": flags}
		// The reply is still addressed to the translated client when it meets IDS and firewall.
		back := packet{"src_addr": f.Server.String(), "dst_addr": Translated().String(), "protocol": "tcp", "src_port": port, "dst_port": "40000", "tcp_flags": flags}
		for name, p := range map[string]packet{"there": there, "back": back} {
			if a := passes(t, signatures, p); a != "" {
				t.Errorf("%s with flags %s: a signature says %s", name, flags, a)
			}
			if a := passes(t, firewall, p); a != "allow" {
				t.Errorf("%s: the firewall says %q, want a rule that allows", name, a)
			}
		}
	}
}

func TestPrefixes(t *testing.T) {
	nfs := []string{"IDS", "Firewall", "NAT", "L3fwd"}
	for i, request := range Prefixes(nfs) {
		dags, err := chain.Parse(request, chain.Options{})
		if err != nil {
			t.Fatalf("%q: %v", request, err)
		}
		if got, want := strings.Join(dags[0].PathNames()[0], " "), strings.Join(nfs[:i+1], " "); got != want {
			t.Errorf("%q is the chain %s, want %s", request, got, want)
		}
	}
	if got := Prefixes(nfs)[3]; got != SFC1 {
		t.Errorf("the longest is %q, want %q", got, SFC1)
	}
}

func TestConfig(t *testing.T) {
	f := DefaultFlow()
	cfg, err := Config(f, SFC1, []string{"IDS", "Firewall", "NAT", "L3fwd"})
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Chains) != 1 || len(cfg.Chains[0].Chain.Rules) != 5*Rules || len(cfg.Chains[0].Chain.Match) != 2 {
		t.Errorf("chains %+v", cfg.Chains)
	}
	if cfg.Ports[1].Network != 2 || cfg.Ports[1].Port.IP.String() != "10.0.2.2/24" || cfg.Networks[1].Gateway.String() != "10.0.2.1" {
		t.Errorf("ports %+v, networks %+v", cfg.Ports, cfg.Networks)
	}
	if bare, err := Config(f, "", nil); err != nil || len(bare.Chains) != 0 {
		t.Errorf("backbone alone: %+v, %v", bare.Chains, err)
	}
}
