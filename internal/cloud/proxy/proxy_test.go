package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	cloudv1 "github.com/catena-nfv/catena/api/catena/cloud/v1"
	"github.com/catena-nfv/catena/internal/cloud/openstack/fake"
	"github.com/catena-nfv/catena/internal/keystone"
)

// rig is the services on a fake cloud, behind what the server's guard does: it checks
// the token of each call.
type rig struct {
	t     *testing.T
	cloud *fake.Cloud
	conn  *grpc.ClientConn
}

func start(t *testing.T, cfg fake.Config) *rig {
	t.Helper()
	cloud := fake.New(cfg)
	t.Cleanup(cloud.Close)
	v, err := keystone.NewVerifier(keystone.Config{URL: cloud.URL + "/identity"})
	if err != nil {
		t.Fatal(err)
	}
	with := func(ctx context.Context) context.Context {
		md, _ := metadata.FromIncomingContext(ctx)
		if tokens := md.Get("x-auth-token"); len(tokens) > 0 {
			if tok, err := v.Verify(ctx, tokens[0]); err == nil {
				return keystone.NewContext(ctx, tok)
			}
		}
		return ctx
	}
	server := grpc.NewServer(
		grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
			return h(with(ctx), req)
		}),
		grpc.StreamInterceptor(func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) error {
			return h(srv, &stream{ss, with(ss.Context())})
		}))
	New(Config{Keystone: v, Interval: 50 * time.Millisecond}).Register(server)
	l := bufconn.Listen(1 << 16)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient("passthrough:///cloud", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &rig{t, cloud, conn}
}

type stream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *stream) Context() context.Context { return s.ctx }

// as authenticates and returns a context with the token.
func (r *rig) as(user, project string) context.Context {
	r.t.Helper()
	t, err := cloudv1.NewIdentityClient(r.conn).Authenticate(r.t.Context(), &cloudv1.AuthenticateRequest{
		Credentials: &cloudv1.AuthenticateRequest_Password{Password: &cloudv1.Password{User: user, Password: "secret", Project: project}},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return metadata.AppendToOutgoingContext(r.t.Context(), "x-auth-token", t.GetId())
}

// must ends the test on an error.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// want checks the code of an error and that its text has each part.
func want(t *testing.T, err error, code codes.Code, parts ...string) {
	t.Helper()
	text := ""
	if err != nil {
		text = err.Error()
	}
	if status.Code(err) != code {
		t.Errorf("%v, want %v", err, code)
	}
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q does not say %q", text, p)
		}
	}
}

// follow reads a stream of statuses to its end.
func follow(s grpc.ServerStreamingClient[cloudv1.ServerStatus], err error) ([]*cloudv1.ServerStatus, error) {
	if err != nil {
		return nil, err
	}
	var all []*cloudv1.ServerStatus
	for {
		m, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, m)
	}
}

// TestStepByStep goes the way of paper 001, section 4.1.
func TestStepByStep(t *testing.T) {
	r := start(t, fake.Config{BuildTime: 200 * time.Millisecond, DeleteTime: 100 * time.Millisecond, Images: []string{"ubuntu"}})
	ctx := r.as("alice", "demo")
	ic, nc, cc, pc := cloudv1.NewIdentityClient(r.conn), cloudv1.NewNetworkClient(r.conn), cloudv1.NewComputeClient(r.conn), cloudv1.NewPlacementClient(r.conn)

	me := must(ic.GetToken(ctx, &cloudv1.GetTokenRequest{}))(t)
	if me.GetId() != "" || me.GetUser() != "alice" || me.GetProject() != "demo" || fmt.Sprint(me.GetRoles()) != "[member]" || me.GetExpires() == nil {
		t.Errorf("token: %v", me)
	}
	images := must(cloudv1.NewImageClient(r.conn).ListImages(ctx, &cloudv1.ListImagesRequest{Name: "ubuntu"}))(t)
	if len(images.GetImages()) != 1 || images.GetImages()[0].GetStatus() != "active" {
		t.Errorf("images: %v", images)
	}
	if i := must(cloudv1.NewImageClient(r.conn).GetImage(ctx, &cloudv1.GetImageRequest{Image: "ubuntu"}))(t); i.GetId() != images.GetImages()[0].GetId() {
		t.Errorf("image: %v", i)
	}
	if f := must(cc.ListFlavors(ctx, &cloudv1.ListFlavorsRequest{}))(t); len(f.GetFlavors()) != 1 || f.GetFlavors()[0].GetName() != "small" || f.GetFlavors()[0].GetRamMb() != 256 {
		t.Errorf("flavors: %v", f)
	}

	front := must(nc.CreateNetwork(ctx, &cloudv1.CreateNetworkRequest{Name: "front", Mtu: 1400}))(t)
	if front.GetId() == "" || front.GetMtu() != 1400 || !front.GetAdminStateUp() {
		t.Errorf("network: %v", front)
	}
	must(nc.CreateNetwork(ctx, &cloudv1.CreateNetworkRequest{Name: "back"}))(t)
	dhcp := false
	sub := must(nc.CreateSubnet(ctx, &cloudv1.CreateSubnetRequest{Name: "front-sub", Network: "front", Cidr: "10.0.1.0/24", Dhcp: &dhcp, Dns: []string{"10.0.1.2"}}))(t)
	if sub.GetNetworkId() != front.GetId() || sub.GetGateway() != "10.0.1.1" || sub.GetDhcp() || sub.GetDns()[0] != "10.0.1.2" {
		t.Errorf("subnet: %v", sub)
	}
	must(nc.CreateSubnet(ctx, &cloudv1.CreateSubnetRequest{Name: "back-sub", Network: "back", Cidr: "10.0.2.0/24"}))(t)
	router := must(nc.CreateRouter(ctx, &cloudv1.CreateRouterRequest{Name: "r1", Subnets: []string{"front-sub"}}))(t)
	link := must(nc.AddRouterInterface(ctx, &cloudv1.AddRouterInterfaceRequest{Router: "r1", Subnet: "back-sub"}))(t)
	if link.GetRouterId() != router.GetId() || link.GetPortId() == "" {
		t.Errorf("interface: %v", link)
	}
	ports := must(nc.CreatePorts(ctx, &cloudv1.CreatePortsRequest{Ports: []*cloudv1.NewPort{
		{Name: "p1", Network: "front", FixedIps: []*cloudv1.FixedIP{{Subnet: "front-sub", Ip: "10.0.1.11"}}},
		{Name: "p2", Network: "front", FixedIps: []*cloudv1.FixedIP{{Ip: "10.0.1.12"}}, NoPortSecurity: true},
	}}))(t)
	if len(ports.GetPorts()) != 2 || ports.GetPorts()[1].GetName() != "p2" || ports.GetPorts()[0].GetFixedIps()[0].GetIp() != "10.0.1.11" || ports.GetPorts()[0].GetMac() == "" {
		t.Errorf("ports: %v", ports)
	}
	if n := r.cloud.Calls("POST /network/v2.0/ports"); n != 1 {
		t.Errorf("two ports took %d calls", n)
	}

	// Two servers with ports of their own, and three equal ones by one call of the cloud.
	seen := must(follow(cc.LaunchServers(ctx, &cloudv1.CreateServersRequest{
		Name: "web", Image: "ubuntu", Flavor: "small", Count: 2, UserData: []byte("#!/bin/sh\n"), Ports: []*cloudv1.ServerPorts{{Ports: []string{"p1"}}, {Ports: []string{"p2"}}},
	})))(t)
	var way []string
	for _, s := range seen {
		if s.GetName() == "web-1" {
			way = append(way, s.GetStatus())
		}
		if s.GetElapsed().AsDuration() <= 0 || s.GetId() == "" {
			t.Errorf("status: %v", s)
		}
	}
	if fmt.Sprint(way) != "[BUILD BUILD ACTIVE]" {
		t.Errorf("web-1 went %v", way)
	}
	before := r.cloud.Calls("POST /compute/v2.1/servers")
	made := must(cc.CreateServers(ctx, &cloudv1.CreateServersRequest{Name: "app", Image: "ubuntu", Flavor: "small", Count: 3, Networks: []string{"back"}}))(t)
	var names []string
	for _, s := range made.GetServers() {
		names = append(names, s.GetName())
	}
	if fmt.Sprint(names) != "[app-1 app-2 app-3]" || r.cloud.Calls("POST /compute/v2.1/servers")-before != 1 {
		t.Errorf("made %v by %d calls", names, r.cloud.Calls("POST /compute/v2.1/servers")-before)
	}
	must(follow(cc.WatchServers(ctx, &cloudv1.WatchServersRequest{Servers: names})))(t)
	web := must(cc.GetServer(ctx, &cloudv1.GetServerRequest{Server: "web-1"}))(t)
	if web.GetStatus() != "ACTIVE" || web.GetFlavor() != "small" || len(web.GetAddresses()) != 1 || web.GetAddresses()[0].GetIp() != "10.0.1.11" || web.GetAddresses()[0].GetNetwork() != "front" {
		t.Errorf("server: %v", web)
	}
	if u := must(pc.GetUsages(ctx, &cloudv1.GetUsagesRequest{}))(t); u.GetUsed()["VCPU"] != 5 || u.GetUsed()["MEMORY_MB"] != 5*256 {
		t.Errorf("usages: %v", u)
	}

	// And back.
	_, err := nc.DeleteNetwork(ctx, &cloudv1.DeleteNetworkRequest{Network: "front"})
	want(t, err, codes.FailedPrecondition, `network "front"`, "still in use")
	must(cc.DeleteServers(ctx, &cloudv1.DeleteServersRequest{Servers: append(names, "web-1", "web-2")}))(t)
	for _, p := range []string{"p1", "p2"} {
		must(nc.DeletePort(ctx, &cloudv1.DeletePortRequest{Port: p}))(t)
	}
	must(nc.RemoveRouterInterface(ctx, &cloudv1.RemoveRouterInterfaceRequest{Router: "r1", Subnet: "back-sub"}))(t)
	must(nc.DeleteRouter(ctx, &cloudv1.DeleteRouterRequest{Router: "r1"}))(t)
	must(nc.DeleteSubnet(ctx, &cloudv1.DeleteSubnetRequest{Subnet: "front-sub"}))(t)
	for _, n := range []string{"front", "back"} {
		must(nc.DeleteNetwork(ctx, &cloudv1.DeleteNetworkRequest{Network: n}))(t)
	}
	if left := r.cloud.Resources(); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Lists are sorted, and show the token's project only, also to an administrator.
func TestListsAreOfTheProject(t *testing.T) {
	r := start(t, fake.Config{Images: []string{"ubuntu", "catena"}})
	nc, cc := cloudv1.NewNetworkClient(r.conn), cloudv1.NewComputeClient(r.conn)
	alice, bob, admin := r.as("alice", "demo"), r.as("bob", "other"), r.as("admin", "demo")
	for _, ctx := range []context.Context{alice, bob} {
		for _, n := range []string{"b", "a"} {
			must(nc.CreateNetwork(ctx, &cloudv1.CreateNetworkRequest{Name: n}))(t)
			must(nc.CreateSubnet(ctx, &cloudv1.CreateSubnetRequest{Name: n + "-sub", Network: n, Cidr: "10.0.1.0/24"}))(t)
			must(nc.CreatePorts(ctx, &cloudv1.CreatePortsRequest{Ports: []*cloudv1.NewPort{{Name: n + "-port", Network: n}}}))(t)
			must(nc.CreateRouter(ctx, &cloudv1.CreateRouterRequest{Name: n + "-router"}))(t)
			must(cc.CreateServers(ctx, &cloudv1.CreateServersRequest{Name: n + "-server", Image: "ubuntu", Flavor: "small"}))(t)
		}
	}
	for who, ctx := range map[string]context.Context{"alice": alice, "bob": bob, "admin": admin} {
		var got []string
		for _, n := range must(nc.ListNetworks(ctx, &cloudv1.ListNetworksRequest{}))(t).GetNetworks() {
			got = append(got, n.GetName())
		}
		for _, n := range must(nc.ListSubnets(ctx, &cloudv1.ListSubnetsRequest{}))(t).GetSubnets() {
			got = append(got, n.GetName())
		}
		for _, n := range must(nc.ListSubnets(ctx, &cloudv1.ListSubnetsRequest{Network: "a"}))(t).GetSubnets() {
			got = append(got, n.GetName())
		}
		for _, n := range must(nc.ListPorts(ctx, &cloudv1.ListPortsRequest{}))(t).GetPorts() {
			got = append(got, n.GetName())
		}
		for _, n := range must(nc.ListRouters(ctx, &cloudv1.ListRoutersRequest{}))(t).GetRouters() {
			got = append(got, n.GetName())
		}
		for _, n := range must(cc.ListServers(ctx, &cloudv1.ListServersRequest{}))(t).GetServers() {
			got = append(got, n.GetName())
		}
		for _, n := range must(cc.ListServers(ctx, &cloudv1.ListServersRequest{Name: "a.server"}))(t).GetServers() {
			got = append(got, n.GetName()) // a name is no expression
		}
		if want := "[a b a-sub b-sub a-sub a-port b-port a-router b-router a-server b-server]"; fmt.Sprint(got) != want {
			t.Errorf("%s sees %v, want %s", who, got, want)
		}
	}
	// References stand for objects of the project; ids of others' are not found.
	theirs := must(nc.GetNetwork(bob, &cloudv1.GetNetworkRequest{Network: "a"}))(t)
	mine := must(nc.GetNetwork(admin, &cloudv1.GetNetworkRequest{Network: "a"}))(t)
	if mine.GetProjectId() != "demo" || theirs.GetProjectId() != "other" {
		t.Errorf("networks of %s and %s", mine.GetProjectId(), theirs.GetProjectId())
	}
	_, err := nc.GetNetwork(alice, &cloudv1.GetNetworkRequest{Network: theirs.GetId()})
	want(t, err, codes.NotFound, theirs.GetId())
	_, err = cloudv1.NewPlacementClient(r.conn).GetUsages(alice, &cloudv1.GetUsagesRequest{ProjectId: "other"})
	want(t, err, codes.PermissionDenied, `"other"`)
	if u := must(cloudv1.NewPlacementClient(r.conn).GetUsages(admin, &cloudv1.GetUsagesRequest{ProjectId: "other"}))(t); u.GetUsed()["VCPU"] != 2 {
		t.Errorf("usages: %v", u)
	}
}

func TestPlacementForAdmins(t *testing.T) {
	r := start(t, fake.Config{Hosts: []string{"host2", "host1"}})
	cc, pc := cloudv1.NewComputeClient(r.conn), cloudv1.NewPlacementClient(r.conn)
	alice, admin := r.as("alice", "demo"), r.as("admin", "demo")
	must(follow(cc.LaunchServers(alice, &cloudv1.CreateServersRequest{Name: "web", Image: "ubuntu", Flavor: "small"})))(t)
	_, err := pc.ListProviders(alice, &cloudv1.ListProvidersRequest{})
	want(t, err, codes.PermissionDenied, "resource providers", "Access was denied")
	list := must(pc.ListProviders(admin, &cloudv1.ListProvidersRequest{}))(t).GetProviders()
	if len(list) != 2 || list[0].GetName() != "host1" || list[1].GetInventories()["VCPU"].GetUsed() != 1 || list[1].GetInventories()["VCPU"].GetTotal() != 4 {
		t.Errorf("providers: %v", list)
	}
	a := must(pc.GetAllocations(admin, &cloudv1.GetAllocationsRequest{Server: "web"}))(t).GetAllocations()
	if len(a) != 1 || a[0].GetProviderId() != "host2" || a[0].GetResources()["MEMORY_MB"] != 256 {
		t.Errorf("allocations: %v", a)
	}
}

func TestErrors(t *testing.T) {
	r := start(t, fake.Config{Quota: map[string]int{"network": 2, "instances": 3}, BuildTime: 100 * time.Millisecond})
	ctx := r.as("alice", "demo")
	nc, cc := cloudv1.NewNetworkClient(r.conn), cloudv1.NewComputeClient(r.conn)
	web := &cloudv1.CreateServersRequest{Name: "web", Image: "ubuntu", Flavor: "small"}

	_, err := nc.ListNetworks(t.Context(), &cloudv1.ListNetworksRequest{})
	want(t, err, codes.Unauthenticated, "x-auth-token")
	_, err = cloudv1.NewIdentityClient(r.conn).Authenticate(t.Context(), &cloudv1.AuthenticateRequest{})
	want(t, err, codes.InvalidArgument, "password", "application_credential")
	_, err = cloudv1.NewIdentityClient(r.conn).Authenticate(t.Context(), &cloudv1.AuthenticateRequest{
		Credentials: &cloudv1.AuthenticateRequest_Password{Password: &cloudv1.Password{User: "alice"}}})
	want(t, err, codes.InvalidArgument, `"password"`)
	_, err = nc.CreateNetwork(ctx, &cloudv1.CreateNetworkRequest{})
	want(t, err, codes.InvalidArgument, "name")
	_, err = nc.CreateSubnet(ctx, &cloudv1.CreateSubnetRequest{Name: "s", Network: "nowhere", Cidr: "10.0.0.0/24"})
	want(t, err, codes.NotFound, `network "nowhere"`, "project demo")

	must(nc.CreateNetwork(ctx, &cloudv1.CreateNetworkRequest{Name: "twin"}))(t)
	must(nc.CreateNetwork(ctx, &cloudv1.CreateNetworkRequest{Name: "twin"}))(t)
	_, err = nc.CreateNetwork(ctx, &cloudv1.CreateNetworkRequest{Name: "third"})
	want(t, err, codes.ResourceExhausted, `network "third"`, "Quota exceeded", "larger quota")
	_, err = nc.GetNetwork(ctx, &cloudv1.GetNetworkRequest{Network: "twin"})
	want(t, err, codes.FailedPrecondition, `network "twin"`, "2 of that name", "use an id")
	_, err = nc.CreatePorts(ctx, &cloudv1.CreatePortsRequest{Ports: []*cloudv1.NewPort{{Name: "p", Network: "nowhere", SecurityGroups: []string{"default"}}}})
	want(t, err, codes.NotFound, `network "nowhere"`)
	list := must(nc.ListNetworks(ctx, &cloudv1.ListNetworksRequest{}))(t).GetNetworks()
	_, err = nc.CreateSubnet(ctx, &cloudv1.CreateSubnetRequest{Name: "s", Network: list[0].GetId(), Cidr: "10.0.0.0/99"})
	want(t, err, codes.InvalidArgument, `subnet "s"`, "not a valid IP subnet")

	_, err = cc.CreateServers(ctx, &cloudv1.CreateServersRequest{Name: "web", Image: "windows", Flavor: "small"})
	want(t, err, codes.NotFound, `image "windows"`)
	_, err = cc.CreateServers(ctx, &cloudv1.CreateServersRequest{Name: "web", Image: "ubuntu", Flavor: "huge"})
	want(t, err, codes.NotFound, `flavor "huge"`)
	_, err = cc.CreateServers(ctx, &cloudv1.CreateServersRequest{Name: "web", Image: "ubuntu", Flavor: "small", Count: 2, Ports: []*cloudv1.ServerPorts{{}}})
	want(t, err, codes.InvalidArgument, `server "web"`, "1 servers of 2")
	_, err = cc.CreateServers(ctx, &cloudv1.CreateServersRequest{Name: "web", Image: "ubuntu", Flavor: "small", Count: 4})
	want(t, err, codes.ResourceExhausted, `server "web"`, "Requested 4")

	// One port is taken already: of this call's servers none is left.
	must(nc.CreateSubnet(ctx, &cloudv1.CreateSubnetRequest{Network: list[0].GetId(), Cidr: "10.0.0.0/24"}))(t)
	_, err = nc.CreatePorts(ctx, &cloudv1.CreatePortsRequest{Ports: []*cloudv1.NewPort{{Name: "p", Network: list[0].GetId(), SecurityGroups: []string{"nosuch"}}}})
	want(t, err, codes.NotFound, `security group "nosuch"`, "project demo")
	secured := must(nc.CreatePorts(ctx, &cloudv1.CreatePortsRequest{Ports: []*cloudv1.NewPort{{Name: "p", Network: list[0].GetId(), SecurityGroups: []string{"default"}}}}))(t)
	must(nc.DeletePort(ctx, &cloudv1.DeletePortRequest{Port: secured.GetPorts()[0].GetId()}))(t)
	r.cloud.FailWith("POST /compute/v2.1/servers", 403, 1, `{"forbidden": {"code": 403, "message": "Policy doesn't allow os_compute_api:servers:create to be performed."}}`)
	_, err = cc.CreateServers(ctx, web)
	want(t, err, codes.PermissionDenied, `server "web"`, "Policy doesn't allow", "the token's roles")
	r.cloud.FailWith("POST /compute/v2.1/servers", 400, 1, `{"badRequest": {"code": 400, "message": "The requested availability zone is not available"}}`)
	_, err = cc.CreateServers(ctx, web)
	want(t, err, codes.InvalidArgument, `server "web"`, "openstack availability zone list")
	for _, name := range []string{"p1", "p2"} {
		must(nc.CreatePorts(ctx, &cloudv1.CreatePortsRequest{Ports: []*cloudv1.NewPort{{Name: name, Network: list[0].GetId()}}}))(t)
	}
	must(follow(cc.LaunchServers(ctx, &cloudv1.CreateServersRequest{Name: "first", Image: "ubuntu", Flavor: "small", Ports: []*cloudv1.ServerPorts{{Ports: []string{"p1"}}}})))(t)
	_, err = cc.CreateServers(ctx, &cloudv1.CreateServersRequest{Name: "pair", Image: "ubuntu", Flavor: "small", Count: 2, Ports: []*cloudv1.ServerPorts{{Ports: []string{"p2"}}, {Ports: []string{"p1"}}}})
	want(t, err, codes.InvalidArgument, `server "pair-2"`, "still in use")
	if servers := must(cc.ListServers(ctx, &cloudv1.ListServersRequest{}))(t).GetServers(); len(servers) != 1 || servers[0].GetName() != "first" {
		t.Errorf("servers: %v", servers)
	}
	must(cc.DeleteServers(ctx, &cloudv1.DeleteServersRequest{Servers: []string{"first"}}))(t)
	_, err = cc.DeleteServers(ctx, &cloudv1.DeleteServersRequest{Servers: []string{"first"}})
	want(t, err, codes.NotFound, `server "first"`)

	r.cloud.Break("web", "No valid host was found.")
	seen, err := follow(cc.LaunchServers(ctx, web))
	want(t, err, codes.Aborted, `server "web"`, "No valid host was found")
	if last := seen[len(seen)-1]; last.GetStatus() != "ERROR" {
		t.Errorf("last status: %v", last)
	}
	r.cloud.Heal()
	r.cloud.Fail("POST /network", 503, 1)
	_, err = nc.CreateRouter(ctx, &cloudv1.CreateRouterRequest{Name: "r"})
	want(t, err, codes.Unavailable, `router "r"`)

	// A router that cannot have all its interfaces is not left behind.
	r.cloud.Fail("PUT /network/v2.0/routers", 409, 1)
	sub := must(nc.ListSubnets(ctx, &cloudv1.ListSubnetsRequest{}))(t).GetSubnets()[0].GetId()
	_, err = nc.CreateRouter(ctx, &cloudv1.CreateRouterRequest{Name: "r", Subnets: []string{sub}})
	want(t, err, codes.FailedPrecondition, `router "r/`)
	if routers := must(nc.ListRouters(ctx, &cloudv1.ListRoutersRequest{}))(t).GetRouters(); len(routers) != 0 {
		t.Errorf("routers: %v", routers)
	}
}

// N clients of one project wait for M servers each, with one list at a time.
func TestManyClients(t *testing.T) {
	r := start(t, fake.Config{BuildTime: time.Second})
	var all sync.WaitGroup
	for i := range 8 {
		ctx := r.as(fmt.Sprintf("user%d", i), "demo")
		all.Go(func() {
			cc := cloudv1.NewComputeClient(r.conn)
			seen, err := follow(cc.LaunchServers(ctx, &cloudv1.CreateServersRequest{Name: fmt.Sprintf("c%d", i), Image: "ubuntu", Flavor: "small", Count: 3}))
			if err != nil {
				t.Error(err)
				return
			}
			active := slices.DeleteFunc(seen, func(s *cloudv1.ServerStatus) bool { return s.GetStatus() != "ACTIVE" })
			if len(active) != 3 {
				t.Errorf("client %d saw %d servers ACTIVE", i, len(active))
			}
		})
	}
	all.Wait()
	if n := r.cloud.Calls("GET /compute/v2.1/servers/detail"); n > 60 {
		t.Errorf("%d lists for 24 servers of 8 clients in a second, at 50 ms", n)
	}
}

// The list goes on with another caller's token when one has ended.
func TestTokensTakeOver(t *testing.T) {
	s := &shared{}
	now := time.Now()
	asked := []string{}
	add := func(name string, expires time.Duration, err error) {
		s.add(&user{func(context.Context, time.Time) ([]servers.Server, error) {
			asked = append(asked, name)
			return []servers.Server{{ID: name}}, err
		}, now.Add(expires)})
	}
	revoked := gophercloud.ErrUnexpectedResponseCode{Actual: 401}
	add("short", time.Minute, nil)
	add("revoked", 3*time.Hour, revoked)
	add("long", time.Hour, nil)
	for range 2 {
		list, err := s.list(t.Context(), time.Time{})
		if err != nil || len(list) != 1 || list[0].ID != "long" {
			t.Errorf("%v, %v", list, err)
		}
	}
	if want := "[revoked long long]"; fmt.Sprint(asked) != want {
		t.Errorf("asked %v, want %s", asked, want)
	}
	s = &shared{}
	add("revoked", time.Hour, revoked)
	_, err := s.list(t.Context(), time.Time{})
	want(t, err, codes.Unauthenticated, "get a new one")
}
