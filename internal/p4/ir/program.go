package ir

import (
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/diag"
)

// Program is a whole v1model program.
type Program struct {
	Name        string
	Annotations Annotations // of the package instance and of `main`

	// Named types in the order of declaration; only those that are used.
	Enums    []*Enum
	SerEnums []*SerEnum
	Headers  []*Header
	Unions   []*Union
	Structs  []*Struct
	Newtypes []*Newtype
	Errors   []string // core.p4's first; a value of ErrorType is a position here

	// The per-packet state that v1model hands from block to block.
	Hdr, Meta, Std *Var

	Parser          *Parser
	VerifyChecksum  *Control
	Ingress         *Control
	Egress          *Control
	ComputeChecksum *Control
	Deparser        *Control
}

// Controls returns the five controls in the order in which packets meet them.
func (p *Program) Controls() []*Control {
	return []*Control{p.VerifyChecksum, p.Ingress, p.Egress, p.ComputeChecksum, p.Deparser}
}

// Var is a piece of per-packet storage: one of the Program's three, a local of a
// block (zero when the block begins), or a parameter of an action.
type Var struct {
	Name        string // unique within its block
	Type        Type
	TypeName    string // the newtype of an action parameter, or ""
	Annotations Annotations
	Span        diag.Span
}

// PlaneName is the name of an action's parameter to the control plane: its @name, or its
// own.
func (v *Var) PlaneName() string {
	if a, ok := v.Annotations.Get("name"); ok && len(a.Args) == 1 {
		return a.Args[0]
	}
	return v.Name
}

// Parser is the parser block.
type Parser struct {
	Name      string
	Locals    []*Var
	ValueSets []*ValueSet
	States    []*State // the first is the start state
	Span      diag.Span
}

// State is a parser state. Accept and Reject are the two final ones; they belong
// to no parser.
type State struct {
	Name        string
	Body        []Stmt
	Next        Transition
	Annotations Annotations
	Span        diag.Span
}

// The final states.
var (
	Accept = &State{Name: "accept"}
	Reject = &State{Name: "reject"}
)

// Transition chooses the next state: the first case whose every keyset matches the
// value of its expression; none: the parser rejects with error NoMatch. A direct
// transition has no Select and one case without keysets.
type Transition struct {
	Select []Expr
	Cases  []SelectCase
	Span   diag.Span
}

// SelectCase is a row of a select expression, with a Keyset for each expression.
type SelectCase struct {
	Keys []Keyset
	Next *State
	Span diag.Span
}

// Keyset is a set of values: *KeyExact, *KeyMask, *KeyRange, *KeyAny or *KeySet.
type Keyset interface{ isKeyset() }

// KeyExact is one value.
type KeyExact struct{ Value *big.Int }

// KeyMask is the values v with v & Mask == Value & Mask. The key of an lpm match
// is a KeyMask too.
type KeyMask struct{ Value, Mask *big.Int }

// KeyRange is the values from Lo to Hi, both included.
type KeyRange struct{ Lo, Hi *big.Int }

// KeyAny is every value (`_` or default).
type KeyAny struct{}

// KeySet is the members of a value set. If the set has several components the
// case has this keyset once for each, Part telling which component.
type KeySet struct {
	Set  *ValueSet
	Part int
}

func (*KeyExact) isKeyset() {}
func (*KeyMask) isKeyset()  {}
func (*KeyRange) isKeyset() {}
func (*KeyAny) isKeyset()   {}
func (*KeySet) isKeyset()   {}

// ValueSet is a parser value set, filled by the control plane.
type ValueSet struct {
	Name        string // control-plane name
	Fields      []*Key // one for each component: Name, Match and type
	Size        int
	Annotations Annotations
	Span        diag.Span
}

// Control is one of the five control blocks, with all that was declared in it and
// in the controls that were inlined.
type Control struct {
	Name        string
	Locals      []*Var
	Instances   []*Instance
	Actions     []*Action
	Tables      []*Table
	Body        *Block
	Annotations Annotations // of the control's declaration
	Span        diag.Span
}

// Action is an action that tables use. Its parameters are those that the control
// plane supplies: directed ones are bound where the table lists the action, which
// makes an action of its own.
type Action struct {
	Name        string // unique within its control
	FullName    string // control-plane name, e.g. MyIngress.drop
	Params      []*Var
	Body        []Stmt // a return is a Leave of a Block within
	Annotations Annotations
	Span        diag.Span
}

// MatchKind is how a key is matched.
type MatchKind string

// The match kinds of v1model.
const (
	MatchExact    MatchKind = "exact"
	MatchLPM      MatchKind = "lpm"
	MatchTernary  MatchKind = "ternary"
	MatchRange    MatchKind = "range"
	MatchOptional MatchKind = "optional"
	MatchSelector MatchKind = "selector"
)

// Key is a key of a table, or a component of a value set (X nil).
type Key struct {
	X           Expr
	Type        Type
	TypeName    string // the newtype it was declared with, or ""
	Match       MatchKind
	Name        string // control-plane name
	Annotations Annotations
	Span        diag.Span
}

// Table is a match-action table. Selector keys stand among Keys, with
// MatchSelector; the control plane does not see them.
type Table struct {
	Name         string // unique within its control
	FullName     string // control-plane name
	Keys         []*Key
	Actions      []*TableAction
	Default      *ActionCall // never nil: NoAction if the program says nothing
	ConstDefault bool
	Entries      []*Entry
	ConstEntries bool
	Size         int
	Impl         *Instance // action profile or selector, or nil
	Counter      *Instance // direct counter, or nil
	Meter        *Instance // direct meter, or nil
	IdleTimeout  bool
	Annotations  Annotations
	Span         diag.Span
}

// TableAction is an action in a table's list.
type TableAction struct {
	Action      *Action
	TableOnly   bool
	DefaultOnly bool
	Annotations Annotations
	Span        diag.Span
}

// ActionCall is an action with its control-plane parameters.
type ActionCall struct {
	Action *Action
	Args   []*Const
	Span   diag.Span
}

// Entry is an entry that the program itself gives. Priority follows P4Runtime: the
// larger wins. Lowering has turned largest_priority_wins = false around.
type Entry struct {
	Keys        []Keyset // one for each of the table's keys but the selector ones
	Action      *ActionCall
	Priority    int
	Const       bool
	Annotations Annotations
	Span        diag.Span
}

// InstanceKind is the extern type of an Instance.
type InstanceKind string

// The extern objects of v1model, and the digests (one for each struct sent).
const (
	KindCounter        InstanceKind = "counter"
	KindDirectCounter  InstanceKind = "direct_counter"
	KindMeter          InstanceKind = "meter"
	KindDirectMeter    InstanceKind = "direct_meter"
	KindRegister       InstanceKind = "register"
	KindActionProfile  InstanceKind = "action_profile"
	KindActionSelector InstanceKind = "action_selector"
	KindDigest         InstanceKind = "digest"
	KindFlowState      InstanceKind = "flow_state" // ours
)

// Instance is an extern object.
type Instance struct {
	Kind        InstanceKind
	Name        string // unique within its control
	FullName    string // control-plane name
	Size        int    // entries; of an indirect counter, meter, register, profile, flow_state
	Elem        Type   // of a register's entry; of a digest the struct; of a meter the result; of a flow_state the value
	TypeName    string // the newtype of Elem, or ""
	Key         []int  // of a flow_state: the widths of its key's scalars
	IndexWidth  int    // of an indirect counter, meter or register, bits
	Unit        string // of counters and meters: packets, bytes, packets_and_bytes
	Algorithm   string // of a selector: the HashAlgorithm
	OutWidth    int    // of a selector: bits of the hash that are used
	Annotations Annotations
	Span        diag.Span
}

// Annotation is @Name, @Name(Body) or @Name[Body].
type Annotation struct {
	Name string
	Body string   // the text between the brackets, tokens separated by one space
	Args []string // the expressions, evaluated: numbers in decimal, strings unquoted
	// Structured says that the brackets are [ ]; Values is then what they hold.
	Structured bool
	Values     []AnnotationValue
	Span       diag.Span
}

// AnnotationValue is an entry of a structured annotation.
type AnnotationValue struct {
	Key   string // "" in a list of expressions
	Value any    // *big.Int, string or bool
}

// Text is the annotation as P4 writes it.
func (a Annotation) Text() string {
	switch {
	case a.Structured:
		return "@" + a.Name + "[" + a.Body + "]"
	case a.Body != "":
		return "@" + a.Name + "(" + a.Body + ")"
	}
	return "@" + a.Name
}

// Annotations are in the order written.
type Annotations []Annotation

// Get returns the first annotation of that name.
func (as Annotations) Get(name string) (Annotation, bool) {
	for _, a := range as {
		if a.Name == name {
			return a, true
		}
	}
	return Annotation{}, false
}

// Has reports whether there is an annotation of that name.
func (as Annotations) Has(name string) bool {
	_, ok := as.Get(name)
	return ok
}
