package proxy

import (
	"context"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	cloudv1 "github.com/catena-nfv/catena/api/catena/cloud/v1"
	"github.com/catena-nfv/catena/internal/keystone"
)

func findRouters(ctx context.Context, c *gophercloud.ServiceClient, name string, t *keystone.Token) ([]routers.Router, error) {
	pages, err := routers.List(c, routers.ListOpts{Name: name, ProjectID: t.Project.ID}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	return routers.ExtractRouters(pages)
}

func routerID(ctx context.Context, c *gophercloud.ServiceClient, t *keystone.Token, ref string) (string, error) {
	return resolve("router", ref, t, func(name string) ([]candidate, error) {
		list, err := findRouters(ctx, c, name, t)
		var out []candidate
		for _, r := range list {
			out = append(out, candidate{r.ID, r.ProjectID})
		}
		return out, err
	})
}

func (s *network) CreateRouter(ctx context.Context, m *cloudv1.CreateRouterRequest) (*cloudv1.Router, error) {
	if err := needed("name", m.GetName()); err != nil {
		return nil, err
	}
	c, t, err := s.all.network(ctx)
	if err != nil {
		return nil, err
	}
	var on []string
	for _, ref := range m.GetSubnets() {
		id, err := subnetID(ctx, c, t, ref)
		if err != nil {
			return nil, err
		}
		on = append(on, id)
	}
	r, err := routers.Create(ctx, c, routers.CreateOpts{Name: m.GetName(), AdminStateUp: m.AdminStateUp}).Extract()
	if err != nil {
		return nil, refused("router", m.GetName(), err)
	}
	for i, id := range on {
		if _, err := routers.AddInterface(ctx, c, r.ID, routers.AddInterfaceOpts{SubnetID: id}).Extract(); err != nil {
			err = refused("router", m.GetName()+"/"+m.GetSubnets()[i], err)
			// Whole or not at all: what was made is removed, also for a caller who is gone.
			if e := deleteRouter(context.WithoutCancel(ctx), c, r.ID); e != nil {
				return nil, also(err, refused("router", m.GetName(), e))
			}
			return nil, err
		}
	}
	return fromRouter(r), nil
}

func (s *network) GetRouter(ctx context.Context, m *cloudv1.GetRouterRequest) (*cloudv1.Router, error) {
	c, t, err := s.all.network(ctx)
	if err != nil {
		return nil, err
	}
	id, err := routerID(ctx, c, t, m.GetRouter())
	if err != nil {
		return nil, err
	}
	r, err := routers.Get(ctx, c, id).Extract()
	if err != nil {
		return nil, refused("router", m.GetRouter(), err)
	}
	return fromRouter(r), nil
}

func (s *network) ListRouters(ctx context.Context, m *cloudv1.ListRoutersRequest) (*cloudv1.ListRoutersResponse, error) {
	c, t, err := s.all.network(ctx)
	if err != nil {
		return nil, err
	}
	list, err := findRouters(ctx, c, m.GetName(), t)
	if err != nil {
		return nil, refused("routers", "", err)
	}
	resp := &cloudv1.ListRoutersResponse{}
	for i := range list {
		resp.Routers = append(resp.Routers, fromRouter(&list[i]))
	}
	byName(resp.Routers)
	return resp, nil
}

func (s *network) DeleteRouter(ctx context.Context, m *cloudv1.DeleteRouterRequest) (*cloudv1.DeleteRouterResponse, error) {
	c, t, err := s.all.network(ctx)
	if err != nil {
		return nil, err
	}
	id, err := routerID(ctx, c, t, m.GetRouter())
	if err != nil {
		return nil, err
	}
	if err := deleteRouter(ctx, c, id); err != nil {
		return nil, refused("router", m.GetRouter(), err)
	}
	return &cloudv1.DeleteRouterResponse{}, nil
}

// deleteRouter removes a router with its interfaces, which are ports of it.
func deleteRouter(ctx context.Context, c *gophercloud.ServiceClient, id string) error {
	list, err := findPorts(ctx, c, ports.ListOpts{DeviceID: id, DeviceOwner: "network:router_interface"})
	if err != nil {
		return err
	}
	for _, p := range list {
		if err := routers.RemoveInterface(ctx, c, id, routers.RemoveInterfaceOpts{PortID: p.ID}).Err; err != nil {
			return err
		}
	}
	return routers.Delete(ctx, c, id).ExtractErr()
}

func (s *network) AddRouterInterface(ctx context.Context, m *cloudv1.AddRouterInterfaceRequest) (*cloudv1.RouterInterface, error) {
	return s.interfaceOf(ctx, m.GetRouter(), m.GetSubnet(), func(c *gophercloud.ServiceClient, router, subnet string) (*routers.InterfaceInfo, error) {
		return routers.AddInterface(ctx, c, router, routers.AddInterfaceOpts{SubnetID: subnet}).Extract()
	})
}

func (s *network) RemoveRouterInterface(ctx context.Context, m *cloudv1.RemoveRouterInterfaceRequest) (*cloudv1.RouterInterface, error) {
	return s.interfaceOf(ctx, m.GetRouter(), m.GetSubnet(), func(c *gophercloud.ServiceClient, router, subnet string) (*routers.InterfaceInfo, error) {
		return routers.RemoveInterface(ctx, c, router, routers.RemoveInterfaceOpts{SubnetID: subnet}).Extract()
	})
}

func (s *network) interfaceOf(ctx context.Context, router, subnet string, change func(c *gophercloud.ServiceClient, router, subnet string) (*routers.InterfaceInfo, error)) (*cloudv1.RouterInterface, error) {
	c, t, err := s.all.network(ctx)
	if err != nil {
		return nil, err
	}
	rid, err := routerID(ctx, c, t, router)
	if err != nil {
		return nil, err
	}
	sid, err := subnetID(ctx, c, t, subnet)
	if err != nil {
		return nil, err
	}
	i, err := change(c, rid, sid)
	if err != nil {
		return nil, refused("router", router+"/"+subnet, err)
	}
	return &cloudv1.RouterInterface{RouterId: rid, SubnetId: sid, PortId: i.PortID}, nil
}

func fromRouter(r *routers.Router) *cloudv1.Router {
	return &cloudv1.Router{Id: r.ID, Name: r.Name, Status: r.Status, AdminStateUp: r.AdminStateUp, ProjectId: r.ProjectID}
}
