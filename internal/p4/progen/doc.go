// Package progen makes P4 programs at random, with table entries and packets for them.
//
// The programs are well-typed v1model programs as text, so that the whole compiler is
// under test, from the preprocessor on. They do nothing that P4 leaves undefined but
// what package ir defines, and use no time and no chance, so that any two ways of running
// one must agree: on the interpreter before and behind the passes, printed as P4 and
// compiled again, and in the kernel.
//
// A program is made from a sequence of choices; a fuzzer's bytes are such a sequence, a
// seed gives an endless one. It is held as a tree of text (Node) whose parts know what
// they are, so that a program on which two ways differ can be made smaller without
// knowing the language: Shrink takes parts away and puts literals for expressions as
// long as what is left still fails.
package progen
