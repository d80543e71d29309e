package server_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/p4rt/server"
	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
)

// pythonWith returns a Python that has a package, from a virtual environment in the
// user's cache that is made when it is missing. The test is skipped where that is not
// possible, for instance without a network.
func pythonWith(t *testing.T, requirement string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip("no cache directory:", err)
	}
	dir := filepath.Join(cache, "catena", "test-venv", requirement)
	python := filepath.Join(dir, "bin", "python")
	ready := filepath.Join(dir, "ready")
	if _, err := os.Stat(ready); err == nil {
		return python
	}
	if testing.Short() {
		t.Skip("making a virtual environment takes too long for -short")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for _, cmd := range [][]string{
		{"python3", "-m", "venv", dir},
		{python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1", requirement},
	} {
		if out, err := exec.CommandContext(ctx, cmd[0], cmd[1:]...).CombinedOutput(); err != nil {
			t.Skipf("cannot make a virtual environment with %s: %v\n%s", requirement, err, out)
		}
	}
	if err := os.WriteFile(ready, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return python
}

// TestInterop lets public P4Runtime clients work with the server. The scripts print
// OK at their end.
func TestInterop(t *testing.T) {
	for _, tt := range []struct{ requirement, script string }{
		{"finsy==0.30.0", "testdata/finsy_client.py"},
		{"p4runtime-shell==0.0.6", "testdata/shell_client.py"},
	} {
		t.Run(strings.Split(tt.requirement, "==")[0], func(t *testing.T) {
			python := pythonWith(t, tt.requirement)
			dev := &memoryDevice{}
			srv, err := server.New(t.Context(), server.Config{DeviceID: 1, Device: dev})
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Close()
			lis, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			gs := grpc.NewServer()
			v1.RegisterP4RuntimeServer(gs, srv)
			go gs.Serve(lis)
			defer gs.Stop()
			// Packets from the controller come back with the port that they were for.
			stop := make(chan struct{})
			defer close(stop)
			go func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(10 * time.Millisecond):
					}
					dev.mu.Lock()
					for _, p := range dev.injected {
						dev.packetIn(p)
					}
					dev.injected = nil
					dev.mu.Unlock()
				}
			}()
			file := filepath.Join(t.TempDir(), "program.txtpb")
			if err := os.WriteFile(file, []byte(program), 0o644); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			out, err := exec.CommandContext(ctx, python, tt.script, lis.Addr().String(), file).CombinedOutput()
			if err != nil || !strings.HasSuffix(strings.TrimSpace(string(out)), "OK") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
