package p4rt

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/status"
)

// Within puts the object's name before an error's message. A gRPC status keeps its
// code, another error is wrapped; nil stays nil.
func Within(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	what := fmt.Sprintf(format, args...)
	var se interface{ GRPCStatus() *status.Status }
	if errors.As(err, &se) {
		s := status.Convert(err)
		return status.Error(s.Code(), what+": "+s.Message())
	}
	return fmt.Errorf("%s: %w", what, err)
}
