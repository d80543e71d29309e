package syntax

// kindText gives the text of each punctuation and keyword.
var kindText = [...]string{
	TokEOF: "end of file", TokIdent: "identifier", TokInt: "integer", TokString: "string",
	TokOther: "character", TokLineEnd: "end of line",

	TokLParen: "(", TokRParen: ")", TokLBrack: "[", TokRBrack: "]", TokLBrace: "{", TokRBrace: "}",
	TokInvalid: "{#}", TokLAngle: "<", TokRAngle: ">", TokLessEq: "<=", TokGreaterEq: ">=",
	TokEqEq: "==", TokNotEq: "!=", TokAssignOp: "=", TokPlus: "+", TokMinus: "-", TokSatPlus: "|+|",
	TokSatMinus: "|-|", TokStar: "*", TokSlash: "/", TokPercent: "%", TokAmp: "&", TokAmpAmp: "&&",
	TokMask: "&&&", TokPipe: "|", TokPipePipe: "||", TokCaret: "^", TokTilde: "~", TokBang: "!",
	TokShl: "<<", TokPlusPlus: "++", TokQuestion: "?", TokColon: ":", TokSemi: ";", TokComma: ",",
	TokDot: ".", TokDotDot: "..", TokEllipsis: "...", TokAt: "@", TokHash: "#", TokHashHash: "##",
	TokAddAssign: "+=", TokSubAssign: "-=", TokSatAddAsgn: "|+|=", TokSatSubAsgn: "|-|=",
	TokMulAssign: "*=", TokDivAssign: "/=", TokModAssign: "%=", TokShlAssign: "<<=",
	TokAndAssign: "&=", TokOrAssign: "|=", TokXorAssign: "^=", TokUnderscore: "_",

	KwAbstract: "abstract", KwAction: "action", KwActions: "actions", KwApply: "apply", KwBit: "bit",
	KwBool: "bool", KwBreak: "break", KwConst: "const", KwContinue: "continue", KwControl: "control",
	KwDefault: "default", KwElse: "else", KwEntries: "entries", KwEnum: "enum", KwError: "error",
	KwExit: "exit", KwExtern: "extern", KwFalse: "false", KwFor: "for", KwHeader: "header",
	KwHeaderUnion: "header_union", KwIf: "if", KwIn: "in", KwInout: "inout", KwInt: "int",
	KwKey: "key", KwList: "list", KwMatchKind: "match_kind", KwOut: "out", KwPackage: "package",
	KwParser: "parser", KwPragma: "pragma", KwPriority: "priority", KwReturn: "return",
	KwSelect: "select", KwState: "state", KwString: "string", KwStruct: "struct",
	KwSwitch: "switch", KwTable: "table", KwThis: "this", KwTransition: "transition",
	KwTrue: "true", KwTuple: "tuple", KwType: "type", KwTypedef: "typedef", KwValueSet: "value_set",
	KwVarbit: "varbit", KwVoid: "void", keywordEnd: "",
}

// String gives the text of the token kind, for messages.
func (k Kind) String() string { return kindText[k] }

// IsKeyword tells whether the kind is a (hard or soft) keyword.
func (k Kind) IsKeyword() bool { return k > keywordBegin && k < keywordEnd }

// isWord tells whether a macro may have this token as its name.
func (k Kind) isWord() bool { return k == TokIdent || k.IsKeyword() }

// isNonTypeName tells whether the grammar takes the token for a nonTypeName: an identifier or one of
// the keywords that are keywords only where they matter.
func (k Kind) isNonTypeName() bool {
	switch k {
	case TokIdent, KwApply, KwKey, KwActions, KwState, KwEntries, KwType, KwPriority:
		return true
	}
	return false
}

// isName tells whether the grammar takes the token for a name. `pragma` is a keyword only behind @,
// so it is one, too.
func (k Kind) isName() bool { return k.isNonTypeName() || k == KwList || k == KwPragma }

// keyword looks a word up. A switch compiles to a binary search and needs no table at start.
func keyword(s string) Kind {
	if len(s) < 2 || len(s) > len("header_union") {
		return TokIdent
	}
	switch s {
	case "abstract":
		return KwAbstract
	case "action":
		return KwAction
	case "actions":
		return KwActions
	case "apply":
		return KwApply
	case "bit":
		return KwBit
	case "bool":
		return KwBool
	case "break":
		return KwBreak
	case "const":
		return KwConst
	case "continue":
		return KwContinue
	case "control":
		return KwControl
	case "default":
		return KwDefault
	case "else":
		return KwElse
	case "entries":
		return KwEntries
	case "enum":
		return KwEnum
	case "error":
		return KwError
	case "exit":
		return KwExit
	case "extern":
		return KwExtern
	case "false":
		return KwFalse
	case "for":
		return KwFor
	case "header":
		return KwHeader
	case "header_union":
		return KwHeaderUnion
	case "if":
		return KwIf
	case "in":
		return KwIn
	case "inout":
		return KwInout
	case "int":
		return KwInt
	case "key":
		return KwKey
	case "list":
		return KwList
	case "match_kind":
		return KwMatchKind
	case "out":
		return KwOut
	case "package":
		return KwPackage
	case "parser":
		return KwParser
	case "pragma":
		return KwPragma
	case "priority":
		return KwPriority
	case "return":
		return KwReturn
	case "select":
		return KwSelect
	case "state":
		return KwState
	case "string":
		return KwString
	case "struct":
		return KwStruct
	case "switch":
		return KwSwitch
	case "table":
		return KwTable
	case "this":
		return KwThis
	case "transition":
		return KwTransition
	case "true":
		return KwTrue
	case "tuple":
		return KwTuple
	case "type":
		return KwType
	case "typedef":
		return KwTypedef
	case "value_set":
		return KwValueSet
	case "varbit":
		return KwVarbit
	case "void":
		return KwVoid
	}
	return TokIdent
}
