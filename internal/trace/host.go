package trace

import (
	"context"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"slices"

	"github.com/catena-nfv/catena/internal/p4rt/client"
)

// Tables of the backbone vrouter that tell where addresses are.
const (
	tableARP      = "VrouterIngress.arp"      // network, address → mac
	tableHosts    = "VrouterIngress.hosts"    // network, mac → port
	tableGateways = "VrouterIngress.gateways" // network, mac → router
)

// Host is an address that the switch knows.
type Host struct {
	Network uint32 // number of the network
	Address netip.Addr
	MAC     net.HardwareAddr
	Port    uint32           // 0: the address is a router's
	Gateway net.HardwareAddr // of the network; nil: none
}

// Hosts reads the addresses that a switch with the backbone vrouter knows, sorted by
// network and address.
func Hosts(ctx context.Context, c *client.Client) ([]Host, error) {
	type place struct {
		network uint32
		mac     string
	}
	ports, gateways := map[place]uint32{}, map[uint32]net.HardwareAddr{}
	hosts, err := c.Entries(ctx, tableHosts)
	if err != nil {
		return nil, fmt.Errorf("the program is not one with the backbone vrouter: %w", err)
	}
	for _, e := range hosts {
		ports[place{number(e.Match["network"].Value), mac(e.Match["mac"].Value).String()}] = number(e.Params["port"])
	}
	routers, err := c.Entries(ctx, tableGateways)
	if err != nil {
		return nil, err
	}
	for _, e := range routers {
		gateways[number(e.Match["network"].Value)] = mac(e.Match["mac"].Value)
	}
	known, err := c.Entries(ctx, tableARP)
	if err != nil {
		return nil, err
	}
	var out []Host
	for _, e := range known {
		var address [4]byte
		new(big.Int).SetBytes(e.Match["address"].Value).FillBytes(address[:])
		h := Host{Network: number(e.Match["network"].Value), Address: netip.AddrFrom4(address), MAC: mac(e.Params["mac"])}
		h.Port, h.Gateway = ports[place{h.Network, h.MAC.String()}], gateways[h.Network]
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b Host) int {
		if a.Network != b.Network {
			return int(a.Network) - int(b.Network)
		}
		return a.Address.Compare(b.Address)
	})
	return out, nil
}

func number(b []byte) uint32 { return uint32(new(big.Int).SetBytes(b).Uint64()) }

func mac(b []byte) net.HardwareAddr {
	return new(big.Int).SetBytes(b).FillBytes(make([]byte, 6))
}
