package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/catena-nfv/catena/internal/compose"
	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/ir"
)

// coverage is what packets have reached: actions as "NF.table.action", and branches as
// "NF@place=value".
type coverage map[string]bool

// note is what alone.watch calls.
func (c coverage) note(box string, e interp.Event) {
	switch e.Kind {
	case interp.EventTable:
		if i := strings.LastIndex(e.Detail, "-> "); i >= 0 {
			action, _, _ := strings.Cut(e.Detail[i+3:], "(")
			c[actionKey(box, e.Object, action)] = true
		}
	case interp.EventBranch:
		c[branchKey(box, e)] = true
	}
}

func actionKey(nf, table, action string) string {
	return nf + "." + local(table) + "." + local(action)
}

func branchKey(nf string, e interp.Event) string {
	return fmt.Sprintf("%s@%v=%s", nf, e.Span, e.Detail)
}

// sum counts what of a route was reached, of all that its NFs have.
func (r *run) sum(x route, seen coverage, report *PathReport) {
	report.Actions, report.ActionsAll, report.Branches, report.BranchesAll = 0, 0, 0, 0
	report.NotReached = nil
	for _, nf := range slices.Compact(slices.Sorted(slices.Values(x.nfs))) {
		p := r.programs[nf]
		all := map[string]bool{}
		for _, k := range []*ir.Control{p.Ingress, p.Egress} {
			for _, t := range k.Tables {
				for _, a := range t.Actions {
					all[actionKey(nf, t.FullName, a.Action.FullName)] = true
				}
			}
			for _, key := range branchesOf(nf, k) {
				report.BranchesAll++
				if seen[key] {
					report.Branches++
				}
			}
		}
		for key := range all {
			report.ActionsAll++
			if seen[key] {
				report.Actions++
			} else {
				report.NotReached = append(report.NotReached, key)
			}
		}
	}
	slices.Sort(report.NotReached)
}

// branchesOf lists both ways of each if of a control that is part of a chain.
func branchesOf(nf string, k *ir.Control) []string {
	var out []string
	look := func(s ir.Stmt) {
		if s, ok := s.(*ir.If); ok {
			for _, v := range []string{"true", "false"} {
				out = append(out, branchKey(nf, interp.Event{Span: s.Span, Detail: v}))
			}
		}
	}
	cp := &ir.Copier{Stmt: func(s ir.Stmt) ([]ir.Stmt, bool) {
		b, ok := s.(*ir.Block)
		return nil, ok && b.Annotations.Has(compose.StandaloneAnnotation)
	}}
	ir.Walk(cp.CopyStmts(k.Body.Body), look)
	for _, a := range k.Actions {
		ir.Walk(a.Body, look)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
