// Package target is what a running P4 program looks like from outside: the
// entities that a control plane writes and reads, by their control-plane names,
// and packets in and out. The interpreter and the kernel data plane both are such
// a target, so that STF scripts, P4Runtime and differential tests work on either.
//
// Values are big-endian byte strings; leading zero bytes do not matter. Methods
// are safe for concurrent use. Errors wrap ErrNotFound, ErrExists, ErrFull or
// ErrInvalid and name the object.
package target

import "errors"

// The kinds of failure, as P4Runtime tells them apart.
var (
	ErrNotFound    = errors.New("not found")
	ErrExists      = errors.New("already exists")
	ErrFull        = errors.New("no space left")
	ErrInvalid     = errors.New("invalid")
	ErrUnsupported = errors.New("unsupported on this target")
)

// DropPort is the egress_spec that means drop, and the largest port number.
const DropPort = 511

// Match is the match of one key. Which fields count depends on the key's kind:
// exact Value; lpm Value and PrefixLen; ternary Value and Mask; range Lo and Hi;
// optional Value. Any is a wildcard (not for exact).
type Match struct {
	Any         bool
	Value, Mask []byte
	PrefixLen   int
	Lo, Hi      []byte
}

// Action is an action with its parameters, in order.
type Action struct {
	Name   string // ir.Action.FullName
	Params [][]byte
}

// Entry is a table entry. With an action profile or selector, Member or Group
// takes the place of Action.
type Entry struct {
	Table    string  // ir.Table.FullName
	Match    []Match // one for each key but the selector keys, in order
	Priority int     // of tables with ternary, range or optional keys; the larger wins
	Action   *Action
	Member   uint32 // when Action is nil and Group is 0
	Group    uint32
	Metadata []byte // the control plane's own, kept and given back

	Counter *Counter // direct counter: on read; on write it sets the value
	Meter   *MeterConfig
	Const   bool // given by the program; cannot be changed
}

// Counter is the value of a counter cell.
type Counter struct{ Packets, Bytes uint64 }

// MeterConfig is a two-rate three-colour marker: rates per second and burst sizes,
// in packets or bytes as the meter counts. Nil means: all is green.
type MeterConfig struct{ CIR, CBurst, PIR, PBurst uint64 }

// Member is an action of an action profile.
type Member struct {
	ID     uint32
	Action Action
}

// Group is a group of an action selector. Weights are at least 1.
type Group struct {
	ID      uint32
	Members []GroupMember
	MaxSize int
}

// GroupMember is a member of a group.
type GroupMember struct {
	ID     uint32
	Weight int
	Watch  uint32 // port, 0: none
}

// Replica is a copy made by a multicast group or a clone session.
type Replica struct {
	Port     uint32
	Instance uint16 // egress_rid
}

// CloneSession says where clones go.
type CloneSession struct {
	ID       uint32
	Replicas []Replica
	Truncate int // bytes, 0: whole
}

// Op is what a write does.
type Op int

// The writes.
const (
	Insert Op = iota
	Modify
	Delete
)

// Switch is the control plane's view.
type Switch interface {
	// WriteEntry inserts, modifies or deletes a table entry.
	WriteEntry(op Op, e Entry) error
	// SetDefault changes a table's default action; nil restores the program's.
	SetDefault(table string, a *Action) error
	// ReadEntries returns a table's entries, sorted, and its default action.
	ReadEntries(table string) ([]Entry, *Action, error)

	WriteMember(op Op, profile string, m Member) error
	ReadMembers(profile string) ([]Member, error)
	WriteGroup(op Op, profile string, g Group) error
	ReadGroups(profile string) ([]Group, error)

	ReadCounter(name string, index int) (Counter, error)
	WriteCounter(name string, index int, c Counter) error
	ReadMeter(name string, index int) (*MeterConfig, error)
	WriteMeter(name string, index int, c *MeterConfig) error
	// ReadRegister returns one value for each scalar of the register's type.
	ReadRegister(name string, index int) ([][]byte, error)
	WriteRegister(name string, index int, v [][]byte) error
	ReadValueSet(name string) ([][]Match, error)
	WriteValueSet(name string, members [][]Match) error

	WriteMulticast(op Op, id uint32, rs []Replica) error
	ReadMulticast() (map[uint32][]Replica, error)
	WriteClone(op Op, s CloneSession) error
	ReadClones() ([]CloneSession, error)
}

// Packet is a packet on a port.
type Packet struct {
	Port uint32
	Data []byte
}

// Digest is what a program sent with the digest extern: the scalars of Name's
// struct in order.
type Digest struct {
	Name   string
	Values [][]byte
}

// Device is a Switch through which packets can be pushed one by one: a test bed.
type Device interface {
	Switch
	// Inject runs one packet to its end and returns what came out, in order.
	Inject(p Packet) ([]Packet, error)
	// Digests returns and forgets the digests sent since the last call.
	Digests() []Digest
	Close() error
}
