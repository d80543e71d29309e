package openstack

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// proxy passes HTTP requests on, or answers that the service is not available.
type proxy struct {
	address string
	down    atomic.Bool
	count   atomic.Int64
}

func startProxy(t *testing.T) *proxy {
	p := &proxy{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.down.Load() {
			p.count.Add(1)
			http.Error(w, "the service is made unavailable", http.StatusServiceUnavailable)
			return
		}
		r.RequestURI = ""
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		for key, values := range resp.Header {
			w.Header()[key] = values
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}))
	t.Cleanup(server.Close)
	p.address = strings.TrimPrefix(server.URL, "http://")
	return p
}

// refuse lets all requests fail from now on, or none.
func (p *proxy) refuse(yes bool) { p.down.Store(yes) }

// refused counts the requests that failed.
func (p *proxy) refused() int64 { return p.count.Load() }
