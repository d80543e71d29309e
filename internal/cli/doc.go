// Package cli is the command line: one file a command, each a constructor that
// returns a cobra command. Commands talk to the controller over gRPC; those that
// need no controller (p4, chain check and merge) work on files alone. What names
// a concrete driver is wired in cmd/catena.
//
// Exit codes: 0 done, 1 failed, 2 refused because of what was asked (bad usage, bad
// input), 3 the controller cannot be reached.
package cli
