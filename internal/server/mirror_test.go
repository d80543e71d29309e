package server

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
	"github.com/catena-nfv/catena/internal/mirror"
	"github.com/catena-nfv/catena/internal/service"
)

// fakeMirror remembers what is pushed.
type fakeMirror struct{ pushed []mirror.Change }

func (f *fakeMirror) Push(_ context.Context, changes []mirror.Change) error {
	f.pushed = append(f.pushed, changes...)
	return nil
}

func (f *fakeMirror) Compare(_ context.Context, _ []byte, refs []mirror.Ref) (bool, []mirror.Ref, error) {
	return false, refs[1:], nil
}

func (f *fakeMirror) Watch(_ context.Context, send func(mirror.Report) error) error {
	return errors.Join(send(mirror.Report{Complete: true, Node: "n", Up: []string{"a"}}), send(mirror.Report{Node: "n", Down: []string{"a"}}))
}

func startMirror(t *testing.T) (*fakeMirror, *Server, catenav1.MirrorClient) {
	t.Helper()
	run, err := os.MkdirTemp("", "ct-mirror-")
	if err != nil {
		t.Fatal(err)
	}
	tokens := filepath.Join(run, "token")
	if err := os.WriteFile(tokens, []byte(adminToken+"\n"+alphaToken+" alpha\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &fakeMirror{}
	never := make(chan struct{}) // what a recovery needs is answered before its end
	s, err := Start(Config{Mirror: f, Ready: never, Socket: filepath.Join(run, "s"), GRPC: "127.0.0.1:0", TokenFile: tokens})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient("unix://"+filepath.Join(run, "s"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		s.Stop(ctx)
		_ = os.RemoveAll(run)
	})
	return f, s, catenav1.NewMirrorClient(conn)
}

func ref(kind catenav1.MirrorKind, id string) *catenav1.MirrorRef {
	return &catenav1.MirrorRef{Kind: kind, Id: id, Revision: 3}
}

func TestMirrorPush(t *testing.T) {
	f, _, client := startMirror(t)
	ctx := context.Background()
	_, err := client.Push(ctx, &catenav1.PushRequest{Changes: []*catenav1.MirrorChange{
		{Ref: ref(catenav1.MirrorKind_MIRROR_KIND_SUBNET, "s"), Object: &catenav1.MirrorChange_Subnet{Subnet: &catenav1.MirroredSubnet{
			NetworkId: "n", Cidr: "10.0.0.0/24", GatewayIp: "10.0.0.1", EnableDhcp: true, DnsNameservers: []string{"9.9.9.9"},
			HostRoutes: []*catenav1.MirroredRoute{{Destination: "10.1.0.0/16", Nexthop: "10.0.0.9"}},
		}}},
		{Ref: ref(catenav1.MirrorKind_MIRROR_KIND_PORT, "p"), Repair: true, Object: &catenav1.MirrorChange_Port{Port: &catenav1.MirroredPort{
			NetworkId: "n", Mac: "fa:16:3e:00:00:01", AdminStateUp: true, Host: "h", FixedIps: []*catenav1.MirroredAddress{{SubnetId: "s", Ip: "10.0.0.5"}},
			AllowedAddressPairs: []*catenav1.MirroredAddressPair{{Ip: "10.0.0.7"}, {Ip: "10.2.0.0/24", Mac: "fa:16:3e:00:00:02"}},
		}}},
		{Ref: ref(catenav1.MirrorKind_MIRROR_KIND_ROUTER, "gone")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []mirror.Change{
		{Ref: mirror.Ref{Kind: mirror.KindSubnet, ID: "s", Revision: 3}, Object: &mirror.Subnet{
			Network: "n", CIDR: netip.MustParsePrefix("10.0.0.0/24"), Gateway: netip.MustParseAddr("10.0.0.1"), DHCP: true, DNS: []netip.Addr{netip.MustParseAddr("9.9.9.9")},
			Routes: []service.HostRoute{{Destination: netip.MustParsePrefix("10.1.0.0/16"), Via: netip.MustParseAddr("10.0.0.9")}},
		}},
		{Ref: mirror.Ref{Kind: mirror.KindPort, ID: "p", Revision: 3}, Repair: true, Object: &mirror.Port{
			Network: "n", MAC: service.MAC{0xfa, 0x16, 0x3e, 0, 0, 1}, AdminUp: true, Host: "h", Addresses: []mirror.Address{{Subnet: "s", IP: netip.MustParseAddr("10.0.0.5")}},
			Pairs: []service.AddressPair{
				{IP: netip.MustParsePrefix("10.0.0.7/32")}, {MAC: service.MAC{0xfa, 0x16, 0x3e, 0, 0, 2}, IP: netip.MustParsePrefix("10.2.0.0/24")},
			},
		}},
		{Ref: mirror.Ref{Kind: mirror.KindRouter, ID: "gone", Revision: 3}},
	}
	if !reflect.DeepEqual(f.pushed, want) {
		t.Errorf("pushed %+v\nwant %+v", f.pushed, want)
	}

	// What does not make sense names the object, so that the sender can leave it out.
	_, err = client.Push(ctx, &catenav1.PushRequest{Changes: []*catenav1.MirrorChange{
		{Ref: ref(catenav1.MirrorKind_MIRROR_KIND_SUBNET, "bad"), Object: &catenav1.MirrorChange_Subnet{Subnet: &catenav1.MirroredSubnet{Cidr: "ten"}}},
	}})
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "subnet bad: cidr") {
		t.Errorf("a subnet without sense: %v", err)
	}
}

func TestMirrorRules(t *testing.T) {
	p := func(s string) netip.Prefix { return netip.MustParsePrefix(s) }
	for _, c := range []struct {
		in   *catenav1.MirroredSecurityRule
		want []service.SecurityRule
	}{
		{&catenav1.MirroredSecurityRule{Direction: "egress", Ethertype: "IPv4"}, []service.SecurityRule{{Direction: service.Egress}}},
		{&catenav1.MirroredSecurityRule{Direction: "egress", Ethertype: "IPv6"}, nil},
		{&catenav1.MirroredSecurityRule{Direction: "ingress", Ethertype: "IPv4", Protocol: "tcp", PortRangeMin: proto.Int32(80), PortRangeMax: proto.Int32(90), RemoteIpPrefixes: []string{"10.0.0.1/8", "2001:db8::/32", "192.0.2.1"}},
			[]service.SecurityRule{
				{Direction: service.Ingress, Protocol: "tcp", Ports: service.PortRange{Lo: 80, Hi: 90}, RemotePrefix: p("10.0.0.0/8")},
				{Direction: service.Ingress, Protocol: "tcp", Ports: service.PortRange{Lo: 80, Hi: 90}, RemotePrefix: p("192.0.2.1/32")},
			}},
		{&catenav1.MirroredSecurityRule{Direction: "ingress", Ethertype: "IPv4", Protocol: "1", PortRangeMin: proto.Int32(8)},
			[]service.SecurityRule{{Direction: service.Ingress, Protocol: "icmp", ICMP: &service.ICMPMatch{Type: 8, Code: -1}}}},
		{&catenav1.MirroredSecurityRule{Direction: "ingress", Ethertype: "IPv4", Protocol: "vrrp", RemoteGroupId: "g"},
			[]service.SecurityRule{{Direction: service.Ingress, Protocol: "112", RemoteGroup: "g"}}},
	} {
		var r mirrorReader
		if got := r.rules(c.in); r.err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %+v %v, want %+v", c.in, got, r.err, c.want)
		}
	}
	var r mirrorReader
	if r.rules(&catenav1.MirroredSecurityRule{Direction: "ingress", Protocol: "token-ring"}); r.err == nil {
		t.Error("an unknown protocol would let everything in")
	}
}

func TestMirrorIsForAdmins(t *testing.T) {
	_, s, client := startMirror(t)
	ctx := context.Background()
	stream, err := client.WatchNodes(ctx, &catenav1.WatchNodesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := stream.Recv()
	if err != nil || !first.GetComplete() || first.GetNodes()[0].GetHost() != "n" || first.GetNodes()[0].GetUp()[0] != "a" {
		t.Errorf("report %v, %v", first, err)
	}
	resp, err := client.Compare(ctx, &catenav1.CompareRequest{Refs: []*catenav1.MirrorRef{ref(1, "a"), ref(4, "b")}})
	if err != nil || len(resp.GetDiffering()) != 1 || resp.GetDiffering()[0].GetId() != "b" {
		t.Errorf("differing %v, %v", resp, err)
	}
	conn, err := grpc.NewClient(s.GRPCAddress(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	tenant := catenav1.NewMirrorClient(conn)
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+alphaToken)
	if _, err := tenant.Push(ctx, &catenav1.PushRequest{}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a tenant may push: %v", err)
	}
	if _, err := tenant.Compare(ctx, &catenav1.CompareRequest{}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a tenant may compare: %v", err)
	}
	watch, err := tenant.WatchNodes(ctx, &catenav1.WatchNodesRequest{})
	if err == nil {
		_, err = watch.Recv()
	}
	if status.Code(err) != codes.PermissionDenied {
		t.Errorf("a tenant may watch: %v", err)
	}
}

func TestOthersWaitForTheRecovery(t *testing.T) {
	ready := make(chan struct{})
	g := &guard{stopping: t.Context(), ready: ready}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := g.await(ctx, "/catena.v1.Orchestrator/Apply"); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("before the recovery: %v", err)
	}
	close(ready)
	if err := g.await(t.Context(), "/catena.v1.Orchestrator/Apply"); err != nil {
		t.Error(err)
	}
}
