package syntax

import "math/big"

// Expr is an expression, a keyset or a switch label. Parentheses are not kept: the tree says
// what belongs together, and the printer puts back those that are needed.
type Expr interface {
	Node
	isExpr()
}

// IntLit is an integer literal such as 10, 8w0xFF or 4s7.
//
//	INTEGER
type IntLit struct {
	Loc
	Value  *big.Int
	Sized  bool   // written with a width: W w … or W s …
	Signed bool   // written with s
	Width  int    // bits, meaningful only when Sized
	Text   string // as written
}

// StringLit is a string literal; Value has its escapes (\" \\ \n) resolved.
//
//	STRING_LITERAL
type StringLit struct {
	Loc
	Value string
}

// BoolLit is true or false.
//
//	TRUE | FALSE
type BoolLit struct {
	Loc
	Value bool
}

// This is the keyword `this`, in an abstract method's implementation.
//
//	THIS
type This struct{ Loc }

// PathExpr is a name that was not declared as a type before this point.
//
//	prefixedNonTypeName
type PathExpr struct {
	Loc
	Path Path
}

// TypeExpr is a type where an expression can begin: the left of `E.member`, `error.NoError` and
// `MyParser.apply`, or the callee of a constructor call `counter<…>(…)`.
//
//	typeName "." member | ERROR "." member | namedType "(" argumentList ")"
type TypeExpr struct {
	Loc
	Type Type
}

// Member is x.name.
//
//	expression "." member
type Member struct {
	Loc
	X    Expr
	Name Name
}

// Index is x[i], of a stack or a tuple.
//
//	expression "[" expression "]"
type Index struct {
	Loc
	X, Index Expr
}

// Slice is x[hi:lo].
//
//	expression "[" expression ":" expression "]"
type Slice struct {
	Loc
	X, Hi, Lo Expr
}

// Unary is op x, op being one of OpNot, OpCompl, OpSub, OpAdd.
type Unary struct {
	Loc
	Op Op
	X  Expr
}

// Binary is x op y.
type Binary struct {
	Loc
	Op   Op
	X, Y Expr
}

// Ternary is cond ? then : els.
//
//	expression "?" expression ":" expression
type Ternary struct {
	Loc
	Cond, Then, Else Expr
}

// Cast is (type) x.
//
//	"(" typeRef ")" expression
type Cast struct {
	Loc
	Type Type
	X    Expr
}

// Call is a call of a function, method, action or table's apply, or (when Fun is a *TypeExpr) of a
// constructor, whose type arguments are then part of the type.
//
//	expression [ "<" realTypeArgumentList ">" ] "(" argumentList ")" | namedType "(" argumentList ")"
type Call struct {
	Loc
	Fun      Expr
	TypeArgs []Type // nil when there are none
	Args     []Arg
}

// ListExpr is { a, b, … }.
//
//	"{" expressionList optTrailingComma "}"
type ListExpr struct {
	Loc
	Elems []Expr // an element may be *Dots: the rest takes its defaults
}

// RecordExpr is { a = 1, b = 2 }, with Default set when `...` ends it.
//
//	"{" kvList [ "," DOTS ] optTrailingComma "}"
type RecordExpr struct {
	Loc
	Fields  []NamedValue
	Default bool
}

// InvalidHeader is {#}.
//
//	"{#}"
type InvalidHeader struct{ Loc }

// Dots is `...`, the default value of its type.
//
//	DOTS
type Dots struct{ Loc }

// DontCare is `_` as an argument or a keyset.
//
//	"_"
type DontCare struct{ Loc }

// DefaultExpr is `default` as a keyset or a switch label.
//
//	DEFAULT
type DefaultExpr struct{ Loc }

// MaskExpr is the keyset value &&& mask.
//
//	expression "&&&" expression
type MaskExpr struct {
	Loc
	Value, Mask Expr
}

// RangeExpr is lo .. hi, both included: a keyset, or what a for statement walks over.
//
//	expression ".." expression
type RangeExpr struct {
	Loc
	Lo, Hi Expr
}

// TupleKeyset is a parenthesized keyset of two or more elements. (One element in parentheses is the
// element itself.)
//
//	tupleKeysetExpression: "(" simpleKeysetExpression "," simpleExpressionList ")"
type TupleKeyset struct {
	Loc
	Elems []Expr
}

func (*IntLit) isExpr()        {}
func (*StringLit) isExpr()     {}
func (*BoolLit) isExpr()       {}
func (*This) isExpr()          {}
func (*PathExpr) isExpr()      {}
func (*TypeExpr) isExpr()      {}
func (*Member) isExpr()        {}
func (*Index) isExpr()         {}
func (*Slice) isExpr()         {}
func (*Unary) isExpr()         {}
func (*Binary) isExpr()        {}
func (*Ternary) isExpr()       {}
func (*Cast) isExpr()          {}
func (*Call) isExpr()          {}
func (*ListExpr) isExpr()      {}
func (*RecordExpr) isExpr()    {}
func (*InvalidHeader) isExpr() {}
func (*Dots) isExpr()          {}
func (*DontCare) isExpr()      {}
func (*DefaultExpr) isExpr()   {}
func (*MaskExpr) isExpr()      {}
func (*RangeExpr) isExpr()     {}
func (*TupleKeyset) isExpr()   {}

// Op is an operator of a unary or binary expression, or of a compound assignment.
type Op uint8

// The operators. OpNone is the plain assignment.
const (
	OpNone   Op = iota
	OpAdd       // + (also unary)
	OpSub       // - (also unary)
	OpSatAdd    // |+|
	OpSatSub    // |-|
	OpMul       // *
	OpDiv       // /
	OpMod       // %
	OpShl       // <<
	OpShr       // >>
	OpAnd       // &
	OpOr        // |
	OpXor       // ^
	OpConcat    // ++
	OpLAnd      // &&
	OpLOr       // ||
	OpEq        // ==
	OpNe        // !=
	OpLt        // <
	OpLe        // <=
	OpGt        // >
	OpGe        // >=
	OpNot       // ! (unary only)
	OpCompl     // ~ (unary only)
)

var opText = [...]string{
	OpNone: "", OpAdd: "+", OpSub: "-", OpSatAdd: "|+|", OpSatSub: "|-|", OpMul: "*", OpDiv: "/",
	OpMod: "%", OpShl: "<<", OpShr: ">>", OpAnd: "&", OpOr: "|", OpXor: "^", OpConcat: "++",
	OpLAnd: "&&", OpLOr: "||", OpEq: "==", OpNe: "!=", OpLt: "<", OpLe: "<=", OpGt: ">", OpGe: ">=",
	OpNot: "!", OpCompl: "~",
}

// String gives the operator as it is written.
func (o Op) String() string { return opText[o] }
