// Package pass makes an IR program smaller and cheaper without changing what it
// does to any packet.
//
// The passes are one table in pass.go, in the order in which they run. Each is a
// function on a whole program, in a file of its own that begins with what it is for
// and what a program looks like before and after. A pass says which properties of
// the program it needs and which it brings about or spoils; a test checks that the
// order of the table satisfies them, and that programs really have them.
//
// What must stay as it is:
//
//   - everything that leaves the switch: packets, digests, log messages, errors of
//     assert; entries' counters and meters, registers; the parser's errors;
//   - everything the control plane can name: tables with their keys and actions,
//     actions with their parameters, extern objects, value sets, and all
//     annotations of them. The P4Info of a program is the same before and after;
//   - the named types, which copies of a program share: headers and metadata keep
//     their fields, also those that nothing reads any longer. A back end that lays
//     out memory looks at the uses.
//
// Passes work in place, on the statements of a program; an expression is never
// changed but replaced by another, since lowering and the composer may use one
// expression in several places.
//
// Tables' actions are the one kind of procedure that is left in the IR. The
// analyses treat an Apply as a call of any action that the table lists: a fact
// holds in an action if it holds wherever a table is applied that lists it.
package pass
