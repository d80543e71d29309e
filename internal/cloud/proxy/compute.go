package proxy

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"sync/atomic"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/pagination"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cloudv1 "github.com/catena-nfv/catena/api/catena/cloud/v1"
	"github.com/catena-nfv/catena/internal/cloud/openstack/apierror"
	"github.com/catena-nfv/catena/internal/keystone"
)

// maxServers bounds one call.
const maxServers = 1000

type compute struct {
	cloudv1.UnimplementedComputeServer
	all *Services
}

func listFlavors(ctx context.Context, c *gophercloud.ServiceClient) ([]flavors.Flavor, error) {
	pages, err := flavors.ListDetail(c, flavors.ListOpts{AccessType: flavors.AllAccess}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	return flavors.ExtractFlavors(pages)
}

// flavorID looks a flavor up by id, too: operators give short ids, such as "1".
func flavorID(ctx context.Context, c *gophercloud.ServiceClient, t *keystone.Token, ref string) (string, error) {
	return resolve("flavor", ref, t, func(name string) ([]candidate, error) {
		list, err := listFlavors(ctx, c)
		var out []candidate
		for _, f := range list {
			if f.ID == name {
				return []candidate{{f.ID, ""}}, nil
			}
			if f.Name == name {
				out = append(out, candidate{f.ID, ""})
			}
		}
		return out, err
	})
}

func (s *compute) ListFlavors(ctx context.Context, m *cloudv1.ListFlavorsRequest) (*cloudv1.ListFlavorsResponse, error) {
	c, _, err := s.all.compute(ctx)
	if err != nil {
		return nil, err
	}
	list, err := listFlavors(ctx, c)
	if err != nil {
		return nil, refused("flavors", "", err)
	}
	resp := &cloudv1.ListFlavorsResponse{}
	for _, f := range list {
		if m.GetName() == "" || f.Name == m.GetName() {
			resp.Flavors = append(resp.Flavors, &cloudv1.Flavor{Id: f.ID, Name: f.Name, Vcpus: int32(f.VCPUs), RamMb: int32(f.RAM), DiskGb: int32(f.Disk)})
		}
	}
	byName(resp.Flavors)
	return resp, nil
}

// findServers lists the project's servers, all or those of exactly one name.
func findServers(ctx context.Context, c *gophercloud.ServiceClient, name string) ([]servers.Server, error) {
	var opts servers.ListOpts
	if name != "" {
		opts.Name = "^" + regexp.QuoteMeta(name) + "$" // Nova takes it for an expression
	}
	pages, err := servers.List(c, opts).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	list, err := servers.ExtractServers(pages)
	return slices.DeleteFunc(list, func(s servers.Server) bool { return name != "" && s.Name != name }), err
}

func serverID(ctx context.Context, c *gophercloud.ServiceClient, t *keystone.Token, ref string) (string, error) {
	return resolve("server", ref, t, func(name string) ([]candidate, error) {
		list, err := findServers(ctx, c, name)
		var out []candidate
		for _, v := range list {
			out = append(out, candidate{v.ID, v.TenantID})
		}
		return out, err
	})
}

// serverIDs finds those of several references, names among them by one list.
func serverIDs(ctx context.Context, c *gophercloud.ServiceClient, t *keystone.Token, refs []string) ([]string, error) {
	if len(refs) == 0 {
		return nil, status.Error(codes.InvalidArgument, "the request names no server; set \"servers\"")
	}
	var listed []servers.Server
	once := false
	ids := make([]string, len(refs))
	for i, ref := range refs {
		var err error
		ids[i], err = resolve("server", ref, t, func(name string) ([]candidate, error) {
			if !once {
				if listed, err = findServers(ctx, c, ""); err != nil {
					return nil, err
				}
				once = true
			}
			var out []candidate
			for _, v := range listed {
				if v.Name == name {
					out = append(out, candidate{v.ID, v.TenantID})
				}
			}
			return out, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func (s *compute) CreateServers(ctx context.Context, m *cloudv1.CreateServersRequest) (*cloudv1.CreateServersResponse, error) {
	made, err := s.create(ctx, m)
	if err != nil {
		return nil, err
	}
	return &cloudv1.CreateServersResponse{Servers: made}, nil
}

// create asks for the servers of a request.
func (s *compute) create(ctx context.Context, m *cloudv1.CreateServersRequest) ([]*cloudv1.Server, error) {
	count := max(1, int(m.GetCount()))
	switch {
	case m.GetCount() < 0 || count > maxServers:
		return nil, status.Errorf(codes.InvalidArgument, "server %q: count is %d, and may be 1 to %d", m.GetName(), m.GetCount(), maxServers)
	case len(m.GetNetworks()) > 0 && len(m.GetPorts()) > 0:
		return nil, status.Errorf(codes.InvalidArgument, "server %q: set \"networks\" or \"ports\", not both", m.GetName())
	case len(m.GetPorts()) > 0 && len(m.GetPorts()) != count:
		return nil, status.Errorf(codes.InvalidArgument, "server %q: there are ports for %d servers of %d", m.GetName(), len(m.GetPorts()), count)
	}
	if err := needed("name", m.GetName(), "image", m.GetImage(), "flavor", m.GetFlavor()); err != nil {
		return nil, err
	}
	c, _, err := s.all.compute(ctx)
	if err != nil {
		return nil, err
	}
	opts, err := s.options(ctx, m)
	if err != nil {
		return nil, err
	}
	// A request that is cut off may have made its servers all the same, so none is.
	var made []*cloudv1.Server
	if whole := context.WithoutCancel(ctx); len(m.GetPorts()) == 0 && count > 1 {
		made, err = multiCreate(whole, c, opts, count)
	} else {
		made, err = s.createEach(whole, c, opts, m, count)
	}
	if err == nil && ctx.Err() != nil {
		err = status.FromContextError(ctx.Err()).Err()
	}
	if err != nil {
		return nil, takeBack(context.WithoutCancel(ctx), c, made, err)
	}
	return made, nil
}

// takeBack removes the servers of a request that failed; err is why.
func takeBack(ctx context.Context, c *gophercloud.ServiceClient, made []*cloudv1.Server, err error) error {
	for _, v := range made {
		if v == nil {
			continue
		}
		if e := servers.Delete(ctx, c, v.GetId()).ExtractErr(); e != nil && apierror.Code(e) != http.StatusNotFound {
			err = also(err, refused("server", v.GetName(), e))
		}
	}
	return err
}

// options resolves the references of a request, all at the same time.
func (s *compute) options(ctx context.Context, m *cloudv1.CreateServersRequest) (servers.CreateOpts, error) {
	opts := servers.CreateOpts{Name: m.GetName(), Metadata: m.GetMetadata(), AvailabilityZone: m.GetAvailabilityZone(), Networks: "none"}
	if m.GetConfigDrive() {
		opts.ConfigDrive = &m.ConfigDrive
	}
	if len(m.GetUserData()) > 0 {
		// Encoded here: gophercloud leaves data as it is that looks encoded.
		opts.UserData = []byte(base64.StdEncoding.EncodeToString(m.GetUserData()))
	}
	c, t, err := s.all.compute(ctx)
	if err != nil {
		return opts, err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	g.Go(func() error {
		glance, _, err := s.all.image(ctx)
		if err == nil {
			opts.ImageRef, err = imageID(ctx, glance, t, m.GetImage())
		}
		return err
	})
	g.Go(func() (err error) {
		opts.FlavorRef, err = flavorID(ctx, c, t, m.GetFlavor())
		return err
	})
	nets := make([]servers.Network, len(m.GetNetworks()))
	for i, ref := range m.GetNetworks() {
		g.Go(func() error {
			neutron, _, err := s.all.network(ctx)
			if err == nil {
				nets[i].UUID, err = networkID(ctx, neutron, t, ref)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return opts, err
	}
	if len(nets) > 0 {
		opts.Networks = nets
	}
	return opts, nil
}

// manyOpts asks for several servers and the id under which they were reserved, by which
// they are found again: the answer to a plain request names only the first.
type manyOpts struct{ servers.CreateOpts }

func (o manyOpts) ToServerCreateMap() (map[string]any, error) {
	body, err := o.CreateOpts.ToServerCreateMap()
	if err == nil {
		body["server"].(map[string]any)["return_reservation_id"] = true
	}
	return body, err
}

// byReservation lists the servers of one request.
type byReservation string

func (r byReservation) ToServerListQuery() (string, error) {
	return "?reservation_id=" + string(r), nil
}

// multiCreate makes equal servers by one request.
func multiCreate(ctx context.Context, c *gophercloud.ServiceClient, opts servers.CreateOpts, count int) ([]*cloudv1.Server, error) {
	opts.Min, opts.Max = count, count
	var answer struct {
		Reservation string `json:"reservation_id"`
	}
	r := servers.Create(ctx, c, manyOpts{opts}, nil)
	if r.Err != nil {
		return nil, refused("server", opts.Name, r.Err)
	}
	if err := r.Result.ExtractInto(&answer); err != nil {
		return nil, refused("server", opts.Name, err)
	}
	var pages pagination.Page
	pages, err := servers.ListSimple(c, byReservation(answer.Reservation)).AllPages(ctx)
	if err != nil {
		return nil, refused("server", opts.Name, fmt.Errorf("they are being built, and cannot be listed: %w", err))
	}
	list, err := servers.ExtractServers(pages)
	if err != nil {
		return nil, refused("server", opts.Name, err)
	}
	var out []*cloudv1.Server
	for i := range list {
		out = append(out, &cloudv1.Server{Id: list[i].ID, Name: list[i].Name})
	}
	if len(out) != count {
		return nil, status.Errorf(codes.Internal, "server %q: %d were asked for, and the cloud lists %d", opts.Name, count, len(out))
	}
	return inNumbers(out), nil
}

// inNumbers sorts NAME-1 to NAME-COUNT by their numbers.
func inNumbers(list []*cloudv1.Server) []*cloudv1.Server {
	slices.SortFunc(list, func(a, b *cloudv1.Server) int {
		if d := len(a.GetName()) - len(b.GetName()); d != 0 {
			return d
		}
		return slices.Compare([]byte(a.GetName()), []byte(b.GetName()))
	})
	return list
}

// createEach makes servers by a request each, at the same time. It returns those that
// were made, nil in the place of others, also with an error.
func (s *compute) createEach(ctx context.Context, c *gophercloud.ServiceClient, opts servers.CreateOpts, m *cloudv1.CreateServersRequest, count int) ([]*cloudv1.Server, error) {
	neutron, t, err := s.all.network(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]*cloudv1.Server, count)
	var failed atomic.Bool
	var g errgroup.Group
	g.SetLimit(parallel)
	for i := range count {
		g.Go(func() (err error) {
			if failed.Load() {
				return nil // another one's error is the reason
			}
			out[i], err = createOne(ctx, c, neutron, t, opts, m, i)
			if err != nil {
				failed.Store(true)
			}
			return err
		})
	}
	return out, g.Wait()
}

// createOne makes the i-th server of a request.
func createOne(ctx context.Context, c, neutron *gophercloud.ServiceClient, t *keystone.Token, opts servers.CreateOpts, m *cloudv1.CreateServersRequest, i int) (*cloudv1.Server, error) {
	if m.GetCount() > 1 {
		opts.Name = fmt.Sprintf("%s-%d", m.GetName(), i+1)
	}
	if len(m.GetPorts()) > 0 {
		var nets []servers.Network
		for _, ref := range m.GetPorts()[i].GetPorts() {
			id, err := portID(ctx, neutron, t, ref)
			if err != nil {
				return nil, err
			}
			nets = append(nets, servers.Network{Port: id})
		}
		opts.Networks = nets
	}
	made, err := servers.Create(ctx, c, opts, nil).Extract()
	if err != nil {
		return nil, refused("server", opts.Name, err)
	}
	return &cloudv1.Server{Id: made.ID, Name: opts.Name}, nil
}

func (s *compute) GetServer(ctx context.Context, m *cloudv1.GetServerRequest) (*cloudv1.Server, error) {
	c, t, err := s.all.compute(ctx)
	if err != nil {
		return nil, err
	}
	id, err := serverID(ctx, c, t, m.GetServer())
	if err != nil {
		return nil, err
	}
	v, err := servers.Get(ctx, c, id).Extract()
	if err != nil {
		return nil, refused("server", m.GetServer(), err)
	}
	return fromServer(v), nil
}

func (s *compute) ListServers(ctx context.Context, m *cloudv1.ListServersRequest) (*cloudv1.ListServersResponse, error) {
	c, _, err := s.all.compute(ctx)
	if err != nil {
		return nil, err
	}
	list, err := findServers(ctx, c, m.GetName())
	if err != nil {
		return nil, refused("servers", "", err)
	}
	resp := &cloudv1.ListServersResponse{}
	for i := range list {
		resp.Servers = append(resp.Servers, fromServer(&list[i]))
	}
	byName(resp.Servers)
	return resp, nil
}

func (s *compute) DeleteServers(ctx context.Context, m *cloudv1.DeleteServersRequest) (*cloudv1.DeleteServersResponse, error) {
	c, t, err := s.all.compute(ctx)
	if err != nil {
		return nil, err
	}
	ids, err := serverIDs(ctx, c, t, m.GetServers())
	if err != nil {
		return nil, err
	}
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, id := range ids {
		g.Go(func() error {
			err := servers.Delete(within, c, id).ExtractErr()
			if apierror.Code(err) == http.StatusNotFound {
				return nil
			}
			return refused("server", m.GetServers()[i], err)
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	w, release := s.all.watchers.of(t, c)
	defer release()
	if err := w.Gone(ctx, ids); err != nil {
		return nil, refused("servers", "", err)
	}
	return &cloudv1.DeleteServersResponse{}, nil
}

func fromServer(v *servers.Server) *cloudv1.Server {
	out := &cloudv1.Server{
		Id: v.ID, Name: v.Name, Status: v.Status, Task: v.TaskState, Fault: v.Fault.Message,
		Created: stamp(v.Created), Launched: stamp(v.LaunchedAt), Host: v.Host, ProjectId: v.TenantID, Metadata: v.Metadata,
	}
	out.ImageId, _ = v.Image["id"].(string)
	out.Flavor, _ = v.Flavor["original_name"].(string)
	for name, list := range v.Addresses {
		items, _ := list.([]any)
		for _, item := range items {
			if a, ok := item.(map[string]any); ok {
				ip, _ := a["addr"].(string)
				mac, _ := a["OS-EXT-IPS-MAC:mac_addr"].(string)
				out.Addresses = append(out.Addresses, &cloudv1.Address{Network: name, Ip: ip, Mac: mac})
			}
		}
	}
	slices.SortFunc(out.Addresses, func(a, b *cloudv1.Address) int {
		return slices.Compare([]string{a.GetNetwork(), a.GetIp()}, []string{b.GetNetwork(), b.GetIp()})
	})
	return out
}
