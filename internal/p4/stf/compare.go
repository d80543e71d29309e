package stf

import (
	"encoding/hex"
	"fmt"
	"sort"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/target"
)

// expected is an expect command and its line.
type expected struct {
	line int
	*Expect
}

// compare checks what came out of the ports that the script mentions.
func (r *runner) compare() {
	ports := map[uint32][]expected{}
	line := map[uint32]int{} // where the port is mentioned last
	for _, s := range r.script.Stmts {
		switch c := s.Cmd.(type) {
		case *Packet:
			if _, ok := ports[c.Port]; !ok {
				ports[c.Port] = nil
			}
			line[c.Port] = s.Line
		case *Expect:
			ports[c.Port] = append(ports[c.Port], expected{s.Line, c})
			line[c.Port] = s.Line
		}
	}
	var order []uint32
	for p := range ports {
		order = append(order, p)
	}
	sort.Slice(order, func(i, j int) bool { return order[i] < order[j] })
	for _, p := range order {
		r.comparePort(p, ports[p], r.received[p], line[p])
	}
}

func (r *runner) comparePort(port uint32, want []expected, got []target.Packet, line int) {
	for i, w := range want {
		if i >= len(got) {
			r.fail(w.line, "port %d: packet %d of %d did not come%s", port, i+1, len(want), r.elsewhere(port))
			continue
		}
		if msg := difference(w.Expect, got[i].Data); msg != "" {
			r.fail(w.line, "port %d: packet %d: %s", port, i+1, msg)
		}
	}
	for i := len(want); i < len(got); i++ {
		r.fail(line, "port %d: unexpected packet, %d expected in all\n  got      %s", port, len(want), group(hex.EncodeToString(got[i].Data)))
	}
}

// elsewhere says which ports had packets, to help find a lost one.
func (r *runner) elsewhere(port uint32) string {
	var ps []string
	for p, got := range r.received {
		if p != port && len(got) > 0 {
			ps = append(ps, fmt.Sprintf("%d (%d)", p, len(got)))
		}
	}
	if ps == nil {
		return "; no port sent any"
	}
	sort.Strings(ps)
	return "; ports that sent some: " + strings.Join(ps, ", ")
}

// difference compares a packet with what is expected and describes the first
// difference, or returns "".
func difference(e *Expect, data []byte) string {
	if e.Any {
		return ""
	}
	got := hex.EncodeToString(data)
	at := -1
	for i := range e.Pattern {
		if i >= len(got) || e.Pattern[i] != '*' && e.Pattern[i] != got[i] {
			at = i
			break
		}
	}
	var what string
	switch {
	case at >= len(got) && at >= 0:
		what = fmt.Sprintf("too short: %d bytes, %d expected", len(data), (len(e.Pattern)+1)/2)
	case at >= 0:
		what = fmt.Sprintf("differs at byte %d", at/2)
	case e.Exact && len(got) > len(e.Pattern):
		at = len(e.Pattern)
		what = fmt.Sprintf("too long: %d bytes, %d expected", len(data), (len(e.Pattern)+1)/2)
	default:
		return ""
	}
	return fmt.Sprintf("%s\n  expected %s\n  got      %s\n           %s^", what, group(e.Pattern), group(got), strings.Repeat(" ", at+at/8))
}

// group puts a space after each four bytes.
func group(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i += 8 {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(s[i:min(i+8, len(s))])
	}
	return b.String()
}
