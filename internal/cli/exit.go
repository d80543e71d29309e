package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Exit codes of the command.
const (
	ExitFailed      = 1
	ExitRefused     = 2
	ExitUnreachable = 3
	ExitInterrupted = 130 // by SIGINT, as shells have it
)

// ExitError ends the command with a code. A nil Err means that everything was
// said already.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// refuse is an error of what was asked.
func refuse(format string, args ...any) error {
	return &ExitError{Code: ExitRefused, Err: fmt.Errorf(format, args...)}
}

// CodeOf returns the exit code for an error, 0 for nil.
func CodeOf(err error) int {
	var e *ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.Code
	}
	switch status.Code(err) {
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.FailedPrecondition,
		codes.OutOfRange, codes.Unimplemented, codes.Unauthenticated, codes.PermissionDenied:
		return ExitRefused
	case codes.Unavailable:
		return ExitUnreachable
	}
	return ExitFailed
}

// Message returns an error's text as people should read it: without the framing
// of gRPC.
func Message(err error) string {
	var e *ExitError
	if errors.As(err, &e) && e.Err == nil {
		return "" // said already
	}
	if s, ok := status.FromError(err); ok && s.Code() != codes.OK {
		if s.Code() == codes.Unavailable && strings.Contains(s.Message(), "permission denied") {
			return "the controller's socket is its owner's (" + s.Message() + "); run it with sudo, or give --address HOST:PORT and --token-file FILE"
		}
		if s.Code() == codes.Unavailable {
			return "the controller cannot be reached (" + s.Message() + "); is it running? `catena up` starts one, `make openstack` one with an OpenStack"
		}
		if s.Code() == codes.Canceled {
			return "interrupted; what the controller has begun goes on (`catena watch` shows it)"
		}
		return s.Message()
	}
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	return err.Error()
}
