package orchestration

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"golang.org/x/sync/errgroup"

	"github.com/catena-nfv/catena/internal/keystone"
	"github.com/catena-nfv/catena/internal/service"
)

// Access is how the cloud is reached without the product.
type Access struct {
	Cloud keystone.Cloud
	Zone  string // availability zone of servers; "": the cloud decides
	// FunctionImage and FunctionFlavor are what functions boot.
	FunctionImage, FunctionFlavor string
}

// calls are the cloud's own, as any client makes them.
type calls struct {
	access                  Access
	compute, network, image *gophercloud.ServiceClient
}

// login gets a token. Connections are kept from one call to the next.
func login(ctx context.Context, a Access) (*calls, error) {
	p, err := a.Cloud.Login(ctx, nil)
	if err != nil {
		return nil, err
	}
	c := &calls{access: a}
	for _, s := range []struct {
		client **gophercloud.ServiceClient
		open   func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)
	}{{&c.compute, openstack.NewComputeV2}, {&c.network, openstack.NewNetworkV2}, {&c.image, openstack.NewImageV2}} {
		if *s.client, err = s.open(p, a.Cloud.Endpoint); err != nil {
			return nil, err
		}
	}
	c.compute.Microversion = "2.52"
	return c, nil
}

// made is what a deployment has created, to be removed again.
type made struct {
	mu                         sync.Mutex
	networks, routers, servers []string
	ports                      []string
	plugs                      [][2]string // router, subnet
}

func (m *made) note(list *[]string, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*list = append(*list, id)
}

func (c *calls) createNetwork(ctx context.Context, m *made, name string) (string, error) {
	n, err := networks.Create(ctx, c.network, networks.CreateOpts{Name: name}).Extract()
	if err != nil {
		return "", fmt.Errorf("network %q: %w", name, err)
	}
	m.note(&m.networks, n.ID)
	return n.ID, nil
}

func (c *calls) createSubnet(ctx context.Context, network string, n service.Network) (string, error) {
	gateway := n.Gateway.String()
	s, err := subnets.Create(ctx, c.network, subnets.CreateOpts{
		Name: n.Name, NetworkID: network, CIDR: n.Subnet.String(), GatewayIP: &gateway, IPVersion: gophercloud.IPv4, EnableDHCP: &n.DHCP,
	}).Extract()
	if err != nil {
		return "", fmt.Errorf("subnet of network %q: %w", n.Name, err)
	}
	return s.ID, nil
}

func (c *calls) createRouter(ctx context.Context, m *made, name string) (string, error) {
	r, err := routers.Create(ctx, c.network, routers.CreateOpts{Name: name}).Extract()
	if err != nil {
		return "", fmt.Errorf("router %q: %w", name, err)
	}
	m.note(&m.routers, r.ID)
	return r.ID, nil
}

func (c *calls) plug(ctx context.Context, m *made, router, subnet string) error {
	if _, err := routers.AddInterface(ctx, c.network, router, routers.AddInterfaceOpts{SubnetID: subnet}).Extract(); err != nil {
		return fmt.Errorf("router %s: %w", router, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.plugs = append(m.plugs, [2]string{router, subnet})
	return nil
}

// createPorts makes ports by one request, open as those of functions have to be, and
// returns their ids in the order of names.
func (c *calls) createPorts(ctx context.Context, m *made, network string, names []string) ([]string, error) {
	type port struct {
		Name      string `json:"name"`
		NetworkID string `json:"network_id"`
		Secured   bool   `json:"port_security_enabled"`
	}
	var body struct {
		Ports []port `json:"ports"`
	}
	for _, n := range names {
		body.Ports = append(body.Ports, port{Name: n, NetworkID: network})
	}
	var answer struct {
		Ports []ports.Port `json:"ports"`
	}
	if _, err := c.network.Post(ctx, c.network.ServiceURL("ports"), body, &answer, &gophercloud.RequestOpts{OkCodes: []int{http.StatusCreated}}); err != nil {
		return nil, fmt.Errorf("ports %v: %w", names, err)
	}
	var ids []string
	for _, p := range answer.Ports {
		ids = append(ids, p.ID)
		m.note(&m.ports, p.ID)
	}
	return ids, nil
}

func (c *calls) createServer(ctx context.Context, m *made, name, image, flavor string, nets []servers.Network) (string, error) {
	s, err := servers.Create(ctx, c.compute, servers.CreateOpts{
		Name: name, ImageRef: image, FlavorRef: flavor, Networks: nets, AvailabilityZone: c.access.Zone,
	}, nil).Extract()
	if err != nil {
		return "", fmt.Errorf("server %q: %w", name, err)
	}
	m.note(&m.servers, s.ID)
	return s.ID, nil
}

func (c *calls) imageID(ctx context.Context, name string) (string, error) {
	pages, err := images.List(c.image, images.ListOpts{Name: name}).AllPages(ctx)
	if err != nil {
		return "", err
	}
	list, err := images.ExtractImages(pages)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("the cloud has no image %q", name)
	}
	if err != nil {
		return "", err
	}
	return list[0].ID, nil
}

func (c *calls) flavorID(ctx context.Context, name string) (string, error) {
	pages, err := flavors.ListDetail(c.compute, flavors.ListOpts{}).AllPages(ctx)
	if err != nil {
		return "", err
	}
	list, err := flavors.ExtractFlavors(pages)
	if err != nil {
		return "", err
	}
	for _, f := range list {
		if f.Name == name || f.ID == name {
			return f.ID, nil
		}
	}
	return "", fmt.Errorf("the cloud has no flavor %q", name)
}

// failed tells why a server cannot become ACTIVE any more. Nova writes that down a moment after the status.
func (c *calls) failed(ctx context.Context, s *servers.Server) error {
	if s.Status != "ERROR" {
		return nil
	}
	for attempt := 0; s.Fault.Message == "" && attempt < 10; attempt++ {
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			break
		}
		if v, err := servers.Get(ctx, c.compute, s.ID).Extract(); err == nil {
			s = v
		}
	}
	return fmt.Errorf("server %q went to ERROR: %s", s.Name, cmp.Or(s.Fault.Message, "Nova does not say why"))
}

// instance is a server or function to be made.
type instance struct {
	name, image, flavor string
	networks            []string
}

// instances lists what a service consists of.
func (a Access) instances(s *service.Service) []instance {
	var out []instance
	nets := func(list []service.Attachment) (names []string) {
		for _, at := range list {
			names = append(names, at.Network)
		}
		return names
	}
	for i := range s.Servers {
		v := &s.Servers[i]
		for _, name := range v.Instances() {
			out = append(out, instance{name, v.Image, v.Flavor, nets(v.Networks)})
		}
	}
	for _, f := range s.Functions {
		out = append(out, instance{f.Name, a.FunctionImage, a.FunctionFlavor, nets(f.Networks)})
	}
	return out
}

// remove deletes what a deployment has made. Nothing of it is timed.
func (c *calls) remove(ctx context.Context, m *made) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Minute)
	defer cancel()
	var all errgroup.Group
	for _, id := range m.servers {
		all.Go(func() error {
			return gone(ctx, func() error { return servers.Delete(ctx, c.compute, id).ExtractErr() })
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	if err := c.vanished(ctx, m.servers); err != nil {
		return err
	}
	for _, p := range m.ports {
		if err := gone(ctx, func() error { return ports.Delete(ctx, c.network, p).ExtractErr() }); err != nil {
			return err
		}
	}
	for _, p := range m.plugs {
		if err := gone(ctx, func() error {
			return routers.RemoveInterface(ctx, c.network, p[0], routers.RemoveInterfaceOpts{SubnetID: p[1]}).Err
		}); err != nil {
			return err
		}
	}
	for _, id := range m.routers {
		if err := gone(ctx, func() error { return routers.Delete(ctx, c.network, id).ExtractErr() }); err != nil {
			return err
		}
	}
	for _, id := range m.networks {
		if err := gone(ctx, func() error { return networks.Delete(ctx, c.network, id).ExtractErr() }); err != nil {
			return err
		}
	}
	return nil
}

// vanished waits until servers are in no list any more. The brief list is one that Nova
// makes without asking Neutron.
func (c *calls) vanished(ctx context.Context, ids []string) error {
	for {
		pages, err := servers.ListSimple(c.compute, servers.ListOpts{}).AllPages(ctx)
		if err != nil {
			return err
		}
		list, err := servers.ExtractServers(pages)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(list, func(s servers.Server) bool { return slices.Contains(ids, s.ID) }) {
			return nil
		}
		if err := sleep(ctx, 300*time.Millisecond); err != nil {
			return fmt.Errorf("servers %v are not deleted: %w", ids, err)
		}
	}
}

// gone deletes something: it is well when it is not there, and what fails for a while, or
// is in use for a moment longer, is tried again.
func gone(ctx context.Context, remove func() error) error {
	for attempt := 0; ; attempt++ {
		err := remove()
		if err == nil || gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			return nil
		}
		again := false
		for _, code := range []int{http.StatusConflict, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout} {
			again = again || gophercloud.ResponseCodeIs(err, code)
		}
		if !again || attempt == 20 {
			return err
		}
		if sleep(ctx, time.Second) != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
