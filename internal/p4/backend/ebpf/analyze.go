package ebpf

import (
	"fmt"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// instance is a header of the packet's state: one C path.
type instance struct {
	path  string
	bit   string // C name of its bit of validity
	name  string // as P4 writes it
	typ   *ir.Header
	order int
	union string // C path of the union that it is a member of, or ""

	read      map[*ir.Field]bool // by the program
	dirty     map[*ir.Field]bool // assigned
	early     map[*ir.Field]bool // assigned by the parser
	sites     map[*ir.Field][]site
	writeSet  map[*ir.Field]*writeSet
	extracted bool
	validity  bool // changed other than by extract
}

// fresh tells whether the header may be valid without having been in the packet.
func (h *instance) fresh() bool { return h.validity }

// usage is what a program does with its state.
type usage struct {
	byPath map[string]*instance
	bits   *scope
	list   []*instance
	// read and dirty are the C paths of scalars outside of headers; dirty ones are
	// assigned in a control.
	read, dirty map[string]bool
	kept        map[*ir.Field]bool // what the state has
	validity    bool               // some header's validity changes other than by extract
	varbitRead  bool
	ops         map[ir.Op]bool
}

// bitName is what the validity of a header is called: s->hdr.vlan.e[0] is vlan_0.
func bitName(path string) string {
	return strings.NewReplacer("s->hdr.", "", "s->", "", ".e[", "_", "]", "").Replace(path)
}

// addInstances finds the headers in a variable.
func (u *usage) addInstances(g *gen, t ir.Type, path, name, union string) {
	switch t := t.(type) {
	case *ir.Header:
		h := &instance{path: path, bit: u.bits.fresh(bitName(path)), name: name, typ: t, order: len(u.list), union: union,
			read: map[*ir.Field]bool{}, dirty: map[*ir.Field]bool{}, early: map[*ir.Field]bool{},
			sites: map[*ir.Field][]site{}, writeSet: map[*ir.Field]*writeSet{}}
		u.byPath[path] = h
		u.list = append(u.list, h)
	case *ir.Union:
		for _, f := range t.Fields {
			u.addInstances(g, f.Type, path+"."+g.field(f), name+"."+f.Name, path)
		}
	case *ir.Struct:
		for _, f := range t.Fields {
			u.addInstances(g, f.Type, path+"."+g.field(f), name+"."+f.Name, "")
		}
	case *ir.Stack:
		for i := range t.Size {
			u.addInstances(g, t.Elem, fmt.Sprintf("%s.e[%d]", path, i), fmt.Sprintf("%s[%d]", name, i), "")
		}
	}
}

// paths are the C paths that an lvalue may stand for: several if an index is
// computed at run time.
func (g *gen) paths(e ir.Expr) []string {
	switch e := e.(type) {
	case *ir.VarRef:
		return []string{g.varPath(e.Var)}
	case *ir.Slice:
		return g.paths(e.X)
	case *ir.Member:
		xs := g.paths(e.X)
		out := make([]string, len(xs))
		for i, x := range xs {
			out[i] = x + "." + g.field(e.Field)
		}
		return out
	case *ir.Index:
		size := e.X.Type().(*ir.Stack).Size
		lo, hi := 0, size
		if c, ok := e.I.(*ir.Const); ok {
			if !c.Value.IsInt64() || c.Value.Int64() >= int64(size) {
				return nil
			}
			lo = int(c.Value.Int64())
			hi = lo + 1
		}
		var out []string
		for _, x := range g.paths(e.X) {
			for i := lo; i < hi; i++ {
				out = append(out, fmt.Sprintf("%s.e[%d]", x, i))
			}
		}
		return out
	}
	return nil
}

// within are the header instances at or below a C path.
func (u *usage) within(path string) []*instance {
	var out []*instance
	for _, h := range u.list {
		if h.path == path || len(h.path) > len(path) && h.path[:len(path)] == path && (h.path[len(path)] == '.') {
			out = append(out, h)
		}
	}
	return out
}

// touch notes a use of a place, which may be a scalar, a header or larger.
func (g *gen) touch(e ir.Expr, write, control bool) {
	if s, ok := e.(*ir.Slice); ok {
		g.touch(s.X, write, control)
		return
	}
	g.keep(e)
	if m, ok := e.(*ir.Member); ok {
		if _, ok := m.X.Type().(*ir.Header); ok {
			for _, p := range g.paths(m.X) {
				h := g.use.byPath[p]
				if h == nil {
					continue
				}
				if write {
					h.dirty[m.Field] = true
					g.noteSite(h, m)
					if !control {
						h.early[m.Field], h.read[m.Field] = true, true
					}
				} else {
					h.read[m.Field] = true
				}
				if _, ok := m.Field.Type.(*ir.Varbit); ok {
					g.use.varbitRead = true
				}
			}
			return
		}
	}
	for _, p := range g.paths(e) {
		if _, ok := ir.ScalarBits(e.Type()); ok {
			if !write {
				g.use.read[p] = true
			} else if control {
				g.use.dirty[p] = true
			}
			continue
		}
		g.touchAll(e.Type(), p, write, control)
		for _, h := range g.use.within(p) {
			for _, f := range h.typ.Fields {
				if write {
					h.dirty[f] = true
				} else {
					h.read[f] = true
				}
				if _, ok := f.Type.(*ir.Varbit); ok {
					g.use.varbitRead = true
				}
			}
			if write {
				h.validity = true
				g.use.validity = true
			}
		}
	}
}

// touchAll notes a use of the scalars of a struct.
func (g *gen) touchAll(t ir.Type, path string, write, control bool) {
	s, ok := t.(*ir.Struct)
	if !ok {
		return
	}
	for _, f := range s.Fields {
		p := path + "." + g.field(f)
		if _, ok := ir.ScalarBits(f.Type); !ok {
			g.touchAll(f.Type, p, write, control)
		} else if !write {
			g.use.read[p] = true
		} else if control {
			g.use.dirty[p] = true
		}
	}
}

// reads notes the places that an expression reads.
func (g *gen) reads(e ir.Expr) {
	switch e := e.(type) {
	case nil:
	case *ir.VarRef, *ir.Member, *ir.Index:
		g.touch(e, false, false)
		g.indices(e)
	case *ir.IsValid:
		g.indices(e.X)
	case *ir.StackIndex:
	default:
		for _, x := range operands(e) {
			g.reads(x)
		}
	}
}

// indices notes the reads in the indices of an lvalue.
func (g *gen) indices(e ir.Expr) {
	switch e := e.(type) {
	case *ir.Member:
		g.indices(e.X)
	case *ir.Slice:
		g.indices(e.X)
	case *ir.Index:
		g.reads(e.I)
		g.indices(e.X)
	}
}

// operands are the direct operands of an operator.
func operands(e ir.Expr) []ir.Expr {
	switch e := e.(type) {
	case *ir.Slice:
		return []ir.Expr{e.X}
	case *ir.Unary:
		return []ir.Expr{e.X}
	case *ir.Binary:
		return []ir.Expr{e.X, e.Y}
	case *ir.Cast:
		return []ir.Expr{e.X}
	case *ir.Mux:
		return []ir.Expr{e.Cond, e.Then, e.Else}
	case *ir.Tuple:
		return e.Elems
	}
	return nil
}

// writes notes an assignment to a place.
func (g *gen) writes(e ir.Expr, control bool) {
	if e == nil {
		return
	}
	if _, ok := e.(*ir.Slice); ok {
		g.touch(e, false, control) // the other bits stay
	}
	g.touch(e, true, control)
	g.indices(e)
}

// analyzeStmts notes what statements use. In an incremental checksum control the
// destinations are written by other means.
func (g *gen) analyzeStmts(ss []ir.Stmt, control bool) {
	g.site++
	for _, s := range ss {
		if s, ok := s.(*ir.Assign); ok { // what follows is done, too
			g.reads(s.Src)
			g.writes(s.Dst, control)
			continue
		}
		g.site++
		switch s := s.(type) {
		case *ir.Call:
			g.analyzeCall(s, control)
		case *ir.If:
			g.reads(s.Cond)
			g.analyzeStmts(s.Then, control)
			g.analyzeStmts(s.Else, control)
		case *ir.Switch:
			g.reads(s.X)
			for _, c := range s.Cases {
				g.analyzeStmts(c.Body, control)
			}
			g.analyzeStmts(s.Default, control)
		case *ir.Apply:
			g.writes(s.Hit, control)
			for _, k := range s.Table.Keys {
				g.reads(k.X)
			}
			for _, c := range s.Cases {
				g.analyzeStmts(c.Body, control)
			}
		case *ir.Block:
			g.analyzeStmts(s.Body, control)
		case *ir.Loop:
			g.analyzeStmts(s.Body, control)
		}
		g.site++
	}
	g.site++
}

func (g *gen) analyzeCall(s *ir.Call, control bool) {
	g.site++
	defer func() { g.site++ }()
	g.use.ops[s.Op] = true
	switch s.Op {
	case ir.OpExtract:
		for _, p := range g.paths(s.Dst) {
			if h := g.use.byPath[p]; h != nil {
				h.extracted = true
			}
			for _, h := range g.use.within(p) {
				h.extracted = true
			}
		}
		g.indices(s.Dst)
		for _, a := range s.Args {
			g.reads(a)
		}
		return
	case ir.OpEmit:
		g.indices(s.Args[0])
		return
	case ir.OpSetValid, ir.OpSetInvalid:
		g.indices(s.Args[0])
		for _, p := range g.paths(s.Args[0]) {
			for _, h := range g.use.within(p) {
				h.validity = true
				g.use.validity = true
				// The other members of a union become invalid.
				if h.union != "" {
					for _, o := range g.use.within(h.union) {
						o.validity = true
					}
				}
			}
		}
		return
	case ir.OpPushFront, ir.OpPopFront:
		g.touch(s.Args[0], false, control)
		g.touch(s.Args[0], true, control)
		return
	}
	for _, a := range s.Args {
		g.reads(a)
	}
	g.writes(s.Dst, control)
}

// analyze finds out what the whole program uses.
func (g *gen) analyze() {
	p := g.p
	for _, s := range p.Parser.States {
		g.analyzeStmts(s.Body, false)
		for _, e := range s.Next.Select {
			g.reads(e)
		}
	}
	for _, c := range p.Controls() {
		if c == p.ComputeChecksum && g.incremental {
			g.analyzeIncremental(c)
			continue
		}
		g.analyzeStmts(c.Body.Body, true)
		for _, a := range c.Actions {
			g.analyzeStmts(a.Body, true)
		}
	}
}
