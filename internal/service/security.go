package service

import "net/netip"

// Security groups, as Neutron has them: a secured port sends and receives only
// what a rule of one of its groups allows, and what belongs to a connection or
// exchange that a rule allowed. Rules only allow; without one nothing passes.

// Direction of the packets that a rule is about, seen from the port.
type Direction string

// The directions.
const (
	Ingress Direction = "ingress" // to the port
	Egress  Direction = "egress"  // from the port
)

// SecurityRule allows packets that match all the fields that are set.
type SecurityRule struct {
	Direction Direction
	Protocol  string // "", "tcp", "udp", "icmp" or a number 0..255
	// Ports are destination ports, only with tcp or udp.
	Ports PortRange
	// ICMP is the type and code of ICMP messages, only with icmp; nil: any.
	ICMP *ICMPMatch `json:",omitempty"`
	// RemotePrefix is where packets come from (ingress) or go to (egress); the
	// zero prefix is everywhere.
	RemotePrefix netip.Prefix
	// RemoteGroup stands for the addresses of all ports in a group, instead of a
	// prefix. It is the group's name; the switch knows it by SwitchGroupRule.Remote.
	RemoteGroup string `json:",omitempty"`
}

// ICMPMatch is a type of ICMP messages, with a code or any (-1).
type ICMPMatch struct {
	Type uint8
	Code int16
}

// SecurityGroup is a named list of rules. One without egress rules lets everything
// out, as one that Neutron makes; Default writes that down as a rule.
type SecurityGroup struct {
	Name  string
	Rules []SecurityRule
}

// SecurityGroup by name, or nil.
func (s *Service) SecurityGroup(name string) *SecurityGroup {
	for i := range s.SecurityGroups {
		if s.SecurityGroups[i].Name == name {
			return &s.SecurityGroups[i]
		}
	}
	return nil
}

// setDefaults adds the rule of a group that says nothing of what goes out.
func (g *SecurityGroup) setDefaults() {
	for _, r := range g.Rules {
		if r.Direction == Egress {
			return
		}
	}
	g.Rules = append(g.Rules, SecurityRule{Direction: Egress})
}

// SwitchGroup is a security group as the switch sees it.
type SwitchGroup struct {
	Owner  Owner
	Number uint32 // > 0, unique on the switch
	Name   string
	Rules  []SwitchGroupRule
}

// SwitchGroupRule is a rule with its remote group's number; RemoteGroup of the
// embedded rule is only for messages.
type SwitchGroupRule struct {
	SecurityRule
	Remote uint32 `json:",omitempty"` // SwitchGroup.Number; 0: RemotePrefix counts
}

// AddressPair is an address that a secured port may send from beside its own, and
// answer ARP for (Neutron's allowed address pairs).
type AddressPair struct {
	MAC MAC          // zero: the port's own
	IP  netip.Prefix // an address or a subnet
}

// HostRoute is a route that DHCP clients of a network are told.
type HostRoute struct {
	Destination netip.Prefix
	Via         netip.Addr
}
