package proxy

import (
	"context"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cloudv1 "github.com/catena-nfv/catena/api/catena/cloud/v1"
	"github.com/catena-nfv/catena/internal/keystone"
)

func findPorts(ctx context.Context, c *gophercloud.ServiceClient, opts ports.ListOpts) ([]ports.Port, error) {
	pages, err := ports.List(c, opts).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	return ports.ExtractPorts(pages)
}

func portID(ctx context.Context, c *gophercloud.ServiceClient, t *keystone.Token, ref string) (string, error) {
	return resolve("port", ref, t, func(name string) ([]candidate, error) {
		list, err := findPorts(ctx, c, ports.ListOpts{Name: name, ProjectID: t.Project.ID})
		var out []candidate
		for _, p := range list {
			out = append(out, candidate{p.ID, p.ProjectID})
		}
		return out, err
	})
}

func securityGroupID(ctx context.Context, c *gophercloud.ServiceClient, t *keystone.Token, ref string) (string, error) {
	return resolve("security group", ref, t, func(name string) ([]candidate, error) {
		pages, err := groups.List(c, groups.ListOpts{Name: name}).AllPages(ctx)
		if err != nil {
			return nil, err
		}
		list, err := groups.ExtractGroups(pages)
		var out []candidate
		for _, g := range list {
			out = append(out, candidate{g.ID, g.ProjectID})
		}
		return out, err
	})
}

// newPort is one port in the body of a bulk creation, which gophercloud does not have.
type newPort struct {
	Name           string    `json:"name,omitempty"`
	NetworkID      string    `json:"network_id"`
	FixedIPs       []fixedIP `json:"fixed_ips,omitempty"`
	SecurityGroups []string  `json:"security_groups,omitempty"`
	PortSecurity   *bool     `json:"port_security_enabled,omitempty"`
}

type fixedIP struct {
	SubnetID string `json:"subnet_id,omitempty"`
	IP       string `json:"ip_address,omitempty"`
}

// CreatePorts makes one request of all ports: Neutron makes them in one transaction's
// time, and all or none.
func (s *network) CreatePorts(ctx context.Context, m *cloudv1.CreatePortsRequest) (*cloudv1.CreatePortsResponse, error) {
	if len(m.GetPorts()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "the request names no port; set \"ports\"")
	}
	c, t, err := s.all.network(ctx)
	if err != nil {
		return nil, err
	}
	// Each reference is looked up once.
	known := map[string]string{}
	lookup := func(kind, ref string, find func(context.Context, *gophercloud.ServiceClient, *keystone.Token, string) (string, error)) (string, error) {
		if id, ok := known[kind+ref]; ok {
			return id, nil
		}
		id, err := find(ctx, c, t, ref)
		known[kind+ref] = id
		return id, err
	}
	var body struct {
		Ports []newPort `json:"ports"`
	}
	for _, p := range m.GetPorts() {
		n := newPort{Name: p.GetName()}
		if n.NetworkID, err = lookup("network", p.GetNetwork(), networkID); err != nil {
			return nil, err
		}
		for _, f := range p.GetFixedIps() {
			ip := fixedIP{IP: f.GetIp()}
			if f.GetSubnet() != "" {
				if ip.SubnetID, err = lookup("subnet", f.GetSubnet(), subnetID); err != nil {
					return nil, err
				}
			}
			n.FixedIPs = append(n.FixedIPs, ip)
		}
		for _, g := range p.GetSecurityGroups() {
			id, err := lookup("security group", g, securityGroupID)
			if err != nil {
				return nil, err
			}
			n.SecurityGroups = append(n.SecurityGroups, id)
		}
		if p.GetNoPortSecurity() {
			n.PortSecurity = new(bool)
		}
		body.Ports = append(body.Ports, n)
	}
	var made struct {
		Ports []ports.Port `json:"ports"`
	}
	_, err = c.Post(ctx, c.ServiceURL("ports"), body, &made, &gophercloud.RequestOpts{OkCodes: []int{http.StatusCreated}})
	if err != nil {
		name := m.GetPorts()[0].GetName()
		if n := len(m.GetPorts()); n > 1 {
			name += " …"
		}
		return nil, refused("port", name, err)
	}
	if len(made.Ports) != len(body.Ports) {
		return nil, status.Errorf(codes.Internal, "the cloud made %d ports of %d", len(made.Ports), len(body.Ports))
	}
	resp := &cloudv1.CreatePortsResponse{}
	for i := range made.Ports {
		resp.Ports = append(resp.Ports, fromPort(&made.Ports[i]))
	}
	return resp, nil
}

func (s *network) GetPort(ctx context.Context, m *cloudv1.GetPortRequest) (*cloudv1.Port, error) {
	c, t, err := s.all.network(ctx)
	if err != nil {
		return nil, err
	}
	id, err := portID(ctx, c, t, m.GetPort())
	if err != nil {
		return nil, err
	}
	p, err := ports.Get(ctx, c, id).Extract()
	if err != nil {
		return nil, refused("port", m.GetPort(), err)
	}
	return fromPort(p), nil
}

func (s *network) ListPorts(ctx context.Context, m *cloudv1.ListPortsRequest) (*cloudv1.ListPortsResponse, error) {
	c, t, err := s.all.network(ctx)
	if err != nil {
		return nil, err
	}
	opts := ports.ListOpts{Name: m.GetName(), DeviceID: m.GetDeviceId(), ProjectID: t.Project.ID}
	if m.GetNetwork() != "" {
		if opts.NetworkID, err = networkID(ctx, c, t, m.GetNetwork()); err != nil {
			return nil, err
		}
	}
	list, err := findPorts(ctx, c, opts)
	if err != nil {
		return nil, refused("ports", "", err)
	}
	resp := &cloudv1.ListPortsResponse{}
	for i := range list {
		resp.Ports = append(resp.Ports, fromPort(&list[i]))
	}
	byName(resp.Ports)
	return resp, nil
}

func (s *network) DeletePort(ctx context.Context, m *cloudv1.DeletePortRequest) (*cloudv1.DeletePortResponse, error) {
	c, t, err := s.all.network(ctx)
	if err != nil {
		return nil, err
	}
	id, err := portID(ctx, c, t, m.GetPort())
	if err != nil {
		return nil, err
	}
	if err := ports.Delete(ctx, c, id).ExtractErr(); err != nil {
		return nil, refused("port", m.GetPort(), err)
	}
	return &cloudv1.DeletePortResponse{}, nil
}

func fromPort(p *ports.Port) *cloudv1.Port {
	out := &cloudv1.Port{
		Id: p.ID, Name: p.Name, NetworkId: p.NetworkID, Mac: p.MACAddress, Status: p.Status,
		DeviceId: p.DeviceID, DeviceOwner: p.DeviceOwner, ProjectId: p.ProjectID,
	}
	for _, f := range p.FixedIPs {
		out.FixedIps = append(out.FixedIps, &cloudv1.FixedIP{Subnet: f.SubnetID, Ip: f.IPAddress})
	}
	return out
}
