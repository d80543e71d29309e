// Package dataplane is the kernel side of the data plane. It turns an ebpf.Spec
// into a running program:
//
//	spec ──Build──► Object (clang, cached by content) ──Load──► Program (kernel)
//
// A program can be laid out in several ways (ways.go): the first is the fastest, the last asks the
// least of the kernel. Build takes the first that clang allows, Load goes on to the next when the
// verifier refuses one, and the cache remembers where that ended. A program that the kernel takes
// in no way ends in a Refusal, which names the limit and the place in the P4 text.
//
// A Program is a target.Switch: its tables, counters, registers and groups are
// written and read by their control-plane names, and each write is one that packets
// see either not at all or wholly. A TestDevice pushes packets through a Program
// without any interface, by BPF_PROG_TEST_RUN.
package dataplane
