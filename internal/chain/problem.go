package chain

import (
	"fmt"
	"strings"
)

// Pos is a place in request text. Line and Col count from 1, Col in bytes; Offset counts bytes from 0.
type Pos struct {
	Line, Col, Offset int
}

// Problem is one diagnostic of a request: where, what, and the source line that shows it.
type Problem struct {
	File  string // as given in Options.File
	Pos   Pos
	Width int    // bytes to underline, at least 1
	Msg   string // lower case, names the object
	Line  string // the source line, without its newline
	Notes []string
}

// Error renders the problem as `file:line:col: error: text`, the source line, a caret and the notes.
func (p *Problem) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: error: %s", p.File, p.Pos.Line, p.Pos.Col, p.Msg)
	lead := p.Line[:min(p.Pos.Col-1, len(p.Line))]
	indent := strings.Map(func(r rune) rune {
		if r == '\t' {
			return '\t'
		}
		return ' '
	}, lead)
	fmt.Fprintf(&b, "\n    %s\n    %s^%s", p.Line, indent, strings.Repeat("~", max(p.Width-1, 0)))
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "\n  note: %s", n)
	}
	return b.String()
}

// Problems is the error that Parse returns: all that is wrong, in the order of the text.
type Problems []*Problem

func (ps Problems) Error() string {
	parts := make([]string, len(ps))
	for i, p := range ps {
		parts[i] = p.Error()
	}
	return strings.Join(parts, "\n")
}

// maxProblems bounds one run's diagnostics; a wrong file should not scroll the first error away.
const maxProblems = 20

// reporter collects problems for one text.
type reporter struct {
	file  string
	lines []string
	found Problems
	more  int // problems beyond maxProblems
}

func newReporter(file, src string) *reporter {
	return &reporter{file: file, lines: strings.Split(src, "\n")}
}

func (r *reporter) at(pos Pos, width int, notes []string, format string, args ...any) {
	if len(r.found) == maxProblems {
		r.more++
		return
	}
	line := ""
	if pos.Line <= len(r.lines) {
		line = strings.TrimRight(r.lines[pos.Line-1], "\r")
	}
	r.found = append(r.found, &Problem{
		File: r.file, Pos: pos, Width: max(width, 1), Msg: fmt.Sprintf(format, args...),
		Line: shorten(line, pos.Col, width), Notes: notes,
	})
}

// shorten cuts what follows the marked text of a very long line.
func shorten(line string, col, width int) string {
	const keep = 160
	if end := col - 1 + width + keep; len(line) > end {
		return line[:end] + " ..."
	}
	return line
}

// err returns what was collected, sorted by position, or nil.
func (r *reporter) err() error {
	if len(r.found) == 0 {
		return nil
	}
	if r.more > 0 {
		last := r.found[len(r.found)-1]
		last.Notes = append(last.Notes, fmt.Sprintf("%d more errors not shown", r.more))
	}
	return r.found
}
