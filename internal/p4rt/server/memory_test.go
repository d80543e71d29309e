package server_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt/server"
	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	"google.golang.org/protobuf/encoding/prototext"
)

// memoryDevice is a device whose programs do nothing but keep entries. Its device
// configuration is a P4Info as text.
type memoryDevice struct {
	mu       sync.Mutex
	running  *memory
	packetIn func([]byte)
	digest   func(target.Digest)
	injected [][]byte
	loaded   int // pipelines loaded and neither closed nor replaced
}

func (d *memoryDevice) Compile(_ context.Context, cfg []byte) (server.Program, error) {
	info := &configv1.P4Info{}
	if err := prototext.Unmarshal(cfg, info); err != nil {
		return nil, fmt.Errorf("syntax error: %w", err)
	}
	return &memoryProgram{d, info}, nil
}

func (d *memoryDevice) Inject(_ context.Context, p []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.injected = append(d.injected, slices.Clone(p))
	return nil
}

func (d *memoryDevice) Listen(packetIn func([]byte), digest func(target.Digest)) {
	d.packetIn, d.digest = packetIn, digest
}

type memoryProgram struct {
	d    *memoryDevice
	info *configv1.P4Info
}

func (p *memoryProgram) P4Info() *configv1.P4Info { return p.info }

func (p *memoryProgram) Load(_ context.Context, keep bool) (server.Pipeline, error) {
	m := newMemory(p.d, p.info)
	if keep && p.d.running != nil {
		for name := range m.entries {
			if old, ok := p.d.running.entries[name]; ok {
				m.entries[name] = maps.Clone(old)
			}
		}
	}
	p.d.loaded++
	return m, nil
}

// memory implements target.Switch without understanding values.
type memory struct {
	d         *memoryDevice
	limit     map[string]int
	initial   map[string]*target.Action
	entries   map[string]map[string]target.Entry // by table and identity
	defaults  map[string]*target.Action
	members   map[string]map[uint32]target.Member
	groups    map[string]map[uint32]target.Group
	counters  map[string][]target.Counter
	meters    map[string][]*target.MeterConfig
	registers map[string][][][]byte
	sets      map[string][][]target.Match
	multicast map[uint32][]target.Replica
	clones    map[uint32]target.CloneSession
}

func newMemory(d *memoryDevice, info *configv1.P4Info) *memory {
	m := &memory{
		d: d, limit: map[string]int{}, initial: map[string]*target.Action{},
		entries: map[string]map[string]target.Entry{}, defaults: map[string]*target.Action{},
		members: map[string]map[uint32]target.Member{}, groups: map[string]map[uint32]target.Group{},
		counters: map[string][]target.Counter{}, meters: map[string][]*target.MeterConfig{},
		registers: map[string][][][]byte{}, sets: map[string][][]target.Match{},
		multicast: map[uint32][]target.Replica{}, clones: map[uint32]target.CloneSession{},
	}
	for _, t := range info.Tables {
		n := t.Preamble.Name
		m.entries[n], m.limit[n] = map[string]target.Entry{}, int(t.Size)
		m.initial[n] = &target.Action{Name: "NoAction"}
		if t.IsConstTable {
			e := target.Entry{Table: n, Match: []target.Match{{Value: []byte{7}}}, Action: &target.Action{Name: "drop"}, Const: true}
			m.entries[n][target.Identity(e)] = e
		}
	}
	for _, p := range info.ActionProfiles {
		m.members[p.Preamble.Name], m.groups[p.Preamble.Name] = map[uint32]target.Member{}, map[uint32]target.Group{}
	}
	for _, c := range info.Counters {
		m.counters[c.Preamble.Name] = make([]target.Counter, c.Size)
	}
	for _, c := range info.Meters {
		m.meters[c.Preamble.Name] = make([]*target.MeterConfig, c.Size)
	}
	for _, r := range info.Registers {
		cells := make([][][]byte, r.Size)
		for i := range cells {
			cells[i] = [][]byte{{0}, {0}}
		}
		m.registers[r.Preamble.Name] = cells
	}
	return m
}

func (m *memory) Commit(context.Context) error {
	if m.d.running != nil {
		m.d.loaded--
	}
	m.d.running = m
	return nil
}

func (m *memory) Close() error { m.d.loaded--; return nil }

func (m *memory) WriteEntry(op target.Op, e target.Entry) error {
	list, ok := m.entries[e.Table]
	if !ok {
		return fmt.Errorf("table %s: %w", e.Table, target.ErrNotFound)
	}
	id := target.Identity(e)
	was, there := list[id]
	switch {
	case op == target.Insert && there:
		return fmt.Errorf("table %s: entry: %w", e.Table, target.ErrExists)
	case op != target.Insert && !there:
		return fmt.Errorf("table %s: entry: %w", e.Table, target.ErrNotFound)
	case op == target.Insert && len(list) >= m.limit[e.Table]:
		return fmt.Errorf("table %s: %w", e.Table, target.ErrFull)
	case op == target.Delete:
		delete(list, id)
		return nil
	case op == target.Modify:
		e.Const = was.Const
	}
	if e.Counter == nil {
		if e.Counter = was.Counter; e.Counter == nil {
			e.Counter = &target.Counter{}
		}
	}
	list[id] = e
	return nil
}

func (m *memory) SetDefault(table string, a *target.Action) error {
	m.defaults[table] = a
	return nil
}

func (m *memory) ReadEntries(table string) ([]target.Entry, *target.Action, error) {
	def := m.defaults[table]
	if def == nil {
		def = m.initial[table]
	}
	out := slices.Collect(maps.Values(m.entries[table]))
	target.Sort(out)
	return out, def, nil
}

// write does op on a map.
func write[K comparable, V any](what string, op target.Op, x map[K]V, k K, v V) error {
	_, there := x[k]
	switch {
	case op == target.Insert && there:
		return fmt.Errorf("%s: %w", what, target.ErrExists)
	case op != target.Insert && !there:
		return fmt.Errorf("%s: %w", what, target.ErrNotFound)
	case op == target.Delete:
		delete(x, k)
	default:
		x[k] = v
	}
	return nil
}

func (m *memory) WriteMember(op target.Op, p string, x target.Member) error {
	return write("member", op, m.members[p], x.ID, x)
}

func (m *memory) ReadMembers(p string) ([]target.Member, error) {
	var out []target.Member
	for _, x := range m.members[p] {
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b target.Member) int { return int(a.ID) - int(b.ID) })
	return out, nil
}

func (m *memory) WriteGroup(op target.Op, p string, g target.Group) error {
	return write("group", op, m.groups[p], g.ID, g)
}

func (m *memory) ReadGroups(p string) ([]target.Group, error) {
	var out []target.Group
	for _, x := range m.groups[p] {
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b target.Group) int { return int(a.ID) - int(b.ID) })
	return out, nil
}

func (m *memory) ReadCounter(n string, i int) (target.Counter, error) { return m.counters[n][i], nil }
func (m *memory) WriteCounter(n string, i int, c target.Counter) error {
	m.counters[n][i] = c
	return nil
}
func (m *memory) ReadMeter(n string, i int) (*target.MeterConfig, error) { return m.meters[n][i], nil }
func (m *memory) WriteMeter(n string, i int, c *target.MeterConfig) error {
	m.meters[n][i] = c
	return nil
}
func (m *memory) ReadRegister(n string, i int) ([][]byte, error)      { return m.registers[n][i], nil }
func (m *memory) WriteRegister(n string, i int, v [][]byte) error     { m.registers[n][i] = v; return nil }
func (m *memory) ReadValueSet(n string) ([][]target.Match, error)     { return m.sets[n], nil }
func (m *memory) WriteValueSet(n string, x [][]target.Match) error    { m.sets[n] = x; return nil }
func (m *memory) ReadMulticast() (map[uint32][]target.Replica, error) { return m.multicast, nil }
func (m *memory) WriteMulticast(op target.Op, id uint32, rs []target.Replica) error {
	return write("multicast group", op, m.multicast, id, rs)
}
func (m *memory) WriteClone(op target.Op, s target.CloneSession) error {
	return write("clone session", op, m.clones, s.ID, s)
}
func (m *memory) ReadClones() ([]target.CloneSession, error) {
	var out []target.CloneSession
	for _, s := range m.clones {
		out = append(out, s)
	}
	return out, nil
}

// program is the P4Info of the tests' program. The register's type has two scalars.
const program = `
pkg_info { arch: "v1model" }
tables {
  preamble { id: 0x02000001 name: "In.fwd" alias: "fwd" }
  match_fields { id: 1 name: "dst" bitwidth: 48 match_type: EXACT }
  action_refs { id: 0x01000001 } action_refs { id: 0x01000002 }
  action_refs { id: 0x01000003 scope: DEFAULT_ONLY }
  direct_resource_ids: 0x13000001
  size: 1100
}
tables {
  preamble { id: 0x02000002 name: "In.acl" alias: "acl" }
  match_fields { id: 1 name: "src" bitwidth: 32 match_type: TERNARY }
  match_fields { id: 2 name: "dst" bitwidth: 32 match_type: LPM }
  match_fields { id: 3 name: "port" bitwidth: 16 match_type: RANGE }
  match_fields { id: 4 name: "proto" bitwidth: 8 match_type: OPTIONAL }
  action_refs { id: 0x01000001 } action_refs { id: 0x01000002 scope: TABLE_ONLY }
  direct_resource_ids: 0x15000001
  size: 4
}
tables {
  preamble { id: 0x02000003 name: "In.fixed" alias: "fixed" }
  match_fields { id: 1 name: "x" bitwidth: 8 match_type: EXACT }
  action_refs { id: 0x01000001 }
  is_const_table: true has_initial_entries: true const_default_action_id: 0x01000001
  size: 1
}
tables {
  preamble { id: 0x02000004 name: "In.ecmp" alias: "ecmp" }
  match_fields { id: 1 name: "dst" bitwidth: 32 match_type: LPM }
  action_refs { id: 0x01000001 } action_refs { id: 0x01000002 }
  implementation_id: 0x11000001
  size: 10
}
tables {
  preamble { id: 0x02000005 name: "In.keyless" alias: "keyless" }
  action_refs { id: 0x01000001 } action_refs { id: 0x01000002 }
  size: 1
}
actions { preamble { id: 0x01000001 name: "drop" alias: "drop" } }
actions {
  preamble { id: 0x01000002 name: "In.set" alias: "set" }
  params { id: 1 name: "port" bitwidth: 9 }
  params { id: 2 name: "mac" bitwidth: 48 }
}
actions { preamble { id: 0x01000003 name: "NoAction" alias: "NoAction" } }
action_profiles {
  preamble { id: 0x11000001 name: "In.sel" alias: "sel" }
  table_ids: 0x02000004 with_selector: true size: 16 max_group_size: 8
}
counters { preamble { id: 0x12000001 name: "In.cnt" alias: "cnt" } spec { unit: BOTH } size: 4 }
direct_counters { preamble { id: 0x13000001 name: "In.fwdcnt" alias: "fwdcnt" } spec { unit: BOTH } direct_table_id: 0x02000001 }
meters { preamble { id: 0x14000001 name: "In.met" alias: "met" } spec { unit: BYTES } size: 2 }
direct_meters { preamble { id: 0x15000001 name: "In.aclmet" alias: "aclmet" } spec { unit: BYTES } direct_table_id: 0x02000002 }
registers {
  preamble { id: 0x16000001 name: "In.reg" alias: "reg" }
  type_spec { struct { name: "pair" } } size: 3
}
value_sets { preamble { id: 0x03000001 name: "P.types" alias: "types" } match { id: 1 bitwidth: 16 match_type: EXACT } size: 2 }
digests { preamble { id: 0x17000001 name: "learn" alias: "learn" } type_spec { struct { name: "pair" } } }
controller_packet_metadata {
  preamble { id: 0x04000001 name: "packet_in" alias: "packet_in" }
  metadata { id: 1 name: "ingress_port" bitwidth: 9 } metadata { id: 2 name: "reason" bitwidth: 7 }
}
controller_packet_metadata {
  preamble { id: 0x04000002 name: "packet_out" alias: "packet_out" }
  metadata { id: 1 name: "egress_port" bitwidth: 9 }
  metadata { id: 2 name: "pad" bitwidth: 7 annotations: "@padding" }
}
type_info {
  structs { key: "pair" value {
    members { name: "mac" type_spec { bitstring { bit { bitwidth: 48 } } } }
    members { name: "delta" type_spec { bitstring { int { bitwidth: 8 } } } }
  } }
}
`

// edited is the program with something replaced.
func edited(old, new string) []byte {
	if !strings.Contains(program, old) {
		panic("the program does not contain " + old)
	}
	return []byte(strings.ReplaceAll(program, old, new))
}
