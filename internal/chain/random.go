package chain

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// RandomOptions describes random requests. The zero value is the paper's section IV-E: 15 NFs, fewer
// than 15 in a request, three branches at most, each NF once.
type RandomOptions struct {
	NFs         int // how many NFs there are, named NF1 and up; 0: 15
	MinLength   int // NFs of a request; 0: 1
	MaxLength   int // 0: 14, or NFs where that is less
	MaxBranches int // 0: 3; 1: linear chains
}

func (o RandomOptions) withDefaults() RandomOptions {
	if o.NFs == 0 {
		o.NFs = 15
	}
	if o.MinLength == 0 {
		o.MinLength = 1
	}
	if o.MaxLength == 0 {
		o.MaxLength = 14
	}
	o.MaxLength = min(o.MaxLength, o.NFs)
	o.MinLength = min(o.MinLength, o.MaxLength)
	if o.MaxBranches == 0 {
		o.MaxBranches = 3
	}
	return o
}

// RandomRequests writes n requests in the request language, drawn from rng alone.
func RandomRequests(rng *rand.Rand, n int, opt RandomOptions) string {
	opt = opt.withDefaults()
	requests := make([]string, n)
	for i := range requests {
		requests[i] = randomRequest(rng, opt)
	}
	return strings.Join(requests, "\nEnd_of_Request\n") + "\n"
}

func randomRequest(rng *rand.Rand, opt RandomOptions) string {
	length := opt.MinLength + rng.IntN(opt.MaxLength-opt.MinLength+1)
	nfs := make([]string, length)
	for i, n := range rng.Perm(opt.NFs)[:length] {
		nfs[i] = fmt.Sprintf("NF%d", n+1)
	}
	branches := 1 + rng.IntN(opt.MaxBranches)
	if branches == 1 || length < branches+1 {
		return linearText(nfs)
	}
	// The NFs are dealt out: one for the branching NF and one for each branch, the others to a
	// prefix, the branches or what follows the branch_end.
	closed := length > branches+1 && rng.IntN(2) == 0
	parts := make([]int, branches+2) // prefix with the branching NF, branches, tail with branch_end
	left := length
	for i := range parts {
		if i <= branches || closed {
			parts[i] = 1
			left--
		}
	}
	for ; left > 0; left-- {
		i := rng.IntN(branches + 2)
		if i == branches+1 && !closed {
			i = 0
		}
		parts[i]++
	}
	next := 0
	take := func(n int) []string {
		next += n
		return nfs[next-n : next]
	}
	prefix := take(parts[0])
	var heads, clauses []string
	for _, n := range parts[1 : branches+1] {
		b := take(n)
		heads = append(heads, b[0])
		if n > 1 {
			clauses = append(clauses, linearText(b))
		}
	}
	then := prefix[len(prefix)-1] + " then " + strings.Join(heads, " or ")
	if closed {
		tail := take(parts[branches+1])
		then += " and branch_end=" + tail[0]
		if len(tail) > 1 {
			clauses = append(clauses, linearText(tail))
		}
	}
	clauses = append([]string{then}, clauses...)
	if len(prefix) > 1 {
		clauses = append([]string{linearText(prefix)}, clauses...)
	}
	return strings.Join(clauses, "\n")
}
