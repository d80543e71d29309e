package e2e

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const example = "../../examples/shop.yaml"

// absolute is a file's name for commands, which run elsewhere.
func absolute(t *testing.T, file string) string {
	t.Helper()
	abs, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// state returns the status of a service, "" when there is none.
func (p *platform) status(svc string) string {
	p.t.Helper()
	r := p.catena("get", svc)
	if r.code == 2 && strings.Contains(r.stderr, "not found") {
		return ""
	}
	if r.code != 0 {
		p.t.Fatal(r)
	}
	_, status, _ := strings.Cut(strings.SplitN(r.out, "\n", 2)[0], ": ")
	return status
}

// TestKillDuringApply kills the controller at many points of a deployment and of a
// deletion. The next one must end with the whole service, or with nothing of it.
func TestKillDuringApply(t *testing.T) {
	p := newPlatform(t)
	shop := absolute(t, example)
	c := p.serve()
	c.ready()
	clean := p.objects()
	p.must("apply", "-f", shop) // compiles the program
	p.must("delete", "shop")
	start := time.Now()
	p.must("apply", "-f", shop)
	whole := time.Since(start)
	p.must("delete", "shop")
	const rounds = 7
	deployed, rolledBack := 0, 0
	for i := range rounds {
		applied := make(chan result, 1)
		go func() { applied <- p.catena("apply", "-f", shop) }()
		time.Sleep(whole * time.Duration(i+1) / (rounds + 1))
		c.kill()
		r := <-applied
		c = p.serve()
		c.ready()
		switch s := p.status("shop"); s {
		case "ACTIVE":
			deployed++
			p.answers(p.instance("shop", "dns"), "http://10.10.2.10/")
		case "":
			rolledBack++
			if now := p.objects(); !sameButController(now, clean) {
				t.Errorf("round %d: no service, but\n%s\nwhere there was\n%s", i, strings.Join(now, "\n"), strings.Join(clean, "\n"))
			}
			p.must("apply", "-f", shop)
		default:
			t.Errorf("round %d: after the kill the service is %s; apply said: %s", i, s, r)
		}
		// Now the deletion.
		deleted := make(chan result, 1)
		go func() { deleted <- p.catena("delete", "shop") }()
		time.Sleep(time.Duration(i*25) * time.Millisecond)
		c.kill()
		r = <-deleted
		c = p.serve()
		c.ready()
		switch s := p.status("shop"); s {
		case "ACTIVE":
			p.answers(p.instance("shop", "dns"), "http://10.10.2.10/")
			p.must("delete", "shop")
		case "":
		default:
			t.Errorf("round %d: after the kill of a deletion the service is %s; delete said: %s", i, s, r)
		}
		if now := p.objects(); !sameButController(now, clean) {
			t.Errorf("round %d: after the deletion there is\n%s\nwhere there was\n%s", i, strings.Join(now, "\n"), strings.Join(clean, "\n"))
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("a deployment takes %v; of %d that were killed %d were finished, %d rolled back", whole.Round(time.Millisecond), rounds, deployed, rolledBack)
}

// sameButController compares inventories.
func sameButController(a, b []string) bool {
	strip := func(list []string) string {
		var out []string
		for _, l := range list {
			if !strings.HasSuffix(l, " serve") {
				out = append(out, l)
			}
		}
		return strings.Join(out, "\n")
	}
	return strip(a) == strip(b)
}

// TestKillWhileIdle kills the controller while packets flow: they go on, also while
// the next one takes the switch over, and its counters count on.
func TestKillWhileIdle(t *testing.T) {
	p := newPlatform(t)
	c := p.serve()
	c.ready()
	p.must("apply", "-f", absolute(t, example))
	from, to := p.instance("shop", "dns"), p.instance("shop", "web-1")
	p.answers(from, "http://10.10.2.10/")
	f := newFlow(t, from, to, netip.MustParseAddrPort("10.10.2.10:9999"))
	tcp := newConnection(t, from, to, netip.MustParseAddrPort("10.10.2.10:9998"))
	time.Sleep(100 * time.Millisecond)
	before := p.chain("dc").Packets
	c.kill()
	time.Sleep(700 * time.Millisecond)
	if _, err := os.Stat(filepath.Join(p.run, "catena.sock")); err == nil && p.catena("get").code != 3 {
		t.Error("a controller that was killed answers")
	}
	during := f.count()
	c = p.serve()
	c.ready()
	if during == 0 {
		t.Error("no packet came through while the controller was down")
	}
	if after := p.chain("dc").Packets; after < before+uint64(during) {
		t.Errorf("the chain had counted %d packets; after %d more, it has %d", before, during, after)
	}
	time.Sleep(100 * time.Millisecond)
	f.endLossless("kill and restart")
	tcp.endUnbroken("kill and restart")
	// What was taken over can be changed.
	if !connects(from, "10.10.2.11:80") {
		t.Error("no connection after the restart")
	}
	p.must("rule", "add", "Firewall", "--chain", "dc", "--match", "protocol=tcp", "--match", "dst_port=80", "--match", "dst_addr=10.10.2.11", "--action", "deny", "--priority", "900")
	if connects(from, "10.10.2.11:80") {
		t.Error("a rule that was added after the restart has no effect")
	}
}

// chainState is a chain as `catena chain list --json` tells.
type chainState struct {
	Number   int    `json:"number"`
	Name     string `json:"name"`
	Service  string `json:"service"`
	Packets  uint64 `json:"packets,string"`
	Selected int    `json:"path"`
}

func (p *platform) chain(name string) chainState {
	p.t.Helper()
	var list struct{ Chains []chainState }
	p.json(&list, "chain", "list")
	for _, c := range list.Chains {
		if c.Name == name {
			return c
		}
	}
	p.t.Fatalf("no chain %s", name)
	return chainState{}
}
