package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/cloud/local"
	"github.com/catena-nfv/catena/internal/netns"
	"github.com/catena-nfv/catena/internal/service"
)

// platform is a whole Catena of its own: state, sockets and addresses belong to
// one test, so that several run side by side on one machine.
type platform struct {
	t     *testing.T
	bin   string
	dir   string
	state string
	run   string
	grpc  string
	http  string
	env   []string
	// timeout bounds one command.
	timeout time.Duration
}

// newPlatform prepares a platform; nothing runs yet. At the end of the test it is
// taken down, and nothing may be left of it.
func newPlatform(t *testing.T) *platform {
	t.Helper()
	var missing *local.MissingError
	if err := local.CheckMachine(); errors.As(err, &missing) {
		t.Skip(err)
	}
	if err := local.CheckMachine(local.Programs()...); err != nil {
		t.Fatal(err)
	}
	bin, err := command()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := &platform{
		t: t, bin: bin, dir: dir, state: filepath.Join(dir, "state"), run: filepath.Join(dir, "run"),
		grpc: freeAddress(t), http: freeAddress(t), timeout: time.Minute,
	}
	for _, d := range []string{"state", "home", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cache, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	cache = filepath.Join(cache, "cache")
	if err := errors.Join(os.MkdirAll(cache, 0o755), os.Symlink(cache, filepath.Join(p.state, "cache"))); err != nil {
		t.Fatal(err)
	}
	p.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "TMPDIR=" + filepath.Join(dir, "tmp"),
		"CATENA_STATE=" + p.state, "CATENA_RUN=" + p.run, "CATENA_GRPC=" + p.grpc, "CATENA_HTTP=" + p.http,
	}
	t.Cleanup(func() {
		if t.Failed() {
			if log, err := os.ReadFile(p.logFile()); err == nil {
				t.Logf("the controller's log ends:\n%s", lastLines(string(log), 30))
			}
		}
		if r := p.catena("down"); r.code != 0 {
			t.Errorf("down: %s", r)
		}
		if left := p.inventory(); len(left) > 0 {
			t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
		}
	})
	return p
}

func (p *platform) logFile() string { return filepath.Join(p.state, "log", "controller.log") }

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// result is how a command ended.
type result struct {
	args        []string
	out, stderr string
	code        int
	took        time.Duration
}

func (r result) String() string {
	return fmt.Sprintf("catena %s: exit code %d\n%s%s", strings.Join(r.args, " "), r.code, r.out, r.stderr)
}

// catena runs a command.
func (p *platform) catena(args ...string) result { return p.input("", args...) }

// input runs a command with a standard input.
func (p *platform) input(stdin string, args ...string) result {
	p.t.Helper()
	// Not the test's context: cleaning up needs commands, too.
	ctx, cancel := context.WithTimeout(context.Background(), p.timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.bin, args...)
	cmd.Env, cmd.Dir, cmd.Stdin = p.env, p.dir, strings.NewReader(stdin)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	start := time.Now()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatalf("catena %v: %v", args, err)
	}
	return result{args: args, out: out.String(), stderr: stderr.String(), code: cmd.ProcessState.ExitCode(), took: time.Since(start)}
}

// must runs a command that has to succeed.
func (p *platform) must(args ...string) string {
	p.t.Helper()
	return p.mustInput("", args...)
}

func (p *platform) mustInput(stdin string, args ...string) string {
	p.t.Helper()
	r := p.input(stdin, args...)
	if r.code != 0 {
		p.t.Fatal(r)
	}
	return r.out
}

// refused runs a command that has to fail with a code and all of the texts.
func (p *platform) refused(code int, stdin string, texts []string, args ...string) {
	p.t.Helper()
	r := p.input(stdin, args...)
	if r.code != code {
		p.t.Errorf("%s\nthe exit code should be %d", r, code)
	}
	for _, text := range texts {
		if !strings.Contains(r.stderr, text) {
			p.t.Errorf("%s\nits error should contain %q", r, text)
		}
	}
}

// json runs a command with --json and reads its answer.
func (p *platform) json(v any, args ...string) {
	p.t.Helper()
	out := p.must(append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), v); err != nil {
		p.t.Fatalf("catena %v: %v\n%s", args, err, out)
	}
}

// controller is a `catena serve` that the test started itself, to be killed.
type controller struct {
	p     *platform
	cmd   *exec.Cmd
	ended chan error
}

// serve starts a controller and returns at once.
func (p *platform) serve() *controller {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.logFile()), 0o755); err != nil {
		p.t.Fatal(err)
	}
	log, err := os.OpenFile(p.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(p.bin, "serve")
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = p.env, p.dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	c := &controller{p: p, cmd: cmd, ended: make(chan error, 1)}
	go func() { c.ended <- cmd.Wait() }()
	p.t.Cleanup(c.kill)
	return c
}

// ready waits until the API answers.
func (c *controller) ready() {
	c.p.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		select {
		case err := <-c.ended:
			c.ended <- err
			c.p.t.Fatalf("the controller ended: %v", err)
		default:
		}
		if c.p.catena("get").code == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	c.p.t.Fatal("the controller does not answer")
}

// kill ends the controller with SIGKILL.
func (c *controller) kill() {
	_ = c.cmd.Process.Kill() // it may be gone
	<-c.ended
	c.ended <- nil
}

// instance opens the namespace of a server or function.
func (p *platform) instance(svc, name string) *netns.NS {
	p.t.Helper()
	return p.instanceOf("default", svc, name)
}

func (p *platform) instanceOf(project, svc, name string) *netns.NS {
	p.t.Helper()
	ns, err := local.OpenInstance(local.Config{StateDir: filepath.Join(p.state, "cloud")}, service.Owner{Project: project, Service: svc}, name)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { ns.Close() })
	return ns
}

// get does one GET within a second and returns the name of the server that answered.
func get(ns *netns.NS, url string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	a, err := local.GetHTTP(ctx, ns, url)
	if err == nil && a.Status != 200 {
		err = fmt.Errorf("status %d", a.Status)
	}
	return a.Server, err
}

// answers fails the test unless the URL is answered soon.
func (p *platform) answers(ns *netns.NS, url string) {
	p.t.Helper()
	var err error
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if _, err = get(ns, url); err == nil {
			return
		}
	}
	p.t.Fatalf("GET %s: %v", url, err)
}

// connects tells whether a TCP connection comes about within 300 ms.
func connects(ns *netns.NS, to string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	return local.DialTCP(ctx, ns, netip.MustParseAddrPort(to)) == nil
}
