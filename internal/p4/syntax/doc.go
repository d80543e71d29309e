// Package syntax is the front end of the P4_16 compiler (language version 1.2.5): preprocessor,
// lexer, parser, syntax tree and printer.
//
//	prog, diags := syntax.ParseFile(fset, "switch.p4", syntax.Options{IncludeDirs: dirs})
//	fmt.Print(syntax.Print(prog))
//
// # From text to tree
//
// The [Preprocess] step reads a file and what it includes and gives one list of tokens. It is a C
// preprocessor, since that is what P4 programs are written for: object-like and function-like
// macros with # and ##, conditions, #include, #line, #error. A name in #include "…" is looked up
// beside the including file, then in [Options].IncludeDirs, and last among the compiler's own
// core.p4 and v1model.p4 (package include).
//
// The parser is written by hand, one method for each production of the grammar in the language
// specification, and works on the token list. Every node of the tree says in its comment which
// production it stands for. The tree keeps what was written: sized literals keep their text, table
// properties their order, annotations their tokens. Parentheses are not kept.
//
// # Which names are types
//
// The grammar is ambiguous without knowing which names are types: (T)-1 is a cast or a difference,
// f<T>(x) a call or two comparisons. The parser therefore keeps a scope of declared names with one
// bit each, type or not. A variable hides a type of the same name, as the specification asks. Where
// both readings remain possible after one look at the scope, it tries the first and takes back on
// failure; outcomes are remembered by position, so that nesting does not multiply the work.
// Everything else about names, such as whether they are declared at all, is for the type checker:
// two names in a row are read as a declaration even when the first is unknown.
//
// # Errors
//
// A production that cannot go on reports one diagnostic and unwinds to the element of a list
// around it: declaration, statement, field, table property, select case. What is left of the
// element is skipped (to its `;` or `}`, or to a line that begins with a keyword of the top
// level), and the list goes on. Thus one run reports independent mistakes, and the program that is
// returned holds everything that could be read. Limits on nesting, on the length of rows of
// operators, on literals and on macro expansion turn hostile input into a diagnostic.
//
// Diagnostics in a macro's expansion stand where the macro is used, and a note names its
// definition.
//
// # Printing
//
// [Print] writes a tree in one canonical layout. Printing, parsing and printing again gives the same
// text; tests, golden files and the compiler's --dump-after rest on that.
package syntax
