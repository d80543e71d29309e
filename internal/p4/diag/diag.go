package diag

import (
	"errors"
	"fmt"
	"sort"
	"strings"
)

// Severity says how bad a diagnostic is. Only errors stop the compiler from producing output.
type Severity uint8

// The severities, worst first.
const (
	Error Severity = iota
	Warning
)

// String gives the word that is printed.
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Note adds a second place or a hint to a diagnostic. The span may be invalid: then only the
// text is printed.
type Note struct {
	Span    Span
	Message string
}

// Diagnostic is one complaint. Message is one line, lower case, without a full stop; it names the
// thing at fault and, where there is one, the way out.
type Diagnostic struct {
	Span     Span
	Severity Severity
	Code     Code
	Message  string
	Notes    []Note
}

// Note appends a note and returns the diagnostic, so that calls can be chained.
func (d *Diagnostic) Note(s Span, format string, args ...any) *Diagnostic {
	d.Notes = append(d.Notes, Note{Span: s, Message: fmt.Sprintf(format, args...)})
	return d
}

// List collects diagnostics in the order in which they are found. The zero value is ready to use.
type List []*Diagnostic

// Errorf appends an error and returns it, for notes.
func (l *List) Errorf(s Span, code Code, format string, args ...any) *Diagnostic {
	return l.add(Error, s, code, format, args)
}

// Warnf appends a warning and returns it, for notes.
func (l *List) Warnf(s Span, code Code, format string, args ...any) *Diagnostic {
	return l.add(Warning, s, code, format, args)
}

func (l *List) add(sev Severity, s Span, code Code, format string, args []any) *Diagnostic {
	d := &Diagnostic{Span: s, Severity: sev, Code: code, Message: fmt.Sprintf(format, args...)}
	*l = append(*l, d)
	return d
}

// Append adds the diagnostics of another list.
func (l *List) Append(m List) { *l = append(*l, m...) }

// HasErrors tells whether the list holds at least one error.
func (l List) HasErrors() bool {
	for _, d := range l {
		if d.Severity == Error {
			return true
		}
	}
	return false
}

// Sorted returns a copy without duplicates, ordered by file, position, severity, code and message.
// Two diagnostics are duplicates when all of these are equal; the notes of the first are kept.
func (l List) Sorted() List {
	out := make(List, len(l))
	copy(out, l)
	sort.SliceStable(out, func(i, j int) bool { return compare(out[i], out[j]) < 0 })
	n := 0
	for i, d := range out {
		if i > 0 && compare(out[n-1], d) == 0 {
			continue
		}
		out[n] = d
		n++
	}
	return out[:n]
}

func compare(a, b *Diagnostic) int {
	switch {
	case a.Span.Less(b.Span):
		return -1
	case b.Span.Less(a.Span):
		return 1
	case a.Severity != b.Severity:
		return int(a.Severity) - int(b.Severity)
	case a.Code != b.Code:
		return strings.Compare(string(a.Code), string(b.Code))
	}
	return strings.Compare(a.Message, b.Message)
}

// Err returns nil when the list holds no error, else an error whose text is the rendered list.
// It is for callers, such as servers, that have only an error to return.
func (l List) Err(fs *FileSet) error {
	if !l.HasErrors() {
		return nil
	}
	var b strings.Builder
	_ = Render(&b, fs, l) // a strings.Builder never fails
	return errors.New(strings.TrimRight(b.String(), "\n"))
}
