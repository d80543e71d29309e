package types

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/syntax"
)

// Type is the type of an expression. The kinds from *FuncRef on are not types of
// P4: they say what a name stands for that is no value.
type Type interface {
	String() string
	isType()
}

// Basic is a type without parts.
type Basic string

// The basic types. Int is the integers without a width; Invalid, Dots and DontCare
// are the types of `{#}`, `...` and `_`.
const (
	Bad       Basic = "<error>"
	Bool      Basic = "bool"
	Int       Basic = "int"
	String    Basic = "string"
	Error     Basic = "error"
	MatchKind Basic = "match_kind"
	Void      Basic = "void"
	Invalid   Basic = "{#}"
	Dots      Basic = "..."
	DontCare  Basic = "_"
)

// Bits is bit<Width> or int<Width>.
type Bits struct {
	Width  int
	Signed bool
}

// Varbit is varbit<Max>.
type Varbit struct{ Max int }

// Enum is an enumeration without values.
type Enum struct {
	Decl    *syntax.Enum
	Members []string
	order   int
}

// SerEnum is an enumeration with an underlying type.
type SerEnum struct {
	Decl    *syntax.Enum
	Under   Type // *Bits
	Members []SerMember
	order   int
}

// SerMember is a member of a SerEnum.
type SerMember struct {
	Name  string
	Value *big.Int
}

// Newtype is what `type T N` declares.
type Newtype struct {
	Decl  *syntax.Typedef
	Under Type
}

// Field is a field of a structure.
type Field struct {
	Name string
	Type Type
	Decl *syntax.Field
}

// structInfo is a declaration of a struct, header or header union.
type structInfo struct {
	decl    *syntax.Struct
	tparams []*TypeParam
	fields  []*Field
	order   int
}

// Struct is a struct, header or header union; Args are those of a generic one.
type Struct struct {
	info *structInfo
	Args []Type
}

// Stack is a header stack.
type Stack struct {
	Elem Type
	Size int
}

// Tuple is tuple<…>.
type Tuple struct{ Elems []Type }

// List is list<T>.
type List struct{ Elem Type }

// Set is the type of a keyset.
type Set struct{ Elem Type }

// externInfo is a declaration of an extern type.
type externInfo struct {
	decl    *syntax.ExternObject
	tparams []*TypeParam
	ctors   []*Sig
	methods map[string][]*Sig
}

// Extern is an extern type.
type Extern struct {
	info *externInfo
	Args []Type
}

// blockInfo is a declaration of a parser, control or package, or of the type of one.
type blockInfo struct {
	kind    blockKind
	name    string
	decl    syntax.Decl
	isType  bool // a declaration without a body: parser P(…);
	tparams []*TypeParam
	params  []*Param // of apply; none of a package
	ctor    []*Param // of the constructor
}

type blockKind string

const (
	parserBlock  blockKind = "parser"
	controlBlock blockKind = "control"
	packageBlock blockKind = "package"
)

// Block is the type of a parser, control or package object.
type Block struct {
	info *blockInfo
	Args []Type
}

// TypeParam is a type parameter within its declaration.
type TypeParam struct {
	Name string
	decl syntax.Name
}

// infer is a type that is to be found from the arguments of a call.
type infer struct {
	param *TypeParam
	bound Type
}

// ListLit is the type of { a, b } before it is known what it becomes.
type ListLit struct {
	Elems []Type
	rest  bool // `...` at the end
}

// RecordLit is the type of { a = 1, … } before it is known what it becomes.
type RecordLit struct {
	Names []string
	Types []Type
	rest  bool
}

// Param is a parameter of anything that can be called.
type Param struct {
	Name     string
	Dir      syntax.Direction
	Type     Type
	Decl     *syntax.Param
	Optional bool // @optional
	obj      *object
}

// Sig is something that can be called.
type Sig struct {
	kind     callKind
	name     string
	decl     syntax.Node
	tparams  []*TypeParam
	params   []*Param
	ret      Type
	abstract bool
	object   *object
}

type callKind string

const (
	callFunction callKind = "function"
	callExtern   callKind = "extern function"
	callMethod   callKind = "method"
	callAction   callKind = "action"
	callCtor     callKind = "constructor"
	callApply    callKind = "apply" // of a parser or control
)

// What a name can stand for, besides a value.
type (
	// FuncRef is a function with its overloads.
	FuncRef struct {
		name string
		sigs []*Sig
	}
	// MethodRef is x.name of an extern object.
	MethodRef struct {
		recv *Extern
		name string
		sigs []*Sig
	}
	// BuiltinRef is x.name of a header, union, stack, table or block.
	BuiltinRef struct {
		recv Type
		name string
	}
	// ActionRef is an action.
	ActionRef struct{ sig *Sig }
	// TableRef is a table.
	TableRef struct{ obj *object }
	// TypeRef is a type where a value could stand.
	TypeRef struct{ T Type }
	// ApplyResult is what t.apply() gives.
	ApplyResult struct{ table *object }
	// ActionRun is t.apply().action_run.
	ActionRun struct{ table *object }
)

func (Basic) isType()        {}
func (*Bits) isType()        {}
func (*Varbit) isType()      {}
func (*Enum) isType()        {}
func (*SerEnum) isType()     {}
func (*Newtype) isType()     {}
func (*Struct) isType()      {}
func (*Stack) isType()       {}
func (*Tuple) isType()       {}
func (*List) isType()        {}
func (*Set) isType()         {}
func (*Extern) isType()      {}
func (*Block) isType()       {}
func (*TypeParam) isType()   {}
func (*infer) isType()       {}
func (*ListLit) isType()     {}
func (*RecordLit) isType()   {}
func (*FuncRef) isType()     {}
func (*MethodRef) isType()   {}
func (*BuiltinRef) isType()  {}
func (*ActionRef) isType()   {}
func (*TableRef) isType()    {}
func (*TypeRef) isType()     {}
func (*ApplyResult) isType() {}
func (*ActionRun) isType()   {}

func (t Basic) String() string { return string(t) }
func (t *Bits) String() string {
	if t.Signed {
		return fmt.Sprintf("int<%d>", t.Width)
	}
	return fmt.Sprintf("bit<%d>", t.Width)
}
func (t *Varbit) String() string    { return fmt.Sprintf("varbit<%d>", t.Max) }
func (t *Enum) String() string      { return t.Decl.Name.Text }
func (t *SerEnum) String() string   { return t.Decl.Name.Text }
func (t *Newtype) String() string   { return t.Decl.Name.Text }
func (t *Struct) String() string    { return t.info.decl.Name.Text + angle(t.Args) }
func (t *Stack) String() string     { return fmt.Sprintf("%s[%d]", t.Elem, t.Size) }
func (t *Tuple) String() string     { return "tuple<" + join(t.Elems) + ">" }
func (t *List) String() string      { return "list<" + t.Elem.String() + ">" }
func (t *Set) String() string       { return "set<" + t.Elem.String() + ">" }
func (t *Extern) String() string    { return t.info.decl.Name.Text + angle(t.Args) }
func (t *Block) String() string     { return t.info.name + angle(t.Args) }
func (t *TypeParam) String() string { return t.Name }
func (t *infer) String() string {
	if t.bound != nil {
		return t.bound.String()
	}
	return t.param.Name
}
func (t *ListLit) String() string { return "{" + join(t.Elems) + "}" }
func (t *RecordLit) String() string {
	parts := make([]string, len(t.Names))
	for i, n := range t.Names {
		parts[i] = n + "=" + t.Types[i].String()
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
func (t *FuncRef) String() string     { return "function " + t.name }
func (t *MethodRef) String() string   { return "method " + t.name }
func (t *BuiltinRef) String() string  { return "method " + t.name }
func (t *ActionRef) String() string   { return "action " + t.sig.name }
func (t *TableRef) String() string    { return "table " + t.obj.name }
func (t *TypeRef) String() string     { return "type " + t.T.String() }
func (t *ApplyResult) String() string { return "result of " + t.table.name + ".apply()" }
func (t *ActionRun) String() string   { return "action_run of " + t.table.name }

func join(ts []Type) string {
	parts := make([]string, len(ts))
	for i, t := range ts {
		parts[i] = t.String()
	}
	return strings.Join(parts, ", ")
}

func angle(ts []Type) string {
	if len(ts) == 0 {
		return ""
	}
	return "<" + join(ts) + ">"
}

// resolved follows the bindings of inferred types at the top.
func resolved(t Type) Type {
	for {
		v, ok := t.(*infer)
		if !ok || v.bound == nil {
			return t
		}
		t = v.bound
	}
}

// identical reports whether two types are one.
func identical(a, b Type) bool {
	a, b = resolved(a), resolved(b)
	switch a := a.(type) {
	case Basic:
		return a == b
	case *Bits:
		b, ok := b.(*Bits)
		return ok && *a == *b
	case *Varbit:
		b, ok := b.(*Varbit)
		return ok && *a == *b
	case *Struct:
		b, ok := b.(*Struct)
		return ok && a.info == b.info && identicalList(a.Args, b.Args)
	case *Stack:
		b, ok := b.(*Stack)
		return ok && a.Size == b.Size && identical(a.Elem, b.Elem)
	case *Tuple:
		b, ok := b.(*Tuple)
		return ok && identicalList(a.Elems, b.Elems)
	case *List:
		b, ok := b.(*List)
		return ok && identical(a.Elem, b.Elem)
	case *Set:
		b, ok := b.(*Set)
		return ok && identical(a.Elem, b.Elem)
	case *Extern:
		b, ok := b.(*Extern)
		return ok && a.info == b.info && identicalList(a.Args, b.Args)
	case *Block:
		b, ok := b.(*Block)
		return ok && a.info == b.info && identicalList(a.Args, b.Args)
	}
	return a == b
}

func identicalList(a, b []Type) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !identical(a[i], b[i]) {
			return false
		}
	}
	return true
}

// subst replaces type parameters, and the inferred types that are bound.
type subst map[*TypeParam]Type

func bind(params []*TypeParam, args []Type) subst {
	s := subst{}
	for i, p := range params {
		if i < len(args) {
			s[p] = args[i]
		}
	}
	return s
}

func (s subst) apply(t Type) Type {
	switch t := t.(type) {
	case *TypeParam:
		if u, ok := s[t]; ok {
			return u
		}
	case *infer:
		if t.bound != nil {
			return s.apply(t.bound)
		}
	case *Struct:
		if len(t.Args) > 0 {
			return &Struct{t.info, s.list(t.Args)}
		}
	case *Stack:
		return &Stack{s.apply(t.Elem), t.Size}
	case *Tuple:
		return &Tuple{s.list(t.Elems)}
	case *List:
		return &List{s.apply(t.Elem)}
	case *Set:
		return &Set{s.apply(t.Elem)}
	case *Extern:
		if len(t.Args) > 0 {
			return &Extern{t.info, s.list(t.Args)}
		}
	case *Block:
		if len(t.Args) > 0 {
			return &Block{t.info, s.list(t.Args)}
		}
	case *ListLit:
		return &ListLit{s.list(t.Elems), t.rest}
	case *RecordLit:
		return &RecordLit{t.Names, s.list(t.Types), t.rest}
	}
	return t
}

func (s subst) list(ts []Type) []Type {
	out := make([]Type, len(ts))
	for i, t := range ts {
		out[i] = s.apply(t)
	}
	return out
}

// Fields returns the fields of a structure with its type arguments put in.
func (t *Struct) Fields() []*Field {
	if len(t.info.tparams) == 0 {
		return t.info.fields
	}
	s := bind(t.info.tparams, t.Args)
	out := make([]*Field, len(t.info.fields))
	for i, f := range t.info.fields {
		out[i] = &Field{Name: f.Name, Type: s.apply(f.Type), Decl: f.Decl}
	}
	return out
}

func (t *Struct) kind() syntax.StructKind { return t.info.decl.Kind }

func (t *Struct) field(name string) (*Field, int) {
	for i, f := range t.Fields() {
		if f.Name == name {
			return f, i
		}
	}
	return nil, -1
}

func isHeader(t Type) bool { return structKind(t, syntax.KindHeader) }
func isUnion(t Type) bool  { return structKind(t, syntax.KindUnion) }
func isStruct(t Type) bool { return structKind(t, syntax.KindStruct) }

func structKind(t Type, k syntax.StructKind) bool {
	s, ok := resolved(t).(*Struct)
	return ok && s.kind() == k
}

func isBad(t Type) bool { return t == nil || resolved(t) == Bad }

// base removes newtypes and serializable enums, down to the representation.
func base(t Type) Type {
	for {
		switch u := resolved(t).(type) {
		case *Newtype:
			t = u.Under
		case *SerEnum:
			t = u.Under
		default:
			return u
		}
	}
}

// hasTypeParam reports whether a type depends on a type parameter or an inferred
// type without a binding.
func hasTypeParam(t Type) bool {
	switch t := resolved(t).(type) {
	case *TypeParam, *infer:
		return true
	case *Struct:
		return anyTypeParam(t.Args)
	case *Stack:
		return hasTypeParam(t.Elem)
	case *Tuple:
		return anyTypeParam(t.Elems)
	case *List:
		return hasTypeParam(t.Elem)
	case *Extern:
		return anyTypeParam(t.Args)
	case *Block:
		return anyTypeParam(t.Args)
	case *ListLit:
		return anyTypeParam(t.Elems)
	case *RecordLit:
		return anyTypeParam(t.Types)
	}
	return false
}

func anyTypeParam(ts []Type) bool {
	for _, t := range ts {
		if hasTypeParam(t) {
			return true
		}
	}
	return false
}
