// Package diag holds what every phase of the P4 compiler says about a program: source
// positions, diagnostics and their one renderer.
//
// A phase never stops at its first complaint. It appends to a [List] and goes on; the caller
// decides with [List.HasErrors] whether the next phase may run, and prints once with [Render].
//
// Positions are compact: a [Span] is a file number and two byte offsets. The [FileSet] turns it
// into file, line and column, honouring #line directives and saying from which macro a token
// came. The package imports nothing of the project, so that every other package may import it.
package diag
