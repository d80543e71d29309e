package pass

import "github.com/catena-nfv/catena/internal/p4/ir"

// liveness follows, from the end to the beginning of a control, which cells are
// still to be read. An action is a procedure: what it reads first is added before
// each place where a table with it is applied, and what is live behind those places
// is live at its end.
type liveness struct {
	x       *effects
	size    int
	ends    bits                // what is live when the block ends
	after   map[*ir.Block]bits  // what is live at the end of each block
	actions map[*ir.Action]bits // what is live at the end of each action
	first   map[*ir.Action]bits // what each action reads before it writes
	rejects bits                // in the parser: what is live when it rejects
	gone    removed             // statements that do not count
	// dead is told of an Assign, a Call or (Hit) an Apply none of whose writes is
	// live. When it is nil every statement counts that is not gone.
	dead func(s ir.Stmt)
}

func newLiveness(x *effects, ends bits, gone removed, dead func(ir.Stmt)) *liveness {
	return &liveness{
		x: x, size: x.st.size, ends: ends, gone: gone, dead: dead,
		after:   map[*ir.Block]bits{},
		actions: map[*ir.Action]bits{},
		first:   map[*ir.Action]bits{},
	}
}

// control looks at a control and its actions.
func (l *liveness) control(c *ir.Control) {
	l.after[c.Body] = l.ends
	l.list(c.Body.Body, l.ends.clone())
	for _, a := range c.Actions {
		end := l.actions[a]
		if end == nil { // no table with it is applied
			end = l.ends.clone()
		}
		l.list(a.Body, end)
	}
}

// list takes what is live behind a list of statements, which it may change, back to
// what is live before it.
func (l *liveness) list(ss []ir.Stmt, live bits) bits {
	for i := len(ss) - 1; i >= 0; i-- {
		live = l.stmt(ss[i], live)
	}
	return live
}

func (l *liveness) stmt(s ir.Stmt, live bits) bits {
	switch s := s.(type) {
	case *ir.If:
		then := l.list(s.Then, live.clone())
		live = l.list(s.Else, live)
		live.union(then)
		l.own(s, live)
	case *ir.Switch:
		end := live.clone()
		live = l.list(s.Default, live)
		for _, c := range s.Cases {
			live.union(l.list(c.Body, end.clone()))
		}
		l.own(s, live)
	case *ir.Apply:
		return l.apply(s, live)
	case *ir.Block:
		l.after[s] = live.clone()
		return l.list(s.Body, live)
	case *ir.Leave:
		return l.after[s.Block].clone()
	case *ir.Loop:
		return l.loop(s)
	case *ir.Exit:
		return l.ends.clone()
	case *ir.Assign:
		l.own(s, live)
	case *ir.Call:
		if !l.own(s, live) {
			return live
		}
		switch s.Op {
		case ir.OpExtract, ir.OpLookahead, ir.OpAdvance, ir.OpVerify:
			if l.rejects != nil {
				live.union(l.rejects)
			}
		}
	}
	return live
}

// own takes live over what a statement itself reads and writes. A statement that
// only writes what is not live does not count: it is reported and own is false.
func (l *liveness) own(s ir.Stmt, live bits) bool {
	if l.gone[s] {
		return false
	}
	if l.dead != nil && l.needless(s, live) {
		l.dead(s)
		return false
	}
	l.x.of(s, func(span) {}, func(w span) {
		if w.exact {
			live.removeSpan(w)
		}
	})
	l.x.of(s, func(r span) { live.addSpan(r) }, func(span) {})
	return true
}

// needless reports whether a statement does nothing but write what is not live.
func (l *liveness) needless(s ir.Stmt, live bits) bool {
	switch s := s.(type) {
	case *ir.Assign:
	case *ir.Call:
		if !onlyWrites(s) {
			return false
		}
	default:
		return false
	}
	needed := false
	l.x.of(s, func(span) {}, func(w span) { needed = needed || live.anyOf(w) })
	return !needed
}

// onlyWrites reports whether an operation has no effect but on its destination and
// on headers and the standard metadata. Random numbers are left to be drawn, so that
// the same program with the same seed goes on as before.
func onlyWrites(s *ir.Call) bool {
	switch s.Op {
	case ir.OpSetValid, ir.OpSetInvalid, ir.OpPushFront, ir.OpPopFront,
		ir.OpMarkToDrop, ir.OpLength, ir.OpRegRead, ir.OpDirectMeter,
		ir.OpVerifyChecksum, ir.OpVerifyChecksumPay, ir.OpUpdateChecksum, ir.OpUpdateChecksumPay:
		return true
	case ir.OpHash:
		t, ok := s.Args[0].Type().(*ir.Enum)
		v, known := ir.IsConst(s.Args[0])
		return ok && known && v.IsInt64() && v.Int64() < int64(len(t.Members)) && t.Members[v.Int64()] != "random"
	}
	return false
}

// apply goes back over the arms, the result and any of the actions to the keys.
func (l *liveness) apply(s *ir.Apply, live bits) bits {
	if len(s.Cases) > 0 {
		end, all := live, false
		live = newBits(l.size)
		for _, c := range s.Cases {
			live.union(l.list(c.Body, end.clone()))
			all = all || c.Default
		}
		if !all {
			live.union(end)
		}
	}
	if s.Hit != nil {
		h, _ := l.x.st.of(s.Hit)
		if l.dead != nil && !live.anyOf(h) {
			l.dead(s)
		} else {
			if h.exact {
				live.removeSpan(h)
			}
			l.x.indexReads(s.Hit, func(r span) { live.addSpan(r) })
		}
	}
	for _, a := range tableActions(s.Table) {
		if l.actions[a] == nil {
			l.actions[a] = newBits(l.size)
		}
		l.actions[a].union(live)
	}
	for _, a := range tableActions(s.Table) {
		live.union(l.firstReads(a))
	}
	if hasExit(s.Table) {
		live.union(l.ends)
	}
	for _, k := range s.Table.Keys {
		l.x.reads(k.X, func(r span) { live.addSpan(r) })
	}
	return live
}

func hasExit(t *ir.Table) bool {
	found := false
	for _, a := range tableActions(t) {
		ir.Walk(a.Body, func(s ir.Stmt) {
			if _, ok := s.(*ir.Exit); ok {
				found = true
			}
		})
	}
	return found
}

// firstReads returns what an action reads that may have been written before it.
func (l *liveness) firstReads(a *ir.Action) bits {
	if r := l.first[a]; r != nil {
		return r
	}
	sub := newLiveness(l.x, newBits(l.size), l.gone, nil)
	r := sub.list(a.Body, newBits(l.size))
	l.first[a] = r
	return r
}

// loop returns what is live before a loop: at the end of its body, and so before
// it, whatever the body reads and what is live where it is left.
func (l *liveness) loop(s *ir.Loop) bits {
	live := newBits(l.size)
	ir.Walk(s.Body, func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.Leave:
			if b := l.after[s.Block]; b != nil { // not of a block within
				live.union(b)
			}
		case *ir.Exit:
			live.union(l.ends)
		case *ir.Apply:
			for _, a := range tableActions(s.Table) {
				live.union(l.firstReads(a))
			}
			if hasExit(s.Table) {
				live.union(l.ends)
			}
		}
		if !l.gone[s] {
			l.x.of(s, func(r span) { live.addSpan(r) }, func(span) {})
		}
	})
	return l.list(s.Body, live)
}
