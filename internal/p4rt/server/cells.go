package server

import (
	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt"
	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// span returns the cells that an index stands for: one, or all if it is unset.
func span(what string, p *configv1.Preamble, index *v1.Index, size int) (from, to int, err error) {
	if index == nil {
		return 0, size, nil
	}
	switch i := index.GetIndex(); {
	case i < 0:
		return 0, 0, invalid("%s %s: negative index %d", what, p.GetName(), i)
	case i >= int64(size):
		return 0, 0, fail(codes.OutOfRange, "%s %s: index %d, the size is %d", what, p.GetName(), i, size)
	default:
		return int(i), int(i) + 1, nil
	}
}

func at(i int) *v1.Index { return &v1.Index{Index: int64(i)} }

// chosen returns the object with that id, or all of them for id 0.
func chosen[T any](x *p4rt.Index[T], id uint32) ([]T, error) {
	if id == 0 {
		return x.All(), nil
	}
	obj, err := x.MustID(id)
	return []T{obj}, err
}

func (e *entities) writeCounter(c *v1.CounterEntry) error {
	info, err := e.schema.Counters.MustID(c.GetCounterId())
	if err != nil {
		return err
	}
	from, to, err := span("counter", info.GetPreamble(), c.GetIndex(), int(info.GetSize()))
	if err != nil {
		return err
	}
	data, err := p4rt.DecodeCounter(c.GetData())
	if err != nil || data == nil {
		return err
	}
	for i := from; i < to; i++ {
		if err := e.pipeline.WriteCounter(info.GetPreamble().GetName(), i, *data); err != nil {
			return err
		}
	}
	return nil
}

func (e *entities) readCounter(q *v1.CounterEntry) ([]*v1.Entity, error) {
	infos, err := chosen(e.schema.Counters, q.GetCounterId())
	if err != nil {
		return nil, err
	}
	var out []*v1.Entity
	for _, info := range infos {
		from, to, err := span("counter", info.GetPreamble(), q.GetIndex(), int(info.GetSize()))
		if err != nil {
			return nil, err
		}
		for i := from; i < to; i++ {
			c, err := e.pipeline.ReadCounter(info.GetPreamble().GetName(), i)
			if err != nil {
				return nil, err
			}
			out = append(out, &v1.Entity{Entity: &v1.Entity_CounterEntry{CounterEntry: &v1.CounterEntry{
				CounterId: info.GetPreamble().GetId(), Index: at(i), Data: p4rt.EncodeCounter(&c),
			}}})
		}
	}
	return out, nil
}

func (e *entities) writeMeter(m *v1.MeterEntry) error {
	info, err := e.schema.Meters.MustID(m.GetMeterId())
	if err != nil {
		return err
	}
	if m.GetCounterData() != nil {
		return fail(codes.Unimplemented, "meter %s does not count by colour", info.GetPreamble().GetName())
	}
	from, to, err := span("meter", info.GetPreamble(), m.GetIndex(), int(info.GetSize()))
	if err != nil {
		return err
	}
	c, err := p4rt.DecodeMeter(info.GetSpec(), m.GetConfig())
	if err != nil {
		return within(err, "meter %s", info.GetPreamble().GetName())
	}
	for i := from; i < to; i++ {
		if err := e.pipeline.WriteMeter(info.GetPreamble().GetName(), i, c); err != nil {
			return err
		}
	}
	return nil
}

func (e *entities) readMeter(q *v1.MeterEntry) ([]*v1.Entity, error) {
	infos, err := chosen(e.schema.Meters, q.GetMeterId())
	if err != nil {
		return nil, err
	}
	if q.GetCounterData() != nil {
		return nil, fail(codes.Unimplemented, "meters do not count by colour")
	}
	var out []*v1.Entity
	for _, info := range infos {
		from, to, err := span("meter", info.GetPreamble(), q.GetIndex(), int(info.GetSize()))
		if err != nil {
			return nil, err
		}
		for i := from; i < to; i++ {
			c, err := e.pipeline.ReadMeter(info.GetPreamble().GetName(), i)
			if err != nil {
				return nil, err
			}
			out = append(out, &v1.Entity{Entity: &v1.Entity_MeterEntry{MeterEntry: &v1.MeterEntry{
				MeterId: info.GetPreamble().GetId(), Index: at(i), Config: p4rt.EncodeMeter(c),
			}}})
		}
	}
	return out, nil
}

func (e *entities) writeRegister(r *v1.RegisterEntry) error {
	info, err := e.schema.Registers.MustID(r.GetRegisterId())
	if err != nil {
		return err
	}
	name := info.GetPreamble().GetName()
	from, to, err := span("register", info.GetPreamble(), r.GetIndex(), int(info.GetSize()))
	if err != nil {
		return err
	}
	if r.GetData() == nil {
		return invalid("register %s: the data is missing", name)
	}
	v, err := e.schema.DecodeData(info.GetTypeSpec(), info.Scalars, r.GetData())
	if err != nil {
		return within(err, "register %s", name)
	}
	for i := from; i < to; i++ {
		if err := e.pipeline.WriteRegister(name, i, v); err != nil {
			return err
		}
	}
	return nil
}

func (e *entities) readRegister(q *v1.RegisterEntry) ([]*v1.Entity, error) {
	infos, err := chosen(e.schema.Registers, q.GetRegisterId())
	if err != nil {
		return nil, err
	}
	var out []*v1.Entity
	for _, info := range infos {
		from, to, err := span("register", info.GetPreamble(), q.GetIndex(), int(info.GetSize()))
		if err != nil {
			return nil, err
		}
		for i := from; i < to; i++ {
			v, err := e.pipeline.ReadRegister(info.GetPreamble().GetName(), i)
			if err != nil {
				return nil, err
			}
			d, err := e.schema.EncodeData(info.GetTypeSpec(), info.Scalars, v)
			if err != nil {
				return nil, err
			}
			out = append(out, &v1.Entity{Entity: &v1.Entity_RegisterEntry{RegisterEntry: &v1.RegisterEntry{
				RegisterId: info.GetPreamble().GetId(), Index: at(i), Data: d,
			}}})
		}
	}
	return out, nil
}

func (e *entities) writeValueSet(v *v1.ValueSetEntry) error {
	info, err := e.schema.ValueSets.MustID(v.GetValueSetId())
	if err != nil {
		return err
	}
	name := info.GetPreamble().GetName()
	if n := len(v.GetMembers()); n > int(info.GetSize()) {
		return fail(codes.ResourceExhausted, "value set %s: %d members, the size is %d", name, n, info.GetSize())
	}
	var members [][]target.Match
	seen := map[string]bool{}
	for i, m := range v.GetMembers() {
		ms, err := p4rt.DecodeMatches(info.GetMatch(), m.GetMatch())
		if err != nil {
			return invalid("value set %s: member %d: %s", name, i, status.Convert(err).Message())
		}
		id := target.Identity(target.Entry{Match: ms})
		if seen[id] {
			return fail(codes.AlreadyExists, "value set %s: member %d is there twice", name, i)
		}
		seen[id] = true
		members = append(members, ms)
	}
	return e.pipeline.WriteValueSet(name, members)
}

func (e *entities) readValueSet(q *v1.ValueSetEntry) ([]*v1.Entity, error) {
	infos, err := chosen(e.schema.ValueSets, q.GetValueSetId())
	if err != nil {
		return nil, err
	}
	var out []*v1.Entity
	for _, info := range infos {
		members, err := e.pipeline.ReadValueSet(info.GetPreamble().GetName())
		if err != nil {
			return nil, err
		}
		entry := &v1.ValueSetEntry{ValueSetId: info.GetPreamble().GetId()}
		for _, ms := range members {
			m, err := p4rt.EncodeMatches(info.GetMatch(), ms)
			if err != nil {
				return nil, err
			}
			entry.Members = append(entry.Members, &v1.ValueSetMember{Match: m})
		}
		out = append(out, &v1.Entity{Entity: &v1.Entity_ValueSetEntry{ValueSetEntry: entry}})
	}
	return out, nil
}
