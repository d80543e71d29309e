package types

import (
	"fmt"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/syntax"
)

// lowerer elaborates a checked program. It builds one block at a time: `out` is the
// list that statements go to, `frame` is where names are looked up.
type lowerer struct {
	info  *Info
	diags *diag.List
	prog  *ir.Program
	types typeTable
	ev    *evaluator

	global *frame                   // the instances at top level
	frame  *frame                   // of what is being lowered
	blk    *blockOut                // the parser or control being built
	out    *[]ir.Stmt               // where statements go
	left   map[*ir.Block]bool       // blocks that something leaves
	temps  map[*ir.Var]bool         // variables that are written once, by the compiler
	named  map[string]*namedThing   // control-plane names in use
	flat   *bool                    // flatNames, once it is known
	state  *ir.State                // the parser state that out belongs to
	refs   map[*object]objectSet    // what the bodies of actions use
	digest map[ir.Type]*ir.Instance // by struct
}

// blockOut is one of the blocks of the program while it is built.
type blockOut struct {
	control *ir.Control
	parser  *ir.Parser
	names   *nameSet // of variables, tables, actions and instances
	states  *nameSet
	listed  map[*ir.Instance]bool
	exited  *ir.Var             // set when an action exits and parameters are to be copied back
	globals map[*Sig]*ir.Action // actions of the top level
}

// frame is where the names of a body are bound: the body of a parser, control, action
// or function.
type frame struct {
	lexical *frame // of the enclosing declaration
	caller  *frame // of what called it, for exit
	vars    map[*object]*operand
	types   subst
	block   *ir.Block // that return leaves
	result  *operand  // that return assigns
	copyOut func()    // copies out and inout parameters back
	inst    *instance // set for the frame of a parser or control
	loops   []loop
	repeats bool // the body may be executed more than once for a packet
	action  bool // the body of an action that tables call
}

type loop struct{ brk, cont *ir.Block }

type namedThing struct {
	decl  syntax.Node
	span  diag.Span
	clash bool // it was complained about
}

// unsupported ends the lowering of a part; the complaint has been made.
type unsupported struct{}

// Lower elaborates a program that has been checked without errors. The program is nil
// when there are errors.
func Lower(info *Info) (p *ir.Program, diags diag.List) {
	l := &lowerer{
		info: info, diags: &diags,
		left: map[*ir.Block]bool{}, temps: map[*ir.Var]bool{}, named: map[string]*namedThing{},
		refs: map[*object]objectSet{}, digest: map[ir.Type]*ir.Instance{},
	}
	l.types.init(l)
	l.ev = &evaluator{info: info, lookup: l.known, types: l.subst}
	l.prog = &ir.Program{Errors: info.errors}
	if info.main == nil {
		span := info.program.Span()
		if n := len(info.program.Decls); n > 0 {
			span = info.program.Decls[n-1].Span()
		} else if !span.IsValid() {
			span.File = 1 // the program itself
		}
		l.errorf(span, CodeMain, "the program has no main: end it with V1Switch(…) main;")
		return nil, diags
	}
	l.try(func() { l.program() })
	if diags.HasErrors() {
		return nil, diags
	}
	l.prog.Enums, l.prog.SerEnums, l.prog.Headers, l.prog.Unions, l.prog.Structs = l.types.list()
	return l.prog, diags
}

// try runs a part of the lowering; what it finds impossible ends just that part.
func (l *lowerer) try(f func()) {
	out, fr := l.out, l.frame
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(unsupported); !ok {
				panic(r)
			}
			l.out, l.frame = out, fr
		}
	}()
	f()
}

func (l *lowerer) errorf(s diag.Span, code diag.Code, format string, args ...any) *diag.Diagnostic {
	return l.diags.Errorf(s, code, format, args...)
}

// fail complains and gives the part up.
func (l *lowerer) fail(s diag.Span, code diag.Code, format string, args ...any) {
	l.errorf(s, code, format, args...)
	panic(unsupported{})
}

// program matches main against V1Switch and builds the six blocks.
func (l *lowerer) program() {
	main := l.info.main
	ci := l.info.calls[main.decl]
	pkg, _ := resolved(main.typ).(*Block)
	if ci == nil || pkg == nil {
		l.fail(main.span, CodePackage, "main is not the instance of a package")
	}
	if pkg.info.name != "V1Switch" || len(ci.args) != 6 {
		l.fail(main.span, CodePackage, "main is a %s; only the v1model architecture can be compiled: V1Switch(parser, verify, ingress, egress, compute, deparser) main", pkg.info.name)
	}
	l.global = &frame{vars: map[*object]*operand{}}
	l.frame = l.global
	l.prog.Name = "main"
	l.prog.Annotations = append(l.annots(pkg.info.decl.DeclAnnotations()), l.annots(main.decl.(syntax.Decl).DeclAnnotations())...)
	for _, o := range l.info.globals {
		if o != main {
			l.try(func() { l.globalInstance(o) })
		}
	}
	insts := make([]*instance, 6)
	for i, a := range ci.args {
		insts[i] = l.packageArg(a, ci.sig.params[i].Name)
	}
	l.perPacket(insts[0])
	for _, d := range l.info.program.Decls {
		if s, ok := d.(*syntax.Struct); ok && s.Annots.Get("controller_header") != nil && len(s.TypeParams) == 0 {
			l.types.lower(l.info.objs[s].typ) // the controller sees it, used or not
		}
	}
	l.prog.Parser = l.mainParser(insts[0])
	l.prog.VerifyChecksum = l.mainControl(insts[1], 2)
	l.prog.Ingress = l.mainControl(insts[2], 3)
	l.prog.Egress = l.mainControl(insts[3], 3)
	l.prog.ComputeChecksum = l.mainControl(insts[4], 2)
	l.prog.Deparser = l.mainControl(insts[5], 0)
	l.placement()
}

// packageArg elaborates an argument of the package: a constructor call.
func (l *lowerer) packageArg(a syntax.Expr, name string) *instance {
	if a == nil {
		l.fail(l.info.main.span, CodePackage, "argument %s of V1Switch is missing", name)
	}
	op := l.expr(a)
	if op.obj == nil || op.obj.info == nil {
		l.fail(a.Span(), CodePackage, "argument %s of V1Switch is not a parser or control", name)
	}
	return op.obj
}

// perPacket makes the three variables that the blocks share, from the parameters of the
// parser.
func (l *lowerer) perPacket(p *instance) {
	params := p.info.params
	if len(params) != 4 {
		l.fail(nodeSpan(p.info.decl), CodePackage, "the parser of V1Switch has four parameters: packet_in, headers, metadata, standard_metadata_t")
	}
	v := func(i int, name string) *ir.Var {
		t := resolved(params[i].Type)
		if !isStruct(t) && !(i == 1 && (isHeader(t) || isUnion(t))) {
			if _, ok := base(t).(*Bits); !ok || i != 2 {
				l.fail(params[i].Decl.Span(), CodeUnsupported, "parameter %s has to be a struct, not %s", params[i].Name, t)
			}
		}
		return &ir.Var{Name: name, Type: l.types.lower(t), Span: params[i].Decl.Name.Span()}
	}
	l.prog.Hdr, l.prog.Meta, l.prog.Std = v(1, "hdr"), v(2, "meta"), v(3, "standard_metadata")
}

// blockNames are the names of a block: those of its parameters are taken.
func blockNames() *nameSet { return newNameSet("hdr", "meta", "standard_metadata", "packet") }

// mainControl builds one of the five controls. n says how many of headers, metadata and
// standard metadata it takes; 0 is the deparser's packet and headers.
func (l *lowerer) mainControl(inst *instance, n int) *ir.Control {
	k := &ir.Control{Name: inst.info.name, Span: nodeSpan(inst.info.decl), Annotations: l.annots(inst.info.decl.DeclAnnotations())}
	l.blk = &blockOut{control: k, names: blockNames(), listed: map[*ir.Instance]bool{}, globals: map[*Sig]*ir.Action{}}
	k.Body = &ir.Block{Name: inst.info.name, Span: k.Span}
	fr := &frame{lexical: l.global, vars: map[*object]*operand{}, inst: inst, block: k.Body}
	inst.frame = fr
	inst.path = inst.prefix()
	shared := []*ir.Var{l.prog.Hdr, l.prog.Meta, l.prog.Std}
	for i, p := range inst.info.params {
		if n == 0 {
			if i == 0 {
				fr.vars[p.obj] = &operand{t: resolved(p.Type)}
				continue
			}
			i--
		}
		fr.vars[p.obj] = &operand{t: resolved(p.Type), x: &ir.VarRef{Var: shared[i]}, lv: true}
	}
	l.bindCtor(inst, fr)
	l.frame, l.out = fr, &k.Body.Body
	l.try(func() { l.controlBody(inst) })
	return k
}

// newVar makes a local of the block being built, with a name of its own.
func (l *lowerer) newVar(name string, t Type, span diag.Span) *ir.Var {
	v := &ir.Var{Name: l.unique(name), Type: l.types.lower(t), Span: span}
	if l.blk.control != nil {
		l.blk.control.Locals = append(l.blk.control.Locals, v)
	} else {
		l.blk.parser.Locals = append(l.blk.parser.Locals, v)
	}
	return v
}

func (l *lowerer) unique(name string) string { return l.blk.names.take(name) }

// nameSet hands out names that differ from each other.
type nameSet struct {
	used map[string]bool
	next map[string]int // the number to try next, by name
}

func newNameSet(taken ...string) *nameSet {
	s := &nameSet{used: map[string]bool{}, next: map[string]int{}}
	for _, n := range taken {
		s.used[n] = true
	}
	return s
}

// take returns name, or name_0, name_1, … when it is taken.
func (s *nameSet) take(name string) string {
	n := name
	for s.used[n] {
		n = fmt.Sprintf("%s_%d", name, s.next[name])
		s.next[name]++
	}
	s.used[n] = true
	return n
}

// temp makes a variable for a result of type t.
func (l *lowerer) temp(name string, t Type, span diag.Span) *operand {
	v := l.newVar(name, t, span)
	l.temps[v] = true
	return &operand{t: resolved(t), x: &ir.VarRef{Var: v, Span: span}, lv: true}
}

func (l *lowerer) emit(s ir.Stmt) { *l.out = append(*l.out, s) }

// collect gives the statements that f emits.
func (l *lowerer) collect(f func()) []ir.Stmt {
	outer := l.out
	var list []ir.Stmt
	l.out = &list
	f()
	l.out = outer
	return list
}

// labelled lowers what f emits as a block that can be left. Where nothing leaves it,
// its statements stand by themselves.
func (l *lowerer) labelled(b *ir.Block, f func()) {
	b.Body = l.collect(f)
	if l.left[b] || len(b.Annotations) > 0 {
		l.emit(b)
		return
	}
	*l.out = append(*l.out, b.Body...)
}

func (l *lowerer) leave(b *ir.Block, span diag.Span) {
	l.left[b] = true
	l.emit(&ir.Leave{Block: b, Span: span})
}

// find looks up what a name is bound to, from the innermost frame out.
func (l *lowerer) find(o *object) *operand {
	for f := l.frame; f != nil; f = f.lexical {
		if v, ok := f.vars[o]; ok {
			return v
		}
	}
	return nil
}

// known gives the compile-time value of a constructor parameter or of a parameter
// without a direction.
func (l *lowerer) known(o *object) Value {
	if op := l.find(o); op != nil && !op.lv {
		return op.value()
	}
	return nil
}

// subst puts the type arguments of the current body in.
func (l *lowerer) subst(t Type) Type {
	for f := l.frame; f != nil; f = f.lexical {
		if f.types != nil {
			t = f.types.apply(t)
		}
	}
	return resolved(t)
}

// typ is the type of an expression before its conversion.
func (l *lowerer) typ(e syntax.Expr) Type { return l.subst(l.info.types[e]) }

// annots lowers annotations.
func (l *lowerer) annots(as syntax.Annotations) ir.Annotations {
	var out ir.Annotations
	for _, a := range as {
		n := ir.Annotation{Name: a.Name.Text, Span: a.Span()}
		for i, t := range a.Tokens {
			if i > 0 {
				n.Body += " "
			}
			n.Body += t.Text
		}
		for _, e := range a.Exprs {
			switch v := l.annotValue(e).(type) {
			case IntVal:
				n.Args = append(n.Args, v.V.String())
			case StrVal:
				n.Args = append(n.Args, string(v))
			case BoolVal:
				n.Args = append(n.Args, fmt.Sprint(bool(v)))
			}
		}
		if a.Body == syntax.BodyStructured {
			n.Body = structuredBody(a)
			n.Structured = true
			for _, e := range a.Exprs {
				n.Values = append(n.Values, ir.AnnotationValue{Value: plainValue(l.annotValue(e))})
			}
			for _, f := range a.Fields {
				n.Values = append(n.Values, ir.AnnotationValue{Key: f.Name.Text, Value: plainValue(l.annotValue(f.Value))})
			}
		}
		out = append(out, n)
	}
	return out
}

// plainValue is a value of an annotation as the IR has it.
func plainValue(v Value) any {
	switch v := v.(type) {
	case IntVal:
		return v.V
	case StrVal:
		return string(v)
	case BoolVal:
		return bool(v)
	}
	return nil
}

// annotValue evaluates an expression in an annotation. Those of unknown annotations
// were not checked: they are evaluated only if they are literals.
func (l *lowerer) annotValue(e syntax.Expr) Value {
	if _, checked := l.info.types[e]; checked {
		return l.ev.value(e)
	}
	switch e := e.(type) {
	case *syntax.IntLit, *syntax.StringLit, *syntax.BoolLit:
		return l.ev.raw(e)
	}
	return nil
}

func structuredBody(a *syntax.Annotation) string {
	s := ""
	for i, e := range a.Exprs {
		if i > 0 {
			s += " , "
		}
		s += syntax.PrintExpr(e)
	}
	for i, f := range a.Fields {
		if i > 0 {
			s += " , "
		}
		s += f.Name.Text + " = " + syntax.PrintExpr(f.Value)
	}
	return s
}
