// Package p4 makes a P4Runtime switch follow a service.SwitchConfig: it merges the
// chains, composes their NFs with the vrouter backbone, gives the program's text
// to the switch and writes table entries. P4Runtime is its only way to the switch;
// what runs there is for the switch to say, so the fabric keeps no state of its
// own on disk: the merged graph travels as a comment in the program's text.
//
// A chain whose NFs already stand in the deployed order is entries only. The
// planning is pure (graph.go, desired.go, value.go, diff.go); fabric.go does the
// I/O.
package p4
