package ebpf

// Spec is everything about a compiled program that is known without a kernel. It
// is a value: two calls of Generate on equal programs give equal Specs.
type Spec struct {
	Name   string
	Source string // the C text; see doc.go for its shape
	Split  string // the same program in many functions; see split.go

	// InMap are the hooks at which the state of a packet is in a map from the start.
	InMap map[Target]bool

	Tables    []*Table
	Profiles  []*Profile
	Counters  []*Counter
	Meters    []*Meter
	Registers []*Register
	ValueSets []*ValueSet
	Digests   []*Digest

	// Multicast and Clones tell whether the maps MapMulticast and MapClones are
	// there: a program that never replicates packets has no use for them.
	Multicast, Clones bool

	// WholeChecksums tells that the program computes checksums over payload from all
	// inputs: packets must not come with checksums that a NIC has yet to fill in, so
	// the ports' peers have to have checksum offload off.
	WholeChecksums bool

	// PacketIn and PacketOut are the layouts of the @controller_header headers,
	// nil when the program has none. A packet to CPUPort carries PacketIn in front.
	PacketIn, PacketOut *ControllerHeader

	// Targets says on which hooks the program can run, and for a hook on which it
	// cannot, why.
	Targets map[Target]string

	// MapKeys has, for every map, a text that changes whenever the meaning of the
	// map's contents changes. Two programs may share a map if the texts are equal.
	MapKeys map[string]string
	// Room has, for data of the program of which the text has just the beginning, how many bytes there are to be. They
	// are zero at first.
	Room map[string]int
	// StateSize is how long the element of the map with the tables' states is.
	StateSize int
}

// Target is a hook of the kernel.
type Target string

// The hooks.
const (
	TC  Target = "tc"
	XDP Target = "xdp"
)

// ProgramName is the name of the C function and of the program in the object.
const ProgramName = "catena"

// CPUPort is the port of packets from and to the control plane.
const CPUPort = 510

// The maps that every program has.
const (
	// MapPortsIn is a hash: ifindex (u32) → PortIn.
	MapPortsIn = "ports_in"
	// MapPortsOut is an array: port → PortOut, with NumPorts elements.
	MapPortsOut = "ports_out"
	// MapEvents is the ring buffer of digests, packets to the CPU and packets on
	// ports with PortToRing.
	MapEvents = "events"
)

// The maps that a program has if it needs them.
const (
	MapMulticast = "multicast"
	MapClones    = "clones"
	// MapTables holds the states of all tables: see Table. It is one map, since a program can use no more than 64.
	MapTables = ".data.tables"
	// MapIndex is data of the program: the words (u64) of the indices of tuple spaces, and behind them as many slots
	// (u32): see Table.
	MapIndex = ".data.tuples"
)

// NumPorts is the number of port numbers: 0 to 511, of which 511 means drop.
const NumPorts = 512

// MaxReplicas is the largest number of copies a multicast group or clone session makes.
const MaxReplicas = 64

// PortIn is the value of MapPortsIn.
type PortIn struct {
	Port  uint32
	Flags uint32
}

// Flags of PortIn.
const (
	// PortInject marks the interface as the source of packets from the control
	// plane: packets leave by bpf_clone_redirect, which also works from a test run.
	PortInject = 1 << 0
	// PortPadShift: in test builds the bits from here on are the number of bytes at
	// the end of each packet that do not belong to it.
	PortPadShift = 16
)

// PortOut is the value of MapPortsOut. All zero: no such port, packets are dropped.
type PortOut struct {
	Ifindex uint32
	Flags   uint32
}

// Flags of PortOut.
const (
	// PortToRing sends the port's packets to MapEvents instead of an interface.
	PortToRing = 1 << 0
	// PortPeer redirects to the peer of a veth or netkit (bpf_redirect_peer), past
	// the host's side of the device. TC only.
	PortPeer = 1 << 1
)

// The kinds of events in MapEvents. An event is EventHeader and Len bytes.
const (
	EventPacket = 1 // ID is the port, Data the packet
	EventDigest = 2 // ID is the position in Spec.Digests, Data the values
)

// EventHeader precedes the data of an event, in the machine's byte order.
type EventHeader struct {
	Kind uint32
	ID   uint32
	Len  uint32 // bytes that follow
	Orig uint32 // bytes of the whole packet; more than Len if it did not fit
}

// ControllerHeader is the layout of packet-in or packet-out metadata.
type ControllerHeader struct {
	Name   string
	Fields []Field
	Bytes  int
}

// Field is a named bit string.
type Field struct {
	Name  string
	Width int
}

// Slot is where a scalar lies in a key or value. Bytes is 1, 2, 4 or 8 for widths up
// to 64, in the machine's byte order; wider values are Bytes/8 words of 64 bits, the
// least significant first.
type Slot struct {
	Name   string
	Width  int
	Signed bool
	Offset int
	Bytes  int
	// Big is set for the prefix of an lpm key: Bytes is then the smallest number
	// that holds Width bits, big-endian, the value aligned to the left.
	Big bool
}

// Layout is a packed key or value. Bytes outside of the slots are zero.
type Layout struct {
	Slots []Slot
	Size  int
}

// TableKind is how a table is searched.
type TableKind string

// The kinds of tables.
const (
	// KindNone is a table without keys: only its default action.
	KindNone TableKind = "none"
	// KindHash is a hash map from Key to Value.
	KindHash TableKind = "hash"
	// KindLPM is a trie; in front of Key stands the prefix length (u32), which
	// counts all exact keys, as they stand in Key, and then the prefix.
	KindLPM TableKind = "lpm"
	// KindTuples is a tuple space; see Table.
	KindTuples TableKind = "tuples"
	// KindCode is a table whose entries are constant and part of the program text.
	KindCode TableKind = "code"
)

// Table describes how entries of a table become map elements.
//
// Of KindTuples, Map is data of the program: Slots elements, ElementSize bytes each: Key, with the number of the mask in
// MaskNumber, at NextAt the slot (u32) of the next element of the chain, and at ValueAt the value. Map Masks is data of
// the program with the two generations. Each is MaxMasks times a mask in the layout of Key, its number in MaskNumber,
// preceded by the best priority that any entry with the mask has, plus one, where the level in force begins in the index,
// both u32, and its IndexShift (u64); MaskStride bytes in all. They stand in the order of falling priority, and zeros behind the last. Packets have all
// ones in MaskNumber, so that a mask brings its number into the key by itself.
//
// An element is in the chain of a word of the table's index: of the level in force that which IndexWord says, and a level of
// 2^b words begins at 2^b; the last has 2^IndexBits. Words count from IndexAt on, the slots that chains begin with lie from
// byte FirstAt of the map on. A word is the filters of all elements of its chain, so that with a word of 0 it is empty.
//
// Map State, if the table has one, is that of all tables and has one element. At StateAt
// there is a TableState and, unless the default action is constant, two values, of which
// Default chooses the default action in force. They begin at StateValue and are ValueSize
// apart.
type Table struct {
	Name  string // control-plane name
	Kind  TableKind
	Map   string // entries
	Masks string // KindTuples
	Index string // MapIndex: KindTuples
	State string // map with the TableState, or ""
	// StateAt is where in the map's element.
	StateAt int
	Keys    []Key
	Key     Layout
	// MaskNumber is where Key has a mask's number: KindTuples.
	MaskNumber Slot
	// Where elements and their index are: KindTuples.
	Slots, ElementSize, NextAt, ValueAt int
	IndexAt, IndexBits, FirstAt         int
	Value                               Layout // slots "action", "priority", "index", "member", "group" as needed
	ValueSize                           int    // Value and the parameters of the largest action
	Actions                             []*Action
	Size                                int

	DefaultAction Call
	ConstDefault  bool
	Entries       []Entry // of the program text
	ConstEntries  bool

	Profile string // control-plane name of the action profile or selector
	Counter string // direct counter: control-plane name and map
	Meter   string
}

// TableState is the element of a table's State map.
type TableState struct {
	Masks   uint32 // generation of the masks in force: 0 or 1
	Default uint32 // the default action in force: 0 or 1, and in the map, above that bit, the action's number
}

// StateValue is the offset of the first default action in a table's part of the State map.
const StateValue = 8

// stateBytes is how long the table's part of the State map is.
func (t *Table) stateBytes() int {
	if t.ConstDefault {
		return StateValue
	}
	return align(StateValue+2*t.ValueSize, 8)
}

// MaxMasks is the number of different masks that a table of KindTuples can have.
const MaxMasks = 64

// MaskStride is how far apart the masks in a Masks map are, for keys of size bytes.
func MaskStride(size int) int { return align(MaskKey+size, 8) }

// MaskKey is where in a mask its key is.
const MaskKey = 16

// Key is a key as the control plane sees it.
type Key struct {
	Name   string
	Width  int
	Signed bool
	Match  string // exact, lpm, ternary, range, optional
}

// Action is an action of a table or profile. Its number is its position.
type Action struct {
	Name   string // control-plane name
	Params Layout // offsets count from the start of the value
	// TableOnly and DefaultOnly restrict where the action may stand.
	TableOnly, DefaultOnly bool
}

// Call is an action with arguments, big-endian.
type Call struct {
	Action int
	Args   [][]byte
}

// Entry is an entry that the program text gives.
type Entry struct {
	Match    []Match
	Priority int
	Call     Call
	Const    bool
}

// Match is the match of a key: see target.Match.
type Match struct {
	Any         bool
	Value, Mask []byte
	PrefixLen   int
	Lo, Hi      []byte
}

// Profile is an action profile, or with Selector an action selector. Members are
// elements of the hash Map: member number (u32) → value. Groups are elements of the
// hash Groups: group number (u32) → count (u32) and MaxGroup member numbers (u32).
type Profile struct {
	Name      string
	Selector  bool
	Map       string
	Groups    string
	Actions   []*Action
	ValueSize int
	Size      int
	MaxGroup  int
}

// Counter is a counter; direct ones belong to a table and are found by the index in
// the entry's value, index 0 being that of the default action. Map is a per-CPU array
// of packets (u64) and bytes (u64). An element of a direct counter's map is CounterGroup of these: the kernel takes its
// time for each element of a per-CPU array. They cannot be written one by one and only count up.
//
// With Base, Map has one element with all cells, one behind another. No cell can be written there without the others
// that packets count in meanwhile; so Base, an array of the same cells that no packet sees, has what is to be added to
// each.
type Counter struct {
	Name   string
	Map    string
	Size   int
	Direct string // control-plane name of the table, or ""
	Base   string // or ""
}

// CounterGroup is how many direct counters there are in an element.
const CounterGroup = 64

// Meter is a meter; Map is an array of MeterCell.
type Meter struct {
	Name   string
	Map    string
	Size   int
	Bytes  bool // counts bytes, not packets
	Direct string
}

// MeterCell is the element of a meter's map: the configuration, which the control
// plane writes, and the state of the two token buckets.
type MeterCell struct {
	Lock      uint32
	On        uint32
	CIR, CBS  uint64
	PIR, PBS  uint64
	Last      uint64 // ns
	Committed uint64 // tokens, scaled by MeterScale
	Peak      uint64
}

// MeterScale is by what the tokens in the buckets of a MeterCell are scaled: rates
// are a second's, the clock counts nanoseconds.
const MeterScale = 1_000_000_000

// Register is a register array; Map is an array of Layout.
type Register struct {
	Name   string
	Map    string
	Size   int
	Layout Layout
}

// ValueSet is a parser value set. Map is an array of two elements, of which the u32
// element of State is in force: a count (u32), four bytes of zero, and Size members,
// each a value and a mask in the layout of Key.
type ValueSet struct {
	Name  string
	Map   string
	State string
	Keys  []Key
	Key   Layout
	Size  int
}

// Digest is a digest: its values lie one after another, each big-endian in the
// smallest number of bytes.
type Digest struct {
	Name   string
	Fields []Field
}
