package syntax

// Stmt is a statement of a control, action, function or parser state.
type Stmt interface {
	Node
	isStmt()
}

// EmptyStmt is a lone semicolon.
//
//	emptyStatement: ";"
type EmptyStmt struct{ Loc }

// Assign is lhs = rhs, or with Op a compound assignment lhs op= rhs.
//
//	lvalue ( "=" | "+=" | … ) expression ";"
type Assign struct {
	Loc
	Op       Op // OpNone for =
	LHS, RHS Expr
}

// CallStmt is a call whose result is dropped.
//
//	lvalue [ "<" typeArgumentList ">" ] "(" argumentList ")" ";"
type CallStmt struct {
	Loc
	Call *Call
}

// DirectApply applies a control or parser type without naming an instance.
//
//	directApplication: ( typeName | specializedType ) "." APPLY "(" argumentList ")" ";"
type DirectApply struct {
	Loc
	Type *NamedType
	Args []Arg
}

// Block is { … } with its own scope.
//
//	blockStatement: optAnnotations "{" statOrDeclList "}"
type Block struct {
	Loc
	Annots Annotations
	Stmts  []Stmt
}

// DeclStmt is a declaration among statements: a *Var, a *Const, or (where the checker allows it) an
// *Instantiation.
type DeclStmt struct {
	Loc
	Decl Decl
}

// If is a conditional; Else is nil when absent.
//
//	conditionalStatement: IF "(" expression ")" statement [ ELSE statement ]
type If struct {
	Loc
	Cond Expr
	Then Stmt
	Else Stmt
}

// Return is return, with a value or nil.
//
//	returnStatement: RETURN [ expression ] ";"
type Return struct {
	Loc
	Value Expr
}

// Exit is exit.
type Exit struct{ Loc }

// Break is break.
type Break struct{ Loc }

// Continue is continue.
type Continue struct{ Loc }

// Switch is a switch over a table's action_run or over a value.
//
//	switchStatement: SWITCH "(" expression ")" "{" { switchCase } "}"
type Switch struct {
	Loc
	Value Expr
	Cases []SwitchCase
}

// SwitchCase is one label; a nil Body falls through to the next case.
//
//	switchCase: ( DEFAULT | nonBraceExpression ) ":" [ blockStatement ]
type SwitchCase struct {
	Loc
	Label Expr // *DefaultExpr for default
	Body  *Block
}

// For is the three-part loop. Init holds *DeclStmt (variables), *Assign and *CallStmt; Update holds the
// last two.
//
//	forStatement: optAnnotations FOR "(" forInitStatements ";" expression ";" forUpdateStatements ")" statement
type For struct {
	Loc
	Annots Annotations
	Init   []Stmt
	Cond   Expr
	Update []Stmt
	Body   Stmt
}

// ForIn walks over a range (Over is a *RangeExpr), a list or a stack.
//
//	forStatement: optAnnotations FOR "(" optAnnotations typeRef name IN forCollectionExpr ")" statement
type ForIn struct {
	Loc
	Annots Annotations
	Var    *Var // Init is nil
	Over   Expr
	Body   Stmt
}

func (*EmptyStmt) isStmt()   {}
func (*Assign) isStmt()      {}
func (*CallStmt) isStmt()    {}
func (*DirectApply) isStmt() {}
func (*Block) isStmt()       {}
func (*DeclStmt) isStmt()    {}
func (*If) isStmt()          {}
func (*Return) isStmt()      {}
func (*Exit) isStmt()        {}
func (*Break) isStmt()       {}
func (*Continue) isStmt()    {}
func (*Switch) isStmt()      {}
func (*For) isStmt()         {}
func (*ForIn) isStmt()       {}
