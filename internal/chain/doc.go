// Package chain turns chain requests into directed acyclic graphs and merges many of them into one
// order of network functions (NFs), after P4SC, sections III-B and IV-E.
//
// The package is pure: text and values in, values out, no clock, no I/O, no randomness that the
// caller did not seed. Equal input gives equal output.
//
// # The request language
//
// A request is a set of clauses separated by commas or newlines; `#` starts a comment. Requests are
// separated by End_of_Request, which the last one may leave out. The clauses are the seven
// primitives of Table I and nothing else:
//
//	A before B [before C ...]
//	A then B or C [or D ...]
//	A then B or C [or D ...] and branch_end=E
//	A first
//	A last
//	A loop
//	End_of_Request
//
// Names look like identifiers. A second invocation of an NF in one request carries a serial number,
// `Firewall#2`: a `#` glued to a name and followed by a digit. The number distinguishes invocations
// and is stripped from the merged graph, so both invocations may use one merged node's block.
//
// # What a request means
//
// Two questions are answered apart: which paths visit an NF (membership), and in which order a path
// visits its NFs.
//
// Membership. Only `then` makes branches. An NF that is neither a branch nor a branch_end nor the
// right side of a `before` is on every path. The right side of a `before` is on each path that the
// left side is on. A branch of `A then B or C` is on the paths that visit A and choose it; its
// branch_end is on every path that visits A. A `before` whose right side is itself a branch gives
// order only, unless its left side lies inside the same branching: with `A then B or C, B before C`
// the paths are A B C and A C. Two `then` clauses of one NF add up to one choice. The clauses
// `first` and `last` never change membership; an NF that is named nowhere else is on every path.
//
// Order. `before` is a partial order, as Table I's "execution priority" says, and not an edge:
// `A before B, A before C` is one path A B C and not two. A branch_end comes after all NFs
// of the branches, however long they are, but not after NFs that come after the branch_end
// itself. All paths of a request agree with one total order of its NFs: the topological order that
// takes, among the NFs that may come next, one outside of any branch first, and the one
// written first among equals; an NF that branches waits for the others of its level, so that
// branching comes as late as the clauses allow and a branch without branch_end is its path's end.
//
// Paths are numbered in the order written: the choice at the first branching NF varies slowest.
//
// `A loop` is an attribute of the NF and no edge: after A the packet starts again at the request's
// beginning, at most Options.MaxLoops times.
//
// # Merging
//
// A merged [Graph] is a linear order of nodes that contains every path of every request as a
// subsequence; the P4 program applies the nodes in this order and a packet visits those whose bit is
// set in its path's [NodeSet]. The cost of a graph is the sum of its nodes' tables. Three
// strategies find one:
//
//   - StrategyParallel is the paper's straw man: every request keeps its own nodes behind a
//     pre-visiting node; two requests of n and m NFs make n+m+1 nodes.
//   - StrategyLCS is the paper's Algorithm 1: requests are merged one after another, each aligned
//     with the order so far by a longest common subsequence weighted by tables.
//   - StrategyBeam looks at all paths at once: a beam search for the shortest common
//     supersequence from both ends, improved by re-solving windows of it. It never returns
//     more tables than the other two.
//
// [Embed] and [Remove] change one chain of a deployed graph and keep the deployed nodes, their order
// and their numbers.
package chain
