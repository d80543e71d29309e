package service

import (
	"fmt"
	"sort"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/diag"
)

// Codes of problems; stable, for tests and API clients.
const (
	CodeSyntax    diag.Code = "service/syntax"        // not YAML
	CodeField     diag.Code = "service/unknown-field" // a field that does not exist
	CodeType      diag.Code = "service/type"          // a list where a text should be, …
	CodeValue     diag.Code = "service/value"         // malformed or out of range
	CodeMissing   diag.Code = "service/missing"       // a field that must be there
	CodeReference diag.Code = "service/reference"     // names what does not exist
	CodeDuplicate diag.Code = "service/duplicate"     // named twice
	CodeOverlap   diag.Code = "service/overlap"       // subnets that overlap
	CodeLimit     diag.Code = "service/limit"         // larger than any sane request
	CodeChain     diag.Code = "service/chain"         // a chain or rule that the switch refuses
)

// Problem is one thing wrong with a service.
type Problem struct {
	// Path leads to the value at fault, e.g. "networks[1].subnet"; "" is the
	// whole service.
	Path string
	Code diag.Code
	// Message names the object and the way out.
	Message string
	// Offset counts bytes into the text value at Path, for problems inside of a
	// chain's request.
	Offset int
	// Line and Column count from 1 in the source; 0 when there is no source.
	Line, Column int
}

// Error is a service that cannot be accepted. Source may be nil.
type Error struct {
	Source   *Source
	Problems []Problem // in source order; never empty
}

// Error gives all problems. With a source each has file, line, column, the
// source line and a caret; without one, the path.
func (e *Error) Error() string {
	if e.Source != nil {
		return e.Source.render(e.Problems)
	}
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.Message
		if p.Path != "" {
			lines[i] = p.Path + ": " + p.Message
		}
	}
	return strings.Join(lines, "\n")
}

// NewError returns an error with the problems sorted and located in src, or nil
// when there are none. src may be nil.
func NewError(src *Source, problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	out := append([]Problem(nil), problems...)
	for i := range out {
		if src != nil && out[i].Line == 0 {
			out[i].Line, out[i].Column = src.position(out[i].Path, out[i].Offset)
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		if out[i].Line != out[j].Line {
			return out[i].Line < out[j].Line
		}
		return out[i].Column < out[j].Column
	})
	return &Error{Source: src, Problems: out}
}

// ChainError is what a fabric says about one chain. Field is a path inside the
// chain ("request", "rules[2].match.dst"); Offset counts bytes into the value.
type ChainError struct {
	Owner  Owner
	Chain  string
	Field  string
	Offset int
	Err    error
}

func (e *ChainError) Error() string {
	return fmt.Sprintf("chain %q: %s: %v", e.Chain, e.Field, e.Err)
}

// Unwrap gives the cause.
func (e *ChainError) Unwrap() error { return e.Err }
