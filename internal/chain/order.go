package chain

import (
	"container/heap"
	"fmt"
	"slices"
)

// markFlow takes the flow from `before` edges into a branch when they come from outside of the
// branching: whether the branch is visited is then the choice of the branching NF alone.
func (b *builder) markFlow() {
	for h, branching := range b.headOf {
		if len(branching) == 0 {
			continue
		}
		inside := make([]bool, len(b.nfs))
		for _, a := range branching {
			for _, br := range b.branches[a] {
				for n, r := range b.reach(br.head) {
					inside[n] = inside[n] || r
				}
			}
		}
		for i := range b.edges {
			if e := &b.edges[i]; e.to == h && !inside[e.from] {
				e.flow = false
			}
		}
	}
}

// depths counts the choices that lead to each NF: 0 for one that is on every path.
func (b *builder) depths() []int {
	depth := make([]int, len(b.nfs))
	waiting := make([]int, len(b.nfs))
	known := make([]bool, len(b.nfs))
	for _, e := range b.edges {
		waiting[e.to]++
	}
	var ready []int
	for n := range b.nfs {
		if waiting[n] == 0 {
			ready = append(ready, n)
		}
	}
	lower := func(n, d int) {
		if !known[n] || d < depth[n] {
			depth[n], known[n] = d, true
		}
	}
	for len(ready) > 0 {
		n := ready[0]
		ready = ready[1:]
		for _, br := range b.branches[n] {
			lower(br.head, depth[n]+1)
			if br.end >= 0 {
				lower(br.end, depth[n])
			}
		}
		for _, i := range b.out[n] {
			e := b.edges[i]
			if e.flow {
				lower(e.to, depth[n])
			}
			if waiting[e.to]--; waiting[e.to] == 0 {
				ready = append(ready, e.to)
			}
		}
	}
	return depth
}

// readyHeap holds NFs that may come next, best key first.
type readyHeap struct {
	key  []int
	list []int
}

func (h *readyHeap) Len() int { return len(h.list) }
func (h *readyHeap) Less(i, j int) bool {
	a, b := h.list[i], h.list[j]
	if h.key[a] != h.key[b] {
		return h.key[a] < h.key[b]
	}
	return a < b
}
func (h *readyHeap) Swap(i, j int) { h.list[i], h.list[j] = h.list[j], h.list[i] }
func (h *readyHeap) Push(x any)    { h.list = append(h.list, x.(int)) }
func (h *readyHeap) Pop() any {
	n := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return n
}

// order returns the NFs in the total order that every path follows. NFs outside of branches go
// before branches, and an NF that branches after all others of its depth and deeper.
func (b *builder) order(depth []int) []int {
	h := &readyHeap{key: make([]int, len(b.nfs))}
	waiting := make([]int, len(b.nfs))
	for _, e := range b.edges {
		waiting[e.to]++
	}
	for n := range b.nfs {
		h.key[n] = depth[n]
		if len(b.branches[n]) > 0 {
			h.key[n] = 2*MaxNFs - depth[n]
		}
		switch n {
		case b.first:
			h.key[n] = -1
		case b.last:
			h.key[n] = 3 * MaxNFs
		}
		if waiting[n] == 0 {
			h.list = append(h.list, n)
		}
	}
	heap.Init(h)
	var order []int
	for h.Len() > 0 {
		n := heap.Pop(h).(int)
		order = append(order, n)
		for _, i := range b.out[n] {
			to := b.edges[i].to
			if waiting[to]--; waiting[to] == 0 {
				heap.Push(h, to)
			}
		}
	}
	return order
}

// paths walks the NFs in order and splits at each branching NF. It returns false when there are more
// than Options.MaxPaths.
func (b *builder) paths(order, rank []int) ([][]int, bool) {
	roots := make([]bool, len(b.nfs))
	for n := range roots {
		roots[n] = len(b.headOf[n]) == 0 && len(b.endOf[n]) == 0
	}
	for _, e := range b.edges {
		if e.flow {
			roots[e.to] = false
		}
	}
	var found [][]int
	seen := map[string]bool{}
	walks := 0
	var walk func(i int, on []bool, path []int) bool
	walk = func(i int, on []bool, path []int) bool {
		for ; i < len(order); i++ {
			n := order[i]
			if !on[n] {
				continue
			}
			path = append(path, rank[n])
			for _, j := range b.out[n] {
				if e := b.edges[j]; e.flow {
					on[e.to] = true
				}
			}
			if len(b.branches[n]) == 0 {
				continue
			}
			for _, br := range b.branches[n] {
				choice := slices.Clone(on)
				choice[br.head] = true
				if br.end >= 0 {
					choice[br.end] = true
				}
				if !walk(i+1, choice, slices.Clone(path)) {
					return false
				}
			}
			return true
		}
		if walks++; walks > b.opt.MaxPaths {
			return false
		}
		// Two choices may lead through the same NFs; they are one path.
		if key := fmt.Sprint(path); !seen[key] {
			seen[key] = true
			found = append(found, slices.Clip(path))
		}
		return true
	}
	ok := walk(0, roots, nil)
	return found, ok
}
