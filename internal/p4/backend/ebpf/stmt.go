package ebpf

import (
	"fmt"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// stmts writes statements.
func (f *fn) stmts(ss []ir.Stmt) {
	if f.divides && f.part == nil && len(f.picked) == 0 && f.g.divided(ss) {
		f.parts(ss)
		return
	}
	f.plain(ss)
}

// plain writes statements one after another.
func (f *fn) plain(ss []ir.Stmt) {
	for _, s := range ss {
		f.one(s)
	}
}

func (f *fn) one(s ir.Stmt) {
	f.t.at(s.Pos())
	f.at = s.Pos()
	f.stmt(s)
}

func (f *fn) stmt(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.Assign:
		f.assign(s)
	case *ir.If:
		f.t.f("if (%s) {", f.cond(s.Cond))
		f.branch(s.Then)
		f.t.f("} else {")
		if len(s.Else) > 0 {
			f.branch(s.Else)
		} else {
			f.t.f("OWN_BLOCK;")
		}
		f.t.f("}")
	case *ir.Switch:
		f.switchOn(s)
	case *ir.Apply:
		f.apply(s)
	case *ir.Call:
		f.call(s)
	case *ir.Block:
		f.block(s)
	case *ir.Leave:
		f.t.f("%s", f.leave(s.Block))
	case *ir.Loop:
		f.loop(s)
	case *ir.Exit:
		f.t.f("%s", f.exit)
	default:
		f.g.unsupported(s.Pos(), "a statement of kind %T", s)
	}
}

// branch writes the statements of a branch; what is known of stack indices before
// holds in it, and what it changes is forgotten after it.
func (f *fn) branch(ss []ir.Stmt) {
	before := map[string]int{}
	for k, v := range f.nexts {
		before[k] = v
	}
	f.stmts(ss)
	for k, v := range before {
		if f.nexts[k] != v {
			delete(before, k)
		}
	}
	if f.nexts != nil {
		f.nexts = before
	}
}

// label is the C label at the end of a block.
func (f *fn) label(b *ir.Block) string {
	if l, ok := f.blocks[b]; ok {
		return l
	}
	name := "block"
	if b.Name != "" {
		name = cName(b.Name)
	}
	// Of the whole program: the states of a parser are one C function.
	f.g.labels++
	l := fmt.Sprintf("end_%s_%d", name, f.g.labels)
	f.blocks[b] = l
	return l
}

func (f *fn) block(b *ir.Block) {
	// The same block may be written more than once, each time with its own label.
	delete(f.blocks, b)
	f.stmts(b.Body)
	if l, ok := f.blocks[b]; ok {
		f.t.f("%s:", l)
		f.t.f(";")
		f.forgetLoops(b.Body)
	}
	delete(f.blocks, b)
}

func (f *fn) switchOn(s *ir.Switch) {
	x := f.expr(s.X)
	if x.w > 64 {
		x = f.hold(x)
		for i, c := range s.Cases {
			var any []string
			for _, v := range c.Values {
				any = append(any, f.compare(ir.Eq, x, f.expr(v), false).one())
			}
			head := "if"
			if i > 0 {
				head = "} else if"
			}
			f.t.f("%s (%s) {", head, strings.Join(any, " || "))
			f.branch(c.Body)
		}
		if len(s.Cases) == 0 {
			f.stmts(s.Default)
			return
		}
		f.t.f("} else {")
		f.branch(s.Default)
		f.t.f("}")
		return
	}
	f.t.f("switch (%s) {", f.cond(s.X))
	seen := map[string]bool{}
	for _, c := range s.Cases {
		var labels []string
		for _, v := range c.Values {
			l := f.expr(v).one()
			if !seen[l] { // the first of equal labels counts
				seen[l] = true
				labels = append(labels, l)
			}
		}
		for i, l := range labels {
			if i < len(labels)-1 {
				f.t.f("case %s:", l)
			} else {
				f.t.f("case %s: {", l)
			}
		}
		if len(labels) == 0 {
			continue
		}
		f.branch(c.Body)
		f.t.f("break;")
		f.t.f("}")
	}
	f.t.f("default: {")
	f.branch(s.Default)
	f.t.f("break;")
	f.t.f("}")
	f.t.f("}")
}

func (f *fn) assign(s *ir.Assign) {
	if _, ok := ir.ScalarBits(s.Dst.Type()); ok {
		f.step = f.stepOf(s)
		f.store(s.Dst, f.expr(s.Src))
		f.step = nil
		return
	}
	f.each(func() {
		dst, ok := f.static(s.Dst)
		if !ok {
			return
		}
		if _, ok := s.Src.(*ir.Tuple); ok {
			f.g.unsupported(s.Span, "the assignment of a list")
			return
		}
		src, ok := f.static(s.Src)
		if !ok {
			f.clear(s.Dst.Type(), dst)
			return
		}
		if src != dst {
			f.copy(s.Dst.Type(), dst, src)
		}
	}, s.Dst, s.Src)
}

// copy copies a value of any type but for where its headers lie in the packet.
func (f *fn) copy(t ir.Type, dst, src string) {
	switch t := t.(type) {
	case *ir.Header:
		for _, x := range t.Fields {
			f.copy(x.Type, dst+"."+f.g.field(x), src+"."+f.g.field(x))
		}
		f.copyValidity(dst, src)
		f.others(dst, f.g.valid(src))
	case *ir.Stack:
		for i := range t.Size {
			f.copy(t.Elem, fmt.Sprintf("%s.e[%d]", dst, i), fmt.Sprintf("%s.e[%d]", src, i))
		}
		f.t.f("%s.next = %s.next;", dst, src)
		delete(f.nexts, dst)
	case *ir.Union:
		// All members at once: none invalidates another.
		for _, x := range t.Fields {
			h := x.Type.(*ir.Header)
			d, s := dst+"."+f.g.field(x), src+"."+f.g.field(x)
			for _, y := range h.Fields {
				f.copy(y.Type, d+"."+f.g.field(y), s+"."+f.g.field(y))
			}
			f.copyValidity(d, s)
		}
	case *ir.Struct:
		for _, x := range t.Fields {
			f.copy(x.Type, dst+"."+f.g.field(x), src+"."+f.g.field(x))
		}
	case *ir.Varbit:
		for i := range words(t.Max) {
			f.t.f("%s[%d] = %s[%d];", dst, i, src, i)
		}
		f.t.f("%s_bits = %s_bits;", dst, src)
		f.wrote(dst)
	default:
		w := width(t)
		f.set(dst, pathValue(src, w))
	}
}

// clear sets a value to what it is at the beginning.
func (f *fn) clear(t ir.Type, dst string) {
	switch t := t.(type) {
	case *ir.Stack:
		for i := range t.Size {
			f.clear(t.Elem, fmt.Sprintf("%s.e[%d]", dst, i))
		}
		f.t.f("%s.next = 0;", dst)
		delete(f.nexts, dst)
	case *ir.Varbit:
		for i := range words(t.Max) {
			f.t.f("%s[%d] = 0;", dst, i)
		}
		f.t.f("%s_bits = 0;", dst)
		f.wrote(dst)
	case *ir.Header, *ir.Struct, *ir.Union:
		for _, x := range ir.FieldsOf(t) {
			if f.g.declared(x) {
				f.clear(x.Type, dst+"."+f.g.field(x))
			}
		}
		if _, ok := t.(*ir.Header); ok {
			f.setValidity(dst, false)
		}
	default:
		f.set(dst, zero(width(t)))
	}
}

// setValidity makes a header valid or not, by its C path.
func (f *fn) setValidity(path string, valid bool) {
	h := f.g.use.byPath[path]
	switch {
	case h == nil: // a copy in a register: it has no validity
	case valid:
		f.t.f("SET_VALID(%s);", h.bit)
	default:
		f.t.f("SET_INVALID(%s);", h.bit)
	}
}

func (f *fn) copyValidity(dst, src string) {
	d, s := f.g.use.byPath[dst], f.g.use.byPath[src]
	if d != nil && s != nil {
		f.t.f("COPY_VALID(%s, %s);", d.bit, s.bit)
	}
}

// valid is the C condition that a header is valid.
func (g *gen) valid(path string) string {
	if h := g.use.byPath[path]; h != nil {
		return fmt.Sprintf("VALID(%s)", h.bit)
	}
	return "0"
}

// others makes the other members of a header's union invalid when cond holds.
func (f *fn) others(path, cond string) {
	h := f.g.use.byPath[path]
	if h == nil || h.union == "" {
		return
	}
	for _, o := range f.g.use.within(h.union) {
		if o == h {
			continue
		}
		if cond == "1" {
			f.setValidity(o.path, false)
		} else {
			f.t.f("if (%s)", cond)
			f.t.f("\tSET_INVALID(%s);", o.bit)
		}
	}
}

func (f *fn) setValid(e ir.Expr, valid bool) {
	f.each(func() {
		p, ok := f.static(e)
		if !ok {
			return
		}
		switch e.Type().(type) {
		case *ir.Header:
			if valid {
				f.others(p, "1")
			}
			f.setValidity(p, valid)
		default:
			if valid {
				return // a union or stack as a whole cannot be made valid
			}
			for _, h := range f.g.use.within(p) {
				f.setValidity(h.path, false)
			}
		}
	}, e)
}

// shiftStack is push_front and pop_front.
func (f *fn) shiftStack(s *ir.Call) {
	t, ok := s.Args[0].Type().(*ir.Stack)
	c, okc := s.Args[1].(*ir.Const)
	if !ok || !okc {
		f.g.unsupported(s.Span, "%s by a count that is not constant", s.Op)
		return
	}
	n := t.Size
	if c.Value.IsInt64() && c.Value.Int64() < int64(n) {
		n = max(int(c.Value.Int64()), 0)
	}
	f.each(func() {
		p, ok := f.static(s.Args[0])
		if !ok {
			return
		}
		elem := func(i int) string { return fmt.Sprintf("%s.e[%d]", p, i) }
		if s.Op == ir.OpPushFront {
			for i := t.Size - 1; i >= 0; i-- {
				if i >= n {
					f.copy(t.Elem, elem(i), elem(i-n))
				} else {
					f.clear(t.Elem, elem(i))
				}
			}
			f.t.f("%s.next = %s.next + %d > %d ? %d : %s.next + %d;", p, p, n, t.Size, t.Size, p, n)
		} else {
			for i := range t.Size {
				if i+n < t.Size {
					f.copy(t.Elem, elem(i), elem(i+n))
				} else {
					f.clear(t.Elem, elem(i))
				}
			}
			f.t.f("%s.next = %s.next < %d ? 0 : %s.next - %d;", p, p, n, p, n)
		}
		delete(f.nexts, p)
	}, s.Args[0])
}
