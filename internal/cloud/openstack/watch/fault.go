package watch

import (
	"context"
	"time"
)

// Fault is why a server is in ERROR, as get reads it from the cloud. Nova writes that down a moment after the status, so
// it is asked for a while; "": the cloud does not say.
func Fault(ctx context.Context, get func(context.Context) (string, error)) string {
	for pause := 50 * time.Millisecond; pause < 3*time.Second; pause *= 2 {
		if why, err := get(ctx); err == nil && why != "" {
			return why
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ""
		}
	}
	return ""
}
