package progen

// Case is a program with what to do with it.
type Case struct {
	Program *Node
	// Script is STF without expectations: entries, replication, packets.
	Script []string
}

// Shrink makes a case smaller as long as fails says that it still fails, for the same
// reason, asking at most limit times.
func Shrink(c Case, limit int, fails func(Case) bool) Case {
	try := func(d Case) bool {
		if limit--; limit < 0 || !fails(d) {
			return false
		}
		c = d
		return true
	}
	for again := true; again && limit > 0; {
		again = false
		for step := (len(c.Script) + 1) / 2; step > 0; step /= 2 {
			for i := len(c.Script) - step; i >= 0; i -= step {
				if i+step > len(c.Script) {
					continue
				}
				d := c
				d.Script = append(append([]string(nil), c.Script[:i]...), c.Script[i+step:]...)
				again = try(d) || again
			}
		}
		again = shrinkTree(&c, try) || again
	}
	return c
}

// shrinkTree goes through the nodes once, the large ones first. What it finds simpler
// is put into c by try.
func shrinkTree(c *Case, try func(Case) bool) bool {
	shrunk := false
	for i := 0; ; i++ {
		nodes := c.Program.all(nil)
		if i >= len(nodes) {
			return shrunk
		}
		for _, with := range simpler(nodes[i]) {
			d := *c
			d.Program = c.Program.copyWith(nodes[i], with)
			if try(d) {
				shrunk = true
				i-- // look at what has come in its place
				break
			}
		}
	}
}

// simpler lists what a node can be exchanged for, the simplest first.
func simpler(n *Node) []*Node {
	var out []*Node
	empty := len(n.Kids) == 0 && len(n.Parts) == 1 && n.Parts[0] == ""
	if n.Drop && !empty {
		out = append(out, &Node{Parts: []string{""}})
	}
	if n.Zero != "" && n.String() != n.Zero {
		out = append(out, &Node{Parts: []string{n.Zero}, Class: n.Class, Zero: n.Zero})
	}
	if n.Class != "" {
		var inner func(k *Node, depth int)
		inner = func(k *Node, depth int) {
			if k.Class == n.Class {
				out = append(out, k)
			} else if depth > 0 {
				for _, kk := range k.Kids {
					inner(kk, depth-1)
				}
			}
		}
		for _, k := range n.Kids {
			inner(k, 3)
		}
	}
	return out
}
