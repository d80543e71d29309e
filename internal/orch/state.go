package orch

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"time"

	"github.com/catena-nfv/catena/internal/service"
)

// Keys of the store:
//
//	services/PROJECT/NAME               ServiceRecord: what is deployed
//	applies/PROJECT/NAME                applyRecord: what was begun and not ended
//	objects/PROJECT/NAME/KIND/OBJECT    Record
//	numbers                             numbers
//	operator-rules                      rules of the operator, for every chain
const (
	servicesPrefix = "services/"
	appliesPrefix  = "applies/"
	objectsPrefix  = "objects/"
	numbersKey     = "numbers"

	operatorRulesKey = "operator-rules"
)

// ServiceRecord is a service as it was last deployed.
type ServiceRecord struct {
	Service   *service.Service
	Addresses map[string]netip.Addr // by port name
	Status    service.Status
	Message   string // why, when Status is ERROR
	Revision  int64  // counts changes from 1
	Took      time.Duration
	Updated   time.Time
}

// service is nil for no record.
func (r *ServiceRecord) service() *service.Service {
	if r == nil {
		return nil
	}
	return r.Service
}

// direction of an unfinished apply.
type direction string

const (
	forward direction = "forward" // to the wanted service
	back    direction = "back"    // to what was before
)

// applyRecord is written before the first step and removed with the last: one
// that is found at start-up belongs to a crash.
type applyRecord struct {
	Direction direction
	Want      *ServiceRecord // nil: the service is being deleted
	Previous  *ServiceRecord // nil: there was none
	Started   time.Time
	Reason    string // why it goes back
}

func serviceKey(o service.Owner) string { return servicesPrefix + o.String() }
func applyKey(o service.Owner) string   { return appliesPrefix + o.String() }
func objectKey(o service.Owner, k Key) string {
	return objectsPrefix + o.String() + "/" + string(k.Kind) + "/" + k.Name
}

// getJSON reads a key into v; ok is false when it is not there.
func getJSON(ctx context.Context, s Store, key string, v any) (revision int64, ok bool, err error) {
	kv, ok, err := s.Get(ctx, key)
	if err != nil || !ok {
		return 0, false, err
	}
	if err := json.Unmarshal(kv.Value, v); err != nil {
		return 0, false, fmt.Errorf("store: %s cannot be read: %w", key, err)
	}
	return kv.Revision, true, nil
}

func putJSON(ctx context.Context, s Store, key string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.Put(ctx, key, b)
}

// listJSON reads all values below a prefix, in the order of their keys.
func listJSON[T any](ctx context.Context, s Store, prefix string) ([]T, error) {
	kvs, err := s.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	out := make([]T, len(kvs))
	for i, kv := range kvs {
		if err := json.Unmarshal(kv.Value, &out[i]); err != nil {
			return nil, fmt.Errorf("store: %s cannot be read: %w", kv.Key, err)
		}
	}
	return out, nil
}

func decodeRecord(kv KV) (Record, error) {
	var r Record
	if err := json.Unmarshal(kv.Value, &r); err != nil {
		return Record{}, fmt.Errorf("store: %s cannot be read: %w", kv.Key, err)
	}
	return r, nil
}

// records reads what is known of a service's objects.
func (o *Orchestrator) records(ctx context.Context, owner service.Owner) (map[Key]Record, error) {
	list, err := listJSON[Record](ctx, o.store, objectsPrefix+owner.String()+"/")
	if err != nil {
		return nil, err
	}
	out := make(map[Key]Record, len(list))
	for _, r := range list {
		out[r.Key] = r
	}
	return out, nil
}

// changeNumbers replaces the numbers by f of them, however many do so at once.
func (o *Orchestrator) changeNumbers(ctx context.Context, f func(numbers) (numbers, error)) (numbers, error) {
	for {
		n := numbers{}
		revision, _, err := getJSON(ctx, o.store, numbersKey, &n)
		if err != nil {
			return nil, err
		}
		next, err := f(n)
		if err != nil {
			return nil, err
		}
		b, err := json.Marshal(next)
		if err != nil {
			return nil, err
		}
		old, err := json.Marshal(n)
		if err != nil || string(old) == string(b) {
			return next, err
		}
		ok, err := o.store.Txn(ctx, map[string]int64{numbersKey: revision}, map[string][]byte{numbersKey: b}, nil)
		if err != nil {
			return nil, err
		}
		if ok {
			return next, nil
		}
	}
}
