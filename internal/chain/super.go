package chain

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// superProblem asks for a cheapest common supersequence: one sequence of symbols that contains each
// of the given sequences, with the least sum of weights.
type superProblem struct {
	seqs   [][]int32
	weight []int // by symbol, at least 1
}

// maxPools bounds the cost that a search counts in; heavier problems are counted in coarser units.
const maxPools = 1 << 18

// superBeam is a beam search state space over one problem, reusable for searches of different shape.
//
// All sequences lie behind each other in sym, each closed by the symbol `stop`; a state is one index
// into it per sequence. rem holds, for each index, the weight still to come, in quarters of the mean
// weight, and so indexes the tables that rate a state.
type superBeam struct {
	sym     []int32
	rem     []int32
	start   []int32
	zobr    []uint64
	weight  []int // scaled
	steps   []int // the distinct values of weight
	step    []int // index into steps by symbol
	unit    float64
	maxRem  int
	stop    int32
	symbols int // that occur
}

// superLayer is the states kept at one cost: row r has the places at[r*k:(r+1)*k] for k sequences. It
// holds no pointers, and layers are used again, since searches make states by the million.
type superLayer struct {
	at    []int32
	hash  []uint64
	trail []int32
}

// superCand is a state not made yet: a row of the layer of a cost, moved on by sym.
type superCand struct {
	rate float64
	hash uint64
	cost int32
	row  int32
	sym  int32
}

func (c superCand) compare(d superCand) int {
	switch {
	case c.rate < d.rate:
		return -1
	case c.rate > d.rate:
		return 1
	}
	return cmp.Compare(c.hash, d.hash)
}

// selectBest moves the n best candidates to the front, in no order (Hoare's selection).
func selectBest(pool []superCand, n int) {
	for lo, hi := 0, len(pool)-1; lo < hi; {
		pivot := pool[lo+(hi-lo)/2]
		i, j := lo, hi
		for i <= j {
			for pool[i].compare(pivot) < 0 {
				i++
			}
			for pool[j].compare(pivot) > 0 {
				j--
			}
			if i <= j {
				pool[i], pool[j] = pool[j], pool[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case n-1 <= j:
			hi = j
		case n-1 >= i:
			lo = i
		default:
			return
		}
	}
}

func newSuperBeam(p superProblem, limit int) *superBeam {
	b := &superBeam{stop: int32(len(p.weight)), weight: slices.Clone(p.weight), step: make([]int, len(p.weight)+1)}
	if limit > maxPools {
		for i, w := range b.weight {
			b.weight[i] = max(1, int(float64(w)*maxPools/float64(limit)))
		}
	}
	sum, count := 0, 0
	used := make([]bool, len(p.weight))
	for _, s := range p.seqs {
		for _, c := range s {
			sum += b.weight[c]
			used[c] = true
		}
		count += len(s)
	}
	b.unit = float64(sum) / float64(max(count, 1))
	for c, u := range used {
		if u {
			b.steps = append(b.steps, b.weight[c])
			b.symbols++
		}
	}
	slices.Sort(b.steps)
	b.steps = slices.Compact(b.steps)
	for c, u := range used {
		if u {
			b.step[c], _ = slices.BinarySearch(b.steps, b.weight[c])
		}
	}
	rng := rand.New(rand.NewPCG(11, 13))
	for _, s := range p.seqs {
		b.start = append(b.start, int32(len(b.sym)))
		b.zobr = append(b.zobr, rng.Uint64()|1)
		left := 0
		for _, c := range s {
			left += b.weight[c]
		}
		for _, c := range s {
			b.sym = append(b.sym, c)
			b.rem = append(b.rem, b.quarters(left))
			left -= b.weight[c]
		}
		b.sym = append(b.sym, b.stop)
		b.rem = append(b.rem, 0)
	}
	b.rem = append(b.rem, 0) // behind the last stop
	for _, r := range b.rem {
		b.maxRem = max(b.maxRem, int(r))
	}
	return b
}

func (b *superBeam) quarters(weight int) int32 {
	return int32(math.Ceil(4 * float64(weight) / b.unit))
}

// difficulty tells, for each remainder of r/4 mean weights up to maxRem quarters, how hard it is to fit
// into what is left of a supersequence, q mean weights long: -log P(Bin(q, p) >= r/4), the chance that a random sequence
// contains it when each symbol helps with probability p. Long remainders weigh ever more the less room
// there is.
func difficulty(maxRem, q int, p float64) []float64 {
	table := make([]float64, maxRem+1)
	const (
		floor = 1e-12
		slope = 6.0 // per mean weight, where the chance has vanished
	)
	term := math.Pow(1-p, float64(q))
	below := 0.0
	prev := 0.0
	for r := 1; 4*(r-1) < len(table)-1; r++ {
		below += term
		next := prev + slope
		if chance := 1 - below; r <= q && chance > floor {
			next = -math.Log(chance)
		}
		term *= float64(q-r+1) / float64(r) * p / (1 - p)
		for k := 1; k <= 4 && 4*(r-1)+k < len(table); k++ {
			table[4*(r-1)+k] = prev + (next-prev)*float64(k)/4
		}
		prev = next
	}
	return table
}

// superShape steers one search: width is how many states of equal cost are kept; target is the
// total cost expected and help the probability p of difficulty.
type superShape struct {
	width  int
	target float64
	help   float64
}

// superSearch is the memory of one search.
type superSearch struct {
	*superBeam
	shape  superShape
	limit  int
	pools  [][]superCand // by cost
	layers []superLayer  // by cost
	idle   []superLayer  // to be used again
	spare  [][]superCand // likewise
	tables [][]float64   // by step: how hard what is left is in the pool that the step leads to
	made   map[int][]float64

	// Steps that led to each state: the symbol, and the state before.
	trailSym, trailPrev []int32

	// Scratch of expand, by symbol or step.
	gain    []float64
	moved   []uint64
	touched []int32
	base    []float64
}

// search returns a common supersequence that costs at most limit (in scaled weights), or nil.
//
// Candidates are kept in pools by cost and a pool is worked off when all cheaper ones are, so that
// only states of equal cost compete and the first complete one is the best found.
func (b *superBeam) search(shape superShape, limit int) []int32 {
	if b.maxRem == 0 {
		return []int32{}
	}
	s := &superSearch{superBeam: b, shape: shape, limit: limit,
		pools: make([][]superCand, limit+1), layers: make([]superLayer, limit+1),
		tables: make([][]float64, len(b.steps)), made: map[int][]float64{},
		gain: make([]float64, int(b.stop)+1), moved: make([]uint64, int(b.stop)+1), base: make([]float64, len(b.steps))}
	s.layers[0] = superLayer{at: slices.Clone(b.start), hash: []uint64{0}, trail: []int32{-1}}
	s.prepare(0)
	s.expand(0, 0)
	seen := map[uint64]bool{}
	longestStep := b.steps[len(b.steps)-1]
	for cost := 1; cost <= limit; cost++ {
		if last := cost - 1 - longestStep; last >= 0 {
			s.recycle(last)
		}
		pool := s.pools[cost]
		if len(pool) == 0 {
			continue
		}
		s.layers[cost] = s.layer()
		clear(seen)
		s.prepare(cost)
		for kept := 0; len(pool) > 0 && kept < shape.width; {
			// The best are sorted in portions: most of a pool is never looked at.
			portion := min(2*shape.width, len(pool))
			selectBest(pool, portion)
			slices.SortFunc(pool[:portion], superCand.compare)
			for _, c := range pool[:portion] {
				if seen[c.hash] {
					continue
				}
				seen[c.hash] = true
				longest := s.advance(c, cost)
				if longest == 0 {
					return s.sequence()
				}
				// Rounding up makes the longest remainder a quarter too long at most.
				if float64(longest-1)*b.unit/4 >= float64(limit-cost) {
					s.layers[cost].drop(len(b.start))
					continue
				}
				s.expand(kept, cost)
				if kept++; kept == shape.width {
					break
				}
			}
			pool = pool[portion:]
		}
		s.spare = append(s.spare, s.pools[cost][:0])
		s.pools[cost] = nil
	}
	return nil
}

// prepare sets the tables for what leaves the pool of a cost.
func (s *superSearch) prepare(cost int) {
	for i, step := range s.steps {
		q := max(int(math.Round((s.shape.target-float64(cost+step))/s.unit)), 1)
		if s.made[q] == nil {
			s.made[q] = difficulty(s.maxRem, q, s.shape.help)
		}
		s.tables[i] = s.made[q]
	}
}

// expand enters all that may follow a state into the pools.
func (s *superSearch) expand(row, cost int) {
	layer := &s.layers[cost]
	k := len(s.start)
	state := layer.at[row*k : (row+1)*k]
	for i, t := range s.tables {
		sum := 0.0
		for _, at := range state {
			sum += t[s.rem[at]]
		}
		s.base[i] = sum
	}
	s.touched = s.touched[:0]
	for i, at := range state {
		c := s.sym[at]
		if c == s.stop {
			continue
		}
		if s.moved[c] == 0 {
			s.touched = append(s.touched, c)
		}
		t := s.tables[s.step[c]]
		s.gain[c] += t[s.rem[at]] - t[s.rem[at+1]]
		s.moved[c] += s.zobr[i]
	}
	for _, c := range s.touched {
		if next := cost + s.weight[c]; next <= s.limit {
			s.push(next, superCand{rate: s.base[s.step[c]] - s.gain[c], hash: layer.hash[row] + s.moved[c],
				cost: int32(cost), row: int32(row), sym: c})
		}
		s.gain[c], s.moved[c] = 0, 0
	}
}

// push adds a candidate to a pool, and thins the pool when it holds far more than will be kept.
func (s *superSearch) push(cost int, c superCand) {
	pool := s.pools[cost]
	if pool == nil && len(s.spare) > 0 {
		pool = s.spare[len(s.spare)-1]
		s.spare = s.spare[:len(s.spare)-1]
	}
	if pool = append(pool, c); len(pool) >= 16*s.shape.width+64 {
		selectBest(pool, len(pool)/2)
		pool = pool[:len(pool)/2]
	}
	s.pools[cost] = pool
}

// advance makes a candidate the last row of its pool's layer and returns its longest remainder; 0 means
// that it is complete.
func (s *superSearch) advance(c superCand, cost int) int32 {
	from, to := &s.layers[c.cost], &s.layers[cost]
	k := len(s.start)
	start := len(to.at)
	to.at = append(to.at, from.at[int(c.row)*k:(int(c.row)+1)*k]...)
	to.hash = append(to.hash, c.hash)
	s.trailSym = append(s.trailSym, c.sym)
	s.trailPrev = append(s.trailPrev, from.trail[c.row])
	to.trail = append(to.trail, int32(len(s.trailSym)-1))
	longest := int32(0)
	state := to.at[start:]
	for i, at := range state {
		if s.sym[at] == c.sym {
			at++
			state[i] = at
		}
		longest = max(longest, s.rem[at])
	}
	return longest
}

// drop takes the last row away.
func (l *superLayer) drop(k int) {
	l.at = l.at[:len(l.at)-k]
	l.hash = l.hash[:len(l.hash)-1]
	l.trail = l.trail[:len(l.trail)-1]
}

// layer returns an empty layer.
func (s *superSearch) layer() superLayer {
	if n := len(s.idle); n > 0 {
		l := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return superLayer{l.at[:0], l.hash[:0], l.trail[:0]}
	}
	return superLayer{}
}

// recycle takes back the layer of a cost that no candidate refers to any more.
func (s *superSearch) recycle(cost int) {
	if s.layers[cost].at != nil {
		s.idle = append(s.idle, s.layers[cost])
		s.layers[cost] = superLayer{}
	}
}

// sequence returns the symbols that led to the state made last.
func (s *superSearch) sequence() []int32 {
	var out []int32
	for t := int32(len(s.trailSym) - 1); t >= 0; t = s.trailPrev[t] {
		out = append(out, s.trailSym[t])
	}
	slices.Reverse(out)
	return out
}

// scaled sums the scaled weights of a sequence.
func (b *superBeam) scaled(seq []int32) int {
	sum := 0
	for _, c := range seq {
		sum += b.weight[c]
	}
	return sum
}

// longest is the greatest weight of one sequence, in scaled weights.
func (b *superBeam) longest() float64 { return float64(b.maxRem) * b.unit / 4 }
