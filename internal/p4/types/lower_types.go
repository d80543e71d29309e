package types

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/syntax"
)

// typeTable lowers types, each named one once.
type typeTable struct {
	l     *lowerer
	known map[string]ir.Type // by key
	order map[ir.Type]int    // of declaration
	all   []ir.Type
	names *nameSet
}

func (t *typeTable) init(l *lowerer) {
	t.l, t.known, t.order, t.names = l, map[string]ir.Type{}, map[ir.Type]int{}, newNameSet()
}

// key identifies a type.
func (t *typeTable) key(u Type) string {
	switch u := resolved(u).(type) {
	case *Enum:
		return fmt.Sprintf("enum%p", u)
	case *SerEnum:
		return fmt.Sprintf("enum%p", u)
	case *Newtype:
		return t.key(u.Under)
	case *Struct:
		return fmt.Sprintf("struct%p<%s>", u.info, t.keys(u.Args))
	case *Stack:
		return fmt.Sprintf("%s[%d]", t.key(u.Elem), u.Size)
	case *Tuple:
		return "tuple<" + t.keys(u.Elems) + ">"
	case *ListLit:
		return "tuple<" + t.keys(u.Elems) + ">"
	case *RecordLit:
		return "record<" + strings.Join(u.Names, ",") + ":" + t.keys(u.Types) + ">"
	default:
		return u.String()
	}
}

func (t *typeTable) keys(us []Type) string {
	parts := make([]string, len(us))
	for i, u := range us {
		parts[i] = t.key(u)
	}
	return strings.Join(parts, ",")
}

// intWidth is the width that a number gets that nothing gives a width: an argument of
// an extern for which any type would do.
const intWidth = 32

func (t *typeTable) lower(u Type) ir.Type {
	u = resolved(u)
	switch u := u.(type) {
	case Basic:
		switch u {
		case Bool:
			return &ir.Bool{}
		case Error:
			return &ir.ErrorType{}
		case String:
			return &ir.String{}
		case Int:
			return &ir.Bits{Width: intWidth}
		}
	case *Bits:
		return irBits(u)
	case *Varbit:
		return &ir.Varbit{Max: u.Max}
	case *Newtype:
		return t.lower(u.Under)
	case *Stack:
		return &ir.Stack{Elem: t.lower(u.Elem), Size: u.Size}
	case *Enum, *SerEnum, *Struct, *Tuple, *ListLit, *RecordLit:
		k := t.key(u)
		if r := t.known[k]; r != nil {
			return r
		}
		r, order := t.declare(u)
		t.known[k] = r
		t.order[r] = order
		t.all = append(t.all, r)
		return r
	}
	t.l.fail(diag.Span{}, CodeUnsupported, "a value of type %s cannot be stored", u)
	return nil
}

// declare makes the IR type of a named type or tuple and says where it comes in the
// order of declarations.
func (t *typeTable) declare(u Type) (ir.Type, int) {
	switch u := u.(type) {
	case *Enum:
		return &ir.Enum{Name: t.name(u.String()), Members: u.Members, Span: nodeSpan(u.Decl)}, u.order
	case *SerEnum:
		e := &ir.SerEnum{Name: t.name(u.String()), Under: irBits(u.Under.(*Bits)), Span: nodeSpan(u.Decl)}
		for _, m := range u.Members {
			e.Members = append(e.Members, ir.SerMember{Name: m.Name, Value: &ir.Const{T: e.Under, Value: m.Value}})
		}
		return e, u.order
	case *Struct:
		return t.structure(u)
	}
	s := &ir.Struct{Tuple: true, Name: t.name("tuple")}
	names, types := elemTypes(u)
	order := 0
	for i, e := range types {
		name := fmt.Sprintf("f%d", i)
		if _, record := u.(*RecordLit); record {
			name = names[i]
		}
		f := &ir.Field{Name: name, Type: t.lower(e), TypeName: t.newtypeName(e)}
		order = max(order, t.orderOf(f.Type))
		s.Fields = append(s.Fields, f)
	}
	return s, order
}

// orderOf is where a type comes in the order of declarations; 0 for those without one.
func (t *typeTable) orderOf(x ir.Type) int {
	if s, ok := x.(*ir.Stack); ok {
		return t.order[s.Elem]
	}
	return t.order[x]
}

// newtypeName gives the name of a newtype, "" for other types, and lists it.
func (t *typeTable) newtypeName(u Type) string {
	n, ok := resolved(u).(*Newtype)
	if !ok {
		return ""
	}
	p := t.l.prog
	if !slices.ContainsFunc(p.Newtypes, func(x *ir.Newtype) bool { return x.Name == n.String() }) {
		x := &ir.Newtype{Name: n.String(), Type: t.lower(n), TypeName: t.newtypeName(n.Under)}
		if n.Decl != nil {
			x.Annotations, x.Span = t.l.annots(n.Decl.Annots), n.Decl.Name.Span()
		}
		p.Newtypes = append(p.Newtypes, x)
	}
	return n.String()
}

func (t *typeTable) structure(u *Struct) (ir.Type, int) {
	d := u.info.decl
	name := t.name(mangle(u))
	order := u.info.order
	var fields []*ir.Field
	for _, f := range u.Fields() {
		if isStruct(f.Type) && isHeader(u) {
			for _, g := range t.flatten(f.Name, f) {
				order = max(order, t.orderOf(g.Type))
				fields = append(fields, g)
			}
			continue
		}
		n := t.field(f.Name, f)
		order = max(order, t.orderOf(n.Type))
		fields = append(fields, n)
	}
	annots := t.l.annots(d.Annots)
	switch d.Kind {
	case syntax.KindHeader:
		return &ir.Header{Name: name, Fields: fields, Annotations: annots, Span: nodeSpan(d)}, order
	case syntax.KindUnion:
		return &ir.Union{Name: name, Fields: fields, Annotations: annots, Span: nodeSpan(d)}, order
	}
	return &ir.Struct{Name: name, Fields: fields, Annotations: annots, Span: nodeSpan(d)}, order
}

func (t *typeTable) field(name string, f *Field) *ir.Field {
	return &ir.Field{Name: name, Type: t.lower(f.Type), TypeName: t.newtypeName(f.Type), Annotations: t.l.annots(f.Decl.Annots), Span: f.Decl.Name.Span()}
}

// flatten gives the fields of a struct within a header.
func (t *typeTable) flatten(prefix string, f *Field) []*ir.Field {
	s, ok := resolved(f.Type).(*Struct)
	if !ok {
		return []*ir.Field{t.field(prefix, f)}
	}
	var out []*ir.Field
	for _, g := range s.Fields() {
		out = append(out, t.flatten(prefix+"."+g.Name, g)...)
	}
	return out
}

func (t *typeTable) name(n string) string { return t.names.take(n) }

// mangle gives a generic type with its arguments a name that P4 can have.
func mangle(u *Struct) string {
	name := u.info.decl.Name.Text
	for _, a := range u.Args {
		name += "_" + strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
				return r
			}
			return '_'
		}, a.String())
	}
	return name
}

// list gives the types in the order in which they are to be declared: as the program
// declares them, a type made of others behind these.
func (t *typeTable) list() (enums []*ir.Enum, sers []*ir.SerEnum, headers []*ir.Header, unions []*ir.Union, structs []*ir.Struct) {
	all := append([]ir.Type(nil), t.all...)
	sort.SliceStable(all, func(i, j int) bool { return t.order[all[i]] < t.order[all[j]] })
	for _, x := range all {
		switch x := x.(type) {
		case *ir.Enum:
			enums = append(enums, x)
		case *ir.SerEnum:
			sers = append(sers, x)
		case *ir.Header:
			headers = append(headers, x)
		case *ir.Union:
			unions = append(unions, x)
		case *ir.Struct:
			structs = append(structs, x)
		}
	}
	return enums, sers, headers, unions, structs
}
