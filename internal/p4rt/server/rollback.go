package server

import (
	"errors"

	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt"
)

// writeOrRollBack applies a batch wholly or not at all (ROLLBACK_ON_ERROR). What an
// update destroys is read before; since reads and writes are symmetric, undoing is
// writing what was read.
func (s *Server) writeOrRollBack(e *entities, updates []*v1.Update) (*v1.WriteResponse, error) {
	results := make([]error, len(updates))
	var undo []*v1.Update
	for i, u := range updates {
		back, err := s.inverse(e, u)
		if err == nil {
			err = s.apply(e, u)
		}
		if err == nil {
			undo = append(undo, back...)
			continue
		}
		for j := range results {
			results[j] = fail(codes.Aborted, "not done: the batch was rolled back")
		}
		results[i] = coded(err)
		if err := s.rollBack(e, undo); err != nil {
			return nil, fail(codes.Internal, "update %d failed (%v), and the batch could not be rolled back: %v", i, results[i], err)
		}
		return nil, batchError("updates", results)
	}
	s.note(updates)
	return &v1.WriteResponse{}, nil
}

func (s *Server) rollBack(e *entities, undo []*v1.Update) error {
	var errs []error
	for i := len(undo) - 1; i >= 0; i-- {
		errs = append(errs, s.apply(e, undo[i]))
	}
	return errors.Join(errs...)
}

// inverse returns the updates that undo u, in reverse order.
func (s *Server) inverse(e *entities, u *v1.Update) ([]*v1.Update, error) {
	if u.GetType() == v1.Update_INSERT {
		return []*v1.Update{{Type: v1.Update_DELETE, Entity: u.GetEntity()}}, nil
	}
	var before []*v1.Entity
	var err error
	if d := u.GetEntity().GetDigestEntry(); d != nil {
		before, err = s.digests.read(e.schema, d)
	} else {
		before, err = e.before(u)
	}
	if err != nil {
		return nil, err
	}
	var back []*v1.Update
	for _, x := range before {
		typ := v1.Update_MODIFY
		if u.GetType() == v1.Update_DELETE {
			typ = v1.Update_INSERT
		}
		back = append(back, &v1.Update{Type: typ, Entity: x})
	}
	return back, nil
}

// before reads what a MODIFY or DELETE is about to change. Something that is not
// there gives nothing: the update itself will fail.
func (e *entities) before(u *v1.Update) ([]*v1.Entity, error) {
	te := u.GetEntity().GetTableEntry()
	if te == nil {
		return e.read(withoutValue(u.GetEntity()))
	}
	if te.GetIsDefaultAction() {
		return e.readTable(&v1.TableEntry{TableId: te.GetTableId(), IsDefaultAction: true})
	}
	t, key, err := e.schema.DecodeKey(te)
	if err != nil {
		return nil, err
	}
	was, err := e.find(t, key)
	if errors.Is(err, target.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out, err := e.schema.EncodeEntry(t, was)
	if err != nil {
		return nil, err
	}
	if err := extras(was.Metadata).unpack(out); err != nil {
		return nil, err
	}
	if t.Meter != nil {
		out.MeterConfig = p4rt.EncodeMeter(was.Meter)
	}
	// A counter that the update leaves alone goes on counting meanwhile.
	if t.Counter != nil && (u.GetType() == v1.Update_DELETE || te.GetCounterData() != nil) {
		out.CounterData = p4rt.EncodeCounter(orZero(was.Counter))
	}
	if was.Const {
		out.IsConst, out.Action = false, nil
	}
	return []*v1.Entity{entity(out)}, nil
}

// withoutValue turns an entity that is written into the query for what it replaces.
func withoutValue(x *v1.Entity) *v1.Entity {
	q := proto.Clone(x).(*v1.Entity)
	switch y := q.GetEntity().(type) {
	case *v1.Entity_DirectCounterEntry:
		y.DirectCounterEntry.Data = nil
	case *v1.Entity_DirectMeterEntry:
		y.DirectMeterEntry.Config = nil
	}
	return q
}
