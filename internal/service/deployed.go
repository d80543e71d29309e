package service

import (
	"net/netip"
	"time"
)

// Port is a port that exists in the cloud, and how to reach it.
type Port struct {
	PortSpec
	ID   string // the driver's own id
	Node string // node whose switch the port belongs to
	// Link is the network device at the switch's end (a veth, or a tap on
	// OpenStack), in the network namespace of the agent.
	Link string
	// Netns is the name of the namespace that holds the inner end; "" when a
	// hypervisor holds it.
	Netns string
}

// Status of an object, with OpenStack's words.
type Status string

// The states of an object.
const (
	StatusPending  Status = "pending"
	StatusBuilding Status = "building"
	StatusActive   Status = "ACTIVE"
	StatusChanged  Status = "CHANGED" // by somebody else; it can be made right where it is
	StatusError    Status = "ERROR"
	StatusDeleting Status = "deleting"
	StatusDeleted  Status = "deleted"
)

// Object is one thing of a service that exists in the cloud.
type Object struct {
	Kind    Kind
	Name    string // instance names for servers
	ID      string // the driver's own id
	Status  Status
	Message string // why, when Status is StatusError
	// Address of a floating IP; it is known once there is one.
	Address netip.Addr
}

// Observation is what a cloud driver finds of one service. Both lists are
// sorted by kind and name.
type Observation struct {
	Objects []Object
	Ports   []Port // those that are complete; incomplete ones are only in Objects
}

// SwitchConfig is everything that one switch must know, of all services: the
// desired state that a fabric makes real. All lists are sorted by their numbers,
// and numbers stay the same as long as the object lives.
type SwitchConfig struct {
	Networks []SwitchNetwork
	Ports    []SwitchPort
	Groups   []SwitchGroup // security groups
	Chains   []SwitchChain
	Rules    []SwitchRule // that belong to no chain
}

// SwitchNetwork is one network as the switch sees it.
type SwitchNetwork struct {
	Owner      Owner
	Number     uint32 // > 0, unique on the switch
	Name       string
	Subnet     netip.Prefix
	Gateway    netip.Addr // set when a router serves the network
	GatewayMAC MAC
	Router     uint32 // number of the router, 0: none. Equal numbers route to each other

	// What the node tells the network's members, see package nodeservice. Server is the
	// address at which it answers DHCP and DNS, zero: no DHCP on the network. It may
	// be the gateway's, and no port's.
	Server    netip.Addr
	ServerMAC MAC
	DNS       []netip.Addr // name servers to tell; none: Server, which asks the node's own
	Domain    string       // of host names, may be empty
	MTU       int          // bytes of an IP packet, 0: do not tell
	Routes    []HostRoute  // further ones; those for metadata and the gateway are told anyway
	Metadata  bool         // 169.254.169.254 is answered
}

// SwitchPort is one attached port.
type SwitchPort struct {
	Owner   Owner
	Number  uint32 // the port's number on the switch, > 0 and < 511
	Network uint32 // SwitchNetwork.Number
	Port    Port
	IPs     []netip.Prefix // further fixed addresses, beside Port.IP

	// Secured turns on the port's checks (Neutron's port security): it sends only from
	// its own addresses and Pairs, and Groups say what it may send and receive.
	// Otherwise nothing is checked, and Groups matter only as remote groups.
	Secured bool
	Groups  []uint32 // SwitchGroup.Number, sorted
	Pairs   []AddressPair

	// Who asks when the port asks for metadata, and what DHCP tells it. "" where unknown.
	InstanceID string
	ProjectID  string
	HostName   string
}

// SwitchChain is one chain with its numbers.
type SwitchChain struct {
	Owner  Owner
	Number uint32 // chain id, > 0, unique on the switch
	Scope  uint32 // scope of the chain's rules, > 0
	// Chain has the names in its rules resolved to addresses, and the rules of
	// its project appended to its own.
	Chain Chain
}

// SwitchRule is a rule with its scope; scope 0 is the operator's default.
type SwitchRule struct {
	Scope uint32
	Rule  Rule
}

// Stage is one timed part of making the switch follow its configuration, such
// as "merge", "compose", "compile", "load", "entries".
type Stage struct {
	Name     string
	Duration time.Duration
	Message  string // short, for people: "6 tables, 4 nodes"
}

// SwitchReport tells what a deployment did to the switch.
type SwitchReport struct {
	Recompiled     bool // a new program was loaded; false: entries only
	Stages         []Stage
	EntriesAdded   int
	EntriesChanged int
	EntriesDeleted int
}

// SwitchState is what a switch reports about itself.
type SwitchState struct {
	Pipeline Pipeline
	Ports    []PortState
	NFs      []NFState
	Chains   []ChainState
}

// Pipeline is the program that runs.
type Pipeline struct {
	Name     string
	Cookie   uint64 // of P4Runtime; 0: nothing loaded
	LoadedAt time.Time
	Tables   int
	Entries  int
	Target   string // "tc", "xdp", "bmv2", …
}

// PortState is one port with its counters.
type PortState struct {
	Number                                 uint32
	Name                                   string // "PROJECT/SERVICE/INSTANCE.NETWORK"
	Link                                   string
	Up                                     bool
	RxPackets, RxBytes, TxPackets, TxBytes uint64
	RxDropped, TxDropped                   uint64
}

// NFState is one node of the merged chain graph with its packet counters.
type NFState struct {
	Node    int    // node number in the merged order
	NF      string // name, with #N for a further invocation
	Packets uint64 // that met the node
	Bytes   uint64
	Dropped uint64
}

// ChainState is one chain as deployed.
type ChainState struct {
	Owner  Owner
	Name   string
	Number uint32
	// Paths are the node numbers of each path, in the order written.
	Paths   [][]int
	Packets uint64
	Bytes   uint64
}

// NFInfo describes one NF of the library.
type NFInfo struct {
	Name    string
	Summary string
	Tables  []NFTable
}

// NFTable is one table of an NF that rules may be written to.
type NFTable struct {
	Name    string
	Keys    []NFKey
	Actions []NFAction
	Size    int
}

// NFKey is one match field.
type NFKey struct {
	Name  string
	Match string // exact, lpm, ternary, range, optional
	Bits  int
}

// NFAction is one action with its parameters.
type NFAction struct {
	Name   string
	Params []NFParam
}

// NFParam is one action parameter.
type NFParam struct {
	Name string
	Bits int
}
