package service

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/catena-nfv/catena/internal/p4/diag"
)

// Source is the text that a service was read from, with the place of each value.
type Source struct {
	name  string
	text  []byte
	lines []int // byte offset of each line's start
	spans map[string]valueSpan
}

// valueSpan is the place of one value, in bytes; literal block scalars know
// where their first line's text starts and how deep they are indented.
type valueSpan struct {
	start, end int
	block      bool
	indent     int // bytes that block lines are indented by
}

func newSource(name string, text []byte) *Source {
	s := &Source{name: name, text: text, lines: []int{0}, spans: map[string]valueSpan{}}
	for i, c := range text {
		if c == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// Name of the file.
func (s *Source) Name() string { return s.name }

// Has reports whether the text gives a value at path, as "networks[1].subnet".
func (s *Source) Has(path string) bool {
	_, ok := s.spans[path]
	return ok
}

// offset converts a line and a column (in characters), both from 1, to bytes.
func (s *Source) offset(line, col int) int {
	if line < 1 {
		return 0
	}
	if line > len(s.lines) {
		return len(s.text)
	}
	off := s.lines[line-1]
	for n := 1; n < col && off < len(s.text) && s.text[off] != '\n'; n++ {
		_, size := utf8.DecodeRune(s.text[off:])
		off += size
	}
	return off
}

// lineColumn is the inverse of offset.
func (s *Source) lineColumn(off int) (line, col int) {
	off = min(max(off, 0), len(s.text))
	line = sort.SearchInts(s.lines, off+1)
	return line, utf8.RuneCount(s.text[s.lines[line-1]:off]) + 1
}

// position of byte `into` of the value at path. A path without a value of its
// own (a missing field) has the position of the nearest value around it.
func (s *Source) position(path string, into int) (line, col int) {
	off, _ := s.find(path, into)
	return s.lineColumn(off)
}

// find gives the byte range at path, starting `into` bytes inside of it.
func (s *Source) find(path string, into int) (start, end int) {
	for p := path; ; p = parentPath(p) {
		if sp, ok := s.spans[p]; ok {
			if p == path && into > 0 {
				return sp.inside(s.text, into), sp.end
			}
			return sp.start, sp.end
		}
		if p == "" {
			return 0, 0
		}
	}
}

// inside finds byte `into` of the decoded text in the source. For plain and
// quoted one-line scalars the two run in step, which is all that chain requests
// need (no escapes); block scalars lose their indentation on every line.
func (sp valueSpan) inside(text []byte, into int) int {
	if !sp.block {
		return min(sp.start+into, sp.end)
	}
	off := min(sp.start+sp.indent, len(text))
	for ; into > 0 && off < len(text); into-- {
		nl := text[off] == '\n'
		off++
		if nl {
			for i := 0; i < sp.indent && off < len(text) && text[off] == ' '; i++ {
				off++
			}
		}
	}
	return off
}

// parentPath cuts the last field or index off.
func parentPath(p string) string {
	i := strings.LastIndexAny(p, ".[")
	if i < 0 {
		return ""
	}
	return p[:i]
}

// render prints problems with the source line and a caret.
func (s *Source) render(problems []Problem) string {
	fs := diag.NewFileSet()
	file := fs.AddFile(s.name, s.text)
	var list diag.List
	for _, p := range problems {
		start := s.offset(p.Line, p.Column)
		end := start
		if pathStart, pathEnd := s.find(p.Path, p.Offset); pathStart == start {
			end = pathEnd
		}
		if nl := strings.IndexByte(string(s.text[start:end]), '\n'); nl >= 0 {
			end = start + nl
		}
		list.Errorf(diag.Span{File: file.ID, Start: int32(start), End: int32(end)}, p.Code, "%s", p.Message)
	}
	var b strings.Builder
	_ = diag.Render(&b, fs, list) // a strings.Builder never fails
	return strings.TrimRight(b.String(), "\n")
}
