package p4

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/catena-nfv/catena/internal/chain"
	"github.com/catena-nfv/catena/internal/service"
)

// deployment is what the program of a switch was made from.
type deployment struct {
	Graph chain.Graph `json:"graph"`
	// Requests are the chains' requests, by chain number.
	Requests map[int]string `json:"requests"`
	// NodeBits is how many nodes the classifier's bitmap has room for.
	NodeBits int `json:"node_bits"`
	// Guard tells that the backbone checks secured ports.
	Guard bool `json:"guard,omitempty"`
}

// parseChain parses a chain's request; tables counts the tables of an NF.
func parseChain(c service.SwitchChain, lib library) (chain.DAG, error) {
	dags, err := chain.Parse(c.Chain.Request, chain.Options{
		File: c.Chain.Name,
		Tables: func(nf string) int {
			return max(len(lib[nf].Tables), 1)
		},
	})
	at := func(offset int, err error) error {
		return &service.ChainError{Owner: c.Owner, Chain: c.Chain.Name, Field: "request", Offset: offset, Err: err}
	}
	var problems chain.Problems
	if errors.As(err, &problems) {
		var errs []error
		for _, p := range problems {
			errs = append(errs, at(p.Pos.Offset, errors.New(strings.Join(append([]string{p.Msg}, p.Notes...), "; "))))
		}
		return chain.DAG{}, errors.Join(errs...)
	}
	if err != nil {
		return chain.DAG{}, at(0, err)
	}
	if len(dags) != 1 {
		return chain.DAG{}, at(0, fmt.Errorf("%d requests; a chain is one", len(dags)))
	}
	d := dags[0]
	for _, nf := range d.NFs {
		if _, ok := lib[nf.Name]; !ok {
			return chain.DAG{}, at(nf.Pos.Offset, fmt.Errorf("no NF %q; there are %s", nf.Name, strings.Join(sortedKeys(lib), ", ")))
		}
	}
	d.ID, d.Name = int(c.Number), c.Chain.Name
	return d, nil
}

// plan returns the deployment for the chains: the deployed one as it is where the
// chains fit its order, else one with as few nodes more as possible.
func plan(have *deployment, chains []service.SwitchChain, lib library) (deployment, error) {
	next := deployment{Requests: map[int]string{}}
	var dags []chain.DAG
	var errs []error
	for _, c := range chains {
		d, err := parseChain(c, lib)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		dags = append(dags, d)
		next.Requests[d.ID] = c.Chain.Request
	}
	if err := errors.Join(errs...); err != nil {
		return deployment{}, err
	}
	if have == nil || len(have.Graph.Nodes) == 0 || !known(have.Graph, lib) {
		g, err := chain.Merge(dags, chain.MergeOptions{})
		if err != nil {
			return deployment{}, err
		}
		next.Graph = g
		return next, nil
	}
	g := have.Graph
	for _, c := range have.Graph.Chains {
		if next.Requests[c.ID] == have.Requests[c.ID] && next.Requests[c.ID] != "" {
			continue
		}
		var err error
		if g, err = chain.Remove(g, c.ID); err != nil {
			return deployment{}, err
		}
	}
	grown := false
	for _, d := range dags {
		if _, ok := g.Chain(d.ID); ok {
			continue
		}
		embedded, changed, err := chain.Embed(g, d)
		if err != nil {
			return deployment{}, err
		}
		g, grown = embedded, grown || changed
	}
	if grown {
		// There will be another program anyway: leave out what nobody visits.
		g = pruned(g, have.Graph)
	}
	for i, c := range g.Chains {
		for _, d := range dags {
			if d.ID == c.ID {
				g.Chains[i].Name = d.Name
			}
		}
	}
	next.Graph = g
	return next, nil
}

// known reports whether the NFs of a graph are those of the library, as far as names
// and numbers of tables tell.
func known(g chain.Graph, lib library) bool {
	return !slices.ContainsFunc(g.Nodes, func(n chain.Node) bool {
		nf, ok := lib[n.NF]
		return !ok || max(len(nf.Tables), 1) != n.Tables
	})
}

// pruned leaves out the nodes that no chain visits. Those that chains visit as deployed
// stay: until its entries are written, the new program sees the old ones.
func pruned(g, deployed chain.Graph) chain.Graph {
	visited := map[int]bool{}
	for _, n := range deployed.Nodes {
		visited[n.ID] = len(n.Chains) > 0
	}
	g.Nodes = slices.DeleteFunc(slices.Clone(g.Nodes), func(n chain.Node) bool { return len(n.Chains) == 0 && !visited[n.ID] })
	g.Tables = 0
	for _, n := range g.Nodes {
		g.Tables += n.Tables
	}
	return g
}

// sameProgram reports whether two deployments have the same program.
func sameProgram(a, b *deployment) bool { return sameNodes(a, b) && a.Guard == b.Guard }

// sameNodes reports whether two deployments have the same nodes and loops.
func sameNodes(a, b *deployment) bool {
	if a == nil || b == nil {
		return false
	}
	sameNodes := slices.EqualFunc(a.Graph.Nodes, b.Graph.Nodes, func(x, y chain.Node) bool {
		return x.ID == y.ID && x.NF == y.NF
	})
	// Loops are part of the program: each is a test for its chain.
	return sameNodes && slices.Equal(loopsOf(a.Graph), loopsOf(b.Graph))
}

// loopsOf lists the loops of all chains.
func loopsOf(g chain.Graph) []string {
	var out []string
	for _, c := range g.Chains {
		for _, l := range c.Loops {
			out = append(out, fmt.Sprintf("%d/%d@%d*%d", c.ID, l.Path, l.Node, l.Max))
		}
	}
	slices.Sort(out)
	return out
}

// marker begins the line of the program's text that holds the deployment.
const marker = "// catena: "

// withDeployment puts a deployment in front of a program's text.
func withDeployment(d deployment, text string) ([]byte, error) {
	d.Graph.Seconds = 0
	line, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	return []byte(marker + string(line) + "\n" + text), nil
}

// deploymentOf reads the deployment back; nil when the text has none.
func deploymentOf(text []byte) *deployment {
	line, _, _ := strings.Cut(string(text), "\n")
	rest, ok := strings.CutPrefix(line, marker)
	if !ok {
		return nil
	}
	var d deployment
	if json.Unmarshal([]byte(rest), &d) != nil {
		return nil
	}
	return &d
}
