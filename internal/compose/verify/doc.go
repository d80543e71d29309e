// Package verify shows that a merged program does to packets what each chain alone
// does: paper 003's claim about a merge, checked instead of asserted.
//
// The oracle knows nothing of the composer. It runs the programs of a path's NFs one
// after the other, each in an interpreter of its own, and the backbone behind them
// (alone.go): a drop ends the chain, the last NF that chose a port decides, a
// multicast group beats a port, a loop starts the path again. The merged program runs
// in another interpreter, or in the kernel, with the rules of all chains in it at once
// (merged.go). Both get the same packets, and packets and digests that come out must be
// the same.
//
// Rules are made for every action of every table of the chain (rules.go). Packets are
// made by walking through the parsers, so that headers are as the programs expect
// them, and by aiming at the rules (packet.go); more are made as long as they reach
// actions and branches that none has reached (run.go). A packet for which the two
// differ is made smaller, and the rules fewer, as long as they differ (shrink.go).
package verify
