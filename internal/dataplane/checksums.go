package dataplane

import (
	"fmt"

	"github.com/vishvananda/netlink"

	"github.com/catena-nfv/catena/internal/p4/target"
)

// checkChecksums refuses a port whose packets may come with checksums that are still
// to be filled in, if the program computes such checksums from all their inputs: they
// would go out wrong. Packets from a NIC are whole, and XDP ports have to have whole ones
// in any case.
func (p *port) checkChecksums(prog *Program) error {
	if !prog.Spec.WholeChecksums || p.whole {
		return nil
	}
	l, err := netlink.LinkByIndex(p.index)
	if err != nil {
		return nil // it has vanished; nothing comes from it
	}
	switch l.Type() {
	case "veth", "netkit", "tuntap", "tun":
		return fmt.Errorf("port %d (%s): %w: the program computes checksums over payload from all inputs, and a %s has packets "+
			"whose checksums are left to a NIC; annotate its checksum control @incremental, or turn checksum offload off "+
			"at the other end (ethtool -K NAME tx off) and attach the port with WholeChecksums",
			p.number, p.link, target.ErrUnsupported, l.Type())
	}
	return nil
}
