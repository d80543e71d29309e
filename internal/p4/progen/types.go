package progen

import (
	"fmt"
	"strings"
)

type kind int

const (
	bits kind = iota
	boolean
	enum    // without representation
	serEnum // under gives it
	errors
	header
	union
	stack
	structure
	tuple
	varbit
)

// typ is a type of the program.
type typ struct {
	kind    kind
	name    string // as P4 writes it
	width   int    // of bits, and the most of a varbit
	signed  bool
	newtype *typ     // what a newtype is made of; its kind is that of bits
	members []string // of enums and errors
	under   *typ
	fields  []field
	elem    *typ // of a stack
	size    int
}

type field struct {
	name string
	t    *typ
}

func bitType(w int) *typ { return &typ{kind: bits, name: fmt.Sprintf("bit<%d>", w), width: w} }
func intType(w int) *typ {
	return &typ{kind: bits, name: fmt.Sprintf("int<%d>", w), width: w, signed: true}
}

var boolType = &typ{kind: boolean, name: "bool"}

func (t *typ) same(u *typ) bool { return t.name == u.name }

// number reports whether arithmetic takes the type.
func (t *typ) number() bool { return t.kind == bits && t.newtype == nil }

func (t *typ) scalar() bool {
	switch t.kind {
	case bits, boolean, enum, serEnum, errors:
		return true
	}
	return false
}

// hasVarbit reports whether a varbit is in the type.
func (t *typ) hasVarbit() bool {
	if t.kind == varbit || t.elem != nil && t.elem.hasVarbit() {
		return true
	}
	for _, f := range t.fields {
		if f.t.hasVarbit() {
			return true
		}
	}
	return false
}

// zero is the simplest value of the type, "" if it cannot be written.
func (t *typ) zero() string {
	switch t.kind {
	case bits:
		if t.newtype != nil {
			return "((" + t.name + ") " + t.newtype.zero() + ")"
		}
		if t.signed {
			return fmt.Sprintf("%ds0", t.width)
		}
		return fmt.Sprintf("%dw0", t.width)
	case boolean:
		return "false"
	case enum, serEnum:
		return t.name + "." + t.members[0]
	case errors:
		return "error.NoError"
	case header:
		return "((" + t.name + ") {#})"
	}
	return ""
}

// class is the class of the expressions of the type.
func (t *typ) class() string { return "e:" + t.name }

// bitSize is the size of what extract takes without varbits.
func (t *typ) bitSize() int {
	switch t.kind {
	case bits:
		return t.width
	case boolean:
		return 1
	case serEnum:
		return t.under.width
	}
	n := 0
	for _, f := range t.fields {
		n += f.t.bitSize()
	}
	return n
}

// place is what can be read, and perhaps written.
type place struct {
	text string
	t    *typ
	w    bool
}

// parts lists a place and all that is in it.
func (p place) parts(out []place) []place {
	out = append(out, p)
	switch p.t.kind {
	case header, union, structure:
		for _, f := range p.t.fields {
			out = place{p.text + "." + f.name, f.t, p.w}.parts(out)
		}
	case tuple:
		for i, f := range p.t.fields {
			out = place{fmt.Sprintf("%s[%d]", p.text, i), f.t, false}.parts(out)
		}
	case stack:
		for i := range p.t.size {
			out = place{fmt.Sprintf("%s[%d]", p.text, i), p.t.elem, p.w}.parts(out)
		}
	}
	return out
}

// declaration is the text that declares a named type.
func (t *typ) declaration() *Node {
	var b strings.Builder
	switch t.kind {
	case enum:
		fmt.Fprintf(&b, "enum %s { %s }\n", t.name, strings.Join(t.members, ", "))
	case header, union, structure:
		word := map[kind]string{header: "header", union: "header_union", structure: "struct"}[t.kind]
		fmt.Fprintf(&b, "%s %s {\n", word, t.name)
		for _, f := range t.fields {
			fmt.Fprintf(&b, "    %s %s;\n", f.t.name, f.name)
		}
		b.WriteString("}\n")
	}
	return drop(&Node{Parts: []string{b.String()}})
}
