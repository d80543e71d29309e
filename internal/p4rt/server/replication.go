package server

import (
	"slices"

	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt"
	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// The protocol's number for the CPU port, and ours.
const (
	sdnCPUPort = 0xfffffffd
	cpuPort    = 510
)

// maxInstance is the largest egress_rid: bit<16> in v1model.
const maxInstance = 1<<16 - 1

// decodeReplicas checks the copies of a multicast group or clone session.
func decodeReplicas(rs []*v1.Replica) ([]target.Replica, error) {
	var out []target.Replica
	for i, r := range rs {
		var port uint32
		switch k := r.GetPortKind().(type) {
		case *v1.Replica_EgressPort:
			//lint:ignore SA1019 deprecated, but clients still send it
			port = k.EgressPort
		case *v1.Replica_Port:
			if len(k.Port) == 0 || p4rt.BitLen(k.Port) > 32 {
				return nil, invalid("replica %d: port 0x%x is no 32-bit number", i, k.Port)
			}
			port = uint32(p4rt.Uint64(k.Port))
		default:
			return nil, invalid("replica %d: the port is missing", i)
		}
		if port == sdnCPUPort {
			port = cpuPort
		}
		if port >= target.DropPort {
			return nil, invalid("replica %d: port %d is not below %d", i, port, target.DropPort)
		}
		if r.GetInstance() > maxInstance {
			return nil, invalid("replica %d: instance %d is above %d", i, r.GetInstance(), maxInstance)
		}
		if len(r.GetBackupReplicas()) != 0 {
			return nil, fail(codes.Unimplemented, "replica %d: backup replicas are not supported", i)
		}
		x := target.Replica{Port: port, Instance: uint16(r.GetInstance())}
		if slices.Contains(out, x) {
			return nil, invalid("replica %d: port %d, instance %d is there twice", i, x.Port, x.Instance)
		}
		out = append(out, x)
	}
	return out, nil
}

func encodeReplicas(rs []target.Replica) []*v1.Replica {
	var out []*v1.Replica
	for _, r := range rs {
		port := r.Port
		if port == cpuPort {
			port = sdnCPUPort
		}
		out = append(out, &v1.Replica{PortKind: &v1.Replica_Port{Port: p4rt.Uint(uint64(port))}, Instance: uint32(r.Instance)})
	}
	return out
}

func (e *entities) writeMulticast(op target.Op, g *v1.MulticastGroupEntry) error {
	id := g.GetMulticastGroupId()
	if id == 0 || id > maxInstance {
		return invalid("multicast group %d: ids are 1 to %d", id, maxInstance)
	}
	if op == target.Delete {
		if err := e.pipeline.WriteMulticast(op, id, nil); err != nil {
			return err
		}
		delete(e.multicast, id)
		return nil
	}
	rs, err := decodeReplicas(g.GetReplicas())
	if err != nil {
		return within(err, "multicast group %d", id)
	}
	if err := e.pipeline.WriteMulticast(op, id, rs); err != nil {
		return err
	}
	e.multicast[id] = proto.Clone(g).(*v1.MulticastGroupEntry)
	return nil
}

func (e *entities) readMulticast(q *v1.MulticastGroupEntry) ([]*v1.Entity, error) {
	groups, err := e.pipeline.ReadMulticast()
	if err != nil {
		return nil, err
	}
	var ids []uint32
	for id := range groups {
		if q.GetMulticastGroupId() == 0 || q.GetMulticastGroupId() == id {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	var out []*v1.Entity
	for _, id := range ids {
		g := &v1.MulticastGroupEntry{MulticastGroupId: id, Replicas: encodeReplicas(groups[id])}
		if was := e.multicast[id]; was != nil {
			g.Metadata = was.GetMetadata()
			if rs, err := decodeReplicas(was.GetReplicas()); err == nil && sameReplicas(rs, groups[id]) {
				g.Replicas = was.GetReplicas()
			}
		}
		out = append(out, &v1.Entity{Entity: &v1.Entity_PacketReplicationEngineEntry{PacketReplicationEngineEntry: &v1.PacketReplicationEngineEntry{
			Type: &v1.PacketReplicationEngineEntry_MulticastGroupEntry{MulticastGroupEntry: g},
		}}})
	}
	return out, nil
}

// sameReplicas compares without regard to order.
func sameReplicas(a, b []target.Replica) bool {
	if len(a) != len(b) {
		return false
	}
	for _, r := range a {
		if !slices.Contains(b, r) {
			return false
		}
	}
	return true
}

func (e *entities) writeClone(op target.Op, c *v1.CloneSessionEntry) error {
	id := c.GetSessionId()
	if id == 0 || id > maxInstance {
		return invalid("clone session %d: ids are 1 to %d", id, maxInstance)
	}
	if op == target.Delete {
		if err := e.pipeline.WriteClone(op, target.CloneSession{ID: id}); err != nil {
			return err
		}
		delete(e.clones, id)
		return nil
	}
	if c.GetPacketLengthBytes() < 0 {
		return invalid("clone session %d: negative packet length", id)
	}
	if c.GetClassOfService() != 0 {
		return invalid("clone session %d: class of service %d: there is only class 0", id, c.GetClassOfService())
	}
	rs, err := decodeReplicas(c.GetReplicas())
	if err != nil {
		return within(err, "clone session %d", id)
	}
	if err := e.pipeline.WriteClone(op, target.CloneSession{ID: id, Replicas: rs, Truncate: int(c.GetPacketLengthBytes())}); err != nil {
		return err
	}
	e.clones[id] = proto.Clone(c).(*v1.CloneSessionEntry)
	return nil
}

func (e *entities) readClones(q *v1.CloneSessionEntry) ([]*v1.Entity, error) {
	sessions, err := e.pipeline.ReadClones()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(sessions, func(a, b target.CloneSession) int { return int(a.ID) - int(b.ID) })
	var out []*v1.Entity
	for _, s := range sessions {
		if q.GetSessionId() != 0 && q.GetSessionId() != s.ID {
			continue
		}
		c := &v1.CloneSessionEntry{SessionId: s.ID, Replicas: encodeReplicas(s.Replicas), PacketLengthBytes: int32(s.Truncate)}
		if was := e.clones[s.ID]; was != nil {
			if rs, err := decodeReplicas(was.GetReplicas()); err == nil && sameReplicas(rs, s.Replicas) {
				c.Replicas = was.GetReplicas()
			}
		}
		out = append(out, &v1.Entity{Entity: &v1.Entity_PacketReplicationEngineEntry{PacketReplicationEngineEntry: &v1.PacketReplicationEngineEntry{
			Type: &v1.PacketReplicationEngineEntry_CloneSessionEntry{CloneSessionEntry: c},
		}}})
	}
	return out, nil
}
