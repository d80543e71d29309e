// Package mirror keeps a copy of what Neutron has: networks, subnets, routers,
// ports and security groups. Neutron's plugin pushes every change, and compares
// all revisions now and then (see api/catena/v1/mirror.proto); what the mirror
// holds is in the controller's store, so that a restart needs no network service.
//
// inventory.go turns the copy into what one node's switch carries, purely; Keeper
// has orchestrator and agent follow it, and reports which ports work.
package mirror

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/catena-nfv/catena/internal/orch"
)

// Store is where the mirror is kept.
type Store interface {
	List(ctx context.Context, prefix string) ([]orch.KV, error)
	Txn(ctx context.Context, expect map[string]int64, puts map[string][]byte, deletes []string) (ok bool, err error)
}

// ErrInvalid says that a change does not make sense.
var ErrInvalid = errors.New("invalid change")

const (
	prefix = "mirror/" // mirror/KIND/ID → record
	// batch is how many records one transaction of the store takes.
	batch = 100
	// remembered is how long a deleted object is known: an older change of it that
	// is still on its way must not bring it back.
	remembered = time.Hour
)

type key struct {
	kind Kind
	id   string
}

func (k key) String() string { return prefix + k.kind.String() + "/" + k.id }

func compareKeys(a, b key) int {
	if a.kind != b.kind {
		return int(a.kind) - int(b.kind)
	}
	return strings.Compare(a.id, b.id)
}

// record is what the mirror has of one object.
type record struct {
	Revision int64
	Deleted  *time.Time `json:",omitempty"`
	Object   Object     `json:",omitempty"` // nil when it was deleted
}

// Mirror is the copy. It is safe for concurrent use.
type Mirror struct {
	store   Store
	now     func() time.Time
	changed chan struct{}

	pushing sync.Mutex // one push at a time
	mu      sync.Mutex // guards records
	records map[key]record
}

// Open reads the mirror from the store.
func Open(ctx context.Context, store Store) (*Mirror, error) {
	m := &Mirror{store: store, now: time.Now, changed: make(chan struct{}, 1), records: map[key]record{}}
	kvs, err := store.List(ctx, prefix)
	if err != nil {
		return nil, fmt.Errorf("mirror: %w", err)
	}
	for _, kv := range kvs {
		name, id, _ := strings.Cut(strings.TrimPrefix(kv.Key, prefix), "/")
		k := key{Kind(slices.Index(kindNames[:], name)), id}
		if !k.kind.valid() {
			return nil, fmt.Errorf("mirror: unexpected key %s", kv.Key)
		}
		var r struct {
			Revision int64
			Deleted  *time.Time
			Object   json.RawMessage
		}
		err := json.Unmarshal(kv.Value, &r)
		out := record{Revision: r.Revision, Deleted: r.Deleted}
		if err == nil && r.Deleted == nil {
			out.Object = newObject(k.kind)
			err = json.Unmarshal(r.Object, out.Object)
		}
		if err != nil {
			return nil, fmt.Errorf("mirror: %s cannot be read: %w; delete the key, and Neutron sends it again", kv.Key, err)
		}
		m.records[k] = out
	}
	m.signal()
	return m, nil
}

// Changed has a value when the mirror has changed since the last one was taken.
func (m *Mirror) Changed() <-chan struct{} { return m.changed }

func (m *Mirror) signal() {
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// Push takes over changes in order; those that are older than what the mirror has
// are passed over. A change that makes no sense gives ErrInvalid, and nothing is
// taken over then.
func (m *Mirror) Push(ctx context.Context, changes []Change) error {
	for _, c := range changes {
		if err := c.check(); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	m.pushing.Lock()
	defer m.pushing.Unlock()
	for part := range slices.Chunk(changes, batch) {
		news := m.news(part)
		if len(news) == 0 {
			continue
		}
		puts := make(map[string][]byte, len(news))
		for k, r := range news {
			value, err := json.Marshal(r)
			if err != nil {
				return fmt.Errorf("%s: %w", k, err)
			}
			puts[k.String()] = value
		}
		if _, err := m.store.Txn(ctx, nil, puts, nil); err != nil {
			return fmt.Errorf("mirror: %w", err)
		}
		m.mu.Lock()
		for k, r := range news {
			m.records[k] = r
		}
		m.mu.Unlock()
		m.signal()
	}
	return nil
}

// news gives the records that the changes lead to.
func (m *Mirror) news(changes []Change) map[key]record {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[key]record{}
	for _, c := range changes {
		k := key{c.Kind, c.ID}
		old, known := out[k]
		if !known {
			old, known = m.records[k]
		}
		switch {
		case c.Object == nil:
			if !known || old.Deleted == nil {
				now := m.now()
				out[k] = record{Revision: c.Revision, Deleted: &now}
			}
		case known && !c.Repair && (old.Deleted != nil || old.Revision > c.Revision):
		default:
			out[k] = record{Revision: c.Revision, Object: c.Object}
		}
	}
	return out
}

// Compare tells in which objects the mirror differs from refs, which are all that
// there are: those that it lacks, has in another revision, or should not have. With
// the right digest (see digestOf) refs need not be given.
func (m *Mirror) Compare(ctx context.Context, digest []byte, refs []Ref) (equal bool, differing []Ref, err error) {
	if err := m.forget(ctx); err != nil {
		return false, nil, err
	}
	have := m.refs()
	if bytes.Equal(digest, digestOf(have)) {
		return true, nil, nil
	}
	mirrored := make(map[key]int64, len(have))
	for _, r := range have {
		mirrored[key{r.Kind, r.ID}] = r.Revision
	}
	for _, r := range refs {
		k := key{r.Kind, r.ID}
		if revision, ok := mirrored[k]; !ok || revision != r.Revision {
			differing = append(differing, r)
		}
		delete(mirrored, k)
	}
	for _, r := range have {
		if _, left := mirrored[key{r.Kind, r.ID}]; left {
			differing = append(differing, r)
		}
	}
	return false, differing, nil
}

// refs lists all objects, by kind and id.
func (m *Mirror) refs() []Ref {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Ref
	for k, r := range m.records {
		if r.Deleted == nil {
			out = append(out, Ref{k.kind, k.id, r.Revision})
		}
	}
	slices.SortFunc(out, func(a, b Ref) int { return compareKeys(key{a.Kind, a.ID}, key{b.Kind, b.ID}) })
	return out
}

// Deleted lists the ids of objects of a kind that are known to be deleted, sorted.
func (m *Mirror) Deleted(kind Kind) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for k, r := range m.records {
		if k.kind == kind && r.Deleted != nil {
			out = append(out, k.id)
		}
	}
	slices.Sort(out)
	return out
}

// digestOf is the SHA-256 over "KIND ID REVISION\n" of sorted refs.
func digestOf(refs []Ref) []byte {
	h := sha256.New()
	for _, r := range refs {
		fmt.Fprintf(h, "%d %s %d\n", int(r.Kind), r.ID, r.Revision)
	}
	return h.Sum(nil)
}

// forget drops what was deleted long ago.
func (m *Mirror) forget(ctx context.Context) error {
	m.pushing.Lock()
	defer m.pushing.Unlock()
	m.mu.Lock()
	var old []key
	for k, r := range m.records {
		if r.Deleted != nil && m.now().Sub(*r.Deleted) > remembered {
			old = append(old, k)
		}
	}
	m.mu.Unlock()
	slices.SortFunc(old, compareKeys)
	for part := range slices.Chunk(old, batch) {
		var names []string
		for _, k := range part {
			names = append(names, k.String())
		}
		if _, err := m.store.Txn(ctx, nil, nil, names); err != nil {
			return fmt.Errorf("mirror: %w", err)
		}
		m.mu.Lock()
		for _, k := range part {
			delete(m.records, k)
		}
		m.mu.Unlock()
	}
	return nil
}

// Snapshot is all that the mirror has, by id. The objects are shared: they are
// replaced, never changed.
type Snapshot struct {
	Networks map[string]*Network
	Subnets  map[string]*Subnet
	Routers  map[string]*Router
	Ports    map[string]*Port
	Groups   map[string]*Group
}

// Snapshot returns the mirror's present state.
func (m *Mirror) Snapshot() Snapshot {
	s := Snapshot{map[string]*Network{}, map[string]*Subnet{}, map[string]*Router{}, map[string]*Port{}, map[string]*Group{}}
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, r := range m.records {
		switch o := r.Object.(type) {
		case *Network:
			s.Networks[k.id] = o
		case *Subnet:
			s.Subnets[k.id] = o
		case *Router:
			s.Routers[k.id] = o
		case *Port:
			s.Ports[k.id] = o
		case *Group:
			s.Groups[k.id] = o
		}
	}
	return s
}
