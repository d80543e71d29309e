package orch

import (
	"fmt"
	"slices"

	"github.com/catena-nfv/catena/internal/service"
)

// Action is what a step does to its object.
type Action string

// The actions.
const (
	Create  Action = "create"  // make it, or complete it when it is half made
	Update  Action = "update"  // change it in place
	Delete  Action = "delete"  // remove it
	Prepare Action = "prepare" // of the switch: merge and compile ahead of time
)

// Step is one action on one object of a service.
type Step struct {
	ID     string // "create network front"; unique in a plan
	Action Action
	Key    Key
	After  []string // ids of steps that must be done before; sorted
	Reason string   // why, for people

	want *wanted // what to make; nil for deletes
}

// State of an object in the store.
type State string

// An object is recorded as "making" or "deleting" before its step begins.
const (
	StateMaking   State = "making"
	StateMade     State = "made"
	StateDeleting State = "deleting"
)

// Record is what the store knows of one object that this controller has begun
// to make.
type Record struct {
	Key    Key
	State  State
	Digest string // of what was asked for
	Shape  string // of what cannot be changed in place
	After  []Key  // what it depends on
	Port   *service.Port
	ID     string `json:",omitempty"` // of a security group, in the cloud
}

// Current is what there is: the records of the controller and, when the cloud
// was asked, what it reports. Pure input of Plan.
type Current struct {
	Records map[Key]Record
	// Observed is nil when the cloud was not asked; records are trusted then.
	Observed *service.Observation
	// Refresh asks for everything on the switch to be set again, since it may
	// have lost it: after a restart.
	Refresh bool
}

// Plan computes the steps from what there is to what is desired. It is pure. The
// steps are sorted so that each comes after those that it waits for.
func Plan(d desired, c Current) ([]Step, error) {
	want, err := d.objects()
	if err != nil {
		return nil, err
	}
	p := newPlanner(want, c)
	p.decide()
	p.spread()
	return p.order(p.steps())
}

// verdict says what happens to one object. Both fields set: it is replaced.
type verdict struct {
	make   Action // "", Create or Update
	remove bool
	reason string
}

type planner struct {
	current  Current
	want     map[Key]*wanted
	keys     []Key // of all objects, wanted or existing, sorted
	status   map[Key]service.Status
	verdicts map[Key]*verdict
}

func newPlanner(want []*wanted, c Current) *planner {
	p := &planner{current: c, want: map[Key]*wanted{}, status: map[Key]service.Status{}, verdicts: map[Key]*verdict{}}
	all := map[Key]bool{}
	for _, w := range want {
		p.want[w.Key] = w
		all[w.Key] = true
	}
	for k := range c.Records {
		all[k] = true
	}
	if c.Observed != nil {
		for _, o := range c.Observed.Objects {
			k := Key{o.Kind, o.Name}
			p.status[k] = o.Status
			all[k] = true
		}
	}
	for k := range all {
		p.keys = append(p.keys, k)
	}
	slices.SortFunc(p.keys, compareKeys)
	return p
}

// observable tells whether the cloud would report an object of that kind.
func observable(k service.Kind) bool { return k != kindAttachment && k != kindPart }

// exists tells whether something may be there to be removed.
func (p *planner) exists(k Key) bool {
	_, recorded := p.current.Records[k]
	return recorded || p.status[k] != ""
}

// decide looks at each object by itself.
func (p *planner) decide() {
	for _, k := range p.keys {
		v := &verdict{}
		p.verdicts[k] = v
		w, wanted := p.want[k]
		r, recorded := p.current.Records[k]
		seen := p.current.Observed != nil && observable(k.Kind)
		switch {
		case !wanted:
			v.remove, v.reason = true, "no longer asked for"
		case !p.exists(k):
			v.make, v.reason = Create, "new"
		case !recorded:
			v.make, v.remove, v.reason = Create, !completed(k.Kind), "found, but not known"
		case r.Shape != w.shape || r.State == StateDeleting:
			v.make, v.remove, v.reason = Create, !completed(k.Kind), "changed"
		case r.State != StateMade:
			v.make, v.reason = Create, "was not finished"
		case seen && p.status[k] == "":
			v.make, v.reason = Create, "is gone"
		case seen && p.status[k] == service.StatusChanged:
			v.make, v.reason = Update, "is not as it was made"
		case seen && p.status[k] != service.StatusActive:
			v.make, v.reason = Create, fmt.Sprintf("is %s", p.status[k])
		case r.Digest != w.digest:
			v.make, v.reason = Update, "changed"
		case p.current.Refresh && !observable(k.Kind):
			v.make, v.reason = Update, "set again after a restart"
		}
	}
}

// spread carries replacements on to what depends on the replaced object: a port
// does not outlive its network, a server not its port. What can follow the change is
// updated instead, above all the switch. Kinds are sorted by dependency, so one pass
// does it.
func (p *planner) spread() {
	for _, k := range p.keys {
		v := p.verdicts[k]
		for _, dep := range p.dependencies(k) {
			d := p.verdicts[dep]
			if d == nil || d.make != Create || !p.exists(k) || p.want[k] == nil {
				continue
			}
			switch bondOf(k.Kind, dep.Kind, d.remove) {
			case updated:
				if v.make == "" {
					v.make, v.reason = Update, fmt.Sprintf("%s is new", dep)
				}
				continue
			case unmoved:
				continue
			}
			if k.Kind == service.KindRouter && !d.remove && !p.known(dep) {
				continue // a new network joins the router: its update does that
			}
			v.make, v.remove = Create, true
			if v.reason == "" {
				v.reason = fmt.Sprintf("%s is replaced", dep)
			}
		}
	}
}

func (p *planner) known(k Key) bool { _, ok := p.current.Records[k]; return ok }

// dependencies of an object, as wanted and as it was made.
func (p *planner) dependencies(k Key) []Key {
	var deps []Key
	if w := p.want[k]; w != nil {
		deps = append(deps, w.After...)
	}
	for _, d := range p.current.Records[k].After {
		if !slices.Contains(deps, d) {
			deps = append(deps, d)
		}
	}
	return deps
}

func stepID(a Action, k Key) string { return string(a) + " " + k.String() }

// steps turns the verdicts into steps with their order.
func (p *planner) steps() map[string]*Step {
	steps := map[string]*Step{}
	for _, k := range p.keys {
		v := p.verdicts[k]
		if v.remove && p.exists(k) {
			steps[stepID(Delete, k)] = &Step{Action: Delete, Key: k, Reason: v.reason}
		}
		if v.make != "" {
			steps[stepID(v.make, k)] = &Step{Action: v.make, Key: k, Reason: v.reason, want: p.want[k]}
		}
	}
	part := Key{kindPart, partName}
	if v := p.verdicts[part]; v != nil && v.make != "" {
		s := &Step{Action: Prepare, Key: part, Reason: "ahead of the ports", want: p.want[part]}
		steps[stepID(Prepare, part)] = s
	}
	for id, s := range steps {
		s.ID = id
	}
	early := p.early()
	for _, s := range steps {
		p.link(s, steps, early)
	}
	p.linkLate(steps)
	return steps
}

// linkLate has ports that are removed detached only when the switch no longer
// knows them, so that it never sends a packet to a port that is gone. Where the
// switch has to wait for the removal (the port's network is replaced, its
// address given away), that comes first.
func (p *planner) linkLate(steps map[string]*Step) {
	part := Key{kindPart, partName}
	last := steps[stepID(Update, part)]
	if last == nil {
		last = steps[stepID(Create, part)]
	}
	if last == nil {
		return
	}
	before := map[string]bool{}
	var visit func(s *Step)
	visit = func(s *Step) {
		for _, a := range s.After {
			if !before[a] {
				before[a] = true
				visit(steps[a])
			}
		}
	}
	visit(last)
	for id, s := range steps {
		if s.Action == Delete && s.Key.Kind == kindAttachment && p.want[s.Key] == nil && !before[id] {
			s.After = append(s.After, last.ID)
			slices.Sort(s.After)
		}
	}
}

// early finds the ports that are removed, but whose address a new port takes:
// they go first.
func (p *planner) early() map[string]bool {
	type place struct{ network, ip string }
	taken := map[place]string{}
	for _, k := range p.keys {
		if w := p.want[k]; w != nil && w.Port != nil && p.verdicts[k].make == Create {
			taken[place{w.Port.Network, w.Port.IP.String()}] = k.Name
		}
	}
	out := map[string]bool{}
	for k, r := range p.current.Records {
		if k.Kind != service.KindPort || r.Port == nil || p.want[k] != nil {
			continue
		}
		if _, ok := taken[place{r.Port.Network, r.Port.IP.String()}]; ok {
			out[k.Name] = true
		}
	}
	return out
}

// link sets what a step waits for.
func (p *planner) link(s *Step, steps map[string]*Step, early map[string]bool) {
	after := map[string]bool{}
	wait := func(a Action, k Key) {
		if id := stepID(a, k); steps[id] != nil && id != s.ID {
			after[id] = true
		}
	}
	switch s.Action {
	case Create, Update:
		wait(Delete, s.Key)
		for _, d := range s.want.After {
			wait(Create, d)
			wait(Update, d)
		}
		if s.Key.Kind == kindPart {
			wait(Prepare, s.Key)
		}
		if s.Key.Kind == service.KindPort {
			// An address is free only when its old port is gone.
			for name := range early {
				r := p.current.Records[Key{service.KindPort, name}]
				if r.Port.Network == s.want.Port.Network && r.Port.IP == s.want.Port.IP {
					wait(Delete, Key{service.KindPort, name})
				}
			}
		}
		if s.Key.Kind == service.KindRouter {
			// It lets go of an external network, or of one of its own, when no floating IP
			// is held by it any more.
			for _, k := range p.keys {
				if k.Kind == service.KindFloatingIP && (!p.known(k) || slices.Contains(p.current.Records[k].After, s.Key)) {
					wait(Delete, k)
				}
			}
		}
	case Delete:
		for _, k := range p.keys { // what depends on it goes first
			if slices.Contains(p.current.Records[k].After, s.Key) {
				wait(Delete, k)
				if slices.Contains(letsGo, k.Kind) {
					wait(Update, k)
					if steps[stepID(Delete, k)] == nil {
						wait(Create, k)
					}
				}
			}
		}
		// Of observed objects that have no record, the kind alone tells what goes first.
		for _, k := range p.keys {
			if !p.known(k) && slices.Contains(members[s.Key.Kind], k.Kind) {
				wait(Delete, k)
			}
		}
	}
	for id := range after {
		s.After = append(s.After, id)
	}
	slices.Sort(s.After)
}

// order sorts steps topologically, smaller keys first. A cycle is a mistake of
// the planner, not of its input.
func (p *planner) order(steps map[string]*Step) ([]Step, error) {
	ids := make([]string, 0, len(steps))
	for id := range steps {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int {
		if d := compareKeys(steps[a].Key, steps[b].Key); d != 0 {
			return d
		}
		return slices.Compare([]byte(a), []byte(b))
	})
	var out []Step
	done := map[string]bool{}
	for len(out) < len(ids) {
		before := len(out)
		for _, id := range ids {
			s := steps[id]
			if done[id] || slices.ContainsFunc(s.After, func(a string) bool { return !done[a] }) {
				continue
			}
			done[id] = true
			out = append(out, *s)
		}
		if len(out) == before {
			var stuck []string
			for _, id := range ids {
				if !done[id] {
					stuck = append(stuck, id)
				}
			}
			return nil, fmt.Errorf("plan: steps wait for each other: %q", stuck)
		}
	}
	return out, nil
}
