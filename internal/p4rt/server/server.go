package server

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/catena-nfv/catena/internal/p4rt"
	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
)

// APIVersion is the version of P4Runtime that is implemented.
const APIVersion = "1.5.0"

// MaxMessage is the size in bytes up to which requests are taken, for
// grpc.MaxRecvMsgSize: programs and big batches exceed gRPC's 4 MiB.
const MaxMessage = 64 << 20

// Config is what a server needs.
type Config struct {
	DeviceID uint64 // > 0
	Device   Device
	// Journal is the file that keeps the configuration and all that is written;
	// "": none, a server that starts again is empty.
	Journal string
	Log     *slog.Logger
}

// Server implements p4.v1.P4Runtime for one device.
type Server struct {
	v1.UnimplementedP4RuntimeServer
	cfg     Config
	arb     *arbiter
	digests *digestBook

	config sync.Mutex // serialises SetForwardingPipelineConfig
	// state is held for writing by everything that changes the device.
	state   sync.RWMutex
	running *entities // nil: no program
	saved   *entities // VERIFY_AND_SAVE without COMMIT; nil: none
	journal journal
	live    int // entities when the journal was last restarted
	schema  *schemaCell
}

// schemaCell hands the running schema to packet-in, which must not wait for
// writers.
type schemaCell struct {
	mu sync.Mutex
	s  *p4rt.Schema
}

func (c *schemaCell) set(s *p4rt.Schema) {
	c.mu.Lock()
	c.s = s
	c.mu.Unlock()
}

func (c *schemaCell) get() *p4rt.Schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.s
}

// New makes a server and restores what the journal of an earlier one tells of. What
// cannot be restored is logged; the server then starts without a program. Close stops
// what it started.
func New(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.DeviceID == 0 {
		return nil, errors.New("p4runtime server: device id 0")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{cfg: cfg, arb: newArbiter(cfg.DeviceID), schema: &schemaCell{}, journal: journal{path: cfg.Journal}}
	s.digests = newDigestBook(s.sendDigests)
	cfg.Device.Listen(s.packetIn, s.digests.add)
	if err := s.restore(ctx); err != nil {
		cfg.Log.Warn("starting without a program", "reason", err)
	}
	return s, nil
}

// Close ends the server's goroutines and brings the journal up to date. The program
// goes on.
func (s *Server) Close() {
	s.state.Lock()
	defer s.state.Unlock()
	s.keep()
	s.journal.close()
	s.digests.close()
}

// restore makes the program run again that the journal tells of. Until it does,
// what an earlier process left running goes on.
func (s *Server) restore(ctx context.Context) error {
	fpc, updates, err := s.journal.load()
	if err != nil || fpc == nil {
		return err
	}
	schema, err := p4rt.NewSchema(fpc.GetP4Info())
	if err != nil {
		return err
	}
	prog, err := s.cfg.Device.Compile(ctx, fpc.GetP4DeviceConfig())
	if err != nil {
		return err
	}
	pl, err := prog.Load(ctx, true)
	if err != nil {
		return err
	}
	e := newEntities(schema, pl, fpc)
	s.digests.setSchema(schema, false)
	failed := s.replay(e, updates)
	if err := pl.Commit(ctx); err != nil {
		return errors.Join(err, pl.Close())
	}
	s.running = e
	s.schema.set(schema)
	s.keep()
	s.cfg.Log.Info("the program runs again", "cookie", fpc.GetCookie().GetCookie(), "updates", len(updates), "failed", failed)
	return nil
}

// Capabilities tells the version.
func (s *Server) Capabilities(context.Context, *v1.CapabilitiesRequest) (*v1.CapabilitiesResponse, error) {
	return &v1.CapabilitiesResponse{P4RuntimeApiVersion: APIVersion}, nil
}

func (s *Server) checkDevice(id uint64) error {
	if id != s.cfg.DeviceID {
		return fail(codes.NotFound, "no device %d here, only %d", id, s.cfg.DeviceID)
	}
	return nil
}

// current returns what reads and writes refer to: the saved program if there is
// one, else the running one. The caller holds s.state.
func (s *Server) current() (*entities, error) {
	if s.saved != nil {
		return s.saved, nil
	}
	if s.running == nil {
		return nil, fail(codes.FailedPrecondition, "no forwarding pipeline config has been set")
	}
	return s.running, nil
}

// Write applies a batch of updates.
func (s *Server) Write(ctx context.Context, req *v1.WriteRequest) (*v1.WriteResponse, error) {
	if err := s.checkDevice(req.GetDeviceId()); err != nil {
		return nil, err
	}
	s.state.Lock()
	defer s.state.Unlock()
	if err := s.arb.check(req.GetRole(), req.GetElectionId()); err != nil {
		return nil, err
	}
	e, err := s.current()
	if err != nil {
		return nil, err
	}
	switch req.GetAtomicity() {
	case v1.WriteRequest_CONTINUE_ON_ERROR:
	case v1.WriteRequest_ROLLBACK_ON_ERROR:
		return s.writeOrRollBack(e, req.GetUpdates())
	default:
		// A single update is atomic anyway.
		if len(req.GetUpdates()) > 1 {
			return nil, fail(codes.Unimplemented, "atomicity %s is not supported for more than one update", req.GetAtomicity())
		}
	}
	results := make([]error, len(req.GetUpdates()))
	done := make([]*v1.Update, 0, len(req.GetUpdates()))
	for i, u := range req.GetUpdates() {
		if results[i] = s.apply(e, u); results[i] == nil {
			done = append(done, u)
		}
	}
	s.note(done)
	if err := batchError("updates", results); err != nil {
		return nil, err
	}
	return &v1.WriteResponse{}, nil
}

// apply does one update.
func (s *Server) apply(e *entities, u *v1.Update) error {
	if d := u.GetEntity().GetDigestEntry(); d != nil {
		return coded(s.digests.configure(e.schema, u.GetType(), d))
	}
	return coded(e.write(u))
}

// Read returns the entities that match the request.
func (s *Server) Read(req *v1.ReadRequest, stream v1.P4Runtime_ReadServer) error {
	if err := s.checkDevice(req.GetDeviceId()); err != nil {
		return err
	}
	found, results, err := s.read(req)
	if err != nil {
		return err
	}
	// Answers are cut so that each stays well below gRPC's 4 MiB. The device
	// is not locked while a slow client takes them.
	const chunk = 2000
	for len(found) > 0 {
		n := min(chunk, len(found))
		if err := stream.Send(&v1.ReadResponse{Entities: found[:n]}); err != nil {
			return err
		}
		found = found[n:]
	}
	return batchError("requests", results)
}

func (s *Server) read(req *v1.ReadRequest) (found []*v1.Entity, results []error, err error) {
	s.state.RLock()
	defer s.state.RUnlock()
	e, err := s.current()
	if err != nil {
		return nil, nil, err
	}
	results = make([]error, len(req.GetEntities()))
	for i, q := range req.GetEntities() {
		var part []*v1.Entity
		if d := q.GetDigestEntry(); d != nil {
			part, err = s.digests.read(e.schema, d)
		} else {
			part, err = e.read(q)
		}
		if err != nil {
			results[i] = coded(err)
			continue
		}
		found = append(found, part...)
	}
	return found, results, nil
}
