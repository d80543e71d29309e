package ebpf

import (
	"fmt"
	"slices"
)

// leaveParser returns the statement that ends the parser when a condition holds, after some others. What is done there
// stands behind all states: clang keeps the order of the text, and what seldom happens is not in the way of the rest.
func (f *fn) leaveParser(first ...string) string {
	t := &f.g.leaves
	f.g.leaveCount++
	t.f("leave_%d:", f.g.leaveCount)
	for _, x := range first {
		t.f("%s", x)
	}
	t.f("END_PARSER;")
	return fmt.Sprintf("goto leave_%d;", f.g.leaveCount)
}

// setError is the statement that notes a parser error.
func (g *gen) setError(name string) string {
	return fmt.Sprintf("error = %d; /* %s */", max(slices.Index(g.p.Errors, name), 0), name)
}

// parserError ends the parser.
func (f *fn) parserError(name string) {
	f.t.f("%s", f.g.setError(name))
	f.t.f("END_PARSER;")
}

// failIf ends the parser with an error if a condition holds.
func (f *fn) failIf(cond, name string) {
	f.t.f("if (%s)", cond)
	f.t.f("\t%s", f.leaveParser(f.g.setError(name)))
}
