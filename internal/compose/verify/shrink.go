package verify

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// Counterexample is a packet with which two programs differ, as small as it got.
type Counterexample struct {
	Chain string   `json:"chain"`
	Path  int      `json:"path"`
	NFs   []string `json:"nfs"`
	Port  uint32   `json:"port"`
	Data  string   `json:"data"` // hexadecimal
	// Rules that are needed for the difference; of the chain's scope unless they say so.
	Rules []string `json:"rules"`
	// Alone is told twice if the interpreter is compared with another back end: as what
	// the merged program does there.
	Left     string   `json:"left"`  // name of the side
	Right    string   `json:"right"` // name of the other
	Want     []string `json:"want"`
	Got      []string `json:"got"`
	Trace    []string `json:"trace"`     // of the merged program in the interpreter
	TraceNFs []string `json:"trace_nfs"` // of the NFs one after the other; none between back ends
	// Stateful says that the packet alone does not show the difference: what packets
	// before it have left in registers or counters matters.
	Stateful bool `json:"stateful,omitempty"`
}

// explain makes the counterexample of a packet: fewer rules, fewer bytes, fewer bits.
func (r *run) explain(x route, rules []rule, p target.Packet) error {
	c := &Counterexample{Chain: x.name, Path: x.path, NFs: x.nfs, Left: "the NFs one after the other", Right: "the merged program"}
	if r.cfg.Open != nil {
		c.Left, c.Right = "the interpreter", "the back end"
	}
	r.report.Counterexample = c
	again, err := r.differs(x, rules, p)
	if err != nil {
		return err
	}
	if c.Stateful = !again; again {
		if rules, p, err = r.shrink(x, rules, p); err != nil {
			return err
		}
	}
	c.Port, c.Data = p.Port, fmt.Sprintf("%x", p.Data)
	for _, y := range rules {
		c.Rules = append(c.Rules, y.text(x.scope))
	}
	if err := r.fresh(x, rules); err != nil {
		return err
	}
	r.oracle.watch = func(box string, e interp.Event) { c.TraceNFs = append(c.TraceNFs, box+": "+e.String()) }
	r.trace.to = func(e interp.Event) { c.Trace = append(c.Trace, e.String()) }
	a, errA := r.left.inject(p)
	b, errB := r.right.inject(p)
	r.oracle.watch, r.trace.to = nil, nil
	c.Want, c.Got = lines(a, errA), lines(b, errB)
	return nil
}

func lines(o outcome, err error) []string {
	if err != nil {
		return []string{err.Error()}
	}
	return strings.Split(o.String(), "\n")
}

// fresh gives both sides rules and a route, without what packets have left.
func (r *run) fresh(x route, rules []rule) error {
	if err := r.left.close(); err != nil {
		return err
	}
	if err := r.right.close(); err != nil {
		return err
	}
	if err := r.open(); err != nil {
		return err
	}
	for _, m := range []machine{r.left, r.right} {
		if err := m.load(rules); err != nil {
			return err
		}
		if err := m.take(x); err != nil {
			return err
		}
	}
	return nil
}

// differs tells whether the two sides, fresh, differ in one packet.
func (r *run) differs(x route, rules []rule, p target.Packet) (bool, error) {
	if err := r.fresh(x, rules); err != nil {
		return false, err
	}
	return r.differsNow(p)
}

func (r *run) differsNow(p target.Packet) (bool, error) {
	a, err := r.left.inject(p)
	if err != nil {
		return false, err
	}
	b, err := r.right.inject(p)
	return !same(a, b), err
}

// maxShrink bounds how often the two sides are made again.
const maxShrink = 200

// shrink leaves out rules, then bytes, as long as the sides differ.
func (r *run) shrink(x route, rules []rule, p target.Packet) ([]rule, target.Packet, error) {
	tries := 0
	for size := len(rules); size > 0; size /= 2 {
		for at := 0; at < len(rules) && tries < maxShrink; tries++ {
			end := min(at+size, len(rules))
			less := append(append([]rule(nil), rules[:at]...), rules[end:]...)
			still, err := r.differs(x, less, p)
			if err != nil {
				return nil, p, err
			}
			if still {
				rules = less
			} else {
				at = end
			}
		}
	}
	if err := r.fresh(x, rules); err != nil {
		return nil, p, err
	}
	try := func(data []byte) (bool, error) {
		q := target.Packet{Port: p.Port, Data: data}
		still, err := r.differsNow(q)
		if still && err == nil {
			p = q
		}
		return still, err
	}
	for size := len(p.Data) / 2; size > 0; {
		if size > len(p.Data) {
			size = len(p.Data)
			continue
		}
		still, err := try(p.Data[:len(p.Data)-size])
		if err != nil {
			return nil, p, err
		}
		if !still || size > len(p.Data) {
			size /= 2
		}
	}
	for i := range p.Data {
		if p.Data[i] == 0 {
			continue
		}
		less := bytes.Clone(p.Data)
		less[i] = 0
		if _, err := try(less); err != nil {
			return nil, p, err
		}
	}
	return rules, p, nil
}

// text describes a rule.
func (x rule) text(scope int) string {
	var b strings.Builder
	b.WriteString(x.table.nf + "." + local(x.table.decl.FullName))
	for i, k := range target.ControlKeys(x.table.decl) {
		m := x.entry.Match[i]
		switch {
		case m.Any:
		case m.Lo != nil:
			fmt.Fprintf(&b, " %s=0x%x..0x%x", k.Name, m.Lo, m.Hi)
		case m.Mask != nil:
			fmt.Fprintf(&b, " %s=0x%x&&&0x%x", k.Name, m.Value, m.Mask)
		case m.PrefixLen > 0:
			fmt.Fprintf(&b, " %s=0x%x/%d", k.Name, m.Value, m.PrefixLen)
		default:
			fmt.Fprintf(&b, " %s=0x%x", k.Name, m.Value)
		}
	}
	if target.HasPriority(x.table.decl) {
		fmt.Fprintf(&b, " priority %d", x.entry.Priority)
	}
	if x.entry.Action != nil {
		fmt.Fprintf(&b, " -> %s(", local(x.entry.Action.Name))
		for i, p := range x.entry.Action.Params {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "0x%x", p)
		}
		b.WriteString(")")
	} else {
		fmt.Fprintf(&b, " -> member %d", x.entry.Member)
	}
	if x.scope != scope {
		fmt.Fprintf(&b, " (scope %d)", x.scope)
	}
	return b.String()
}
