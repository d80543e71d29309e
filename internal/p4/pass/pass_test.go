package pass

import (
	"slices"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
)

// TestOrder checks that each pass finds what it requires, and that the last one leaves
// what is promised.
func TestOrder(t *testing.T) {
	held := map[property]bool{}
	names := map[string]bool{}
	for _, p := range passes() {
		if names[p.name] {
			t.Errorf("two passes are called %s", p.name)
		}
		names[p.name] = true
		for _, r := range p.requires {
			if !held[r] {
				t.Errorf("pass %s requires a program that is %s, which no pass before it makes", p.name, r)
			}
		}
		for _, s := range p.spoils {
			if slices.Contains(p.establishes, s) {
				t.Errorf("pass %s both establishes and spoils %s", p.name, s)
			}
			held[s] = false
		}
		for _, e := range p.establishes {
			held[e] = true
		}
	}
	for _, r := range promised() {
		if !held[r] {
			t.Errorf("programs leave the passes not %s", r)
		}
	}
}

// checkProperties returns which of the properties a program lacks that the table says
// it has behind a pass.
func checkProperties(p *ir.Program, last string) []property {
	held := map[property]bool{}
	for _, q := range passes() {
		for _, s := range q.spoils {
			held[s] = false
		}
		for _, e := range q.establishes {
			held[e] = true
		}
		if q.name == last {
			break
		}
	}
	var out []property
	for prop, has := range map[property]func(*ir.Program) bool{
		folded: isFolded, reached: isReached, connected: isConnected,
		needed: isNeeded, useful: isUseful, declared: isDeclared,
	} {
		if held[prop] && !has(p) {
			out = append(out, prop)
		}
	}
	slices.Sort(out)
	return out
}

// every reports whether a condition holds for each statement of a program.
func every(p *ir.Program, ok func(ir.Stmt) bool) bool {
	all := true
	bodies(p, func(ss []ir.Stmt) []ir.Stmt {
		ir.Walk(ss, func(s ir.Stmt) { all = all && ok(s) })
		return ss
	})
	return all
}

func isFolded(p *ir.Program) bool {
	return every(p, func(s ir.Stmt) bool {
		if _, ok := decided(s); ok {
			return false
		}
		ok := true
		ir.WalkExprs(s, func(e ir.Expr) {
			if b, is := e.(*ir.Binary); is {
				_, x := ir.IsConst(b.X)
				_, y := ir.IsConst(b.Y)
				ok = ok && !(x && y)
			}
		})
		return ok
	})
}

func isReached(p *ir.Program) bool {
	ok := true
	bodies(p, func(ss []ir.Stmt) []ir.Stmt {
		j := newJumps(ss)
		var list func(ss []ir.Stmt) []ir.Stmt
		list = func(ss []ir.Stmt) []ir.Stmt {
			for i, s := range ss {
				ok = ok && (j.falls(s) || i == len(ss)-1)
				if b, is := s.(*ir.Block); is {
					ok = ok && (j.leaves[b] > 0 || len(b.Annotations) > 0)
				}
				parts(s, list)
			}
			return ss
		}
		return list(ss)
	})
	return ok
}

func isConnected(p *ir.Program) bool {
	n := len(p.Parser.States)
	q := &graph{p: &ir.Parser{States: slices.Clone(p.Parser.States)}}
	q.reachable()
	return len(q.p.States) == n
}

// isNeeded does not look at what happens in loops, nor at calls.
func isNeeded(p *ir.Program) bool {
	st := newStorage(p)
	x := newEffects(p, st)
	read := newBits(st.size)
	note := func(s span) { read.addSpan(s) }
	every(p, func(s ir.Stmt) bool {
		x.of(s, note, func(span) {})
		return true
	})
	for _, s := range p.Parser.States {
		for _, e := range s.Next.Select {
			x.reads(e, note)
		}
	}
	for _, c := range p.Controls() {
		for _, t := range c.Tables {
			for _, k := range t.Keys {
				x.reads(k.X, note)
			}
		}
	}
	return every(p, func(s ir.Stmt) bool {
		a, ok := s.(*ir.Assign)
		if !ok {
			return true
		}
		v := ir.Root(a.Dst)
		if v == p.Hdr || v == p.Meta || v == p.Std {
			return true
		}
		return read.anyOf(st.variable(v))
	})
}

func isUseful(p *ir.Program) bool {
	return every(p, func(s ir.Stmt) bool {
		i, ok := s.(*ir.If)
		return !ok || len(i.Then) > 0
	})
}

func isDeclared(p *ir.Program) bool {
	q := ir.Copy(p)
	deadvars(q)
	for i, c := range p.Controls() {
		if len(q.Controls()[i].Locals) != len(c.Locals) {
			return false
		}
	}
	return len(q.Parser.Locals) == len(p.Parser.Locals)
}

// TestVerify checks that a pass that breaks a program is named.
func TestVerify(t *testing.T) {
	p := (&generator{r: newRand(1)}).program()
	ds := Run(p, Options{Verify: true, After: func(name string, p *ir.Program) {
		if name == "blocks" {
			p.Ingress.Body.Body = append(p.Ingress.Body.Body, &ir.Leave{Block: &ir.Block{}})
		}
	}})
	if len(ds) != 1 || ds[0].Severity != diag.Error || ds[0].Code != Internal {
		t.Fatalf("got %v, want one error", ds)
	}
	const want = "the program is malformed after pass validity: ingress: a jump to the end of a block that does not enclose it"
	if ds[0].Message != want {
		t.Errorf("got %q, want %q", ds[0].Message, want)
	}
}

// TestSkip checks that a pass can be left out.
func TestSkip(t *testing.T) {
	var ran []string
	p := (&generator{r: newRand(1)}).program()
	Run(p, Options{Skip: []string{"copies", "validity"}, After: func(name string, _ *ir.Program) { ran = append(ran, name) }})
	want := slices.DeleteFunc(Names(), func(n string) bool { return n == "copies" || n == "validity" })
	if !slices.Equal(ran, want) {
		t.Errorf("ran %v, want %v", ran, want)
	}
}
