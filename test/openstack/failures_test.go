package openstack

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestKillController kills the controller at several points of a deployment and of a
// deletion: the next one finishes or rolls back, and nothing is left in the end.
func TestKillController(t *testing.T) {
	p := start(t)
	before := p.snapshot()
	for _, after := range []time.Duration{500 * time.Millisecond, 2 * time.Second, 5 * time.Second} {
		done := make(chan struct{})
		go func() { defer close(done); _, _ = p.run("apply", "-f", "../../examples/usecase4.yaml") }()
		time.Sleep(p.soon(after))
		p.kill()
		<-done
		t.Logf("killed after %s with %d servers, %d ports", after, p.count("servers"), p.count("ports"))
		p.serve() // recovers before it answers
		out, err := p.run("get", "usecase4")
		t.Logf("then: %v\n%s", err, out)
		if err == nil && (strings.Contains(out, "ERROR") || strings.Contains(out, "building")) {
			t.Errorf("killed after %s, the service was not recovered:\n%s", after, out)
		}
		if err != nil {
			if diff := before.Diff(p.snapshot()); len(diff) > 0 {
				t.Errorf("killed after %s, rolled back, and left:\n%s", after, strings.Join(diff, "\n"))
			}
			p.must("apply", "-f", "../../examples/usecase4.yaml")
		}
		go func() { _, _ = p.run("delete", "usecase4") }()
		time.Sleep(p.soon(after))
		p.kill()
		p.serve()
		if out, err := p.run("get", "usecase4"); err == nil {
			t.Errorf("the deletion was not finished:\n%s", out)
		}
		if diff := before.Diff(p.snapshot()); len(diff) > 0 {
			t.Errorf("killed while it deleted, and left:\n%s", strings.Join(diff, "\n"))
		}
	}
}

// TestRefusedServers deploys a service whose servers the cloud cannot make: a clear end, and
// nothing left behind.
func TestRefusedServers(t *testing.T) {
	p := start(t)
	before := p.snapshot()
	file := filepath.Join(t.TempDir(), "huge.yaml")
	text := "name: huge\nnetworks:\n  - {name: n, subnet: 10.77.0.0/24}\nservers:\n  - {name: web, count: 2, flavor: no-such-flavor, networks: [n]}\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := p.run("apply", "-f", file)
	if err == nil {
		t.Fatalf("it was deployed:\n%s", out)
	}
	for _, want := range []string{`server "web-`, `no flavor "no-such-flavor"; it has `, "rolled back"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if diff := before.Diff(p.snapshot()); len(diff) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(diff, "\n"))
	}
}

// TestOutageOfTheCloud cuts the controller off from the cloud's APIs in the middle of a
// deployment, by a proxy that refuses connections for a while: it is only a delay.
func TestOutageOfTheCloud(t *testing.T) {
	proxy := startProxy(t)
	t.Setenv("HTTP_PROXY", "http://"+proxy.address) // which is not used on the way to loopback
	t.Setenv("NO_PROXY", "")
	p := start(t)
	cutOff := proxy.refuse
	if p.fake != nil {
		cutOff = func(yes bool) {
			if p.fake.Heal(); yes {
				p.fake.Cut(0)
			}
		}
	}
	done := make(chan string)
	go func() {
		out, err := p.run("apply", "-f", "../../examples/usecase1.yaml")
		done <- fmt.Sprint(err, "\n", out)
	}()
	time.Sleep(p.soon(2 * time.Second))
	cutOff(true)
	time.Sleep(8 * time.Second)
	cutOff(false)
	if out := <-done; !strings.Contains(out, "all ACTIVE") {
		t.Errorf("after an outage of 8 s:\n%s", out)
	}
	if p.fake == nil && proxy.refused() == 0 {
		t.Error("nothing was refused: the outage came too late")
	}
	p.must("delete", "usecase1")
}
