package types

import (
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/syntax"
)

func (c *checker) tableEntries(info *tableInfo, p *syntax.EntriesProperty) {
	info.entries = p
	if len(info.keys) == 0 {
		if len(p.Entries) > 0 || info.hasKey {
			c.errorf(p.Span(), CodeEntry, "table %s has no key, so it has no entries", info.decl.Name.Text)
		}
		return
	}
	var keys []Type
	for _, k := range info.keys {
		if k.match == "selector" {
			continue
		}
		keys = append(keys, k.typ)
	}
	for _, e := range p.Entries {
		c.annotations(e.Annots)
		c.entryPriority(info, p, e)
		if c.keyset(e.Keyset, keys, "entry") {
			c.entryKeys(info, e)
		}
		a := c.fullCall(info, e.Action.Path, e.Action, e.Action.Args, "an entry")
		if a != nil {
			if l := info.listed(a.sig); l != nil && l.annots.Get("defaultonly") != nil {
				c.errorf(e.Action.Span(), CodeEntry, "action %s is @defaultonly", e.Action.Path)
			}
		}
		info.calls[e] = a
	}
}

func (c *checker) entryPriority(info *tableInfo, p *syntax.EntriesProperty, e *syntax.Entry) {
	if e.Priority == nil {
		return
	}
	if n, ok := c.constInt(e.Priority, "a priority"); ok && n.Sign() < 0 {
		c.errorf(e.Priority.Span(), CodeRange, "a priority cannot be negative")
	}
	if p.Const {
		c.errorf(e.Priority.Span(), CodeEntry, "const entries have no priorities: the first that matches wins")
	} else if !info.prioritised() {
		c.errorf(e.Priority.Span(), CodeEntry, "table %s has no ternary, range or optional key, so its entries have no priorities", info.decl.Name.Text)
	}
}

// keysetList gives the keysets of an entry or case, one for each of n values; a single
// `_` or default stands for all.
func keysetList(e syntax.Expr, n int) []syntax.Expr {
	switch x := e.(type) {
	case *syntax.TupleKeyset:
		return x.Elems
	case *syntax.ListExpr:
		if n > 1 {
			return x.Elems
		}
	case *syntax.DefaultExpr, *syntax.DontCare:
		out := make([]syntax.Expr, n)
		for i := range out {
			out[i] = e
		}
		return out
	}
	return []syntax.Expr{e}
}

// entryKeys checks that each keyset is one that its match kind can do.
func (c *checker) entryKeys(info *tableInfo, e *syntax.Entry) {
	var keys []tableKey
	for _, k := range info.keys {
		if k.match != "selector" {
			keys = append(keys, k)
		}
	}
	list := keysetList(e.Keyset, len(keys))
	if len(list) != len(keys) {
		return
	}
	for i, k := range keys {
		x := list[i]
		switch x := x.(type) {
		case *syntax.MaskExpr:
			if k.match != "ternary" && k.match != "lpm" {
				c.errorf(x.Span(), CodeEntry, "a key matched by %s cannot have a mask", k.match)
			} else if k.match == "lpm" {
				c.prefix(x, k.typ)
			}
		case *syntax.RangeExpr:
			if k.match != "range" {
				c.errorf(x.Span(), CodeEntry, "a key matched by %s cannot have a range", k.match)
			}
		case *syntax.DontCare, *syntax.DefaultExpr:
			if k.match == "exact" {
				c.errorf(x.Span(), CodeEntry, "a key matched by exact needs a value")
			}
		}
	}
}

// prefix checks that a mask is one of leading ones.
func (c *checker) prefix(e *syntax.MaskExpr, t Type) {
	b, ok := base(t).(*Bits)
	m, known := c.eval.value(e.Mask).(IntVal)
	if ok && known && !isPrefix(ir.Raw(b.Width, m.V), b.Width) {
		c.errorf(e.Mask.Span(), CodeEntry, "the mask of an lpm key is leading ones and then zeros")
	}
}

func isPrefix(mask *big.Int, width int) bool {
	inv := ir.Raw(width, new(big.Int).Not(mask))
	return new(big.Int).And(inv, new(big.Int).Add(inv, big.NewInt(1))).Sign() == 0
}
