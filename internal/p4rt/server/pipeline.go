package server

import (
	"context"
	"errors"

	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt"
	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// SetForwardingPipelineConfig verifies, saves or runs a program.
func (s *Server) SetForwardingPipelineConfig(ctx context.Context, req *v1.SetForwardingPipelineConfigRequest) (*v1.SetForwardingPipelineConfigResponse, error) {
	if err := s.checkDevice(req.GetDeviceId()); err != nil {
		return nil, err
	}
	if err := s.arb.check(req.GetRole(), req.GetElectionId()); err != nil {
		return nil, err
	}
	s.config.Lock()
	defer s.config.Unlock()
	var err error
	switch req.GetAction() {
	case v1.SetForwardingPipelineConfigRequest_VERIFY:
		err = s.stage(ctx, req, false, func(e *entities) error { return e.pipeline.Close() })
	case v1.SetForwardingPipelineConfigRequest_VERIFY_AND_SAVE:
		err = s.stage(ctx, req, false, func(e *entities) error { return s.replaceSaved(e) })
	case v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT:
		err = s.stage(ctx, req, false, func(e *entities) error { return s.run(ctx, e, false) })
	case v1.SetForwardingPipelineConfigRequest_RECONCILE_AND_COMMIT:
		err = s.stage(ctx, req, true, func(e *entities) error { return s.run(ctx, e, true) })
	case v1.SetForwardingPipelineConfigRequest_COMMIT:
		err = s.commitSaved(ctx, req)
	default:
		err = invalid("action %s", req.GetAction())
	}
	if err != nil {
		return nil, coded(err)
	}
	return &v1.SetForwardingPipelineConfigResponse{}, nil
}

// stage compiles and loads a configuration and hands it to then, which owns it.
// The device is locked from the loading on.
func (s *Server) stage(ctx context.Context, req *v1.SetForwardingPipelineConfigRequest, keep bool, then func(*entities) error) error {
	fpc := req.GetConfig()
	if len(fpc.GetP4DeviceConfig()) == 0 {
		return invalid("the config is missing: %s needs p4_device_config", req.GetAction())
	}
	prog, err := s.cfg.Device.Compile(ctx, fpc.GetP4DeviceConfig())
	if err != nil {
		return asInvalid("p4_device_config", err)
	}
	fpc, err = settle(fpc, prog.P4Info())
	if err != nil {
		return err
	}
	schema, err := p4rt.NewSchema(fpc.GetP4Info())
	if err != nil {
		return err
	}
	s.state.Lock()
	defer s.state.Unlock()
	// Compiling takes time; the client may no longer be the primary.
	if err := s.arb.check(req.GetRole(), req.GetElectionId()); err != nil {
		return err
	}
	pl, err := prog.Load(ctx, keep && s.running != nil)
	if err != nil {
		return asInvalid("load", err)
	}
	return then(newEntities(schema, pl, fpc))
}

// settle fills in the compiler's P4Info where the client gave none, and else
// checks that it describes the program.
func settle(fpc *v1.ForwardingPipelineConfig, compiled *P4Info) (*v1.ForwardingPipelineConfig, error) {
	if empty(fpc.GetP4Info()) {
		return &v1.ForwardingPipelineConfig{P4Info: compiled, P4DeviceConfig: fpc.GetP4DeviceConfig(), Cookie: fpc.GetCookie()}, nil
	}
	if err := sameInterface(fpc.GetP4Info(), compiled); err != nil {
		return nil, err
	}
	return fpc, nil
}

// asInvalid reports a failure of the given program as the protocol wants it.
func asInvalid(what string, err error) error {
	var se interface{ GRPCStatus() *status.Status }
	switch {
	case errors.As(err, &se), errors.Is(err, target.ErrUnsupported), errors.Is(err, target.ErrFull):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return status.FromContextError(err).Err()
	}
	return invalid("%s: %v", what, err)
}

// replaceSaved keeps a program beside the running one. The caller holds s.state.
func (s *Server) replaceSaved(e *entities) error {
	if s.saved != nil {
		if err := s.saved.pipeline.Close(); err != nil {
			s.cfg.Log.Warn("free the program saved before", "error", err)
		}
	}
	s.saved = e
	return nil
}

// run commits a loaded program. The caller holds s.state.
func (s *Server) run(ctx context.Context, e *entities, keep bool) error {
	if err := e.pipeline.Commit(ctx); err != nil {
		return errors.Join(err, e.pipeline.Close())
	}
	if s.saved != nil && s.saved != e {
		if err := s.saved.pipeline.Close(); err != nil {
			s.cfg.Log.Warn("free the program saved before", "error", err)
		}
	}
	if keep && s.running != nil {
		e.keepShadows(s.running)
	}
	s.running, s.saved = e, nil
	s.schema.set(e.schema)
	s.digests.setSchema(e.schema, keep)
	s.keep()
	return nil
}

func (s *Server) commitSaved(ctx context.Context, req *v1.SetForwardingPipelineConfigRequest) error {
	if req.GetConfig() != nil {
		return invalid("COMMIT runs what VERIFY_AND_SAVE saved; it takes no config")
	}
	s.state.Lock()
	defer s.state.Unlock()
	if err := s.arb.check(req.GetRole(), req.GetElectionId()); err != nil {
		return err
	}
	if s.saved == nil {
		return fail(codes.NotFound, "no config has been saved; use VERIFY_AND_SAVE before")
	}
	e := s.saved
	s.saved = nil
	return s.run(ctx, e, false)
}

// GetForwardingPipelineConfig returns the configuration that was set last.
func (s *Server) GetForwardingPipelineConfig(_ context.Context, req *v1.GetForwardingPipelineConfigRequest) (*v1.GetForwardingPipelineConfigResponse, error) {
	if err := s.checkDevice(req.GetDeviceId()); err != nil {
		return nil, err
	}
	s.state.RLock()
	defer s.state.RUnlock()
	e, err := s.current()
	if err != nil {
		return &v1.GetForwardingPipelineConfigResponse{}, nil
	}
	out := &v1.ForwardingPipelineConfig{Cookie: e.config.GetCookie()}
	switch req.GetResponseType() {
	case v1.GetForwardingPipelineConfigRequest_ALL:
		out.P4Info, out.P4DeviceConfig = e.config.GetP4Info(), e.config.GetP4DeviceConfig()
	case v1.GetForwardingPipelineConfigRequest_COOKIE_ONLY:
	case v1.GetForwardingPipelineConfigRequest_P4INFO_AND_COOKIE:
		out.P4Info = e.config.GetP4Info()
	case v1.GetForwardingPipelineConfigRequest_DEVICE_CONFIG_AND_COOKIE:
		out.P4DeviceConfig = e.config.GetP4DeviceConfig()
	default:
		return nil, invalid("response type %s", req.GetResponseType())
	}
	return &v1.GetForwardingPipelineConfigResponse{Config: out}, nil
}
