package p4

import (
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/service"
)

func testLibrary(t testing.TB) library {
	t.Helper()
	return newLibrary(openLib(t).NFs())
}

func TestRuleEntries(t *testing.T) {
	lib := testLibrary(t)
	for _, tt := range []struct {
		rule service.Rule
		want string // the entries, or a part of the error
	}{
		{service.Rule{NF: "Firewall", Action: "deny"}, "Firewall.rules 1 scope=7 -> Firewall.deny"},
		{service.Rule{NF: "Firewall", Table: "rules", Match: map[string]string{"protocol": "tcp", "dst_port": "22"}, Action: "deny", Priority: 10},
			"Firewall.rules 11 dst_port=16&ffff protocol=6&ff scope=7 -> Firewall.deny"},
		{service.Rule{NF: "Firewall", Match: map[string]string{"src_port": "1-2", "dst_port": "6-7"}, Action: "allow"},
			"Firewall.rules 1 dst_port=6&fffe scope=7 src_port=1&ffff -> Firewall.allow\nFirewall.rules 1 dst_port=6&fffe scope=7 src_port=2&ffff -> Firewall.allow"},
		{service.Rule{NF: "NAT", Match: map[string]string{"src_addr": "10.0.0.1"}, Action: "translate", Params: map[string]string{"addr": "1.2.3.4"}},
			"NAT.source 0 scope=7 src_addr=a000001 -> NAT.translate addr=1020304"},
		{service.Rule{NF: "NAT", Table: "restore", Match: map[string]string{"dst_addr": "1.2.3.4"}, Action: "NoAction"}, "NAT.restore 0 dst_addr=1020304 scope=7 -> NoAction"},
		{service.Rule{NF: "LB", Table: "members", Match: map[string]string{"group": "1", "index": "0"}, Action: "to_member", Params: map[string]string{"addr": "10.0.0.1"}},
			"LB.members 0 group=1 index=0 scope=7 -> LB.to_member addr=a000001"},
		{service.Rule{NF: "L3fwd", Table: "routes", Match: map[string]string{"dst_addr": "10.0.0.0/8"}, Action: "pass"}, "L3fwd.routes 0 dst_addr=a000000/8 scope=7 -> L3fwd.pass"},

		{service.Rule{NF: "Nothing"}, `no NF "Nothing"; there are Firewall, IDS, L2fwd, L3fwd, LB, NAT`},
		{service.Rule{NF: "NAT", Table: "rules"}, `NF NAT: no table "rules"; it has source, restore`},
		{service.Rule{NF: "Firewall", Action: "drop"}, `NF Firewall: table rules: no action "drop"; it has allow, deny`},
		{service.Rule{NF: "NAT", Action: "translate"}, "NF NAT: table source: action translate needs the parameter addr"},
		{service.Rule{NF: "NAT", Action: "translate", Params: map[string]string{"addr": "x"}}, `NF NAT: table source: action translate: addr: "x" is not a value`},
		{service.Rule{NF: "Firewall", Action: "deny", Params: map[string]string{"x": "1"}}, `NF Firewall: table rules: action deny has no parameter "x"`},
		{service.Rule{NF: "NAT", Action: "NoAction"}, "NF NAT: table source: src_addr: an exact key needs a value"},
		{service.Rule{NF: "Firewall", Action: "deny", Match: map[string]string{"port": "1"}}, `NF Firewall: table rules: no key "port"; it has src_addr, dst_addr, protocol, src_port, dst_port`},
		{service.Rule{NF: "Firewall", Action: "deny", Match: map[string]string{"scope": "1"}}, `no key "scope"`},
		{service.Rule{NF: "Firewall", Action: "deny", Match: map[string]string{"dst_port": "70000"}}, "NF Firewall: table rules: dst_port: 70000 does not fit 16 bits"},
		{service.Rule{NF: "Firewall", Action: "deny", Priority: -1}, "NF Firewall: table rules: priority -1 is not between 0 and"},
		{service.Rule{NF: "Firewall", Action: "deny", Priority: 1 << 30}, "is not between 0 and"},
		{service.Rule{NF: "NAT", Match: map[string]string{"src_addr": "10.0.0.1"}, Action: "NoAction", Priority: 1}, "NF NAT: table source has exact and lpm keys only, a rule takes no priority"},
		{service.Rule{NF: "Firewall", Action: "deny", Match: map[string]string{"src_addr": "1-4294967294", "dst_addr": "1-4294967294", "dst_port": "1-65534"}}, "the ranges of the rule expand to more than 4096 entries"},
	} {
		es, err := lib.entries(7, tt.rule)
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) || strings.Contains(tt.want, "->") {
				t.Errorf("%+v: %v, want %q", tt.rule, err, tt.want)
			}
			continue
		}
		var out []string
		for _, e := range es {
			out = append(out, entityText(e))
		}
		if got := strings.Join(out, "\n"); got != tt.want {
			t.Errorf("%+v:\n%s\nwant\n%s", tt.rule, got, tt.want)
		}
	}
	if _, err := (library{"Empty": {Name: "Empty"}}).entries(1, service.Rule{NF: "Empty"}); err == nil || err.Error() != "NF Empty has no table" {
		t.Errorf("%v", err)
	}
}
