package ir

// Copier makes deep copies of statements and expressions, so that no node is
// shared with the original. The maps say what stands for what; a thing that is in
// no map stands for itself. Blocks are copied with their Leaves; a Leave of a
// block outside the copied part needs an entry in Blocks.
type Copier struct {
	Vars      map[*Var]*Var
	Fields    map[*Field]*Field
	Types     map[Type]Type // named types and stacks
	Actions   map[*Action]*Action
	Tables    map[*Table]*Table
	Instances map[*Instance]*Instance
	ValueSets map[*ValueSet]*ValueSet
	States    map[*State]*State
	Blocks    map[*Block]*Block

	// Expr, when not nil, sees every expression after its operands were copied
	// and may give another in its place.
	Expr func(Expr) Expr
	// Stmt, when not nil, may replace a statement of the original (and copy its
	// parts itself); it returns false to have it copied as it is.
	Stmt func(Stmt) ([]Stmt, bool)
}

func mapped[K comparable](m map[K]K, k K) K {
	if v, ok := m[k]; ok {
		return v
	}
	return k
}

// CopyType returns what stands for a type.
func (c *Copier) CopyType(t Type) Type {
	if to, ok := c.Types[t]; ok {
		return to
	}
	switch t := t.(type) {
	case *Stack:
		return &Stack{Elem: c.CopyType(t.Elem), Size: t.Size}
	case *Bits:
		return &Bits{Width: t.Width, Signed: t.Signed}
	}
	return t
}

// CopyConst returns a copy of a literal, nil for nil.
func (c *Copier) CopyConst(k *Const) *Const {
	if k == nil {
		return nil
	}
	n := *k
	n.T = c.CopyType(k.T)
	if c.Expr != nil {
		if r, ok := c.Expr(&n).(*Const); ok {
			return r
		}
	}
	return &n
}

// CopyExpr returns a copy of an expression, nil for nil.
func (c *Copier) CopyExpr(e Expr) Expr {
	if e == nil {
		return nil
	}
	out := c.copyExpr(e)
	if c.Expr != nil {
		out = c.Expr(out)
	}
	return out
}

func (c *Copier) copyExpr(e Expr) Expr {
	switch e := e.(type) {
	case *Const:
		n := *e
		n.T = c.CopyType(e.T)
		return &n
	case *StringLit:
		n := *e
		return &n
	case *VarRef:
		return &VarRef{Var: mapped(c.Vars, e.Var), Span: e.Span}
	case *Member:
		return &Member{X: c.CopyExpr(e.X), Field: mapped(c.Fields, e.Field), Span: e.Span}
	case *Index:
		return &Index{X: c.CopyExpr(e.X), I: c.CopyExpr(e.I), Span: e.Span}
	case *Slice:
		return &Slice{X: c.CopyExpr(e.X), Hi: e.Hi, Lo: e.Lo, Span: e.Span}
	case *Unary:
		return &Unary{Op: e.Op, X: c.CopyExpr(e.X), Span: e.Span}
	case *Binary:
		return &Binary{Op: e.Op, X: c.CopyExpr(e.X), Y: c.CopyExpr(e.Y), T: c.CopyType(e.T), Span: e.Span}
	case *Cast:
		return &Cast{T: c.CopyType(e.T), X: c.CopyExpr(e.X), Span: e.Span}
	case *Mux:
		return &Mux{Cond: c.CopyExpr(e.Cond), Then: c.CopyExpr(e.Then), Else: c.CopyExpr(e.Else), Span: e.Span}
	case *IsValid:
		return &IsValid{X: c.CopyExpr(e.X), Span: e.Span}
	case *StackIndex:
		return &StackIndex{X: c.CopyExpr(e.X), Last: e.Last, Span: e.Span}
	case *Tuple:
		t, _ := c.CopyType(e.T).(*Struct)
		return &Tuple{T: t, Elems: c.CopyExprs(e.Elems), Span: e.Span}
	}
	panic("ir: unknown expression")
}

// CopyExprs copies a list of expressions.
func (c *Copier) CopyExprs(es []Expr) []Expr {
	if es == nil {
		return nil
	}
	out := make([]Expr, len(es))
	for i, e := range es {
		out[i] = c.CopyExpr(e)
	}
	return out
}

// CopyStmts copies a list of statements.
func (c *Copier) CopyStmts(ss []Stmt) []Stmt {
	if ss == nil {
		return nil
	}
	out := make([]Stmt, 0, len(ss))
	for _, s := range ss {
		out = append(out, c.copyStmt(s)...)
	}
	return out
}

// CopyBlock copies a block and its Leaves.
func (c *Copier) CopyBlock(b *Block) *Block {
	n := &Block{Name: b.Name, Annotations: b.Annotations, Span: b.Span}
	if c.Blocks == nil {
		c.Blocks = map[*Block]*Block{}
	}
	outer, nested := c.Blocks[b]
	c.Blocks[b] = n
	n.Body = c.CopyStmts(b.Body)
	if nested {
		c.Blocks[b] = outer
	} else {
		delete(c.Blocks, b)
	}
	return n
}

func (c *Copier) copyStmt(s Stmt) []Stmt {
	if c.Stmt != nil {
		if out, ok := c.Stmt(s); ok {
			return out
		}
	}
	switch s := s.(type) {
	case *Assign:
		return []Stmt{&Assign{Dst: c.CopyExpr(s.Dst), Src: c.CopyExpr(s.Src), Span: s.Span}}
	case *If:
		return []Stmt{&If{Cond: c.CopyExpr(s.Cond), Then: c.CopyStmts(s.Then), Else: c.CopyStmts(s.Else), Span: s.Span}}
	case *Switch:
		n := &Switch{X: c.CopyExpr(s.X), Default: c.CopyStmts(s.Default), Span: s.Span}
		for _, k := range s.Cases {
			values := make([]*Const, len(k.Values))
			for i, v := range k.Values {
				values[i] = c.CopyConst(v)
			}
			n.Cases = append(n.Cases, SwitchCase{Values: values, Body: c.CopyStmts(k.Body)})
		}
		return []Stmt{n}
	case *Apply:
		n := &Apply{Table: mapped(c.Tables, s.Table), Hit: c.CopyExpr(s.Hit), Span: s.Span}
		for _, k := range s.Cases {
			actions := make([]*Action, len(k.Actions))
			for i, a := range k.Actions {
				actions[i] = mapped(c.Actions, a)
			}
			n.Cases = append(n.Cases, ApplyCase{Actions: actions, Default: k.Default, Body: c.CopyStmts(k.Body)})
		}
		return []Stmt{n}
	case *Call:
		return []Stmt{&Call{Op: s.Op, Inst: mapped(c.Instances, s.Inst), Args: c.CopyExprs(s.Args), Dst: c.CopyExpr(s.Dst), Span: s.Span}}
	case *Block:
		return []Stmt{c.CopyBlock(s)}
	case *Leave:
		return []Stmt{&Leave{Block: mapped(c.Blocks, s.Block), Span: s.Span}}
	case *Loop:
		return []Stmt{&Loop{Body: c.CopyStmts(s.Body), Span: s.Span}}
	case *Exit:
		return []Stmt{&Exit{Span: s.Span}}
	}
	panic("ir: unknown statement")
}

// CopyVar returns a new variable like v, and makes it stand for v.
func (c *Copier) CopyVar(v *Var) *Var {
	n := *v
	n.Type = c.CopyType(v.Type)
	if c.Vars == nil {
		c.Vars = map[*Var]*Var{}
	}
	c.Vars[v] = &n
	return &n
}

// CopyInstance returns a new instance like i, and makes it stand for i. One that is
// declared outside of the controls belongs to each control that uses it: it is copied
// once.
func (c *Copier) CopyInstance(i *Instance) *Instance {
	if n, ok := c.Instances[i]; ok {
		return n
	}
	n := *i
	if i.Elem != nil {
		n.Elem = c.CopyType(i.Elem)
	}
	if c.Instances == nil {
		c.Instances = map[*Instance]*Instance{}
	}
	c.Instances[i] = &n
	return &n
}

// CopyAction returns a copy of an action, and makes it stand for a.
func (c *Copier) CopyAction(a *Action) *Action {
	n := *a
	n.Params = make([]*Var, len(a.Params))
	for i, p := range a.Params {
		n.Params[i] = c.CopyVar(p)
	}
	n.Body = c.CopyStmts(a.Body)
	if c.Actions == nil {
		c.Actions = map[*Action]*Action{}
	}
	c.Actions[a] = &n
	return &n
}

// CopyTable returns a copy of a table, and makes it stand for t. Its actions and
// instances were copied before.
func (c *Copier) CopyTable(t *Table) *Table {
	n := *t
	n.Keys = make([]*Key, len(t.Keys))
	for i, k := range t.Keys {
		m := *k
		m.X, m.Type = c.CopyExpr(k.X), c.CopyType(k.Type)
		n.Keys[i] = &m
	}
	n.Actions = make([]*TableAction, len(t.Actions))
	for i, a := range t.Actions {
		m := *a
		m.Action = mapped(c.Actions, a.Action)
		n.Actions[i] = &m
	}
	n.Default = c.copyActionCall(t.Default)
	n.Entries = make([]*Entry, len(t.Entries))
	for i, e := range t.Entries {
		m := *e
		m.Action = c.copyActionCall(e.Action)
		m.Keys = append([]Keyset(nil), e.Keys...)
		n.Entries[i] = &m
	}
	n.Impl, n.Counter, n.Meter = mapped(c.Instances, t.Impl), mapped(c.Instances, t.Counter), mapped(c.Instances, t.Meter)
	if c.Tables == nil {
		c.Tables = map[*Table]*Table{}
	}
	c.Tables[t] = &n
	return &n
}

func (c *Copier) copyActionCall(a *ActionCall) *ActionCall {
	if a == nil {
		return nil
	}
	n := &ActionCall{Action: mapped(c.Actions, a.Action), Span: a.Span}
	for _, k := range a.Args {
		n.Args = append(n.Args, c.CopyConst(k))
	}
	return n
}

// CopyControl returns a copy of a whole control.
func (c *Copier) CopyControl(k *Control) *Control {
	n := &Control{Name: k.Name, Annotations: k.Annotations, Span: k.Span}
	for _, v := range k.Locals {
		n.Locals = append(n.Locals, c.CopyVar(v))
	}
	for _, i := range k.Instances {
		n.Instances = append(n.Instances, c.CopyInstance(i))
	}
	for _, a := range k.Actions {
		n.Actions = append(n.Actions, c.CopyAction(a))
	}
	for _, t := range k.Tables {
		n.Tables = append(n.Tables, c.CopyTable(t))
	}
	n.Body = c.CopyBlock(k.Body)
	return n
}

// CopyParser returns a copy of a whole parser.
func (c *Copier) CopyParser(p *Parser) *Parser {
	n := &Parser{Name: p.Name, Span: p.Span}
	for _, v := range p.Locals {
		n.Locals = append(n.Locals, c.CopyVar(v))
	}
	if c.ValueSets == nil {
		c.ValueSets = map[*ValueSet]*ValueSet{}
	}
	for _, v := range p.ValueSets {
		m := *v
		m.Fields = make([]*Key, len(v.Fields))
		for i, k := range v.Fields {
			f := *k
			f.Type = c.CopyType(k.Type)
			m.Fields[i] = &f
		}
		c.ValueSets[v] = &m
		n.ValueSets = append(n.ValueSets, &m)
	}
	if c.States == nil {
		c.States = map[*State]*State{}
	}
	for _, s := range p.States {
		c.States[s] = &State{Name: s.Name, Annotations: s.Annotations, Span: s.Span}
	}
	for _, s := range p.States {
		m := c.States[s]
		m.Body = c.CopyStmts(s.Body)
		m.Next = c.copyTransition(s.Next)
		n.States = append(n.States, m)
	}
	return n
}

func (c *Copier) copyTransition(t Transition) Transition {
	n := Transition{Select: c.CopyExprs(t.Select), Span: t.Span}
	for _, k := range t.Cases {
		n.Cases = append(n.Cases, SelectCase{Keys: c.CopyKeysets(k.Keys), Next: mapped(c.States, k.Next), Span: k.Span})
	}
	return n
}

// CopyKeysets copies the keysets of a select case.
func (c *Copier) CopyKeysets(ks []Keyset) []Keyset {
	out := make([]Keyset, len(ks))
	for i, k := range ks {
		if s, ok := k.(*KeySet); ok {
			k = &KeySet{Set: mapped(c.ValueSets, s.Set), Part: s.Part}
		}
		out[i] = k
	}
	return out
}

// Copy returns a deep copy of a program: changing one leaves the other as it is.
// Named types are shared.
func Copy(p *Program) *Program {
	c := &Copier{}
	n := *p
	n.Enums = append([]*Enum(nil), p.Enums...)
	n.SerEnums = append([]*SerEnum(nil), p.SerEnums...)
	n.Headers = append([]*Header(nil), p.Headers...)
	n.Unions = append([]*Union(nil), p.Unions...)
	n.Structs = append([]*Struct(nil), p.Structs...)
	n.Newtypes = append([]*Newtype(nil), p.Newtypes...)
	n.Errors = append([]string(nil), p.Errors...)
	n.Hdr, n.Meta, n.Std = c.CopyVar(p.Hdr), c.CopyVar(p.Meta), c.CopyVar(p.Std)
	n.Parser = c.CopyParser(p.Parser)
	n.VerifyChecksum = c.CopyControl(p.VerifyChecksum)
	n.Ingress = c.CopyControl(p.Ingress)
	n.Egress = c.CopyControl(p.Egress)
	n.ComputeChecksum = c.CopyControl(p.ComputeChecksum)
	n.Deparser = c.CopyControl(p.Deparser)
	return &n
}
