package client

import (
	"context"
	"errors"
	"io"

	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt"
	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

// read asks for entities and gathers the answers.
func (c *Client) read(ctx context.Context, what string, queries ...*v1.Entity) ([]*v1.Entity, error) {
	stream, err := c.rpc.Read(ctx, &v1.ReadRequest{DeviceId: c.cfg.DeviceID, Entities: queries})
	if err != nil {
		return nil, plain(what, err)
	}
	var out []*v1.Entity
	for {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, plain(what, err)
		}
		out = append(out, resp.GetEntities()...)
	}
}

// Entries returns a table's entries with their direct counters and meters, in the
// switch's order. Params and matches are by name; values have the canonical form.
func (c *Client) Entries(ctx context.Context, table string) ([]Entry, error) {
	s, err := c.Schema()
	if err != nil {
		return nil, err
	}
	t, err := s.Tables.Named(table)
	if err != nil {
		return nil, plain("read", err)
	}
	q := &v1.TableEntry{TableId: t.GetPreamble().GetId()}
	if t.Counter != nil {
		q.CounterData = &v1.CounterData{}
	}
	if t.Meter != nil {
		q.MeterConfig = &v1.MeterConfig{}
	}
	found, err := c.read(ctx, "table "+t.Name(), &v1.Entity{Entity: &v1.Entity_TableEntry{TableEntry: q}})
	if err != nil {
		return nil, err
	}
	var out []Entry
	for _, x := range found {
		e, err := decodeEntry(s, t, x.GetTableEntry())
		if err != nil {
			return nil, plain("table "+t.Name(), err)
		}
		out = append(out, e)
	}
	return out, nil
}

func decodeEntry(s *p4rt.Schema, t *p4rt.Table, te *v1.TableEntry) (Entry, error) {
	out := Entry{
		Table: t.Name(), Match: map[string]target.Match{}, Priority: int(te.GetPriority()),
		Metadata: te.GetMetadata(), Const: te.GetIsConst(),
	}
	ms, err := p4rt.DecodeMatches(t.MatchFields, te.GetMatch())
	if err != nil {
		return out, err
	}
	for i, f := range t.MatchFields {
		if !ms[i].Any {
			out.Match[f.GetName()] = ms[i]
		}
	}
	switch {
	case te.GetAction().GetAction() != nil:
		if out.Action, out.Params, err = named(s, te.GetAction().GetAction()); err != nil {
			return out, err
		}
	default:
		out.Member = te.GetAction().GetActionProfileMemberId()
		out.Group = te.GetAction().GetActionProfileGroupId()
	}
	if out.Counter, err = p4rt.DecodeCounter(te.GetCounterData()); err != nil {
		return out, err
	}
	out.Meter, err = p4rt.DecodeMeter(t.Meter.GetSpec(), te.GetMeterConfig())
	return out, err
}

// named gives an action's name and its parameters by name.
func named(s *p4rt.Schema, a *v1.Action) (string, map[string][]byte, error) {
	act, err := s.DecodeAction(a)
	if err != nil {
		return "", nil, err
	}
	params := map[string][]byte{}
	for i, p := range s.Actions.ID(a.GetActionId()).GetParams() {
		params[p.GetName()] = act.Params[i]
	}
	return act.Name, params, nil
}

// DefaultAction returns a table's default action.
func (c *Client) DefaultAction(ctx context.Context, table string) (Default, error) {
	s, err := c.Schema()
	if err != nil {
		return Default{}, err
	}
	t, err := s.Tables.Named(table)
	if err != nil {
		return Default{}, plain("read", err)
	}
	out := Default{Table: t.Name()}
	found, err := c.read(ctx, "table "+t.Name(), &v1.Entity{Entity: &v1.Entity_TableEntry{
		TableEntry: &v1.TableEntry{TableId: t.GetPreamble().GetId(), IsDefaultAction: true},
	}})
	if err != nil || len(found) == 0 {
		return out, err
	}
	out.Action, out.Params, err = named(s, found[0].GetTableEntry().GetAction().GetAction())
	return out, err
}

// Counters returns all cells of an indirect counter.
func (c *Client) Counters(ctx context.Context, name string) ([]target.Counter, error) {
	s, err := c.Schema()
	if err != nil {
		return nil, err
	}
	info, err := s.Counters.Named(name)
	if err != nil {
		return nil, plain("read", err)
	}
	return c.counters(ctx, info, nil)
}

// Counter returns one cell of an indirect counter.
func (c *Client) Counter(ctx context.Context, name string, i int) (target.Counter, error) {
	s, err := c.Schema()
	if err != nil {
		return target.Counter{}, err
	}
	info, err := s.Counters.Named(name)
	if err != nil {
		return target.Counter{}, plain("read", err)
	}
	cells, err := c.counters(ctx, info, &v1.Index{Index: int64(i)})
	if err != nil || len(cells) == 0 {
		return target.Counter{}, err
	}
	return cells[0], nil
}

func (c *Client) counters(ctx context.Context, info *configv1.Counter, i *v1.Index) ([]target.Counter, error) {
	found, err := c.read(ctx, "counter "+info.GetPreamble().GetName(), &v1.Entity{Entity: &v1.Entity_CounterEntry{
		CounterEntry: &v1.CounterEntry{CounterId: info.GetPreamble().GetId(), Index: i},
	}})
	if err != nil {
		return nil, err
	}
	out := make([]target.Counter, len(found))
	for n, x := range found {
		d := x.GetCounterEntry().GetData()
		out[n] = target.Counter{Packets: uint64(d.GetPacketCount()), Bytes: uint64(d.GetByteCount())}
	}
	return out, nil
}

// Registers returns all cells of a register, one value for each scalar of its type.
func (c *Client) Registers(ctx context.Context, name string) ([][][]byte, error) {
	return c.registers(ctx, name, nil)
}

// Register returns one cell of a register.
func (c *Client) Register(ctx context.Context, name string, i int) ([][]byte, error) {
	cells, err := c.registers(ctx, name, &v1.Index{Index: int64(i)})
	if err != nil || len(cells) == 0 {
		return nil, err
	}
	return cells[0], nil
}

func (c *Client) registers(ctx context.Context, name string, i *v1.Index) ([][][]byte, error) {
	s, err := c.Schema()
	if err != nil {
		return nil, err
	}
	info, err := s.Registers.Named(name)
	if err != nil {
		return nil, plain("read", err)
	}
	found, err := c.read(ctx, "register "+name, &v1.Entity{Entity: &v1.Entity_RegisterEntry{
		RegisterEntry: &v1.RegisterEntry{RegisterId: info.GetPreamble().GetId(), Index: i},
	}})
	if err != nil {
		return nil, err
	}
	var out [][][]byte
	for _, x := range found {
		v, err := s.DecodeData(info.GetTypeSpec(), info.Scalars, x.GetRegisterEntry().GetData())
		if err != nil {
			return nil, plain("register "+name, err)
		}
		out = append(out, v)
	}
	return out, nil
}

// Members returns the members of an action profile.
func (c *Client) Members(ctx context.Context, profile string) ([]Member, error) {
	s, err := c.Schema()
	if err != nil {
		return nil, err
	}
	p, err := s.Profiles.Named(profile)
	if err != nil {
		return nil, plain("read", err)
	}
	found, err := c.read(ctx, "action profile "+profile, &v1.Entity{Entity: &v1.Entity_ActionProfileMember{
		ActionProfileMember: &v1.ActionProfileMember{ActionProfileId: p.GetPreamble().GetId()},
	}})
	if err != nil {
		return nil, err
	}
	var out []Member
	for _, x := range found {
		m := Member{Profile: p.GetPreamble().GetName(), ID: x.GetActionProfileMember().GetMemberId()}
		if m.Action, m.Params, err = named(s, x.GetActionProfileMember().GetAction()); err != nil {
			return nil, plain("action profile "+profile, err)
		}
		out = append(out, m)
	}
	return out, nil
}

// Groups returns the groups of an action selector.
func (c *Client) Groups(ctx context.Context, profile string) ([]Group, error) {
	s, err := c.Schema()
	if err != nil {
		return nil, err
	}
	p, err := s.Profiles.Named(profile)
	if err != nil {
		return nil, plain("read", err)
	}
	found, err := c.read(ctx, "action selector "+profile, &v1.Entity{Entity: &v1.Entity_ActionProfileGroup{
		ActionProfileGroup: &v1.ActionProfileGroup{ActionProfileId: p.GetPreamble().GetId()},
	}})
	if err != nil {
		return nil, err
	}
	var out []Group
	for _, x := range found {
		pg := x.GetActionProfileGroup()
		g := Group{Profile: p.GetPreamble().GetName(), ID: pg.GetGroupId(), MaxSize: int(pg.GetMaxSize())}
		for _, m := range pg.GetMembers() {
			g.Members = append(g.Members, target.GroupMember{
				ID: m.GetMemberId(), Weight: int(m.GetWeight()), Watch: uint32(p4rt.Uint64(m.GetWatchPort())),
			})
		}
		out = append(out, g)
	}
	return out, nil
}

// Multicasts returns the multicast groups.
func (c *Client) Multicasts(ctx context.Context) ([]Multicast, error) {
	found, err := c.read(ctx, "multicast groups", replicationEntity(&v1.PacketReplicationEngineEntry{
		Type: &v1.PacketReplicationEngineEntry_MulticastGroupEntry{MulticastGroupEntry: &v1.MulticastGroupEntry{}},
	}))
	if err != nil {
		return nil, err
	}
	var out []Multicast
	for _, x := range found {
		g := x.GetPacketReplicationEngineEntry().GetMulticastGroupEntry()
		out = append(out, Multicast{ID: g.GetMulticastGroupId(), Replicas: decodeReplicas(g.GetReplicas())})
	}
	return out, nil
}

// Clones returns the clone sessions.
func (c *Client) Clones(ctx context.Context) ([]Clone, error) {
	found, err := c.read(ctx, "clone sessions", replicationEntity(&v1.PacketReplicationEngineEntry{
		Type: &v1.PacketReplicationEngineEntry_CloneSessionEntry{CloneSessionEntry: &v1.CloneSessionEntry{}},
	}))
	if err != nil {
		return nil, err
	}
	var out []Clone
	for _, x := range found {
		s := x.GetPacketReplicationEngineEntry().GetCloneSessionEntry()
		out = append(out, Clone{target.CloneSession{
			ID: s.GetSessionId(), Replicas: decodeReplicas(s.GetReplicas()), Truncate: int(s.GetPacketLengthBytes()),
		}})
	}
	return out, nil
}

func decodeReplicas(rs []*v1.Replica) []target.Replica {
	var out []target.Replica
	for _, r := range rs {
		port := uint32(p4rt.Uint64(r.GetPort()))
		if len(r.GetPort()) == 0 {
			//lint:ignore SA1019 another client may have written it so
			port = r.GetEgressPort()
		}
		out = append(out, target.Replica{Port: port, Instance: uint16(r.GetInstance())})
	}
	return out
}

// ReadValueSet returns the members of a parser value set.
func (c *Client) ReadValueSet(ctx context.Context, name string) (ValueSet, error) {
	s, err := c.Schema()
	if err != nil {
		return ValueSet{}, err
	}
	info, err := s.ValueSets.Named(name)
	if err != nil {
		return ValueSet{}, plain("read", err)
	}
	out := ValueSet{Name: info.GetPreamble().GetName()}
	found, err := c.read(ctx, "value set "+name, &v1.Entity{Entity: &v1.Entity_ValueSetEntry{
		ValueSetEntry: &v1.ValueSetEntry{ValueSetId: info.GetPreamble().GetId()},
	}})
	if err != nil {
		return out, err
	}
	for _, x := range found {
		for _, m := range x.GetValueSetEntry().GetMembers() {
			ms, err := p4rt.DecodeMatches(info.GetMatch(), m.GetMatch())
			if err != nil {
				return out, plain("value set "+name, err)
			}
			out.Members = append(out.Members, ms)
		}
	}
	return out, nil
}
