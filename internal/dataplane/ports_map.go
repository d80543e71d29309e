package dataplane

import (
	"errors"
	"fmt"

	cebpf "github.com/cilium/ebpf"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// SetPort ties a port number to an interface, in both directions. flags are the
// ebpf.Port… flags of the way out.
func (p *Program) SetPort(port uint32, ifindex int, flags uint32) error {
	if port >= ebpf.NumPorts || port == target.DropPort {
		return fmt.Errorf("port %d: %w: ports are 0 to %d", port, target.ErrInvalid, target.DropPort-1)
	}
	out := ebpf.PortOut{Ifindex: uint32(ifindex), Flags: flags}
	if err := p.Maps[ebpf.MapPortsOut].Put(port, &out); err != nil {
		return fmt.Errorf("port %d: %w", port, err)
	}
	if ifindex == 0 {
		return nil
	}
	if err := p.Maps[ebpf.MapPortsIn].Put(uint32(ifindex), &ebpf.PortIn{Port: port}); err != nil {
		return fmt.Errorf("port %d, interface %d: %w", port, ifindex, err)
	}
	return nil
}

// ClearPort undoes SetPort: packets to the port and from the interface are dropped.
func (p *Program) ClearPort(port uint32, ifindex int) error {
	if err := p.Maps[ebpf.MapPortsOut].Put(port, &ebpf.PortOut{}); err != nil {
		return fmt.Errorf("port %d: %w", port, err)
	}
	if err := p.Maps[ebpf.MapPortsIn].Delete(uint32(ifindex)); err != nil && !errors.Is(err, cebpf.ErrKeyNotExist) {
		return fmt.Errorf("port %d, interface %d: %w", port, ifindex, err)
	}
	return nil
}
