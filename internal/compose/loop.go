package compose

import (
	"math/big"
	"strconv"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
)

// loopList is the index of the field list that a packet keeps when it starts its
// chain again.
const loopList = 200

// loops is what the primitive `loop` adds: after a node that loops, the packet is
// recirculated with its chain and a count of how often that happened, which ends
// it (paper 003, Table I).
type loops struct {
	count *ir.Field // in sfc_t: passes so far
	again *ir.Field // in sfc_t: the packet is to be recirculated
	port  *ir.Field // in sfc_t: the port that the packet came from
}

// addLoops prepares the program if any chain of the graph loops.
func (c *composer) addLoops() *loops {
	any := false
	for _, k := range c.graph.Chains {
		any = any || len(k.Loops) > 0
	}
	if !any {
		return nil
	}
	for _, f := range c.sfcType.Fields {
		f.Annotations = append(f.Annotations[:len(f.Annotations):len(f.Annotations)], keepInLoop())
	}
	field := func(name string, width int, kept bool) *ir.Field {
		f := &ir.Field{Name: name, Type: &ir.Bits{Width: width}}
		if kept {
			f.Annotations = ir.Annotations{keepInLoop()}
		}
		c.sfcType.Fields = append(c.sfcType.Fields, f)
		return f
	}
	l := &loops{count: field("loops", 8, true), again: field("again", 1, false), port: field("port", 9, true)}
	c.skipClassifier(l)
	// What recirculated came from a port all the same.
	c.out.Ingress.Body = &ir.Block{Span: c.out.Ingress.Body.Span, Body: []ir.Stmt{
		&ir.If{Cond: c.compare(ir.Ne, c.sfcField(l.count), 0), Then: []ir.Stmt{
			&ir.Assign{Dst: c.std("ingress_port"), Src: c.sfcField(l.port)},
		}},
		c.out.Ingress.Body,
	}}
	return l
}

func keepInLoop() ir.Annotation {
	n := strconv.Itoa(loopList)
	return ir.Annotation{Name: "field_list", Body: n, Args: []string{n}}
}

func (c *composer) sfcField(f *ir.Field) ir.Expr {
	return &ir.Member{X: c.meta(c.sfc), Field: f}
}

func (c *composer) compare(op ir.BinaryOp, x ir.Expr, v int64) ir.Expr {
	return &ir.Binary{Op: op, X: x, Y: &ir.Const{T: x.Type(), Value: big.NewInt(v)}, T: &ir.Bool{}}
}

func (c *composer) and(x, y ir.Expr) ir.Expr {
	return &ir.Binary{Op: ir.AndAnd, X: x, Y: y, T: &ir.Bool{}}
}

// skipClassifier makes the backbone classify a packet in its first pass only: a
// NAT may have changed what the classifier looks at.
func (c *composer) skipClassifier(l *loops) {
	found := false
	var skip func(ss []ir.Stmt)
	skip = func(ss []ir.Stmt) {
		for i, s := range ss {
			if a, ok := s.(*ir.Apply); ok && a.Table.Name == ClassifierTable {
				ss[i] = &ir.If{Cond: c.compare(ir.Eq, c.sfcField(l.count), 0), Then: []ir.Stmt{a}, Span: a.Span}
				found = true
				continue
			}
			switch s := s.(type) {
			case *ir.If:
				skip(s.Then)
				skip(s.Else)
			case *ir.Block:
				skip(s.Body)
			}
		}
	}
	skip(c.out.Ingress.Body.Body)
	if !found {
		c.errorf(c.out.Ingress.Span, "the backbone does not apply a table `%s`, so chains cannot loop", ClassifierTable)
	}
}

// loopBack returns the statements behind a node that send packets back to the
// start of their chain.
func (c *composer) loopBack(l *loops, node int) []ir.Stmt {
	var out []ir.Stmt
	for _, k := range c.graph.Chains {
		for _, loop := range k.Loops {
			if loop.Node != node {
				continue
			}
			if loop.Max > 255 {
				c.errorf(diag.Span{}, "chain %s: %d loops; at most 255 are counted", k.Name, loop.Max)
				continue
			}
			chainField, pathField := c.sfcNamed("chain"), c.sfcNamed("path")
			if chainField == nil || pathField == nil {
				c.errorf(c.sfcType.Span, "the backbone's sfc has no fields `chain` and `path`, so chains cannot loop")
				return nil
			}
			mine := c.and(c.compare(ir.Eq, c.sfcField(chainField), int64(k.ID)), c.compare(ir.Eq, c.sfcField(pathField), int64(loop.Path)))
			more := c.compare(ir.Lt, c.sfcField(l.count), int64(loop.Max))
			out = append(out, &ir.If{Cond: c.and(mine, more), Then: []ir.Stmt{
				&ir.Assign{Dst: c.sfcField(l.count), Src: &ir.Binary{Op: ir.Add, X: c.sfcField(l.count), Y: bits(8, 1), T: l.count.Type}},
				&ir.Assign{Dst: c.sfcField(l.again), Src: bits(1, 1)},
				&ir.Assign{Dst: c.sfcField(l.port), Src: c.std("ingress_port")},
				// Not a port to leave by: what leaves egress is recirculated.
				&ir.Assign{Dst: c.std("egress_spec"), Src: c.std("ingress_port")},
				&ir.Assign{Dst: c.std("mcast_grp"), Src: bits(16, 0)},
				&ir.Leave{Block: c.hook},
			}})
		}
	}
	return out
}

func (c *composer) sfcNamed(name string) *ir.Field {
	for _, f := range c.sfcType.Fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// recirculate is the end of the egress of a program with loops.
func (c *composer) recirculate(l *loops) ir.Stmt {
	return &ir.If{Cond: c.compare(ir.Eq, c.sfcField(l.again), 1), Then: []ir.Stmt{
		&ir.Call{Op: ir.OpRecirculate, Args: []ir.Expr{bits(8, loopList)}},
	}}
}
