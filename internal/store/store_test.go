package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/catena-nfv/catena/internal/orch"
)

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(context.Background(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEmbedded(t *testing.T) {
	dir := t.TempDir()
	start := time.Now()
	s := open(t, dir)
	if d := time.Since(start); d > 3*time.Second {
		t.Errorf("start took %v", d)
	}
	conformance(t, s)

	// What was written is there after a restart.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	defer s.Close()
	if kv, ok, _ := s.Get(context.Background(), "a/2"); !ok || string(kv.Value) != "va/2" {
		t.Errorf("after restart: %+v %v", kv, ok)
	}
}

// An external cluster is used in the same way; two prefixes do not see each
// other.
func TestExternal(t *testing.T) {
	cfg := embed.NewConfig()
	cfg.Dir = t.TempDir()
	cfg.LogLevel = "fatal"
	var urls []url.URL
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, url.URL{Scheme: "http", Host: l.Addr().String()})
		_ = l.Close()
	}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = urls[:1], urls[:1]
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = urls[1:], urls[1:]
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	<-e.Server.ReadyNotify()
	for _, prefix := range []string{"one", "two"} {
		s, err := Open(context.Background(), Config{Endpoints: []string{urls[0].String()}, Prefix: prefix})
		if err != nil {
			t.Fatal(err)
		}
		conformance(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// conformance is what orch relies on.
func conformance(t *testing.T, s *Store) {
	t.Helper()
	ctx := context.Background()
	ctx2, cancel := context.WithCancel(ctx)
	defer cancel()
	changes, err := s.Watch(ctx2, "a/")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"a/2", "a/1", "b/1"} {
		if err := s.Put(ctx, k, []byte("v"+k)); err != nil {
			t.Fatal(err)
		}
	}
	kv, ok, err := s.Get(ctx, "a/1")
	if err != nil || !ok || string(kv.Value) != "va/1" {
		t.Fatalf("get: %+v %v %v", kv, ok, err)
	}
	if _, ok, err := s.Get(ctx, "a/"); ok || err != nil {
		t.Errorf("get of a missing key: %v %v", ok, err)
	}
	list, err := s.List(ctx, "a/")
	if err != nil || len(list) != 2 || list[0].Key != "a/1" || list[1].Key != "a/2" {
		t.Errorf("list: %+v %v", list, err)
	}

	// A transaction with a stale revision does nothing at all.
	done, err := s.Txn(ctx, map[string]int64{"a/1": kv.Revision, "a/2": 1}, map[string][]byte{"a/1": []byte("x")}, []string{"b/1"})
	if err != nil || done {
		t.Errorf("stale transaction: %v %v", done, err)
	}
	if _, ok, _ := s.Get(ctx, "b/1"); !ok {
		t.Error("a refused transaction deleted")
	}
	done, err = s.Txn(ctx, map[string]int64{"a/1": kv.Revision, "new": 0}, map[string][]byte{"new": nil}, []string{"a/1"})
	if err != nil || !done {
		t.Errorf("transaction: %v %v", done, err)
	}

	var got []string
	for range 3 {
		select {
		case kv := <-changes:
			got = append(got, fmt.Sprintf("%s=%s/%v", kv.Key, kv.Value, kv.Value == nil))
		case <-time.After(5 * time.Second):
			t.Fatalf("watch: only %v", got)
		}
	}
	if fmt.Sprint(got) != "[a/2=va/2/false a/1=va/1/false a/1=/true]" {
		t.Errorf("watch: %v", got)
	}
	cancel()
	for range changes { // it closes
	}
}

// Of many writers that each raise a number by one, none is lost.
func TestTxnRace(t *testing.T) {
	ctx := context.Background()
	s := open(t, t.TempDir())
	defer s.Close()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				for {
					kv, _, err := s.Get(ctx, "n")
					if err != nil {
						t.Error(err)
						return
					}
					n := len(kv.Value)
					ok, err := s.Txn(ctx, map[string]int64{"n": kv.Revision}, map[string][]byte{"n": make([]byte, n+1)}, nil)
					if err != nil {
						t.Error(err)
						return
					}
					if ok {
						break
					}
				}
			}
		})
	}
	wg.Wait()
	if kv, _, _ := s.Get(ctx, "n"); len(kv.Value) != 20 {
		t.Errorf("%d of 20 writes", len(kv.Value))
	}
}

func TestLocked(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	defer s.Close()
	if _, err := Open(context.Background(), Config{Dir: dir}); !errors.Is(err, ErrLocked) {
		t.Errorf("second open: %v", err)
	}
}

func TestCorrupt(t *testing.T) {
	for _, part := range []string{"member/snap/db", "member/wal"} {
		t.Run(filepath.Base(part), func(t *testing.T) {
			// Not t.TempDir: a start that failed goes on allocating log files for a
			// moment, which trips its clean-up.
			dir, err := os.MkdirTemp("", "ct-store-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				for range 50 {
					if os.RemoveAll(dir) == nil {
						return
					}
					time.Sleep(20 * time.Millisecond)
				}
				t.Errorf("%s could not be removed", dir)
			})
			s := open(t, dir)
			if err := s.Put(context.Background(), "k", []byte("v")); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			damage(t, filepath.Join(dir, "etcd", part))
			s, err = Open(context.Background(), Config{Dir: dir})
			if err == nil {
				_ = s.Close()
				t.Fatal("opened")
			}
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("error is not ErrCorrupt: %v", err)
			}
			t.Log(err)
		})
	}
}

// damage overwrites the beginning of a file, or of all files of a directory.
func damage(t *testing.T, path string) {
	t.Helper()
	files := []string{path}
	if fi, err := os.Stat(path); err != nil {
		t.Fatal(err)
	} else if fi.IsDir() {
		files, _ = filepath.Glob(filepath.Join(path, "*.wal"))
	}
	junk := make([]byte, 8192)
	for i := range junk {
		junk[i] = byte(i*7 + 13)
	}
	for _, f := range files {
		h, err := os.OpenFile(f, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.WriteAt(junk, 0); err != nil {
			t.Fatal(err)
		}
		_ = h.Close()
	}
}

func TestExternalUnreachable(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, Config{Endpoints: []string{"http://127.0.0.1:1"}}); err == nil {
		t.Error("reached")
	}
}

func TestConfig(t *testing.T) {
	for _, cfg := range []Config{{}, {Dir: "x", Endpoints: []string{"y"}}} {
		if _, err := Open(context.Background(), cfg); err == nil {
			t.Errorf("%+v: accepted", cfg)
		}
	}
}

var _ orch.Store = (*Store)(nil)
