package orch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/catena-nfv/catena/internal/service"
)

// RolledBackError says that a change failed and that all is as it was before.
type RolledBackError struct{ Cause error }

func (e *RolledBackError) Error() string { return e.Cause.Error() + " (rolled back)" }

// Unwrap gives the cause.
func (e *RolledBackError) Unwrap() error { return e.Cause }

// job is one change of one service while it runs.
type job struct {
	o       *Orchestrator
	owner   service.Owner
	begun   time.Time
	refresh bool                       // set everything on the switch again
	report  func(service.SwitchReport) // may be nil

	mu    sync.Mutex
	ports map[string]service.Port
}

// carryOut follows an apply record to its end: to the wanted service or, when
// that fails, back to the previous one.
func (j *job) carryOut(ctx context.Context, a *applyRecord, trust bool) error {
	var cause error
	if a.Direction == forward {
		err := j.toward(ctx, a.Want, trust)
		if err == nil {
			return j.finish(ctx, a.Want, a.Previous)
		}
		if ctx.Err() != nil { // stopped: Recover takes it up
			return err
		}
		cause = err
		a.Reason = err.Error()
		if a.Want == nil || a.Want == a.Previous {
			// A delete, or a check at start-up: there is nothing to go back to.
			j.service(service.StatusError, a.Reason)
			return errors.Join(err, j.fail(ctx, a))
		}
		j.o.log.Warn("rolling back", "service", j.owner, "cause", err)
		j.service(service.StatusDeleting, "rolling back: "+a.Reason)
		a.Direction = back
		if err := putJSON(ctx, j.o.store, applyKey(j.owner), a); err != nil {
			return errors.Join(cause, err)
		}
	}
	if err := j.toward(ctx, a.Previous, false); err != nil {
		if ctx.Err() != nil {
			return err
		}
		err = fmt.Errorf("%s; and rolling back failed: %w; delete the service, or apply it again", a.Reason, err)
		a.Reason = err.Error()
		j.service(service.StatusError, a.Reason)
		return errors.Join(err, putJSON(ctx, j.o.store, applyKey(j.owner), a))
	}
	if err := j.finish(ctx, a.Previous, a.Previous); err != nil {
		return err
	}
	if cause == nil {
		cause = errors.New(a.Reason)
	}
	return &RolledBackError{Cause: cause}
}

// fail records that a service is broken; the apply record stays, and says why.
func (j *job) fail(ctx context.Context, a *applyRecord) error {
	var errs []error
	if a.Want == nil || a.Previous == nil { // for a check at start-up there is none
		errs = append(errs, putJSON(ctx, j.o.store, applyKey(j.owner), a))
	}
	if a.Previous != nil {
		rec := *a.Previous
		rec.Status, rec.Message = service.StatusError, a.Reason
		errs = append(errs, putJSON(ctx, j.o.store, serviceKey(j.owner), rec))
	}
	return errors.Join(errs...)
}

// finish makes rec the deployed state (nil: none) and ends the apply.
func (j *job) finish(ctx context.Context, rec, previous *ServiceRecord) error {
	puts := map[string][]byte{}
	deletes := []string{applyKey(j.owner)}
	var keep *service.Service
	if rec == nil {
		deletes = append(deletes, serviceKey(j.owner))
	} else {
		out := *rec
		out.Status, out.Message = service.StatusActive, ""
		if previous == nil || rec != previous { // a new state, not the old one again
			out.Took = j.o.now().Sub(j.begun)
			out.Updated = j.o.now()
		}
		b, err := json.Marshal(out)
		if err != nil {
			return err
		}
		puts[serviceKey(j.owner)] = b
		keep = rec.Service
	}
	if _, err := j.o.store.Txn(ctx, nil, puts, deletes); err != nil {
		return err
	}
	j.o.releaseNumbers(j.owner, keep)
	if rec == nil {
		j.service(service.StatusDeleted, "")
	} else {
		j.service(service.StatusActive, "")
	}
	return nil
}

// toward plans and runs the steps to a recorded service (nil: to nothing).
func (j *job) toward(ctx context.Context, rec *ServiceRecord, trust bool) error {
	current, err := j.o.current(ctx, j.owner, rec.service(), trust)
	if err != nil {
		return err
	}
	current.Refresh = j.refresh
	d := desired{}
	if rec != nil {
		n := numbers{}
		if _, _, err := getJSON(ctx, j.o.store, numbersKey, &n); err != nil {
			return err
		}
		if n, err = n.assign(rec.Service); err != nil {
			return err
		}
		d = desired{Service: rec.Service, Addresses: rec.Addresses, Numbers: n}
	}
	steps, err := Plan(d, current)
	if err != nil {
		return fmt.Errorf("service %s: %w", j.owner, err)
	}
	j.mu.Lock()
	j.ports = portsOf(current.Records)
	j.mu.Unlock()
	if rec != nil {
		j.service(service.StatusBuilding, fmt.Sprintf("%d steps", len(steps)))
	} else {
		j.service(service.StatusDeleting, fmt.Sprintf("%d steps", len(steps)))
	}
	for _, s := range steps {
		if s.Action == Create && s.Key.Kind != kindAttachment && s.Key.Kind != kindPart {
			j.emit(Event{Kind: s.Key.Kind, Name: s.Key.Name, Status: service.StatusPending})
		}
	}
	begun := j.o.now()
	err = runSteps(ctx, steps, j.o.parallel, func(ctx context.Context, s Step) error {
		return j.step(ctx, s, current.Records[s.Key])
	})
	if err != nil || rec == nil || trust || len(steps) == 0 || j.o.now().Sub(begun) < j.o.trustFor {
		return err
	}
	return j.verify(ctx, d)
}

// verify looks at what was made once more: something that was there when its step
// ended may have vanished while others were made.
func (j *job) verify(ctx context.Context, d desired) error {
	want, err := d.objects()
	if err != nil {
		return err
	}
	seen, err := j.o.cloud.Observe(ctx, j.owner, optional(nil, d.Service)...)
	if err != nil {
		return fmt.Errorf("service %s: observe: %w", j.owner, err)
	}
	have := map[Key]service.Object{}
	for _, o := range seen.Objects {
		have[Key{o.Kind, o.Name}] = o
	}
	for _, w := range want {
		if !observable(w.Key.Kind) {
			continue
		}
		o, ok := have[w.Key]
		switch {
		case !ok:
			err = errors.New("it has vanished while the service was deployed")
		case o.Status != service.StatusActive:
			err = fmt.Errorf("it is %s after the service was deployed: %s", o.Status, o.Message)
		default:
			continue
		}
		j.emit(Event{Kind: w.Key.Kind, Name: w.Key.Name, Status: service.StatusError, Message: err.Error()})
		return fmt.Errorf("%s: %w", w.Key, err)
	}
	return nil
}

// step does one step: it is recorded before and after, and reported.
func (j *job) step(ctx context.Context, s Step, old Record) error {
	ctx, cancel := context.WithTimeout(ctx, j.o.timeout)
	defer cancel()
	start := j.o.now()
	j.began(s)
	err := j.recorded(ctx, s, old)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("not done within %v: %w", j.o.timeout, err)
	}
	j.ended(s, j.o.now().Sub(start), err)
	return err
}

// recorded writes the record, performs the step and writes the record again.
func (j *job) recorded(ctx context.Context, s Step, old Record) error {
	if s.Action == Prepare { // leaves nothing behind
		return j.o.fabric.Prepare(ctx, j.o.sw.with(j.owner, livePart{part: s.want.Part}), j.progress(time.Time{}))
	}
	key := objectKey(j.owner, s.Key)
	rec := old
	rec.Key = s.Key
	if s.Action == Delete {
		rec.State = StateDeleting
	} else {
		// What it depended on, it depends on until it is done: also when it was left half
		// made and is created on top of that.
		rec = Record{Key: s.Key, State: StateMaking, Digest: s.want.digest, Shape: s.want.shape, After: union(s.want.After, old.After), ID: old.ID}
	}
	if err := putJSON(ctx, j.o.store, key, rec); err != nil {
		return err
	}
	if s.Action == Delete {
		if err := j.remove(ctx, s.Key); err != nil {
			return err
		}
		return j.o.store.Delete(ctx, key)
	}
	if err := j.create(ctx, s.want, &rec); err != nil {
		return err
	}
	rec.State, rec.After = StateMade, s.want.After
	return putJSON(ctx, j.o.store, key, rec)
}

func union(a, b []Key) []Key {
	out := append([]Key(nil), a...)
	for _, k := range b {
		found := false
		for _, o := range a {
			found = found || o == k
		}
		if !found {
			out = append(out, k)
		}
	}
	return out
}

// create makes or updates an object. What the cloud says of it goes to its record.
func (j *job) create(ctx context.Context, w *wanted, rec *Record) error {
	cloud := j.o.cloud
	switch {
	case w.Network != nil:
		return cloud.CreateNetwork(ctx, j.owner, *w.Network)
	case w.SecurityGroup != nil:
		id, err := cloud.CreateSecurityGroup(ctx, j.owner, *w.SecurityGroup)
		rec.ID = id
		return err
	case w.SecurityRules != nil:
		return cloud.CreateSecurityRules(ctx, j.owner, *w.SecurityRules)
	case w.KeyPair != nil:
		return cloud.CreateKeyPair(ctx, j.owner, *w.KeyPair)
	case w.Router != nil:
		return cloud.CreateRouter(ctx, j.owner, *w.Router)
	case w.Port != nil:
		p, err := cloud.CreatePort(ctx, j.owner, *w.Port)
		if err != nil {
			return err
		}
		j.mu.Lock()
		j.ports[p.Name] = p
		j.mu.Unlock()
		rec.Port = &p
		return nil
	case w.FloatingIP != nil:
		ports, err := j.portsThere(w.PortNames)
		if err != nil {
			return err
		}
		spec := *w.FloatingIP
		spec.Port = ports[0]
		return cloud.CreateFloatingIP(ctx, j.owner, spec)
	case w.Server != nil:
		spec := *w.Server
		spec.Ports = j.portList(w.PortNames)
		return cloud.CreateServer(ctx, j.owner, spec)
	case w.Function != nil:
		spec := *w.Function
		spec.Ports = j.portList(w.PortNames)
		return cloud.CreateFunction(ctx, j.owner, spec)
	case w.Part != nil:
		return j.deploy(ctx, w.Part)
	}
	ports, err := j.portsThere([]string{w.Key.Name})
	if err != nil {
		return err
	}
	return j.o.node.Attach(ctx, j.owner, w.Number, ports[0])
}

// portsThere is portList for ports without which nothing can be done.
func (j *job) portsThere(names []string) ([]service.Port, error) {
	ports := j.portList(names)
	if len(ports) < len(names) {
		return nil, fmt.Errorf("port %q vanished", names[0])
	}
	return ports, nil
}

func (j *job) portList(names []string) []service.Port {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []service.Port
	for _, n := range names {
		if p, ok := j.ports[n]; ok {
			out = append(out, p)
		}
	}
	return out
}

func (j *job) remove(ctx context.Context, k Key) error {
	switch k.Kind {
	case kindAttachment:
		return j.o.node.Detach(ctx, j.owner, k.Name)
	case kindPart:
		return j.deploy(ctx, nil)
	}
	return j.o.cloud.Delete(ctx, j.owner, k.Kind, k.Name)
}

// deploy gives the switch the service's part, with the ports as they are now.
func (j *job) deploy(ctx context.Context, p *part) error {
	j.mu.Lock()
	live := livePart{part: p, ports: maps.Clone(j.ports)}
	j.mu.Unlock()
	start := j.o.now()
	if p != nil {
		for _, c := range p.Chains {
			j.emit(Event{Kind: service.KindChain, Name: c.Chain.Name, Status: service.StatusBuilding, Stage: "deploy"})
		}
	}
	report, err := j.o.deployPart(ctx, j.owner, live, j.progress(start))
	if p != nil {
		for _, c := range p.Chains {
			e := Event{Kind: service.KindChain, Name: c.Chain.Name, Status: service.StatusActive, Elapsed: j.o.now().Sub(start)}
			if err != nil {
				e.Status, e.Message = service.StatusError, err.Error()
			}
			j.emit(e)
		}
	}
	if err == nil && j.report != nil {
		j.report(report)
	}
	return err
}

// progress reports the fabric's stages as events of the switch.
func (j *job) progress(start time.Time) func(service.Stage) {
	return func(s service.Stage) {
		j.emit(Event{Kind: service.KindSwitch, Name: partName, Status: service.StatusBuilding, Stage: s.Name, Message: s.Message, Elapsed: s.Duration})
	}
}

// began and ended report a step. A port is ACTIVE when it is attached, so its
// two steps are reported as one object.
func (j *job) began(s Step) {
	e := Event{Kind: s.Key.Kind, Name: s.Key.Name, Status: service.StatusBuilding, Stage: string(s.Action)}
	if s.Action == Delete {
		e.Status = service.StatusDeleting
	}
	if s.Key.Kind == kindAttachment {
		e.Kind, e.Stage = service.KindPort, "attach"
		if s.Action == Delete {
			e.Stage = "detach"
		}
	}
	j.emit(e)
}

func (j *job) ended(s Step, took time.Duration, err error) {
	e := Event{Kind: s.Key.Kind, Name: s.Key.Name, Status: service.StatusActive, Stage: string(s.Action), Elapsed: took}
	if s.Key.Kind == kindAttachment {
		e.Kind, e.Stage = service.KindPort, "attach"
	}
	switch {
	case err != nil:
		e.Status, e.Message = service.StatusError, firstLine(err.Error())
	case s.Action == Prepare:
		return
	case s.Action == Delete && s.Key.Kind == kindAttachment:
		return // the port's own step tells the end
	case s.Action == Delete:
		e.Status = service.StatusDeleted
	case s.Key.Kind == service.KindPort && s.Action == Create:
		return // the attachment tells the end
	}
	j.emit(e)
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// service reports on the service as a whole; Elapsed counts from the request.
func (j *job) service(status service.Status, message string) {
	j.emit(Event{Kind: service.KindService, Name: j.owner.Service, Status: status, Message: message, Elapsed: j.o.now().Sub(j.begun)})
}

func (j *job) emit(e Event) {
	e.Time, e.Owner = j.o.now(), j.owner
	j.o.hub.publish(e)
}
