package chain

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
)

// Numbers that were found by trying requests like those of section IV-E.
const (
	beamWork    = 60e6 // steps of one search at effort 1, a step being one sequence of one state
	refineWork  = 40e6 // steps of the window searches at effort 1
	maxWidth    = 600
	windowNodes = 28
	windowWidth = 16
	maxIdle     = 150  // windows without gain before refining ends
	maxPaths    = 64   // paths of one request that are looked at one by one
	expectRatio = 0.75 // expected cost in terms of the LCS order's
	helpRatio   = 0.66 // see help
)

// beam is the default strategy: the better of Algorithm 1's order and a supersequence of all paths.
func (m *merger) beam(effort float64) Graph {
	lcs := m.lcs()
	best := lcs
	if len(m.reqs) > 0 {
		start := m.orderOf(lcs)
		p := superProblem{seqs: m.sequences(), weight: m.tables}
		order := refine(p, searchBoth(p, start, effort), effort)
		if g := m.embedAll(order); g.Tables < best.Tables {
			best = g
		}
		// Algorithm 1's order may visit fewer nodes than it has: paths, not requests, must fit.
		if g := m.embedAll(start); g.Tables < best.Tables {
			best = g
		}
	}
	best.Strategy = StrategyBeam
	return best
}

// orderOf returns a graph's order as NF numbers.
func (m *merger) orderOf(g Graph) []int32 {
	var out []int32
	for _, n := range g.Nodes {
		if n.NF != PreVisit {
			out = append(out, int32(m.slots[n.NF]))
		}
	}
	return out
}

// sequences returns the different paths of all requests, without those that others contain. A request
// of very many paths contributes its total order, which contains them all.
func (m *merger) sequences() [][]int32 {
	var all [][]int32
	seen := map[string]bool{}
	add := func(s []int32) {
		key := make([]byte, 0, 2*len(s))
		for _, c := range s {
			key = append(key, byte(c), byte(c>>8), byte(c>>16))
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			all = append(all, s)
		}
	}
	for i, d := range m.reqs {
		if len(d.paths) > maxPaths {
			add(m.topo[i])
			continue
		}
		for _, p := range d.paths {
			add(m.path(i, p))
		}
	}
	slices.SortStableFunc(all, func(a, b []int32) int { return len(b) - len(a) })
	const comparable = 2000 // above, all pairs are too many to compare
	if len(all) > comparable {
		return all
	}
	var kept [][]int32
	for _, s := range all {
		if !slices.ContainsFunc(kept, func(k []int32) bool { return place(k, s) != nil }) {
			kept = append(kept, s)
		}
	}
	return kept
}

// place embeds a sequence into an order, each symbol at the first place that is left, and returns
// the places or nil.
func place(order, seq []int32) []int {
	out := make([]int, 0, len(seq))
	for i := 0; i < len(order) && len(out) < len(seq); i++ {
		if order[i] == seq[len(out)] {
			out = append(out, i)
		}
	}
	if len(out) < len(seq) {
		return nil
	}
	return out
}

// embedAll places all paths into an order that contains them and drops nodes that none visits. A
// request whose total order fits has each NF in one place; otherwise its paths are placed one by one.
func (m *merger) embedAll(order []int32) Graph {
	used := make([]bool, len(order))
	for i, d := range m.reqs {
		for _, p := range d.paths {
			for _, at := range place(order, m.path(i, p)) {
				used[at] = true
			}
		}
	}
	var kept []int32
	for i, u := range used {
		if u {
			kept = append(kept, order[i])
		}
	}
	places := make([][][]int, len(m.reqs))
	for i, d := range m.reqs {
		whole := place(kept, m.topo[i])
		for _, p := range d.paths {
			if whole == nil {
				places[i] = append(places[i], place(kept, m.path(i, p)))
				continue
			}
			at := make([]int, len(p))
			for j, n := range p {
				at[j] = whole[n]
			}
			places[i] = append(places[i], at)
		}
	}
	return m.graph(StrategyBeam, kept, places, false)
}

// reversed returns the problem read from the end.
func (p superProblem) reversed() superProblem {
	out := superProblem{weight: p.weight, seqs: make([][]int32, len(p.seqs))}
	for i, s := range p.seqs {
		out.seqs[i] = backwards(s)
	}
	return out
}

func backwards(s []int32) []int32 {
	out := slices.Clone(s)
	slices.Reverse(out)
	return out
}

func (p superProblem) cost(order []int32) int {
	sum := 0
	for _, c := range order {
		sum += p.weight[c]
	}
	return sum
}

// searchBoth searches from the front and from the back and returns the best of both and of start.
func searchBoth(p superProblem, start []int32, effort float64) []int32 {
	limit := p.cost(start)
	run := func(p superProblem) []int32 {
		b := newSuperBeam(p, limit)
		scaled := b.scaled(start)
		target := expectRatio * float64(scaled)
		work := b.work(target)
		width := int(min(max(effort*beamWork/work, 1), maxWidth*max(effort, 1)))
		return b.search(superShape{width: width, target: target, help: help(b.longest(), target)}, scaled)
	}
	var found [2][]int32
	var wg sync.WaitGroup
	wg.Go(func() { found[0] = run(p) })
	wg.Go(func() {
		if s := run(p.reversed()); s != nil {
			found[1] = backwards(s)
		}
	})
	wg.Wait()
	best := start
	for _, s := range found {
		if s != nil && p.cost(s) < p.cost(best) {
			best = s
		}
	}
	return best
}

// help guesses how probable it is that one node of the order helps one path.
func help(longest, target float64) float64 {
	return min(max(helpRatio*longest/math.Max(target, 1), 0.02), 0.6)
}

// work estimates the steps of a search of width 1 that ends at a cost.
func (b *superBeam) work(cost float64) float64 {
	const perCandidate = 15
	k := float64(len(b.start))
	return cost * (k*float64(2+len(b.steps)) + perCandidate*min(k, float64(b.symbols)))
}

// refine cuts windows out of an order and solves again what the paths need of them, given what they get
// before and behind. Equal solutions are taken too, so that the order wanders.
func refine(p superProblem, order []int32, effort float64) []int32 {
	back := p.reversed()
	longest := 0
	for _, s := range p.seqs {
		longest = max(longest, p.cost(s))
	}
	rng := rand.New(rand.NewPCG(17, 19)) // fixed: the same requests give the same order
	work := effort * refineWork
	for idle := 0; idle < maxIdle && work > 0 && p.cost(order) > longest; idle++ {
		n := len(order)
		size := min(n, windowNodes/2+rng.IntN(windowNodes))
		from := rng.IntN(n - size + 1)
		turn, spread := rng.IntN(2) == 1, 0.8+0.4*rng.Float64()
		sub := superProblem{weight: p.weight}
		for i, s := range p.seqs {
			head := progress(order[:from], s)
			tail := progress(backwards(order[from+size:]), back.seqs[i])
			if head+tail < len(s) {
				sub.seqs = append(sub.seqs, s[head:len(s)-tail])
			}
		}
		if turn {
			sub = sub.reversed()
		}
		window := order[from : from+size]
		better := []int32{}
		work -= float64(2 * n * len(p.seqs))
		if len(sub.seqs) > 0 {
			b := newSuperBeam(sub, p.cost(window))
			limit := b.scaled(window)
			target := spread * float64(limit)
			work -= b.work(target) * windowWidth
			better = b.search(superShape{width: windowWidth, target: target, help: help(b.longest(), target)}, limit)
		}
		if better == nil || p.cost(better) > p.cost(window) {
			continue
		}
		if p.cost(better) < p.cost(window) {
			idle = 0
		}
		if turn {
			better = backwards(better)
		}
		order = slices.Concat(order[:from], better, order[from+size:])
	}
	return order
}

// progress returns how many symbols of seq an order serves.
func progress(order, seq []int32) int {
	k := 0
	for _, c := range order {
		if k < len(seq) && seq[k] == c {
			k++
		}
	}
	return k
}
