package orch

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/catena-nfv/catena/internal/service"
)

var update = flag.Bool("update", false, "rewrite golden files")

// made is what there is when a service is completely deployed.
func made(t *testing.T, s *service.Service) Current {
	t.Helper()
	c := Current{Records: map[Key]Record{}}
	if s == nil {
		return c
	}
	objs, err := want(t, s, nil).objects()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range objs {
		r := Record{Key: w.Key, State: StateMade, Digest: w.digest, Shape: w.shape, After: w.After}
		if w.Port != nil {
			r.Port = &service.Port{PortSpec: *w.Port}
		}
		c.Records[w.Key] = r
	}
	return c
}

// want is a service as a change from another (nil: none) decides about it.
func want(t *testing.T, s, from *service.Service) desired {
	t.Helper()
	if s == nil {
		return desired{}
	}
	var old desired
	if from != nil {
		old = want(t, from, nil)
	}
	addrs, err := s.Addresses(old.Addresses)
	if err != nil {
		t.Fatal(err)
	}
	n, err := old.Numbers.assign(s)
	if err != nil {
		t.Fatal(err)
	}
	return desired{Service: s, Addresses: addrs, Numbers: n}
}

// TestPlan holds whole plans to golden files: from one service to another, each
// step with what it waits for.
func TestPlan(t *testing.T) {
	variant := func(old, new string) *service.Service { return parse(t, strings.Replace(shop, old, new, 1)) }
	base := parse(t, shop)
	for _, tc := range []struct {
		name     string
		from, to *service.Service
	}{
		{"create", nil, base},
		{"delete", base, nil},
		{"nothing", base, parse(t, shop)},
		{"chain-changed", base, variant("Firewall before NAT", "NAT before Firewall")},
		{"rule-added", base, variant("action: allow,", "action: allow, priority: 7,")},
		{"server-added", base, variant("count: 2", "count: 3")},
		{"server-removed", variant("count: 2", "count: 3"), base},
		{"function-configured", base, variant("members: [web]", "members: [web], algorithm: source")},
		{"network-replaced", base, variant("10.0.2.0/24", "10.0.2.0/25")},
		{"router-grows", base, parse(t, strings.Replace(strings.Replace(shop, "[front, back]}\nservers", "[front, back, third]}\nservers", 1), "routers:", "  - {name: third, subnet: 10.0.3.0/24}\nrouters:", 1))},
		{"name-server-removed", base, variant("  - {name: dns, kind: dns, networks: [front]}\n", "")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			steps, err := Plan(want(t, tc.to, tc.from), made(t, tc.from))
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "testdata/plans.txtar", tc.name, render(steps))
		})
	}
}

// A router that a crash left half changed may have joined a network that is now deleted:
// it lets go of it first, though it is not updated but finished.
func TestPlanFinishesRouterFirst(t *testing.T) {
	base := parse(t, shop)
	grown := parse(t, strings.Replace(strings.Replace(shop, "[front, back]}\nservers", "[front, back, third]}\nservers", 1), "routers:", "  - {name: third, subnet: 10.0.3.0/24}\nrouters:", 1))
	current := made(t, grown)
	router := Key{service.KindRouter, "r1"}
	r, ok := current.Records[router]
	if !ok {
		t.Fatalf("no router among %v", current.Records)
	}
	r.State = StateMaking
	current.Records[router] = r
	steps, err := Plan(want(t, base, grown), current)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		if s.ID == "delete network third" && !slices.Contains(s.After, "create router r1") {
			t.Errorf("%s waits for %v", s.ID, s.After)
		}
	}
	if !slices.ContainsFunc(steps, func(s Step) bool { return s.ID == "delete network third" }) {
		t.Errorf("the network stays: %v", steps)
	}
}

// render writes a plan with what each step waits for.
func render(steps []Step) string {
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&b, "%s (%s)\n", s.ID, s.Reason)
		for _, a := range s.After {
			fmt.Fprintf(&b, "    after %s\n", a)
		}
	}
	return b.String()
}

// golden compares one part of a txtar file, or rewrites it.
func golden(t *testing.T, file, name, got string) {
	t.Helper()
	ar, err := txtar.ParseFile(file)
	if err != nil {
		if !*update {
			t.Fatal(err)
		}
		ar = &txtar.Archive{}
	}
	i := slices.IndexFunc(ar.Files, func(f txtar.File) bool { return f.Name == name })
	if !*update {
		if i < 0 {
			t.Fatalf("no part %q in %s", name, file)
		}
		if w := string(ar.Files[i].Data); got != w {
			t.Errorf("got\n%swant\n%s", got, w)
		}
		return
	}
	if i < 0 {
		i = len(ar.Files)
		ar.Files = append(ar.Files, txtar.File{Name: name})
	}
	ar.Files[i].Data = []byte(got)
	if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Plans are the same however often they are computed.
func TestPlanIsDeterministic(t *testing.T) {
	from, to := made(t, parse(t, shop)), want(t, changed(t), parse(t, shop))
	first, err := Plan(to, from)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		again, err := Plan(to, from)
		if err != nil {
			t.Fatal(err)
		}
		for i := range first {
			if first[i].ID != again[i].ID || fmt.Sprint(first[i].After) != fmt.Sprint(again[i].After) {
				t.Fatalf("step %d: %v, then %v", i, first[i], again[i])
			}
		}
	}
}

// TestStepNames: an error names its object once.
func TestStepNames(t *testing.T) {
	s := Step{ID: "create server web", Action: Create, Key: Key{service.KindServer, "web"}}
	for text, want := range map[string]string{
		`server "web": no`:   `create server "web": no`,
		`server "web-1": no`: `create server web: server "web-1": no`,
		"no":                 "create server web: no",
	} {
		if got := s.failed(errors.New(text)).Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
