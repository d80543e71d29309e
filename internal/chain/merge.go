package chain

import (
	"fmt"
	"slices"
)

// The merge strategies.
const (
	StrategyBeam     = "beam"
	StrategyLCS      = "lcs"
	StrategyParallel = "parallel"
)

// Strategies lists what MergeOptions.Strategy takes, the default first.
func Strategies() []string { return []string{StrategyBeam, StrategyLCS, StrategyParallel} }

// MergeOptions says how Merge works. The zero value is the default.
type MergeOptions struct {
	Strategy string // "": StrategyBeam
	// Effort scales the work of StrategyBeam; 0 means 1. At 1, a hundred requests over fifteen NFs
	// take a fraction of a second.
	Effort float64
}

// Merge finds one order of nodes that contains every path of every request. Chains get their DAG's ID
// or, where it is 0, the next number that is free; nodes are numbered from 0 in the order. It fails on an
// unknown strategy, on a duplicate ID and when two requests disagree on an NF's tables.
func Merge(reqs []DAG, opt MergeOptions) (Graph, error) {
	m, err := newMerger(reqs)
	if err != nil {
		return Graph{}, err
	}
	switch opt.Strategy {
	case "", StrategyBeam:
		effort := opt.Effort
		if effort <= 0 {
			effort = 1
		}
		return m.beam(effort), nil
	case StrategyLCS:
		return m.lcs(), nil
	case StrategyParallel:
		return m.parallel(), nil
	}
	return Graph{}, fmt.Errorf("merge strategy %q is unknown: use one of %v", opt.Strategy, Strategies())
}

// merger holds requests whose NFs are numbered.
type merger struct {
	reqs   []DAG
	ids    []int // chain ID by request
	names  []string
	tables []int          // by NF number
	topo   [][]int32      // NF numbers of each request's total order
	slots  map[string]int // NF number by name
}

func newMerger(reqs []DAG) (*merger, error) {
	m := &merger{reqs: reqs, slots: map[string]int{}}
	taken := map[int]string{}
	for _, d := range reqs {
		if d.ID < 0 {
			return nil, fmt.Errorf("chain %q: ID %d is negative", d.Name, d.ID)
		}
		if other, ok := taken[d.ID]; ok && d.ID != 0 {
			return nil, fmt.Errorf("chain %q: ID %d is that of chain %q", d.Name, d.ID, other)
		}
		taken[d.ID] = d.Name
	}
	next := 1
	for _, d := range reqs {
		id := d.ID
		if id == 0 {
			for _, ok := taken[next]; ok; _, ok = taken[next] {
				next++
			}
			id = next
			next++
		}
		m.ids = append(m.ids, id)
		var topo []int32
		for _, nf := range d.NFs {
			n, err := m.nf(nf)
			if err != nil {
				return nil, fmt.Errorf("chain %q: %w", d.Name, err)
			}
			topo = append(topo, int32(n))
		}
		m.topo = append(m.topo, topo)
	}
	return m, nil
}

// nf returns the number of an NF, a new one at first sight.
func (m *merger) nf(nf NF) (int, error) {
	n, ok := m.slots[nf.Name]
	if !ok {
		n = len(m.names)
		m.slots[nf.Name] = n
		m.names = append(m.names, nf.Name)
		m.tables = append(m.tables, nf.Tables)
	} else if m.tables[n] != nf.Tables {
		return 0, fmt.Errorf("%s has %d tables here and %d in another chain", nf.Name, nf.Tables, m.tables[n])
	}
	return n, nil
}

// path returns a path of a request as NF numbers.
func (m *merger) path(d int, path []int) []int32 {
	out := make([]int32, len(path))
	for i, n := range path {
		out[i] = m.topo[d][n]
	}
	return out
}

// graph makes the result from an order of NF numbers and, for each request and path, the places of
// its nodes in that order. previsit puts a pre-visiting node in front.
func (m *merger) graph(strategy string, order []int32, places [][][]int, previsit bool) Graph {
	g := Graph{Nodes: []Node{}, Chains: []Chain{}, Strategy: strategy}
	shift := 0
	if previsit {
		all := slices.Clone(m.ids)
		slices.Sort(all)
		g.Nodes = append(g.Nodes, Node{NF: PreVisit, Tables: 1, Chains: all})
		shift = 1
	}
	for i, n := range order {
		g.Nodes = append(g.Nodes, Node{ID: i + shift, NF: m.names[n], Tables: m.tables[n], Chains: []int{}})
	}
	at := g.positions()
	for i, d := range m.reqs {
		c := Chain{ID: m.ids[i], Name: d.Name, Tables: d.Tables(), Paths: make([][]int, len(d.paths))}
		for p, places := range places[i] {
			c.Paths[p] = make([]int, len(places))
			for j, place := range places {
				c.Paths[p][j] = place + shift
			}
		}
		g.add(c, d, at)
	}
	slices.SortFunc(g.Chains, func(a, b Chain) int { return a.ID - b.ID })
	g.sum()
	return g
}

// add enters a chain whose paths are known; at is g.positions().
func (g *Graph) add(c Chain, d DAG, at map[int]int) {
	for p, ids := range c.Paths {
		for j, id := range ids {
			n := &g.Nodes[at[id]]
			if i, ok := slices.BinarySearch(n.Chains, c.ID); !ok {
				n.Chains = slices.Insert(n.Chains, i, c.ID)
			}
			if d.NFs[d.paths[p][j]].Loop {
				c.Loops = append(c.Loops, Loop{Path: p + 1, Node: id, Max: d.MaxLoops})
			}
		}
	}
	g.Chains = append(g.Chains, c)
}

// sum brings the totals up to date.
func (g *Graph) sum() {
	g.Tables, g.TablesParallel = 0, 0
	for _, n := range g.Nodes {
		g.Tables += n.Tables
	}
	for _, c := range g.Chains {
		g.TablesParallel += c.Tables
	}
	if len(g.Chains) > 1 {
		g.TablesParallel++ // the pre-visiting node
	}
}

// parallel is the parallelism method: every request side by side behind a pre-visiting node.
func (m *merger) parallel() Graph {
	var order []int32
	places := make([][][]int, len(m.reqs))
	for i, d := range m.reqs {
		start := len(order)
		order = append(order, m.topo[i]...)
		for _, p := range d.paths {
			at := make([]int, len(p))
			for j, n := range p {
				at[j] = start + n
			}
			places[i] = append(places[i], at)
		}
	}
	return m.graph(StrategyParallel, order, places, len(m.reqs) > 1)
}
