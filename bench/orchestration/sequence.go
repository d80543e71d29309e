package orchestration

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
	"github.com/catena-nfv/catena/internal/service"
)

// sequence is the papers' orchestrator: for each request it authenticates, makes
// OpenStack's REST calls one after another, and asks for the status of a server again and
// again until it is ACTIVE (paper 001, sections 4.1 and 4.2). Each of its choices is
// explained in the package's comment.
type sequence struct {
	catenav1.UnimplementedOrchestratorServer
	access Access
	poll   time.Duration // between two questions for the status
	// overlap: all servers are asked for before the first is waited for.
	overlap bool

	mu   sync.Mutex
	made map[string]*made
}

func (s *sequence) Apply(m *catenav1.ApplyRequest, stream grpc.ServerStreamingServer[catenav1.Event]) error {
	svc, _, err := service.Parse(m.GetManifest().GetFilename(), []byte(m.GetManifest().GetYaml()))
	if err != nil {
		return err
	}
	record := &made{}
	s.mu.Lock()
	if s.made == nil {
		s.made = map[string]*made{}
	}
	s.made[svc.Name] = record
	s.mu.Unlock()
	if err := s.deploy(stream.Context(), svc, record); err != nil {
		return status.Errorf(codes.Internal, "service %q: %v", svc.Name, err)
	}
	return stream.Send(&catenav1.Event{Service: svc.Name, Kind: "service", Name: svc.Name, Status: catenav1.Object_ACTIVE})
}

func (s *sequence) DeleteService(m *catenav1.DeleteServiceRequest, stream grpc.ServerStreamingServer[catenav1.Event]) error {
	s.mu.Lock()
	record := s.made[m.GetName()]
	delete(s.made, m.GetName())
	s.mu.Unlock()
	if record == nil {
		return status.Errorf(codes.NotFound, "service %q", m.GetName())
	}
	c, err := login(stream.Context(), s.access)
	if err == nil {
		err = c.remove(stream.Context(), record)
	}
	return err
}

func (s *sequence) deploy(ctx context.Context, svc *service.Service, record *made) error {
	c, err := login(ctx, s.access)
	if err != nil {
		return err
	}
	nets, subs := map[string]string{}, map[string]string{}
	for _, n := range svc.Networks {
		id, err := c.createNetwork(ctx, record, n.Name)
		if err != nil {
			return err
		}
		if subs[n.Name], err = c.createSubnet(ctx, id, n); err != nil {
			return err
		}
		nets[n.Name] = id
	}
	for _, r := range svc.Routers {
		id, err := c.createRouter(ctx, record, r.Name)
		if err != nil {
			return err
		}
		for _, n := range r.Networks {
			if err := c.plug(ctx, record, id, subs[n]); err != nil {
				return err
			}
		}
	}
	return s.launch(ctx, c, svc, record, nets)
}

// active asks for a server's status until it is ACTIVE.
func (s *sequence) active(ctx context.Context, c *calls, id string) error {
	for {
		v, err := servers.Get(ctx, c.compute, id).Extract()
		if err == nil {
			err = c.failed(ctx, v)
		}
		if err != nil || v.Status == "ACTIVE" {
			return err
		}
		if err := sleep(ctx, s.poll); err != nil {
			return fmt.Errorf("server %q is %s: %w", v.Name, v.Status, err)
		}
	}
}

// launch makes the servers, each when the one before it is ACTIVE, or all at once. Nova
// makes their ports.
func (s *sequence) launch(ctx context.Context, c *calls, svc *service.Service, record *made, nets map[string]string) error {
	images, flavors := map[string]string{}, map[string]string{}
	var later []string
	for _, in := range s.access.instances(svc) {
		var err error
		if images[in.image] == "" {
			images[in.image], err = c.imageID(ctx, in.image)
		}
		if err == nil && flavors[in.flavor] == "" {
			flavors[in.flavor], err = c.flavorID(ctx, in.flavor)
		}
		var at []servers.Network
		for _, n := range in.networks {
			at = append(at, servers.Network{UUID: nets[n]})
		}
		var id string
		if err == nil {
			id, err = c.createServer(ctx, record, in.name, images[in.image], flavors[in.flavor], at)
		}
		if err == nil && !s.overlap {
			err = s.active(ctx, c, id)
		}
		if err != nil {
			return err
		}
		later = append(later, id)
	}
	if len(later) == 0 {
		return errors.New("the service has no servers")
	}
	if s.overlap {
		for _, id := range later {
			if err := s.active(ctx, c, id); err != nil {
				return err
			}
		}
	}
	return nil
}
