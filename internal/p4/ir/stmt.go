package ir

import "github.com/catena-nfv/catena/internal/p4/diag"

// Stmt is one of *Assign, *If, *Switch, *Apply, *Call, *Block, *Leave, *Loop and
// *Exit.
type Stmt interface {
	isStmt()
	Pos() diag.Span
}

// Assign is Dst = Src. Dst is an lvalue of any type but String; for a header the
// validity is copied too, for a stack the elements and nextIndex.
type Assign struct {
	Dst, Src Expr
	Span     diag.Span
}

// If is a conditional.
type If struct {
	Cond       Expr
	Then, Else []Stmt
	Span       diag.Span
}

// Switch is a switch on a scalar expression. A case does not fall through.
type Switch struct {
	X       Expr
	Cases   []SwitchCase
	Default []Stmt
	Span    diag.Span
}

// SwitchCase is a body and the values that choose it.
type SwitchCase struct {
	Values []*Const
	Body   []Stmt
}

// Apply applies a table. Hit, when not nil, is the bool lvalue that receives
// whether an entry matched. Cases are the arms of a switch on action_run; with
// none the statement is a plain apply.
type Apply struct {
	Table *Table
	Hit   Expr
	Cases []ApplyCase
	Span  diag.Span
}

// ApplyCase is a body and the actions that choose it; Default is the arm for all
// others.
type ApplyCase struct {
	Actions []*Action
	Default bool
	Body    []Stmt
}

// Call is an extern or built-in operation; Op says which and what its Args are.
type Call struct {
	Op   Op
	Inst *Instance // of a method, nil of a function
	Args []Expr    // in and inout arguments, in the order of the P4 declaration
	Dst  Expr      // the result or out argument, an lvalue, or nil
	Span diag.Span
}

// Block is a list of statements that a Leave can end early. A pass may remove a
// block that nothing leaves and that has no annotations.
type Block struct {
	Name        string // of what was inlined, for printing; need not be unique
	Body        []Stmt
	Annotations Annotations
	Span        diag.Span
}

// Leave goes to the end of an enclosing Block.
type Leave struct {
	Block *Block
	Span  diag.Span
}

// Loop repeats Body until a Leave of an enclosing Block (or an Exit) ends it.
type Loop struct {
	Body []Stmt
	Span diag.Span
}

// Exit ends the control in which it is executed, from any depth.
type Exit struct{ Span diag.Span }

func (*Assign) isStmt() {}
func (*If) isStmt()     {}
func (*Switch) isStmt() {}
func (*Apply) isStmt()  {}
func (*Call) isStmt()   {}
func (*Block) isStmt()  {}
func (*Leave) isStmt()  {}
func (*Loop) isStmt()   {}
func (*Exit) isStmt()   {}

// Pos returns where the statement was written.
func (s *Assign) Pos() diag.Span { return s.Span }
func (s *If) Pos() diag.Span     { return s.Span }
func (s *Switch) Pos() diag.Span { return s.Span }
func (s *Apply) Pos() diag.Span  { return s.Span }
func (s *Call) Pos() diag.Span   { return s.Span }
func (s *Block) Pos() diag.Span  { return s.Span }
func (s *Leave) Pos() diag.Span  { return s.Span }
func (s *Loop) Pos() diag.Span   { return s.Span }
func (s *Exit) Pos() diag.Span   { return s.Span }
