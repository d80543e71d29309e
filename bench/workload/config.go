package workload

import (
	"net/netip"
	"strings"

	"github.com/catena-nfv/catena/internal/service"
)

// owner is whom the benchmark's objects belong to.
func owner() service.Owner { return service.Owner{Project: "bench", Service: "bench"} }

// DefaultFlow is a flow between 10.0.1.2 and 10.0.2.2, at the switch's ports 1 and 2.
func DefaultFlow() Flow {
	return Flow{
		Client: netip.AddrFrom4([4]byte{10, 0, 1, 2}), Server: netip.AddrFrom4([4]byte{10, 0, 2, 2}),
		ClientMAC: service.MAC{2, 0xbe, 0, 0, 0, 1}, ServerMAC: service.MAC{2, 0xbe, 0, 0, 0, 2},
		ClientGateway: service.MACFor(owner(), "clients"), ServerGateway: service.MACFor(owner(), "servers"),
		ClientPort: 1, ServerPort: 2, Service: 5201,
	}
}

// Config is a switch with the flow's two networks, a router between them and, unless request is empty, one chain
// that both directions of the flow pass, with the workload's rules for each of the NFs in nfs.
func Config(f Flow, request string, nfs []string) (service.SwitchConfig, error) {
	clients, servers := network(1, "clients", f.Client, f.ClientGateway), network(2, "servers", f.Server, f.ServerGateway)
	cfg := service.SwitchConfig{
		Networks: []service.SwitchNetwork{clients, servers},
		Ports: []service.SwitchPort{
			port(f.ClientPort, clients, "client", f.Client, f.ClientMAC),
			port(f.ServerPort, servers, "server", f.Server, f.ServerMAC),
		},
	}
	if request == "" {
		return cfg, nil
	}
	at := service.PortRange{Lo: f.Service, Hi: f.Service}
	c := service.Chain{
		Name: "bench", Request: request,
		Match: []service.Classifier{
			{From: "clients", Protocol: "tcp", Ports: at},
			{From: "servers", Protocol: "tcp", SourcePorts: at},
		},
	}
	for _, nf := range nfs {
		rules, err := Of(nf, f)
		if err != nil {
			return cfg, err
		}
		c.Rules = append(c.Rules, rules...)
	}
	cfg.Chains = []service.SwitchChain{{Owner: owner(), Number: 1, Scope: 1, Chain: c}}
	return cfg, nil
}

func network(number uint32, name string, host netip.Addr, gateway service.MAC) service.SwitchNetwork {
	subnet := netip.PrefixFrom(host, 24).Masked()
	return service.SwitchNetwork{
		Owner: owner(), Number: number, Name: name, Subnet: subnet,
		Gateway: subnet.Addr().Next(), GatewayMAC: gateway, Router: 1,
	}
}

func port(number uint32, n service.SwitchNetwork, host string, addr netip.Addr, mac service.MAC) service.SwitchPort {
	return service.SwitchPort{
		Owner: owner(), Number: number, Network: n.Number,
		Port: service.Port{PortSpec: service.PortSpec{
			Name: service.PortName(host, n.Name), Device: host, DeviceKind: service.KindServer, Network: n.Name,
			MAC: mac, IP: netip.PrefixFrom(addr, n.Subnet.Bits()), Gateway: n.Gateway,
		}},
	}
}

// Prefixes returns the requests of the chains that the first one, two and more NFs of a linear chain make.
func Prefixes(nfs []string) []string {
	out := []string{nfs[0] + " first"} // a request of one NF needs a primitive
	for i := 2; i <= len(nfs); i++ {
		out = append(out, strings.Join(nfs[:i], " before "))
	}
	return out
}
