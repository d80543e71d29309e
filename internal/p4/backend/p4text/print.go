package p4text

import (
	"errors"
	"fmt"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// printer collects the text of a program.
type printer struct {
	prog   *ir.Program
	out    strings.Builder
	indent int
	errs   []error

	global *scope // names of types, instances and blocks
	types  map[ir.Type]string
	fields map[*ir.Field]string

	newtypes  map[string]newtype // by the names that the program has for them
	plain     map[*ir.Field]bool // fields that are printed without their newtype
	newParams map[*ir.Var]bool   // parameters of actions that are printed with theirs

	hdr  string // what the three variables are called everywhere
	meta string
	std  string

	shared map[*ir.Instance]bool // instances that several controls use
	flat   bool                  // tables have absolute names: see sharedActions
	objs   map[any]string        // names of instances, actions, tables, states, value sets
	vars   map[*ir.Var]string    // in the block at hand
	local  *scope
	hits   map[*ir.Var]*ir.Apply // of foldHits
	params map[string]bool       // names of parameters in the control at hand
	packet string                // the packet parameter of the parser or deparser
	loops  map[*ir.Loop]ir.Expr
	parser bool
	hoists map[ir.Stmt]hoisted // statements of the parser that functions stand for
}

// maxLine is where lines are broken, if they can be.
const maxLine = 100

// Print returns the text of a program; see the package comment. An error names what
// P4 cannot express; front end and passes make no such thing.
func Print(p *ir.Program) (string, error) {
	pr := &printer{
		prog: p, global: newScope(nil), types: map[ir.Type]string{}, fields: map[*ir.Field]string{},
		newtypes: map[string]newtype{}, newParams: map[*ir.Var]bool{},
		shared: map[*ir.Instance]bool{}, objs: map[any]string{},
	}
	pr.program()
	return pr.out.String(), errors.Join(pr.errs...)
}

func (pr *printer) fail(format string, args ...any) {
	pr.errs = append(pr.errs, fmt.Errorf(format, args...))
}

// line prints one line, wrapped if it is too long.
func (pr *printer) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if text == "" {
		pr.out.WriteByte('\n')
		return
	}
	pr.out.WriteString(wrap(text, 4*pr.indent, maxLine))
	pr.out.WriteByte('\n')
}

// open prints a line that ends in {, and indents what follows until close.
func (pr *printer) open(format string, args ...any) {
	pr.line(format+" {", args...)
	pr.indent++
}

func (pr *printer) close(tail string) {
	pr.indent--
	pr.line("}%s", tail)
}

func (pr *printer) program() {
	p := pr.prog
	pr.hdr, pr.meta, pr.std = pr.global.take(p.Hdr.Name), pr.global.take(p.Meta.Name), pr.global.take(p.Std.Name)
	pr.packet = pr.global.take("packet")
	pr.types[p.Std.Type] = "standard_metadata_t"
	pr.line("#define V1MODEL_VERSION 20200408")
	pr.line("#include <core.p4>")
	pr.line("#include <v1model.p4>")
	if usesFlowState(pr.prog) {
		pr.line("#include <flow_state.p4>")
	}
	pr.findPlain()
	pr.declareTypes()
	pr.sharedInstances()
	pr.flat = pr.sharedActions()
	names := []string{pr.global.take(p.Parser.Name)}
	for _, c := range p.Controls() {
		names = append(names, pr.global.take(c.Name))
	}
	pr.parserBlock(names[0])
	pr.control(names[1], p.VerifyChecksum, fmt.Sprintf("inout %s, inout %s", pr.param(p.Hdr), pr.param(p.Meta)))
	full := fmt.Sprintf("inout %s, inout %s, inout %s", pr.param(p.Hdr), pr.param(p.Meta), pr.param(p.Std))
	pr.control(names[2], p.Ingress, full)
	pr.control(names[3], p.Egress, full)
	pr.control(names[4], p.ComputeChecksum, fmt.Sprintf("inout %s, inout %s", pr.param(p.Hdr), pr.param(p.Meta)))
	pr.control(names[5], p.Deparser, fmt.Sprintf("packet_out %s, in %s", pr.packet, pr.param(p.Hdr)))
	for i := range names {
		names[i] += "()"
	}
	pr.line("")
	pr.annotationLines(p.Annotations)
	pr.line("V1Switch(%s) main;", strings.Join(names, ", "))
}

// param gives the type and name of one of the three variables.
func (pr *printer) param(v *ir.Var) string {
	name := map[*ir.Var]string{pr.prog.Hdr: pr.hdr, pr.prog.Meta: pr.meta, pr.prog.Std: pr.std}[v]
	return pr.typ(v.Type) + " " + name
}

// begin starts the names of a block: the three variables are visible in it.
func (pr *printer) begin() {
	pr.local = newScope(pr.global)
	pr.vars = map[*ir.Var]string{pr.prog.Hdr: pr.hdr, pr.prog.Meta: pr.meta, pr.prog.Std: pr.std}
	pr.loops = map[*ir.Loop]ir.Expr{}
	pr.params, pr.hits = nil, nil
}

func (pr *printer) nameVars(vs []*ir.Var) {
	for _, v := range vs {
		pr.vars[v] = pr.local.takeBut(v.Name, pr.params)
	}
}

func (pr *printer) declareVars(vs []*ir.Var) {
	for _, v := range vs {
		if pr.hits[v] != nil {
			continue
		}
		pr.annotationLines(v.Annotations)
		pr.line("%s %s;", pr.typ(v.Type), pr.vars[v])
	}
}

// control prints a control block.
func (pr *printer) control(name string, c *ir.Control, params string) {
	pr.begin()
	pr.line("")
	pr.annotationLines(c.Annotations)
	pr.open("control %s(%s)", name, params)
	pr.keepParams(c)
	for _, i := range c.Instances {
		pr.instance(name, i)
	}
	for _, a := range c.Actions {
		if !isNoAction(a) {
			pr.objs[a] = pr.local.take(a.Name)
		}
	}
	for _, t := range c.Tables {
		pr.objs[t] = pr.local.take(t.Name)
	}
	pr.nameVars(c.Locals)
	var bodies []restructured
	for _, a := range c.Actions {
		bodies = append(bodies, restructure(a.Body, true, pr.flagName))
	}
	var body []ir.Stmt
	switch {
	case c.Body == nil:
	case len(c.Body.Body) > 0 || len(c.Body.Annotations) > 0:
		body = []ir.Stmt{c.Body}
	}
	apply := restructure(body, true, pr.flagName)
	pr.hits = foldHits(c, apply.body)
	for v, a := range pr.hits {
		pr.vars[v] = pr.object(a.Table) + ".apply().hit"
	}
	pr.declareVars(c.Locals)
	for _, r := range append(bodies, apply) {
		pr.takeFlags(r)
		pr.declareFlags(r)
	}
	for i, a := range c.Actions {
		if !isNoAction(a) {
			pr.action(name, a, bodies[i].body)
		}
	}
	for _, t := range c.Tables {
		pr.table(name, t)
	}
	pr.open("apply")
	pr.stmts(apply.body)
	pr.close("")
	pr.close("")
}

// keepParams keeps the names of actions' parameters free, which the control plane
// knows: locals make way for them.
func (pr *printer) keepParams(c *ir.Control) {
	pr.params = map[string]bool{}
	for _, a := range c.Actions {
		for _, v := range a.Params {
			if n := identifier(v.Name); !pr.global.has(n) {
				pr.params[n] = true
			}
		}
	}
}

// flagName names a flag of restructure.
func (pr *printer) flagName(hint string) string { return pr.local.takeBut(hint, pr.params) }

// takeFlags makes the flags and loops of a body known.
func (pr *printer) takeFlags(r restructured) {
	for _, v := range r.flags {
		pr.vars[v] = v.Name
	}
	for l, cond := range r.loops {
		pr.loops[l] = cond
	}
}

func (pr *printer) declareFlags(r restructured) {
	for _, v := range r.flags {
		pr.line("bool %s;", v.Name)
	}
}

// isNoAction reports whether an action is core.p4's.
func isNoAction(a *ir.Action) bool {
	return a.FullName == "NoAction" && len(a.Params) == 0 && len(a.Body) == 0
}

func (pr *printer) object(o any) string {
	if a, ok := o.(*ir.Action); ok && isNoAction(a) {
		return "NoAction"
	}
	if n, ok := pr.objs[o]; ok {
		return n
	}
	pr.fail("%T is used but not declared in its block", o)
	return "unknown"
}
