// Package p4info describes a program to its control plane, as the P4Runtime
// specification and the public P4 compiler do: ids, names, aliases, types.
package p4info

import (
	"errors"
	"slices"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// builder makes the P4Info of one program.
type builder struct {
	prog  *ir.Program
	sym   *symbols
	info  *configv1.P4Info
	done  map[symbol]bool
	diags diag.List
}

// Build returns the P4Info of a program. Objects annotated @hidden are left out. An
// error names the object whose @id is wrong.
func Build(p *ir.Program) (*configv1.P4Info, error) {
	info, diags := build(p)
	var errs []error
	for _, d := range diags {
		errs = append(errs, errors.New(d.Message))
	}
	return info, errors.Join(errs...)
}

// Check says what is wrong with the ids that a program gives to its objects.
func Check(p *ir.Program) diag.List {
	_, diags := build(p)
	return diags
}

func build(p *ir.Program) (*configv1.P4Info, diag.List) {
	b := &builder{prog: p, sym: newSymbols(), info: &configv1.P4Info{}, done: map[symbol]bool{}}
	b.collect()
	b.sym.assign()
	b.packageInfo()
	for _, c := range controls(p) {
		for _, t := range c.Tables {
			b.table(t)
		}
	}
	for _, c := range controls(p) {
		for _, a := range c.Actions {
			b.action(a)
		}
	}
	for _, c := range controls(p) {
		for _, i := range c.Instances {
			b.instance(i)
		}
	}
	for _, h := range p.Headers {
		b.controllerHeader(h)
	}
	if p.Parser != nil {
		for _, v := range p.Parser.ValueSets {
			b.valueSet(v)
		}
	}
	return b.info, append(b.sym.diags, b.diags...)
}

func controls(p *ir.Program) []*ir.Control {
	return slices.DeleteFunc(p.Controls(), func(c *ir.Control) bool { return c == nil })
}

func hidden(as ir.Annotations) bool { return as.Has("hidden") }

// kindOf returns the id prefix of an extern object.
func kindOf(k ir.InstanceKind) configv1.P4Ids_Prefix {
	switch k {
	case ir.KindActionProfile, ir.KindActionSelector:
		return configv1.P4Ids_ACTION_PROFILE
	case ir.KindCounter:
		return configv1.P4Ids_COUNTER
	case ir.KindDirectCounter:
		return configv1.P4Ids_DIRECT_COUNTER
	case ir.KindMeter:
		return configv1.P4Ids_METER
	case ir.KindDirectMeter:
		return configv1.P4Ids_DIRECT_METER
	case ir.KindRegister:
		return configv1.P4Ids_REGISTER
	case ir.KindDigest:
		return configv1.P4Ids_DIGEST
	}
	return configv1.P4Ids_UNSPECIFIED
}

// collect registers all names before any id is assigned.
func (b *builder) collect() {
	for _, c := range controls(b.prog) {
		for _, a := range c.Actions {
			b.sym.add(configv1.P4Ids_ACTION, a.FullName, a.Annotations)
		}
		for _, t := range c.Tables {
			b.sym.add(configv1.P4Ids_TABLE, t.FullName, t.Annotations)
		}
		for _, i := range c.Instances {
			if kindOf(i.Kind) != configv1.P4Ids_UNSPECIFIED { // flows are the packets' own
				b.sym.add(kindOf(i.Kind), i.FullName, i.Annotations)
			}
		}
	}
	if b.prog.Parser != nil {
		for _, v := range b.prog.Parser.ValueSets {
			b.sym.add(configv1.P4Ids_VALUE_SET, v.Name, v.Annotations)
		}
	}
	for _, h := range b.prog.Headers {
		if h.Annotations.Has("controller_header") {
			b.sym.add(configv1.P4Ids_CONTROLLER_HEADER, h.Name, h.Annotations)
		}
	}
}

// first reports whether an object is met for the first time.
func (b *builder) first(kind configv1.P4Ids_Prefix, name string) bool {
	s := symbol{kind, name}
	was := b.done[s]
	b.done[s] = true
	return !was
}

func (b *builder) preamble(kind configv1.P4Ids_Prefix, name string, as ir.Annotations) *configv1.Preamble {
	return &configv1.Preamble{
		Id: b.sym.id(kind, name), Name: name, Alias: b.sym.alias(name),
		Annotations: annotations(as), StructuredAnnotations: structured(as), Doc: documentation(as),
	}
}

func (b *builder) table(t *ir.Table) {
	if hidden(t.Annotations) || !b.first(configv1.P4Ids_TABLE, t.FullName) {
		return
	}
	out := &configv1.Table{
		Preamble:     b.preamble(configv1.P4Ids_TABLE, t.FullName, t.Annotations),
		MatchFields:  b.matchFields(t),
		Size:         int64(t.Size),
		IsConstTable: t.ConstEntries, HasInitialEntries: len(t.Entries) > 0,
	}
	if t.Size == 0 {
		out.Size = 1024 // what the public compiler takes when the program says nothing
	}
	for _, ta := range t.Actions {
		ref := &configv1.ActionRef{Id: b.sym.id(configv1.P4Ids_ACTION, ta.Action.FullName), Annotations: annotations(ta.Annotations), StructuredAnnotations: structured(ta.Annotations)}
		switch {
		case ta.TableOnly:
			ref.Scope = configv1.ActionRef_TABLE_ONLY
		case ta.DefaultOnly:
			ref.Scope = configv1.ActionRef_DEFAULT_ONLY
		}
		out.ActionRefs = append(out.ActionRefs, ref)
	}
	if d := t.Default; d != nil && d.Action != nil {
		id := b.sym.id(configv1.P4Ids_ACTION, d.Action.FullName)
		if t.ConstDefault {
			out.ConstDefaultActionId = id
		}
		out.InitialDefaultAction = &configv1.TableActionCall{ActionId: id}
		ids := b.ids(d.Action.FullName, paramAnnotations(d.Action))
		for i, v := range target.ProgramAction(d).Params {
			out.InitialDefaultAction.Arguments = append(out.InitialDefaultAction.Arguments,
				&configv1.TableActionCall_Argument{ParamId: ids[i], Value: canonical(v)})
		}
	}
	if t.Impl != nil {
		out.ImplementationId = b.sym.id(configv1.P4Ids_ACTION_PROFILE, t.Impl.FullName)
	}
	for _, i := range []*ir.Instance{t.Counter, t.Meter} {
		if i != nil {
			out.DirectResourceIds = append(out.DirectResourceIds, b.sym.id(kindOf(i.Kind), i.FullName))
		}
	}
	if t.IdleTimeout {
		out.IdleTimeoutBehavior = configv1.Table_NOTIFY_CONTROL
	}
	b.info.Tables = append(b.info.Tables, out)
}

// canonical is the shortest byte string of a value, as P4Runtime has it on the wire.
func canonical(v []byte) []byte {
	for len(v) > 1 && v[0] == 0 {
		v = v[1:]
	}
	return v
}

func (b *builder) ids(owner string, as []ir.Annotations) []uint32 {
	return fieldIDs(owner, as, &b.diags)
}

func paramAnnotations(a *ir.Action) []ir.Annotations {
	out := make([]ir.Annotations, len(a.Params))
	for i, p := range a.Params {
		out[i] = p.Annotations
	}
	return out
}

var matchTypes = map[ir.MatchKind]configv1.MatchField_MatchType{
	ir.MatchExact: configv1.MatchField_EXACT, ir.MatchLPM: configv1.MatchField_LPM,
	ir.MatchTernary: configv1.MatchField_TERNARY, ir.MatchRange: configv1.MatchField_RANGE,
	ir.MatchOptional: configv1.MatchField_OPTIONAL,
}

func (b *builder) matchFields(t *ir.Table) []*configv1.MatchField {
	as := make([]ir.Annotations, len(t.Keys))
	for i, k := range t.Keys {
		as[i] = k.Annotations
	}
	ids := b.ids(t.FullName, as)
	var out []*configv1.MatchField
	for i, k := range t.Keys {
		if k.Match != ir.MatchSelector {
			out = append(out, b.matchField(k, ids[i]))
		}
	}
	return out
}

func (b *builder) matchField(k *ir.Key, id uint32) *configv1.MatchField {
	return &configv1.MatchField{
		Id: id, Name: k.Name, Bitwidth: b.width(k.Type, k.TypeName),
		Match:       &configv1.MatchField_MatchType_{MatchType: matchTypes[k.Match]},
		Annotations: annotations(k.Annotations), StructuredAnnotations: structured(k.Annotations), Doc: documentation(k.Annotations),
		TypeName: b.typeName(k.Type, k.TypeName),
	}
}

func (b *builder) action(a *ir.Action) {
	if hidden(a.Annotations) || !b.first(configv1.P4Ids_ACTION, a.FullName) {
		return
	}
	out := &configv1.Action{Preamble: b.preamble(configv1.P4Ids_ACTION, a.FullName, a.Annotations)}
	ids := b.ids(a.FullName, paramAnnotations(a))
	for i, p := range a.Params {
		out.Params = append(out.Params, &configv1.Action_Param{
			Id: ids[i], Name: p.PlaneName(), Bitwidth: b.width(p.Type, p.TypeName),
			Annotations: annotations(p.Annotations), StructuredAnnotations: structured(p.Annotations), Doc: documentation(p.Annotations),
			TypeName: b.typeName(p.Type, p.TypeName),
		})
	}
	b.info.Actions = append(b.info.Actions, out)
}

func (b *builder) valueSet(v *ir.ValueSet) {
	if hidden(v.Annotations) || !b.first(configv1.P4Ids_VALUE_SET, v.Name) {
		return
	}
	out := &configv1.ValueSet{
		Preamble: b.preamble(configv1.P4Ids_VALUE_SET, v.Name, v.Annotations),
		Size:     int32(v.Size),
	}
	as := make([]ir.Annotations, len(v.Fields))
	for i, k := range v.Fields {
		as[i] = k.Annotations
	}
	ids := b.ids(v.Name, as)
	for i, k := range v.Fields {
		m := b.matchField(k, ids[i])
		m.Annotations = slices.DeleteFunc(m.Annotations, func(a string) bool { return len(a) > 6 && a[:6] == "@match" })
		out.Match = append(out.Match, m)
	}
	b.info.ValueSets = append(b.info.ValueSets, out)
}

// controllerHeader describes packet-in and packet-out headers: @controller_header.
func (b *builder) controllerHeader(h *ir.Header) {
	a, ok := h.Annotations.Get("controller_header")
	if !ok || hidden(h.Annotations) || !b.first(configv1.P4Ids_CONTROLLER_HEADER, h.Name) {
		return
	}
	if len(a.Args) != 1 {
		b.diags.Errorf(a.Span, CodeID, "header %s: @controller_header needs a name", h.Name)
		return
	}
	pre := b.preamble(configv1.P4Ids_CONTROLLER_HEADER, h.Name, h.Annotations)
	pre.Name, pre.Alias = a.Args[0], a.Args[0]
	out := &configv1.ControllerPacketMetadata{Preamble: pre}
	as := make([]ir.Annotations, len(h.Fields))
	for i, f := range h.Fields {
		as[i] = f.Annotations
	}
	ids := b.ids(h.Name, as)
	for i, f := range h.Fields {
		if hidden(f.Annotations) {
			continue
		}
		out.Metadata = append(out.Metadata, &configv1.ControllerPacketMetadata_Metadata{
			Id: ids[i], Name: f.Name, Bitwidth: b.width(f.Type, f.TypeName),
			Annotations: annotations(f.Annotations), StructuredAnnotations: structured(f.Annotations), TypeName: b.typeName(f.Type, f.TypeName),
		})
	}
	b.info.ControllerPacketMetadata = append(b.info.ControllerPacketMetadata, out)
}
