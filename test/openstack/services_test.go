package openstack

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

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
