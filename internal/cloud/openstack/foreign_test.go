package openstack

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/cloud/openstack/fake"
	"github.com/catena-nfv/catena/internal/service"
)

// TestForeign: what others have on a service's things is named at once, nothing of it is
// touched, and when it is gone the deletion goes through.
func TestForeign(t *testing.T) {
	for _, tt := range []struct {
		name string
		kind service.Kind
		of   string
		// make makes what is in the way and tells how to get rid of it.
		make func(t *testing.T, c *Cloud, made map[key]service.Object) func() error
		want []string
	}{
		{"a server on a network", service.KindNetwork, "net0", func(t *testing.T, c *Cloud, made map[key]service.Object) func() error {
			var answer struct{ Server struct{ ID string } }
			must(t, c.session.compute.post(t.Context(), "servers", body("server", map[string]any{
				"name": "theirs", "imageRef": imageID(t, c), "flavorRef": flavorID(t, c),
				"networks": []map[string]string{{"uuid": made[key{service.KindNetwork, "net0"}].ID}},
			}), &answer))
			id := answer.Server.ID
			return func() error { return c.removeServer(context.Background(), id) }
		}, []string{`network "net0": it cannot be deleted, since others use it: server "theirs" (`, "with port ", "openstack server delete ", "do this again"}},
		{"a port on a network", service.KindNetwork, "net0", func(t *testing.T, c *Cloud, made map[key]service.Object) func() error {
			id := post(t, c, "port", map[string]any{"name": "theirs", "network_id": made[key{service.KindNetwork, "net0"}].ID})
			return func() error { return c.session.network.remove(context.Background(), "ports/"+id) }
		}, []string{`network "net0"`, `port "theirs" (`, "openstack port delete "}},
		{"a router's port on a network", service.KindNetwork, "net0", func(t *testing.T, c *Cloud, made map[key]service.Object) func() error {
			router := post(t, c, "router", map[string]any{"name": "theirs"})
			id := post(t, c, "port", map[string]any{"network_id": made[key{service.KindNetwork, "net0"}].ID})
			must(t, c.session.network.put(t.Context(), "routers/"+router+"/add_router_interface", map[string]string{"port_id": id}, nil))
			return func() error {
				if err := c.removePort(context.Background(), port{ID: id, DeviceID: router, DeviceOwner: "network:router_interface"}); err != nil {
					return err
				}
				return c.session.network.remove(context.Background(), "routers/"+router)
			}
		}, []string{`network "net0"`, "router ", " with port ", "openstack router remove port "}},
		{"a network on a router", service.KindRouter, "r", func(t *testing.T, c *Cloud, made map[key]service.Object) func() error {
			network := post(t, c, "network", map[string]any{"name": "theirs"})
			post(t, c, "subnet", map[string]any{"network_id": network, "cidr": "10.99.0.0/24"})
			id := post(t, c, "port", map[string]any{"network_id": network})
			router := made[key{service.KindRouter, "r"}].ID
			must(t, c.session.network.put(t.Context(), "routers/"+router+"/add_router_interface", map[string]string{"port_id": id}, nil))
			return func() error {
				if err := c.removePort(context.Background(), port{ID: id, DeviceID: router, DeviceOwner: "network:router_interface"}); err != nil {
					return err
				}
				return c.session.network.remove(context.Background(), "networks/"+network)
			}
		}, []string{`router "r": it cannot be deleted, since others use it: network `, "openstack router remove port "}},
		{"a floating IP through a router", service.KindRouter, "r", func(t *testing.T, c *Cloud, made map[key]service.Object) func() error {
			external, err := c.catalog.external(t.Context(), "public")
			must(t, err)
			port := post(t, c, "port", map[string]any{"network_id": made[key{service.KindNetwork, "net0"}].ID})
			id := post(t, c, "floatingip", map[string]any{"floating_network_id": external, "port_id": port})
			return func() error {
				if err := c.session.network.remove(context.Background(), "floatingips/"+id); err != nil {
					return err
				}
				return c.session.network.remove(context.Background(), "ports/"+port)
			}
		}, []string{`router "r"`, "floating IP 203.0.113.", "openstack floating ip unset --port "}},
		{"a port with a security group", service.KindSecurityGroup, "web", func(t *testing.T, c *Cloud, made map[key]service.Object) func() error {
			network := post(t, c, "network", map[string]any{"name": "theirs"})
			id := post(t, c, "port", map[string]any{
				"name": "theirs", "network_id": network, "security_groups": []string{made[key{service.KindSecurityGroup, "web"}].ID},
			})
			return func() error {
				if err := c.session.network.remove(context.Background(), "ports/"+id); err != nil {
					return err
				}
				return c.session.network.remove(context.Background(), "networks/"+network)
			}
		}, []string{`security_group "web"`, `port "theirs" (`, "openstack port unset --security-group "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := edgeCloud(t)
			c := open(t, f, nil)
			must(t, buildEdge(t.Context(), c))
			made := observeEdge(t, c)
			remove := tt.make(t, c, made)
			// In the order in which a service goes.
			for _, kinds := range [][]service.Kind{
				{service.KindServer, service.KindFloatingIP}, {service.KindRouter}, {service.KindPort}, {service.KindNetwork, service.KindSecurityGroup, service.KindKeyPair},
			} {
				for k := range made {
					for _, kind := range kinds {
						if k.kind != kind || k == (key{tt.kind, tt.of}) || tt.kind == service.KindRouter && kind == service.KindNetwork {
							continue
						}
						must(t, c.Delete(t.Context(), owner, k.kind, k.name))
					}
				}
			}
			begun := time.Now()
			says(t, c.Delete(t.Context(), owner, tt.kind, tt.of), tt.want)
			if took := time.Since(begun); took > 3*time.Second {
				t.Errorf("it took %v to say so", took)
			}
			must(t, remove())
			demolishEdge(t, c)
			empty(t, f)
		})
	}
}

// TestForeignGoing: a server of somebody else that is just being deleted is waited for.
func TestForeignGoing(t *testing.T) {
	f := edgeCloud(t)
	c := open(t, f, nil)
	must(t, c.CreateNetwork(t.Context(), owner, site{}.network(0)))
	id := post(t, c, "port", map[string]any{"network_id": observeEdge(t, c)[key{service.KindNetwork, "net0"}].ID})
	time.AfterFunc(700*time.Millisecond, func() {
		_ = c.session.network.remove(context.Background(), "ports/"+id) // what Delete says tells
	})
	must(t, c.Delete(t.Context(), owner, service.KindNetwork, "net0"))
	empty(t, f)
}

// TestLocked: a server that somebody has locked is not waited for.
func TestLocked(t *testing.T) {
	f := fakeCloud(t, fake.Config{})
	c := open(t, f, nil)
	must(t, site{networks: 1, servers: 1}.build(t.Context(), c))
	f.FailWith("DELETE /compute/v2.1/servers/", http.StatusConflict, -1, `{"conflictingRequest": {"code": 409, "message": "Instance 1 is locked"}}`)
	begun := time.Now()
	says(t, c.Delete(t.Context(), owner, service.KindServer, "web-0"), []string{`server "web-0"`, "is locked", "openstack server unlock"})
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("it took %v to say so", took)
	}
	f.Heal()
	demolish(t, c)
	empty(t, f)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// post makes something of Neutron's as somebody else, and returns its id.
func post(t *testing.T, c *Cloud, what string, attributes map[string]any) string {
	t.Helper()
	var answer map[string]struct{ ID string }
	must(t, c.session.network.post(t.Context(), strings.ReplaceAll(what, "_", "-")+"s", body(what, attributes), &answer))
	if answer[what].ID == "" {
		t.Fatal(fmt.Errorf("a %s without an id", what))
	}
	return answer[what].ID
}

func imageID(t *testing.T, c *Cloud) string {
	t.Helper()
	i, err := c.catalog.image(t.Context(), "ubuntu")
	must(t, err)
	return i.ID
}

func flavorID(t *testing.T, c *Cloud) string {
	t.Helper()
	f, err := c.catalog.flavor(t.Context(), "small")
	must(t, err)
	return f.ID
}
