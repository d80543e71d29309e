package chain

// lcsNode is a node of the order that Algorithm 1 builds. It remembers which NFs of which requests use
// it, as (request, index into NFs).
type lcsNode struct {
	nf   int32
	used [][2]int
}

// lcs is the paper's Algorithm 1, iterated over the requests in their order.
func (m *merger) lcs() Graph {
	var ir []*lcsNode
	previsit := false
	for i := range m.reqs {
		var order []*lcsNode
		for j, n := range m.topo[i] {
			order = append(order, &lcsNode{nf: n, used: [][2]int{{i, j}}})
		}
		if i == 0 {
			ir = order
			continue
		}
		merged, shared := m.mergeTwo(ir, order)
		// Without a shared NF both go behind a pre-visiting node (line 5); one such node serves all.
		previsit = previsit || !shared
		ir = merged
	}
	place := make([][]int, len(m.reqs))
	for i, d := range m.reqs {
		place[i] = make([]int, len(d.NFs))
	}
	var order []int32
	for at, n := range ir {
		order = append(order, n.nf)
		for _, u := range n.used {
			place[u[0]][u[1]] = at
		}
	}
	places := make([][][]int, len(m.reqs))
	for i, d := range m.reqs {
		for _, p := range d.paths {
			at := make([]int, len(p))
			for j, n := range p {
				at[j] = place[i][n]
			}
			places[i] = append(places[i], at)
		}
	}
	return m.graph(StrategyLCS, order, places, previsit)
}

// mergeTwo is Algorithm 1 for two topological orders. It tells whether they share an NF; if not, the
// result is one behind the other.
func (m *merger) mergeTwo(a, b []*lcsNode) ([]*lcsNode, bool) {
	base, attach := a, b
	if len(attach) > len(base) {
		base, attach = attach, base
	}
	pairs := m.sharedOrder(base, attach)
	if len(pairs) == 0 {
		return append(append([]*lcsNode{}, a...), b...), false
	}
	// `first` of attach goes before the first shared node, `follow` behind the last one; what lies
	// between two shared nodes goes right behind the earlier one.
	var out []*lcsNode
	i, j := 0, 0
	for k, pair := range pairs {
		out = append(out, base[i:pair[0]]...)
		if k == 0 {
			out = append(out, attach[:pair[1]]...)
		}
		node := base[pair[0]]
		node.used = append(node.used, attach[pair[1]].used...)
		out = append(out, node)
		i, j = pair[0]+1, pair[1]+1
		end := len(attach)
		if k+1 < len(pairs) {
			end = pairs[k+1][1]
		}
		out = append(out, attach[j:end]...)
	}
	return append(out, base[i:]...), true
}

// sharedOrder is the longest common subsequence by tables, as pairs of indices.
func (m *merger) sharedOrder(base, attach []*lcsNode) [][2]int {
	rows := make([][]int, len(base)+1)
	for i := range rows {
		rows[i] = make([]int, len(attach)+1)
	}
	for i := len(base) - 1; i >= 0; i-- {
		for j := len(attach) - 1; j >= 0; j-- {
			rows[i][j] = max(rows[i+1][j], rows[i][j+1])
			if base[i].nf == attach[j].nf {
				rows[i][j] = max(rows[i][j], rows[i+1][j+1]+m.tables[base[i].nf])
			}
		}
	}
	var pairs [][2]int
	for i, j := 0, 0; i < len(base) && j < len(attach); {
		switch {
		case base[i].nf == attach[j].nf && rows[i][j] == rows[i+1][j+1]+m.tables[base[i].nf]:
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case rows[i+1][j] >= rows[i][j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}
