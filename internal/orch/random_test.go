package orch

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/service"
)

// randomService writes a valid service called "s" with names from a small set,
// so that two of them have much in common and differ in every way.
func randomService(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("name: s\nnetworks:\n")
	var nets []string
	for i := range 3 {
		if i > 0 && r.Intn(3) == 0 {
			continue
		}
		name := fmt.Sprintf("n%d", i)
		nets = append(nets, name)
		fmt.Fprintf(&b, "  - {name: %s, subnet: 10.%d.0.0/%d, mtu: %d}\n", name, i, 24+r.Intn(2), 1400+r.Intn(2))
	}
	pick := func() string { return nets[r.Intn(len(nets))] }
	outside := map[string]bool{} // networks behind a router that leads there
	if r.Intn(3) > 0 {
		on := nets[:1+r.Intn(len(nets))]
		external := []string{"", ", external: e0", ", external: e1"}[r.Intn(3)]
		fmt.Fprintf(&b, "routers: [{name: r%d, networks: [%s]%s}]\n", r.Intn(5)/4, strings.Join(on, ", "), external)
		for _, n := range on {
			outside[n] = external != ""
		}
	}
	var groups []string
	for i := range 3 {
		if r.Intn(2) == 0 {
			groups = append(groups, fmt.Sprintf("g%d", i))
		}
	}
	for i, g := range groups { // a rule names any of them, in a circle or not
		if i == 0 {
			b.WriteString("security_groups:\n")
		}
		fmt.Fprintf(&b, "  - {name: %s, rules: [{direction: ingress, protocol: tcp, ports: %d}", g, 80+r.Intn(2))
		if r.Intn(2) == 0 {
			fmt.Fprintf(&b, ", {direction: ingress, remote_group: %s}", groups[r.Intn(len(groups))])
		}
		b.WriteString("]}\n")
	}
	key := r.Intn(3)
	if key > 0 {
		fmt.Fprintf(&b, "keypairs: [{name: k, public_key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f v%d}]\n", key)
	}
	attachment := func(network string) string {
		fields := "network: " + network
		if len(groups) > 0 && r.Intn(2) == 0 {
			fields += ", security_groups: [" + groups[r.Intn(len(groups))] + "]"
		}
		if outside[network] && r.Intn(2) == 0 {
			fields += ", floating_ip: true"
		}
		return "{" + fields + "}"
	}
	var servers []string
	for i := range 3 {
		if r.Intn(3) == 0 {
			continue
		}
		if len(servers) == 0 {
			b.WriteString("servers:\n")
		}
		name := fmt.Sprintf("v%d", i)
		servers = append(servers, name)
		if r.Intn(4) == 0 { // an address that others may have, too
			ip := fmt.Sprintf("10.%s.0.%d", nets[0][1:], 10+i)
			fmt.Fprintf(&b, "  - {name: %s, networks: [{network: %s, ip: %s}]}\n", name, nets[0], ip)
		} else {
			fmt.Fprintf(&b, "  - {name: %s, count: %d, image: i%d, key: k, networks: [%s]}\n", name, 1+r.Intn(2), r.Intn(2), attachment(pick()))
		}
	}
	b.WriteString("functions:\n")
	fmt.Fprintf(&b, "  - {name: fw, kind: firewall, networks: [%s], config: {policy: %s}}\n", attachment(pick()), []string{"drop", "accept"}[r.Intn(2)])
	if r.Intn(2) == 0 {
		fmt.Fprintf(&b, "  - {name: dns, kind: dns, networks: [%s]}\n", pick())
	}
	if len(servers) > 0 && r.Intn(2) == 0 {
		fmt.Fprintf(&b, "  - {name: lb, kind: loadbalancer, networks: [%s], config: {members: [%s]}}\n", pick(), servers[r.Intn(len(servers))])
	}
	b.WriteString("chains:\n  - {name: c0, request: A before B}\n")
	if r.Intn(2) == 0 {
		fmt.Fprintf(&b, "  - {name: c1, request: A then B or LB, path: %d}\n", 1+r.Intn(2))
	}
	return b.String()
}

// Any service can become any other, whatever fails on the way: a long life of
// one service with updates, failures, crashes and losses in the cloud.
func TestRandomLife(t *testing.T) {
	ctx := context.Background()
	for seed := range int64(40) {
		r := rand.New(rand.NewSource(seed))
		w := newWorld(t)
		var deployed *service.Service
		var trail []string
		fail := func(format string, args ...any) {
			t.Fatalf("seed %d: %s\n%s", seed, fmt.Sprintf(format, args...), strings.Join(trail, "---\n"))
		}
		o := w.start(&link{})
		for range 12 {
			text := randomService(r)
			next, _, err := service.Parse("random.yaml", []byte(text))
			if err != nil {
				continue // an address outside of its subnet, or taken twice
			}
			mode := []string{"", "fail", "crash", "crash-after"}[r.Intn(4)]
			trail = append(trail, mode+"\n"+text)
			if len(w.objects) > 0 && r.Intn(3) == 0 {
				for k := range w.objects {
					losable := []service.Kind{service.KindServer, service.KindPort, service.KindSecurityRules, service.KindKeyPair, service.KindFloatingIP}
					if slices.Contains(losable, k.Kind) {
						w.lose(k)
						trail = append(trail, "lost "+k.String()+"\n")
						break
					}
				}
			}
			l := &link{mode: mode}
			o = w.start(l)
			if err := o.Recover(ctx); err != nil {
				fail("recover: %v", err)
			}
			if diff := w.is(some(deployed)...); diff != "" {
				fail("after recovery: %s", diff)
			}
			if mode != "" {
				l.mu.Lock()
				l.failAt = l.n + 1 + r.Intn(60)
				l.mu.Unlock()
			}
			err = o.Apply(ctx, Request{Service: next})
			switch {
			case err == nil:
				deployed = next
			case errors.Is(err, errCrash):
				o = w.start(&link{})
				if err := o.Recover(ctx); err != nil {
					fail("recover after crash: %v", err)
				}
				if w.is(next) == "" {
					deployed = next
				}
			case strings.HasPrefix(l.failed, "store services/"):
				o = w.start(&link{})
				if err := o.Recover(ctx); err != nil {
					fail("recover: %v", err)
				}
				if w.is(next) == "" {
					deployed = next
				}
			case !errors.Is(err, errInjected):
				fail("apply: %v", err)
			}
			if diff := w.is(some(deployed)...); diff != "" {
				fail("after %s at %q (%v): %s", mode, l.failed, err, diff)
			}
		}
		if deployed != nil {
			if err := o.Delete(ctx, deployed.Owner()); err != nil && !errors.Is(err, errInjected) && !errors.Is(err, errCrash) {
				fail("delete: %v", err)
			}
		}
	}
}
