package e2e

import (
	"context"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
	"github.com/catena-nfv/catena/internal/netns"
)

// guest is a server that nova would have started: a namespace instead of a virtual
// machine, with a link that is called like its port's tap and is in nova's bridge.
type guest struct {
	t       *testing.T
	port    string // id
	network string // id
	mac     string
	addr    netip.Prefix
	via     netip.Addr // default gateway
	ns      *netns.NS
}

func (g *guest) tap() string { return "tap" + g.port[:11] }

// change is what Neutron's plugin pushes of the port; revision 0: deleted.
func (g *guest) change(host string, revision int64) *catenav1.MirrorChange {
	ref := &catenav1.MirrorRef{Kind: catenav1.MirrorKind_MIRROR_KIND_PORT, Id: g.port, Revision: revision}
	if revision == 0 {
		return &catenav1.MirrorChange{Ref: ref}
	}
	return &catenav1.MirrorChange{Ref: ref, Object: &catenav1.MirrorChange_Port{Port: &catenav1.MirroredPort{
		NetworkId: g.network, Mac: g.mac, AdminStateUp: true, Host: host, DeviceId: "server of " + g.port, DeviceOwner: "compute:nova",
		FixedIps: []*catenav1.MirroredAddress{{SubnetId: "s" + g.network, Ip: g.addr.Addr().String()}},
	}}}
}

// plug makes the link, in the bridge, as nova and libvirt do.
func (g *guest) plug(bridge netlink.Link) {
	g.t.Helper()
	mac, err := net.ParseMAC(g.mac)
	if err != nil {
		g.t.Fatal(err)
	}
	if g.ns == nil {
		dir := netns.Dir{Path: filepath.Join(g.t.TempDir(), "ns")}
		if g.ns, err = dir.Create(g.tap(), netns.DisableIPv6); err != nil {
			g.t.Fatal(err)
		}
		g.t.Cleanup(func() {
			_ = netns.DeleteLink(g.tap())
			_ = g.ns.Close()
			_ = dir.Delete(g.tap())
		})
	}
	if _, err := g.ns.AddVeth(netns.Veth{Host: g.tap(), MAC: mac}); err != nil {
		g.t.Fatal(err)
	}
	link, err := netlink.LinkByName(g.tap())
	if err == nil {
		err = netlink.LinkSetMaster(link, bridge)
	}
	if err != nil {
		g.t.Fatal(err)
	}
	err = g.ns.Arrange([]netns.Interface{{MAC: mac, Name: "eth0", Addr: g.addr}}, []netns.Route{{Dst: netip.MustParsePrefix("0.0.0.0/0"), Via: g.via}})
	if err != nil {
		g.t.Fatal(err)
	}
}

// serve answers every connection to port 80 until the test ends.
func (g *guest) serve() {
	g.t.Helper()
	l, err := g.ns.Listen(g.t.Context(), g.addr.Addr().String()+":80")
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
}

func (g *guest) reaches(to *guest) bool { return connects(g.ns, to.addr.Addr().String()+":80") }

// watch follows the nodes' reports and keeps the ports that work.
func watch(t *testing.T, p *platform) (works func(ids ...string)) {
	t.Helper()
	reports := make(chan []string, 64)
	conn, err := grpc.NewClient("unix://"+filepath.Join(p.run, "catena.sock"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		defer close(reports)
		up := map[string]bool{}
		for t.Context().Err() == nil {
			stream, err := catenav1.NewMirrorClient(conn).WatchNodes(t.Context(), &catenav1.WatchNodesRequest{}, grpc.WaitForReady(true))
			for err == nil {
				var r *catenav1.NodesReport
				if r, err = stream.Recv(); err != nil {
					break
				}
				if r.GetComplete() {
					clear(up)
				}
				for _, n := range r.GetNodes() {
					for _, id := range n.GetUp() {
						up[id] = true
					}
					for _, id := range n.GetDown() {
						delete(up, id)
					}
				}
				var all []string
				for id := range up {
					all = append(all, id)
				}
				slices.Sort(all)
				reports <- all
			}
		}
	}()
	return func(ids ...string) {
		t.Helper()
		var last []string
		for timeout := time.After(20 * time.Second); ; {
			select {
			case last = <-reports:
				if slices.Equal(last, ids) {
					return
				}
			case <-timeout:
				t.Fatalf("ports %v work, not %v", last, ids)
			}
		}
	}
}

// TestUsersOfTheCloud does what Neutron's plugin and nova do when users make networks
// and servers without Catena: they get connectivity, and keep it over a restart.
func TestUsersOfTheCloud(t *testing.T) {
	p := newPlatform(t)
	p.env = append(p.env, "CATENA_NODE=node1")
	c := p.serve()
	c.ready()
	works := watch(t, p)
	conn, err := grpc.NewClient("unix://"+filepath.Join(p.run, "catena.sock"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	push := func(changes ...*catenav1.MirrorChange) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := catenav1.NewMirrorClient(conn).Push(ctx, &catenav1.PushRequest{Changes: changes}, grpc.WaitForReady(true)); err != nil {
			t.Fatal(err)
		}
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "brqcte2e"
	bridge := &netlink.Bridge{LinkAttrs: attrs}
	if err := netlink.LinkAdd(bridge); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = netns.DeleteLink("brqcte2e") })

	// Two networks, on a router, and one alone with the same addresses.
	network := func(id, subnet, gateway string) []*catenav1.MirrorChange {
		return []*catenav1.MirrorChange{
			{Ref: &catenav1.MirrorRef{Kind: catenav1.MirrorKind_MIRROR_KIND_NETWORK, Id: id, Revision: 1},
				Object: &catenav1.MirrorChange_Network{Network: &catenav1.MirroredNetwork{AdminStateUp: true, Mtu: 1500}}},
			{Ref: &catenav1.MirrorRef{Kind: catenav1.MirrorKind_MIRROR_KIND_SUBNET, Id: "s" + id, Revision: 1},
				Object: &catenav1.MirrorChange_Subnet{Subnet: &catenav1.MirroredSubnet{NetworkId: id, Cidr: subnet, GatewayIp: gateway, EnableDhcp: true}}},
		}
	}
	router := func(id, network, mac, ip string) *catenav1.MirrorChange {
		return &catenav1.MirrorChange{Ref: &catenav1.MirrorRef{Kind: catenav1.MirrorKind_MIRROR_KIND_PORT, Id: id, Revision: 1},
			Object: &catenav1.MirrorChange_Port{Port: &catenav1.MirroredPort{
				NetworkId: network, Mac: mac, AdminStateUp: true, DeviceId: "r", DeviceOwner: "network:router_interface",
				FixedIps: []*catenav1.MirroredAddress{{SubnetId: "s" + network, Ip: ip}},
			}}}
	}
	push(slices.Concat(network("a", "10.71.1.0/24", "10.71.1.1"), network("b", "10.71.2.0/24", "10.71.2.1"), network("c", "10.71.1.0/24", "10.71.1.1"),
		[]*catenav1.MirrorChange{
			{Ref: &catenav1.MirrorRef{Kind: catenav1.MirrorKind_MIRROR_KIND_ROUTER, Id: "r", Revision: 1},
				Object: &catenav1.MirrorChange_Router{Router: &catenav1.MirroredRouter{AdminStateUp: true}}},
			router("ra", "a", "fa:16:3e:00:01:01", "10.71.1.1"), router("rb", "b", "fa:16:3e:00:01:02", "10.71.2.1"),
		})...)
	via := netip.MustParseAddr("10.71.1.1")
	a1 := &guest{t: t, port: "e2e0a01-0000", network: "a", mac: "fa:16:3e:00:00:01", addr: netip.MustParsePrefix("10.71.1.11/24"), via: via}
	a2 := &guest{t: t, port: "e2e0a02-0000", network: "a", mac: "fa:16:3e:00:00:02", addr: netip.MustParsePrefix("10.71.1.12/24"), via: via}
	b1 := &guest{t: t, port: "e2e0b01-0000", network: "b", mac: "fa:16:3e:00:00:03", addr: netip.MustParsePrefix("10.71.2.11/24"), via: netip.MustParseAddr("10.71.2.1")}
	c1 := &guest{t: t, port: "e2e0c01-0000", network: "c", mac: "fa:16:3e:00:00:04", addr: netip.MustParsePrefix("10.71.1.12/24"), via: via}
	for _, g := range []*guest{a1, a2, b1, c1} {
		push(g.change("node1", 1))
		g.plug(bridge)
		g.serve()
	}
	works(a1.port, a2.port, b1.port, c1.port)
	if !a1.reaches(a2) || !a1.reaches(b1) || !b1.reaches(a2) {
		t.Errorf("in the network %v, over the router %v and %v", a1.reaches(a2), a1.reaches(b1), b1.reaches(a2))
	}
	if c1.reaches(a1) || c1.reaches(b1) {
		t.Error("a network that has no router reaches others")
	}

	// A service beside them, and users that stay while the controller is killed.
	p.must("apply", "-f", absolute(t, example))
	if !a1.reaches(b1) {
		t.Error("not reachable beside a service")
	}
	c.kill()
	if !a1.reaches(b1) || !a1.reaches(a2) {
		t.Error("not reachable while the controller is away")
	}
	c = p.serve()
	c.ready()
	if !a1.reaches(b1) {
		t.Error("not reachable after a restart")
	}
	works(a1.port, a2.port, b1.port, c1.port)

	// A server that is stopped, started again, deleted, or moved to another host.
	if err := netns.DeleteLink(a2.tap()); err != nil {
		t.Fatal(err)
	}
	works(a1.port, b1.port, c1.port)
	a2.plug(bridge)
	works(a1.port, a2.port, b1.port, c1.port)
	if !b1.reaches(a2) {
		t.Error("not reachable after it was started again")
	}
	push(b1.change("", 0), c1.change("node2", 2))
	works(a1.port, a2.port)
	if a1.reaches(b1) {
		t.Error("a port that was deleted is reached")
	}
	p.must("delete", "shop")
	if !a1.reaches(a2) {
		t.Error("the service took the users' ports along")
	}
	push(a1.change("", 0), a2.change("", 0))
	works()
}
