package users

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
	"github.com/catena-nfv/catena/internal/keystone"
	"github.com/catena-nfv/catena/test/openstack/deployment"
)

// rig is one user of the cloud.
type rig struct {
	t       *testing.T
	name    string // begins the names of all that the test makes
	network *gophercloud.ServiceClient
	compute *gophercloud.ServiceClient
}

// login becomes a user; the test is skipped unless CATENA_TEST_OPENSTACK is one of modes.
func login(t *testing.T, cloud string, modes ...string) *rig {
	t.Helper()
	mode := os.Getenv("CATENA_TEST_OPENSTACK")
	wanted := false
	for _, m := range modes {
		wanted = wanted || m == mode
	}
	if !wanted {
		t.Skipf("CATENA_TEST_OPENSTACK=%q, and this test needs one of %q", mode, modes)
	}
	c, err := keystone.Credentials(cloud)
	if err != nil {
		t.Fatal(err)
	}
	provider, err := c.Login(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, name: fmt.Sprintf("users-%d", os.Getpid())}
	if r.network, err = openstack.NewNetworkV2(provider, c.Endpoint); err != nil {
		t.Fatal(err)
	}
	if r.compute, err = openstack.NewComputeV2(provider, c.Endpoint); err != nil {
		t.Fatal(err)
	}
	r.compute.Microversion = "2.90"
	return r
}

func admin(t *testing.T, modes ...string) *rig {
	t.Helper()
	return login(t, cmp.Or(os.Getenv("CATENA_TEST_ADMIN"), "admin"), modes...)
}

type object = map[string]any

// call makes one request and returns the body of the answer.
func (r *rig) call(c *gophercloud.ServiceClient, method, path string, body any) (object, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // also when the test ends
	defer cancel()
	out := object{}
	opts := &gophercloud.RequestOpts{OkCodes: []int{200, 201, 202, 204}}
	if body != nil {
		opts.JSONBody = body
	}
	if method != http.MethodDelete {
		opts.JSONResponse = &out
	}
	resp, err := c.Request(ctx, method, c.ServiceURL(strings.Split(path, "/")...), opts)
	if resp != nil && method == http.MethodDelete {
		resp.Body.Close()
	}
	return out, err
}

// make creates an object (kind is "network", plural "networks") and deletes it at the end.
func (r *rig) make(kind string, fields object) object {
	r.t.Helper()
	fields["name"] = r.name + "-" + fmt.Sprint(fields["name"])
	out, err := r.call(r.network, http.MethodPost, kind+"s", object{strings.ReplaceAll(kind, "-", "_"): fields})
	if err != nil {
		r.t.Fatalf("create %s: %v", kind, err)
	}
	made := out[strings.ReplaceAll(kind, "-", "_")].(object)
	r.t.Cleanup(func() { r.remove(r.network, kind+"s/"+made["id"].(string)) })
	return made
}

// remove deletes, also what is in use for a moment still.
func (r *rig) remove(c *gophercloud.ServiceClient, path string) {
	r.t.Helper()
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Second) {
		_, err = r.call(c, http.MethodDelete, path, nil)
		if err == nil || gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			return
		}
	}
	r.t.Errorf("delete %s: %v", path, err)
}

// subnet makes a network with a subnet, 10.N.0.0/24.
func (r *rig) subnet(name string, n int) (network, subnet string) {
	r.t.Helper()
	net := r.make("network", object{"name": name})["id"].(string)
	sub := r.make("subnet", object{"name": name, "network_id": net, "ip_version": 4, "cidr": fmt.Sprintf("10.%d.0.0/24", n)})
	return net, sub["id"].(string)
}

// router makes a router on subnets.
func (r *rig) router(name string, subnets ...string) {
	r.t.Helper()
	id := r.make("router", object{"name": name})["id"].(string)
	for _, s := range subnets {
		if _, err := r.call(r.network, http.MethodPut, "routers/"+id+"/add_router_interface", object{"subnet_id": s}); err != nil {
			r.t.Fatalf("router: %v", err)
		}
		r.t.Cleanup(func() {
			if _, err := r.call(r.network, http.MethodPut, "routers/"+id+"/remove_router_interface", object{"subnet_id": s}); err != nil {
				r.t.Errorf("router: %v", err)
			}
		})
	}
}

// group makes a security group that lets ping and these TCP ports in.
func (r *rig) group(name string, ports ...int) string {
	r.t.Helper()
	id := r.make("security-group", object{"name": name})["id"].(string)
	rules := []object{{"security_group_id": id, "direction": "ingress", "ethertype": "IPv4", "protocol": "icmp"}}
	for _, p := range ports {
		rules = append(rules, object{"security_group_id": id, "direction": "ingress", "ethertype": "IPv4", "protocol": "tcp", "port_range_min": p, "port_range_max": p})
	}
	if _, err := r.call(r.network, http.MethodPost, "security-group-rules", object{"security_group_rules": rules}); err != nil {
		r.t.Fatalf("security group: %v", err)
	}
	return id
}

// eventually waits for a condition, which tells what it has seen last.
func eventually(t *testing.T, what string, within time.Duration, ok func() (bool, string)) {
	t.Helper()
	var last string
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		var done bool
		if done, last = ok(); done {
			return
		}
	}
	t.Fatalf("%s: not within %s; last seen:\n%s", what, within, last)
}

func directory(variable, otherwise string) string { return cmp.Or(os.Getenv(variable), otherwise) }

// controller finds the cloud of this machine, with the controller that its Neutron talks to.
func controller(t *testing.T) *deployment.Deployment {
	t.Helper()
	d := deployment.Find(t)
	if !d.Has(deployment.Controller) {
		t.Skip("the cloud has no controller of ours: it was made with another backend, or with CATENA_CONTROLLER")
	}
	return d
}

// mirrorClient is the controller's API for Neutron.
func mirrorClient(t *testing.T) catenav1.MirrorClient {
	t.Helper()
	socket := filepath.Join(directory("CATENA_RUN", "/run/catena"), "catena.sock")
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return catenav1.NewMirrorClient(conn)
}
