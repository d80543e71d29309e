package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
)

// Listen opens the address of a server: "unix:///PATH", whose file is for its owner
// only and replaces one that nobody listens on, or "HOST:PORT".
func Listen(address string) (net.Listener, error) {
	path, unix := strings.CutPrefix(address, "unix://")
	if !unix {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return nil, fmt.Errorf("p4runtime server: %w", err)
		}
		return l, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("p4runtime server: %w", err)
	}
	if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
		conn.Close()
		return nil, fmt.Errorf("p4runtime server: another one listens on %s", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("p4runtime server: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("p4runtime server: %w", err)
	}
	return l, nil
}

// Serve answers on the listeners until the context ends, which ends the clients'
// streams, too. The listeners are closed by it.
func (s *Server) Serve(ctx context.Context, opts []grpc.ServerOption, listeners ...net.Listener) error {
	gs := grpc.NewServer(append([]grpc.ServerOption{grpc.MaxRecvMsgSize(MaxMessage)}, opts...)...)
	v1.RegisterP4RuntimeServer(gs, s)
	defer context.AfterFunc(ctx, gs.Stop)()
	ended := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { ended <- gs.Serve(l) }()
	}
	var first error
	for range listeners {
		if err := <-ended; err != nil && first == nil && ctx.Err() == nil {
			first = fmt.Errorf("p4runtime server: %w", err)
			gs.Stop()
		}
	}
	return first
}
