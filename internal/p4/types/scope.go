package types

import (
	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/syntax"
)

type objKind uint8

const (
	objType      objKind = iota // typ is the type; a struct, extern, block, typedef, …
	objConst                    // value is its value
	objVar                      // a variable
	objParam                    // a parameter of a parser, control, action, function
	objCtor                     // a constructor parameter
	objFunc                     // sigs are the overloads
	objAction                   // sigs[0]
	objTable                    //
	objInstance                 // an extern, parser, control or package object
	objValueSet                 //
	objMatchKind                // a match kind
	objState                    // a parser state
)

// object is something with a name.
type object struct {
	kind     objKind
	name     string
	span     diag.Span
	typ      Type
	decl     syntax.Node
	dir      syntax.Direction
	value    Value
	sigs     []*Sig
	info     *structInfo // of a generic type
	ext      *externInfo
	block    *blockInfo
	table    *tableInfo
	top      bool // declared at top level
	checking bool // its declaration is being checked now
	used     bool
}

// scope is a block of names. Names of the enclosing scopes can be hidden.
type scope struct {
	outer *scope
	names map[string]*object
}

func newScope(outer *scope) *scope { return &scope{outer: outer, names: map[string]*object{}} }

func (s *scope) lookup(name string) *object {
	for ; s != nil; s = s.outer {
		if o := s.names[name]; o != nil {
			return o
		}
	}
	return nil
}

func (s *scope) top() *scope {
	for s.outer != nil {
		s = s.outer
	}
	return s
}

// declare adds an object; a second one with the name is an error, but overloads of a
// function are put together.
func (c *checker) declare(o *object) {
	if o.name == "" {
		return
	}
	o.top = c.scope.outer == nil
	old := c.scope.names[o.name]
	if old == nil {
		c.scope.names[o.name] = o
		return
	}
	if old.kind == objFunc && o.kind == objFunc {
		for _, s := range old.sigs {
			for _, n := range o.sigs {
				if sameNames(s.params, n.params) {
					c.errorf(o.span, CodeDuplicate, "function %s is declared twice with the same parameters", o.name).
						Note(nodeSpan(s.decl), "the other declaration")
					return
				}
			}
		}
		old.sigs = append(old.sigs, o.sigs...)
		return
	}
	c.errorf(o.span, CodeDuplicate, "%s is declared twice in the same scope", o.name).Note(old.span, "first declared here")
	c.scope.names[o.name] = o
}

// sameNames reports whether no call could tell two parameter lists apart.
func sameNames(a, b []*Param) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name {
			return false
		}
	}
	return true
}

func nodeSpan(n syntax.Node) diag.Span {
	if n == nil {
		return diag.Span{}
	}
	if d, ok := n.(syntax.Decl); ok {
		if name := d.DeclName(); name.Text != "" {
			return name.Span()
		}
	}
	return n.Span()
}

func (c *checker) push() { c.scope = newScope(c.scope) }
func (c *checker) pop()  { c.scope = c.scope.outer }

// lookup finds a name, and complains if there is none.
func (c *checker) lookup(p syntax.Path) *object {
	s := c.scope
	if p.Dot {
		s = s.top()
	}
	o := s.lookup(p.Name.Text)
	if o == nil {
		d := c.errorf(p.Span(), CodeUndeclared, "%s is not declared", p)
		if near := c.near(s, p.Name.Text); near != "" {
			d.Note(p.Span(), "did you mean %s?", near)
		}
		return nil
	}
	o.used = true
	return o
}

// near finds a declared name that differs by a letter or by case, for a hint.
func (c *checker) near(s *scope, name string) string {
	best := ""
	for ; s != nil; s = s.outer {
		for n := range s.names {
			if alike(n, name) && (best == "" || n < best) {
				best = n
			}
		}
		if best != "" {
			break
		}
	}
	return best
}

// alike reports whether b is a with at most one letter added, removed or changed.
func alike(a, b string) bool {
	if len(a) < 3 || len(b) < 3 {
		return false
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) == len(b) {
		return i == len(a) || a[i+1:] == b[i+1:]
	}
	return a[i:] == b[i+1:]
}
