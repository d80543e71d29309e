package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/catena-nfv/catena/internal/netns"
)

// tenant is a service; all tenants have the same addresses.
func tenant(name string) string {
	return fmt.Sprintf(`
name: %s
networks:
  - {name: n, subnet: 10.72.0.0/24, mtu: 1400}
routers:
  - {name: r, networks: [n]}
servers:
  - {name: %s-vm, networks: [{network: n, ip: 10.72.0.50}]}
  - {name: other, networks: [{network: n, ip: 10.72.0.51}]}
`, name, name)
}

// lease has udhcpc ask for an address and returns what it was told, as NAME=VALUE lines.
func lease(t *testing.T, ns *netns.NS) string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "script")
	text := "#!/bin/sh\n[ \"$1\" = bound ] && env | grep -E '^(ip|mask|router|dns|mtu|hostname|staticroutes|serverid)=' | sort\nexit 0\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := in(t, ns, "udhcpc", "-i", "eth0", "-n", "-q", "-f", "-t", "5", "-T", "1", "-O", "staticroutes", "-O", "mtu", "-O", "hostname", "-s", script)
	if err != nil {
		t.Fatalf("udhcpc: %v\n%s", err, out)
	}
	return out
}

// TestNodeServices has real clients ask the node for their address, for names and for
// metadata, in two networks with the same addresses.
func TestNodeServices(t *testing.T) {
	p := newPlatform(t)
	c := p.serve()
	c.ready()
	var vms []*netns.NS
	for _, name := range []string{"red", "blue"} {
		p.mustInput(tenant(name), "apply", "-f", "-")
		vms = append(vms, p.instance(name, name+"-vm"))
	}
	hostname := func(vm *netns.NS) (string, error) {
		return in(t, vm, "curl", "-sS", "--max-time", "5", "http://169.254.169.254/latest/meta-data/hostname")
	}
	check := func() {
		t.Helper()
		for i, name := range []string{"red-vm", "blue-vm"} {
			got := lease(t, vms[i])
			for _, want := range []string{"ip=10.72.0.50", "mask=24", "router=10.72.0.1", "dns=10.72.0.1", "serverid=10.72.0.1", "mtu=1400", "hostname=" + name,
				"staticroutes=169.254.169.254/32 10.72.0.1 0.0.0.0/0 10.72.0.1"} {
				if !strings.Contains(got, want+"\n") {
					t.Errorf("%s: the lease lacks %s:\n%s", name, want, got)
				}
			}
			if out, err := hostname(vms[i]); err != nil || out != name {
				t.Errorf("%s: metadata says %q, %v", name, out, err)
			}
			for _, more := range [][]string{{}, {"+tcp"}} {
				args := append([]string{"dig", "+short", "+time=2", "+tries=2", "@10.72.0.1"}, more...)
				if out, err := in(t, vms[i], append(args, "other")...); err != nil || out != "10.72.0.51\n" {
					t.Errorf("%s: dig %v other: %q, %v", name, more, out, err)
				}
				if out, err := in(t, vms[i], append(args, "-x", "10.72.0.50")...); err != nil || out != name+".\n" {
					t.Errorf("%s: dig %v -x: %q, %v", name, more, out, err)
				}
			}
		}
	}
	check()

	// Many at a time: nobody gets another's answer.
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			want := []string{"red-vm", "blue-vm"}[i%2]
			if out, err := hostname(vms[i%2]); err != nil || out != want {
				t.Errorf("metadata of %s: %q, %v", want, out, err)
			}
		})
	}
	wg.Wait()

	// Who takes all that it can get leaves the others theirs.
	for range 80 {
		c, err := vms[0].DialContext(t.Context(), "tcp4", "169.254.169.254:80")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	if out, err := hostname(vms[0]); err == nil {
		t.Errorf("80 connections are open, and another one is answered: %q", out)
	}
	if out, err := hostname(vms[1]); err != nil || out != "blue-vm" {
		t.Errorf("behind a greedy neighbour: %q, %v", out, err)
	}

	// Nothing is remembered: another controller knows all there is to know.
	c.kill()
	c = p.serve()
	c.ready()
	check()
	p.must("delete", "red")
	p.must("delete", "blue")
}
