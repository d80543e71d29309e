// Package server offers the orchestrator to clients: gRPC on a unix socket and
// over TCP, REST through a gateway generated from the same definitions, the
// OpenAPI document and a small page for browsers. It decides who a caller is and
// which projects the caller may touch, and it is the only place where messages
// of the API and domain types are converted into each other.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/test/bufconn"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
	"github.com/catena-nfv/catena/internal/keystone"
	"github.com/catena-nfv/catena/internal/orch"
)

// Config of a server. Orchestrator is needed; each empty address leaves that
// listener out.
type Config struct {
	Orchestrator *orch.Orchestrator
	// Socket is the path of the unix socket for gRPC, made with mode 0600: who
	// may open it is the operator.
	Socket string
	// GRPC and HTTP are addresses with port, on loopback unless there is TLS;
	// callers need a token or, with TLS.ClientCA, a certificate.
	GRPC string
	HTTP string
	TLS  TLSFiles
	// Keystone checks tokens that are not in the token file; nil: there are none.
	Keystone *keystone.Verifier
	// CloudServices are those of catena.cloud.v1, in front of the cloud's own; nil:
	// there are none.
	CloudServices interface{ Register(grpc.ServiceRegistrar) }
	// TokenFile holds the tokens (see ReadTokens). One is generated when the
	// file does not exist. Needed with GRPC or HTTP.
	TokenFile string

	Version string // of the program
	Commit  string
	Cloud   string // name of the cloud driver
	Mirror  Mirror // of Neutron's objects; nil: none
	// Ready is closed when the orchestrator has recovered; until then only the mirror
	// and the health service answer, others wait. nil: it has.
	Ready <-chan struct{}
	Log   *slog.Logger
}

// maxRequest bounds one request, in bytes; the largest service is smaller.
const maxRequest = 8 << 20

// Server is a running server.
type Server struct {
	log      *slog.Logger
	grpc     *grpc.Server
	http     *http.Server
	health   *health.Server
	inner    *bufconn.Listener // the gateway's way to the gRPC server
	conn     *grpc.ClientConn
	socket   string
	grpcAddr string
	httpAddr string
	serving  sync.WaitGroup
	// streams is cancelled at shutdown, which ends watches that would not end.
	streams context.Context
	stop    context.CancelFunc
}

// Start opens all listeners and serves until Stop. When one of them cannot be
// opened, none stays open.
func Start(cfg Config) (*Server, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{log: cfg.Log, socket: cfg.Socket, inner: bufconn.Listen(1 << 20), health: health.NewServer()}
	s.streams, s.stop = context.WithCancel(context.Background())

	var certs *certificates
	if !cfg.TLS.empty() {
		var err error
		if certs, err = loadCertificates(cfg.TLS, cfg.Log); err != nil {
			return nil, fmt.Errorf("server: %w", err)
		}
	}
	// Listening comes first: where that fails, no token is made.
	listeners, httpListener, err := s.listen(cfg)
	if err != nil {
		_ = s.inner.Close()
		return nil, err
	}
	var tokens Tokens
	if cfg.GRPC != "" || cfg.HTTP != "" {
		if cfg.TokenFile == "" {
			err = errors.New("server: an address needs a token file")
		} else {
			tokens, err = ReadTokens(cfg.TokenFile)
		}
		if err != nil {
			for _, l := range listeners {
				_ = l.Close()
			}
			if httpListener != nil {
				_ = httpListener.Close()
			}
			_ = s.inner.Close()
			return nil, err
		}
	}
	guard := &guard{tokens: tokens, keystone: cfg.Keystone, log: cfg.Log, stopping: s.streams, ready: cfg.Ready}
	var options []grpc.ServerOption
	if certs != nil {
		options = append(options, grpc.Creds(mixed{credentials.NewTLS(certs.serverConfig())}))
		if httpListener != nil {
			httpListener = tls.NewListener(httpListener, certs.serverConfig())
		}
	}
	s.grpc = grpc.NewServer(append(options,
		grpc.MaxRecvMsgSize(maxRequest),
		grpc.ChainUnaryInterceptor(guard.unary),
		grpc.ChainStreamInterceptor(guard.stream),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	)...)
	a := &api{orch: cfg.Orchestrator, version: &catenav1.Version{
		Version: cfg.Version, Commit: cfg.Commit, Api: "v1", Cloud: cfg.Cloud, Started: timestamp(time.Now()),
	}}
	catenav1.RegisterOrchestratorServer(s.grpc, a)
	catenav1.RegisterPlatformServer(s.grpc, a)
	catenav1.RegisterChainsServer(s.grpc, a)
	catenav1.RegisterRulesServer(s.grpc, a)
	catenav1.RegisterSwitchServer(s.grpc, a)
	if cfg.Mirror != nil {
		catenav1.RegisterMirrorServer(s.grpc, &mirrorAPI{mirror: cfg.Mirror})
	}
	if cfg.CloudServices != nil {
		cfg.CloudServices.Register(s.grpc)
	}
	healthpb.RegisterHealthServer(s.grpc, s.health)
	reflection.Register(s.grpc)

	for _, l := range append(listeners, s.inner) {
		s.serving.Go(func() {
			if err := s.grpc.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
				s.log.Error("gRPC listener ended", "address", l.Addr(), "error", err)
			}
		})
	}
	if httpListener != nil {
		if err := s.serveHTTP(httpListener, cfg.CloudServices != nil); err != nil {
			_ = httpListener.Close()
			s.Stop(context.Background())
			return nil, err
		}
	}
	s.health.SetServingStatus("", healthpb.HealthCheckResponse_SERVING)
	return s, nil
}

// listen opens what the configuration names.
func (s *Server) listen(cfg Config) (grpcListeners []net.Listener, httpListener net.Listener, err error) {
	var opened []io.Closer
	defer func() {
		if err != nil {
			for _, c := range opened {
				_ = c.Close()
			}
		}
	}()
	if cfg.Socket != "" {
		l, err := listenUnix(cfg.Socket)
		if err != nil {
			return nil, nil, err
		}
		opened = append(opened, l)
		grpcListeners = append(grpcListeners, l)
	}
	if cfg.GRPC != "" {
		l, err := listenTCP("gRPC", cfg.GRPC, !cfg.TLS.empty())
		if err != nil {
			return nil, nil, err
		}
		opened = append(opened, l)
		grpcListeners = append(grpcListeners, l)
		s.grpcAddr = l.Addr().String()
	}
	if cfg.HTTP != "" {
		if httpListener, err = listenTCP("HTTP", cfg.HTTP, !cfg.TLS.empty()); err != nil {
			return nil, nil, err
		}
		s.httpAddr = httpListener.Addr().String()
	}
	return grpcListeners, httpListener, nil
}

// listenUnix opens a socket that only its owner may use. A socket that a dead
// process left is replaced; one that answers is an error.
func listenUnix(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("server: socket: %w", err)
	}
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		_ = c.Close()
		return nil, fmt.Errorf("server: socket %s: another controller is running; stop it first", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("server: socket: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("server: socket: %w", err)
	}
	return l, nil
}

// listenTCP refuses addresses that are not on loopback without TLS: tokens would be
// sent in the clear.
func listenTCP(what, address string, encrypted bool) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("server: %s address %q: %w", what, address, err)
	}
	if ip := net.ParseIP(host); !encrypted && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("server: %s address %q is not on loopback, and tokens are not encrypted; give a certificate (--tls-cert, --tls-key), or use 127.0.0.1", what, address)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("server: %s: %w", what, err)
	}
	return l, nil
}

// GRPCAddress is where gRPC is served over TCP, "" if nowhere.
func (s *Server) GRPCAddress() string { return s.grpcAddr }

// HTTPAddress is where REST, the OpenAPI document and the page are served.
func (s *Server) HTTPAddress() string { return s.httpAddr }

// Stop takes no more requests, ends watches, waits for the others until the
// context ends, and then cuts them off. Changes that clients have begun belong
// to the orchestrator and go on.
func (s *Server) Stop(ctx context.Context) {
	s.health.Shutdown()
	s.stop()
	if s.http != nil {
		if err := s.http.Shutdown(ctx); err != nil {
			_ = s.http.Close()
		}
	}
	if s.conn != nil {
		_ = s.conn.Close()
	}
	done := make(chan struct{})
	go func() { s.grpc.GracefulStop(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		s.grpc.Stop()
		<-done
	}
	s.serving.Wait()
}
