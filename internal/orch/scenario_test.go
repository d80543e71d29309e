package orch

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/service"
)

const shop = `
name: shop
networks:
  - {name: front, subnet: 10.0.1.0/24}
  - {name: back, subnet: 10.0.2.0/24}
routers:
  - {name: r1, networks: [front, back]}
servers:
  - {name: web, count: 2, networks: [back]}
functions:
  - {name: lb, kind: loadbalancer, networks: [front, back], config: {members: [web]}}
  - {name: dns, kind: dns, networks: [front]}
chains:
  - name: dc
    request: Firewall before NAT
    match: {from: front, to: back}
    rules:
      - {nf: NAT, action: snat, params: {addr: "@lb"}}
rules:
  - {nf: Firewall, action: allow, match: {src: "@front"}}
`

func parse(t testing.TB, text string) *service.Service {
	t.Helper()
	s, _, err := service.Parse("t.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v", err)
	}
	return s
}

// changed is shop after an update that touches every kind: a server more and one
// changed, a function gone and one new, a network replaced, a new one with a
// reused address, another chain.
func changed(t testing.TB) *service.Service {
	text := shop
	for _, r := range [][2]string{
		{"count: 2, networks: [back]}", "count: 3, networks: [back]}\n  - {name: db, image: pg, networks: [{network: front, ip: 10.0.1.11}, extra]}"},
		{"  - {name: dns, kind: dns, networks: [front]}\n", "  - {name: fw, kind: firewall, networks: [extra], config: {publish: [{port: 1, to: web-3}]}}\n"},
		{"10.0.2.0/24}", "10.0.2.0/25}\n  - {name: extra, subnet: 10.0.3.0/24}"},
		{"[front, back]}\nservers", "[front, extra, back]}\nservers"},
		{"Firewall before NAT\n", "Firewall before NAT before L3fwd\n"},
	} {
		if !strings.Contains(text, r[0]) {
			t.Fatalf("no %q in the service", r[0])
		}
		text = strings.Replace(text, r[0], r[1], 1)
	}
	return parse(t, text)
}

func mustBe(t *testing.T, w *world, services ...*service.Service) {
	t.Helper()
	if diff := w.is(services...); diff != "" {
		t.Fatalf("%s", diff)
	}
}

func TestApplyUpdateDelete(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	o := w.start(&link{})
	if err := o.Apply(ctx, Request{Service: parse(t, shop)}); err != nil {
		t.Fatal(err)
	}
	mustBe(t, w, parse(t, shop))
	chain := w.sw.Chains[0].Chain
	if chain.Rules[0].Params["addr"] != "10.0.1.10" || chain.Rules[1].NF != "Firewall" || chain.Rules[1].Match["src"] != "10.0.1.0/24" {
		t.Errorf("rules on the switch: %+v", chain.Rules)
	}

	// Applying the same again does nothing at all.
	w.calls = nil
	if err := o.Apply(ctx, Request{Service: parse(t, shop)}); err != nil {
		t.Fatal(err)
	}
	for _, c := range w.calls {
		if c != "observe" && !strings.HasPrefix(c, "store applies/") && !strings.HasPrefix(c, "store services/") {
			t.Errorf("an unchanged service caused %q", c)
		}
	}

	if err := o.Apply(ctx, Request{Service: changed(t)}); err != nil {
		t.Fatal(err)
	}
	mustBe(t, w, changed(t))
	st, err := o.Get(ctx, service.Owner{Project: "default", Service: "shop"})
	if err != nil || st.Status != service.StatusActive || st.Revision != 2 || len(st.Ports) != 8 {
		t.Errorf("state: %+v %v", st, err)
	}

	if err := o.Delete(ctx, service.Owner{Project: "default", Service: "shop"}); err != nil {
		t.Fatal(err)
	}
	mustBe(t, w)
	if err := o.Delete(ctx, service.Owner{Project: "default", Service: "shop"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("second delete: %v", err)
	}
}

// A delete that cannot be finished says why as long as that is so, and the next one finishes it.
func TestDeleteFails(t *testing.T) {
	ctx := context.Background()
	owner := service.Owner{Project: "default", Service: "shop"}
	w := newWorld(t)
	if err := w.start(&link{}).Apply(ctx, Request{Service: parse(t, shop)}); err != nil {
		t.Fatal(err)
	}
	o := w.start(&link{only: "delete network"})
	if err := o.Recover(ctx); err != nil {
		t.Fatal(err)
	}
	if err := o.Delete(ctx, owner); !errors.Is(err, errInjected) {
		t.Fatalf("delete: %v", err)
	}
	if st, err := o.Get(ctx, owner); err != nil || st.Status != service.StatusError || !strings.Contains(st.Message, errInjected.Error()) {
		t.Errorf("afterwards it is %s (%s), %v", st.Status, st.Message, err)
	}
	if err := o.Delete(ctx, owner); err != nil {
		t.Fatal(err)
	}
	mustBe(t, w)
}

// Every single failure, at every call, ends in what was before; and the same
// call then succeeds.
func TestFailureAtEveryCall(t *testing.T) {
	faults(t, []string{"fail", "fail-after"}, func(t *testing.T, w *world, o *Orchestrator, l *link, before, after *service.Service, err error) {
		if strings.HasPrefix(l.failed, "store numbers") { // numbers that were not taken back: the next start does
			o = w.start(&link{})
			if err := o.Recover(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		if err == nil {
			mustBe(t, w, some(after)...)
			return
		}
		if strings.HasPrefix(l.failed, "store services/") || l.failed == "store" && strings.HasSuffix(l.mode, "after") {
			return // the last write: unclear whether it is done; Recover finds out
		}
		if after == nil { // a delete that failed is repeated
			if err := o.Delete(context.Background(), before.Owner()); err != nil && !errors.Is(err, ErrNotFound) {
				t.Fatalf("delete again: %v", err)
			}
			mustBe(t, w)
			return
		}
		mustBe(t, w, some(before)...)
		if err := o.Apply(context.Background(), Request{Service: after}); err != nil {
			t.Fatalf("apply again: %v", err)
		}
		mustBe(t, w, after)
	})
}

// Every crash, at every call, before and after its effect, is healed by the next
// start: the service is deployed, or all is as before.
func TestCrashAtEveryCall(t *testing.T) {
	faults(t, []string{"crash", "crash-after"}, func(t *testing.T, w *world, _ *Orchestrator, l *link, before, after *service.Service, err error) {
		if err == nil && l.failed != "" && !strings.HasPrefix(l.failed, "store numbers") {
			t.Errorf("a crash at %q was not noticed", l.failed)
		}
		o := w.start(&link{})
		if err := o.Recover(context.Background()); err != nil {
			t.Fatalf("recover: %v", err)
		}
		if was, is := w.is(some(before)...), w.is(some(after)...); was != "" && is != "" {
			t.Fatalf("neither as before (%s)\nnor as asked (%s)", was, is)
		}
		// The controller that was started again works on.
		if after != nil {
			if err := o.Apply(context.Background(), Request{Service: after}); err != nil {
				t.Fatalf("apply after recovery: %v", err)
			}
			mustBe(t, w, after)
			if err := o.Delete(context.Background(), after.Owner()); err != nil {
				t.Fatalf("delete after recovery: %v", err)
			}
			mustBe(t, w)
		}
	})
}

func some(s *service.Service) []*service.Service {
	if s == nil {
		return nil
	}
	return []*service.Service{s}
}

// faults runs an apply, an update and a delete with each fault at each call.
func faults(t *testing.T, modes []string, check func(t *testing.T, w *world, o *Orchestrator, l *link, before, after *service.Service, err error)) {
	ctx := context.Background()
	shopSvc, changedSvc := parse(t, shop), changed(t)
	for _, tc := range []struct {
		name          string
		before, after *service.Service
	}{{"create", nil, shopSvc}, {"update", shopSvc, changedSvc}, {"delete", shopSvc, nil}} {
		for _, mode := range modes {
			t.Run(tc.name+"/"+mode, func(t *testing.T) {
				for n := 1; ; n++ {
					w := newWorld(t)
					if tc.before != nil {
						if err := w.start(&link{}).Apply(ctx, Request{Service: tc.before}); err != nil {
							t.Fatal(err)
						}
					}
					l := &link{failAt: n, mode: mode}
					o := w.start(l)
					if tc.before != nil { // as after a restart, without the fault
						l.failAt = 0
						if err := o.Recover(ctx); err != nil {
							t.Fatal(err)
						}
						l.mu.Lock()
						l.n, l.failAt = 0, n
						l.mu.Unlock()
					}
					var err error
					if tc.after != nil {
						err = o.Apply(ctx, Request{Service: tc.after})
					} else {
						err = o.Delete(ctx, tc.before.Owner())
					}
					if l.failed == "" { // past the last call
						if err != nil {
							t.Fatalf("without a fault: %v", err)
						}
						if n < 20 {
							t.Fatalf("only %d calls", n)
						}
						return
					}
					t.Run(fmt.Sprintf("%d %s", n, l.failed), func(t *testing.T) {
						w.t = t
						check(t, w, o, l, tc.before, tc.after, err)
					})
					if t.Failed() {
						return
					}
				}
			})
		}
	}
}

// A service that cannot be accepted touches nothing.
func TestRefused(t *testing.T) {
	w := newWorld(t)
	o := w.start(&link{})
	text := strings.Replace(shop, "Firewall before NAT", "Firewall before Nonsense", 1)
	s, src, err := service.Parse("shop.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	err = o.Apply(context.Background(), Request{Service: s, Source: src})
	var se *service.Error
	if !errors.As(err, &se) || se.Problems[0].Path != "chains[0].request" || se.Problems[0].Line != 15 || se.Problems[0].Column != 30 {
		t.Fatalf("error: %#v\n%v", err, err)
	}
	mustBe(t, w)

	// A rule of the service shows up behind the chain's own; its place is its own.
	text = strings.Replace(shop, "action: allow", "action: unfit", 1)
	s, src, err = service.Parse("shop.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	err = o.Apply(context.Background(), Request{Service: s, Source: src})
	if !errors.As(err, &se) || se.Problems[0].Path != "rules[0].action" || se.Problems[0].Line != 20 {
		t.Fatalf("error: %v", err)
	}
	mustBe(t, w)
}

// The operator's rules are part of every configuration, also after a restart.
func TestOperatorRules(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	o := w.start(&link{})
	if err := o.Apply(ctx, Request{Service: parse(t, shop)}); err != nil {
		t.Fatal(err)
	}
	rule := service.Rule{NF: "Firewall", Action: "deny", Match: map[string]string{"src": "10.0.0.1"}}
	if _, err := o.AddOperatorRule(ctx, rule); err != nil {
		t.Fatal(err)
	}
	if _, err := o.AddOperatorRule(ctx, rule); !errors.Is(err, ErrExists) {
		t.Errorf("the same rule: %v", err)
	}
	if _, err := o.AddOperatorRule(ctx, service.Rule{NF: "Firewall", Match: map[string]string{"src": "@web-1"}}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a rule that names an instance: %v", err)
	}
	holds := func(when string, n int) {
		t.Helper()
		if len(w.sw.Rules) != n || n > 0 && (w.sw.Rules[0].Scope != 0 || w.sw.Rules[0].Rule.Action != "deny") || len(w.sw.Chains) != 1 {
			t.Errorf("%s: rules %+v, %d chains", when, w.sw.Rules, len(w.sw.Chains))
		}
	}
	holds("added", 1)
	o = w.start(&link{})
	if err := o.Recover(ctx); err != nil {
		t.Fatal(err)
	}
	if err := o.Apply(ctx, Request{Service: parse(t, strings.Replace(shop, "Firewall before NAT", "Firewall then NAT or LB", 1))}); err != nil {
		t.Fatal(err)
	}
	holds("after a restart", 1)
	if _, err := o.DeleteOperatorRule(ctx, RuleID(rule)); err != nil {
		t.Fatal(err)
	}
	holds("deleted", 0)
	if _, err := o.DeleteOperatorRule(ctx, RuleID(rule)); !errors.Is(err, ErrNotFound) {
		t.Errorf("second delete: %v", err)
	}
}

// Changing a chain touches the switch and nothing else.
func TestChainChangeIsEntriesOnly(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	o := w.start(&link{})
	if err := o.Apply(ctx, Request{Service: parse(t, strings.Replace(shop, "Firewall before NAT", "Firewall then NAT or LB", 1))}); err != nil {
		t.Fatal(err)
	}
	only := func(what string) {
		t.Helper()
		for _, c := range w.calls {
			if !strings.HasPrefix(c, "store") && c != "prepare" && c != "deploy" {
				t.Errorf("%s caused %q", what, c)
			}
		}
		w.calls = nil
	}
	w.calls = nil
	c, err := o.Chain(ctx, "", "dc")
	if err != nil || c.Number != 1 || c.Packets != 7 || len(c.Paths) != 2 || c.Paths[1].NFs[1] != "NAT" {
		t.Fatalf("chain: %+v %v", c, err)
	}
	if _, err := o.SelectPath(ctx, c, 2); err != nil {
		t.Fatal(err)
	}
	only("select")
	if w.sw.Chains[0].Chain.Path != 2 {
		t.Error("path was not selected")
	}
	if _, err := o.SelectPath(ctx, c, 3); !errors.Is(err, ErrInvalid) {
		t.Errorf("path 3: %v", err)
	}
	rule := service.Rule{NF: "Firewall", Action: "deny", Match: map[string]string{"src": "@web-1"}}
	if _, err := o.AddRule(ctx, c, rule); err != nil {
		t.Fatal(err)
	}
	only("add rule")
	if got := w.sw.Chains[0].Chain.Rules; len(got) != 3 || got[1].Match["src"] == "@web-1" || got[1].Action != "deny" {
		t.Errorf("rules: %+v", got)
	}
	if _, err := o.AddRule(ctx, c, rule); !errors.Is(err, ErrExists) {
		t.Errorf("the same rule: %v", err)
	}
	if _, err := o.DeleteRule(ctx, c, RuleID(rule)); err != nil {
		t.Fatal(err)
	}
	if _, err := o.DeleteRule(ctx, c, RuleID(rule)); !errors.Is(err, ErrNotFound) {
		t.Errorf("second delete: %v", err)
	}
	if _, err := o.AddRule(ctx, c, service.Rule{NF: "NAT", Action: "nonsense"}); err == nil {
		t.Error("a bad rule was added")
	}
	w.calls = nil
	if _, err := o.DeleteChain(ctx, c, 0); err != nil {
		t.Fatal(err)
	}
	only("delete chain")
	if len(w.sw.Chains) != 0 {
		t.Error("chain is still there")
	}
}

// Of rules added at the same time none is lost.
func TestRulesAddedAtOnce(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	o := w.start(&link{})
	if err := o.Apply(ctx, Request{Service: parse(t, shop)}); err != nil {
		t.Fatal(err)
	}
	c, err := o.Chain(ctx, "", "dc")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if _, err := o.AddRule(ctx, c, service.Rule{NF: "NAT", Action: "a", Priority: i}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(w.sw.Chains[0].Chain.Rules); n != 22 {
		t.Errorf("%d rules of 22", n)
	}
}

// Services do not disturb each other, and one that fails leaves the others on
// the switch.
func TestManyServicesAtOnce(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	l := &link{}
	o := w.start(l)
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			s := parse(t, fmt.Sprintf("name: s%d\nnetworks: [{name: n%d, subnet: 10.0.0.0/24}]\nservers: [{name: web%d, networks: [n%d]}]\nchains: [{name: c, request: A first}]", i, i, i, i))
			if err := o.Apply(ctx, Request{Service: s}); err != nil {
				t.Errorf("s%d: %v", i, err)
			}
		})
	}
	wg.Wait()
	seen := map[uint32]bool{}
	for _, c := range w.sw.Chains {
		seen[c.Number] = true
	}
	if len(w.sw.Chains) != 6 || len(seen) != 6 || len(w.sw.Ports) != 6 {
		t.Errorf("switch: %d chains, numbers %v, %d ports", len(w.sw.Chains), seen, len(w.sw.Ports))
	}
	if _, err := o.Chain(ctx, "", "c"); !errors.Is(err, ErrAmbiguous) {
		t.Errorf("ambiguous name: %v", err)
	}
	if c, err := o.Chain(ctx, "", "s3/c"); err != nil || c.Owner.Service != "s3" {
		t.Errorf("s3/c: %+v %v", c, err)
	}
	l.only, l.mode = "deploy", "fail"
	if err := o.Apply(ctx, Request{Service: parse(t, shop)}); !errors.Is(err, errInjected) {
		t.Errorf("%v", err)
	}
	if len(w.sw.Chains) != 6 || len(w.sw.Ports) != 6 {
		t.Errorf("after a failure: %d chains, %d ports", len(w.sw.Chains), len(w.sw.Ports))
	}
}

// What vanished from the cloud is made again by the next apply, with all that
// stood on it.
func TestRepair(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	o := w.start(&link{})
	if err := o.Apply(ctx, Request{Service: parse(t, shop)}); err != nil {
		t.Fatal(err)
	}
	for _, k := range []Key{{service.KindServer, "web-1"}, {service.KindPort, "web-2.back"}, {service.KindRouter, "r1"}} {
		delete(w.objects, k)
	}
	w.half[Key{service.KindFunction, "dns"}] = true
	w.calls = nil
	if err := o.Apply(ctx, Request{Service: parse(t, shop)}); err != nil {
		t.Fatal(err)
	}
	mustBe(t, w, parse(t, shop))
	for _, c := range []string{"create server web-1", "detach web-2.back", "create port web-2.back", "delete server web-2", "create server web-2", "create function dns", "create router r1"} {
		if !slices.Contains(w.calls, c) {
			t.Errorf("no %q in %q", c, w.calls)
		}
	}
	if slices.Contains(w.calls, "create network front") || slices.Contains(w.calls, "delete server web-1") {
		t.Errorf("too much: %q", w.calls)
	}
}

// The events of an apply tell of each object: pending, building, ACTIVE; and the
// service's own come first and last.
func TestEvents(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	o := w.start(&link{})
	s := parse(t, shop)
	var events []Event
	err := o.Stream(ctx, s.Owner(), func(e Event) error { events = append(events, e); return nil },
		func(ctx context.Context) error { return o.Apply(ctx, Request{Service: s}) })
	if err != nil {
		t.Fatal(err)
	}
	last := map[Key][]service.Status{}
	for _, e := range events {
		k := Key{e.Kind, e.Name}
		if l := last[k]; len(l) == 0 || l[len(l)-1] != e.Status {
			last[k] = append(l, e.Status)
		}
	}
	for k, want := range map[Key]string{
		{service.KindNetwork, "front"}:      "[pending building ACTIVE]",
		{service.KindServer, "web-2"}:       "[pending building ACTIVE]",
		{service.KindPort, "lb.back"}:       "[pending building ACTIVE]",
		{service.KindChain, "dc"}:           "[building ACTIVE]",
		{service.KindSwitch, "switch"}:      "[building ACTIVE]",
		{service.KindService, "shop"}:       "[building ACTIVE]",
		{service.KindFunction, "dns"}:       "[pending building ACTIVE]",
		{service.KindRouter, "r1"}:          "[pending building ACTIVE]",
		{service.Kind("attachment"), "any"}: "[]",
	} {
		if got := fmt.Sprint(last[k]); got != want {
			t.Errorf("%s: %s, want %s", k, got, want)
		}
	}
	if events[0].Kind != service.KindService || events[len(events)-1].Kind != service.KindService {
		t.Errorf("first %+v, last %+v", events[0], events[len(events)-1])
	}
}

// Closing with a deadline that has passed leaves an apply as a crash does.
func TestCloseInterrupts(t *testing.T) {
	w := newWorld(t)
	o := w.start(&link{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := o.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := o.Apply(context.Background(), Request{Service: parse(t, shop)}); !errors.Is(err, ErrClosed) {
		t.Errorf("apply after close: %v", err)
	}
}

// An object that vanishes while the rest is made fails the apply, which names it.
func TestVanishedWhileApplied(t *testing.T) {
	ctx := context.Background()
	for _, k := range []Key{{service.KindPort, "web-1.back"}, {service.KindServer, "web-1"}, {service.KindNetwork, "front"}} {
		w := newWorld(t)
		o := w.start(&link{during: "deploy", loses: k})
		err := o.Apply(ctx, Request{Service: parse(t, shop)})
		var back *RolledBackError
		if !errors.As(err, &back) || !strings.Contains(err.Error(), k.String()+": it has vanished") {
			t.Errorf("%s vanishes: %v", k, err)
		}
		if len(w.objects)+len(w.attached) > 0 {
			t.Errorf("%s vanishes: %v and %v are left", k, w.objects, w.attached)
		}
		if err := o.Apply(ctx, Request{Service: parse(t, shop)}); err != nil {
			t.Errorf("again: %v", err)
		}
	}
}

// What was made a moment ago is not asked for again where the cloud is to be spared.
func TestTrustFor(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		w := newWorld(t)
		l := &link{}
		o := w.start(l)
		if trusted {
			o.trustFor = time.Hour
		}
		if err := o.Apply(context.Background(), Request{Service: parse(t, shop)}); err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{false: 2, true: 1}[trusted]; l.observed != want {
			t.Errorf("trusted %t: the cloud was asked %d times what there is, not %d", trusted, l.observed, want)
		}
	}
}

// Closing does not wait for a step that does not stop, and the next controller
// takes its change up.
func TestCloseLeavesStuckStepsBehind(t *testing.T) {
	w := newWorld(t)
	l := &link{mode: "hang", only: "create server web-1", hung: make(chan struct{}), resume: make(chan struct{})}
	o := w.start(l)
	o.grace = 10 * time.Millisecond
	ended := make(chan error, 1)
	go func() { ended <- o.Apply(context.Background(), Request{Service: parse(t, shop)}) }()
	<-l.hung
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := o.Close(ctx); !errors.Is(err, ErrStuck) {
		t.Errorf("close: %v, want ErrStuck", err)
	}
	l.mu.Lock()
	l.dead = true // the process ends
	l.mu.Unlock()
	close(l.resume)
	if err := <-ended; err == nil {
		t.Error("the apply that hung succeeded")
	}
	next := w.start(&link{})
	if err := next.Recover(context.Background()); err != nil {
		t.Fatal(err)
	}
	st, err := next.Get(context.Background(), service.Owner{Project: "default", Service: "shop"})
	if err != nil || st.Status != service.StatusActive {
		t.Errorf("%+v, %v", st, err)
	}
	if err := next.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestNumbersAreReused(t *testing.T) {
	a, b := parse(t, shop), parse(t, strings.Replace(shop, "name: shop", "name: other", 1))
	n, err := numbers{}.assign(a)
	if err != nil {
		t.Fatal(err)
	}
	if n, err = n.assign(b); err != nil {
		t.Fatal(err)
	}
	if n.get(chainNumber, b.Owner(), "dc") != 2 || n.get(portNumber, a.Owner(), "lb.front") != 1 {
		t.Errorf("%v", n)
	}
	n = n.release(a.Owner())
	if n.get(chainNumber, b.Owner(), "dc") != 2 || len(n) != len(numbered(b)) {
		t.Errorf("%v", n)
	}
	if n, err = n.assign(a); err != nil || n.get(chainNumber, a.Owner(), "dc") != 1 {
		t.Errorf("%v %v", n, err)
	}
	big := parse(t, "name: big\nnetworks: [{name: n, subnet: 10.0.0.0/16}]\nservers: [{name: s, count: 600, networks: [n]}]")
	if _, err := n.assign(big); err == nil || !strings.Contains(err.Error(), "full") {
		t.Errorf("600 ports: %v", err)
	}
}

func TestFunctionSpecsAreResolved(t *testing.T) {
	s := parse(t, shop)
	addrs, err := s.Addresses(nil)
	if err != nil {
		t.Fatal(err)
	}
	d := desired{Service: s, Addresses: addrs, Numbers: numbers{}}
	lb := d.function(&s.Functions[0]).LoadBalancer
	if fmt.Sprint(lb.Members) != "[{web-1 10.0.2.11:80} {web-2 10.0.2.12:80}]" {
		t.Errorf("members %v", lb.Members)
	}
	dns := d.function(&s.Functions[1]).DNS
	if fmt.Sprint(dns.Records) != "[{dns 10.0.1.11} {lb 10.0.1.10} {web 10.0.2.11} {web 10.0.2.12} {web-1 10.0.2.11} {web-2 10.0.2.12}]" {
		t.Errorf("records %v", dns.Records)
	}
	p := d.port("web-1", service.KindServer, "back")
	if p.Gateway != netip.MustParseAddr("10.0.2.1") || fmt.Sprint(p.DNS) != "[10.0.1.11]" || p.IP.String() != "10.0.2.11/24" {
		t.Errorf("port %+v", p)
	}
}
