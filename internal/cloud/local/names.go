package local

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/catena-nfv/catena/internal/service"
)

// names derives the names of kernel objects from those of the service's. All
// are functions of the state directory and the object alone, so that a driver
// started after a crash finds what the one before has made.
type names struct {
	prefix   string // of links and namespaces
	instance string // 6 hex digits that stand for the state directory
}

func newNames(prefix, stateDir string) names {
	sum := sha256.Sum256([]byte(filepath.Clean(stateDir)))
	return names{prefix: prefix, instance: hex.EncodeToString(sum[:3])}
}

// netns is the namespace of an instance, e.g. "ct1a2b3c.default.shop.web-1".
func (n names) netns(o service.Owner, device string) string {
	return n.netnsPrefix() + plain(o.Project) + "." + plain(o.Service) + "." + plain(device)
}

func (n names) netnsPrefix() string { return n.prefix + n.instance + "." }

// link is the switch's end of a port, e.g. "ctp0f1e2d3c".
func (n names) link(o service.Owner, port string) string {
	sum := sha256.Sum256([]byte(n.instance + "\x00" + o.Project + "\x00" + o.Service + "\x00" + port))
	return n.prefix + "p" + hex.EncodeToString(sum[:4])
}

// alias is the ifalias of the switch's end: whose link it is, for people and for Purge.
func (n names) alias(o service.Owner, port string) string {
	return n.aliasPrefix() + o.String() + "/" + port
}

func (n names) aliasPrefix() string { return "catena:" + n.instance + ":" }

// marker is the environment variable by which the processes of a namespace are known.
func (n names) marker(netns string) string { return markerVariable + "=" + netns }

const markerVariable = "CATENA_INSTANCE"

// plain makes a name safe as part of a file name in which a dot separates:
// whatever is not a letter, digit, '-' or '_' becomes %XX.
func plain(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
