package progen

import "strings"

// Node is a piece of program text with pieces in it.
type Node struct {
	// Parts are the text around the kids: one more than there are kids.
	Parts []string
	Kids  []*Node
	// Class says what the piece may be exchanged for: any other of the class. "" is
	// for pieces that have to stay as they are.
	Class string
	// Drop tells that the program may be well-formed without the piece.
	Drop bool
	// Zero is the simplest text of the class, "" if there is none.
	Zero string
}

// text makes a node of a class from a text in which each ¤ stands for a kid.
func text(class, format string, kids ...*Node) *Node {
	parts := strings.Split(format, "¤")
	if len(parts) != len(kids)+1 {
		panic("progen: " + format)
	}
	return &Node{Parts: parts, Kids: kids, Class: class}
}

// list puts nodes one behind the other.
func list(kids ...*Node) *Node {
	return &Node{Parts: make([]string, len(kids)+1), Kids: kids}
}

// drop marks a node as one that can be left out.
func drop(n *Node) *Node {
	n.Drop = true
	return n
}

// String gives the text.
func (n *Node) String() string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

func (n *Node) write(b *strings.Builder) {
	for i, p := range n.Parts {
		b.WriteString(p)
		if i < len(n.Kids) {
			n.Kids[i].write(b)
		}
	}
}

// copyWith returns the tree with one node exchanged; what is not on the way to it is
// shared.
func (n *Node) copyWith(old, with *Node) *Node {
	if n == old {
		return with
	}
	for i, k := range n.Kids {
		if c := k.copyWith(old, with); c != k {
			m := *n
			m.Kids = append([]*Node(nil), n.Kids...)
			m.Kids[i] = c
			return &m
		}
	}
	return n
}

// all lists the nodes, outer ones first.
func (n *Node) all(out []*Node) []*Node {
	out = append(out, n)
	for _, k := range n.Kids {
		out = k.all(out)
	}
	return out
}
