package proxy

import (
	"context"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	cloudv1 "github.com/catena-nfv/catena/api/catena/cloud/v1"
	"github.com/catena-nfv/catena/internal/cloud/openstack/apierror"
	"github.com/catena-nfv/catena/internal/cloud/openstack/watch"
	"github.com/catena-nfv/catena/internal/keystone"
)

// watchers has a watch for each project in which somebody waits: all of a project's
// callers share its list calls.
type watchers struct {
	interval  time.Duration
	mu        sync.Mutex
	byProject map[string]*shared
}

// shared is a watch with those who can make its calls.
type shared struct {
	watch *watch.Watch
	mu    sync.Mutex
	users []*user
}

type user struct {
	list    watch.List
	expires time.Time
}

// of returns the watch of the caller's project. Until release is called it may list
// with the caller's token.
func (ws *watchers) of(t *keystone.Token, compute *gophercloud.ServiceClient) (w *watch.Watch, release func()) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.byProject == nil {
		ws.byProject = map[string]*shared{}
	}
	s := ws.byProject[t.Project.ID]
	if s == nil {
		s = &shared{}
		s.watch = watch.New(watch.Config{List: s.list, Max: ws.interval})
		ws.byProject[t.Project.ID] = s
	}
	u := &user{watch.Servers(compute), t.Expires}
	s.add(u)
	return s.watch, func() {
		ws.mu.Lock()
		defer ws.mu.Unlock()
		if s.remove(u) == 0 && ws.byProject[t.Project.ID] == s {
			delete(ws.byProject, t.Project.ID)
		}
	}
}

func (s *shared) add(u *user) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users = append(s.users, u)
}

// remove takes a user away and tells how many are left.
func (s *shared) remove(u *user) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, v := range s.users {
		if v == u {
			s.users = append(s.users[:i], s.users[i+1:]...)
			break
		}
	}
	return len(s.users)
}

// list lists with the token that lasts longest, and with another one when the cloud
// does not take that any more.
func (s *shared) list(ctx context.Context, since time.Time) ([]servers.Server, error) {
	for {
		s.mu.Lock()
		var best *user
		for _, u := range s.users {
			if best == nil || u.expires.After(best.expires) {
				best = u
			}
		}
		s.mu.Unlock()
		if best == nil {
			return nil, status.Error(codes.Unauthenticated, "the tokens of all who wait have ended; get a new one and watch again")
		}
		list, err := best.list(ctx, since)
		if apierror.Code(err) != 401 {
			return list, err
		}
		s.remove(best)
	}
}

// follow sends the status of servers and every change of it until all are ACTIVE.
func (s *compute) follow(ctx context.Context, names map[string]string, ids []string, started time.Time, send func(*cloudv1.ServerStatus) error) error {
	c, t, err := s.all.compute(ctx)
	if err != nil {
		return err
	}
	w, release := s.all.watchers.of(t, c)
	defer release()
	left := map[string]bool{}
	for _, id := range ids {
		left[id] = true
	}
	err = w.Follow(ctx, ids, func(v watch.Server) (bool, error) {
		if v.Name == "" {
			v.Name = names[v.ID]
		}
		now := time.Now()
		if err := send(&cloudv1.ServerStatus{
			Time: stamp(now), Id: v.ID, Name: v.Name, Status: v.Status, Task: v.TaskState, Elapsed: durationpb.New(now.Sub(started)),
		}); err != nil {
			return false, err
		}
		if v.Status == "ERROR" && v.Fault.Message == "" {
			v.Fault.Message = watch.Fault(ctx, func(ctx context.Context) (string, error) {
				now, err := servers.Get(ctx, c, v.ID).Extract()
				if err != nil {
					return "", err
				}
				return now.Fault.Message, nil
			})
		}
		if err := watch.Failed(v); err != nil {
			code := codes.Aborted
			if v.Gone {
				code = codes.NotFound
			}
			return false, status.Error(code, err.Error())
		}
		if v.Status == "ACTIVE" {
			delete(left, v.ID)
		}
		return len(left) > 0, nil
	})
	return refused("servers", "", err)
}

func (s *compute) WatchServers(m *cloudv1.WatchServersRequest, stream grpc.ServerStreamingServer[cloudv1.ServerStatus]) error {
	started, ctx := time.Now(), stream.Context()
	c, t, err := s.all.compute(ctx)
	if err != nil {
		return err
	}
	ids, err := serverIDs(ctx, c, t, m.GetServers())
	if err != nil {
		return err
	}
	names := map[string]string{}
	for i, id := range ids {
		names[id] = m.GetServers()[i]
	}
	return s.follow(ctx, names, ids, started, stream.Send)
}

func (s *compute) LaunchServers(m *cloudv1.CreateServersRequest, stream grpc.ServerStreamingServer[cloudv1.ServerStatus]) error {
	started := time.Now()
	made, err := s.create(stream.Context(), m)
	if err != nil {
		return err
	}
	names, ids := map[string]string{}, make([]string, len(made))
	for i, v := range made {
		ids[i], names[v.GetId()] = v.GetId(), v.GetName()
		// The ids are known from here on, also if the stream is cut.
		if err := stream.Send(&cloudv1.ServerStatus{
			Time: stamp(time.Now()), Id: v.GetId(), Name: v.GetName(), Status: "BUILD", Task: "requested", Elapsed: durationpb.New(time.Since(started)),
		}); err != nil {
			return err
		}
	}
	return s.follow(stream.Context(), names, ids, started, stream.Send)
}
