package pass

import (
	"slices"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// blocks removes jumps and blocks that change nothing, and statements that are
// never reached.
//
// Lowering makes a labelled block of all that it inlines and a jump of each return;
// most returns stand where the block ends anyway.
//
//	block f {                       if (c) {
//	    if (c) {                        x = 1;
//	        x = 1;                  } else {
//	        leave f;          →         x = 2;
//	    } else {                    }
//	        x = 2;
//	    }
//	}
//
// A block that has annotations stays: they mean something to someone (the
// composer's hook).
func blocks(p *ir.Program) {
	for _, s := range p.Parser.States {
		s.Body = newJumps(s.Body).all(s.Body, nil)
	}
	for _, c := range p.Controls() {
		for _, a := range c.Actions {
			a.Body = newJumps(a.Body).all(a.Body, nil)
		}
		j := newJumps(c.Body.Body)
		j.control = c.Body
		c.Body.Body = j.all(c.Body.Body, &tail{block: c.Body})
	}
}

// tail is a list of the blocks whose ends are reached, with nothing done before,
// when the present statement list ends.
type tail struct {
	block *ir.Block
	outer *tail
}

func (t *tail) ends(b *ir.Block) bool {
	for ; t != nil; t = t.outer {
		if t.block == b {
			return true
		}
	}
	return false
}

// jumps works on one body.
type jumps struct {
	leaves  map[*ir.Block]int // how many Leaves there are of each block
	control *ir.Block         // the body of the control, nil in actions and the parser
}

func newJumps(ss []ir.Stmt) *jumps {
	j := &jumps{leaves: map[*ir.Block]int{}}
	j.count(ss, 1)
	return j
}

// count adds n for each Leave in some statements.
func (j *jumps) count(ss []ir.Stmt, n int) {
	ir.Walk(ss, func(s ir.Stmt) {
		if l, ok := s.(*ir.Leave); ok {
			j.leaves[l.Block] += n
		}
	})
}

func (j *jumps) all(ss []ir.Stmt, at *tail) []ir.Stmt { return j.list(j.reached(ss), at) }

// reached cuts each list of statements off where it ends in any case.
func (j *jumps) reached(ss []ir.Stmt) []ir.Stmt {
	for i, s := range ss {
		parts(s, j.reached)
		if !j.falls(s) {
			j.count(ss[i+1:], -1)
			return ss[:i+1]
		}
	}
	return ss
}

// list works on a list of statements, from its end on; at says what it is the end of.
func (j *jumps) list(ss []ir.Stmt, at *tail) []ir.Stmt {
	out := make([]ir.Stmt, 0, len(ss)) // in reverse
	for _, s := range slices.Backward(ss) {
		here := at
		if len(out) > 0 {
			here = nil
		}
		var instead []ir.Stmt
		gone := false
		switch s := s.(type) {
		case *ir.Leave:
			if gone = here.ends(s.Block); gone {
				j.leaves[s.Block]--
			}
		case *ir.Exit:
			gone = j.control != nil && here.ends(j.control)
		case *ir.Block:
			s.Body = j.list(s.Body, &tail{block: s, outer: here})
			if j.leaves[s] == 0 && len(s.Annotations) == 0 {
				instead, gone = s.Body, true
			}
		case *ir.Loop:
			s.Body = j.list(s.Body, nil)
		default:
			parts(s, func(ss []ir.Stmt) []ir.Stmt { return j.list(ss, here) })
			instead, gone = idleParts(s)
		}
		if !gone {
			out = append(out, s)
			continue
		}
		for _, s := range slices.Backward(instead) {
			out = append(out, s)
		}
	}
	slices.Reverse(out)
	return out
}

// falls reports whether what follows a statement can be reached. Nothing in the parts
// of s follows a statement that does not fall.
func (j *jumps) falls(s ir.Stmt) bool {
	switch s := s.(type) {
	case *ir.Leave, *ir.Exit:
		return false
	case *ir.Loop:
		return false // its ways out are jumps to blocks around it
	case *ir.If:
		return j.end(s.Then) || j.end(s.Else)
	case *ir.Switch:
		for _, c := range s.Cases {
			if j.end(c.Body) {
				return true
			}
		}
		return j.end(s.Default)
	case *ir.Apply:
		all := false
		for _, c := range s.Cases {
			if j.end(c.Body) {
				return true
			}
			all = all || c.Default
		}
		return !all
	case *ir.Block:
		return j.leaves[s] > 0 || j.end(s.Body)
	}
	return true
}

// end reports whether the end of a list is reached.
func (j *jumps) end(ss []ir.Stmt) bool {
	return len(ss) == 0 || j.falls(ss[len(ss)-1])
}
