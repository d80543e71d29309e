package syntax

import (
	"strings"

	"github.com/catena-nfv/catena/internal/p4/diag"
)

// Limits of the front end. A program beyond them gets a diagnostic instead of exhausting memory or
// stack.
const (
	maxSource = 1 << 26 // bytes of one file
	maxDepth  = 1000    // nested expressions, types, statements
	maxChain  = 10000   // operators, members or else-ifs in one row: the depth of the tree they make
	maxErrors = 50
)

// ownPrefix marks the names of the compiler's own headers, which are in no directory.
const ownPrefix = "<catena>/"

// Options configure the preprocessor. The zero value reads from the file system and knows only the
// compiler's own headers.
type Options struct {
	// IncludeDirs are searched in order, before the compiler's own core.p4 and v1model.p4.
	IncludeDirs []string
	// Defines are macros, NAME or NAME=VALUE; without a value it is 1.
	Defines []string
	// Open reads a file; nil means os.ReadFile. For a missing file its error must wrap fs.ErrNotExist.
	Open func(path string) ([]byte, error)
}

// ParseFile reads, preprocesses and parses a program. The program is never nil: after errors it holds
// what could be understood. Files are added to fset.
func ParseFile(fset *diag.FileSet, path string, opts Options) (*Program, diag.List) {
	src, err := opts.open(path)
	if err != nil {
		var diags diag.List
		diags.Errorf(diag.Span{}, diag.PreInclude, "%v", err)
		return &Program{}, diags
	}
	return ParseBytes(fset, path, src, opts)
}

// ParseBytes is ParseFile for a text that is at hand; path names it in diagnostics and is where
// #include "…" starts to look.
func ParseBytes(fset *diag.FileSet, path string, src []byte, opts Options) (*Program, diag.List) {
	var diags diag.List
	toks := preprocess(fset, path, src, opts, &diags)
	p := newParser(toks, &diags)
	return p.program(), diags
}

// Preprocess gives the tokens of a program after preprocessing, for tests and tools. The last one is
// TokEOF.
func Preprocess(fset *diag.FileSet, path string, src []byte, opts Options) ([]Token, diag.List) {
	var diags diag.List
	return preprocess(fset, path, src, opts, &diags), diags
}

func preprocess(fset *diag.FileSet, path string, src []byte, opts Options, diags *diag.List) []Token {
	if len(src) > maxSource {
		diags.Errorf(diag.Span{}, diag.PreLimit, "file %s has %d bytes, the limit is %d", path, len(src), maxSource)
		return []Token{{Kind: TokEOF}}
	}
	p := &preprocessor{
		opts: &opts, fs: fset, diags: diags, macros: map[string]*macro{},
		out: make([]Token, 0, len(src)/5+64),
	}
	main := fset.AddFile(path, src)
	p.commandLine(opts.Defines)
	p.file(main)
	end := int32(len(src))
	return append(p.out, Token{Kind: TokEOF, FirstOnLine: true, Span: diag.Span{File: main.ID, Start: end, End: end}})
}

// commandLine defines the macros of Options.Defines, as if a file before the program did.
func (p *preprocessor) commandLine(defines []string) {
	if len(defines) == 0 {
		return
	}
	var b strings.Builder
	for _, d := range defines {
		name, value, ok := strings.Cut(d, "=")
		if !ok {
			value = "1"
		}
		b.WriteString("#define " + name + " " + strings.ReplaceAll(value, "\n", " ") + "\n")
	}
	p.file(p.fs.AddFile("<defines>", []byte(b.String())))
}
