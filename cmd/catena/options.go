package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/catena-nfv/catena/internal/cli"
	"github.com/catena-nfv/catena/internal/cloud/proxy"
	"github.com/catena-nfv/catena/internal/filelock"
	"github.com/catena-nfv/catena/internal/keystone"
	"github.com/catena-nfv/catena/internal/server"
	"github.com/catena-nfv/catena/internal/store"
)

// options are the flags of the commands that run something.
type options struct {
	paths     cli.Paths
	name      string // of the switch; "" for the usual one
	grpc      string
	http      string
	p4runtime string
	etcd      []string
	mode      string
	cloud     string // cloudLocal or cloudOpenStack
	node      string
	debug     bool
	keystone  string // URL; "": Keystone tokens are not taken
	tls       server.TLSFiles
	// Of nova's metadata service, and the file with the secret that it shares with us.
	metadata, metadataSecret string

	log *slog.Logger
}

func (o *options) flags(f *pflag.FlagSet) {
	o.paths = cli.DefaultPaths()
	f.StringVar(&o.grpc, "grpc", env("CATENA_GRPC", "127.0.0.1:7650"), "address of the gRPC API, on loopback unless there is TLS, \"\" for none (CATENA_GRPC)")
	f.StringVar(&o.http, "http", env("CATENA_HTTP", "127.0.0.1:7651"), "address of REST and the page, on loopback unless there is TLS, \"\" for none (CATENA_HTTP)")
	f.StringVar(&o.p4runtime, "p4runtime-listen", env("CATENA_P4RUNTIME_LISTEN", ""), "address of the P4Runtime server beside its unix socket (CATENA_P4RUNTIME_LISTEN)")
	f.StringSliceVar(&o.etcd, "etcd", nil, "URLs of an etcd cluster, instead of the embedded one")
	f.StringVar(&o.mode, "mode", env("CATENA_MODE", "tc"), "hook of the switch's ports: tc or xdp (CATENA_MODE)")
	f.StringVar(&o.node, "node", env("CATENA_NODE", ""), "name of this host in the cloud; the host name by default (CATENA_NODE)")
	f.StringVar(&o.cloud, "cloud", env("CATENA_CLOUD", cloudLocal), "where servers and functions run: local, or openstack (see OS_CLOUD) (CATENA_CLOUD)")
	f.StringVar(&o.metadata, "metadata", env("CATENA_METADATA", ""), "URL of nova's metadata service; without it the node answers with what it knows (CATENA_METADATA)")
	f.StringVar(&o.metadataSecret, "metadata-secret-file", env("CATENA_METADATA_SECRET_FILE", ""), "file with nova's metadata_proxy_shared_secret (CATENA_METADATA_SECRET_FILE)")
	f.BoolVar(&o.debug, "debug", false, "log more")
	f.StringVar(&o.keystone, "keystone", env("CATENA_KEYSTONE", ""), "URL of OpenStack's identity service, whose tokens are then taken, too (CATENA_KEYSTONE)")
	f.StringVar(&o.tls.Cert, "tls-cert", env("CATENA_TLS_CERT", ""), "certificate of the gRPC and REST addresses, in PEM form (CATENA_TLS_CERT)")
	f.StringVar(&o.tls.Key, "tls-key", env("CATENA_TLS_KEY", ""), "its key (CATENA_TLS_KEY)")
	f.StringVar(&o.tls.ClientCA, "client-ca", env("CATENA_CLIENT_CA", ""), "authorities that clients of these addresses need a certificate of (CATENA_CLIENT_CA)")
}

func env(name, otherwise string) string {
	if v, ok := os.LookupEnv(name); ok {
		return v
	}
	return otherwise
}

// prepare checks the flags and makes the folders.
func (o *options) prepare() error {
	if err := checkMode(o.mode, backbone); err != nil {
		return err
	}
	if o.node == "" {
		name, err := os.Hostname()
		if err != nil {
			return err
		}
		o.node = name
	}
	if err := checkCloud(o.cloud); err != nil {
		return err
	}
	level := slog.LevelInfo
	if o.debug {
		level = slog.LevelDebug
	}
	o.log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	for _, dir := range []string{o.paths.State, o.paths.Run} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// switchName tells the switches of several platforms on one machine apart.
func (o *options) switchName() string {
	if o.name != "" {
		return o.name
	}
	return "catena" + o.suffix()
}

// suffix is empty for the usual state directory.
func (o *options) suffix() string {
	if o.paths.State == "/var/lib/catena" {
		return ""
	}
	clean := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return r
		}
		return '-'
	}, o.paths.State)
	if len(clean) > 48 {
		clean = clean[len(clean)-48:]
	}
	return clean
}

func (o *options) cloudDir() string { return filepath.Join(o.paths.State, "cloud") }
func (o *options) storeDir() string { return filepath.Join(o.paths.State, "etcd") }
func (o *options) nfDir() string    { return filepath.Join(o.paths.State, "nf") }
func (o *options) logFile() string  { return filepath.Join(o.paths.State, "log", "controller.log") }
func (o *options) lockFile() string { return filepath.Join(o.paths.State, "controller.lock") }

func (o *options) storeConfig() store.Config {
	if len(o.etcd) > 0 {
		return store.Config{Endpoints: o.etcd}
	}
	return store.Config{Dir: o.storeDir()}
}

var errRunning = errors.New("another controller runs with this state directory")

// takeLock makes this process the controller of the state directory; the file
// holds its process id, and is locked as long as it lives.
func (o *options) takeLock() (release func() error, err error) {
	f, err := filelock.Take(o.lockFile())
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fmt.Errorf("%s: %w", o.paths.State, errRunning)
	}
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(0); err != nil {
		f.Close()
		return nil, err
	}
	if _, err := fmt.Fprintf(f, "%d\n", os.Getpid()); err != nil {
		f.Close()
		return nil, err
	}
	return f.Close, nil
}

// runningPID returns the process id of the controller, 0 if none runs.
func (o *options) runningPID() (int, error) {
	var text []byte
	for range 100 {
		held, err := filelock.Held(o.lockFile())
		if err != nil || !held {
			return 0, err
		}
		if text, err = os.ReadFile(o.lockFile()); err != nil {
			return 0, err
		}
		if len(text) > 0 {
			break
		}
		time.Sleep(time.Millisecond) // it is about to write it
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("%s holds no process id: %w", o.lockFile(), err)
	}
	if err := unix.Kill(pid, 0); errors.Is(err, unix.ESRCH) {
		return 0, nil // its last child holds the lock, for a moment
	}
	return pid, nil
}

// tokens returns what checks Keystone tokens, and the services of the cloud's own APIs
// for their owners; nil where there is no Keystone.
func (o *options) tokens() (*keystone.Verifier, *proxy.Services, error) {
	if o.keystone == "" {
		return nil, nil, nil
	}
	endpoint, tlsConfig, err := keystone.Environment()
	if err != nil {
		return nil, nil, err
	}
	transport := keystone.Transport(tlsConfig)
	v, err := keystone.NewVerifier(keystone.Config{URL: o.keystone, Transport: transport})
	if err != nil {
		return nil, nil, err
	}
	return v, proxy.New(proxy.Config{Keystone: v, Transport: transport, Endpoint: endpoint}), nil
}
