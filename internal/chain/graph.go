package chain

import (
	"fmt"
	"slices"
)

// Graph is the merged order of one or more requests: the program applies Nodes from first to last and
// a packet visits those that its path names.
type Graph struct {
	Nodes          []Node  `json:"nodes"`           // in the order of processing
	Chains         []Chain `json:"chains"`          // by ID
	Tables         int     `json:"tables"`          // sum over Nodes
	TablesParallel int     `json:"tables_parallel"` // what the parallelism method takes for these chains
	Strategy       string  `json:"strategy"`
	Seconds        float64 `json:"seconds"` // time of the merge; left to the caller, who has a clock
}

// Node is one block of the merged program. Its ID is its bit in a NodeSet and never changes while the
// graph is deployed.
type Node struct {
	ID     int    `json:"id"`
	NF     string `json:"nf"` // without serial number; PreVisit for the parallelism method's node
	Tables int    `json:"tables"`
	Chains []int  `json:"chains"` // IDs of the chains that visit it, rising
}

// PreVisit stands in Node.NF for the pre-visiting node of the parallelism method, which distributes
// packets and is no NF. It is not an identifier, so no NF has this name.
const PreVisit = "(pre-visit)"

// Chain is one request within a graph.
type Chain struct {
	ID     int     `json:"id"` // 1 and up
	Name   string  `json:"name"`
	Paths  [][]int `json:"paths"`  // node IDs in the order visited; path number N is Paths[N-1]
	Tables int     `json:"tables"` // what the chain takes by itself
	Loops  []Loop  `json:"loops,omitempty"`
}

// Loop says that on a path the packet starts again after a node, Max times at most.
type Loop struct {
	Path int `json:"path"` // path number, 1 and up
	Node int `json:"node"` // node ID
	Max  int `json:"max"`
}

// Chain returns the chain with an ID.
func (g Graph) Chain(id int) (Chain, bool) {
	for _, c := range g.Chains {
		if c.ID == id {
			return c, true
		}
	}
	return Chain{}, false
}

// Bits returns how many bits a NodeSet of this graph needs: the highest node ID and one.
func (g Graph) Bits() int {
	bits := 0
	for _, n := range g.Nodes {
		bits = max(bits, n.ID+1)
	}
	return bits
}

// Visits returns the set of nodes that a path of a chain visits: what the classifier entry carries.
// Paths are numbered from 1.
func (g Graph) Visits(chainID, path int) (NodeSet, error) {
	c, ok := g.Chain(chainID)
	if !ok {
		return nil, fmt.Errorf("chain %d: not in the graph", chainID)
	}
	if path < 1 || path > len(c.Paths) {
		return nil, fmt.Errorf("chain %d %q: no path %d, it has %d", chainID, c.Name, path, len(c.Paths))
	}
	var s NodeSet
	for _, id := range c.Paths[path-1] {
		s = s.With(id)
	}
	return s, nil
}

// positions returns the place of each node ID in the order.
func (g Graph) positions() map[int]int {
	at := make(map[int]int, len(g.Nodes))
	for i, n := range g.Nodes {
		at[n.ID] = i
	}
	return at
}

// Valid tells whether g is sound in itself: IDs are unique, every path visits nodes that exist in their
// order, and sums and cross references are right. A graph that was read from a file may not be.
func (g Graph) Valid() error {
	at := g.positions()
	if len(at) != len(g.Nodes) {
		return fmt.Errorf("graph: node IDs are not unique")
	}
	sum := 0
	for _, n := range g.Nodes {
		if n.ID < 0 || n.Tables < 1 || n.NF == "" {
			return fmt.Errorf("graph: node %d %q with %d tables cannot be", n.ID, n.NF, n.Tables)
		}
		sum += n.Tables
	}
	if sum != g.Tables {
		return fmt.Errorf("graph: %d tables stated, the nodes have %d", g.Tables, sum)
	}
	visitors := map[int][]int{}
	seen := map[int]bool{}
	for _, c := range g.Chains {
		if c.ID < 1 || seen[c.ID] {
			return fmt.Errorf("graph: chain ID %d is used twice or not positive", c.ID)
		}
		seen[c.ID] = true
		for p, ids := range c.Paths {
			before := -1
			for _, id := range ids {
				pos, ok := at[id]
				if !ok {
					return fmt.Errorf("chain %d %q: path %d: node %d does not exist", c.ID, c.Name, p+1, id)
				}
				if pos <= before {
					return fmt.Errorf("chain %d %q: path %d: node %d %s is not behind its predecessor", c.ID, c.Name, p+1, id, g.Nodes[pos].NF)
				}
				before = pos
				if !slices.Contains(visitors[id], c.ID) {
					visitors[id] = append(visitors[id], c.ID)
				}
			}
		}
	}
	for _, n := range g.Nodes {
		want := visitors[n.ID]
		slices.Sort(want)
		if n.NF != PreVisit && !slices.Equal(want, n.Chains) {
			return fmt.Errorf("node %d %s: chains %v stated, visited by %v", n.ID, n.NF, n.Chains, want)
		}
	}
	return nil
}

// Check tells whether g is valid and serves the requests: each path visits nodes of the right NFs in
// the merged order. Requests without an ID are numbered as Merge does it.
func (g Graph) Check(reqs []DAG) error {
	if err := g.Valid(); err != nil {
		return err
	}
	m, err := newMerger(reqs)
	if err != nil {
		return err
	}
	if len(reqs) != len(g.Chains) {
		return fmt.Errorf("graph: %d chains for %d requests", len(g.Chains), len(reqs))
	}
	at := g.positions()
	for i, d := range reqs {
		id := m.ids[i]
		c, ok := g.Chain(id)
		if !ok {
			return fmt.Errorf("chain %d %q: not in the graph", id, d.Name)
		}
		if len(c.Paths) != len(d.paths) {
			return fmt.Errorf("chain %d %q: %d paths in the graph, the request has %d", id, d.Name, len(c.Paths), len(d.paths))
		}
		for p, path := range d.paths {
			if err := g.checkPath(at, c.Paths[p], d, path); err != nil {
				return fmt.Errorf("chain %d %q: path %d: %w", id, d.Name, p+1, err)
			}
		}
	}
	return nil
}

// checkPath compares the nodes of a valid path with what the request wants.
func (g Graph) checkPath(at map[int]int, ids []int, d DAG, path []int) error {
	if len(ids) != len(path) {
		return fmt.Errorf("%d nodes for %d NFs", len(ids), len(path))
	}
	for i, id := range ids {
		n, nf := g.Nodes[at[id]], d.NFs[path[i]]
		if n.NF != nf.Name {
			return fmt.Errorf("node %d is %s, the request wants %s", id, n.NF, nf)
		}
		if n.Tables != nf.Tables {
			return fmt.Errorf("node %d: %s has %d tables, the request says %d", id, nf, n.Tables, nf.Tables)
		}
	}
	return nil
}
