package p4text

import (
	"fmt"
	"slices"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// coreErrors are the members of error that core.p4 declares.
var coreErrors = []string{"NoError", "PacketTooShort", "NoMatch", "StackOutOfBounds", "HeaderTooShort",
	"ParserTimeout", "ParserInvalidArgument"}

// modelEnums are the enums of v1model.p4.
var modelEnums = []string{"CounterType", "MeterType", "HashAlgorithm", "CloneType"}

// typ gives a type as P4 writes it.
func (pr *printer) typ(t ir.Type) string {
	switch t := t.(type) {
	case *ir.Stack:
		return fmt.Sprintf("%s[%d]", pr.typ(t.Elem), t.Size)
	case *ir.Enum, *ir.SerEnum, *ir.Header, *ir.Union, *ir.Struct:
		if n, ok := pr.types[t]; ok {
			return n
		}
		pr.fail("type %s is used but not declared", t)
		return t.String()
	case nil:
		pr.fail("something has no type")
		return "void"
	}
	return t.String()
}

// declareTypes prints all named types that the program uses, each behind those that
// it consists of.
func (pr *printer) declareTypes() {
	var own []string
	for _, e := range pr.prog.Errors {
		if !slices.Contains(coreErrors, e) {
			own = append(own, e)
		}
	}
	if len(own) > 0 {
		pr.line("")
		pr.open("error")
		for i, e := range own {
			pr.line("%s%s", e, comma(i, len(own)))
		}
		pr.close("")
	}
	p := pr.prog
	for _, t := range p.Enums {
		pr.declare(t)
	}
	for _, t := range p.SerEnums {
		pr.declare(t)
	}
	pr.declareNewtypes()
	for _, t := range p.Headers {
		pr.declare(t)
	}
	for _, t := range p.Unions {
		pr.declare(t)
	}
	for _, t := range p.Structs {
		pr.declare(t)
	}
	pr.declareUsed()
}

// declareUsed declares the types of variables and objects that the program does not
// list, such as tuples.
func (pr *printer) declareUsed() {
	p := pr.prog
	pr.declare(p.Hdr.Type)
	pr.declare(p.Meta.Type)
	vars := slices.Clone(p.Parser.Locals)
	bodies := [][]ir.Stmt{}
	for _, s := range p.Parser.States {
		bodies = append(bodies, s.Body)
	}
	for _, c := range p.Controls() {
		vars = append(vars, c.Locals...)
		for _, a := range c.Actions {
			vars = append(vars, a.Params...)
			bodies = append(bodies, a.Body)
		}
		for _, i := range c.Instances {
			if i.Elem != nil {
				pr.declare(i.Elem)
			}
		}
		for _, t := range c.Tables {
			for _, k := range t.Keys {
				pr.declare(k.Type)
			}
		}
		if c.Body != nil {
			bodies = append(bodies, c.Body.Body)
		}
	}
	for _, v := range vars {
		pr.declare(v.Type)
	}
	for _, body := range bodies {
		ir.Walk(body, func(s ir.Stmt) {
			ir.WalkExprs(s, func(e ir.Expr) {
				switch e := e.(type) {
				case *ir.Const:
					pr.declare(e.T)
				case *ir.Cast:
					pr.declare(e.T)
				}
			})
		})
	}
}

func comma(i, n int) string {
	if i == n-1 {
		return ""
	}
	return ","
}

// declare prints a named type once.
func (pr *printer) declare(t ir.Type) {
	if t == nil {
		return
	}
	if s, ok := t.(*ir.Stack); ok {
		pr.declare(s.Elem)
		return
	}
	if _, ok := pr.types[t]; ok {
		return
	}
	for _, f := range ir.FieldsOf(t) {
		pr.declare(f.Type)
	}
	switch t := t.(type) {
	case *ir.Enum:
		if slices.Contains(modelEnums, t.Name) {
			pr.types[t] = t.Name
			return
		}
		pr.types[t] = pr.global.take(t.Name)
		pr.line("")
		pr.open("enum %s", pr.types[t])
		for i, m := range t.Members {
			pr.line("%s%s", m, comma(i, len(t.Members)))
		}
		pr.close("")
	case *ir.SerEnum:
		pr.types[t] = pr.global.take(t.Name)
		pr.line("")
		pr.open("enum %s %s", t.Under, pr.types[t])
		for i, m := range t.Members {
			pr.line("%s = %s%s", m.Name, literal(m.Value.Value, t.Under), comma(i, len(t.Members)))
		}
		pr.close("")
	case *ir.Header:
		pr.fieldsOf("header", t, t.Name, t.Annotations, t.Fields)
	case *ir.Union:
		pr.fieldsOf("header_union", t, t.Name, t.Annotations, t.Fields)
	case *ir.Struct:
		name := t.Name
		if name == "" {
			name = "tuple_t"
		}
		pr.fieldsOf("struct", t, name, t.Annotations, t.Fields)
	}
}

func (pr *printer) fieldsOf(keyword string, t ir.Type, name string, as ir.Annotations, fs []*ir.Field) {
	pr.types[t] = pr.global.take(name)
	pr.line("")
	pr.annotationLines(as)
	pr.open("%s %s", keyword, pr.types[t])
	names := newScope(nil)
	width := 0
	for _, f := range fs {
		width = max(width, len(pr.declared(f)))
	}
	for _, f := range fs {
		pr.fields[f] = fieldName(names, f.Name)
		pr.line("%s%-*s %s;", inline(f.Annotations), width, pr.declared(f), pr.fields[f])
	}
	pr.close("")
}

// declared gives the type with which a field is declared.
func (pr *printer) declared(f *ir.Field) string {
	if n := pr.fieldNewtype(f); n != "" {
		return n
	}
	return pr.typ(f.Type)
}

// fieldName takes a field's name; a field may be called like a function of v1model.
func fieldName(s *scope, want string) string {
	name := identifier(want)
	if !s.taken[name] && !isKeyword(name) {
		s.taken[name] = true
		return name
	}
	return s.take(name)
}

// isKeyword reports whether a word cannot be a field's name.
func isKeyword(s string) bool {
	switch s {
	case "abstract", "action", "bit", "bool", "const", "control", "default", "else", "enum", "error", "exit", "extern",
		"false", "header", "header_union", "if", "in", "inout", "int", "match_kind", "out", "package", "parser", "return",
		"select", "string", "struct", "switch", "table", "this", "transition", "true", "tuple", "typedef", "value_set",
		"varbit", "void", "for", "break", "continue":
		return true
	}
	return false
}

// field gives the name under which a field was declared.
func (pr *printer) field(f *ir.Field) string {
	if n, ok := pr.fields[f]; ok {
		return n
	}
	return identifier(f.Name)
}
