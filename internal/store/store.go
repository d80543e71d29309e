// Package store keeps the controller's state in etcd: an embedded one-node etcd
// for a single machine, or a cluster that is reached by URL. Both are used
// through the same client and the same code.
//
// A Store sees only the keys below its prefix. It satisfies orch.Store.
package store

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/catena-nfv/catena/internal/orch"
)

// Config says where the store is. Exactly one of Dir and Endpoints is set.
type Config struct {
	// Dir is the data directory of the embedded etcd; it is made with mode 0700.
	Dir string
	// Endpoints are the URLs of an external cluster, e.g. "https://10.0.0.5:2379".
	Endpoints []string
	// Prefix of all keys; default "/catena/".
	Prefix string
}

// Errors of Open that callers tell apart.
var (
	ErrLocked  = errors.New("in use by another process")
	ErrCorrupt = errors.New("damaged")
)

// dialTimeout bounds how long an external cluster may take to answer at first.
const dialTimeout = 5 * time.Second

// maxTxnOps is what an etcd server allows in one transaction by default.
const maxTxnOps = 128

// Store is an open store. It is safe for concurrent use.
type Store struct {
	client *clientv3.Client
	embed  *embedded // nil for an external cluster
	prefix string
}

var _ orch.Store = (*Store)(nil)

// Open starts or reaches etcd. A locked data directory gives ErrLocked, an
// unreadable one ErrCorrupt.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Prefix == "" {
		cfg.Prefix = "/catena/"
	}
	if !strings.HasSuffix(cfg.Prefix, "/") {
		cfg.Prefix += "/"
	}
	s := &Store{prefix: cfg.Prefix}
	switch {
	case cfg.Dir != "" && len(cfg.Endpoints) > 0:
		return nil, errors.New("store: give either a directory or endpoints, not both")
	case cfg.Dir != "":
		e, err := startEmbedded(ctx, cfg.Dir)
		if err != nil {
			return nil, fmt.Errorf("store %s: %w", cfg.Dir, err)
		}
		s.embed, s.client = e, e.client
	case len(cfg.Endpoints) > 0:
		client, err := clientv3.New(clientv3.Config{
			Endpoints:   cfg.Endpoints,
			DialTimeout: dialTimeout,
			Logger:      zap.NewNop(),
		})
		if err != nil {
			return nil, fmt.Errorf("store %s: %w", strings.Join(cfg.Endpoints, ","), err)
		}
		s.client = client
		probe, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		if _, err := client.Get(probe, s.prefix, clientv3.WithKeysOnly(), clientv3.WithLimit(1)); err != nil {
			_ = client.Close()
			return nil, fmt.Errorf("store %s: no answer: %w", strings.Join(cfg.Endpoints, ","), err)
		}
	default:
		return nil, errors.New("store: neither a directory nor endpoints are given")
	}
	return s, nil
}

// Close ends the client and, when it is embedded, etcd.
func (s *Store) Close() error {
	err := s.client.Close()
	if s.embed != nil {
		s.embed.stop()
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// Get reads one key.
func (s *Store) Get(ctx context.Context, key string) (orch.KV, bool, error) {
	r, err := s.client.Get(ctx, s.prefix+key)
	if err != nil {
		return orch.KV{}, false, fmt.Errorf("store: get %s: %w", key, err)
	}
	if len(r.Kvs) == 0 {
		return orch.KV{}, false, nil
	}
	kv := r.Kvs[0]
	return orch.KV{Key: key, Value: kv.Value, Revision: kv.ModRevision}, true, nil
}

// List reads all keys below a prefix, sorted.
func (s *Store) List(ctx context.Context, prefix string) ([]orch.KV, error) {
	r, err := s.client.Get(ctx, s.prefix+prefix, clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByKey, clientv3.SortAscend))
	if err != nil {
		return nil, fmt.Errorf("store: list %s: %w", prefix, err)
	}
	out := make([]orch.KV, len(r.Kvs))
	for i, kv := range r.Kvs {
		out[i] = orch.KV{Key: string(kv.Key[len(s.prefix):]), Value: kv.Value, Revision: kv.ModRevision}
	}
	return out, nil
}

// Put writes one key.
func (s *Store) Put(ctx context.Context, key string, value []byte) error {
	if _, err := s.client.Put(ctx, s.prefix+key, string(value)); err != nil {
		return fmt.Errorf("store: put %s: %w", key, err)
	}
	return nil
}

// Delete removes one key, or nothing.
func (s *Store) Delete(ctx context.Context, key string) error {
	if _, err := s.client.Delete(ctx, s.prefix+key); err != nil {
		return fmt.Errorf("store: delete %s: %w", key, err)
	}
	return nil
}

// Txn does all writes when every key in expect has the revision given, else
// none. At most 128 writes fit.
func (s *Store) Txn(ctx context.Context, expect map[string]int64, puts map[string][]byte, deletes []string) (bool, error) {
	if n := len(puts) + len(deletes); n > maxTxnOps || len(expect) > maxTxnOps {
		return false, fmt.Errorf("store: transaction of %d writes and %d conditions; the limit is %d", n, len(expect), maxTxnOps)
	}
	var conditions []clientv3.Cmp
	for _, k := range sortedKeys(expect) {
		conditions = append(conditions, clientv3.Compare(clientv3.ModRevision(s.prefix+k), "=", expect[k]))
	}
	var ops []clientv3.Op
	for _, k := range sortedKeys(puts) {
		ops = append(ops, clientv3.OpPut(s.prefix+k, string(puts[k])))
	}
	for _, k := range deletes {
		ops = append(ops, clientv3.OpDelete(s.prefix+k))
	}
	r, err := s.client.Txn(ctx).If(conditions...).Then(ops...).Commit()
	if err != nil {
		return false, fmt.Errorf("store: transaction: %w", err)
	}
	return r.Succeeded, nil
}

// Watch sends every change below prefix, in order, from the moment of the call
// until the context ends or the connection is lost for good; then it closes the
// channel. A deleted key has a nil Value.
func (s *Store) Watch(ctx context.Context, prefix string) (<-chan orch.KV, error) {
	r, err := s.client.Get(ctx, s.prefix+prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return nil, fmt.Errorf("store: watch %s: %w", prefix, err)
	}
	in := s.client.Watch(clientv3.WithRequireLeader(ctx), s.prefix+prefix, clientv3.WithPrefix(), clientv3.WithRev(r.Header.Revision+1))
	out := make(chan orch.KV, 16)
	go func() {
		defer close(out)
		for batch := range in {
			for _, ev := range batch.Events {
				kv := orch.KV{Key: string(ev.Kv.Key[len(s.prefix):]), Revision: ev.Kv.ModRevision}
				if ev.Type == clientv3.EventTypePut {
					kv.Value = ev.Kv.Value
					if kv.Value == nil {
						kv.Value = []byte{}
					}
				}
				select {
				case out <- kv:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return out, nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
