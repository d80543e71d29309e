package stf

// Script is a parsed script.
type Script struct {
	Name  string
	Stmts []Stmt
}

// Stmt is a command and the line on which it begins, from 1.
type Stmt struct {
	Line int
	Cmd  Command
}

// Command is one of the types below.
type Command interface{ isCommand() }

// Packet sends a packet.
type Packet struct {
	Port uint32
	Data []byte
}

// Expect demands a packet. Pattern has a digit or * for each half byte; Any: there
// was no pattern; Exact: nothing may follow.
type Expect struct {
	Port       uint32
	Pattern    string
	Any, Exact bool
}

// NoPacket demands that the last packet gave nothing.
type NoPacket struct{}

// Wait waits for the switch to come to rest, which here it always is.
type Wait struct{}

// KeyValue is the match of one key, as written.
type KeyValue struct{ Name, Value string }

// ActionCall is an action with its arguments; names are empty if not given.
type ActionCall struct {
	Name string
	Args []KeyValue
}

// Add adds a table entry. Handle may be empty.
type Add struct {
	Table    string
	Priority int
	Keys     []KeyValue
	Action   ActionCall
	Handle   string
}

// SetDefault sets a default action.
type SetDefault struct {
	Table  string
	Action ActionCall
}

// Remove removes one entry, or all when Table is empty.
type Remove struct {
	Table    string
	Priority int
	Keys     []KeyValue
}

// CheckCounter compares a counter. Index is a number, or $ and a handle. Without
// Unit the counter only has to exist.
type CheckCounter struct {
	Name, Index   string
	Unit, Compare string
	Value         uint64
}

// Object is a command on a named extern object: its verb, and the words behind the
// name.
type Object struct {
	Verb, Name string
	Args       []string
}

// Switch is a command on the packet replication engine: its verb and numbers.
type Switch struct {
	Verb string
	Args []uint32
}

// MemberAdd adds a member to an action profile.
type MemberAdd struct {
	Profile string
	ID      uint32
	Action  ActionCall
}

func (*Packet) isCommand()       {}
func (*Expect) isCommand()       {}
func (*NoPacket) isCommand()     {}
func (*Wait) isCommand()         {}
func (*Add) isCommand()          {}
func (*SetDefault) isCommand()   {}
func (*Remove) isCommand()       {}
func (*CheckCounter) isCommand() {}
func (*Object) isCommand()       {}
func (*Switch) isCommand()       {}
func (*MemberAdd) isCommand()    {}
