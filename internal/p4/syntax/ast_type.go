package syntax

// Type is a type as written in the source. What a name means is the checker's business.
type Type interface {
	Node
	isType()
}

// BaseKind is the keyword of a base type without a width.
type BaseKind uint8

// The base types. KindInt is the arbitrary-precision int; bit without a width is a *BitsType.
const (
	KindBool BaseKind = iota
	KindError
	KindMatchKind
	KindString
	KindInt
	KindVoid
)

// String gives the keyword.
func (k BaseKind) String() string {
	return [...]string{"bool", "error", "match_kind", "string", "int", "void"}[k]
}

// BaseType is bool, error, match_kind, string, int or void.
//
//	baseType, typeOrVoid
type BaseType struct {
	Loc
	Kind BaseKind
}

// BitsKind tells the three kinds of bit strings apart.
type BitsKind uint8

// The kinds of bit strings.
const (
	KindBit BitsKind = iota
	KindSigned
	KindVarbit
)

// String gives the keyword.
func (k BitsKind) String() string { return [...]string{"bit", "int", "varbit"}[k] }

// BitsType is bit<W>, int<W>, varbit<W>, or plain bit.
//
//	baseType: BIT [ "<" ( INTEGER | "(" expression ")" ) ">" ] | INT "<" … ">" | VARBIT "<" … ">"
type BitsType struct {
	Loc
	Kind  BitsKind
	Width Expr // nil for plain `bit`, which is bit<1>
}

// NamedType is a declared type or a type parameter, perhaps specialized.
//
//	typeName: [ "." ] name
//	specializedType: typeName "<" typeArgumentList ">"
type NamedType struct {
	Loc
	Path Path
	Args []Type // nil when not specialized
}

// StackType is a header stack (an array).
//
//	headerStackType: ( typeName | specializedType ) "[" expression "]"
type StackType struct {
	Loc
	Elem Type
	Size Expr
}

// TupleType is tuple<…>.
//
//	tupleType: TUPLE "<" typeArgumentList ">"
type TupleType struct {
	Loc
	Elems []Type
}

// ListType is list<T>.
//
//	p4listType: LIST "<" typeArg ">"
type ListType struct {
	Loc
	Elem Type
}

// DontCareType is `_` in a type argument list.
//
//	typeArg: "_"
type DontCareType struct{ Loc }

func (*BaseType) isType()     {}
func (*BitsType) isType()     {}
func (*NamedType) isType()    {}
func (*StackType) isType()    {}
func (*TupleType) isType()    {}
func (*ListType) isType()     {}
func (*DontCareType) isType() {}
