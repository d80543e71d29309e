// Package cloudtest is the conformance suite of cloud drivers: what the
// orchestrator relies on when it creates, observes and deletes objects, whatever
// the cloud is. A driver's tests call Run.
package cloudtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/service"
)

// Cloud is the interface under test; its contract stands at orch.Cloud.
type Cloud interface {
	CreateNetwork(context.Context, service.Owner, service.Network) error
	CreateSecurityGroup(context.Context, service.Owner, service.SecurityGroup) (id string, err error)
	CreateSecurityRules(context.Context, service.Owner, service.SecurityGroup) error
	CreateKeyPair(context.Context, service.Owner, service.KeyPair) error
	CreateRouter(context.Context, service.Owner, service.Router) error
	CreateFloatingIP(context.Context, service.Owner, service.FloatingIPSpec) error
	CreatePort(context.Context, service.Owner, service.PortSpec) (service.Port, error)
	CreateServer(context.Context, service.Owner, service.ServerSpec) error
	CreateFunction(context.Context, service.Owner, service.FunctionSpec) error
	Delete(ctx context.Context, owner service.Owner, kind service.Kind, name string) error
	Observe(ctx context.Context, owner service.Owner, also ...service.Kind) (service.Observation, error)
}

// Fixture is one empty cloud with the means to look behind it.
type Fixture struct {
	Cloud Cloud
	// Restart gives up the driver as if its process had been killed, and returns
	// a new one on the same cloud.
	Restart func() Cloud
	// Leftovers lists what exists in the cloud beyond the records of services,
	// by any means but the driver itself. Nil when that cannot be known.
	Leftovers func() []string
	// External is the name of an external network; "": the cloud has none.
	External string
	// BadCommand is a command with which a server cannot become ACTIVE, and
	// BadCommandSays a part of the error's text that tells why. Empty when the
	// cloud does not run commands.
	BadCommand     []string
	BadCommandSays string
	// Damage destroys an object behind the driver's back. What is left of it is
	// observed in ERROR; in a cloud that is Traceless nothing is left and observed.
	Damage    func(owner service.Owner, kind service.Kind, name string)
	Traceless bool
	// Identity tells an object apart from another one made in its place, by any
	// means but the driver itself. Of a function whose program is replaced
	// without refusing a connection it stays the same. Nil when that cannot be known.
	Identity func(owner service.Owner, kind service.Kind, name string) string
	// Patience is how long one call may take.
	Patience time.Duration
}

// Run runs the suite. factory makes a fresh cloud for every scenario, and skips
// the test when this machine cannot have one.
func Run(t *testing.T, factory func(t *testing.T) Fixture) {
	for _, s := range []struct {
		name string
		run  func(*testing.T, *bench)
	}{
		{"create, observe, delete", createObserveDelete},
		{"create again", createAgain},
		{"create differently", createDifferently},
		{"change in place", changeInPlace},
		{"delete in any order", deleteInAnyOrder},
		{"delete what is not there", deleteNothing},
		{"services do not meet", owners},
		{"failure is named and cleaned up", failure},
		{"missing ports", missingPorts},
		{"cancelled calls", cancelled},
		{"damage is seen and repaired", damage},
		{"restart at every point", restart},
	} {
		t.Run(s.name, func(t *testing.T) {
			f := factory(t)
			if f.Patience == 0 {
				f.Patience = 30 * time.Second
			}
			s.run(t, &bench{Fixture: f, t: t})
		})
	}
}

// bench is a fixture with helpers that end the test on failure.
type bench struct {
	Fixture
	t *testing.T
}

func (b *bench) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), b.Patience)
	b.t.Cleanup(cancel)
	return ctx
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) observe(o service.Owner) service.Observation {
	b.t.Helper()
	seen, err := b.Cloud.Observe(b.ctx(), o, service.KindSecurityGroup, service.KindKeyPair, service.KindFloatingIP)
	b.must(err)
	if !sort.SliceIsSorted(seen.Objects, func(i, j int) bool {
		x, y := seen.Objects[i], seen.Objects[j]
		return x.Kind < y.Kind || x.Kind == y.Kind && x.Name < y.Name
	}) {
		b.t.Errorf("objects are not sorted: %v", seen.Objects)
	}
	if !sort.SliceIsSorted(seen.Ports, func(i, j int) bool { return seen.Ports[i].Name < seen.Ports[j].Name }) {
		b.t.Errorf("ports are not sorted: %v", seen.Ports)
	}
	return seen
}

// states renders an observation in one line: "kind/name status, …".
func states(seen service.Observation) string {
	var all []string
	for _, o := range seen.Objects {
		all = append(all, fmt.Sprintf("%s/%s %s", o.Kind, o.Name, o.Status))
	}
	return strings.Join(all, ", ")
}

// clean checks that nothing is left of the owners and in the cloud.
func (b *bench) clean(owners ...service.Owner) {
	b.t.Helper()
	for _, o := range owners {
		if seen := b.observe(o); len(seen.Objects)+len(seen.Ports) > 0 {
			b.t.Errorf("%s still has: %s", o, states(seen))
		}
	}
	if b.Leftovers == nil {
		return
	}
	if left := b.Leftovers(); len(left) > 0 {
		b.t.Errorf("left behind: %s", strings.Join(left, ", "))
	}
}

// create makes the whole plan, what can be parallel in parallel, as the
// orchestrator does.
func (b *bench) create(p *plan) error {
	ctx := b.ctx()
	for _, n := range p.networks {
		if err := b.Cloud.CreateNetwork(ctx, p.owner, n); err != nil {
			return err
		}
	}
	if err := parallel(len(p.groups), func(i int) error {
		id, err := b.Cloud.CreateSecurityGroup(ctx, p.owner, p.groups[i])
		if err == nil && id == "" {
			err = fmt.Errorf("security group %q has no id", p.groups[i].Name)
		}
		return err
	}); err != nil {
		return err
	}
	if err := parallel(len(p.groups), func(i int) error { return b.Cloud.CreateSecurityRules(ctx, p.owner, p.groups[i]) }); err != nil {
		return err
	}
	for _, k := range p.keyPairs {
		if err := b.Cloud.CreateKeyPair(ctx, p.owner, k); err != nil {
			return err
		}
	}
	for _, r := range p.routers {
		if err := b.Cloud.CreateRouter(ctx, p.owner, r); err != nil {
			return err
		}
	}
	ports := make([]service.Port, len(p.ports))
	if err := parallel(len(p.ports), func(i int) (err error) {
		ports[i], err = b.Cloud.CreatePort(ctx, p.owner, p.ports[i])
		return err
	}); err != nil {
		return err
	}
	p.made = map[string]service.Port{}
	for _, port := range ports {
		p.made[port.Name] = port
	}
	for i := range p.floating {
		if err := b.Cloud.CreateFloatingIP(ctx, p.owner, p.floatingIP(i)); err != nil {
			return err
		}
	}
	return parallel(len(p.servers)+len(p.functions), func(i int) error {
		if i < len(p.servers) {
			return b.Cloud.CreateServer(ctx, p.owner, p.server(i))
		}
		return b.Cloud.CreateFunction(ctx, p.owner, p.function(i-len(p.servers)))
	})
}

func (b *bench) delete(o service.Owner, objects []object) error {
	ctx := b.ctx()
	for _, obj := range objects {
		if err := b.Cloud.Delete(ctx, o, obj.kind, obj.name); err != nil {
			return err
		}
	}
	return nil
}

// parallel calls f(0) … f(n-1) at once and joins their errors.
func parallel(n int, f func(int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func createObserveDelete(t *testing.T, b *bench) {
	p := b.shop("shop")
	b.must(b.create(p))
	seen := b.observe(p.owner)
	want := map[string]bool{}
	for _, o := range p.objects() {
		want[fmt.Sprintf("%s/%s", o.kind, o.name)] = true
	}
	for _, o := range seen.Objects {
		key := fmt.Sprintf("%s/%s", o.Kind, o.Name)
		if !want[key] {
			t.Errorf("unexpected object %s", key)
		}
		delete(want, key)
		if o.Status != service.StatusActive {
			t.Errorf("%s is %s: %s", key, o.Status, o.Message)
		}
		if o.ID == "" {
			t.Errorf("%s has no id", key)
		}
		if o.Address.IsValid() != (o.Kind == service.KindFloatingIP) {
			t.Errorf("%s has the address %s", key, o.Address)
		}
	}
	for key := range want {
		t.Errorf("%s is not observed", key)
	}
	if len(seen.Ports) != len(p.ports) {
		t.Errorf("%d ports are observed, want %d", len(seen.Ports), len(p.ports))
	}
	links := map[string]string{}
	for _, port := range seen.Ports {
		if !reflect.DeepEqual(port, p.made[port.Name]) {
			t.Errorf("observed port\n%+v, created\n%+v", port, p.made[port.Name])
		}
		if port.ID == "" || port.Node == "" || port.Link == "" {
			t.Errorf("port %q cannot be reached: %+v", port.Name, port)
		}
		if other, taken := links[port.Node+"/"+port.Link]; taken {
			t.Errorf("ports %q and %q share link %s", port.Name, other, port.Link)
		}
		links[port.Node+"/"+port.Link] = port.Name
	}
	b.must(b.delete(p.owner, p.backwards()))
	b.clean(p.owner)
	b.must(b.delete(p.owner, p.backwards()))
	b.must(b.create(p))
	b.must(b.delete(p.owner, p.backwards()))
	b.clean(p.owner)
}

func createAgain(t *testing.T, b *bench) {
	p := b.shop("again")
	b.must(b.create(p))
	first, ports := b.observe(p.owner), p.made
	b.must(b.create(p))
	if second := b.observe(p.owner); !reflect.DeepEqual(first, second) {
		t.Errorf("creating again changed\n%+v\ninto\n%+v", first, second)
	}
	if !reflect.DeepEqual(ports, p.made) {
		t.Errorf("creating again returned\n%+v, the first time\n%+v", p.made, ports)
	}
	b.must(b.delete(p.owner, p.backwards()))
	b.clean(p.owner)
}

func createDifferently(t *testing.T, b *bench) {
	p := b.shop("change")
	b.must(b.create(p))
	// Every function's configuration, and a server's address and port.
	p.change()
	b.must(b.create(p))
	seen := b.observe(p.owner)
	for _, o := range seen.Objects {
		if o.Status != service.StatusActive {
			t.Errorf("%s %q is %s after the change: %s", o.Kind, o.Name, o.Status, o.Message)
		}
	}
	for _, port := range seen.Ports {
		if !reflect.DeepEqual(port, p.made[port.Name]) {
			t.Errorf("observed port\n%+v, created\n%+v", port, p.made[port.Name])
		}
	}
	b.must(b.delete(p.owner, p.backwards()))
	b.clean(p.owner)
}

// changeInPlace repeats creates with what can be changed while the object exists:
// nothing may be replaced by that, above all no instance.
func changeInPlace(t *testing.T, b *bench) {
	p := b.shop("inplace")
	b.must(b.create(p))
	ids := map[object]string{}
	for _, o := range b.observe(p.owner).Objects {
		ids[object{o.Kind, o.Name}] = o.ID
	}
	look := func() map[object]string {
		out := map[object]string{}
		for _, o := range p.objects() {
			if b.Identity != nil {
				out[o] = b.Identity(p.owner, o.kind, o.name)
			}
		}
		return out
	}
	identity := look()
	p.changeInPlace()
	// What has changed is created again, what has not is left alone: the servers.
	for _, n := range p.networks {
		b.must(b.Cloud.CreateNetwork(b.ctx(), p.owner, n))
	}
	for _, g := range p.groups {
		_, err := b.Cloud.CreateSecurityGroup(b.ctx(), p.owner, g)
		b.must(err)
	}
	for _, g := range p.groups {
		b.must(b.Cloud.CreateSecurityRules(b.ctx(), p.owner, g))
	}
	for _, r := range p.routers {
		b.must(b.Cloud.CreateRouter(b.ctx(), p.owner, r))
	}
	for _, spec := range p.ports {
		port, err := b.Cloud.CreatePort(b.ctx(), p.owner, spec)
		b.must(err)
		if old := p.made[spec.Name]; !reflect.DeepEqual(port.PortSpec, spec) || port.ID != old.ID || port.Link != old.Link {
			t.Errorf("port\n%+v became\n%+v, asked for\n%+v", old, port, spec)
		}
		p.made[spec.Name] = port
	}
	for i := range p.functions {
		b.must(b.Cloud.CreateFunction(b.ctx(), p.owner, p.function(i)))
	}
	check := func(when string) {
		t.Helper()
		seen := b.observe(p.owner)
		for _, o := range seen.Objects {
			if key := (object{o.Kind, o.Name}); o.Status != service.StatusActive || o.ID != ids[key] {
				t.Errorf("%s: %s %q is %s (%s), id %q, it was %q", when, o.Kind, o.Name, o.Status, o.Message, o.ID, ids[key])
			}
		}
		for _, port := range seen.Ports {
			if !reflect.DeepEqual(port, p.made[port.Name]) {
				t.Errorf("%s: observed port\n%+v, created\n%+v", when, port, p.made[port.Name])
			}
		}
		if now := look(); !reflect.DeepEqual(now, identity) {
			t.Errorf("%s: objects were made anew:\n%v, before\n%v", when, now, identity)
		}
	}
	check("after the change")
	// The servers are as before, but for what their ports have become.
	for i := range p.servers {
		b.must(b.Cloud.CreateServer(b.ctx(), p.owner, p.server(i)))
	}
	check("after the servers were asked for again")
	b.must(b.delete(p.owner, p.backwards()))
	b.clean(p.owner)
}

func deleteInAnyOrder(t *testing.T, b *bench) {
	p := b.shop("order")
	forwards := p.objects()
	b.must(b.create(p))
	b.must(b.delete(p.owner, forwards))
	b.clean(p.owner)
	b.must(b.create(p))
	ctx := b.ctx()
	b.must(parallel(len(forwards), func(i int) error {
		return b.Cloud.Delete(ctx, p.owner, forwards[i].kind, forwards[i].name)
	}))
	b.clean(p.owner)
}

func deleteNothing(_ *testing.T, b *bench) {
	p := b.shop("none")
	b.must(b.delete(p.owner, p.backwards()))
	b.clean(p.owner)
}

func owners(t *testing.T, b *bench) {
	one, two := b.shop("one"), b.shop("two")
	two.owner.Project = "other"
	three := b.shop("one")
	three.owner.Project = "other"
	all := []*plan{one, two, three}
	b.must(parallel(len(all), func(i int) error { return b.create(all[i]) }))
	b.must(b.delete(one.owner, one.backwards()))
	if seen := b.observe(one.owner); len(seen.Objects) > 0 {
		t.Errorf("deleted service has %s", states(seen))
	}
	for _, p := range []*plan{two, three} {
		for _, o := range b.observe(p.owner).Objects {
			if o.Status != service.StatusActive {
				t.Errorf("%s: %s %q is %s after another's deletion: %s", p.owner, o.Kind, o.Name, o.Status, o.Message)
			}
		}
		b.must(b.delete(p.owner, p.backwards()))
	}
	b.clean(one.owner, two.owner, three.owner)
}

func failure(t *testing.T, b *bench) {
	if len(b.BadCommand) == 0 {
		t.Skip("unsupported: this cloud does not run commands")
	}
	p := b.shop("bad")
	p.servers[1].Command = b.BadCommand
	err := b.create(p)
	if err == nil {
		t.Fatal("a server that cannot run became ACTIVE")
	}
	for _, part := range []string{fmt.Sprintf("server %q", p.servers[1].Name), b.BadCommandSays} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
	for _, o := range b.observe(p.owner).Objects {
		if o.Kind == service.KindServer && o.Name == p.servers[1].Name && (o.Status != service.StatusError || o.Message == "") {
			t.Errorf("the failed server is %s (%q)", o.Status, o.Message)
		}
	}
	// Repaired in place, then failing again and rolled back.
	p.servers[1].Command = nil
	b.must(b.create(p))
	p.servers[1].Command = b.BadCommand
	if b.create(p) == nil {
		t.Error("a server that cannot run stayed ACTIVE")
	}
	b.must(b.delete(p.owner, p.backwards()))
	b.clean(p.owner)
}

func missingPorts(t *testing.T, b *bench) {
	p := b.shop("noport")
	p.made = map[string]service.Port{}
	for _, spec := range p.ports {
		p.made[spec.Name] = service.Port{PortSpec: spec, ID: "none", Node: "none", Link: "none"}
	}
	err := b.Cloud.CreateServer(b.ctx(), p.owner, p.server(0))
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("server %q", p.servers[0].Name)) {
		t.Errorf("a server on ports that do not exist: %v", err)
	}
	bare := p.servers[0]
	if err := b.Cloud.CreateServer(b.ctx(), p.owner, bare); err == nil {
		t.Error("a server without ports was created")
	}
	b.must(b.delete(p.owner, p.backwards()))
	b.clean(p.owner)
}

func cancelled(t *testing.T, b *bench) {
	p := b.shop("cancel")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.Cloud.CreatePort(ctx, p.owner, p.ports[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("CreatePort: %v, want context.Canceled", err)
	}
	b.must(b.create(p))
	if err := b.Cloud.CreateServer(ctx, p.owner, p.server(0)); !errors.Is(err, context.Canceled) {
		t.Errorf("CreateServer: %v, want context.Canceled", err)
	}
	// A rollback happens because a context has ended; deletion must not mind.
	for _, o := range p.backwards() {
		b.must(b.Cloud.Delete(ctx, p.owner, o.kind, o.name))
	}
	b.clean(p.owner)
}

func damage(t *testing.T, b *bench) {
	if b.Damage == nil {
		t.Skip("unsupported: this cloud cannot be damaged")
	}
	p := b.shop("damage")
	b.must(b.create(p))
	for _, o := range []object{
		{service.KindPort, p.ports[0].Name},
		{service.KindServer, p.servers[0].Name},
		{service.KindFunction, p.functions[0].Name},
	} {
		b.Damage(p.owner, o.kind, o.name)
		found := false
		for _, seen := range b.observe(p.owner).Objects {
			if seen.Kind == o.kind && seen.Name == o.name {
				found = true
				if seen.Status != service.StatusError || seen.Message == "" {
					t.Errorf("damaged %s %q is %s (%q)", o.kind, o.name, seen.Status, seen.Message)
				}
			}
		}
		if found == b.Traceless {
			t.Errorf("damaged %s %q: observed is %t", o.kind, o.name, found)
		}
	}
	b.must(b.create(p))
	for _, seen := range b.observe(p.owner).Objects {
		if seen.Status != service.StatusActive {
			t.Errorf("%s %q is %s after repair: %s", seen.Kind, seen.Name, seen.Status, seen.Message)
		}
	}
	// A port that vanishes before its instance is created is named.
	b.must(b.Cloud.Delete(b.ctx(), p.owner, service.KindServer, p.servers[0].Name))
	b.Damage(p.owner, service.KindPort, p.ports[0].Name)
	err := b.Cloud.CreateServer(b.ctx(), p.owner, p.server(0))
	if want := fmt.Sprintf("port %q", p.ports[0].Name); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a server on a port that has vanished: %v, want an error with %s", err, want)
	}
	b.must(b.delete(p.owner, p.backwards()))
	b.clean(p.owner)
}

// restart replaces the driver after every single creation and every deletion:
// all that it knows must be found again.
func restart(t *testing.T, b *bench) {
	if b.Restart == nil {
		t.Skip("unsupported: this driver cannot be restarted")
	}
	p := b.shop("restart")
	made := 0
	next := func(err error) {
		t.Helper()
		b.must(err)
		made++
		b.Cloud = b.Restart()
		if seen := b.observe(p.owner); len(seen.Objects) != made {
			t.Fatalf("after %d creations and a restart: %s", made, states(seen))
		}
	}
	p.made = map[string]service.Port{}
	for _, n := range p.networks {
		next(b.Cloud.CreateNetwork(b.ctx(), p.owner, n))
	}
	for _, g := range p.groups {
		_, err := b.Cloud.CreateSecurityGroup(b.ctx(), p.owner, g)
		next(err)
	}
	for _, g := range p.groups {
		next(b.Cloud.CreateSecurityRules(b.ctx(), p.owner, g))
	}
	for _, k := range p.keyPairs {
		next(b.Cloud.CreateKeyPair(b.ctx(), p.owner, k))
	}
	for _, r := range p.routers {
		next(b.Cloud.CreateRouter(b.ctx(), p.owner, r))
	}
	for _, spec := range p.ports {
		port, err := b.Cloud.CreatePort(b.ctx(), p.owner, spec)
		p.made[spec.Name] = port
		next(err)
	}
	for i := range p.floating {
		next(b.Cloud.CreateFloatingIP(b.ctx(), p.owner, p.floatingIP(i)))
	}
	for i := range p.servers {
		next(b.Cloud.CreateServer(b.ctx(), p.owner, p.server(i)))
	}
	for i := range p.functions {
		next(b.Cloud.CreateFunction(b.ctx(), p.owner, p.function(i)))
	}
	before := b.observe(p.owner)
	b.must(b.create(p))
	if after := b.observe(p.owner); !reflect.DeepEqual(before, after) {
		t.Errorf("creating again after a restart changed\n%+v\ninto\n%+v", before, after)
	}
	for _, o := range p.backwards() {
		b.must(b.Cloud.Delete(b.ctx(), p.owner, o.kind, o.name))
		b.Cloud = b.Restart()
	}
	b.clean(p.owner)
}
