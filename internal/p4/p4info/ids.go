package p4info

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
)

// CodeID is the code of diagnostics about @id and @controller_header.
const CodeID diag.Code = "p4info/id"

// nameHash is Bob Jenkins' one-at-a-time hash, with which the public compiler makes
// ids of names.
func nameHash(s string) uint32 {
	var h uint32
	for i := range len(s) {
		h += uint32(s[i])
		h += h << 10
		h ^= h >> 6
	}
	h += h << 3
	h ^= h >> 11
	h += h << 15
	return h
}

// symbol is an object of one kind that gets an id.
type symbol struct {
	kind configv1.P4Ids_Prefix
	name string
}

// symbols gives ids and aliases to names. All are added first, then assign is called
// once.
type symbols struct {
	ids   map[symbol]uint32 // 0: not yet assigned
	taken map[uint32]symbol
	tails map[string]map[string]bool // names by their suffix
	diags diag.List
}

func newSymbols() *symbols {
	return &symbols{ids: map[symbol]uint32{}, taken: map[uint32]symbol{}, tails: map[string]map[string]bool{}}
}

// add registers a name; @id among the annotations fixes its id.
func (s *symbols) add(kind configv1.P4Ids_Prefix, name string, as ir.Annotations) {
	sym := symbol{kind, name}
	if _, ok := s.ids[sym]; ok {
		return
	}
	s.ids[sym] = 0
	for _, tail := range suffixes(name) {
		if s.tails[tail] == nil {
			s.tails[tail] = map[string]bool{}
		}
		s.tails[tail][name] = true
	}
	a, ok := as.Get("id")
	if !ok {
		return
	}
	id, err := idOf(a)
	if err != nil {
		s.diags.Errorf(a.Span, CodeID, "%s: %v", name, err)
		return
	}
	if prefix := id >> 24; prefix != 0 && prefix != uint32(kind) {
		s.diags.Errorf(a.Span, CodeID, "%s: @id 0x%08x has the prefix of another kind; leave the prefix out", name, id)
		return
	}
	id |= uint32(kind) << 24
	if other, ok := s.taken[id]; ok {
		s.diags.Errorf(a.Span, CodeID, "%s: @id 0x%08x is that of %s, too", name, id, other.name)
		return
	}
	s.ids[sym], s.taken[id] = id, sym
}

func idOf(a ir.Annotation) (uint32, error) {
	text := a.Body
	if len(a.Args) == 1 {
		text = a.Args[0]
	}
	n, err := strconv.ParseUint(text, 0, 32)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%s is not a number between 1 and 2^32-1", a.Text())
	}
	return uint32(n), nil
}

// suffixes lists a name's suffixes at dots, the shortest first.
func suffixes(name string) []string {
	parts := strings.Split(name, ".")
	out := make([]string, len(parts))
	for i := range parts {
		out[i] = strings.Join(parts[len(parts)-1-i:], ".")
	}
	return out
}

// assign gives an id to each name that has none: the kind in the upper byte and the
// name's hash below. A taken id is avoided by counting up, the names of a kind being
// taken in alphabetical order.
func (s *symbols) assign() {
	var todo []symbol
	for sym, id := range s.ids {
		if id == 0 {
			todo = append(todo, sym)
		}
	}
	sort.Slice(todo, func(i, j int) bool {
		if todo[i].kind != todo[j].kind {
			return todo[i].kind < todo[j].kind
		}
		return todo[i].name < todo[j].name
	})
	for _, sym := range todo {
		for h := nameHash(sym.name); ; h++ {
			id := uint32(sym.kind)<<24 | h&0xffffff
			if _, ok := s.taken[id]; !ok {
				s.ids[sym], s.taken[id] = id, sym
				break
			}
		}
	}
}

func (s *symbols) id(kind configv1.P4Ids_Prefix, name string) uint32 {
	return s.ids[symbol{kind, name}]
}

// alias is the shortest suffix of a name that no other name has.
func (s *symbols) alias(name string) string {
	for _, tail := range suffixes(name) {
		if len(s.tails[tail]) < 2 {
			return tail
		}
	}
	return name
}

// fieldIDs numbers fields, parameters or keys: @id where given, else the place from
// 1, passing over ids that are taken.
func fieldIDs(owner string, as []ir.Annotations, diags *diag.List) []uint32 {
	ids := make([]uint32, len(as))
	taken := map[uint32]bool{}
	for i, a := range as {
		an, ok := a.Get("id")
		if !ok {
			continue
		}
		id, err := idOf(an)
		switch {
		case err != nil:
			diags.Errorf(an.Span, CodeID, "%s: %v", owner, err)
		case taken[id]:
			diags.Errorf(an.Span, CodeID, "%s: @id(%d) is used twice", owner, id)
		default:
			ids[i], taken[id] = id, true
		}
	}
	next := uint32(1)
	for i := range ids {
		if ids[i] != 0 {
			next++
			continue
		}
		for taken[next] {
			next++
		}
		ids[i], taken[next] = next, true
	}
	return ids
}
