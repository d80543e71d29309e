package nodeservice

import (
	"net"
	"net/netip"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/insomniacslk/dhcp/dhcpv4"
)

// leaseTime is Neutron's. A lease says nothing that the configuration does not.
const leaseTime = 24 * time.Hour

// answerDHCP answers a message from a port (RFC 2131); nil: it gets no answer. An address
// is offered to its port alone, so nothing has to be remembered.
func answerDHCP(p *port, m *dhcpv4.DHCPv4) *dhcpv4.DHCPv4 {
	own := p.Port.IP.Addr()
	server := p.network.Server
	if m.OpCode != dhcpv4.OpcodeBootRequest || !own.Is4() || !server.Is4() || m.ClientHWAddr.String() != p.Port.MAC.String() {
		return nil
	}
	if other := m.ServerIdentifier(); other != nil && !other.Equal(server.AsSlice()) {
		return nil // it has chosen another server
	}
	kind := dhcpv4.MessageTypeAck
	switch m.MessageType() {
	case dhcpv4.MessageTypeDiscover:
		kind = dhcpv4.MessageTypeOffer
	case dhcpv4.MessageTypeRequest:
		wants := m.RequestedIPAddress()
		if wants == nil || wants.IsUnspecified() {
			wants = m.ClientIPAddr
		}
		if !wants.Equal(own.AsSlice()) {
			kind = dhcpv4.MessageTypeNak
		}
	case dhcpv4.MessageTypeInform:
	default: // decline and release change nothing
		return nil
	}
	out, err := dhcpv4.NewReplyFromRequest(m, dhcpv4.WithMessageType(kind), dhcpv4.WithServerIP(server.AsSlice()),
		dhcpv4.WithOption(dhcpv4.OptServerIdentifier(server.AsSlice())))
	if err != nil {
		return nil
	}
	if kind == dhcpv4.MessageTypeNak {
		return out
	}
	if m.MessageType() != dhcpv4.MessageTypeInform {
		out.YourIPAddr = own.AsSlice()
		out.UpdateOption(dhcpv4.OptIPAddressLeaseTime(leaseTime))
	} else {
		out.ClientIPAddr = m.ClientIPAddr
	}
	describe(p, out)
	return out
}

// describe tells what a member of the port's network has to know.
func describe(p *port, out *dhcpv4.DHCPv4) {
	n := p.network
	out.UpdateOption(dhcpv4.OptSubnetMask(net.CIDRMask(p.Port.IP.Bits(), 32)))
	if name := p.hostName(); name != "" {
		out.UpdateOption(dhcpv4.OptHostName(name))
	}
	if n.Domain != "" {
		out.UpdateOption(dhcpv4.OptDomainName(n.Domain))
	}
	if n.MTU > 0 {
		out.UpdateOption(dhcpv4.OptGeneric(dhcpv4.OptionInterfaceMTU, []byte{byte(n.MTU >> 8), byte(n.MTU)}))
	}
	servers := n.DNS
	if len(servers) == 0 {
		servers = []netip.Addr{n.Server}
	}
	var dns []net.IP
	for _, a := range servers {
		dns = append(dns, a.AsSlice())
	}
	out.UpdateOption(dhcpv4.OptDNS(dns...))
	// A client that takes classless routes does not look at the router (RFC 3442).
	var routes []*dhcpv4.Route
	add := func(to netip.Prefix, via netip.Addr) {
		if to.Addr().Is4() && via.Is4() {
			routes = append(routes, &dhcpv4.Route{Dest: &net.IPNet{IP: to.Addr().AsSlice(), Mask: net.CIDRMask(to.Bits(), 32)}, Router: via.AsSlice()})
		}
	}
	routed := n.Router != 0 && n.Gateway.Is4()
	if n.Metadata {
		via := n.Server
		if routed {
			via = n.Gateway
		}
		add(netip.PrefixFrom(metadataAddr, 32), via)
	}
	for _, r := range n.Routes {
		add(r.Destination, r.Via)
	}
	if routed {
		out.UpdateOption(dhcpv4.OptRouter(n.Gateway.AsSlice()))
		add(netip.PrefixFrom(netip.IPv4Unspecified(), 0), n.Gateway)
	}
	if len(routes) > 0 {
		out.UpdateOption(dhcpv4.OptClasslessStaticRoute(routes...))
	}
}

// dhcpFrame is the Ethernet frame that takes an answer to its client.
func dhcpFrame(p *port, m *dhcpv4.DHCPv4) ([]byte, error) {
	mac, client := p.serverMAC(), net.HardwareAddr(p.Port.MAC[:])
	to := net.IP(m.YourIPAddr)
	switch {
	case m.MessageType() == dhcpv4.MessageTypeNak:
		to, client = net.IPv4bcast, layers.EthernetBroadcast
	case m.ClientIPAddr != nil && !m.ClientIPAddr.IsUnspecified():
		to = m.ClientIPAddr
	case m.IsBroadcast():
		to, client = net.IPv4bcast, layers.EthernetBroadcast
	}
	eth := &layers.Ethernet{SrcMAC: mac[:], DstMAC: client, EthernetType: layers.EthernetTypeIPv4}
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: p.network.Server.AsSlice(), DstIP: to.To4()}
	udp := &layers.UDP{SrcPort: 67, DstPort: 68}
	if err := udp.SetNetworkLayerForChecksum(ip); err != nil {
		return nil, err
	}
	buf := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, eth, ip, udp, gopacket.Payload(m.ToBytes()))
	return buf.Bytes(), err
}
