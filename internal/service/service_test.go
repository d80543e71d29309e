package service

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestErrors holds every message for malformed services, with positions, to
// the golden files: each has parts NAME.yaml, followed by the rendered errors.
func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out := &txtar.Archive{Comment: ar.Comment}
			want := map[string]string{}
			for _, f := range ar.Files {
				want[f.Name] = string(f.Data)
			}
			for _, f := range ar.Files {
				base, ok := strings.CutSuffix(f.Name, ".yaml")
				if !ok {
					continue
				}
				got := "accepted\n"
				if _, _, err := Parse(f.Name, f.Data); err != nil {
					got = err.Error() + "\n"
				}
				if got != want[base+".out"] && !*update {
					t.Errorf("%s: got\n%swant\n%s", f.Name, got, want[base+".out"])
				}
				out.Files = append(out.Files, f, txtar.File{Name: base + ".out", Data: []byte(got)})
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(out), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

const full = `
name: shop
project: demo
networks:
  - name: front
    subnet: 10.0.1.0/24
    dns: [10.0.1.2]
  - {name: back, subnet: 10.0.2.0/24, gateway: 10.0.2.254, dhcp: false, mtu: 1400}
routers:
  - name: r1
    networks: [front, back]
servers:
  - name: web
    count: 2
    networks: [back]
  - name: db
    image: postgres
    networks:
      - network: back
        ip: 10.0.2.10
    command: [sleep, 1000]
functions:
  - name: lb
    kind: loadbalancer
    networks: [front, back]
    config: {members: [web], port: 8080}
  - name: dns
    kind: dns
    networks: [front]
    config:
      records:
        - {name: www, target: lb}
chains:
  - name: dc
    request: |
      Firewall before NAT
      NAT before L3fwd
    match: {from: front, to: back, protocol: tcp, ports: 8000-8999}
    rules:
      - nf: NAT
        match: {src: "@front", dport: 80, flags: 0x12}
        action: snat
        params: {addr: "@db", back: "@lb/back"}
`

func parse(t *testing.T, text string) *Service {
	t.Helper()
	s, _, err := Parse("t.yaml", []byte(text))
	if err != nil {
		t.Fatalf("Parse:\n%v", err)
	}
	return s
}

func TestParseFull(t *testing.T) {
	s := parse(t, full)
	n := s.Network("back")
	if n.Gateway != netip.MustParseAddr("10.0.2.254") || n.DHCP || n.MTU != 1400 {
		t.Errorf("back: %+v", n)
	}
	if n := s.Network("front"); n.Gateway != netip.MustParseAddr("10.0.1.1") || !n.DHCP || n.MTU != 1500 {
		t.Errorf("front: defaults: %+v", n)
	}
	if lb := s.Functions[0].LoadBalancer; lb.Algorithm != "roundrobin" || lb.Port != 8080 || lb.Protocol != "tcp" {
		t.Errorf("lb: %+v", lb)
	}
	if got := s.Functions[1].DNS.Zone; got != "shop.internal" {
		t.Errorf("zone %q", got)
	}
	c := s.Chain("dc")
	if c.Request != "Firewall before NAT\nNAT before L3fwd\n" {
		t.Errorf("request %q", c.Request)
	}
	if m := c.Match[0]; m.Ports != (PortRange{8000, 8999}) || m.From != "front" {
		t.Errorf("match %+v", m)
	}
	if got := c.Rules[0].Match["flags"]; got != "0x12" {
		t.Errorf("a number in a rule keeps its spelling: %q", got)
	}
	if got := fmt.Sprint(s.Servers[0].Instances(), s.Servers[1].Instances()); got != "[web-1 web-2] [db]" {
		t.Errorf("instances %s", got)
	}
	if s.Router("front") == nil || s.Router("front").Name != "r1" {
		t.Error("front has no router")
	}
}

func TestAddresses(t *testing.T) {
	s := parse(t, full)
	addrs, err := s.Addresses(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"lb.front": "10.0.1.10", "lb.back": "10.0.2.11", "dns.front": "10.0.1.11",
		"web-1.back": "10.0.2.12", "web-2.back": "10.0.2.13", "db.back": "10.0.2.10",
	}
	for port, a := range want {
		if addrs[port].String() != a {
			t.Errorf("%s: %s, want %s", port, addrs[port], a)
		}
	}
	if len(addrs) != len(want) {
		t.Errorf("addresses %v", addrs)
	}

	// What exists keeps its address when a function joins in front of it.
	s.Functions = append([]Function{{Name: "fw", Kind: FirewallKind, Networks: []Attachment{{Network: "back"}}, Firewall: &Firewall{}}}, s.Functions...)
	again, err := s.Addresses(addrs)
	if err != nil {
		t.Fatal(err)
	}
	for port, a := range addrs {
		if again[port] != a {
			t.Errorf("%s moved from %s to %s", port, a, again[port])
		}
	}
	if again["fw.back"].String() != "10.0.2.14" {
		t.Errorf("fw.back %s", again["fw.back"])
	}
}

// A full small subnet: every host address is given out once, none twice, and
// not the gateway's.
func TestAddressesFillSubnet(t *testing.T) {
	for _, bits := range []int{24, 26, 27, 28, 29} {
		room := 1<<(32-bits) - 3
		s := parse(t, fmt.Sprintf("name: a\nnetworks: [{name: n, subnet: 10.9.0.0/%d}]\nservers: [{name: s, count: %d, networks: [n]}]", bits, room))
		addrs, err := s.Addresses(nil)
		if err != nil {
			t.Fatalf("/%d: %v", bits, err)
		}
		seen := map[netip.Addr]bool{s.Networks[0].Gateway: true}
		for port, a := range addrs {
			if seen[a] || !s.Networks[0].Subnet.Contains(a) || a == broadcast(s.Networks[0].Subnet) {
				t.Fatalf("/%d: %s has %s", bits, port, a)
			}
			seen[a] = true
		}
		if len(addrs) != room {
			t.Errorf("/%d: %d addresses for %d", bits, len(addrs), room)
		}
	}
}

func TestResolveRules(t *testing.T) {
	s := parse(t, full)
	addrs, err := s.Addresses(nil)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := s.ResolveRules(s.Chains[0].Rules, addrs)
	if err != nil {
		t.Fatal(err)
	}
	r := rules[0]
	if r.Match["src"] != "10.0.1.0/24" || r.Params["addr"] != "10.0.2.10" || r.Params["back"] != "10.0.2.11" || r.Match["dport"] != "80" {
		t.Errorf("resolved: %+v", r)
	}
	if s.Chains[0].Rules[0].Match["src"] != "@front" {
		t.Error("the service itself was changed")
	}
}

// Positions inside of a request point at the right character of the file, also
// in block scalars.
func TestPositionInsideRequest(t *testing.T) {
	for _, tc := range []struct{ yaml, find string }{
		{full, "NAT before L3fwd"},
		{strings.Replace(full, "|\n      Firewall before NAT\n      NAT before L3fwd", "Firewall before NAT, NAT before L3fwd", 1), "NAT before L3fwd"},
		{strings.Replace(full, "|\n      Firewall before NAT\n      NAT before L3fwd", "\"Firewall before NAT, NAT before L3fwd\"", 1), "NAT before L3fwd"},
	} {
		s, src, err := Parse("t.yaml", []byte(tc.yaml))
		if err != nil {
			t.Fatal(err)
		}
		off := strings.Index(s.Chains[0].Request, tc.find)
		line, col := src.position("chains[0].request", off)
		lines := strings.Split(tc.yaml, "\n")
		if got := lines[line-1][col-1:]; !strings.HasPrefix(got, tc.find) {
			t.Errorf("position %d:%d is %q", line, col, got)
		}
	}
}

func TestMACForIsLocalUnicast(t *testing.T) {
	seen := map[MAC]bool{}
	for i := range 1000 {
		m := MACFor(Owner{"p", "s"}, fmt.Sprint(i))
		if m[0]&3 != 2 || seen[m] {
			t.Fatalf("%s", m)
		}
		seen[m] = true
	}
}

// Inputs made to hurt the parser end in an error, quickly: each took from ten
// seconds to minutes, or the stack, before there were bounds.
func TestHostileInput(t *testing.T) {
	begun := time.Now()
	defer func() {
		if d := time.Since(begun); d > 30*time.Second {
			t.Errorf("took %v", d)
		}
	}()
	for name, text := range map[string]string{
		"flow":   strings.Repeat("[", 1<<20),
		"dashes": strings.Repeat("- ", 1<<19),
		"big":    "name: " + strings.Repeat("a", MaxSourceBytes),
		"fields": "name: a\n" + strings.Repeat("x:\n  y: 1\n", 100_000),
		"items":  "servers:\n" + strings.Repeat("-\n", 100_000),
		"map":    "a: {" + strings.Repeat("b: 1,\n  ", 100_000) + "}",
		"colons": strings.Repeat("a: ", 100_000),
		"short":  "networks:\n  -",
		"nul":    "name: \x00\x01",
		"count":  "name: a\nnetworks: [{name: n, subnet: 10.0.0.0/8}]\nservers: [{name: s, count: 2000000000, networks: [n]}]",
		"number": "name: a\nnetworks: [{name: n, subnet: 10.0.0.0/8, mtu: 99999999999999999999}]",
	} {
		_, _, err := Parse(name, []byte(text))
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		_ = err.Error() // the source line can be shown
	}
}

func FuzzParse(f *testing.F) {
	f.Add(full)
	f.Add("name: a\nnetworks: [{name: n, subnet: 10.0.0.0/8}]\nservers: [{<<: *x}]")
	f.Fuzz(func(t *testing.T, text string) {
		s, _, err := Parse("f.yaml", []byte(text))
		if err != nil {
			_ = err.Error()
			return
		}
		if _, err := s.Addresses(nil); err != nil {
			t.Fatalf("valid service without addresses: %v", err)
		}
	})
}
