package guest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// HealthPath is answered without being counted as a request.
const HealthPath = "/healthz"

// ServerHeader carries the server's name in every answer.
const ServerHeader = "X-Catena-Server"

// Serve runs the small HTTP server of a `server` instance until the context
// ends. Arguments: --name NAME --listen IP:PORT. Every path is answered by one
// line of text, "NAME ADDRESS request N from CLIENT"; /status by the same as
// JSON; HealthPath by "ok", not counted.
func Serve(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("__server", flag.ContinueOnError)
	flags.SetOutput(stderr)
	name := flags.String("name", "", "name of the server")
	listen := flags.String("listen", "0.0.0.0:80", "address to listen on")
	if err := flags.Parse(args); err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", *listen)
	if err != nil {
		return fmt.Errorf("server %q: %w", *name, err)
	}
	fmt.Fprintf(stderr, "server %s listens on %s\n", *name, *listen)
	srv := &http.Server{Handler: newHandler(*name), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { srv.Close() })
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("server %q: %w", *name, err)
	}
	return nil
}

// serverStatus is the body of /status.
type serverStatus struct {
	Name     string `json:"name"`
	Address  string `json:"address"` // that the client asked
	Client   string `json:"client"`
	Requests uint64 `json:"requests"` // this one included
}

func newHandler(name string) http.Handler {
	var requests atomic.Uint64
	status := func(r *http.Request) serverStatus {
		local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		s := serverStatus{Name: name, Client: r.RemoteAddr, Requests: requests.Add(1)}
		if local != nil {
			s.Address = local.String()
		}
		return s
	}
	mux := http.NewServeMux()
	mux.HandleFunc(HealthPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(ServerHeader, name)
		_, _ = io.WriteString(w, "ok\n")
	})
	mux.HandleFunc("/status", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(ServerHeader, name)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(status(r))
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(ServerHeader, name)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		s := status(r)
		fmt.Fprintf(w, "%s %s request %d from %s\n", s.Name, s.Address, s.Requests, s.Client)
	})
	return mux
}
