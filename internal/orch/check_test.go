package orch

import (
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/service"
)

// Each mistake in a chain is found and placed at the character.
func TestCheckChains(t *testing.T) {
	for _, tc := range []struct {
		name, old, new string
		at             string // text that begins at the problem's place
		msg            string
	}{
		{"unknown NF", "Firewall before NAT", "Firewall before Nonsense", "Nonsense", `unknown NF "Nonsense"`},
		{"cycle", "Firewall before NAT", "Firewall before NAT, NAT before Firewall", "", "cyc"},
		{"syntax", "Firewall before NAT", "Firewall before", "", ""},
		{"path", "name: dc", "name: dc\n    path: 2", "2", "1 paths, but no path 2"},
		{"match path", "to: back}", "to: back, path: 3}", "3}", "no path 3"},
		{"rule's NF", "nf: NAT", "nf: Nat", "Nat", "unknown NF"},
		{"rule's NF is not visited", "nf: NAT, action: snat, params: {addr: \"@lb\"}", "nf: LB, action: x", "LB", "does not visit"},
		{"table", "nf: NAT,", "nf: NAT, table: x,", "x,", "it has t"},
		{"key", "action: snat,", "action: snat, match: {dst: 1},", "1}", `no key "dst"; it has src`},
		{"action", "action: snat", "action: dnat", "dnat", "it has a, snat"},
		{"parameter", "{addr:", "{adr:", "\"@lb\"", `no parameter "adr"`},
		{"parameter missing", "action: snat, params: {addr: \"@lb\"}", "action: snat", "snat", `needs the parameter "addr"`},
		{"service's rule", "action: allow", "action: alow", "alow", "no action"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := strings.Replace(shop, tc.old, tc.new, 1)
			if text == shop {
				t.Fatalf("no %q", tc.old)
			}
			s, src, err := service.Parse("t.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			err = service.NewError(src, checkChains(s, library))
			if err == nil {
				t.Fatal("accepted")
			}
			lines := strings.Split(text, "\n")
			for _, p := range err.(*service.Error).Problems {
				rest := lines[p.Line-1][p.Column-1:]
				if tc.at == `"@lb"` { // positions of quoted values are inside of the quotes
					rest = `"` + rest
				}
				if strings.HasPrefix(rest, tc.at) && strings.Contains(p.Message, tc.msg) && p.Line >= 13 {
					return
				}
			}
			t.Errorf("got %v", err)
		})
	}
	if p := checkChains(parse(t, shop), library); len(p) > 0 {
		t.Errorf("the shop itself: %v", p)
	}
}
