// Package interp runs an ir.Program packet by packet: the reference that the kernel
// back end is compared with, and the source of packet traces. It needs no
// privileges and favours clearness over speed.
//
// A Switch is a target.Device. What v1model leaves open follows the behavioural
// model (simple_switch):
//
//   - a packet that the parser rejects still goes to ingress, with parser_error set;
//   - of a packet and its copies those that wait for egress go before those that wait for ingress;
//   - after ingress: a clone is made first, then a resubmission ends the packet, else
//     a multicast group replaces it, else it is dropped (egress_spec 511), else it
//     goes to egress_port = egress_spec. At egress egress_spec starts as 0;
//   - an ingress clone has the headers of the packet as it arrived, an egress clone
//     those at the end of egress; metadata other than the preserved field list is zero
//     in clones, resubmitted and recirculated packets, ingress_port included;
//   - a direct counter or meter counts every hit of its table, with the length of the
//     packet as it arrived; direct_counter.count does nothing more;
//   - indirect counters, meters and registers ignore an index beyond their size (a
//     read gives 0).
//
// Where the behavioural model would loop for ever (a program that resubmits always),
// Inject gives an error that wraps ErrLimit.
package interp
