// Package codegen compares what the compiler makes of a chain with programs that are written by hand in C to win
// (bench/reference). Both run on the same packets with the same rules, by the kernel's test-run facility; their
// verdicts and the packets that leave must be equal.
package codegen
