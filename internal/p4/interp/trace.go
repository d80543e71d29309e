package interp

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// EventKind says what happened to a packet.
type EventKind string

// The events.
const (
	EventReceive  EventKind = "receive"  // Port, Data
	EventState    EventKind = "state"    // Object: the parser state entered
	EventReject   EventKind = "reject"   // Detail: the error
	EventControl  EventKind = "control"  // Object: the control entered
	EventExtract  EventKind = "extract"  // Object: the header, Detail: its fields
	EventTable    EventKind = "table"    // Object: the table, Detail: keys, hit or miss, action
	EventBranch   EventKind = "branch"   // Detail: the condition's value
	EventAssign   EventKind = "assign"   // Object: the lvalue, Detail: the new value
	EventCall     EventKind = "call"     // Object: the extern, Detail: its arguments
	EventEmit     EventKind = "emit"     // Object: the header
	EventClone    EventKind = "clone"    // Port
	EventResubmit EventKind = "resubmit" // again through ingress
	EventRecirc   EventKind = "recirculate"
	EventReplica  EventKind = "replica"  // Port: a multicast copy
	EventDrop     EventKind = "drop"     // Detail: where and why
	EventTransmit EventKind = "transmit" // Port, Data
)

// Event is one step of a packet.
type Event struct {
	Kind   EventKind
	Span   diag.Span // where in the program, if anywhere
	Object string
	Detail string
	Port   uint32
	Data   []byte
}

// String gives the event in one line, without its place.
func (e Event) String() string {
	var b strings.Builder
	b.WriteString(string(e.Kind))
	if e.Object != "" {
		b.WriteString(" " + e.Object)
	}
	switch e.Kind {
	case EventReceive, EventTransmit, EventClone, EventReplica:
		fmt.Fprintf(&b, " port %d", e.Port)
	}
	if e.Data != nil {
		fmt.Fprintf(&b, " %d bytes %x", len(e.Data), e.Data)
	}
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	return b.String()
}

// Tracer is told what happens to packets. It is called with the switch locked and
// must not call back.
type Tracer interface{ Trace(Event) }

func (r *run) trace(e Event) {
	if r.sw.opts.Tracer != nil {
		r.sw.opts.Tracer.Trace(e)
	}
}

func (r *run) tracing() bool { return r.sw.opts.Tracer != nil }

// describe gives a cell's value in short form.
func describe(c *cell) string {
	if c.num != nil {
		return number(c.num, c.typ)
	}
	if _, ok := c.typ.(*ir.Header); ok && !c.valid {
		return "invalid"
	}
	parts := make([]string, len(c.sub))
	fs := ir.FieldsOf(c.typ)
	for i, s := range c.sub {
		if i < len(fs) {
			parts[i] = fs[i].Name + "=" + describe(s)
		} else {
			parts[i] = describe(s)
		}
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// number gives a value as people write it: enum members by name, wide numbers in
// hexadecimal.
func number(v *big.Int, t ir.Type) string {
	switch t := t.(type) {
	case *ir.Bool:
		return fmt.Sprint(v.Sign() != 0)
	case *ir.Enum:
		if v.IsInt64() && v.Int64() < int64(len(t.Members)) && v.Sign() >= 0 {
			return t.Name + "." + t.Members[v.Int64()]
		}
	case *ir.SerEnum:
		for _, m := range t.Members {
			if m.Value.Value.Cmp(v) == 0 {
				return t.Name + "." + m.Name
			}
		}
	}
	if v.Sign() < 0 || v.BitLen() <= 3 {
		return v.String()
	}
	return fmt.Sprintf("%#x", v)
}

// path gives an lvalue as P4 writes it.
func path(e ir.Expr) string {
	switch e := e.(type) {
	case *ir.VarRef:
		return e.Var.Name
	case *ir.Member:
		return path(e.X) + "." + e.Field.Name
	case *ir.Index:
		if i, ok := e.I.(*ir.StackIndex); ok {
			if i.Last {
				return path(e.X) + ".last"
			}
			return path(e.X) + ".next"
		}
		return path(e.X) + "[" + path(e.I) + "]"
	case *ir.Slice:
		return fmt.Sprintf("%s[%d:%d]", path(e.X), e.Hi, e.Lo)
	case *ir.IsValid:
		return path(e.X) + ".isValid()"
	case *ir.Const:
		return number(e.Value, e.T)
	case *ir.Binary:
		return path(e.X) + " " + string(e.Op) + " " + path(e.Y)
	case *ir.Unary:
		return string(e.Op) + path(e.X)
	case *ir.Cast:
		return "(" + e.T.String() + ")" + path(e.X)
	}
	return "(…)"
}

func describeAction(a target.Action) string {
	ps := make([]string, len(a.Params))
	for i, p := range a.Params {
		ps[i] = fmt.Sprintf("0x%x", p)
	}
	return a.Name + "(" + strings.Join(ps, ", ") + ")"
}
