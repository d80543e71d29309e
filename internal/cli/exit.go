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
		if s.Code() == codes.Unavailable && len(s.Details()) > 0 {
			return s.Message() // of the controller itself: what it needs was not reached
		}
		if s.Code() == codes.Unavailable {
			if what := encryption(s.Message()); what != "" {
				return what + " (" + s.Message() + ")"
			}
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

// encryption is what the two sides do not agree on about TLS, "" if that is not it.
func encryption(message string) string {
	switch {
	case strings.Contains(message, "x509:"):
		return "the controller's certificate is not taken; name the authority that signed it with --tls-ca FILE (CATENA_TLS_CA), and the controller by a name that is in it"
	case strings.Contains(message, "does not look like a TLS handshake"):
		return "this address of the controller is not encrypted; leave --tls-ca, --tls-cert and --tls-key (CATENA_TLS_…) out, or start it with --tls-cert and --tls-key"
	case strings.Contains(message, "tls: certificate required"), strings.Contains(message, "tls: bad certificate"), strings.Contains(message, "tls: unknown certificate"):
		return "the controller wants a certificate that it knows; give one with --tls-cert and --tls-key"
	case strings.Contains(message, "error reading server preface"):
		return "the address speaks no gRPC in the clear; if the controller has a certificate (--tls-cert), give --tls-ca FILE (CATENA_TLS_CA)"
	}
	return ""
}
