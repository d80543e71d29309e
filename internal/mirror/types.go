package mirror

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/catena-nfv/catena/internal/service"
)

// Kind of a mirrored object. The numbers are those of the API.
type Kind int

// The kinds of objects.
const (
	KindNetwork Kind = 1 + iota
	KindSubnet
	KindRouter
	KindPort
	KindGroup
)

var kindNames = [...]string{KindNetwork: "network", KindSubnet: "subnet", KindRouter: "router", KindPort: "port", KindGroup: "security-group"}

func (k Kind) valid() bool { return k >= KindNetwork && k <= KindGroup }

func (k Kind) String() string {
	if !k.valid() {
		return fmt.Sprintf("kind %d", int(k))
	}
	return kindNames[k]
}

// Ref is an object in one of its revisions.
type Ref struct {
	Kind     Kind
	ID       string
	Revision int64
}

// Change is an object's new state.
type Change struct {
	Ref
	Object Object // nil: deleted
	// Repair makes the change count though its revision is older than the mirror's.
	Repair bool
}

// Object is one of *Network, *Subnet, *Router, *Port and *Group.
type Object interface{ kind() Kind }

// Network is a network of Neutron.
type Network struct {
	Project   string
	Name      string
	AdminUp   bool
	MTU       int
	DNSDomain string
}

// Subnet is a subnet of Neutron.
type Subnet struct {
	Project string
	Name    string
	Network string // id
	CIDR    netip.Prefix
	Gateway netip.Addr // zero: none
	DHCP    bool
	DNS     []netip.Addr
	Routes  []service.HostRoute
}

// Router is a router of Neutron; its interfaces are ports.
type Router struct {
	Project string
	Name    string
	AdminUp bool
	Routes  []service.HostRoute
}

// Port is a port of Neutron.
type Port struct {
	Project     string
	Name        string
	Network     string // id
	MAC         service.MAC
	AdminUp     bool
	Addresses   []Address
	Device      string // id of the server or router
	DeviceOwner string // such as "compute:nova" or "network:router_interface"
	Host        string // that it is bound to; "" while it is unbound
	Secured     bool   // port security
	Groups      []string
	Pairs       []service.AddressPair
	DNSName     string
}

// Address is a fixed address of a port.
type Address struct {
	Subnet string // id
	IP     netip.Addr
}

// Group is a security group with its rules.
type Group struct {
	Project  string
	Name     string
	Stateful bool
	Rules    []service.SecurityRule // RemoteGroup is an id
}

func (*Network) kind() Kind { return KindNetwork }
func (*Subnet) kind() Kind  { return KindSubnet }
func (*Router) kind() Kind  { return KindRouter }
func (*Port) kind() Kind    { return KindPort }
func (*Group) kind() Kind   { return KindGroup }

// newObject returns an empty object to decode into.
func newObject(k Kind) Object {
	switch k {
	case KindNetwork:
		return &Network{}
	case KindSubnet:
		return &Subnet{}
	case KindRouter:
		return &Router{}
	case KindPort:
		return &Port{}
	}
	return &Group{}
}

// check refuses what cannot be stored.
func (c Change) check() error {
	switch {
	case !c.Kind.valid():
		return fmt.Errorf("%s is not known", c.Kind)
	case c.ID == "" || len(c.ID) > 64 || strings.Trim(c.ID, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-") != "":
		return fmt.Errorf("%s %q: this is no id", c.Kind, c.ID)
	case c.Object != nil && c.Object.kind() != c.Kind:
		return fmt.Errorf("%s %s: the object is a %s", c.Kind, c.ID, c.Object.kind())
	}
	return nil
}
