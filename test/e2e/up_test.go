package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestUpDown is the README's first screen: up, up again, down, and up after down.
func TestUpDown(t *testing.T) {
	p := newPlatform(t)
	out := p.must("up")
	for _, want := range []string{
		`(?m)^controller, store, switch and agent run after \d`,
		// A line for each state of each resource, with the time since the request.
		`(?m)^ +\d+\.\d+s  network   back +pending$`,
		`(?m)^ +\d+\.\d+s  network   back +building`,
		`(?m)^ +\d+\.\d+s  network   back +ACTIVE +\d[\d.]*(µs|ms|s)`,
		`(?m)^ +\d+\.\d+s  router    r1 +ACTIVE +\d`,
		`(?m)^ +\d+\.\d+s  port      web-1\.back +ACTIVE +\d`,
		`(?m)^ +\d+\.\d+s  server    web-1 +pending$`,
		`(?m)^ +\d+\.\d+s  server    web-1 +building`,
		`(?m)^ +\d+\.\d+s  server    web-1 +ACTIVE +\d`,
		`(?m)^ +\d+\.\d+s  server    web-2 +ACTIVE +\d`,
		`(?m)^ +\d+\.\d+s  function  lb +ACTIVE +\d`,
		`(?m)^ +\d+\.\d+s  function  fw +ACTIVE +\d`,
		`(?m)^ +\d+\.\d+s  function  dns +ACTIVE +\d`,
		`(?m)^ +\d+\.\d+s  switch    switch +merge +\d\S+ +1 chains, 4 nodes`,
		`(?m)^ +\d+\.\d+s  switch    switch +compose +\d\S+ +\d+ lines of P4`,
		`(?m)^ +\d+\.\d+s  switch    switch +compile +\d`,
		`(?m)^ +\d+\.\d+s  switch    switch +load +\d`,
		`(?m)^ +\d+\.\d+s  switch    switch +entries +\d\S+ +\d+ added`,
		`(?m)^ +\d+\.\d+s  chain     dc +ACTIVE +\d`,
		`(?m)^ +\d+\.\d+s  service   shop +ACTIVE +\d`,
		`GET http://10\.10\.2\.10:80/  2 answers, from web-1`,
		`lb +GET http://\S+  4 answers, from web-1 and web-2`,
		`fw +GET http://\S+  4 answers, from web-1 and web-2`,
		`DNS \S+\.shop\.internal is \[10\.10\.`,
		`TCP \S+:22 refused by the chain's firewall`,
		`TCP \S+:23 refused by the chain's firewall`,
		`(?m)^  service default/shop is ACTIVE: 3 functions, 2 networks, 5 ports, 1 router, 2 servers, 1 chain$`,
		`(?m)^  12 HTTP answers, 1 DNS answers, 2 connections refused by the chain$`,
		`(?m)^  gRPC +` + regexp.QuoteMeta(p.grpc),
		`(?m)^  REST +http://` + regexp.QuoteMeta(p.http) + `/v1/services$`,
		`(?m)^  UI +http://`,
		`(?m)^  OpenAPI +http://`,
		`(?m)^  P4Runtime +unix://`,
		`(?m)^  from request to ACTIVE: \d`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("the output has nothing that matches %q", want)
		}
	}
	for _, nf := range []string{"IDS", "Firewall", "NAT", "L3fwd"} {
		packets, dropped := nfCounters(t, out, nf)
		if packets == 0 {
			t.Errorf("NF %s has seen no packet", nf)
		}
		if (nf == "Firewall") != (dropped > 0) {
			t.Errorf("NF %s dropped %d packets", nf, dropped)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
	t.Log(regexp.MustCompile(`(?m)^  from request to ACTIVE: .*$`).FindString(out))

	traces(t, p)

	held := p.bpfObjects(p.controllerPID())
	if len(held.programs) == 0 || len(held.maps) == 0 {
		t.Errorf("the controller holds %d programs and %d maps", len(held.programs), len(held.maps))
	}
	if got := len(p.objects()); got < 20 {
		t.Errorf("only %d objects are found while the platform is up; the search finds nothing", got)
	}
	if again := p.must("up"); !strings.Contains(again, "the platform runs already") || !strings.Contains(again, "service   shop                   ACTIVE") ||
		strings.Contains(again, "building            create") {
		t.Errorf("the second up made something again:\n%s", again)
	}

	if out := p.must("down"); !strings.Contains(out, "controller stopped") {
		t.Errorf("down: %s", out)
	}
	if left := p.inventory(); len(left) > 0 {
		t.Errorf("left after down:\n%s", strings.Join(left, "\n"))
	}
	if left := held.left(); len(left) > 0 {
		t.Errorf("the kernel still has %v", left)
	}
	if _, err := os.Stat(p.run); !os.IsNotExist(err) {
		t.Errorf("%s: %v, want it gone", p.run, err)
	}
	if out := p.must("down"); out == "" {
		t.Error("down of what is not there says nothing")
	}
	if out := p.must("up"); !strings.Contains(out, "12 HTTP answers") {
		t.Errorf("up after down:\n%s", out)
	}
}

// traces asks why packets of the shop go where they go. It says of each flow what up has
// seen happen to real packets.
func traces(t *testing.T, p *platform) {
	out := p.must("trace", "dns", "web-1")
	for _, want := range []string{
		`(?m)^receive  on port \d+ \(default/shop/dns\.front\)`, `(?m)^node 0 IDS$`, `(?m)^node 1 Firewall$`,
		`table Firewall\.rules: .* hit .* -> Firewall\.allow`, `(?m)^node 3 L3fwd$`,
		`(?m)^transmit on port \d+ \(default/shop/web-1\.back\)`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("the trace has nothing that matches %q:\n%s", want, out)
		}
	}
	refused := p.catena("trace", "dns", "web-1", "--dport", "22")
	if refused.code != 0 || !strings.Contains(refused.out, "-> Firewall.deny()") || !strings.Contains(refused.out, "nothing leaves the switch") {
		t.Errorf("trace of what the firewall refuses: %s", refused)
	}
	p.refused(2, "", []string{"nobody", "neither an address nor a server"}, "trace", "dns", "nobody")
	p.refused(2, "", []string{"--frame"}, "trace", "--port", "1", "--frame", "xyz")
}

// nfCounters reads an NF's line of the summary.
func nfCounters(t *testing.T, out, nf string) (packets, dropped int) {
	t.Helper()
	m := regexp.MustCompile(`NF ` + nf + ` +node \d+: (\d+) packets, \S+ bytes, (\d+) dropped`).FindStringSubmatch(out)
	if m == nil {
		t.Errorf("no counters of NF %s", nf)
		return 0, 0
	}
	packets, _ = strconv.Atoi(m[1])
	dropped, _ = strconv.Atoi(m[2])
	return packets, dropped
}

// TestUseCases deploys each use case, sends traffic through it, and deletes it.
func TestUseCases(t *testing.T) {
	p := newPlatform(t)
	p.must("up", "--bare")
	before := p.objects()
	for i := 1; i <= 5; i++ {
		name := fmt.Sprintf("usecase%d", i)
		file, err := filepath.Abs(filepath.Join("..", "..", "examples", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		out := p.must("up", "-f", file)
		if !strings.Contains(out, "service default/"+name+" is ACTIVE") || regexp.MustCompile(`(?m)^  0 HTTP answers`).MatchString(out) {
			t.Errorf("%s:\n%s", name, out)
		}
		if out := p.must("delete", name); !regexp.MustCompile(`service +` + name + ` +deleted`).MatchString(out) {
			t.Errorf("%s:\n%s", name, out)
		}
		if after := p.objects(); strings.Join(after, "\n") != strings.Join(before, "\n") {
			t.Errorf("%s left %q, before there was %q", name, after, before)
		}
		if r := p.catena("get", name); r.code != 2 || !strings.Contains(r.stderr, name) {
			t.Errorf("a deleted service: %s", r)
		}
	}
}

// TestOtherController runs the commands with another state directory beside a platform:
// they must not touch what answers at its socket.
func TestOtherController(t *testing.T) {
	p := newPlatform(t)
	p.must("up", "--bare")
	p.must("apply", "-f", absolute(t, "../../examples/usecase1.yaml"))
	other := *p
	other.env = append(append([]string{}, p.env...), "CATENA_STATE="+t.TempDir())
	for _, args := range [][]string{{"down"}, {"up", "--bare"}} {
		r := other.catena(args...)
		if want := fmt.Sprintf("(process %d) is not the one of", p.controllerPID()); r.code != 2 || !strings.Contains(r.stderr, want) {
			t.Errorf("exit code 2 and %q are wanted:\n%s", want, r)
		}
	}
	if out := p.must("get", "usecase1"); !strings.Contains(out, "ACTIVE") {
		t.Errorf("the service has changed:\n%s", out)
	}
}
