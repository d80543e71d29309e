package server

import (
	"errors"
	"fmt"

	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt"
	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
)

// errorSpace is the vendor's name for its errors (target-arch-vendor).
const errorSpace = "catena-v1model"

// coded gives an error the canonical code that the protocol wants. A nil stays
// nil, a gRPC status stays what it is.
func coded(err error) error {
	if err == nil {
		return nil
	}
	var se interface{ GRPCStatus() *status.Status }
	if errors.As(err, &se) {
		return err
	}
	code := codes.Internal
	switch {
	case errors.Is(err, target.ErrNotFound):
		code = codes.NotFound
	case errors.Is(err, target.ErrExists):
		code = codes.AlreadyExists
	case errors.Is(err, target.ErrFull):
		code = codes.ResourceExhausted
	case errors.Is(err, target.ErrInvalid):
		code = codes.InvalidArgument
	case errors.Is(err, target.ErrUnsupported):
		code = codes.Unimplemented
	}
	return status.Error(code, err.Error())
}

func fail(code codes.Code, format string, args ...any) error {
	return status.Errorf(code, format, args...)
}

func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

// within puts the object's name before an error's message and keeps its code.
func within(err error, format string, args ...any) error {
	return p4rt.Within(coded(err), format, args...)
}

// batchError packs the results of a batch, one p4.v1.Error an update. It is nil
// when all went well.
func batchError(what string, results []error) error {
	failed := 0
	var first error
	for _, err := range results {
		if err != nil {
			if failed == 0 {
				first = err
			}
			failed++
		}
	}
	if failed == 0 {
		return nil
	}
	st := &spb.Status{Code: int32(codes.Unknown)}
	st.Message = status.Convert(coded(first)).Message()
	if len(results) > 1 {
		st.Message = fmt.Sprintf("%d of %d %s failed, the first: %s", failed, len(results), what, st.Message)
	}
	for _, err := range results {
		e := &v1.Error{}
		if err != nil {
			s := status.Convert(coded(err))
			e.CanonicalCode, e.Message, e.Space, e.Code = int32(s.Code()), s.Message(), errorSpace, int32(s.Code())
		}
		any, err := anypb.New(e)
		if err != nil {
			return status.Errorf(codes.Internal, "pack error details: %v", err)
		}
		st.Details = append(st.Details, any)
	}
	return status.ErrorProto(st)
}
