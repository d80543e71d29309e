package ebpf

import (
	"fmt"
	"strings"
)

// reserved are C's own names and those that the text uses beside P4's.
const reserved = ` auto break case char const continue default do double else enum extern float for goto if
inline int long register restrict return short signed sizeof static struct switch typedef union unsigned
void volatile while asm typeof u8 u16 u32 u64 s64 ctx_t ctx s at round error NULL errno nothing fold tables tuples
be16 be24 be32 be40 be48 be56 be64 packet_load packet_store HOOK DROP_PORT NOWHERE MAX_DEPTH MAX_MASKS LOW_BYTE FIRST_MASKS MAX_CHAIN NO_SLOT HELD SHIFT_RIGHT ROOM
MAX_REPLICAS METER_SCALE SCRATCH_CHUNK RING_SMALL RING_LARGE TEST_BUILD TARGET_TC TARGET_XDP STATE_IN_MAP `

// isReserved tells whether a name is taken: also t1, c1 and e1, the temporary
// variables.
func isReserved(s string) bool {
	if len(s) > 1 && strings.Contains("tce", s[:1]) && strings.Trim(s[1:], "0123456789") == "" {
		return true
	}
	return contains(strings.Fields(reserved), s)
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// cName makes a C identifier of a P4 name.
func cName(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' && i > 0:
			b.WriteRune(r)
		case '0' <= r && r <= '9':
			b.WriteString("_" + string(r))
		default:
			b.WriteByte('_')
		}
	}
	name := b.String()
	if name == "" || isReserved(name) {
		name += "_"
	}
	return name
}

// scope gives each object a C identifier of its own.
type scope struct {
	used  map[string]bool
	names map[any]string
}

func newScope() *scope { return &scope{used: map[string]bool{}, names: map[any]string{}} }

// name returns the identifier of an object, made from want at the first call.
func (s *scope) name(obj any, want string) string {
	if n, ok := s.names[obj]; ok {
		return n
	}
	n := s.fresh(want)
	s.names[obj] = n
	return n
}

// fresh returns an identifier that was not given out before.
func (s *scope) fresh(want string) string {
	base := cName(want)
	n := base
	for i := 2; s.used[n]; i++ {
		n = fmt.Sprintf("%s_%d", base, i)
	}
	s.used[n] = true
	return n
}
