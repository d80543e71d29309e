package compose

import (
	"math/big"
	"slices"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// nfBlock is an NF as a part of the composed program: its tables, actions and
// extern objects are there once, its bodies are copied for each node.
type nfBlock struct {
	c       *composer
	prefix  string
	program *ir.Program
	copier  *ir.Copier // of both controls
	drops   bool       // a packet may leave its ingress dropped
	egress  bool       // its egress does something
}

// importNF adds an NF under a prefix: what all its nodes share. of is the block of the
// same program that is there already, for a copy of its tables; else nil.
func (c *composer) importNF(name, prefix string, p *ir.Program, of *nfBlock) *nfBlock {
	m := c.unify.program(name, p)
	b := &nfBlock{
		c: c, prefix: prefix, program: p, copier: c.unify.copier(p, m),
		drops: canDrop(p.Ingress), egress: len(kept(p.Egress.Body.Body)) > 0,
	}
	if of == nil {
		c.checkUse(name, p, b.egress)
		c.mergeParser(name, p, c.unify.copier(p, m), m)
		c.mergeDeparser(name, p, c.unify.copier(p, m), m)
		c.mergeChecksums(name, p.VerifyChecksum, c.out.VerifyChecksum, c.unify.copier(p, m))
		c.mergeChecksums(name, p.ComputeChecksum, c.out.ComputeChecksum, c.unify.copier(p, m))
	} else {
		// Tables and what belongs to one table are copied; state stays one.
		b.copier.Instances = map[*ir.Instance]*ir.Instance{}
		for from, to := range of.copier.Instances {
			switch from.Kind {
			case ir.KindCounter, ir.KindMeter, ir.KindRegister, ir.KindDigest, ir.KindFlowState:
				b.copier.Instances[from] = to
			}
		}
	}
	c.importControl(b, p.Ingress, c.out.Ingress)
	c.importControl(b, p.Egress, c.out.Egress)
	return b
}

// checkUse refuses what an NF cannot do in a chain.
func (c *composer) checkUse(name string, p *ir.Program, egress bool) {
	for _, k := range []*ir.Control{p.Ingress, p.Egress} {
		for _, a := range k.Actions {
			ir.Walk(a.Body, func(s ir.Stmt) {
				if e, ok := s.(*ir.Exit); ok {
					c.errorf(e.Span, "%s: exit in action %s would end the whole chain; use return in the control", name, a.Name)
				}
			})
		}
	}
	members := map[ir.Expr]bool{} // variables of which a member is used
	for _, s := range allStmts(p) {
		if call, ok := s.(*ir.Call); ok {
			switch call.Op {
			case ir.OpResubmit, ir.OpRecirculate:
				c.errorf(call.Span, "%s: the packet would start its whole chain again; leave this to the primitive `loop` of chain requests", name)
			case ir.OpClone, ir.OpClonePreserving:
				if egress {
					c.errorf(call.Span, "%s: a clone has left the chain, so the egress of the NF would not see it; clone in a program without egress", name)
				}
			}
		}
		ir.WalkExprs(s, func(e ir.Expr) {
			switch e := e.(type) {
			case *ir.Member:
				members[e.X] = true
			case *ir.VarRef:
				if (e.Var == p.Meta || e.Var == p.Hdr) && !members[e] {
					c.errorf(s.Pos(), "%s: %s cannot be used as a whole in a program that is composed; use its members", name, e.Var.Name)
				}
			}
		})
	}
}

// allStmts returns all statements of a program's parser, controls and actions that
// become part of a composed program.
func allStmts(p *ir.Program) []ir.Stmt {
	var out []ir.Stmt
	add := func(s ir.Stmt) { out = append(out, s) }
	for _, s := range p.Parser.States {
		ir.Walk(s.Body, add)
	}
	for _, k := range p.Controls() {
		ir.Walk(kept(k.Body.Body), add)
		for _, a := range k.Actions {
			ir.Walk(a.Body, add)
		}
	}
	return out
}

// importControl adds what an NF's control declares to a control of the composed
// program.
func (c *composer) importControl(b *nfBlock, from, to *ir.Control) {
	cp := b.copier
	for _, v := range from.Locals {
		n := cp.CopyVar(v)
		n.Name = fresh(b.prefix+"_"+v.Name, func(n string) bool {
			return slices.ContainsFunc(to.Locals, func(v *ir.Var) bool { return v.Name == n })
		})
		to.Locals = append(to.Locals, n)
	}
	for _, i := range from.Instances {
		n, known := cp.Instances[i]
		if !known {
			n = b.importInstance(from, i)
		}
		if !slices.Contains(to.Instances, n) {
			to.Instances = append(to.Instances, n)
		}
	}
	for _, a := range from.Actions {
		if a.FullName == noAction {
			if i := slices.IndexFunc(to.Actions, func(a *ir.Action) bool { return a.FullName == noAction }); i >= 0 {
				mapAction(cp, a, to.Actions[i])
				continue
			}
		}
		n := cp.CopyAction(a)
		if a.FullName != noAction {
			n.Name = fresh(b.prefix+"_"+a.Name, func(n string) bool {
				return slices.ContainsFunc(to.Actions, func(a *ir.Action) bool { return a.Name == n })
			})
			n.FullName = FullName(b.prefix, from.Name, a.FullName)
			if !declaredOutside(b.program, a) {
				c.claim("action", n.FullName, a.Span)
			}
		}
		to.Actions = append(to.Actions, n)
	}
	for _, t := range from.Tables {
		n := cp.CopyTable(t)
		n.Name = fresh(b.prefix+"_"+t.Name, func(n string) bool {
			return slices.ContainsFunc(to.Tables, func(t *ir.Table) bool { return t.Name == n })
		})
		n.FullName = FullName(b.prefix, from.Name, t.FullName)
		c.claim("table", n.FullName, t.Span)
		if len(n.Entries) == 0 {
			n.Keys = append([]*ir.Key{c.scopeKey()}, n.Keys...)
		}
		to.Tables = append(to.Tables, n)
	}
}

// importInstance copies an extern object. A digest is known to the control plane by
// its struct: one that another NF sends, too, is the same.
func (b *nfBlock) importInstance(from *ir.Control, i *ir.Instance) *ir.Instance {
	n := b.copier.CopyInstance(i)
	if i.Kind != ir.KindDigest {
		n.Name = b.c.instanceName(b.prefix + "_" + i.Name)
		n.FullName = FullName(b.prefix, from.Name, i.FullName)
		b.c.claim(string(i.Kind), n.FullName, i.Span)
		return n
	}
	for _, k := range b.c.out.Controls() {
		for _, have := range k.Instances {
			if have.Kind == ir.KindDigest && ir.Equal(have.Elem, n.Elem) {
				b.copier.Instances[i] = have
				return have
			}
		}
	}
	n.FullName = n.Elem.String()
	n.Name = b.c.instanceName(n.FullName)
	return n
}

// instanceName returns a name for an extern object that none of the program has.
func (c *composer) instanceName(want string) string {
	return fresh(want, func(n string) bool {
		for _, k := range c.out.Controls() {
			if slices.ContainsFunc(k.Instances, func(i *ir.Instance) bool { return i.Name == n }) {
				return true
			}
		}
		return false
	})
}

func mapAction(cp *ir.Copier, from, to *ir.Action) {
	if cp.Actions == nil {
		cp.Actions = map[*ir.Action]*ir.Action{}
	}
	cp.Actions[from] = to
}

// noAction is the action of core.p4, which is one for all.
const noAction = "NoAction"

// declaredOutside reports whether an action belongs to both controls of a program.
func declaredOutside(p *ir.Program, a *ir.Action) bool {
	same := func(o *ir.Action) bool { return o.FullName == a.FullName && o.Span == a.Span }
	return slices.ContainsFunc(p.Ingress.Actions, same) && slices.ContainsFunc(p.Egress.Actions, same)
}

// FullName is the control-plane name in the composed program of what is called name in
// a block (control or parser) of an NF: the prefix takes the place of the block's name.
func FullName(prefix, block, name string) string {
	if name == noAction {
		return name
	}
	return prefix + "." + strings.TrimPrefix(name, block+".")
}

// scopeKey is the key that keeps the rules of scopes apart. Tables whose entries
// the program itself gives have none: their entries are for all.
func (c *composer) scopeKey() *ir.Key {
	return &ir.Key{
		X:    &ir.Member{X: c.meta(c.sfc), Field: c.scope},
		Type: c.scope.Type, Match: ir.MatchExact, Name: ScopeKey,
	}
}

// ingressCopy returns the NF's ingress for one node.
func (b *nfBlock) ingressCopy() ir.Stmt { return b.bodyCopy(b.program.Ingress.Body) }

func (b *nfBlock) egressCopy() ir.Stmt { return b.bodyCopy(b.program.Egress.Body) }

// bodyCopy copies a body; an exit ends it, and not what stands behind it.
func (b *nfBlock) bodyCopy(body *ir.Block) ir.Stmt {
	out := &ir.Block{Name: b.prefix, Span: body.Span}
	b.copier.Stmt = func(s ir.Stmt) ([]ir.Stmt, bool) {
		if e, ok := s.(*ir.Exit); ok {
			return []ir.Stmt{&ir.Leave{Block: out, Span: e.Span}}, true
		}
		return withoutStandalone(s)
	}
	out.Body = []ir.Stmt{b.copier.CopyBlock(body)}
	return out
}

// reset returns the statements that give a further node of the NF what the first
// one found: locals and metadata of zero, but for what the parser has set.
func (b *nfBlock) reset() []ir.Stmt {
	var out []ir.Stmt
	for _, v := range b.program.Ingress.Locals {
		out = append(out, zero(b.copier.CopyExpr(&ir.VarRef{Var: v}))...)
	}
	parsed := map[*ir.Field]bool{}
	for _, s := range b.program.Parser.States {
		ir.Walk(s.Body, func(s ir.Stmt) {
			for _, dst := range targets(s) {
				if f := metaField(dst, b.program.Meta); f != nil {
					parsed[f] = true
				}
			}
		})
	}
	for _, f := range ir.FieldsOf(b.program.Meta.Type) {
		if f.Annotations.Has(SharedAnnotation) || parsed[f] {
			continue
		}
		out = append(out, zero(b.copier.CopyExpr(&ir.Member{X: &ir.VarRef{Var: b.program.Meta}, Field: f}))...)
	}
	return out
}

// targets returns the lvalues that a statement changes.
func targets(s ir.Stmt) []ir.Expr {
	switch s := s.(type) {
	case *ir.Assign:
		return []ir.Expr{s.Dst}
	case *ir.Call:
		if s.Dst != nil {
			return []ir.Expr{s.Dst}
		}
		if len(s.Args) > 0 {
			switch s.Op {
			case ir.OpSetValid, ir.OpSetInvalid, ir.OpPushFront, ir.OpPopFront:
				return s.Args[:1]
			}
		}
	}
	return nil
}

// metaField returns the member of variable v that an lvalue is (part of).
func metaField(e ir.Expr, v *ir.Var) *ir.Field {
	switch e := e.(type) {
	case *ir.Member:
		if r, ok := e.X.(*ir.VarRef); ok && r.Var == v {
			return e.Field
		}
		return metaField(e.X, v)
	case *ir.Index:
		return metaField(e.X, v)
	case *ir.Slice:
		return metaField(e.X, v)
	}
	return nil
}

// zero returns the statements that make an lvalue as it is at the beginning.
func zero(e ir.Expr) []ir.Stmt {
	switch t := e.Type().(type) {
	case *ir.Struct:
		var out []ir.Stmt
		for _, f := range t.Fields {
			out = append(out, zero(&ir.Member{X: e, Field: f})...)
		}
		return out
	case *ir.Header, *ir.Union:
		return []ir.Stmt{&ir.Call{Op: ir.OpSetInvalid, Args: []ir.Expr{e}}}
	case *ir.Stack:
		return []ir.Stmt{&ir.Call{Op: ir.OpPopFront, Args: []ir.Expr{e, bits(32, int64(t.Size))}}}
	case *ir.Varbit:
		return nil
	}
	return []ir.Stmt{&ir.Assign{Dst: e, Src: &ir.Const{T: e.Type(), Value: new(big.Int)}}}
}

// canDrop reports whether a packet may leave the control with egress_spec set to
// the drop port.
func canDrop(k *ir.Control) bool {
	drops := false
	look := func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.Call:
			drops = drops || s.Op == ir.OpMarkToDrop
		case *ir.Assign:
			if m, ok := s.Dst.(*ir.Member); ok && m.Field.Name == "egress_spec" {
				drops = true
			}
		}
	}
	ir.Walk(kept(k.Body.Body), look)
	for _, a := range k.Actions {
		ir.Walk(a.Body, look)
	}
	return drops
}

// kept returns statements without what only the stand-alone program does.
func kept(ss []ir.Stmt) []ir.Stmt {
	return (&ir.Copier{Stmt: withoutStandalone}).CopyStmts(ss)
}

// withoutStandalone is a Copier's Stmt that leaves out blocks annotated @standalone.
func withoutStandalone(s ir.Stmt) ([]ir.Stmt, bool) {
	b, ok := s.(*ir.Block)
	return nil, ok && b.Annotations.Has(StandaloneAnnotation)
}
