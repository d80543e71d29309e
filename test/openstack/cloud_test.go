package openstack

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"

	"github.com/catena-nfv/catena/internal/keystone"
)

// orphans lists what placement has allocated to servers that do not exist: hosts lose
// room by it, and no project sees why. It needs an administrator (CATENA_TEST_ADMIN).
func orphans(t *testing.T) []string {
	t.Helper()
	cloud, err := keystone.Credentials(cmp.Or(os.Getenv("CATENA_TEST_ADMIN"), "admin"))
	if err != nil {
		t.Logf("placement is not looked at, no administrator: %v", err)
		return nil
	}
	provider, err := cloud.Login(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	compute, err := openstack.NewComputeV2(provider, cloud.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	placement, err := openstack.NewPlacementV1(provider, cloud.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	get := func(c *gophercloud.ServiceClient, path string, out any) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := c.Request(ctx, http.MethodGet, c.Endpoint+path, &gophercloud.RequestOpts{JSONResponse: out, OkCodes: []int{200}}); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	var providers struct {
		All []struct{ UUID, Name string } `json:"resource_providers"`
	}
	get(placement, "resource_providers", &providers)
	found := map[string]string{} // server → host and resources
	for _, p := range providers.All {
		var held struct {
			Allocations map[string]struct{ Resources json.RawMessage }
		}
		get(placement, "resource_providers/"+p.UUID+"/allocations", &held)
		for consumer, a := range held.Allocations {
			found[consumer] = fmt.Sprintf("%s of %s", a.Resources, p.Name)
		}
	}
	// Servers are asked for afterwards: one that is made now is there before its allocation.
	var servers struct{ Servers []struct{ ID string } }
	get(compute, "servers?all_tenants=1", &servers)
	for _, s := range servers.Servers {
		delete(found, s.ID)
	}
	var out []string
	for consumer, what := range found {
		out = append(out, fmt.Sprintf("placement: %s is allocated to %s, which is no server", what, consumer))
	}
	return out
}

// noOrphans waits for the last deletions to be through with placement.
func noOrphans(t *testing.T, before []string) {
	t.Helper()
	known := strings.Join(before, "\n")
	var news []string
	for range 20 {
		news = news[:0]
		for _, o := range orphans(t) {
			if !strings.Contains(known, o) {
				news = append(news, o)
			}
		}
		if len(news) == 0 {
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
	t.Errorf("left behind:\n%s", strings.Join(news, "\n"))
}
