package types

import (
	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/syntax"
)

// Info is what checking finds out about a program.
type Info struct {
	program *syntax.Program
	types   map[syntax.Expr]Type    // before conversion
	conv    map[syntax.Expr]Type    // the implicit conversion of an expression, if any
	uses    map[syntax.Expr]*object // what a *PathExpr names
	calls   map[syntax.Node]*callInfo
	written map[syntax.Type]Type    // what a type that is written in an expression means
	objs    map[syntax.Node]*object // what a declaration or parameter declares
	errors  []string                // members of error, in order
	kinds   []string                // members of match_kind, in order
	globals []*object               // instances at top level, in order
	main    *object
}

// callInfo says what a call calls. It belongs to a *syntax.Call, *syntax.DirectApply or
// *syntax.Instantiation.
type callInfo struct {
	sig     *Sig
	builtin string      // name of a built-in method, when sig is nil or apply
	recv    syntax.Expr // of a method
	recvT   Type
	subst   subst         // type arguments, those of the receiver included
	args    []syntax.Expr // one for each parameter; nil: left out
	result  Type
}

// checker is the state of one check.
type checker struct {
	diags  *diag.List
	info   *Info
	scope  *scope
	eval   *evaluator
	ctx    context
	errSet map[string]bool
	order  int
	open   []openCall
}

// context is where in the program we are, for rules about what may stand there.
type context struct {
	block    *blockInfo // the parser or control
	inParser bool       // in a state
	inApply  bool       // in the apply of a control
	action   *Sig       // in an action
	function *Sig       // in a function or abstract method
	fn       bool       // in anything that has a body with statements
	ret      Type       // what return returns; nil where it cannot stand
	loops    int
}

// Check checks a program. The Info can be used for lowering when the diagnostics hold
// no error.
func Check(prog *syntax.Program) (*Info, diag.List) {
	var diags diag.List
	c := &checker{diags: &diags, errSet: map[string]bool{}}
	c.info = &Info{
		program: prog,
		types:   map[syntax.Expr]Type{}, conv: map[syntax.Expr]Type{}, uses: map[syntax.Expr]*object{},
		calls: map[syntax.Node]*callInfo{}, written: map[syntax.Type]Type{}, objs: map[syntax.Node]*object{},
	}
	c.eval = &evaluator{info: c.info}
	c.scope = newScope(nil)
	for _, d := range prog.Decls {
		c.topDecl(d)
	}
	c.checkOpen()
	c.checkMain()
	return c.info, diags
}

func (c *checker) errorf(s diag.Span, code diag.Code, format string, args ...any) *diag.Diagnostic {
	return c.diags.Errorf(s, code, format, args...)
}

func (c *checker) warnf(s diag.Span, code diag.Code, format string, args ...any) *diag.Diagnostic {
	return c.diags.Warnf(s, code, format, args...)
}

func (c *checker) topDecl(d syntax.Decl) {
	c.ctx = context{}
	c.annotations(d.DeclAnnotations())
	switch d := d.(type) {
	case *syntax.Var:
		c.errorf(nodeSpan(d), CodeMisplaced, "%s: there are no global variables; declare it in a parser, control, action or function, or make it const", d.Name.Text)
		d2 := c.resolve(d.Type)
		c.declare(&object{kind: objVar, name: d.Name.Text, span: d.Name.Span(), typ: d2, decl: d})
	case *syntax.Instantiation:
		c.instantiation(d)
	default:
		c.decl(d)
	}
}

// decl checks a declaration that may stand at top level and adds it to the scope.
func (c *checker) decl(d syntax.Decl) {
	switch d := d.(type) {
	case *syntax.Const:
		c.constDecl(d)
	case *syntax.Struct:
		c.structDecl(d)
	case *syntax.Enum:
		c.enumDecl(d)
	case *syntax.Typedef:
		c.typedefDecl(d)
	case *syntax.ErrorDecl:
		c.wantMembers(d, len(d.Members))
		for _, m := range d.Members {
			if c.errSet[m.Text] {
				c.errorf(m.Span(), CodeDuplicate, "error %s is declared twice", m.Text)
				continue
			}
			c.errSet[m.Text] = true
			c.info.errors = append(c.info.errors, m.Text)
		}
	case *syntax.MatchKindDecl:
		c.wantMembers(d, len(d.Members))
		for _, m := range d.Members {
			c.declare(&object{kind: objMatchKind, name: m.Text, span: m.Span(), typ: MatchKind, decl: d, value: ErrVal(m.Text)})
			c.info.kinds = append(c.info.kinds, m.Text)
		}
	case *syntax.ExternFunction:
		c.externFunction(d)
	case *syntax.ExternObject:
		c.externObject(d)
	case *syntax.Function:
		c.functionDecl(d)
	case *syntax.Action:
		c.actionDecl(d)
	case *syntax.ParserType:
		c.blockType(d, parserBlock, d.TypeParams, d.Params)
	case *syntax.ControlType:
		c.blockType(d, controlBlock, d.TypeParams, d.Params)
	case *syntax.Package:
		c.packageDecl(d)
	case *syntax.Parser:
		c.parserDecl(d)
	case *syntax.Control:
		c.controlDecl(d)
	case *syntax.Instantiation:
		c.instantiation(d)
	case *syntax.Var:
		c.varDecl(d)
	}
}

// wantMembers complains about an enum, error or match_kind without members, which the
// grammar does not have.
func (c *checker) wantMembers(d syntax.Decl, n int) {
	if n == 0 {
		c.errorf(nodeSpan(d), CodeIllFormed, "a declaration of an enum, of errors or of match kinds needs at least one member")
	}
}

func (c *checker) constDecl(d *syntax.Const) {
	t := c.resolve(d.Type)
	switch u := resolved(t).(type) {
	case *Extern, *Block:
		c.errorf(d.Type.Span(), CodeIllFormed, "a constant cannot be of type %s", u)
		t = Bad
	case Basic:
		if u == Void || u == MatchKind {
			c.errorf(d.Type.Span(), CodeIllFormed, "a constant cannot be of type %s", u)
			t = Bad
		}
	}
	c.expr(d.Value)
	o := &object{kind: objConst, name: d.Name.Text, span: d.Name.Span(), typ: t, decl: d}
	if c.convert(d.Value, t) {
		o.value = c.eval.value(d.Value)
		if o.value == nil && !c.fixed(d.Value, "the value of a constant") {
			o.typ = Bad
		}
	} else {
		o.typ = orBad(o.typ, c.info.types[d.Value])
	}
	c.info.objs[d] = o
	c.declare(o)
}

// orBad keeps a type when its value is merely unknown, so that no error follows from it.
func orBad(t, of Type) Type {
	if isBad(of) {
		return Bad
	}
	return t
}

// varDecl checks a variable of a block, action, function or parser.
func (c *checker) varDecl(d *syntax.Var) {
	c.annotations(d.Annots)
	t := c.resolve(d.Type)
	if why := c.noStorage(t); why != "" {
		c.errorf(d.Type.Span(), CodeIllFormed, "variable %s cannot be of type %s: %s", d.Name.Text, t, why)
		t = Bad
	}
	if d.Init != nil {
		c.expr(d.Init)
		c.convert(d.Init, t)
	}
	o := &object{kind: objVar, name: d.Name.Text, span: d.Name.Span(), typ: t, decl: d}
	c.info.objs[d] = o
	c.declare(o)
}

// noStorage says why no variable can have a type, or "".
func (c *checker) noStorage(t Type) string {
	switch t := resolved(t).(type) {
	case Basic:
		switch t {
		case Int:
			return "int has no width; it is for compile-time values"
		case Void, MatchKind, String, Dots, DontCare, Invalid:
			return "no packet can carry one"
		}
	case *Extern, *Block:
		return "it is an object; instantiate it"
	case *List:
		return "a list is a compile-time value"
	case *Tuple:
		for _, e := range t.Elems {
			if why := c.noStorage(e); why != "" {
				return why
			}
		}
	}
	return ""
}

// checkMain looks for the program's package instance.
func (c *checker) checkMain() {
	top := c.scope.top()
	o := top.names["main"]
	if o == nil {
		if len(c.info.program.Decls) > 0 && !c.diags.HasErrors() {
			last := c.info.program.Decls[len(c.info.program.Decls)-1]
			c.warnf(last.Span(), CodeMain, "the program has no main: instantiate a package under this name")
		}
		return
	}
	b, ok := resolved(o.typ).(*Block)
	if isBad(o.typ) {
		return
	}
	if o.kind != objInstance || !ok || b.info.kind != packageBlock {
		c.errorf(o.span, CodeMain, "main has to be the instance of a package")
		return
	}
	c.info.main = o
}
