package orch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/service"
)

// edge is a service with all that is not a network or an instance.
const edge = `
name: edge
networks:
  - {name: front, subnet: 10.0.1.0/24}
  - {name: back, subnet: 10.0.2.0/24}
routers:
  - {name: r, networks: [front, back], external: public}
security_groups:
  - {name: web, rules: [{direction: ingress, protocol: tcp, ports: 80}, {direction: ingress, remote_group: db}]}
  - {name: db, rules: [{direction: ingress, remote_group: web}]}
keypairs:
  - {name: ops, public_key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f}
servers:
  - {name: web, key: ops, security_groups: [web], networks: [{network: front, floating_ip: true}]}
  - {name: db, key: mine, security_groups: [db], networks: [back]}
`

func TestPlanOfResources(t *testing.T) {
	base := parse(t, edge)
	variant := func(pairs ...string) *service.Service { return parse(t, strings.NewReplacer(pairs...).Replace(edge)) }
	for _, tc := range []struct {
		name     string
		from, to *service.Service
	}{
		{"create", nil, base},
		{"delete", base, nil},
		{"rule-changed", base, variant("ports: 80", "ports: 443")},
		{"group-of-a-port-changed", base, variant("[db], networks", "[web, db], networks")},
		{"group-removed", base, variant(", {direction: ingress, remote_group: db}", "", "  - {name: db, rules: [{direction: ingress, remote_group: web}]}\n", "", "[db]", "[web]")},
		{"another-public-key", base, variant("HR4f", "HR4e")},
		{"another-external-network", base, variant("external: public", "external: other")},
		{"outside-no-more", base, variant(", external: public", "", ", floating_ip: true", "")},
		{"port-replaced", base, variant("{network: front, floating_ip: true}", "{network: front, ip: 10.0.1.99, floating_ip: true}")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			steps, err := Plan(want(t, tc.to, tc.from), made(t, tc.from))
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "testdata/resources.txtar", tc.name, render(steps))
		})
	}
}

// A group whose deletion was begun is completed, not replaced: the ports that still
// have it would stand in the way.
func TestPlanKeepsGroup(t *testing.T) {
	current := made(t, parse(t, edge))
	k := Key{service.KindSecurityGroup, "db"}
	r := current.Records[k]
	r.State = StateDeleting
	current.Records[k] = r
	steps, err := Plan(want(t, parse(t, edge), nil), current)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, s := range steps {
		ids = append(ids, s.ID)
	}
	for _, id := range []string{"create security_group db", "update security_rules db", "update security_rules web", "update port db.back"} {
		if !slices.Contains(ids, id) {
			t.Errorf("no step %q in %q", id, ids)
		}
	}
	if slices.ContainsFunc(ids, func(id string) bool { return strings.HasPrefix(id, "delete") }) {
		t.Errorf("something is deleted: %q", ids)
	}
}

// What the cloud lacks is refused before anything is made.
func TestLacking(t *testing.T) {
	w := newWorld(t)
	o := w.start(&link{})
	err := o.Apply(context.Background(), Request{Service: parse(t, strings.Replace(edge, "name: edge", "name: unsupported", 1))})
	var refused *service.Error
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "the world has nothing of this name") {
		t.Errorf("apply: %v", err)
	}
	if len(w.calls) > 0 {
		t.Errorf("calls: %q", w.calls)
	}
}

// The cloud is asked about groups, keypairs and floating IPs only for services that
// have any, and as long as there may be some left.
func TestObservesWhatMayBeThere(t *testing.T) {
	plain, full := parse(t, shop), parse(t, edge)
	if got := optional(nil, plain); len(got) > 0 {
		t.Errorf("asked for %q though the service has none", got)
	}
	all := []service.Kind{service.KindSecurityGroup, service.KindKeyPair, service.KindFloatingIP}
	if got := optional(nil, full); !slices.Equal(got, all) {
		t.Errorf("asked for %q, want %q", got, all)
	}
	if got := optional(made(t, full).Records, plain); !slices.Equal(got, all) {
		t.Errorf("asked for %q, want %q, of which there are records", got, all)
	}
}

// A service's security group that comes back in the cloud's inventory is the same
// group: users' ports in it, and users' rules that name it, meet the service's ports.
func TestInventoryKnowsServicesGroups(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	o := w.start(&link{})
	if err := o.Apply(ctx, Request{Service: parse(t, edge)}); err != nil {
		t.Fatal(err)
	}
	before := len(w.sw.Groups)
	web := w.sw.Groups[slices.IndexFunc(w.sw.Groups, func(g service.SwitchGroup) bool { return g.Name == "web" })]
	inv := service.Inventory{
		Networks: []service.InventoryNetwork{inventoryNetwork("n1", "10.9.0.0/24", "")},
		Groups: []service.SwitchGroup{
			{Owner: service.InventoryOwner, Name: "id-web"},
			{Owner: service.InventoryOwner, Name: "users", Rules: []service.SwitchGroupRule{
				{SecurityRule: service.SecurityRule{Direction: service.Ingress, RemoteGroup: "id-web"}},
			}},
		},
		Ports: []service.InventoryPort{inventoryPort("u1", "n1", "10.9.0.5/24", "id-web", "users")},
	}
	if _, err := o.SetInventory(ctx, inv); err != nil {
		t.Fatal(err)
	}
	if len(w.sw.Groups) != before+1 {
		t.Fatalf("groups: %+v", w.sw.Groups)
	}
	users := w.sw.Groups[slices.IndexFunc(w.sw.Groups, func(g service.SwitchGroup) bool { return g.Name == "users" })]
	if users.Rules[0].Remote != web.Number {
		t.Errorf("the users' rule names group %d, not %d", users.Rules[0].Remote, web.Number)
	}
	if p := portByID(w.sw, "u1"); !slices.Contains(p.Groups, web.Number) || len(p.Groups) != 2 {
		t.Errorf("the user's port has the groups %v", p.Groups)
	}
	// Without the service nobody is in the group.
	if err := o.Delete(ctx, service.Owner{Project: "default", Service: "edge"}); err != nil {
		t.Fatal(err)
	}
	if p := portByID(w.sw, "u1"); len(p.Groups) != 1 || !p.Secured {
		t.Errorf("the user's port has the groups %v", p.Groups)
	}
}
