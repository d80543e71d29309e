package server

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/catena-nfv/catena/internal/orch"
	"github.com/catena-nfv/catena/internal/service"
)

// Errors travel in HTTP headers, which have limits.
const (
	maxViolations = 30
	maxMessage    = 8 << 10
)

// domain of the ErrorInfo details.
const domain = "catena"

// toStatus gives an error the gRPC status that fits.
func toStatus(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok { // is one already
		return err
	}
	var invalid *service.Error
	var rolledBack *orch.RolledBackError
	switch {
	case errors.As(err, &invalid):
		return invalidStatus(invalid)
	case errors.As(err, &rolledBack):
		st := status.New(codes.Internal, short(err.Error()))
		if d, e := st.WithDetails(&errdetails.ErrorInfo{Reason: "ROLLED_BACK", Domain: domain}); e == nil {
			st = d
		}
		return st.Err()
	}
	code := codes.Internal
	for _, m := range []struct {
		err  error
		code codes.Code
	}{
		{orch.ErrNotFound, codes.NotFound},
		{orch.ErrExists, codes.AlreadyExists},
		{orch.ErrBusy, codes.Aborted},
		{orch.ErrAmbiguous, codes.InvalidArgument},
		{orch.ErrInvalid, codes.FailedPrecondition},
		{orch.ErrClosed, codes.Unavailable},
		{orch.ErrBehind, codes.DataLoss},
		{context.Canceled, codes.Canceled},
		{context.DeadlineExceeded, codes.DeadlineExceeded},
	} {
		if errors.Is(err, m.err) {
			code = m.code
			break
		}
	}
	if code == codes.Unavailable {
		return unavailable("%v", err)
	}
	return status.Error(code, short(err.Error()))
}

// unavailable is what the controller itself says when it cannot answer now. The detail tells
// it from what a client's connection says.
func unavailable(format string, args ...any) error {
	st := status.New(codes.Unavailable, short(fmt.Sprintf(format, args...)))
	if d, err := st.WithDetails(&errdetails.ErrorInfo{Reason: "UNAVAILABLE", Domain: domain}); err == nil {
		st = d
	}
	return st.Err()
}

// invalidStatus lists the problems as field violations. Reason is the problem's
// code, Field its path; with a source, the description begins with the position.
func invalidStatus(e *service.Error) error {
	bad := &errdetails.BadRequest{}
	for i, p := range e.Problems {
		if i == maxViolations {
			break
		}
		v := &errdetails.BadRequest_FieldViolation{Field: p.Path, Description: p.Message, Reason: string(p.Code)}
		if e.Source != nil {
			v.Description = fmt.Sprintf("%s:%d:%d: %s", e.Source.Name(), p.Line, p.Column, p.Message)
		}
		bad.FieldViolations = append(bad.FieldViolations, v)
	}
	st := status.New(codes.InvalidArgument, short(e.Error()))
	if d, err := st.WithDetails(bad); err == nil {
		st = d
	}
	return st.Err()
}

func short(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	return s[:maxMessage] + " …"
}
