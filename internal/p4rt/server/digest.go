package server

import (
	"strings"
	"sync"
	"time"

	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt"
	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// digestBook gathers digests into lists and keeps them from being repeated before
// they are acknowledged (section "DigestEntry").
type digestBook struct {
	send func(*v1.DigestList)
	now  func() time.Time

	mu     sync.Mutex
	schema *p4rt.Schema
	on     map[string]*digestState // by control-plane name: those that are enabled
	list   uint64                  // id of the last list
	timer  *time.Timer             // nil: none runs
	closed bool
}

// digestState is one enabled digest.
type digestState struct {
	info   *p4rt.Digest
	config *v1.DigestEntry_Config
	buffer []*v1.P4Data
	keys   map[string]bool // of the buffer
	first  time.Time       // when the buffer's oldest came
	cache  map[uint64]sentDigests
}

type sentDigests struct {
	at   time.Time
	keys map[string]bool
}

// digestBuffer is the size of a list for which the client sets no limit.
const digestBuffer = 1000

func newDigestBook(send func(*v1.DigestList)) *digestBook {
	return &digestBook{send: send, now: time.Now, on: map[string]*digestState{}}
}

// setSchema is called when another program runs. With keep, digests that are
// enabled stay so where the new program has them.
func (b *digestBook) setSchema(s *p4rt.Schema, keep bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.schema = s
	was := b.on
	b.on = map[string]*digestState{}
	if !keep {
		return
	}
	for name, st := range was {
		if info, err := s.Digests.Named(name); err == nil {
			b.on[name] = newDigestState(info, st.config)
		}
	}
}

func newDigestState(info *p4rt.Digest, c *v1.DigestEntry_Config) *digestState {
	return &digestState{info: info, config: c, keys: map[string]bool{}, cache: map[uint64]sentDigests{}}
}

// configure does an update of a DigestEntry.
func (b *digestBook) configure(s *p4rt.Schema, op v1.Update_Type, d *v1.DigestEntry) error {
	info, err := s.Digests.MustID(d.GetDigestId())
	if err != nil {
		return err
	}
	name := info.GetPreamble().GetName()
	b.mu.Lock()
	defer b.mu.Unlock()
	st := b.on[name]
	switch {
	case op == v1.Update_INSERT && st != nil:
		return fail(codes.AlreadyExists, "digest %s is enabled already", name)
	case op == v1.Update_MODIFY && st == nil, op == v1.Update_DELETE && st == nil:
		return fail(codes.NotFound, "digest %s is not enabled", name)
	case op == v1.Update_UNSPECIFIED:
		return invalid("update type %s", op)
	case op == v1.Update_DELETE:
		delete(b.on, name)
		return nil
	}
	c := d.GetConfig()
	if c.GetMaxTimeoutNs() < 0 || c.GetMaxListSize() < 0 || c.GetAckTimeoutNs() < 0 {
		return invalid("digest %s: negative timeout or list size", name)
	}
	if c == nil {
		c = &v1.DigestEntry_Config{}
	}
	c = proto.Clone(c).(*v1.DigestEntry_Config)
	if st == nil {
		b.on[name] = newDigestState(info, c)
		return nil
	}
	st.config = c
	b.flush()
	return nil
}

// read returns the configurations of enabled digests.
func (b *digestBook) read(s *p4rt.Schema, q *v1.DigestEntry) ([]*v1.Entity, error) {
	infos, err := chosen(s.Digests, q.GetDigestId())
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []*v1.Entity
	for _, info := range infos {
		if st := b.on[info.GetPreamble().GetName()]; st != nil {
			out = append(out, &v1.Entity{Entity: &v1.Entity_DigestEntry{DigestEntry: &v1.DigestEntry{
				DigestId: info.GetPreamble().GetId(), Config: st.config,
			}}})
		}
	}
	return out, nil
}

// add takes a digest from the device.
func (b *digestBook) add(d target.Digest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	st := b.on[d.Name]
	if st == nil || b.closed {
		return
	}
	key := digestKey(d)
	b.expire()
	if st.keys[key] {
		return
	}
	for _, sent := range st.cache {
		if sent.keys[key] {
			return
		}
	}
	data, err := b.schema.EncodeData(st.info.GetTypeSpec(), st.info.Scalars, d.Values)
	if err != nil {
		return // the device speaks of another program: it was swapped just now
	}
	if len(st.buffer) == 0 {
		st.first = b.now()
	}
	st.buffer = append(st.buffer, data)
	st.keys[key] = true
	b.flush()
}

func digestKey(d target.Digest) string {
	var k strings.Builder
	for _, v := range d.Values {
		v = p4rt.Canonical(v)
		k.WriteByte(byte(len(v)))
		k.Write(v)
	}
	return k.String()
}

// ack takes the acknowledgement of a list.
func (b *digestBook) ack(a *v1.DigestListAck) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.schema == nil || b.schema.Digests.ID(a.GetDigestId()) == nil {
		return invalid("no digest with id 0x%08x in the pipeline's P4Info", a.GetDigestId())
	}
	for _, st := range b.on {
		if st.info.GetPreamble().GetId() == a.GetDigestId() {
			delete(st.cache, a.GetListId())
		}
	}
	return nil
}

// expire forgets lists whose acknowledgement is overdue. The caller holds b.mu.
func (b *digestBook) expire() {
	now := b.now()
	for _, st := range b.on {
		for id, sent := range st.cache {
			if now.Sub(sent.at) >= time.Duration(st.config.GetAckTimeoutNs()) {
				delete(st.cache, id)
			}
		}
	}
}

// flush sends the lists that are due and sets the timer for the next one. The
// caller holds b.mu.
func (b *digestBook) flush() {
	now := b.now()
	var next time.Duration = -1
	for _, st := range b.on {
		if len(st.buffer) == 0 {
			continue
		}
		limit := int(st.config.GetMaxListSize())
		if limit == 0 {
			limit = digestBuffer
		}
		left := time.Duration(st.config.GetMaxTimeoutNs()) - now.Sub(st.first)
		if len(st.buffer) < limit && left > 0 {
			if next < 0 || left < next {
				next = left
			}
			continue
		}
		b.list++
		if st.config.GetAckTimeoutNs() > 0 {
			st.cache[b.list] = sentDigests{at: now, keys: st.keys}
		}
		b.send(&v1.DigestList{
			DigestId: st.info.GetPreamble().GetId(), ListId: b.list, Data: st.buffer, Timestamp: now.UnixNano(),
		})
		st.buffer, st.keys = nil, map[string]bool{}
	}
	if next >= 0 && !b.closed {
		if b.timer != nil {
			b.timer.Stop()
		}
		b.timer = time.AfterFunc(next, b.tick)
	}
}

func (b *digestBook) tick() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.flush()
	}
}

func (b *digestBook) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.timer != nil {
		b.timer.Stop()
	}
}
