package orch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/catena-nfv/catena/internal/service"
)

// Errors that callers tell apart.
var (
	ErrNotFound = errors.New("not found")
	ErrBusy     = errors.New("another change of this service is running")
	ErrBehind   = errors.New("too slow: events were lost")
	ErrClosed   = errors.New("the controller is shutting down")
	ErrStuck    = errors.New("a change does not stop; it is taken up at the next start")
)

// Config of an Orchestrator. Cloud, Node, Fabric and Store are needed.
type Config struct {
	Cloud  Cloud
	Node   Node
	Fabric Fabric
	Store  Store
	// Parallel bounds the steps of one service that run at the same time;
	// default 16.
	Parallel int
	// StepTimeout bounds one step; default 2 minutes.
	StepTimeout time.Duration
	// TrustFor is for how long what the steps have made is believed to be there: a change
	// that took longer is compared with the cloud once more before it succeeds. Default 0:
	// each is.
	TrustFor time.Duration
	// StopGrace is how long a step may take to notice that it is to stop; default
	// 3 seconds.
	StopGrace time.Duration
	Log       *slog.Logger     // default: discard
	Now       func() time.Time // default time.Now
}

// Orchestrator carries out services. It is safe for concurrent use: different
// services are worked on at the same time, one service by one call.
type Orchestrator struct {
	cloud    Cloud
	node     Node
	fabric   Fabric
	store    Store
	parallel int
	timeout  time.Duration
	trustFor time.Duration
	grace    time.Duration
	log      *slog.Logger
	now      func() time.Time
	hub      *hub

	mu      sync.Mutex
	busy    map[service.Owner]chan struct{} // closed when the change ends
	closed  bool
	running sync.WaitGroup // of changes; their context is root
	root    context.Context
	stop    context.CancelFunc

	sw switchState
}

// New returns an orchestrator. Recover is to be called before the first change.
func New(cfg Config) *Orchestrator {
	o := &Orchestrator{
		cloud: cfg.Cloud, node: cfg.Node, fabric: cfg.Fabric, store: cfg.Store,
		parallel: cfg.Parallel, timeout: cfg.StepTimeout, trustFor: cfg.TrustFor, grace: cfg.StopGrace, log: cfg.Log, now: cfg.Now,
		hub: newHub(), busy: map[service.Owner]chan struct{}{}, sw: switchState{parts: map[service.Owner]livePart{}},
	}
	if o.parallel <= 0 {
		o.parallel = 16
	}
	if o.timeout <= 0 {
		o.timeout = 2 * time.Minute
	}
	if o.grace <= 0 {
		o.grace = 3 * time.Second
	}
	if o.log == nil {
		o.log = slog.New(slog.DiscardHandler)
	}
	if o.now == nil {
		o.now = time.Now
	}
	o.root, o.stop = context.WithCancel(context.Background())
	return o
}

// Close lets changes that run end within the context, then stops them where
// they are; Recover takes them up at the next start. A step that does not even stop
// is left behind: ErrStuck.
func (o *Orchestrator) Close(ctx context.Context) error {
	defer o.stop()
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	done := make(chan struct{})
	go func() { o.running.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	o.stop()
	select {
	case <-done:
		return nil
	case <-time.After(o.grace):
		return ErrStuck
	}
}

// enter takes a service for one change; leave gives it back.
func (o *Orchestrator) enter(owner service.Owner) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed:
		return ErrClosed
	case o.busy[owner] != nil:
		return fmt.Errorf("service %s: %w; wait for it, or watch it", owner, ErrBusy)
	}
	o.busy[owner] = make(chan struct{})
	o.running.Add(1)
	return nil
}

// enterInTurn waits until the service is free.
func (o *Orchestrator) enterInTurn(ctx context.Context, owner service.Owner) error {
	for {
		err := o.enter(owner)
		if !errors.Is(err, ErrBusy) {
			return err
		}
		o.mu.Lock()
		free := o.busy[owner]
		o.mu.Unlock()
		if free == nil {
			continue
		}
		select {
		case <-free:
		case <-ctx.Done():
			return err
		}
	}
}

func (o *Orchestrator) leave(owner service.Owner) {
	o.mu.Lock()
	close(o.busy[owner])
	delete(o.busy, owner)
	o.mu.Unlock()
	o.running.Done()
}

// Request is a service to be applied. Source, when there is one, gives errors
// about chains their place.
type Request struct {
	Service *service.Service
	Source  *service.Source
}

// Apply makes the service real. It returns when every object is ACTIVE and the
// switch carries its chains; after an error everything that this call made is
// gone again and what it changed is as before. A service that cannot be accepted
// gives a *service.Error before anything is touched.
//
// Once begun, the work does not depend on the caller's context: a client that
// goes away does not undo it.
func (o *Orchestrator) Apply(ctx context.Context, req Request) error {
	begun := o.now()
	svc := req.Service
	if err := o.accept(req); err != nil {
		return err
	}
	if err := o.enter(svc.Owner()); err != nil {
		return err
	}
	defer o.leave(svc.Owner())
	previous, _, err := o.previous(ctx, svc.Owner())
	if err != nil {
		return err
	}
	return o.change(ctx, req, previous, changeOptions{begun: begun})
}

// accept checks a service by itself, and that the cloud has what it is made of.
func (o *Orchestrator) accept(req Request) error {
	req.Service.Default()
	problems := req.Service.Validate()
	return service.NewError(req.Source, append(problems, o.cloud.Lacks(req.Service)...))
}

// changeOptions are how a change differs from a plain apply.
type changeOptions struct {
	begun  time.Time
	trust  bool // rely on the records and do not ask the cloud: chains only
	report func(service.SwitchReport)
}

// change leads from the previous record (nil: none) to a valid service, which
// the caller has entered.
func (o *Orchestrator) change(ctx context.Context, req Request, previous *ServiceRecord, opt changeOptions) error {
	svc := req.Service
	owner := svc.Owner()
	want, err := o.prepareRecord(svc, previous)
	if err != nil {
		return err
	}
	nums, err := o.changeNumbers(ctx, func(n numbers) (numbers, error) { return n.assign(svc) })
	if err != nil {
		return fmt.Errorf("service %s: %w", owner, err)
	}
	d := desired{Service: svc, Addresses: want.Addresses, Numbers: nums}
	if err := o.checkFabric(ctx, d, req.Source); err != nil {
		o.releaseNumbers(owner, previous.service())
		return err
	}
	// From here on the work goes on without the caller.
	apply := &applyRecord{Direction: forward, Want: want, Previous: previous, Started: opt.begun}
	if err := o.begin(owner, apply); err != nil {
		o.releaseNumbers(owner, previous.service())
		return err
	}
	j := &job{o: o, owner: owner, begun: opt.begun, report: opt.report}
	return j.carryOut(o.root, apply, opt.trust)
}

// begin writes the apply record. A write that failed may have come through all
// the same, so what was there before is put back.
func (o *Orchestrator) begin(owner service.Owner, a *applyRecord) error {
	kv, unfinished, err := o.store.Get(o.root, applyKey(owner))
	if err != nil {
		return err
	}
	if err = putJSON(o.root, o.store, applyKey(owner), a); err == nil {
		return nil
	}
	if unfinished {
		return errors.Join(err, o.store.Put(o.root, applyKey(owner), kv.Value))
	}
	return errors.Join(err, o.store.Delete(o.root, applyKey(owner)))
}

// previous is what was last deployed of a service; when an apply was left
// unfinished, also that.
func (o *Orchestrator) previous(ctx context.Context, owner service.Owner) (*ServiceRecord, *applyRecord, error) {
	var rec ServiceRecord
	_, deployed, err := getJSON(ctx, o.store, serviceKey(owner), &rec)
	if err != nil {
		return nil, nil, err
	}
	var apply applyRecord
	_, unfinished, err := getJSON(ctx, o.store, applyKey(owner), &apply)
	if err != nil {
		return nil, nil, err
	}
	var p *ServiceRecord
	var a *applyRecord
	if deployed {
		p = &rec
	}
	if unfinished {
		a = &apply
	}
	return p, a, nil
}

// prepareRecord decides the addresses.
func (o *Orchestrator) prepareRecord(svc *service.Service, previous *ServiceRecord) (*ServiceRecord, error) {
	rec := &ServiceRecord{Service: svc, Status: service.StatusActive, Revision: 1}
	var existing map[string]netip.Addr
	if previous != nil {
		existing = previous.Addresses
		rec.Revision = previous.Revision
		if !reflect.DeepEqual(previous.Service, svc) {
			rec.Revision++
		}
	}
	addrs, err := svc.Addresses(existing)
	if err != nil {
		return nil, service.NewError(nil, []service.Problem{{Code: service.CodeLimit, Message: err.Error()}})
	}
	rec.Addresses = addrs
	return rec, nil
}

// releaseNumbers takes back what an apply that came to nothing was given.
func (o *Orchestrator) releaseNumbers(owner service.Owner, keep *service.Service) {
	if _, err := o.changeNumbers(o.root, func(n numbers) (numbers, error) { return n.release(owner, keep), nil }); err != nil {
		o.log.Warn("numbers were not released", "service", owner, "error", err)
	}
}

// Delete removes a service and everything that belongs to it. What is half made
// is removed, too. When a step fails, Delete can be repeated.
func (o *Orchestrator) Delete(ctx context.Context, owner service.Owner) error {
	begun := o.now()
	if err := o.enter(owner); err != nil {
		return err
	}
	defer o.leave(owner)
	previous, unfinished, err := o.previous(ctx, owner)
	if err != nil {
		return err
	}
	if previous == nil && unfinished == nil {
		return fmt.Errorf("service %s: %w", owner, ErrNotFound)
	}
	apply := &applyRecord{Direction: forward, Previous: previous, Started: begun}
	if err := o.begin(owner, apply); err != nil {
		return err
	}
	j := &job{o: o, owner: owner, begun: begun}
	return j.carryOut(o.root, apply, false)
}

// PlanFor tells what Apply would do.
func (o *Orchestrator) PlanFor(ctx context.Context, req Request) ([]Step, error) {
	svc := req.Service
	if err := o.accept(req); err != nil {
		return nil, err
	}
	owner := svc.Owner()
	previous, _, err := o.previous(ctx, owner)
	if err != nil {
		return nil, err
	}
	want, err := o.prepareRecord(svc, previous)
	if err != nil {
		return nil, err
	}
	n := numbers{}
	if _, _, err := getJSON(ctx, o.store, numbersKey, &n); err != nil {
		return nil, err
	}
	if n, err = n.assign(svc); err != nil {
		return nil, err
	}
	d := desired{Service: svc, Addresses: want.Addresses, Numbers: n}
	if err := o.checkFabric(ctx, d, req.Source); err != nil {
		return nil, err
	}
	current, err := o.current(ctx, owner, svc, false)
	if err != nil {
		return nil, err
	}
	return Plan(d, current)
}

// current reads what there is of a service that is to become want (nil: nothing).
func (o *Orchestrator) current(ctx context.Context, owner service.Owner, want *service.Service, trust bool) (Current, error) {
	records, err := o.records(ctx, owner)
	if err != nil {
		return Current{}, err
	}
	c := Current{Records: records}
	if !trust {
		seen, err := o.cloud.Observe(ctx, owner, optional(records, want)...)
		if err != nil {
			return c, fmt.Errorf("service %s: observe: %w", owner, err)
		}
		c.Observed = &seen
	}
	return c, nil
}

// checkFabric looks at the chains before anything is made: at names against the
// library of the fabric, and then has the fabric look at the rest. What it says is
// given a place in the service.
func (o *Orchestrator) checkFabric(ctx context.Context, d desired, src *service.Source) error {
	nfs, err := o.fabric.NFs(ctx)
	if err != nil {
		return fmt.Errorf("service %s: %w", d.Service.Owner(), err)
	}
	if err := service.NewError(src, checkChains(d.Service, nfs)); err != nil {
		return err
	}
	p, err := d.part()
	if err != nil {
		return service.NewError(src, []service.Problem{{Code: service.CodeReference, Message: err.Error()}})
	}
	err = o.fabric.Check(ctx, o.sw.with(d.Service.Owner(), livePart{part: p}))
	if err == nil {
		return nil
	}
	var problems []service.Problem
	for _, e := range chainErrors(err) {
		if p, ok := chainProblem(d.Service, e); ok {
			problems = append(problems, p)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(problems) == 0 { // of the service as a whole, or not told where
		problems = []service.Problem{{Code: service.CodeChain, Message: fmt.Sprintf("service %q: %v", d.Service.Name, err)}}
	}
	return service.NewError(src, problems)
}

// chainErrors finds all chain errors in a tree of joined and wrapped errors.
func chainErrors(err error) []*service.ChainError {
	switch e := err.(type) {
	case nil:
		return nil
	case *service.ChainError:
		return []*service.ChainError{e}
	case interface{ Unwrap() []error }:
		var out []*service.ChainError
		for _, u := range e.Unwrap() {
			out = append(out, chainErrors(u)...)
		}
		return out
	}
	return chainErrors(errors.Unwrap(err))
}

// chainProblem places a fabric's error in the service. Rules behind the chain's
// own are the service's.
func chainProblem(s *service.Service, e *service.ChainError) (service.Problem, bool) {
	i := slices.IndexFunc(s.Chains, func(c service.Chain) bool { return c.Name == e.Chain })
	if i < 0 || e.Owner != s.Owner() {
		return service.Problem{}, false
	}
	path := fmt.Sprintf("chains[%d].%s", i, e.Field)
	var rule int
	if n, _ := fmt.Sscanf(e.Field, "rules[%d]", &rule); n == 1 && rule >= len(s.Chains[i].Rules) {
		head := fmt.Sprintf("rules[%d]", rule)
		path = fmt.Sprintf("rules[%d]%s", rule-len(s.Chains[i].Rules), e.Field[len(head):])
	}
	return service.Problem{Path: path, Code: service.CodeChain, Offset: e.Offset, Message: fmt.Sprintf("chain %q: %v", e.Chain, e.Err)}, true
}

// Recover takes up what a crash or restart left: unfinished changes are finished
// or rolled back, and all services are checked against the cloud and set on the
// switch again. It returns the first error, having tried every service; those
// that fail are in state ERROR. A clean rollback is no error.
func (o *Orchestrator) Recover(ctx context.Context) error {
	services, err := listJSON[ServiceRecord](ctx, o.store, servicesPrefix)
	if err != nil {
		return err
	}
	applies, err := o.store.List(ctx, appliesPrefix)
	if err != nil {
		return err
	}
	work := map[service.Owner]*applyRecord{}
	var owners []service.Owner
	for i := range services {
		rec := &services[i]
		owner := rec.Service.Owner()
		work[owner] = &applyRecord{Direction: forward, Want: rec, Previous: rec, Started: o.now()}
		owners = append(owners, owner)
	}
	for _, kv := range applies {
		var a applyRecord
		if err := json.Unmarshal(kv.Value, &a); err != nil {
			return fmt.Errorf("store: %s cannot be read: %w", kv.Key, err)
		}
		owner, err := ownerOf(kv.Key)
		if err != nil {
			return err
		}
		if work[owner] == nil {
			owners = append(owners, owner)
		}
		work[owner] = &a
	}
	if _, err := o.changeNumbers(ctx, func(n numbers) (numbers, error) {
		return n.only(func(owner service.Owner) bool { return work[owner] != nil || owner == service.InventoryOwner }), nil
	}); err != nil {
		return err
	}
	if err := o.recallOperatorRules(ctx); err != nil {
		return err
	}
	// The switch must keep all services while the first is worked on; those that
	// a crash left unfinished join it with their own turn.
	for _, owner := range owners {
		if a := work[owner]; a.Want == a.Previous && a.Want != nil {
			if err := o.remember(ctx, a.Want); err != nil {
				return err
			}
		}
	}
	var first error
	for _, owner := range owners {
		if err := o.enter(owner); err != nil {
			return err
		}
		j := &job{o: o, owner: owner, begun: o.now(), refresh: true}
		err := j.carryOut(ctx, work[owner], false)
		o.leave(owner)
		var rolledBack *RolledBackError
		switch {
		case errors.As(err, &rolledBack):
			o.log.Warn("rolled back what a crash had left", "service", owner, "cause", rolledBack.Cause)
		case err != nil:
			o.log.Error("recovery", "service", owner, "error", err)
			if first == nil {
				first = fmt.Errorf("service %s: %w", owner, err)
			}
		}
	}
	return first
}

func ownerOf(applyKey string) (service.Owner, error) {
	project, name, ok := strings.Cut(strings.TrimPrefix(applyKey, appliesPrefix), "/")
	if !ok {
		return service.Owner{}, fmt.Errorf("store: unexpected key %s", applyKey)
	}
	return service.Owner{Project: project, Service: name}, nil
}
