package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/vishvananda/netlink"

	"github.com/catena-nfv/catena/internal/netns"
	"github.com/catena-nfv/catena/internal/service"
)

// CreatePort makes the veth pair of the port, and the namespace of its device
// when this is the first port of it. The inner end gets its final name and its
// address when the instance is created, which knows the order of its ports.
func (c *Cloud) CreatePort(ctx context.Context, o service.Owner, spec service.PortSpec) (service.Port, error) {
	port, err := c.createPort(ctx, o, spec)
	return port, named(service.KindPort, spec.Name, err)
}

func (c *Cloud) createPort(ctx context.Context, o service.Owner, spec service.PortSpec) (service.Port, error) {
	port := service.Port{
		PortSpec: spec,
		ID:       c.names.link(o, spec.Name),
		Node:     c.cfg.Node,
		Link:     c.names.link(o, spec.Name),
		Netns:    c.names.netns(o, spec.Device),
	}
	defer c.devices.lock(port.Netns)()
	if err := ctx.Err(); err != nil {
		return service.Port{}, err
	}
	sum, err := digest(spec, c.cfg.FillChecksums)
	if err != nil {
		return service.Port{}, err
	}
	rec := record{Owner: o, Kind: service.KindPort, Name: spec.Name, Status: service.StatusBuilding, Digest: sum, Port: &port}
	old, exists, err := c.records.get(o, service.KindPort, spec.Name)
	if err != nil {
		return service.Port{}, err
	}
	if exists && old.Port != nil && !sameLink(old.Port.PortSpec, spec) {
		// Another address or device: the pair begins anew. When the device
		// changed, the old one may have to go as well. Everything else is changed
		// where it is, under the running instance.
		if err := c.removePort(old); err != nil {
			return service.Port{}, err
		}
	}
	if err := c.records.put(rec); err != nil {
		return service.Port{}, err
	}
	if err := c.makePort(o, port); err != nil {
		rec.Status, rec.Message = service.StatusError, err.Error()
		return service.Port{}, errors.Join(err, c.records.put(rec))
	}
	rec.Status = service.StatusActive
	return port, c.records.put(rec)
}

// sameLink tells whether a port can become another one without a new link.
func sameLink(a, b service.PortSpec) bool {
	return a.Device == b.Device && a.DeviceKind == b.DeviceKind && a.Network == b.Network && a.MAC == b.MAC && a.IP == b.IP
}

func (c *Cloud) makePort(o service.Owner, port service.Port) error {
	ns, err := c.openOrCreate(port.Netns)
	if err != nil {
		return err
	}
	defer ns.Close()
	_, err = ns.AddVeth(netns.Veth{
		Host:          port.Link,
		MAC:           net.HardwareAddr(port.MAC[:]),
		MTU:           port.MTU,
		Alias:         c.names.alias(o, port.Name),
		FillChecksums: c.cfg.FillChecksums,
	})
	if err != nil {
		if gone := vanished(port); gone != nil { // somebody deletes it as we make it
			return errors.Join(gone, err)
		}
		return err
	}
	// A link that is made again or changed under a running instance has to be set up
	// again.
	for _, kind := range []service.Kind{service.KindServer, service.KindFunction} {
		device, ok, err := c.records.get(o, kind, port.Device)
		if err != nil {
			return err
		}
		if !ok || device.Status != service.StatusActive {
			continue
		}
		for i := range device.Ports {
			if device.Ports[i].Name == port.Name {
				device.Ports[i] = port
			}
		}
		if err := arrange(ns, device.Ports); err != nil {
			return err
		}
		if err := c.records.put(device); err != nil {
			return err
		}
	}
	return nil
}

// vanished tells whether a port's link is not there (any more).
func vanished(p service.Port) error {
	if _, err := netlink.LinkByName(p.Link); errors.As(err, &netlink.LinkNotFoundError{}) {
		return fmt.Errorf("link %s has vanished", p.Link)
	}
	return nil
}

func (c *Cloud) openOrCreate(name string) (*netns.NS, error) {
	ns, err := c.netns.Open(name)
	if errors.Is(err, netns.ErrNotExist) {
		return c.netns.Create(name, setUpNamespace)
	}
	return ns, err
}

// setUpNamespace runs inside a new namespace before it has links.
func setUpNamespace() error {
	if err := netns.DisableIPv6(); err != nil {
		return err
	}
	// The kernel copies these from the host's settings. An instance does not
	// forward unless it is made for it, and takes packets whichever way they come.
	for _, file := range []string{"ip_forward", "conf/all/rp_filter", "conf/default/rp_filter"} {
		if err := netns.Sysctl("net/ipv4/"+file, "0"); err != nil {
			return err
		}
	}
	return nil
}

// deletePort removes a port by name, recorded or not.
func (c *Cloud) deletePort(o service.Owner, name string) error {
	rec, ok, err := c.records.get(o, service.KindPort, name)
	if err != nil || !ok || rec.Port == nil {
		// Without a readable record we still know the link's name and the device.
		device, _, _ := strings.Cut(name, ".")
		defer c.devices.lock(c.names.netns(o, device))()
		if err := netns.DeleteLink(c.names.link(o, name)); err != nil {
			return err
		}
		if ok {
			if err := c.removeNamespaceIfUnused(o, device, record{Kind: service.KindPort, Name: name}); err != nil {
				return err
			}
		}
		return c.records.delete(o, service.KindPort, name)
	}
	defer c.devices.lock(rec.Port.Netns)()
	return c.removePort(rec)
}

// removePort removes the link, then the namespace when nothing else needs it,
// then the record: whatever interrupts it, the record remains until the end.
// The device's lock is held.
func (c *Cloud) removePort(rec record) error {
	if err := netns.DeleteLink(rec.Port.Link); err != nil {
		return err
	}
	if err := c.removeNamespaceIfUnused(rec.Owner, rec.Port.Device, rec); err != nil {
		return err
	}
	return c.records.delete(rec.Owner, rec.Kind, rec.Name)
}

// removeNamespaceIfUnused removes the namespace of a device unless an object
// other than leaving needs it.
func (c *Cloud) removeNamespaceIfUnused(o service.Owner, device string, leaving record) error {
	all, err := c.records.list(o)
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.Kind == leaving.Kind && r.Name == leaving.Name {
			continue
		}
		switch r.Kind {
		case service.KindPort:
			if r.Port != nil && r.Port.Device == device || r.Port == nil && strings.HasPrefix(r.Name, device+".") {
				return nil
			}
		case service.KindServer, service.KindFunction:
			if r.Name == device {
				return nil
			}
		}
	}
	return c.removeNamespace(c.names.netns(o, device))
}

// removeNamespace ends what runs inside, removes the links, the name and the
// instance's files.
func (c *Cloud) removeNamespace(name string) error {
	if err := stopMarked(exactly(name)); err != nil {
		return err
	}
	ns, err := c.netns.Open(name)
	if err == nil {
		// The kernel takes a namespace apart some time after its end; removing
		// the links first makes it certain that the switch's ends are gone.
		err = ns.RemoveLinks()
		ns.Close()
	}
	if err != nil && !errors.Is(err, netns.ErrNotExist) {
		return err
	}
	if err := c.netns.Delete(name); err != nil {
		return err
	}
	return os.RemoveAll(c.instanceDir(name))
}

// arrange gives the ports of an instance their names eth0, eth1, …, addresses
// and the default route: that of the first port whose network has a router.
func arrange(ns *netns.NS, ports []service.Port) error {
	var interfaces []netns.Interface
	var routes []netns.Route
	for i, p := range ports {
		interfaces = append(interfaces, netns.Interface{
			MAC:  net.HardwareAddr(p.MAC[:]),
			Name: fmt.Sprint("eth", i),
			Addr: p.IP,
		})
		if p.Gateway.IsValid() && len(routes) == 0 {
			routes = append(routes, netns.Route{Dst: netip.PrefixFrom(netip.IPv4Unspecified(), 0), Via: p.Gateway})
		}
	}
	err := ns.Arrange(interfaces, routes)
	var none *netns.NoLinkError
	if errors.As(err, &none) {
		for _, p := range ports {
			if p.MAC.String() == none.MAC.String() {
				return fmt.Errorf("port %q: link %s has vanished", p.Name, p.Link)
			}
		}
	}
	if err != nil {
		return err
	}
	return ns.Do(func() error {
		for _, i := range interfaces {
			// A link may come up before the switch carries its packets: ask again
			// after 100 ms instead of a second when an ARP request has no answer.
			if err := netns.Sysctl("net/ipv4/neigh/"+i.Name+"/retrans_time_ms", "100"); err != nil {
				return err
			}
		}
		return nil
	})
}
