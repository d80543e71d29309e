package syntax

// Decl is a declaration, at top level or inside a parser, control or block.
type Decl interface {
	Node
	// DeclName is the declared name; an error or match_kind declaration, which declares many
	// members and no name of its own, gives an empty Name.
	DeclName() Name
	// DeclAnnotations are the annotations before the declaration.
	DeclAnnotations() Annotations
	isDecl()
}

// DeclHead is what most declarations have: annotations and a name.
type DeclHead struct {
	Loc
	Annots Annotations
	Name   Name
}

// DeclName implements Decl.
func (h *DeclHead) DeclName() Name { return h.Name }

// DeclAnnotations implements Decl.
func (h *DeclHead) DeclAnnotations() Annotations { return h.Annots }

func (*DeclHead) isDecl() {}

// Const is a named constant.
//
//	constantDeclaration: optAnnotations CONST typeRef name "=" initializer ";"
type Const struct {
	DeclHead
	Type  Type
	Value Expr
}

// Var is a variable; Init is nil when absent.
//
//	variableDeclaration: optAnnotations typeRef name [ "=" initializer ] ";"
type Var struct {
	DeclHead
	Type Type
	Init Expr
}

// Instantiation makes an extern, parser, control or package object.
//
//	instantiation: optAnnotations typeRef "(" argumentList ")" name [ "=" objInitializer ] ";"
type Instantiation struct {
	DeclHead
	Type    Type
	Args    []Arg
	Members []Decl // objInitializer: *Function and *Instantiation; nil when absent
}

// Function is a function, or a method in an object initializer.
//
//	functionDeclaration: optAnnotations functionPrototype blockStatement
type Function struct {
	DeclHead
	Return     Type
	TypeParams []Name
	Params     []*Param
	Body       *Block
}

// Action is an action.
//
//	actionDeclaration: optAnnotations ACTION name "(" parameterList ")" blockStatement
type Action struct {
	DeclHead
	Params []*Param
	Body   *Block
}

// ExternFunction is an extern function, or (Constructor, Abstract) a method of an extern object.
//
//	externDeclaration: optAnnotations EXTERN functionPrototype ";"
//	methodPrototype: optAnnotations [ ABSTRACT ] functionPrototype ";" | optAnnotations TYPE_IDENTIFIER "(" parameterList ")" ";"
type ExternFunction struct {
	DeclHead
	Return      Type // nil for a constructor
	TypeParams  []Name
	Params      []*Param
	Abstract    bool
	Constructor bool
}

// ExternObject is an extern type with its constructors and methods.
//
//	externDeclaration: optAnnotations EXTERN nonTypeName optTypeParameters "{" methodPrototypes "}"
type ExternObject struct {
	DeclHead
	TypeParams []Name
	Methods    []*ExternFunction
}

// StructKind tells structs, headers and header unions apart.
type StructKind uint8

// The kinds of structures.
const (
	KindStruct StructKind = iota
	KindHeader
	KindUnion
)

// String gives the keyword.
func (k StructKind) String() string { return [...]string{"struct", "header", "header_union"}[k] }

// Struct is a struct, header or header_union.
//
//	structTypeDeclaration: optAnnotations STRUCT name optTypeParameters "{" structFieldList "}"
type Struct struct {
	DeclHead
	Kind       StructKind
	TypeParams []Name
	Fields     []*Field
}

// Field is one field of a structure.
//
//	structField: optAnnotations typeRef name ";"
type Field struct {
	DeclHead
	Type Type
}

// Enum is an enumeration; Repr is the type of a serializable one, whose members all have a Value.
//
//	enumDeclaration: optAnnotations ENUM name "{" identifierList "}"
//	               | optAnnotations ENUM typeRef name "{" specifiedIdentifierList "}"
type Enum struct {
	DeclHead
	Repr    Type         // nil when not serializable
	Members []NamedValue // Value is nil when not serializable
}

// ErrorDecl adds members to the error type.
//
//	errorDeclaration: ERROR "{" identifierList "}"
type ErrorDecl struct {
	DeclHead
	Members []Name
}

// MatchKindDecl adds members to the match_kind type.
//
//	matchKindDeclaration: MATCH_KIND "{" identifierList "}"
type MatchKindDecl struct {
	DeclHead
	Members []Name
}

// Typedef gives a type another name, or (New) makes a new type of it. Exactly one of Type and Def is
// set; Def is the rare `typedef struct S { … } name;`.
//
//	typedefDeclaration: optAnnotations TYPEDEF ( typeRef | derivedTypeDeclaration ) name ";"
//	                  | optAnnotations TYPE typeRef name ";"
type Typedef struct {
	DeclHead
	New  bool
	Type Type
	Def  Decl // *Struct or *Enum
}

// ParserType is a parser without a body: an architecture's interface.
//
//	parserTypeDeclaration ";"
type ParserType struct {
	DeclHead
	TypeParams []Name
	Params     []*Param
}

// ControlType is a control without a body.
//
//	controlTypeDeclaration ";"
type ControlType struct {
	DeclHead
	TypeParams []Name
	Params     []*Param
}

// Package is a package type.
//
//	packageTypeDeclaration: optAnnotations PACKAGE name optTypeParameters "(" parameterList ")" ";"
type Package struct {
	DeclHead
	TypeParams []Name
	Params     []*Param
}

// Parser is a parser with its states.
//
//	parserDeclaration: parserTypeDeclaration optConstructorParameters "{" parserLocalElements parserStates "}"
type Parser struct {
	DeclHead
	TypeParams []Name // the grammar allows them, the language does not
	Params     []*Param
	CtorParams []*Param // nil when absent
	Locals     []Decl   // *Const, *Var, *Instantiation, *ValueSet
	States     []*State
}

// State is one state of a parser.
//
//	parserState: optAnnotations STATE name "{" parserStatements transitionStatement "}"
type State struct {
	DeclHead
	Stmts []Stmt
	Next  Transition // nil when absent, which means reject
}

// Transition is how a state ends: *Goto or *Select.
type Transition interface {
	Node
	isTransition()
}

// Goto is `transition name;`.
//
//	stateExpression: name ";"
type Goto struct {
	Loc
	State Name
}

// Select is `transition select (…) { … }`.
//
//	selectExpression: SELECT "(" expressionList ")" "{" selectCaseList "}"
type Select struct {
	Loc
	Exprs []Expr
	Cases []SelectCase
}

func (*Goto) isTransition()   {}
func (*Select) isTransition() {}

// SelectCase is one line of a select. Keyset is an expression, *MaskExpr, *RangeExpr, *DefaultExpr,
// *DontCare or a *TupleKeyset of these.
//
//	selectCase: keysetExpression ":" name ";"
type SelectCase struct {
	Loc
	Keyset Expr
	State  Name
}

// ValueSet is a parser value set.
//
//	valueSetDeclaration: optAnnotations VALUESET "<" ( baseType | tupleType | typeName ) ">" "(" expression ")" name ";"
type ValueSet struct {
	DeclHead
	Elem Type
	Size Expr
}

// Control is a control with its body.
//
//	controlDeclaration: controlTypeDeclaration optConstructorParameters "{" controlLocalDeclarations APPLY blockStatement "}"
type Control struct {
	DeclHead
	TypeParams []Name // the grammar allows them, the language does not
	Params     []*Param
	CtorParams []*Param // nil when absent
	Locals     []Decl   // *Const, *Var, *Instantiation, *Action, *Table
	Body       *Block
}

// Table is a table; Properties are in source order, and may repeat: the checker complains.
//
//	tableDeclaration: optAnnotations TABLE name "{" tablePropertyList "}"
type Table struct {
	DeclHead
	Properties []TableProperty
}

// TableProperty is *KeyProperty, *ActionsProperty, *EntriesProperty or *Property.
type TableProperty interface {
	Node
	isTableProperty()
}

// KeyProperty is key = { … }.
//
//	KEY "=" "{" keyElementList "}"
type KeyProperty struct {
	Loc
	Annots Annotations
	Elems  []*KeyElem
}

// KeyElem is one element of a key. The annotations stand behind the match kind.
//
//	keyElement: expression ":" name optAnnotations ";"
type KeyElem struct {
	Loc
	Expr   Expr
	Match  Name
	Annots Annotations
}

// ActionsProperty is actions = { … }.
//
//	ACTIONS "=" "{" actionList "}"
type ActionsProperty struct {
	Loc
	Annots Annotations
	Refs   []*ActionRef
}

// ActionRef names an action of a table, perhaps with arguments for its in, out and inout parameters.
//
//	actionRef: prefixedNonTypeName [ "(" argumentList ")" ]
type ActionRef struct {
	Loc
	Annots  Annotations
	Path    Path
	HasArgs bool // parentheses were written
	Args    []Arg
}

// EntriesProperty is [const] entries = { … }.
//
//	optAnnotations optCONST ENTRIES "=" "{" entriesList "}"
type EntriesProperty struct {
	Loc
	Annots  Annotations
	Const   bool
	Entries []*Entry
}

// Entry is one table entry. The annotations stand behind the action.
//
//	entry: optCONST [ PRIORITY "=" ( INTEGER | "(" expression ")" ) ":" ] keysetExpression ":" actionRef optAnnotations ";"
type Entry struct {
	Loc
	Const    bool
	Priority Expr // or nil
	Keyset   Expr // as in SelectCase
	Action   *ActionRef
	Annots   Annotations
}

// Property is any other property: default_action, size, counters, implementation, …
//
//	optAnnotations optCONST name "=" initializer ";"
type Property struct {
	Loc
	Annots Annotations
	Const  bool
	Name   Name
	Value  Expr
}

func (*KeyProperty) isTableProperty()     {}
func (*ActionsProperty) isTableProperty() {}
func (*EntriesProperty) isTableProperty() {}
func (*Property) isTableProperty()        {}
