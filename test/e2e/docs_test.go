package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"go.etcd.io/etcd/server/v3/embed"
	"golang.org/x/tools/txtar"
)

// docExample is a piece of documentation that can be run.
type docExample struct {
	where string
	text  string
}

// TestDocumentation runs every command in the README, in the pages of docs and among
// the examples of `catena … --help`, with examples/shop.yaml deployed.
func TestDocumentation(t *testing.T) {
	p := newPlatform(t)
	p.timeout = 2 * time.Minute
	d := &docs{p: p, t: t, dir: filepath.Join(p.dir, "docs")}
	d.files()
	var all []docExample
	for _, page := range []string{"README.md", "docs/service-files.md", "docs/operations.md", "docs/api.md"} {
		all = append(all, d.page(page)...)
	}
	all = append(all, d.nfAuthoring()...)
	all = append(all, d.help()...)
	if len(all) < 70 {
		t.Errorf("only %d examples were found", len(all))
	}
	seen := map[string]bool{}
	for _, e := range all {
		if seen[e.text] {
			continue
		}
		seen[e.text] = true
		d.run(e)
	}
	// What was imported belongs to the user, and stays.
	if err := os.RemoveAll(filepath.Join(p.state, "nf")); err != nil {
		t.Error(err)
	}
}

type docs struct {
	p   *platform
	t   *testing.T
	dir string
	up  bool // the platform runs
}

// files makes the folder that the examples are run in.
func (d *docs) files() {
	write := func(name string, text []byte) {
		d.t.Helper()
		file := filepath.Join(d.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, text, 0o644)); err != nil {
			d.t.Fatal(err)
		}
	}
	copied := func(to, from string) {
		d.t.Helper()
		text, err := os.ReadFile(filepath.Join("..", "..", from))
		if err != nil {
			d.t.Fatal(err)
		}
		write(to, text)
	}
	a, err := txtar.ParseFile("testdata/docs.txtar")
	if err != nil {
		d.t.Fatal(err)
	}
	for _, f := range a.Files {
		write(f.Name, f.Data)
		if strings.HasPrefix(f.Name, "nf.") {
			write("tests/"+f.Name, f.Data)
		}
	}
	for _, f := range []string{"shop", "usecase1", "usecase2", "usecase3", "usecase4", "usecase5"} {
		copied("examples/"+f+".yaml", "examples/"+f+".yaml")
	}
	copied("shop.yaml", "examples/shop.yaml")
	copied("my-service.yaml", "examples/usecase2.yaml")
	var capture bytes.Buffer
	w := pcapgo.NewWriter(&capture)
	if err := w.WriteFileHeader(1500, layers.LinkTypeEthernet); err != nil {
		d.t.Fatal(err)
	}
	packet := append([]byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0}, make([]byte, 46)...)
	if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: time.Unix(1, 0), CaptureLength: len(packet), Length: len(packet)}, packet); err != nil {
		d.t.Fatal(err)
	}
	write("in.pcap", capture.Bytes())
	if err := os.Symlink(d.p.bin, filepath.Join(d.dir, "catena")); err != nil {
		d.t.Fatal(err)
	}
	r := d.p.input("", "chain", "merge", "--json", filepath.Join(d.dir, "dc.sfc"))
	if r.code != 0 {
		d.t.Fatal(r)
	}
	write("deployed.json", []byte(r.out))
}

func (d *docs) read(page string) string {
	d.t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", page))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(text)
}

var fence = regexp.MustCompile("(?ms)^```([a-z0-9]*)\n(.*?)^```$")

// page finds the commands of a page: each line of a block without a language that
// begins with a command; blocks of shell text, which set a variable, as a whole; and
// services in YAML.
func (d *docs) page(page string) []docExample {
	var out []docExample
	for i, m := range fence.FindAllStringSubmatch(d.read(page), -1) {
		where := fmt.Sprintf("%s, block %d", page, i+1)
		lines := strings.Split(strings.TrimSpace(m[2]), "\n")
		switch {
		case m[1] == "yaml" && strings.HasPrefix(m[2], "name:"):
			file := fmt.Sprintf("block%d.yaml", i+1)
			if err := os.WriteFile(filepath.Join(d.dir, file), []byte(m[2]), 0o644); err != nil {
				d.t.Fatal(err)
			}
			out = append(out, docExample{where, "catena plan -f " + file})
		case m[1] != "":
		case regexp.MustCompile(`^[A-Z]+=`).MatchString(lines[0]):
			out = append(out, docExample{where, m[2]})
		default:
			for _, l := range lines {
				if regexp.MustCompile(`^(catena|make|curl|ip|sed) `).MatchString(l) {
					out = append(out, docExample{where, command1(l)})
				}
			}
		}
	}
	if len(out) == 0 {
		d.t.Errorf("%s: no command was found", page)
	}
	return out
}

var remark = regexp.MustCompile(`\s{3,}.*$|\s+#.*$`)

// command1 leaves out what explains a command on its line.
func command1(line string) string { return remark.ReplaceAllString(strings.TrimSpace(line), "") }

// nfAuthoring has the page's program built and imported.
func (d *docs) nfAuthoring() []docExample {
	text := d.read("docs/nf-authoring.md")
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		if m[1] != "p4" || !strings.Contains(m[2], "main;") {
			continue
		}
		for _, name := range []string{"ttlguard.p4", "ratelimit.p4"} {
			if err := os.WriteFile(filepath.Join(d.dir, name), []byte(m[2]), 0o644); err != nil {
				d.t.Fatal(err)
			}
		}
		break
	}
	var out []docExample
	for _, m := range regexp.MustCompile("`(catena (?:p4|nf) [^`]*)`").FindAllStringSubmatch(text, -1) {
		out = append(out, docExample{"docs/nf-authoring.md", m[1]})
	}
	return out
}

// help finds the examples of all commands.
func (d *docs) help() []docExample {
	var out []docExample
	var walk func(path []string)
	walk = func(path []string) {
		r := d.p.catena(append(path, "--help")...)
		if r.code != 0 {
			d.t.Errorf("%s", r)
			return
		}
		section := ""
		found := false
		for _, line := range strings.Split(r.out, "\n") {
			switch {
			case line == "Examples:", line == "Available Commands:":
				section = line
			case strings.TrimSpace(line) == "":
				section = ""
			case section == "Examples:":
				found = true
				out = append(out, docExample{"catena " + strings.Join(path, " ") + " --help", command1(line)})
			case section == "Available Commands:":
				if name := strings.Fields(line)[0]; name != "help" && name != "completion" {
					walk(append(path[:len(path):len(path)], name))
				}
			}
		}
		if group := strings.Contains(r.out, "Available Commands:"); !found && !group {
			d.t.Errorf("catena %s has no examples", strings.Join(path, " "))
		}
	}
	walk(nil)
	return out
}

// run runs an example in the state that it supposes: shop is deployed.
func (d *docs) run(e docExample) {
	text := e.text
	fail := func(format string, args ...any) {
		d.t.Helper()
		d.t.Errorf("%s:\n%s\n%s", e.where, text, fmt.Sprintf(format, args...))
	}
	start := time.Now()
	defer func() { d.t.Logf("%6.0f ms  %s", float64(time.Since(start).Microseconds())/1000, text) }()
	switch {
	case strings.HasPrefix(text, "make "):
		target := strings.Fields(text)[1]
		if !regexp.MustCompile(`(?m)^` + target + `:`).MatchString(d.read("Makefile")) {
			fail("the Makefile has no such target")
		}
		return
	case strings.HasPrefix(text, "catena bench ") && text != "catena bench list":
		// They measure for minutes; what they are called is checked.
		if list := d.p.must("bench", "list"); !strings.Contains(list, strings.Fields(text)[2]) {
			fail("there are\n%s", list)
		}
		text += " --help"
	case strings.HasPrefix(text, "catena p4 conformance "):
		text += " --help" // it needs the repository, whose own test runs it
	case regexp.MustCompile(`^OS_CLOUD=| --(keystone|os-cloud|cloud openstack) `).MatchString(text + " "):
		text += " --help" // they need a Keystone; the server's own tests have one, test/openstack a whole cloud
	case strings.HasPrefix(text, "catena down"), strings.HasPrefix(text, "catena up --foreground"), strings.HasPrefix(text, "catena serve"):
		if d.up {
			d.p.must("down")
			d.up = false
		}
		if strings.Contains(text, "--etcd") {
			text = strings.Replace(text, "http://10.0.0.5:2379", d.etcd(), 1)
		}
	case strings.HasPrefix(text, "catena up"):
		d.up = true
	default:
		if !d.up {
			d.p.must("up", "--bare")
			d.up = true
		}
		d.p.must("apply", "-f", filepath.Join(d.dir, "shop.yaml"))
		defer func() {
			for _, other := range []string{"usecase2", "usecase5"} {
				if strings.Contains(text, other) {
					d.p.must("delete", other)
				}
			}
		}()
	}
	text = strings.NewReplacer("/run/catena/", d.p.run+"/", "127.0.0.1:7651", d.p.http, "127.0.0.1:7650", d.p.grpc).Replace(text)
	if _, err := exec.LookPath("jq"); err != nil && strings.Contains(text, "jq ") {
		d.t.Logf("%s: jq is missing; only the commands before it are run", e.where)
		text, _, _ = strings.Cut(text, " | jq")
		if strings.Contains(text, "jq ") {
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), d.p.timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", text)
	cmd.Dir = d.dir
	cmd.Env = append([]string{"PATH=" + d.dir + ":" + os.Getenv("PATH")}, d.p.env[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 5 * time.Second
	out := &watched{found: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = out, out
	if until, ok := map[string]string{"catena serve": "msg=ready", "catena up --foreground": "serving; ^C", "catena watch": ""}[firstWords(text)]; ok && !strings.HasSuffix(text, " --help") {
		out.until = until
		if err := cmd.Start(); err != nil {
			d.t.Fatal(err)
		}
		if until == "" {
			time.Sleep(300 * time.Millisecond)
		} else {
			select {
			case <-out.found:
			case <-time.After(30 * time.Second):
				fail("it does not say %q:\n%s", until, out.text())
			}
		}
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
			fail("%v", err)
		}
		if err := cmd.Wait(); err != nil {
			fail("interrupted: %v\n%s", err, out.text())
		}
		return
	}
	if err := cmd.Run(); err != nil {
		fail("%v\n%s", err, lastLines(out.text(), 20))
	}
}

// firstWords are the command with its first flag, where that decides.
func firstWords(text string) string {
	f := strings.Fields(text)
	if len(f) > 2 && f[2] == "--foreground" {
		return strings.Join(f[:3], " ")
	}
	return strings.Join(f[:min(2, len(f))], " ")
}

// etcd starts an etcd server for the rest of the test and returns its URL.
func (d *docs) etcd() string {
	d.t.Helper()
	cfg := embed.NewConfig()
	cfg.Dir, cfg.LogLevel = d.t.TempDir(), "panic"
	at, err := url.Parse("http://" + freeAddress(d.t))
	if err != nil {
		d.t.Fatal(err)
	}
	peer, err := url.Parse("http://" + freeAddress(d.t))
	if err != nil {
		d.t.Fatal(err)
	}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*at}, []url.URL{*at}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(e.Close)
	<-e.Server.ReadyNotify()
	return at.String()
}
