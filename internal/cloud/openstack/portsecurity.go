package openstack

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/catena-nfv/catena/internal/service"
)

// addressPair is an address that a secured port may send from beside its own.
type addressPair struct {
	IP string `json:"ip_address"`
}

// security are the attributes of a port that secure it as a service asks for.
func (c *Cloud) security(ctx context.Context, o service.Owner, spec service.PortSpec) (map[string]any, error) {
	ids, err := c.groupIDs(ctx, o, spec.SecurityGroups)
	if err != nil {
		return nil, err
	}
	return map[string]any{"port_security_enabled": true, "security_groups": ids, "allowed_address_pairs": pairs(spec)}, nil
}

// unchecked are the attributes of a port of which nothing is checked.
func unchecked() map[string]any {
	return map[string]any{"port_security_enabled": false, "security_groups": []string{}, "allowed_address_pairs": []addressPair{}}
}

// securedWord begins the word in a port's description that tells how it was secured.
const securedWord = "secured="

// securityText tells in a port's description how it is to be secured, or "".
func securityText(groups []string, allowed []netip.Prefix) string {
	if len(groups) == 0 {
		return ""
	}
	sum, err := digest(groups, allowed)
	if err != nil {
		return ""
	}
	return securedWord + sum[:8]
}

// changeSecurity adds to a change what it takes to secure a port as asked for. Of a port
// that a service never secured, its security is its user's business.
func (c *Cloud) changeSecurity(ctx context.Context, o service.Owner, spec service.PortSpec, have port, change map[string]any) error {
	if len(spec.SecurityGroups) == 0 {
		if strings.Contains(have.Description, " "+securedWord) {
			want, err := c.unsecured(ctx, spec)
			if err != nil {
				return err
			}
			maps.Copy(change, want)
		}
		return nil
	}
	want, err := c.security(ctx, o, spec)
	if err != nil {
		return err
	}
	slices.Sort(have.SecurityGroups)
	same := have.Secured && slices.Equal(have.SecurityGroups, want["security_groups"].([]string)) &&
		slices.Equal(have.allowed(), spec.AllowedAddresses)
	if !same {
		maps.Copy(change, want)
	}
	return nil
}

// completeSecurity gives a new port the addresses that it may send from: Neutron (Zed)
// forgets them when ports are made in bulk.
func (c *Cloud) completeSecurity(ctx context.Context, spec service.PortSpec, made port) (port, error) {
	if slices.Equal(made.allowed(), spec.AllowedAddresses) {
		return made, nil
	}
	var changed struct{ Port port }
	err := c.session.network.put(ctx, "ports/"+made.ID, body("port", map[string]any{"allowed_address_pairs": pairs(spec)}), &changed)
	return changed.Port, err
}

func pairs(spec service.PortSpec) []addressPair {
	out := []addressPair{}
	for _, a := range spec.AllowedAddresses {
		out = append(out, addressPair{a.String()})
	}
	return out
}

// unsecured are the attributes of a port without groups of the service: it has the group
// of the driver's configuration, if any.
func (c *Cloud) unsecured(ctx context.Context, spec service.PortSpec) (map[string]any, error) {
	if c.cfg.SecurityGroup == "" || spec.DeviceKind != service.KindServer {
		return unchecked(), nil
	}
	id, err := c.catalog.securityGroup(ctx, c.cfg.SecurityGroup)
	return map[string]any{"port_security_enabled": true, "security_groups": []string{id}, "allowed_address_pairs": []addressPair{}}, err
}

// allowed reads a port's address pairs, sorted.
func (p port) allowed() []netip.Prefix {
	var out []netip.Prefix
	for _, pair := range p.Pairs {
		if prefix, err := service.ParsePrefix(pair.IP); err == nil {
			out = append(out, prefix)
		}
	}
	slices.SortFunc(out, func(a, b netip.Prefix) int {
		if d := a.Addr().Compare(b.Addr()); d != 0 {
			return d
		}
		return a.Bits() - b.Bits()
	})
	return out
}

// changedError says that an object is there, but not as it was made.
type changedError struct{ message string }

func (e *changedError) Error() string { return e.message }

// readSecurity reads back how a port is secured, into its specification. The error says
// that it is not as it was made; word is that of its description.
func readSecurity(p port, word string, names map[string]string, spec *service.PortSpec) error {
	for _, id := range p.SecurityGroups {
		name, ours := names[id]
		if !ours {
			name = id
		}
		spec.SecurityGroups = append(spec.SecurityGroups, name)
	}
	slices.Sort(spec.SecurityGroups)
	spec.AllowedAddresses = p.allowed()
	if !p.Secured || securityText(spec.SecurityGroups, spec.AllowedAddresses) != word {
		return &changedError{fmt.Sprintf("its security was changed (port security %t, groups %s, addresses %v); apply the service again",
			p.Secured, strings.Join(spec.SecurityGroups, ", "), spec.AllowedAddresses)}
	}
	return nil
}
