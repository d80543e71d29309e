package syntax

import (
	"strings"
	"unicode/utf8"

	"github.com/catena-nfv/catena/internal/p4/diag"
)

// lexer cuts one file into tokens. It knows nothing of directives but gives the preprocessor what it
// needs: FirstOnLine on tokens, reading up to the end of a line, and skipping a false group.
type lexer struct {
	file  *diag.File
	src   string // the file's text; tokens share its memory
	off   int
	diags *diag.List

	lineStart bool // no token of the current line has been read yet
	afterAt   bool // the last token was @
	inPragma  bool // behind @pragma, where the line's end is a token
}

func newLexer(f *diag.File, diags *diag.List) *lexer {
	return &lexer{file: f, src: string(f.Src), diags: diags, lineStart: true}
}

func (lx *lexer) span(start, end int) diag.Span {
	return diag.Span{File: lx.file.ID, Start: int32(start), End: int32(end)}
}

// next returns the next token of the file, TokEOF at its end.
func (lx *lexer) next() Token {
	start := lx.off
	if lx.inPragma {
		if !lx.skipBlank(true) {
			lx.inPragma = false
			return Token{Kind: TokLineEnd, Span: lx.span(lx.off, lx.off)}
		}
	} else {
		lx.skipBlank(false)
	}
	return lx.token(start > 0 && lx.off == start)
}

// nextOnLine returns the next token of the current line, or false at the line's end, which is not
// consumed.
func (lx *lexer) nextOnLine() (Token, bool) {
	start := lx.off
	if !lx.skipBlank(true) {
		return Token{}, false
	}
	return lx.token(lx.off == start), true
}

// skipBlank skips white space, comments and continued line ends. With stay it stops before the end
// of the line and reports whether a token follows on it.
func (lx *lexer) skipBlank(stay bool) bool {
	src := lx.src
	for lx.off < len(src) {
		switch c := src[lx.off]; {
		case c == '\n':
			if stay {
				return false
			}
			lx.off++
			lx.lineStart = true
		case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
			lx.off++
		case c == '\\' && lx.lineEndAt(lx.off+1) > 0:
			lx.off = lx.lineEndAt(lx.off + 1)
		case c == '/' && strings.HasPrefix(src[lx.off:], "//"):
			lx.lineComment()
		case c == '/' && strings.HasPrefix(src[lx.off:], "/*"):
			lx.blockComment()
		default:
			return true
		}
	}
	return false
}

// lineEndAt returns the offset behind the line end at off, or 0 when there is none.
func (lx *lexer) lineEndAt(off int) int {
	if strings.HasPrefix(lx.src[off:], "\n") {
		return off + 1
	}
	if strings.HasPrefix(lx.src[off:], "\r\n") {
		return off + 2
	}
	return 0
}

// lineComment skips to the end of the line. A backslash at its end continues the comment, as in C.
func (lx *lexer) lineComment() {
	for {
		i := strings.IndexByte(lx.src[lx.off:], '\n')
		if i < 0 {
			lx.off = len(lx.src)
			return
		}
		lx.off += i
		if !strings.HasSuffix(strings.TrimSuffix(lx.src[:lx.off], "\r"), "\\") {
			return
		}
		lx.off++
	}
}

func (lx *lexer) blockComment() {
	end := strings.Index(lx.src[lx.off+2:], "*/")
	if end < 0 {
		lx.diags.Errorf(lx.span(lx.off, lx.off+2), diag.SyntaxComment, "comment is not closed: */ is missing")
		lx.off = len(lx.src)
		return
	}
	lx.off += 2 + end + 2
}

// token reads the token at the current offset.
func (lx *lexer) token(glued bool) Token {
	first := lx.lineStart
	lx.lineStart = false
	start := lx.off
	kind := lx.scan()
	if kind == KwPragma && lx.afterAt && glued {
		lx.inPragma = true
	}
	lx.afterAt = kind == TokAt
	return Token{
		Kind: kind, Glued: glued, FirstOnLine: first,
		Text: lx.src[start:lx.off], Span: lx.span(start, lx.off),
	}
}

// scan advances over one token and returns its kind.
func (lx *lexer) scan() Kind {
	if lx.off >= len(lx.src) {
		return TokEOF
	}
	c := lx.src[lx.off]
	switch {
	case isLetter(c):
		start := lx.off
		lx.off = scanWord(lx.src, lx.off)
		word := lx.src[start:lx.off]
		if word == "_" {
			return TokUnderscore
		}
		return keyword(word)
	case isDigit(c):
		lx.off = scanWord(lx.src, lx.off) // the parser judges the parts
		return TokInt
	case c == '"':
		return lx.scanString()
	}
	if kind, n := punctuation(lx.src[lx.off:]); n > 0 {
		lx.off += n
		return kind
	}
	_, n := utf8.DecodeRuneInString(lx.src[lx.off:])
	lx.off += n
	return TokOther
}

// scanString reads a string literal, which may hold line ends. When the closing quote is missing the
// literal is taken to end with its line, so that the rest of the program is still read.
func (lx *lexer) scanString() Kind {
	start := lx.off
	for i := start + 1; i < len(lx.src); i++ {
		switch lx.src[i] {
		case '\\':
			i++
		case '"':
			lx.off = i + 1
			return TokString
		}
	}
	lx.diags.Errorf(lx.span(start, start+1), diag.SyntaxLiteral, "string is not closed: \" is missing")
	end := strings.IndexByte(lx.src[start:], '\n')
	if end < 0 {
		end = len(lx.src) - start
	}
	lx.off = start + end
	return TokString
}

// skipGroup skips the lines of a false conditional group and returns the `#` of the next directive, or
// false at the end of the file. Comments hide directives; strings do not span lines here.
func (lx *lexer) skipGroup() (Token, bool) {
	for {
		lx.skipBlank(false)
		if lx.off >= len(lx.src) {
			return Token{}, false
		}
		if lx.src[lx.off] == '#' {
			return lx.token(false), true
		}
		lx.skipLine()
	}
}

// skipLine moves to the end of the current line, over comments and continued line ends.
func (lx *lexer) skipLine() {
	for lx.skipBlank(true) {
		if lx.src[lx.off] != '"' {
			lx.off++
			continue
		}
		for lx.off++; lx.off < len(lx.src) && lx.src[lx.off] != '"' && lx.src[lx.off] != '\n'; lx.off++ {
			if lx.src[lx.off] == '\\' && lx.off+1 < len(lx.src) && lx.src[lx.off+1] != '\n' {
				lx.off++
			}
		}
		if lx.off < len(lx.src) && lx.src[lx.off] == '"' {
			lx.off++
		}
	}
}

// restOfLine returns the text up to the end of the line and moves there.
func (lx *lexer) restOfLine() string {
	start := lx.off
	lx.skipLine()
	return strings.TrimSpace(lx.src[start:lx.off])
}

func isLetter(c byte) bool { return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }

// scanWord returns the offset behind the letters, digits and underscores from off on.
func scanWord(s string, off int) int {
	for off < len(s) && (isLetter(s[off]) || isDigit(s[off])) {
		off++
	}
	return off
}

// punctuation returns the longest punctuation that s begins with, and its length. `>` is always a
// token of its own (but for >=): whether two are a shift is known only to the parser.
func punctuation(s string) (Kind, int) {
	has := func(p string) bool { return strings.HasPrefix(s, p) }
	switch s[0] {
	case '(':
		return TokLParen, 1
	case ')':
		return TokRParen, 1
	case '[':
		return TokLBrack, 1
	case ']':
		return TokRBrack, 1
	case '}':
		return TokRBrace, 1
	case ';':
		return TokSemi, 1
	case ',':
		return TokComma, 1
	case ':':
		return TokColon, 1
	case '?':
		return TokQuestion, 1
	case '@':
		return TokAt, 1
	case '~':
		return TokTilde, 1
	case '{':
		if has("{#}") {
			return TokInvalid, 3
		}
		return TokLBrace, 1
	case '#':
		if has("##") {
			return TokHashHash, 2
		}
		return TokHash, 1
	case '.':
		switch {
		case has("..."):
			return TokEllipsis, 3
		case has(".."):
			return TokDotDot, 2
		}
		return TokDot, 1
	case '<':
		switch {
		case has("<<="):
			return TokShlAssign, 3
		case has("<<"):
			return TokShl, 2
		case has("<="):
			return TokLessEq, 2
		}
		return TokLAngle, 1
	case '>':
		if has(">=") {
			return TokGreaterEq, 2
		}
		return TokRAngle, 1
	case '&':
		switch {
		case has("&&&"):
			return TokMask, 3
		case has("&&"):
			return TokAmpAmp, 2
		case has("&="):
			return TokAndAssign, 2
		}
		return TokAmp, 1
	case '|':
		switch {
		case has("|+|="):
			return TokSatAddAsgn, 4
		case has("|-|="):
			return TokSatSubAsgn, 4
		case has("|+|"):
			return TokSatPlus, 3
		case has("|-|"):
			return TokSatMinus, 3
		case has("||"):
			return TokPipePipe, 2
		case has("|="):
			return TokOrAssign, 2
		}
		return TokPipe, 1
	case '+':
		if has("++") {
			return TokPlusPlus, 2
		}
		return orAssign(s, TokPlus, TokAddAssign)
	case '-':
		return orAssign(s, TokMinus, TokSubAssign)
	case '*':
		return orAssign(s, TokStar, TokMulAssign)
	case '/':
		return orAssign(s, TokSlash, TokDivAssign)
	case '%':
		return orAssign(s, TokPercent, TokModAssign)
	case '^':
		return orAssign(s, TokCaret, TokXorAssign)
	case '!':
		return orAssign(s, TokBang, TokNotEq)
	case '=':
		return orAssign(s, TokAssignOp, TokEqEq)
	}
	return TokOther, 0
}

// orAssign returns long when s has `=` as its second character, else short.
func orAssign(s string, short, long Kind) (Kind, int) {
	if len(s) > 1 && s[1] == '=' {
		return long, 2
	}
	return short, 1
}
