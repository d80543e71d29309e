package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/vishvananda/netlink"

	"github.com/catena-nfv/catena/internal/netns"
	"github.com/catena-nfv/catena/internal/service"
)

// Observe reports the recorded objects of a service, with the state in which
// they are now: an object whose link, namespace or process is gone is in ERROR.
func (c *Cloud) Observe(ctx context.Context, o service.Owner, _ ...service.Kind) (service.Observation, error) {
	if err := ctx.Err(); err != nil {
		return service.Observation{}, err
	}
	all, err := c.records.list(o)
	if err != nil {
		return service.Observation{}, err
	}
	seen := service.Observation{}
	for _, r := range all {
		object := service.Object{Kind: r.Kind, Name: r.Name, ID: r.id(c.names), Status: r.Status, Message: r.Message}
		if r.Status == service.StatusActive {
			if err := c.broken(r); err != nil {
				object.Status, object.Message = service.StatusError, err.Error()
			}
		}
		seen.Objects = append(seen.Objects, object)
		if r.Port != nil && object.Status == service.StatusActive {
			seen.Ports = append(seen.Ports, *r.Port)
		}
	}
	return seen, nil
}

// broken tells what is wrong with an object that was made completely.
func (c *Cloud) broken(r record) error {
	switch r.Kind {
	case service.KindPort:
		if r.Port == nil {
			return errors.New("its record is incomplete")
		}
		if err := vanished(*r.Port); err != nil {
			return err
		}
		if sum, err := digest(r.Port.PortSpec, c.cfg.FillChecksums); err == nil && sum != r.Digest {
			return errors.New("it was made for another mode of the switch")
		}
	case service.KindServer, service.KindFunction:
		name := c.names.netns(r.Owner, r.Name)
		ns, err := c.netns.Open(name)
		if err != nil {
			return fmt.Errorf("namespace %s has vanished", name)
		}
		ns.Close()
		if r.Program && !r.Process.alive() {
			return fmt.Errorf("its program has ended; %s", logEnd(c.instanceDir(name)+"/log"))
		}
	}
	return nil
}

// Owners lists the services that have objects, sorted.
func (c *Cloud) Owners(context.Context) ([]service.Owner, error) { return c.records.owners() }

// Purge removes everything that this state directory's drivers ever made,
// recorded or not: processes, links, namespaces, records, configurations and
// logs. It goes on after a failure and returns all of them.
func (c *Cloud) Purge(ctx context.Context) error {
	errs := []error{stopMarked(everyInstance(c.names))}
	names, err := c.netns.List(c.names.netnsPrefix())
	errs = append(errs, err)
	for _, name := range names {
		errs = append(errs, ctx.Err(), c.removeNamespace(name))
	}
	// Links whose namespace had lost its name, held by somebody's descriptor.
	links, err := netlink.LinkList()
	errs = append(errs, err)
	for _, l := range links {
		if strings.HasPrefix(l.Attrs().Alias, c.names.aliasPrefix()) {
			errs = append(errs, netns.DeleteLink(l.Attrs().Name))
		}
	}
	errs = append(errs, os.RemoveAll(c.records.dir), os.RemoveAll(c.instanceDir("")))
	// Perhaps we made it; if anybody else uses it, it is not empty.
	_ = os.Remove(c.cfg.NetnsDir)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("local cloud: purge: %w", err)
	}
	return nil
}
