package chain

import (
	"fmt"
	"slices"
	"strings"
)

// NF is one invocation of a network function in a request.
type NF struct {
	Name   string // without the serial number
	Serial int    // 0: none written
	Tables int    // P4 tables it occupies, at least 1
	Loop   bool   // after it, the packet restarts at the request's beginning
	Pos    Pos    // first mention
}

// String prints the invocation as it is written in a request.
func (n NF) String() string { return invocation(n.Name, n.Serial) }

// DAG is one request: its NF invocations in a topological order that all its paths follow.
type DAG struct {
	ID       int // chain id; 0: Merge and Embed give the next free one
	Name     string
	NFs      []NF
	MaxLoops int     // recirculations of one packet, where an NF loops
	paths    [][]int // indices into NFs, each rising
}

// Linear makes the graph of a chain without branches. NF names may carry serial numbers; tables may
// be nil (one table each).
func Linear(name string, tables func(string) int, nfs ...string) (DAG, error) {
	dags, err := Parse(linearText(nfs), Options{File: name, Name: name, Tables: tables})
	if err != nil {
		return DAG{}, err
	}
	if len(dags) != 1 {
		return DAG{}, fmt.Errorf("chain %q: %d requests in a linear chain", name, len(dags))
	}
	return dags[0], nil
}

func linearText(nfs []string) string {
	if len(nfs) == 1 {
		return nfs[0] + " first"
	}
	return strings.Join(nfs, " before ")
}

// Paths returns every way through the request, as indices into NFs, in the order written. The
// slices belong to the DAG.
func (d DAG) Paths() [][]int { return d.paths }

// PathNames returns the invocations on each path, as written.
func (d DAG) PathNames() [][]string {
	out := make([][]string, len(d.paths))
	for i, p := range d.paths {
		for _, n := range p {
			out[i] = append(out[i], d.NFs[n].String())
		}
	}
	return out
}

// Edges returns the pairs of NFs that follow each other on some path, sorted.
func (d DAG) Edges() [][2]int {
	var out [][2]int
	for _, p := range d.paths {
		for i := 1; i < len(p); i++ {
			out = append(out, [2]int{p[i-1], p[i]})
		}
	}
	slices.SortFunc(out, func(a, b [2]int) int {
		if a[0] != b[0] {
			return a[0] - b[0]
		}
		return a[1] - b[1]
	})
	return slices.Compact(out)
}

// Tables returns the P4 tables that the request takes by itself.
func (d DAG) Tables() int {
	sum := 0
	for _, n := range d.NFs {
		sum += n.Tables
	}
	return sum
}
