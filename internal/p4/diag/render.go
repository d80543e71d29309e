package diag

import (
	"bufio"
	"fmt"
	"io"
	"unicode/utf8"
)

// maxLineShown bounds the source line that is echoed, in characters; generated programs can have
// lines of megabytes.
const maxLineShown = 160

// Render prints the diagnostics sorted and without duplicates:
//
//	file.p4:12:7: error: message [code]
//	    source line
//	    ~~~~^~~~
//	file.p4:3:1: note: declared here
//
// It returns the first error of the writer.
func Render(w io.Writer, fs *FileSet, diags List) error {
	b := bufio.NewWriter(w)
	for _, d := range diags.Sorted() {
		renderOne(b, fs, d.Span, fmt.Sprintf("%s: %s [%s]", d.Severity, d.Message, d.Code))
		for _, n := range d.Notes {
			renderOne(b, fs, n.Span, "note: "+n.Message)
		}
		if e, ok := fs.Expansion(d.Span.Exp); ok {
			renderOne(b, fs, e.Def, fmt.Sprintf("note: in the expansion of macro %s, defined here", e.Macro))
		}
	}
	return b.Flush()
}

// renderOne prints one line of text with its position, and the source line with a caret below it.
// A bufio.Writer keeps the first error, so single writes are not checked.
func renderOne(b *bufio.Writer, fs *FileSet, s Span, text string) {
	f := fs.File(s.File)
	if f == nil {
		fmt.Fprintln(b, text)
		return
	}
	fmt.Fprintf(b, "%s: %s\n", f.Position(s.Start), text)
	renderSource(b, f, s)
}

func renderSource(b *bufio.Writer, f *File, s Span) {
	line, begin := f.lineText(s.Start)
	col := min(max(int(s.Start-begin), 0), len(line)) // byte column of the caret
	end := min(max(int(s.End-begin), col), len(line))
	first, last := window(line, col)
	if first == last {
		return
	}
	b.WriteString("    ")
	for i := first; i < last; {
		r, size := utf8.DecodeRune(line[i:])
		if r == utf8.RuneError || r < ' ' && r != '\t' || r == 0x7f {
			r = '.' // a control character must not reach the terminal
		}
		b.WriteRune(r)
		i += size
	}
	b.WriteString("\n    ")
	for i := first; i < col; {
		r, size := utf8.DecodeRune(line[i:])
		if r == '\t' {
			b.WriteByte('\t')
		} else {
			b.WriteByte(' ')
		}
		i += size
	}
	b.WriteByte('^')
	for n := utf8.RuneCount(line[col:min(end, last)]); n > 1; n-- {
		b.WriteByte('~')
	}
	b.WriteByte('\n')
}

// window chooses the part of a line to show: all of it, or maxLineShown bytes around the caret,
// cut at character boundaries.
func window(line []byte, col int) (first, last int) {
	if len(line) <= maxLineShown {
		return 0, len(line)
	}
	first = max(col-maxLineShown/2, 0)
	last = min(first+maxLineShown, len(line))
	for first > 0 && !utf8.RuneStart(line[first]) {
		first--
	}
	for last < len(line) && !utf8.RuneStart(line[last]) {
		last++
	}
	return first, last
}
