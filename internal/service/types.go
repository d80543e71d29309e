package service

import (
	"fmt"
	"net/netip"
)

// Service is one request: everything that is created, updated and deleted
// together. Name is unique in its project.
type Service struct {
	Name      string
	Project   string // "" is filled in with DefaultProject
	Networks  []Network
	Routers   []Router
	Servers   []Server
	Functions []Function
	Chains    []Chain
	// SecurityGroups are what ports of the service name; see security.go.
	SecurityGroups []SecurityGroup
	KeyPairs       []KeyPair
	// Rules are NF rules whose scope is the project: they hold for every chain
	// of the project that visits the NF. Rules of one chain stand in the chain.
	Rules []Rule
}

// DefaultProject is the project of a service that names none.
const DefaultProject = "default"

// Network is one broadcast domain with one IPv4 subnet.
type Network struct {
	Name    string
	Subnet  netip.Prefix // masked; /8 to /30
	Gateway netip.Addr   // default: first host address of Subnet
	DHCP    bool         // default true: addresses are handed out by DHCP, too
	DNS     []netip.Addr // name servers that the network's members are told
	MTU     int          // bytes of an IP packet, default 1500
}

// Router routes between its networks, with each network's gateway address.
type Router struct {
	Name     string
	Networks []string // names of networks of the service, at least one
	// External is the name or id of a network of the cloud that leads outside; "": none.
	External string `json:",omitempty"`
}

// Attachment joins a server or function to a network.
type Attachment struct {
	Network string
	IP      netip.Addr // zero: allocated by the planner
	// SecurityGroups of the port; none: those of the server or function. A port
	// without groups is not secured: nothing of it is checked.
	SecurityGroups []string
	// AllowedAddresses are what a secured port may send from beside its own address.
	AllowedAddresses []netip.Prefix
	// FloatingIP is the external network (see Router) of which the port has an address
	// that leads to it; "": none.
	FloatingIP string `json:",omitempty"`
}

// Server is Count equal instances. A single instance carries the server's name,
// several are called NAME-1 … NAME-Count (see Instances).
type Server struct {
	Name     string
	Image    string       // image of the cloud; default "ubuntu". Driver "local" takes any
	Flavor   string       // size of the cloud; default "small". Driver "local" takes any
	Count    int          // default 1
	Networks []Attachment // at least one; fixed addresses need Count 1
	// Port is the TCP port of the small HTTP server that driver "local" runs in
	// the instance when Command is empty; default 80.
	Port    int
	Command []string // program and arguments to run in the instance instead
	// SecurityGroups of the ports that name none themselves.
	SecurityGroups []string
	// Key is a keypair of the service or, where that has none of the name, one that the
	// user has in the cloud; "": none.
	Key string `json:",omitempty"`
}

// Kind of a function.
type FunctionKind string

// The kinds of functions.
const (
	LoadBalancerKind FunctionKind = "loadbalancer" // haproxy in driver "local"
	FirewallKind     FunctionKind = "firewall"     // nftables
	DNSKind          FunctionKind = "dns"          // dnsmasq
)

// FunctionKinds lists all kinds, sorted.
var FunctionKinds = []FunctionKind{DNSKind, FirewallKind, LoadBalancerKind}

// Function is a network function that runs as an instance of its own. Of the
// three configurations, the one that Kind names is set, the others are nil.
type Function struct {
	Name     string
	Kind     FunctionKind
	Networks []Attachment // at least one
	// SecurityGroups of the ports that name none themselves.
	SecurityGroups []string
	LoadBalancer   *LoadBalancer
	Firewall       *Firewall
	DNS            *DNS
}

// LoadBalancer spreads connections over the instances of its members.
type LoadBalancer struct {
	Port       int      // listening port, default 80
	Protocol   string   // "tcp" or "http", default "tcp"
	Algorithm  string   // "roundrobin" (default), "leastconn" or "source"
	Members    []string // names of servers; all instances of each take part
	MemberPort int      // default: the Port of the member's server
}

// Firewall filters what reaches and crosses its instance: first rule that
// matches decides, then Policy. Replies to what was let through pass.
type Firewall struct {
	Policy string // "accept" or "drop" (default)
	Rules  []FirewallRule
	// Publish opens a port of the firewall and forwards it, filtered, to a
	// server or function behind it.
	Publish []Publish
}

// FirewallRule matches on all the fields that are set.
type FirewallRule struct {
	Action      string // "accept" or "drop"
	Protocol    string // "", "tcp", "udp" or "icmp"
	Source      netip.Prefix
	Destination netip.Prefix
	Ports       PortRange // destination ports, only with tcp or udp
}

// Publish forwards Port of the firewall to ToPort of To.
type Publish struct {
	Port     int
	Protocol string // "tcp" (default) or "udp"
	To       string // name of a function, or of a server instance
	ToPort   int    // default Port
}

// DNS answers for Zone. Every instance of the service has a record NAME.Zone;
// Records adds to these.
type DNS struct {
	Zone     string // default "SERVICE.internal"
	Records  []DNSRecord
	Upstream []netip.Addr // where other names are asked; none: they are refused
}

// DNSRecord gives a name (without the zone) an address: either a literal or
// that of an instance.
type DNSRecord struct {
	Name   string
	IP     netip.Addr // literal, or zero when Target is set
	Target string     // name of an instance of the service
}

// Chain is one service function chain (paper 003).
type Chain struct {
	Name    string
	Request string // in the request language, e.g. "IDS before Firewall"
	// Match says which packets enter the chain; first by priority. Empty means
	// that no packet does until one is added.
	Match []Classifier
	Rules []Rule // scope: this chain
	// Path is the path that classifiers without one of their own lead to,
	// counted from 1 in the order written; default 1. SelectChain changes it.
	Path int
}

// Classifier matches packets of the service on all the fields that are set.
type Classifier struct {
	From        string // network the packet comes from; "" any of the service
	To          string // network the destination address belongs to; "" any
	Protocol    string // "", "tcp", "udp", "icmp" or a number 0..255
	Source      netip.Prefix
	Destination netip.Prefix
	SourcePorts PortRange // only with tcp or udp
	Ports       PortRange // destination ports, only with tcp or udp
	Priority    int       // larger wins; default 0
	Path        int       // 0: the chain's Path
}

// PortRange is Lo … Hi inclusive; the zero value matches every port.
type PortRange struct{ Lo, Hi uint16 }

// IsZero reports whether the range is unset.
func (r PortRange) IsZero() bool { return r == PortRange{} }

func (r PortRange) String() string {
	switch {
	case r.IsZero():
		return ""
	case r.Lo == r.Hi:
		return fmt.Sprint(r.Lo)
	}
	return fmt.Sprintf("%d-%d", r.Lo, r.Hi)
}

// Rule is one entry of a table of an NF, in the operator's words (paper 003,
// "NF rule management"): names of keys, actions and parameters are those on the
// NF's page; values are text ("10.0.1.0/24", "80", "1000-2000", "0x0800&&&0xff00",
// "02:00:00:00:00:01"). A value "@NAME" stands for the address of an instance or
// function NAME, or for the subnet of a network NAME; "@NAME/NETWORK" picks one
// of several networks of an instance.
type Rule struct {
	NF       string
	Table    string // "": the NF's only (or first) table
	Match    map[string]string
	Action   string
	Params   map[string]string
	Priority int // larger wins, for tables with ternary, range or optional keys
}
