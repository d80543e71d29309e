package ebpf

import (
	"fmt"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/diag"
)

// text collects indented lines.
type text struct {
	b      strings.Builder
	indent int
	fs     *diag.FileSet
	file   string // of the last #line
	line   int
}

// f writes a line; one that ends in `{` indents what follows, one that begins with
// `}` ends that.
func (t *text) f(format string, args ...any) {
	l := format
	if len(args) > 0 {
		l = fmt.Sprintf(format, args...)
	}
	if strings.HasPrefix(l, "}") {
		t.indent--
	}
	switch {
	case l == "":
	case strings.HasPrefix(l, "#"):
		t.b.WriteString(l)
	case strings.HasSuffix(l, ":") && !strings.HasPrefix(l, "case ") && !strings.HasPrefix(l, "default"):
		t.b.WriteString(l) // a label
	default:
		for range t.indent - btoi(strings.HasPrefix(l, "case ") || strings.HasPrefix(l, "default:")) {
			t.b.WriteByte('\t')
		}
		t.b.WriteString(l)
	}
	t.b.WriteByte('\n')
	if opens(l) {
		t.indent++
	}
}

// opens tells whether a line ends in `{`, a comment behind it left out.
func opens(l string) bool {
	if i := strings.LastIndex(l, " /*"); i >= 0 && strings.HasSuffix(l, "*/") {
		l = l[:i]
	}
	return strings.HasSuffix(l, "{")
}

// at ties the following lines to a place in the P4 text.
func (t *text) at(s diag.Span) {
	if t.fs == nil || !s.IsValid() {
		return
	}
	p := t.fs.Position(s)
	if p.Line == 0 || p.Filename == t.file && p.Line == t.line {
		return
	}
	t.file, t.line = p.Filename, p.Line
	t.f("#line %d %q", p.Line, p.Filename)
}

// take appends a text that was written apart.
func (t *text) take(o *text) {
	t.b.WriteString(o.b.String())
	if o.file != "" {
		t.file, t.line = o.file, o.line
	}
}

// nowhere says that what follows stands for nothing in the P4 text.
func (t *text) nowhere() {
	if t.fs != nil {
		t.file, t.line = Generated, 0
		t.f("#line 1 %q", Generated)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
