// Package dataplane is the kernel side of the data plane. It turns an ebpf.Spec
// into a running program:
//
//	spec ──Build──► Object (clang, cached by content) ──Load──► Program (kernel)
//
// A Program is a target.Switch: its tables, counters, registers and groups are
// written and read by their control-plane names, and each write is one that packets
// see either not at all or wholly. A TestDevice pushes packets through a Program
// without any interface, by BPF_PROG_TEST_RUN.
package dataplane
