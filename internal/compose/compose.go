package compose

import (
	"math/big"
	"slices"
	"strconv"

	"github.com/catena-nfv/catena/internal/chain"
	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
)

// NF is a program of the library under the name that chains call it by.
type NF struct {
	Name    string
	Program *ir.Program
}

// Options change what is composed.
type Options struct {
	// CopyTables gives every node tables of its own, for targets on which a
	// table can be applied in one place only. Replicas are called NF_2, NF_3, ….
	CopyTables bool
	// MinNodes is the number of nodes that the bitmap has room for at least, so
	// that later chains fit without another program. It is rounded up to 64.
	MinNodes int
}

// Composed is the result.
type Composed struct {
	Program *ir.Program
	// NodeBits is the width of the bitmap of nodes, in bits.
	NodeBits int
	// Prefixes has for every node of the graph the name in front of its tables,
	// e.g. "Firewall" for the table "Firewall.rules"; "" for a node without NF.
	Prefixes []string
}

// Names of what the composer adds, and of what it expects of a backbone.
const (
	HookAnnotation       = "hook"
	StandaloneAnnotation = "standalone"
	SharedAnnotation     = "shared"
	ScopeKey             = "scope"
	// ClassifierTable is the backbone's table that assigns chains.
	ClassifierTable = "classifier"
	// NodeCounter counts the packets that meet a node, by node ID.
	NodeCounter = "catena.nodes"
	// DropCounter counts the packets that a node drops.
	DropCounter = "catena.drops"

	dropPort = 511
)

// Compose joins the backbone with the NFs of a merged graph. nfs holds at least
// those that the graph names. The inputs are left as they are.
func Compose(backbone *ir.Program, nfs []NF, g chain.Graph, opt Options) (*Composed, diag.List) {
	c := &composer{opt: opt, graph: g}
	out := ir.Copy(backbone)
	c.out = out
	if !c.findSFC() || !c.findHook() {
		return nil, c.diags
	}
	out.Name = backbone.Name

	byName := map[string]*ir.Program{}
	for _, n := range nfs {
		byName[n.Name] = n.Program
	}
	c.unify = newUnifier(c, out)
	c.claimBackbone()
	blocks := map[string]*nfBlock{} // by prefix
	first := map[string]*nfBlock{}  // by NF
	prefixes := make([]string, len(g.Nodes))
	for i, node := range g.Nodes {
		if node.NF == chain.PreVisit {
			continue
		}
		p := byName[node.NF]
		if p == nil {
			c.errorf(diag.Span{}, "unknown NF %q", node.NF)
			continue
		}
		prefix := node.NF
		if opt.CopyTables && first[node.NF] != nil {
			prefix = fresh(node.NF+"_2", func(n string) bool { return blocks[n] != nil || byName[n] != nil })
		}
		prefixes[i] = prefix
		if blocks[prefix] == nil {
			blocks[prefix] = c.importNF(node.NF, prefix, p, first[node.NF])
			if first[node.NF] == nil {
				first[node.NF] = blocks[prefix]
			}
		}
	}
	if c.diags.HasErrors() {
		return nil, c.diags
	}
	c.setNodeBits()
	c.addCounters()
	loops := c.addLoops()
	c.fillHook(prefixes, blocks, loops)
	c.fillEgress(prefixes, blocks, loops)
	if c.diags.HasErrors() {
		return nil, c.diags
	}
	return &Composed{Program: out, NodeBits: c.nodeBits, Prefixes: prefixes}, c.diags
}

// composer is the state of one composition.
type composer struct {
	opt   Options
	graph chain.Graph
	out   *ir.Program
	unify *unifier
	diags diag.List

	hook     *ir.Block
	sfc      *ir.Field // of the metadata
	sfcType  *ir.Struct
	nodes    *ir.Field // of sfc_t
	scope    *ir.Field
	nodeBits int

	counters struct{ nodes, drops *ir.Instance }
	claimed  map[string]diag.Span // control-plane names, by kind and name
}

func (c *composer) errorf(at diag.Span, format string, args ...any) *diag.Diagnostic {
	return c.diags.Errorf(at, diag.ComposeConflict, format, args...)
}

// claim takes a control-plane name for an object, which no other of its kind may have.
func (c *composer) claim(kind, name string, at diag.Span) {
	if c.claimed == nil {
		c.claimed = map[string]diag.Span{}
	}
	key := kind + " " + name
	if other, taken := c.claimed[key]; taken {
		c.errorf(at, "the composed program would have two objects %q: rename this %s", name, kind).Note(other, "the other is declared here")
		return
	}
	c.claimed[key] = at
}

func (c *composer) claimBackbone() {
	shared := map[*ir.Instance]bool{} // both controls may use an object
	for _, k := range c.out.Controls() {
		for _, t := range k.Tables {
			c.claim("table", t.FullName, t.Span)
		}
		for _, i := range k.Instances {
			if !shared[i] {
				c.claim(string(i.Kind), i.FullName, i.Span)
			}
			shared[i] = true
		}
	}
	for _, v := range c.out.Parser.ValueSets {
		c.claim("value set", v.Name, v.Span)
	}
	c.claim(string(ir.KindCounter), NodeCounter, diag.Span{})
	c.claim(string(ir.KindCounter), DropCounter, diag.Span{})
}

// findSFC finds the member sfc of the backbone's metadata.
func (c *composer) findSFC() bool {
	for _, f := range ir.FieldsOf(c.out.Meta.Type) {
		if f.Name != "sfc" {
			continue
		}
		t, ok := f.Type.(*ir.Struct)
		if !ok {
			break
		}
		c.sfc, c.sfcType = f, t
		for _, g := range t.Fields {
			switch g.Name {
			case "nodes":
				c.nodes = g
			case "scope":
				c.scope = g
			}
		}
	}
	if c.nodes == nil || c.scope == nil {
		c.errorf(c.out.Meta.Span, "the backbone's metadata has no member `sfc` with fields `scope` and `nodes`")
		return false
	}
	return true
}

// findHook finds the block annotated @hook in the backbone's ingress.
func (c *composer) findHook() bool {
	ir.Walk(c.out.Ingress.Body.Body, func(s ir.Stmt) {
		b, ok := s.(*ir.Block)
		if !ok || !b.Annotations.Has(HookAnnotation) {
			return
		}
		if c.hook != nil {
			c.errorf(b.Span, "the backbone has a second block annotated @hook")
		}
		c.hook = b
	})
	if c.hook == nil {
		c.errorf(c.out.Ingress.Span, "the backbone's ingress has no block annotated @hook")
		return false
	}
	return len(c.diags) == 0
}

// setNodeBits makes the bitmap wide enough, in the metadata and in every action
// parameter that fills it.
func (c *composer) setNodeBits() {
	need := max(c.graph.Bits(), c.opt.MinNodes, 1)
	c.nodeBits = (need + 63) / 64 * 64
	if c.nodes.Type.String() == (&ir.Bits{Width: c.nodeBits}).String() {
		return
	}
	c.nodes.Type = &ir.Bits{Width: c.nodeBits}
	for _, k := range c.out.Controls() {
		c.widen(k.Body.Body, nil)
		for _, a := range k.Actions {
			c.widen(a.Body, a.Params)
		}
	}
}

// widen makes the parameters as wide as the bitmap that they are assigned to. No other
// use of the bitmap can be widened.
func (c *composer) widen(ss []ir.Stmt, params []*ir.Var) {
	ir.Walk(ss, func(s ir.Stmt) {
		as, ok := s.(*ir.Assign)
		if ok && isField(as.Dst, c.nodes) {
			if src, ok := as.Src.(*ir.VarRef); ok && slices.Contains(params, src.Var) {
				src.Var.Type = c.nodes.Type
				return
			}
		}
		ir.WalkExprs(s, func(e ir.Expr) {
			if isField(e, c.nodes) {
				c.errorf(e.Pos(), "the backbone uses the bitmap of nodes, which has %d bits here; only an action may set it, from a parameter", c.nodeBits)
			}
		})
	})
}

func isField(e ir.Expr, f *ir.Field) bool {
	m, ok := e.(*ir.Member)
	return ok && m.Field == f
}

func (c *composer) addCounters() {
	add := func(name string) *ir.Instance {
		i := &ir.Instance{
			Kind: ir.KindCounter, Name: name, FullName: name, Size: c.nodeBits,
			IndexWidth: 32, Unit: "packets_and_bytes",
		}
		c.out.Ingress.Instances = append(c.out.Ingress.Instances, i)
		return i
	}
	c.counters.nodes = add(NodeCounter)
	c.counters.drops = add(DropCounter)
}

func (c *composer) meta(f *ir.Field) ir.Expr {
	return &ir.Member{X: &ir.VarRef{Var: c.out.Meta}, Field: f}
}

func (c *composer) std(name string) ir.Expr {
	for _, f := range ir.FieldsOf(c.out.Std.Type) {
		if f.Name == name {
			return &ir.Member{X: &ir.VarRef{Var: c.out.Std}, Field: f}
		}
	}
	panic("compose: standard metadata has no field " + name)
}

func bits(width int, v int64) *ir.Const {
	return &ir.Const{T: &ir.Bits{Width: width}, Value: big.NewInt(v)}
}

// visits is the condition that the packet's chain visits a node.
func (c *composer) visits(node int) ir.Expr {
	bit := &ir.Slice{X: &ir.Member{X: c.meta(c.sfc), Field: c.nodes}, Hi: node, Lo: node}
	return &ir.Binary{Op: ir.Eq, X: bit, Y: bits(1, 1), T: &ir.Bool{}}
}

func (c *composer) dropped() ir.Expr {
	return &ir.Binary{Op: ir.Eq, X: c.std("egress_spec"), Y: bits(9, dropPort), T: &ir.Bool{}}
}

// fillHook puts the nodes at the hook, in the merged order.
func (c *composer) fillHook(prefixes []string, blocks map[string]*nfBlock, l *loops) {
	visited := map[*ir.Program]bool{}
	for i, prefix := range prefixes {
		b := blocks[prefix]
		if b == nil {
			continue
		}
		id := c.graph.Nodes[i].ID
		body := []ir.Stmt{&ir.Call{Op: ir.OpCount, Inst: c.counters.nodes, Args: []ir.Expr{bits(32, int64(id))}}}
		if visited[b.program] {
			body = append(body, b.reset()...)
		}
		visited[b.program] = true
		if b.egress {
			body = append(body, &ir.Assign{Dst: c.sfcField(c.metField(id)), Src: bits(1, 1)})
		}
		body = append(body, b.ingressCopy())
		if b.drops {
			body = append(body, &ir.If{Cond: c.dropped(), Then: []ir.Stmt{
				&ir.Call{Op: ir.OpCount, Inst: c.counters.drops, Args: []ir.Expr{bits(32, int64(id))}},
				&ir.Leave{Block: c.hook},
			}})
		}
		if l != nil {
			body = append(body, c.loopBack(l, id)...)
		}
		c.hook.Body = append(c.hook.Body, &ir.If{Cond: c.visits(id), Then: body})
	}
}

// metField returns the flag that says that the packet has met a node: the egress of
// the node's NF is only for such packets. The bitmap of nodes does not tell: it holds
// those behind a loop, too.
func (c *composer) metField(id int) *ir.Field {
	name := "met" + strconv.Itoa(id)
	if f := c.sfcNamed(name); f != nil {
		return f
	}
	f := &ir.Field{Name: name, Type: &ir.Bits{Width: 1}}
	c.sfcType.Fields = append(c.sfcType.Fields, f)
	return f
}

// fillEgress puts the egress parts of the NFs behind the backbone's.
func (c *composer) fillEgress(prefixes []string, blocks map[string]*nfBlock, l *loops) {
	// A return or exit of the backbone's egress ends its own part only.
	own := c.out.Egress.Body
	part := &ir.Block{Span: own.Span}
	cp := &ir.Copier{Stmt: func(s ir.Stmt) ([]ir.Stmt, bool) {
		e, ok := s.(*ir.Exit)
		if !ok {
			return nil, false
		}
		return []ir.Stmt{&ir.Leave{Block: part, Span: e.Span}}, true
	}}
	part.Body = []ir.Stmt{cp.CopyBlock(own)}
	c.out.Egress.Body = &ir.Block{Body: []ir.Stmt{part}, Span: own.Span}
	for i, prefix := range prefixes {
		b := blocks[prefix]
		if b == nil || !b.egress {
			continue
		}
		met := c.compare(ir.Eq, c.sfcField(c.metField(c.graph.Nodes[i].ID)), 1)
		c.out.Egress.Body.Body = append(c.out.Egress.Body.Body, &ir.If{Cond: met, Then: []ir.Stmt{b.egressCopy()}})
	}
	if l != nil {
		c.out.Egress.Body.Body = append(c.out.Egress.Body.Body, c.recirculate(l))
	}
}
