package p4rt

import (
	"fmt"

	"github.com/catena-nfv/catena/internal/p4/target"
	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// MaxPriority is the largest priority that the protocol's int32 can carry.
const MaxPriority = 1<<31 - 1

// DecodeKey turns the key of a table entry (table, match, priority) into that of
// a target.Entry. Errors have code INVALID_ARGUMENT and name table and field.
func (s *Schema) DecodeKey(te *v1.TableEntry) (*Table, target.Entry, error) {
	t, err := s.Tables.MustID(te.GetTableId())
	if err != nil {
		return nil, target.Entry{}, err
	}
	e := target.Entry{Table: t.Name(), Priority: int(te.GetPriority())}
	if len(t.MatchFields) == 0 {
		return nil, e, invalid("table %s has no keys: it can hold no entries, only its default action can be changed", t.Name())
	}
	switch {
	case te.GetPriority() < 0:
		return nil, e, invalid("table %s: negative priority %d", t.Name(), te.GetPriority())
	case t.NeedsPriority && te.GetPriority() == 0:
		return nil, e, invalid("table %s has ternary, range or optional keys: its entries need a priority > 0", t.Name())
	case !t.NeedsPriority && te.GetPriority() != 0:
		return nil, e, invalid("table %s has only exact and lpm keys: the priority must be 0, not %d", t.Name(), te.GetPriority())
	}
	e.Match, err = DecodeMatches(t.MatchFields, te.GetMatch())
	if err != nil {
		return nil, e, invalid("table %s: %s", t.Name(), status.Convert(err).Message())
	}
	return t, e, nil
}

// DecodeMatches turns field matches into one match for each field, in the order of
// fields. Fields that are left out become wildcards.
func DecodeMatches(fields []*configv1.MatchField, ms []*v1.FieldMatch) ([]target.Match, error) {
	out := make([]target.Match, len(fields))
	given := make([]bool, len(fields))
	for _, m := range ms {
		i := fieldAt(fields, m.GetFieldId())
		if i < 0 {
			return nil, invalid("no match field with id %d", m.GetFieldId())
		}
		f := fields[i]
		if given[i] {
			return nil, invalid("match field %s is given twice", f.GetName())
		}
		given[i] = true
		var err error
		if out[i], err = decodeMatch(f, m); err != nil {
			return nil, invalid("match field %s: %s", f.GetName(), status.Convert(err).Message())
		}
	}
	for i, f := range fields {
		if given[i] {
			continue
		}
		if f.GetMatchType() == configv1.MatchField_EXACT {
			return nil, invalid("match field %s is missing: an exact match cannot be left out", f.GetName())
		}
		out[i] = target.Match{Any: true}
	}
	return out, nil
}

// fieldAt finds a field's position by id. Compilers number fields 1, 2, …, which
// is tried first.
func fieldAt(fields []*configv1.MatchField, id uint32) int {
	if i := int(id) - 1; i >= 0 && i < len(fields) && fields[i].GetId() == id {
		return i
	}
	for i, f := range fields {
		if f.GetId() == id {
			return i
		}
	}
	return -1
}

func decodeMatch(f *configv1.MatchField, m *v1.FieldMatch) (target.Match, error) {
	width := int(f.GetBitwidth())
	var none target.Match
	switch {
	case f.GetMatchType() == configv1.MatchField_EXACT && m.GetExact() != nil:
		v, err := Fit(m.GetExact().GetValue(), width)
		return target.Match{Value: v}, err
	case f.GetMatchType() == configv1.MatchField_OPTIONAL && m.GetOptional() != nil:
		v, err := Fit(m.GetOptional().GetValue(), width)
		return target.Match{Value: v}, err
	case f.GetMatchType() == configv1.MatchField_LPM && m.GetLpm() != nil:
		length := int(m.GetLpm().GetPrefixLen())
		v, err := Fit(m.GetLpm().GetValue(), width)
		switch {
		case err != nil:
			return none, err
		case length == 0:
			return none, invalid("prefix length 0: a match of everything is written by leaving the field out")
		case length < 0 || length > width:
			return none, invalid("prefix length %d is not between 1 and %d", length, width)
		case !covered(v, prefixMask(length, width)):
			return none, invalid("value 0x%x has bits set beyond the prefix of %d bits", v, length)
		}
		return target.Match{Value: v, PrefixLen: length}, nil
	case f.GetMatchType() == configv1.MatchField_TERNARY && m.GetTernary() != nil:
		v, err := Fit(m.GetTernary().GetValue(), width)
		if err != nil {
			return none, err
		}
		mask, err := Fit(m.GetTernary().GetMask(), width)
		switch {
		case err != nil:
			return none, fmt.Errorf("mask: %s", status.Convert(err).Message())
		case isZero(mask):
			return none, invalid("mask 0: a match of everything is written by leaving the field out")
		case !covered(v, mask):
			return none, invalid("value 0x%x has bits set that mask 0x%x leaves out", v, mask)
		}
		return target.Match{Value: v, Mask: mask}, nil
	case f.GetMatchType() == configv1.MatchField_RANGE && m.GetRange() != nil:
		lo, err := Fit(m.GetRange().GetLow(), width)
		if err != nil {
			return none, fmt.Errorf("low: %s", status.Convert(err).Message())
		}
		hi, err := Fit(m.GetRange().GetHigh(), width)
		switch {
		case err != nil:
			return none, fmt.Errorf("high: %s", status.Convert(err).Message())
		case less(hi, lo):
			return none, invalid("low 0x%x is above high 0x%x", lo, hi)
		case isZero(lo) && string(hi) == string(Canonical(ones(width))):
			return none, invalid("the whole range: a match of everything is written by leaving the field out")
		}
		return target.Match{Lo: lo, Hi: hi}, nil
	}
	return none, invalid("the field is matched %s, the entry gives another kind of match", kindName(f.GetMatchType()))
}

// EncodeMatches is the inverse of DecodeMatches: wildcards are left out.
func EncodeMatches(fields []*configv1.MatchField, ms []target.Match) ([]*v1.FieldMatch, error) {
	if len(ms) != len(fields) {
		return nil, invalid("%d matches for %d fields", len(ms), len(fields))
	}
	var out []*v1.FieldMatch
	for i, f := range fields {
		if m := encodeMatch(f, ms[i]); m != nil {
			out = append(out, m)
		}
	}
	return out, nil
}

func encodeMatch(f *configv1.MatchField, m target.Match) *v1.FieldMatch {
	fm := &v1.FieldMatch{FieldId: f.GetId()}
	width := int(f.GetBitwidth())
	switch f.GetMatchType() {
	case configv1.MatchField_EXACT:
		fm.FieldMatchType = &v1.FieldMatch_Exact_{Exact: &v1.FieldMatch_Exact{Value: Canonical(m.Value)}}
		return fm
	case configv1.MatchField_OPTIONAL:
		if m.Any {
			return nil
		}
		fm.FieldMatchType = &v1.FieldMatch_Optional_{Optional: &v1.FieldMatch_Optional{Value: Canonical(m.Value)}}
	case configv1.MatchField_LPM:
		if m.Any || m.PrefixLen == 0 {
			return nil
		}
		fm.FieldMatchType = &v1.FieldMatch_Lpm{Lpm: &v1.FieldMatch_LPM{Value: Canonical(m.Value), PrefixLen: int32(m.PrefixLen)}}
	case configv1.MatchField_TERNARY:
		if m.Any || isZero(m.Mask) {
			return nil
		}
		fm.FieldMatchType = &v1.FieldMatch_Ternary_{Ternary: &v1.FieldMatch_Ternary{Value: Canonical(m.Value), Mask: Canonical(m.Mask)}}
	case configv1.MatchField_RANGE:
		lo, hi := Canonical(m.Lo), Canonical(m.Hi)
		if m.Any || isZero(lo) && string(hi) == string(Canonical(ones(width))) {
			return nil
		}
		fm.FieldMatchType = &v1.FieldMatch_Range_{Range: &v1.FieldMatch_Range{Low: lo, High: hi}}
	}
	return fm
}

// DecodeAction turns an action into target's form, checking that every parameter
// is given once and fits.
func (s *Schema) DecodeAction(a *v1.Action) (*target.Action, error) {
	info, err := s.Actions.MustID(a.GetActionId())
	if err != nil {
		return nil, err
	}
	name := info.GetPreamble().GetName()
	out := &target.Action{Name: name, Params: make([][]byte, len(info.GetParams()))}
	for _, p := range a.GetParams() {
		i := paramAt(info.GetParams(), p.GetParamId())
		switch {
		case i < 0:
			return nil, invalid("action %s has no parameter with id %d", name, p.GetParamId())
		case out.Params[i] != nil:
			return nil, invalid("action %s: parameter %s is given twice", name, info.Params[i].GetName())
		}
		v, err := Fit(p.GetValue(), int(info.Params[i].GetBitwidth()))
		if err != nil {
			return nil, invalid("action %s: parameter %s: %s", name, info.Params[i].GetName(), status.Convert(err).Message())
		}
		out.Params[i] = v
	}
	for i, p := range info.GetParams() {
		if out.Params[i] == nil {
			return nil, invalid("action %s: parameter %s is missing", name, p.GetName())
		}
	}
	return out, nil
}

func paramAt(params []*configv1.Action_Param, id uint32) int {
	if i := int(id) - 1; i >= 0 && i < len(params) && params[i].GetId() == id {
		return i
	}
	for i, p := range params {
		if p.GetId() == id {
			return i
		}
	}
	return -1
}

// EncodeAction is the inverse of DecodeAction.
func (s *Schema) EncodeAction(a *target.Action) (*v1.Action, error) {
	info, err := s.Actions.Named(a.Name)
	if err != nil {
		return nil, err
	}
	if len(a.Params) != len(info.GetParams()) {
		return nil, invalid("action %s: %d values for %d parameters", a.Name, len(a.Params), len(info.GetParams()))
	}
	out := &v1.Action{ActionId: info.GetPreamble().GetId()}
	for i, p := range info.GetParams() {
		out.Params = append(out.Params, &v1.Action_Param{ParamId: p.GetId(), Value: Canonical(a.Params[i])})
	}
	return out, nil
}

// DecodeTableAction is the action of a table entry: an action of a direct table, a
// member or group of an indirect one. scope says which actions may not stand
// here: TABLE_ONLY ones as defaults, DEFAULT_ONLY ones in entries. An action set
// (one shot) is the caller's to handle.
func (s *Schema) DecodeTableAction(t *Table, ta *v1.TableAction, isDefault bool, e *target.Entry) error {
	switch a := ta.GetType().(type) {
	case *v1.TableAction_Action:
		if t.Profile != nil && !isDefault {
			return invalid("table %s is implemented by action profile %s: an entry gives a member or a group, not an action", t.Name(), t.Profile.GetPreamble().GetName())
		}
		if err := s.CheckRef(t, a.Action.GetActionId(), isDefault); err != nil {
			return err
		}
		act, err := s.DecodeAction(a.Action)
		if err != nil {
			return invalid("table %s: %s", t.Name(), status.Convert(err).Message())
		}
		e.Action = act
	case *v1.TableAction_ActionProfileMemberId:
		if t.Profile == nil || isDefault {
			return invalid("table %s: a member of an action profile cannot stand here", t.Name())
		}
		if e.Member = a.ActionProfileMemberId; e.Member == 0 {
			return invalid("table %s: member id 0", t.Name())
		}
	case *v1.TableAction_ActionProfileGroupId:
		if t.Profile == nil || !t.Profile.GetWithSelector() || isDefault {
			return invalid("table %s: a group of an action selector cannot stand here", t.Name())
		}
		if e.Group = a.ActionProfileGroupId; e.Group == 0 {
			return invalid("table %s: group id 0", t.Name())
		}
	default:
		return invalid("table %s: the action is missing", t.Name())
	}
	return nil
}

// CheckRef checks that a table may run an action, as entry or as default.
func (s *Schema) CheckRef(t *Table, action uint32, isDefault bool) error {
	ref, ok := t.Refs[action]
	if !ok {
		name := fmt.Sprintf("with id 0x%08x", action)
		if a := s.Actions.ID(action); a != nil {
			name = a.GetPreamble().GetName()
		}
		return invalid("table %s has no action %s; %s", t.Name(), name, known(s.ActionNames(t)))
	}
	name := s.Actions.ID(action).GetPreamble().GetName()
	switch {
	case isDefault && ref.GetScope() == configv1.ActionRef_TABLE_ONLY:
		return status.Errorf(codes.PermissionDenied, "table %s: action %s cannot be the default action (@tableonly)", t.Name(), name)
	case !isDefault && ref.GetScope() == configv1.ActionRef_DEFAULT_ONLY:
		return status.Errorf(codes.PermissionDenied, "table %s: action %s can only be the default action (@defaultonly)", t.Name(), name)
	}
	return nil
}

// EncodeEntry turns an entry into a message, without its counter and meter, which
// the reader asks for or not.
func (s *Schema) EncodeEntry(t *Table, e target.Entry) (*v1.TableEntry, error) {
	te := &v1.TableEntry{TableId: t.GetPreamble().GetId(), IsConst: e.Const}
	if t.NeedsPriority {
		if e.Priority > MaxPriority {
			return nil, status.Errorf(codes.Internal, "table %s: priority %d", t.Name(), e.Priority)
		}
		te.Priority = int32(e.Priority)
	}
	var err error
	if te.Match, err = EncodeMatches(t.MatchFields, e.Match); err != nil {
		return nil, status.Errorf(codes.Internal, "table %s: %s", t.Name(), status.Convert(err).Message())
	}
	switch {
	case e.Action != nil:
		a, err := s.EncodeAction(e.Action)
		if err != nil {
			return nil, status.Errorf(codes.Internal, "table %s: %s", t.Name(), status.Convert(err).Message())
		}
		te.Action = &v1.TableAction{Type: &v1.TableAction_Action{Action: a}}
	case e.Group != 0:
		te.Action = &v1.TableAction{Type: &v1.TableAction_ActionProfileGroupId{ActionProfileGroupId: e.Group}}
	case e.Member != 0:
		te.Action = &v1.TableAction{Type: &v1.TableAction_ActionProfileMemberId{ActionProfileMemberId: e.Member}}
	}
	return te, nil
}

// DecodeMeter checks a meter's configuration; nil stays nil.
func DecodeMeter(spec *configv1.MeterSpec, c *v1.MeterConfig) (*target.MeterConfig, error) {
	if c == nil {
		return nil, nil
	}
	if c.Cir < 0 || c.Cburst < 0 || c.Pir < 0 || c.Pburst < 0 || c.Eburst < 0 {
		return nil, invalid("meter configuration with a negative rate or burst: %v", c)
	}
	if spec.GetType() == configv1.MeterSpec_SINGLE_RATE_THREE_COLOR {
		return nil, status.Error(codes.Unimplemented, "single-rate three-colour meters are not supported")
	}
	if c.Eburst != 0 {
		return nil, invalid("eburst is set, but the meter is not a single-rate three-colour one")
	}
	if spec.GetType() == configv1.MeterSpec_SINGLE_RATE_TWO_COLOR && (c.Pir != c.Cir || c.Pburst != c.Cburst) {
		return nil, invalid("a single-rate two-colour meter needs pir = cir and pburst = cburst")
	}
	if c.Pir < c.Cir {
		return nil, invalid("pir %d is below cir %d", c.Pir, c.Cir)
	}
	return &target.MeterConfig{CIR: uint64(c.Cir), CBurst: uint64(c.Cburst), PIR: uint64(c.Pir), PBurst: uint64(c.Pburst)}, nil
}

// EncodeMeter is the inverse of DecodeMeter.
func EncodeMeter(c *target.MeterConfig) *v1.MeterConfig {
	if c == nil {
		return nil
	}
	return &v1.MeterConfig{Cir: int64(c.CIR), Cburst: int64(c.CBurst), Pir: int64(c.PIR), Pburst: int64(c.PBurst)}
}

// DecodeCounter checks a counter's value; nil stays nil.
func DecodeCounter(c *v1.CounterData) (*target.Counter, error) {
	if c == nil {
		return nil, nil
	}
	if c.PacketCount < 0 || c.ByteCount < 0 {
		return nil, invalid("negative counter value: %v", c)
	}
	return &target.Counter{Packets: uint64(c.PacketCount), Bytes: uint64(c.ByteCount)}, nil
}

// EncodeCounter is the inverse of DecodeCounter.
func EncodeCounter(c *target.Counter) *v1.CounterData {
	if c == nil {
		return nil
	}
	return &v1.CounterData{PacketCount: int64(c.Packets), ByteCount: int64(c.Bytes)}
}

func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}
