package client

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// remote is an error that the switch reported.
type remote struct {
	what string
	st   *status.Status
}

// plain turns a gRPC error into one that reads well and wraps what its code means.
// Another error is wrapped.
func plain(what string, err error) error {
	var se interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &se) {
		return fmt.Errorf("%s: %w", what, err)
	}
	return &remote{what, status.Convert(err)}
}

func (e *remote) Error() string {
	msg := e.st.Message()
	switch e.st.Code() {
	case codes.Unavailable:
		msg = "cannot reach the switch: " + msg
	case codes.PermissionDenied:
		msg = "not permitted: " + msg
	}
	return e.what + ": " + msg
}

func (e *remote) Unwrap() error { return sentinel(e.st.Code()) }

// GRPCStatus lets callers get at the code.
func (e *remote) GRPCStatus() *status.Status { return e.st }

// WriteError says which updates of a batch failed.
type WriteError struct {
	Failed []UpdateError // in the order of the batch
	Total  int           // updates in the batch
}

// UpdateError is the failure of one update.
type UpdateError struct {
	Index  int // in the batch
	Entity string
	Code   codes.Code
	Reason string
}

func (e UpdateError) Error() string { return e.Entity + ": " + e.Reason }

// Unwrap returns the target error that the code stands for.
func (e UpdateError) Unwrap() error { return sentinel(e.Code) }

func (e *WriteError) Error() string {
	if e.Total == 1 {
		return e.Failed[0].Error()
	}
	// Of a batch that was rolled back, most are only not done because of others.
	cause, failed := e.Failed[0], 0
	for _, f := range e.Failed {
		if f.Code == codes.Aborted {
			continue
		}
		if failed++; failed == 1 {
			cause = f
		}
	}
	switch {
	case failed == 0:
		return fmt.Sprintf("none of %d updates was done: %s", e.Total, cause)
	case failed < len(e.Failed):
		return fmt.Sprintf("%d of %d updates failed, none was done: %s", failed, e.Total, cause)
	}
	return fmt.Sprintf("%d of %d updates failed, the first: %s", failed, e.Total, cause)
}

// Unwrap returns the updates' errors.
func (e *WriteError) Unwrap() []error {
	out := make([]error, len(e.Failed))
	for i, f := range e.Failed {
		out[i] = f
	}
	return out
}

// writeError unpacks the details of a failed Write.
func writeError(err error, updates []Update) error {
	st := status.Convert(err)
	details := st.Details()
	if len(details) != len(updates) {
		return plain("write", err)
	}
	out := &WriteError{Total: len(updates)}
	for i, d := range details {
		e, ok := d.(*v1.Error)
		if !ok {
			return plain("write", err)
		}
		if codes.Code(e.GetCanonicalCode()) == codes.OK {
			continue
		}
		out.Failed = append(out.Failed, UpdateError{
			Index: i, Entity: updates[i].Entity.String(), Code: codes.Code(e.GetCanonicalCode()), Reason: e.GetMessage(),
		})
	}
	if len(out.Failed) == 0 {
		return plain("write", err)
	}
	return out
}

// list lists names for an error message.
func list(names []string) string {
	if len(names) == 0 {
		return "it has none"
	}
	names = append([]string(nil), names...)
	sort.Strings(names)
	return "it has " + strings.Join(names, ", ")
}
