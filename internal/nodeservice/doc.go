// Package nodeservice answers what a node's switch sends to its CPU port: DHCP, DNS and
// the metadata that virtual machines ask for. See docs/adr/0003-security-groups.md.
//
// DHCP is a function from a packet to a packet: the leases are what the switch is
// configured with, so there is no state. DNS and metadata are ordinary servers in a
// network namespace of their own, behind a TUN device. Who asks is known by the switch's port: the
// packets of each (port, address) get a source address of their own on the way to the
// TUN device (translate.go), so networks may overlap.
package nodeservice
