package proxy

import (
	"cmp"
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/allocations"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/resourceproviders"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/usages"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cloudv1 "github.com/catena-nfv/catena/api/catena/cloud/v1"
	"github.com/catena-nfv/catena/internal/keystone"
)

type placement struct {
	cloudv1.UnimplementedPlacementServer
	all *Services
}

func (s *placement) client(ctx context.Context) (*gophercloud.ServiceClient, *keystone.Token, error) {
	return s.all.client(ctx, openstack.NewPlacementV1)
}

// GetUsages is for the caller's own project, or an admin's question about another. The
// cloud's default policy lets both ask.
func (s *placement) GetUsages(ctx context.Context, m *cloudv1.GetUsagesRequest) (*cloudv1.Usages, error) {
	c, t, err := s.client(ctx)
	if err != nil {
		return nil, err
	}
	of := cmp.Or(m.GetProjectId(), t.Project.ID)
	if of != t.Project.ID && !t.Admin() {
		return nil, status.Errorf(codes.PermissionDenied, "usages of project %q: the token is for project %s; other projects need the role %s", of, t.Project.Name, keystone.AdminRole)
	}
	var body struct {
		Usages map[string]int64 `json:"usages"`
	}
	if err := usages.Get(ctx, c, usages.GetOpts{ProjectID: of}).ExtractInto(&body); err != nil {
		return nil, refused("usages of project", of, err)
	}
	return &cloudv1.Usages{ProjectId: of, Used: body.Usages}, nil
}

func (s *placement) GetAllocations(ctx context.Context, m *cloudv1.GetAllocationsRequest) (*cloudv1.GetAllocationsResponse, error) {
	c, t, err := s.client(ctx)
	if err != nil {
		return nil, err
	}
	nova, _, err := s.all.compute(ctx)
	if err != nil {
		return nil, err
	}
	id, err := serverID(ctx, nova, t, m.GetServer())
	if err != nil {
		return nil, err
	}
	a, err := allocations.Get(ctx, c, id).Extract()
	if err != nil {
		return nil, refused("allocations of server", m.GetServer(), err)
	}
	resp := &cloudv1.GetAllocationsResponse{}
	for provider, part := range a.Allocations {
		resp.Allocations = append(resp.Allocations, &cloudv1.Allocation{ProviderId: provider, Resources: wide(part.Resources)})
	}
	slices.SortFunc(resp.Allocations, func(a, b *cloudv1.Allocation) int { return cmp.Compare(a.GetProviderId(), b.GetProviderId()) })
	return resp, nil
}

func (s *placement) ListProviders(ctx context.Context, _ *cloudv1.ListProvidersRequest) (*cloudv1.ListProvidersResponse, error) {
	c, _, err := s.client(ctx)
	if err != nil {
		return nil, err
	}
	pages, err := resourceproviders.List(c, resourceproviders.ListOpts{}).AllPages(ctx)
	if err != nil {
		return nil, refused("resource providers", "", err)
	}
	list, err := resourceproviders.ExtractResourceProviders(pages)
	if err != nil {
		return nil, refused("resource providers", "", err)
	}
	resp := &cloudv1.ListProvidersResponse{Providers: make([]*cloudv1.Provider, len(list))}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, p := range list {
		g.Go(func() error {
			has, err := resourceproviders.GetInventories(ctx, c, p.UUID).Extract()
			if err != nil {
				return refused("resource provider", p.Name, err)
			}
			used, err := resourceproviders.GetUsages(ctx, c, p.UUID).Extract()
			if err != nil {
				return refused("resource provider", p.Name, err)
			}
			out := &cloudv1.Provider{Id: p.UUID, Name: p.Name, Inventories: map[string]*cloudv1.Inventory{}}
			for class, v := range has.Inventories {
				out.Inventories[class] = &cloudv1.Inventory{
					Total: int64(v.Total), Reserved: int64(v.Reserved), AllocationRatio: float64(v.AllocationRatio), Used: int64(used.Usages[class]),
				}
			}
			resp.Providers[i] = out
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	byName(resp.Providers)
	return resp, nil
}

func wide(m map[string]int) map[string]int64 {
	out := make(map[string]int64, len(m))
	for k, v := range m {
		out[k] = int64(v)
	}
	return out
}
