package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/catena-nfv/catena/internal/netns"
)

// good is a service; the tests replace parts of it.
const good = `name: bad
networks:
  - {name: a, subnet: 10.50.1.0/24}
  - {name: b, subnet: 10.50.2.0/24}
routers:
  - {name: r, networks: [a, b]}
servers:
  - {name: s1, networks: [a]}
  - {name: s2, networks: [b]}
functions:
  - {name: lb, kind: loadbalancer, networks: [a], config: {port: 80, members: [s2]}}
chains:
  - name: c
    request: Firewall before NAT
    match: [{from: a, to: b}]
    rules:
      - {nf: Firewall, match: {dst_port: 22}, action: deny, priority: 1}
`

// TestRefused gives a platform what it must refuse: each error names the object and
// its place, and nothing is made.
func TestRefused(t *testing.T) {
	p := newPlatform(t)
	p.must("up", "--bare")
	before := p.objects()
	unchanged := func(t *testing.T) {
		t.Helper()
		if now := p.objects(); strings.Join(now, "\n") != strings.Join(before, "\n") {
			t.Errorf("there is\n%s\nwhere there was\n%s", strings.Join(now, "\n"), strings.Join(before, "\n"))
		}
		if out := p.must("get", "-A"); strings.Count(out, "\n") != 1 {
			t.Errorf("services:\n%s", out)
		}
	}
	many := "name: bad\nnetworks:\n"
	for i := range 10_000 {
		many += fmt.Sprintf("  - {name: n%d, subnet: 10.%d.%d.0/24}\n", i, i/256, i%256)
	}
	for _, c := range []struct {
		name     string
		old, new string // what is replaced in good; old "" replaces all
		texts    []string
	}{
		{"empty", "", "", []string{"<stdin>:1:1: error: the file is empty"}},
		{"malformed", "[a, b]}", "[a, b}", []string{"<stdin>:6:", "error: malformed YAML"}},
		{"tab", "  - {name: s1", "\t- {name: s1", []string{"<stdin>:8:", "error: malformed YAML"}},
		{"two services", "", good + "---\n" + good, []string{"<stdin>:19:", "one service"}},
		{"unknown field", "servers:", "sarvers:", []string{`<stdin>:7:1: error: a service has no field "sarvers"; did you mean "servers"?`}},
		{"unknown field within", "port: 80,", "prot: 80,", []string{`<stdin>:11:`, `"prot"`}},
		{"wrong type", "port: 80", "port: [80]", []string{"<stdin>:11:66: error:"}},
		{"no such network", "networks: [b]}\nfunctions", "networks: [c]}\nfunctions", []string{"<stdin>:9:", `network "c"`}},
		{"overlapping subnets", "10.50.2.0/24", "10.50.0.0/16", []string{`<stdin>:4:23: error: network "b": subnet 10.50.0.0/16 overlaps 10.50.1.0/24 of network "a"`}},
		{"bits behind the prefix", "10.50.2.0/24", "10.50.2.7/24", []string{"<stdin>:4:23", "did you mean 10.50.2.0/24?"}},
		{"no subnet", "10.50.2.0/24", "10.50.2.0/33", []string{"<stdin>:4:23: error:", "10.50.2.0/33"}},
		{"count", "{name: s1,", "{name: s1, count: 1000000000,", []string{`<stdin>:8:23: error: server "s1": count is 1000000000; it can be 1 to 1000`}},
		{"more servers than ports", "{name: s1,", "{name: s1, count: 253,", []string{`<stdin>:3:23: error: network "a": subnet 10.50.1.0/24 has room for 253 members, but 254 are attached`}},
		{"10000 networks", "", many, []string{"networks", "limit"}},
		{"same names", "name: s2", "name: s1", []string{"<stdin>:9:12: error:", `"s1"`}},
		{"unknown NF", "before NAT", "before NAP", []string{`<stdin>:14:30: error: chain "c": unknown NF "NAP"; the library has Firewall, IDS, L2fwd, L3fwd, LB, NAT`}},
		{"cyclic chain", "before NAT", "before NAT, NAT before Firewall", []string{`<stdin>:14:46: error: chain "c": request is not acyclic: Firewall -> NAT -> Firewall`}},
		{"no chain", "Firewall before NAT", "Firewall befor NAT", []string{"<stdin>:14:", `chain "c"`}},
		{"no such path", "request: Firewall before NAT", "path: 2\n    request: Firewall before NAT", []string{`chain "c" has 1 paths, but no path 2`, "<stdin>:14:11: error:"}},
		{"rule for another NF", "nf: Firewall", "nf: IDS", []string{`<stdin>:17:14: error: chain "c" does not visit NF "IDS"`}},
		{"unknown key", "dst_port: 22", "dport: 22", []string{`<stdin>:17:39: error: chain "c": table rules of NF Firewall has no key "dport"; it has src_addr, dst_addr`}},
		{"unknown action", "action: deny", "action: denny", []string{`<stdin>:17:55: error: chain "c": table rules of NF Firewall has no action "denny"; it has allow, deny`}},
		{"value too large", "dst_port: 22", "dst_port: 70000", []string{`<stdin>:17:`, `error: chain "c": NF Firewall: table rules: dst_port: 70000 does not fit 16 bits`}},
		{"value of another kind", "dst_port: 22", "dst_port: web", []string{`<stdin>:17:`, `dst_port: "web"`}},
		{"unknown instance", "dst_port: 22", `dst_addr: "@nobody"`, []string{`<stdin>:17:`, "nobody"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := c.new
			if c.old != "" {
				if !strings.Contains(good, c.old) {
					t.Fatalf("no %q", c.old)
				}
				text = strings.Replace(good, c.old, c.new, 1)
			}
			q := *p
			q.t = t
			q.refused(2, text, c.texts, "apply", "-f", "-")
			q.refused(2, text, c.texts[:1], "plan", "-f", "-")
		})
	}
	unchanged(t)

	t.Run("a program that cannot start", func(t *testing.T) {
		text := strings.Replace(good, "{name: s1,", "{name: s1, command: [/bin/sh, -c, 'echo no way; exit 3'],", 1)
		p.refused(1, text, []string{`server "s1"`, "no way", "rolled back"}, "apply", "-f", "-")
		unchanged(t)
	})
	t.Run("a change that fails", func(t *testing.T) {
		p.mustInput(good, "apply", "-f", "-")
		s1 := p.instance("bad", "s1")
		p.answers(s1, "http://10.50.2.10/")
		whole := p.objects()
		text := strings.NewReplacer("{name: s2,", "{name: s2, command: [/nonexistent],", "before NAT", "before IDS before NAT", "port: 80", "port: 81").Replace(good)
		p.refused(1, text, []string{`server "s2"`, "/nonexistent", "rolled back"}, "apply", "-f", "-")
		p.answers(s1, "http://10.50.2.10/")
		p.answers(s1, "http://10.50.1.10/")
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			// The load balancer that was replaced may end its last connections.
			now := withoutTakeOver(p.objects())
			if strings.Join(now, "\n") == strings.Join(whole, "\n") {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("there is\n%s\nwhere there was\n%s", strings.Join(now, "\n"), strings.Join(whole, "\n"))
				break
			}
		}
		for _, c := range []struct {
			texts []string
			args  []string
		}{
			{[]string{`NF Firewall has no key "dport"`}, []string{"rule", "add", "Firewall", "--chain", "c", "-m", "dport=1", "--action", "deny"}},
			{[]string{"70000 does not fit 16 bits"}, []string{"rule", "add", "Firewall", "--chain", "c", "-m", "dst_port=70000", "--action", "deny"}},
			{[]string{`unknown NF "Fire"`}, []string{"rule", "add", "Fire", "--chain", "c", "--action", "deny"}},
			{[]string{`chain "d": not found`}, []string{"rule", "add", "Firewall", "--chain", "d", "--action", "deny"}},
			{[]string{`rule "12"`, "not found"}, []string{"rule", "delete", "12", "--chain", "c"}},
		} {
			p.refused(2, "", c.texts, c.args...)
		}
		p.must("delete", "bad")
		unchanged(t)
	})
	t.Run("what is not there", func(t *testing.T) {
		p.refused(2, "", []string{"service default/nobody: not found"}, "get", "nobody")
		p.refused(2, "", []string{"service default/nobody: not found"}, "delete", "nobody")
		p.refused(2, "", []string{"/nonexistent.yaml"}, "apply", "-f", "/nonexistent.yaml")
	})
	t.Run("a second controller", func(t *testing.T) {
		p.refused(1, "", []string{p.state, "another controller"}, "serve")
	})
	t.Run("a port in use", func(t *testing.T) {
		q := newPlatform(t)
		q.env = append(q.env, "CATENA_GRPC="+p.grpc)
		r := q.catena("up", "--bare")
		if r.code != 1 || !strings.Contains(r.stderr, p.grpc) || !strings.Contains(r.stderr, "address already in use") {
			t.Errorf("up: %s", r)
		}
		for _, line := range q.inventory() {
			if !strings.HasPrefix(line, "file "+q.state) {
				t.Errorf("a platform that did not start left %s", line)
			}
		}
	})
}

var sf = regexp.MustCompile(` -sf \d+$`)

// withoutTakeOver leaves out what shows that a program was replaced by another one.
func withoutTakeOver(objects []string) []string {
	var out []string
	for _, o := range objects {
		if !strings.HasSuffix(o, "/log.1") {
			out = append(out, sf.ReplaceAllString(o, ""))
		}
	}
	return out
}

// TestVanishingPort deletes a port's link in the middle of a deployment: as soon as it
// is there, and when it is attached while the program is still compiled.
func TestVanishingPort(t *testing.T) {
	p := newPlatform(t)
	p.must("up", "--bare")
	before := p.objects()
	for _, c := range []struct {
		name     string
		attached bool
		request  string // of a program that was not compiled before: takes a second
	}{
		{"before it is attached", false, "NAT before Firewall before IDS"},
		{"after it is attached", true, "IDS before NAT before Firewall"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stop, deleted := make(chan struct{}), make(chan string, 1)
			go func() { deleted <- p.deleteLink("default/bad/s1.a", c.attached, stop) }()
			r := p.input(strings.Replace(good, "Firewall before NAT", c.request, 1), "apply", "-f", "-")
			close(stop)
			link := <-deleted
			if link == "" {
				t.Fatal("the link was not seen in time")
			}
			if r.code != 1 || !regexp.MustCompile(`port "?s1\.a`).MatchString(r.stderr) || !strings.Contains(r.stderr, "vanished") {
				t.Errorf("link %s was deleted: %s", link, r)
			}
			if now := p.objects(); strings.Join(now, "\n") != strings.Join(before, "\n") {
				t.Errorf("there is\n%s\nwhere there was\n%s", strings.Join(now, "\n"), strings.Join(before, "\n"))
			}
		})
	}
	p.mustInput(good, "apply", "-f", "-")
	p.answers(p.instance("bad", "s1"), "http://10.50.2.10/")
}

// deleteLink waits for the link of a port, if asked for until a program is attached
// to it, and deletes it.
func (p *platform) deleteLink(port string, attached bool, stop chan struct{}) string {
	for {
		select {
		case <-stop:
			return ""
		case <-time.After(time.Millisecond):
		}
		links, err := netlink.LinkList()
		if err != nil {
			continue // a dump that was interrupted
		}
		for _, l := range links {
			if !strings.HasSuffix(l.Attrs().Alias, ":"+port) {
				continue
			}
			if attached {
				log, err := os.ReadFile(p.logFile())
				if err != nil || !regexp.MustCompile(`msg="port up".* port=s1\.a `).Match(log) {
					continue
				}
				time.Sleep(100 * time.Millisecond) // the server starts meanwhile
			}
			if netns.DeleteLink(l.Attrs().Name) == nil {
				return l.Attrs().Name
			}
		}
	}
}

// TestMissing runs commands where something is missing: one line says what.
func TestMissing(t *testing.T) {
	p := newPlatform(t)
	oneLine := func(r result, code int, texts ...string) {
		t.Helper()
		if r.code != code || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%s\nwant exit code %d and one line", r, code)
		}
		for _, text := range texts {
			if !strings.Contains(r.stderr, text) {
				t.Errorf("%s\nits error should contain %q", r, text)
			}
		}
	}
	wrapped := func(wrapper ...string) func(args ...string) result {
		return func(args ...string) result {
			q := *p
			q.bin = wrapper[0]
			return q.catena(append(append(wrapper[1:len(wrapper):len(wrapper)], p.bin), args...)...)
		}
	}
	t.Run("controller", func(t *testing.T) {
		for _, args := range [][]string{{"get"}, {"delete", "x"}, {"chain", "list"}, {"rule", "list"}, {"switch", "ports"}, {"switch", "counters"}, {"get", "--address", p.grpc}} {
			r := p.catena(args...)
			if r.code != 3 || strings.Count(r.stderr, "\n") != 1 {
				t.Errorf("%s", r)
			}
		}
	})
	t.Run("root", func(t *testing.T) {
		if err := os.Chmod(filepath.Dir(p.bin), 0o755); err != nil {
			t.Fatal(err)
		}
		nobody := wrapped("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
		oneLine(nobody("up"), 2, "root is needed")
		oneLine(nobody("serve"), 2, "root is needed")
		oneLine(nobody("down"), 2, "root is needed")
	})
	t.Run("privileges", func(t *testing.T) {
		oneLine(wrapped("setpriv", "--bounding-set", "-net_admin,-sys_admin", "--inh-caps", "-all")("up"), 2, "CAP_NET_ADMIN")
	})
	for _, program := range []string{"haproxy", "clang"} {
		t.Run(program, func(t *testing.T) {
			file, err := exec.LookPath(program)
			if err != nil {
				t.Fatal(err)
			}
			if file, err = filepath.EvalSymlinks(file); err != nil {
				t.Fatal(err)
			}
			// In a mount namespace of its own the program is no program.
			hide := wrapped("unshare", "--mount", "sh", "-c", `mount --bind /dev/null `+file+` && exec "$0" "$@"`)
			oneLine(hide("up"), 2, "apt-get install "+program)
		})
	}
	if left := p.inventory(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if l, err := net.Listen("tcp", p.grpc); err != nil {
		t.Error(err)
	} else {
		l.Close()
	}
}
