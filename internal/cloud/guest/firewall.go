package guest

import (
	"fmt"
	"strings"

	"github.com/catena-nfv/catena/internal/service"
)

// Ruleset writes a firewall's whole ruleset as one nftables transaction: it takes
// the place of an earlier one between two packets, and connections stay.
//
// Rules see a packet as its sender made it: a published port is translated
// before filtering, so destinations are those of connection tracking's original
// direction.
func Ruleset(spec service.FirewallSpec) string {
	var b strings.Builder
	line := func(indent int, format string, args ...any) {
		b.WriteString(strings.Repeat("\t", indent))
		fmt.Fprintf(&b, format, args...)
		b.WriteByte('\n')
	}
	line(0, "table inet catena")
	line(0, "delete table inet catena")
	line(0, "table inet catena {")
	line(1, "chain decide {")
	line(2, "ct state established,related accept")
	line(2, `ct state invalid counter drop comment "invalid"`)
	for i, r := range spec.Rules {
		line(2, `%scounter %s comment "rule %d"`, match(r), r.Action, i+1)
	}
	if len(spec.Publish) > 0 {
		line(2, `ct status dnat counter accept comment "published"`)
	}
	policy := spec.Policy
	if policy == "" {
		policy = "drop"
	}
	line(2, `counter %s comment "policy"`, policy)
	line(1, "}")
	line(1, "chain input {")
	line(2, "type filter hook input priority filter; policy drop;")
	line(2, `iifname "lo" accept`)
	line(2, "goto decide")
	line(1, "}")
	line(1, "chain forward {")
	line(2, "type filter hook forward priority filter; policy drop;")
	line(2, "goto decide")
	line(1, "}")
	if len(spec.Publish) > 0 {
		line(1, "chain publish {")
		line(2, "type nat hook prerouting priority dstnat; policy accept;")
		for _, p := range spec.Publish {
			protocol := p.Protocol
			if protocol == "" {
				protocol = "tcp"
			}
			line(2, `fib daddr type local %s dport %d dnat ip to %s comment "%s"`, protocol, p.Port, p.To.Addr, p.To.Name)
		}
		line(1, "}")
		// The target's way back leads to its router or straight to the client, not
		// through here; with our address as the source it does.
		line(1, "chain comeback {")
		line(2, "type nat hook postrouting priority srcnat; policy accept;")
		line(2, "ct status dnat masquerade")
		line(1, "}")
	}
	line(0, "}")
	return b.String()
}

// match writes the conditions of a rule, each followed by a space.
func match(r service.FirewallRule) string {
	var b strings.Builder
	if r.Source.IsValid() {
		fmt.Fprintf(&b, "ip saddr %s ", r.Source)
	}
	if r.Destination.IsValid() {
		fmt.Fprintf(&b, "ct original ip daddr %s ", r.Destination)
	}
	if r.Protocol != "" {
		fmt.Fprintf(&b, "meta l4proto %s ", r.Protocol)
	}
	if !r.Ports.IsZero() {
		fmt.Fprintf(&b, "ct original proto-dst %s ", r.Ports)
	}
	return b.String()
}
