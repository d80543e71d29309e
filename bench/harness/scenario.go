package harness

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"
)

// Scenario is one benchmark: a table or figure of a paper, or a bar of the project's own.
type Scenario struct {
	Name  string // as on the command line
	Title string // one line
	// Source is what it follows, such as "paper 003, Fig. 8"; empty for the project's own bars.
	Source string
	// Root tells that it needs the kernel: namespaces, links, BPF.
	Root bool
	// Defaults fills the options that are zero.
	Defaults Options
	// Flags adds options of its own; may be nil. Example then shows their use.
	Flags   func(*pflag.FlagSet)
	Example string
	// Run measures until it is done or the context ends. It leaves nothing behind in either case.
	Run func(context.Context, Options) (*Report, error)
}

// Options of a run. A zero field takes the scenario's default.
type Options struct {
	Rounds int           // how often each case is measured
	Span   time.Duration // of one measurement, where time is what bounds it
	Seed   uint64        // of random inputs
	// Progress gets a line for each step; nil: silence.
	Progress io.Writer
}

// With fills the zero fields from defaults.
func (o Options) With(defaults Options) Options {
	if o.Rounds == 0 {
		o.Rounds = defaults.Rounds
	}
	if o.Span == 0 {
		o.Span = defaults.Span
	}
	if o.Seed == 0 {
		o.Seed = defaults.Seed
	}
	return o
}

// Tell reports a step.
func (o Options) Tell(format string, args ...any) {
	if o.Progress != nil {
		fmt.Fprintf(o.Progress, format+"\n", args...)
	}
}
