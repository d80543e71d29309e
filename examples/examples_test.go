package examples

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/catena-nfv/catena/internal/service"
)

// The use cases of the paper "gRPC + P4 in OpenStack" (000), section IV-C, and of paper
// 001, section 5.2; shop is the fourth of the former with two networks, a router and a
// chain.
var contents = map[string]string{
	"shop.yaml":     "2 networks, 1 routers, 2 servers, [loadbalancer firewall dns], 1 chains",
	"usecase1.yaml": "1 networks, 0 routers, 3 servers, [], 0 chains",
	"usecase2.yaml": "1 networks, 0 routers, 2 servers, [loadbalancer], 0 chains",
	"usecase3.yaml": "1 networks, 0 routers, 2 servers, [loadbalancer firewall], 0 chains",
	"usecase4.yaml": "1 networks, 0 routers, 2 servers, [loadbalancer firewall dns], 0 chains",
	"usecase5.yaml": "2 networks, 1 routers, 2 servers, [loadbalancer], 0 chains",
	"usecase6.yaml": "2 networks, 1 routers, 2 servers, [loadbalancer], 0 chains",
	"usecase7.yaml": "2 networks, 1 routers, 2 servers, [loadbalancer], 0 chains",
	"sfc1.yaml":     "3 networks, 1 routers, 2 servers, [], 0 chains",
	"sfc2.yaml":     "3 networks, 1 routers, 2 servers, [loadbalancer], 0 chains",
	"sfc3.yaml":     "3 networks, 1 routers, 2 servers, [dns loadbalancer], 0 chains",
	"sfc4.yaml":     "3 networks, 1 routers, 2 servers, [dns loadbalancer firewall], 0 chains",
}

func TestExamples(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) < len(contents) {
		t.Fatalf("examples: %v %v", files, err)
	}
	seen := map[string]string{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		s, _, err := service.Parse(f, text)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		// All can be deployed side by side.
		if other, ok := seen[s.Owner().String()]; ok {
			t.Errorf("%s and %s have the same name", f, other)
		}
		seen[s.Owner().String()] = f
		addrs, err := s.Addresses(nil)
		if err != nil {
			t.Errorf("%s: %v", f, err)
		}
		for _, c := range s.Chains {
			if _, err := s.ResolveRules(c.Rules, addrs); err != nil {
				t.Errorf("%s: %v", f, err)
			}
		}
		want, ok := contents[f]
		if !ok {
			continue
		}
		servers := 0
		for _, v := range s.Servers {
			servers += v.Count
		}
		var kinds []service.FunctionKind
		for _, fn := range s.Functions {
			kinds = append(kinds, fn.Kind)
		}
		if got := fmt.Sprintf("%d networks, %d routers, %d servers, %v, %d chains", len(s.Networks), len(s.Routers), servers, kinds, len(s.Chains)); got != want {
			t.Errorf("%s has %s, want %s", f, got, want)
		}
	}
}

// Every NF of the shop's chain has rules.
func TestShopHasRulesForEachNF(t *testing.T) {
	text, err := os.ReadFile("shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := service.Parse("shop.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]int{}
	for _, r := range s.Chains[0].Rules {
		rules[r.NF]++
	}
	for _, nf := range []string{"IDS", "Firewall", "NAT", "L3fwd"} {
		if rules[nf] == 0 {
			t.Errorf("no rule for %s", nf)
		}
	}
}
