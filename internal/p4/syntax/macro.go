package syntax

import (
	"slices"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/diag"
)

// macro is one #define.
type macro struct {
	name     string
	def      diag.Span // of the name in the definition
	function bool      // written with a parameter list
	params   []string
	variadic bool // the last parameter, __VA_ARGS__, takes all remaining arguments
	body     []Token

	inUse int // expansions being read; while positive, the macro is not expanded again
}

// define reads a definition behind the word `define`.
func (p *preprocessor) define(lx *lexer, dir Token) {
	name, ok := lx.nextOnLine()
	if !ok || !name.Kind.isWord() {
		p.diags.Errorf(dir.Span, diag.PreMacro, "#define wants a name")
		return
	}
	if name.Text == "defined" {
		p.diags.Errorf(name.Span, diag.PreMacro, "defined cannot be a macro")
		return
	}
	m := &macro{name: name.Text, def: name.Span}
	toks := restTokens(lx)
	if len(toks) > 0 && toks[0].Kind == TokLParen && toks[0].Glued {
		if toks, ok = p.macroParams(m, toks[1:]); !ok {
			return
		}
	}
	if n := len(toks); n > 0 && (toks[0].Kind == TokHashHash || toks[n-1].Kind == TokHashHash) {
		p.diags.Errorf(m.def, diag.PreMacro, "## stands at the edge of macro %s", m.name)
		return
	}
	m.body = toks
	if old := p.macros[m.name]; old != nil && !sameMacro(old, m) {
		p.diags.Warnf(m.def, diag.PreMacro, "macro %s is defined again with another meaning", m.name).
			Note(old.def, "first defined here")
	}
	p.macros[m.name] = m
}

// macroParams reads the parameter list behind its opening parenthesis and returns what follows it.
func (p *preprocessor) macroParams(m *macro, toks []Token) ([]Token, bool) {
	m.function = true
	for i := 0; i < len(toks); i++ {
		t := toks[i]
		switch {
		case t.Kind == TokRParen && len(m.params) == 0:
			return toks[i+1:], true
		case t.Kind == TokEllipsis:
			m.variadic = true
			m.params = append(m.params, "__VA_ARGS__")
		case t.Kind.isWord() && !slices.Contains(m.params, t.Text):
			m.params = append(m.params, t.Text)
		default:
			p.diags.Errorf(t.Span, diag.PreMacro, "%q is not a new parameter of macro %s", t.Text, m.name)
			return nil, false
		}
		i++
		if i < len(toks) && toks[i].Kind == TokRParen {
			return toks[i+1:], true
		}
		if i == len(toks) || toks[i].Kind != TokComma || m.variadic {
			break
		}
	}
	p.diags.Errorf(m.def, diag.PreMacro, "parameter list of macro %s is not closed: ) is missing", m.name)
	return nil, false
}

// sameMacro tells whether two definitions mean the same, so that one may repeat the other.
func sameMacro(a, b *macro) bool {
	same := func(x, y Token) bool { return x.Kind == y.Kind && x.Text == y.Text }
	return a.function == b.function && slices.Equal(a.params, b.params) && slices.EqualFunc(a.body, b.body, same)
}

// substitute returns the body of m with its parameters replaced. Tokens of the body take the span of
// the use; tokens of arguments keep their own.
func (p *preprocessor) substitute(m *macro, args [][]Token, use diag.Span) []Token {
	for len(args) < len(m.params) {
		args = append(args, nil) // an omitted variadic argument
	}
	full := make([][]Token, len(args)) // arguments, expanded when first needed
	done := make([]bool, len(args))
	out := make([]Token, 0, len(m.body))
	paste := false // the last token of the body was ##, with something before it
	last := 0      // number of tokens that the last operand gave; 0 is C's placemarker
	for i, t := range m.body {
		if t.Kind == TokHashHash {
			paste = last > 0
			continue
		}
		pasted := paste || i+1 < len(m.body) && m.body[i+1].Kind == TokHashHash
		var toks []Token
		arg := m.param(t)
		switch {
		case t.Kind == TokHash && m.function && i+1 < len(m.body) && m.param(m.body[i+1]) >= 0:
			continue // the next token becomes a string
		case arg >= 0 && i > 0 && m.body[i-1].Kind == TokHash:
			toks = []Token{{Kind: TokString, Text: quote(joinText(args[arg])), Glued: t.Glued, Span: use}}
		case arg >= 0 && pasted:
			toks = args[arg]
		case arg >= 0:
			if !done[arg] {
				full[arg], done[arg] = p.expandArg(args[arg], use), true
			}
			toks = full[arg]
		default:
			t.Span, t.FirstOnLine = use, false
			toks = []Token{t}
		}
		if p.expanded+len(out)+len(toks) > maxExpansion {
			p.fail(use, "macros expand to more than %d tokens", maxExpansion)
			return nil
		}
		switch {
		case !paste:
			last = len(toks)
		case len(toks) > 0:
			out[len(out)-1] = p.paste(out[len(out)-1], toks[0])
			toks = toks[1:]
		}
		for j, x := range toks {
			x.FirstOnLine = false // a # from an argument is no directive
			if j == 0 && arg >= 0 && !paste {
				x.Glued = t.Glued // white space around an argument does not count
			}
			out = append(out, x)
		}
		paste = false
	}
	return out
}

// param returns the number of the parameter that t names, or -1.
func (m *macro) param(t Token) int {
	if !t.Kind.isWord() {
		return -1
	}
	return slices.Index(m.params, t.Text)
}

func (p *preprocessor) expandArg(arg []Token, use diag.Span) []Token {
	if p.argDepth >= maxMacroDepth {
		p.fail(use, "macro arguments are nested deeper than %d", maxMacroDepth)
		return nil
	}
	p.argDepth++
	defer func() { p.argDepth-- }()
	return p.expandAll(arg)
}

// paste joins two tokens to one, as ## asks.
func (p *preprocessor) paste(a, b Token) Token {
	text := a.Text + b.Text
	var diags diag.List
	lx := &lexer{file: p.fs.File(a.Span.File), src: text, diags: &diags}
	kind := lx.scan()
	if lx.off != len(text) || diags.HasErrors() {
		p.diags.Errorf(a.Span, diag.PreMacro, "## makes %q, which is not one token", shorten(text))
		return a
	}
	a.Kind, a.Text = kind, text
	return a
}

// joinText writes tokens as # does: one space where there was any white space.
func joinText(toks []Token) string {
	var b strings.Builder
	for i, t := range toks {
		if i > 0 && !t.Glued {
			b.WriteByte(' ')
		}
		b.WriteString(t.Text)
	}
	return b.String()
}
