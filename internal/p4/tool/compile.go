// Package tool is what the commands `catena p4 …` do: compile, check, print and run
// programs from files. It writes to the writers it is given and returns what became
// of it; flags and exit codes are the command line's.
package tool

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"

	"github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
)

// Source is a program and how to read it.
type Source struct {
	Path        string
	IncludeDirs []string
	Defines     []string // NAME or NAME=VALUE
	// FS is where the program and what it includes are read; nil: this machine's
	// files.
	FS fs.FS
}

// Compiled is a program that went through the front end.
type Compiled struct {
	Program *ir.Program
	Files   *diag.FileSet
	Diags   diag.List // what the compiler says of it
}

// Rejected is the error for a program that is wrong. It holds what is wrong.
type Rejected struct {
	Files *diag.FileSet
	Diags diag.List
}

// Error gives all diagnostics with their source lines.
func (e *Rejected) Error() string { return e.Diags.Err(e.Files).Error() }

// Compile reads and checks a program. The error of a wrong one is a *Rejected.
func Compile(s Source) (*Compiled, error) {
	c := &Compiled{}
	c.Program, c.Files, c.Diags = compile.File(s.Path, compile.Options{FS: s.FS, IncludeDirs: s.IncludeDirs, Defines: s.Defines})
	if c.Diags.HasErrors() {
		return nil, &Rejected{c.Files, c.Diags}
	}
	return c, nil
}

// Position gives file:line:column of a place in the program.
func (c *Compiled) Position(s diag.Span) string { return c.Files.Position(s).String() }

// diagnostic is a diagnostic as JSON.
type diagnostic struct {
	File     string       `json:"file,omitempty"`
	Line     int          `json:"line,omitempty"`
	Column   int          `json:"column,omitempty"`
	Severity string       `json:"severity,omitempty"`
	Code     string       `json:"code,omitempty"`
	Message  string       `json:"message"`
	Notes    []diagnostic `json:"notes,omitempty"`
}

func at(files *diag.FileSet, s diag.Span, message string) diagnostic {
	p := files.Position(s)
	return diagnostic{File: p.Filename, Line: p.Line, Column: p.Column, Message: message}
}

// WriteDiagnostics prints diagnostics as text or, asJSON, as a list of objects.
func WriteDiagnostics(w io.Writer, files *diag.FileSet, ds diag.List, asJSON bool) error {
	if !asJSON {
		return diag.Render(w, files, ds)
	}
	out := []diagnostic{}
	for _, d := range ds.Sorted() {
		o := at(files, d.Span, d.Message)
		o.Severity, o.Code = fmt.Sprint(d.Severity), string(d.Code)
		for _, n := range d.Notes {
			o.Notes = append(o.Notes, at(files, n.Span, n.Message))
		}
		out = append(out, o)
	}
	return writeJSON(w, out)
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
