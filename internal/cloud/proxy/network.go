package proxy

import (
	"cmp"
	"context"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/mtu"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	cloudv1 "github.com/catena-nfv/catena/api/catena/cloud/v1"
	"github.com/catena-nfv/catena/internal/keystone"
)

type network struct {
	cloudv1.UnimplementedNetworkServer
	all *Services
}

// neutronNetwork is a network as Neutron shows it.
type neutronNetwork struct {
	networks.Network
	mtu.NetworkMTUExt
}

func findNetworks(ctx context.Context, c *gophercloud.ServiceClient, name string) ([]neutronNetwork, error) {
	pages, err := networks.List(c, networks.ListOpts{Name: name}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	var list []neutronNetwork
	return list, networks.ExtractNetworksInto(pages, &list)
}

func networkID(ctx context.Context, c *gophercloud.ServiceClient, t *keystone.Token, ref string) (string, error) {
	return resolve("network", ref, t, func(name string) ([]candidate, error) {
		list, err := findNetworks(ctx, c, name)
		var out []candidate
		for _, n := range list {
			if n.ProjectID == t.Project.ID || n.Shared {
				out = append(out, candidate{n.ID, n.ProjectID})
			}
		}
		return out, err
	})
}

func (s *network) CreateNetwork(ctx context.Context, m *cloudv1.CreateNetworkRequest) (*cloudv1.NetworkInfo, error) {
	if err := needed("name", m.GetName()); err != nil {
		return nil, err
	}
	c, _, err := s.all.network(ctx)
	if err != nil {
		return nil, err
	}
	var n neutronNetwork
	err = networks.Create(ctx, c, mtu.CreateOptsExt{
		CreateOptsBuilder: networks.CreateOpts{Name: m.GetName(), AdminStateUp: m.AdminStateUp}, MTU: int(m.GetMtu()),
	}).ExtractInto(&n)
	if err != nil {
		return nil, refused("network", m.GetName(), err)
	}
	return fromNetwork(&n), nil
}

func (s *network) GetNetwork(ctx context.Context, m *cloudv1.GetNetworkRequest) (*cloudv1.NetworkInfo, error) {
	c, t, err := s.all.network(ctx)
	if err != nil {
		return nil, err
	}
	id, err := networkID(ctx, c, t, m.GetNetwork())
	if err != nil {
		return nil, err
	}
	var n neutronNetwork
	if err := networks.Get(ctx, c, id).ExtractInto(&n); err != nil {
		return nil, refused("network", m.GetNetwork(), err)
	}
	return fromNetwork(&n), nil
}

func (s *network) ListNetworks(ctx context.Context, m *cloudv1.ListNetworksRequest) (*cloudv1.ListNetworksResponse, error) {
	c, t, err := s.all.network(ctx)
	if err != nil {
		return nil, err
	}
	list, err := findNetworks(ctx, c, m.GetName())
	if err != nil {
		return nil, refused("networks", "", err)
	}
	resp := &cloudv1.ListNetworksResponse{}
	for i := range list {
		if list[i].ProjectID == t.Project.ID || list[i].Shared {
			resp.Networks = append(resp.Networks, fromNetwork(&list[i]))
		}
	}
	byName(resp.Networks)
	return resp, nil
}

func (s *network) DeleteNetwork(ctx context.Context, m *cloudv1.DeleteNetworkRequest) (*cloudv1.DeleteNetworkResponse, error) {
	c, t, err := s.all.network(ctx)
	if err != nil {
		return nil, err
	}
	id, err := networkID(ctx, c, t, m.GetNetwork())
	if err != nil {
		return nil, err
	}
	if err := networks.Delete(ctx, c, id).ExtractErr(); err != nil {
		return nil, refused("network", m.GetNetwork(), err)
	}
	return &cloudv1.DeleteNetworkResponse{}, nil
}

func fromNetwork(n *neutronNetwork) *cloudv1.NetworkInfo {
	return &cloudv1.NetworkInfo{
		Id: n.ID, Name: n.Name, Status: n.Status, AdminStateUp: n.AdminStateUp, Mtu: int32(n.MTU),
		Subnets: n.Subnets, ProjectId: n.ProjectID, Shared: n.Shared, Tags: n.Tags,
	}
}

func findSubnets(ctx context.Context, c *gophercloud.ServiceClient, opts subnets.ListOpts) ([]subnets.Subnet, error) {
	pages, err := subnets.List(c, opts).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	return subnets.ExtractSubnets(pages)
}

func subnetID(ctx context.Context, c *gophercloud.ServiceClient, t *keystone.Token, ref string) (string, error) {
	return resolve("subnet", ref, t, func(name string) ([]candidate, error) {
		list, err := findSubnets(ctx, c, subnets.ListOpts{Name: name})
		var out []candidate
		for _, n := range list {
			out = append(out, candidate{n.ID, n.ProjectID})
		}
		return out, err
	})
}

func (s *network) CreateSubnet(ctx context.Context, m *cloudv1.CreateSubnetRequest) (*cloudv1.Subnet, error) {
	if err := needed("network", m.GetNetwork(), "cidr", m.GetCidr()); err != nil {
		return nil, err
	}
	c, t, err := s.all.network(ctx)
	if err != nil {
		return nil, err
	}
	on, err := networkID(ctx, c, t, m.GetNetwork())
	if err != nil {
		return nil, err
	}
	opts := subnets.CreateOpts{
		Name: m.GetName(), NetworkID: on, CIDR: m.GetCidr(), IPVersion: gophercloud.IPv4,
		EnableDHCP: m.Dhcp, DNSNameservers: m.GetDns(),
	}
	if m.GetGateway() != "" || m.GetNoGateway() {
		gateway := m.GetGateway()
		opts.GatewayIP = &gateway // "": none
	}
	n, err := subnets.Create(ctx, c, opts).Extract()
	if err != nil {
		return nil, refused("subnet", cmp.Or(m.GetName(), m.GetCidr()), err)
	}
	return fromSubnet(n), nil
}

func (s *network) GetSubnet(ctx context.Context, m *cloudv1.GetSubnetRequest) (*cloudv1.Subnet, error) {
	c, t, err := s.all.network(ctx)
	if err != nil {
		return nil, err
	}
	id, err := subnetID(ctx, c, t, m.GetSubnet())
	if err != nil {
		return nil, err
	}
	n, err := subnets.Get(ctx, c, id).Extract()
	if err != nil {
		return nil, refused("subnet", m.GetSubnet(), err)
	}
	return fromSubnet(n), nil
}

func (s *network) ListSubnets(ctx context.Context, m *cloudv1.ListSubnetsRequest) (*cloudv1.ListSubnetsResponse, error) {
	c, t, err := s.all.network(ctx)
	if err != nil {
		return nil, err
	}
	opts := subnets.ListOpts{Name: m.GetName(), ProjectID: t.Project.ID}
	if m.GetNetwork() != "" {
		// Of a network that is shared, the subnets of its owner, too.
		opts.ProjectID = ""
		if opts.NetworkID, err = networkID(ctx, c, t, m.GetNetwork()); err != nil {
			return nil, err
		}
	}
	list, err := findSubnets(ctx, c, opts)
	if err != nil {
		return nil, refused("subnets", "", err)
	}
	resp := &cloudv1.ListSubnetsResponse{}
	for i := range list {
		resp.Subnets = append(resp.Subnets, fromSubnet(&list[i]))
	}
	byName(resp.Subnets)
	return resp, nil
}

func (s *network) DeleteSubnet(ctx context.Context, m *cloudv1.DeleteSubnetRequest) (*cloudv1.DeleteSubnetResponse, error) {
	c, t, err := s.all.network(ctx)
	if err != nil {
		return nil, err
	}
	id, err := subnetID(ctx, c, t, m.GetSubnet())
	if err != nil {
		return nil, err
	}
	if err := subnets.Delete(ctx, c, id).ExtractErr(); err != nil {
		return nil, refused("subnet", m.GetSubnet(), err)
	}
	return &cloudv1.DeleteSubnetResponse{}, nil
}

func fromSubnet(n *subnets.Subnet) *cloudv1.Subnet {
	return &cloudv1.Subnet{
		Id: n.ID, Name: n.Name, NetworkId: n.NetworkID, Cidr: n.CIDR, Gateway: n.GatewayIP,
		Dhcp: n.EnableDHCP, Dns: n.DNSNameservers, ProjectId: n.ProjectID,
	}
}
