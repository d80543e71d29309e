package compose

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
)

// unifier makes the types, headers and metadata of NF programs those of the
// composed one.
type unifier struct {
	c    *composer
	out  *ir.Program
	hdr  *ir.Struct
	meta *ir.Struct
	// made holds what was made of each NF program, so that replicas share it.
	made map[*ir.Program]*mapping
}

// mapping says what the parts of one NF program are in the composed one.
type mapping struct {
	types  map[ir.Type]ir.Type
	fields map[*ir.Field]*ir.Field
	errors map[int64]int64
	// own is the member of the composed metadata that holds the NF's own.
	own *ir.Field
	// Members of the composed headers struct: those that the NF declares, where it
	// does, and those that were there before.
	headers  map[*ir.Field]bool
	declared map[*ir.Field]diag.Span
	before   map[*ir.Field]bool
	shared   map[*ir.Field]bool // members of the composed metadata
}

func newUnifier(c *composer, out *ir.Program) *unifier {
	u := &unifier{c: c, out: out, made: map[*ir.Program]*mapping{}}
	// The two structs grow, so they must not be those of the backbone.
	grow := func(v *ir.Var) *ir.Struct {
		t, ok := v.Type.(*ir.Struct)
		if !ok {
			c.errorf(v.Span, "the type of %s is not a struct", v.Name)
			return &ir.Struct{}
		}
		n := *t
		n.Fields = append([]*ir.Field(nil), t.Fields...)
		for i, s := range out.Structs {
			if s == t {
				out.Structs[i] = &n
			}
		}
		v.Type = &n
		return &n
	}
	u.hdr, u.meta = grow(out.Hdr), grow(out.Meta)
	// So must the type of meta.sfc, whose bitmap is widened.
	t := *c.sfcType
	t.Fields = append([]*ir.Field(nil), t.Fields...)
	swap := map[*ir.Field]*ir.Field{}
	for i, f := range t.Fields {
		n := *f
		t.Fields[i], swap[f] = &n, &n
	}
	sfc := *c.sfc
	sfc.Type = &t
	swap[c.sfc] = &sfc
	for i, f := range u.meta.Fields {
		if f == c.sfc {
			u.meta.Fields[i] = &sfc
		}
	}
	for i, s := range out.Structs {
		if s == c.sfcType {
			out.Structs[i] = &t
		}
	}
	replaceFields(out, swap)
	c.sfc, c.sfcType, c.nodes, c.scope = &sfc, &t, swap[c.nodes], swap[c.scope]
	return u
}

// replaceFields makes every use of a field one of its replacement.
func replaceFields(p *ir.Program, swap map[*ir.Field]*ir.Field) {
	member := func(e ir.Expr) {
		if m, ok := e.(*ir.Member); ok {
			if n, ok := swap[m.Field]; ok {
				m.Field = n
			}
		}
	}
	stmts := func(ss []ir.Stmt) {
		ir.Walk(ss, func(s ir.Stmt) { ir.WalkExprs(s, member) })
	}
	for _, s := range p.Parser.States {
		stmts(s.Body)
		for _, e := range s.Next.Select {
			ir.WalkExpr(e, member)
		}
	}
	for _, k := range p.Controls() {
		stmts(k.Body.Body)
		for _, a := range k.Actions {
			stmts(a.Body)
		}
		for _, t := range k.Tables {
			for _, key := range t.Keys {
				ir.WalkExpr(key.X, member)
			}
		}
	}
}

// program unifies an NF program, once.
func (u *unifier) program(name string, p *ir.Program) *mapping {
	if m := u.made[p]; m != nil {
		return m
	}
	m := &mapping{
		types: map[ir.Type]ir.Type{}, fields: map[*ir.Field]*ir.Field{}, errors: map[int64]int64{},
		headers: map[*ir.Field]bool{}, declared: map[*ir.Field]diag.Span{}, before: map[*ir.Field]bool{}, shared: map[*ir.Field]bool{},
	}
	u.made[p] = m
	for _, f := range u.hdr.Fields {
		m.before[f] = true
	}
	u.mapErrors(p, m)
	// The types of what both programs have are the same first; then the other types
	// find their place, and last what has these types.
	added := u.mapHeaders(name, p, m)
	for _, t := range named(p) {
		if t != p.Hdr.Type && t != p.Meta.Type {
			u.mapNamed(name, t, m)
		}
	}
	for _, n := range p.Newtypes {
		if !slices.ContainsFunc(u.out.Newtypes, func(have *ir.Newtype) bool { return have.Name == n.Name }) {
			u.out.Newtypes = append(u.out.Newtypes, n)
		}
	}
	for _, f := range added {
		u.addHeader(name, f, m)
	}
	u.mapMembers(p.Std.Type, u.out.Std.Type, m)
	u.mapMetadata(name, p, m)
	return m
}

func (u *unifier) mapErrors(p *ir.Program, m *mapping) {
	at := map[string]int{}
	for i, e := range u.out.Errors {
		at[e] = i
	}
	for i, e := range p.Errors {
		if _, ok := at[e]; !ok {
			at[e] = len(u.out.Errors)
			u.out.Errors = append(u.out.Errors, e)
		}
		m.errors[int64(i)] = int64(at[e])
	}
}

// mapHeaders finds the headers of the NF among those of the composed program by their
// instance names, and returns those that are not there.
func (u *unifier) mapHeaders(name string, p *ir.Program, m *mapping) (missing []*ir.Field) {
	for _, f := range ir.FieldsOf(p.Hdr.Type) {
		i := slices.IndexFunc(u.hdr.Fields, func(g *ir.Field) bool { return g.Name == f.Name })
		if i < 0 {
			missing = append(missing, f)
			continue
		}
		have := u.hdr.Fields[i]
		if !sameStructure(f.Type, have.Type) {
			u.c.errorf(f.Span, "header %s of %s has another structure than that of the same name in the composed program: %s", f.Name, name, difference(f.Type, have.Type)).
				Note(have.Span, "the other is declared here")
		}
		u.knows(f, have, m)
		u.sameType(f.Type, have.Type, m)
	}
	return missing
}

// addHeader gives the composed program a header that only the NF has.
func (u *unifier) addHeader(name string, f *ir.Field, m *mapping) {
	if s, ok := f.Type.(*ir.Struct); ok {
		u.c.errorf(f.Span, "%s: %s is a struct %s among the headers; a program that is composed has headers, stacks and unions only", name, f.Name, s.Name)
	}
	n := *f
	n.Type = m.typeOf(f.Type)
	u.hdr.Fields = append(u.hdr.Fields, &n)
	u.knows(f, &n, m)
}

func (u *unifier) knows(f, have *ir.Field, m *mapping) {
	m.fields[f], m.headers[have], m.declared[have] = have, true, f.Span
}

// typeOf returns what a type of the NF is in the composed program.
func (m *mapping) typeOf(t ir.Type) ir.Type { return (&ir.Copier{Types: m.types}).CopyType(t) }

// sameType records that type a of the NF is type b of the composed program.
func (u *unifier) sameType(a, b ir.Type, m *mapping) {
	if a == b {
		return
	}
	if s, ok := a.(*ir.Stack); ok {
		if t, ok := b.(*ir.Stack); ok {
			u.sameType(s.Elem, t.Elem, m)
		}
	}
	m.types[a] = b
	u.mapMembers(a, b, m)
}

func (u *unifier) mapMembers(a, b ir.Type, m *mapping) {
	to := map[string]*ir.Field{}
	for _, g := range ir.FieldsOf(b) {
		to[g.Name] = g
	}
	for _, f := range ir.FieldsOf(a) {
		if g := to[f.Name]; g != nil && g != f {
			m.fields[f] = g
			u.sameType(f.Type, g.Type, m)
		}
	}
}

// mapNamed makes a named type one of the composed program: that of the same name
// and structure, or a new one.
func (u *unifier) mapNamed(nf string, t ir.Type, m *mapping) {
	if _, done := m.types[t]; done {
		return
	}
	name := t.String()
	taken := func(name string) bool {
		return slices.ContainsFunc(named(u.out), func(have ir.Type) bool { return have.String() == name })
	}
	for _, have := range named(u.out) {
		if have == t {
			return
		}
		if have.String() == name && sameStructure(t, have) {
			u.sameType(t, have, m)
			return
		}
	}
	if taken(name) {
		name = fresh(nf+"_"+name, taken)
	}
	n := copied(t, name, m)
	m.types[t] = n
	switch n := n.(type) {
	case *ir.Enum:
		u.out.Enums = append(u.out.Enums, n)
	case *ir.SerEnum:
		u.out.SerEnums = append(u.out.SerEnums, n)
	case *ir.Header:
		u.out.Headers = append(u.out.Headers, n)
	case *ir.Union:
		u.out.Unions = append(u.out.Unions, n)
	case *ir.Struct:
		u.out.Structs = append(u.out.Structs, n)
	}
}

// copied copies a type under a name; its fields stand for those of the original.
func copied(t ir.Type, name string, m *mapping) ir.Type {
	fields := func(fs []*ir.Field) []*ir.Field {
		out := make([]*ir.Field, len(fs))
		for i, f := range fs {
			n := *f
			n.Type = m.typeOf(f.Type)
			out[i], m.fields[f] = &n, &n
		}
		return out
	}
	switch t := t.(type) {
	case *ir.Enum:
		n := *t
		n.Name = name
		return &n
	case *ir.SerEnum:
		n := *t
		n.Name = name
		return &n
	case *ir.Header:
		n := *t
		n.Name, n.Fields = name, fields(t.Fields)
		return &n
	case *ir.Union:
		n := *t
		n.Name, n.Fields = name, fields(t.Fields)
		return &n
	case *ir.Struct:
		n := *t
		n.Name, n.Fields = name, fields(t.Fields)
		return &n
	}
	return t
}

// mapMetadata makes the NF's metadata a member of the composed metadata, but for
// what is shared.
func (u *unifier) mapMetadata(name string, p *ir.Program, m *mapping) {
	t, ok := p.Meta.Type.(*ir.Struct)
	if !ok {
		u.c.errorf(p.Meta.Span, "%s: the type of the metadata is not a struct", name)
		return
	}
	typeTaken := func(n string) bool {
		return slices.ContainsFunc(named(u.out), func(t ir.Type) bool { return t.String() == n })
	}
	own := &ir.Struct{Name: fresh(name+"_metadata_t", typeTaken), Span: t.Span}
	for _, f := range t.Fields {
		n := *f
		n.Type = m.typeOf(f.Type)
		if !f.Annotations.Has(SharedAnnotation) {
			own.Fields = append(own.Fields, &n)
			m.fields[f] = &n
			continue
		}
		have := &n
		if i := slices.IndexFunc(u.meta.Fields, func(g *ir.Field) bool { return g.Name == f.Name }); i < 0 {
			u.meta.Fields = append(u.meta.Fields, have)
		} else if have = u.meta.Fields[i]; !have.Annotations.Has(SharedAnnotation) || !sameStructure(have.Type, f.Type) {
			u.c.errorf(f.Span, "shared metadata %s of %s is something else in the composed program", f.Name, name).Note(have.Span, "the other is declared here")
		}
		m.fields[f] = have
		m.shared[have] = true
		u.sameType(f.Type, have.Type, m)
	}
	if len(own.Fields) > 0 {
		member := fresh(name, func(n string) bool {
			return slices.ContainsFunc(u.meta.Fields, func(f *ir.Field) bool { return f.Name == n })
		})
		m.own = &ir.Field{Name: member, Type: own, Span: t.Span}
		u.meta.Fields = append(u.meta.Fields, m.own)
		u.out.Structs = append(u.out.Structs, own)
	}
	// Types are declared before their use: the two structs that grow go last.
	for _, grown := range []*ir.Struct{u.hdr, u.meta} {
		if i := slices.Index(u.out.Structs, grown); i >= 0 {
			u.out.Structs = append(slices.Delete(u.out.Structs, i, i+1), grown)
		}
	}
}

// copier returns a Copier from the NF program to the composed one.
func (u *unifier) copier(p *ir.Program, m *mapping) *ir.Copier {
	return &ir.Copier{
		Vars:   map[*ir.Var]*ir.Var{p.Hdr: u.out.Hdr, p.Std: u.out.Std},
		Fields: m.fields,
		Types:  m.types,
		Expr: func(e ir.Expr) ir.Expr {
			switch e := e.(type) {
			case *ir.Const:
				if _, ok := e.T.(*ir.ErrorType); ok {
					n := *e
					n.Value = big.NewInt(m.errors[e.Value.Int64()])
					return &n
				}
			case *ir.Member:
				// Fields are mapped by now, the variable is not: its own member or
				// the composed metadata takes its place.
				v, ok := e.X.(*ir.VarRef)
				if !ok || v.Var != p.Meta {
					break
				}
				base := ir.Expr(&ir.VarRef{Var: u.out.Meta, Span: v.Span})
				if !m.shared[e.Field] {
					base = &ir.Member{X: base, Field: m.own, Span: v.Span}
				}
				return &ir.Member{X: base, Field: e.Field, Span: e.Span}
			}
			return e
		},
	}
}

// named returns all named types of a program.
func named(p *ir.Program) []ir.Type {
	var out []ir.Type
	for _, t := range p.Enums {
		out = append(out, t)
	}
	for _, t := range p.SerEnums {
		out = append(out, t)
	}
	for _, t := range p.Headers {
		out = append(out, t)
	}
	for _, t := range p.Unions {
		out = append(out, t)
	}
	for _, t := range p.Structs {
		out = append(out, t)
	}
	return out
}

// sameStructure reports whether two types hold the same: fields of the same names
// and structures in the same order, whatever the types are called.
func sameStructure(a, b ir.Type) bool {
	if ir.Equal(a, b) {
		return true
	}
	sameFields := func(x, y []*ir.Field) bool {
		if len(x) != len(y) {
			return false
		}
		for i := range x {
			if x[i].Name != y[i].Name || !sameStructure(x[i].Type, y[i].Type) {
				return false
			}
		}
		return true
	}
	switch a := a.(type) {
	case *ir.Enum:
		b, ok := b.(*ir.Enum)
		if !ok || len(a.Members) != len(b.Members) {
			return false
		}
		for i := range a.Members {
			if a.Members[i] != b.Members[i] {
				return false
			}
		}
		return true
	case *ir.SerEnum:
		b, ok := b.(*ir.SerEnum)
		if !ok || !ir.Equal(a.Under, b.Under) || len(a.Members) != len(b.Members) {
			return false
		}
		for i := range a.Members {
			if a.Members[i].Name != b.Members[i].Name || a.Members[i].Value.Value.Cmp(b.Members[i].Value.Value) != 0 {
				return false
			}
		}
		return true
	case *ir.Header:
		b, ok := b.(*ir.Header)
		return ok && sameFields(a.Fields, b.Fields)
	case *ir.Union:
		b, ok := b.(*ir.Union)
		return ok && sameFields(a.Fields, b.Fields)
	case *ir.Struct:
		b, ok := b.(*ir.Struct)
		return ok && a.Tuple == b.Tuple && sameFields(a.Fields, b.Fields)
	case *ir.Stack:
		b, ok := b.(*ir.Stack)
		return ok && a.Size == b.Size && sameStructure(a.Elem, b.Elem)
	}
	return false
}

// difference says in what two types of another structure differ, as far as one can see
// it at their fields.
func difference(a, b ir.Type) string {
	x, y := ir.FieldsOf(a), ir.FieldsOf(b)
	if x == nil || y == nil {
		return fmt.Sprintf("it is %s, the other %s", a, b)
	}
	for i := range min(len(x), len(y)) {
		if x[i].Name != y[i].Name || !sameStructure(x[i].Type, y[i].Type) {
			return fmt.Sprintf("its field %d is %s %s, the other's %s %s", i+1, x[i].Type, x[i].Name, y[i].Type, y[i].Name)
		}
	}
	return fmt.Sprintf("it has %d fields, the other %d", len(x), len(y))
}
