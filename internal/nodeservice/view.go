package nodeservice

import (
	"net/netip"
	"strings"

	"github.com/catena-nfv/catena/internal/service"
)

// port is a port of the switch with its network.
type port struct {
	service.SwitchPort
	network service.SwitchNetwork
}

// view is what the services know of the switch's configuration. It does not change.
type view struct {
	ports    map[uint32]*port
	networks map[uint32][]*port // ports by network
}

func newView(cfg service.SwitchConfig) *view {
	v := &view{ports: map[uint32]*port{}, networks: map[uint32][]*port{}}
	networks := map[uint32]service.SwitchNetwork{}
	for _, n := range cfg.Networks {
		networks[n.Number] = n
	}
	for _, p := range cfg.Ports {
		if n, ok := networks[p.Network]; ok {
			x := &port{p, n}
			v.ports[p.Number] = x
			v.networks[p.Network] = append(v.networks[p.Network], x)
		}
	}
	return v
}

// addresses are the port's own IPv4 addresses.
func (p *port) addresses() []netip.Addr {
	var out []netip.Addr
	for _, ip := range append([]netip.Prefix{p.Port.IP}, p.IPs...) {
		if ip.Addr().Is4() {
			out = append(out, ip.Addr())
		}
	}
	return out
}

// serverMAC is what the node answers from.
func (p *port) serverMAC() service.MAC {
	if p.network.ServerMAC != (service.MAC{}) {
		return p.network.ServerMAC
	}
	return p.network.GatewayMAC
}

// hostName is the port's name in its network: Neutron's when it has none.
func (p *port) hostName() string {
	if p.HostName != "" || !p.Port.IP.Addr().Is4() {
		return p.HostName
	}
	return "host-" + strings.ReplaceAll(p.Port.IP.Addr().String(), ".", "-")
}
