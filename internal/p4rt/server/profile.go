package server

import (
	"errors"
	"slices"

	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt"
	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Entries that bring their action set along (one shots) get members and groups of
// their own, with ids from oneShot on. Clients never see them.
const oneShot = 1 << 31

// profile finds an action profile; group asks for a selector.
func (e *entities) profile(id uint32, group bool) (*configv1.ActionProfile, error) {
	p, err := e.schema.Profiles.MustID(id)
	if err == nil && group && !p.GetWithSelector() {
		err = invalid("action profile %s has no groups: it is no selector", p.GetPreamble().GetName())
	}
	return p, err
}

func (e *entities) writeMember(op target.Op, m *v1.ActionProfileMember) error {
	p, err := e.profile(m.GetActionProfileId(), false)
	if err != nil {
		return err
	}
	name := p.GetPreamble().GetName()
	if id := m.GetMemberId(); id == 0 || id >= oneShot {
		return invalid("action profile %s: member id %d is not between 1 and %d", name, id, oneShot-1)
	}
	if op == target.Delete {
		if err := e.unreferenced(p, m.GetMemberId(), 0); err != nil {
			return err
		}
		return e.pipeline.WriteMember(op, name, target.Member{ID: m.GetMemberId()})
	}
	if m.GetAction() == nil {
		return invalid("action profile %s: member %d: the action is missing", name, m.GetMemberId())
	}
	if err := e.oneStyle(p, false); err != nil {
		return err
	}
	a, err := e.profileAction(p, m.GetAction())
	if err != nil {
		return err
	}
	return e.pipeline.WriteMember(op, name, target.Member{ID: m.GetMemberId(), Action: *a})
}

// profileAction checks an action against the tables that the profile implements.
func (e *entities) profileAction(p *configv1.ActionProfile, a *v1.Action) (*target.Action, error) {
	for _, id := range p.GetTableIds() {
		t := e.schema.Tables.ID(id)
		if t == nil {
			continue
		}
		if err := e.schema.CheckRef(t, a.GetActionId(), false); err != nil {
			return nil, err
		}
	}
	out, err := e.schema.DecodeAction(a)
	if err != nil {
		return nil, within(err, "action profile %s", p.GetPreamble().GetName())
	}
	return out, nil
}

func (e *entities) writeGroup(op target.Op, g *v1.ActionProfileGroup) error {
	p, err := e.profile(g.GetActionProfileId(), true)
	if err != nil {
		return err
	}
	name, id := p.GetPreamble().GetName(), g.GetGroupId()
	key := groupKey{g.GetActionProfileId(), id}
	if id == 0 || id >= oneShot {
		return invalid("action selector %s: group id %d is not between 1 and %d", name, id, oneShot-1)
	}
	if op == target.Delete {
		if err := e.unreferenced(p, 0, id); err != nil {
			return err
		}
		if err := e.pipeline.WriteGroup(op, name, target.Group{ID: id}); err != nil {
			return err
		}
		delete(e.groups, key)
		return nil
	}
	if err := e.oneStyle(p, false); err != nil {
		return err
	}
	if op == target.Modify {
		if was, known := e.groups[key]; known && was != g.GetMaxSize() {
			return invalid("action selector %s: group %d: max_size is %d and cannot become %d", name, id, was, g.GetMaxSize())
		}
	}
	members, err := e.pipeline.ReadMembers(name)
	if err != nil {
		return err
	}
	out := target.Group{ID: id}
	seen := map[uint32]bool{}
	for _, m := range g.GetMembers() {
		switch {
		case seen[m.GetMemberId()]:
			return invalid("action selector %s: group %d: member %d is there twice; use its weight", name, id, m.GetMemberId())
		case !slices.ContainsFunc(members, func(x target.Member) bool { return x.ID == m.GetMemberId() }):
			return fail(codes.NotFound, "action selector %s: group %d: there is no member %d", name, id, m.GetMemberId())
		}
		seen[m.GetMemberId()] = true
		//lint:ignore SA1019 watch is deprecated, but may be set
		gm, err := groupMember(p, m.GetWeight(), m.GetWatchPort(), m.GetWatch())
		if err != nil {
			return within(err, "action selector %s: group %d: member %d", name, id, m.GetMemberId())
		}
		gm.ID = m.GetMemberId()
		out.Members = append(out.Members, gm)
	}
	if out.MaxSize, err = groupSize(p, g.GetMaxSize(), out.Members); err != nil {
		return within(err, "action selector %s: group %d", name, id)
	}
	if err := e.pipeline.WriteGroup(op, name, out); err != nil {
		return err
	}
	e.groups[key] = g.GetMaxSize()
	return nil
}

// groupMember checks weight and watch port.
func groupMember(p *configv1.ActionProfile, weight int32, port []byte, oldPort int32) (target.GroupMember, error) {
	out := target.GroupMember{Weight: int(weight)}
	switch {
	case p.GetWeightsDisallowed() && weight != 0:
		return out, invalid("the selector takes no weights, not %d", weight)
	case p.GetWeightsDisallowed():
		out.Weight = 1
	case weight <= 0:
		return out, invalid("weight %d is not above 0", weight)
	}
	if most := p.GetSumOfMembers().GetMaxMemberWeight(); most > 0 && weight > most {
		return out, invalid("weight %d is above the selector's maximum %d", weight, most)
	}
	switch {
	case len(port) > 0:
		if p4rt.BitLen(port) > 32 {
			return out, invalid("watch port 0x%x", port)
		}
		out.Watch = uint32(p4rt.Uint64(port))
	case oldPort < 0:
		return out, invalid("watch port %d", oldPort)
	default:
		out.Watch = uint32(oldPort)
	}
	return out, nil
}

// groupSize checks max_size against the selector's and the members against both,
// and returns the limit, 0 for none.
func groupSize(p *configv1.ActionProfile, maxSize int32, members []target.GroupMember) (int, error) {
	most := p.GetMaxGroupSize()
	switch {
	case maxSize < 0:
		return 0, invalid("negative max_size %d", maxSize)
	case most > 0 && maxSize > most:
		return 0, invalid("max_size %d is above the selector's max_group_size %d", maxSize, most)
	}
	limit := int(maxSize)
	if limit == 0 {
		limit = int(most)
	}
	size := len(members)
	if p.GetSumOfMembers() == nil {
		size = 0
		for _, m := range members {
			size += m.Weight
		}
	}
	if limit > 0 && size > limit {
		return 0, fail(codes.ResourceExhausted, "size %d is above the maximum %d", size, limit)
	}
	return limit, nil
}

// unreferenced fails when an entry or group uses the member or group.
func (e *entities) unreferenced(p *configv1.ActionProfile, member, group uint32) error {
	name := p.GetPreamble().GetName()
	if member != 0 && p.GetWithSelector() {
		groups, err := e.pipeline.ReadGroups(name)
		if err != nil {
			return err
		}
		for _, g := range groups {
			if slices.ContainsFunc(g.Members, func(m target.GroupMember) bool { return m.ID == member }) {
				return fail(codes.FailedPrecondition, "action profile %s: member %d is in group %d", name, member, g.ID)
			}
		}
	}
	for _, t := range e.schema.Tables.All() {
		if t.Profile != p {
			continue
		}
		entries, _, err := e.pipeline.ReadEntries(t.Name())
		if err != nil {
			return err
		}
		for _, x := range entries {
			if member != 0 && x.Group == 0 && x.Member == member || group != 0 && x.Group == group {
				return fail(codes.FailedPrecondition, "action profile %s: an entry of table %s refers to it", name, t.Name())
			}
		}
	}
	return nil
}

// checkReference fails with NOT_FOUND when an entry refers to a member or group
// that is not there.
func (e *entities) checkReference(t *p4rt.Table, x target.Entry) error {
	if t.Profile == nil {
		return nil
	}
	if err := e.oneStyle(t.Profile, false); err != nil {
		return err
	}
	name := t.Profile.GetPreamble().GetName()
	if x.Group != 0 {
		groups, err := e.pipeline.ReadGroups(name)
		if err == nil && !slices.ContainsFunc(groups, func(g target.Group) bool { return g.ID == x.Group }) {
			err = fail(codes.NotFound, "table %s: action selector %s has no group %d", t.Name(), name, x.Group)
		}
		return err
	}
	members, err := e.pipeline.ReadMembers(name)
	if err == nil && !slices.ContainsFunc(members, func(m target.Member) bool { return m.ID == x.Member }) {
		err = fail(codes.NotFound, "table %s: action profile %s has no member %d", t.Name(), name, x.Member)
	}
	return err
}

// oneStyle fails when the profile is programmed in the other way: by action sets,
// or by members and groups.
func (e *entities) oneStyle(p *configv1.ActionProfile, sets bool) error {
	members, err := e.pipeline.ReadMembers(p.GetPreamble().GetName())
	if err != nil {
		return err
	}
	for _, m := range members {
		if sets != (m.ID >= oneShot) {
			return invalid("action profile %s is programmed with %s already; the two ways cannot be mixed",
				p.GetPreamble().GetName(), map[bool]string{true: "members and groups", false: "action sets"}[sets])
		}
	}
	return nil
}

// writeOneShot writes an entry with its action set: a group of members of its own.
func (e *entities) writeOneShot(op target.Op, t *p4rt.Table, entry target.Entry, set *v1.ActionProfileActionSet) error {
	p := t.Profile
	if p == nil || !p.GetWithSelector() {
		return invalid("table %s is not implemented by an action selector: an action set cannot stand here", t.Name())
	}
	if set.GetActionSelectionMode() != 0 || set.GetSizeSemantics() != 0 {
		return fail(codes.Unimplemented, "table %s: action sets use the selector's own mode and size semantics", t.Name())
	}
	if err := e.oneStyle(p, true); err != nil {
		return err
	}
	name := p.GetPreamble().GetName()
	group, members, err := e.buildOneShot(t, set)
	if err != nil {
		return err
	}
	var was target.Entry
	if op == target.Modify {
		if was, err = e.find(t, entry); err != nil {
			return err
		}
	}
	for i, m := range members {
		if err := e.pipeline.WriteMember(target.Insert, name, m); err != nil {
			return errors.Join(err, e.dropOneShot(name, target.Group{Members: group.Members[:i]}))
		}
	}
	if err := e.pipeline.WriteGroup(target.Insert, name, group); err != nil {
		return errors.Join(err, e.dropOneShot(name, target.Group{Members: group.Members}))
	}
	entry.Group = group.ID
	if err := e.pipeline.WriteEntry(op, entry); err != nil {
		return errors.Join(err, e.dropOneShot(name, group))
	}
	return e.freeOneShot(name, was.Group)
}

// buildOneShot chooses ids and checks the actions.
func (e *entities) buildOneShot(t *p4rt.Table, set *v1.ActionProfileActionSet) (target.Group, []target.Member, error) {
	p := t.Profile
	name := p.GetPreamble().GetName()
	var none target.Group
	groups, err := e.pipeline.ReadGroups(name)
	if err != nil {
		return none, nil, err
	}
	existing, err := e.pipeline.ReadMembers(name)
	if err != nil {
		return none, nil, err
	}
	out := target.Group{ID: oneShot}
	for _, g := range groups {
		out.ID = max(out.ID, g.ID+1)
	}
	next := uint32(oneShot)
	for _, m := range existing {
		next = max(next, m.ID+1)
	}
	var members []target.Member
	for i, a := range set.GetActionProfileActions() {
		if err := e.schema.CheckRef(t, a.GetAction().GetActionId(), false); err != nil {
			return none, nil, err
		}
		act, err := e.schema.DecodeAction(a.GetAction())
		if err != nil {
			return none, nil, err
		}
		//lint:ignore SA1019 watch is deprecated, but may be set
		gm, err := groupMember(p, a.GetWeight(), a.GetWatchPort(), a.GetWatch())
		if err != nil {
			return none, nil, within(err, "table %s: action %d of the set", t.Name(), i)
		}
		gm.ID = next + uint32(i)
		out.Members = append(out.Members, gm)
		members = append(members, target.Member{ID: gm.ID, Action: *act})
	}
	if out.MaxSize, err = groupSize(p, 0, out.Members); err != nil {
		// Of an action set this is the client's mistake, not a full device.
		return none, nil, invalid("table %s: action set: %s", t.Name(), status.Convert(err).Message())
	}
	return out, members, nil
}

// freeOneShot removes the group of an action set that no entry uses any more.
func (e *entities) freeOneShot(profile string, id uint32) error {
	if id < oneShot {
		return nil
	}
	groups, err := e.pipeline.ReadGroups(profile)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if g.ID == id {
			return e.dropOneShot(profile, g)
		}
	}
	return nil
}

func (e *entities) dropOneShot(profile string, g target.Group) error {
	var errs []error
	if g.ID != 0 {
		errs = append(errs, e.pipeline.WriteGroup(target.Delete, profile, target.Group{ID: g.ID}))
	}
	for _, m := range g.Members {
		errs = append(errs, e.pipeline.WriteMember(target.Delete, profile, target.Member{ID: m.ID}))
	}
	return errors.Join(errs...)
}

// deleteEntry deletes an entry and the group of its action set.
func (e *entities) deleteEntry(t *p4rt.Table, entry target.Entry) error {
	if !t.Profile.GetWithSelector() {
		return e.pipeline.WriteEntry(target.Delete, entry)
	}
	was, err := e.find(t, entry)
	if err != nil {
		return err
	}
	if err := e.pipeline.WriteEntry(target.Delete, entry); err != nil {
		return err
	}
	return e.freeOneShot(t.Profile.GetPreamble().GetName(), was.Group)
}

func (e *entities) readMembers(q *v1.ActionProfileMember) ([]*v1.Entity, error) {
	infos, err := chosen(e.schema.Profiles, q.GetActionProfileId())
	if err != nil {
		return nil, err
	}
	var out []*v1.Entity
	for _, p := range infos {
		members, err := e.pipeline.ReadMembers(p.GetPreamble().GetName())
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			if m.ID >= oneShot || q.GetMemberId() != 0 && q.GetMemberId() != m.ID {
				continue
			}
			a, err := e.schema.EncodeAction(&m.Action)
			if err != nil {
				return nil, err
			}
			out = append(out, &v1.Entity{Entity: &v1.Entity_ActionProfileMember{ActionProfileMember: &v1.ActionProfileMember{
				ActionProfileId: p.GetPreamble().GetId(), MemberId: m.ID, Action: a,
			}}})
		}
	}
	return out, nil
}

func (e *entities) readGroups(q *v1.ActionProfileGroup) ([]*v1.Entity, error) {
	if q.GetActionProfileId() != 0 {
		if _, err := e.profile(q.GetActionProfileId(), true); err != nil {
			return nil, err
		}
	}
	infos, err := chosen(e.schema.Profiles, q.GetActionProfileId())
	if err != nil {
		return nil, err
	}
	var out []*v1.Entity
	for _, p := range infos {
		if !p.GetWithSelector() {
			continue
		}
		groups, err := e.pipeline.ReadGroups(p.GetPreamble().GetName())
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			if g.ID >= oneShot || q.GetGroupId() != 0 && q.GetGroupId() != g.ID {
				continue
			}
			pg := &v1.ActionProfileGroup{ActionProfileId: p.GetPreamble().GetId(), GroupId: g.ID}
			pg.MaxSize = e.groups[groupKey{pg.ActionProfileId, g.ID}]
			for _, m := range g.Members {
				gm := &v1.ActionProfileGroup_Member{MemberId: m.ID, Weight: int32(m.Weight)}
				if p.GetWeightsDisallowed() {
					gm.Weight = 0
				}
				if m.Watch != 0 {
					gm.WatchKind = &v1.ActionProfileGroup_Member_WatchPort{WatchPort: p4rt.Uint(uint64(m.Watch))}
				}
				pg.Members = append(pg.Members, gm)
			}
			out = append(out, &v1.Entity{Entity: &v1.Entity_ActionProfileGroup{ActionProfileGroup: pg}})
		}
	}
	return out, nil
}
