package openstack

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	sdk "github.com/gophercloud/gophercloud/v2/openstack"

	"github.com/catena-nfv/catena/internal/cloud/openstack"
	"github.com/catena-nfv/catena/internal/keystone"
	"github.com/catena-nfv/catena/test/openstack/deployment"
)

// real skips the test unless the cloud is the one that deploy/openstack made here.
func real(t *testing.T) *deployment.Deployment {
	t.Helper()
	if os.Getenv("CATENA_TEST_OPENSTACK") == "" {
		t.Skip("CATENA_TEST_OPENSTACK is not set: no cloud to break")
	}
	return deployment.Find(t)
}

const usecase = "../../examples/usecase1.yaml"

// background runs a command; the function that it returns waits for its end.
func (p *platform) background(args ...string) (wait func() (string, error)) {
	type end struct {
		out string
		err error
	}
	done := make(chan end, 1)
	go func() {
		out, err := p.run(args...)
		done <- end{out, err}
	}()
	return func() (string, error) {
		e := <-done
		return e.out, e.err
	}
}

// with gives the platform to a subtest.
func (p *platform) with(t *testing.T) *platform {
	q := *p
	q.t = t
	return &q
}

// same compares the cloud with what it was.
func (p *platform) same(before openstack.Snapshot) {
	p.t.Helper()
	if diff := before.Diff(p.snapshot()); len(diff) > 0 {
		p.t.Errorf("the cloud is not as it was:\n%s", strings.Join(diff, "\n"))
	}
}

// novaStatus is how Nova answers the project's user.
func novaStatus(t *testing.T) int {
	t.Helper()
	cloud, err := keystone.Credentials("")
	if err != nil {
		t.Fatal(err)
	}
	provider, err := cloud.Login(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	compute, err := sdk.NewComputeV2(provider, cloud.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := compute.Request(t.Context(), http.MethodGet, compute.ServiceURL("servers"), &gophercloud.RequestOpts{OkCodes: []int{200, 500}})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// TestKillNeutron kills Neutron's processes while a service is deployed and while it is
// deleted: both are only delayed.
func TestKillNeutron(t *testing.T) {
	d := real(t)
	p := start(t)
	before := p.snapshot()
	for _, service := range []string{"neutron-api", "neutron-rpc", "neutron-catena-sync"} {
		t.Run(service, func(t *testing.T) {
			d, p := d.With(t), p.with(t)
			if !d.Has(service) {
				t.Skipf("the cloud has no service %s", service)
			}
			deployed := p.background("apply", "-f", usecase)
			time.Sleep(1500 * time.Millisecond)
			d.Kill(service)
			if out, err := deployed(); err != nil {
				t.Errorf("killed while it was deployed: %v\n%s", err, out)
			}
			deleted := p.background("delete", "usecase1")
			time.Sleep(time.Second)
			d.Kill(service)
			if out, err := deleted(); err != nil {
				t.Errorf("killed while it was deleted: %v\n%s", err, out)
			}
			p.same(before)
		})
	}
}

// TestNovaFails has Nova answer 500 for a while in the middle of a deployment, by taking a
// table of its database away. What Nova was doing itself may have failed by that; then the
// service is not deployed, and says why. In any case nothing is left.
func TestNovaFails(t *testing.T) {
	d := real(t)
	p := start(t)
	before, allocated := p.snapshot(), orphans(t)
	for _, after := range []time.Duration{time.Second, 4 * time.Second} {
		wait := p.background("apply", "-f", usecase)
		time.Sleep(after)
		d.Broken("nova_api", "build_requests", func() {
			if status := novaStatus(t); status != 500 {
				t.Errorf("Nova answers %d", status)
			}
			time.Sleep(8 * time.Second)
		})
		out, err := wait()
		t.Logf("Nova failed after %s for 8 s: %v", after, err)
		switch {
		case err == nil:
		case strings.Contains(out, `server "`) || strings.Contains(out, `function "`):
			if !strings.Contains(out, "rolled back") {
				t.Errorf("not rolled back:\n%s", out)
			}
			p.same(before)
		default:
			t.Errorf("no word on which server:\n%s", out)
		}
		p.must("apply", "-f", usecase)
		p.must("delete", "usecase1")
		p.same(before)
	}
	noOrphans(t, allocated)
}

// TestQuota lets a service run into the project's quotas, which an administrator has
// lowered: the error names the object, the quota and the way out, and nothing is left.
func TestQuota(t *testing.T) {
	d := real(t)
	p := start(t)
	before := p.snapshot()
	for _, c := range []struct {
		quota string
		limit int
	}{{"instances", 2}, {"ports", 2}, {"networks", 0}} {
		t.Run(c.quota, func(t *testing.T) {
			d, p := d.With(t), p.with(t)
			d.SetQuota(c.quota, c.limit)
			out, err := p.run("apply", "-f", usecase)
			if err == nil {
				t.Fatalf("it was deployed:\n%s", out)
			}
			for _, want := range []string{"uota", "openstack quota set --" + c.quota + " N", "rolled back"} {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
			p.same(before)
		})
	}
}

// TestServerInError asks for servers that no host can hold: Nova accepts them, and puts them into
// ERROR afterwards.
func TestServerInError(t *testing.T) {
	d := real(t)
	p := start(t)
	before, allocated := p.snapshot(), orphans(t)
	flavor := fmt.Sprintf("impossible-%d", os.Getpid())
	d.MustAdmin("flavor", "create", "--ram", "64", "--disk", "1", "--property", "resources:CUSTOM_CATENA_NOWHERE=1", flavor)
	defer func() {
		d.MustAdmin("flavor", "delete", flavor)
		p.same(before)
		noOrphans(t, allocated)
	}()
	file := filepath.Join(t.TempDir(), "nowhere.yaml")
	text := "name: nowhere\nnetworks:\n  - {name: n, subnet: 10.78.0.0/24}\nservers:\n" +
		"  - {name: fits, networks: [n]}\n  - {name: web, flavor: " + flavor + ", networks: [n]}\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := p.run("apply", "-f", file)
	if err == nil {
		t.Fatalf("it was deployed:\n%s", out)
	}
	for _, want := range []string{`server "web"`, "No valid host", "choose a smaller one or add a host", "rolled back"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
