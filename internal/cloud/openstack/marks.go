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

// Roles of ports, the last word of their description.
const roleGateway = "gateway" // of a router; other ports have the kind of their device

// text is the description of an owner's resources in Neutron, and prefix of that of
// its ports.
func (m marks) text(o service.Owner) string { return m.instance + " service " + o.String() }

// port is the description of a port.
func (m marks) port(o service.Owner, role string) string { return m.text(o) + " " + role }

// roleOf reads the role back.
func (m marks) roleOf(o service.Owner, description string) (role string, ours bool) {
	return strings.CutPrefix(description, m.text(o)+" ")
}

// tags are those of an owner's ports and servers: all that the controller makes, and
// what belongs to the service. Nova's tags are short and have no slash.
func (m marks) tags(o service.Owner) []string { return []string{m.instance, m.tag(o)} }

func (m marks) tag(o service.Owner) string {
	sum := sha256.Sum256([]byte(o.Project + "\x00" + o.Service))
	return m.instance + "-" + hex.EncodeToString(sum[:8])
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
