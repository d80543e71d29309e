package orch

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/service"
)

func inventoryNetwork(id, subnet, router string) service.InventoryNetwork {
	n := service.InventoryNetwork{RouterID: router}
	n.Owner, n.Name, n.Subnet = service.InventoryOwner, id, netip.MustParsePrefix(subnet)
	if router != "" {
		n.Gateway = n.Subnet.Addr().Next()
		n.Server, n.ServerMAC = n.Gateway, service.MAC{2}
	}
	return n
}

func inventoryPort(id, network, addr string, groups ...string) service.InventoryPort {
	p := service.InventoryPort{NetworkID: network, GroupIDs: groups}
	p.Owner, p.Secured, p.InstanceID = service.InventoryOwner, len(groups) > 0, "vm of "+id
	p.Port = service.Port{ID: id, PortSpec: service.PortSpec{Name: id, IP: netip.MustParsePrefix(addr)}}
	return p
}

// users is what a cloud has: a network and port of its own, and a port on the network
// of the service shop, whose ports are there, too, as the cloud knows them.
func users() service.Inventory {
	return service.Inventory{
		Networks: []service.InventoryNetwork{
			inventoryNetwork("n1", "10.9.0.0/24", "r9"), inventoryNetwork("n2", "10.0.2.0/24", "r1"), inventoryNetwork("n3", "10.8.0.0/24", "r1"),
		},
		Groups: []service.SwitchGroup{
			{Owner: service.InventoryOwner, Name: "g1", Rules: []service.SwitchGroupRule{
				{SecurityRule: service.SecurityRule{Direction: service.Ingress, RemoteGroup: "g2"}},
			}},
			{Owner: service.InventoryOwner, Name: "g2"},
		},
		Ports: []service.InventoryPort{
			inventoryPort("id-web-1.back", "n2", "10.0.2.10/24", "g2"), inventoryPort("u1", "n1", "10.9.0.5/24", "g1"), inventoryPort("u2", "n2", "10.0.2.77/24"),
		},
	}
}

func portByID(cfg service.SwitchConfig, id string) *service.SwitchPort {
	for i := range cfg.Ports {
		if cfg.Ports[i].Port.ID == id {
			return &cfg.Ports[i]
		}
	}
	return nil
}

// checkNumbers checks that numbers are there, unique, and refer to something.
func checkNumbers(t *testing.T, cfg service.SwitchConfig) {
	t.Helper()
	seen := map[string]bool{}
	once := func(what string, n uint32) {
		k := fmt.Sprint(what, " ", n)
		if n == 0 || seen[k] {
			t.Errorf("%s is there twice, or 0", k)
		}
		seen[k] = true
	}
	for _, n := range cfg.Networks {
		once("network", n.Number)
	}
	for _, g := range cfg.Groups {
		once("group", g.Number)
	}
	for _, p := range cfg.Ports {
		once("port", p.Number)
		if !seen[fmt.Sprint("network ", p.Network)] {
			t.Errorf("port %s is on network %d, which is not there", p.Port.Name, p.Network)
		}
	}
}

func TestInventoryBesideServices(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	o := w.start(&link{})
	if err := o.Apply(ctx, Request{Service: parse(t, shop)}); err != nil {
		t.Fatal(err)
	}
	before := w.sw
	ports, err := o.SetInventory(ctx, users())
	if err != nil {
		t.Fatal(err)
	}
	checkNumbers(t, w.sw)
	if len(ports) != 2 || ports[0].Port.ID == "id-web-1.back" || ports[1].Port.ID == "id-web-1.back" {
		t.Errorf("to be attached: %+v", ports)
	}
	if len(w.sw.Ports) != len(before.Ports)+2 || len(w.sw.Networks) != len(before.Networks)+2 {
		t.Errorf("%d ports and %d networks beside %d and %d of the service", len(w.sw.Ports), len(w.sw.Networks), len(before.Ports), len(before.Networks))
	}
	// What the service made keeps its numbers, and takes over what the cloud knows.
	was, is := portByID(before, "id-web-1.back"), portByID(w.sw, "id-web-1.back")
	if is.Number != was.Number || is.Owner != was.Owner || !is.Secured || is.InstanceID != "vm of id-web-1.back" || len(is.Groups) != 1 {
		t.Errorf("the service's port was %+v, is %+v", was, is)
	}
	u1, u2 := portByID(w.sw, "u1"), portByID(w.sw, "u2")
	if u2.Network != is.Network {
		t.Errorf("the user's port on the service's network is on network %d, not %d", u2.Network, is.Network)
	}
	byNumber := map[uint32]service.SwitchNetwork{}
	byName := map[string]service.SwitchNetwork{}
	for _, n := range w.sw.Networks {
		byNumber[n.Number], byName[n.Name] = n, n
	}
	back := byNumber[u2.Network]
	if back.Name != "back" || !back.Server.IsValid() || back.ServerMAC != back.GatewayMAC {
		t.Errorf("the service's network is %+v", back)
	}
	if byName["n3"].Router != back.Router || byName["n1"].Router == back.Router || byName["n1"].Router == 0 {
		t.Errorf("routers: n3 %d, n1 %d, back %d", byName["n3"].Router, byName["n1"].Router, back.Router)
	}
	if g := w.sw.Groups[0]; u1.Groups[0] != g.Number || g.Rules[0].Remote != is.Groups[0] {
		t.Errorf("groups: %+v of %v and %v", w.sw.Groups, u1.Groups, is.Groups)
	}

	// It stays while services come and go, and over a restart.
	n1, n2 := u1.Number, u2.Number
	if err := o.Apply(ctx, Request{Service: changed(t)}); err != nil {
		t.Fatal(err)
	}
	checkNumbers(t, w.sw)
	o = w.start(&link{})
	if err := o.RememberInventory(ctx, users()); err != nil {
		t.Fatal(err)
	}
	if err := o.Recover(ctx); err != nil {
		t.Fatal(err)
	}
	checkNumbers(t, w.sw)
	if u1, u2 = portByID(w.sw, "u1"), portByID(w.sw, "u2"); u1 == nil || u2 == nil || u1.Number != n1 || u2.Number != n2 {
		t.Errorf("after a restart: %+v, %+v; the numbers were %d and %d", u1, u2, n1, n2)
	}
	if err := o.Delete(ctx, service.Owner{Project: "default", Service: "shop"}); err != nil {
		t.Fatal(err)
	}
	if portByID(w.sw, "u1") == nil {
		t.Error("the user's port went with the service")
	}
	if _, err := o.SetInventory(ctx, service.Inventory{}); err != nil {
		t.Fatal(err)
	}
	mustBe(t, w)
}

func TestInventoryThatCannotBeDeployed(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	l := &link{}
	o := w.start(l)
	if _, err := o.SetInventory(ctx, users()); err != nil {
		t.Fatal(err)
	}
	more := users()
	more.Ports = append(more.Ports, inventoryPort("u3", "n1", "10.9.0.6/24"))
	l.mu.Lock()
	l.mode, l.only = "fail", "deploy"
	l.mu.Unlock()
	if _, err := o.SetInventory(ctx, more); !errors.Is(err, errInjected) {
		t.Fatal(err)
	}
	if err := o.Apply(ctx, Request{Service: parse(t, shop)}); err != nil {
		t.Fatal(err)
	}
	if portByID(w.sw, "u1") == nil || portByID(w.sw, "u3") != nil {
		t.Errorf("after a failure the switch carries %+v", w.sw.Ports)
	}
	if ports, err := o.SetInventory(ctx, more); err != nil || portByID(w.sw, "u3") == nil || len(ports) != 3 {
		t.Errorf("again: %v, %v", ports, err)
	}
}

func TestInventoryBeyondTheSwitch(t *testing.T) {
	inv := service.Inventory{Networks: []service.InventoryNetwork{inventoryNetwork("n1", "10.0.0.0/16", "")}}
	for i := range 600 {
		inv.Ports = append(inv.Ports, inventoryPort(fmt.Sprintf("p%03d", i), "n1", fmt.Sprintf("10.0.%d.%d/16", i/250, i%250+1)))
	}
	w := newWorld(t)
	o := w.start(&link{})
	ports, err := o.SetInventory(context.Background(), inv)
	if err != nil || len(ports) != 509 || !strings.HasPrefix(ports[0].Port.ID, "p000") {
		t.Errorf("%d ports, %v", len(ports), err)
	}
}
