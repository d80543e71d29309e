package orchestration

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
)

// Endpoint is where an orchestrator is served: gRPC at HOST:PORT, and REST.
type Endpoint struct {
	GRPC, HTTP string
	Token      string // "": none is needed
	Close      func() error
}

// serveSequence serves the papers' orchestrator over gRPC and REST, as the product is.
func serveSequence(s *sequence) (*Endpoint, error) {
	rpc, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, rpc.Close())
	}
	server := grpc.NewServer()
	catenav1.RegisterOrchestratorServer(server, s)
	conn, err := grpc.NewClient(rpc.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, errors.Join(err, rpc.Close(), web.Close())
	}
	mux := runtime.NewServeMux()
	if err := catenav1.RegisterOrchestratorHandler(context.Background(), mux, conn); err != nil {
		return nil, errors.Join(err, rpc.Close(), web.Close(), conn.Close())
	}
	gateway := &http.Server{Handler: mux}
	go func() { _ = server.Serve(rpc) }()
	go func() { _ = gateway.Serve(web) }()
	return &Endpoint{GRPC: rpc.Addr().String(), HTTP: web.Addr().String(), Close: func() error {
		server.Stop()
		return errors.Join(gateway.Close(), conn.Close())
	}}, nil
}
