// Package p4text prints an IR program as v1model P4_16.
//
// The text is what a reviewer reads to see what a pass did, what goldens hold, and
// what targets with a P4 compiler of their own (BMv2, hardware) are given. It is
// portable: it uses nothing that the public compiler does not take, and the two
// compilers see the same program in it. Control-plane names are kept by @name where
// the printed name does not lead to them.
//
// P4 has no way to leave a block early. A Leave becomes a return where its block is
// the last thing of a control or action; else what follows it moves into the other
// branch of its if; where that cannot be, a flag is set and tested.
//
// What the IR has lost cannot come back: the place where declarations stood, and the
// newtypes of registers, of value sets and of fields that an extern or a slice writes.
// The P4Info is therefore made of the program and not of this text.
package p4text
