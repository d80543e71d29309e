package openstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/catena-nfv/catena/internal/service"
)

// Owners lists the services that have anything in the cloud, sorted.
func (c *Cloud) Owners(ctx context.Context) ([]service.Owner, error) {
	var networks struct{ Networks []network }
	var routers struct{ Routers []network }
	var list []server
	var groups struct {
		Groups []network `json:"security_groups"`
	}
	var floating struct{ Floatingips []network }
	var keys struct {
		List []struct{ Keypair network } `json:"keypairs"`
	}
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() error { return c.session.network.get(inner, "networks?fields=description", &networks) })
	group.Go(func() error { return c.session.network.get(inner, "routers?fields=description", &routers) })
	group.Go(func() (err error) {
		list, err = c.session.servers(inner, "tags", c.cfg.Instance)
		return err
	})
	group.Go(func() error { return c.session.network.get(inner, "security-groups?fields=description", &groups) })
	group.Go(func() error { return c.session.network.get(inner, "floatingips?fields=description", &floating) })
	group.Go(func() error { return c.session.compute.get(inner, "os-keypairs", &keys) })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	found := map[service.Owner]bool{}
	add := func(text string) {
		if project, name, ok := strings.Cut(text, "/"); ok {
			found[service.Owner{Project: project, Service: name}] = true
		}
	}
	for _, n := range slices.Concat(networks.Networks, routers.Routers, groups.Groups, floating.Floatingips) {
		if text, ours := strings.CutPrefix(n.Description, c.marks.prefix()); ours {
			owner, _, _ := strings.Cut(text, " ")
			add(owner)
		}
	}
	for _, k := range keys.List {
		if o, _, ours := c.marks.ownerOfKeyPair(k.Keypair.Name); ours {
			found[o] = true
		}
	}
	for _, s := range list {
		add(s.Metadata[metaOwner])
	}
	var owners []service.Owner
	for o := range found {
		owners = append(owners, o)
	}
	slices.SortFunc(owners, func(a, b service.Owner) int {
		return cmp.Or(strings.Compare(a.Project, b.Project), strings.Compare(a.Service, b.Service))
	})
	return owners, nil
}

// Purge removes everything that this controller has ever made in the project. It goes on
// after a failure and returns all of them.
func (c *Cloud) Purge(ctx context.Context) error {
	owners, err := c.Owners(ctx)
	errs := []error{err}
	for _, o := range owners {
		errs = append(errs, c.purgeOwner(ctx, o))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("openstack: purge: %w", err)
	}
	return nil
}

func (c *Cloud) purgeOwner(ctx context.Context, o service.Owner) error {
	seen, err := c.Observe(ctx, o, service.KindSecurityGroup, service.KindKeyPair, service.KindFloatingIP)
	if err != nil {
		return err
	}
	var errs []error
	for _, kinds := range [][]service.Kind{
		{service.KindServer, service.KindFunction, service.KindFloatingIP}, {service.KindRouter}, {service.KindPort},
		{service.KindNetwork, service.KindSecurityGroup, service.KindKeyPair},
	} {
		var group errgroup.Group
		for _, object := range seen.Objects {
			if slices.Contains(kinds, object.Kind) {
				group.Go(func() error { return c.Delete(ctx, o, object.Kind, object.Name) })
			}
		}
		errs = append(errs, group.Wait())
	}
	return errors.Join(errs...)
}
