// Package tables writes control-plane state into the maps of a compiled program: it
// implements target.Switch by the descriptions in an ebpf.Spec. It knows no kernel;
// maps are an interface.
//
// What was written is kept in memory as the control plane gave it, since a map's
// element does not always tell (a range becomes several elements, priorities of
// shadowed entries are in none). Contents and the Contents argument of New carry it
// from one program to its successor.
//
// Every write is one that packets see wholly or not at all: it is a single map
// update, or it prepares what no packet reaches yet and ends with the one update that
// makes it reachable.
package tables
