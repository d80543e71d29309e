package server

import (
	"fmt"
	"strconv"
	"sync"

	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// arbiter elects a primary client for each role (section "Client Arbitration and
// Controller Replication"). A role exists from the first client that names it.
type arbiter struct {
	device   uint64
	maxPeers int // streams a role

	mu    sync.Mutex
	roles map[string]*role
}

type role struct {
	name    string
	highest *v1.Uint128 // ever seen of a primary; nil: there was no primary
	primary *session
	live    []*session // in the order of arrival
}

// session is a client's stream.
type session struct {
	out      *outbox
	role     *role       // nil before the first arbitration
	election *v1.Uint128 // nil: never primary
}

func newArbiter(device uint64) *arbiter {
	return &arbiter{device: device, maxPeers: 64, roles: map[string]*role{"": {}}}
}

// update handles a MasterArbitrationUpdate. An error ends the stream. drain waits
// until the writes that have begun are done; it is called without the lock.
func (a *arbiter) update(s *session, m *v1.MasterArbitrationUpdate, drain func()) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.admit(s, m); err != nil {
		return err
	}
	r := s.role
	wasPrimary := r.primary == s
	s.election = m.GetElectionId()

	if s.election == nil || less128(s.election, r.highest) {
		if wasPrimary {
			r.primary = nil
			a.announce(r)
			return nil
		}
		s.out.push(a.advice(r, s), false)
		return nil
	}
	// The client becomes or stays primary. Nobody may write until the writes
	// that have begun are done.
	r.highest = s.election
	if !wasPrimary {
		previous := r.primary
		if previous != nil {
			r.primary = nil
			a.announceBackups(r, s)
		}
		mine := s.election
		a.mu.Unlock()
		drain()
		a.mu.Lock()
		// Another one may have come in between with a higher number.
		if !proto.Equal(r.highest, mine) {
			s.out.push(a.advice(r, s), false)
			return nil
		}
		r.primary = s
		if previous != nil {
			s.out.push(a.advice(r, s), false)
			return nil
		}
	}
	a.announce(r)
	return nil
}

// admit checks an update and enters the session with its role.
func (a *arbiter) admit(s *session, m *v1.MasterArbitrationUpdate) error {
	name := m.GetRole().GetName()
	if s.role != nil {
		if m.GetDeviceId() != a.device {
			return fail(codes.FailedPrecondition, "the stream belongs to device %d, not %d", a.device, m.GetDeviceId())
		}
		if name != s.role.name {
			return fail(codes.FailedPrecondition, "the stream has role %q; open another one for role %q", s.role.name, name)
		}
	} else if m.GetDeviceId() != a.device {
		return fail(codes.NotFound, "no device %d here, only %d", m.GetDeviceId(), a.device)
	}
	if m.GetRole().GetConfig() != nil {
		return invalid("role %q: no role configurations have been agreed upon; leave role.config unset", name)
	}
	r := a.roles[name]
	if r == nil {
		r = &role{name: name}
	}
	if e := m.GetElectionId(); e != nil {
		for _, other := range r.live {
			if other != s && other.election != nil && proto.Equal(other.election, e) {
				return invalid("election id %s is used by another client of role %q", show128(e), name)
			}
		}
	}
	if s.role == nil {
		if len(r.live) >= a.maxPeers {
			return fail(codes.ResourceExhausted, "role %q has %d streams already", name, len(r.live))
		}
		a.roles[name] = r
		s.role = r
		r.live = append(r.live, s)
	}
	return nil
}

// leave removes a session whose stream has ended.
func (a *arbiter) leave(s *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := s.role
	if r == nil {
		return
	}
	for i, other := range r.live {
		if other == s {
			r.live = append(r.live[:i:i], r.live[i+1:]...)
			break
		}
	}
	if r.primary == s {
		r.primary = nil
		a.announce(r)
	}
}

// announce tells all clients of a role who is primary.
func (a *arbiter) announce(r *role) {
	for _, s := range r.live {
		s.out.push(a.advice(r, s), false)
	}
}

// announceBackups tells all but the coming primary that they are backups now.
func (a *arbiter) announceBackups(r *role, coming *session) {
	for _, s := range r.live {
		if s != coming {
			m := a.advice(r, s)
			m.GetArbitration().Status = &spb.Status{Code: int32(codes.AlreadyExists), Message: "another client is the primary"}
			s.out.push(m, false)
		}
	}
}

// advice is the arbitration message for one client.
func (a *arbiter) advice(r *role, s *session) *v1.StreamMessageResponse {
	m := &v1.MasterArbitrationUpdate{DeviceId: a.device, ElectionId: r.highest, Status: &spb.Status{}}
	if r.name != "" {
		m.Role = &v1.Role{Name: r.name}
	}
	switch {
	case r.primary == s:
		m.Status.Message = "you are the primary"
	case r.primary != nil:
		m.Status.Code, m.Status.Message = int32(codes.AlreadyExists), "another client is the primary"
	default:
		m.Status.Code, m.Status.Message = int32(codes.NotFound), "there is no primary"
	}
	return &v1.StreamMessageResponse{Update: &v1.StreamMessageResponse_Arbitration{Arbitration: m}}
}

// check reports whether a request with that role and election id comes from the
// role's primary.
func (a *arbiter) check(name string, election *v1.Uint128) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.roles[name]
	if r == nil {
		return fail(codes.NotFound, "no client has role %q", name)
	}
	if r.primary == nil || election == nil || !proto.Equal(election, r.primary.election) {
		return fail(codes.PermissionDenied, "election id %s is not the primary's of role %q", show128(election), name)
	}
	return nil
}

// isPrimary reports whether the session is its role's primary.
func (a *arbiter) isPrimary(s *session) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return s.role != nil && s.role.primary == s
}

// toPrimaries sends a notification to the primary of every role: without role
// configurations each of them has full access.
func (a *arbiter) toPrimaries(m *v1.StreamMessageResponse) (sent int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.roles {
		if r.primary != nil && r.primary.out.push(m, true) {
			sent++
		}
	}
	return sent
}

func less128(a, b *v1.Uint128) bool {
	if b == nil {
		return false
	}
	if a.GetHigh() != b.GetHigh() {
		return a.GetHigh() < b.GetHigh()
	}
	return a.GetLow() < b.GetLow()
}

// show128 prints an election id.
func show128(e *v1.Uint128) string {
	switch {
	case e == nil:
		return "(unset)"
	case e.GetHigh() == 0:
		return strconv.FormatUint(e.GetLow(), 10)
	}
	return fmt.Sprintf("0x%x%016x", e.GetHigh(), e.GetLow())
}

// outbox is what waits to be sent to a client. Packets and digests are dropped
// when the client does not keep up, arbitration messages never.
type outbox struct {
	mu      sync.Mutex
	queue   []*v1.StreamMessageResponse
	dropped uint64
	wake    chan struct{} // capacity 1
}

const outboxLimit = 4096

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

// push reports whether the message was taken.
func (o *outbox) push(m *v1.StreamMessageResponse, mayDrop bool) bool {
	o.mu.Lock()
	if mayDrop && len(o.queue) >= outboxLimit {
		o.dropped++
		o.mu.Unlock()
		return false
	}
	o.queue = append(o.queue, m)
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return true
}

// take empties the queue.
func (o *outbox) take() []*v1.StreamMessageResponse {
	o.mu.Lock()
	defer o.mu.Unlock()
	q := o.queue
	o.queue = nil
	return q
}
