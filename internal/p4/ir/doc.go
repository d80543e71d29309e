// Package ir is the compiler's intermediate representation of a P4_16 program
// for the v1model architecture.
//
// It is what is left of P4 once types are known and nothing is generic:
//
//   - names are resolved (a use points to its Var, Action, Table or Instance),
//     constants are folded, generics are instantiated;
//   - sub-parsers, sub-controls, functions and direct action calls are inlined:
//     their parameters are Vars, their bodies labelled Blocks, and a return is a
//     Leave of that block. P4 has no recursion, so static storage is enough;
//   - expressions are pure. Whatever has a side effect (a table, an extern, a
//     packet method) is a statement whose result goes to an lvalue;
//   - the headers, the user metadata and the standard metadata are three Vars of
//     the Program, the same in every block: v1model hands them from block to
//     block, so that a program can be cut up and put together by the composer.
//
// Everything in it can still be written as P4: package p4text prints any
// Program, after any pass, as portable v1model text.
//
// # Values
//
// A bit<W> is held as a non-negative integer below 2^W, an int<W> as the signed
// integer it means, a bool as 0 or 1, an enum and an error as the position of
// the member in its type, a serialisable enum as its underlying value.
//
// # What is undefined in P4 and defined here
//
// Local variables and metadata start as zero for each packet. A header's fields
// are zero until they are extracted or assigned, and reading a field of an
// invalid header gives what was last stored there (setInvalid does not clear);
// writing a field of an invalid header has no effect that a packet could show.
// Division by zero cannot occur (divisors are compile-time constants). A shift by
// the width or more gives 0 (or the sign). An index beyond a stack's end reads
// zero and writes nothing. All back ends keep to this, so they can be compared.
package ir
