package stf

import (
	"fmt"
	"sort"

	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// Failure is what a script complains about.
type Failure struct {
	Script  string
	Line    int // 0: the script as a whole
	Message string
}

// Error gives the failure as name:line: message.
func (f Failure) Error() string {
	if f.Line == 0 {
		return f.Script + ": " + f.Message
	}
	return fmt.Sprintf("%s:%d: %s", f.Script, f.Line, f.Message)
}

// Result is what became of a script.
type Result struct {
	Sent, Received int       // packets
	Failures       []Failure // by line
	Notes          []string  // what the read commands found
}

// Passed reports whether there was no failure.
func (r Result) Passed() bool { return len(r.Failures) == 0 }

// runner is the state of a script that is being run.
type runner struct {
	script  *Script
	schema  *target.Schema
	dev     target.Device
	handles map[string]handle
	nodes   []node // mc_node_create, by handle
	groups  map[uint32][]target.Replica
	sets    map[string][][]target.Match

	received map[uint32][]target.Packet
	last     []target.Packet // what the last packet gave
	result   Result
}

type handle struct {
	table *ir.Table
	entry target.Entry
}

// node is a node of a multicast group.
type node struct {
	rid   uint16
	ports []uint32
}

func newRunner(s *Script, p *ir.Program, d target.Device) *runner {
	return &runner{
		script: s, schema: target.NewSchema(p), dev: d, handles: map[string]handle{},
		groups: map[uint32][]target.Replica{}, sets: map[string][][]target.Match{},
		received: map[uint32][]target.Packet{},
	}
}

// Run runs a script on a device that runs program p.
func Run(s *Script, p *ir.Program, d target.Device) Result {
	r := newRunner(s, p, d)
	for _, st := range s.Stmts {
		if err := r.do(st.Cmd); err != nil {
			r.fail(st.Line, "%v", err)
		}
	}
	r.compare()
	sort.SliceStable(r.result.Failures, func(i, j int) bool { return r.result.Failures[i].Line < r.result.Failures[j].Line })
	return r.result
}

// Configure runs only the commands of a script that configure the switch: it sends
// no packet and checks nothing.
func Configure(s *Script, p *ir.Program, d target.Switch) error {
	r := newRunner(s, p, device{d})
	for _, st := range s.Stmts {
		switch st.Cmd.(type) {
		case *Packet, *Expect, *NoPacket, *CheckCounter:
			continue
		}
		if err := r.do(st.Cmd); err != nil {
			return Failure{s.Name, st.Line, err.Error()}
		}
	}
	return nil
}

// device makes a switch a device that takes no packets.
type device struct{ target.Switch }

func (device) Inject(target.Packet) ([]target.Packet, error) { return nil, target.ErrUnsupported }
func (device) Digests() []target.Digest                      { return nil }
func (device) Close() error                                  { return nil }

func (r *runner) fail(line int, format string, args ...any) {
	r.result.Failures = append(r.result.Failures, Failure{r.script.Name, line, fmt.Sprintf(format, args...)})
}

func (r *runner) note(format string, args ...any) {
	r.result.Notes = append(r.result.Notes, fmt.Sprintf(format, args...))
}

func (r *runner) do(c Command) error {
	switch c := c.(type) {
	case *Packet:
		out, err := r.dev.Inject(target.Packet{Port: c.Port, Data: c.Data})
		r.last = out
		r.result.Sent++
		r.result.Received += len(out)
		for _, p := range out {
			r.received[p.Port] = append(r.received[p.Port], p)
		}
		return err
	case *NoPacket:
		if len(r.last) > 0 {
			return fmt.Errorf("no packet expected, port %d got %x", r.last[0].Port, r.last[0].Data)
		}
	case *Add:
		return r.add(c)
	case *SetDefault:
		t, err := findTable(r.schema, c.Table)
		if err != nil {
			return err
		}
		a, err := call(t, c.Action)
		if err != nil {
			return err
		}
		return r.dev.SetDefault(t.FullName, a)
	case *Remove:
		return r.remove(c)
	case *CheckCounter:
		return r.checkCounter(c)
	case *Object:
		return r.object(c)
	case *Switch:
		return r.replication(c)
	case *MemberAdd:
		return r.addMember(c)
	}
	return nil
}
