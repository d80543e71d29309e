package orch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/catena-nfv/catena/internal/service"
)

// State of a service: as asked for, and as it is.
type ServiceState struct {
	ServiceRecord
	Objects []service.Object // sorted by kind and name; empty in lists
	Ports   []service.Port   // sorted by name; empty in lists
}

// Get returns one service with its objects as the cloud reports them. A service
// that is being made is StatusBuilding; one that could neither be made nor
// rolled back is StatusError.
func (o *Orchestrator) Get(ctx context.Context, owner service.Owner) (*ServiceState, error) {
	rec, apply, err := o.previous(ctx, owner)
	if err != nil {
		return nil, err
	}
	if rec == nil && apply == nil {
		return nil, fmt.Errorf("service %s: %w", owner, ErrNotFound)
	}
	st := &ServiceState{ServiceRecord: o.merge(owner, rec, apply)}
	records, err := o.records(ctx, owner)
	if err != nil {
		return nil, err
	}
	seen, err := o.cloud.Observe(ctx, owner, optional(records, nil)...)
	if err != nil {
		return nil, fmt.Errorf("service %s: observe: %w", owner, err)
	}
	st.Objects = seen.Objects
	part, ok := records[Key{kindPart, partName}]
	if s := st.Service; s != nil && ok {
		status := service.StatusActive
		if part.State != StateMade {
			status = service.StatusBuilding
		}
		for _, c := range s.Chains {
			st.Objects = append(st.Objects, service.Object{Kind: service.KindChain, Name: c.Name, Status: status})
		}
	}
	for _, p := range portsOf(records) {
		st.Ports = append(st.Ports, p)
	}
	slices.SortFunc(st.Ports, func(a, b service.Port) int { return strings.Compare(a.Name, b.Name) })
	return st, nil
}

// merge combines what is deployed with what was begun.
func (o *Orchestrator) merge(owner service.Owner, rec *ServiceRecord, apply *applyRecord) ServiceRecord {
	var out ServiceRecord
	if rec != nil {
		out = *rec
	}
	if apply == nil {
		return out
	}
	if apply.Want != nil && (apply.Direction == forward || rec == nil) {
		out = *apply.Want
	}
	o.mu.Lock()
	running := o.busy[owner] != nil
	o.mu.Unlock()
	switch {
	case !running:
		out.Status, out.Message = service.StatusError, apply.Reason
		if out.Message == "" {
			out.Message = "a change was interrupted; it is taken up at the next start"
		}
	case apply.Want == nil || apply.Direction == back:
		out.Status, out.Message = service.StatusDeleting, apply.Reason
	default:
		out.Status, out.Message = service.StatusBuilding, ""
	}
	if out.Service == nil { // a delete of something that was never finished
		out.Service = &service.Service{Name: owner.Service, Project: owner.Project}
	}
	return out
}

// List returns the services of a project ("" all), sorted by project and name,
// without their objects.
func (o *Orchestrator) List(ctx context.Context, project string) ([]ServiceState, error) {
	prefix := servicesPrefix
	begun := appliesPrefix
	if project != "" {
		prefix += project + "/"
		begun += project + "/"
	}
	recs, err := listJSON[ServiceRecord](ctx, o.store, prefix)
	if err != nil {
		return nil, err
	}
	kvs, err := o.store.List(ctx, begun)
	if err != nil {
		return nil, err
	}
	byOwner := map[service.Owner]*ServiceRecord{}
	for i := range recs {
		byOwner[recs[i].Service.Owner()] = &recs[i]
	}
	applies := map[service.Owner]*applyRecord{}
	for _, kv := range kvs {
		owner, err := ownerOf(kv.Key)
		if err != nil {
			return nil, err
		}
		var a applyRecord
		if err := json.Unmarshal(kv.Value, &a); err != nil {
			return nil, fmt.Errorf("store: %s cannot be read: %w", kv.Key, err)
		}
		applies[owner] = &a
		if _, ok := byOwner[owner]; !ok {
			byOwner[owner] = nil
		}
	}
	var out []ServiceState
	for owner, rec := range byOwner {
		out = append(out, ServiceState{ServiceRecord: o.merge(owner, rec, applies[owner])})
	}
	slices.SortFunc(out, func(a, b ServiceState) int {
		return strings.Compare(a.Service.Owner().String(), b.Service.Owner().String())
	})
	return out, nil
}

// Stream runs a change and sends its events while it runs: those of the service
// only, the last before it returns. When send fails (the client is gone), the
// change goes on, and Stream returns send's error.
func (o *Orchestrator) Stream(ctx context.Context, owner service.Owner, send func(Event) error, change func(context.Context) error) error {
	sub := o.hub.subscribe(func(e Event) bool { return e.Owner == owner })
	defer o.hub.unsubscribe(sub)
	done := make(chan error, 1)
	go func() { done <- change(context.WithoutCancel(ctx)) }()
	flush := func() error {
		events, cut := o.hub.take(sub)
		for _, e := range events {
			if err := send(e); err != nil {
				return err
			}
		}
		if cut {
			return ErrBehind
		}
		return nil
	}
	for {
		select {
		case <-sub.wake:
			if err := flush(); err != nil {
				return err
			}
		case err := <-done:
			if flushErr := flush(); err == nil {
				err = flushErr
			}
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// SwitchState reads the switch.
func (o *Orchestrator) SwitchState(ctx context.Context) (service.SwitchState, error) {
	return o.fabric.State(ctx)
}

// NFs lists the library.
func (o *Orchestrator) NFs(ctx context.Context) ([]service.NFInfo, error) { return o.fabric.NFs(ctx) }
