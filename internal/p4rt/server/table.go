package server

import (
	"errors"
	"fmt"

	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt"
	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// extras is what an entry carries beside what the device understands: the
// controller's metadata and, for a one-shot entry, its action set. A device keeps
// it as the entry's metadata.
type extras []byte

// packExtras keeps the fields of te that the device does not know; nil if unset.
func packExtras(te *v1.TableEntry) (extras, error) {
	x := &v1.TableEntry{
		//lint:ignore SA1019 deprecated, but the specification still asks for it
		ControllerMetadata: te.GetControllerMetadata(),
		Metadata:           te.GetMetadata(),
	}
	if te.GetAction().GetActionProfileActionSet() != nil {
		x.Action = te.GetAction()
	}
	b, err := proto.Marshal(x)
	if err != nil || len(b) == 0 {
		return nil, err
	}
	return b, nil
}

// unpack puts the fields back.
func (x extras) unpack(te *v1.TableEntry) error {
	if len(x) == 0 {
		return nil
	}
	var was v1.TableEntry
	if err := proto.Unmarshal(x, &was); err != nil {
		return fail(codes.Internal, "entry metadata: %v", err)
	}
	//lint:ignore SA1019 as above
	te.ControllerMetadata, te.Metadata = was.GetControllerMetadata(), was.GetMetadata()
	if was.GetAction() != nil {
		te.Action = was.GetAction()
	}
	return nil
}

// repack keeps the action set of x and takes the rest from te.
func (x extras) repack(te *v1.TableEntry) (extras, error) {
	var was v1.TableEntry
	if err := proto.Unmarshal(x, &was); err != nil {
		return nil, fail(codes.Internal, "entry metadata: %v", err)
	}
	//lint:ignore SA1019 deprecated, but still kept
	was.ControllerMetadata, was.Metadata = te.GetControllerMetadata(), te.GetMetadata()
	return packExtras(&was)
}

// writeTable inserts, modifies or deletes a table entry.
func (e *entities) writeTable(op target.Op, te *v1.TableEntry) error {
	if te.GetIsDefaultAction() {
		return e.writeDefault(op, te)
	}
	t, entry, err := e.schema.DecodeKey(te)
	if err != nil {
		return err
	}
	if op != target.Delete {
		if err := e.checkRest(t, te); err != nil {
			return err
		}
	}
	if t.GetIsConstTable() && (op != target.Modify || te.GetAction() != nil) {
		return fail(codes.PermissionDenied, "table %s is constant: its entries are part of the program", t.Name())
	}
	if t.GetHasInitialEntries() && op != target.Insert {
		was, err := e.find(t, entry)
		if err != nil {
			return err
		}
		if was.Const && (op == target.Delete || te.GetAction() != nil) {
			return fail(codes.PermissionDenied, "table %s: the entry is constant, a part of the program", t.Name())
		}
	}
	if op == target.Delete {
		return e.deleteEntry(t, entry)
	}

	if entry.Counter, err = p4rt.DecodeCounter(te.GetCounterData()); err != nil {
		return err
	}
	if te.GetMeterConfig() != nil {
		if entry.Meter, err = p4rt.DecodeMeter(t.Meter.GetSpec(), te.GetMeterConfig()); err != nil {
			return err
		}
	}
	if te.GetAction() == nil && op == target.Modify {
		// The action stays; only direct resources and metadata change.
		was, err := e.find(t, entry)
		if err != nil {
			return err
		}
		entry.Action, entry.Member, entry.Group = was.Action, was.Member, was.Group
		if entry.Metadata, err = extras(was.Metadata).repack(te); err != nil {
			return err
		}
		return e.pipeline.WriteEntry(op, entry)
	}
	x, err := packExtras(te)
	if err != nil {
		return err
	}
	entry.Metadata = x
	if te.GetAction().GetActionProfileActionSet() != nil {
		return e.writeOneShot(op, t, entry, te.GetAction().GetActionProfileActionSet())
	}
	if te.GetAction() != nil {
		if err := e.schema.DecodeTableAction(t, te.GetAction(), false, &entry); err != nil {
			return err
		}
		if err := e.checkReference(t, entry); err != nil {
			return err
		}
	} else {
		return invalid("table %s: the action is missing", t.Name())
	}
	return e.pipeline.WriteEntry(op, entry)
}

// checkRest checks the fields that are neither key nor action.
func (e *entities) checkRest(t *p4rt.Table, te *v1.TableEntry) error {
	switch {
	case te.GetIsConst():
		return invalid("table %s: is_const is set; only the program makes entries constant", t.Name())
	case te.GetCounterData() != nil && t.Counter == nil:
		return invalid("table %s has no direct counter", t.Name())
	case te.GetMeterConfig() != nil && t.Meter == nil:
		return invalid("table %s has no direct meter", t.Name())
	case te.GetMeterCounterData() != nil:
		return fail(codes.Unimplemented, "table %s: meters do not count by colour", t.Name())
	case te.GetTimeSinceLastHit() != nil:
		return invalid("table %s: time_since_last_hit cannot be written", t.Name())
	case te.GetIdleTimeoutNs() < 0:
		return invalid("table %s: negative idle timeout", t.Name())
	case te.GetIdleTimeoutNs() != 0 && t.GetIdleTimeoutBehavior() == 0:
		return invalid("table %s does not support idle timeouts", t.Name())
	case te.GetIdleTimeoutNs() != 0:
		return fail(codes.Unimplemented, "table %s: the device does not tell when entries were last hit", t.Name())
	}
	return nil
}

// writeDefault changes a table's default action or, without action, restores the
// program's.
func (e *entities) writeDefault(op target.Op, te *v1.TableEntry) error {
	t, err := e.schema.Tables.MustID(te.GetTableId())
	if err != nil {
		return err
	}
	switch {
	case op != target.Modify:
		return invalid("table %s: the default entry always exists; use MODIFY", t.Name())
	case len(te.GetMatch()) != 0 || te.GetPriority() != 0:
		return invalid("table %s: the default entry has no match and no priority", t.Name())
	case te.GetIdleTimeoutNs() != 0 || te.GetTimeSinceLastHit() != nil:
		return invalid("table %s: the default entry has no idle timeout", t.Name())
	case t.GetConstDefaultActionId() != 0:
		return fail(codes.PermissionDenied, "table %s: the default action is constant", t.Name())
	case te.GetCounterData() != nil && t.Counter == nil:
		return invalid("table %s has no direct counter", t.Name())
	case te.GetMeterConfig() != nil && t.Meter == nil:
		return invalid("table %s has no direct meter", t.Name())
	case te.GetCounterData() != nil || te.GetMeterConfig() != nil || te.GetMeterCounterData() != nil:
		return fail(codes.Unimplemented, "table %s: direct resources of the default entry cannot be written", t.Name())
	}
	if te.GetAction() == nil {
		if err := e.pipeline.SetDefault(t.Name(), nil); err != nil {
			return err
		}
		delete(e.defaults, t.Name())
		return nil
	}
	var entry target.Entry
	if err := e.schema.DecodeTableAction(t, te.GetAction(), true, &entry); err != nil {
		return err
	}
	x, err := packExtras(te)
	if err != nil {
		return err
	}
	if err := e.pipeline.SetDefault(t.Name(), entry.Action); err != nil {
		return err
	}
	e.defaults[t.Name()] = x
	return nil
}

// find reads one entry; key has its match and priority.
func (e *entities) find(t *p4rt.Table, key target.Entry) (target.Entry, error) {
	if f, ok := e.pipeline.(Finder); ok {
		return f.FindEntry(key)
	}
	all, _, err := e.pipeline.ReadEntries(t.Name())
	if err != nil {
		return target.Entry{}, err
	}
	want := e.identity(t, key)
	for _, x := range all {
		if e.identity(t, x) == want {
			return x, nil
		}
	}
	return target.Entry{}, fmt.Errorf("table %s: no such entry: %w", t.Name(), target.ErrNotFound)
}

// identity is the same for two entries with the same key, however their values
// are padded.
func (e *entities) identity(t *p4rt.Table, x target.Entry) string {
	ms, err := p4rt.EncodeMatches(t.MatchFields, x.Match)
	if err != nil {
		return ""
	}
	id := fmt.Sprint(x.Priority)
	for _, m := range ms {
		id += fmt.Sprintf(";%d", m.GetFieldId())
		switch v := m.GetFieldMatchType().(type) {
		case *v1.FieldMatch_Exact_:
			id += fmt.Sprintf("=%x", v.Exact.Value)
		case *v1.FieldMatch_Optional_:
			id += fmt.Sprintf("=%x", v.Optional.Value)
		case *v1.FieldMatch_Lpm:
			id += fmt.Sprintf("=%x/%d", v.Lpm.Value, v.Lpm.PrefixLen)
		case *v1.FieldMatch_Ternary_:
			id += fmt.Sprintf("=%x&%x", v.Ternary.Value, v.Ternary.Mask)
		case *v1.FieldMatch_Range_:
			id += fmt.Sprintf("=%x-%x", v.Range.Low, v.Range.High)
		}
	}
	return id
}

// readTable answers a query about table entries.
func (e *entities) readTable(q *v1.TableEntry) ([]*v1.Entity, error) {
	if q.GetTableId() == 0 {
		if len(q.GetMatch()) != 0 || q.GetAction() != nil || q.GetPriority() != 0 || len(q.GetMetadata()) != 0 {
			return nil, invalid("a read of all tables takes no other filter")
		}
		var out []*v1.Entity
		for _, t := range e.schema.Tables.All() {
			part, err := e.readOneTable(t, q)
			if err != nil {
				return nil, err
			}
			out = append(out, part...)
		}
		return out, nil
	}
	t, err := e.schema.Tables.MustID(q.GetTableId())
	if err != nil {
		return nil, err
	}
	if q.GetTimeSinceLastHit() != nil && t.GetIdleTimeoutBehavior() == 0 {
		return nil, invalid("table %s does not support idle timeouts", t.Name())
	}
	if q.GetMeterCounterData() != nil {
		return nil, fail(codes.Unimplemented, "table %s: meters do not count by colour", t.Name())
	}
	return e.readOneTable(t, q)
}

func (e *entities) readOneTable(t *p4rt.Table, q *v1.TableEntry) ([]*v1.Entity, error) {
	if q.GetIsDefaultAction() {
		if len(q.GetMatch()) != 0 || q.GetPriority() != 0 {
			return nil, invalid("table %s: the default entry has no match and no priority", t.Name())
		}
		_, def, err := e.pipeline.ReadEntries(t.Name())
		if err != nil || def == nil {
			return nil, err
		}
		te, err := e.defaultEntry(t, def)
		if err != nil || !selects(q, te) {
			return nil, err
		}
		return []*v1.Entity{entity(te)}, nil
	}
	entries, err := e.matching(t, q)
	if err != nil {
		return nil, err
	}
	var out []*v1.Entity
	for _, x := range entries {
		te, err := e.schema.EncodeEntry(t, x)
		if err != nil {
			return nil, err
		}
		if err := extras(x.Metadata).unpack(te); err != nil {
			return nil, err
		}
		if !selects(q, te) {
			continue
		}
		if q.GetCounterData() != nil && t.Counter != nil {
			te.CounterData = p4rt.EncodeCounter(orZero(x.Counter))
		}
		if q.GetMeterConfig() != nil && t.Meter != nil {
			te.MeterConfig = p4rt.EncodeMeter(x.Meter)
		}
		out = append(out, entity(te))
	}
	return out, nil
}

// matching returns a table's entries, or the one with the query's match.
func (e *entities) matching(t *p4rt.Table, q *v1.TableEntry) ([]target.Entry, error) {
	if len(q.GetMatch()) == 0 {
		all, _, err := e.pipeline.ReadEntries(t.Name())
		return all, err
	}
	ms, err := p4rt.DecodeMatches(t.MatchFields, q.GetMatch())
	if err != nil {
		return nil, err
	}
	key := target.Entry{Table: t.Name(), Match: ms, Priority: int(q.GetPriority())}
	if !t.NeedsPriority || q.GetPriority() != 0 {
		one, err := e.find(t, key)
		if errors.Is(err, target.ErrNotFound) {
			return nil, nil
		}
		return []target.Entry{one}, err
	}
	// Any priority.
	all, _, err := e.pipeline.ReadEntries(t.Name())
	if err != nil {
		return nil, err
	}
	want := e.identity(t, key)
	var out []target.Entry
	for _, x := range all {
		y := x
		y.Priority = 0
		if e.identity(t, y) == want {
			out = append(out, x)
		}
	}
	return out, nil
}

func (e *entities) defaultEntry(t *p4rt.Table, def *target.Action) (*v1.TableEntry, error) {
	a, err := e.schema.EncodeAction(def)
	if err != nil {
		return nil, fail(codes.Internal, "table %s: %v", t.Name(), err)
	}
	te := &v1.TableEntry{
		TableId: t.GetPreamble().GetId(), IsDefaultAction: true, IsConst: t.GetConstDefaultActionId() != 0,
		Action: &v1.TableAction{Type: &v1.TableAction_Action{Action: a}},
	}
	return te, e.defaults[t.Name()].unpack(te)
}

// selects applies the filters of a query.
func selects(q, te *v1.TableEntry) bool {
	if id := q.GetAction().GetAction().GetActionId(); id != 0 && te.GetAction().GetAction().GetActionId() != id {
		return false
	}
	if q.GetPriority() != 0 && te.GetPriority() != q.GetPriority() {
		return false
	}
	//lint:ignore SA1019 deprecated, but still a filter
	if c := q.GetControllerMetadata(); c != 0 && te.GetControllerMetadata() != c {
		return false
	}
	return len(q.GetMetadata()) == 0 || string(q.GetMetadata()) == string(te.GetMetadata())
}

func entity(te *v1.TableEntry) *v1.Entity {
	return &v1.Entity{Entity: &v1.Entity_TableEntry{TableEntry: te}}
}

func orZero(c *target.Counter) *target.Counter {
	if c == nil {
		return &target.Counter{}
	}
	return c
}
