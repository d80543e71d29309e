package interp

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/hash"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// ErrLimit is wrapped by the errors for packets that would be worked on for ever.
var ErrLimit = errors.New("limit reached")

// ErrAssert is wrapped by the error for a packet that failed an assert.
var ErrAssert = errors.New("assertion failed")

// Options are the outside world of a Switch. The zero value is of use: real time, a
// fixed seed, no trace, messages dropped.
type Options struct {
	// Now is the clock of timestamps and meters, counted from any start.
	Now func() time.Duration
	// Seed starts the random numbers of random() and of the random hash.
	Seed uint64
	// Log receives what log_msg prints.
	Log func(msg string)
	// Tracer, if not nil, is told each step of each packet.
	Tracer Tracer
	// Position renders a place in the program, for error messages.
	Position func(diag.Span) string
	// Hash has the parameters of the custom CRCs; zero: the defaults.
	Hash hash.Params
	// MaxSteps bounds the statements and parser states of one packet (default 1<<20),
	// MaxPasses its passes through ingress and egress, of all copies together
	// (default 4096).
	MaxSteps, MaxPasses int
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		start := time.Now()
		o.Now = func() time.Duration { return time.Since(start) }
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	if o.Hash == (hash.Params{}) {
		o.Hash = hash.DefaultParams()
	}
	if o.MaxSteps == 0 {
		o.MaxSteps = 1 << 20
	}
	if o.MaxPasses == 0 {
		o.MaxPasses = 4096
	}
	return o
}

// Switch runs a program; see the package comment. It is a target.Device.
type Switch struct {
	mu     sync.Mutex
	prog   *ir.Program
	schema *target.Schema
	opts   Options
	random *rand.Rand

	tables     map[*ir.Table]*table
	profiles   map[*ir.Instance]*profile
	counters   map[*ir.Instance]*array[target.Counter]
	meters     map[*ir.Instance]*array[meter]
	registers  map[*ir.Instance]*array[*cell]
	flows      map[*ir.Instance]*flows
	valueSets  map[*ir.ValueSet][][]target.Match
	groups     map[uint32][]target.Replica
	clones     map[uint32]target.CloneSession
	digests    []target.Digest
	fieldLists map[string]fieldList // by index, as written
	errorCodes map[string]int
}

var _ target.Device = (*Switch)(nil)

// New makes a switch that runs p, with the entries that p itself has. It does not
// change p.
func New(p *ir.Program, o Options) (*Switch, error) {
	if p.Hdr == nil || p.Meta == nil || p.Std == nil || p.Parser == nil || len(p.Parser.States) == 0 {
		return nil, errors.New("the program is not complete: it lacks a parser or the headers and metadata")
	}
	for _, c := range p.Controls() {
		if c == nil || c.Body == nil {
			return nil, errors.New("the program is not complete: a control is missing")
		}
	}
	s := &Switch{
		prog: p, schema: target.NewSchema(p), opts: o.withDefaults(),
		random:     rand.New(rand.NewPCG(o.Seed, 0)),
		tables:     map[*ir.Table]*table{},
		profiles:   map[*ir.Instance]*profile{},
		counters:   map[*ir.Instance]*array[target.Counter]{},
		meters:     map[*ir.Instance]*array[meter]{},
		registers:  map[*ir.Instance]*array[*cell]{},
		flows:      map[*ir.Instance]*flows{},
		valueSets:  map[*ir.ValueSet][][]target.Match{},
		groups:     map[uint32][]target.Replica{},
		clones:     map[uint32]target.CloneSession{},
		fieldLists: fieldLists(p),
		errorCodes: map[string]int{},
	}
	for i, e := range p.Errors {
		s.errorCodes[e] = i
	}
	for _, c := range p.Controls() {
		for _, i := range c.Instances {
			if err := s.addInstance(i); err != nil {
				return nil, err
			}
		}
	}
	for _, c := range p.Controls() {
		for _, t := range c.Tables {
			tab, err := newTable(t, s.profiles[t.Impl])
			if err != nil {
				return nil, err
			}
			s.tables[t] = tab
		}
	}
	return s, nil
}

func (s *Switch) addInstance(i *ir.Instance) error {
	if i.Size < 0 {
		return fmt.Errorf("%s %q: its size %d is negative", i.Kind, i.FullName, i.Size)
	}
	switch i.Kind {
	case ir.KindCounter:
		s.counters[i] = newArray[target.Counter](i.Size)
	case ir.KindMeter:
		s.meters[i] = newArray[meter](i.Size)
	case ir.KindRegister:
		s.registers[i] = newArray[*cell](i.Size) // nil until written: zero
	case ir.KindFlowState:
		s.flows[i] = &flows{size: i.Size, byKey: map[string]*flowValue{}}
	case ir.KindActionProfile, ir.KindActionSelector:
		s.profiles[i] = newProfile(i)
	}
	return nil
}

// Inject implements target.Device.
func (s *Switch) Inject(p target.Packet) (out []target.Packet, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		// A program that the front end accepts must not get here; one that a pass
		// broke may, and shall not take down the agent that traces it.
		if e := recover(); e != nil {
			out, err = nil, fmt.Errorf("port %d: the interpreter cannot run this program: %v", p.Port, e)
		}
	}()
	return s.forward(p)
}

// Digests implements target.Device.
func (s *Switch) Digests() []target.Digest {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.digests
	s.digests = nil
	return d
}

// Close implements target.Device; there is nothing to release.
func (s *Switch) Close() error { return nil }
