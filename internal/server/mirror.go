package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
	"github.com/catena-nfv/catena/internal/mirror"
	"github.com/catena-nfv/catena/internal/service"
)

// Mirror is the copy of Neutron's objects, and what it tells of ports.
type Mirror interface {
	Push(ctx context.Context, changes []mirror.Change) error
	Compare(ctx context.Context, digest []byte, refs []mirror.Ref) (equal bool, differing []mirror.Ref, err error)
	Watch(ctx context.Context, send func(mirror.Report) error) error
}

// maxPush is how many changes one call may bring.
const maxPush = 1000

// mirrorAPI is the API's service Mirror.
type mirrorAPI struct {
	catenav1.UnimplementedMirrorServer
	mirror Mirror
}

func (a *mirrorAPI) Push(ctx context.Context, m *catenav1.PushRequest) (*catenav1.PushResponse, error) {
	if err := admin(ctx); err != nil {
		return nil, err
	}
	if n := len(m.GetChanges()); n > maxPush {
		return nil, status.Errorf(codes.InvalidArgument, "%d changes in one call; at most %d", n, maxPush)
	}
	changes := make([]mirror.Change, len(m.GetChanges()))
	for i, c := range m.GetChanges() {
		object, err := toObject(c)
		if err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "%s %s: %v", mirror.Kind(c.GetRef().GetKind()), c.GetRef().GetId(), err)
		}
		changes[i] = mirror.Change{Ref: toRef(c.GetRef()), Object: object, Repair: c.GetRepair()}
	}
	err := a.mirror.Push(ctx, changes)
	if errors.Is(err, mirror.ErrInvalid) {
		err = status.Error(codes.InvalidArgument, err.Error())
	}
	return &catenav1.PushResponse{}, err
}

func (a *mirrorAPI) Compare(ctx context.Context, m *catenav1.CompareRequest) (*catenav1.CompareResponse, error) {
	if err := admin(ctx); err != nil {
		return nil, err
	}
	refs := make([]mirror.Ref, len(m.GetRefs()))
	for i, r := range m.GetRefs() {
		refs[i] = toRef(r)
	}
	equal, differing, err := a.mirror.Compare(ctx, m.GetDigest(), refs)
	if err != nil {
		return nil, err
	}
	resp := &catenav1.CompareResponse{Equal: equal}
	for _, r := range differing {
		resp.Differing = append(resp.Differing, &catenav1.MirrorRef{Kind: catenav1.MirrorKind(r.Kind), Id: r.ID, Revision: r.Revision})
	}
	return resp, nil
}

func (a *mirrorAPI) WatchNodes(_ *catenav1.WatchNodesRequest, stream grpc.ServerStreamingServer[catenav1.NodesReport]) error {
	if err := admin(stream.Context()); err != nil {
		return err
	}
	return a.mirror.Watch(stream.Context(), func(r mirror.Report) error {
		return stream.Send(&catenav1.NodesReport{
			Complete: r.Complete, Nodes: []*catenav1.NodePorts{{Host: r.Node, Up: r.Up, Down: r.Down}},
		})
	})
}

func toRef(r *catenav1.MirrorRef) mirror.Ref {
	return mirror.Ref{Kind: mirror.Kind(r.GetKind()), ID: r.GetId(), Revision: r.GetRevision()}
}

// toObject is nil for a deleted object.
func toObject(c *catenav1.MirrorChange) (mirror.Object, error) {
	var r mirrorReader
	var object mirror.Object
	switch o := c.GetObject().(type) {
	case nil:
		return nil, nil
	case *catenav1.MirrorChange_Network:
		n := o.Network
		object = &mirror.Network{
			Project: n.GetProject(), Name: n.GetName(), AdminUp: n.GetAdminStateUp(), MTU: int(n.GetMtu()), DNSDomain: n.GetDnsDomain(),
		}
	case *catenav1.MirrorChange_Subnet:
		s := o.Subnet
		object = &mirror.Subnet{
			Project: s.GetProject(), Name: s.GetName(), Network: s.GetNetworkId(), CIDR: r.prefix("cidr", s.GetCidr()),
			Gateway: r.addr("gateway_ip", s.GetGatewayIp()), DHCP: s.GetEnableDhcp(), DNS: r.addrs("dns_nameservers", s.GetDnsNameservers()),
			Routes: r.routes("host_routes", s.GetHostRoutes()),
		}
	case *catenav1.MirrorChange_Router:
		x := o.Router
		object = &mirror.Router{
			Project: x.GetProject(), Name: x.GetName(), AdminUp: x.GetAdminStateUp(), Routes: r.routes("routes", x.GetRoutes()),
		}
	case *catenav1.MirrorChange_Port:
		object = r.port(o.Port)
	case *catenav1.MirrorChange_SecurityGroup:
		g := o.SecurityGroup
		out := &mirror.Group{Project: g.GetProject(), Name: g.GetName(), Stateful: g.GetStateful()}
		for _, rule := range g.GetRules() {
			out.Rules = append(out.Rules, r.rules(rule)...)
		}
		object = out
	}
	return object, r.err
}

// mirrorReader turns texts into values and keeps the first error.
type mirrorReader struct{ err error }

func (r *mirrorReader) fail(field string, err error) {
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("%s: %w", field, err)
	}
}

func (r *mirrorReader) prefix(field, text string) netip.Prefix {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		// An address stands for itself alone.
		var a netip.Addr
		if a, err = netip.ParseAddr(text); err == nil {
			p, err = a.Prefix(a.BitLen())
		}
	}
	r.fail(field, err)
	return p
}

func (r *mirrorReader) addr(field, text string) netip.Addr {
	if text == "" {
		return netip.Addr{}
	}
	a, err := netip.ParseAddr(text)
	r.fail(field, err)
	return a
}

func (r *mirrorReader) addrs(field string, texts []string) []netip.Addr {
	var out []netip.Addr
	for _, t := range texts {
		out = append(out, r.addr(field, t))
	}
	return out
}

func (r *mirrorReader) mac(field, text string) service.MAC {
	hw, err := net.ParseMAC(text)
	if err == nil && len(hw) != 6 {
		err = fmt.Errorf("%q is no Ethernet address", text)
	}
	if err != nil {
		r.fail(field, err)
		return service.MAC{}
	}
	return service.MAC(hw)
}

func (r *mirrorReader) routes(field string, in []*catenav1.MirroredRoute) []service.HostRoute {
	var out []service.HostRoute
	for _, m := range in {
		out = append(out, service.HostRoute{Destination: r.prefix(field, m.GetDestination()), Via: r.addr(field, m.GetNexthop())})
	}
	return out
}

func (r *mirrorReader) port(p *catenav1.MirroredPort) *mirror.Port {
	out := &mirror.Port{
		Project: p.GetProject(), Name: p.GetName(), Network: p.GetNetworkId(), MAC: r.mac("mac", p.GetMac()), AdminUp: p.GetAdminStateUp(),
		Device: p.GetDeviceId(), DeviceOwner: p.GetDeviceOwner(), Host: p.GetHost(), Secured: p.GetPortSecurityEnabled(),
		Groups: p.GetSecurityGroups(), DNSName: p.GetDnsName(),
	}
	for _, a := range p.GetFixedIps() {
		out.Addresses = append(out.Addresses, mirror.Address{Subnet: a.GetSubnetId(), IP: r.addr("fixed_ips", a.GetIp())})
	}
	for _, a := range p.GetAllowedAddressPairs() {
		pair := service.AddressPair{IP: r.prefix("allowed_address_pairs", a.GetIp())}
		if a.GetMac() != "" {
			pair.MAC = r.mac("allowed_address_pairs", a.GetMac())
		}
		out.Pairs = append(out.Pairs, pair)
	}
	return out
}

// protocolNames are the numbers of Neutron's names for protocols but tcp, udp, icmp.
var protocolNames = map[string]string{
	"ah": "51", "dccp": "33", "egp": "8", "esp": "50", "gre": "47", "igmp": "2", "ipip": "4", "ospf": "89", "pgm": "113",
	"rsvp": "46", "sctp": "132", "udplite": "136", "vrrp": "112", "6": "tcp", "17": "udp", "1": "icmp", "any": "", "0": "",
}

// rules are none for IPv6, and one for each remote prefix.
func (r *mirrorReader) rules(m *catenav1.MirroredSecurityRule) []service.SecurityRule {
	if m.GetEthertype() == "IPv6" {
		return nil
	}
	base := service.SecurityRule{Direction: service.Direction(m.GetDirection()), Protocol: m.GetProtocol(), RemoteGroup: m.GetRemoteGroupId()}
	if base.Direction != service.Ingress && base.Direction != service.Egress {
		r.fail("direction", fmt.Errorf("%q is neither ingress nor egress", m.GetDirection()))
	}
	if known, ok := protocolNames[base.Protocol]; ok {
		base.Protocol = known
	}
	if !slices.Contains([]string{"", "tcp", "udp", "icmp"}, base.Protocol) {
		if _, err := strconv.ParseUint(base.Protocol, 10, 8); err != nil {
			// "ipv6-icmp" and the like: no packet of IPv4 has it.
			if strings.HasPrefix(base.Protocol, "ipv6") || base.Protocol == "icmpv6" {
				return nil
			}
			r.fail("protocol", fmt.Errorf("%q is not known", base.Protocol))
		}
	}
	lo, hi := m.GetPortRangeMin(), m.GetPortRangeMax()
	switch {
	case m.PortRangeMin == nil:
	case base.Protocol == "icmp":
		base.ICMP = &service.ICMPMatch{Type: uint8(lo), Code: -1}
		if m.PortRangeMax != nil {
			base.ICMP.Code = int16(hi)
		}
	case base.Protocol == "tcp" || base.Protocol == "udp":
		if lo < 0 || hi > 65535 || lo > hi {
			r.fail("port range", fmt.Errorf("%d to %d is none", lo, hi))
		}
		base.Ports = service.PortRange{Lo: uint16(lo), Hi: uint16(hi)}
	}
	if len(m.GetRemoteIpPrefixes()) == 0 {
		return []service.SecurityRule{base}
	}
	var out []service.SecurityRule
	for _, text := range m.GetRemoteIpPrefixes() {
		one := base
		if one.RemotePrefix = r.prefix("remote_ip_prefix", text).Masked(); one.RemotePrefix.Addr().Is4() {
			out = append(out, one)
		}
	}
	return out
}
