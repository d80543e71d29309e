// Package types checks a parsed P4_16 program and lowers it to the IR.
//
// [Check] resolves names, infers types, evaluates compile-time constants and
// enforces the rules of the language; what it learns is in an [Info]: the type of
// each expression, the conversions that the language inserts, and what each call
// calls. It knows nothing of any architecture, so that it takes every P4 program,
// whatever its package. Generic declarations are checked once, with their type
// parameters as types of their own.
//
// [Lower] elaborates the package instance `main`: it evaluates constructors,
// inlines sub-parsers, sub-controls, functions and actions, hoists side effects
// and gives control-plane names. It knows v1model, and refuses other packages.
//
// Both go on after an error and report as many as make sense. Something of type
// [Bad] has been complained about already.
package types
