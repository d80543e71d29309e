package server

import (
	"fmt"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	"google.golang.org/protobuf/proto"
)

// P4Info is what a program looks like to a controller.
type P4Info = configv1.P4Info

// empty reports whether a client gave no P4Info.
func empty(info *P4Info) bool { return proto.Size(info) == 0 }

// sameInterface checks that the P4Info that a client sends describes the program
// as compiled. Ids may differ (another compiler numbers differently), and
// annotations, sizes and documentation; names, order and types may not.
func sameInterface(given, compiled *P4Info) error {
	if proto.Equal(given, compiled) {
		return nil
	}
	g, c := outline(given), outline(compiled)
	for _, line := range c.order {
		if g.lines[line] != c.lines[line] {
			return mismatch(line, g.lines[line], c.lines[line])
		}
	}
	for _, line := range g.order {
		if _, ok := c.lines[line]; !ok {
			return mismatch(line, g.lines[line], "")
		}
	}
	return nil
}

func mismatch(what, given, compiled string) error {
	switch {
	case given == "":
		return invalid("the p4info does not match the program: %s (%s) is missing", what, compiled)
	case compiled == "":
		return invalid("the p4info does not match the program, which has no %s (%s)", what, given)
	}
	return invalid("the p4info does not match the program: %s is %s, the program's is %s", what, given, compiled)
}

// sketch is what counts of a P4Info, one line an object.
type sketch struct {
	order []string
	lines map[string]string
}

func (s *sketch) add(what, is string) {
	s.order = append(s.order, what)
	s.lines[what] = is
}

func outline(info *P4Info) *sketch {
	s := &sketch{lines: map[string]string{}}
	actions, profiles := map[uint32]string{}, map[uint32]string{}
	for _, a := range info.GetActions() {
		name := a.GetPreamble().GetName()
		actions[a.GetPreamble().GetId()] = name
		is := "(" + name
		for _, p := range a.GetParams() {
			is += fmt.Sprintf(" %s:%d", p.GetName(), p.GetBitwidth())
		}
		s.add("action "+name, is+")")
	}
	for _, p := range info.GetActionProfiles() {
		name := p.GetPreamble().GetName()
		profiles[p.GetPreamble().GetId()] = name
		s.add("action profile "+name, fmt.Sprintf("selector=%v", p.GetWithSelector()))
	}
	for _, t := range info.GetTables() {
		name := t.GetPreamble().GetName()
		is := "keys"
		for _, f := range t.GetMatchFields() {
			is += fmt.Sprintf(" %s:%d:%s", f.GetName(), f.GetBitwidth(), f.GetMatchType())
		}
		is += " actions"
		for _, r := range t.GetActionRefs() {
			is += " " + actions[r.GetId()]
		}
		if p := t.GetImplementationId(); p != 0 {
			is += " implementation " + profiles[p]
		}
		if t.GetIsConstTable() {
			is += " const"
		}
		s.add("table "+name, is)
	}
	for _, c := range info.GetCounters() {
		s.add("counter "+c.GetPreamble().GetName(), fmt.Sprint("size ", c.GetSize()))
	}
	for _, c := range info.GetDirectCounters() {
		s.add("direct counter "+c.GetPreamble().GetName(), "present")
	}
	for _, m := range info.GetMeters() {
		s.add("meter "+m.GetPreamble().GetName(), fmt.Sprint("size ", m.GetSize()))
	}
	for _, m := range info.GetDirectMeters() {
		s.add("direct meter "+m.GetPreamble().GetName(), "present")
	}
	for _, h := range info.GetControllerPacketMetadata() {
		is := "fields"
		for _, m := range h.GetMetadata() {
			is += fmt.Sprintf(" %s:%d", m.GetName(), m.GetBitwidth())
		}
		s.add("controller header "+h.GetPreamble().GetName(), is)
	}
	for _, v := range info.GetValueSets() {
		is := "keys"
		for _, f := range v.GetMatch() {
			is += fmt.Sprintf(" %d:%s", f.GetBitwidth(), f.GetMatchType())
		}
		s.add("value set "+v.GetPreamble().GetName(), is)
	}
	for _, r := range info.GetRegisters() {
		s.add("register "+r.GetPreamble().GetName(), fmt.Sprint("size ", r.GetSize()))
	}
	for _, d := range info.GetDigests() {
		s.add("digest "+d.GetPreamble().GetName(), "present")
	}
	return s
}
