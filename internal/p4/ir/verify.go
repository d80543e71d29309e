package ir

import (
	"errors"
	"fmt"
	"strings"
)

// Verify checks that a program is as this package describes it: every use points to
// something that the program declares and that can be used there, types agree,
// names are unique, jumps have a target. A fault is a mistake of the pass that made
// the program, never of the P4 source. The error lists the first faults, each with
// the place: `ingress: action set_port: assignment to meta.x: …`.
func Verify(p *Program) error {
	v := &verifier{p: p, types: map[Type]bool{}, stmts: map[Stmt]bool{}}
	v.program()
	if len(v.errs) == 0 {
		return nil
	}
	return errors.Join(v.errs...)
}

// maxFaults is how many faults Verify lists; one mistake makes many.
const maxFaults = 20

// verifier is the state of one check.
type verifier struct {
	p     *Program
	types map[Type]bool // named types that are declared
	errs  []error

	// What can be used in the present block.
	place     []string
	vars      map[*Var]bool
	instances map[*Instance]bool
	tables    map[*Table]bool
	actions   map[*Action]bool
	valueSets map[*ValueSet]bool
	states    map[*State]bool
	blocks    map[*Block]bool // those that enclose the present statement
	parser    bool
	action    bool

	stmts map[Stmt]bool // seen: a statement stands in one place only
}

func (v *verifier) errorf(format string, args ...any) {
	if len(v.errs) < maxFaults {
		v.errs = append(v.errs, fmt.Errorf("%s: %s", strings.Join(v.place, ": "), fmt.Sprintf(format, args...)))
	}
}

// in adds a part to the place while f runs.
func (v *verifier) in(part string, f func()) {
	v.place = append(v.place, part)
	f()
	v.place = v.place[:len(v.place)-1]
}

// unique checks names of one kind.
type unique map[string]bool

func (v *verifier) name(seen unique, kind, name string) {
	if name == "" {
		v.errorf("a %s has no name", kind)
	} else if seen[name] {
		v.errorf("two %ss are called %q", kind, name)
	}
	seen[name] = true
}

func (v *verifier) program() {
	p := v.p
	v.in("program", func() {
		if p.Hdr == nil || p.Meta == nil || p.Std == nil {
			v.errorf("the headers, the metadata or the standard metadata are missing")
		}
		if p.Parser == nil {
			v.errorf("the parser is missing")
		}
		for i, k := range p.Controls() {
			if k == nil || k.Body == nil {
				v.errorf("control %d is missing", i)
			}
		}
		v.namedTypes()
	})
	if len(v.errs) > 0 {
		return
	}
	v.in("parser", v.checkParser)
	for i, part := range []string{"verify checksum", "ingress", "egress", "compute checksum", "deparser"} {
		v.in(part, func() { v.checkControl(p.Controls()[i]) })
	}
}

// namedTypes notes the declared types and checks that the types of the three
// variables are made of them.
func (v *verifier) namedTypes() {
	names := unique{}
	for _, t := range v.p.Enums {
		v.name(names, "type", t.Name)
		v.types[t] = true
	}
	for _, t := range v.p.SerEnums {
		v.name(names, "type", t.Name)
		v.types[t] = true
	}
	for _, t := range v.p.Headers {
		v.name(names, "type", t.Name)
		v.types[t] = true
		v.fields(t.Name, t.Fields)
	}
	for _, t := range v.p.Unions {
		v.name(names, "type", t.Name)
		v.types[t] = true
		v.fields(t.Name, t.Fields)
		for _, f := range t.Fields {
			if _, ok := f.Type.(*Header); !ok {
				v.errorf("member %s of header union %s is no header", f.Name, t.Name)
			}
		}
	}
	for _, t := range v.p.Structs {
		if !t.Tuple {
			v.name(names, "type", t.Name)
		}
		v.types[t] = true
		v.fields(t.Name, t.Fields)
	}
	for _, t := range v.p.Headers {
		v.fieldTypes(t)
	}
	for _, t := range v.p.Unions {
		v.fieldTypes(t)
	}
	for _, t := range v.p.Structs {
		v.fieldTypes(t)
	}
	for _, x := range []*Var{v.p.Hdr, v.p.Meta, v.p.Std} {
		if x != nil {
			v.typ(x.Type)
		}
	}
}

func (v *verifier) fields(of string, fs []*Field) {
	names := unique{}
	for _, f := range fs {
		v.name(names, "field of "+of, f.Name)
		if f.Type == nil {
			v.errorf("field %s of %s has no type", f.Name, of)
		}
	}
}

func (v *verifier) fieldTypes(t Type) {
	for _, f := range FieldsOf(t) {
		if f.Type != nil {
			v.typ(f.Type)
		}
	}
}

// typ checks that a type, and what it is made of, is declared. Tuples need not be.
func (v *verifier) typ(t Type) {
	switch t := t.(type) {
	case nil:
		v.errorf("a type is missing")
	case *Bits:
		if t.Width < 0 || t.Signed && t.Width == 0 {
			v.errorf("%s has no sensible width", t)
		}
	case *Stack:
		switch t.Elem.(type) {
		case *Header, *Union:
			v.typ(t.Elem)
		default:
			v.errorf("%s is a stack of what is no header", t)
		}
	case *Enum, *SerEnum, *Header, *Union:
		if !v.types[t] {
			v.errorf("type %s is not declared", t)
		}
	case *Struct:
		if v.types[t] {
			return
		}
		if !t.Tuple {
			v.errorf("type %s is not declared", t)
		}
		v.types[t] = true
		for _, f := range t.Fields {
			v.typ(f.Type)
		}
	}
}

// enter makes a block's declarations known and forgets those of the last block.
func (v *verifier) enter(locals []*Var) {
	v.vars = map[*Var]bool{v.p.Hdr: true, v.p.Meta: true, v.p.Std: true}
	v.instances = map[*Instance]bool{}
	v.tables = map[*Table]bool{}
	v.actions = map[*Action]bool{}
	v.valueSets = map[*ValueSet]bool{}
	v.states = map[*State]bool{}
	v.blocks = map[*Block]bool{}
	names := unique{}
	for _, x := range locals {
		v.name(names, "variable", x.Name)
		v.in("variable "+x.Name, func() { v.typ(x.Type) })
		v.vars[x] = true
	}
}

func (v *verifier) checkParser() {
	p := v.p.Parser
	v.enter(p.Locals)
	v.parser = true
	sets := unique{}
	for _, s := range p.ValueSets {
		v.name(sets, "value set", s.Name)
		v.valueSets[s] = true
	}
	if len(p.States) == 0 {
		v.errorf("it has no start state")
	}
	names := unique{Accept.Name: true, Reject.Name: true}
	for _, s := range p.States {
		v.name(names, "state", s.Name)
		v.states[s] = true
	}
	v.states[Accept], v.states[Reject] = true, true
	for _, s := range p.States {
		v.in("state "+s.Name, func() {
			v.body(s.Body)
			v.transition(&s.Next)
		})
	}
	v.parser = false
}

func (v *verifier) transition(t *Transition) {
	types := make([]Type, len(t.Select))
	for i, x := range t.Select {
		types[i] = v.expr(x)
		if _, ok := ScalarBits(types[i]); !ok {
			v.errorf("select on %s, which is no scalar", types[i])
		}
	}
	if len(t.Select) == 0 && len(t.Cases) != 1 {
		v.errorf("a direct transition has %d cases", len(t.Cases))
	}
	for i, c := range t.Cases {
		if !v.states[c.Next] {
			v.errorf("case %d goes to a state that the parser does not have", i)
		}
		if len(c.Keys) != len(t.Select) {
			v.errorf("case %d has %d keysets for %d expressions", i, len(c.Keys), len(t.Select))
			continue
		}
		for j, k := range c.Keys {
			v.keyset(k, types[j])
			if s, ok := k.(*KeySet); ok && !v.valueSets[s.Set] {
				v.errorf("case %d names a value set that the parser does not have", i)
			}
		}
	}
}

func (v *verifier) keyset(k Keyset, t Type) {
	switch k := k.(type) {
	case nil:
		v.errorf("a keyset is missing")
	case *KeyExact:
		v.value(t, k.Value)
	case *KeyRange:
		v.value(t, k.Lo)
		v.value(t, k.Hi)
	case *KeyMask:
		if k.Value == nil || k.Mask == nil {
			v.errorf("a keyset has no value or no mask")
		}
	}
}

func (v *verifier) checkControl(c *Control) {
	v.enter(c.Locals)
	names := unique{}
	for _, i := range c.Instances {
		v.name(names, "object", i.Name)
		v.instances[i] = true
	}
	names = unique{}
	for _, a := range c.Actions {
		v.name(names, "action", a.Name)
		v.actions[a] = true
	}
	names = unique{}
	for _, t := range c.Tables {
		v.name(names, "table", t.Name)
		v.tables[t] = true
	}
	for _, a := range c.Actions {
		v.in("action "+a.Name, func() { v.checkAction(a) })
	}
	for _, t := range c.Tables {
		v.in("table "+t.Name, func() { v.checkTable(t) })
	}
	v.body([]Stmt{c.Body})
}

// checkAction lets the body use the parameters, which belong to it alone.
func (v *verifier) checkAction(a *Action) {
	names := unique{}
	for _, x := range a.Params {
		v.name(names, "parameter", x.Name)
		v.typ(x.Type)
		if v.vars[x] {
			v.errorf("parameter %s is declared elsewhere, too", x.Name)
		}
		v.vars[x] = true
	}
	v.action = true
	v.body(a.Body)
	v.action = false
	for _, x := range a.Params {
		delete(v.vars, x)
	}
}

func (v *verifier) checkTable(t *Table) {
	plain := 0
	for _, k := range t.Keys {
		v.in("key "+k.Name, func() {
			if got := v.expr(k.X); got != nil && !Equal(got, k.Type) {
				v.errorf("its type is %s, that of its expression %s", k.Type, got)
			}
		})
		if k.Match != MatchSelector {
			plain++
		}
	}
	listed := map[*Action]bool{}
	for _, a := range t.Actions {
		if !v.actions[a.Action] {
			v.errorf("it lists an action that the control does not have")
			return
		}
		listed[a.Action] = true
	}
	v.actionCall("default action", t.Default, listed)
	for i, e := range t.Entries {
		v.in(fmt.Sprintf("entry %d", i), func() {
			if len(e.Keys) != plain {
				v.errorf("it has %d keysets for %d keys", len(e.Keys), plain)
			}
			v.actionCall("action", e.Action, listed)
		})
	}
	for _, i := range []*Instance{t.Impl, t.Counter, t.Meter} {
		if i != nil && !v.instances[i] {
			v.errorf("it uses %s, which the control does not have", i.Name)
		}
	}
}

func (v *verifier) actionCall(what string, a *ActionCall, listed map[*Action]bool) {
	switch {
	case a == nil || a.Action == nil:
		v.errorf("the %s is missing", what)
		return
	case !v.actions[a.Action]:
		v.errorf("the %s is not of this control", what)
		return
	case len(listed) > 0 && !listed[a.Action] && a.Action.FullName != "NoAction":
		v.errorf("the %s %s is not in the table's list", what, a.Action.Name)
	case len(a.Args) != len(a.Action.Params):
		v.errorf("the %s %s has %d arguments for %d parameters", what, a.Action.Name, len(a.Args), len(a.Action.Params))
		return
	}
	for i, k := range a.Args {
		if k == nil {
			v.errorf("an argument of the %s is missing", what)
		} else if !Equal(k.T, a.Action.Params[i].Type) {
			v.errorf("argument %d of the %s is of type %s, its parameter of type %s", i, what, k.T, a.Action.Params[i].Type)
		}
	}
}
