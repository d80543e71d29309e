package pass

import (
	"slices"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
)

// Internal is the code of complaints about a pass that broke the program. There is
// nothing that a user can do but leave the pass out (Options.Skip) and report it.
const Internal diag.Code = "pass/internal"

// Options say how the passes are run. The zero value is right for compiling.
type Options struct {
	// After, when not nil, is called behind each pass that was run.
	After func(name string, p *ir.Program)
	// Verify checks the program before the first pass and behind each. The first
	// fault ends the run.
	Verify bool
	// Skip names passes that are left out.
	Skip []string
}

// Property is something that passes bring about and later passes, or back ends, count
// on.
type property string

const (
	// folded: no operator has literals only, no conditional a literal condition.
	folded property = "folded"
	// reached: no statement stands behind one that never ends normally, and there
	// is no block without annotations that nothing leaves.
	reached property = "reached"
	// connected: the start state leads to every state of the parser.
	connected property = "connected"
	// needed: no local variable is only written to.
	needed property = "needed"
	// useful: no conditional is without effect.
	useful property = "useful"
	// declared: every local variable is used.
	declared property = "declared"
)

// pass is a line of the table.
type pass struct {
	name string
	run  func(*ir.Program)

	requires    []property // that hold before
	establishes []property // that hold behind it
	spoils      []property // that may not hold any more
}

// passes are what is run, in this order.
func passes() []pass {
	return []pass{
		{name: "fold", run: fold,
			establishes: []property{folded},
			spoils:      []property{reached, needed, useful, declared, connected}},
		{name: "parser", run: parser,
			requires:    []property{folded},
			establishes: []property{connected},
			spoils:      []property{declared}},
		{name: "blocks", run: blocks,
			requires:    []property{folded},
			establishes: []property{reached},
			spoils:      []property{needed, declared}},
		{name: "validity", run: validity,
			requires: []property{reached, connected},
			spoils:   []property{folded, useful}},
		{name: "copies", run: copies,
			requires: []property{reached, connected},
			spoils:   []property{folded, useful, needed}},
		{name: "refold", run: fold,
			establishes: []property{folded},
			spoils:      []property{reached, needed, useful, declared, connected}},
		{name: "reparser", run: parser,
			requires:    []property{folded},
			establishes: []property{connected},
			spoils:      []property{declared}},
		{name: "deadstores", run: deadstores,
			requires:    []property{folded, connected},
			establishes: []property{needed},
			spoils:      []property{useful, declared}},
		{name: "deadcode", run: deadcode,
			requires:    []property{needed},
			establishes: []property{useful},
			spoils:      []property{declared, needed}},
		{name: "reblocks", run: blocks,
			requires:    []property{folded},
			establishes: []property{reached},
			spoils:      []property{declared, needed}},
		{name: "deadstores2", run: deadstores,
			requires:    []property{folded, reached, connected},
			establishes: []property{needed},
			spoils:      []property{useful, declared}},
		{name: "deadvars", run: deadvars,
			requires:    []property{needed},
			establishes: []property{declared}},
	}
}

// promised are the properties that back ends may count on.
func promised() []property { return []property{folded, reached, connected, declared} }

// Names returns the names of the passes in the order in which they run.
func Names() []string {
	var out []string
	for _, p := range passes() {
		out = append(out, p.name)
	}
	return out
}

// Run runs the passes on a program, which it changes (ir.Copy keeps one that is still
// wanted). It complains only when Options.Verify is set and a pass is at fault.
func Run(p *ir.Program, opt Options) diag.List {
	var diags diag.List
	check := func(when string) bool {
		if !opt.Verify {
			return true
		}
		if err := ir.Verify(p); err != nil {
			diags.Errorf(diag.Span{}, Internal, "the program is malformed %s: %v", when, err)
			return false
		}
		return true
	}
	if !check("before the first pass") {
		return diags
	}
	for _, q := range passes() {
		if slices.Contains(opt.Skip, q.name) {
			continue
		}
		q.run(p)
		if !check("after pass " + q.name) {
			return diags
		}
		if opt.After != nil {
			opt.After(q.name, p)
		}
	}
	return diags
}
