package ebpf

import (
	"fmt"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
)

// flatten lists the scalars of a value that is hashed. All headers in it count as
// valid.
func (f *fn) flatten(e ir.Expr) []val {
	if t, ok := e.(*ir.Tuple); ok {
		var out []val
		for _, x := range t.Elems {
			out = append(out, f.flatten(x)...)
		}
		return out
	}
	if _, ok := ir.ScalarBits(e.Type()); ok {
		return []val{f.expr(e)}
	}
	switch e.(type) {
	case *ir.VarRef, *ir.Member, *ir.Index:
	default:
		f.g.unsupported(e.Pos(), "a %T in a list of fields", e)
		return nil
	}
	if f.computed(e) != nil {
		f.g.unsupported(e.Pos(), "a header of a stack, by a computed index, in a list of fields")
		return nil
	}
	p, ok := f.static(e)
	if !ok {
		return nil
	}
	return f.flattenPath(e.Type(), p, e.Pos())
}

func (f *fn) flattenPath(t ir.Type, p string, at diag.Span) []val {
	if w, ok := ir.ScalarBits(t); ok {
		return []val{pathValue(p, w)}
	}
	if v, ok := t.(*ir.Varbit); ok {
		return []val{{bytes: p, bits: p + "_bits", most: (v.Max + 7) / 8}}
	}
	var out []val
	if s, ok := t.(*ir.Stack); ok {
		for i := range s.Size {
			out = append(out, f.flattenPath(s.Elem, fmt.Sprintf("%s.e[%d]", p, i), at)...)
		}
		return out
	}
	for _, x := range ir.FieldsOf(t) {
		out = append(out, f.flattenPath(x.Type, p+"."+f.g.field(x), at)...)
	}
	return out
}

// headersIn are the C paths of whole headers in a list of fields.
func (f *fn) headersIn(e ir.Expr) []string {
	switch t := e.(type) {
	case *ir.Tuple:
		var out []string
		for _, x := range t.Elems {
			out = append(out, f.headersIn(x)...)
		}
		return out
	}
	if _, ok := ir.ScalarBits(e.Type()); ok {
		return nil
	}
	if _, ok := e.Type().(*ir.Varbit); ok {
		return nil
	}
	p, ok := f.static(e)
	if !ok {
		return nil
	}
	var out []string
	for _, h := range f.g.use.within(p) {
		out = append(out, h.path)
	}
	return out
}

// variants runs body with the list's scalars, once for each combination of valid
// headers in it: those of invalid headers are left out.
func (f *fn) variants(e ir.Expr, body func(items []val)) {
	hs := f.headersIn(e)
	if len(hs) > 3 {
		f.g.unsupported(e.Pos(), "a list of fields with more than three whole headers")
		return
	}
	f.variant(e, hs, map[string]bool{}, body)
}

func (f *fn) variant(e ir.Expr, hs []string, invalid map[string]bool, body func([]val)) {
	if len(hs) == 0 {
		body(f.flattenValid(e, invalid))
		return
	}
	f.t.f("if (%s) {", f.g.valid(hs[0]))
	f.variant(e, hs[1:], invalid, body)
	f.t.f("} else {")
	invalid[hs[0]] = true
	f.variant(e, hs[1:], invalid, body)
	delete(invalid, hs[0])
	f.t.f("}")
}

func (f *fn) flattenValid(e ir.Expr, invalid map[string]bool) []val {
	if t, ok := e.(*ir.Tuple); ok {
		var out []val
		for _, x := range t.Elems {
			out = append(out, f.flattenValid(x, invalid)...)
		}
		return out
	}
	if _, ok := ir.ScalarBits(e.Type()); !ok {
		if p, ok := f.static(e); ok && invalid[p] {
			return nil
		}
	}
	return f.flatten(e)
}

// units cuts a sequence of values into units of so many bits, from the most
// significant bit of the first value: for each unit the parts that or'ed (or added,
// or xor'ed) together make it. The last one is filled with zero bits.
func (f *fn) units(items []val, size int) [][]string {
	total := 0
	for _, v := range items {
		total += v.w
	}
	out := make([][]string, (total+size-1)/size)
	at := 0
	for _, v := range items {
		v = f.hold(v)
		for done := 0; done < v.w; {
			u, used := (at+done)/size, (at+done)%size
			n := min(size-used, v.w-done)
			hi := v.w - 1 - done
			part := f.slice(v, hi, hi-n+1)
			if !isZero(part.one()) {
				c := part.one()
				if shift := size - used - n; shift > 0 {
					c = fmt.Sprintf("((u32)%s << %d)", c, shift)
				}
				out[u] = append(out[u], c)
			}
			done += n
		}
		at += v.w
	}
	return out
}

func join(parts []string, op string) string {
	if len(parts) == 0 {
		return "0"
	}
	return strings.Join(parts, " "+op+" ")
}

// onesSum adds the 16-bit words of a sequence in a variable, without folding.
func (f *fn) onesSum(at diag.Span, items []val) string {
	var tail *val
	bits := 0
	for i := range items {
		if items[i].bytes != "" {
			if i < len(items)-1 || bits%16 != 0 {
				f.g.unsupported(at, "a varbit in a checksum that is not its last field, on a word boundary,")
				return "0"
			}
			tail = &items[i]
			items = items[:i]
			break
		}
		bits += items[i].w
	}
	var all []string
	for _, u := range f.units(items, 16) {
		all = append(all, u...)
	}
	sum := f.temp("u32", join(all, "+"))
	if tail != nil {
		for i := range tail.most {
			c := fmt.Sprintf("((u8 *)%s)[%d]", tail.bytes, i)
			if i%2 == 0 {
				c = "(u32)" + c + " << 8"
			}
			f.t.f("if (%d < %s)", 8*i, tail.bits)
			f.t.f("\t%s += %s;", sum, c)
		}
	}
	return sum
}

// digestOf applies a hash algorithm to a sequence of values.
func (f *fn) digestOf(at diag.Span, algorithm string, items []val) val {
	for _, v := range items {
		if v.bytes != "" && algorithm != "csum16" {
			f.g.unsupported(at, "a varbit hashed by %s", algorithm)
			return zero(32)
		}
	}
	switch algorithm {
	case "csum16":
		return narrow(16, f.temp("u16", fmt.Sprintf("~fold(%s)", f.onesSum(at, items))))
	case "xor16":
		var all []string
		for _, u := range f.units(items, 16) {
			all = append(all, u...)
		}
		return narrow(16, f.temp("u16", join(all, "^")))
	case "identity":
		return f.identity(items)
	case "crc16", "crc16_custom":
		f.g.need["crc16"] = true
		h := f.temp("u32", "0")
		for _, u := range f.units(items, 8) {
			f.t.f("%s = crc16_byte(%s, %s);", h, h, join(u, "|"))
		}
		return narrow(16, h)
	case "crc32", "crc32_custom":
		f.g.need["crc32"] = true
		h := f.temp("u32", "0xffffffffU")
		f.crc32(h, items)
		f.t.f("%s = ~%s;", h, h)
		return narrow(32, h)
	case "random":
		return narrow(64, f.temp("u64", "(u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32()"))
	}
	f.g.unsupported(at, "hash algorithm %s", algorithm)
	return zero(32)
}

// identity is the first eight bytes, as a number.
func (f *fn) identity(items []val) val {
	us := f.units(items, 8)
	us = us[:min(8, len(us))]
	var parts []string
	for i, u := range us {
		c := "(u64)(" + join(u, "|") + ")"
		if s := 8 * (len(us) - 1 - i); s > 0 {
			c = fmt.Sprintf("%s << %d", c, s)
		}
		parts = append(parts, c)
	}
	return narrow(64, f.temp("u64", join(parts, "|")))
}

// algorithmOf is the name of a HashAlgorithm argument.
func (f *fn) algorithmOf(e ir.Expr) string {
	c, ok := e.(*ir.Const)
	t, okt := e.Type().(*ir.Enum)
	if ok && okt && c.Value.IsInt64() && c.Value.Int64() >= 0 && c.Value.Int64() < int64(len(t.Members)) {
		return t.Members[c.Value.Int64()]
	}
	f.g.unsupported(f.at, "a hash algorithm that is not constant")
	return "identity"
}

// hash is v1model's hash: base + h mod max, or base if max is zero.
func (f *fn) hash(s *ir.Call) {
	dw := width(s.Dst.Type())
	base, max := f.low(s.Args[1]), f.low(s.Args[3])
	algorithm := f.algorithmOf(s.Args[0])
	out := f.temp("u64", "0")
	f.variants(s.Args[2], func(items []val) {
		h := f.digestOf(s.Span, algorithm, items)
		f.t.f("%s = %s;", out, h.one())
	})
	if m, ok := s.Args[3].(*ir.Const); ok && m.Value.Sign() == 0 {
		f.store(s.Dst, f.resize(narrow(64, base), dw, false))
		return
	}
	m := f.temp("u64", max)
	b := f.temp("u64", base)
	r := fmt.Sprintf("(%s ? %s + %s %% %s : %s)", m, b, out, m, b)
	if dw > 64 {
		f.store(s.Dst, f.resize(f.hold(narrow(64, r)), dw, false))
		return
	}
	f.store(s.Dst, narrow(dw, trunc(r, dw)))
}

// low is an operand of hash or random: at most 64 bits.
func (f *fn) low(e ir.Expr) string {
	if c, ok := e.(*ir.Const); ok && c.Value.Sign() >= 0 && c.Value.BitLen() <= 64 {
		return literal(c.Value.Uint64())
	}
	v := f.expr(e)
	if v.w > 64 {
		f.g.unsupported(e.Pos(), "an operand of more than 64 bits")
	}
	return v.one()
}
