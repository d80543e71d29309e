package server

import (
	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt"
	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
)

// entities reads and writes the entities of one loaded program. The caller holds
// the server's state lock.
type entities struct {
	schema   *p4rt.Schema
	pipeline Pipeline
	config   *v1.ForwardingPipelineConfig

	// What the protocol wants back as it was written and the device does not
	// keep. It is lost when the server starts again, what it adorns is not.
	defaults  map[string]extras                  // of default actions, by table
	multicast map[uint32]*v1.MulticastGroupEntry // by id
	clones    map[uint32]*v1.CloneSessionEntry   // by id
	groups    map[groupKey]int32                 // max_size
}

type groupKey struct {
	profile uint32
	group   uint32
}

func newEntities(schema *p4rt.Schema, pl Pipeline, config *v1.ForwardingPipelineConfig) *entities {
	return &entities{
		schema: schema, pipeline: pl, config: config,
		defaults:  map[string]extras{},
		multicast: map[uint32]*v1.MulticastGroupEntry{},
		clones:    map[uint32]*v1.CloneSessionEntry{},
		groups:    map[groupKey]int32{},
	}
}

// keepShadows takes over what old remembers of objects that both have.
func (e *entities) keepShadows(old *entities) {
	for name, x := range old.defaults {
		if _, err := e.schema.Tables.Named(name); err == nil {
			e.defaults[name] = x
		}
	}
	e.multicast, e.clones = old.multicast, old.clones
	for _, p := range e.schema.Profiles.All() {
		was, err := old.schema.Profiles.Named(p.GetPreamble().GetName())
		if err != nil {
			continue
		}
		for k, size := range old.groups {
			if k.profile == was.GetPreamble().GetId() {
				e.groups[groupKey{p.GetPreamble().GetId(), k.group}] = size
			}
		}
	}
}

// write does one update.
func (e *entities) write(u *v1.Update) error {
	var op target.Op
	switch u.GetType() {
	case v1.Update_INSERT:
		op = target.Insert
	case v1.Update_MODIFY:
		op = target.Modify
	case v1.Update_DELETE:
		op = target.Delete
	default:
		return invalid("update type %s", u.GetType())
	}
	switch x := u.GetEntity().GetEntity().(type) {
	case *v1.Entity_TableEntry:
		return e.writeTable(op, x.TableEntry)
	case *v1.Entity_ActionProfileMember:
		return e.writeMember(op, x.ActionProfileMember)
	case *v1.Entity_ActionProfileGroup:
		return e.writeGroup(op, x.ActionProfileGroup)
	case *v1.Entity_PacketReplicationEngineEntry:
		switch y := x.PacketReplicationEngineEntry.GetType().(type) {
		case *v1.PacketReplicationEngineEntry_MulticastGroupEntry:
			return e.writeMulticast(op, y.MulticastGroupEntry)
		case *v1.PacketReplicationEngineEntry_CloneSessionEntry:
			return e.writeClone(op, y.CloneSessionEntry)
		}
		return invalid("packet replication engine entry without a type")
	case *v1.Entity_ExternEntry:
		return fail(codes.Unimplemented, "the program has no externs of type 0x%x", x.ExternEntry.GetExternTypeId())
	case nil:
		return invalid("update without an entity")
	}
	if op != target.Modify {
		return invalid("%s: the object always exists; use MODIFY", u.GetType())
	}
	switch x := u.GetEntity().GetEntity().(type) {
	case *v1.Entity_CounterEntry:
		return e.writeCounter(x.CounterEntry)
	case *v1.Entity_DirectCounterEntry:
		return e.writeDirectCounter(x.DirectCounterEntry)
	case *v1.Entity_MeterEntry:
		return e.writeMeter(x.MeterEntry)
	case *v1.Entity_DirectMeterEntry:
		return e.writeDirectMeter(x.DirectMeterEntry)
	case *v1.Entity_RegisterEntry:
		return e.writeRegister(x.RegisterEntry)
	case *v1.Entity_ValueSetEntry:
		return e.writeValueSet(x.ValueSetEntry)
	}
	return fail(codes.Unimplemented, "entities of this type are not supported")
}

// read returns what a query matches.
func (e *entities) read(q *v1.Entity) ([]*v1.Entity, error) {
	switch x := q.GetEntity().(type) {
	case *v1.Entity_TableEntry:
		return e.readTable(x.TableEntry)
	case *v1.Entity_DirectCounterEntry:
		return e.readDirectCounter(x.DirectCounterEntry)
	case *v1.Entity_DirectMeterEntry:
		return e.readDirectMeter(x.DirectMeterEntry)
	case *v1.Entity_ActionProfileMember:
		return e.readMembers(x.ActionProfileMember)
	case *v1.Entity_ActionProfileGroup:
		return e.readGroups(x.ActionProfileGroup)
	case *v1.Entity_CounterEntry:
		return e.readCounter(x.CounterEntry)
	case *v1.Entity_MeterEntry:
		return e.readMeter(x.MeterEntry)
	case *v1.Entity_RegisterEntry:
		return e.readRegister(x.RegisterEntry)
	case *v1.Entity_ValueSetEntry:
		return e.readValueSet(x.ValueSetEntry)
	case *v1.Entity_PacketReplicationEngineEntry:
		switch y := x.PacketReplicationEngineEntry.GetType().(type) {
		case *v1.PacketReplicationEngineEntry_MulticastGroupEntry:
			return e.readMulticast(y.MulticastGroupEntry)
		case *v1.PacketReplicationEngineEntry_CloneSessionEntry:
			return e.readClones(y.CloneSessionEntry)
		}
		groups, err := e.readMulticast(&v1.MulticastGroupEntry{})
		if err != nil {
			return nil, err
		}
		clones, err := e.readClones(&v1.CloneSessionEntry{})
		return append(groups, clones...), err
	case *v1.Entity_ExternEntry:
		if x.ExternEntry.GetExternTypeId() == 0 {
			return nil, nil // all of none
		}
		return nil, fail(codes.Unimplemented, "the program has no externs of type 0x%x", x.ExternEntry.GetExternTypeId())
	case nil:
		return nil, invalid("request without an entity")
	}
	return nil, fail(codes.Unimplemented, "entities of this type are not supported")
}
