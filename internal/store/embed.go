package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/catena-nfv/catena/internal/filelock"
)

// startTimeout bounds the election of a single node, which takes milliseconds,
// and replaying its log.
const startTimeout = 30 * time.Second

// quotaBytes bounds the embedded database; a service takes a few kilobytes.
const quotaBytes = 256 << 20

// embedded is a one-node etcd in this process. It listens nowhere: the client
// calls it directly.
type embedded struct {
	etcd   *embed.Etcd
	client *clientv3.Client
	lock   *os.File
}

func startEmbedded(ctx context.Context, dir string) (*embedded, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	etcd, err := startEtcd(ctx, dir)
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	return &embedded{etcd: etcd, client: v3client.New(etcd.Server), lock: lock}, nil
}

// lockDir takes the directory for this process. etcd itself would wait for the
// lock of its database without an end and without a word.
func lockDir(dir string) (*os.File, error) {
	f, err := filelock.Take(filepath.Join(dir, "lock"))
	if errors.Is(err, filelock.ErrHeld) {
		err = fmt.Errorf("%w; stop it first, or choose another state directory", ErrLocked)
	}
	return f, err
}

func startEtcd(ctx context.Context, dir string) (e *embed.Etcd, err error) {
	cfg := embed.NewConfig()
	cfg.Dir = filepath.Join(dir, "etcd")
	cfg.Name = "catena"
	// etcd's log is not shown; where it would end the process, it panics instead.
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.New(zapcore.NewNopCore(), zap.WithFatalHook(zapcore.WriteThenPanic)))
	cfg.ListenPeerUrls = nil
	cfg.ListenClientUrls = nil
	// Nobody connects to the advertised URL; a member only has to have one.
	none := url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	cfg.AdvertisePeerUrls = []url.URL{none}
	cfg.AdvertiseClientUrls = []url.URL{none}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	// A lone node elects itself: short ticks make that a matter of milliseconds.
	cfg.TickMs = 10
	cfg.ElectionMs = 100
	cfg.QuotaBackendBytes = quotaBytes
	cfg.AutoCompactionMode = "revision"
	cfg.AutoCompactionRetention = "1000"
	cfg.SnapshotCount = 10_000
	cfg.EnableGRPCGateway = false

	if err := checkDatabase(filepath.Join(cfg.Dir, "member", "snap", "db")); err != nil {
		return nil, damaged(err)
	}
	// Some damage makes etcd panic instead of returning an error.
	defer func() {
		if r := recover(); r != nil {
			reason := fmt.Errorf("%v", r)
			if _, ok := r.(runtime.Error); ok { // StartEtcd trips over its own clean-up
				reason = errors.New("log or snapshot cannot be read")
			}
			e, err = nil, damaged(reason)
		}
	}()
	e, err = embed.StartEtcd(cfg)
	if err != nil {
		return nil, damaged(err)
	}
	timeout := time.NewTimer(startTimeout)
	defer timeout.Stop()
	select {
	case <-e.Server.ReadyNotify():
		return e, nil
	case err = <-e.Err():
		err = damaged(err)
	case <-ctx.Done():
		err = ctx.Err()
	case <-timeout.C:
		err = fmt.Errorf("etcd was not ready after %v", startTimeout)
	}
	e.Close()
	return nil, err
}

// checkDatabase opens the database file and closes it again. etcd opens it in a
// goroutine of its own and panics there when it cannot, which nobody can catch.
func checkDatabase(path string) error {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	return db.Close()
}

// damaged marks an error of a start as ErrCorrupt unless the system is to blame
// (no space, no permission).
func damaged(err error) error {
	var sys syscall.Errno
	if errors.As(err, &sys) || errors.Is(err, os.ErrPermission) {
		return err
	}
	return fmt.Errorf("%w: %s; move the directory away to start anew", ErrCorrupt, strings.TrimSpace(err.Error()))
}

func (e *embedded) stop() {
	e.etcd.Close()
	_ = e.lock.Close() // gives the lock back
}
