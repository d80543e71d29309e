package codegen

import (
	"context"
	"slices"
	"time"
)

// repeat is how often the kernel runs a program on one copy of a packet. Each run sees what the one before left:
// the time to live must outlast them.
const (
	repeat   = 240
	startTTL = 255
)

// burst is how many calls a program gets before it is another's turn: a few tenths of a millisecond, so that
// what disturbs the machine disturbs all programs alike.
const burst = 8

// timed runs programs on a packet for a while, in turns, and returns nanoseconds a packet for each.
func timed(ctx context.Context, subjects []*subject, frame []byte, span time.Duration) ([]float64, error) {
	calls := make([][]float64, len(subjects))
	for start := time.Now(); time.Since(start) < span || len(calls[0]) < 4*burst; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for i, s := range subjects {
			for range burst {
				_, took, err := s.prog.Benchmark(frame, repeat, nil)
				if err != nil {
					return nil, err
				}
				calls[i] = append(calls[i], float64(took.Nanoseconds()))
			}
		}
	}
	out := make([]float64, len(subjects))
	for i, c := range calls {
		out[i] = quiet(c)
	}
	return out, nil
}

// quiet is the mean of the lower half: calls that were interrupted do not count, and it is finer than the whole
// nanoseconds that the kernel gives.
func quiet(values []float64) float64 {
	slices.Sort(values)
	half := values[:(len(values)+1)/2]
	sum := 0.0
	for _, v := range half {
		sum += v
	}
	return sum / float64(len(half))
}
