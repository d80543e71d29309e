package openstack

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/cloud/openstack"
	"github.com/catena-nfv/catena/internal/cloud/openstack/fake"
	"github.com/catena-nfv/catena/internal/keystone"
)

// binary builds catena once.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "catena-openstack-")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "catena")
	out, err := exec.Command("go", "build", "-o", file, "../../cmd/catena").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return file, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv("CATENA_TEST_OPENSTACK") != "" {
		if file, err := binary(); err == nil {
			os.RemoveAll(filepath.Dir(file))
		}
	}
	os.Exit(code)
}

// platform is a controller of its own, with a mark of its own in the cloud.
type platform struct {
	t    *testing.T
	fake *fake.Cloud // nil: the cloud is a real one
	file string
	env  []string
	name string
	log  string
	cmd  *exec.Cmd
}

// start starts a controller; at the end of the test it is taken down, and nothing of it
// may be left.
func start(t *testing.T) *platform {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a controller with a switch needs root")
	}
	file, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	name := fmt.Sprintf("catena-e2e-%d", os.Getpid())
	p := &platform{t: t, file: file, name: name, log: filepath.Join(dir, "log")}
	zone := "fake"
	if os.Getenv("CATENA_TEST_OPENSTACK") == "" {
		p.fake, zone = inProcess(t), ""
	}
	p.env = append(os.Environ(),
		"CATENA_STATE="+filepath.Join(dir, "state"), "CATENA_RUN="+filepath.Join(dir, "run"), "CATENA_GRPC=", "CATENA_HTTP=",
		"CATENA_ADDRESS=", "CATENA_CLOUD=openstack", "CATENA_OPENSTACK_NAME="+name, "CATENA_OPENSTACK_ZONE="+zone, "CATENA_OPENSTACK_GUESTS=false",
	)
	before := p.snapshot()
	t.Cleanup(func() {
		p.kill()
		if out, err := p.run("down"); err != nil {
			t.Errorf("catena down: %v\n%s", err, out)
		}
		if diff := before.Diff(p.snapshot()); len(diff) > 0 {
			t.Errorf("the cloud is not as it was:\n%s", strings.Join(diff, "\n"))
		}
		if t.Failed() {
			text, _ := os.ReadFile(p.log)
			t.Logf("the controller's log:\n%s", text)
		}
	})
	p.serve()
	return p
}

// inProcess starts a fake OpenStack, and makes it the one that the environment names.
func inProcess(t *testing.T) *fake.Cloud {
	f := fake.New(fake.Config{BuildTime: 300 * time.Millisecond, DeleteTime: 200 * time.Millisecond})
	t.Cleanup(f.Close)
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "OS_") || strings.HasPrefix(name, "CATENA_OPENSTACK_") {
			t.Setenv(name, "")
		}
	}
	for name, value := range map[string]string{
		"OS_AUTH_URL": f.URL + "/identity/v3", "OS_USERNAME": "demo", "OS_PASSWORD": "demo", "OS_PROJECT_NAME": "demo",
	} {
		t.Setenv(name, value)
	}
	return f
}

// serve starts the controller and waits until it answers.
func (p *platform) serve() {
	p.t.Helper()
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	p.cmd = exec.Command(p.file, "serve")
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = p.env, log, log
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		if _, err := p.run("get"); err == nil {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatal("the controller does not answer")
		}
	}
}

// kill ends the controller as a power failure does.
func (p *platform) kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		p.cmd = nil
	}
}

func (p *platform) run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.file, args...)
	cmd.Env = p.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (p *platform) must(args ...string) string {
	p.t.Helper()
	out, err := p.run(args...)
	if err != nil {
		p.t.Fatalf("catena %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// snapshot is what the cloud has. Where tests have the cloud for themselves
// (CATENA_TEST_OPENSTACK_ALONE), everything counts, else what has the controller's mark.
func (p *platform) snapshot() openstack.Snapshot {
	p.t.Helper()
	cloud, err := keystone.Credentials("")
	if err != nil {
		p.t.Fatal(err)
	}
	session, err := openstack.Connect(context.Background(), openstack.SessionConfig{Cloud: cloud})
	if err != nil {
		p.t.Fatal(err)
	}
	defer session.Close()
	s, err := session.Snapshot(context.Background())
	if err != nil {
		p.t.Fatal(err)
	}
	if os.Getenv("CATENA_TEST_OPENSTACK_ALONE") == "" {
		s = s.Only(p.name)
	}
	return s
}

// soon is a moment of a deployment: the one in the fake cloud is ten times as fast.
func (p *platform) soon(d time.Duration) time.Duration {
	if p.fake != nil {
		return d / 10
	}
	return d
}

// count tells how many resources of a kind the controller has.
func (p *platform) count(kind string) int {
	n := 0
	for key := range p.snapshot().Only(p.name) {
		if strings.HasPrefix(key, kind+" ") {
			n++
		}
	}
	return n
}

// TestUseCases deploys the use cases, with the chains that they have, and deletes them.
func TestUseCases(t *testing.T) {
	files, err := filepath.Glob("../../examples/usecase*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no use cases", err)
	}
	p := start(t)
	before := p.snapshot()
	if p.fake != nil { // the others need nothing more of it
		files = []string{"../../examples/usecase4.yaml"}
	}
	for _, file := range append(files, "../../examples/shop.yaml") {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			p.t = t
			begun := time.Now()
			p.must("apply", "-f", file, "--cloud", "openstack")
			t.Logf("ACTIVE after %s", time.Since(begun).Round(time.Millisecond))
			var state struct {
				Objects []struct{ Kind, Name, Status string }
			}
			text := p.must("get", name, "--json")
			if err := json.Unmarshal([]byte(text), &state); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			servers := 0
			for _, o := range state.Objects {
				if o.Status != "ACTIVE" {
					t.Errorf("%s %s is %s", o.Kind, o.Name, o.Status)
				}
				if o.Kind == "server" || o.Kind == "function" {
					servers++
				}
			}
			if n := p.count("servers"); n != servers || n == 0 {
				t.Errorf("the cloud has %d servers, the service %d", n, servers)
			}
			p.must("delete", name)
			if diff := before.Diff(p.snapshot()); len(diff) > 0 {
				t.Errorf("the cloud is not as it was:\n%s", strings.Join(diff, "\n"))
			}
		})
	}
	p.t = t
}

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
