package diag

import (
	"bytes"
	"fmt"
	"sort"
	"unicode/utf8"
)

// File is one source text. Lines are counted from 1, columns from 1 in characters (not bytes).
type File struct {
	ID   FileID
	Name string // as the user named it; never made absolute
	Src  []byte

	lines []int32    // byte offset at which each line begins
	marks []lineMark // #line directives, ascending by offset
}

// lineMark says that the line beginning at offset Off is to be called Name:Line.
type lineMark struct {
	off  int32
	name string
	line int
}

// Position is a resolved place for people. Line and Column count from 1.
type Position struct {
	Filename     string
	Line, Column int
}

// String gives file:line:column, as editors expect it.
func (p Position) String() string {
	if p.Filename == "" && p.Line == 0 {
		return "-"
	}
	return fmt.Sprintf("%s:%d:%d", p.Filename, p.Line, p.Column)
}

// ExpansionID numbers the macro expansions of a [FileSet] from 1; 0 means "not from a macro".
type ExpansionID int32

// Expansion is one use of a macro: which macro, and where it was defined.
type Expansion struct {
	Macro string
	Def   Span
}

// FileSet owns the files and macro expansions that spans refer to. It is not safe for
// concurrent writing; reading while nobody adds files is.
type FileSet struct {
	files      []*File
	expansions []Expansion
}

// NewFileSet returns an empty file set.
func NewFileSet() *FileSet { return &FileSet{} }

// AddFile adds a source text. The bytes must not be changed afterwards. The same name may be added
// more than once (a header that is included twice); each gets its own number.
func (fs *FileSet) AddFile(name string, src []byte) *File {
	f := &File{ID: FileID(len(fs.files) + 1), Name: name, Src: src}
	f.lines = append(make([]int32, 0, bytes.Count(src, []byte{'\n'})+1), 0)
	for i, c := range src {
		if c == '\n' {
			f.lines = append(f.lines, int32(i+1))
		}
	}
	fs.files = append(fs.files, f)
	return f
}

// File returns the file with that number, or nil.
func (fs *FileSet) File(id FileID) *File {
	if id < 1 || int(id) > len(fs.files) {
		return nil
	}
	return fs.files[id-1]
}

// Files returns all files in the order in which they were added.
func (fs *FileSet) Files() []*File { return fs.files }

// AddExpansion records the use of a macro and returns its number for [Span.Exp].
func (fs *FileSet) AddExpansion(e Expansion) ExpansionID {
	fs.expansions = append(fs.expansions, e)
	return ExpansionID(len(fs.expansions))
}

// Expansion returns the recorded expansion, and false for 0 or an unknown number.
func (fs *FileSet) Expansion(id ExpansionID) (Expansion, bool) {
	if id < 1 || int(id) > len(fs.expansions) {
		return Expansion{}, false
	}
	return fs.expansions[id-1], true
}

// Position resolves the start of a span. An invalid span gives the zero Position.
func (fs *FileSet) Position(s Span) Position {
	f := fs.File(s.File)
	if f == nil {
		return Position{}
	}
	return f.Position(s.Start)
}

// MarkLine records a #line directive: the line that begins at byte off is line `line` of `name`.
// Offsets must come in ascending order. An empty name keeps the name in force.
func (f *File) MarkLine(off int32, name string, line int) {
	if name == "" {
		name = f.Name
		if n := len(f.marks); n > 0 {
			name = f.marks[n-1].name
		}
	}
	f.marks = append(f.marks, lineMark{off, name, line})
}

// Position resolves a byte offset, honouring #line directives.
func (f *File) Position(off int32) Position {
	line := f.physicalLine(off)
	begin := f.lines[line-1]
	end := min(off, int32(len(f.Src)))
	p := Position{Filename: f.Name, Line: line, Column: 1 + utf8.RuneCount(f.Src[begin:max(begin, end)])}
	if i := sort.Search(len(f.marks), func(i int) bool { return f.marks[i].off > off }); i > 0 {
		m := f.marks[i-1]
		p.Filename = m.name
		p.Line = m.line + line - f.physicalLine(m.off)
	}
	return p
}

// physicalLine gives the line of a byte offset as it stands in the text, from 1.
func (f *File) physicalLine(off int32) int {
	return sort.Search(len(f.lines), func(i int) bool { return f.lines[i] > off })
}

// lineText returns the text of the line that holds off, without its end, and the line's offset.
func (f *File) lineText(off int32) (text []byte, begin int32) {
	n := f.physicalLine(off)
	begin = f.lines[n-1]
	end := int32(len(f.Src))
	if n < len(f.lines) {
		end = f.lines[n] - 1
	}
	return bytes.TrimRight(f.Src[begin:end], "\r"), begin
}

// Line returns what stands on a line of a file, as positions name them, without the white space around it. The span is
// invalid if there is no such line.
func (fs *FileSet) Line(name string, line int) Span {
	for _, f := range fs.files {
		for i, begin := range f.lines {
			if p := f.Position(begin); p.Line != line || p.Filename != name {
				continue
			}
			end := int32(len(f.Src))
			if i+1 < len(f.lines) {
				end = f.lines[i+1]
			}
			text := f.Src[begin:end]
			begin += int32(len(text) - len(bytes.TrimLeft(text, " \t\r\n")))
			return Span{File: f.ID, Start: min(begin, end), End: begin + int32(len(bytes.TrimSpace(text)))}
		}
	}
	return Span{}
}
