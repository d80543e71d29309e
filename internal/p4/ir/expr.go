package ir

import (
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/diag"
)

// Expr is a pure expression: evaluating it changes nothing. It is one of *Const,
// *StringLit, *VarRef, *Member, *Index, *Slice, *Unary, *Binary, *Cast, *Mux,
// *IsValid, *StackIndex and *Tuple. *VarRef, *Member, *Index and *Slice of one are
// lvalues.
type Expr interface {
	isExpr()
	Type() Type
	Pos() diag.Span
}

// Const is a literal of a scalar type; see the package comment for its value.
type Const struct {
	T     Type
	Value *big.Int
	Span  diag.Span
}

// StringLit is a string; only log_msg takes one.
type StringLit struct {
	Value string
	Span  diag.Span
}

// VarRef is a use of a variable.
type VarRef struct {
	Var  *Var
	Span diag.Span
}

// Member is X.Field, of a header, union or struct.
type Member struct {
	X     Expr
	Field *Field
	Span  diag.Span
}

// Index is X[I], of a stack. I is a Const, a StackIndex or any bit<W>.
type Index struct {
	X    Expr
	I    Expr
	Span diag.Span
}

// Slice is X[Hi:Lo]; its type is bit<Hi-Lo+1>.
type Slice struct {
	X      Expr
	Hi, Lo int
	Span   diag.Span
}

// UnaryOp is an operator of one operand.
type UnaryOp string

// The unary operators.
const (
	Neg  UnaryOp = "-"
	Not  UnaryOp = "!"
	Comp UnaryOp = "~"
)

// Unary is Op X, of X's type.
type Unary struct {
	Op   UnaryOp
	X    Expr
	Span diag.Span
}

// BinaryOp is an operator of two operands.
type BinaryOp string

// The binary operators. Operands have one type, but for Shl, Shr (the right one is
// any unsigned bit string) and Concat. Comparisons give bool. Eq and Ne compare
// scalars and varbits only: lowering takes apart structs and headers. AndAnd and
// OrOr are free of side effects, so it does not matter whether they short-cut.
const (
	Add    BinaryOp = "+"
	Sub    BinaryOp = "-"
	Mul    BinaryOp = "*"
	Div    BinaryOp = "/"
	Mod    BinaryOp = "%"
	AddSat BinaryOp = "|+|"
	SubSat BinaryOp = "|-|"
	And    BinaryOp = "&"
	Or     BinaryOp = "|"
	Xor    BinaryOp = "^"
	Shl    BinaryOp = "<<"
	Shr    BinaryOp = ">>"
	Concat BinaryOp = "++"
	Eq     BinaryOp = "=="
	Ne     BinaryOp = "!="
	Lt     BinaryOp = "<"
	Le     BinaryOp = "<="
	Gt     BinaryOp = ">"
	Ge     BinaryOp = ">="
	AndAnd BinaryOp = "&&"
	OrOr   BinaryOp = "||"
)

// Binary is X Op Y.
type Binary struct {
	Op   BinaryOp
	X, Y Expr
	T    Type
	Span diag.Span
}

// Cast is (T)X between scalar types.
type Cast struct {
	T    Type
	X    Expr
	Span diag.Span
}

// Mux is Cond ? Then : Else, of scalars.
type Mux struct {
	Cond, Then, Else Expr
	Span             diag.Span
}

// IsValid is X.isValid(), of a header or a union (any member valid).
type IsValid struct {
	X    Expr
	Span diag.Span
}

// StackIndex is X.nextIndex (Last false) or X.lastIndex (Last true) of a stack, a
// bit<32>. `X.next` is Index{X, nextIndex}, `X.last` is Index{X, lastIndex}.
type StackIndex struct {
	X    Expr
	Last bool
	Span diag.Span
}

// Tuple is a list or struct expression: the argument of hash, checksum, digest,
// log_msg and the field lists. Assignments of such are taken apart by lowering.
type Tuple struct {
	T     *Struct
	Elems []Expr
	Span  diag.Span
}

func (*Const) isExpr()      {}
func (*StringLit) isExpr()  {}
func (*VarRef) isExpr()     {}
func (*Member) isExpr()     {}
func (*Index) isExpr()      {}
func (*Slice) isExpr()      {}
func (*Unary) isExpr()      {}
func (*Binary) isExpr()     {}
func (*Cast) isExpr()       {}
func (*Mux) isExpr()        {}
func (*IsValid) isExpr()    {}
func (*StackIndex) isExpr() {}
func (*Tuple) isExpr()      {}

// Type returns the type of the expression.
func (e *Const) Type() Type      { return e.T }
func (e *StringLit) Type() Type  { return &String{} }
func (e *VarRef) Type() Type     { return e.Var.Type }
func (e *Member) Type() Type     { return e.Field.Type }
func (e *Slice) Type() Type      { return &Bits{Width: e.Hi - e.Lo + 1} }
func (e *Unary) Type() Type      { return e.X.Type() }
func (e *Binary) Type() Type     { return e.T }
func (e *Cast) Type() Type       { return e.T }
func (e *Mux) Type() Type        { return e.Then.Type() }
func (e *IsValid) Type() Type    { return &Bool{} }
func (e *StackIndex) Type() Type { return &Bits{Width: 32} }
func (e *Tuple) Type() Type      { return e.T }

// Type returns the type of the stack's elements.
func (e *Index) Type() Type {
	if s, ok := e.X.Type().(*Stack); ok {
		return s.Elem
	}
	return nil
}

// Pos returns where the expression was written.
func (e *Const) Pos() diag.Span      { return e.Span }
func (e *StringLit) Pos() diag.Span  { return e.Span }
func (e *VarRef) Pos() diag.Span     { return e.Span }
func (e *Member) Pos() diag.Span     { return e.Span }
func (e *Index) Pos() diag.Span      { return e.Span }
func (e *Slice) Pos() diag.Span      { return e.Span }
func (e *Unary) Pos() diag.Span      { return e.Span }
func (e *Binary) Pos() diag.Span     { return e.Span }
func (e *Cast) Pos() diag.Span       { return e.Span }
func (e *Mux) Pos() diag.Span        { return e.Span }
func (e *IsValid) Pos() diag.Span    { return e.Span }
func (e *StackIndex) Pos() diag.Span { return e.Span }
func (e *Tuple) Pos() diag.Span      { return e.Span }
