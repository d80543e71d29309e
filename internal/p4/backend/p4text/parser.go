package p4text

import (
	"fmt"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// parserBlock prints the parser.
func (pr *printer) parserBlock(name string) {
	p := pr.prog.Parser
	pr.begin()
	pr.parser = true
	defer func() { pr.parser = false }()
	pr.componentStructs(p.ValueSets)
	pr.nameVars(p.Locals)
	pr.objs[ir.Accept], pr.objs[ir.Reject] = "accept", "reject"
	var bodies []restructured
	for i, s := range p.States {
		if i == 0 {
			pr.objs[s] = "start"
		} else {
			pr.objs[s] = pr.local.take(s.Name)
		}
		r := restructure(s.Body, false, pr.local.take)
		pr.takeFlags(r)
		bodies = append(bodies, r)
	}
	pr.hoist(bodies)
	pr.line("")
	pr.open("parser %s(packet_in %s, out %s, inout %s, inout %s)", name, pr.packet,
		pr.param(pr.prog.Hdr), pr.param(pr.prog.Meta), pr.param(pr.prog.Std))
	for _, v := range p.ValueSets {
		pr.valueSet(name, v)
	}
	pr.declareVars(p.Locals)
	for _, r := range bodies {
		pr.declareFlags(r)
	}
	for i, s := range p.States {
		pr.annotationLines(s.Annotations)
		pr.open("state %s", pr.objs[s])
		pr.stmts(bodies[i].body)
		pr.transition(s)
		pr.close("")
	}
	pr.close("")
}

// componentStructs declares the element types of value sets that have several
// components.
func (pr *printer) componentStructs(vs []*ir.ValueSet) {
	for _, v := range vs {
		if len(v.Fields) < 2 {
			continue
		}
		name := pr.global.take(lastPart(v.Name) + "_t")
		pr.objs[valueSetType{v}] = name
		pr.line("")
		pr.open("struct %s", name)
		fields := newScope(nil)
		for _, k := range v.Fields {
			match := ""
			if k.Match != ir.MatchExact && !k.Annotations.Has("match") {
				match = fmt.Sprintf("@match(%s) ", k.Match)
			}
			pr.line("%s%s%s %s;", match, inline(k.Annotations), pr.typ(k.Type), fieldName(fields, lastPart(k.Name)))
		}
		pr.close("")
	}
}

// valueSetType is the key under which the element type of a value set is remembered.
type valueSetType struct{ set *ir.ValueSet }

func lastPart(s string) string { return s[strings.LastIndexByte(s, '.')+1:] }

func (pr *printer) valueSet(block string, v *ir.ValueSet) {
	name := pr.local.take(lastPart(v.Name))
	pr.objs[v] = name
	elem, ok := pr.objs[valueSetType{v}]
	if !ok && len(v.Fields) == 1 {
		elem = pr.typ(v.Fields[0].Type)
	}
	pr.annotationLines(v.Annotations)
	pr.line("%svalue_set<%s>(%d) %s;", prefix(nameAnnotation(block, name, v.Name)), elem, v.Size, name)
}

func (pr *printer) transition(s *ir.State) {
	t := s.Next
	if len(t.Select) == 0 {
		next := ir.Reject
		if len(t.Cases) > 0 {
			next = t.Cases[0].Next
		}
		pr.line("transition %s;", pr.object(next))
		return
	}
	xs := make([]string, len(t.Select))
	for i, e := range t.Select {
		xs[i] = pr.expr(e)
	}
	pr.open("transition select(%s)", strings.Join(xs, ", "))
	for _, c := range t.Cases {
		pr.line("%s: %s;", pr.caseKeys(c, t.Select), pr.object(c.Next))
	}
	pr.close("")
}

// caseKeys gives the keysets of a case. A value set of several components stands for
// all of them.
func (pr *printer) caseKeys(c ir.SelectCase, xs []ir.Expr) string {
	if len(c.Keys) > 0 {
		if k, ok := c.Keys[0].(*ir.KeySet); ok && len(k.Set.Fields) > 1 {
			if len(k.Set.Fields) != len(c.Keys) {
				pr.fail("value set %q is one of several keysets of a case", k.Set.Name)
			}
			return pr.object(k.Set)
		}
	}
	any := true
	var parts []string
	for i, k := range c.Keys {
		var t ir.Type
		if i < len(xs) {
			t = xs[i].Type()
		}
		if _, ok := k.(*ir.KeyAny); !ok {
			any = false
		}
		parts = append(parts, pr.keyset(k, t))
	}
	switch {
	case any:
		return "default"
	case len(parts) == 1:
		return parts[0]
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// keyset gives a keyset for a value of type t.
func (pr *printer) keyset(k ir.Keyset, t ir.Type) string {
	switch k := k.(type) {
	case *ir.KeyAny:
		return "_"
	case *ir.KeyExact:
		return pr.value(k.Value, t)
	case *ir.KeyMask:
		return pr.raw(k.Value, t) + " &&& " + pr.raw(k.Mask, t)
	case *ir.KeyRange:
		return pr.value(k.Lo, t) + " .. " + pr.value(k.Hi, t)
	case *ir.KeySet:
		return pr.object(k.Set)
	}
	pr.fail("unknown keyset %T", k)
	return "_"
}
