package syntax

import (
	"strconv"
	"strings"
)

// Print gives the program as P4 in one canonical layout: four spaces of indentation, one blank line
// between declarations of the top level, comments and directives gone. Parsing the result gives the
// same tree again, up to positions.
func Print(prog *Program) string { return PrintDecls(prog.Decls) }

// PrintDecls prints declarations as Print does.
func PrintDecls(decls []Decl) string {
	p := &printer{}
	for i, d := range decls {
		if i > 0 {
			p.text("\n")
		}
		p.decl(d)
		p.text("\n")
	}
	return p.b.String()
}

// PrintExpr prints an expression on one line.
func PrintExpr(e Expr) string {
	p := &printer{}
	p.expr(e, 0)
	return p.b.String()
}

// PrintType prints a type on one line.
func PrintType(t Type) string {
	p := &printer{}
	p.typ(t)
	return p.b.String()
}

// printer writes the tree. Its methods write no line end behind what they print, so that the caller
// decides what follows.
type printer struct {
	b      strings.Builder
	indent int
}

func (p *printer) text(parts ...string) {
	for _, s := range parts {
		p.b.WriteString(s)
	}
}

// line begins a new line at the current indentation.
func (p *printer) line() {
	p.b.WriteByte('\n')
	for range p.indent {
		p.b.WriteString("    ")
	}
}

// body prints n elements in braces, each on a line of its own.
func (p *printer) body(n int, element func(i int)) {
	if n == 0 {
		p.text("{}")
		return
	}
	p.text("{")
	p.indent++
	for i := range n {
		p.line()
		element(i)
	}
	p.indent--
	p.line()
	p.text("}")
}

func (p *printer) names(names []Name) {
	for i, n := range names {
		p.comma(i)
		p.text(n.Text)
	}
}

func (p *printer) comma(i int) {
	if i > 0 {
		p.text(", ")
	}
}

// annots prints annotations, each followed by a space, a pragma by a new line.
func (p *printer) annots(list Annotations) {
	for _, a := range list {
		p.annotation(a)
		if a.Body == BodyPragma {
			p.line()
		} else {
			p.text(" ")
		}
	}
}

// trailing prints the annotations that stand behind what they annotate.
func (p *printer) trailing(list Annotations) {
	for _, a := range list {
		p.text(" ")
		p.annotation(a)
		if a.Body == BodyPragma {
			p.line()
		}
	}
}

func (p *printer) annotation(a *Annotation) {
	p.text("@")
	switch a.Body {
	case BodyNone:
		p.text(a.Name.Text)
	case BodyPragma:
		p.text("pragma ", a.Name.Text)
		if len(a.Tokens) > 0 {
			p.text(" ", joinText(a.Tokens))
		}
	case BodyUnstructured:
		p.text(a.Name.Text, "(")
		if len(a.Tokens) > 0 {
			p.text(joinText(a.Tokens))
		} else {
			p.exprs(a.Exprs) // made by the compiler
		}
		p.text(")")
	case BodyStructured:
		p.text(a.Name.Text, "[")
		p.exprs(a.Exprs)
		p.namedValues(a.Fields)
		p.text("]")
	}
}

func (p *printer) namedValues(list []NamedValue) {
	for i, f := range list {
		p.comma(i)
		p.text(f.Name.Text, " = ")
		p.expr(f.Value, 0)
	}
}

// Types.

func (p *printer) typ(t Type) {
	switch t := t.(type) {
	case *BaseType:
		p.text(t.Kind.String())
	case *BitsType:
		p.text(t.Kind.String())
		if t.Width == nil {
			return
		}
		p.text("<")
		if lit, ok := t.Width.(*IntLit); ok && lit.Value.Sign() >= 0 {
			p.expr(lit, 0)
		} else {
			p.text("(")
			p.expr(t.Width, 0)
			p.text(")")
		}
		p.text(">")
	case *NamedType:
		p.text(t.Path.String())
		if t.Args != nil {
			p.typeArgs(t.Args)
		}
	case *StackType:
		p.typ(t.Elem)
		p.text("[")
		p.expr(t.Size, 0)
		p.text("]")
	case *TupleType:
		p.text("tuple")
		p.typeArgs(t.Elems)
	case *ListType:
		p.text("list<")
		p.typ(t.Elem)
		p.text(">")
	case *DontCareType:
		p.text("_")
	}
}

func (p *printer) typeArgs(args []Type) {
	p.text("<")
	for i, t := range args {
		p.comma(i)
		p.typ(t)
	}
	p.text(">")
}

func (p *printer) typeParams(names []Name) {
	if len(names) > 0 {
		p.text("<")
		p.names(names)
		p.text(">")
	}
}

// Expressions.

// Precedences below and above those of the binary operators (opPrec).
const (
	precTernary = 0
	precUnary   = 11
	precPostfix = 12
)

// opPrec gives the precedence of the binary operators, as operator does for the parser.
var opPrec = [...]int{
	OpLOr: 1, OpLAnd: 2, OpEq: 3, OpNe: 3, OpLt: 4, OpLe: 4, OpGt: 4, OpGe: 4, OpOr: 5, OpXor: 6, OpAnd: 7,
	OpShl: 8, OpShr: 8, OpConcat: 9, OpAdd: 9, OpSub: 9, OpSatAdd: 9, OpSatSub: 9, OpMul: 10, OpDiv: 10, OpMod: 10,
	OpCompl: 0,
}

func precedence(e Expr) int {
	switch e := e.(type) {
	case *Ternary, *MaskExpr, *RangeExpr:
		return precTernary
	case *Binary:
		return opPrec[e.Op]
	case *Unary, *Cast:
		return precUnary
	}
	return precPostfix
}

// expr prints e, in parentheses when it binds weaker than min.
func (p *printer) expr(e Expr, min int) {
	if precedence(e) < min {
		p.text("(")
		p.expr(e, 0)
		p.text(")")
		return
	}
	switch e := e.(type) {
	case *IntLit:
		p.text(e.String())
	case *StringLit:
		p.text(quote(e.Value))
	case *BoolLit:
		p.text(strconv.FormatBool(e.Value))
	case *This:
		p.text("this")
	case *PathExpr:
		p.text(e.Path.String())
	case *TypeExpr:
		p.typ(e.Type)
	case *Member:
		p.expr(e.X, precPostfix)
		p.text(".", e.Name.Text)
	case *Index:
		p.expr(e.X, precPostfix)
		p.text("[")
		p.expr(e.Index, 0)
		p.text("]")
	case *Slice:
		p.expr(e.X, precPostfix)
		p.text("[")
		p.expr(e.Hi, 0)
		p.text(":")
		p.expr(e.Lo, 0)
		p.text("]")
	case *Unary:
		p.text(e.Op.String())
		if inner, ok := e.X.(*Unary); ok && inner.Op == OpAdd && e.Op == OpAdd {
			p.text(" ") // ++ is a token
		}
		p.expr(e.X, precUnary)
	case *Binary:
		p.expr(e.X, opPrec[e.Op])
		p.text(" ", e.Op.String(), " ")
		p.expr(e.Y, opPrec[e.Op]+1)
	case *Ternary:
		p.expr(e.Cond, precTernary+1)
		p.text(" ? ")
		p.expr(e.Then, 0)
		p.text(" : ")
		p.expr(e.Else, 0)
	case *Cast:
		p.text("(")
		p.typ(e.Type)
		p.text(")")
		p.expr(e.X, precUnary)
	case *Call:
		p.expr(e.Fun, precPostfix)
		if e.TypeArgs != nil {
			p.typeArgs(e.TypeArgs)
		}
		p.args(e.Args)
	case *ListExpr:
		p.text("{")
		p.exprs(e.Elems)
		p.text("}")
	case *RecordExpr:
		p.record(e)
	case *InvalidHeader:
		p.text("{#}")
	case *Dots:
		p.text("...")
	case *DontCare:
		p.text("_")
	case *DefaultExpr:
		p.text("default")
	case *MaskExpr:
		p.expr(e.Value, 0)
		p.text(" &&& ")
		p.expr(e.Mask, 0)
	case *RangeExpr:
		p.expr(e.Lo, 0)
		p.text(" .. ")
		p.expr(e.Hi, 0)
	case *TupleKeyset:
		p.text("(")
		p.exprs(e.Elems)
		p.text(")")
	}
}

func (p *printer) record(e *RecordExpr) {
	p.text("{")
	p.namedValues(e.Fields)
	if e.Default {
		p.comma(len(e.Fields))
		p.text("...")
	}
	p.text("}")
}

// String gives the literal as it was written or, when the compiler made it, in decimal.
func (e *IntLit) String() string {
	if e.Text != "" {
		return e.Text
	}
	prefix := ""
	if e.Sized {
		prefix = strconv.Itoa(e.Width) + "w"
		if e.Signed {
			prefix = strconv.Itoa(e.Width) + "s"
		}
	}
	if e.Value.Sign() < 0 {
		return "-" + prefix + e.Value.String()[1:]
	}
	return prefix + e.Value.String()
}

func (p *printer) exprs(list []Expr) {
	for i, e := range list {
		p.comma(i)
		p.expr(e, 0)
	}
}

func (p *printer) args(args []Arg) {
	p.text("(")
	for i, a := range args {
		p.comma(i)
		if a.Name != nil {
			p.text(a.Name.Text, " = ")
		}
		p.expr(a.Value, 0)
	}
	p.text(")")
}
