package diag

// Code names a kind of diagnostic. Codes are stable: tests, documentation and editors refer to
// them. The part before the slash is the phase.
type Code string

// Preprocessor.
const (
	PreInclude   Code = "preprocess/include"   // file not found, unreadable, or included too deep
	PreDirective Code = "preprocess/directive" // malformed or unknown directive
	PreCondition Code = "preprocess/condition" // unbalanced or malformed #if … #endif
	PreMacro     Code = "preprocess/macro"     // malformed definition or use of a macro
	PreError     Code = "preprocess/error"     // the program's own #error
	PreWarning   Code = "preprocess/warning"   // the program's own #warning
	PreLimit     Code = "preprocess/limit"     // expansion grows beyond all sense
)

// Lexer and parser.
const (
	SyntaxCharacter  Code = "syntax/character"        // a character that P4 does not have
	SyntaxLiteral    Code = "syntax/literal"          // malformed number or string
	SyntaxComment    Code = "syntax/comment"          // comment without an end
	SyntaxUnexpected Code = "syntax/unexpected-token" // the grammar wants something else here
	SyntaxNesting    Code = "syntax/nesting"          // nested deeper than the limit
	SyntaxMisplaced  Code = "syntax/misplaced"        // well-formed, but not allowed in this place
	SyntaxLimit      Code = "syntax/limit"            // literal or program too large
	SyntaxTooMany    Code = "syntax/too-many-errors"  // given up after many errors
)

// Composer.
const (
	ComposeConflict Code = "compose/conflict" // programs that cannot be joined without changing what they mean
)
