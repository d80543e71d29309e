// Package agent is the part of Catena on every node that has a switch: it gives
// ports to the switch and takes them away, knows which link has which number,
// and tells when a link goes down, vanishes or comes back.
//
// The controller of a single machine calls an Agent directly; it satisfies
// orch.Node. On several machines each node runs `catena agent`, which follows
// the desired ports that the controller writes into the store (Follow), and the
// controller calls a Remote, which writes them and waits for the agent's word.
//
// The agent is level-triggered: a netlink message only wakes it up, then it
// compares all its ports with the links that there are. A lost message therefore
// costs time, never truth.
package agent
