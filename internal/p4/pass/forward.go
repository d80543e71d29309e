package pass

import "github.com/catena-nfv/catena/internal/p4/ir"

// facts is what a forward analysis knows at one place of a program: a number for
// each of a range of things, 0 where nothing is known. Where ways through the
// program meet, what they agree on is kept. nil means: never reached.
type facts []int32

func (f facts) clone() facts {
	if f == nil {
		return nil
	}
	return append(facts(nil), f...)
}

// meet returns what holds if either a or b does; it may change a.
func meet(a, b facts) facts {
	if a == nil {
		return b.clone()
	}
	if b == nil {
		return a
	}
	for i, x := range b {
		if a[i] != x {
			a[i] = 0
		}
	}
	return a
}

// analysis is the meaning of statements and expressions for a forward analysis.
type analysis interface {
	// step takes the facts over what an Assign or a Call does, and may replace its
	// expressions by others that are the same under the facts before it.
	step(s ir.Stmt, f facts)
	// value returns an expression that is the same as e under the facts.
	value(e ir.Expr, f facts) ir.Expr
	// assume adds what is known if a condition is true or is false.
	assume(cond ir.Expr, holds bool, f facts)
	// kill takes away what a write to some cells may make wrong.
	kill(s span, f facts)
}

// forward runs an analysis over a control, or over the body of a parser state.
type forward struct {
	analysis
	x       *effects
	left    map[*ir.Block]facts // at the Leaves of each block
	exits   facts               // at exits from the body
	tables  map[*ir.Table]facts // before the action, wherever the table is applied
	rejects facts               // before the operations that may end the parser
	sums    map[*ir.Table]*summary
}

// summary is what applying a table may do.
type summary struct {
	writes []span
	exits  bool
}

func newForward(a analysis, x *effects) *forward {
	return &forward{
		analysis: a, x: x,
		left:   map[*ir.Block]facts{},
		tables: map[*ir.Table]facts{},
		sums:   map[*ir.Table]*summary{},
	}
}

// control runs the analysis over a control whose facts at the beginning are f, which
// it may change, and over its actions; it returns the facts at the end.
func (w *forward) control(c *ir.Control, f facts) facts {
	end := w.body(c.Body.Body, f)
	end = meet(end, w.left[c.Body])
	end = meet(end, w.exits)
	actions := map[*ir.Action]facts{}
	for _, t := range c.Tables {
		for _, a := range tableActions(t) {
			actions[a] = meet(actions[a], w.tables[t])
		}
	}
	for _, a := range c.Actions {
		if at := actions[a]; at != nil {
			for _, p := range a.Params {
				w.kill(w.x.st.variable(p), at)
			}
			w.body(a.Body, at)
		}
	}
	return end
}

// tableActions returns the actions that a table may run, each once.
func tableActions(t *ir.Table) []*ir.Action {
	out := make([]*ir.Action, 0, len(t.Actions)+1)
	def := t.Default != nil
	for _, a := range t.Actions {
		out = append(out, a.Action)
		if t.Default != nil && t.Default.Action == a.Action {
			def = false
		}
	}
	if def {
		out = append(out, t.Default.Action)
	}
	return out
}

// body runs the analysis over a list of statements; it changes and returns f.
func (w *forward) body(ss []ir.Stmt, f facts) facts {
	for _, s := range ss {
		if f == nil {
			return nil
		}
		f = w.stmt(s, f)
	}
	return f
}

func (w *forward) stmt(s ir.Stmt, f facts) facts {
	switch s := s.(type) {
	case *ir.Assign:
		w.step(s, f)
	case *ir.Call:
		switch s.Op {
		case ir.OpExtract, ir.OpLookahead, ir.OpAdvance, ir.OpVerify:
			w.rejects = meet(w.rejects, f)
		}
		w.step(s, f)
	case *ir.If:
		s.Cond = w.value(s.Cond, f)
		return w.branch(s, f)
	case *ir.Switch:
		s.X = w.value(s.X, f)
		var end facts
		for _, c := range s.Cases {
			end = meet(end, w.body(c.Body, f.clone()))
		}
		return meet(end, w.body(s.Default, f))
	case *ir.Apply:
		return w.apply(s, f)
	case *ir.Block:
		end := w.body(s.Body, f)
		return meet(end, w.left[s])
	case *ir.Leave:
		w.left[s.Block] = meet(w.left[s.Block], f)
		return nil
	case *ir.Loop:
		sum := &summary{}
		w.summarise(s.Body, sum)
		w.forget(sum, f)
		w.body(s.Body, f)
		return nil
	case *ir.Exit:
		w.exits = meet(w.exits, f)
		return nil
	}
	return f
}

func (w *forward) branch(s *ir.If, f facts) facts {
	var no facts
	if !ir.IsTrue(s.Cond) {
		no = f.clone()
		w.assume(s.Cond, false, no)
	}
	if ir.IsFalse(s.Cond) {
		f = nil
	} else {
		w.assume(s.Cond, true, f)
	}
	f, no = w.body(s.Then, f), w.body(s.Else, no)
	if f == nil {
		return no
	}
	return meet(f, no)
}

// apply is the call of any action of the table, then the arm of the switch.
func (w *forward) apply(s *ir.Apply, f facts) facts {
	w.tables[s.Table] = meet(w.tables[s.Table], f)
	sum := w.table(s.Table)
	w.forget(sum, f)
	if sum.exits {
		w.exits = meet(w.exits, f)
	}
	if s.Hit != nil {
		s.Hit = place(s.Hit, func(e ir.Expr) ir.Expr { return w.value(e, f) })
		if c, ok := w.x.st.of(s.Hit); ok {
			w.kill(c, f)
		}
	}
	if len(s.Cases) == 0 {
		return f
	}
	var end facts
	for _, c := range s.Cases {
		end = meet(end, w.body(c.Body, f.clone()))
	}
	return meet(end, f)
}

// table returns the summary of a table.
func (w *forward) table(t *ir.Table) *summary {
	sum := w.sums[t]
	if sum == nil {
		sum = &summary{}
		for _, a := range tableActions(t) {
			w.summarise(a.Body, sum)
		}
		w.sums[t] = sum
	}
	return sum
}

// summarise adds what statements and their parts may do.
func (w *forward) summarise(ss []ir.Stmt, sum *summary) {
	ir.Walk(ss, func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.Exit:
			sum.exits = true
		case *ir.Apply:
			t := w.table(s.Table)
			sum.writes = append(sum.writes, t.writes...)
			sum.exits = sum.exits || t.exits
		}
		w.x.of(s, func(span) {}, func(c span) { sum.writes = append(sum.writes, c) })
	})
}

func (w *forward) forget(sum *summary, f facts) {
	for _, c := range sum.writes {
		w.kill(c, f)
	}
}
