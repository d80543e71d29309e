package server

import (
	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt"
	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
)

// writeDirectCounter sets the counter of a table entry; without data it does nothing.
func (e *entities) writeDirectCounter(d *v1.DirectCounterEntry) error {
	t, entry, err := e.directKey(d.GetTableEntry())
	if err != nil {
		return err
	}
	if t.Counter == nil {
		return invalid("table %s has no direct counter", t.Name())
	}
	c, err := p4rt.DecodeCounter(d.GetData())
	if err != nil {
		return err
	}
	if entry, err = e.find(t, entry); err != nil || c == nil {
		return err
	}
	entry.Counter = c
	return e.pipeline.WriteEntry(target.Modify, entry)
}

// writeDirectMeter configures the meter of a table entry; without a configuration
// all is green again.
func (e *entities) writeDirectMeter(d *v1.DirectMeterEntry) error {
	t, entry, err := e.directKey(d.GetTableEntry())
	if err != nil {
		return err
	}
	if t.Meter == nil {
		return invalid("table %s has no direct meter", t.Name())
	}
	if d.GetCounterData() != nil {
		return fail(codes.Unimplemented, "table %s: meters do not count by colour", t.Name())
	}
	m, err := p4rt.DecodeMeter(t.Meter.GetSpec(), d.GetConfig())
	if err != nil {
		return err
	}
	if entry, err = e.find(t, entry); err != nil {
		return err
	}
	entry.Meter, entry.Counter = m, nil
	return e.pipeline.WriteEntry(target.Modify, entry)
}

func (e *entities) directKey(te *v1.TableEntry) (*p4rt.Table, target.Entry, error) {
	if te == nil {
		return nil, target.Entry{}, invalid("the table entry is missing")
	}
	if te.GetIsDefaultAction() {
		return nil, target.Entry{}, fail(codes.Unimplemented, "direct resources of default entries cannot be accessed")
	}
	return e.schema.DecodeKey(te)
}

func (e *entities) readDirectCounter(d *v1.DirectCounterEntry) ([]*v1.Entity, error) {
	var out []*v1.Entity
	err := e.eachDirect(d.GetTableEntry(), func(t *p4rt.Table, te *v1.TableEntry, x target.Entry) {
		if t.Counter != nil {
			out = append(out, &v1.Entity{Entity: &v1.Entity_DirectCounterEntry{DirectCounterEntry: &v1.DirectCounterEntry{
				TableEntry: te, Data: p4rt.EncodeCounter(orZero(x.Counter)),
			}}})
		}
	}, func(t *p4rt.Table) bool { return t.Counter != nil }, "counter")
	return out, err
}

func (e *entities) readDirectMeter(d *v1.DirectMeterEntry) ([]*v1.Entity, error) {
	if d.GetCounterData() != nil {
		return nil, fail(codes.Unimplemented, "meters do not count by colour")
	}
	var out []*v1.Entity
	err := e.eachDirect(d.GetTableEntry(), func(t *p4rt.Table, te *v1.TableEntry, x target.Entry) {
		out = append(out, &v1.Entity{Entity: &v1.Entity_DirectMeterEntry{DirectMeterEntry: &v1.DirectMeterEntry{
			TableEntry: te, Config: p4rt.EncodeMeter(x.Meter),
		}}})
	}, func(t *p4rt.Table) bool { return t.Meter != nil }, "meter")
	return out, err
}

// eachDirect calls f for every entry that q selects in the tables that have the
// resource. te holds the entry's key only. A query for one entry that is not there
// fails with NOT_FOUND.
func (e *entities) eachDirect(q *v1.TableEntry, f func(*p4rt.Table, *v1.TableEntry, target.Entry), has func(*p4rt.Table) bool, what string) error {
	if q.GetIsDefaultAction() {
		return fail(codes.Unimplemented, "direct resources of default entries cannot be accessed")
	}
	tables := e.schema.Tables.All()
	if id := q.GetTableId(); id != 0 {
		t, err := e.schema.Tables.MustID(id)
		if err != nil {
			return err
		}
		if !has(t) {
			return invalid("table %s has no direct %s", t.Name(), what)
		}
		tables = []*p4rt.Table{t}
	}
	for _, t := range tables {
		if !has(t) {
			continue
		}
		entries, err := e.matching(t, q)
		if err != nil {
			return err
		}
		if len(q.GetMatch()) != 0 && len(entries) == 0 {
			return fail(codes.NotFound, "table %s: no such entry", t.Name())
		}
		for _, x := range entries {
			if q.GetPriority() != 0 && int(q.GetPriority()) != x.Priority {
				continue
			}
			te, err := e.schema.EncodeEntry(t, x)
			if err != nil {
				return err
			}
			te.Action, te.IsConst = nil, false
			f(t, te, x)
		}
	}
	return nil
}
