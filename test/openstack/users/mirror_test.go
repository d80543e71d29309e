package users

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
	"github.com/catena-nfv/catena/test/openstack/deployment"
)

// kinds are the collections of Neutron's API that are mirrored.
var kinds = map[string]catenav1.MirrorKind{
	"networks":        catenav1.MirrorKind_MIRROR_KIND_NETWORK,
	"subnets":         catenav1.MirrorKind_MIRROR_KIND_SUBNET,
	"routers":         catenav1.MirrorKind_MIRROR_KIND_ROUTER,
	"ports":           catenav1.MirrorKind_MIRROR_KIND_PORT,
	"security-groups": catenav1.MirrorKind_MIRROR_KIND_SECURITY_GROUP,
}

// differing asks the controller in what it differs from what Neutron's API shows.
func differing(t *testing.T, admin *rig, client catenav1.MirrorClient) (same bool, what string) {
	t.Helper()
	req := &catenav1.CompareRequest{}
	for path, kind := range kinds {
		out, err := admin.call(admin.network, http.MethodGet, path+"?fields=id&fields=revision_number", nil)
		if err != nil {
			return false, err.Error()
		}
		for _, list := range out {
			all, ok := list.([]any)
			if !ok {
				continue
			}
			for _, o := range all {
				fields := o.(object)
				revision, err := fields["revision_number"].(json.Number).Int64()
				if err != nil {
					return false, err.Error()
				}
				req.Refs = append(req.Refs, &catenav1.MirrorRef{Kind: kind, Id: fields["id"].(string), Revision: revision})
			}
		}
	}
	resp, err := client.Compare(t.Context(), req)
	if err != nil {
		return false, err.Error()
	}
	return len(resp.GetDiffering()) == 0, fmt.Sprint(resp.GetDiffering())
}

// TestControllerIsDown kills the controller, has a user make, change and delete things,
// kills Neutron's processes in between, and looks that nobody lost anything.
func TestControllerIsDown(t *testing.T) {
	user, admin := login(t, "", "fake", "guests"), admin(t, "fake", "guests")
	d, client := controller(t), mirrorClient(t)
	same := func() (bool, string) { return differing(t, admin, client) }
	eventually(t, "the mirror before", time.Minute, same)

	t.Run("while it is down", func(t *testing.T) {
		user, d := *user, d.With(t)
		user.t = t
		d.Crash(deployment.Controller)
		defer d.Return(deployment.Controller)
		begun := time.Now()
		net, sub := user.subnet("a", 82)
		_, sub2 := user.subnet("b", 83)
		user.router("r", sub, sub2)
		group := user.group("g", 80)
		user.make("port", object{"name": "p", "network_id": net, "security_groups": []string{group}})
		took := time.Since(begun)
		t.Logf("2 networks, 2 subnets, a router, a group and a port without a controller: %v", took.Round(time.Millisecond))

		d.Kill("neutron-api")
		d.Kill("neutron-catena-sync")
		eventually(t, "Neutron's API after kill -9", time.Minute, func() (bool, string) {
			_, err := user.call(user.network, http.MethodPut, "networks/"+net, object{"network": object{"description": "changed"}})
			return err == nil, fmt.Sprint(err)
		})
		d.Return(deployment.Controller)
		begun = time.Now()
		eventually(t, "the mirror after the controller is back", 90*time.Second, same)
		t.Logf("the mirror was the same %v after the controller was started", time.Since(begun).Round(time.Millisecond))

		// Neutron's server is killed while calls are made: what a call made is mirrored,
		// whatever the caller heard of it.
		for i := range 8 {
			if i == 3 {
				d.Kill("neutron-api")
			}
			out, err := user.call(user.network, http.MethodPost, "networks", object{"network": object{"name": fmt.Sprint(user.name, "-k", i)}})
			if err != nil {
				time.Sleep(time.Second)
				continue
			}
			id := out["network"].(object)["id"].(string)
			t.Cleanup(func() { user.remove(user.network, "networks/"+id) })
		}
		eventually(t, "the mirror after kill -9 of Neutron's server", 90*time.Second, same)
	})
	// All of it is deleted now.
	eventually(t, "the mirror at the end", time.Minute, same)
	leftovers(t, user)
}

// leftovers removes networks that were made though the call failed.
func leftovers(t *testing.T, user *rig) {
	t.Helper()
	for i := range 8 {
		out, err := user.call(user.network, http.MethodGet, fmt.Sprintf("networks?fields=id&name=%s-k%d", user.name, i), nil)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, o := range out["networks"].([]any) {
			user.remove(user.network, "networks/"+o.(object)["id"].(string))
		}
	}
}
