// Package compile is the front end of the compiler in one call: from P4 source text
// to the IR, through preprocessor, parser, checker and lowering.
//
// The command line, the tests, the import of network functions and the back ends
// start from here. What it returns has not gone through the passes of package pass.
package compile

import (
	"io/fs"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/p4info"
	"github.com/catena-nfv/catena/internal/p4/syntax"
	"github.com/catena-nfv/catena/internal/p4/types"
)

// Options configure a compilation. The zero value reads files and knows the compiler's
// own core.p4 and v1model.p4.
type Options struct {
	IncludeDirs []string // searched in order, before the compiler's own headers
	Defines     []string // NAME or NAME=VALUE
	// FS, when not nil, is where all files are read from; paths are then slash-separated
	// and without a root, as package io/fs has them.
	FS fs.FS
	// FileSet takes the files, when not nil, so that diagnostics can show places in
	// several programs.
	FileSet *diag.FileSet
}

func (o Options) files() *diag.FileSet {
	if o.FileSet != nil {
		return o.FileSet
	}
	return diag.NewFileSet()
}

func (o Options) syntax() syntax.Options {
	s := syntax.Options{IncludeDirs: o.IncludeDirs, Defines: o.Defines}
	if o.FS != nil {
		s.Open = func(path string) ([]byte, error) { return fs.ReadFile(o.FS, path) }
	}
	return s
}

// File compiles a program from a file. The program is nil when the list holds an error;
// the list may hold warnings besides. The file set is never nil: it renders the list.
func File(path string, opts Options) (*ir.Program, *diag.FileSet, diag.List) {
	fset := opts.files()
	prog, diags := syntax.ParseFile(fset, path, opts.syntax())
	p, diags := lower(prog, diags)
	return p, fset, diags
}

// Source compiles a program from a text at hand. name stands for the file in
// diagnostics, and is where #include "…" starts to look.
func Source(name string, src []byte, opts Options) (*ir.Program, *diag.FileSet, diag.List) {
	fset := opts.files()
	prog, diags := syntax.ParseBytes(fset, name, src, opts.syntax())
	p, diags := lower(prog, diags)
	return p, fset, diags
}

// Check checks a program without compiling it: any P4_16 program will do, for whatever
// architecture.
func Check(path string, opts Options) (*diag.FileSet, diag.List) {
	fset := opts.files()
	prog, diags := syntax.ParseFile(fset, path, opts.syntax())
	if diags.HasErrors() {
		return fset, diags
	}
	_, more := types.Check(prog)
	diags.Append(more)
	return fset, diags
}

// lower takes a parsed program through checker and lowering, as far as there are no
// errors.
func lower(prog *syntax.Program, diags diag.List) (*ir.Program, diag.List) {
	if diags.HasErrors() {
		return nil, diags
	}
	info, more := types.Check(prog)
	diags.Append(more)
	if diags.HasErrors() {
		return nil, diags
	}
	p, more := types.Lower(info)
	diags.Append(more)
	if p != nil {
		more = p4info.Check(p)
		diags.Append(more)
		if more.HasErrors() {
			p = nil
		}
	}
	return p, diags
}
