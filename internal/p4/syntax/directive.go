package syntax

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/include"
)

// condition is one open #if.
type condition struct {
	span    diag.Span
	keyword string // if, ifdef or ifndef
	taken   bool   // one of its groups has been chosen
	inElse  bool
}

// restTokens reads the tokens up to the end of the line.
func restTokens(lx *lexer) []Token {
	var toks []Token
	for {
		t, ok := lx.nextOnLine()
		if !ok {
			return toks
		}
		toks = append(toks, t)
	}
}

// directive handles the directive that begins with hash and returns the open conditions after it.
func (p *preprocessor) directive(lx *lexer, hash Token, conds []condition) []condition {
	dir, ok := lx.nextOnLine()
	if !ok {
		return conds // a lone # does nothing
	}
	dir.Span = hash.Span.Join(dir.Span)
	switch dir.Text {
	case "if", "ifdef", "ifndef":
		c := condition{span: dir.Span, keyword: dir.Text}
		c.taken = p.condition(lx, dir)
		conds = append(conds, c)
		if !c.taken {
			return p.skip(lx, conds)
		}
	case "elif", "else", "endif":
		if len(conds) == 0 {
			p.diags.Errorf(dir.Span, diag.PreCondition, "#%s without #if", dir.Text)
			lx.skipLine()
			return conds
		}
		if dir.Text == "endif" {
			p.endOfLine(lx, dir)
			return conds[:len(conds)-1]
		}
		p.elseGroup(dir, conds) // the group before was chosen, so this one is not
		lx.skipLine()
		return p.skip(lx, conds)
	case "include":
		p.include(lx, dir)
	case "define":
		p.define(lx, dir)
	case "undef":
		name, ok := lx.nextOnLine()
		if !ok || !name.Kind.isWord() {
			p.diags.Errorf(dir.Span, diag.PreMacro, "#undef wants a name")
			lx.skipLine()
			break
		}
		delete(p.macros, name.Text)
		p.endOfLine(lx, dir)
	case "line":
		p.line(lx, dir)
	case "error":
		p.diags.Errorf(dir.Span, diag.PreError, "%s", strings.TrimSpace("#error "+lx.restOfLine()))
	case "warning":
		p.diags.Warnf(dir.Span, diag.PreWarning, "%s", strings.TrimSpace("#warning "+lx.restOfLine()))
	case "pragma":
		lx.skipLine() // for other tools; P4's own pragmas are @pragma
	default:
		if dir.Kind == TokInt { // # 12 "file": the output of another preprocessor
			p.lineMarker(lx, dir, []Token{dir})
			break
		}
		p.diags.Errorf(dir.Span, diag.PreDirective, "unknown directive #%s", shorten(dir.Text))
		lx.skipLine()
	}
	return conds
}

// endOfLine complains about tokens behind a complete directive.
func (p *preprocessor) endOfLine(lx *lexer, dir Token) {
	if t, more := lx.nextOnLine(); more {
		p.diags.Warnf(t.Span, diag.PreDirective, "text behind #%s is ignored", dir.Text)
		lx.skipLine()
	}
}

// elseGroup notes an #elif or #else of the innermost condition.
func (p *preprocessor) elseGroup(dir Token, conds []condition) {
	c := &conds[len(conds)-1]
	if c.inElse {
		p.diags.Errorf(dir.Span, diag.PreCondition, "#%s behind #else", dir.Text).Note(c.span, "of this #%s", c.keyword)
	}
	c.inElse = c.inElse || dir.Text == "else"
}

// skip skips groups of the innermost condition until one is chosen or the condition ends.
func (p *preprocessor) skip(lx *lexer, conds []condition) []condition {
	nested := 0
	for {
		lx.skipLine()
		hash, ok := lx.skipGroup()
		if !ok {
			return conds // file reports the open conditions
		}
		dir, ok := lx.nextOnLine()
		if !ok {
			continue
		}
		dir.Span = hash.Span.Join(dir.Span)
		switch dir.Text {
		case "if", "ifdef", "ifndef":
			nested++
		case "endif":
			if nested == 0 {
				p.endOfLine(lx, dir)
				return conds[:len(conds)-1]
			}
			nested--
		case "elif", "else":
			if nested > 0 {
				continue
			}
			p.elseGroup(dir, conds)
			c := &conds[len(conds)-1]
			if c.taken {
				continue
			}
			if dir.Text == "else" {
				p.endOfLine(lx, dir)
				c.taken = true
			} else {
				c.taken = p.condition(lx, dir)
			}
			if c.taken {
				return conds
			}
		}
	}
}

// condition evaluates the rest of an #if, #ifdef, #ifndef or #elif line.
func (p *preprocessor) condition(lx *lexer, dir Token) bool {
	if dir.Text == "if" || dir.Text == "elif" {
		return p.evalCondition(restTokens(lx), dir.Span)
	}
	name, ok := lx.nextOnLine()
	if !ok || !name.Kind.isWord() {
		p.diags.Errorf(dir.Span, diag.PreCondition, "#%s wants a name", dir.Text)
		lx.skipLine()
		return false
	}
	p.endOfLine(lx, dir)
	return p.isDefined(name.Text) == (dir.Text == "ifdef")
}

func (p *preprocessor) isDefined(name string) bool {
	return p.macros[name] != nil || name == "__LINE__" || name == "__FILE__"
}

// line handles #line NUMBER ["FILE"].
func (p *preprocessor) line(lx *lexer, dir Token) {
	p.lineMarker(lx, dir, p.expandAll(restTokens(lx)))
}

// lineMarker gives the line after the current one the number, and perhaps the file, in toks.
func (p *preprocessor) lineMarker(lx *lexer, dir Token, toks []Token) {
	if dir.Kind == TokInt {
		toks = append(toks, restTokens(lx)...)
	}
	n, err := 0, errors.New("no number")
	if len(toks) > 0 {
		n, err = strconv.Atoi(toks[0].Text)
	}
	if err != nil || n < 0 || n > 1<<30 || len(toks) > 1 && toks[1].Kind != TokString {
		p.diags.Errorf(dir.Span, diag.PreDirective, "#line wants a number and perhaps a file name in quotes")
		return
	}
	name := ""
	if len(toks) > 1 {
		name = unquote(toks[1].Text)
	}
	next := strings.IndexByte(lx.src[lx.off:], '\n')
	if next < 0 {
		return
	}
	lx.file.MarkLine(int32(lx.off+next+1), name, n)
}

// include handles #include <NAME>, #include "NAME" and #include MACRO.
func (p *preprocessor) include(lx *lexer, dir Token) {
	name, angle, ok := p.includeName(lx)
	if !ok {
		p.diags.Errorf(dir.Span, diag.PreInclude, `#include wants <name> or "name"`)
		lx.skipLine()
		return
	}
	p.endOfLine(lx, dir)
	if p.depth >= maxIncludeDepth {
		p.fail(dir.Span, "#include is nested deeper than %d: does %q include itself", maxIncludeDepth, shorten(name))
		return
	}
	path, src, err := p.find(lx.file.Name, name, angle)
	if err != nil {
		p.diags.Errorf(dir.Span, diag.PreInclude, "%v", err)
		return
	}
	if len(src) > maxSource {
		p.fail(dir.Span, "file %s has %d bytes, the limit is %d", path, len(src), maxSource)
		return
	}
	p.depth++
	p.file(p.fs.AddFile(path, src))
	p.depth--
}

// includeName reads the operand of #include.
func (p *preprocessor) includeName(lx *lexer) (name string, angle, ok bool) {
	if !lx.skipBlank(true) {
		return "", false, false
	}
	rest := lx.src[lx.off:]
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	closing := map[byte]string{'<': ">", '"': `"`}[rest[0]]
	if closing != "" {
		end := strings.Index(rest[1:], closing)
		if end < 1 {
			return "", false, false
		}
		lx.off += end + 2
		return rest[1 : 1+end], closing == ">", true
	}
	toks := p.expandAll(restTokens(lx))
	switch n := len(toks); {
	case n == 1 && toks[0].Kind == TokString:
		return unquote(toks[0].Text), false, true
	case n > 2 && toks[0].Kind == TokLAngle && toks[n-1].Kind == TokRAngle:
		return joinText(toks[1 : n-1]), true, true
	}
	return "", false, false
}

// find looks a header up: beside the including file (quotes only), in the include directories, and
// last among the compiler's own headers.
func (p *preprocessor) find(from, name string, angle bool) (path string, src []byte, err error) {
	var places []string
	switch {
	case filepath.IsAbs(name):
		places = append(places, name)
	case !angle && !strings.HasPrefix(from, ownPrefix):
		places = append(places, filepath.Join(filepath.Dir(from), name))
	}
	if !filepath.IsAbs(name) {
		for _, dir := range p.opts.IncludeDirs {
			places = append(places, filepath.Join(dir, name))
		}
	}
	for _, place := range places {
		src, err := p.opts.open(place)
		if err == nil {
			return place, src, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", nil, err // it exists but cannot be read: do not take another one silently
		}
	}
	if src, ok := include.Source(name); ok {
		return ownPrefix + name, src, nil
	}
	return "", nil, errors.New("included file " + strconv.Quote(name) + " is not found; looked in " +
		strings.Join(append(places, "the compiler's own headers ("+strings.Join(include.Names(), ", ")+")"), ", "))
}

// open reads a file through Options.Open or from the file system.
func (o *Options) open(path string) ([]byte, error) {
	if o.Open != nil {
		return o.Open(path)
	}
	return os.ReadFile(path)
}
