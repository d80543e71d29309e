// Package nf is the library of network functions and backbones: P4 programs that
// ship with the binary, and those that an operator has imported. See
// docs/nf-authoring.md for what makes a program an NF.
package nf
