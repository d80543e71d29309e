package verify

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/catena-nfv/catena/internal/chain"
	"github.com/catena-nfv/catena/internal/compose"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// merged is the composed program on some device.
type merged struct {
	dev        target.Device
	prefixes   map[string][]string // of the tables, by NF
	graph      chain.Graph
	nodeBits   int
	classifier *ir.Table
	action     *ir.Action
	entry      *target.Entry // that leads to the present route
	loaded     []target.Entry
}

func newMerged(p *ir.Program, tables []*table, prefixes map[string][]string, g chain.Graph, nodeBits int, dev target.Device) (*merged, error) {
	m := &merged{dev: dev, prefixes: prefixes, graph: g, nodeBits: nodeBits}
	for _, t := range p.Ingress.Tables {
		if local(t.FullName) != compose.ClassifierTable {
			continue
		}
		m.classifier = t
		for _, a := range t.Actions {
			if len(a.Action.Params) == 4 {
				m.action = a.Action
			}
		}
	}
	if m.action == nil {
		return nil, fmt.Errorf("the backbone has no table %q with an action of four parameters", compose.ClassifierTable)
	}
	for _, t := range tables {
		for _, prefix := range prefixes[t.nf] {
			if err := t.addMembers(dev, func(name string) string { return t.merged(prefix, name) }); err != nil {
				return nil, err
			}
		}
	}
	return m, addGroups(dev)
}

// local is a control-plane name without the blocks in front.
func local(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// load writes the rules that differ from those that are there.
func (m *merged) load(rules []rule) error {
	for _, e := range m.loaded {
		if err := m.dev.WriteEntry(target.Delete, e); err != nil {
			return err
		}
	}
	m.loaded = nil
	for _, x := range rules {
		for _, prefix := range m.prefixes[x.table.nf] {
			e := x.entry
			e.Table = x.table.merged(prefix, e.Table)
			e.Match = append([]target.Match{{Value: binary.BigEndian.AppendUint16(nil, uint16(x.scope))}}, e.Match...)
			if e.Action != nil {
				e.Action = &target.Action{Name: x.table.merged(prefix, e.Action.Name), Params: e.Action.Params}
			}
			if err := m.dev.WriteEntry(target.Insert, e); err != nil {
				return fmt.Errorf("merged: %w", err)
			}
			m.loaded = append(m.loaded, e)
		}
	}
	return nil
}

// take makes the classifier send everything along a route.
func (m *merged) take(r route) error {
	if m.entry != nil {
		if err := m.dev.WriteEntry(target.Delete, *m.entry); err != nil {
			return err
		}
		m.entry = nil
	}
	nodes, err := m.graph.Visits(r.chain, r.path)
	if err != nil {
		return err
	}
	bitmap, err := nodes.Bytes(m.nodeBits)
	if err != nil {
		return err
	}
	e := target.Entry{Table: m.classifier.FullName, Priority: 1, Action: &target.Action{Name: m.action.FullName}}
	for range target.ControlKeys(m.classifier) {
		e.Match = append(e.Match, target.Match{Any: true})
	}
	for _, p := range m.action.Params {
		v, ok := map[string][]byte{
			"scope": binary.BigEndian.AppendUint16(nil, uint16(r.scope)),
			"chain": binary.BigEndian.AppendUint16(nil, uint16(r.chain)),
			"path":  binary.BigEndian.AppendUint16(nil, uint16(r.path)),
			"nodes": bitmap,
		}[p.Name]
		if !ok {
			return fmt.Errorf("action %s of the backbone has a parameter %q that is unknown", m.action.FullName, p.Name)
		}
		e.Action.Params = append(e.Action.Params, v)
	}
	if err := m.dev.WriteEntry(target.Insert, e); err != nil {
		return err
	}
	m.entry = &e
	return nil
}

func (m *merged) inject(p target.Packet) (outcome, error) {
	m.dev.Digests()
	out, err := m.dev.Inject(target.Packet{Port: p.Port, Data: bytes.Clone(p.Data)})
	if err != nil {
		return outcome{}, fmt.Errorf("merged: %w", err)
	}
	return outcome{packets: out, digests: m.dev.Digests()}.normal(), nil
}

func (m *merged) close() error { return m.dev.Close() }
