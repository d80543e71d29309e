package syntax

import (
	"fmt"
	"strconv"

	"github.com/catena-nfv/catena/internal/p4/diag"
)

// parser is a recursive-descent parser over the preprocessed tokens.
//
// A production that cannot go on calls fail, which reports and unwinds (by a panic that never leaves
// the package) to the nearest guarded list element: a declaration, a statement, a field, a table
// property. From there it skips to the next `;` or `}` and goes on, so that one run reports
// several mistakes.
type parser struct {
	toks  []Token // ends with TokEOF
	pos   int
	diags *diag.List

	scopes []map[string]bool // declared names, innermost last: true for a type, false for anything else
	depth  int               // nested productions
	trying int               // speculative productions under way; then nothing is reported
	errs   int

	unclosed int // the token at which a missing } was last reported

	// Outcomes of speculation by token number; without them nested casts would be tried
	// exponentially often.
	castAt    map[int]bool
	genericAt map[int]bool
}

// The panic values of the parser. bailout unwinds to the nearest guard or speculation, tooDeep only to a
// guard, giveUp ends the whole parse.
type (
	bailout struct{}
	tooDeep struct{}
	giveUp  struct{}
)

func newParser(toks []Token, diags *diag.List) *parser {
	return &parser{
		toks: toks, diags: diags, scopes: []map[string]bool{{}},
		castAt: map[int]bool{}, genericAt: map[int]bool{},
	}
}

// Tokens.

func (p *parser) tok() *Token { return &p.toks[p.pos] }
func (p *parser) kind() Kind  { return p.toks[p.pos].Kind }

// peek returns the token n places ahead; behind the end it is TokEOF.
func (p *parser) peek(n int) *Token { return &p.toks[min(p.pos+n, len(p.toks)-1)] }

// advance returns the current token and moves on; it stays at TokEOF.
func (p *parser) advance() *Token {
	t := &p.toks[p.pos]
	if t.Kind != TokEOF {
		p.pos++
	}
	return t
}

// accept moves over a token of that kind, if it is the current one.
func (p *parser) accept(k Kind) bool {
	if p.kind() != k {
		return false
	}
	p.pos++
	return true
}

// expect moves over a token of that kind or fails; where says what it belongs to.
func (p *parser) expect(k Kind, where string) *Token {
	if p.kind() != k {
		p.unexpected(strconv.Quote(k.String()), where)
	}
	return p.advance()
}

// prev returns the span of the token before the current one.
func (p *parser) prev() diag.Span {
	if p.pos == 0 {
		return p.toks[0].Span.At()
	}
	return p.toks[p.pos-1].Span
}

// since returns the span from a node's first token to the last token read.
func (p *parser) since(start diag.Span) Loc { return Loc{start.Join(p.prev())} }

// Errors.

// fail reports at s and unwinds to the nearest guard.
func (p *parser) fail(s diag.Span, code diag.Code, format string, args ...any) {
	p.report(s, code, format, args...)
	panic(bailout{})
}

// report adds an error and goes on.
func (p *parser) report(s diag.Span, code diag.Code, format string, args ...any) {
	if p.trying > 0 {
		panic(bailout{}) // an error of any kind ends a speculation
	}
	p.diags.Errorf(s, code, format, args...)
	if p.errs++; p.errs >= maxErrors {
		p.diags.Errorf(s, diag.SyntaxTooMany, "too many syntax errors, giving up")
		panic(giveUp{})
	}
}

// unexpected fails because the current token is not what the grammar wants. When the token is the first of
// its line, the place is the end of the token before: that is where something is missing.
func (p *parser) unexpected(want, where string) {
	if p.trying > 0 {
		panic(bailout{})
	}
	t := p.tok()
	at, code := t.Span, diag.SyntaxUnexpected
	if t.FirstOnLine && p.pos > 0 && p.prev().File == t.Span.File {
		at = p.prev().After()
	}
	if t.Kind == TokOther {
		at, code = t.Span, diag.SyntaxCharacter
	}
	if where != "" {
		where = " " + where
	}
	p.fail(at, code, "expected %s%s, found %s", want, where, describe(t))
}

// describe names a token in a message.
func describe(t *Token) string {
	switch {
	case t.Kind == TokEOF || t.Kind == TokLineEnd:
		return t.Kind.String()
	case t.Kind == TokString:
		return "a string"
	case t.Kind.IsKeyword():
		return fmt.Sprintf("keyword %q", t.Text)
	case t.Kind == TokIdent || t.Kind == TokInt || t.Kind == TokOther:
		return fmt.Sprintf("%s %q", t.Kind, shorten(t.Text))
	}
	return strconv.Quote(t.Text)
}

// guarded runs one element of a list. When it fails, the tokens up to its probable end are skipped.
func (p *parser) guarded(element func()) {
	if p.trying > 0 {
		element()
		return
	}
	start, depth, scopes := p.pos, p.depth, len(p.scopes)
	defer func() {
		r := recover()
		switch r.(type) {
		case nil:
			return
		case bailout, tooDeep:
		default:
			panic(r)
		}
		p.depth, p.scopes = depth, p.scopes[:scopes]
		p.sync(start)
	}()
	element()
}

// sync skips to behind the `;` or `}` that ends the element begun at token start, or to the `}` that ends
// the list around it, or to a line that begins with a declaration of the top level.
func (p *parser) sync(start int) {
	nested := 0
	for _, t := range p.toks[start:p.pos] {
		switch t.Kind {
		case TokLBrace:
			nested++
		case TokRBrace:
			nested--
		}
	}
	for {
		t := p.tok()
		switch {
		case t.Kind == TokEOF:
			return
		case p.pos > start && p.atTopLevel():
			return
		case t.Kind == TokSemi && nested <= 0:
			p.pos++
			return
		case t.Kind == TokLBrace:
			nested++
		case t.Kind == TokRBrace:
			if nested <= 0 {
				return
			}
			nested--
			if nested == 0 && p.peek(1).Kind != KwElse {
				p.pos++
				p.accept(TokSemi)
				return
			}
		}
		p.pos++
	}
}

// atTopLevel tells whether the current token begins a line with a keyword that can stand only at top
// level: within a body, a closing brace is missing before it.
func (p *parser) atTopLevel() bool {
	t := p.tok()
	if !t.FirstOnLine {
		return false
	}
	switch t.Kind {
	case KwControl, KwParser, KwHeader, KwHeaderUnion, KwStruct, KwExtern, KwPackage, KwTypedef, KwEnum:
		return p.peek(1).Kind.isName() || p.peek(1).Kind.IsKeyword()
	}
	return false
}

// list runs element until the closing brace, which it consumes.
func (p *parser) list(what string, element func()) {
	open := p.expect(TokLBrace, "to open "+what)
	for p.kind() != TokRBrace {
		if p.kind() == TokEOF || p.atTopLevel() {
			if p.unclosed != p.pos { // of nested lists that end here, report the innermost
				p.unclosed = p.pos
				p.report(p.prev().After(), diag.SyntaxUnexpected, "%s is not closed: } is missing", what)
				(*p.diags)[len(*p.diags)-1].Note(open.Span, "opened here")
			}
			panic(bailout{})
		}
		before := p.pos
		p.guarded(element)
		if p.pos == before && p.kind() != TokRBrace {
			p.pos++ // an element that reads nothing must not be read for ever
		}
	}
	p.pos++
}

// try runs a production speculatively. When it fails, the parser is where it was, and nothing is said.
func (p *parser) try(production func()) (ok bool) {
	pos, depth, trying := p.pos, p.depth, p.trying
	p.trying++
	defer func() {
		r := recover()
		if _, deep := r.(tooDeep); deep {
			panic(r) // p.trying is 0 already, and all speculations end
		}
		p.trying = trying
		if r == nil {
			return
		}
		if _, is := r.(bailout); !is {
			panic(r)
		}
		p.pos, p.depth, ok = pos, depth, false
	}()
	production()
	return true
}

// enter counts a nested production; every enter has its leave, but for failing productions, whose
// guard restores the depth.
func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.limit("nested deeper than %d", maxDepth)
	}
}

func (p *parser) leave() { p.depth-- }

// chain checks the length of a row of operators, members or else-ifs.
func (p *parser) chain(n int) {
	if n > maxChain {
		p.limit("more than %d operators in one row", maxChain)
	}
}

// limit reports excessive nesting, even from a speculation: no other reading would be less deep.
func (p *parser) limit(format string, n int) {
	p.trying = 0
	p.report(p.tok().Span, diag.SyntaxNesting, format, n)
	panic(tooDeep{})
}

// Scopes. P4's grammar depends on which names are types: (T) x is a cast only if T is one.

func (p *parser) push() { p.scopes = append(p.scopes, nil) }
func (p *parser) pop()  { p.scopes = p.scopes[:len(p.scopes)-1] }

func (p *parser) declare(n Name, isType bool) {
	if p.trying > 0 {
		return
	}
	s := &p.scopes[len(p.scopes)-1]
	if *s == nil {
		*s = map[string]bool{}
	}
	(*s)[n.Text] = isType
}

func (p *parser) declareAll(names []Name) {
	for _, n := range names {
		p.declare(n, true)
	}
}

// isType tells whether the name n places ahead is a type here.
func (p *parser) isType(n int) bool {
	t := p.peek(n)
	if !t.Kind.isName() {
		return false
	}
	for i := len(p.scopes) - 1; i >= 0; i-- {
		if is, ok := p.scopes[i][t.Text]; ok {
			return is
		}
	}
	return false
}

// isTypePath tells whether a type name, with or without a leading dot, is n places ahead.
func (p *parser) isTypePath(n int) bool {
	if p.peek(n).Kind != TokDot {
		return p.isType(n)
	}
	t := p.peek(n + 1)
	return t.Kind.isName() && p.scopes[0][t.Text]
}

// isBaseType tells whether the token n places ahead is the keyword of a built-in type. `list` is one only
// before `<`.
func (p *parser) isBaseType(n int) bool {
	switch p.peek(n).Kind {
	case KwBool, KwBit, KwInt, KwVarbit, KwString, KwError, KwMatchKind, KwTuple:
		return true
	case KwList:
		return p.peek(n+1).Kind == TokLAngle
	}
	return false
}

// Names.

// name reads a name; what says what it names.
func (p *parser) name(what string) Name {
	t := p.tok()
	if !t.Kind.isName() {
		p.unexpected(what, "")
	}
	p.pos++
	return Name{Loc{t.Span}, t.Text}
}

// path reads a name with an optional leading dot.
func (p *parser) path(what string) Path {
	start := p.tok().Span
	dot := p.accept(TokDot)
	name := p.name(what)
	return Path{Loc: p.since(start), Dot: dot, Name: name}
}

// unexpectedAt fails at a token with a message of its own.
func (p *parser) unexpectedAt(t *Token, msg string) {
	p.fail(t.Span, diag.SyntaxUnexpected, "%s", msg)
}
