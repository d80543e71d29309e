package chain

import (
	"strconv"
	"unicode/utf8"
)

// tokenKind is what the lexer tells apart. Keywords are names of their own kind.
type tokenKind int

const (
	tokEOF tokenKind = iota
	tokName
	tokSeparator // comma or newline
	tokEquals
	tokBefore
	tokThen
	tokOr
	tokAnd
	tokBranchEnd
	tokFirst
	tokLast
	tokLoop
	tokEndOfRequest
)

// keywordKind returns the kind of a reserved word, or tokName.
func keywordKind(word string) tokenKind {
	switch word {
	case "before":
		return tokBefore
	case "then":
		return tokThen
	case "or":
		return tokOr
	case "and":
		return tokAnd
	case "branch_end":
		return tokBranchEnd
	case "first":
		return tokFirst
	case "last":
		return tokLast
	case "loop":
		return tokLoop
	case "End_of_Request":
		return tokEndOfRequest
	}
	return tokName
}

// token is one word or sign. For a name with a serial number, text is the bare name.
type token struct {
	kind   tokenKind
	text   string
	serial int // 0: none
	pos    Pos
	width  int
}

// describe names a token in a diagnostic.
func (t token) describe() string {
	switch t.kind {
	case tokEOF:
		return "the end of the text"
	case tokSeparator:
		if t.text == "\n" {
			return "the end of the line"
		}
		return "`,`"
	case tokEquals:
		return "`=`"
	}
	return "`" + t.name() + "`"
}

func (t token) name() string { return invocation(t.text, t.serial) }

// invocation prints an NF name with its serial number.
func invocation(name string, serial int) string {
	if serial == 0 {
		return name
	}
	return name + "#" + strconv.Itoa(serial)
}

func isLetter(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }

// lex splits src into tokens, the last of which is tokEOF. Characters that cannot start a token are
// reported and skipped.
func lex(src string, r *reporter) []token {
	var toks []token
	line, lineStart := 1, 0
	at := func(off int) Pos { return Pos{line, off - lineStart + 1, off} }
	i := 0
	for i < len(src) {
		c := src[i]
		switch {
		case c == '\n':
			toks = append(toks, token{kind: tokSeparator, text: "\n", pos: at(i), width: 1})
			i++
			line, lineStart = line+1, i
		case c == ',':
			toks = append(toks, token{kind: tokSeparator, text: ",", pos: at(i), width: 1})
			i++
		case c == '=':
			toks = append(toks, token{kind: tokEquals, text: "=", pos: at(i), width: 1})
			i++
		case c == ' ' || c == '\t' || c == '\r':
			i++
		case c == '#':
			for i < len(src) && src[i] != '\n' {
				i++
			}
		case isLetter(c):
			start := i
			for i < len(src) && (isLetter(src[i]) || isDigit(src[i])) {
				i++
			}
			t := token{text: src[start:i], pos: at(start)}
			t.kind = keywordKind(t.text)
			if i+1 < len(src) && src[i] == '#' && isDigit(src[i+1]) {
				i = lexSerial(src, i, &t, r, at)
			}
			t.width = i - start
			toks = append(toks, t)
		default:
			_, size := utf8.DecodeRuneInString(src[i:])
			if isDigit(c) {
				for i+size < len(src) && (isLetter(src[i+size]) || isDigit(src[i+size])) {
					size++
				}
				r.at(at(i), size, nil, "NF names begin with a letter or _, found %q", src[i:i+size])
				// Go on as if it were a name: one mistake, one message.
				toks = append(toks, token{kind: tokName, text: src[i : i+size], pos: at(i), width: size})
			} else if !(i == 0 && src[:size] == "\ufeff") {
				r.at(at(i), 1, nil, "unexpected character %q", src[i:i+size])
			}
			i += size
		}
	}
	return append(toks, token{kind: tokEOF, pos: at(i), width: 1})
}

// lexSerial reads the `#digits` at src[i:] into t and returns the offset behind it.
func lexSerial(src string, i int, t *token, r *reporter, at func(int) Pos) int {
	hash := i
	i++
	for i < len(src) && isDigit(src[i]) {
		i++
	}
	digits := src[hash+1 : i]
	for i < len(src) && (isLetter(src[i]) || isDigit(src[i]) || src[i] == '#') {
		i++
	}
	word := src[hash:i]
	n, err := strconv.Atoi(digits)
	switch {
	case t.kind != tokName:
		r.at(at(hash), len(word), []string{"put a space in front of # to start a comment"},
			"`%s` is a word of the language and takes no serial number", t.text)
	case len(word) != len(digits)+1:
		r.at(at(hash), len(word), []string{"put a space in front of # to start a comment"},
			"malformed serial number `%s` of %s", word, t.text)
	case err != nil || n < 1 || n > 9999:
		r.at(at(hash), len(word), nil, "serial number `%s` of %s is not between 1 and 9999", word, t.text)
	}
	t.serial = n
	return i
}
