package client

import (
	"testing"

	"google.golang.org/grpc/codes"
)

func TestWriteErrorNamesTheCause(t *testing.T) {
	undone := UpdateError{Entity: "table a", Code: codes.Aborted, Reason: "not done"}
	full := UpdateError{Index: 1, Entity: "group 1", Code: codes.ResourceExhausted, Reason: "no space left"}
	for _, c := range []struct {
		failed []UpdateError
		total  int
		want   string
	}{
		{[]UpdateError{full}, 1, "group 1: no space left"},
		{[]UpdateError{full}, 3, "1 of 3 updates failed, the first: group 1: no space left"},
		{[]UpdateError{undone, full, undone}, 3, "1 of 3 updates failed, none was done: group 1: no space left"},
		{[]UpdateError{undone, undone}, 2, "none of 2 updates was done: table a: not done"},
	} {
		if got := (&WriteError{Failed: c.failed, Total: c.total}).Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
