package p4info

import (
	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// Index leads from ids to the objects of the program and back.
type Index struct {
	objects map[uint32]any
	ids     map[any]uint32
}

// NewIndex relates a program to the P4Info that Build made of it.
func NewIndex(p *ir.Program, info *configv1.P4Info) *Index {
	byName := map[symbol]uint32{}
	note := func(pre *configv1.Preamble) {
		byName[symbol{configv1.P4Ids_Prefix(pre.GetId() >> 24), pre.GetName()}] = pre.GetId()
	}
	for _, o := range info.GetTables() {
		note(o.GetPreamble())
	}
	for _, o := range info.GetActions() {
		note(o.GetPreamble())
	}
	for _, o := range info.GetActionProfiles() {
		note(o.GetPreamble())
	}
	for _, o := range info.GetCounters() {
		note(o.GetPreamble())
	}
	for _, o := range info.GetDirectCounters() {
		note(o.GetPreamble())
	}
	for _, o := range info.GetMeters() {
		note(o.GetPreamble())
	}
	for _, o := range info.GetDirectMeters() {
		note(o.GetPreamble())
	}
	for _, o := range info.GetRegisters() {
		note(o.GetPreamble())
	}
	for _, o := range info.GetDigests() {
		note(o.GetPreamble())
	}
	for _, o := range info.GetValueSets() {
		note(o.GetPreamble())
	}
	for _, o := range info.GetControllerPacketMetadata() {
		note(o.GetPreamble())
	}
	x := &Index{objects: map[uint32]any{}, ids: map[any]uint32{}}
	add := func(kind configv1.P4Ids_Prefix, name string, object any) {
		id, ok := byName[symbol{kind, name}]
		if !ok {
			return
		}
		x.ids[object] = id
		if x.objects[id] == nil {
			x.objects[id] = object
		}
	}
	for _, c := range controls(p) {
		for _, t := range c.Tables {
			add(configv1.P4Ids_TABLE, t.FullName, t)
		}
		for _, a := range c.Actions {
			add(configv1.P4Ids_ACTION, a.FullName, a)
		}
		for _, i := range c.Instances {
			if kindOf(i.Kind) != configv1.P4Ids_UNSPECIFIED {
				add(kindOf(i.Kind), i.FullName, i)
			}
		}
	}
	if p.Parser != nil {
		for _, v := range p.Parser.ValueSets {
			add(configv1.P4Ids_VALUE_SET, v.Name, v)
		}
	}
	for _, h := range p.Headers {
		if a, ok := h.Annotations.Get("controller_header"); ok && len(a.Args) == 1 {
			add(configv1.P4Ids_CONTROLLER_HEADER, a.Args[0], h)
		}
	}
	return x
}

// Object returns the *ir.Table, *ir.Action, *ir.Instance, *ir.ValueSet or *ir.Header
// with an id; of actions that share a name, the first. Nil: there is none.
func (x *Index) Object(id uint32) any { return x.objects[id] }

// ID returns the id of such an object, 0 if it has none.
func (x *Index) ID(object any) uint32 { return x.ids[object] }
