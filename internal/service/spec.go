package service

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
)

// Owner names the service that an object belongs to. Drivers tag what they make
// with it; nothing without the tag is ever touched.
type Owner struct{ Project, Service string }

func (o Owner) String() string { return o.Project + "/" + o.Service }

// Kind is the kind of an object in events, steps and observations.
type Kind string

// The kinds of objects, in the order in which they are created.
const (
	KindService       Kind = "service"
	KindNetwork       Kind = "network"
	KindSecurityGroup Kind = "security_group"
	KindSecurityRules Kind = "security_rules" // all rules of one group, by its name
	KindKeyPair       Kind = "keypair"
	KindRouter        Kind = "router"
	KindPort          Kind = "port"
	KindFloatingIP    Kind = "floating_ip" // by its port's name
	KindServer        Kind = "server"
	KindFunction      Kind = "function"
	KindChain         Kind = "chain"
	KindSwitch        Kind = "switch"
)

// MAC is an Ethernet address.
type MAC [6]byte

func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// MACFor derives a locally administered unicast address from a name: the same
// name gives the same address on every run and every node.
func MACFor(owner Owner, name string) MAC {
	sum := sha256.Sum256([]byte(owner.Project + "\x00" + owner.Service + "\x00" + name))
	m := MAC(sum[:6])
	m[0] = m[0]&^0x01 | 0x02
	return m
}

// PortSpec is a port that a driver has to make: one instance on one network.
type PortSpec struct {
	Name       string // "INSTANCE.NETWORK", unique in the service
	Device     string // name of the instance
	DeviceKind Kind   // KindServer or KindFunction
	Network    string
	MAC        MAC
	IP         netip.Prefix // address with the subnet's length, e.g. 10.0.1.10/24
	Gateway    netip.Addr   // set when a router serves the network
	DNS        []netip.Addr
	MTU        int
	// SecurityGroups secure the port, none leave it open; sorted. They exist.
	SecurityGroups []string `json:",omitempty"`
	// AllowedAddresses, sorted, are what a secured port may send from beside its own.
	AllowedAddresses []netip.Prefix `json:",omitempty"`
}

// PortName is the name of the port of an instance on a network.
func PortName(instance, network string) string { return instance + "." + network }

// ServerSpec is one instance of a server, with its ports already made.
type ServerSpec struct {
	Name    string // of the instance
	Image   string
	Flavor  string
	Port    int      // of the HTTP server when Command is empty
	Command []string // see Server.Command
	Ports   []Port   // in the order of Server.Networks; the first with a gateway has the default route
	// Key is a keypair that the user has in the cloud, KeyPair one that the service
	// has made; at most one of them is set.
	Key     string `json:",omitempty"`
	KeyPair string `json:",omitempty"`
}

// FunctionSpec is a function with its ports already made and all names resolved.
type FunctionSpec struct {
	Name  string
	Kind  FunctionKind
	Ports []Port // in the order of Function.Networks

	LoadBalancer *LoadBalancerSpec
	Firewall     *FirewallSpec
	DNS          *DNSSpec
}

// LoadBalancerSpec is LoadBalancer with its members' addresses.
type LoadBalancerSpec struct {
	Port      int
	Protocol  string
	Algorithm string
	Members   []Endpoint
}

// FirewallSpec is Firewall with its targets' addresses.
type FirewallSpec struct {
	Policy  string
	Rules   []FirewallRule
	Publish []PublishSpec
}

// PublishSpec is Publish with its target's address.
type PublishSpec struct {
	Port     int
	Protocol string
	To       Endpoint
}

// DNSSpec is DNS with all its records, sorted by name.
type DNSSpec struct {
	Zone     string
	Records  []Record
	Upstream []netip.Addr
}

// Record is one address record; Name is without the zone.
type Record struct {
	Name string
	IP   netip.Addr
}

// Endpoint is a transport address of a named instance.
type Endpoint struct {
	Name string
	Addr netip.AddrPort
}
