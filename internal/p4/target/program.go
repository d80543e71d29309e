package target

import (
	"fmt"
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// ProgramEntries returns the entries that the program itself gives to a table, in
// normal form and in the program's order.
func ProgramEntries(t *ir.Table) ([]Entry, error) {
	keys := ControlKeys(t)
	var out []Entry
	for n, pe := range t.Entries {
		if len(pe.Keys) != len(keys) {
			return nil, fmt.Errorf("table %q: entry %d has %d keys of %d: %w", t.FullName, n, len(pe.Keys), len(keys), ErrInvalid)
		}
		a := ProgramAction(pe.Action)
		e := Entry{
			Table: t.FullName, Priority: pe.Priority, Action: &a,
			Const: pe.Const || t.ConstEntries,
		}
		for i, k := range keys {
			m, err := KeysetMatch(k, pe.Keys[i])
			if err != nil {
				return nil, fmt.Errorf("table %q: entry %d: key %q: %w", t.FullName, n, k.Name, err)
			}
			e.Match = append(e.Match, m)
		}
		if !HasPriority(t) {
			e.Priority = 0
		}
		out = append(out, e)
	}
	return out, nil
}

// ProgramAction turns an action call of the program into what a control plane
// would write.
func ProgramAction(c *ir.ActionCall) Action {
	a := Action{Name: c.Action.FullName}
	for i, arg := range c.Args {
		width, _ := ir.ScalarBits(c.Action.Params[i].Type)
		a.Params = append(a.Params, Encode(arg.Value, width))
	}
	return a
}

// KeysetMatch turns a keyset of the program into a match of key k, in normal form.
func KeysetMatch(k *ir.Key, ks ir.Keyset) (Match, error) {
	width, ok := ir.ScalarBits(k.Type)
	if !ok {
		return Match{}, fmt.Errorf("a %s cannot be matched: %w", k.Type, ErrUnsupported)
	}
	ones := new(big.Int).Lsh(big.NewInt(1), uint(width))
	ones.Sub(ones, big.NewInt(1))
	switch ks := ks.(type) {
	case *ir.KeyAny:
		return CheckMatch(k, Match{Any: true})
	case *ir.KeyExact:
		v := Encode(ks.Value, width)
		return CheckMatch(k, Match{Value: v, Mask: Encode(ones, width), PrefixLen: width, Lo: v, Hi: v})
	case *ir.KeyRange:
		return CheckMatch(k, Match{Lo: Encode(ks.Lo, width), Hi: Encode(ks.Hi, width)})
	case *ir.KeyMask:
		mask := new(big.Int).And(ks.Mask, ones)
		m := Match{Value: Encode(ks.Value, width), Mask: Encode(mask, width)}
		n, isPrefix := prefixLen(mask, width)
		switch k.Match {
		case ir.MatchLPM:
			if !isPrefix {
				return m, fmt.Errorf("mask %#x is no prefix: %w", mask, ErrInvalid)
			}
			m.PrefixLen = n
		case ir.MatchExact, ir.MatchOptional:
			if mask.Cmp(ones) != 0 {
				return m, fmt.Errorf("a mask does not go with an %s match: %w", k.Match, ErrInvalid)
			}
		}
		return CheckMatch(k, m)
	}
	return Match{}, fmt.Errorf("keyset %T of an entry: %w", ks, ErrUnsupported)
}
