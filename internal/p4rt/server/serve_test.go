package server_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/p4rt/client"
	"github.com/catena-nfv/catena/internal/p4rt/server"
)

func TestServe(t *testing.T) {
	srv, err := server.New(t.Context(), server.Config{DeviceID: 1, Device: &memoryDevice{}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	path := filepath.Join(t.TempDir(), "sub", "p4rt.sock")
	lis, err := server.Listen("unix://" + path)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("socket %v, %v", st, err)
	}
	tcp, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ctx, nil, lis, tcp) }()
	for i, address := range []string{"unix://" + path, tcp.Addr().String()} {
		c, err := client.Dial(t.Context(), client.Config{Target: address, Election: uint64(i + 1)})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		// A program of several megabytes is taken.
		big := program + strings.Repeat("# a comment\n", 500_000)
		if err := c.SetPipeline(t.Context(), client.Verify, client.Pipeline{DeviceConfig: []byte(big)}); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := server.Listen("unix://" + path); err == nil || !strings.Contains(err.Error(), "another one listens") {
		t.Errorf("second server on the socket: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
	// A file that is left from a crash is no hindrance.
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lis, err = server.Listen("unix://" + path)
	if err != nil {
		t.Fatal(err)
	}
	lis.Close()
}
