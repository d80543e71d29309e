package p4rt

import (
	"slices"
	"strings"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Schema is a P4Info with its objects indexed by id and by name. It is read-only
// once built, and safe for concurrent use.
type Schema struct {
	Info *configv1.P4Info

	Tables     *Index[*Table]
	Actions    *Index[*configv1.Action]
	Profiles   *Index[*configv1.ActionProfile]
	Counters   *Index[*configv1.Counter]
	Meters     *Index[*configv1.Meter]
	Registers  *Index[*Register]
	ValueSets  *Index[*configv1.ValueSet]
	Digests    *Index[*Digest]
	PacketIn   *configv1.ControllerPacketMetadata // nil: no such header
	PacketOut  *configv1.ControllerPacketMetadata
	errorNames []string
}

// Table is a table with what belongs to it.
type Table struct {
	*configv1.Table
	Refs          map[uint32]*configv1.ActionRef
	Profile       *configv1.ActionProfile // nil: a direct table
	Counter       *configv1.DirectCounter // nil: none
	Meter         *configv1.DirectMeter   // nil: none
	NeedsPriority bool                    // has a ternary, range or optional key
	field         map[uint32]int          // id → position
}

// Name returns the control-plane name.
func (t *Table) Name() string { return t.GetPreamble().GetName() }

// Register is a register with the scalars that make up one cell.
type Register struct {
	*configv1.Register
	Scalars []Scalar
}

// Digest is a digest with the scalars of its message.
type Digest struct {
	*configv1.Digest
	Scalars []Scalar
}

// NewSchema indexes a P4Info. It reports duplicate ids and names and references
// to objects that are missing, with code INVALID_ARGUMENT, and what this
// implementation cannot do with code UNIMPLEMENTED.
func NewSchema(info *configv1.P4Info) (*Schema, error) {
	s := &Schema{Info: info}
	s.errorNames = info.GetTypeInfo().GetError().GetMembers()
	b := builder{seen: map[uint32]string{}}
	for name, nt := range info.GetTypeInfo().GetNewTypes() {
		if nt.GetTranslatedType().GetSdnString() != nil {
			b.fail(codes.Unimplemented, "type %s: values translated to strings are not supported; translate to bit<W>", name)
		}
	}

	s.Actions = newIndex[*configv1.Action]("action")
	for _, a := range info.GetActions() {
		add(&b, s.Actions, a.GetPreamble(), a)
	}
	s.Profiles = newIndex[*configv1.ActionProfile]("action profile")
	for _, p := range info.GetActionProfiles() {
		add(&b, s.Profiles, p.GetPreamble(), p)
	}
	s.Counters = newIndex[*configv1.Counter]("counter")
	for _, c := range info.GetCounters() {
		add(&b, s.Counters, c.GetPreamble(), c)
	}
	s.Meters = newIndex[*configv1.Meter]("meter")
	for _, m := range info.GetMeters() {
		add(&b, s.Meters, m.GetPreamble(), m)
	}
	s.ValueSets = newIndex[*configv1.ValueSet]("value set")
	for _, v := range info.GetValueSets() {
		add(&b, s.ValueSets, v.GetPreamble(), v)
	}
	s.Registers = newIndex[*Register]("register")
	for _, r := range info.GetRegisters() {
		sc, err := s.scalars(r.GetTypeSpec())
		if err != nil {
			b.fail(status.Code(err), "register %s: %s", r.GetPreamble().GetName(), status.Convert(err).Message())
		}
		add(&b, s.Registers, r.GetPreamble(), &Register{r, sc})
	}
	s.Digests = newIndex[*Digest]("digest")
	for _, d := range info.GetDigests() {
		sc, err := s.scalars(d.GetTypeSpec())
		if err != nil {
			b.fail(status.Code(err), "digest %s: %s", d.GetPreamble().GetName(), status.Convert(err).Message())
		}
		add(&b, s.Digests, d.GetPreamble(), &Digest{d, sc})
	}
	for _, h := range info.GetControllerPacketMetadata() {
		switch h.GetPreamble().GetName() {
		case "packet_in":
			s.PacketIn = h
		case "packet_out":
			s.PacketOut = h
		}
	}
	s.tables(&b)
	if b.err != nil {
		return nil, b.err
	}
	return s, nil
}

func (s *Schema) tables(b *builder) {
	counters, meters := map[uint32]*configv1.DirectCounter{}, map[uint32]*configv1.DirectMeter{}
	for _, c := range s.Info.GetDirectCounters() {
		b.unique(c.GetPreamble(), "direct counter")
		counters[c.GetPreamble().GetId()] = c
	}
	for _, m := range s.Info.GetDirectMeters() {
		b.unique(m.GetPreamble(), "direct meter")
		meters[m.GetPreamble().GetId()] = m
	}
	s.Tables = newIndex[*Table]("table")
	for _, t := range s.Info.GetTables() {
		name := t.GetPreamble().GetName()
		x := &Table{Table: t, Refs: map[uint32]*configv1.ActionRef{}, field: map[uint32]int{}}
		for _, r := range t.GetActionRefs() {
			if s.Actions.ID(r.GetId()) == nil {
				b.fail(codes.InvalidArgument, "table %s refers to action 0x%x, which P4Info does not have", name, r.GetId())
			}
			x.Refs[r.GetId()] = r
		}
		for i, f := range t.GetMatchFields() {
			if _, dup := x.field[f.GetId()]; dup || f.GetId() == 0 {
				b.fail(codes.InvalidArgument, "table %s: match field %s: id %d is zero or taken", name, f.GetName(), f.GetId())
			}
			x.field[f.GetId()] = i
			switch f.GetMatchType() {
			case configv1.MatchField_TERNARY, configv1.MatchField_RANGE, configv1.MatchField_OPTIONAL:
				x.NeedsPriority = true
			case configv1.MatchField_EXACT, configv1.MatchField_LPM:
			default:
				b.fail(codes.Unimplemented, "table %s: match field %s: match kind %q is not supported", name, f.GetName(), f.GetOtherMatchType())
			}
		}
		if p := t.GetImplementationId(); p != 0 {
			if x.Profile = s.Profiles.ID(p); x.Profile == nil {
				b.fail(codes.InvalidArgument, "table %s refers to action profile 0x%x, which P4Info does not have", name, p)
			}
		}
		for _, r := range t.GetDirectResourceIds() {
			switch {
			case counters[r] != nil:
				x.Counter = counters[r]
			case meters[r] != nil:
				x.Meter = meters[r]
			default:
				b.fail(codes.InvalidArgument, "table %s refers to direct resource 0x%x, which P4Info does not have", name, r)
			}
		}
		add(b, s.Tables, t.GetPreamble(), x)
	}
}

// builder collects the first problem of a P4Info.
type builder struct {
	err  error
	seen map[uint32]string
}

func (b *builder) fail(c codes.Code, format string, args ...any) {
	if b.err == nil {
		b.err = status.Errorf(c, "p4info: "+format, args...)
	}
}

func (b *builder) unique(p *configv1.Preamble, kind string) {
	if p.GetId() == 0 || p.GetName() == "" {
		b.fail(codes.InvalidArgument, "a %s without id or name: %v", kind, p)
	}
	if other, dup := b.seen[p.GetId()]; dup {
		b.fail(codes.InvalidArgument, "%s and %s have the same id 0x%x", other, p.GetName(), p.GetId())
	}
	b.seen[p.GetId()] = p.GetName()
}

func add[T any](b *builder, x *Index[T], p *configv1.Preamble, obj T) {
	b.unique(p, x.kind)
	if _, dup := x.byName[p.GetName()]; dup {
		b.fail(codes.InvalidArgument, "two objects of kind %s are named %s", x.kind, p.GetName())
	}
	x.list = append(x.list, obj)
	x.byID[p.GetId()] = obj
	x.byName[p.GetName()] = obj
	x.names = append(x.names, p.GetName())
	// An alias that two objects share names neither.
	if a := p.GetAlias(); a != "" && a != p.GetName() {
		if _, dup := x.byAlias[a]; dup {
			x.ambiguous[a] = true
		}
		x.byAlias[a] = obj
	}
}

// Index finds the objects of one kind.
type Index[T any] struct {
	kind      string
	list      []T // in P4Info's order
	names     []string
	byID      map[uint32]T
	byName    map[string]T
	byAlias   map[string]T
	ambiguous map[string]bool
}

func newIndex[T any](kind string) *Index[T] {
	return &Index[T]{kind: kind, byID: map[uint32]T{}, byName: map[string]T{}, byAlias: map[string]T{}, ambiguous: map[string]bool{}}
}

// All returns the objects in P4Info's order.
func (x *Index[T]) All() []T { return x.list }

// ID returns the object with that id, or the zero value.
func (x *Index[T]) ID(id uint32) T { return x.byID[id] }

// MustID returns the object with that id. The error has code INVALID_ARGUMENT, or
// NOT_FOUND where the protocol asks for it.
func (x *Index[T]) MustID(id uint32) (T, error) {
	obj, ok := x.byID[id]
	if !ok {
		return obj, status.Errorf(codes.InvalidArgument, "no %s with id 0x%08x in the pipeline's P4Info", x.kind, id)
	}
	return obj, nil
}

// Named returns the object with that control-plane name, alias, or last part of
// the name where only one object has it. The error lists the known names.
func (x *Index[T]) Named(name string) (T, error) {
	if obj, ok := x.byName[name]; ok {
		return obj, nil
	}
	if obj, ok := x.byAlias[name]; ok && !x.ambiguous[name] {
		return obj, nil
	}
	var zero T
	var found []string
	for _, n := range x.names {
		if strings.HasSuffix(n, "."+name) {
			found = append(found, n)
		}
	}
	switch len(found) {
	case 1:
		return x.byName[found[0]], nil
	case 0:
		return zero, status.Errorf(codes.NotFound, "no %s named %q; %s", x.kind, name, known(x.names))
	}
	return zero, status.Errorf(codes.InvalidArgument, "%s %q is ambiguous; %s", x.kind, name, known(found))
}

// known lists names for an error message.
func known(names []string) string {
	if len(names) == 0 {
		return "there are none"
	}
	names = slices.Sorted(slices.Values(names))
	return "there are " + strings.Join(names, ", ")
}

// FieldNames returns the names of a table's match fields in order.
func (t *Table) FieldNames() []string {
	var names []string
	for _, f := range t.GetMatchFields() {
		names = append(names, f.GetName())
	}
	return names
}

// ActionNames returns the names of a table's actions in order.
func (s *Schema) ActionNames(t *Table) []string {
	var names []string
	for _, r := range t.GetActionRefs() {
		names = append(names, s.Actions.ID(r.GetId()).GetPreamble().GetName())
	}
	return names
}

// TableAction finds an action of a table by name, alias or last part.
func (s *Schema) TableAction(t *Table, name string) (*configv1.Action, error) {
	var match *configv1.Action
	for _, r := range t.GetActionRefs() {
		a := s.Actions.ID(r.GetId())
		p := a.GetPreamble()
		if p.GetName() == name {
			return a, nil
		}
		if p.GetAlias() == name || strings.HasSuffix(p.GetName(), "."+name) {
			if match != nil {
				return nil, status.Errorf(codes.InvalidArgument, "table %s: action %q is ambiguous; %s", t.Name(), name, known(s.ActionNames(t)))
			}
			match = a
		}
	}
	if match == nil {
		return nil, status.Errorf(codes.NotFound, "table %s has no action %q; %s", t.Name(), name, known(s.ActionNames(t)))
	}
	return match, nil
}

// kindName is the P4 word for a match type.
func kindName(m configv1.MatchField_MatchType) string { return strings.ToLower(m.String()) }
