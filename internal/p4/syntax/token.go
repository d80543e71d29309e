package syntax

import "github.com/catena-nfv/catena/internal/p4/diag"

// Token is one lexical unit after preprocessing.
type Token struct {
	Kind Kind
	// Glued says that no white space stands between the token before and this one; the parser
	// joins `>` `>` to a shift that way, since the lexer cannot tell it from two closing brackets.
	Glued bool
	// FirstOnLine says that the token is the first of its source line.
	FirstOnLine bool

	noExpand bool // a macro name that must not be expanded again

	Text string // as written; string literals keep their quotes
	Span diag.Span
}

// Kind is the kind of a token: a keyword or punctuation has one of its own.
type Kind uint8

// The kinds of tokens. Soft keywords are lexed as their own kind; the parser takes them for names
// where the grammar does.
const (
	TokEOF     Kind = iota
	TokIdent        // identifier
	TokInt          // integer literal
	TokString       // string literal
	TokOther        // a character that P4 does not have; legal only in an annotation's body
	TokLineEnd      // the end of a @pragma line

	punctBegin
	TokLParen     // (
	TokRParen     // )
	TokLBrack     // [
	TokRBrack     // ]
	TokLBrace     // {
	TokRBrace     // }
	TokInvalid    // {#}
	TokLAngle     // <
	TokRAngle     // >
	TokLessEq     // <=
	TokGreaterEq  // >=
	TokEqEq       // ==
	TokNotEq      // !=
	TokAssignOp   // =
	TokPlus       // +
	TokMinus      // -
	TokSatPlus    // |+|
	TokSatMinus   // |-|
	TokStar       // *
	TokSlash      // /
	TokPercent    // %
	TokAmp        // &
	TokAmpAmp     // &&
	TokMask       // &&&
	TokPipe       // |
	TokPipePipe   // ||
	TokCaret      // ^
	TokTilde      // ~
	TokBang       // !
	TokShl        // <<
	TokPlusPlus   // ++
	TokQuestion   // ?
	TokColon      // :
	TokSemi       // ;
	TokComma      // ,
	TokDot        // .
	TokDotDot     // ..
	TokEllipsis   // ...
	TokAt         // @
	TokHash       // # (preprocessor only)
	TokHashHash   // ## (preprocessor only)
	TokAddAssign  // +=
	TokSubAssign  // -=
	TokSatAddAsgn // |+|=
	TokSatSubAsgn // |-|=
	TokMulAssign  // *=
	TokDivAssign  // /=
	TokModAssign  // %=
	TokShlAssign  // <<=
	TokAndAssign  // &=
	TokOrAssign   // |=
	TokXorAssign  // ^=
	TokUnderscore // _
	punctEnd

	keywordBegin
	KwAbstract
	KwAction
	KwActions
	KwApply
	KwBit
	KwBool
	KwBreak
	KwConst
	KwContinue
	KwControl
	KwDefault
	KwElse
	KwEntries
	KwEnum
	KwError
	KwExit
	KwExtern
	KwFalse
	KwFor
	KwHeader
	KwHeaderUnion
	KwIf
	KwIn
	KwInout
	KwInt
	KwKey
	KwList
	KwMatchKind
	KwOut
	KwPackage
	KwParser
	KwPragma
	KwPriority
	KwReturn
	KwSelect
	KwState
	KwString
	KwStruct
	KwSwitch
	KwTable
	KwThis
	KwTransition
	KwTrue
	KwTuple
	KwType
	KwTypedef
	KwValueSet
	KwVarbit
	KwVoid
	keywordEnd
)
