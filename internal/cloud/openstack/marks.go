package openstack

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/catena-nfv/catena/internal/service"
)

// marks are how this controller's things are known from others'.
type marks struct{ instance string }

// Roles of ports.
const (
	roleGateway  = "gateway"  // of a router, made by an earlier version; others have the kind of their device
	roleFloating = "floating" // of a floating IP, which is no port
)

// text is the description of an owner's resources in Neutron; that of a port goes on with
// its role.
func (m marks) text(o service.Owner) string { return m.prefix() + o.String() }

func (m marks) prefix() string { return m.instance + " service " }

// port is the beginning of a port's description.
func (m marks) port(o service.Owner, role string) string { return m.text(o) + " " + role }

// wordsOf reads the words that follow the mark in a port's description, its role first;
// none: the port is not the owner's.
func (m marks) wordsOf(o service.Owner, description string) []string {
	text, ours := strings.CutPrefix(description, m.text(o)+" ")
	if !ours {
		return nil
	}
	return strings.Fields(text)
}

// tags are those of an owner's ports and servers: all that the controller makes, and
// what belongs to the service. Nova's tags are short and have no slash.
func (m marks) tags(o service.Owner) []string { return []string{m.instance, m.tag(o)} }

func (m marks) tag(o service.Owner) string {
	sum := sha256.Sum256([]byte(o.Project + "\x00" + o.Service))
	return m.instance + "-" + hex.EncodeToString(sum[:8])
}

// keyPair is the name of an owner's keypair in Nova, where it is all that there is to
// mark it with. The names of services and what is in them have no "_".
func (m marks) keyPair(o service.Owner, name string) string {
	return strings.Join([]string{m.instance, o.Project, o.Service, name}, "_")
}

// ownerOfKeyPair reads a keypair's name.
func (m marks) ownerOfKeyPair(name string) (o service.Owner, short string, ours bool) {
	rest, ours := strings.CutPrefix(name, m.instance+"_")
	parts := strings.Split(rest, "_")
	if !ours || len(parts) != 3 {
		return o, "", false
	}
	return service.Owner{Project: parts[0], Service: parts[1]}, parts[2], true
}

// Keys of a server's metadata.
const (
	metaOwner  = "catena_service" // PROJECT/SERVICE
	metaKind   = "catena_kind"    // server or function
	metaBase   = "catena_base"    // digest of what cannot be changed: image, flavor, ports
	metaScript = "catena_script"  // digest of its user data
	metaGuest  = "catena_guest"   // what the guest has said, see guestState
)

// digest is a short hash of any value that JSON can hold.
func digest(values ...any) (string, error) {
	data, err := json.Marshal(values)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), nil
}
