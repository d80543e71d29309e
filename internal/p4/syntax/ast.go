package syntax

import "github.com/catena-nfv/catena/internal/p4/diag"

// Node is every piece of the tree that has a place in the source.
type Node interface {
	Span() diag.Span
}

// Loc is embedded in every node and holds its place: &Var{Loc: At(span), …}.
type Loc struct{ span diag.Span }

// At makes the Loc for a span.
func At(s diag.Span) Loc { return Loc{s} }

// Span returns the place of the node.
func (l Loc) Span() diag.Span { return l.span }

// Name is an identifier where it is declared or selected. Soft keywords (apply, key, actions,
// state, entries, type, priority, list) are names too.
type Name struct {
	Loc
	Text string
}

// Path is a name where it is used; Dot is set for `.name`, which is looked up at top level only.
//
//	prefixedNonTypeName, prefixedType: [ "." ] name
type Path struct {
	Loc
	Dot  bool
	Name Name
}

// String gives the path as it is written.
func (p Path) String() string {
	if p.Dot {
		return "." + p.Name.Text
	}
	return p.Name.Text
}

// Program is a parsed program: the declarations of the file and of all files it includes, in order.
//
//	p4program: { declaration | ";" }
type Program struct {
	Loc
	Decls []Decl
}

// Annotation is one `@name…` or a pragma.
//
//	annotation: "@" name | "@" name "(" annotationBody ")" | "@" name "[" structuredAnnotationBody "]"
//	            | "@pragma" name { token } end-of-line
//
// Body tells the forms apart. An unstructured body keeps its tokens; when they also happen to form
// an expression list, as in @name("x") or @field_list(1, 2), Exprs holds it parsed. A structured
// body has either Exprs or Fields.
type Annotation struct {
	Loc
	Name   Name
	Body   AnnotationBody
	Tokens []Token      // unstructured body and pragma
	Exprs  []Expr       // expression list
	Fields []NamedValue // key-value list of a structured body
}

// AnnotationBody is the form of an annotation.
type AnnotationBody uint8

// The forms of an annotation.
const (
	BodyNone         AnnotationBody = iota // @hidden
	BodyUnstructured                       // @name("x")
	BodyStructured                         // @my[a=1]
	BodyPragma                             // @pragma word word
)

// StringArg returns the text of an annotation whose body is a single string literal, such as
// @name("x").
func (a *Annotation) StringArg() (string, bool) {
	if len(a.Exprs) == 1 {
		if s, ok := a.Exprs[0].(*StringLit); ok {
			return s.Value, true
		}
	}
	return "", false
}

// Annotations is the list before a declaration, in source order.
type Annotations []*Annotation

// Get returns the first annotation of that name, or nil.
func (as Annotations) Get(name string) *Annotation {
	for _, a := range as {
		if a.Name.Text == name {
			return a
		}
	}
	return nil
}

// Direction of a parameter.
type Direction uint8

// The directions. DirNone is a directionless parameter: a compile-time value, an action's
// control-plane argument, or an extern or package object.
const (
	DirNone Direction = iota
	DirIn
	DirOut
	DirInOut
)

// String gives the keyword, "" for DirNone.
func (d Direction) String() string { return [...]string{"", "in", "out", "inout"}[d] }

// Param is one parameter.
//
//	parameter: optAnnotations direction typeRef name [ "=" expression ]
type Param struct {
	Loc
	Annots  Annotations
	Dir     Direction
	Type    Type
	Name    Name
	Default Expr // or nil
}

// Arg is one argument of a call or instantiation. Value is a *DontCare for `_`.
//
//	argument: [ name "=" ] ( expression | "_" )
type Arg struct {
	Loc
	Name  *Name // nil when positional
	Value Expr
}

// NamedValue is `name = expression` in a structure-valued expression, an annotation or a
// serializable enum.
//
//	kvPair: name "=" expression
type NamedValue struct {
	Loc
	Name  Name
	Value Expr
}
