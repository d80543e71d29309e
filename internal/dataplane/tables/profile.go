package tables

import (
	"fmt"
	"sort"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// profile is the contents of an action profile or selector.
type profile struct {
	spec    *ebpf.Profile
	members map[uint32]target.Member
	groups  map[uint32]target.Group
}

func newProfile(x *ebpf.Profile) *profile {
	return &profile{spec: x, members: map[uint32]target.Member{}, groups: map[uint32]target.Group{}}
}

// WriteMember implements target.Switch.
func (c *Control) WriteMember(op target.Op, name string, m target.Member) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := lookup(c.profiles, "action profile", name)
	if err != nil {
		return err
	}
	if err := c.writeMember(p, op, m); err != nil {
		return fmt.Errorf("action profile %q: member %d: %w", p.spec.Name, m.ID, err)
	}
	return nil
}

func (c *Control) writeMember(p *profile, op target.Op, m target.Member) error {
	dst, err := c.mapOf(p.spec.Map)
	if err != nil {
		return err
	}
	_, known := p.members[m.ID]
	switch {
	case op == target.Insert && known:
		return target.ErrExists
	case op != target.Insert && !known:
		return target.ErrNotFound
	case op == target.Insert && len(p.members) >= p.spec.Size:
		return fmt.Errorf("%w: it holds %d members", target.ErrFull, p.spec.Size)
	}
	if op == target.Delete {
		if user := c.memberUser(p, m.ID); user != "" {
			return fmt.Errorf("%w: in use by %s", target.ErrInvalid, user)
		}
		delete(p.members, m.ID)
		return dst.Delete(u32(m.ID))
	}
	value := make([]byte, p.spec.ValueSize)
	if err := encodeAction(p.spec.Actions, m.Action, value, false); err != nil {
		return err
	}
	if err := full(dst.Put(u32(m.ID), value)); err != nil {
		return err
	}
	p.members[m.ID] = m
	return nil
}

// memberUser names what refers to a member, or "".
func (c *Control) memberUser(p *profile, id uint32) string {
	for _, gid := range sortedKeys(p.groups) {
		for _, m := range p.groups[gid].Members {
			if m.ID == id {
				return fmt.Sprintf("group %d", gid)
			}
		}
	}
	for _, name := range sortedKeys(c.tables) {
		t := c.tables[name]
		if t.spec.Profile != p.spec.Name {
			continue
		}
		for _, s := range t.entries {
			if s.entry.Action == nil && s.entry.Group == 0 && s.entry.Member == id {
				return fmt.Sprintf("an entry of table %q", name)
			}
		}
	}
	return ""
}

// ReadMembers implements target.Switch.
func (c *Control) ReadMembers(name string) ([]target.Member, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := lookup(c.profiles, "action profile", name)
	if err != nil {
		return nil, err
	}
	out := make([]target.Member, 0, len(p.members))
	for _, id := range sortedKeys(p.members) {
		out = append(out, p.members[id])
	}
	return out, nil
}

// WriteGroup implements target.Switch.
func (c *Control) WriteGroup(op target.Op, name string, g target.Group) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := lookup(c.profiles, "action selector", name)
	if err != nil {
		return err
	}
	if err := c.writeGroup(p, op, g); err != nil {
		return fmt.Errorf("action selector %q: group %d: %w", p.spec.Name, g.ID, err)
	}
	return nil
}

func (c *Control) writeGroup(p *profile, op target.Op, g target.Group) error {
	if !p.spec.Selector {
		return fmt.Errorf("%w: an action profile has no groups", target.ErrInvalid)
	}
	dst, err := c.mapOf(p.spec.Groups)
	if err != nil {
		return err
	}
	_, known := p.groups[g.ID]
	switch {
	case g.ID == 0:
		return fmt.Errorf("%w: 0 is not a group", target.ErrInvalid)
	case op == target.Insert && known:
		return target.ErrExists
	case op != target.Insert && !known:
		return target.ErrNotFound
	}
	if op == target.Delete {
		for _, name := range sortedKeys(c.tables) {
			for _, s := range c.tables[name].entries {
				if c.tables[name].spec.Profile == p.spec.Name && s.entry.Group == g.ID {
					return fmt.Errorf("%w: in use by an entry of table %q", target.ErrInvalid, name)
				}
			}
		}
		delete(p.groups, g.ID)
		return dst.Delete(u32(g.ID))
	}
	// A member with weight w stands w times; in the order of numbers, so that the same
	// group spreads packets the same way however it was written.
	sorted := append([]target.GroupMember(nil), g.Members...)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].ID < sorted[j].ID })
	var ids []uint32
	for _, m := range sorted {
		if _, ok := p.members[m.ID]; !ok {
			return fmt.Errorf("member %d: %w", m.ID, target.ErrNotFound)
		}
		for range max(m.Weight, 1) {
			ids = append(ids, m.ID)
		}
	}
	if len(ids) > p.spec.MaxGroup {
		return fmt.Errorf("%w: the weights add up to %d of at most %d", target.ErrFull, len(ids), p.spec.MaxGroup)
	}
	value := u32(uint32(len(ids)))
	for _, id := range ids {
		value = append(value, u32(id)...)
	}
	value = append(value, make([]byte, 4*(p.spec.MaxGroup-len(ids)))...)
	if err := full(dst.Put(u32(g.ID), value)); err != nil {
		return err
	}
	p.groups[g.ID] = g
	return nil
}

// ReadGroups implements target.Switch.
func (c *Control) ReadGroups(name string) ([]target.Group, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := lookup(c.profiles, "action selector", name)
	if err != nil {
		return nil, err
	}
	out := make([]target.Group, 0, len(p.groups))
	for _, id := range sortedKeys(p.groups) {
		out = append(out, p.groups[id])
	}
	return out, nil
}

// WriteMulticast implements target.Switch.
func (c *Control) WriteMulticast(op target.Op, id uint32, rs []target.Replica) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.writeMulticast(op, id, rs); err != nil {
		return fmt.Errorf("multicast group %d: %w", id, err)
	}
	return nil
}

func (c *Control) writeMulticast(op target.Op, id uint32, rs []target.Replica) error {
	_, known := c.multicast[id]
	switch {
	case id == 0:
		return fmt.Errorf("%w: 0 means no group", target.ErrInvalid)
	case op == target.Insert && known:
		return target.ErrExists
	case op != target.Insert && !known:
		return target.ErrNotFound
	}
	if c.spec.Multicast {
		m, err := c.mapOf(ebpf.MapMulticast)
		if err != nil {
			return err
		}
		if op == target.Delete {
			if err := m.Delete(u32(id)); err != nil {
				return err
			}
		} else {
			v, err := replicas(rs)
			if err != nil {
				return err
			}
			if err := full(m.Put(u32(id), v)); err != nil {
				return err
			}
		}
	}
	// A program that never multicasts may still be told of groups.
	if op == target.Delete {
		delete(c.multicast, id)
	} else {
		c.multicast[id] = append([]target.Replica(nil), rs...)
	}
	return nil
}

// replicas encodes a list of copies: a count, then port and instance of each (u16).
func replicas(rs []target.Replica) ([]byte, error) {
	if len(rs) > ebpf.MaxReplicas {
		return nil, fmt.Errorf("%w: %d copies of at most %d", target.ErrFull, len(rs), ebpf.MaxReplicas)
	}
	v := make([]byte, 4+4*ebpf.MaxReplicas)
	copy(v, u32(uint32(len(rs))))
	for i, r := range rs {
		if r.Port >= ebpf.NumPorts {
			return nil, fmt.Errorf("%w: port %d", target.ErrInvalid, r.Port)
		}
		put(v, ebpf.Slot{Offset: 4 + 4*i, Bytes: 2}, u32be(r.Port))
		put(v, ebpf.Slot{Offset: 6 + 4*i, Bytes: 2}, u32be(uint32(r.Instance)))
	}
	return v, nil
}

// ReadMulticast implements target.Switch.
func (c *Control) ReadMulticast() (map[uint32][]target.Replica, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[uint32][]target.Replica{}
	for id, rs := range c.multicast {
		out[id] = append([]target.Replica(nil), rs...)
	}
	return out, nil
}

// WriteClone implements target.Switch.
func (c *Control) WriteClone(op target.Op, s target.CloneSession) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.writeClone(op, s); err != nil {
		return fmt.Errorf("clone session %d: %w", s.ID, err)
	}
	return nil
}

func (c *Control) writeClone(op target.Op, s target.CloneSession) error {
	_, known := c.clones[s.ID]
	switch {
	case op == target.Insert && known:
		return target.ErrExists
	case op != target.Insert && !known:
		return target.ErrNotFound
	}
	if c.spec.Clones {
		m, err := c.mapOf(ebpf.MapClones)
		if err != nil {
			return err
		}
		if op == target.Delete {
			if err := m.Delete(u32(s.ID)); err != nil {
				return err
			}
		} else {
			v, err := replicas(s.Replicas)
			if err != nil {
				return err
			}
			if err := full(m.Put(u32(s.ID), append(u32(uint32(s.Truncate)), v...))); err != nil {
				return err
			}
		}
	}
	if op == target.Delete {
		delete(c.clones, s.ID)
	} else {
		c.clones[s.ID] = s
	}
	return nil
}

// ReadClones implements target.Switch.
func (c *Control) ReadClones() ([]target.CloneSession, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]target.CloneSession, 0, len(c.clones))
	for _, id := range sortedKeys(c.clones) {
		out = append(out, c.clones[id])
	}
	return out, nil
}

func sortedKeys[K interface{ ~uint32 | ~string }, V any](m map[K]V) []K {
	out := make([]K, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out
}

func u32be(v uint32) []byte { return []byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)} }
