// Package conformance holds what P4_16 and v1model ask of the compiler, feature by
// feature, and reports how the targets do on folders of programs with packet scripts.
//
// testdata/run has one txtar archive for each feature: a program and an STF script
// whose expectations follow the language specification and what BMv2's simple_switch
// does where v1model leaves it to the target. Each is run on the interpreter as
// lowered, behind the passes, and printed as P4 and compiled again, and on the kernel
// back end. testdata/reject has programs that must be refused, with the complaint
// written before the token it is about.
package conformance
