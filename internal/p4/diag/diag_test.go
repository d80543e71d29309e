package diag

import (
	"errors"
	"strings"
	"testing"
)

func span(f *File, start, end int) Span {
	return Span{File: f.ID, Start: int32(start), End: int32(end)}
}

func render(t *testing.T, fs *FileSet, l List) string {
	t.Helper()
	var b strings.Builder
	if err := Render(&b, fs, l); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRender(t *testing.T) {
	fs := NewFileSet()
	f := fs.AddFile("a.p4", []byte("first line\n\tif (ä == b) {\r\n\nlast"))
	g := fs.AddFile("b.p4", []byte("x\n"))
	exp := fs.AddExpansion(Expansion{Macro: "M", Def: span(g, 0, 1)})

	var l List
	l.Warnf(span(f, 30, 34), SyntaxLimit, "at %s", "the end").Note(span(g, 0, 1), "see x").Note(Span{}, "a hint")
	l.Errorf(span(f, 16, 18), SyntaxUnexpected, "two bytes, one character")
	l.Errorf(span(f, 24, 25), SyntaxUnexpected, "behind a tab and an umlaut")
	l.Errorf(span(f, 28, 28), SyntaxUnexpected, "on an empty line")
	l.Errorf(Span{}, PreInclude, "no position")
	e := span(f, 0, 5)
	e.Exp = exp
	l.Errorf(e, SyntaxUnexpected, "from a macro")
	l.Errorf(span(f, 6, 40), SyntaxUnexpected, "over several lines")

	want := `error: no position [preprocess/include]
a.p4:1:1: error: from a macro [syntax/unexpected-token]
    first line
    ^~~~~
b.p4:1:1: note: in the expansion of macro M, defined here
    x
    ^
a.p4:1:7: error: over several lines [syntax/unexpected-token]
    first line
          ^~~~
a.p4:2:6: error: two bytes, one character [syntax/unexpected-token]
    	if (ä == b) {
    	    ^
a.p4:2:13: error: behind a tab and an umlaut [syntax/unexpected-token]
    	if (ä == b) {
    	           ^
a.p4:3:1: error: on an empty line [syntax/unexpected-token]
a.p4:4:2: warning: at the end [syntax/limit]
    last
     ^~~
b.p4:1:1: note: see x
    x
    ^
note: a hint
`
	if got := render(t, fs, l); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestRenderIsOrderedAndWithoutDuplicates(t *testing.T) {
	fs := NewFileSet()
	f := fs.AddFile("a.p4", []byte("abc\n"))
	var l List
	l.Errorf(span(f, 2, 3), SyntaxUnexpected, "c")
	l.Errorf(span(f, 0, 1), SyntaxUnexpected, "b")
	l.Warnf(span(f, 0, 1), SyntaxUnexpected, "a")
	l.Errorf(span(f, 0, 1), SyntaxUnexpected, "b")
	l.Errorf(span(f, 0, 1), SyntaxLiteral, "b")
	var got []string
	for _, d := range l.Sorted() {
		got = append(got, d.Severity.String()+" "+string(d.Code)+" "+d.Message)
	}
	want := "error syntax/literal b, error syntax/unexpected-token b, warning syntax/unexpected-token a, error syntax/unexpected-token c"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	if len(l) != 5 {
		t.Errorf("Sorted changed the list: %d left", len(l))
	}
}

// A long line is cut around the caret, control characters do not reach the terminal.
func TestRenderLongAndDirtyLines(t *testing.T) {
	fs := NewFileSet()
	src := strings.Repeat("ä", 500) + "X\x1b[31m" + strings.Repeat("ö", 500)
	f := fs.AddFile("a.p4", []byte(src))
	var l List
	l.Errorf(span(f, 1000, 1001), SyntaxCharacter, "here")
	lines := strings.Split(render(t, fs, l), "\n")
	if len(lines[1]) > 4+2*maxLineShown || strings.Contains(lines[1], "\x1b") {
		t.Errorf("bad source line %q", lines[1])
	}
	if x, caret := strings.Index(lines[1], "X"), strings.Index(lines[2], "^"); x < 0 || len([]rune(lines[1][:x])) != caret {
		t.Errorf("caret does not stand under X:\n%s\n%s", lines[1], lines[2])
	}
}

func TestPosition(t *testing.T) {
	fs := NewFileSet()
	f := fs.AddFile("a.p4", []byte("one\ntwo\n#line\nthree\nfour\n#line\nfive"))
	f.MarkLine(14, "b.p4", 100)
	f.MarkLine(31, "", 7)
	for off, want := range map[int]string{
		0: "a.p4:1:1", 3: "a.p4:1:4", 4: "a.p4:2:1", 14: "b.p4:100:1", 20: "b.p4:101:1", 31: "b.p4:7:1", 34: "b.p4:7:4", 99: "b.p4:7:5",
	} {
		if got := fs.Position(span(f, off, off)).String(); got != want {
			t.Errorf("offset %d: got %s, want %s", off, got, want)
		}
	}
	if got := fs.Position(Span{}).String(); got != "-" {
		t.Errorf("no position: got %s", got)
	}
	if fs.File(99) != nil || fs.File(0) != nil {
		t.Error("unknown files are found")
	}
}

func TestJoin(t *testing.T) {
	a, b := Span{File: 1, Start: 5, End: 7}, Span{File: 1, Start: 2, End: 6, Exp: 3}
	for _, c := range []struct{ x, y, want Span }{
		{a, b, Span{File: 1, Start: 2, End: 7}},
		{b, b, b},
		{a, Span{}, a},
		{Span{}, a, a},
		{a, Span{File: 2, Start: 1, End: 2}, a},
	} {
		if got := c.x.Join(c.y); got != c.want {
			t.Errorf("%v join %v: got %v, want %v", c.x, c.y, got, c.want)
		}
	}
	if a.At() != (Span{File: 1, Start: 5, End: 5}) || a.After() != (Span{File: 1, Start: 7, End: 7}) {
		t.Errorf("At %v, After %v", a.At(), a.After())
	}
}

func TestListErr(t *testing.T) {
	fs := NewFileSet()
	var l List
	l.Warnf(Span{}, SyntaxLimit, "w")
	if err := l.Err(fs); err != nil || l.HasErrors() {
		t.Errorf("a warning is an error: %v", err)
	}
	var m List
	m.Errorf(Span{}, SyntaxLimit, "e")
	l.Append(m)
	if err := l.Err(fs); err == nil || err.Error() != "error: e [syntax/limit]\nwarning: w [syntax/limit]" {
		t.Errorf("got %v", err)
	}
}

type brokenWriter struct{}

var errBroken = errors.New("broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestRenderReportsWriteErrors(t *testing.T) {
	var l List
	l.Errorf(Span{}, SyntaxLimit, "e")
	if err := Render(brokenWriter{}, NewFileSet(), l); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
}
