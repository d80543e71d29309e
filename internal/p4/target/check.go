package target

import (
	"bytes"
	"fmt"
	"math/big"
	"sort"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// ControlKeys returns the keys that the control plane sees: all but the selector's.
func ControlKeys(t *ir.Table) []*ir.Key {
	var out []*ir.Key
	for _, k := range t.Keys {
		if k.Match != ir.MatchSelector {
			out = append(out, k)
		}
	}
	return out
}

// HasPriority reports whether entries of the table need a priority: it has a
// ternary, range or optional key.
func HasPriority(t *ir.Table) bool {
	for _, k := range t.Keys {
		switch k.Match {
		case ir.MatchTernary, ir.MatchRange, ir.MatchOptional:
			return true
		}
	}
	return false
}

// CheckEntry checks an entry that a control plane writes against the table that it
// names, and returns it in normal form:
//
//   - values have as many bytes as their field, in two's complement if signed;
//   - bits outside a mask or prefix are zero;
//   - a match that every value meets is Any and nothing else;
//   - the priority of a table that needs none is 0.
//
// Errors wrap ErrInvalid and name table and key.
func CheckEntry(t *ir.Table, e Entry) (Entry, error) {
	out, err := CheckKey(t, e)
	if err != nil {
		return out, err
	}
	if e.Action == nil {
		if t.Impl == nil {
			return out, fmt.Errorf("table %q: the entry has no action: %w", t.FullName, ErrInvalid)
		}
		if e.Group != 0 && t.Impl.Kind != ir.KindActionSelector {
			return out, fmt.Errorf("table %q: action profile %q has no groups: %w", t.FullName, t.Impl.FullName, ErrInvalid)
		}
		return out, nil
	}
	if t.Impl != nil {
		return out, fmt.Errorf("table %q: entries name a member or group of %q, not an action: %w", t.FullName, t.Impl.FullName, ErrInvalid)
	}
	a, err := CheckAction(t, *e.Action, false)
	if err != nil {
		return out, err
	}
	out.Action = &a
	return out, nil
}

// CheckKey is CheckEntry for what identifies an entry, its matches and priority:
// enough for deleting one.
func CheckKey(t *ir.Table, e Entry) (Entry, error) {
	keys := ControlKeys(t)
	if len(keys) == 0 {
		return e, fmt.Errorf("table %q has no keys, so it has no entries; set its default action: %w", t.FullName, ErrInvalid)
	}
	if len(e.Match) != len(keys) {
		return e, fmt.Errorf("table %q: %d matches for %d keys (%s): %w", t.FullName, len(e.Match), len(keys), keyNames(keys), ErrInvalid)
	}
	out := e
	out.Match = make([]Match, len(keys))
	for i, k := range keys {
		m, err := CheckMatch(k, e.Match[i])
		if err != nil {
			return e, fmt.Errorf("table %q: key %q: %w", t.FullName, k.Name, err)
		}
		out.Match[i] = m
	}
	if !HasPriority(t) {
		out.Priority = 0
	} else if e.Priority < 0 {
		return e, fmt.Errorf("table %q: priority %d is negative: %w", t.FullName, e.Priority, ErrInvalid)
	}
	return out, nil
}

func keyNames(keys []*ir.Key) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.Name
	}
	return strings.Join(names, ", ")
}

// CheckMatch checks a match against its key and returns it in normal form.
func CheckMatch(k *ir.Key, m Match) (Match, error) {
	width, ok := ir.ScalarBits(k.Type)
	if !ok {
		return m, fmt.Errorf("a %s cannot be matched by the control plane: %w", k.Type, ErrUnsupported)
	}
	if m.Any {
		if k.Match == ir.MatchExact {
			return m, fmt.Errorf("an exact match needs a value: %w", ErrInvalid)
		}
		return Match{Any: true}, nil
	}
	switch k.Match {
	case ir.MatchExact, ir.MatchOptional:
		v, err := pad(m.Value, width)
		return Match{Value: v}, err
	case ir.MatchLPM:
		return checkPrefix(m, width)
	case ir.MatchTernary:
		return checkTernary(m, width)
	case ir.MatchRange:
		return checkRange(k.Type, m, width)
	}
	return m, fmt.Errorf("match kind %s: %w", k.Match, ErrUnsupported)
}

func checkPrefix(m Match, width int) (Match, error) {
	if m.PrefixLen < 0 || m.PrefixLen > width {
		return m, fmt.Errorf("prefix length %d is not between 0 and %d: %w", m.PrefixLen, width, ErrInvalid)
	}
	v, err := pad(m.Value, width)
	if err != nil {
		return m, err
	}
	if m.PrefixLen == 0 {
		return Match{Any: true}, nil
	}
	return Match{Value: and(v, PrefixMask(m.PrefixLen, width)), PrefixLen: m.PrefixLen}, nil
}

func checkTernary(m Match, width int) (Match, error) {
	v, err := pad(m.Value, width)
	if err != nil {
		return m, err
	}
	mask, err := pad(m.Mask, width)
	if err != nil {
		return m, fmt.Errorf("mask: %w", err)
	}
	if len(bytes.Trim(mask, "\x00")) == 0 {
		return Match{Any: true}, nil
	}
	return Match{Value: and(v, mask), Mask: mask}, nil
}

func checkRange(t ir.Type, m Match, width int) (Match, error) {
	lo, err := pad(m.Lo, width)
	if err != nil {
		return m, fmt.Errorf("low end: %w", err)
	}
	hi, err := pad(m.Hi, width)
	if err != nil {
		return m, fmt.Errorf("high end: %w", err)
	}
	l, h := Decode(lo, t), Decode(hi, t)
	if l.Cmp(h) > 0 {
		return m, fmt.Errorf("range %s..%s is empty: %w", l, h, ErrInvalid)
	}
	all := new(big.Int).Lsh(big.NewInt(1), uint(width))
	if new(big.Int).Sub(h, l).Cmp(all.Sub(all, big.NewInt(1))) == 0 {
		return Match{Any: true}, nil
	}
	return Match{Lo: lo, Hi: hi}, nil
}

func and(a, b []byte) []byte {
	out := make([]byte, len(a))
	for i := range a {
		out[i] = a[i] & b[i]
	}
	return out
}

// CheckAction checks an action for an entry, or for the default when isDefault, and
// returns its parameters padded to their width.
func CheckAction(t *ir.Table, a Action, isDefault bool) (Action, error) {
	for _, ta := range t.Actions {
		if ta.Action.FullName != a.Name {
			continue
		}
		if ta.DefaultOnly && !isDefault {
			return a, fmt.Errorf("table %q: action %q is for the default only: %w", t.FullName, a.Name, ErrInvalid)
		}
		if ta.TableOnly && isDefault {
			return a, fmt.Errorf("table %q: action %q is for entries only: %w", t.FullName, a.Name, ErrInvalid)
		}
		return CheckParams(ta.Action, a)
	}
	var names []string
	for _, ta := range t.Actions {
		names = append(names, ta.Action.FullName)
	}
	sort.Strings(names)
	return a, fmt.Errorf("table %q has no action %q, it has %s: %w", t.FullName, a.Name, strings.Join(names, ", "), ErrInvalid)
}

// CheckParams checks the parameters of an action against its declaration.
func CheckParams(decl *ir.Action, a Action) (Action, error) {
	if len(a.Params) != len(decl.Params) {
		return a, fmt.Errorf("action %q takes %d parameters, not %d: %w", a.Name, len(decl.Params), len(a.Params), ErrInvalid)
	}
	out := Action{Name: a.Name, Params: make([][]byte, len(a.Params))}
	for i, p := range decl.Params {
		width, ok := ir.ScalarBits(p.Type)
		if !ok {
			return a, fmt.Errorf("action %q: parameter %q of type %s: %w", a.Name, p.PlaneName(), p.Type, ErrUnsupported)
		}
		v, err := pad(a.Params[i], width)
		if err != nil {
			return a, fmt.Errorf("action %q: parameter %q: %w", a.Name, p.PlaneName(), err)
		}
		out.Params[i] = v
	}
	return out, nil
}

// CheckMember checks a member of an action profile against the tables that use it.
func CheckMember(tables []*ir.Table, m Member) (Member, error) {
	if len(tables) == 0 {
		return m, fmt.Errorf("no table uses the action profile: %w", ErrInvalid)
	}
	a, err := CheckAction(tables[0], m.Action, false)
	m.Action = a
	return m, err
}

// Identity returns a string that two checked entries of a table have in common
// exactly when one would replace the other: their matches and priority.
func Identity(e Entry) string {
	var b strings.Builder
	for _, m := range e.Match {
		fmt.Fprintf(&b, "%t,%x,%x,%d,%x,%x;", m.Any, m.Value, m.Mask, m.PrefixLen, m.Lo, m.Hi)
	}
	fmt.Fprintf(&b, "%d", e.Priority)
	return b.String()
}

// Sort orders checked entries as they are shown: larger priorities first, then
// longer prefixes, then by matches.
func Sort(es []Entry) {
	total := func(e Entry) int {
		n := 0
		for _, m := range e.Match {
			n += m.PrefixLen
		}
		return n
	}
	sort.SliceStable(es, func(i, j int) bool {
		a, b := es[i], es[j]
		if a.Priority != b.Priority {
			return a.Priority > b.Priority
		}
		if x, y := total(a), total(b); x != y {
			return x > y
		}
		return Identity(a) < Identity(b)
	})
}

// CheckValueSet checks the members of a parser value set and returns them in normal
// form.
func CheckValueSet(v *ir.ValueSet, members [][]Match) ([][]Match, error) {
	if v.Size > 0 && len(members) > v.Size {
		return nil, fmt.Errorf("value set %q: %d members for a size of %d: %w", v.Name, len(members), v.Size, ErrFull)
	}
	out := make([][]Match, len(members))
	for n, m := range members {
		if len(m) != len(v.Fields) {
			return nil, fmt.Errorf("value set %q: member %d has %d components of %d: %w", v.Name, n, len(m), len(v.Fields), ErrInvalid)
		}
		for i, k := range v.Fields {
			c, err := CheckMatch(k, m[i])
			if err != nil {
				return nil, fmt.Errorf("value set %q: member %d: %w", v.Name, n, err)
			}
			out[n] = append(out[n], c)
		}
	}
	return out, nil
}

// Fits reports whether a value is there and has no more bits than width.
func Fits(v []byte, width int) bool {
	_, err := pad(v, width)
	return err == nil
}
