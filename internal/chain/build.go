package chain

import (
	"fmt"
	"slices"
	"strings"
)

// edge is an order between two NFs of a request, and the clause word that asked for it.
type edge struct {
	from, to int
	by       token // marked in diagnostics
	flow     bool  // a path that visits from visits to as well; otherwise order only
}

// branch is one alternative of a branching NF.
type branch struct {
	head int
	end  int // -1: none
}

// builder turns the clauses of one request into a DAG.
type builder struct {
	r        *reporter
	opt      Options
	nfs      []NF
	index    map[string]int
	edges    []edge
	known    map[[2]int]int // edge index by from, to
	out      [][]int        // edge indices by from
	in       [][]int        // edge indices by to
	branches [][]branch     // by branching NF
	headOf   [][]int        // branching NFs by branch
	endOf    [][]int        // branching NFs by branch_end
	first    int
	last     int
	posToken map[clauseKind]token // of `first` and `last`
}

// build returns the graph of one request, or false after reporting why there is none.
func build(req request, name string, opt Options, r *reporter) (DAG, bool) {
	b := &builder{r: r, opt: opt, index: map[string]int{}, known: map[[2]int]int{},
		first: -1, last: -1, posToken: map[clauseKind]token{}}
	before := len(r.found) + r.more
	if n := countNFs(req); n > MaxNFs {
		r.at(req.start.pos, req.start.width, nil, "request %q has %d NFs, the limit is %d", name, n, MaxNFs)
		return DAG{}, false
	}
	for _, c := range req.clauses {
		b.clause(c)
	}
	if req.broken || len(r.found)+r.more > before {
		return DAG{}, false
	}
	b.closeBranches()
	if !b.acyclic() || !b.endsFree() {
		return DAG{}, false
	}
	b.markFlow()
	order := b.order(b.depths())
	d := DAG{Name: name, MaxLoops: opt.MaxLoops}
	rank := make([]int, len(order))
	for i, n := range order {
		rank[n] = i
		d.NFs = append(d.NFs, b.nfs[n])
	}
	paths, ok := b.paths(order, rank)
	if !ok {
		r.at(req.start.pos, req.start.width, []string{"the choices of `then` clauses on one path multiply; split the request"},
			"request %q has more than %d paths", name, opt.MaxPaths)
		return DAG{}, false
	}
	d.paths = paths
	return d, true
}

// countNFs returns how many different invocations a request names.
func countNFs(req request) int {
	names := map[string]bool{}
	for _, c := range req.clauses {
		for _, t := range c.nfs {
			names[t.name()] = true
		}
		if c.end != nil {
			names[c.end.name()] = true
		}
	}
	return len(names)
}

// nf returns the number of the invocation that t names.
func (b *builder) nf(t token) int {
	if i, ok := b.index[t.name()]; ok {
		return i
	}
	tables := 1
	if b.opt.Tables != nil {
		tables = max(b.opt.Tables(t.text), 1)
	}
	i := len(b.nfs)
	b.index[t.name()] = i
	b.nfs = append(b.nfs, NF{Name: t.text, Serial: t.serial, Tables: tables, Pos: t.pos})
	b.out = append(b.out, nil)
	b.in = append(b.in, nil)
	b.branches = append(b.branches, nil)
	b.headOf = append(b.headOf, nil)
	b.endOf = append(b.endOf, nil)
	return i
}

// edge adds an order between two NFs; the first clause that asks for it is remembered.
func (b *builder) edge(from, to int, by token) {
	key := [2]int{from, to}
	if _, ok := b.known[key]; ok {
		return
	}
	b.known[key] = len(b.edges)
	b.out[from] = append(b.out[from], len(b.edges))
	b.in[to] = append(b.in[to], len(b.edges))
	b.edges = append(b.edges, edge{from: from, to: to, by: by})
}

func (b *builder) clause(c clause) {
	a := b.nf(c.nfs[0])
	switch c.kind {
	case clauseBefore:
		for _, t := range c.nfs[1:] {
			to := b.nf(t)
			b.edge(a, to, t)
			b.edges[b.known[[2]int{a, to}]].flow = true // refined by markFlow
			a = to
		}
	case clauseThen:
		b.then(a, c)
	case clauseFirst, clauseLast:
		b.position(a, c)
	case clauseLoop:
		b.nfs[a].Loop = true
	}
}

func (b *builder) then(a int, c clause) {
	mine := len(b.branches[a])
	for _, t := range c.nfs[1:] {
		h := b.nf(t)
		if slices.ContainsFunc(b.branches[a], func(x branch) bool { return x.head == h }) {
			b.r.at(t.pos, t.width, nil, "%s is already a branch of %s", t.name(), c.nfs[0].name())
			continue
		}
		b.branches[a] = append(b.branches[a], branch{head: h, end: -1})
		b.headOf[h] = append(b.headOf[h], a)
		b.edge(a, h, t)
	}
	if c.end == nil {
		return
	}
	end := b.nf(*c.end)
	b.edge(a, end, *c.end)
	b.endOf[end] = append(b.endOf[end], a)
	for i := range b.branches[a][mine:] {
		b.branches[a][mine+i].end = end
	}
}

func (b *builder) position(a int, c clause) {
	slot, word := &b.first, "first"
	if c.kind == clauseLast {
		slot, word = &b.last, "last"
	}
	t := c.nfs[0]
	if *slot >= 0 && *slot != a {
		old := b.posToken[c.kind]
		b.r.at(t.pos, t.width, []string{fmt.Sprintf("%s is %s at %d:%d", old.name(), word, old.pos.Line, old.pos.Col)},
			"%s and %s cannot both be %s", old.name(), t.name(), word)
		return
	}
	if *slot < 0 {
		*slot, b.posToken[c.kind] = a, t
	}
}

// reach returns which NFs follow n, n included.
func (b *builder) reach(n int) []bool {
	return b.spread(n, b.out, func(e edge) int { return e.to })
}

// reachBack returns which NFs precede n, n included.
func (b *builder) reachBack(n int) []bool {
	return b.spread(n, b.in, func(e edge) int { return e.from })
}

func (b *builder) spread(n int, edges [][]int, end func(edge) int) []bool {
	seen := make([]bool, len(b.nfs))
	seen[n] = true
	stack := []int{n}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, e := range edges[n] {
			if m := end(b.edges[e]); !seen[m] {
				seen[m] = true
				stack = append(stack, m)
			}
		}
	}
	return seen
}

// closeBranches orders every branch_end behind all that its branches lead to, except what comes
// after the branch_end itself.
func (b *builder) closeBranches() {
	reach := make([][]bool, len(b.nfs))
	get := func(n int) []bool {
		if reach[n] == nil {
			reach[n] = b.reach(n)
		}
		return reach[n]
	}
	type close struct {
		from, to int
		by       token
	}
	var closes []close
	for a := range b.branches {
		for _, br := range b.branches[a] {
			if br.end < 0 {
				continue
			}
			by := b.edges[b.known[[2]int{a, br.end}]].by
			inside, after := get(br.head), get(br.end)
			for n := range b.nfs {
				// A head that follows its own branch_end is a contradiction, shown as a cycle.
				if inside[n] && n != br.end && (!after[n] || n == br.head) {
					closes = append(closes, close{n, br.end, by})
				}
			}
		}
	}
	for _, c := range closes {
		b.edge(c.from, c.to, c.by)
	}
}

// acyclic reports one cycle for each knot of NFs that wait for each other.
func (b *builder) acyclic() bool {
	ok := true
	done := make([]bool, len(b.nfs)) // belongs to a knot already reported
	for n := range b.nfs {
		if done[n] {
			continue
		}
		cycle := b.cycleFrom(n)
		if cycle == nil {
			continue
		}
		ok = false
		b.reportCycle(cycle)
		ahead, behind := b.reach(n), b.reachBack(n)
		for m := range done {
			done[m] = done[m] || ahead[m] && behind[m]
		}
	}
	return ok
}

// cycleFrom returns the edges of a shortest cycle through n, or nil.
func (b *builder) cycleFrom(n int) []int {
	via := make([]int, len(b.nfs))
	for i := range via {
		via[i] = -1
	}
	queue := []int{n}
	for len(queue) > 0 {
		m := queue[0]
		queue = queue[1:]
		for _, e := range b.out[m] {
			to := b.edges[e].to
			if to == n {
				cycle := []int{e}
				for m != n {
					cycle = append(cycle, via[m])
					m = b.edges[via[m]].from
				}
				slices.Reverse(cycle)
				return cycle
			}
			if via[to] < 0 {
				via[to] = e
				queue = append(queue, to)
			}
		}
	}
	return nil
}

func (b *builder) reportCycle(cycle []int) {
	start := b.edges[cycle[0]].from
	names := []string{b.nfs[start].String()}
	at := b.edges[cycle[0]].by
	for _, e := range cycle {
		names = append(names, b.nfs[b.edges[e].to].String())
		if by := b.edges[e].by; by.pos.Offset > at.pos.Offset {
			at = by // the text was sound up to here
		}
	}
	n := b.nfs[start]
	b.r.at(at.pos, at.width,
		[]string{fmt.Sprintf("a second invocation of %s is written with a serial number, %s", n.Name, invocation(n.Name, max(n.Serial, 1)+1))},
		"request is not acyclic: %s", strings.Join(names, " -> "))
}

// endsFree checks that nothing is ordered before the first NF or after the last.
func (b *builder) endsFree() bool {
	ok := true
	for _, e := range b.edges {
		if e.to == b.first {
			t := b.posToken[clauseFirst]
			b.r.at(t.pos, t.width, []string{fmt.Sprintf("the order is asked for at %d:%d", e.by.pos.Line, e.by.pos.Col)},
				"%s cannot be first: %s comes before it", t.name(), b.nfs[e.from])
			ok = false
		}
		if e.from == b.last {
			t := b.posToken[clauseLast]
			b.r.at(t.pos, t.width, []string{fmt.Sprintf("the order is asked for at %d:%d", e.by.pos.Line, e.by.pos.Col)},
				"%s cannot be last: %s comes after it", t.name(), b.nfs[e.to])
			ok = false
		}
	}
	if b.first >= 0 && b.first == b.last && len(b.nfs) > 1 {
		t := b.posToken[clauseLast]
		b.r.at(t.pos, t.width, nil, "%s cannot be both first and last of %d NFs", t.name(), len(b.nfs))
		ok = false
	}
	return ok
}
