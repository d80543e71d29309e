package p4text

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// scope hands out names that differ from each other, from those of the scopes around
// and from the words of the language.
type scope struct {
	outer *scope
	taken map[string]bool
}

func newScope(outer *scope) *scope { return &scope{outer: outer, taken: map[string]bool{}} }

// reserved are the words of P4 and the names of core.p4, v1model.p4 and flow_state.p4.
const reserved = " abstract action actions apply bit bool break const continue control default_action else entries enum " +
	"error exit extern false for header header_union if in inout int key list match_kind out package parser pragma " +
	"priority return select set state string struct switch table this transition true tuple type typedef value_set " +
	"varbit void _ default accept reject start verify packet_in packet_out " +
	"NoAction exact ternary lpm range optional selector standard_metadata_t PortId_t CounterType MeterType HashAlgorithm " +
	"CloneType flow_state counter direct_counter meter direct_meter register action_profile action_selector random digest " +
	"mark_to_drop hash Checksum16 verify_checksum update_checksum verify_checksum_with_payload " +
	"update_checksum_with_payload resubmit_preserving_field_list recirculate_preserving_field_list clone " +
	"clone_preserving_field_list truncate assert assume log_msg Parser VerifyChecksum Ingress Egress ComputeChecksum " +
	"Deparser V1Switch main static_assert resubmit recirculate clone3 "

func (s *scope) has(name string) bool {
	for ; s != nil; s = s.outer {
		if s.taken[name] {
			return true
		}
	}
	return strings.Contains(reserved, " "+name+" ")
}

// take returns a free name like the one that is wanted.
func (s *scope) take(want string) string { return s.takeBut(want, nil) }

// takeBut is take for a name that must not be one of others either.
func (s *scope) takeBut(want string, others map[string]bool) string {
	base := identifier(want)
	name := base
	for n := 1; s.has(name) || others[name]; n++ {
		name = base + "_" + strconv.Itoa(n)
	}
	s.taken[name] = true
	return name
}

// identifier makes a P4 identifier of any text.
func identifier(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
			b.WriteRune(r)
		case r >= '0' && r <= '9':
			if b.Len() == 0 {
				b.WriteByte('_')
			}
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	if b.Len() == 0 || b.String() == "_" {
		return "x"
	}
	return b.String()
}

// nameAnnotation gives the @name with which an object that is printed under a name in
// a block keeps its control-plane name; empty if it does so by itself. A block of ""
// is the top level.
func nameAnnotation(block, printed, full string) string {
	if block != "" {
		if full == block+"."+printed {
			return ""
		}
		if rest, ok := strings.CutPrefix(full, block+"."); ok {
			return fmt.Sprintf("@name(%q)", rest)
		}
	} else if full == printed {
		return ""
	}
	return fmt.Sprintf("@name(%q)", "."+strings.TrimPrefix(full, "."))
}

// annotationText prints annotations as written, without @name.
func annotationText(as ir.Annotations) []string {
	var out []string
	for _, a := range as {
		if a.Name == "name" {
			continue
		}
		out = append(out, a.Text())
	}
	return out
}

func (pr *printer) annotationLines(as ir.Annotations) {
	for _, a := range annotationText(as) {
		pr.line("%s", a)
	}
}

// inline gives annotations in front of something on the same line.
func inline(as ir.Annotations) string {
	out := strings.Join(annotationText(as), " ")
	if out != "" {
		out += " "
	}
	return out
}
