package syntax

import (
	"strconv"

	"github.com/catena-nfv/catena/internal/p4/diag"
)

// Limits of the preprocessor. They turn an include loop or a macro bomb into a diagnostic.
const (
	maxIncludeDepth = 64
	maxMacroDepth   = 200     // macro arguments within macro arguments
	maxExpansion    = 1 << 21 // tokens produced by macros in one program
	maxTokens       = 1 << 23 // tokens of one program
)

// preprocessor turns a file and what it includes into the token list of the parser. It behaves like a
// C preprocessor, which is what P4 programs are written for (section 6.2 asks for a subset of it).
type preprocessor struct {
	opts   *Options
	fs     *diag.FileSet
	diags  *diag.List
	macros map[string]*macro

	out      []Token
	depth    int // of includes
	argDepth int // of macro arguments being expanded
	expanded int // tokens produced by macros so far
	overflow bool
}

// tokenStream is where macro expansion reads from: the lexer of a file (nil within an argument),
// overlaid by the bodies of macros that are being expanded.
type tokenStream struct {
	lx     *lexer
	frames []frame
}

// frame is a list of tokens still to be read; macro is in use until they are.
type frame struct {
	toks  []Token
	macro *macro
}

// next returns the next token without expanding it.
func (s *tokenStream) next() Token {
	for n := len(s.frames); n > 0; n = len(s.frames) {
		f := &s.frames[n-1]
		if len(f.toks) > 0 {
			t := f.toks[0]
			f.toks = f.toks[1:]
			return t
		}
		if f.macro != nil {
			f.macro.inUse--
		}
		s.frames = s.frames[:n-1]
	}
	if s.lx == nil {
		return Token{Kind: TokEOF}
	}
	return s.lx.next()
}

// unread puts a token back.
func (s *tokenStream) unread(t Token) {
	s.frames = append(s.frames, frame{toks: []Token{t}})
}

// close releases the macros of frames that were not read to their end.
func (s *tokenStream) close() {
	for _, f := range s.frames {
		if f.macro != nil {
			f.macro.inUse--
		}
	}
	s.frames = nil
}

// file preprocesses one file, appending its tokens to p.out without the final TokEOF.
func (p *preprocessor) file(f *diag.File) {
	lx := newLexer(f, p.diags)
	s := &tokenStream{lx: lx}
	defer s.close()
	var conds []condition
	for {
		t := s.next()
		switch {
		case t.Kind == TokEOF || p.overflow:
			for _, c := range conds {
				p.diags.Errorf(c.span, diag.PreCondition, "#%s is not closed: #endif is missing", c.keyword)
			}
			return
		case t.Kind == TokHash && t.FirstOnLine:
			conds = p.directive(lx, t, conds)
		default:
			if p.tryExpand(s, t) {
				continue
			}
			p.emit(t)
		}
	}
}

// emit appends a token to the output.
func (p *preprocessor) emit(t Token) {
	if len(p.out) >= maxTokens {
		p.fail(t.Span, "program has more than %d tokens", maxTokens)
		return
	}
	p.out = append(p.out, t)
}

// fail reports that a limit is exceeded, once, and ends preprocessing.
func (p *preprocessor) fail(s diag.Span, format string, args ...any) {
	if !p.overflow {
		p.diags.Errorf(s, diag.PreLimit, format, args...)
	}
	p.overflow = true
}

// expandAll expands a closed list of tokens: a macro argument, a condition, an include operand.
func (p *preprocessor) expandAll(toks []Token) []Token {
	s := &tokenStream{frames: []frame{{toks: toks}}}
	defer s.close()
	var out []Token
	for {
		t := s.next()
		if t.Kind == TokEOF || p.overflow {
			return out
		}
		if !p.tryExpand(s, t) {
			out = append(out, t)
		}
	}
}

// tryExpand expands t when it names a macro, pushing the result on the stream.
func (p *preprocessor) tryExpand(s *tokenStream, t Token) bool {
	if !t.Kind.isWord() || t.noExpand {
		return false
	}
	m := p.macros[t.Text]
	if m == nil {
		return p.expandBuiltin(s, t)
	}
	if m.inUse > 0 {
		// Painted for good: a macro never expands within its own expansion, not even when the
		// token is carried out of it as an argument.
		t.noExpand = true
		s.frames = append(s.frames, frame{toks: []Token{t}})
		return true
	}
	var args [][]Token
	if m.function {
		open := s.next()
		if open.Kind != TokLParen {
			if open.Kind != TokEOF {
				s.unread(open)
			}
			return false // only the name: an ordinary word
		}
		var ok bool
		if args, ok = p.arguments(s, t, m); !ok {
			return true
		}
	}
	use := t.Span
	if use.Exp == 0 {
		use.Exp = p.fs.AddExpansion(diag.Expansion{Macro: m.name, Def: m.def})
	}
	body := p.substitute(m, args, use)
	p.expanded += len(body) + 1
	if p.expanded > maxExpansion {
		p.fail(t.Span, "macros expand to more than %d tokens", maxExpansion)
		return true
	}
	if len(body) > 0 {
		body[0].Glued = t.Glued
	}
	m.inUse++
	s.frames = append(s.frames, frame{toks: body, macro: m})
	return true
}

// expandBuiltin expands __LINE__ and __FILE__.
func (p *preprocessor) expandBuiltin(s *tokenStream, t Token) bool {
	switch t.Text {
	case "__LINE__":
		t.Kind, t.Text = TokInt, strconv.Itoa(p.fs.Position(t.Span).Line)
	case "__FILE__":
		t.Kind, t.Text = TokString, quote(p.fs.Position(t.Span).Filename)
	default:
		return false
	}
	s.unread(t)
	return true
}

// arguments reads the arguments of a function-like macro behind its opening parenthesis.
func (p *preprocessor) arguments(s *tokenStream, use Token, m *macro) ([][]Token, bool) {
	var args [][]Token
	var arg []Token
	depth := 0
	for n := 0; ; n++ {
		t := s.next()
		switch {
		case t.Kind == TokEOF:
			p.diags.Errorf(use.Span, diag.PreMacro, "arguments of macro %s are not closed: ) is missing", m.name)
			return nil, false
		case n > maxExpansion:
			p.fail(use.Span, "arguments of macro %s have more than %d tokens", m.name, maxExpansion)
			return nil, false
		case t.Kind == TokLParen:
			depth++
		case t.Kind == TokRParen && depth > 0:
			depth--
		case t.Kind == TokRParen:
			args = append(args, arg)
			if len(m.params) == 0 && len(args) == 1 && len(arg) == 0 {
				args = nil
			}
			return args, p.checkArity(use, m, len(args))
		case t.Kind == TokComma && depth == 0 && !(m.variadic && len(args) >= len(m.params)-1):
			args = append(args, arg)
			arg = nil
			continue
		}
		arg = append(arg, t)
	}
}

func (p *preprocessor) checkArity(use Token, m *macro, n int) bool {
	if n == len(m.params) || m.variadic && n == len(m.params)-1 {
		return true
	}
	p.diags.Errorf(use.Span, diag.PreMacro, "macro %s takes %d arguments, not %d", m.name, len(m.params), n).
		Note(m.def, "defined here")
	return false
}
