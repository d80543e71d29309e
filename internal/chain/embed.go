package chain

import (
	"fmt"
	"slices"
)

// Embed adds one chain to a deployed graph. The deployed nodes keep their order and their IDs. Where
// every path fits the order as it is, changed is false and the chain is only a matter of classifier
// entries; otherwise as few tables as it can are inserted, under new IDs. The chain gets d.ID or, where
// that is 0, the lowest number above all in use. It fails on an ID in use and when an NF has
// another number of tables than its deployed nodes. The deployed graph is not modified.
func Embed(g Graph, d DAG) (out Graph, changed bool, err error) {
	out = g.clone()
	id := d.ID
	if _, taken := g.Chain(id); taken {
		return Graph{}, false, fmt.Errorf("chain %q: ID %d is in use", d.Name, id)
	}
	if id < 0 {
		return Graph{}, false, fmt.Errorf("chain %q: ID %d is negative", d.Name, id)
	}
	if id == 0 {
		id = 1
		for _, c := range g.Chains {
			id = max(id, c.ID+1)
		}
	}
	for _, nf := range d.NFs {
		for _, n := range g.Nodes {
			if n.NF == nf.Name && n.Tables != nf.Tables {
				return Graph{}, false, fmt.Errorf("chain %q: %s has %d tables here and %d as deployed", d.Name, nf.Name, nf.Tables, n.Tables)
			}
		}
	}
	whole := make([]int, len(d.NFs))
	for i := range whole {
		whole[i] = i
	}
	if !out.fits(d) {
		changed = true
		out.Nodes = out.extended(d, whole)
	}
	out.enter(id, d, whole)
	return out, changed, nil
}

// Remove takes a chain out of a graph. Its nodes stay, visited or not, so that the deployed program needs
// no change; Prune drops what nobody visits. The given graph is not modified.
func Remove(g Graph, chainID int) (Graph, error) {
	if _, ok := g.Chain(chainID); !ok {
		return Graph{}, fmt.Errorf("chain %d: not in the graph", chainID)
	}
	out := g.clone()
	out.Chains = slices.DeleteFunc(out.Chains, func(c Chain) bool { return c.ID == chainID })
	for i := range out.Nodes {
		out.Nodes[i].Chains = slices.DeleteFunc(out.Nodes[i].Chains, func(c int) bool { return c == chainID })
	}
	out.sum()
	return out, nil
}

// Prune drops the nodes that no chain visits. The others keep their order and IDs.
func Prune(g Graph) Graph {
	out := g.clone()
	out.Nodes = slices.DeleteFunc(out.Nodes, func(n Node) bool { return len(n.Chains) == 0 })
	out.sum()
	return out
}

func (g Graph) clone() Graph {
	g.Nodes = slices.Clone(g.Nodes)
	for i := range g.Nodes {
		g.Nodes[i].Chains = append([]int{}, g.Nodes[i].Chains...)
	}
	g.Chains = append([]Chain{}, g.Chains...)
	return g
}

// locate returns the positions in the order at which a path of d finds its NFs, or nil.
func (g Graph) locate(d DAG, path []int) []int {
	out := make([]int, 0, len(path))
	for i := 0; i < len(g.Nodes) && len(out) < len(path); i++ {
		if g.Nodes[i].NF == d.NFs[path[len(out)]].Name {
			out = append(out, i)
		}
	}
	if len(out) < len(path) {
		return nil
	}
	return out
}

// fits tells whether the order contains every path of d.
func (g Graph) fits(d DAG) bool {
	for _, p := range d.paths {
		if g.locate(d, p) == nil {
			return false
		}
	}
	return true
}

// extended returns the order with what d lacks inserted: the cheapest of several ways to add its paths,
// each by an optimal alignment with the order so far.
func (g Graph) extended(d DAG, whole []int) []Node {
	byLength := slices.Clone(d.paths)
	slices.SortStableFunc(byLength, func(a, b []int) int { return len(b) - len(a) })
	backwards := slices.Clone(d.paths)
	slices.Reverse(backwards)
	ways := [][][]int{d.paths, byLength, backwards, {whole}}
	if len(d.paths) > maxPaths {
		ways = [][][]int{{whole}}
	}
	var best []Node
	for _, way := range ways {
		try := Graph{Nodes: g.Nodes}
		for _, p := range way {
			try.Nodes = try.inserted(d, p)
		}
		if best == nil || tablesOf(try.Nodes) < tablesOf(best) {
			best = try.Nodes
		}
	}
	return best
}

func tablesOf(nodes []Node) int {
	sum := 0
	for _, n := range nodes {
		sum += n.Tables
	}
	return sum
}

// inserted returns the order with the NFs of one path inserted that an alignment, heaviest in tables,
// does not find in it.
func (g Graph) inserted(d DAG, path []int) []Node {
	n, m := len(g.Nodes), len(path)
	found := make([][]int, n+1) // tables found from (node, path index) on
	for i := range found {
		found[i] = make([]int, m+1)
	}
	match := func(i, j int) bool { return g.Nodes[i].NF == d.NFs[path[j]].Name }
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			found[i][j] = max(found[i+1][j], found[i][j+1])
			if match(i, j) {
				found[i][j] = max(found[i][j], found[i+1][j+1]+g.Nodes[i].Tables)
			}
		}
	}
	id := g.Bits()
	var out []Node
	insert := func(j int) {
		nf := d.NFs[path[j]]
		out = append(out, Node{ID: id, NF: nf.Name, Tables: nf.Tables, Chains: []int{}})
		id++
	}
	i, j := 0, 0
	for i < n && j < m {
		switch {
		case match(i, j) && found[i][j] == found[i+1][j+1]+g.Nodes[i].Tables:
			out = append(out, g.Nodes[i])
			i, j = i+1, j+1
		case found[i][j+1] == found[i][j]:
			insert(j)
			j++
		default:
			out = append(out, g.Nodes[i])
			i++
		}
	}
	for ; j < m; j++ {
		insert(j)
	}
	return append(out, g.Nodes[i:]...)
}

// enter places a chain whose paths the order contains. Like in a merge, its NFs get one node each where
// the total order fits.
func (g *Graph) enter(id int, d DAG, whole []int) {
	c := Chain{ID: id, Name: d.Name, Tables: d.Tables(), Paths: make([][]int, len(d.paths))}
	all := g.locate(d, whole)
	for p, path := range d.paths {
		var at []int
		if all != nil {
			for _, n := range path {
				at = append(at, all[n])
			}
		} else {
			at = g.locate(d, path)
		}
		for _, pos := range at {
			c.Paths[p] = append(c.Paths[p], g.Nodes[pos].ID)
		}
	}
	g.add(c, d, g.positions())
	slices.SortFunc(g.Chains, func(a, b Chain) int { return a.ID - b.ID })
	g.sum()
}
