package openstack

import (
	"context"
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
