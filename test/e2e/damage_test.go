package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDamagedState starts a controller on state of which one file is damaged. It
// heals what it can, or says which file it is and what to do; doing that helps.
func TestDamagedState(t *testing.T) {
	p := newPlatform(t)
	shop := absolute(t, example)
	for _, c := range []struct {
		file string
		// says is what the refusal contains; "" when the controller gets by.
		says string
		// remove heals it: the file or a folder, in the state directory.
		remove string
	}{
		{"controller.lock", "", ""},
		{"p4runtime.journal", "", ""},
		{"cloud/objects/default/shop/server.web-1.json", "", ""},
		{"cloud/objects/default/shop/port.lb%2Efront.json", "", ""},
		{"agent.json", "agent.json cannot be read", "agent.json"},
		{"switch.json", "switch.json cannot be read", "switch.json"},
		{"nf/Mine.p4", "Mine.p4:1:1: error", "nf/Mine.p4"},
		{"etcd/etcd/member/snap/db", "move the directory away", "etcd"},
	} {
		t.Run(filepath.Base(c.file), func(t *testing.T) {
			q := *p
			p := &q
			p.t = t
			c1 := p.serve()
			c1.ready()
			p.must("apply", "-f", shop)
			c1.kill()
			file := filepath.Join(p.state, c.file)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte("]garbage"), 0o600); err != nil {
				t.Fatal(err)
			}
			r := p.catena("up", "--bare")
			if c.says != "" {
				if r.code != 1 || !strings.Contains(r.stderr, c.says) || !strings.Contains(r.stderr, filepath.Join(p.state, strings.Split(c.file, "/")[0])) {
					t.Errorf("%s", r)
				}
				if err := os.RemoveAll(filepath.Join(p.state, c.remove)); err != nil {
					t.Fatal(err)
				}
				r = p.catena("up", "--bare")
			}
			if r.code != 0 {
				t.Fatal(r)
			}
			if c.remove != "etcd" { // with which the services are gone
				p.answers(p.instance("shop", "dns"), "http://10.10.2.10/")
				p.answers(p.instance("shop", "fw"), "http://10.10.1.10/")
			}
			p.must("apply", "-f", shop)
			p.answers(p.instance("shop", "dns"), "http://10.10.2.10/")
			p.must("down")
			if left := p.inventory(); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
