package orch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/service"
)

// world is everything outside of the controller: it survives the controller's
// crash. It checks the contract of ports.go while it is used: nothing is made
// before, or removed after, what it depends on.
type world struct {
	t  *testing.T
	mu sync.Mutex

	objects  map[Key]any // by kind and name, which differ in all tests: the spec it was made with
	owners   map[Key]service.Owner
	half     map[Key]bool
	attached map[string]uint32
	sw       service.SwitchConfig
	kv       map[string]KV
	revision int64

	calls []string // all that changed something, in order
}

func newWorld(t *testing.T) *world {
	return &world{t: t, objects: map[Key]any{}, owners: map[Key]service.Owner{}, half: map[Key]bool{}, attached: map[string]uint32{}, kv: map[string]KV{}}
}

var errCrash = errors.New("crashed")
var errInjected = errors.New("injected failure")

// link is one controller's connection to the world. It can fail at the n-th
// call, once, or cut the controller off from there on, before or after the
// call's effect.
type link struct {
	w        *world
	mu       sync.Mutex
	n        int
	failAt   int           // 0: never
	mode     string        // "fail", "fail-after", "crash", "crash-after", "hang"
	hung     chan struct{} // of mode "hang": closed by the call, which ends when resume is closed
	resume   chan struct{}
	dead     bool
	failed   string // the call that failed
	only     string // fail at the first call with this prefix instead
	observed int    // calls of Observe
	during   string // at the first call with this prefix, an object vanishes: loses
	loses    Key
}

// call runs one call's effect, or injects the fault.
func (l *link) call(ctx context.Context, name string, effect func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	if l.dead {
		l.mu.Unlock()
		return errCrash
	}
	l.n++
	hit := l.n == l.failAt || l.only != "" && strings.HasPrefix(name, l.only) && l.failed == ""
	if hit {
		l.failed = name
		if strings.HasPrefix(l.mode, "crash") {
			l.dead = true
		}
	}
	l.mu.Unlock()
	if hit && l.mode == "hang" { // whatever the context says
		close(l.hung)
		<-l.resume
		return errInjected
	}
	fault := errInjected
	if strings.HasPrefix(l.mode, "crash") {
		fault = errCrash
	}
	if hit && !strings.HasSuffix(l.mode, "after") {
		return fault
	}
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	if l.during != "" && strings.HasPrefix(name, l.during) {
		delete(l.w.objects, l.loses)
		l.during = ""
	}
	l.w.calls = append(l.w.calls, name)
	if err := effect(); err != nil {
		return err
	}
	if hit {
		return fault
	}
	return nil
}

func (l *link) make(ctx context.Context, o service.Owner, k Key, spec any, needs ...Key) error {
	return l.call(ctx, "create "+k.String(), func() error {
		for _, n := range needs {
			if l.w.objects[n] == nil {
				l.w.t.Errorf("%s is made before %s", k, n)
			}
		}
		l.w.objects[k], l.w.owners[k] = spec, o
		delete(l.w.half, k)
		return nil
	})
}

// Lacks refuses one name, so that tests can see it refused.
func (l *link) Lacks(s *service.Service) []service.Problem {
	if s.Name != "unsupported" {
		return nil
	}
	return []service.Problem{{Path: "name", Code: service.CodeValue, Message: "the world has nothing of this name"}}
}

func (l *link) CreateNetwork(ctx context.Context, o service.Owner, n service.Network) error {
	return l.make(ctx, o, Key{service.KindNetwork, n.Name}, n)
}

func (l *link) CreateSecurityGroup(ctx context.Context, o service.Owner, g service.SecurityGroup) (string, error) {
	return "id-" + g.Name, l.make(ctx, o, Key{service.KindSecurityGroup, g.Name}, g)
}

// rules are a group's, another object than the group.
type rules service.SecurityGroup

func (l *link) CreateSecurityRules(ctx context.Context, o service.Owner, g service.SecurityGroup) error {
	needs := []Key{{service.KindSecurityGroup, g.Name}}
	for _, r := range g.Rules {
		if r.RemoteGroup != "" {
			needs = append(needs, Key{service.KindSecurityGroup, r.RemoteGroup})
		}
	}
	return l.make(ctx, o, Key{service.KindSecurityRules, g.Name}, rules(g), needs...)
}

func (l *link) CreateKeyPair(ctx context.Context, o service.Owner, k service.KeyPair) error {
	return l.make(ctx, o, Key{service.KindKeyPair, k.Name}, k)
}

// CreateFloatingIP as Neutron does it: the port's network must be behind a router that
// leads to the external network.
func (l *link) CreateFloatingIP(ctx context.Context, o service.Owner, s service.FloatingIPSpec) error {
	l.w.mu.Lock()
	r, _ := l.w.objects[Key{service.KindRouter, s.Router}].(service.Router)
	l.w.mu.Unlock()
	if r.External != s.External || !slices.Contains(r.Networks, s.Port.Network) {
		l.w.t.Errorf("floating IP %s of %s is made on router %+v", s.Name, s.External, r)
	}
	return l.make(ctx, o, Key{service.KindFloatingIP, s.Name}, s, Key{service.KindPort, s.Name}, Key{service.KindRouter, s.Router})
}

func (l *link) CreateRouter(ctx context.Context, o service.Owner, r service.Router) error {
	var needs []Key
	for _, n := range r.Networks {
		needs = append(needs, Key{service.KindNetwork, n})
	}
	l.w.mu.Lock()
	for k, spec := range l.w.objects {
		f, ok := spec.(service.FloatingIPSpec)
		_, there := l.w.objects[Key{service.KindPort, f.Name}]
		if ok && there && f.Router == r.Name && (f.External != r.External || !slices.Contains(r.Networks, f.Port.Network)) {
			l.w.t.Errorf("router %s becomes %+v while it holds %s", r.Name, r, k)
		}
	}
	l.w.mu.Unlock()
	return l.make(ctx, o, Key{service.KindRouter, r.Name}, r, needs...)
}

func (l *link) CreatePort(ctx context.Context, o service.Owner, s service.PortSpec) (service.Port, error) {
	p := service.Port{PortSpec: s, ID: "id-" + s.Name, Link: "v-" + s.Name, Netns: s.Device}
	return p, l.make(ctx, o, Key{service.KindPort, s.Name}, s, portAfter(s)...)
}

func portKeys(ports []service.Port) []Key {
	var out []Key
	for _, p := range ports {
		out = append(out, Key{service.KindPort, p.Name})
	}
	return out
}

func (l *link) CreateServer(ctx context.Context, o service.Owner, s service.ServerSpec) error {
	if len(s.Ports) == 0 {
		l.w.t.Errorf("server %s has no ports", s.Name)
	}
	needs := portKeys(s.Ports)
	if s.KeyPair != "" {
		needs = append(needs, Key{service.KindKeyPair, s.KeyPair})
	}
	return l.make(ctx, o, Key{service.KindServer, s.Name}, s, needs...)
}

func (l *link) CreateFunction(ctx context.Context, o service.Owner, s service.FunctionSpec) error {
	return l.make(ctx, o, Key{service.KindFunction, s.Name}, s, portKeys(s.Ports)...)
}

func (l *link) Delete(ctx context.Context, o service.Owner, kind service.Kind, name string) error {
	k := Key{kind, name}
	return l.call(ctx, "delete "+k.String(), func() error {
		for other, spec := range l.w.objects {
			if dependsOn(spec, k) {
				l.w.t.Errorf("%s is deleted before %s", k, other)
			}
		}
		if kind == service.KindPort {
			if _, ok := l.w.attached[name]; ok {
				l.w.t.Errorf("port %s is deleted while it is attached", name)
			}
		}
		l.w.lose(k)
		return nil
	})
}

// lose removes an object. A port's floating IP stays, and leads nowhere.
func (w *world) lose(k Key) {
	if f := (Key{service.KindFloatingIP, k.Name}); k.Kind == service.KindPort && w.objects[f] != nil {
		w.half[f] = true
	}
	delete(w.objects, k)
	delete(w.half, k)
}

func dependsOn(spec any, k Key) bool {
	switch s := spec.(type) {
	case service.Router:
		return k.Kind == service.KindNetwork && slices.Contains(s.Networks, k.Name)
	case service.PortSpec:
		return slices.Contains(portAfter(s), k)
	case rules:
		if k == (Key{service.KindSecurityGroup, s.Name}) {
			return true
		}
		return k.Kind == service.KindSecurityGroup && slices.ContainsFunc(s.Rules, func(r service.SecurityRule) bool { return r.RemoteGroup == k.Name })
	case service.FloatingIPSpec:
		return k == Key{service.KindRouter, s.Router}
	case service.ServerSpec:
		return slices.Contains(portKeys(s.Ports), k)
	case service.FunctionSpec:
		return slices.Contains(portKeys(s.Ports), k)
	}
	return false
}

// Observe reports what is looked for only when it is.
func (l *link) Observe(ctx context.Context, o service.Owner, also ...service.Kind) (service.Observation, error) {
	var obs service.Observation
	err := l.call(ctx, "observe", func() error {
		l.observed++
		for k := range l.w.objects {
			if l.w.owners[k] != o {
				continue
			}
			kind := k.Kind
			if kind == service.KindSecurityRules {
				kind = service.KindSecurityGroup
			}
			asked := kind != service.KindSecurityGroup && kind != service.KindKeyPair && kind != service.KindFloatingIP
			if !asked && !slices.Contains(also, kind) {
				continue
			}
			status := service.StatusActive
			switch {
			case l.w.half[k] && k.Kind == service.KindFloatingIP:
				status = service.StatusChanged
			case l.w.half[k]:
				status = service.StatusError
			}
			obs.Objects = append(obs.Objects, service.Object{Kind: k.Kind, Name: k.Name, Status: status})
		}
		return nil
	})
	slices.SortFunc(obs.Objects, func(a, b service.Object) int {
		return compareKeys(Key{a.Kind, a.Name}, Key{b.Kind, b.Name})
	})
	return obs, err
}

func (l *link) Attach(ctx context.Context, o service.Owner, number uint32, p service.Port) error {
	return l.call(ctx, "attach "+p.Name, func() error {
		if l.w.objects[Key{service.KindPort, p.Name}] == nil {
			return fmt.Errorf("no link %s", p.Link)
		}
		for other, n := range l.w.attached {
			if n == number && other != p.Name {
				l.w.t.Errorf("port number %d of %s is that of %s", number, p.Name, other)
			}
		}
		l.w.attached[p.Name] = number
		return nil
	})
}

func (l *link) Detach(ctx context.Context, o service.Owner, port string) error {
	return l.call(ctx, "detach "+port, func() error {
		delete(l.w.attached, port)
		return nil
	})
}

func (l *link) Check(ctx context.Context, cfg service.SwitchConfig) error {
	var errs []error
	for _, c := range cfg.Chains {
		for i, r := range c.Chain.Rules {
			if r.Action == "unfit" {
				errs = append(errs, &service.ChainError{Owner: c.Owner, Chain: c.Chain.Name, Field: fmt.Sprintf("rules[%d].action", i), Err: errors.New("does not fit")})
			}
		}
	}
	return errors.Join(errs...)
}

func (l *link) Prepare(ctx context.Context, cfg service.SwitchConfig, progress func(service.Stage)) error {
	return l.call(ctx, "prepare", func() error {
		progress(service.Stage{Name: "compile", Duration: time.Millisecond})
		return nil
	})
}

func (l *link) Deploy(ctx context.Context, cfg service.SwitchConfig, progress func(service.Stage)) (service.SwitchReport, error) {
	var report service.SwitchReport
	err := l.call(ctx, "deploy", func() error {
		for _, p := range cfg.Ports {
			if n, ok := l.w.attached[p.Port.Name]; ok && n != p.Number {
				l.w.t.Errorf("port %s is attached as %d and configured as %d", p.Port.Name, n, p.Number)
			}
			if p.Number == 0 || p.Network == 0 {
				l.w.t.Errorf("port %s has no numbers: %+v", p.Port.Name, p)
			}
		}
		report.Recompiled = len(cfg.Chains) != len(l.w.sw.Chains)
		l.w.sw = cfg
		return nil
	})
	return report, err
}

func (l *link) State(ctx context.Context) (service.SwitchState, error) {
	var st service.SwitchState
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	for _, c := range l.w.sw.Chains {
		st.Chains = append(st.Chains, service.ChainState{Owner: c.Owner, Name: c.Chain.Name, Number: c.Number, Paths: [][]int{{1, 2}, {1, 3}}, Packets: 7})
	}
	st.NFs = []service.NFState{{Node: 1, NF: "LB"}, {Node: 2, NF: "Firewall"}, {Node: 3, NF: "NAT"}}
	return st, nil
}

// library is what the tests' chains and rules use.
var library = func() []service.NFInfo {
	keys := []service.NFKey{{Name: "src", Match: "ternary", Bits: 32}}
	table := func(actions ...service.NFAction) []service.NFTable {
		return []service.NFTable{{Name: "t", Keys: keys, Actions: actions}}
	}
	return []service.NFInfo{
		{Name: "A", Tables: table()}, {Name: "B", Tables: table()}, {Name: "L3fwd", Tables: table()}, {Name: "LB", Tables: table()},
		{Name: "Firewall", Tables: table(service.NFAction{Name: "allow"}, service.NFAction{Name: "deny"}, service.NFAction{Name: "unfit"})},
		{Name: "NAT", Tables: table(service.NFAction{Name: "a"}, service.NFAction{Name: "snat", Params: []service.NFParam{{Name: "addr", Bits: 32}}})},
	}
}()

func (l *link) NFs(context.Context) ([]service.NFInfo, error) { return library, nil }

// The store.

func (l *link) Get(ctx context.Context, key string) (kv KV, ok bool, err error) {
	err = l.read(func() { kv, ok = l.w.kv[key] })
	return kv, ok, err
}

func (l *link) read(f func()) error {
	l.mu.Lock()
	dead := l.dead
	l.mu.Unlock()
	if dead {
		return errCrash
	}
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	f()
	return nil
}

func (l *link) List(ctx context.Context, prefix string) (out []KV, err error) {
	err = l.read(func() {
		for k, kv := range l.w.kv {
			if strings.HasPrefix(k, prefix) {
				out = append(out, kv)
			}
		}
	})
	sort.Slice(out, func(i, j int) bool { return out[i].Key < out[j].Key })
	return out, err
}

func (l *link) Put(ctx context.Context, key string, value []byte) error {
	_, err := l.Txn(ctx, nil, map[string][]byte{key: value}, nil)
	return err
}

// DeleteKey is Store.Delete; the name is Cloud's here.
type linkStore struct{ *link }

func (s linkStore) Delete(ctx context.Context, key string) error {
	_, err := s.Txn(ctx, nil, nil, []string{key})
	return err
}

func (l *link) Txn(ctx context.Context, expect map[string]int64, puts map[string][]byte, deletes []string) (ok bool, err error) {
	name := "store"
	for k := range puts {
		name += " " + k
	}
	err = l.call(ctx, name, func() error {
		for k, rev := range expect {
			if l.w.kv[k].Revision != rev {
				return nil
			}
		}
		ok = true
		l.w.revision++
		for k, v := range puts {
			l.w.kv[k] = KV{Key: k, Value: v, Revision: l.w.revision}
		}
		for _, k := range deletes {
			delete(l.w.kv, k)
		}
		return nil
	})
	return ok, err
}

func (l *link) Watch(context.Context, string) (<-chan KV, error) { return nil, errors.ErrUnsupported }

// start gives a controller on the world, with a fault.
func (w *world) start(l *link) *Orchestrator {
	l.w = w
	return New(Config{Cloud: l, Node: l, Fabric: l, Store: linkStore{l}, Parallel: 4})
}

// is reports how the world differs from one in which exactly these services are
// deployed; "" for not at all.
func (w *world) is(services ...*service.Service) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	want := map[Key]any{}
	attached := map[string]bool{}
	chains, ports := 0, 0
	for _, s := range services {
		n, err := numbers{}.assign(s)
		if err != nil {
			return err.Error()
		}
		var rec ServiceRecord
		if err := json.Unmarshal(w.kv[serviceKey(s.Owner())].Value, &rec); err != nil {
			return fmt.Sprintf("no record of %s: %v", s.Name, err)
		}
		if rec.Status != service.StatusActive {
			return fmt.Sprintf("%s is %s", s.Name, rec.Status)
		}
		objs, err := desired{Service: s, Addresses: rec.Addresses, Numbers: n}.objects()
		if err != nil {
			return err.Error()
		}
		for _, o := range objs {
			switch {
			case o.Network != nil:
				want[o.Key] = *o.Network
			case o.Router != nil:
				want[o.Key] = *o.Router
			case o.SecurityGroup != nil:
				want[o.Key] = *o.SecurityGroup
			case o.SecurityRules != nil:
				want[o.Key] = rules(*o.SecurityRules)
			case o.KeyPair != nil:
				want[o.Key] = *o.KeyPair
			case o.FloatingIP != nil:
				want[o.Key] = *o.FloatingIP
			case o.Port != nil:
				want[o.Key] = *o.Port
				ports++
			case o.Server != nil:
				want[o.Key] = *o.Server
			case o.Function != nil:
				want[o.Key] = *o.Function
			case o.Key.Kind == kindAttachment:
				attached[o.Key.Name] = true
			}
		}
		chains += len(s.Chains)
	}
	for k, v := range want {
		got := w.objects[k]
		switch g := got.(type) { // ports are filled in when they are made
		case service.FloatingIPSpec:
			if g.Port.Name != k.Name || g.Port.PortSpec.IP != w.objects[Key{service.KindPort, k.Name}].(service.PortSpec).IP {
				return fmt.Sprintf("%s leads to %+v", k, g.Port)
			}
			g.Port = service.Port{}
			got = g
		case service.ServerSpec:
			g.Ports = nil
			got = g
		case service.FunctionSpec:
			g.Ports = nil
			got = g
		}
		if !reflect.DeepEqual(got, v) {
			return fmt.Sprintf("%s is %+v, want %+v", k, got, v)
		}
	}
	for k := range w.objects {
		if _, ok := want[k]; !ok {
			return fmt.Sprintf("%s is left behind", k)
		}
		if w.half[k] && k.Kind == service.KindFloatingIP {
			return fmt.Sprintf("%s leads nowhere", k)
		}
	}
	for p := range w.attached {
		if !attached[p] {
			return fmt.Sprintf("port %s is still attached", p)
		}
	}
	if len(w.attached) != len(attached) || len(w.sw.Ports) != ports || len(w.sw.Chains) != chains {
		return fmt.Sprintf("%d ports attached, %d on the switch, %d chains; want %d, %d, %d",
			len(w.attached), len(w.sw.Ports), len(w.sw.Chains), len(attached), ports, chains)
	}
	for k := range w.kv {
		if strings.HasPrefix(k, appliesPrefix) {
			return "unfinished: " + k
		}
		if len(services) == 0 && k != numbersKey {
			return "left in the store: " + k
		}
	}
	if len(services) == 0 && len(w.kv) > 0 && string(w.kv[numbersKey].Value) != "{}" {
		return fmt.Sprintf("numbers left: %s", w.kv[numbersKey].Value)
	}
	return ""
}
