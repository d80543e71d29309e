package server

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"

	cloudv1 "github.com/catena-nfv/catena/api/catena/cloud/v1"
	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
)

//go:embed index.html
var indexPage []byte

// serveHTTP begins to serve REST and the pages on l; cloud tells whether the services
// of the cloud's own APIs are there.
func (s *Server) serveHTTP(l net.Listener, cloud bool) error {
	conn, err := grpc.NewClient("passthrough:///inner",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return s.inner.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxRequest)))
	if err != nil {
		return fmt.Errorf("server: gateway: %w", err)
	}
	s.conn = conn
	gateway := runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, &runtime.JSONPb{
			MarshalOptions: protojson.MarshalOptions{UseProtoNames: true},
		}),
		// Chain names may hold an encoded slash.
		runtime.WithUnescapingMode(runtime.UnescapingModeAllExceptReserved),
		runtime.WithIncomingHeaderMatcher(forwarded),
		runtime.WithMetadata(certificateOf),
	)
	handlers := []func(context.Context, *runtime.ServeMux, *grpc.ClientConn) error{
		catenav1.RegisterOrchestratorHandler, catenav1.RegisterPlatformHandler, catenav1.RegisterChainsHandler,
		catenav1.RegisterRulesHandler, catenav1.RegisterSwitchHandler,
	}
	if cloud {
		handlers = append(handlers,
			cloudv1.RegisterIdentityHandler, cloudv1.RegisterImageHandler, cloudv1.RegisterNetworkHandler,
			cloudv1.RegisterComputeHandler, cloudv1.RegisterPlacementHandler)
	}
	for _, register := range handlers {
		if err := register(context.Background(), gateway, conn); err != nil {
			return fmt.Errorf("server: gateway: %w", err)
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", limited(gateway))
	mux.HandleFunc("GET /openapi.json", static("application/json", catenav1.OpenAPI))
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /{$}", static("text/html; charset=utf-8", indexPage))
	s.http = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute, // of a request; answers may stream for long
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	s.serving.Go(func() {
		if err := s.http.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("HTTP listener ended", "address", l.Addr(), "error", err)
		}
	})
	return nil
}

// gatewayIdentity is the metadata in which the gateway tells, within this process, whom
// an HTTP client's certificate stands for.
const gatewayIdentity = "x-catena-certificate"

// forwarded tells which headers become metadata. Those that name metadata themselves
// do not: a client could tell anything of itself.
func forwarded(header string) (string, bool) {
	switch header {
	case "X-Auth-Token":
		return "x-auth-token", true
	case "Authorization": // is forwarded anyway
		return "", false
	}
	if strings.HasPrefix(header, runtime.MetadataHeaderPrefix) {
		return "", false
	}
	return runtime.DefaultHeaderMatcher(header)
}

// certificateOf puts the identity of a client certificate into the metadata.
func certificateOf(_ context.Context, r *http.Request) metadata.MD {
	id, ok := ofCertificate(r.TLS)
	if !ok {
		return nil
	}
	text, err := json.Marshal(id)
	if err != nil {
		return nil
	}
	return metadata.Pairs(gatewayIdentity, string(text))
}

// throughGateway reads it back. Only the gateway is on the inner listener.
func throughGateway(network string, md metadata.MD) (Identity, bool) {
	var id Identity
	values := md.Get(gatewayIdentity)
	if network != "bufconn" || len(values) != 1 || json.Unmarshal([]byte(values[0]), &id) != nil {
		return Identity{}, false
	}
	return id, true
}

// limited bounds a request's body.
func limited(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
		h.ServeHTTP(w, r)
	})
}

// static serves bytes that are part of the program. The page loads nothing from
// elsewhere, and nobody may put it into a frame.
func static(contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", contentType)
		h.Set("Content-Security-Policy", "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-cache")
		_, _ = w.Write(body) // the client is gone: nothing to do about it
	}
}

// healthz answers 200 while requests are taken, else 503.
func (s *Server) healthz(w http.ResponseWriter, r *http.Request) {
	resp, err := s.health.Check(r.Context(), &healthpb.HealthCheckRequest{})
	if err != nil || resp.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		http.Error(w, "not serving", http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}
