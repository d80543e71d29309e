package types

import (
	"strings"

	"github.com/catena-nfv/catena/internal/p4/syntax"
)

// annotations checks the bodies of annotations: those of structured ones are
// compile-time values, and the ones that the compiler knows are what they should be.
func (c *checker) annotations(as syntax.Annotations) {
	forms := map[string]*syntax.Annotation{}
	for _, a := range as {
		if old := forms[a.Name.Text]; old == nil {
			forms[a.Name.Text] = a
		} else if a.Name.Text == "name" {
			c.errorf(a.Span(), CodeAnnotation, "@name stands twice").Note(old.Span(), "the other one")
		} else if (old.Body == syntax.BodyStructured) != (a.Body == syntax.BodyStructured) {
			c.errorf(a.Span(), CodeAnnotation, "@%s stands with [ ] and without", a.Name.Text).Note(old.Span(), "the other one")
		} else if a.Body == syntax.BodyStructured {
			c.errorf(a.Span(), CodeAnnotation, "@%s[…] stands twice", a.Name.Text).Note(old.Span(), "the other one")
		}
		if a.Body == syntax.BodyStructured {
			c.annotationFields(a)
			for _, e := range a.Exprs {
				c.annotationValue(e)
			}
			for _, f := range a.Fields {
				c.annotationValue(f.Value)
			}
			continue
		}
		switch a.Name.Text {
		case "name", "deprecated":
			s, ok := a.StringArg()
			if !ok {
				c.errorf(a.Span(), CodeAnnotation, "@%s takes one string", a.Name.Text)
			} else if a.Name.Text == "name" && (s == "" || strings.HasSuffix(s, ".")) {
				c.errorf(a.Span(), CodeAnnotation, "%q is not a name", s)
			}
		case "match":
			for _, e := range a.Exprs {
				t := c.expr(e)
				if !isBad(t) && resolved(t) != MatchKind {
					c.errorf(e.Span(), CodeAnnotation, "@match takes a match kind, not %s", t)
				}
			}
			if len(a.Exprs) != 1 {
				c.errorf(a.Span(), CodeAnnotation, "@match takes a match kind")
			}
		case "field_list", "priority":
			for _, e := range a.Exprs {
				if _, ok := e.(*syntax.StringLit); ok {
					c.errorf(e.Span(), CodeAnnotation, "@%s takes a number", a.Name.Text)
				} else if t := c.value(e); !isBad(t) {
					c.constant(e, "the argument of an annotation")
				}
			}
			if len(a.Exprs) == 0 {
				c.errorf(a.Span(), CodeAnnotation, "@%s takes a number", a.Name.Text)
			}
		case "hidden", "tableonly", "defaultonly", "optional", "pure", "noSideEffects", "atomic":
			if a.Body == syntax.BodyUnstructured && len(a.Tokens) > 0 {
				c.errorf(a.Span(), CodeAnnotation, "@%s takes no arguments", a.Name.Text)
			}
		}
	}
}

// annotationValue checks an expression in a structured annotation: a number, bool or
// string known at compile time (P4_16 1.2.5, section 20.1).
func (c *checker) annotationValue(e syntax.Expr) {
	t := c.value(e)
	if isBad(t) {
		return
	}
	if _, ok := base(t).(*Bits); !ok {
		switch resolved(t) {
		case Int, Bool, String:
		default:
			c.errorf(e.Span(), CodeAnnotation, "an annotation holds numbers, bools and strings, not %s", t)
			return
		}
	}
	c.constant(e, "a value in an annotation")
}

// annotationFields checks that a key-value list names each key once.
func (c *checker) annotationFields(a *syntax.Annotation) {
	seen := map[string]bool{}
	for _, f := range a.Fields {
		if seen[f.Name.Text] {
			c.errorf(f.Name.Span(), CodeDuplicate, "@%s has two values for %s", a.Name.Text, f.Name.Text)
		}
		seen[f.Name.Text] = true
	}
}
