package verify

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/catena-nfv/catena/internal/compose"
	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// portNone is what egress_spec is for a packet that no NF has forwarded.
const portNone = 0

// box is one program by itself.
type box struct {
	name    string
	sw      *interp.Switch
	trace   *tracer
	flooded bool // the last packet went to a multicast group
	loaded  []rule
}

func newBox(name string, p *ir.Program) (*box, error) {
	b := &box{name: name, trace: &tracer{}}
	alone := ir.Copy(p)
	// An NF is compared as a part of a chain: choosing a port is not its business.
	cp := &ir.Copier{Stmt: func(s ir.Stmt) ([]ir.Stmt, bool) {
		x, ok := s.(*ir.Block)
		return nil, ok && x.Annotations.Has(compose.StandaloneAnnotation)
	}}
	alone.Ingress.Body, alone.Egress.Body = cp.CopyBlock(alone.Ingress.Body), cp.CopyBlock(alone.Egress.Body)
	var err error
	if b.sw, err = interp.New(alone, interp.Options{Now: noTime, Tracer: b.trace}); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, addGroups(b.sw)
}

func noTime() time.Duration { return 0 }

// run takes one packet through the box.
func (b *box) run(p target.Packet, watch func(interp.Event)) ([]target.Packet, error) {
	b.flooded = false
	b.trace.to = func(e interp.Event) {
		b.flooded = b.flooded || e.Kind == interp.EventReplica
		if watch != nil {
			watch(e)
		}
	}
	out, err := b.sw.Inject(p)
	b.trace.to = nil
	if err != nil {
		return nil, fmt.Errorf("%s alone: %w", b.name, err)
	}
	return out, nil
}

// alone is the oracle: the NFs of a path one after the other, then the backbone.
type alone struct {
	boxes    map[string]*box // NFs by name
	backbone *box
	rules    []rule
	route    route
	// watch sees what happens in the boxes.
	watch func(box string, e interp.Event)
}

func newAlone(backbone *ir.Program, nfs map[string]*ir.Program) (*alone, error) {
	a := &alone{boxes: map[string]*box{}}
	var err error
	if a.backbone, err = newBox("the backbone", backbone); err != nil {
		return nil, err
	}
	for name, p := range nfs {
		if a.boxes[name], err = newBox(name, p); err != nil {
			return nil, err
		}
		for _, t := range tablesOf(name, p) {
			if err := t.addMembers(a.boxes[name].sw, func(name string) string { return name }); err != nil {
				return nil, err
			}
		}
	}
	return a, nil
}

func (a *alone) load(rules []rule) error {
	a.rules = rules
	return nil
}

// take gives the boxes of a route the rules of its scope.
func (a *alone) take(r route) error {
	a.route = r
	done := map[*box]bool{}
	for _, nf := range r.nfs {
		b := a.boxes[nf]
		if done[b] {
			continue
		}
		done[b] = true
		for _, x := range b.loaded {
			if err := b.sw.WriteEntry(target.Delete, x.entry); err != nil {
				return err
			}
		}
		b.loaded = nil
		for _, x := range a.rules {
			if x.scope != r.scope || x.table.nf != nf {
				continue
			}
			if err := b.sw.WriteEntry(target.Insert, x.entry); err != nil {
				return fmt.Errorf("%s alone: %w", nf, err)
			}
			b.loaded = append(b.loaded, x)
		}
	}
	return nil
}

func (a *alone) close() error { return nil }

// inject implements machine. The packet is a set of copies from when an NF has flooded
// it: copies with the same bytes are one as far as NFs go.
func (a *alone) inject(p target.Packet) (out outcome, err error) {
	copies := []target.Packet{{Port: portNone, Data: p.Data}}
	flooded, loops := false, 0
	for i := 0; i < len(a.route.nfs); i++ {
		b := a.boxes[a.route.nfs[i]]
		if copies, flooded, err = a.through(b, p.Port, copies, flooded); err != nil {
			return out, err
		}
		out.digests = append(out.digests, b.sw.Digests()...)
		if len(copies) == 0 {
			return out.normal(), nil
		}
		if a.route.loops[i] && loops < a.route.maxLoops {
			// The packet starts again; where it was to go is forgotten.
			loops++
			copies, flooded = []target.Packet{{Port: portNone, Data: copies[0].Data}}, false
			i = -1
		}
	}
	for _, c := range copies {
		leaves, err := a.backbone.run(target.Packet{Port: p.Port, Data: c.Data}, a.watching(a.backbone))
		if err != nil {
			return out, err
		}
		if len(leaves) != 1 {
			return out, fmt.Errorf("the backbone turns one packet into %d; use one that lets packets pass", len(leaves))
		}
		if c.Port != portNone || flooded {
			leaves[0].Port = c.Port
		}
		out.packets = append(out.packets, leaves[0])
	}
	return out.normal(), nil
}

// through takes all copies of a packet through one NF.
func (a *alone) through(b *box, in uint32, copies []target.Packet, flooded bool) ([]target.Packet, bool, error) {
	var next []target.Packet
	var last []byte
	var result []target.Packet
	for i, c := range copies {
		if i == 0 || !bytes.Equal(c.Data, last) {
			var err error
			if result, err = b.run(target.Packet{Port: in, Data: c.Data}, a.watching(b)); err != nil {
				return nil, false, err
			}
			last = c.Data
			if b.flooded {
				return result, true, nil // a new group in place of all that was
			}
			if len(result) > 1 {
				return nil, false, errors.New(b.name + " sends more than one packet; clones are not compared")
			}
		}
		if len(result) == 0 {
			continue // dropped
		}
		n := target.Packet{Port: c.Port, Data: result[0].Data}
		if !flooded && result[0].Port != portNone {
			n.Port = result[0].Port
		}
		next = append(next, n)
	}
	return next, flooded, nil
}

func (a *alone) watching(b *box) func(interp.Event) {
	if a.watch == nil {
		return nil
	}
	return func(e interp.Event) { a.watch(b.name, e) }
}
