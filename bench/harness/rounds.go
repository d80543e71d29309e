package harness

import (
	"context"
	"fmt"
)

// Case is one of the things that are compared.
type Case struct {
	Name string
	// Measure returns one value.
	Measure func(context.Context) (float64, error)
}

// Rounds measures each case once a round, in turns. Every round begins with another case, so that none
// always follows the same one. It returns a sample for each case, in the order of the cases.
func Rounds(ctx context.Context, opt Options, cases []Case) ([]Sample, error) {
	out := make([]Sample, len(cases))
	for r := range opt.Rounds {
		opt.Tell("round %d of %d", r+1, opt.Rounds)
		for i := range cases {
			c := (i + r) % len(cases)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			v, err := cases[c].Measure(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: round %d: %w", cases[c].Name, r+1, err)
			}
			out[c] = append(out[c], v)
		}
	}
	return out, nil
}
