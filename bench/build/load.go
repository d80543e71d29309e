package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catena-nfv/catena/bench/netlab"
	"github.com/catena-nfv/catena/internal/dataplane"
	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/pass"
	"github.com/catena-nfv/catena/internal/p4/syntax"
	"github.com/catena-nfv/catena/internal/p4/types"
	"github.com/catena-nfv/catena/internal/p4rt/kernelswitch"
)

// The stages of the switch, beside Optimize, Generate and Clang.
const (
	ParseP4 = "parse_p4"
	Check   = "check"
	Lower   = "lower"
	Load    = "load"   // maps and verifier
	Attach  = "attach" // to the ports, until the program has run on a packet
)

// started is how long it took a switch to start with a program.
type started struct {
	stages map[string]time.Duration
	total  time.Duration
	cpu    time.Duration // of this process and of clang
}

// cpu is the processor time that this process and its children have had.
func cpu() (time.Duration, error) {
	var sum int64
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var r unix.Rusage
		if err := unix.Getrusage(who, &r); err != nil {
			return 0, fmt.Errorf("processor time: %w", err)
		}
		sum += r.Utime.Nano() + r.Stime.Nano()
	}
	return time.Duration(sum), nil
}

// start loads a program onto a new switch with two ports, as P4Runtime does, and removes the switch.
func start(ctx context.Context, lib *nf.Library, text []byte, dir, cache string, pair *netlab.Pair) (st started, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return st, err
	}
	sw, err := dataplane.OpenSwitch(dataplane.SwitchConfig{
		Name: fmt.Sprintf("bench-build-%d", os.Getpid()), StateFile: filepath.Join(dir, "switch.json"),
	})
	if err != nil {
		return st, err
	}
	defer func() { err = errors.Join(err, sw.Destroy()) }()
	for i, h := range pair.Hosts() {
		if err := sw.AddPort(ctx, uint32(i+1), h.Link); err != nil {
			return st, err
		}
	}
	st.stages = map[string]time.Duration{}
	used, err := cpu()
	if err != nil {
		return st, err
	}
	at := time.Now()
	begin, stage := at, ""
	next := func(name string) {
		now := time.Now()
		if stage != "" {
			st.stages[stage] += now.Sub(at)
		}
		at, stage = now, name
	}
	device := kernelswitch.New(kernelswitch.Config{
		Switch: sw, CacheDir: cache,
		Compile: func(_ context.Context, text []byte) (*ir.Program, *diag.FileSet, error) { return front(text, next) },
		Optimize: func(p *ir.Program) (*ir.Program, error) {
			next(Optimize)
			diags := pass.Run(p, pass.Options{})
			next("")
			return p, diags.Err(lib.FileSet())
		},
		Progress: func(s string) {
			if s == Clang && stage == "" { // the program is from the cache
				next("")
				return
			}
			next(s)
		},
	})
	p, err := device.Compile(ctx, text)
	if err != nil {
		return st, err
	}
	pipeline, err := p.Load(ctx, false)
	if err != nil {
		return st, err
	}
	if err := pipeline.Commit(ctx); err != nil {
		return st, errors.Join(err, pipeline.Close())
	}
	if err := device.Inject(ctx, make([]byte, 64)); err != nil {
		return st, err
	}
	next("")
	st.total = time.Since(begin)
	now, err := cpu()
	st.cpu = now - used
	return st, err
}

// front is the front end, in its stages.
func front(text []byte, next func(stage string)) (*ir.Program, *diag.FileSet, error) {
	files := diag.NewFileSet()
	next(ParseP4)
	tree, diags := syntax.ParseBytes(files, "program.p4", text, syntax.Options{})
	if err := diags.Err(files); err != nil {
		return nil, nil, err
	}
	next(Check)
	info, diags := types.Check(tree)
	if err := diags.Err(files); err != nil {
		return nil, nil, err
	}
	next(Lower)
	p, diags := types.Lower(info)
	next("")
	return p, files, diags.Err(files)
}
