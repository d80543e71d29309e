package client

import (
	"context"
	"fmt"

	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt"
	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

// Update is one write.
type Update struct {
	Op     target.Op
	Entity Entity
}

// Insert, Modify and Delete make updates.
func Insert(e Entity) Update { return Update{target.Insert, e} }

// Modify replaces what is there.
func Modify(e Entity) Update { return Update{target.Modify, e} }

// Delete removes; only the key of the entity counts.
func Delete(e Entity) Update { return Update{target.Delete, e} }

// Entity is something that can be written: Entry, Default, Member, Group,
// Multicast, Clone, CounterCell, MeterCell, RegisterCell, ValueSet, DigestConfig.
type Entity interface {
	// String names the entity in errors.
	String() string
	encode(s *p4rt.Schema) (*v1.Entity, error)
}

// Entry is a table entry by names.
type Entry struct {
	Table string
	// Match is by key name. Keys that are left out match everything. An exact
	// match needs Value; see target.Match for the others.
	Match    map[string]target.Match
	Priority int // > 0 if the table has ternary, range or optional keys, else 0

	Action string
	Params map[string][]byte // by parameter name
	Member uint32            // instead of Action
	Group  uint32            // instead of Action

	Metadata []byte // of the controller, kept by the switch
	Counter  *target.Counter
	Meter    *target.MeterConfig
	Const    bool // read only
}

// Default is a table's default action. An empty Action restores the program's.
type Default struct {
	Table  string
	Action string
	Params map[string][]byte
}

// Member is a member of an action profile.
type Member struct {
	Profile string
	ID      uint32
	Action  string
	Params  map[string][]byte
}

// Group is a group of an action selector.
type Group struct {
	Profile string
	ID      uint32
	Members []target.GroupMember
	MaxSize int
}

// Multicast is a multicast group.
type Multicast struct {
	ID       uint32
	Replicas []target.Replica
}

// Clone is a clone session.
type Clone struct{ target.CloneSession }

// CounterCell is a cell of an indirect counter; Index < 0 stands for all of them.
type CounterCell struct {
	Counter string
	Index   int
	Value   target.Counter
}

// MeterCell is a cell of an indirect meter; Index < 0 stands for all of them.
type MeterCell struct {
	Meter  string
	Index  int
	Config *target.MeterConfig // nil: all is green
}

// RegisterCell is a cell of a register; Index < 0 stands for all of them.
type RegisterCell struct {
	Register string
	Index    int
	Value    [][]byte // one for each scalar of the register's type
}

// ValueSet is the contents of a parser value set.
type ValueSet struct {
	Name    string
	Members [][]target.Match
}

// DigestConfig turns the sending of a digest on (Insert) or off (Delete).
type DigestConfig struct {
	Digest     string
	MaxTimeout int64 // ns
	MaxList    int32 // digests in a list
	AckTimeout int64 // ns
}

func (e Entry) String() string        { return "table " + e.Table }
func (e Default) String() string      { return "table " + e.Table + ": default action" }
func (e Member) String() string       { return fmt.Sprintf("action profile %s: member %d", e.Profile, e.ID) }
func (e Group) String() string        { return fmt.Sprintf("action selector %s: group %d", e.Profile, e.ID) }
func (e Multicast) String() string    { return fmt.Sprintf("multicast group %d", e.ID) }
func (e Clone) String() string        { return fmt.Sprintf("clone session %d", e.ID) }
func (e CounterCell) String() string  { return fmt.Sprintf("counter %s[%d]", e.Counter, e.Index) }
func (e MeterCell) String() string    { return fmt.Sprintf("meter %s[%d]", e.Meter, e.Index) }
func (e RegisterCell) String() string { return fmt.Sprintf("register %s[%d]", e.Register, e.Index) }
func (e ValueSet) String() string     { return "value set " + e.Name }
func (e DigestConfig) String() string { return "digest " + e.Digest }

// Write sends a batch of updates. Every update is tried; the error is a
// *WriteError when some failed.
func (c *Client) Write(ctx context.Context, updates ...Update) error {
	// gRPC messages have a size limit at the other end, too.
	const most = 10000
	for len(updates) > 0 {
		n := min(most, len(updates))
		if err := c.write(ctx, v1.WriteRequest_CONTINUE_ON_ERROR, updates[:n]); err != nil {
			return err
		}
		updates = updates[n:]
	}
	return nil
}

// WriteAll sends a batch of which all updates are done or none.
func (c *Client) WriteAll(ctx context.Context, updates ...Update) error {
	if len(updates) == 0 {
		return nil
	}
	return c.write(ctx, v1.WriteRequest_ROLLBACK_ON_ERROR, updates)
}

func (c *Client) write(ctx context.Context, how v1.WriteRequest_Atomicity, updates []Update) error {
	schema, err := c.Schema()
	if err != nil {
		return err
	}
	req := &v1.WriteRequest{
		DeviceId: c.cfg.DeviceID, Role: c.cfg.Role, ElectionId: c.election(), Atomicity: how,
		Updates: make([]*v1.Update, len(updates)),
	}
	for i, u := range updates {
		x, err := u.Entity.encode(schema)
		if err != nil {
			return plain("write", err)
		}
		req.Updates[i] = &v1.Update{Type: updateTypes[u.Op], Entity: x}
	}
	if _, err := c.rpc.Write(ctx, req); err != nil {
		return writeError(err, updates)
	}
	return nil
}

var updateTypes = map[target.Op]v1.Update_Type{
	target.Insert: v1.Update_INSERT, target.Modify: v1.Update_MODIFY, target.Delete: v1.Update_DELETE,
}

func (e Entry) encode(s *p4rt.Schema) (*v1.Entity, error) {
	t, err := s.Tables.Named(e.Table)
	if err != nil {
		return nil, err
	}
	out := target.Entry{Table: t.Name(), Priority: e.Priority, Member: e.Member, Group: e.Group}
	if out.Match, err = e.matches(t); err != nil {
		return nil, err
	}
	if e.Action != "" {
		info, err := s.TableAction(t, e.Action)
		if err != nil {
			return nil, err
		}
		if out.Action, err = action(info, e.Params); err != nil {
			return nil, p4rt.Within(err, "table %s", t.Name())
		}
	}
	te, err := s.EncodeEntry(t, out)
	if err != nil {
		return nil, err
	}
	te.Priority = int32(e.Priority)
	te.Metadata = e.Metadata
	te.CounterData = p4rt.EncodeCounter(e.Counter)
	te.MeterConfig = p4rt.EncodeMeter(e.Meter)
	return &v1.Entity{Entity: &v1.Entity_TableEntry{TableEntry: te}}, nil
}

// matches puts the matches in the order of the keys.
func (e Entry) matches(t *p4rt.Table) ([]target.Match, error) {
	out := make([]target.Match, len(t.MatchFields))
	used := 0
	for i, f := range t.MatchFields {
		m, ok := e.Match[f.GetName()]
		switch {
		case ok:
			used++
			if len(m.Value) == 0 && !m.Any && f.GetMatchType() == configv1.MatchField_EXACT {
				return nil, fmt.Errorf("table %s: key %s: the value is missing: %w", t.Name(), f.GetName(), target.ErrInvalid)
			}
		case f.GetMatchType() == configv1.MatchField_EXACT:
			return nil, fmt.Errorf("table %s: key %s is matched exactly and needs a value: %w", t.Name(), f.GetName(), target.ErrInvalid)
		default:
			m = target.Match{Any: true}
		}
		out[i] = m
	}
	if used < len(e.Match) {
		for name := range e.Match {
			if !contains(t.FieldNames(), name) {
				return nil, fmt.Errorf("table %s has no key %q; %s: %w", t.Name(), name, list(t.FieldNames()), target.ErrNotFound)
			}
		}
	}
	return out, nil
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// action puts the parameters in order.
func action(info *configv1.Action, params map[string][]byte) (*target.Action, error) {
	name := info.GetPreamble().GetName()
	out := &target.Action{Name: name, Params: make([][]byte, len(info.GetParams()))}
	var names []string
	for i, p := range info.GetParams() {
		names = append(names, p.GetName())
		v, ok := params[p.GetName()]
		if !ok {
			return nil, fmt.Errorf("action %s: parameter %s is missing: %w", name, p.GetName(), target.ErrInvalid)
		}
		out.Params[i] = v
	}
	for p := range params {
		if !contains(names, p) {
			return nil, fmt.Errorf("action %s has no parameter %q; %s: %w", name, p, list(names), target.ErrNotFound)
		}
	}
	return out, nil
}

func (e Default) encode(s *p4rt.Schema) (*v1.Entity, error) {
	t, err := s.Tables.Named(e.Table)
	if err != nil {
		return nil, err
	}
	te := &v1.TableEntry{TableId: t.GetPreamble().GetId(), IsDefaultAction: true}
	if e.Action != "" {
		info, err := s.TableAction(t, e.Action)
		if err != nil {
			return nil, err
		}
		a, err := encodeAction(s, info, e.Params)
		if err != nil {
			return nil, p4rt.Within(err, "table %s", t.Name())
		}
		te.Action = &v1.TableAction{Type: &v1.TableAction_Action{Action: a}}
	}
	return &v1.Entity{Entity: &v1.Entity_TableEntry{TableEntry: te}}, nil
}

func encodeAction(s *p4rt.Schema, info *configv1.Action, params map[string][]byte) (*v1.Action, error) {
	a, err := action(info, params)
	if err != nil {
		return nil, err
	}
	return s.EncodeAction(a)
}

func (e Member) encode(s *p4rt.Schema) (*v1.Entity, error) {
	p, err := s.Profiles.Named(e.Profile)
	if err != nil {
		return nil, err
	}
	m := &v1.ActionProfileMember{ActionProfileId: p.GetPreamble().GetId(), MemberId: e.ID}
	if e.Action != "" {
		info, err := s.Actions.Named(e.Action)
		if err != nil {
			return nil, err
		}
		if m.Action, err = encodeAction(s, info, e.Params); err != nil {
			return nil, p4rt.Within(err, "action profile %s", e.Profile)
		}
	}
	return &v1.Entity{Entity: &v1.Entity_ActionProfileMember{ActionProfileMember: m}}, nil
}

func (e Group) encode(s *p4rt.Schema) (*v1.Entity, error) {
	p, err := s.Profiles.Named(e.Profile)
	if err != nil {
		return nil, err
	}
	g := &v1.ActionProfileGroup{ActionProfileId: p.GetPreamble().GetId(), GroupId: e.ID, MaxSize: int32(e.MaxSize)}
	for _, m := range e.Members {
		gm := &v1.ActionProfileGroup_Member{MemberId: m.ID, Weight: int32(m.Weight)}
		if m.Watch != 0 {
			gm.WatchKind = &v1.ActionProfileGroup_Member_WatchPort{WatchPort: p4rt.Uint(uint64(m.Watch))}
		}
		g.Members = append(g.Members, gm)
	}
	return &v1.Entity{Entity: &v1.Entity_ActionProfileGroup{ActionProfileGroup: g}}, nil
}

func replicas(rs []target.Replica) []*v1.Replica {
	var out []*v1.Replica
	for _, r := range rs {
		out = append(out, &v1.Replica{PortKind: &v1.Replica_Port{Port: p4rt.Uint(uint64(r.Port))}, Instance: uint32(r.Instance)})
	}
	return out
}

func replicationEntity(e *v1.PacketReplicationEngineEntry) *v1.Entity {
	return &v1.Entity{Entity: &v1.Entity_PacketReplicationEngineEntry{PacketReplicationEngineEntry: e}}
}

func (e Multicast) encode(*p4rt.Schema) (*v1.Entity, error) {
	return replicationEntity(&v1.PacketReplicationEngineEntry{Type: &v1.PacketReplicationEngineEntry_MulticastGroupEntry{
		MulticastGroupEntry: &v1.MulticastGroupEntry{MulticastGroupId: e.ID, Replicas: replicas(e.Replicas)},
	}}), nil
}

func (e Clone) encode(*p4rt.Schema) (*v1.Entity, error) {
	return replicationEntity(&v1.PacketReplicationEngineEntry{Type: &v1.PacketReplicationEngineEntry_CloneSessionEntry{
		CloneSessionEntry: &v1.CloneSessionEntry{SessionId: e.ID, Replicas: replicas(e.Replicas), PacketLengthBytes: int32(e.Truncate)},
	}}), nil
}

func index(i int) *v1.Index {
	if i < 0 {
		return nil
	}
	return &v1.Index{Index: int64(i)}
}

func (e CounterCell) encode(s *p4rt.Schema) (*v1.Entity, error) {
	info, err := s.Counters.Named(e.Counter)
	if err != nil {
		return nil, err
	}
	return &v1.Entity{Entity: &v1.Entity_CounterEntry{CounterEntry: &v1.CounterEntry{
		CounterId: info.GetPreamble().GetId(), Index: index(e.Index), Data: p4rt.EncodeCounter(&e.Value),
	}}}, nil
}

func (e MeterCell) encode(s *p4rt.Schema) (*v1.Entity, error) {
	info, err := s.Meters.Named(e.Meter)
	if err != nil {
		return nil, err
	}
	return &v1.Entity{Entity: &v1.Entity_MeterEntry{MeterEntry: &v1.MeterEntry{
		MeterId: info.GetPreamble().GetId(), Index: index(e.Index), Config: p4rt.EncodeMeter(e.Config),
	}}}, nil
}

func (e RegisterCell) encode(s *p4rt.Schema) (*v1.Entity, error) {
	info, err := s.Registers.Named(e.Register)
	if err != nil {
		return nil, err
	}
	d, err := s.EncodeData(info.GetTypeSpec(), info.Scalars, e.Value)
	if err != nil {
		return nil, p4rt.Within(err, "register %s", e.Register)
	}
	return &v1.Entity{Entity: &v1.Entity_RegisterEntry{RegisterEntry: &v1.RegisterEntry{
		RegisterId: info.GetPreamble().GetId(), Index: index(e.Index), Data: d,
	}}}, nil
}

func (e ValueSet) encode(s *p4rt.Schema) (*v1.Entity, error) {
	info, err := s.ValueSets.Named(e.Name)
	if err != nil {
		return nil, err
	}
	v := &v1.ValueSetEntry{ValueSetId: info.GetPreamble().GetId()}
	for _, ms := range e.Members {
		m, err := p4rt.EncodeMatches(info.GetMatch(), ms)
		if err != nil {
			return nil, p4rt.Within(err, "value set %s", e.Name)
		}
		v.Members = append(v.Members, &v1.ValueSetMember{Match: m})
	}
	return &v1.Entity{Entity: &v1.Entity_ValueSetEntry{ValueSetEntry: v}}, nil
}

func (e DigestConfig) encode(s *p4rt.Schema) (*v1.Entity, error) {
	info, err := s.Digests.Named(e.Digest)
	if err != nil {
		return nil, err
	}
	return &v1.Entity{Entity: &v1.Entity_DigestEntry{DigestEntry: &v1.DigestEntry{
		DigestId: info.GetPreamble().GetId(),
		Config:   &v1.DigestEntry_Config{MaxTimeoutNs: e.MaxTimeout, MaxListSize: e.MaxList, AckTimeoutNs: e.AckTimeout},
	}}}, nil
}
