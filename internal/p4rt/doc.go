// Package p4rt is what a P4Runtime server and a P4Runtime client have in common:
// the index of a P4Info, the byte strings of the wire and the conversions
// between the protocol's messages and package target.
//
// The protocol is P4Runtime 1.5.0. Package server implements it over any
// target.Switch, package client is what the controller programs switches with.
//
// # Names, ids, positions
//
// On the wire objects have ids, people use names, and package target uses
// control-plane names with matches and parameters by position. Schema knows all
// three: it is built once from a P4Info and never changes.
//
// # Values
//
// Package target does not care about leading zeros. The protocol does: what is
// sent is always the shortest byte string (section "Bytestrings"), what is
// received may have any length but must fit the width that P4Info tells.
package p4rt
