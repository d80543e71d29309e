package tool

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/interp"
)

// Tracer prints the events of the interpreter, one a line, with their places in the
// program.
type Tracer struct {
	W        io.Writer
	Position func(diag.Span) string
	JSON     bool
}

// traceLine is an event as JSON.
type traceLine struct {
	Event  string `json:"event"`
	At     string `json:"at,omitempty"`
	Object string `json:"object,omitempty"`
	Detail string `json:"detail,omitempty"`
	Port   uint32 `json:"port,omitempty"`
	Data   string `json:"data,omitempty"`
}

// Trace implements interp.Tracer.
func (t *Tracer) Trace(e interp.Event) {
	where := ""
	if e.Span != (diag.Span{}) {
		where = t.Position(e.Span)
	}
	if t.JSON {
		b, err := json.Marshal(traceLine{string(e.Kind), where, e.Object, e.Detail, e.Port, hex.EncodeToString(e.Data)})
		if err == nil { // strings and numbers always have a JSON form
			fmt.Fprintf(t.W, "%s\n", b)
		}
		return
	}
	switch e.Kind {
	case interp.EventReceive:
		fmt.Fprintln(t.W, e)
	case interp.EventTransmit, interp.EventDrop, interp.EventResubmit, interp.EventRecirc, interp.EventClone, interp.EventReplica:
		fmt.Fprintf(t.W, "  %s\n", e)
	case interp.EventState, interp.EventControl:
		fmt.Fprintf(t.W, "  %s\n", withPlace(e, where))
	default:
		fmt.Fprintf(t.W, "    %s\n", withPlace(e, where))
	}
}

func withPlace(e interp.Event, where string) string {
	if where == "" {
		return e.String()
	}
	return fmt.Sprintf("%-60s  %s", e.String(), where)
}
